;; What the tests share: (check name got expected) and (check-error name thunk text); (report) at the end prints TAP.

(define tests 0)
(define (check name got expected)
  (set! tests (+ tests 1))
  (if (equal? got expected)
      (begin (display "ok ") (display tests) (display " - ") (display name) (newline))
      (begin
        (display "not ok ") (display tests) (display " - ") (display name)
        (display "\n# got ") (write got) (display "\n# expected ") (write expected) (newline))))

;; The message, with the irritants, of the error that thunk raises.
(define (message-of thunk)
  (guard (e ((error-object? e)
             (call-with-output-string
              (lambda (port)
                (display (error-object-message e) port)
                (for-each (lambda (x) (display " " port) (write x port)) (error-object-irritants e)))))
            (else (list 'raised e)))
    (thunk)
    "no error"))
(define (check-error name thunk text)
  (let ((message (message-of thunk)))
    (check name (if (and (string? message) (string-search message text)) text message) text)))

(define (report) (display "1..") (display tests) (newline))
