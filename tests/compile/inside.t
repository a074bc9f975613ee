#!/bin/bash
# Tests of the inside share one collector: they have no variables of it, for those would not be the ones that it uses. What they
# look at is declared by GC__VAR in src/.
cd "$(dirname "$0")/../.." && . tests/tap.sh || exit
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT

own_variables() { objdump -t "$1" | awk '$2 == "l" && / [.](data|bss|tdata|tbss)\t/ && $NF ~ /^gc__/ { print $NF }' | xargs; }
for test in $(grep -l 'include "../inside.h"' tests/*/*.c | grep -v unit/inside.c) "$@"; do
    clang -std=c11 -w -O0 -DGC_DEBUG=3 -DSHARES_INSIDE -Isrc -c "$test" -o "$dir/test.o"
    ok $? "$test compiles"
    is "$(sed '/^#if defined(\(RANDOM\|TABLES\)_/,/^#endif/d' "$test" | grep -E '^# *(define|undef) GC_' | grep -vE 'GC_(DAC_)?IMPLEMENTATION$')" '' "$test has no configuration of its own"
    is "$(own_variables "$dir/test.o")" '' "$test has no variable of a collector of its own"
done
finish
