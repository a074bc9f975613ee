/* The registry of code, and queries of stack maps: what adding, looking up and removing costs, and which slots are live; each
   the median of several rounds. `stackmap [RANGES]`

   A lookup in so many ranges waits for memory. How long that takes the machine is measured as well: reads of two
   neighbouring cache lines, as a slice of the registry has, at random places in as much memory. */
#define GC_IMPLEMENTATION
#include "gc_stackmap.h"

#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 9, LOOKUPS = 1 << 20, STACK = 40, MAPS = 10000, MAP_POINTS = 12, MAP_SLOTS = 14 };

static uint64_t random_state = 88172645463325252;
static uint64_t random_below(uint64_t limit) {
    random_state ^= random_state << 13, random_state ^= random_state >> 7, random_state ^= random_state << 17;
    return (random_state >> 11) % limit;
}

/* Tables that are not looked into. */
static const char *visit(const gc_code_cursor *frame, gc_visitor *visitor) {
    (void)frame, (void)visitor;
    return NULL;
}
static const char *layout(gc_code_cursor *frame) {
    (void)frame;
    return NULL;
}
static const gc_code_format format = {.name = "none", .visit = visit, .layout = layout};

static gc_code *codes;
static uint32_t *order;
static const void *addresses[LOOKUPS];
static uintptr_t sum;

static int by_time(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}
static double median(double *values, int count) {
    qsort(values, (size_t)count, sizeof *values, by_time);
    return values[count / 2];
}

static void print(const char *what, double value, const char *target) {
    printf("%-72s %8.1f ns %s\n", what, value, target);
}

/* Methods of 16 to 512 bytes of code, 256 on average, aligned to 16; one in 100 has up to 16 KiB. */
static void lay_out(size_t count) {
    uintptr_t at = (uintptr_t)0x7f0012340000;
    for (size_t i = 0; i < count; i++) {
        size_t bytes = 16 + random_below(random_below(100) ? 480 : 16384);
        gc_code code = {.start = (void *)at, .bytes = bytes, .format = &format, .name = "method"};
        codes[i] = code;
        at += (bytes + 15) & ~(size_t)15;
        order[i] = (uint32_t)i;
    }
}

static void shuffle(size_t count) {
    for (size_t i = count - 1; i > 0; i--) {
        size_t j = random_below(i + 1);
        uint32_t other = order[i];
        order[i] = order[j], order[j] = other;
    }
}

static double add_all(size_t count) {
    uint64_t from = gc__os_now_ns();
    for (size_t i = 0; i < count; i++)
        if (gc_code_add(&codes[order[i]]) != GC_OK) {
            fprintf(stderr, "stackmap: %s\n", gc_last_message());
            exit(1);
        }
    return (double)(gc__os_now_ns() - from) / (double)count;
}

static double remove_all(size_t count) {
    uint64_t from = gc__os_now_ns();
    for (size_t i = 0; i < count; i++) gc_code_remove(&codes[order[i]]);
    return (double)(gc__os_now_ns() - from) / (double)count;
}

static double independent(void) {
    uint64_t from = gc__os_now_ns();
    for (size_t i = 0; i < LOOKUPS; i++) sum += (uintptr_t)gc_code_find(addresses[i]);
    return (double)(gc__os_now_ns() - from) / LOOKUPS;
}

/* Each lookup waits for the result of the last one. */
static double dependent(void) {
    uintptr_t last = 0;
    uint64_t from = gc__os_now_ns();
    for (size_t i = 0; i < LOOKUPS; i++) last = (uintptr_t)gc_code_find((const char *)addresses[i] + (last >> 60));
    sum += last;
    return (double)(gc__os_now_ns() - from) / LOOKUPS;
}

static void look_up(const char *what, const char *target) {
    double apart[ROUNDS], chained[ROUNDS];
    char text[100];
    for (int i = 0; i < ROUNDS; i++) apart[i] = independent(), chained[i] = dependent();
    snprintf(text, sizeof text, "look up %s", what);
    print(text, median(apart, ROUNDS), target);
    print("  each after the result of the last one", median(chained, ROUNDS), "");
}

static const void *within(const gc_code *code) { return (const char *)code->start + random_below(code->bytes); }

/* Walks of deep stacks: return addresses of 200 methods, of which most are those of the last walk. */
static void choose_stack(size_t count) {
    const void *stack[STACK];
    for (size_t i = 0; i < STACK; i++) stack[i] = within(&codes[random_below(count)]);
    for (size_t i = 0; i < LOOKUPS; i++) {
        if (i % STACK == 0)
            for (size_t j = random_below(STACK); j < STACK; j++)
                stack[j] = within(&codes[random_below(200) * (count / 200)]);
        addresses[i] = stack[STACK - 1 - i % STACK];
    }
}

static void print_bytes(size_t count) {
    double bytes = (double)(gc__the_tree.used - GC__TREE_START) / (double)count;
    printf("%-72s %8.1f bytes\n", "  memory for each of them", bytes);
}

/* Reads at random places of as much memory as the registry has; chained: the place depends on what was read last. */
#define READ_MEMORY(name, chained)                                                              \
    static double name(const uint64_t *memory, size_t pairs) {                                  \
        uint64_t last = 0, random = 1, from = gc__os_now_ns();                                  \
        for (size_t i = 0; i < LOOKUPS; i++) {                                                  \
            random = random * 6364136223846793005u + 1442695040888963407u;                      \
            const uint64_t *at = memory + ((random >> 33) + (chained ? last : 0)) % pairs * 16; \
            last = at[0] + at[8];                                                               \
            sum += last;                                                                        \
        }                                                                                       \
        return (double)(gc__os_now_ns() - from) / LOOKUPS;                                      \
    }
READ_MEMORY(read_apart, 0)
READ_MEMORY(read_chained, 1)

static void machine(void) {
    size_t bytes = gc__the_tree.used & ~(GC__HUGE_PAGE_BYTES - 1);
    double apart[ROUNDS], chained[ROUNDS];
    if (!bytes) return;
    void *memory = gc__os_reserve(bytes, GC__HUGE_PAGE_BYTES, false);
    if (!memory || !gc__os_commit(memory, bytes)) return;
    gc__os_prefer_huge_pages(memory, bytes);
    memset(memory, 0, bytes);
    for (int i = 0; i < ROUNDS; i++) {
        apart[i] = read_apart((const uint64_t *)memory, bytes / 128);
        chained[i] = read_chained((const uint64_t *)memory, bytes / 128);
    }
    gc__os_unmap(memory, bytes);
    print("this machine: read two lines anywhere in as much memory", median(apart, ROUNDS), "");
    print("  each after the last ones were read", median(chained, ROUNDS), "");
}

static void measure(size_t count) {
    double add[3], remove[3], add_ascending[3];
    char text[100];
    lay_out(count);
    for (int i = 0; i < 3; i++) {
        for (size_t j = 0; j < count; j++) order[j] = (uint32_t)j;
        add_ascending[i] = add_all(count);
        if (i == 2) {
            snprintf(text, sizeof text, "add %zu ranges, by ascending addresses", count);
            print(text, median(add_ascending, 3), "");
            print_bytes(count);
        }
        shuffle(count);
        remove[i] = remove_all(count);
        add[i] = add_all(count);
        if (i < 2) remove_all(count);
    }
    print("  in random order", median(add, 3), "");
    print_bytes(count);
    print("  remove them in random order", median(remove, 3), "");
    for (size_t i = 0; i < LOOKUPS; i++) addresses[i] = within(&codes[random_below(count)]);
    snprintf(text, sizeof text, "a random address of %zu ranges", count);
    look_up(text, count > 1000000 ? "(target 50)" : "");
    choose_stack(count);
    look_up("frames of stacks", "");
    if (count > 1000000) machine();
    remove_all(count);
}

/* Which slots are live at a safe point: methods with 12 calls and 14 slots, of which up to 6 are live after each. */
static void query(void) {
    static unsigned char room[4096];
    static const void *maps[MAPS];
    static uint32_t offsets[MAPS][MAP_POINTS];
    size_t bytes = 0;
    for (size_t m = 0; m < MAPS; m++) {
        gc_stackmap_slot slots[MAP_SLOTS];
        gc_stackmap_point points[MAP_POINTS];
        uint64_t live[MAP_POINTS];
        gc_stackmap_unwind frame = {.offset = 4, .op = GC_UNWIND_ALLOCATE, .bytes = 136};
        gc_stackmap_method method = {.code_bytes = 400,
                                     .slots = slots,
                                     .slot_count = MAP_SLOTS,
                                     .points = points,
                                     .point_count = MAP_POINTS,
                                     .unwind = &frame,
                                     .unwind_count = 1,
                                     .prolog_bytes = 4};
        memset(slots, 0, sizeof slots);
        for (int i = 0; i < MAP_SLOTS; i++) slots[i].place = GC_PLACE_CFA, slots[i].offset = -16 - 8 * i;
        for (size_t i = 0; i < MAP_POINTS; i++) {
            offsets[m][i] = (uint32_t)(i * 33 + 5 + random_below(28));
            live[i] = 0;
            for (int j = 0; j < 6; j++) live[i] |= (uint64_t)1 << random_below(MAP_SLOTS);
            points[i].offset = offsets[m][i], points[i].live = &live[i];
        }
        size_t size = gc_stackmap_encode(&method, room, sizeof room);
        void *map = size ? malloc(size) : NULL;
        if (!map) {
            fprintf(stderr, "stackmap: %s\n", gc_last_message());
            exit(1);
        }
        maps[m] = memcpy(map, room, size);
        bytes += size;
    }
    printf("\n%d stack maps of %.0f bytes\n", MAPS, (double)bytes / MAPS);
    for (size_t count = 1; count <= MAPS; count = count == 1 ? 100 : count * 100) {
        double ns[ROUNDS];
        char text[100];
        for (int r = 0; r < ROUNDS; r++) {
            uint64_t from = gc__os_now_ns(), random = 1;
            for (size_t i = 0; i < LOOKUPS; i++) {
                uint64_t live[1];
                random = random * 6364136223846793005u + 1442695040888963407u;
                size_t m = (random >> 33) % count;
                if (!gc_stackmap_live(maps[m], offsets[m][(random >> 50) % MAP_POINTS], GC_FRAME_CALLER, live)) exit(1);
                sum += live[0];
            }
            ns[r] = (double)(gc__os_now_ns() - from) / LOOKUPS;
        }
        snprintf(text, sizeof text, "the live slots at a random safe point of %zu maps", count);
        print(text, median(ns, ROUNDS), "(target 100)");
    }
}

int main(int argument_count, char **arguments) {
    size_t count = argument_count > 1 ? strtoull(arguments[1], NULL, 10) : 10000000;
    codes = (gc_code *)malloc(count * sizeof *codes);
    order = (uint32_t *)malloc(count * sizeof *order);
    if (!codes || !order) return 1;
    if (count > 10000) measure(10000), puts("");
    measure(count);
    query();
    gc_keep_alive((void *)sum); /* so that nothing is computed in vain */
    return 0;
}
