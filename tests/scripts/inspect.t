#!/bin/bash
# gc-inspect: the sessions of docs/inspect.md; every command about a process and a core file, in text and JSON; heaps with planted
# faults; a program that goes on while it is looked into; names of a language; mistakes of its user.
cd "$(dirname "$0")/../.." && . tests/tap.sh || exit
inspect=$PWD/build/tools/gc-inspect
dir=$(mktemp -d) && trap 'rm -rf "$dir"; kill -KILL $pids 2> /dev/null' EXIT
pids=

# start PROGRAM ARGUMENT...: one of build/inspect, until it waits; $pid is its process. It goes on by a line to descriptor 7.
start() {
    rm -f "$dir/in" && mkfifo "$dir/in"
    : > "$dir/ready"
    "build/inspect/$1" "${@:2}" < "$dir/in" > "$dir/ready" 2> /dev/null &
    pid=$! pids="$pids $!"
    exec 7> "$dir/in"
    for _ in $(seq 1 600); do grep -q ready "$dir/ready" && return; sleep 0.05; done
    diag "$* is not ready after 30 seconds"
}
end() { kill -KILL "$pid"; wait "$pid" 2> /dev/null; exec 7>&-; }

# ask ARGUMENT...: what gc-inspect says of the process; its notes are in $dir/notes, its status in $status
ask() { page=$(timeout 300 "$inspect" "$@" 2> "$dir/notes"); status=$?; }

# json EXPRESSION NAME: of $page as JSON, `$_`, and its first heap, `$h`, which must be true
json() {
    printf '%s' "$page" | perl -MJSON::PP -e 'undef $/; my $text = <STDIN>; $_ = JSON::PP->new->utf8->decode($text); my $h = $_->{heaps}[0];
        exit !('"$1"')' 2> "$dir/perl"
    ok $? "$2"
    [ ! -s "$dir/perl" ] || diag "$(cat "$dir/perl")" "$page"
}

start broken none
probe=$(timeout 60 "$inspect" "$pid" types 2>&1 > /dev/null)
if [[ $probe == *ptrace* || $probe == *permit* ]]; then
    skip "gc-inspect" "processes may not be looked into here: $probe"
    end
    finish
fi

if command -v gcore > /dev/null; then
    tests/inspect/session.pl "$dir" > "$dir/session" 2> "$dir/differences"
    while IFS= read -r line; do
        [[ $line == 1..* ]] && continue
        [[ $line == ok* ]]
        ok $? "docs/inspect.md: ${line#* - }"
    done < "$dir/session"
    cat "$dir/differences" >&2
    [ "$(grep -c '^ok' "$dir/session")" -ge 15 ]
    ok $? "all of its commands ran"
else
    skip "the sessions of docs/inspect.md" "gcore is not installed (tools/setup test)"
fi

# Every command, in JSON.
ask --json "$pid" types
json '$h->{objects} == 100003 && $h->{bytes} == 24 * 100003 && @{$h->{types}} == 2 && $h->{types}[0]{objects} == 100002' "types: the numbers are right"
json '$h->{types}[1]{type} =~ /^odd "\\.*\[31m/ && $_->{target} eq '"$pid"' && !@{$_->{notes}} && $_->{stopped_us} > 0' "and a name that nobody would choose is legible"
json '@{$_->{heaps}} == 2 && $_->{heaps}[1]{objects} == 0' "of both heaps"
ask --json --heap 1 "$pid" types
json '@{$_->{heaps}} == 1 && $h->{heap} == 1 && $h->{objects} == 0' "or of one"
ask --json --heap 0 --generation 0 "$pid" types
json '$h->{objects} == 1' "types of a generation"
ask --json "$pid" summary
json '$h->{objects} == 100003 && $h->{threads} == 1 && $h->{collections} >= 2 && $h->{phase} eq "idle" && $h->{module} =~ /broken$/' "summary"
json '$h->{statistics}{allocated_bytes} >= 24 * 100003 && @{$h->{handle_kinds}} == 4' "with statistics and handles"
ask --json --limit 2 "$pid" objects node
json '@{$h->{objects}} == 2 && $h->{count} == 100002 && $h->{objects}[0]{bytes} == 24' "objects of a type, cut to a limit"
ask --json "$pid" handles
json 'join(" ", sort map $_->{kind}, @{$h->{handles}}) eq "dependent pinned strong weak"' "handles of each kind"
old=$(printf '%s' "$page" | perl -MJSON::PP -e 'undef $/; print map $_->{object}, grep $_->{kind} eq "pinned", @{decode_json(<STDIN>)->{heaps}[0]{handles}}')
key=$(printf '%s' "$page" | perl -MJSON::PP -e 'undef $/; print map $_->{object}, grep $_->{kind} eq "dependent", @{decode_json(<STDIN>)->{heaps}[0]{handles}}')
kept=$(printf '%s' "$page" | perl -MJSON::PP -e 'undef $/; print map $_->{extra}, grep $_->{kind} eq "dependent", @{decode_json(<STDIN>)->{heaps}[0]{handles}}')
ask --json "$pid" object "$old"
json '$h->{address} eq "'"$old"'" && $h->{slots}[1]{name} eq "right" && $h->{slots}[1]{reference} eq "'"$key"'" && !$h->{slots}[0]{reference}' "an object's fields"
ask --json "$pid" path "$old"
json '$h->{reached} && $h->{length} == 1 && $h->{root}{kind} =~ /^(global|handle)$/' "the way to a root's object"
ask --json "$pid" path "$kept"
json '$h->{length} == 3 && $h->{path}[2]{address} eq "'"$kept"'" && $h->{path}[2]{by} =~ /dependent/' "the way to an object that a dependent handle keeps"
ask --json --limit all "$pid" retained
json '$h->{reached_objects} == 100003 && $h->{lost_objects} == 0 && $h->{objects}[0]{retained_bytes} == 24 * 100002' "retained: all hangs on one object"
json '$h->{types}[0]{retained_bytes} == 24 * 100003 && $h->{types}[1]{retained_bytes} == 24' "and by types"
ask --json "$pid" retained "$key"
json '$h->{retained_bytes} == 24 * 100001 && $h->{kept_by}[0]{address} eq "'"$old"'"' "retained by one object: a list, and what the dependent handle adds"
ask --json "$pid" threads
json '$h->{threads}[0]{name} eq "main" && $h->{threads}[0]{frames}[0]{function} eq "break_heap" && $h->{threads}[0]{frames}[0]{names} eq "young"' "threads and their frames"
ask --json --heap 1 "$pid" threads
json '@{$h->{threads}} == 1 && $h->{threads}[0]{unbound} && !$h->{threads}[0]{running} && $h->{threads}[0]{mode} eq "unknown"' "a record of gc_thread_create is in no known mode"
ask --heap 1 "$pid" threads
matches "$page" '^thread without a name: a record of gc_thread_create, whose mode only the program knows$' "and says so"
ask --json "$pid" finalizers
json '!@{$h->{finalizers}}' "finalizers"
ask --json --heap 0 "$pid" regions --svg "$dir/map.svg"
json '@{$h->{regions}} >= 1 && $h->{region_bytes} >= 4096 && !grep $_->{condemned}, @{$h->{regions}}' "regions"
is "$(grep -c '<svg' "$dir/map.svg") $(grep -c '</svg>' "$dir/map.svg") $(($(grep -c '<title>.*</title>' "$dir/map.svg") > 0))" "1 1 1" "and a drawing of them"
ask --json "$pid" verify
json '$h->{fault_count} == 0 && $h->{objects} == 100003' "verify finds nothing"
is $status 0 "and says so by its status"
for command in summary types 'objects node' "object $old" "path $key" retained "retained $key" regions handles finalizers threads verify; do
    # shellcheck disable=SC2086 # a command and its argument
    ask "$pid" $command
    [ $status -eq 0 ] && [ -n "$page" ] && ! printf '%s' "$page" | LC_ALL=C grep -q $'[\001-\011\013-\037]'
    ok $? "$command, as text without control characters"
done
ask "$pid" path "$(printf '0x%x' $((old + 8)))"
matches "$page" "^ +$old  node" "an address within an object stands for the object"
# lacks TEXT ARGUMENT...: nothing is there: a note says so, and status 1
lacks() {
    ask "$pid" "${@:2}"
    is $status 1 "${*:2}: there is none, by the status"
    matches "$(cat "$dir/notes")" "^note: $1" "and by a note"
    ask --json "$pid" "${@:2}"
    json "$status == 1 && @{\$_->{notes}} == 1 && !exists \$_->{error}" "and in JSON"
}
ask --json --heap 0 "$pid" regions
unused=$(printf '%s' "$page" | perl -MJSON::PP -e 'undef $/; printf "0x%x", hex($_->{base}) + $_->{bytes} - 8 for grep $_->{linear}, @{decode_json(<STDIN>)->{heaps}[0]{regions}}')
for command in object path retained; do
    lacks 'no heap has the address 0x10$' $command 0x10
    lacks "no object( of the heap)? covers $unused" $command "$unused"
done
lacks 'no object has the type `nosuch`: `types` lists' objects nosuch
lacks 'no object of that generation has the type `node`' --generation 1 objects node
ask --heap 1 "$pid" retained
matches "$page" '^roots lead to 0 objects of 0 bytes; no known root to 0 of 0 bytes$' "an empty heap has no headings without rows: retained"
is "$(grep -c . <<< "$page")" 2 "which is all that is said beside the heap's name"
for command in handles finalizers regions; do
    ask --heap 1 "$pid" $command
    is "$(tail -n +3 <<< "$page")" "no $command" "and $command"
done
ask "$pid" summary
matches "$page" '  generation [0-2] +1 region, ' "one of a thing is not called several"

# What is in a core file is what was in the process.
if command -v gcore > /dev/null && gcore -o "$dir/core" "$pid" > "$dir/log" 2>&1; then
    for command in types 'objects node --limit all' 'retained --limit 50' "path $kept" handles regions verify threads; do
        # shellcheck disable=SC2086
        ask "$pid" $command && live=$page
        # shellcheck disable=SC2086
        ask "$dir/core.$pid" $command
        [ "$page" = "$live" ] && [ -n "$page" ]
        ok $? "$command of the core file is that of the process"
    done
    ask --json diff "$dir/core.$pid" "$pid"
    json '$_->{objects_before} == 100003 && $_->{objects_after} == 100003 && !grep $_->{bytes_grown}, @{$_->{types}}' "diff of the same finds no growth"
    ask --json --heap 1 diff "$dir/core.$pid" "$pid"
    json '$_->{objects_before} == 0 && $_->{objects_after} == 0' "or of one of its heaps"
    ask --heap 2 diff "$dir/core.$pid" "$pid"
    is "$status $(grep -c 'names none: they count from 0' "$dir/notes")" "2 1" "which has to be there"
    ln "$dir/core.$pid" "$dir/a&b<c"
    ask --heap 0 "$dir/a&b<c" regions --svg "$dir/named.svg"
    is "$(grep -cE '&|<c' "$dir/named.svg")" 0 "a drawing is XML whatever its target is called"
    ask --json --heap 0 "$dir/core.$pid" regions --svg "$dir/none/map.svg"
    json "\$_->{error} =~ /cannot write the map/ && @{\$h->{regions}} && 2 == $status" "a failure in the midst of an answer leaves it JSON"
    head -c 20000 "$dir/core.$pid" > "$dir/cut"
    ask "$dir/cut" types
    [ $status -ne 139 ] && [ $status -ne 134 ] && [ -s "$dir/notes" ]
    ok $? "a core file that was cut off is reported"
fi
end

# A dump by the kernel itself.
if [[ $(cat /proc/sys/kernel/core_pattern 2> /dev/null) == core* ]]; then
    mkdir "$dir/killed"
    { (cd "$dir/killed" && ulimit -c $((128 << 10)) && exec "$OLDPWD/build/inspect/killed"); } > /dev/null 2>&1
    ask --json "$(find "$dir/killed" -name 'core*' | head -1)" types
    json '$h->{types}[0]{type} eq "posting" && $h->{types}[0]{objects} > 1000000' "the kernel's core file of a program that was killed"
else
    skip "the kernel's core file" "core_pattern is not a plain name"
fi

# Planted faults.
# finds HOW TEXT: verify finds the fault, and says so by its status
finds() {
    start broken "$1"
    ask --heap 0 "$pid" verify
    is $status 1 "a heap with a broken $1"
    matches "$page" "$2" "and what is wrong"
    ask --json --heap 0 "$pid" verify
    json '$h->{fault_count} == 1 && @{$h->{faults}} == 1' "and nothing else"
    end
}
finds barrier 'field `left` of node 0x[0-9a-f]+ holds 0x[0-9a-f]+ .*card is clean: a missing write barrier'
finds header 'the object 0x[0-9a-f]+ has a header that leads to no type'
finds reference 'field `left` of node 0x[0-9a-f]+ holds 0x[0-9a-f]+ where no object begins'

# What compiled code has, whose stack maps are not read.
start broken code
ask --heap 0 "$pid" threads
matches "$page" '^    compiled code at 0x1234$' "compiled code has no names"
ask --json --heap 0 "$pid" objects held
object=$(printf '%s' "$page" | perl -MJSON::PP -e 'undef $/; print decode_json(<STDIN>)->{heaps}[0]{objects}[0]{address}')
ask "$pid" path "$object"
matches "$page" '^root: a register of a compiled frame, thread `main`; perhaps no root$' "and neither have its registers"
end

# A process that allocates and collects is stopped at any moment, and goes on.
start busy
faults=0
for i in $(seq 1 "${BUSY:-25}"); do
    command=$(printf '%s\n' types verify retained threads summary | sed -n "$((i % 5 + 1))p")
    ask "$pid" "$command"
    if [ "$status" -ne 0 ] && ! [[ $page == *"has just stored it"* ]]; then faults=$((faults + 1)) && diag "$command: $status" "$page" "$(cat "$dir/notes")"; fi
done
is $faults 0 "no answer about a busy process contradicts itself"
timeout 60 "$inspect" "$pid" types > /dev/null 2>&1 & asking=$!
kill -KILL $asking
wait $asking 2> /dev/null
matches "$(sleep 0.2; sed -n 's/^State:\s*//p' "/proc/$pid/status")" '^[RS]' "it runs on when gc-inspect is killed"
ask --no-stop "$pid" summary
is $status 0 "it can be read while it runs"
echo >&7
wait "$pid"
is "$? $(tail -1 "$dir/ready")" "0 whole" "and it was not harmed"
exec 7>&-

# Names of a language.
cat > "$dir/p.scm" << 'END'
(define data (list 1 2.5 "text" 'symbol #\a #t '() (vector 1 2 "x")))
(define (adder n) (lambda (m) (+ n m)))
(define add-five (adder 5))
(display "ready") (newline)
(let loop () (loop))
END
build/examples/scheme "$dir/p.scm" > "$dir/ready" &
pid=$! pids="$pids $!"
for _ in $(seq 1 600); do grep -q ready "$dir/ready" && break; sleep 0.05; done
names=examples/scheme/scheme.names
ask --names $names --limit all "$pid" objects pair
matches "$page" ' \(1 2\.5 "text" symbol #\\a #t \(\) #\(1 2 "x"\)\)$' "a list is shown as Scheme writes it"
list=$(sed -n 's/^ *\(0x[0-9a-f]*\).* (1 2.5 "text".*/\1/p' <<< "$page" | head -1)
ask --names $names "$pid" object "$list"
matches "$page" '^  \.car +1$' "and so is a number that is no object"
ask --names $names "$pid" path "$list"
matches "$page" '^root: the global ' "the interpreter's globals lead to it"
matches "$(cat "$dir/notes")" 'scan_roots' "what only the program knows is noted"
ask --names $names "$pid" types
matches "$page" ' procedure$' "a type has the language's name"
ask --names $names --limit all "$pid" objects primitive
matches "$page" '#<procedure vector-ref>' "a name that a C string has"
ask "$pid" verify
is $status 0 "tagged values are verified, too"
kill -KILL "$pid"
wait "$pid" 2> /dev/null

# bad_names LINE FAULT
bad_names() {
    printf '# a comment\n%s\n' "$1" > "$dir/names"
    ask --names "$dir/names" 1 types
    is "$status" 2 "names: $1"
    matches "$(cat "$dir/notes")" "names:2: .*$2" "are refused with their line"
}
bad_names 'typ x as "y"' 'must begin with'
bad_names 'type x as "y' 'quotation mark'
bad_names 'type x as "{y"' 'without a }'
bad_names 'type x as "y}"' 'without a {'
bad_names 'type x is "y"' '`as` or `called`'
bad_names 'value 3 z as "y"' 'no number'
bad_names 'value 3 0 called "y"' '`as` the bits'
bad_names 'type x as "y" "z"' 'more after'

# says TEXT ARGUMENT...: a mistake of the user is answered by a sentence and status 2
says() {
    ask "${@:2}"
    is "$status" 2 "gc-inspect ${*:2}"
    matches "$(cat "$dir/notes")" "$1" "says: $1"
}
says '^usage: gc-inspect'
says 'a command must follow' 1
says 'no command `foo`' 1 foo
says 'needs the address' 1 path
says 'needs the name of a type' 1 objects
says 'hexadecimal number' 1 path xyz
says 'one argument too many' 1 path 0x10 0x20
says 'takes no argument' 1 types x
says '.--limit needs a number' --limit x 1 types
says '.--generation needs 0, 1 or 2' --generation 3 1 types
says '.--svg is for' --svg x 1 types
says 'compares two' diff 1
says '`--what` is no option' --what
says '`-x` is no option' -x
says 'option `--limit` needs an argument' --limit
# fails TEXT ARGUMENT...: with --json the sentence is JSON, too
fails() {
    says "$@"
    json "\$_->{error} =~ m{$1} && 2 == $status" "as JSON"
}
fails 'is no option' --what --json
fails '[-]-limit needs a number' --limit x --json 1 types
fails 'must be named' --json
fails 'no command `foo`' --json 1 foo
fails 'no ELF file' --json Makefile types
fails 'no such process' 4194305 types --json
says 'no such process' 4194305 types
says 'No such file' "$dir/none" types
says 'no ELF file' Makefile types
says 'note of gc.h' $$ types
says 'cannot open the file of names' --names "$dir/none" 1 types
matches "$("$inspect" --help)" 'examples:' "--help has examples"
finish
