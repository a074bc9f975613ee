#!/bin/sh
# Finalizers and safe handles: their tests under ThreadSanitizer, and a program of all macros in C and C++.
cd "$(dirname "$0")/../.." && . tests/tap.sh || exit
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
tsan='-fsanitize=thread -std=c11 -O1 -g1 -Isrc -DGC_REGION_SHIFT=18 -DGC_PORTABLE_BARRIERS'
# shellcheck disable=SC2086 # options
clang $tsan '-DGC_ARENA_BYTES=((size_t)1<<34)' -c tests/unit/gc.c -o "$dir/tsan.o"
ok $? "the implementation compiles with ThreadSanitizer"
for test in safe_handle finalizer_ends claims; do
    # shellcheck disable=SC2086
    clang $tsan '-DGC_ARENA_BYTES=((size_t)1<<34)' -pthread tests/unit/test_$test.c "$dir/tsan.o" -o "$dir/$test" && timeout 120 "$dir/$test" > "$dir/log" 2>&1
    ok $? "test_$test under ThreadSanitizer"
    grep -E -A 12 '^not ok|^WARNING' "$dir/log" | head -60 | sed 's/^/# /' >&2
done

printf '#define GC_IMPLEMENTATION\n#include "gc.h"\n' > "$dir/gc.c"
gcc -std=c11 -O1 -I. -DGC_DEBUG=2 -c "$dir/gc.c" -o "$dir/gc.o"
ok $? "the implementation compiles"
for compiler in 'gcc -std=c11' 'clang -std=c11' 'g++ -std=c++14' 'clang++ -std=c++17'; do
    language=c
    case $compiler in *++*) language=c++ ;; esac
    # shellcheck disable=SC2086
    $compiler -O2 -Wall -Wextra -Werror -Wpedantic -Wshadow -DGC_DEBUG=2 -I. -pthread -x $language tests/compile/handles.h -x none "$dir/gc.o" -o "$dir/handles" && "$dir/handles"
    ok $? "handles in a program: $compiler"
done
finish
