#!/bin/sh
# Calls between native and compiled code, with the options that change what compilers make of their assembly; and exceptions
# that pass them.
cd "$(dirname "$0")/../.." && . tests/tap.sh || exit
if [ "$(uname -m)" != x86_64 ]; then
    ok 0 'calling compiled code is for x86-64 only'
    finish
fi
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
top=$PWD

# All without optimization, which takes a third of the time: what is tried here are the functions that are all assembly.
calls() {
    (cd "$dir" && "$@" -I"$top" -pthread -o code "$top/tests/compile/code.c" && ./code) > "$dir/log" 2>&1
    ok $? "$*"
    grep -q '^right' "$dir/log" || tail -5 "$dir/log" >&2
}
for compiler in gcc clang; do
    for options in '-masm=intel -fcf-protection=full' -fno-asynchronous-unwind-tables '-fno-asynchronous-unwind-tables -fexceptions' \
        '-fstack-protector-all -finstrument-functions --coverage -pg' '-DGC_API=static -DGC_DEBUG=3' '-DGC_EXPORTED=1 -fPIC'; do
        # shellcheck disable=SC2086 # options
        calls $compiler -std=c11 -Wall -Wextra -Wpedantic -Wshadow -Wundef -Werror $options
    done
done
calls gcc -O1 -flto -std=c11
calls g++ -x c++ -std=c++14 -Wall -Wextra -Wpedantic -Werror
calls clang++ -x c++ -std=c++14 -Wall -Wextra -Wpedantic -Werror

for compiler in g++ clang++; do
    for options in -O0 '-O1 -masm=intel -DGC_DEBUG=2'; do
        # shellcheck disable=SC2086 # options
        $compiler -std=c++14 -Wall -Wextra -Werror -pthread -I. $options tests/compile/code_exceptions.cc -o "$dir/exceptions" &&
            "$dir/exceptions" > "$dir/log" 2>&1
        ok $? "exceptions: $compiler $options"
        grep -q '^1\.\.' "$dir/log" || tail -3 "$dir/log" >&2
        grep '^not ok' "$dir/log" >&2
    done
done
finish
