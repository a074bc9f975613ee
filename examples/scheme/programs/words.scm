;; How often each word occurs in the text file that the first argument names: read line by line, split into words in
;; lower case, counted in a hash table, sorted by frequency.

(define (letter? c) (char-alphabetic? c))

;; Calls use on each word of the line.
(define (for-each-word use line)
  (let ((n (string-length line)))
    (let loop ((i 0))
      (if (< i n)
          (if (letter? (string-ref line i))
              (let end ((j (+ i 1)))
                (if (and (< j n) (letter? (string-ref line j)))
                    (end (+ j 1))
                    (begin
                      (use (string-downcase (substring line i j)))
                      (loop j))))
              (loop (+ i 1)))))))

(define (count-words port)
  (let ((counts (make-equal-hash-table)))
    (let loop ((lines 0) (words 0) (line (read-line port)))
      (if (eof-object? line)
          (values counts lines words)
          (let ((here 0))
            (for-each-word
             (lambda (word)
               (set! here (+ here 1))
               (hash-table-update!/default counts word 1+ 0))
             line)
            (loop (+ lines 1) (+ words here) (read-line port)))))))

(define (more-frequent? a b)
  (or (> (cdr a) (cdr b)) (and (= (cdr a) (cdr b)) (string<? (car a) (car b)))))

(define (report name)
  (receive (counts lines words) (count-words (open-input-file name))
    (let ((sorted (sort (hash-table->alist counts) more-frequent?)))
      (display lines)
      (display " lines, ")
      (display words)
      (display " words, ")
      (display (length sorted))
      (display " different; ")
      (display (length (filter (lambda (entry) (= (cdr entry) 1)) sorted)))
      (display " occur once")
      (newline)
      (for-each
       (lambda (entry)
         (display (string-pad-left (number->string (cdr entry)) 7))
         (display " ")
         (display (car entry))
         (newline))
       (list-head sorted 12))
      (display "answer: ")
      (display words)
      (display " words, ")
      (display (length sorted))
      (display " different")
      (newline))))

(report (if (pair? (cdr (command-line))) (cadr (command-line)) "build/examples/text.txt"))
