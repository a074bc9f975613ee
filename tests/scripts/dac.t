#!/bin/bash
# The reader finds collectors without symbols: in stripped programs, in libraries, several in one process, in C++, in programs
# that are linked statically; and it reads the same of a core, gcore's or the kernel's, as of the process.
cd "$(dirname "$0")/../.." && . tests/tap.sh || exit
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
most=$((64 << 20)) # bytes of the largest core; more are not written

cat > "$dir/subject.c" << 'END'
#define GC_IMPLEMENTATION
#include "gc.h"
#include <signal.h>
#ifndef NAME
#define NAME main
#endif
#ifdef __cplusplus
#define C extern "C"
#else
#define C
#endif
typedef struct cell { gc_object header; struct cell *next; size_t value; } cell;
static const gc_type cell_type = GC_TYPE(cell, next);
#ifdef OTHER
C int OTHER(int argc, char **argv);
#endif
#ifdef LIBRARY
C __attribute__((visibility("default"))) int NAME(int argc, char **argv);
#endif
int NAME(int argc, char **argv) {
    (void)argv;
    gc_heap *heap = gc_heap_create(NULL);
    gc_thread *gc = gc_thread_attach(heap);
    cell *list = NULL;
    GC_ROOTS(gc, list);
    for (int i = 0; i < 20000; i++) {
        if (i == 10000) gc_collect(heap, 2, GC_COLLECT_DEFAULT);
        cell *c = (cell *)gc_new(gc, &cell_type);
        c->value = (size_t)i;
        gc_store(gc, &c->next, list);
        list = c;
    }
    gc_thread_set_name(gc, "subject");
#ifdef OTHER
    return OTHER(argc, argv);
#else
    if (argc > 1) raise(SIGSTOP);
    abort();
#endif
}
END
cat > "$dir/print.c" << 'END'
#define GC_DAC_IMPLEMENTATION
#include "gc_dac.h"
static gc_dac *dac;
static size_t count;
static bool collector(void *unused, const gc_dac_collector *c) {
    (void)unused;
    printf("collector %u: %s %u.%u %s\n", c->index, c->version, c->major, c->minor, c->rejected ? c->rejected : "");
    return true;
}
static bool object(void *unused, const gc_dac_object *o) {
    (void)unused;
    count += o->type && strcmp(o->type->name, "cell") == 0;
    return true;
}
static bool root(void *unused, const gc_dac_root *r) {
    (void)unused;
    printf("root %s of %s, thread %s\n", r->variable, r->function, r->thread_name);
    return true;
}
static bool heap(void *unused, const gc_dac_heap *h) {
    (void)unused;
    count = 0;
    if (!gc_dac_objects(dac, h, object, NULL)) printf("fault: %s\n", gc_dac_message(dac));
    printf("heap of collector %u: %zu cells, collection %llu (%s)\n", h->collector, count, (unsigned long long)h->collections,
           h->collection_reason);
    if (!gc_dac_roots(dac, h, root, NULL)) printf("fault: %s\n", gc_dac_message(dac));
    return true;
}
int main(int argc, char **argv) {
    int pid = argc > 1 ? atoi(argv[1]) : 0;
    dac = pid ? gc_dac_open_process(pid, GC_DAC_STOP) : gc_dac_open_core(argv[1], argc > 2 ? argv[2] : NULL);
    gc_dac_collectors(dac, collector, NULL);
    if (!gc_dac_heaps(dac, heap, NULL)) printf("fault: %s\n", gc_dac_message(dac));
    gc_dac_close(dac);
}
END
gcc -std=c11 -Wall -Wextra -Werror -g -O1 -I. "$dir/print.c" -o "$dir/print"
ok $? "a reader compiles, without gc.h"

heap='20000 cells, collection 1 \(gc_collect\)'
root='root list of [a-z_]+, thread subject'
# started PROGRAM: runs it until it stops; sets $pid
started() {
    "$@" stop & pid=$!
    while state=$(grep '^State:' "/proc/$pid/status" 2> /dev/null) && [[ $state != *T* ]]; do sleep 0.05; done
}
ended() {
    kill -KILL "$pid"
    wait "$pid" 2> /dev/null
}
# reads NAME COPIES FILE: the process shows so many collectors, each with the whole heap
reads() {
    started "$3"
    page=$("$dir/print" "$pid")
    ended
    is "$(grep -cE "^heap of collector [0-9]+: $heap$" <<< "$page")" "$2" "$1: all objects"
    is "$(grep -cE "^$root$" <<< "$page")" "$2" "$1: the root by name"
    is "$(grep '^fault' <<< "$page")" '' "$1: nothing left out"
}
# builds OUTPUT COMPILER OPTIONS...: stripped
builds() {
    local output=$1
    shift
    "$@" -pthread -I. -o "$dir/$output" && strip -s "$dir/$output"
    ok $? "$output: compiles"
}
builds plain gcc -std=c11 -O0 "$dir/subject.c"
builds nopie gcc -std=c11 -O0 -no-pie -fno-pie "$dir/subject.c"
builds sections gcc -std=c11 -O1 -ffunction-sections -fdata-sections -Wl,--gc-sections "$dir/subject.c"
builds lto gcc -std=c11 -O1 -flto=auto "$dir/subject.c"
builds static gcc -std=c11 -O0 -static "$dir/subject.c"
builds clang clang -std=c11 -O0 "$dir/subject.c"
builds c++ g++ -std=c++14 -O0 -x c++ "$dir/subject.c"
builds private gcc -std=c11 -O0 -DGC_API=static "$dir/subject.c"
for program in plain nopie sections lto static clang c++ private; do reads "$program" 1 "$dir/$program"; done
builds liba.so gcc -std=c11 -O0 -fPIC -shared -DLIBRARY -DNAME=in_library "$dir/subject.c"
builds two gcc -std=c11 -O0 -DOTHER=in_library "$dir/subject.c" "-Wl,-rpath,$dir" -L"$dir" -la
reads 'program and library with a collector each' 2 "$dir/two"

# What the collector pays: data, and no code that runs.
printf '#define GC_IMPLEMENTATION\n#include "gc.h"\n' > "$dir/gc.c"
gcc -std=c11 -O0 -I. -c "$dir/gc.c" -o "$dir/gc.o"
bytes=$((16#$(nm -S "$dir/gc.o" | awk '/gc__dac_vars/ { print $2 }')))
test "$bytes" -gt 100 && test "$bytes" -lt 2048
ok $? "the collector's description has $bytes bytes"

# Who cannot be read is told why.
matches "$("$dir/print" 999999999)" 'fault: process 999999999 cannot be stopped: there is no such process' "no such process"
sleep 60 & pid=$!
matches "$("$dir/print" $pid)" 'no file of the target has a note of gc.h: it does not use gc.h' "a process without gc.h"
ended
# refuses NAME FILE MESSAGE
refuses() { matches "$("$dir/print" "$2")" "fault: the core file .*$2: $3" "refused: $1"; }
refuses 'no file' "$dir/none" 'No such file'
refuses 'a folder' "$dir" 'it is no regular file'
: > "$dir/empty" && refuses 'an empty file' "$dir/empty" 'it is empty'
refuses 'a program' "$dir/print" 'it is an ELF file, but no core'
refuses 'a text' "$dir/gc.c" 'it is no ELF file'
printf '\x28\xB5\x2F\xFD.......' > "$dir/zst" && refuses 'zstd' "$dir/zst" 'it is compressed by zstd: unpack it by'
printf '\x04\x22\x4D\x18.......' > "$dir/lz4" && refuses 'lz4' "$dir/lz4" 'it is compressed by lz4'
printf '\xFD7zXZ\0.......' > "$dir/xz" && refuses 'xz' "$dir/xz" 'it is compressed by xz'
printf '\x1F\x8B.......' > "$dir/gz" && refuses 'gzip' "$dir/gz" 'it is compressed by gzip'

# core_reads NAME CORE PROGRAM: the core shows what the process showed; without the program's file it says what is missing
core_reads() {
    page=$("$dir/print" "$2")
    matches "$page" "^heap of collector 0: $heap$" "$1: all objects"
    matches "$page" "^$root$" "$1: the root by name"
    is "$(grep '^fault' <<< "$page")" '' "$1: nothing left out"
    mv "$3" "$3.away"
    matches "$("$dir/print" "$2")" "fault: .*$3, which has what the core lacks, cannot be used: No such file" "$1: without the program"
    cp "$dir/clang" "$3"
    matches "$("$dir/print" "$2")" "fault: .*$3, which has what the core lacks, cannot be used: its (build id|first page) is another" \
        "$1: with another program in its place"
    mkdir -p "$dir/root$dir" && cp "$3.away" "$dir/root$3"
    matches "$("$dir/print" "$2" "$dir/root")" "^heap of collector 0: $heap$" "$1: with the program in a folder of its own"
    mv "$3.away" "$3"
    head -c $(($(stat -c %s "$2") / 2)) "$2" > "$dir/half"
    matches "$("$dir/print" "$dir/half")" 'fault: .*(cut off|not readable)' "$1: cut off in the middle"
}
if ! command -v gcore > /dev/null; then
    skip "gcore" "gdb is not installed (tools/setup test)"
else
    started "$dir/plain"
    (ulimit -f $((most >> 10)) && gcore -o "$dir/core" "$pid") > "$dir/log" 2>&1
    if [ -f "$dir/core.$pid" ]; then
        core_reads gcore "$dir/core.$pid" "$dir/plain"
    else
        skip "gcore" "gdb may not attach to processes here"
    fi
    ended
fi
pattern=$(cat /proc/sys/kernel/core_pattern 2> /dev/null)
case $pattern in
core*)
    for program in plain static; do
        rm -f "$dir"/core*
        { (cd "$dir" && ulimit -c $((most >> 10)) && ulimit -f $((most >> 10)) && exec "$dir/$program"); } > /dev/null 2>&1
        core=$(ls "$dir"/core* 2> /dev/null | head -1)
        if [ -z "$core" ]; then
            skip "the kernel's core" "it writes none here"
        else
            core_reads "the kernel's core ($program)" "$core" "$dir/$program"
        fi
    done
    ;;
*) skip "the kernel's core" "core_pattern is '$pattern'" ;;
esac
finish
