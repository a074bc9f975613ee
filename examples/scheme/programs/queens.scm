;; All ways to put n queens on a board of n by n such that none attacks another, for n from 4 to 11. A board is the list
;; of the queens' columns, row by row; everything is allocated and dropped again at a high rate.

(define (safe? column rows board)
  (or (null? board)
      (let ((other (car board)))
        (and (not (= other column))
             (not (= other (+ column rows)))
             (not (= other (- column rows)))
             (safe? column (+ rows 1) (cdr board))))))

;; The boards of `rows` rows that extend the given ones, as a list.
(define (extend boards n)
  (append-map
   (lambda (board)
     (filter-map
      (lambda (column) (and (safe? column 1 board) (cons column board)))
      (iota n 1)))
   boards))

(define (queens n)
  (let loop ((row 0) (boards '(())))
    (if (= row n) boards (loop (+ row 1) (extend boards n)))))

(define (show n)
  (let* ((boards (queens n)) (count (length boards)))
    (display n)
    (display " queens: ")
    (display count)
    (display " solutions, the first ")
    (display (reverse (car boards)))
    (newline)
    count))

(for-each show '(4 5 6 7 8 9 10))
(let ((count (show 11)))
  (display "answer: ")
  (display count)
  (display " ways to place 11 queens")
  (newline))
