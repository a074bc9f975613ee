/* The registry of code: against a list of ranges, with random adding and removing at all kinds of addresses; every refusal;
   looking up at each instruction of adding and removing, in signal handlers, and beside other threads; without memory; fork.
   With --seed=N --rounds=N; more than 4000 rounds also step more instructions. */
#define _GNU_SOURCE
#include "../inside.h"
#include "gc_stackmap.h"

#include "../tap.h"
#include "single_step.h"
#include "space_limit.h"

#include <pthread.h>
#include <sched.h>

/* ThreadSanitizer defers signals, so nothing can be stepped. */
#if defined(__SANITIZE_THREAD__) || GC__HAS_FEATURE(thread_sanitizer)
#define THREAD_SANITIZER 1
#else
#define THREAD_SANITIZER 0
#endif
#if defined(__SANITIZE_ADDRESS__) || GC__HAS_FEATURE(address_sanitizer) || THREAD_SANITIZER
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

#define PAGE ((uintptr_t)4096)
#define GIB ((uintptr_t)1 << 30)
#define LAST ((uintptr_t)1 << 47) /* the end of the user address space of x86-64 */

/* Tables that nobody reads. */
static const char *no_visit(const gc_code_cursor *frame, gc_visitor *visitor) {
    return (void)frame, (void)visitor, NULL;
}
static const char *no_layout(gc_code_cursor *frame) { return (void)frame, NULL; }
static const gc_code_format format = {.name = "none", .visit = no_visit, .layout = no_layout};

static gc_code code_at(uintptr_t start, size_t bytes, const char *name) {
    return (gc_code){.start = (const void *)start, .bytes = bytes, .format = &format, .name = name};
}

static uint64_t seed = 1;
static long rounds = 1000;
static uint64_t random_below(uint64_t limit) {
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return (seed * 0x2545F4914F6CDD1Du >> 8) % limit;
}

static const gc_code *find(uintptr_t pc) { return gc_code_find((const void *)pc); }

/* Whether each block is in the tree, free, or retired, once, and cells are well-formed. Prints what is wrong. */

static size_t kind_bytes(unsigned kind) { return (size_t)1 << (kind + GC__BLOCK_SHIFT); }

/* The bytes of the blocks under a cell, which spans 2^shift bytes from the address on; SIZE_MAX / 2 if something is wrong. */
static size_t count_cell(uint32_t cell, uintptr_t address, unsigned shift) {
    if (!cell) return 0;
    size_t bytes = kind_bytes(gc__block_kind(cell));
    if (!gc__cell_is_node(cell)) {
        const gc__slice *slices = gc__leaf_first(cell, address);
        unsigned words = 0, live = gc__leaf_live(cell, address);
        for (unsigned i = 0; i < gc__leaf_slices(cell); i++)
            for (unsigned j = 1; j <= GC__SLICE_ENTRIES; j++) words += slices[i].words[j] != 0;
        if (words == live && words) return bytes;
        diag("the leaf at %#zx counts %u words of %u", (size_t)address, live, words);
        return SIZE_MAX / 2;
    }
    const uint32_t *cells = gc__cell_node(cell);
    shift -= gc__node_bits(cell);
    for (size_t i = 0, alike; i < (size_t)1 << gc__node_bits(cell); i += alike) {
        uint32_t each = cells[i];
        alike = each && !gc__cell_is_node(each) ? (size_t)1 << (gc__leaf_shift(each) - shift) : 1;
        if (i % alike || !gc__cells_are(&cells[i], alike, each)) return SIZE_MAX / 2;
        bytes += count_cell(each, address + (i << shift), shift);
    }
    return bytes;
}

static bool is_whole(void) {
    const gc__tree *tree = &gc__the_tree;
    size_t bytes = 0;
    if (!tree->blocks) return true;
    for (uintptr_t i = 0; i < GC__TREE_ROOT_CELLS; i++) bytes += count_cell(*gc__tree_root(i << 32), i << 32, 32);
    for (unsigned kind = 0; kind < GC__BLOCK_KINDS; kind++)
        for (uint32_t at = tree->free[kind]; at; at = *gc__block_at(at)) bytes += kind_bytes(kind);
    for (size_t i = 0; i < tree->retired_count; i++) bytes += kind_bytes(tree->retired[i] & ~GC__CELL_OFFSET);
    if (bytes + GC__TREE_START == tree->used) return true;
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
        if (registered[i] && (uintptr_t)records[i].start < end &&
            (uintptr_t)records[i].start + records[i].bytes > start)
            return &records[i];
    return NULL;
}

static long wrong;
static void compare(uintptr_t pc) {
    const gc_code *expected = model_find(pc), *got = find(pc);
    if (got == expected) return;
    if (wrong++ < 5)
        diag("%#zx: %s, expected %s", (size_t)pc, got ? got->name : "none", expected ? expected->name : "none");
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
    if (result != GC_OK && wrong++ < 5)
        diag("removing [%p, %zu bytes): %s", records[i].start, records[i].bytes, gc_last_message());
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
    ok(!wrong && whole && !gc_code_count(), "%s: as a list, up to %zu ranges (--seed=%llu)", f->name, most,
       (unsigned long long)first);
}

/* Refusals. */

typedef struct refusal {
    const char *what;
    gc_code code;
    gc_result result;
    const char *message;
    bool asserted; /* with GC_DEBUG */
} refusal;

static void refuse_child(void *argument) { gc_code_add((const gc_code *)argument); }

static void refuse(const refusal *r, const gc_code *code) {
    static char output[4096];
    if (r->asserted && GC_DEBUG >= 1) {
        is(tap_child(refuse_child, (void *)(uintptr_t)code, output, sizeof output), 256 + SIGABRT, "%s: asserted",
           r->what);
        has(output, r->message, "%s: the message", r->what);
        return;
    }
    size_t before = gc_code_count();
    is(gc_code_add(code), r->result, "%s: refused", r->what);
    has(gc_last_message(), r->message, "%s: the message", r->what);
    ok(gc_last_result() == r->result && gc_code_count() == before, "%s: nothing else happens", r->what);
}

static const char *check_fails(const gc_code *code) { return code->host ? NULL : "row 7 is upside down"; }
static const gc_code_format strict_format = {
    .name = "strict", .visit = no_visit, .layout = no_layout, .check = check_fails};
static const gc_code_format no_visit_format = {.name = "no visit", .layout = no_layout};
static const gc_code_format no_layout_format = {.name = "no layout", .visit = no_visit};

#define AT ((const void *)0x10000)
static const refusal refusals[] = {
    {"no start", {NULL, 256, NULL, 0, &format, "method", NULL}, GC_ERROR_ARGUMENT, "code->start is NULL", true},
    {"no bytes", {AT, 0, NULL, 0, &format, "method", NULL}, GC_ERROR_FORMAT, "method at 0x10000 has 0 bytes", false},
    {"bytes that wrap",
     {AT, SIZE_MAX, NULL, 0, &format, "method", NULL},
     GC_ERROR_FORMAT,
     "reaches beyond the 48 bits",
     false},
    {"bytes that wrap to 0",
     {AT, (size_t)0 - 0x10000, NULL, 0, &format, "method", NULL},
     GC_ERROR_FORMAT,
     "reaches beyond the 48 bits",
     false},
    {"a byte too many",
     {AT, ((uintptr_t)1 << 48) - 0x10000 + 1, NULL, 0, &format, "method", NULL},
     GC_ERROR_FORMAT,
     "reaches beyond the 48 bits",
     false},
    {"a start beyond 48 bits",
     {(const void *)((uintptr_t)1 << 48), 1, NULL, 0, &format, "method", NULL},
     GC_ERROR_FORMAT,
     "reaches beyond the 48 bits",
     false},
    {"no map", {AT, 256, NULL, 0, NULL, "method", NULL}, GC_ERROR_ARGUMENT, "code->map is NULL", true},
    {"a format that does not visit",
     {AT, 256, NULL, 0, &no_visit_format, "method", NULL},
     GC_ERROR_ARGUMENT,
     "code->format->visit is NULL",
     true},
    {"a format without layouts",
     {AT, 256, NULL, 0, &no_layout_format, "method", NULL},
     GC_ERROR_ARGUMENT,
     "code->format->layout is NULL",
     true},
    {"a map that its format refuses",
     {AT, 256, NULL, 0, &strict_format, "method", NULL},
     GC_ERROR_FORMAT,
     "the map of method at 0x10000 is refused: row 7 is upside down",
     false},
    {"the same without a name",
     {AT, 256, NULL, 0, &strict_format, NULL, NULL},
     GC_ERROR_FORMAT,
     "the map of code without a name at 0x10000",
     false},
    {"no stack map",
     {AT, 256, "what?", 5, NULL, "method", NULL},
     GC_ERROR_FORMAT,
     "the map of method at 0x10000 is refused: ",
     false},
};

static void misuse_child(void *argument) { gc_code_remove((const gc_code *)argument); }
static void refuse_removal(const gc_code *code, const char *message, const char *what) {
    static char output[4096];
    if (GC_DEBUG >= 1) {
        is(tap_child(misuse_child, (void *)(uintptr_t)code, output, sizeof output), 256 + SIGABRT,
           "removing %s is asserted", what);
        has(output, message, "%s: the message", what);
        return;
    }
    is(gc_code_remove(code), code ? GC_ERROR_MISUSE : GC_ERROR_ARGUMENT, "removing %s is refused", what);
    has(gc_last_message(), message, "%s: the message", what);
}

static void overlaps(void) {
    static const struct {
        uintptr_t start;
        size_t bytes;
        const char *what;
    } cases[] = {{0x10000, 256, "the same range"},
                 {0x100ff, 1, "the last byte"},
                 {0x10000, 1, "the first byte"},
                 {0xff00, 257, "a byte more before"},
                 {0xff00, 0x1000, "all around"},
                 {0x10080, 4, "within"},
                 {0x10040, (size_t)8 << 30, "8 GiB from within"}};
    gc_code code = code_at(0x10000, 256, "first"), before = code_at(0xff00, 256, "before"),
            after = code_at(0x10100, 1, "after");
    char text[200];
    is(gc_code_add(&code), GC_OK, "a first range");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        gc_code other = code_at(cases[i].start, cases[i].bytes, "second");
        snprintf(text, sizeof text, "second in [%p, %p) overlaps first in [0x10000, 0x10100)", (void *)cases[i].start,
                 (void *)(cases[i].start + cases[i].bytes));
        refusal r = {cases[i].what, other, GC_ERROR_FORMAT, text, false};
        refuse(&r, &other);
        refuse_removal(&other, "second at ", cases[i].what);
    }
    refusal again = {"the same record twice", code, GC_ERROR_FORMAT, "first at 0x10000 is registered already", false};
    refuse(&again, &code);
    ok(gc_code_add(&before) == GC_OK && gc_code_add(&after) == GC_OK, "neighbours that only touch it");
    gc_code changed = code;
    code.bytes--;
    refuse_removal(&code, "first at 0x10000 with 255 bytes is not registered, or start or bytes have changed",
                   "a record with fewer bytes");
    code.bytes += 2;
    refuse_removal(&code, "257 bytes is not registered, or", "a record with more bytes");
    code = changed, code.start = (const void *)0x10001, code.bytes--;
    refuse_removal(&code, "at 0x10001 with", "a record with another start");
    code = changed;
    refuse_removal(&changed, "first at 0x10000", "a copy of the record");
    refuse_removal(NULL, "code is NULL", "NULL");
    ok(find(0x10000) == &code && find(0xffff) == &before && find(0x10100) == &after && !find(0x10101),
       "all are still found");
    ok(gc_code_remove(&code) == GC_OK && gc_code_remove(&before) == GC_OK && gc_code_remove(&after) == GC_OK,
       "and removed");
    refuse_removal(&code, "first at 0x10000", "a record twice");
}

static void refused(void) {
    for (size_t i = 0; i < sizeof refusals / sizeof *refusals; i++) refuse(&refusals[i], &refusals[i].code);
    refusal none = {"no code", code_at(1, 1, NULL), GC_ERROR_ARGUMENT, "code is NULL", true};
    refuse(&none, NULL);
    overlaps();
    gc_code most = code_at(1, ((uintptr_t)1 << 48) - 1, "all addresses");
    is(gc_code_add(&most), GC_OK, "the largest range");
    ok(find(1) == &most && find(LAST) == &most && find(((uintptr_t)1 << 48) - 1) == &most && !find((uintptr_t)1 << 48),
       "is found");
    ok(!find(0) && !find(UINTPTR_MAX), "but not at NULL, nor beyond");
    is(gc_code_remove(&most), GC_OK, "and removed");
}

/* Maps of gc_stackmap_encode. */
static void own_maps(void) {
    gc_stackmap_method method = {.code_bytes = 64};
    size_t bytes = gc_stackmap_encode(&method, NULL, 0);
    unsigned char *map = (unsigned char *)malloc(bytes);
    gc_code code = {.start = (const void *)0x40000, .bytes = 64, .map = map, .map_bytes = bytes, .name = "own"};
    ok(map && gc_stackmap_encode(&method, map, bytes) == bytes && gc_code_add(&code) == GC_OK,
       "a map of gc_stackmap_encode is taken");
    is(gc_code_remove(&code), GC_OK, "and removed");
    code.bytes = 65;
    refusal larger = {"code that is larger than its map says", code, GC_ERROR_FORMAT,
                      "own at 0x40000 has 65 bytes, but its map is that of 64 bytes of code", false};
    refuse(&larger, &code);
    code.bytes = 64, code.map_bytes--;
    refusal truncated = {"a map without its last byte", code, GC_ERROR_FORMAT,
                         "the map of own at 0x40000 is refused: ", false};
    refuse(&truncated, &code);
    free(map);
}

/* A field of 32-byte methods for the tests below, in which every `nth` one stays registered. */
enum { METHODS = 3000, STRIDE = 40 };
static gc_code methods[METHODS];
static int nth = 3;
#define STAYS(i) ((i) % nth == 0)
#define EACH_STAYING(i) for (int i = 0; i < METHODS; i += nth)
#define EACH_OTHER(i)                 \
    for (int i = 0; i < METHODS; i++) \
        if (!STAYS(i))

static void set_up(void) {
    for (int i = 0; i < METHODS; i++)
        methods[i] = code_at(0x7f5500000000 - 70000 + (uintptr_t)i * STRIDE, 32, STAYS(i) ? "stays" : "comes and goes");
    EACH_STAYING(i) gc_code_add(&methods[i]);
}

static void tear_down(const char *what) {
    int refused = 0;
    EACH_STAYING(i) refused += gc_code_remove(&methods[i]) != GC_OK;
    bool whole = is_whole();
    ok(whole && !refused && !gc_code_count(), "%s: all blocks are accounted for", what);
}

/* What a lookup must see whenever it comes: those that stay, gaps, and of the others nothing or themselves. */
static long odd; /* atomic */
static void look(uint64_t bits) {
    int i = (int)(bits % METHODS);
    uintptr_t start = (uintptr_t)methods[i].start;
    const gc_code *first = find(start + bits / METHODS % 32), *gap = find(start + 32 + bits / METHODS % 8);
    if ((first != &methods[i] && (STAYS(i) || first)) || gap) __atomic_fetch_add(&odd, 1, __ATOMIC_RELAXED);
}

/* At each instruction of adding and removing. */

static bool present[METHODS]; /* but for the one that is stepped */
static const gc_code *stepped;
static void look_when_stepped(void) {
    static unsigned turn;
    int at = (int)(stepped - methods);
    const gc_code *code = find((uintptr_t)stepped->start + 5);
    if (code && code != stepped) odd++;
    for (int k = 1; k < 8; k++) {
        int i =
            k < 6 ? (at + (int)(turn++ % 5 + 1) * (k - 3) * k + METHODS) % METHODS : (at / nth + k - 6) * nth % METHODS;
        if (i != at && find((uintptr_t)methods[i].start + 5) != (present[i] ? &methods[i] : NULL)) odd++;
    }
}

typedef gc_result change(const gc_code *code);
enum { ONE_LEAF, LEAVES, NODES };

/* What adding or removing will change: more than one leaf, or even nodes? Tries it, and restores the registry. */
static int scope_of(change *f, const gc_code *code) {
    gc__tree *tree = &gc__the_tree, before = *tree;
    size_t used = before.used, ordinary = f == gc_code_add;
    char *copy = (char *)malloc(used);
    if (!copy) abort();
    memcpy(copy, tree->blocks, used);
    gc__place place = gc__place_of((uintptr_t)code->start);
    f(code);
    gc__place after = gc__place_of((uintptr_t)code->start);
    size_t retired = tree->retired_count + (tree->epoch - before.epoch) * GC__TREE_RETIRED - before.retired_count;
    before.committed = tree->committed;
    *tree = before;
    memcpy(tree->blocks, copy, used);
    free(copy);
    return place.bits != after.bits || place.depth != after.depth ? NODES : retired > ordinary ? LEAVES : ONE_LEAF;
}

/* Adds or removes, stepping some of the calls: most of those that change nodes, and more of those that change several leaves. */
static bool step_some(change *f, const gc_code *code, long *scopes, long *instructions) {
    int scope = scope_of(f, code);
    static const long every[] = {[ONE_LEAF] = 300, [LEAVES] = 10, [NODES] = 3};
    bool steps = scopes[scope]++ % every[scope] == 0;
    stepped = code;
    if (steps) single_step_begin();
    gc_result result = f(code);
    if (steps) *instructions += single_step_end();
    present[code - methods] = f == gc_code_add;
    return result == GC_OK && find((uintptr_t)code->start) == (f == gc_code_add ? code : NULL);
}

static void stepping(void) {
    long added = 0, removed = 0, adding[3] = {0, 0, 0}, removing[3] = {0, 0, 0};
    bool all = true;
    /* Most instructions of sanitized code are the sanitizers', millions of them. */
    if (THREAD_SANITIZER || (SANITIZED && rounds <= 4000) || !single_step_available()) {
        ok(true, "# SKIP instructions cannot be stepped");
        return;
    }
    nth = 150;
    set_up();
    for (int i = 0; i < METHODS; i++) present[i] = STAYS(i);
    single_step_each = look_when_stepped;
    odd = 0;
    EACH_OTHER(j) {
        int i = j * 7 % METHODS; /* out of order */
        if (!STAYS(i)) all &= step_some(gc_code_add, &methods[i], adding, &added);
    }
    EACH_OTHER(j) {
        int i = j * 7 % METHODS;
        if (!STAYS(i)) all &= step_some(gc_code_remove, &methods[i], removing, &removed);
    }
    single_step_each = NULL;
    diag("looked up at %ld instructions of adding, %ld of removing; nodes changed %ld and %ld times, several leaves "
         "%ld and %ld",
         added, removed, adding[NODES], removing[NODES], adding[LEAVES], removing[LEAVES]);
    ok(added > 10000 && removed > 10000 && adding[NODES] && removing[NODES] && adding[LEAVES] && removing[LEAVES],
       "all kinds of changes are stepped");
    ok(!odd && all, "at each instruction of adding and removing what there is is found");
    tear_down("stepping");
    nth = 3;
}

/* In a signal handler, at any time; and beside threads that add and remove. */

static int done_adding, ready; /* atomic */
static long signals;           /* atomic */
static void look_in_handler(int number) {
    (void)number;
    uint64_t bits = (uint64_t)__atomic_add_fetch(&signals, 1, __ATOMIC_RELAXED) * 0x9E3779B97F4A7C15u;
    for (int i = 0; i < 10; i++) look((bits >> 20) + (uint64_t)i * 7);
}

static void *interrupting(void *thread) {
    while (!__atomic_load_n(&done_adding, __ATOMIC_ACQUIRE)) {
        long before = __atomic_load_n(&signals, __ATOMIC_RELAXED);
        pthread_kill(*(pthread_t *)thread, SIGUSR1);
        while (before == __atomic_load_n(&signals, __ATOMIC_RELAXED)) sched_yield();
    }
    return NULL;
}

static void handlers(void) {
    struct sigaction action;
    pthread_t self = pthread_self(), other;
    memset(&action, 0, sizeof action);
    action.sa_handler = look_in_handler;
    sigaction(SIGUSR1, &action, NULL);
    set_up();
    odd = done_adding = signals = 0;
    pthread_create(&other, NULL, interrupting, &self);
    bool all = true;
    const long enough = THREAD_SANITIZER ? 50 : 1000; /* which delivers one in some 20 ms */
    for (int round = 0; round < 4 || __atomic_load_n(&signals, __ATOMIC_RELAXED) < enough; round++)
        for (int pass = 0; pass < 2; pass++)
            EACH_OTHER(i) all &= (pass ? gc_code_remove : gc_code_add)(&methods[i]) == GC_OK;
    __atomic_store_n(&done_adding, 1, __ATOMIC_RELEASE);
    pthread_join(other, NULL);
    ok(all && !odd, "found in %ld signal handlers or more", enough);
    tear_down("signal handlers");
}

enum { WRITERS = 3, READERS = 2 };

/* Writer n has every WRITERS-th of the methods that come and go; others find them, or not, but itself knows. */
static void *writing(void *argument) {
    int n = (int)(uintptr_t)argument, mine[METHODS], count = 0;
    uint64_t random = (uint64_t)n * 7919 + 1;
    bool in[METHODS] = {false};
    int k = 0;
    EACH_OTHER(i) if (k++ % WRITERS == n) mine[count++] = i;
    long faults = 0;
    for (long round = 0; round < (THREAD_SANITIZER ? 5000 : SANITIZED ? 20000 : 100000); round++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        int i = mine[(random >> 33) % (unsigned)count];
        if ((in[i] ? gc_code_remove : gc_code_add)(&methods[i]) != GC_OK) faults++;
        in[i] = !in[i];
        if (find((uintptr_t)methods[i].start + 31) != (in[i] ? &methods[i] : NULL)) faults++;
        if (round == 0) __atomic_fetch_add(&ready, 1, __ATOMIC_RELEASE);
    }
    for (int j = 0; j < count; j++)
        if (in[mine[j]] && gc_code_remove(&methods[mine[j]]) != GC_OK) faults++;
    __atomic_fetch_add(&odd, faults, __ATOMIC_RELAXED);
    return NULL;
}

static void *reading(void *argument) {
    uint64_t random = (uint64_t)(uintptr_t)argument * 104729 + 1;
    while (!__atomic_load_n(&done_adding, __ATOMIC_ACQUIRE)) {
        for (int i = 0; i < 100; i++) {
            random = random * 6364136223846793005u + 1442695040888963407u;
            look(random >> 33);
        }
        if (gc_code_count() < METHODS / 3) __atomic_fetch_add(&odd, 1, __ATOMIC_RELAXED);
    }
    return NULL;
}

static pthread_t writers[WRITERS], readers[READERS];
static void start_threads(void) {
    odd = done_adding = ready = 0;
    for (uintptr_t i = 0; i < WRITERS; i++) pthread_create(&writers[i], NULL, writing, (void *)i);
    for (uintptr_t i = 0; i < READERS; i++) pthread_create(&readers[i], NULL, reading, (void *)i);
}
static void join_threads(void) {
    for (int i = 0; i < WRITERS; i++) pthread_join(writers[i], NULL);
    __atomic_store_n(&done_adding, 1, __ATOMIC_RELEASE);
    for (int i = 0; i < READERS; i++) pthread_join(readers[i], NULL);
}

static void threads(void) {
    set_up();
    start_threads();
    join_threads();
    is(odd, 0, "several threads add and remove, others look up: nothing is lost, or found that is not there");
    tear_down("threads");
}

/* fork() while other threads add and remove: the child has the registry between two changes. */
static int in_child(void) {
    int faults = !is_whole();
    gc_code own = code_at(0x7f5600000000, 100, "the child's");
    alarm(60);
    odd = 0;
    for (uint64_t i = 0; i < METHODS * (SANITIZED ? 4 : 32); i++) look(i);
    faults += odd || gc_code_add(&own) != GC_OK || find(0x7f5600000063) != &own;
    EACH_STAYING(i) faults += gc_code_remove(&methods[i]) != GC_OK;
    return faults + (find(0x7f5600000000) != &own) + !is_whole();
}

static void forks(void) {
    int faults = 0;
    set_up();
    start_threads();
    while (__atomic_load_n(&ready, __ATOMIC_ACQUIRE) < WRITERS) sched_yield();
    for (int i = 0; i < 8; i++) {
        int status = -1;
        fflush(stdout);
        pid_t child = fork();
        if (child == 0) _exit(in_child());
        waitpid(child, &status, 0);
        faults += status != 0;
    }
    join_threads();
    ok(!faults && !odd, "children that are forked meanwhile have a registry that works");
    tear_down("fork");
}

/* Without memory. */

/* Has the registry run out of memory after `blocks` of the smallest ones: it has no free ones, and gets no further ones. */
static gc__tree had;
static void leave(size_t blocks) {
    gc__tree *tree = &gc__the_tree;
    had = *tree;
    memset(tree->free, 0, sizeof tree->free);
    tree->retired_count = 0;
    tree->bytes = tree->committed = tree->used + blocks * kind_bytes(0);
}
static void give_back(void) {
    gc__tree *tree = &gc__the_tree;
    tree->bytes = had.bytes, tree->committed = had.committed;
    for (unsigned kind = 0; kind < GC__BLOCK_KINDS; kind++) {
        uint32_t *end = &tree->free[kind];
        while (*end) end = gc__block_at(*end);
        *end = had.free[kind];
    }
    for (size_t i = 0; i < had.retired_count; i++)
        gc__block_free(had.retired[i] & GC__CELL_OFFSET, had.retired[i] & ~GC__CELL_OFFSET);
}

/* Adds code, having first failed with ever more memory. Returns the number of failures, 1000000 if something else happens. */
static int add_without_memory(const gc_code *code, int i) {
    int failures = 0, faults = 0;
    for (gc_result result = GC_ERROR_MEMORY; result != GC_OK;) {
        leave((size_t)failures);
        result = gc_code_add(code);
        bool found = find((uintptr_t)code->start) == code || find((uintptr_t)code->start + code->bytes / 2) == code;
        odd = 0;
        for (uint64_t j = 0; j < 9; j++) look(j + (uint64_t)i), look((uint64_t)(i + METHODS) - j);
        if (found != (result == GC_OK) || odd) faults++;
        give_back();
        if (result == GC_OK) break;
        failures++;
        if (result != GC_ERROR_MEMORY || !strstr(gc_last_message(), "gets no more")) faults++;
        /* Looking at all of it takes longest, with sanitizers ten times as long. */
        if ((i + failures) % (SANITIZED ? 16 : 1) == 0 && !is_whole()) faults++;
        if (result != GC_ERROR_MEMORY) break;
    }
    return faults ? 1000000 : failures;
}

static void exhaustion(void) {
    int failures = 0, faults = 0, most = 0;
    gc_code large = code_at(0x7f5500000000 - 70000 + METHODS * STRIDE, 20 * GIB, "large");
    set_up();
    EACH_OTHER(i) {
        int times = add_without_memory(&methods[i], i);
        failures += times;
        if (times > most) most = times;
    }
    int times = add_without_memory(&large, METHODS - 1);
    diag("%d times there was no memory, up to %d for one method, and %d for %zu GiB", failures, most, times,
         large.bytes >> 30);
    ok(failures > METHODS && failures < 1000000 && times > 10 && times < 1000000,
       "without memory adding fails, and nothing else changes");
    EACH_OTHER(i) {
        leave(0);
        faults += gc_code_remove(&methods[i]) != GC_OK || find((uintptr_t)methods[i].start) == &methods[i];
        give_back();
    }
    leave(0);
    faults += gc_code_remove(&large) != GC_OK || find((uintptr_t)large.start) || find((uintptr_t)large.start + 9 * GIB);
    give_back();
    is(faults, 0, "removing needs no memory");
    tear_down("no memory");
}

/* The system gives no more than RLIMIT_AS. */
static void limited(void *argument) {
    static gc_code many[200000];
    size_t count = 0, lost = 0;
    limit_space(*(size_t *)argument);
    for (; count < 200000; count++) {
        many[count] = code_at(0x7f5500000000 + (uintptr_t)count * 100, 64, "one of many");
        if (gc_code_add(&many[count]) != GC_OK) break;
    }
    printf("%s after %zu: %s\n", gc_result_text(gc_last_result()), count, gc_last_message());
    for (size_t i = 0; i < count; i++) lost += find((uintptr_t)many[i].start) != &many[i];
    for (size_t i = 0; i < count; i += 2) lost += gc_code_remove(&many[i]) != GC_OK;
    for (size_t i = 0; i < count; i += 2) lost += gc_code_add(&many[i]) != GC_OK;
    printf("lost %zu, %s\n", lost, is_whole() ? "whole" : "not whole");
}

static void system_refuses(void) {
    static char output[4096];
    static const size_t rooms[] = {1 << 20, 24 << 20};
    for (int i = 0; i < 2 && !SANITIZED && space_can_be_limited(); i++) {
        tap_child(limited, (void *)(uintptr_t)&rooms[i], output, sizeof output);
        has(output, gc_result_text(GC_ERROR_MEMORY), "RLIMIT_AS with room for %zu MiB: the result", rooms[i] >> 20);
        has(output, i ? "gets no more" : "after 0: gc_code_add: cannot reserve", "the message");
        has(output, "ulimit -v", "the remedy");
        has(output, "lost 0, whole", "nothing is lost");
    }
}

/* Memory of what was removed is used again, and given back. */
static void no_piling_up(void) {
    enum { LIVE = 2000, TURNS = SANITIZED ? 60000 : 300000, MANY = SANITIZED ? 40000 : 200000 };
    static gc_code ring[LIVE];
    size_t early = 0;
    bool all = true;
    for (size_t i = 0; i < TURNS; i++) { /* a JIT that never uses an address again */
        gc_code *code = &ring[i % LIVE];
        if (i >= LIVE) all &= gc_code_remove(code) == GC_OK;
        *code = code_at(0x7000000000 + (uintptr_t)i * 7000, 1 + random_below(7000), "passes by");
        all &= gc_code_add(code) == GC_OK;
        if (i == 3 * LIVE) early = gc__the_tree.used;
    }
    ok(all && gc__the_tree.used < early * 3 / 2,
       "what is removed is used again: %zu KiB of blocks after 6000 ranges, %zu after %d", early >> 10,
       gc__the_tree.used >> 10, TURNS);
    for (size_t i = 0; i < LIVE; i++) all &= gc_code_remove(&ring[i]) == GC_OK;
    ok(all && !gc_code_count(), "all are removed");
    gc_code *many = (gc_code *)malloc(MANY * sizeof *many);
    for (size_t i = 0; i < MANY; i++)
        many[i] = code_at(0x7000000000 + (uintptr_t)i * 64, 64, "many"), all &= gc_code_add(&many[i]) == GC_OK;
    size_t peak = space_used().resident_bytes;
    for (size_t i = 0; i < MANY; i++) all &= gc_code_remove(&many[i]) == GC_OK;
    free(many);
    ok(all && (SANITIZED || space_used().resident_bytes + ((size_t)12 << 20) < peak),
       "when all of %d ranges are removed their memory goes back", MANY);
}

static bool is_mapped_at(const void *address) {
    unsigned long from, to;
    char line[512];
    bool found = false;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps))
        if (sscanf(line, "%lx-%lx", &from, &to) == 2 && (uintptr_t)address >= from && (uintptr_t)address < to)
            found = true;
    if (maps) fclose(maps);
    return found;
}

/* What the destructor of a library does. */
static void unloading(void) {
    gc_code code = code_at(0x10000, 10, "left");
    gc_code_add(&code);
    gc__code_unload();
    ok(find(0x10009) == &code, "as long as there is code, the registry stays when gc.h is unloaded");
    gc_code_remove(&code);
    void *blocks = gc__the_tree.blocks;
    ok(is_mapped_at(blocks), "it has memory");
    gc__code_unload();
    ok(!gc__the_tree.blocks && !is_mapped_at(blocks) && !find(0x10009), "which goes when there is none");
    ok(gc_code_add(&code) == GC_OK && find(0x10009) == &code && gc_code_remove(&code) == GC_OK, "and comes again");
}

int main(int count, char **arguments) {
    for (int i = 1; i < count; i++) {
        if (!strncmp(arguments[i], "--seed=", 7)) seed = strtoull(arguments[i] + 7, NULL, 10);
        if (!strncmp(arguments[i], "--rounds=", 9)) rounds = strtol(arguments[i] + 9, NULL, 10);
    }
    if (!seed) seed = 1;
    ok(!find(0) && !find(0x10000) && !gc_code_count(), "nothing is found before anything was added");
    system_refuses();
    refused();
    own_maps();
    for (int i = 0; i < FIELDS; i++) against_model(&fields[i]);
    stepping();
    handlers();
    threads();
    forks();
    exhaustion();
    no_piling_up();
    unloading();
    return done();
}
