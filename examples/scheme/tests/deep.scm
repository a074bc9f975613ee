(load "examples/scheme/tests/check.scm")

;; Tail calls.
(define (count n) (if (= n 0) 'done (count (- n 1))))
(check "a million tail calls" (count 1000000) 'done)
(define (ping n) (if (= n 0) 'ping (pong (- n 1))))
(define (pong n) (if (= n 0) 'pong (ping (- n 1))))
(check "mutual tail calls" (ping 1000001) 'pong)
(check "tail call in cond, and, or, when, case"
       (let loop ((n 100000))
         (cond ((= n 0) 'end)
               (else (and #t (or #f (when #t (case 1 ((1) ((lambda (k) (loop k)) (- n 1))))))))))
       'end)
(define (tail-apply n) (if (= n 0) 'end (apply tail-apply (list (- n 1)))))
(check "tail call by apply" (tail-apply 1000000) 'end)
(define (more-arguments n . rest) (if (= n 0) (length rest) (more-arguments (- n 1) 1 2 3)))
(check "tail call with more arguments" (more-arguments 100000) 3)
(define (sum-to n) (if (= n 0) 0 (+ n (sum-to (- n 1)))))
(check "deep recursion" (sum-to 300000) 45000150000)
(define (build n) (if (= n 0) '() (cons n (build (- n 1)))))
(check "deep recursion that allocates" (length (build 200000)) 200000)

;; The stack's limit.
(define (forever n) (+ 1 (forever n)))
(check-error "infinite recursion" (lambda () (forever 1)) "the stack is full")
(check-error "infinite recursion, again" (lambda () (forever 1)) "the stack is full")

(check-error "form nested too deeply" (lambda () (eval (let nest ((n 100000) (x 1)) (if (= n 0) x (nest (- n 1) (list 'car x)))))) "nested too deeply")
(check-error "form too long" (lambda () (eval (cons 'or (make-list 1000000 #f)))) "too long")
(report)
