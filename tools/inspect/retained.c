/* retained: what each object keeps alive, alone: the bytes that would be freed if it went. */
#include "commands.h"
#include "memory.h"
#include "output.h"

#include <stdlib.h>
#include <string.h>

enum { NO_TYPE = UINT16_MAX };

/* By the numbers of the dominator tree; those arrays are in words of 8 bytes. */
typedef struct retention {
    heap_graph graph;
    dominators tree;
    uint32_t *words; /* of the object; after `add_up`, of all that it dominates */
    uint16_t *type;  /* its index, or NO_TYPE if there are too many */
} retention;

static bool note_size(void *context, const gc_dac_object *object) {
    retention *r = context;
    type_count *counted = target_type(r->graph.target, object->type);
    counted->objects++;
    counted->bytes += object->bytes;
    uint32_t vertex = objects_find(&r->graph.objects, object->address);
    if (vertex == OBJECT_NONE) return true;
    uint32_t number = r->tree.number[vertex], type = counted->index;
    uint64_t words = (object->bytes + 7) / 8;
    r->words[number] = words < UINT32_MAX ? (uint32_t)words : UINT32_MAX;
    r->type[number] = type < NO_TYPE ? (uint16_t)type : NO_TYPE;
    return true;
}

static void add_up(retention *r) {
    for (uint32_t n = r->tree.objects; n > 0; n--) {
        uint64_t sum = (uint64_t)r->words[r->tree.dominator[n]] + r->words[n];
        r->words[r->tree.dominator[n]] = sum < UINT32_MAX ? (uint32_t)sum : UINT32_MAX;
    }
}

static void retention_find(retention *r, inspected *target, const gc_dac_heap *heap) {
    memset(r, 0, sizeof *r);
    graph_objects(&r->graph, target, heap);
    if (r->graph.bytes / 8 >= UINT32_MAX)
        die("the heap has more than 32 GiB of objects, which `retained` does not count");
    graph_roots(&r->graph);
    edge_store edges = graph_edges(&r->graph);
    dominators_find(&r->tree, &edges, r->graph.objects.objects, r->graph.roots, r->graph.roots_count, r->graph.referred,
                    graph_walk_edges, &r->graph);
    r->words = memory_zeroed((size_t)r->tree.objects + 1, sizeof *r->words, "retained sizes");
    r->type = memory_zeroed((size_t)r->tree.objects + 1, sizeof *r->type, "types of objects");
    for (size_t i = 0; i < target->types_count; i++) target->types[i]->objects = target->types[i]->bytes = 0;
    gc_dac_objects(target->dac, heap, note_size, r);
}

static void retention_free(retention *r) {
    free(r->words), free(r->type);
    dominators_free(&r->tree);
    graph_free(&r->graph);
}

static int by_number(const void *a, const void *b) {
    const uint32_t *x = *(const uint32_t *const *)a, *y = *(const uint32_t *const *)b;
    return (*x > *y) - (*x < *y);
}

/* The addresses of some numbers: by one look at all, since the way back is not stored. */
static void find_addresses(const retention *r, const uint32_t *numbers, uint64_t *addresses, size_t count) {
    uint64_t *wanted = memory_zeroed((size_t)r->tree.objects / 64 + 1, sizeof *wanted, "marks of objects");
    const uint32_t **sorted = memory_take(count, sizeof *sorted, "addresses");
    for (size_t i = 0; i < count; i++) {
        wanted[numbers[i] / 64] |= UINT64_C(1) << numbers[i] % 64;
        sorted[i] = &numbers[i];
    }
    qsort(sorted, count, sizeof *sorted, by_number);
    for (uint32_t v = 0; v < r->tree.objects; v++) {
        uint32_t number = r->tree.number[v];
        if (!(wanted[number / 64] >> number % 64 & 1)) continue;
        const uint32_t *key = &number, *const *found = bsearch(&key, sorted, count, sizeof *sorted, by_number);
        addresses[*found - numbers] = objects_address(&r->graph.objects, v);
    }
    free(wanted), free(sorted);
}

/* The numbers that retain most, of those that `wanted` says, in a heap of at most `limit`: the least is its first. */
typedef struct largest {
    const uint32_t *words;
    uint32_t *numbers;
    size_t count, limit;
} largest;

static bool is_less(const largest *ranking, uint32_t a, uint32_t b) {
    return ranking->words[a] != ranking->words[b] ? ranking->words[a] < ranking->words[b] : a > b;
}

static void sift(largest *ranking, size_t at) {
    for (size_t below; (below = 2 * at + 1) < ranking->count; at = below) {
        uint32_t *numbers = ranking->numbers, other;
        if (below + 1 < ranking->count && is_less(ranking, numbers[below + 1], numbers[below])) below++;
        if (!is_less(ranking, numbers[below], numbers[at])) return;
        other = numbers[at], numbers[at] = numbers[below], numbers[below] = other;
    }
}

static void rank(largest *ranking, uint32_t number) {
    if (ranking->count < ranking->limit) {
        ranking->numbers[ranking->count++] = number;
        if (ranking->count == ranking->limit)
            for (size_t i = ranking->count; i-- > 0;) sift(ranking, i);
    } else if (ranking->limit && is_less(ranking, ranking->numbers[0], number)) {
        ranking->numbers[0] = number;
        sift(ranking, 0);
    }
}

/* Most first. */
static void sort_ranking(largest *ranking) {
    size_t count = ranking->count;
    for (size_t i = count; i-- > 0;) sift(ranking, i);
    while (ranking->count > 1) {
        uint32_t least = ranking->numbers[0];
        ranking->numbers[0] = ranking->numbers[--ranking->count];
        ranking->numbers[ranking->count] = least;
        sift(ranking, 0);
    }
    ranking->count = count;
}

static void print_ranking(retention *r, const char *key, largest *ranking) {
    static const column columns[] = {
        {"retained_bytes", "retained bytes", 16}, {"address", "address", 16}, {"described", "object", 0}, {0}};
    uint64_t *addresses = memory_take(ranking->count, sizeof *addresses, "addresses");
    sort_ranking(ranking);
    find_addresses(r, ranking->numbers, addresses, ranking->count);
    table_begin(key, columns);
    for (size_t i = 0; i < ranking->count; i++) {
        table_number((uint64_t)r->words[ranking->numbers[i]] * 8);
        table_address(addresses[i]);
        table_text(described(r->graph.target, addresses[i]));
        table_row_end();
    }
    table_end();
    free(addresses);
}

static size_t ranking_limit(const command_options *options) {
    return options->limit < 10000 ? (size_t)options->limit : 10000;
}

/* Of a list only its first cell: an object is left out if one of its own type dominates it directly. */
static void print_largest(retention *r, const command_options *options) {
    largest ranking = {r->words, NULL, 0, ranking_limit(options)};
    ranking.numbers = memory_take(ranking.limit, sizeof *ranking.numbers, "the largest objects");
    for (uint32_t n = 1; n <= r->tree.objects; n++) {
        uint32_t above = r->tree.dominator[n];
        if (above == 0 || r->type[above] != r->type[n]) rank(&ranking, n);
    }
    print_ranking(r, "objects", &ranking);
    free(ranking.numbers);
}

/* What the objects of each type retain together: the sum over those that no object of the type dominates. A round finds for
   32 types which of them dominate each object. */
static uint64_t *sum_types(const retention *r, size_t types) {
    uint64_t *sums = memory_zeroed(types, sizeof *sums, "types");
    uint32_t *above = memory_take((size_t)r->tree.objects + 1, sizeof *above, "marks of types");
    for (size_t first = 0; first < types && first < NO_TYPE; first += 32) {
        above[0] = 0;
        for (uint32_t n = 1; n <= r->tree.objects; n++) {
            uint32_t mask = above[r->tree.dominator[n]], index = r->type[n] - (uint32_t)first;
            if (index < 32 && !(mask >> index & 1)) {
                sums[r->type[n]] += (uint64_t)r->words[n] * 8;
                mask |= UINT32_C(1) << index;
            }
            above[n] = mask;
        }
    }
    free(above);
    return sums;
}

typedef struct type_sum {
    const type_count *type;
    uint64_t bytes;
} type_sum;

static int by_sum(const void *a, const void *b) {
    const type_sum *x = a, *y = b;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
    return strcmp(x->type->name, y->type->name);
}

static void print_types(inspected *target, const uint64_t *bytes, const command_options *options) {
    static const column columns[] = {{"retained_bytes", "retained bytes", 16},
                                     {"objects", "objects", 14},
                                     {"bytes", "own bytes", 16},
                                     {"type", "type", 0},
                                     {0}};
    type_sum *sums = memory_take(target->types_count, sizeof *sums, "types");
    for (size_t i = 0; i < target->types_count; i++) sums[i] = (type_sum){target->types[i], bytes[i]};
    qsort(sums, target->types_count, sizeof *sums, by_sum);
    table_begin("types", columns);
    for (size_t i = 0; i < target->types_count && i < options->limit && sums[i].bytes; i++) {
        table_number(sums[i].bytes);
        table_number(sums[i].type->objects);
        table_number(sums[i].type->bytes);
        table_text(sums[i].type->name);
        table_row_end();
    }
    table_end();
    free(sums);
}

static void print_all(retention *r, const command_options *options) {
    uint64_t rooted = 0, lost = 0;
    for (uint32_t n = 1; n <= r->tree.objects; n++) {
        if (r->tree.dominator[n]) continue;
        *(n < r->tree.rooted ? &rooted : &lost) += (uint64_t)r->words[n] * 8;
    }
    json_number("reached_objects", r->tree.rooted - 1);
    json_number("reached_bytes", rooted);
    json_number("lost_objects", r->tree.objects - (r->tree.rooted - 1));
    json_number("lost_bytes", lost);
    text("roots lead to %s of %s", counted(r->tree.rooted - 1, "object", "objects"), human(rooted));
    text("; no known root to %s of %s\n", commas(r->tree.objects - (r->tree.rooted - 1)), human(lost));
    if (r->tree.objects) text("\n");
    print_largest(r, options);
    if (r->tree.objects) text("\n");
    free(r->tree.number); /* not needed any more, and the next step needs as much */
    r->tree.number = NULL;
    uint64_t *sums = sum_types(r, r->graph.target->types_count);
    print_types(r->graph.target, sums, options);
    free(sums);
}

/* retained ADDRESS */

static void print_dominators(retention *r, uint32_t number, const command_options *options) {
    uint32_t numbers[64];
    uint64_t addresses[64];
    size_t count = 0, limit = options->limit < 64 ? (size_t)options->limit : 64, more = 0;
    for (uint32_t n = r->tree.dominator[number]; n; n = r->tree.dominator[n])
        if (count < limit)
            numbers[count++] = n;
        else
            more++;
    find_addresses(r, numbers, addresses, count);
    json_begin("kept_by", '[');
    if (count) text("all ways from the roots to it go through\n");
    for (size_t i = 0; i < count; i++) {
        json_begin(NULL, '{');
        json_address("address", addresses[i]);
        json_text("described", described(r->graph.target, addresses[i]));
        json_end();
        text("  %s  %s\n", hex(addresses[i]), clean(described(r->graph.target, addresses[i])));
    }
    json_end();
    if (more) text("  and %s more\n", commas(more));
    if (!count) text("no single object keeps it: a root refers to it, or ways from several roots lead to it\n");
}

/* What it dominates, by type; and the largest that it dominates directly. */
static void print_dominated(retention *r, uint32_t number, const command_options *options) {
    inspected *target = r->graph.target;
    uint32_t *own = memory_zeroed((size_t)r->tree.objects / 32 + 1, sizeof *own, "marks of objects");
    largest ranking = {r->words, NULL, 0, ranking_limit(options)};
    ranking.numbers = memory_take(ranking.limit, sizeof *ranking.numbers, "the largest objects");
    for (size_t i = 0; i < target->types_count; i++) target->types[i]->objects = target->types[i]->bytes = 0;
    for (uint32_t n = r->tree.objects; n > number; n--) /* what it dominates has higher numbers */
        if (r->tree.dominator[n] == number) rank(&ranking, n);
    own[number / 32] |= UINT32_C(1) << number % 32;
    for (uint32_t n = number; n <= r->tree.objects; n++) {
        uint32_t above = r->tree.dominator[n];
        if (n != number && !(own[above / 32] >> above % 32 & 1)) continue;
        own[n / 32] |= UINT32_C(1) << n % 32;
        if (r->type[n] != NO_TYPE) target->types[r->type[n]]->objects++;
    }
    print_ranking(r, "dominated", &ranking);
    text("\n");
    static const column columns[] = {{"objects", "objects", 14}, {"type", "type, of all that it keeps", 0}, {0}};
    table_begin("types", columns);
    type_count **types = sorted_types(target);
    for (size_t i = 0; i < target->types_count && i < options->limit && types[i]->objects; i++) {
        table_number(types[i]->objects);
        table_text(types[i]->name);
        table_row_end();
    }
    table_end();
    free(types), free(own), free(ranking.numbers);
}

static void print_one(retention *r, const command_options *options) {
    uint32_t vertex = graph_object_at(&r->graph, options->address);
    if (vertex == OBJECT_NONE) {
        missing("no object of the heap covers %s", hex(options->address));
        return;
    }
    uint32_t number = r->tree.number[vertex];
    uint64_t address = objects_address(&r->graph.objects, vertex);
    json_address("address", address);
    json_number("retained_bytes", (uint64_t)r->words[number] * 8);
    json_bool("reached", number < r->tree.rooted);
    text("%s  %s\nretains %s%s\n", hex(address), clean(described(r->graph.target, address)),
         counted((uint64_t)r->words[number] * 8, "byte", "bytes"),
         number < r->tree.rooted ? "" : ", but no known root leads to it");
    print_dominators(r, number, options);
    text("\n");
    print_dominated(r, number, options);
}

void command_retained(inspected *target, const gc_dac_heap *heap, const command_options *options) {
    retention r;
    retention_find(&r, target, heap);
    add_up(&r);
    if (options->argument)
        print_one(&r, options);
    else
        print_all(&r, options);
    retention_free(&r);
}
