#include "target.h"
#include "memory.h"
#include "names.h"
#include "output.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

uint64_t target_now_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

uint64_t target_ns_since(uint64_t earlier_ns) {
    uint64_t now_ns = target_now_ns();
    return now_ns > earlier_ns ? now_ns - earlier_ns : 0;
}

/* Opening. */

static bool add_heap(void *context, const gc_dac_heap *heap) {
    inspected *target = context;
    target->heaps = memory_grow(target->heaps, target->heaps_count, &target->heaps_capacity, sizeof *heap, "heaps");
    target->heaps[target->heaps_count++] = *heap;
    return true;
}

static bool note_rejected(void *context, const gc_dac_collector *collector) {
    (void)context;
    if (collector->rejected)
        note("the collector of %s cannot be read: %s", collector->module ? collector->module : "the program",
             collector->rejected);
    return true;
}

/* "1234" is a process; a core file of that name is "./1234". */
static long process_of(const char *name) {
    char *end;
    errno = 0;
    long pid = strtol(name, &end, 10);
    return *name >= '0' && *name <= '9' && !*end && !errno && pid > 0 && pid <= INT32_MAX ? pid : 0;
}

void target_open(inspected *target, const char *name, const target_options *options) {
    long pid = process_of(name);
    memset(target, 0, sizeof *target);
    target->name = name;
    target->root = options->root;
    target->is_process = pid != 0;
    target->opened_ns = options->running || !pid ? 0 : target_now_ns();
    target->dac =
        pid ? gc_dac_open_process((int)pid, options->running ? 0 : GC_DAC_STOP) : gc_dac_open_core(name, options->root);
    if (!target->dac) die("there is no memory to open %s", name);
    bool complete = gc_dac_heaps(target->dac, add_heap, target);
    if (!target->heaps_count) {
        char message[2048];
        const char *said = gc_dac_message(target->dac);
        snprintf(message, sizeof message, "%s",
                 *said ? said : "its collectors have no heap: none was created yet, or all were destroyed");
        gc_dac_close(target->dac);
        if (strstr(message, name)) die("%s", message);
        die("%s %s: %s", pid ? "process" : "core file", name, message);
    }
    for (size_t i = 0; i < target->heaps_count / 2; i++) { /* oldest first */
        gc_dac_heap *first = &target->heaps[i], *last = &target->heaps[target->heaps_count - 1 - i], between = *first;
        *first = *last, *last = between;
    }
    target_check(target, complete);
    gc_dac_collectors(target->dac, note_rejected, NULL);
}

uint64_t target_close(inspected *target) {
    gc_dac_close(target->dac);
    target->dac = NULL;
    for (size_t i = 0; i < target->types_count; i++) free(target->types[i]);
    free(target->types), free(target->heaps);
    return target->opened_ns ? target_ns_since(target->opened_ns) : 0;
}

void target_check(const inspected *target, bool complete) {
    if (!complete) note("%s", gc_dac_message(target->dac));
}

static type_count *add_type(inspected *target, const gc_dac_type *type) {
    type_count *count = memory_zeroed(1, sizeof *count, "types");
    target->types = memory_grow(target->types, target->types_count, &target->types_capacity, sizeof count, "types");
    *count = (type_count){.type = type, .name = names_type(type), .index = (uint32_t)target->types_count};
    return target->types[target->types_count++] = count;
}

type_count *target_type(inspected *target, const gc_dac_type *type) {
    if (type) {
        gc_dac_type *known = (gc_dac_type *)type;
        if (!known->user) known->user = add_type(target, type);
        return known->user;
    }
    for (size_t i = 0; i < target->types_count; i++)
        if (!target->types[i]->type) return target->types[i];
    return add_type(target, NULL);
}

/* The graph. */

static bool add_region(void *context, const gc_dac_region *region) {
    heap_graph *graph = context;
    if (region->kind == GC_DAC_SMALL || region->kind == GC_DAC_LARGE)
        objects_add_range(&graph->objects, region->base, region->end, region->kind == GC_DAC_LARGE);
    return true;
}

static bool add_object(void *context, const gc_dac_object *object) {
    heap_graph *graph = context;
    if (objects_add(&graph->objects, object->address)) graph->bytes += object->bytes;
    return true;
}

void graph_objects(heap_graph *graph, inspected *target, const gc_dac_heap *heap) {
    memset(graph, 0, sizeof *graph);
    graph->target = target;
    graph->heap = heap;
    target_check(target, gc_dac_regions(target->dac, heap, add_region, graph));
    size_t dropped = objects_sort(&graph->objects);
    if (dropped) note("%s left out, for they overlap others", counted(dropped, "region was", "regions were"));
    target_check(target, gc_dac_objects(target->dac, heap, add_object, graph));
    objects_number(&graph->objects);
}

uint32_t graph_object_at(const heap_graph *graph, uint64_t address) {
    uint32_t number = objects_find(&graph->objects, address);
    gc_dac_object object;
    if (number != OBJECT_NONE) return number;
    return gc_dac_object_at(graph->target->dac, address, &object) ? objects_find(&graph->objects, object.address)
                                                                  : OBJECT_NONE;
}

static void add_root(heap_graph *graph, uint32_t object) {
    graph->roots = memory_grow(graph->roots, graph->roots_count, &graph->roots_capacity, sizeof *graph->roots, "roots");
    graph->roots[graph->roots_count++] = object;
}

static bool add_certain_root(void *context, const gc_dac_root *root) {
    heap_graph *graph = context;
    uint32_t object = root->certain ? graph_object_at(graph, root->reference) : OBJECT_NONE;
    if (object != OBJECT_NONE) add_root(graph, object);
    return true;
}

static bool add_uncertain_root(void *context, const gc_dac_root *root) {
    heap_graph *graph = context;
    uint32_t object = root->certain ? OBJECT_NONE : graph_object_at(graph, root->reference);
    if (object != OBJECT_NONE) add_root(graph, object);
    return true;
}

enum { DEPENDENT = 4 }; /* GC_HANDLE_DEPENDENT */

static bool add_dependent(void *context, const gc_dac_handle *handle) {
    heap_graph *graph = context;
    if (handle->kind != DEPENDENT) return true;
    uint32_t key = objects_find(&graph->objects, handle->object), value = objects_find(&graph->objects, handle->extra);
    if (key == OBJECT_NONE || value == OBJECT_NONE) return true;
    graph->dependents = memory_grow(graph->dependents, graph->dependents_count, &graph->dependents_capacity,
                                    sizeof *graph->dependents, "dependent handles");
    graph->dependents[graph->dependents_count++] = (dependent){handle->handle, key, value};
    return true;
}

static int by_key(const void *a, const void *b) {
    const dependent *x = a, *y = b;
    return (x->key > y->key) - (x->key < y->key);
}

void graph_roots(heap_graph *graph) {
    gc_dac *dac = graph->target->dac;
    target_check(graph->target, gc_dac_roots(dac, graph->heap, add_certain_root, graph));
    graph->roots_certain = graph->roots_count;
    gc_dac_roots(dac, graph->heap, add_uncertain_root, graph);
    target_check(graph->target, gc_dac_handles(dac, graph->heap, add_dependent, graph));
    if (graph->dependents_count) qsort(graph->dependents, graph->dependents_count, sizeof *graph->dependents, by_key);
}

bool heap_is_collecting(const gc_dac_heap *heap) {
    return heap->phase >= GC_PHASE_PLAN && heap->phase <= GC_PHASE_SWEEP;
}

/* A pass over all references. They wait in a row, while the memory is fetched that tells what they refer to. */
typedef struct waiting_reference {
    uint64_t reference;
    uint32_t from, to; /* `to`: OBJECT_NONE: by the reference */
    bool guessed;
} waiting_reference;

enum { WAITING = 64 };
typedef struct edge_pass {
    heap_graph *graph;
    graph_sink *sink;
    void *context;
    uint32_t from;
    size_t dependent; /* the next one */
    unsigned count;
    waiting_reference waiting[WAITING];
} edge_pass;

static void finish_references(edge_pass *pass) {
    heap_graph *graph = pass->graph;
    for (unsigned i = 0; i < pass->count; i++) {
        const waiting_reference *waiting = &pass->waiting[i];
        uint32_t to = waiting->to != OBJECT_NONE ? waiting->to : objects_find(&graph->objects, waiting->reference);
        graph->guessed += waiting->guessed;
        if (to != OBJECT_NONE)
            pass->sink(pass->context, waiting->from, to);
        else if (!waiting->guessed && !heap_is_collecting(graph->heap) && !graph->bad++)
            graph->bad_holder = objects_address(&graph->objects, waiting->from);
    }
    pass->count = 0;
}

static void pass_edge(edge_pass *pass, waiting_reference waiting) {
    pass->waiting[pass->count++] = waiting;
    if (pass->count == WAITING) finish_references(pass);
}

static bool pass_reference(void *context, uint64_t reference, bool guessed) {
    edge_pass *pass = context;
    objects_prefetch(&pass->graph->objects, reference);
    pass_edge(pass, (waiting_reference){reference, pass->from, OBJECT_NONE, guessed});
    return true;
}

static bool pass_object(void *context, const gc_dac_object *object) {
    edge_pass *pass = context;
    heap_graph *graph = pass->graph;
    pass->from = objects_find(&graph->objects, object->address);
    if (pass->from == OBJECT_NONE) return true;
    gc_dac_references(graph->target->dac, object, pass_reference, pass);
    while (pass->dependent < graph->dependents_count && graph->dependents[pass->dependent].key < pass->from)
        pass->dependent++;
    for (; pass->dependent < graph->dependents_count && graph->dependents[pass->dependent].key == pass->from;
         pass->dependent++)
        pass_edge(pass, (waiting_reference){0, pass->from, graph->dependents[pass->dependent].value, false});
    return true;
}

void graph_walk_edges(void *of, graph_sink *sink, void *context) {
    heap_graph *graph = of;
    edge_pass pass = {.graph = graph, .sink = sink, .context = context};
    for (size_t i = 0; i < graph->roots_count; i++) sink(context, GRAPH_ROOT, graph->roots[i]);
    graph->bad = graph->guessed = 0;
    target_check(graph->target, gc_dac_objects(graph->target->dac, graph->heap, pass_object, &pass));
    finish_references(&pass);
}

typedef struct edge_builder {
    heap_graph *graph;
    edge_store edges;
    uint64_t disordered;
} edge_builder;

static void build_edge(void *context, uint32_t from, uint32_t to) {
    edge_builder *builder = context;
    if (from == GRAPH_ROOT || from == to) return;
    if (from < builder->edges.next) {
        builder->disordered++;
        return;
    }
    edges_add(&builder->edges, from, to);
    builder->graph->referred[to / 64] |= UINT64_C(1) << to % 64;
}

edge_store graph_edges(heap_graph *graph) {
    edge_builder builder = {.graph = graph};
    free(graph->referred);
    graph->referred = memory_zeroed(graph->objects.objects / 64 + 1, 8, "marks of objects");
    graph_walk_edges(graph, build_edge, &builder);
    edges_end(&builder.edges, graph->objects.objects);
    if (builder.disordered)
        note("%s left out: objects came out of order, so regions of the heap overlap",
             counted(builder.disordered, "reference was", "references were"));
    if (graph->guessed)
        note("%s guessed, for objects whose types have trace functions: weak ones count, too, and those in memory that such "
             "objects own outside the heap are not seen",
             counted(graph->guessed, "reference was", "references were"));
    if (graph->bad)
        note("%s to no object, at first in %s: `verify` says more",
             counted(graph->bad, "reference leads", "references lead"), hex(graph->bad_holder));
    return builder.edges;
}

void graph_free(heap_graph *graph) {
    objects_free(&graph->objects);
    free(graph->roots), free(graph->dependents), free(graph->referred);
    memset(graph, 0, sizeof *graph);
}
