#!/bin/bash
# Programs compiled with GC_STANDALONE that begin and end in unusual ways, on their own collector and on those in libraries.
cd "$(dirname "$0")/../.." && . tests/tap.sh || exit
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
unset GC_NAME GC_PATH GC_STRESS GC_VERIFY GC_CHECKMARK
ulimit -c 0
chmod 755 "$dir"
printf '#define GC_IMPLEMENTATION\n#include "gc_standalone.h"\n' > "$dir/gc.c"
gcc -std=c11 -D_GNU_SOURCE -g -O1 -Wall -Wextra -Werror -pthread -DGC_STANDALONE -I. tests/scripts/choose.c "$dir/gc.c" -o "$dir/choose" || exit

for library in '' release checked; do
    path=${library:+$PWD/build/standalone/libgc-$library.so}
    for way in race fork-before fork-after fork-beside fork-beside fork-beside fork-beside ends destroys; do
        page=$(GC_PATH=$path timeout 100 "$dir/choose" $way 2>&1)
        is "$? $page" '0 good' "$way, on ${library:-its own collector}"
    done
done
page=$(GC_PATH=/absent/libgc.so "$dir/choose" race 2>&1)
status=$?
matches "$status $page" '^127 gc.h: GC_PATH=/absent/libgc.so: the collector .*its folder cannot be opened' "eight threads are told once that there is no library"
is "$(grep -c 'gc.h:' <<< "$page")" 1 "by one message"
page=$(GC_PATH=/absent/libgc.so "$dir/choose" calls-back 2>&1)
matches "$page" 'a function of gc.h was called by the function that gc_library_choose was given' "the function that decides must not call gc.h, and is told so"
finish
