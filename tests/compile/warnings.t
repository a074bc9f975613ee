#!/bin/bash
# The shipped headers compile without warnings under the flags of projects that use more of them than -Wall -Wextra.
cd "$(dirname "$0")/../.." && . tests/tap.sh || exit
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
flags="-Wall -Wextra -Wpedantic -Wshadow -Wundef -Wconversion -Wsign-conversion -Wcast-qual -Wcast-align -Wredundant-decls \
    -Wwrite-strings -Wswitch-enum -Wswitch-default -Wdouble-promotion -Wfloat-equal -Wformat=2 -Wvla -Wmissing-declarations -Wpadded -Winline"
of_c="-Wdeclaration-after-statement -Wstrict-prototypes -Wmissing-prototypes -Wold-style-definition -Wnested-externs -Wbad-function-cast \
    -Wc++-compat"
# no_warnings WHAT COMPILER... : the file compiles
no_warnings() {
    local what=$1
    shift
    "$@" -Werror -I. "$dir/host.c" > "$dir/log" 2>&1
    ok $? "$what"
    grep -m3 'error:' "$dir/log" | while read -r line; do diag "$line"; done
}

# shellcheck disable=SC2086 # words
for header in gc*.h; do
    printf '#include "%s"\nint x(void);\nint x(void) { return 0; }\n' "$header" > "$dir/host.c"
    for compiler in gcc clang; do
        no_warnings "$header, $compiler" $compiler -std=c11 $flags $of_c -fsyntax-only
        no_warnings "$header, implemented, $compiler" $compiler -std=c11 $flags $of_c -fsyntax-only -D_GNU_SOURCE -DGC_IMPLEMENTATION -DGC_DAC_IMPLEMENTATION
        no_warnings "$header, $compiler, C++" $compiler -x c++ $flags -Wno-missing-declarations -fsyntax-only
    done
done
# Where it optimizes, gcc knows more.
printf '#include "gc_profile.h"\n#include "gc_stackmap.h"\n#include "gc_dac.h"\n' > "$dir/host.c"
# shellcheck disable=SC2086
no_warnings 'all of them, implemented, gcc -O1' gcc -std=c11 $flags $of_c -Wnull-dereference -O1 -c -o "$dir/host.o" -D_GNU_SOURCE \
    -DGC_IMPLEMENTATION -DGC_DAC_IMPLEMENTATION
finish
