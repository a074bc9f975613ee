#!/bin/sh
# C++ exceptions leave the roots right: compiled by g++ and clang++, through C functions with and without -fexceptions.
cd "$(dirname "$0")/../.." && . tests/tap.sh || exit
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT

# build C-COMPILER C++-COMPILER FLAGS...: the C compiler with its own options. Compiling the collector takes longest, so it is
# optimized only as $level says.
level=-O0
build() {
    c=$1 cxx=$2
    shift 2
    # shellcheck disable=SC2086 # a command and its options
    printf '#define GC_IMPLEMENTATION\n#include "gc.h"\n' | $c -std=c11 -pthread -I. "$@" $level -x c -c - -o "$dir/gc.o" &&
        $c -std=c11 -Wall -Wextra -Werror -pthread -I. "$@" -c tests/compile/exceptions_c.c -o "$dir/c.o" &&
        $cxx -std=c++14 -Wall -Wextra -Werror -pthread -I. "$@" tests/compile/exceptions.cc "$dir/c.o" "$dir/gc.o" -o "$dir/exceptions"
}

# leaves NAME FLAGS...
leaves() {
    name=$1
    shift
    build "$@" && "$dir/exceptions" > "$dir/log" 2>&1
    ok $? "exceptions leave the frames: $name"
    grep -q '^1\.\.' "$dir/log" || tail -3 "$dir/log" >&2
    grep '^not ok' "$dir/log" >&2
}

compiled() { leaves "$2 $3 $4" "$@"; }
compiled gcc g++ -O0 -DGC_DEBUG=2
level=-O1
compiled gcc g++ -O2 -fexceptions
level=-O0
compiled clang clang++ -O2 -DGC_DEBUG=2
compiled clang clang++ -O0 -fexceptions
leaves 'g++ with AddressSanitizer' gcc g++ -O1 -DGC_DEBUG=2 -fsanitize=address,undefined

build gcc g++ -O1 -DGC_DEBUG=1 && report=$("$dir/exceptions" forget 2>&1)
is $? 134 "frames that C functions did not leave, and that are not restored, end the program with GC_DEBUG"
matches "$report" 'frame of GC_ROOTS.* was left without its end.* exception' "the report says so"
matches "$report" 'gc_frames_restore' "and the remedy"
for compiler in gcc 'gcc -fexceptions'; do
    # shellcheck disable=SC2086 # a command and its option
    build "$compiler" g++ -O1 && report=$("$dir/exceptions" leave 2>&1)
    is $? 134 "an exception that leaves a callback of a collection ends the program: $compiler"
    matches "$report" 'collection .* left by .*exception.*' "the report says so"
done
finish
