#!/bin/bash
# Every single-file example runs, plain and under stress; README's example is a program; NAME.expected is what NAME prints.
cd "$(dirname "$0")/../.." && . tests/tap.sh || exit
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT

awk '/^```c$/ { copy = 1; next } /^```$/ { copy = 0 } copy' README.md > "$dir/readme.c"
test -s "$dir/readme.c" && gcc -std=c11 -O0 -Wall -Wextra -Werror -pthread -I. "$dir/readme.c" -o "$dir/readme"
ok $? "README's example compiles"
page=$("$dir/readme")
is $? 0 "README's example runs"
matches "$page" 'collections' "README's example prints statistics"
page=$(GC_VERIFY=1 GC_CHECKMARK=1 GC_STRESS=10000 "$dir/readme" 2>&1)
is $? 0 "README's example runs under stress and verify"

# prints_expected PROGRAM NAME VARIABLE...: with these in the environment it prints $name.expected, succeeds, and says no more
prints_expected() {
    program=$1 what=$2
    shift 2
    env "$@" timeout 300 "$program" > "$dir/out" 2> "$dir/said" < /dev/null
    status=$?
    grep -v "ASan doesn't fully support makecontext" "$dir/said" > "$dir/err"
    [ $status -eq 0 ] && [ ! -s "$dir/err" ] && diff -u "examples/$name.expected" "$dir/out" >&2
    ok $? "$what"
    head -5 "$dir/err" >&2
}

sanitized() { gcc -std=c11 -O0 -g1 -DGC_DEBUG=2 -fsanitize=address,undefined -fno-sanitize-recover=undefined -pthread -I. "$@"; }
printf '#define GC_IMPLEMENTATION\n#include "gc_stackmap.h"\n' > "$dir/gc.c"
sanitized -c "$dir/gc.c" -o "$dir/gc.o"
ok $? "gc.h compiles with sanitizers"
# All with one gc.o, since compiling it takes ten times as long as an example.
sed '/define GC_IMPLEMENTATION/d' "$dir/readme.c" > "$dir/example.c"
sanitized -D_GNU_SOURCE= "$dir/example.c" "$dir/gc.o" -o "$dir/sanitized" && "$dir/sanitized" > /dev/null
is $? 0 "README's example runs under AddressSanitizer"
for source in examples/*.c; do
    [ -f "$source" ] || continue
    name=$(basename "$source" .c)
    make -s "build/examples/$name"
    ok $? "$source compiles"
    timeout 300 "build/examples/$name" > "$dir/out" 2> "$dir/err" < /dev/null
    is $? 0 "$source runs"
    is "$(cat "$dir/err")" '' "$source says nothing on stderr"
    if [ -f "examples/$name.expected" ]; then
        diff -u "examples/$name.expected" "$dir/out" >&2
        ok $? "$source prints $name.expected"
    else
        test -s "$dir/out"
        ok $? "$source prints something"
    fi
    GC_VERIFY=1 GC_CHECKMARK=1 GC_STRESS=stack timeout 300 "build/examples/$name" > "$dir/out" 2> "$dir/err" < /dev/null
    is $? 0 "$source runs under stress and verify"
    head -5 "$dir/err" >&2
    # Those whose output is known are small enough to collect often, and must not say anything else for it.
    [ -f "examples/$name.expected" ] || continue
    case $name in fibers | native) stress=GC_STRESS=500 ;; *) stress=GC_STRESS=allocation ;; esac
    prints_expected "build/examples/$name" "$source prints the same under $stress and verify" $stress GC_VERIFY=1
    sed '/define GC_IMPLEMENTATION/d' "$source" > "$dir/$name.c"
    sanitized -D_GNU_SOURCE= -Iexamples "$dir/$name.c" "$dir/gc.o" -o "$dir/sanitized"
    ok $? "$source compiles with sanitizers"
    prints_expected "$dir/sanitized" "$source prints the same under sanitizers" GC_STRESS=
    prints_expected "$dir/sanitized" "$source prints the same under sanitizers, $stress and verify" \
        $stress GC_VERIFY=1
done

# The program that people see first stays short.
if [ -f examples/hello.c ]; then
    test "$(wc -l < examples/hello.c)" -le 40
    ok $? "examples/hello.c has at most 40 lines"
else
    ok 1 "examples/hello.c exists"
fi
finish
