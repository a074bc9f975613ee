#!/bin/sh
# Finalizers and safe handles: their tests under ThreadSanitizer, and a program of all macros in C and C++.
cd "$(dirname "$0")/../.." && . tests/tap.sh || exit
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
make -s tests/compile/finalizers.t
ok $? "tests with ThreadSanitizer compile"
for test in safe_handle finalizer_ends claims; do
    timeout 600 build/tests/tsan/test_$test > "$dir/log" 2>&1
    ok $? "test_$test under ThreadSanitizer"
    grep -E -A 12 '^not ok|^WARNING' "$dir/log" | head -60 | sed 's/^/# /' >&2
done

printf '#define GC_IMPLEMENTATION\n#include "gc.h"\n' > "$dir/gc.c"
gcc -std=c11 -O0 -I. -DGC_DEBUG=2 -c "$dir/gc.c" -o "$dir/gc.o"
ok $? "the implementation compiles"
for compiler in 'gcc -std=c11' 'clang -std=c11' 'g++ -std=c++14' 'clang++ -std=c++17'; do
    language=c
    case $compiler in *++*) language=c++ ;; esac
    # shellcheck disable=SC2086
    $compiler -O2 -Wall -Wextra -Werror -Wpedantic -Wshadow -DGC_DEBUG=2 -I. -pthread -x $language tests/compile/handles.h -x none "$dir/gc.o" -o "$dir/handles" && "$dir/handles"
    ok $? "handles in a program: $compiler"
done
finish
