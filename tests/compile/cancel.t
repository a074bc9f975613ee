#!/bin/sh
# Threads that are cancelled, or end by pthread_exit, within scopes of C that was compiled with -fexceptions.
cd "$(dirname "$0")/../.." && . tests/tap.sh || exit
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT

for compiler in gcc clang; do
    # The collector without optimization, since compiling it takes longest.
    printf '#define GC_IMPLEMENTATION\n#include "gc.h"\n' | $compiler -std=c11 -fexceptions -DGC_DEBUG=2 -pthread -I. -x c -c - -o "$dir/gc.o"
    ok $? "$compiler: the implementation compiles"
    for optimization in -O0 -O2; do
        $compiler -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -fexceptions $optimization -DGC_DEBUG=2 -pthread -I. \
            tests/compile/cancel.c "$dir/gc.o" -o "$dir/cancel" && timeout 300 "$dir/cancel" > "$dir/log" 2>&1
        ok $? "$compiler $optimization: threads that end leave their scopes, while others collect"
        sed 's/^/# /' "$dir/log" >&2
    done
done
finish
