/* The registry of code: what adding, looking up and removing cost, each the median of several rounds.
   `stackmap [RANGES]` */
#define GC_IMPLEMENTATION
#include "gc_stackmap.h"

#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 9, LOOKUPS = 1 << 20, STACK = 40 };

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

static void print(const char *what, double value, const char *target) { printf("%-72s %8.1f ns %s\n", what, value, target); }

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
            for (size_t j = random_below(STACK); j < STACK; j++) stack[j] = within(&codes[random_below(200) * (count / 200)]);
        addresses[i] = stack[STACK - 1 - i % STACK];
    }
}

static void measure(size_t count) {
    double add[3], remove[3], add_ascending[3];
    char text[100];
    lay_out(count);
    for (int i = 0; i < 3; i++) {
        for (size_t j = 0; j < count; j++) order[j] = (uint32_t)j;
        add_ascending[i] = add_all(count);
        if (!i) printf("%zu ranges: %.1f bytes of the registry for each\n", count, (double)(gc__the_tree.used - GC__TREE_START) / (double)count);
        shuffle(count);
        remove[i] = remove_all(count);
        add[i] = add_all(count);
        if (!i) printf("%zu ranges: %.1f bytes of the registry for each\n", count, (double)(gc__the_tree.used - GC__TREE_START) / (double)count);
        if (i < 2) remove_all(count);
    }
    snprintf(text, sizeof text, "add %zu ranges, by ascending addresses", count);
    print(text, median(add_ascending, 3), "");
    print("  in random order", median(add, 3), "");
    print("  remove them in random order", median(remove, 3), "");
    for (size_t i = 0; i < LOOKUPS; i++) addresses[i] = within(&codes[random_below(count)]);
    snprintf(text, sizeof text, "a random address of %zu ranges", count);
    look_up(text, count > 1000000 ? "(target 50)" : "");
    choose_stack(count);
    look_up("frames of stacks", "");
    remove_all(count);
}

int main(int argument_count, char **arguments) {
    size_t count = argument_count > 1 ? strtoull(arguments[1], NULL, 10) : 10000000;
    codes = (gc_code *)malloc(count * sizeof *codes);
    order = (uint32_t *)malloc(count * sizeof *order);
    if (!codes || !order) return 1;
    if (count > 10000) measure(10000);
    measure(count);
    gc_keep_alive((void *)sum); /* so that nothing is computed in vain */
    return 0;
}
