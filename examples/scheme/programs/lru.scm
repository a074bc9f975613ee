;; A cache that drops what was used least recently: a hash table from keys to nodes of a doubly linked list. Nodes grow
;; old and are relinked all the time, the pattern for which a generational collector needs its write barrier.

(define-record-type node (make-node key value previous next) node?
  (key node-key)
  (value node-value set-node-value!)
  (previous node-previous set-node-previous!)
  (next node-next set-node-next!))

(define-record-type cache (make-cache table capacity ring hits misses) cache?
  (table cache-table)
  (capacity cache-capacity)
  (ring cache-ring) ; its next is the newest node, its previous the oldest
  (hits cache-hits set-cache-hits!)
  (misses cache-misses set-cache-misses!))

(define (new-cache capacity)
  (let ((ring (make-node 'ring #f #f #f)))
    (set-node-next! ring ring)
    (set-node-previous! ring ring)
    (make-cache (make-hash-table) capacity ring 0 0)))

(define (unlink! node)
  (set-node-next! (node-previous node) (node-next node))
  (set-node-previous! (node-next node) (node-previous node)))

(define (link-first! cache node)
  (let* ((ring (cache-ring cache)) (second (node-next ring)))
    (set-node-next! node second)
    (set-node-previous! node ring)
    (set-node-previous! second node)
    (set-node-next! ring node)))

(define (drop-oldest! cache)
  (let ((oldest (node-previous (cache-ring cache))))
    (unlink! oldest)
    (hash-table-delete! (cache-table cache) (node-key oldest))))

(define (cache-ref! cache key make-value)
  (let ((node (hash-table-ref/default (cache-table cache) key #f)))
    (cond (node
           (set-cache-hits! cache (+ 1 (cache-hits cache)))
           (unlink! node)
           (link-first! cache node)
           (node-value node))
          (else
           (set-cache-misses! cache (+ 1 (cache-misses cache)))
           (if (>= (hash-table-count (cache-table cache)) (cache-capacity cache)) (drop-oldest! cache))
           (let ((node (make-node key (make-value key) #f #f)))
             (hash-table-set! (cache-table cache) key node)
             (link-first! cache node)
             (node-value node))))))

;; Keys from Lehmer's generator; the product of two favours small ones.
(define seed 42)
(define (random n)
  (set! seed (remainder (* seed 48271) 2147483647))
  (remainder (quotient seed 16) n))
(define (random-key keys) (quotient (* (random keys) (random keys)) keys))

(define (make-page key) (vector key (number->string key) (list key (+ key 1))))

(define (simulate capacity keys requests)
  (let ((cache (new-cache capacity)))
    (do ((i 0 (+ i 1)) (sum 0 (remainder (+ (* sum 31) (vector-ref (cache-ref! cache (random-key keys) make-page) 0)) 1000000007)))
        ((= i requests)
         (display "capacity ")
         (display capacity)
         (display ": hits ")
         (display (cache-hits cache))
         (display ", misses ")
         (display (cache-misses cache))
         (display ", checksum ")
         (display sum)
         (newline)
         (cache-hits cache)))))

(simulate 100 20000 100000)
(simulate 2000 20000 400000)
(define hits (simulate 10000 20000 400000))
(display "answer: ")
(display hits)
(display " hits out of 400000 requests")
(newline)
