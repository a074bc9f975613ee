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

(do ((n 4 (+ n 1)))
    ((> n 11))
  (let ((boards (queens n)))
    (display n)
    (display " queens: ")
    (display (length boards))
    (display " solutions")
    (newline)
    (if (= n 11)
        (begin
          (display "the first: ")
          (display (reverse (car boards)))
          (newline)))))
