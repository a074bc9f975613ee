/* The commands that list what there is. */
#include "commands.h"
#include "memory.h"
#include "names.h"
#include "output.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum { SHOWN_BYTES = 161 };

const char *shown(const inspected *target, uint64_t object) {
    static char buffers[4][SHOWN_BYTES];
    static unsigned next;
    char *buffer = buffers[next++ % 4];
    names_show(target->dac, object, buffer, SHOWN_BYTES);
    return buffer;
}

const char *described(inspected *target, uint64_t address) {
    static char buffers[4][SHOWN_BYTES + 256];
    static unsigned next;
    char *buffer = buffers[next++ % 4];
    gc_dac_object object;
    const char *name =
        gc_dac_object_at(target->dac, address, &object) ? target_type(target, object.type)->name : "(no object)";
    const char *written = shown(target, address);
    snprintf(buffer, SHOWN_BYTES + 256, "%.200s%s%s", name, *written ? " " : "", written);
    return buffer;
}

/* types */

typedef struct type_pass {
    inspected *target;
    int generation;
    uint64_t objects, bytes;
} type_pass;

static bool count_object(void *context, const gc_dac_object *object) {
    type_pass *pass = context;
    if (pass->generation >= 0 && object->generation != pass->generation) return true;
    type_count *count = target_type(pass->target, object->type);
    count->objects++;
    count->bytes += object->bytes;
    pass->objects++;
    pass->bytes += object->bytes;
    return true;
}

static type_pass count_all(inspected *target, const gc_dac_heap *heap, int generation) {
    type_pass pass = {target, generation, 0, 0};
    for (size_t i = 0; i < target->types_count; i++) target->types[i]->objects = target->types[i]->bytes = 0;
    target_check(target, gc_dac_objects(target->dac, heap, count_object, &pass));
    return pass;
}

uint64_t count_types(inspected *target, const gc_dac_heap *heap, int generation) {
    return count_all(target, heap, generation).objects;
}

static int by_bytes(const void *a, const void *b) {
    const type_count *x = *(type_count *const *)a, *y = *(type_count *const *)b;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
    if (x->objects != y->objects) return x->objects < y->objects ? 1 : -1;
    return strcmp(x->name, y->name);
}

type_count **sorted_types(const inspected *target) {
    type_count **types = memory_take(target->types_count, sizeof *types, "types");
    if (target->types_count) memcpy(types, target->types, target->types_count * sizeof *types);
    qsort(types, target->types_count, sizeof *types, by_bytes);
    return types;
}

void command_types(inspected *target, const gc_dac_heap *heap, const command_options *options) {
    static const column columns[] = {{"objects", "objects", 14}, {"bytes", "bytes", 16}, {"type", "type", 0}, {0}};
    type_pass pass = count_all(target, heap, options->generation);
    type_count **types = sorted_types(target);
    json_number("objects", pass.objects);
    json_number("bytes", pass.bytes);
    table_begin("types", columns);
    for (size_t i = 0; i < target->types_count && i < options->limit && types[i]->objects; i++) {
        table_number(types[i]->objects);
        table_number(types[i]->bytes);
        table_text(types[i]->name);
        table_row_end();
    }
    table_end();
    text("%14s  %16s  in all\n", commas(pass.objects), commas(pass.bytes));
    free(types);
}

/* objects TYPE */

typedef struct object_pass {
    inspected *target;
    const command_options *options;
    uint64_t objects, bytes;
} object_pass;

static bool list_object(void *context, const gc_dac_object *object) {
    object_pass *pass = context;
    const type_count *type = target_type(pass->target, object->type);
    if (strcmp(type->name, pass->options->argument) != 0 &&
        (!type->type || strcmp(type->type->name, pass->options->argument) != 0))
        return true;
    if (pass->options->generation >= 0 && object->generation != pass->options->generation) return true;
    pass->bytes += object->bytes;
    if (pass->objects++ >= pass->options->limit) return true;
    table_address(object->address);
    table_number(object->bytes);
    table_number((uint64_t)object->generation);
    table_text(shown(pass->target, object->address));
    table_row_end();
    return true;
}

void command_objects(inspected *target, const gc_dac_heap *heap, const command_options *options) {
    static const column columns[] = {
        {"address", "address", 16}, {"bytes", "bytes", 12}, {"generation", "generation", 10}, {"shown", "", 0}, {0}};
    object_pass pass = {target, options, 0, 0};
    table_begin("objects", columns);
    target_check(target, gc_dac_objects(target->dac, heap, list_object, &pass));
    table_end();
    json_number("count", pass.objects);
    json_number("bytes", pass.bytes);
    text("%s, %s%s\n", counted(pass.objects, "object", "objects"), counted(pass.bytes, "byte", "bytes"),
         pass.objects > options->limit ? "; more with --limit N" : "");
    target->has_listed |= pass.objects != 0;
}

/* After a list, of which `limit` were printed. */
static void print_more(uint64_t listed, uint64_t limit) {
    if (listed > limit) text("%s more; --limit N shows them\n", commas(listed - limit));
    if (listed) text("\n");
}

/* handles */

enum { HANDLE_KINDS_MAX = 16 };
typedef struct handle_pass {
    inspected *target;
    const command_options *options;
    uint64_t listed, counts[HANDLE_KINDS_MAX], empty[HANDLE_KINDS_MAX];
    const char *names[HANDLE_KINDS_MAX];
    bool list;
} handle_pass;

static bool visit_handle(void *context, const gc_dac_handle *handle) {
    handle_pass *pass = context;
    if (handle->kind < HANDLE_KINDS_MAX) {
        pass->counts[handle->kind]++;
        pass->empty[handle->kind] += !handle->object;
        pass->names[handle->kind] = handle->kind_name;
    }
    if (!pass->list || pass->listed++ >= pass->options->limit) return true;
    table_address(handle->handle);
    table_text(handle->kind_name);
    table_address(handle->object);
    table_address(handle->extra);
    table_text(handle->object ? described(pass->target, handle->object) : "(empty)");
    table_row_end();
    return true;
}

static void print_handle_counts(const handle_pass *pass) {
    static const column columns[] = {{"handles", "handles", 10}, {"empty", "empty", 10}, {"kind", "kind", 0}, {0}};
    bool any = false;
    for (unsigned i = 0; i < HANDLE_KINDS_MAX; i++) any |= pass->counts[i] != 0;
    if (!any) text("no handles\n");
    if (!any && !output_is_json) return;
    table_begin("handle_kinds", columns);
    for (unsigned i = 0; i < HANDLE_KINDS_MAX; i++) {
        if (!pass->counts[i]) continue;
        table_number(pass->counts[i]);
        table_number(pass->empty[i]);
        table_text(pass->names[i]);
        table_row_end();
    }
    table_end();
}

void command_handles(inspected *target, const gc_dac_heap *heap, const command_options *options) {
    static const column columns[] = {{"handle", "handle", 18}, {"kind", "kind", -12},         {"object", "object", 16},
                                     {"extra", "extra", 16},   {"described", "object is", 0}, {0}};
    handle_pass pass = {.target = target, .options = options, .list = true};
    table_begin("handles", columns);
    target_check(target, gc_dac_handles(target->dac, heap, visit_handle, &pass));
    table_end();
    print_more(pass.listed, options->limit);
    print_handle_counts(&pass);
}

/* finalizers */

static const char *const finalizer_states[] = {"registered", "due", "due, critical", "running"};
enum { FINALIZER_STATES = 4 };
typedef struct finalizer_pass {
    inspected *target;
    const command_options *options;
    uint64_t listed, counts[FINALIZER_STATES];
    bool list;
} finalizer_pass;

static bool visit_finalizer(void *context, const gc_dac_finalizer *finalizer) {
    finalizer_pass *pass = context;
    if ((unsigned)finalizer->state >= FINALIZER_STATES) return true;
    pass->counts[finalizer->state]++;
    if (!pass->list || pass->listed++ >= pass->options->limit) return true;
    table_text(finalizer_states[finalizer->state]);
    table_address(finalizer->object);
    table_number(finalizer->started_ns && pass->target->is_process ? target_ns_since(finalizer->started_ns) / 1000000 : 0);
    table_text(finalizer->object ? described(pass->target, finalizer->object) : finalizer->type);
    table_row_end();
    return true;
}

static void print_finalizer_counts(const finalizer_pass *pass) {
    static const column columns[] = {{"finalizers", "finalizers", 10}, {"state", "state", 0}, {0}};
    bool any = false;
    for (unsigned i = 0; i < FINALIZER_STATES; i++) any |= pass->counts[i] != 0;
    if (!any) text("no finalizers\n");
    if (!any && !output_is_json) return;
    table_begin("finalizer_states", columns);
    for (unsigned i = 0; i < FINALIZER_STATES; i++) {
        if (!pass->counts[i]) continue;
        table_number(pass->counts[i]);
        table_text(finalizer_states[i]);
        table_row_end();
    }
    table_end();
}

/* Those that are due or run are the interesting ones, and few; so they come first. */
typedef struct finalizer_filter {
    finalizer_pass *pass;
    bool registered;
} finalizer_filter;
static bool filter_finalizer(void *context, const gc_dac_finalizer *finalizer) {
    finalizer_filter *filter = context;
    return (finalizer->state == GC_DAC_REGISTERED) != filter->registered || visit_finalizer(filter->pass, finalizer);
}

static void each_finalizer(finalizer_pass *pass, const gc_dac_heap *heap) {
    finalizer_filter filter = {pass, false};
    target_check(pass->target, gc_dac_finalizers(pass->target->dac, heap, filter_finalizer, &filter));
    filter.registered = true;
    gc_dac_finalizers(pass->target->dac, heap, filter_finalizer, &filter);
}

void command_finalizers(inspected *target, const gc_dac_heap *heap, const command_options *options) {
    static const column columns[] = {{"state", "state", -14},
                                     {"object", "object", 16},
                                     {"running_ms", "running ms", 10},
                                     {"described", "object is", 0},
                                     {0}};
    finalizer_pass pass = {.target = target, .options = options, .list = true};
    table_begin("finalizers", columns);
    each_finalizer(&pass, heap);
    table_end();
    print_more(pass.listed, options->limit);
    print_finalizer_counts(&pass);
}

/* threads */

typedef struct thread_pass {
    inspected *target;
    const gc_dac_heap *heap;
    uint64_t threads;
} thread_pass;

static bool visit_frame(void *context, const gc_dac_frame *frame) {
    static const char *const kinds[] = {"roots", "compiled", "native"};
    (void)context;
    json_begin(NULL, '{');
    json_text("kind", (unsigned)frame->kind < 3 ? kinds[frame->kind] : "unknown");
    json_text("function", frame->function);
    json_text("file", frame->file);
    json_number("line", frame->line);
    json_text("names", frame->names);
    json_number("slots", frame->count);
    json_end();
    if (frame->kind == GC_DAC_FRAME_NATIVE)
        text("    native stack, scanned conservatively\n");
    else if (frame->kind == GC_DAC_FRAME_COMPILED)
        text("    compiled code at %s\n", hex(frame->pc));
    else
        text("    %s (%s:%u): %s\n", clean(frame->function), clean(frame->file), frame->line, clean(frame->names));
    return true;
}

static bool visit_thread(void *context, const gc_dac_thread *thread) {
    thread_pass *pass = context;
    const char *mode = thread->unbound                      ? "unknown"
                       : thread->mode == GC_DAC_PREEMPTIVE ? "preemptive"
                                                           : "cooperative";
    pass->threads++;
    json_begin(NULL, '{');
    json_address("address", thread->address);
    json_number("tid", thread->tid);
    json_text("name", thread->name);
    json_text("mode", mode);
    json_bool("parked", thread->parked);
    json_bool("running", thread->running);
    json_bool("unbound", thread->unbound);
    json_bool("conservative", thread->conservative);
    json_number("waited_for_ns", thread->stopped_ns);
    if (thread->name && *thread->name)
        text("thread `%s`", clean(thread->name));
    else
        text("thread without a name");
    text("%s%s: %s%s%s\n", thread->tid ? ", tid " : "", thread->tid ? commas(thread->tid) : "",
         thread->unbound ? "a record of gc_thread_create, whose mode only the program knows" : mode,
         thread->parked ? ", waits within gc.h" : "", thread->running ? ", at no safe point" : "");
    json_begin("frames", '[');
    target_check(pass->target, gc_dac_frames(pass->target->dac, pass->heap, thread, visit_frame, NULL));
    json_end();
    json_end();
    return true;
}

void command_threads(inspected *target, const gc_dac_heap *heap, const command_options *options) {
    (void)options;
    thread_pass pass = {target, heap, 0};
    json_begin("threads", '[');
    target_check(target, gc_dac_threads(target->dac, heap, visit_thread, &pass));
    json_end();
    if (!pass.threads) text("no thread is attached\n");
    json_begin("fibers", '[');
    text("%s", "");
    target_check(target, gc_dac_frames(target->dac, heap, NULL, visit_frame, NULL));
    json_end();
}

/* summary */

typedef struct region_totals {
    uint64_t regions[3], bytes[3], large, free, quarantined, condemned;
} region_totals;

static bool total_region(void *context, const gc_dac_region *region) {
    region_totals *totals = context;
    totals->free += region->kind == GC_DAC_FREE;
    totals->quarantined += region->kind == GC_DAC_QUARANTINED;
    totals->condemned += region->condemned;
    if (region->kind == GC_DAC_FREE || region->kind == GC_DAC_QUARANTINED || (unsigned)region->generation > 2)
        return true;
    totals->large += region->kind == GC_DAC_LARGE;
    totals->regions[region->generation]++;
    totals->bytes[region->generation] += region->end - region->base;
    return true;
}

static void print_regions(inspected *target, const gc_dac_heap *heap) {
    region_totals totals = {{0}, {0}, 0, 0, 0, 0};
    target_check(target, gc_dac_regions(target->dac, heap, total_region, &totals));
    json_begin("regions", '{');
    json_begin("by_generation", '[');
    for (int g = 0; g < 3; g++) {
        json_begin(NULL, '{');
        json_number("regions", totals.regions[g]);
        json_number("bytes", totals.bytes[g]);
        json_end();
        text("  generation %d    %s, %s\n", g, counted(totals.regions[g], "region", "regions"), human(totals.bytes[g]));
    }
    json_end();
    json_number("large", totals.large);
    json_number("free", totals.free);
    json_number("quarantined", totals.quarantined);
    json_end();
    text("  besides         %s among them; %s, %s in quarantine\n",
         counted(totals.large, "large object", "large objects"), counted(totals.free, "free region", "free regions"),
         commas(totals.quarantined));
}

static bool print_statistic(void *context, const char *name, uint64_t value) {
    (void)context;
    json_number(name, value);
    if (strcmp(name, "allocated_bytes") == 0) text("  allocated       %s since the heap was created\n", human(value));
    if (strcmp(name, "pause_max_ns") == 0) text("  longest pause   %" PRIu64 " us\n", value / 1000);
    if (strcmp(name, "external_bytes") == 0 && value) text("  off-heap bytes  %s\n", human(value));
    return true;
}

static bool count_thread(void *context, const gc_dac_thread *thread) {
    (void)thread;
    ++*(uint64_t *)context;
    return true;
}

static bool print_collector(void *context, const gc_dac_collector *collector) {
    const gc_dac_heap *heap = context;
    if (collector->index != heap->collector) return true;
    json_text("module", collector->module);
    json_text("gc_version", collector->version);
    json_number("region_bytes", collector->region_bytes);
    text("  collector       gc.h %s in %s\n", clean(collector->version ? collector->version : "?"),
         clean(collector->module ? collector->module : "?"));
    return false;
}

void command_summary(inspected *target, const gc_dac_heap *heap, const command_options *options) {
    static const char *const phases[] = {
#define PHASE_TEXT(name, text) text,
        GC_PHASES(PHASE_TEXT)
#undef PHASE_TEXT
            "idle"};
    uint64_t threads = 0;
    const char *phase = phases[heap->phase];
    gc_dac_collectors(target->dac, print_collector, (void *)heap);
    type_pass pass = count_all(target, heap, options->generation);
    json_number("objects", pass.objects);
    json_number("bytes", pass.bytes);
    json_number("heap_bytes_max", heap->heap_bytes_max);
    json_text("phase", phase);
    json_number("collections", heap->collections);
    json_text("last_reason", heap->collection_reason);
    text("  objects         %s of %s\n", commas(pass.objects), human(pass.bytes));
    text("  limit           %s\n", heap->heap_bytes_max ? human(heap->heap_bytes_max) : "none");
    text("  collections     %s%s%s%s\n", commas(heap->collections), heap->collections ? "; the last one because: " : "",
         heap->collections ? clean(heap->collection_reason) : "", heap->phase == GC_PHASE_NONE ? "" : "; it still runs");
    if (heap->phase != GC_PHASE_NONE) text("  phase           %s\n", phase);
    json_begin("statistics", '{');
    target_check(target, gc_dac_statistics(target->dac, heap, print_statistic, NULL));
    json_end();
    print_regions(target, heap);
    target_check(target, gc_dac_threads(target->dac, heap, count_thread, &threads));
    json_number("threads", threads);
    text("  threads         %s\n", commas(threads));
    handle_pass handles = {.target = target, .options = options};
    target_check(target, gc_dac_handles(target->dac, heap, visit_handle, &handles));
    finalizer_pass finalizers = {.target = target, .options = options};
    each_finalizer(&finalizers, heap);
    print_handle_counts(&handles);
    print_finalizer_counts(&finalizers);
}
