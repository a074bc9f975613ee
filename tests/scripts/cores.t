#!/bin/bash
# A core dump of a small heap is small, and contains the whole heap: gdb shows the same of the core as of the process.
cd "$(dirname "$0")/../.." && . tests/tap.sh || exit
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
most=$((64 << 20)) # bytes of the largest core; more are not written

cat > "$dir/small.c" << 'END'
#define GC_ARENA_BYTES ((size_t)1 << 40)
#define GC_BARRIER at_run_time
#define GC_IMPLEMENTATION
#include "gc.h"
#include <signal.h>
typedef struct cell { gc_object header; struct cell *next; size_t value; } cell;
static const gc_type cell_type = GC_TYPE(cell, next);
cell *list;
gc_heap *heap;
static void fill(gc_thread *gc, size_t count) {
    for (size_t i = 0; i < count; i++) {
        cell *c = (cell *)gc_new(gc, &cell_type);
        c->value = 0x5EED0000 + i;
        gc_store(gc, &c->next, list);
        list = c;
    }
}
int main(int argc, char **argv) {
    (void)argv;
    heap = gc_heap_create(NULL);
    gc_thread *gc = gc_thread_attach(heap);
    gc_roots_add(heap, &list, 1, 0);
    fill(gc, 130000);
    gc_barrier_switch(GC_BARRIER_OBJECT_LOGGING); /* more tables */
    gc_barrier_switch(GC_BARRIER_WRITE_WATCH_BYTE_REGION);
    gc_handle_create(heap, GC_HANDLE_WEAK, list);
    if (argc > 2) { /* what was given back is not dumped either */
        cell *keep = list;
        fill(gc, 8000000);
        list = keep;
        for (int i = 0; i < 4; i++) gc_collect(heap, 2, GC_COLLECT_COMPACTING);
    }
    gc_collect(heap, 2, GC_COLLECT_DEFAULT);
    if (argc > 1) raise(SIGSTOP);
    abort();
}
END
gcc -std=c11 -g -O1 -pthread -I. "$dir/small.c" -o "$dir/small"
ok $? "a program with 3 MB of objects"

cat > "$dir/ask" << 'END'
printf "regions in use %lu of %lu\n", gc__the_arena.used, gc__the_arena.count
set $i = 0
while $i < gc__the_arena.used
  set $r = gc__the_arena.regions[$i]
  set $a = ($r.base >> 18)
  printf "region %d: kind %d generation %d top %lx live %lu ranks %d %d %d\n", $i, $r.kind, $r.generation, $r.top, $r.live_bytes, gc__tables.age[$a], *(gc__tables.age + $a - (1 << 29)), *(gc__tables.age + $a + (1 << 29))
  printf "marks %lx cards %d bundles %d\n", gc__the_arena.marks[$r.plane][$r.base >> 9], gc__the_arena.cards[$i << 9], gc__the_arena.bundles[$i << 2]
  set $i = $i + 1
end
set $c = list
set $i = 0
while $c && $i < 1000
  if $c->value != 0x5EED0000 + 129999 - $i
    printf "wrong value at %d\n", $i
  end
  set $c = $c->next
  set $i = $i + 1
end
printf "%d cells\n", $i
printf "a handle's place holds %d\n", *(void **)((char *)heap->handles.segments + sizeof *heap->handles.segments) != 0
END
ask() { gdb -q -nx -batch -x "$dir/ask" "$@" 2>&1 | grep -E '^(region|marks|wrong|[0-9]+ cells|Cannot|a handle)'; }

# small_core NAME FILE BYTES LIVE: the core is smaller than BYTES, and gdb shows in it LIVE, as in the process
small_core() {
    size=$(stat -c %s "$2" 2> /dev/null || echo $((most + 1)))
    test "$size" -lt "$3"
    ok $? "$1: a core of $((size >> 10)) KiB"
    page=$(ask "$dir/small" "$2")
    matches "$page" '^1000 cells$' "$1: with the objects"
    is "$page" "$4" "$1: and with regions, marks, cards, ranks and handles as in the process"
}


if ! command -v gdb gcore > /dev/null; then
    skip "cores" "gdb is not installed (tools/setup test)"
else
    for bytes in $((most / 2)) $((most - 1)); do # the second time after a heap of 200 MB, most of which was given back
        more=$([ "$bytes" -gt $((most / 2)) ] && echo more)
        # shellcheck disable=SC2086 # nothing, or a word
        "$dir/small" stop $more & pid=$!
        while state=$(grep '^State:' "/proc/$pid/status" 2> /dev/null) && [[ $state != *T* ]]; do sleep 0.05; done
        live=$(ask -p "$pid")
        if [ -z "$live" ]; then
            skip "gcore" "gdb may not attach to processes here"
        else
            (ulimit -f $((most >> 10)) && gcore -o "$dir/core" "$pid") > "$dir/log" 2>&1
            small_core "gcore${more:+ after a larger heap}" "$dir/core.$pid" "$bytes" "$live"
        fi
        kill -KILL "$pid"
        wait "$pid" 2> /dev/null
        rm -f "$dir"/core.*
    done

    pattern=$(cat /proc/sys/kernel/core_pattern 2> /dev/null)
    case $pattern in
    core*)
        { (cd "$dir" && ulimit -c $((most >> 10)) && ulimit -f $((most >> 10)) && exec ./small); } > /dev/null 2>&1
        core=$(ls "$dir"/core* 2> /dev/null | head -1)
        if [ -z "$core" ]; then
            skip "the kernel's core" "it writes none here"
        else
            live=$(ask "$dir/small" "$core")
            test "$(stat -c %s "$core")" -lt $((32 << 20))
            ok $? "the kernel's core has $(($(stat -c %s "$core") >> 10)) KiB"
            matches "$live" '^1000 cells$' "with the objects"
            is "$(grep -c '^wrong\|^Cannot' <<< "$live")" 0 "and everything else"
        fi
        ;;
    *) skip "the kernel's core" "core_pattern is '$pattern'" ;;
    esac
fi
finish
