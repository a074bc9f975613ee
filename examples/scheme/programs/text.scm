;; Writes a text in a sort of English to standard output, at least as many bytes as the first argument says (3000000 if
;; there is none). It is generated, always the same: sentences from a small grammar, nouns and names from a vocabulary of
;; some thousand made-up words of which a few are frequent and most are rare, as in real texts (Zipf's law).

(define size (if (pair? (cdr (command-line))) (string->number (cadr (command-line))) 3000000))

(define seed 20240601)
(define (random n)
  (set! seed (remainder (* seed 48271) 2147483647))
  (remainder (quotient seed 16) n))
(define (pick v) (vector-ref v (random (vector-length v))))

(define consonants '#("b" "d" "f" "g" "h" "k" "l" "m" "n" "p" "r" "s" "t" "v" "w" "st" "tr" "br" "gr" "pl"))
(define vowels '#("a" "e" "i" "o" "u" "ea" "ou" "ai"))
(define endings '#("n" "r" "l" "t" "ck" "nd" "m" "s" "rn" "" ""))
(define (syllable) (string-append (pick consonants) (pick vowels)))
(define (make-word i)
  (string-append (syllable) (if (> i 300) (syllable) "") (if (> i 2000) (syllable) "") (pick endings)))

(define common-nouns
  '#("time" "year" "man" "way" "day" "thing" "world" "house" "life" "hand" "road" "place" "river" "night" "water" "friend"
     "hour" "garden" "letter" "window" "master" "horse" "captain" "village" "story" "winter" "heart" "voice" "door" "sea"))
(define verbs
  '#("saw" "found" "took" "knew" "made" "left" "followed" "loved" "heard" "carried" "remembered" "kept" "feared" "asked for"
     "came upon" "spoke of" "looked at" "waited for" "sold" "opened"))
(define adjectives
  '#("old" "little" "great" "good" "long" "young" "dark" "poor" "strange" "white" "quiet" "early" "cold" "bright" "heavy"))
(define prepositions '#("of" "in" "by" "near" "with" "under" "before" "behind" "beyond" "without"))
(define determiners '#("the" "the" "the" "a" "his" "her" "that" "every" "no" "their"))
(define adverbs '#("slowly" "never" "always" "often" "at last" "gladly" "hardly" "once" "suddenly"))
(define conjunctions '#("and" "but" "for" "so" "while" "because" "when" "though"))

;; Rank r of the vocabulary is drawn with a probability in proportion to 1 / (r + 1).
(define vocabulary (make-initialized-vector 6000 make-word))
(define limits
  (let ((sum 0))
    (vector-map
     (lambda (r)
       (set! sum (+ sum (quotient 10000000 (+ r 1))))
       sum)
     (list->vector (iota 6000)))))
(define (zipf-word)
  (let ((x (random (vector-ref limits 5999))))
    (let loop ((low 0) (high 5999))
      (if (= low high)
          (vector-ref vocabulary low)
          (let ((middle (quotient (+ low high) 2)))
            (if (< x (vector-ref limits middle)) (loop low middle) (loop (+ middle 1) high)))))))

(define (noun) (if (= 0 (random 2)) (pick common-nouns) (zipf-word)))
(define (noun-phrase)
  (append (list (pick determiners))
          (if (= 0 (random 3)) (list (pick adjectives)) '())
          (list (noun))
          (if (= 0 (random 3)) (cons (pick prepositions) (list (pick determiners) (noun))) '())))
(define (clause)
  (append (noun-phrase) (if (= 0 (random 4)) (list (pick adverbs)) '()) (list (pick verbs)) (noun-phrase)))
(define (sentence)
  (let loop ((words (clause)))
    (if (= 0 (random 3)) (loop (append words (list (string-append (pick conjunctions))) (clause))) words)))
(define (capitalize word)
  (string-append (string-upcase (substring word 0 1)) (substring word 1)))

(define written 0)
(define column 0)
(define (put word)
  (if (> (+ column (string-length word) 1) 76)
      (begin
        (newline)
        (set! column 0))
      (if (> column 0) (write-char #\space)))
  (write-string word)
  (set! written (+ written (string-length word) 1))
  (set! column (+ column (string-length word) 1)))

(define (put-sentence)
  (let loop ((words (sentence)) (first #t))
    (let ((word (if first (capitalize (car words)) (car words))))
      (if (null? (cdr words))
          (put (string-append word (pick '#("." "." "." "!" "?" ";"))))
          (begin
            (put (if (= 0 (random 12)) (string-append word ",") word))
            (loop (cdr words) #f))))))

(let loop ()
  (if (< written size)
      (begin
        (do ((n (+ 3 (random 8)) (- n 1))) ((= n 0)) (put-sentence))
        (newline)
        (newline)
        (set! column 0)
        (loop))))
