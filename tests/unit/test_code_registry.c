/* The registry of code: against a list of ranges, with random adding and removing at all kinds of addresses; every refusal;
   looking up at each instruction of adding and removing, in signal handlers, and beside other threads; without memory; fork.
   With --seed=N --rounds=N. */
#define _GNU_SOURCE
#define GC_IMPLEMENTATION
#include "gc_stackmap.h"

#include "../tap.h"
#include "single_step.h"

#include <pthread.h>
#include <sys/time.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || GC__HAS_FEATURE(address_sanitizer) || \
    GC__HAS_FEATURE(thread_sanitizer)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

#define PAGE ((uintptr_t)4096)
#define GIB ((uintptr_t)1 << 30)
#define LAST ((uintptr_t)1 << 47) /* the end of the user address space of x86-64 */

/* Tables that nobody reads. */
static const char *no_visit(const gc_code_cursor *frame, gc_visitor *visitor) { return (void)frame, (void)visitor, NULL; }
static const char *no_layout(gc_code_cursor *frame) { return (void)frame, NULL; }
static const gc_code_format format = {.name = "none", .visit = no_visit, .layout = no_layout};

static gc_code code_at(uintptr_t start, size_t bytes, const char *name) {
    return (gc_code){.start = (const void *)start, .bytes = bytes, .format = &format, .name = name};
}

static uint64_t seed = 1;
static long rounds = 4000;
static uint64_t random_below(uint64_t limit) {
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return (seed * 0x2545F4914F6CDD1Du >> 8) % limit;
}

static const gc_code *find(uintptr_t pc) { return gc_code_find((const void *)pc); }

/* Whether each block is in the tree, free, or retired, once, and cells are well-formed. Prints what is wrong. */

static size_t block_bytes(uint32_t cell) { return (size_t)128 << gc__block_kind(cell); }

static size_t count_cell(uint32_t cell, unsigned shift, size_t *live) {
    if (!(cell & GC__CELL_OFFSET)) return 0;
    size_t bytes = block_bytes(cell);
    if (!gc__cell_is_node(cell)) {
        const gc__slice *slices = gc__cell_leaf(cell);
        unsigned words = 0;
        for (unsigned i = 0; i < gc__leaf_slices(cell); i++)
            for (unsigned j = 1; j <= GC__SLICE_ENTRIES; j++) words += slices[i].words[j] != 0;
        if (words != gc__leaf_live(cell) || !words) diag("a leaf counts %u words of %u", gc__leaf_live(cell), words), *live = SIZE_MAX / 2;
        *live += words;
        return bytes;
    }
    const uint32_t *cells = gc__cell_node(cell);
    unsigned bits = gc__node_bits(cell);
    for (size_t i = 0; i < (size_t)1 << bits; i++) {
        if (!i || cells[i] != cells[i - 1]) bytes += count_cell(cells[i], shift - bits, live);
    }
    return bytes;
}

static bool is_whole(void) {
    const gc__tree *tree = &gc__the_tree;
    size_t bytes = 0, live = 0;
    if (!tree->blocks) return true;
    for (size_t i = 0; i < GC__TREE_ROOT_CELLS; i++) bytes += count_cell(*gc__tree_root((uintptr_t)i << 32), 32, &live);
    for (unsigned kind = 0; kind < GC__BLOCK_KINDS; kind++)
        for (uint32_t at = tree->free[kind]; at; at = *gc__cell_node(at)) bytes += (size_t)128 << kind;
    for (size_t i = 0; i < tree->retired_count; i++) bytes += (size_t)128 << (tree->retired[i] & 127);
    if (bytes + GC__TREE_START == tree->used && live < SIZE_MAX / 2) return true;
    diag("%zu bytes of blocks are accounted for, %zu are in use", bytes, tree->used - GC__TREE_START);
    return false;
}

/* The model: a list that is searched from one end to the other. */

enum { RECORDS = 600 };
static gc_code records[RECORDS];
static bool registered[RECORDS];
static size_t registered_count;

static const gc_code *model_find(uintptr_t pc) {
    for (size_t i = 0; i < RECORDS; i++)
        if (registered[i] && pc - (uintptr_t)records[i].start < records[i].bytes) return &records[i];
    return NULL;
}

static const gc_code *model_overlap(const gc_code *code) {
    uintptr_t start = (uintptr_t)code->start, end = start + code->bytes;
    for (size_t i = 0; i < RECORDS; i++)
        if (registered[i] && (uintptr_t)records[i].start < end && (uintptr_t)records[i].start + records[i].bytes > start)
            return &records[i];
    return NULL;
}

static long wrong;
static void compare(uintptr_t pc) {
    const gc_code *expected = model_find(pc), *got = find(pc);
    if (got == expected) return;
    if (wrong++ < 5) diag("%#zx: %s, expected %s", (size_t)pc, got ? got->name : "none", expected ? expected->name : "none");
}

static void compare_edges(const gc_code *code) {
    uintptr_t start = (uintptr_t)code->start, end = start + code->bytes;
    compare(start - 1), compare(start), compare(start + code->bytes / 2), compare(end - 1), compare(end);
}

/* Kinds of addresses. */

typedef struct field {
    const char *name;
    uintptr_t from;
    uint64_t span;  /* starts are in [from, from + span) */
    uint64_t bytes; /* at most */
    unsigned align;
} field;
static const field fields[] = {
    {"single bytes", 0x7f1200000000 - 100, 400, 1, 1},
    {"a few bytes, side by side", 0x7f1200000000 - 1000, 3000, 9, 1},
    {"methods, aligned", 0x7f0080000000, 64 * 1024, 500, 16},
    {"methods of all sizes", 0x7f0100000000 - 30000, 200000, 3000, 1},
    {"pages", 0x555555554000, 256 * PAGE, 4 * PAGE, PAGE},
    {"around 64 KiB", 0x10000000000 - 0x80000, 0x100000 * 16, 0x20000, 1},
    {"several GiB", 0x20000000000, 2000 * GIB, 20 * GIB, 1},
    {"at the start of the address space", 1, 100000, 700, 1},
    {"at its end", LAST - 200000, 200000, 700, 1},
    {"at the end of 48 bits", ((uintptr_t)1 << 48) - 200000, 200000, 700, 1},
    {"anywhere, small", 1, LAST - 5000, 4096, 1},
    {"anywhere, of any size", 1, LAST - ((uintptr_t)1 << 36), (uintptr_t)1 << 36, 1},
    {"near powers of two", 0, 0, 0, 1},
};
enum { FIELDS = sizeof fields / sizeof *fields };

static gc_code choose(const field *f) {
    uintptr_t start = f->from + random_below(f->span ? f->span : 1) / f->align * f->align;
    uint64_t bytes = 1 + random_below((uint64_t)1 << random_below(40)) % (f->bytes ? f->bytes : 1);
    if (!f->span) { /* edges of all spans that the tree has */
        unsigned bit = 1 + (unsigned)random_below(46);
        start = ((uintptr_t)0x3fff12345678 >> bit << bit | (uintptr_t)1 << bit) + random_below(9) - 4;
        bytes = random_below(2) ? 1 + random_below(8) : ((uint64_t)1 << random_below(bit)) + random_below(3) - 1;
        if (!bytes) bytes = 1;
        if (!start) start = 1;
    }
    if (f->align > 1) bytes = (bytes + f->align - 1) / f->align * f->align - (f->align == 16 ? random_below(16) : 0);
    if (start + bytes > (uintptr_t)1 << 48) bytes = ((uintptr_t)1 << 48) - start;
    return code_at(start, bytes, f->name);
}

static void model_add(size_t i, const field *f) {
    gc_code code = choose(f);
    const gc_code *other = model_overlap(&code);
    char name[2][40];
    records[i] = code;
    gc_result result = gc_code_add(&records[i]);
    if (result != (other ? GC_ERROR_FORMAT : GC_OK) && wrong++ < 5)
        diag("adding [%p, %zu bytes): %s", code.start, code.bytes, gc_last_message());
    if (result == GC_OK) registered[i] = true, registered_count++;
    if (result == GC_OK || !other) return;
    snprintf(name[0], sizeof name[0], "[%p, ", code.start);
    if (!strstr(gc_last_message(), name[0]) && wrong++ < 5) diag("does not say %s: %s", name[0], gc_last_message());
}

static void model_remove(size_t i) {
    gc_result result = gc_code_remove(&records[i]);
    if (result != GC_OK && wrong++ < 5) diag("removing [%p, %zu bytes): %s", records[i].start, records[i].bytes, gc_last_message());
    registered[i] = false, registered_count--;
}

static void against_model(const field *f) {
    uint64_t first = seed;
    wrong = 0;
    for (long round = 0; round < rounds; round++) {
        bool growing = round * 8 / rounds % 2 == 0; /* more is added than removed, then the other way */
        size_t i = random_below(RECORDS);
        if (registered[i] && random_below(10) >= (growing ? 7 : 1))
            model_remove(i);
        else if (!registered[i] && random_below(10) >= (growing ? 1 : 7))
            model_add(i, f);
        compare_edges(&records[i]);
        compare_edges(&records[random_below(RECORDS)]);
        gc_code anywhere = choose(f);
        compare((uintptr_t)anywhere.start);
        if (gc_code_count() != registered_count) wrong++;
        if (round % (rounds / 4) == 0 && !is_whole()) wrong++;
    }
    size_t most = registered_count;
    for (size_t i = 0; i < RECORDS; i++)
        if (registered[i]) model_remove(i), compare_edges(&records[i]);
    bool whole = is_whole();
    ok(!wrong && whole && !gc_code_count(), "%s: as a list, up to %zu ranges (--seed=%llu)", f->name, most, (unsigned long long)first);
}

int main(int count, char **arguments) {
    for (int i = 1; i < count; i++) {
        if (!strncmp(arguments[i], "--seed=", 7)) seed = strtoull(arguments[i] + 7, NULL, 10);
        if (!strncmp(arguments[i], "--rounds=", 9)) rounds = strtol(arguments[i] + 9, NULL, 10);
    }
    if (!seed) seed = 1;
    for (int i = 0; i < FIELDS; i++) against_model(&fields[i]);
    return done();
}
