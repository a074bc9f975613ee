;; A Scheme evaluator in Scheme, which runs Fibonacci numbers, a quicksort, and itself running a factorial: the programs
;; are data, environments are lists of frames, and every call of the evaluated program allocates.

(define evaluator-source
  '(begin
     (define (lookup name environment)
       (if (null? environment)
           (error "unbound variable in the evaluated program:" name)
           (let ((entry (assq name (car environment))))
             (if entry (cdr entry) (lookup name (cdr environment))))))

     (define (assign! name value environment)
       (let ((entry (assq name (car environment))))
         (if entry (set-cdr! entry value) (assign! name value (cdr environment)))))

     (define (define! name value environment)
       (set-car! environment (cons (cons name value) (car environment))))

     (define (bind names values)
       (cond ((null? names) '())
             ((symbol? names) (list (cons names values)))
             (else (cons (cons (car names) (car values)) (bind (cdr names) (cdr values))))))

     (define (evaluate-body forms environment)
       (if (null? (cdr forms))
           (evaluate (car forms) environment)
           (begin
             (evaluate (car forms) environment)
             (evaluate-body (cdr forms) environment))))

     (define (evaluate-all forms environment)
       (if (null? forms)
           '()
           (cons (evaluate (car forms) environment) (evaluate-all (cdr forms) environment))))

     (define (evaluate-cond clauses environment)
       (cond ((null? clauses) #f)
             ((eq? (car (car clauses)) 'else) (evaluate-body (cdr (car clauses)) environment))
             ((evaluate (car (car clauses)) environment) (evaluate-body (cdr (car clauses)) environment))
             (else (evaluate-cond (cdr clauses) environment))))

     (define (evaluate-let form environment)
       (apply-procedure
        (list 'closure (map car (car (cdr form))) (cdr (cdr form)) environment)
        (map (lambda (binding) (evaluate (car (cdr binding)) environment)) (car (cdr form)))))

     (define (evaluate form environment)
       (cond ((symbol? form) (lookup form environment))
             ((not (pair? form)) form)
             ((eq? (car form) 'quote) (car (cdr form)))
             ((eq? (car form) 'if)
              (if (evaluate (car (cdr form)) environment)
                  (evaluate (car (cdr (cdr form))) environment)
                  (evaluate (car (cdr (cdr (cdr form)))) environment)))
             ((eq? (car form) 'lambda) (list 'closure (car (cdr form)) (cdr (cdr form)) environment))
             ((eq? (car form) 'define)
              (if (pair? (car (cdr form)))
                  (define! (car (car (cdr form)))
                    (list 'closure (cdr (car (cdr form))) (cdr (cdr form)) environment)
                    environment)
                  (define! (car (cdr form)) (evaluate (car (cdr (cdr form))) environment) environment)))
             ((eq? (car form) 'set!) (assign! (car (cdr form)) (evaluate (car (cdr (cdr form))) environment) environment))
             ((eq? (car form) 'begin) (evaluate-body (cdr form) environment))
             ((eq? (car form) 'let) (evaluate-let form environment))
             ((eq? (car form) 'cond) (evaluate-cond (cdr form) environment))
             (else (apply-procedure (evaluate (car form) environment) (evaluate-all (cdr form) environment)))))

     (define (apply-procedure procedure arguments)
       (if (pair? procedure)
           (evaluate-body (car (cdr (cdr procedure)))
                          (cons (bind (car (cdr procedure)) arguments) (car (cdr (cdr (cdr procedure))))))
           (apply procedure arguments)))))

(eval evaluator-source)

(define (new-environment)
  (list (map cons
             '(+ - * < = quotient remainder cons car cdr list null? pair? symbol? not eq? assq set-car! set-cdr! apply error)
             (list + - * < = quotient remainder cons car cdr list null? pair? symbol? not eq? assq set-car! set-cdr! apply error))))

(define fib-source
  '(begin
     (define (fib n) (if (< n 2) n (+ (fib (- n 1)) (fib (- n 2)))))
     (fib 24)))

(define sort-source
  '(begin
     (define (filter keep? l)
       (cond ((null? l) '())
             ((keep? (car l)) (cons (car l) (filter keep? (cdr l))))
             (else (filter keep? (cdr l)))))
     (define (append a b) (if (null? a) b (cons (car a) (append (cdr a) b))))
     (define (sort l)
       (if (null? l)
           '()
           (let ((pivot (car l)) (rest (cdr l)))
             (append (sort (filter (lambda (x) (< x pivot)) rest))
                     (cons pivot (sort (filter (lambda (x) (not (< x pivot))) rest)))))))
     (define (numbers n x) (if (= n 0) '() (cons x (numbers (- n 1) (remainder (+ (* x 75) 74) 65537)))))
     (define (sum l) (if (null? l) 0 (+ (car l) (sum (cdr l)))))
     (define sorted (sort (numbers 4000 1)))
     (list (sum sorted) (car sorted) (car (cdr sorted)) (car (cdr (cdr sorted))))))

;; The evaluator evaluates the evaluator, which evaluates a factorial. The inner one uses map with its own closures.
(define tower-source
  (list 'begin
        '(define (map f l) (if (null? l) '() (cons (f (car l)) (map f (cdr l)))))
        evaluator-source
        '(define environment
           (list (list (cons '* *) (cons '- -) (cons '= =))))
        '(define (repeat n)
           (if (= n 1) (run) (begin (run) (repeat (- n 1)))))
        '(define (run)
           (evaluate '(begin (define (factorial n) (if (= n 0) 1 (* n (factorial (- n 1))))) (factorial 15)) environment))
        '(repeat 150)))

(define (run name source)
  (let ((result (evaluate source (new-environment))))
    (display name)
    (display ": ")
    (display result)
    (newline)
    result))

(define fib-result (run "fib 24" fib-source))
(run "quicksort of 4000 numbers: sum and least" sort-source)
(run "factorial 15 in an evaluator in the evaluator" tower-source)
(display "answer: fib 24 = ")
(display fib-result)
(newline)
