#!/bin/sh
# The example JIT: its programs in both modes, plainly and under stress; its runtime errors; what it says of wrong programs.
cd "$(dirname "$0")/../.." || exit
. tests/tap.sh
jit=build/examples/jit
programs=examples/jit/programs
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
unset GC_STRESS GC_VERIFY GC_CHECKMARK

# same NAME EXPECTED VARIABLE=VALUE ARGUMENT...: the JIT prints what is in the file, and nothing to standard error
same() {
    check=$1 expected=$2 variable=$3
    shift 3
    env "$variable" $jit "$@" > "$dir/out" 2> "$dir/err"
    status=$?
    if [ $status -eq 0 ] && [ ! -s "$dir/err" ] && cmp -s "$dir/out" "$expected"; then
        ok 0 "$check"
    else
        ok 1 "$check"
        diag "exit status $status" "$(head -5 "$dir/err")" "$(diff "$dir/out" "$expected" | head -10)"
    fi
}

for path in "$programs"/*.jit; do
    name=$(basename "$path" .jit)
    [ "$name" != errors ] || continue
    same "$name, interpreted" "$programs/$name.expected" LC_ALL=C --interpret "$path"
    for mode in debug release; do
        same "$name, $mode" "$programs/$name.expected" LC_ALL=C --$mode "$path"
        same "$name, $mode, verified" "$programs/$name.expected" GC_VERIFY=1 --$mode --nursery=64K "$path"
    done
done

for name in trees trees_gc; do
    build/examples/jit-$name > "$dir/out"
    is "$? $(cat "$dir/out")" "0 $(cat "$programs/trees.expected")" "$name, the program in C"
done

# The programs that show the language: in the documentation, and at the top of main.c.
awk '/^    class Node/ { in_it = 1 } /^Builtin/ { in_it = 0 } in_it' docs/stackmaps.md > "$dir/docs.jit"
awk '/^     class Node/ { in_it = 1 } /^   Builtin/ { in_it = 0 } in_it' examples/jit/main.c > "$dir/main.jit"
is "$($jit "$dir/docs.jit")" 'the sum is 45 = 45' 'the program in docs/stackmaps.md'
is "$($jit "$dir/main.jit")" 'the sum is 5 of 10' 'the program in main.c'

# Under stress there is a collection at each allocation, so the programs are made smaller. What they print then is known from
# the interpreter, which has no collector.
while read -r name arguments; do
    # shellcheck disable=SC2086 # several arguments
    $jit --interpret "$programs/$name.jit" $arguments > "$dir/expected"
    for mode in debug release; do
        # shellcheck disable=SC2086
        same "$name $arguments, $mode, collecting at every allocation" "$dir/expected" GC_STRESS=allocation \
            --$mode "$programs/$name.jit" $arguments
        # shellcheck disable=SC2086
        same "$name $arguments, $mode, collecting at every safe point" "$dir/expected" GC_STRESS=safepoint \
            --$mode "$programs/$name.jit" $arguments
    done
done << END
arithmetic
closures
deep 150
delegate_fixed 1
matrix 12
nbody 10
sort 300
spin 2000 20
strings
table 300
threads 3 20
trees 4
END

# Another thread collects all the time, and stops this one by signals, replaced return addresses, and polls.
while read -r name arguments; do
    # shellcheck disable=SC2086
    $jit --interpret "$programs/$name.jit" $arguments > "$dir/expected"
    for mode in --debug --release '--release --polls'; do
        # shellcheck disable=SC2086
        $jit $mode --torture "$programs/$name.jit" $arguments > "$dir/out" 2> "$dir/err"
        is "$? $(cat "$dir/out")" "0 $(cat "$dir/expected")" "$name, $mode, collecting all the time"
    done
done << END
closures 20000
nbody 3000
sort 20000
spin 300000 0
table 5000
threads 3 300
END

# A collection before every instruction of compiled code, each of which moves every object: of debug code at just that one.
while read -r name arguments; do
    # shellcheck disable=SC2086
    $jit --interpret "$programs/$name.jit" $arguments > "$dir/expected"
    for mode in debug release; do
        # shellcheck disable=SC2086
        $jit --$mode --step "$programs/$name.jit" $arguments > "$dir/out" 2> "$dir/err"
        is "$? $(cat "$dir/out")" "0 $(cat "$dir/expected")" "$name $arguments, $mode, collecting before every instruction"
        stops=$(sed -n 's/.* \([0-9]*\) collections; .* instruction \([0-9]*\) times, .* return \([0-9]*\) times.*/\1 \2 \3/p' "$dir/err")
        [ -n "$stops" ] || stops='0 0 0'
        # shellcheck disable=SC2086 # three numbers
        set -- $stops
        [ $mode = release ] || [ "$2" -ge $(($1 / 2)) ]
        ok $? "$name $arguments, $mode: $1 collections, stopped at an instruction $2 times, at a return $3 times"
    done
done << END
delegate_fixed 1
matrix 2
sort 3
strings 2
table 5
END

# The delegate program: debug code keeps the variable, release code does not, and keep_alive is a use of it.
same 'delegate, debug, collecting at every allocation' "$programs/delegate.expected" GC_STRESS=allocation \
    --debug "$programs/delegate.jit"
(ulimit -c 0; GC_STRESS=allocation exec $jit --release "$programs/delegate.jit") > "$dir/out" 2> "$dir/err"
is "$? $(cat "$dir/out")" '134 ' 'delegate, release: the delegate is collected before its call'
report=$(cat "$dir/err")
matches "$report" 'the program used a `delegate` at .*, but that object was found dead in collection' 'which is reported'
matches "$report" 'frames in force in thread main' 'with what the other thread does'
matches "$report" '`main` at \+0x[0-9a-f]*, after a call' 'in compiled code'
matches "$report" 'delegate.jit:1[89]: in main, at \+0x' 'at which line: that of new_thread, or that of sleep'
matches "$report" '`tp` is not live at \+0x[0-9a-f]*: it was in [a-z0-9]* until \+0x' 'and which variable was not live there'

# A heap that is full ends the program, and the message says which limit was met.
printf '%s\n' 'class Node { next: Node; numbers: []int; }' 'fn main() { var list: Node = null;' \
    'while (true) list = new Node(list, new []int(1000)); }' > "$dir/full.jit"
for mode in debug release; do
    $jit --$mode --heap=64M "$dir/full.jit" > "$dir/out" 2> "$dir/err"
    is "$? $(sed "s|^$dir/||; s/ the heap holds.*(\(heap_bytes_max\)).*/ \1/" "$dir/err")" '1 full.jit:3: error: out of memory: heap_bytes_max' \
        "a full heap, $mode"
done

# Runtime errors: one program that has them all.
while read -r number message; do
    for mode in interpret debug release; do
        $jit --$mode "$programs/errors.jit" "$number" > "$dir/out" 2> "$dir/err"
        is "$? $(cat "$dir/out" "$dir/err")" "1 before the error
$message" "error $number, $mode"
    done
done < "$programs/errors.expected"

# wrong NAME MESSAGE PROGRAM: what is said of a program; its path is left out of the message
wrong() {
    printf '%b\n' "$3" > "$dir/wrong.jit"
    $jit --check "$dir/wrong.jit" > "$dir/out" 2> "$dir/err"
    is "$? $(sed "s|^$dir/wrong.jit:||" "$dir/err")" "65 $2" "$1"
}

# in_main NAME MESSAGE STATEMENTS: the same for statements of main, which are in line 3
in_main() {
    wrong "$1" "3:$2" "class Node { value: int; next: Node; fn get(): int { return value; } }\nfn main() {\n$3\n}"
}

# Tokens.
in_main 'an integer of 65 bits' '9: error: the integer has more than 64 bits' 'var a = 9223372036854775808;'
in_main 'a larger one' '9: error: the integer has more than 64 bits' 'var a = 99999999999999999999999;'
in_main 'hexadecimal without digits' '9: error: a hexadecimal integer has 1 to 16 digits after 0x, not 0' 'var a = 0x;'
in_main 'too many hexadecimal digits' '9: error: a hexadecimal integer has 1 to 16 digits after 0x, not 17' 'var a = 0x12345678123456781;'
in_main 'an exponent without digits' '11: error: expected the digits of an exponent' 'var a = 1e;'
in_main 'a letter after a number' '10: error: expected no letter after a number' 'var a = 1x;'
in_main 'a string without end' '9: error: the string that starts here does not end in its line' 'var a = "abc;'
in_main 'an unknown escape' '10: error: expected one of \n \t \r \0 \\ \" \'"' \\xHH" 'var a = "\\q";'
in_main 'an empty character' '9: error: expected one byte between apostrophes' "var a = '';"
in_main 'two characters' '9: error: expected one byte between apostrophes' "var a = 'ab';"
in_main 'a character without meaning' '9: error: the character @ has no meaning here' 'var a = @;'
in_main 'a byte without meaning' '9: error: the byte 0xc3 has no meaning here' 'var a = \0303;'
in_main 'a zero byte' '9: error: the byte 0x00 has no meaning here' 'var a = \0000;'
wrong 'a comment without end' '2:1: error: the comment that starts here does not end' 'fn main() {}\n/* abc'

# Grammar.
wrong 'an empty file' '1:1: error: the program has no function main' ''
wrong 'a statement outside of functions' "1:1: error: expected 'class', 'fn' or 'native', found the name print" 'print(1);'
wrong 'a function without end' "3:1: error: expected a statement, or '}' for the '{' of line 1, found the end of the file" \
    'fn main() {\nprint(1)'';'
in_main 'no semicolon' "9: error: expected ';' after the statement, found '}'" 'print(1)}'
in_main 'no expression' "19: error: expected an expression, found ')'" 'print();print(1 + );'
in_main 'no closing parenthesis' "8: error: expected ',' or ')' after an argument, found ';'" 'print(1;'
in_main 'no closing bracket' "16: error: expected ']' after an index, found ';'" 'var a = "abc"[1;'
in_main 'a keyword as a name' "5: error: expected the name of a variable, found 'while'" 'var while = 1;'
in_main 'a variable without type and value' "6: error: expected ':' and a type, or '=' and a value, after the variable's name, found ';'" 'var a;'
in_main 'a condition without parentheses' "4: error: expected '(' after 'if', found 'true'" 'if true {}'
in_main 'a for of two parts' "29: error: expected an expression, found ')'" 'for (var i = 0; ;) {} for (;) {}'
in_main 'a number as a type' '8: error: expected a type, found an integer' 'var a: 5;'
in_main 'an array type in the manner of C' "11: error: expected ';' after the statement, found '['" 'var a: int[];'
wrong 'a parameter without a type' "1:7: error: expected ':' and a type after the name of a parameter, found ')'" 'fn f(a) {}'
wrong 'a member without a type' "1:20: error: expected ':' and a type after the name of a field, found ';'" 'class C { a: int; b; }'
in_main 'deep nesting' '404: error: the program is nested too deeply: more than 400 levels' "print($(printf '%400s' '' | tr ' ' '('));"
in_main 'a long chain' '1201: error: the program is nested too deeply: more than 400 levels' "var a = 1$(printf '%500s' '' | sed 's/ /+ 1/g');"

# Names.
in_main 'an unknown variable' '7: error: no variable or function is named a' 'print(a);'
in_main 'a variable before its declaration' '7: error: no variable or function is named a' 'print(a); var a = 1;'
in_main 'a variable after its scope' '22: error: no variable or function is named a' '{ var a = 1; } print(a);'
in_main 'a variable in its own value' '9: error: no variable or function is named a' 'var a = a;'
in_main 'an unknown function' '1: error: no function is named f' 'f(1);'
in_main 'an unknown type' '8: error: no class or type is named List' 'var a: List = null;'
in_main 'an unknown member' '22: error: the class Node has no field or method size' 'print((new Node(1)) .size);'
in_main 'a member of an int' '15: error: a value that is int has no member x' 'print((1 + 1).x);'
in_main 'this in a function' "7: error: there is no 'this' outside methods" 'print(this);'
in_main 'a variable twice' '17: error: a is declared already, in line 3' 'var a = 1;  var a = 2;'
wrong 'a function twice' '2:4: error: the function f is declared already, in line 1' 'fn f() {}\nfn f() {} fn main() {}'
wrong 'a class twice' '2:7: error: the class C is declared already, in line 1' 'class C {}\nclass C {} fn main() {}'
wrong 'a field twice' '1:19: error: the field a is declared already, in line 1' 'class C { a: int; a: int; } fn main() {}'
wrong 'a method with the name of a field' '1:22: error: a is a field already, in line 1' 'class C { a: int; fn a() {} } fn main() {}'
wrong 'a parameter twice' '1:14: error: a is declared already, in line 1' 'fn f(a: int, a: int) {} fn main() {}'
wrong 'a class named int' '1:7: error: int is the name of a type of the language' 'class int {} fn main() {}'
wrong 'main with a parameter' '1:4: error: main has no parameters and no result, so it is fn(), not fn(int)' 'fn main(a: int) {}'
wrong 'a native function that does not exist' '1:8: error: the runtime has no native function exec' 'native exec(a: string); fn main() {}'
wrong 'a native function of another type' '1:8: error: the native function sleep is fn(int), not fn(float)' 'native sleep(a: float); fn main() {}'
wrong 'a builtin as a native function' '1:8: error: the runtime has no native function concat' 'native concat(a: string, b: string): string; fn main() {}'

# Types.
in_main 'a value of another type' '14: error: the value is string, but must be int' 'var a: int = "a";'
in_main 'advice on floats' '16: error: the value is int, but must be float: float(...) converts' 'var a: float = 1;'
in_main 'advice on ints' '14: error: the value is float, but must be int: int(...) converts' 'var a: int = 1.5;'
in_main 'advice on strings' '17: error: the value is int, but must be string: str(...) converts' 'var a: string = 1;'
in_main 'null for an int' '14: error: the value is null, but must be int' 'var a: int = null;'
in_main 'the type of null' '9: error: the type of a is not known: the value is null' 'var a = null;'
in_main 'the value of a call without one' '13: error: the type of a is not known: the value is nothing' 'var a = main();'
in_main 'a condition that is an int' '5: error: the condition is int, but must be bool' 'if (1) {}'
in_main 'operands of two types' '11: error: the operator + is not for int and float: float(...) and int(...) convert' 'var a = 1 + 1.0;'
in_main 'a string and an int' '13: error: the operator + is not for string and int: str(...) converts to a string' 'var a = "a" + 1;'
in_main 'bits of floats' '13: error: the operator & is not for float and float' 'var a = 1.0 & 1.0;'
in_main 'the order of objects' '24: error: the operator < is not for Node and Node' 'var a = new Node(1)    < new Node(2);'
in_main 'objects and strings' '12: error: the operator == is not for null and int' 'print(null == 1);'
in_main 'and of ints' '9: error: the operator && is not for int and int' 'print(1 && 2);'
in_main 'not of an int' '7: error: the operator ! is not for int' 'print(!1);'
in_main 'an index that is a float' '15: error: the index is float, but must be int: int(...) converts' 'var a = "abc"[1.0];'
in_main 'an element of an int' '12: error: a value that is int has no elements' 'var a = (1)[0];'
in_main 'a call of an int' '23: error: a value that is int cannot be called' 'var a = 1; print(1 + a(2));'
in_main 'too few arguments' '18: error: Node.get takes 0 arguments, not 1' 'new Node(1).get  (1);'
in_main 'too many fields' '9: error: Node has 2 fields, but there are 3 values' 'var a = new Node(1, null, 2);'
in_main 'a field of another type' '21: error: the value of Node.next is int, but must be Node' 'var a = new Node(1, 2);'
in_main 'new without a class' '9: error: new makes objects and arrays, not values that are int' 'var a = new int(1);'
in_main 'an array without a length' '9: error: expected one length: new []int(n)' 'var a = new []int();'
in_main 'print of an object' '7: error: a value that is Node cannot be printed' 'print(new Node(1));'
in_main 'print as a value' '14: error: print is a statement, not a value' 'var a = print(1);'
in_main 'keep_alive of an int' '12: error: keep_alive is for references, not for int' 'keep_alive(1);'
in_main 'str of an object' '13: error: str is not for Node' 'var a = str(new Node(1));'
wrong 'an argument of another type' '1:30: error: argument 1 of f is bool, but must be int' 'fn f(a: int) {} fn main() {f(true); }'
wrong 'a result of another type' '1:25: error: the result is int, but must be string: str(...) converts' 'fn f(): string { return 1; } fn main() {}'
wrong 'a result where there is none' '1:20: error: main returns no value' 'fn main() { return 1; }'
wrong 'no result' '1:16: error: expected a value to return: f returns int' 'fn f(): int {  return; } fn main() {}'
wrong 'a path without a return' '2:1: error: f may end here without returning a value' 'fn f(a: int): int { if (a > 0) return 1; while (true) break;\n} fn main() {}'
wrong 'six parameters' '1:5: error: a function has at most 5 parameters, not 6' 'fn f(a: int, b: int, c: int, d: int, e: int, g: int) {} fn main() {}'

# Statements.
in_main 'break outside of loops' '1: error: there is no loop around this' 'break;'
in_main 'continue in a function within a loop' '30: error: there is no loop around this' 'while (true) { var f = fn() {continue; }; }'
in_main 'an expression as a statement' '1: error: the statement has no effect: expected an assignment or a call' '1 + 1;'
in_main 'an assignment to a value' '3: error: expected a variable, a field or an element before the assignment' '1 + 1 = 2;'
in_main 'an assignment to a byte' '17: error: the bytes of a string cannot be assigned' 'var a = "a";   a[0] = 1;'
in_main 'an assignment to a copy' '33: error: a function within another one has copies of its variables: they cannot be assigned' 'var a = 1; var f = fn() {       a = 2; };'
in_main 'a copy of what is assigned' '5: error: a is assigned, so a function within this one cannot have a copy of it: copy it to another variable' 'var a = 1; a = 2; var f = fn(): int { return a; };'
in_main 'a variable that cannot be used' "11: error: a variable that is declared here could not be used: expected '{'" 'if (true) var a = 1;'
is "$($jit --check "$dir/none.jit" 2>&1)" "jit: cannot read $dir/none.jit: No such file or directory" 'a missing file'
printf 'fn main() {\n%s}\n' "$(yes 'a;' | head -30)" > "$dir/wrong.jit"
is "$($jit --check "$dir/wrong.jit" 2>&1 | grep -c error:)$($jit --check "$dir/wrong.jit" 2>&1 | tail -1)" \
    "20$dir/wrong.jit: more errors are not printed" 'after 20 errors there are no more messages'

# The command line.
$jit > /dev/null 2> "$dir/err"
is "$? $(head -1 "$dir/err")" '64 usage: jit [--debug | --release] [option...] FILE [INTEGER...]' 'no file'
# refuses NAME STATUS MESSAGE ARGUMENT...
refuses() {
    name=$1 status=$2 message=$3
    shift 3
    $jit "$@" > "$dir/out" 2> "$dir/err"
    is "$? $(head -1 "$dir/err")" "$status jit: $message" "$name"
}
refuses 'a wrong size' 64 'not a size in bytes: 1X (below 1024G; K, M and G may follow a number)' --nursery=1X a.jit
refuses 'a negative size' 64 'not a size in bytes: -1 (below 1024G; K, M and G may follow a number)' --stack=-1 a.jit
refuses 'an unknown option' 64 'no such option: --fast' --fast a.jit
refuses 'an argument that is no integer' 64 'argument 0 of the program is not an integer of 64 bits: 1.5' $programs/trees.jit 1.5
refuses 'a dump of an unknown function' 65 '--dump: the program has no function f' --dump=f $programs/trees.jit
finish
