#!/bin/sh
# The Scheme interpreter: its language tests and its programs, plainly, verified and under stress; its messages; its REPL.
cd "$(dirname "$0")/../.." || exit
. tests/tap.sh
scheme=build/examples/scheme
examples=examples/scheme
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
unset GC_STRESS GC_VERIFY GC_CHECKMARK

# suite NAME FILE [VARIABLE=VALUE | OPTION]...: a language test, all of whose checks must hold
suite() {
    name=$1 path=$examples/tests/$2
    shift 2
    case ${1-} in GC_*) variable=$1 && shift ;; *) variable=LC_ALL=C ;; esac
    env "$variable" $scheme "$@" "$path" > "$dir/out" 2>&1
    status=$?
    if [ $status -eq 0 ] && ! grep -q '^not ok' "$dir/out" && [ "1..$(grep -c '^ok' "$dir/out")" = "$(tail -1 "$dir/out")" ]; then
        ok 0 "$name"
    else
        ok 1 "$name"
        diag "exit status $status" "$(grep -v '^ok' "$dir/out" | tail -20)"
    fi
}

for file in core data deep; do
    suite "$file" $file.scm
    suite "$file, verified" $file.scm GC_VERIFY=1
    suite "$file, checkmark" $file.scm GC_CHECKMARK=1
done
suite 'core, collecting every 5th allocation' core.scm GC_STRESS=5
suite 'data, collecting every 100th allocation' data.scm GC_STRESS=100
suite 'deep, collecting every 100000th allocation' deep.scm GC_STRESS=100000
suite 'core, collecting at every allocation' core.scm GC_STRESS=allocation
suite 'data, a small nursery' data.scm --nursery=64K

# program NAME VARIABLE=VALUE ARGUMENT...: prints what is expected
program() {
    name=$1 variable=$2
    shift 2
    env "$variable" $scheme $examples/programs/"$name".scm "$@" > "$dir/out" 2> "$dir/err"
    cmp -s "$dir/out" $examples/programs/"$name".expected
    ok $? "$name, $variable"
    [ ! -s "$dir/err" ] || diag "$(head -5 "$dir/err")"
}

$scheme $examples/programs/text.scm > "$dir/text"
ok $? 'the text is generated'
[ "$(wc -c < "$dir/text")" -ge 1000000 ]
ok $? 'it has a million bytes'
for variable in LC_ALL=C GC_VERIFY=1; do
    for name in meta queens sieve derive json lru; do program $name $variable; done
    program words $variable "$dir/text"
done
is "$(sed -n 2,4p $examples/programs/words.expected | sed 's/^ *//')" \
    "$(tr A-Z a-z < "$dir/text" | tr -cs a-z '\n' | grep . | LC_ALL=C sort | uniq -c | LC_ALL=C sort -k1,1nr -k2 | head -3 | sed 's/^ *//')" \
    'words are counted as sort and uniq count them'

# says NAME STATUS MESSAGE PROGRAM: what a program that fails writes to standard error
says() {
    printf '%s\n' "$4" > "$dir/p.scm"
    (cd "$dir" && ulimit -c 0 && "$OLDPWD/$scheme" p.scm > out 2> err)
    status=$?
    is "$status: $(cat "$dir/err")" "$2: $3" "$1"
}

says 'unbound variable' 1 'p.scm:3: error: unbound variable: y' '(define x 1)

(display y)'
says 'unbound variable, by itself' 1 'p.scm:2: error: unbound variable: y' '(define x 1)
y'
says 'wrong type, in a procedure' 1 'p.scm:2: error: car: argument 1 must be a pair, not 5' '(define (f x)
  (car x))
(f 5)'
says 'wrong type, in the library: where it was called' 1 'p.scm:3: error: map: not a list: 5' '(define (f l)
  (list 1
        (map car l)))
(f 5)'
says 'error with irritants' 1 'p.scm:1: error: no such thing: 1 "two" (three)' '(error "no such thing:" 1 "two" (quote (three)))'
says 'raise of any object' 1 'p.scm:1: error: uncaught object (a . 1)' '(raise (cons (quote a) 1))'
says 'wrong number of arguments' 1 'p.scm:2: error: f: expected 2 arguments, got 1' '(define (f a b) a)
(f 1)'
says 'not a procedure' 1 'p.scm:1: error: not a procedure: "f"' '("f" 1)'
says 'index out of range' 1 'p.scm:1: error: vector-ref: index 3 is out of range for length 2' '(vector-ref (vector 1 2) 3)'
says 'division by zero' 1 'p.scm:1: error: modulo: division by zero' '(modulo 5 0)'
says 'unclosed list' 1 'p.scm:2: error: unexpected end of file: the ( is not closed' '1
(define (f)
  (g)
'
says 'unclosed string' 1 'p.scm:1: error: unexpected end of file: the " is not closed' '(display "abc)
'
says 'too many )' 1 'p.scm:2: error: unexpected )' '1
)'
says 'bad syntax' 1 'p.scm:3: error: let: a binding must be (name value)' '(define (f)
  (list
    (let ((a 1 2)) a)))'
says 'infinite recursion' 1 'p.scm:1: error: the stack is full (128 MB): recursion is too deep, or an argument list too long' '(define (f x) (+ 1 (f x))) (f 1)'
says 'argument list too long' 1 'p.scm:1: error: the stack is full (128 MB): recursion is too deep, or an argument list too long' '(apply list (make-list 17000000 1))'
says 'an error in a handler' 1 'p.scm:1: error: second' '(guard (e (#t (error "second"))) (error "first"))'
says 'dynamic-wind is left' 0 '' '(guard (e (#t 1)) (dynamic-wind (lambda () 1) (lambda () (car 1)) (lambda () (display "out"))))'
is "$(cat "$dir/out")" out 'the after thunk ran'
says 'exit status' 7 '' '(exit 7)'
says 'an error in a loaded file' 1 'q.scm:1: error: car: argument 1 must be a pair, not ()' "$(echo "(car '())" > "$dir/q.scm")(load \"q.scm\")"
says 'cyclic data in a message end' 1 'p.scm:1: error: bad (1 2 1 ...)' "(define c (list 1 2)) (set-cdr! (cdr c) c) (error \"bad\" c)"
is "$($scheme "$dir/none.scm" 2>&1)" "error: cannot open $dir/none.scm: No such file or directory" 'missing program'
matches "$($scheme --heap-max=lots 2>&1)" 'not a size in bytes: lots' 'bad option value'
matches "$($scheme --what 2>&1)" '^usage: scheme' 'unknown option'

# The heap's limit: the program goes on once its data is dropped.
cat > "$dir/full.scm" << 'END'
(define (fill l) (fill (cons (make-vector 1000 0) l)))
(display (guard (e (#t (error-object-message e))) (fill '())))
(newline)
(display (length (let loop ((i 0) (l '())) (if (= i 1000) l (loop (+ i 1) (cons (make-vector 100) l))))))
(newline)
(fill '())
END
is "$($scheme --heap-max=64M "$dir/full.scm" 2> "$dir/err")" "out of memory
1000" 'out of memory is an error that can be handled'
matches "$(cat "$dir/err")" '^.*full.scm:[0-9]+: error: out of memory: .*heap_bytes_max' 'and the message names the limit'

# The read-eval-print loop, not interactive.
is "$(printf '%s\n' '(+ 1 2) "a\"b"' '(define (f x)' '  (* x x))' '(f 12)' "'(a . b)" '(if #f #f)' | $scheme 2>&1)" '3
"a\"b"
144
(a . b)' 'values are printed'
is "$(printf '%s\n' '(car 5)' '(+ 1' 'nowhere)' '(define x 5) (oops) (ignored)' 'x' ')' '(read-line)' 'a line' '(f' | $scheme 2>&1)" \
    'stdin:1: error: car: argument 1 must be a pair, not 5
stdin:3: error: unbound variable: nowhere
stdin:4: error: unbound variable: oops
5
stdin:6: error: unexpected )
""
stdin:8: error: unbound variable: a
stdin:9: error: unexpected end of file: the ( is not closed' 'errors return to the prompt'
is "$(printf '%s\n' '(call/cc (lambda (k) (dynamic-wind (lambda () 1) (lambda () (car 5)) (lambda () 2))))' "(guard (e (#t 'caught)) (car 5))" '(define (f n) (+ 1 (f n)))' '(f 1)' '(guard (e (#t 1)) (f 1))' | $scheme 2>&1)" \
    'stdin:1: error: car: argument 1 must be a pair, not 5
caught
stdin:3: error: the stack is full (128 MB): recursion is too deep, or an argument list too long
1' 'the machine is good after an error'
is "$(echo '(command-line)' > "$dir/c.scm" && echo '(for-each (lambda (x) (display x) (newline)) (cdr (command-line)))' > "$dir/c.scm" && $scheme "$dir/c.scm" one --two)" 'one
--two' 'arguments'
matches "$($scheme --stats --nursery=1M $examples/tests/check.scm 2>&1)" \
    '^gc-stats collections0=[0-9]+ collections1=[0-9]+ collections2=[0-9]+ pause_max_us=[0-9.]+ .* gc_percent=[0-9.]+$' 'statistics'
is "$(build/examples/hello | head -1)" 'the sum of a million cells: 499999500000' 'hello'
finish
