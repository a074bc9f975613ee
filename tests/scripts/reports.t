#!/bin/bash
# Reports of missed roots: they name code, lines and static variables, also when the fault is within malloc.
cd "$(dirname "$0")/../.." && . tests/tap.sh || exit
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
ulimit -c 0

cat > "$dir/stale.c" << 'END_OF_C'
#define GC_IMPLEMENTATION
#include "gc.h"
typedef struct cell { gc_object header; long value; } cell;
static const gc_type cell_type = GC_TYPE_LEAF(cell);
static cell *forgotten;
static bool is_in_malloc;
static long sum;

/* A C library's malloc, in which the fault is; its lock is held then. */
static char memory[1 << 20] __attribute__((aligned(16)));
static size_t used;
__attribute__((noinline)) static void walk_free_list(void) {
    sum += forgotten->value;
}
void *malloc(size_t bytes) {
    if (is_in_malloc) _exit(99);
    if (bytes == 77) {
        is_in_malloc = true;
        walk_free_list();
    }
    void *piece = memory + used;
    used += (bytes + 15) / 16 * 16;
    return used <= sizeof memory ? piece : NULL;
}
void free(void *piece) {
    (void)piece;
    if (is_in_malloc) _exit(99);
}
void *calloc(size_t count, size_t bytes) { return malloc(count * bytes); }
void *realloc(void *piece, size_t bytes) {
    void *larger = malloc(bytes);
    if (larger && piece) memmove(larger, piece, bytes < (size_t)(memory + used - (char *)piece) ? bytes : 0);
    return larger;
}
void *memalign(size_t alignment, size_t bytes) {
    used = (used + alignment - 1) / alignment * alignment;
    return malloc(bytes);
}
void *aligned_alloc(size_t alignment, size_t bytes) { return memalign(alignment, bytes); }

int main(void) {
    gc_heap *heap = gc_heap_create(NULL);
    gc_thread *gc = gc_thread_attach(heap);
    forgotten = (cell *)gc_new(gc, &cell_type);
    cell *root = forgotten;
    GC_ROOTS(gc, root);
    gc_new(gc, &cell_type); /* moves it */
    return malloc(77) == NULL;
}
END_OF_C
gcc -std=c11 -g -pthread -I. "$dir/stale.c" -o "$dir/stale" > "$dir/log" 2>&1
ok $? "the program compiles"
cat "$dir/log" >&2

line_of() { grep -nF "$1" "$dir/stale.c" | cut -d: -f1; }

# reported NAME PATH: the report when tools are looked for in PATH
reported() {
    page=$(timeout 60 env GC_STRESS=allocation PATH="$2" "$dir/stale" 2>&1)
    is $? 134 "$1: the program is aborted, having called neither malloc nor free"
    matches "$page" 'used a .cell. at .*offset 8' "$1: the object"
    matches "$page" 'the static variable .forgotten. .offset 0. holds it: gc_roots_add' "$1: the variable that holds it"
}
frames() { sed -n '/the use is here:/,$p' <<< "$page" | sed 1d; }
collection() { sed -n '/collection [0-9]* was here/,/the use is here/p' <<< "$page"; }

reported 'without tools' /nowhere
matches "$(frames | sed -n 1p)" '^gc\.h:     walk_free_list\+0x[0-9a-f]+ \(.*/stale\+0x[0-9a-f]+\)$' 'without tools: the function of the fault'
matches "$(frames | sed -n 2p)" '^gc\.h:     malloc\+0x' 'without tools: its caller'
matches "$(frames | sed -n 3p)" '^gc\.h:     main\+0x' 'without tools: the caller of that'
matches "$(collection)" '^gc\.h:     main\+0x' 'without tools: the collection'
if command -v addr2line > /dev/null; then
    offset=$(frames | sed -n '1s/.*+\(0x[0-9a-f]*\))$/\1/p')
    matches "$(addr2line -e "$dir/stale" "$offset")" "stale\.c:$(line_of 'sum +=')\$" 'an offset in a report is what addr2line takes'
    reported 'with addr2line' "$PATH"
    matches "$(frames | sed -n 1p)" "^gc\.h:     walk_free_list at .*/stale\.c:$(line_of 'sum +=')\$" 'with addr2line: the line of the fault'
    matches "$(collection)" "main at .*/stale\.c:$(line_of 'moves it')\$" 'with addr2line: the line of the collection'
else
    skip 'lines' 'addr2line is not installed'
fi

mkdir "$dir/tools"
printf '#!/bin/sh\nexec /bin/sleep 100\n' > "$dir/tools/addr2line" && chmod +x "$dir/tools/addr2line"
reported 'a tool that hangs' "$dir/tools"
matches "$(frames | sed -n 1p)" 'walk_free_list\+0x' 'a tool that hangs is given up'

cat > "$dir/store.c" << 'END_OF_C'
#define GC_IMPLEMENTATION
#include "gc.h"
typedef struct cell { gc_object header; struct cell *next; } cell;
static const gc_type cell_type = GC_TYPE(cell, next);
__attribute__((noinline)) static void set(gc_thread *gc, cell **slot, cell *stale) {
    gc_store(gc, slot, stale);
    slot[0] += 0;
}
__attribute__((noinline)) static int make(gc_thread *gc, bool outside) {
    cell *forgotten = (cell *)gc_new(gc, &cell_type), *holder = (cell *)gc_new(gc, &cell_type);
    set(gc, outside ? &holder : &holder->next, forgotten);
    return holder != NULL;
}
int main(int count, char **arguments) {
    (void)arguments;
    static volatile int made; /* written after the call, so that main is not left by it */
    made = make(gc_thread_attach(gc_heap_create(NULL)), count > 1);
    return made;
}
END_OF_C
# stored NAME COMPILER FLAGS [ARGUMENT]: a stale reference that is stored is reported at the store, by the barrier.
stored() {
    $2 -std=c11 -g $3 -pthread -I. "$dir/store.c" -o "$dir/store"
    page=$(GC_STRESS=allocation PATH=/nowhere "$dir/store" $4 2>&1)
    is $? 134 "$1: the program is aborted"
    matches "$page" 'stored a reference to a .cell. at .*, but that object was found dead in collection 2\.$' "$1: the object"
    matches "$(sed -n '/the store is here:/,$p' <<< "$page" | sed 1d | sed -E 's/(\.[a-z]+\.[0-9]+)*\+0x.*//' | tr -d '\n')" \
        '^gc\.h:     (gc_barrier_store_rank_sumgc\.h:     )?(setgc\.h:     )?makegc\.h:     main(gc\.h:|$)' "$1: the function that stores, and its callers"
}
stored 'a stale reference is stored' gcc -O1
stored 'into a slot outside the heap' gcc -O2 outside
stored "in Intel's dialect" gcc '-O1 -masm=intel'
stored 'by clang' clang -O2
stored "by the barrier in C" gcc '-O1 -DGC_PORTABLE_BARRIERS'

strip "$dir/stale"
page=$(GC_STRESS=allocation "$dir/stale" 2>&1)
matches "$(frames | sed -n 1p)" '^gc\.h:     .*/stale\+0x[0-9a-f]+$' 'a program without symbols: where in the file'
matches "$page" 'static data at 0x[0-9a-f]* holds it' 'a program without symbols: static data'
finish
