/* Stack maps: the methods of the article whose tables they are made after, limits at their edges, every refusal. Random methods
   are in tests/random/stackmaps.c. */
#include "../inside.h"
#include "gc_stackmap.h"

#include "../tap.h"
#include "stackmap_seed.h"

/* Bit i: register i. */
enum { A = 1 << RAX, B = 1 << RBX, DI = 1 << RDI, SI = 1 << RSI, T12 = 1 << R12, T13 = 1 << R13, NONE = 1 << 30 };

/* Encodes into memory of exactly the size, so that the sanitizers see the ends. */
static uint8_t *encode(const gc_stackmap_method *m, size_t *bytes) {
    *bytes = gc_stackmap_encode(m, NULL, 0);
    uint8_t *map = malloc(*bytes + !*bytes);
    if (*bytes && gc_stackmap_encode(m, map, *bytes) == *bytes) return map;
    diag("%s", gc_last_message());
    free(map);
    return NULL;
}

static uint8_t *good(const gc_stackmap_method *m, const char *name) {
    size_t bytes;
    uint8_t *map = encode(m, &bytes);
    const char *fault = map ? gc_stackmap_check(map, bytes) : gc_last_message();
    ok(map && !fault, "%s: %zu bytes", name, bytes);
    if (fault) diag("%s", fault);
    if (!map) exit(1);
    return map;
}

/* The live registers; NONE: the thread may not be stopped there. */
static int live_registers(const void *map, uint32_t offset, gc_frame_kind kind) {
    uint64_t live;
    int result = 0;
    if (!gc_stackmap_live(map, offset, kind, &live)) return NONE;
    for (uint32_t i = 0; i < gc_stackmap_read(map).slot_count; i++)
        if (live >> i & 1) result |= 1 << gc_stackmap_slot_at(map, i).number;
    return result;
}

typedef struct expected {
    uint32_t from; /* up to the next one */
    int live;
} expected;

static void compare(const void *map, gc_frame_kind kind, const expected *rows, uint32_t end, const char *name) {
    uint32_t wrong = 0, row = 0;
    for (uint32_t offset = 0; offset <= end; offset++) {
        while (rows[row + 1].from <= offset) row++;
        int got = live_registers(map, offset, kind);
        if (got != rows[row].live) wrong++, diag("at %#x: %#x, expected %#x", offset, got, rows[row].live);
    }
    is(wrong, 0, "%s", name);
}

static void test_debug(void) {
    gc_stackmap_method m = debug_method();
    uint8_t *map = good(&m, "the method as Debug code");
    static const expected interrupted[] = {{0, NONE},
                                           {0x0d, 0},
                                           {0x0f, B},
                                           {0x12, B | T12},
                                           {0x1c, B | T12 | A},
                                           {0x1f, B | T12 | T13 | A},
                                           {0x22, B | T12 | T13 | A | DI},
                                           {0x2d, B | T12 | T13},
                                           {0x3a, B | T12 | A},
                                           {0x3d, B | T12 | T13 | A},
                                           {0x40, B | T12 | T13 | A | SI},
                                           {0x43, B | T12 | T13 | A | SI | DI},
                                           {0x4e, B | T12 | T13},
                                           {0x54, B | T12 | T13 | DI},
                                           {0x5a, B | T12},
                                           {0x66, NONE},
                                           {1000, 0}};
    static const expected caller[] = {{0, NONE},
                                      {0x0e, 0},
                                      {0x10, B},
                                      {0x13, B | T12},
                                      {0x20, B | T12 | T13},
                                      {0x3b, B | T12},
                                      {0x3e, B | T12 | T13},
                                      {0x5b, B | T12},
                                      {0x67, NONE},
                                      {1000, 0}};
    compare(map, GC_FRAME_INTERRUPTED, interrupted, 0x80, "Debug code, interrupted at each offset");
    compare(map, GC_FRAME_CALLER, caller, 0x80,
            "Debug code, left by a call that returns to each offset: without scratch registers");
    ok(!gc_stackmap_is_interruptible(map, 0x0c) && gc_stackmap_is_interruptible(map, 0x0d),
       "interruptible from the end of the prolog");
    ok(gc_stackmap_is_interruptible(map, 0x65) && !gc_stackmap_is_interruptible(map, 0x66), "and to the epilog");
    gc_stackmap_facts facts = gc_stackmap_read(map);
    ok(facts.slot_count == 6 && facts.change_count == 18 && facts.range_count == 1 && facts.code_bytes == 0x71,
       "its facts");
    is(facts.flags, GC_METHOD_EDIT_AND_CONTINUE, "its flags");
    free(map);
}

static void test_release(void) {
    gc_stackmap_method m = release_method();
    uint8_t *map = good(&m, "the method as Release code");
    static const expected caller[] = {{0, NONE},    {0x11, 0}, {0x12, NONE}, {0x26, B}, {0x27, NONE}, {0x3e, T12},
                                      {0x3f, NONE}, {0x4b, 0}, {0x4c, NONE}, {0x56, 0}, {0x57, NONE}, {1000, 0}};
    static const expected interrupted[] = {{0, NONE}, {1000, 0}};
    compare(map, GC_FRAME_CALLER, caller, 0x80, "Release code, at each return address");
    compare(map, GC_FRAME_INTERRUPTED, interrupted, 0x80, "Release code cannot be interrupted");
    free(map);
}

/* cfa is negative where rbp finds the frame. */
typedef struct layout {
    uint32_t offset;
    gc_frame_kind kind;
    int32_t cfa, rbp, rbx, r12, r13;
} layout;

static void compare_layouts(const void *map, const layout *rows, size_t count, const char *name) {
    int wrong = 0;
    for (size_t i = 0; i < count; i++) {
        gc__frame_layout got;
        gc__stackmap_layout(map, rows[i].offset, rows[i].kind, &got);
        int32_t cfa = got.by_frame ? -got.cfa : got.cfa;
        const int32_t *s = got.saved;
        if (cfa == rows[i].cfa && s[RBP] == rows[i].rbp && s[RBX] == rows[i].rbx && s[R12] == rows[i].r12 &&
            s[R13] == rows[i].r13)
            continue;
        wrong++, diag("at %#x, kind %d: %d; rbp %d rbx %d r12 %d r13 %d", rows[i].offset, rows[i].kind, cfa, s[RBP],
                      s[RBX], s[R12], s[R13]);
    }
    is(wrong, 0, "%s", name);
}
#define LAYOUTS(map, rows, name) compare_layouts(map, rows, sizeof(rows) / sizeof *(rows), name)

#define I GC_FRAME_INTERRUPTED
#define C GC_FRAME_CALLER

static void test_layouts(void) {
    static const layout debug[] = {{0, I, 8, 0, 0, 0, 0},
                                   {1, I, 16, -16, 0, 0, 0},
                                   {3, I, 16, -16, 0, 0, 0},
                                   {4, I, -16, -16, 0, 0, 0},
                                   {5, I, -16, -16, -24, 0, 0},
                                   {7, I, -16, -16, -24, -32, 0},
                                   {9, I, -16, -16, -24, -32, -40},
                                   {0x0d, I, -16, -16, -24, -32, -40},
                                   {0x50, C, -16, -16, -24, -32, -40},
                                   {0x69, I, -16, -16, -24, -32, -40},
                                   {0x6a, I, 40, -16, -24, -32, -40},
                                   {0x6a, C, -16, -16, -24, -32, -40},
                                   {0x6c, I, 32, -16, -24, -32, 0},
                                   {0x6e, I, 24, -16, -24, 0, 0},
                                   {0x6f, I, 16, -16, 0, 0, 0},
                                   {0x70, I, 8, 0, 0, 0, 0},
                                   {0x70, C, 16, -16, 0, 0, 0}};
    static const layout release[] = {
        {0, I, 8, 0, 0, 0, 0},         {1, I, 16, 0, -16, 0, 0},      {3, I, 24, 0, -16, -24, 0},
        {7, I, 32, 0, -16, -24, 0},    {0x2c, I, 32, 0, -16, -24, 0}, {0x2d, I, 40, 0, -16, -24, 0},
        {0x32, I, 48, 0, -16, -24, 0}, {0x3e, C, 48, 0, -16, -24, 0}, {0x42, C, 48, 0, -16, -24, 0},
        {0x42, I, 32, 0, -16, -24, 0}, {0x4b, C, 32, 0, -16, -24, 0}, {0x5a, I, 24, 0, -16, -24, 0},
        {0x5c, I, 16, 0, -16, 0, 0},   {0x5d, I, 8, 0, 0, 0, 0}};
    gc_stackmap_method m = debug_method();
    uint8_t *map = good(&m, "the method as Debug code");
    LAYOUTS(map, debug, "layouts with a frame pointer");
    gc__stackmap opened;
    gc__stackmap_open(&opened, map, UINT64_MAX);
    ok(opened.slots - opened.unwind <= 12 * 8, "its prolog and epilog, 11 rows, take %u bits",
       (unsigned)(opened.slots - opened.unwind));
    gc__frame_layout at_end;
    ok(!gc__stackmap_layout(map, 0, C, &at_end) && gc__stackmap_layout(map, 0x71, C, &at_end) &&
           !gc__stackmap_layout(map, 0x72, C, &at_end),
       "return addresses are behind the first byte, up to the end");
    ok(gc__stackmap_layout(map, 0x70, I, &at_end) && !gc__stackmap_layout(map, 0x71, I, &at_end),
       "instructions are before the end");
    free(map);
    m = release_method();
    map = good(&m, "the method as Release code");
    LAYOUTS(map, release, "layouts by the stack pointer, with pushed arguments");
    free(map);
}

/* Two epilogs, registers saved by moves, and a frame pointer in the middle of the frame. */
static void test_other_frames(void) {
    static const gc_stackmap_unwind moves[] = {
        {4, GC_UNWIND_ALLOCATE, 0, 40},  {9, GC_UNWIND_SAVE, RBX, 32},    {14, GC_UNWIND_SAVE, R12, 24},
        {19, GC_UNWIND_SAVE, RBP, 16},   {24, GC_UNWIND_FRAME, 0, 8},     {40, GC_UNWIND_RESTORE, RBX, 0},
        {45, GC_UNWIND_RESTORE, R12, 0}, {50, GC_UNWIND_RESTORE, RBP, 0}, {54, GC_UNWIND_ALLOCATE, 0, -40},
        {55, GC_UNWIND_BODY, 0, 0},      {70, GC_UNWIND_RESTORE, RBX, 0}, {75, GC_UNWIND_RESTORE, R12, 0},
        {80, GC_UNWIND_RESTORE, RBP, 0}, {84, GC_UNWIND_ALLOCATE, 0, -40}};
    static const layout expected_moves[] = {
        {9, I, 48, 0, -16, 0, 0},       {23, I, 48, -32, -16, -24, 0},  {24, I, -40, -32, -16, -24, 0},
        {40, I, -40, -32, 0, -24, 0},   {50, I, 48, 0, 0, 0, 0},        {54, I, 8, 0, 0, 0, 0},
        {55, I, -40, -32, -16, -24, 0}, {69, C, -40, -32, -16, -24, 0}, {84, I, 8, 0, 0, 0, 0}};
    gc_stackmap_method m = {.code_bytes = 85, .prolog_bytes = 24, .unwind = moves, .unwind_count = 14};
    uint8_t *map = good(&m, "registers saved by moves, two epilogs");
    LAYOUTS(map, expected_moves, "their layouts");
    free(map);
    static const gc_stackmap_unwind dynamic[] = {{1, GC_UNWIND_PUSH, RBP, 0},
                                                 {4, GC_UNWIND_FRAME, 0, 0},
                                                 {5, GC_UNWIND_PUSH, RBX, 0},
                                                 {9, GC_UNWIND_ALLOCATE, 0, 24},
                                                 {30, GC_UNWIND_ALLOCATE, 0, 1 << 29},
                                                 {31, GC_UNWIND_ALLOCATE, 0, 1 << 29},
                                                 {32, GC_UNWIND_ALLOCATE, 0, 1 << 29},
                                                 {33, GC_UNWIND_ALLOCATE, 0, 1 << 29},
                                                 {35, GC_UNWIND_PUSH, GC_NO_REGISTER, 0},
                                                 {40, GC_UNWIND_LEAVE, 0, 8},
                                                 {41, GC_UNWIND_POP, RBX, 0},
                                                 {42, GC_UNWIND_POP, RBP, 0}};
    static const layout expected_dynamic[] = {{9, I, -16, -16, -24, 0, 0},
                                              {36, C, -16, -16, -24, 0, 0},
                                              {40, I, 24, -16, -24, 0, 0},
                                              {41, I, 16, -16, 0, 0, 0},
                                              {42, I, 8, 0, 0, 0, 0}};
    m = (gc_stackmap_method){
        .code_bytes = 43, .prolog_bytes = 9, .flags = GC_METHOD_DYNAMIC_STACK, .unwind = dynamic, .unwind_count = 12};
    map = good(&m, "a stack of variable size");
    LAYOUTS(map, expected_dynamic, "its layouts, whatever rows say of the stack pointer in the body");
    free(map);
    m = (gc_stackmap_method){.code_bytes = 1};
    map = good(&m, "a method of one byte, which says nothing");
    static const layout leaf[] = {{0, I, 8, 0, 0, 0, 0}, {1, C, 8, 0, 0, 0, 0}};
    LAYOUTS(map, leaf, "its layout");
    ok(!gc_stackmap_live(map, 0, I, NULL) && !gc_stackmap_live(map, 0, C, NULL) && !gc_stackmap_live(map, 1, C, NULL),
       "it has no safe point");
    free(map);
}

/* A frame of 64 bytes below the pushed rbp and rbx: CFA-16 rbp, CFA-24 rbx, then the slots from CFA-32 down to CFA-88. */
static const gc_stackmap_unwind frame_rows[] = {{1, GC_UNWIND_PUSH, RBP, 0},
                                                {4, GC_UNWIND_FRAME, 0, 0},
                                                {5, GC_UNWIND_PUSH, RBX, 0},
                                                {9, GC_UNWIND_ALLOCATE, 0, 64}};
#define FRAME .code_bytes = 100, .prolog_bytes = 9, .unwind = frame_rows, .unwind_count = 4

static void test_reported(void) {
    static const gc_stackmap_slot slots[] = {
        {GC_PLACE_SP, 0, 0, 0, 0},                     /* an outgoing argument */
        {GC_PLACE_SP, 0, GC_SLOT_PINNED, 0, 16},       /* above those */
        {GC_PLACE_FRAME, 0, GC_SLOT_INTERIOR, 0, -24}, /* CFA - 40 */
        {GC_PLACE_CFA, 0, 0, 1, -32},                  /* untracked */
        {GC_PLACE_CFA, 0, GC_SLOT_VALUE, 0, 8},        /* an argument of its own */
        {GC_PLACE_REGISTER, R13, 0, 0, 0},
        {GC_PLACE_REGISTER, RDI, GC_SLOT_INTERIOR, 0, 0},
    };
    static const uint64_t all = 0x77;
    static const gc_stackmap_point points[] = {{20, &all}, {100, NULL}};
    static const gc_stackmap_range ranges[] = {{40, 50}, {50, 60}};
    static const gc_stackmap_change changes[] = {{40, 0, true}, {40, 1, true}, {40, 2, true},
                                                 {40, 4, true}, {40, 5, true}, {40, 6, true}};
    gc_stackmap_method m = {FRAME,
                            .outgoing_bytes = 16,
                            .argument_bytes = 16,
                            .slots = slots,
                            .slot_count = 7,
                            .points = points,
                            .point_count = 2,
                            .ranges = ranges,
                            .range_count = 2,
                            .changes = changes,
                            .change_count = 6};
    for (int leaf_only = 0; leaf_only < 2; leaf_only++) {
        m.flags = leaf_only ? GC_METHOD_REPORT_LEAF_ONLY : 0;
        uint8_t *map = good(&m, leaf_only ? "a method that reports only when innermost" : "all kinds of slots");
        uint64_t live[4];
        static const struct question {
            uint32_t offset;
            gc_frame_kind kind;
            int expected;
        } questions[] = {{20, GC_FRAME_CALLER, 0x3E}, {100, GC_FRAME_CALLER, 0x08},
                         {41, GC_FRAME_CALLER, 0x3E}, {40, GC_FRAME_INTERRUPTED, 0x7F},
                         {50, GC_FRAME_CALLER, 0x3E}, {50, GC_FRAME_INTERRUPTED, 0x08},
                         {51, GC_FRAME_CALLER, 0x08}, {40, GC_FRAME_CALLER, -1}};
        int wrong = 0;
        for (size_t q = 0; q < sizeof questions / sizeof *questions; q++) {
            int got = gc_stackmap_live(map, questions[q].offset, questions[q].kind, live) ? 0 : -1,
                wanted = questions[q].expected;
            if (leaf_only && wanted > 0 && questions[q].kind == GC_FRAME_CALLER) wanted = 0;
            for (uint32_t i = 0; got >= 0 && i < gc_stackmap_read(map).slot_count; i++) {
                gc_stackmap_slot slot = gc_stackmap_slot_at(map, i);
                for (int k = 0; k < 7; k++)
                    if (memcmp(&slot, &slots[k], sizeof slot) == 0 && live[0] >> i & 1) got |= 1 << k;
            }
            if (got != wanted)
                wrong++, diag("at %u, kind %d: %#x, expected %#x", questions[q].offset, questions[q].kind, got, wanted);
        }
        is(wrong, 0, "what is reported of the innermost frame, and of others");
        free(map);
    }
}

/* Numbers of slots, points and changes around the sizes of words, of groups of bits, and of whole sets. */
static void test_counts(void) {
    static gc_stackmap_slot slots[300];
    static gc_stackmap_unwind rows[] = {{4, GC_UNWIND_ALLOCATE, 0, 8 * 300}};
    static uint64_t sets[600][5];
    static gc_stackmap_point points[600];
    static const uint32_t counts[] = {0,  1,  2,  3,  4,   7,   8,   15,  16,  31, 32,
                                      33, 63, 64, 65, 127, 128, 129, 192, 256, 300};
    int wrong = 0, done_maps = 0;
    for (int i = 0; i < 300; i++) slots[i] = (gc_stackmap_slot){GC_PLACE_SP, 0, 0, 0, 8 * i};
    for (size_t a = 0; a < sizeof counts / sizeof *counts; a++) {
        for (size_t b = 0; b < sizeof counts / sizeof *counts; b++) {
            for (int style = 0; style < 3; style++) {
                uint32_t slot_count = counts[a], point_count = counts[b];
                memset(sets, 0, sizeof sets);
                for (uint32_t i = 0; i < point_count; i++) {
                    points[i] = (gc_stackmap_point){4 * i + 8, sets[i]};
                    for (uint32_t k = 0; k < slot_count; k++) {
                        bool live = style == 0   ? (i * 7 + k * 13 + i * k) % 5 < 2
                                    : style == 1 ? (i % 3 + k) % 4 == 0
                                                 : i >= k && i < k + 40;
                        sets[i][k / 64] |= (uint64_t)live << k % 64;
                    }
                }
                gc_stackmap_method m = {.code_bytes = 2000,
                                        .prolog_bytes = 4,
                                        .slots = slots,
                                        .slot_count = slot_count,
                                        .points = points,
                                        .point_count = point_count,
                                        .unwind = rows,
                                        .unwind_count = 1};
                size_t bytes;
                uint8_t *map = encode(&m, &bytes);
                const char *fault = map ? gc_stackmap_check(map, bytes) : "not encoded";
                if (fault) wrong++, diag("%u slots, %u points: %s", slot_count, point_count, fault);
                for (uint32_t i = 0; !fault && i < point_count; i++) {
                    gc__live_cursor live;
                    if (!gc__live_begin(&live, map, points[i].offset, GC_FRAME_CALLER)) wrong++;
                    for (uint32_t k = 0; k < slot_count; k++)
                        if (sets[i][k / 64] >> k % 64 & 1)
                            if (!gc__live_next(&live) || live.slots.slot.offset != 8 * (int32_t)k) wrong++;
                    if (gc__live_next(&live)) wrong++;
                }
                free(map);
                done_maps++;
            }
        }
    }
    is(wrong, 0, "%d maps of up to 300 slots and points", done_maps);
}

static void test_sizes(void) {
    /* The bytes of a map are written in seven bits each. */
    static gc_stackmap_point points[40000];
    int borders = 0;
    for (uint32_t count = 1; count < 400; count++) {
        for (uint32_t i = 0; i < count; i++) points[i] = (gc_stackmap_point){3 * (i + 1), NULL};
        gc_stackmap_method m = {.code_bytes = 1300, .points = points, .point_count = count};
        size_t bytes;
        uint8_t *map = encode(&m, &bytes);
        if (!map || gc_stackmap_check(map, bytes) || gc_stackmap_read(map).bytes != bytes ||
            !gc_stackmap_live(map, 3 * count, GC_FRAME_CALLER, NULL))
            diag("%u points", count), borders = -1000;
        borders += bytes == 127 || bytes == 128 || bytes == 129;
        free(map);
    }
    ok(borders >= 2, "maps around 127 bytes");
    for (uint32_t i = 0; i < 40000; i++) points[i] = (gc_stackmap_point){7 * i + 5, NULL};
    gc_stackmap_method m = {.code_bytes = 280000, .points = points, .point_count = 40000};
    uint8_t *map = good(&m, "40,000 safe points");
    int wrong = 0;
    for (uint32_t offset = 0; offset <= 280000; offset++)
        wrong += gc_stackmap_live(map, offset, GC_FRAME_CALLER, NULL) != (offset % 7 == 5);
    is(wrong, 0, "each of them is found, and nothing else");
    free(map);
    /* The largest code: offsets of 32 bits. */
    const gc_stackmap_point far[] = {{1, NULL}, {0x80000000, NULL}, {UINT32_MAX - 1, NULL}, {UINT32_MAX, NULL}};
    const gc_stackmap_range wide[] = {{2, 0x7FFFFFFF}, {0x80000001, UINT32_MAX - 2}};
    m = (gc_stackmap_method){
        .code_bytes = UINT32_MAX, .points = far, .point_count = 4, .ranges = wide, .range_count = 2};
    map = good(&m, "4 GiB of code");
    ok(gc_stackmap_live(map, 1, GC_FRAME_CALLER, NULL) && gc_stackmap_live(map, 0x80000000, GC_FRAME_CALLER, NULL) &&
           gc_stackmap_live(map, UINT32_MAX, GC_FRAME_CALLER, NULL) && !gc_stackmap_live(map, 2, GC_FRAME_CALLER, NULL),
       "its safe points");
    ok(gc_stackmap_is_interruptible(map, 0x7FFFFFFE) && !gc_stackmap_is_interruptible(map, 0x7FFFFFFF) &&
           !gc_stackmap_is_interruptible(map, 0x80000000) && gc_stackmap_is_interruptible(map, UINT32_MAX - 3) &&
           !gc_stackmap_is_interruptible(map, UINT32_MAX),
       "its ranges");
    free(map);
    /* The largest frame. */
    const gc_stackmap_unwind deep[] = {{7, GC_UNWIND_ALLOCATE, 0, (1 << 30) - 8}};
    const gc_stackmap_slot ends[] = {{GC_PLACE_SP, 0, 0, 1, 0},
                                     {GC_PLACE_SP, 0, 0, 1, (1 << 30) - 16},
                                     {GC_PLACE_CFA, 0, 0, 1, 8 - (1 << 30)},
                                     {GC_PLACE_CFA, 0, 0, 1, (1 << 30) - 8}};
    m = (gc_stackmap_method){.code_bytes = 8,
                             .prolog_bytes = 7,
                             .unwind = deep,
                             .unwind_count = 1,
                             .slots = ends,
                             .slot_count = 4,
                             .argument_bytes = 1 << 30};
    map = good(&m, "a frame of 1 GiB, and as many bytes of arguments");
    bool found[4] = {false};
    for (uint32_t i = 0; i < 4; i++)
        for (int k = 0; k < 4; k++) {
            gc_stackmap_slot slot = gc_stackmap_slot_at(map, i);
            if (memcmp(&slot, &ends[k], sizeof slot) == 0) found[k] = true;
        }
    ok(found[0] && found[1] && found[2] && found[3], "slots at its ends");
    free(map);
}

static void test_changes(void) {
    /* Dead and live again at one offset leaves no change; a change at the end of a range has no effect, unless one starts there. */
    static const gc_stackmap_slot slots[] = {AT_REGISTER(RBX), AT_REGISTER(R12)};
    static const gc_stackmap_range ranges[] = {{10, 20}, {20, 30}, {31, 32}};
    static const gc_stackmap_change changes[] = {{10, 0, true},  {12, 0, false}, {12, 0, true}, {12, 1, true},
                                                 {12, 1, false}, {20, 0, false}, {20, 1, true}, {20, 1, true},
                                                 {30, 0, true},  {31, 0, true},  {32, 0, false}};
    gc_stackmap_method m = {.code_bytes = 40,
                            .slots = slots,
                            .slot_count = 2,
                            .ranges = ranges,
                            .range_count = 3,
                            .changes = changes,
                            .change_count = 11};
    uint8_t *map = good(&m, "changes that undo each other, and some at the ends of ranges");
    static const expected interrupted[] = {{0, NONE}, {10, B}, {20, T12}, {30, NONE}, {31, B}, {32, NONE}, {1000, 0}};
    compare(map, GC_FRAME_INTERRUPTED, interrupted, 45, "what is live");
    is(gc_stackmap_read(map).change_count, 3, "three of them are stored");
    free(map);
    static const gc_stackmap_slot never[] = {
        AT_REGISTER(RBX), AT_REGISTER(R12), AT_REGISTER(RAX), {GC_PLACE_CFA, 0, 0, 1, 0}};
    static const uint64_t live = 6;
    const gc_stackmap_point point = {5, &live};
    m = (gc_stackmap_method){
        .code_bytes = 6, .slots = never, .slot_count = 4, .points = &point, .point_count = 1, .argument_bytes = 8};
    map = good(&m, "slots that are never live, or only across calls that destroy them");
    ok(gc_stackmap_read(map).slot_count == 2 && gc_stackmap_slot_at(map, 0).number == R12 &&
           gc_stackmap_slot_at(map, 1).untracked,
       "they are left out");
    free(map);
}

/* Each of these is wrong in one thing. The method m has the frame above, two slots, a point, a range, and a change. */
static int refusals;
static void refused(const gc_stackmap_method *m, const char *text) {
    uint8_t map[256] = {0};
    size_t bytes = gc_stackmap_encode(m, map, sizeof map);
    ok(!bytes && gc_last_result() == GC_ERROR_FORMAT && !map[0] && strstr(gc_last_message(), text), "refused: %s",
       text);
    if (bytes || !strstr(gc_last_message(), text)) diag("%zu bytes; %s", bytes, gc_last_message());
    refusals++;
}

#define REFUSED(text, ...)                                                                                    \
    do {                                                                                                      \
        gc_stackmap_slot s[] = {                                                                              \
            {GC_PLACE_REGISTER, R12, 0, 0, 0}, {GC_PLACE_FRAME, 0, 0, 0, -24}, {GC_PLACE_CFA, 0, 0, 1, -48}}; \
        uint64_t live[] = {1, 2};                                                                             \
        gc_stackmap_point p[] = {{20, &live[0]}, {30, &live[1]}};                                             \
        gc_stackmap_range r[] = {{40, 50}, {60, 70}};                                                         \
        gc_stackmap_change c[] = {{42, 0, true}, {44, 1, true}};                                              \
        gc_stackmap_unwind u[8];                                                                              \
        memcpy(u, frame_rows, sizeof frame_rows);                                                             \
        gc_stackmap_method m = {.code_bytes = 100,                                                            \
                                .prolog_bytes = 9,                                                            \
                                .unwind = u,                                                                  \
                                .unwind_count = 4,                                                            \
                                .slots = s,                                                                   \
                                .slot_count = 3,                                                              \
                                .points = p,                                                                  \
                                .point_count = 2,                                                             \
                                .ranges = r,                                                                  \
                                .range_count = 2,                                                             \
                                .changes = c,                                                                 \
                                .change_count = 2};                                                           \
        { __VA_ARGS__; }                                                                                      \
        refused(&m, text);                                                                                    \
    } while (0)
#define ROW(i, at, what, reg, count) (u[i] = (gc_stackmap_unwind){at, what, reg, count}, m.unwind_count = (i) + 1)

static void test_refused_facts(void) {
    REFUSED("no code", m.code_bytes = 0, m.prolog_bytes = 0);
    REFUSED("the prolog is longer", m.prolog_bytes = 101);
    REFUSED("a flag of the method is unknown", m.flags = 1024);
    REFUSED("a return kind", m.returns[0] = 4);
    REFUSED("a return kind", m.returns[1] = 4);
    REFUSED("outgoing_bytes is no multiple", m.outgoing_bytes = 4);
    REFUSED("outgoing_bytes is no multiple of 8, or more than 1 GiB", m.outgoing_bytes = (1 << 30) + 8);
    REFUSED("outgoing_bytes is 88, but the frame has 80 bytes", m.outgoing_bytes = 88);
    REFUSED("argument_bytes is no multiple", m.argument_bytes = 12);
    REFUSED("argument_bytes is no multiple of 8, or more than 1 GiB", m.argument_bytes = 0xFFFFFFF8);
    REFUSED("`extra` is set, but its flag is not", m.extra[0] = 8, m.flags = GC_METHOD_STACK_GUARD);
    REFUSED("`extra` is set, but its flag is not", m.extra[5] = 8, m.flags = GC_METHOD_REVERSE_CALL);
    REFUSED("`extra` is no multiple", m.extra[4] = 12, m.flags = GC_METHOD_REVERSE_CALL);
    REFUSED("edit-and-continue area", m.extra[5] = -8, m.flags = GC_METHOD_EDIT_AND_CONTINUE);
    REFUSED("`slots` is NULL", m.slots = NULL);
    REFUSED("`points` is NULL", m.points = NULL);
    REFUSED("`ranges` is NULL", m.ranges = NULL);
    REFUSED("`changes` is NULL", m.changes = NULL);
    REFUSED("`unwind` is NULL", m.unwind = NULL);
    REFUSED("134217728 slots are too many", m.slot_count = 1 << 27);
}

static void test_refused_slots(void) {
    REFUSED("slot 0 ([unknown place+0]): its place is unknown", s[0].place = 4);
    REFUSED("slot 1 ([rbp-24]): one of its flags is unknown", s[1].flags = GC_SLOT_CONSERVATIVE);
    REFUSED("untracked is neither 0 nor 1", s[1].untracked = 2);
    REFUSED("a register cannot be untracked", s[0].untracked = 1);
    REFUSED("there is no such register", s[0].number = 16);
    REFUSED("there is no such register", s[0].number = GC_NO_REGISTER);
    REFUSED("it is the stack pointer", s[0].number = RSP);
    REFUSED("rbp is the frame pointer", s[0].number = RBP);
    REFUSED("a register has no offset", s[0].offset = 8);
    REFUSED("its offset is no multiple of 8", s[1].offset = -20);
    REFUSED("below the stack pointer", s[1].place = GC_PLACE_SP);
    REFUSED("it is untracked, but in the area of outgoing arguments", s[2].place = GC_PLACE_SP, s[2].offset = 8,
            m.outgoing_bytes = 16);
    REFUSED("slot 2 ([rsp+80]): it is the return address", s[2].place = GC_PLACE_SP,
            s[2].offset = 80);
    REFUSED("outside of the frame", s[2].place = GC_PLACE_SP, s[2].offset = 88);
    REFUSED("outside of the frame", s[2].place = GC_PLACE_SP, s[2].offset = 96, m.argument_bytes = 8);
    REFUSED("it is the return address", s[2].offset = -8);
    REFUSED("outside of the frame", s[2].offset = -96);
    REFUSED("outside of the frame", s[2].offset = 0);
    REFUSED("outside of the frame", s[2].offset = 16, m.argument_bytes = 16);
    REFUSED("outside of the frame", s[2].offset = INT32_MIN);
    REFUSED("it is where a register is saved", s[2].offset = -16);
    REFUSED("it is where a register is saved", s[2].offset = -24);
    REFUSED("it is where a register is saved", s[1].offset = 0);
    REFUSED("it is the return address", s[1].offset = 8);
    REFUSED("outside of the frame", s[1].offset = -80);
    REFUSED("outside of the frame", s[1].offset = INT32_MAX - 7);
    REFUSED("no unwind row makes rbp the frame pointer", m.unwind_count = 1);
    REFUSED("slots 0 and 1 are the same", s[1] = s[0]);
    REFUSED("slots 1 and 2 are one place, and untracked", s[2] = s[1], s[2].untracked = 1);
    REFUSED("slots 1 and 2 are one place, and untracked", s[1] = s[2], s[1].flags = GC_SLOT_PINNED);
}

static void test_refused_rows(void) {
    REFUSED("safe point 0: its offset 0 is not that of an instruction after a call", p[0].offset = 0);
    REFUSED("safe point 1: its offset 101 is not", p[1].offset = 101);
    REFUSED("safe point 1: its offset 20 is not above", p[1].offset = 20);
    REFUSED("safe point 1: its offset 19 is not above", p[1].offset = 19);
    REFUSED("safe point 1 (offset 30): a slot is live that does not exist; there are 3", live[1] = 8);
    REFUSED("safe point 0 (offset 20): slot 2 is untracked", live[0] = 4);
    REFUSED("interruptible range 0, from 40 to 40: it is empty", r[0].end = 40);
    REFUSED("interruptible range 0, from 40 to 39: it is empty", r[0].end = 39);
    REFUSED("interruptible range 1, from 60 to 101: it is outside", r[1].end = 101);
    REFUSED("interruptible range 1, from 49 to 70: it overlaps", r[1].start = 49);
    REFUSED("interruptible range 1, from 10 to 20: it overlaps", r[1].start = 10, r[1].end = 20);
    REFUSED("change 0: its offset 39 is in no interruptible range", c[0].offset = 39);
    REFUSED("change 1: its offset 51 is in no interruptible range", c[1].offset = 51);
    REFUSED("change 1: its offset 71 is in no interruptible range", c[1].offset = 71);
    REFUSED("change 0: its offset 42 is in no interruptible range", m.range_count = 0);
    REFUSED("change 1: its offset 41 is below", c[1].offset = 41);
    REFUSED("change 1 (offset 44): there is no slot 3", c[1].slot = 3);
    REFUSED("change 0 (offset 42): slot 2 is untracked", c[0].slot = 2);
    REFUSED("safe point 1 (offset 43) is in an interruptible range, in which slot 0 is live there: the point says dead",
            p[1].offset = 43);
    REFUSED("safe point 1 (offset 42) is in an interruptible range, in which slot 1 is dead there: the point says live",
            p[1].offset = 42);
    REFUSED("safe point 1 (offset 50) is in an interruptible range, in which slot 0 is live there", p[1].offset = 50);
    REFUSED("safe point 1 (offset 50) is in an interruptible range, in which slot 0 is live there",
            p[1] = (gc_stackmap_point){50, NULL});
}

static void test_refused_unwind(void) {
    REFUSED("unwind row 0 (?, register 3, at offset 1): its op is unknown", ROW(0, 1, 8, RBX, 0));
    REFUSED("its bytes are no multiple of 8", u[3].bytes = 12);
    REFUSED("its op has no bytes", u[0].bytes = 8);
    REFUSED("it allocates nothing", u[3].bytes = 0);
    REFUSED("unwind row 3 (allocate, register 0, at offset 101): its offset is outside of the code", u[3].offset = 101);
    REFUSED("its offset is below that of the row before", u[3].offset = 4);
    REFUSED("there is no such register to save", u[0].number = 16);
    REFUSED("there is no such register to save", u[0].number = RSP);
    REFUSED("unwind row 2 (push, register 5, at offset 5): the register is saved already", u[2].number = RBP);
    REFUSED("the place is outside of the frame", ROW(4, 10, GC_UNWIND_SAVE, R13, -8));
    REFUSED("the place is outside of the frame", ROW(4, 10, GC_UNWIND_SAVE, R13, 80));
    REFUSED("another register is saved at the same place", ROW(4, 10, GC_UNWIND_SAVE, R13, 64));
    REFUSED("there is no such register to save", ROW(4, 10, GC_UNWIND_SAVE, GC_NO_REGISTER, 8));
    REFUSED("rbp is not saved", u[0].number = R13);
    REFUSED("rbp would not point into the frame", u[1].bytes = 8);
    REFUSED("rbp would not point into the frame", u[1].bytes = -8);
    REFUSED("rbp is the frame pointer already", ROW(4, 10, GC_UNWIND_FRAME, 0, 0));
    REFUSED("rbp would point to another place", ROW(4, 10, GC_UNWIND_LEAVE, 0, 72), ROW(5, 11, GC_UNWIND_FRAME, 0, 0));
    REFUSED("unwind row 1 (leave, register 0, at offset 4): rbp is not the frame pointer here",
            u[1].op = GC_UNWIND_LEAVE);
    REFUSED("the register is not saved", ROW(4, 20, GC_UNWIND_RESTORE, R13, 0));
    REFUSED("the register is not saved", ROW(4, 20, GC_UNWIND_RESTORE, GC_NO_REGISTER, 0));
    REFUSED("the register is not saved", ROW(4, 20, GC_UNWIND_POP, RCX, 0));
    REFUSED("the register is not saved at the stack pointer", ROW(4, 20, GC_UNWIND_POP, RBX, 0));
    REFUSED("a saved register would be below the stack pointer", ROW(4, 20, GC_UNWIND_ALLOCATE, 0, -72));
    REFUSED("a saved register would be below the stack pointer", ROW(4, 20, GC_UNWIND_LEAVE, 0, 0));
    REFUSED("a saved register would be below the stack pointer", ROW(4, 20, GC_UNWIND_LEAVE, 0, 8),
            ROW(5, 21, GC_UNWIND_POP, GC_NO_REGISTER, 0));
    REFUSED("the return address would be below the stack pointer", ROW(0, 1, GC_UNWIND_POP, GC_NO_REGISTER, 0));
    REFUSED("the return address would be below the stack pointer", ROW(0, 1, GC_UNWIND_ALLOCATE, 0, -8));
    REFUSED("the frame has more than 1 GiB", u[3].bytes = 1 << 30);
    REFUSED("no epilog can have ended in the prolog", ROW(4, 9, GC_UNWIND_BODY, 0, 0));
    REFUSED("the stack pointer is not known", m.flags = GC_METHOD_DYNAMIC_STACK, ROW(4, 20, GC_UNWIND_POP, RBX, 0));
    REFUSED("the stack pointer is not known", m.flags = GC_METHOD_DYNAMIC_STACK, ROW(4, 20, GC_UNWIND_SAVE, R13, 0));
    REFUSED("needs rbp as the frame pointer", m.flags = GC_METHOD_DYNAMIC_STACK, m.unwind_count = 0, m.outgoing_bytes = 0);
    REFUSED("only rbp finds the frame", m.flags = GC_METHOD_DYNAMIC_STACK, ROW(4, 20, GC_UNWIND_RESTORE, RBP, 0));
}

/* What gc_stackmap_check says of maps that were damaged: each of these at least once. */
static const char *const faults[] = {"are no stack map",
                                     "is of version",
                                     "is for processor",
                                     "number of bytes of the map is malformed",
                                     "bytes, but",
                                     "the header, up to bit",
                                     "the tables reach to bit",
                                     "bits are set",
                                     "is too large",
                                     "comes after",
                                     "it is empty",
                                     "is in an interruptible range",
                                     "there are only",
                                     "there is no slot",
                                     "it is in no interruptible range",
                                     "the set differs from",
                                     "its op is unknown",
                                     "the unwind rows end",
                                     "its run is malformed",
                                     "it is incomplete",
                                     "it belongs in another section",
                                     "it is not in order",
                                     "something follows the slots",
                                     "it is outside of the frame",
                                     "outgoing_bytes are more",
                                     "it is at the start of the code",
                                     "it reaches beyond the rows",
                                     "its offset is outside of the code"};
enum { FAULTS = sizeof faults / sizeof *faults };

static void note_fault(const char *fault, int *seen) {
    for (int i = 0; fault && i < FAULTS; i++) seen[i] += strstr(fault, faults[i]) != NULL;
}

/* Flips each bit, and pairs of near ones; what still passes must be read within its bounds. */
static int damage(const gc_stackmap_method *m, int *seen) {
    size_t bytes;
    int passed = 0;
    uint8_t *map = encode(m, &bytes);
    for (size_t a = 0; a < bytes * 8; a++) {
        for (size_t b = a; b < bytes * 8 && b < a + 8; b++) {
            map[a / 8] ^= (uint8_t)(1 << a % 8);
            if (b != a) map[b / 8] ^= (uint8_t)(1 << b % 8);
            const char *fault = gc_stackmap_check(map, bytes);
            note_fault(fault, seen);
            for (uint32_t offset = 0; !fault && offset < 120; offset++) {
                uint64_t live[64];
                gc__frame_layout layout_there;
                if (gc_stackmap_read(map).slot_count > sizeof live * 8) break;
                gc_stackmap_live(map, offset, GC_FRAME_CALLER, live),
                    gc_stackmap_live(map, offset, GC_FRAME_INTERRUPTED, live);
                gc__stackmap_layout(map, offset, GC_FRAME_INTERRUPTED, &layout_there);
            }
            passed += !fault;
            map[a / 8] ^= (uint8_t)(1 << a % 8);
            if (b != a) map[b / 8] ^= (uint8_t)(1 << b % 8);
        }
    }
    for (size_t length = 0; length < bytes; length++) {
        uint8_t *part = malloc(length + !length);
        memcpy(part, map, length);
        const char *fault = gc_stackmap_check(part, length);
        if (!fault) diag("the first %zu of %zu bytes are taken for whole", length, bytes), passed = 1 << 20;
        note_fault(fault, seen);
        free(part);
    }
    free(map);
    return passed;
}

static void test_check(void) {
    int seen[FAULTS] = {0}, missing = 0;
    gc_stackmap_method m = debug_method();
    int passed = damage(&m, seen);
    m = release_method();
    passed += damage(&m, seen);
    /* Live sets as changes; and as numbers of distinct ones. */
    static gc_stackmap_slot slots[40];
    static uint64_t sets[60];
    static gc_stackmap_point points[60];
    static const gc_stackmap_unwind rows[] = {{4, GC_UNWIND_ALLOCATE, 0, 320}};
    for (int i = 0; i < 40; i++)
        slots[i] = (gc_stackmap_slot){GC_PLACE_SP, 0, (uint8_t)(i % 9 == 0 ? GC_SLOT_INTERIOR : 0), 0, 8 * i};
    for (int style = 0; style < 2; style++) {
        for (uint32_t i = 0; i < 60; i++) {
            sets[i] = style ? ((uint64_t)1 << 40) - 1 - ((uint64_t)i % 3 * 0x1234567) : (uint64_t)3 << i % 38;
            points[i] = (gc_stackmap_point){i + 5, &sets[i]};
        }
        m = (gc_stackmap_method){.code_bytes = 100,
                                 .prolog_bytes = 4,
                                 .outgoing_bytes = 16,
                                 .slots = slots,
                                 .slot_count = 40,
                                 .points = points,
                                 .point_count = 60,
                                 .unwind = rows,
                                 .unwind_count = 1};
        passed += damage(&m, seen);
    }
    /* Points and two ranges. */
    static const gc_stackmap_range ranges[] = {{20, 30}, {40, 90}};
    static gc_stackmap_change changes[70];
    for (uint32_t i = 0; i < 70; i++)
        changes[i] = (gc_stackmap_change){i < 10 ? 20 + i : 40 + i / 2, i % 7 + 3, i % 14 < 7};
    m.ranges = ranges, m.range_count = 2, m.changes = changes, m.change_count = 70;
    m.points = points, m.point_count = 10;
    passed += damage(&m, seen);
    uint8_t endless[100] = {1, sizeof endless};
    static const uint8_t cut[3] = {1, 3, 0xF0};
    memset(endless + 2, 0xFF, sizeof endless - 2);
    has(gc_stackmap_check(endless, sizeof endless), "a number is too large", "a header with endless numbers");
    has(gc_stackmap_check(cut, sizeof cut), "it is incomplete", "a header that is cut off");
    for (int i = 0; i < FAULTS; i++)
        if (!seen[i]) missing++, diag("never said: %s", faults[i]);
    is(missing, 0, "gc_stackmap_check says each thing that may be wrong");
    ok(passed < 1 << 20, "no part of a map is whole; of the damaged ones, %d can be read", passed);
    ok(gc_stackmap_check(NULL, 10) != NULL, "NULL is no map");
}

static void test_room(void) {
    gc_stackmap_method m = debug_method();
    uint8_t map[256];
    size_t bytes = gc_stackmap_encode(&m, NULL, 0);
    memset(map, 0xA5, sizeof map);
    ok(gc_stackmap_encode(&m, map, bytes - 1) == bytes && map[0] == 0xA5,
       "too little room: the size is returned, and nothing written");
    ok(gc_stackmap_encode(&m, map, sizeof map) == bytes && map[bytes] == 0xA5,
       "too much room: nothing is written behind the map");
    is(map[0], GC_STACKMAP_VERSION, "the first byte is the version");
    if (GC_DEBUG == 0) {
        ok(!gc_stackmap_encode(NULL, map, 1) && gc_last_result() == GC_ERROR_ARGUMENT, "without a method");
        ok(!gc_stackmap_encode(&m, NULL, 1) && gc_last_result() == GC_ERROR_ARGUMENT, "without memory");
    }
}

int main(void) {
    test_debug(), test_release();
    test_layouts(), test_other_frames();
    test_reported(), test_counts(), test_sizes(), test_changes();
    test_refused_facts(), test_refused_slots(), test_refused_rows(), test_refused_unwind();
    test_check(), test_room();
    return done();
}
