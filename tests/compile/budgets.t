#!/bin/bash
# The collector has not outgrown its budgets, which are in tests/budgets.
cd "$(dirname "$0")/../.." && . tests/tap.sh || exit
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT

# within NAME NUMBER: it is at most the budget of that name
within() {
    local budget meaning
    read -r _ budget meaning <<< "$(grep "^$1 " tests/budgets)"
    if [ -z "$meaning" ]; then
        ok 1 "tests/budgets has a budget for $1"
        return
    fi
    [ "$2" -gt 0 ] && [ "$2" -le "$budget" ]
    ok $? "$1: $2 of $budget"
    [ "$2" -le "$budget" ] || diag "There are $2 $meaning; the budget in tests/budgets is $budget. Make it smaller, or say in the commit why the budget has to grow."
}

rooms="base space threads trace cycle policy weak diag collection mutator"
within lines "$(for room in $rooms; do cat src/"$room"/*.h; done | wc -l)"
if [ "$(gcc -dumpmachine 2> /dev/null | cut -d- -f1) $(gcc -dumpversion 2> /dev/null | cut -d. -f1)" = 'x86_64 12' ]; then
    printf '#define GC_IMPLEMENTATION\n#include "gc.h"\n' > "$dir/gc.c"
    gcc -std=c11 -O2 -I. -c "$dir/gc.c" -o "$dir/gc.o"
    ok $? "gc.h compiles"
    within text "$(size "$dir/gc.o" | awk 'NR == 2 { print $1 }')"
    gcc -std=c11 -O2 -I. -DGC_CONCURRENT=0 -DGC_COLLECTOR_THREADS_MAX=1 -DGC_DIAGNOSTICS=0 -c "$dir/gc.c" -o "$dir/least.o"
    ok $? "gc.h compiles without what can be left out"
    within text_least "$(size "$dir/least.o" | awk 'NR == 2 { print $1 }')"
else
    skip 'gc.h compiles' 'the budget is for gcc 12 on x86-64'
    skip 'text' 'the budget is for gcc 12 on x86-64'
    skip 'gc.h compiles without what can be left out' 'the budget is for gcc 12 on x86-64'
    skip 'text_least' 'the budget is for gcc 12 on x86-64'
fi
finish
