#!/bin/bash
# Programs compiled with GC_STANDALONE that begin and end in unusual ways, on their own collector and on those in libraries.
cd "$(dirname "$0")/../.." && . tests/tap.sh || exit
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
unset GC_NAME GC_PATH GC_STRESS GC_VERIFY GC_CHECKMARK GC_PROFILE
export GC_VERBOSE=0
ulimit -c 0
chmod 755 "$dir"
awk '/^```/ { copy = /c$/; next } copy && /collector\.c/ { wanted = 1 } !copy { wanted = 0 } wanted' docs/standalone.md > "$dir/gc.c"
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

# A program says once which of the variables it cannot heed. This one has two heaps, and a child that creates one.
cat > "$dir/plain.c" << 'END'
#define GC_IMPLEMENTATION
#include "gc.h"
#include <sys/wait.h>
#include <unistd.h>
int main(void) {
    gc_heap *one = gc_heap_create(NULL), *other = gc_heap_create(NULL);
    if (fork() == 0) return !gc_heap_create(NULL);
    gc_collect(one, 2, GC_COLLECT_DEFAULT);
    return wait(NULL) < 0 || !other;
}
END
gcc -std=c11 -O0 -Wall -Wextra -Werror -pthread -I. "$dir/plain.c" -o "$dir/plain" &&
    gcc -std=c11 -O0 -Wall -Wextra -Werror -pthread -DGC_EMBEDDED=1 -I. "$dir/plain.c" -o "$dir/embedded"
ok $? "a program with gc.h alone compiles"
# says PATTERN NAME PROGRAM SETTING=VALUE...: the program succeeds, and says one line like that
says() {
    page=$(env -u GC_VERBOSE "${@:4}" timeout 60 "$dir/"$3 2>&1 | grep -v '^good$'; echo "status ${PIPESTATUS[0]}")
    matches "$page" "$1" "$2"
    is "$(tail -n +2 <<< "$page")" 'status 0' "once, and goes on"
}
# silent NAME PROGRAM SETTING=VALUE...
silent() {
    page=$(env -u GC_VERBOSE "${@:3}" timeout 60 "$dir/"$2 2>&1 | grep -v '^good$'; echo "status ${PIPESTATUS[0]}")
    is "$page" 'status 0' "$1"
}
unheeded='^gc.h: warning: environment'
says "$unheeded GC_PATH=/x/libgc.so: the program \`plain\` \(process [0-9]+\) does not heed it, .*define that, and include gc_standalone.h.*or unset GC_PATH" \
    "a program without gc_standalone.h says so of GC_PATH" plain GC_PATH=/x/libgc.so
says "$unheeded GC_NAME=libgc.so: .*unset GC_NAME" "and of GC_NAME" plain GC_NAME=libgc.so
says "$unheeded GC_PROFILE=x.html: .*without gc_profile.h: include that" "and of GC_PROFILE" plain GC_PROFILE=x.html
silent "empty variables are none" plain GC_PATH= GC_PROFILE= GC_VERBOSE=
silent "with GC_EMBEDDED nothing is read" embedded GC_PATH=/x/libgc.so GC_PROFILE=x.html GC_VERBOSE=1
says "$unheeded GC_PROFILE=x.html: .*set GC_PATH to libgc-profile.so" "a program that can load a collector hears of another one" 'choose destroys' GC_PROFILE=x.html
says "$unheeded GC_PROFILE=x.html: .*set GC_PATH to libgc-profile.so" "also where it has loaded one" 'choose destroys' GC_PROFILE=x.html GC_PATH="$PWD/build/standalone/libgc-release.so"
silent "which heeds it" 'choose destroys' GC_PROFILE="$dir/x.txt" GC_PATH="$PWD/build/standalone/libgc-profile.so"
test -s "$dir/x.txt"
ok $? "and writes the profile"
if [ "$(id -u)" -eq 0 ] && cp "$dir/plain" "$dir/foreign" && chown 65534 "$dir/foreign" && chmod u+s "$dir/foreign"; then
    silent "a program that has rights its user lacks reads none of them" foreign GC_PATH=/x/libgc.so GC_PROFILE=x.html GC_VERBOSE=1
else
    skip "a program that has rights its user lacks" "only root can make one here"
fi

# How the collector ended.
checked=$PWD/build/standalone/libgc-checked.so
says '^gc.h: `choose` \(process [0-9]+\) ran on the collector `gc.h checked`, which verified its heaps [0-9]+ times and found no fault$' \
    "the checked library says that it was there" 'choose destroys' GC_PATH="$checked"
says '`gc.h checked`' "one line of a program that forks" 'choose fork-after' GC_PATH="$checked"
silent "unless it is told to be silent" 'choose destroys' GC_PATH="$checked" GC_VERBOSE=0
silent "others say nothing" 'choose destroys' GC_PATH="$PWD/build/standalone/libgc-release.so"
says '`gc.h release`, which was not asked to verify' "unless they are asked to" 'choose destroys' GC_PATH="$PWD/build/standalone/libgc-release.so" GC_VERBOSE=1
page=$(env GC_VERBOSE=pauses timeout 60 "$dir/choose" fork-after 2>&1)
is "$(grep -c '^gc.h: the pauses of heap 0x[0-9a-f]* of `choose`' <<< "$page") $(grep -c '^the longest' <<< "$page")" '2 2' \
    "GC_VERBOSE=pauses has each heap that is destroyed report its pauses: that of the parent and that of the child"
says '`gc.h [0-9.]+`, which verified its heaps 2 times and' "so is a collector that is part of its program" plain GC_VERBOSE=1 GC_VERIFY=1
finish
