/* The commands that look at one object: its fields, and the shortest way to it from a root. */
#include "commands.h"
#include "memory.h"
#include "names.h"
#include "output.h"
#include "search.h"
#include "symbols.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Slots. */

/* ".next" or "[7]". */
static const char *slot_label(const gc_dac_slot *slot) {
    static char buffers[4][128];
    static unsigned next;
    char *buffer = buffers[next++ % 4];
    size_t length;
    if (slot->index != UINT64_MAX && slot->name)
        snprintf(buffer, sizeof buffers[0], "[%" PRIu64 "].%s", slot->index, slot->name);
    else if (slot->index != UINT64_MAX)
        snprintf(buffer, sizeof buffers[0], "[%" PRIu64 "]", slot->index);
    else if (slot->name)
        snprintf(buffer, sizeof buffers[0], ".%s", slot->name);
    else
        snprintf(buffer, sizeof buffers[0], "+%" PRIu32, slot->offset);
    length = strlen(buffer);
    if (slot->flags & GC_DAC_SLOT_WEAK) snprintf(buffer + length, sizeof buffers[0] - length, " (weak)");
    if (slot->flags & GC_DAC_SLOT_GUESSED) snprintf(buffer + length, sizeof buffers[0] - length, " (guessed)");
    return buffer;
}

/* object ADDRESS */

typedef struct slot_pass {
    inspected *target;
    uint64_t limit, slots;
} slot_pass;

static bool print_slot(void *context, const gc_dac_slot *slot) {
    slot_pass *pass = context;
    if (slot->flags & GC_DAC_SLOT_GUESSED && !slot->reference) return true;
    if (pass->slots++ >= pass->limit) return true;
    char value[161] = "";
    if (!slot->reference && slot->flags & GC_DAC_SLOT_VALUE) names_show_value(slot->word, value, sizeof value);
    json_begin(NULL, '{');
    json_text("name", slot->name);
    if (slot->index != UINT64_MAX) json_number("index", slot->index);
    json_number("offset", slot->offset);
    json_address("word", slot->word);
    json_address("reference", slot->reference);
    json_bool("value", slot->flags & GC_DAC_SLOT_VALUE);
    json_bool("weak", slot->flags & GC_DAC_SLOT_WEAK);
    json_bool("guessed", slot->flags & GC_DAC_SLOT_GUESSED);
    json_text("described", slot->reference ? described(pass->target, slot->reference) : value);
    json_end();
    if (slot->reference)
        text("  %-16s %s  %s\n", clean(slot_label(slot)), hex(slot->reference),
             clean(described(pass->target, slot->reference)));
    else if (*value)
        text("  %-16s %s\n", clean(slot_label(slot)), clean(value));
    else
        text("  %-16s %s\n", clean(slot_label(slot)), slot->word ? hex(slot->word) : "null");
    return true;
}

/* The first bytes that are no references, as people read them. */
static void print_bytes(inspected *target, const gc_dac_object *object) {
    unsigned char bytes[64];
    char hexadecimal[3 * 16 + 1], characters[17];
    uint64_t from = object->type->bytes,
             count = object->bytes - from < sizeof bytes ? object->bytes - from : sizeof bytes;
    if (object->type->refs | object->type->values | object->type->element_refs | object->type->element_values) return;
    if (from > object->bytes || !object->length)
        from = 8, count = object->bytes - 8 < sizeof bytes ? object->bytes - 8 : sizeof bytes;
    count = gc_dac_read(target->dac, object->address + from, bytes, (size_t)count);
    json_begin("contents", '[');
    for (uint64_t i = 0; i < count; i++) json_number(NULL, bytes[i]);
    json_end();
    for (uint64_t row = 0; row < count; row += 16) {
        memset(hexadecimal, 0, sizeof hexadecimal);
        memset(characters, 0, sizeof characters);
        for (uint64_t i = 0; i < 16 && row + i < count; i++) {
            snprintf(hexadecimal + 3 * i, 4, "%02x ", bytes[row + i]);
            characters[i] = bytes[row + i] >= 0x20 && bytes[row + i] < 0x7F ? (char)bytes[row + i] : '.';
        }
        text("  +%-15" PRIu64 " %-48s %s\n", from + row, hexadecimal, characters);
    }
}

void command_object(inspected *target, const gc_dac_heap *heap, const command_options *options) {
    gc_dac_object object;
    (void)heap;
    if (!gc_dac_object_at(target->dac, options->address, &object)) {
        missing("no object covers %s%s%s", hex(options->address), *gc_dac_message(target->dac) ? ": " : "",
                gc_dac_message(target->dac));
        return;
    }
    const type_count *type = target_type(target, object.type);
    json_address("address", object.address);
    json_text("type", type->name);
    json_number("bytes", object.bytes);
    json_number("length", object.length);
    json_signed("generation", object.generation);
    json_bool("unfinished", object.flags & GC_DAC_UNFINISHED);
    json_text("shown", shown(target, object.address));
    if (object.address != options->address)
        text("%s is %s within\n", hex(options->address), counted(options->address - object.address, "byte", "bytes"));
    text("%s  %s, %s bytes%s%s, generation %d%s%s\n", hex(object.address), clean(described(target, object.address)),
         commas(object.bytes), object.type && object.type->element_bytes ? ", length " : "",
         object.type && object.type->element_bytes ? commas(object.length) : "", object.generation,
         object.flags & GC_DAC_OBJECT_LARGE ? ", large" : "",
         object.flags & GC_DAC_UNFINISHED ? ", perhaps unfinished" : "");
    if (!object.type) return;
    slot_pass pass = {target, options->limit, 0};
    object.contents_bytes = 0; /* the walk reads as it goes: its callback asks for other objects */
    json_begin("slots", '[');
    target_check(target, gc_dac_slots(target->dac, &object, print_slot, &pass));
    json_end();
    if (pass.slots > options->limit) text("  %s more; --limit N shows them\n", commas(pass.slots - options->limit));
    print_bytes(target, &object);
}

/* path ADDRESS */

/* The first slot of `holder` that refers to `to`. */
typedef struct slot_to {
    uint64_t to;
    gc_dac_slot slot;
    bool found;
} slot_to;

static bool find_slot_to(void *context, const gc_dac_slot *slot) {
    slot_to *wanted = context;
    if (slot->reference != wanted->to) return true;
    wanted->slot = *slot;
    wanted->found = true;
    return false;
}

static const char *edge_label(heap_graph *graph, uint32_t from, uint32_t to) {
    slot_to wanted = {.to = objects_address(&graph->objects, to)};
    gc_dac_object object;
    gc_dac *dac = graph->target->dac;
    if (gc_dac_object_at(dac, objects_address(&graph->objects, from), &object))
        gc_dac_slots(dac, &object, find_slot_to, &wanted);
    if (wanted.found) return slot_label(&wanted.slot);
    for (size_t i = 0; i < graph->dependents_count; i++)
        if (graph->dependents[i].key == from && graph->dependents[i].value == to) return " (dependent handle)";
    return " (unknown field)";
}

/* The root from which the way begins. */
typedef struct root_to {
    const heap_graph *graph;
    uint32_t to;
    bool certain, found;
} root_to;

static void print_frame_root(const gc_dac_root *root) {
    if (!*root->variable) {
        text("a word of the frame of %s (%s:%u)", clean(root->function), clean(root->file), root->line);
    } else if (strstr(root->variable, "[]")) {
        text("element %s of %s in %s (%s:%u)", commas(root->index), clean(root->variable), clean(root->function),
             clean(root->file), root->line);
    } else {
        text("variable `%s` of %s (%s:%u)", clean(root->variable), clean(root->function), clean(root->file),
             root->line);
    }
}

static void print_root(inspected *target, const gc_dac_root *root) {
    static const char *const kinds[GC_DAC_ROOT_KINDS] = {"frame", "stack", "compiled", "global", "handle", "finalizer",
                                                          "scanned"};
    const char *kind = (unsigned)root->kind < GC_DAC_ROOT_KINDS ? kinds[root->kind] : "unknown";
    char variable[256];
    snprintf(variable, sizeof variable, "%s", root->variable);
    if (root->kind == GC_DAC_ROOT_GLOBAL && !*variable)
        symbol_name(target->dac, target->root, root->slot, variable, sizeof variable);
    json_begin("root", '{');
    json_text("kind", kind);
    json_address("slot", root->slot);
    json_text("function", root->function);
    json_text("file", root->file);
    json_number("line", root->line);
    json_text("variable", variable);
    json_number("index", root->index);
    json_address("handle", root->handle);
    json_text("handle_kind", root->handle_kind_name);
    json_text("thread", root->thread_name);
    json_bool("certain", root->certain);
    json_end();
    text("root: ");
    switch (root->kind) {
    case GC_DAC_ROOT_FRAME:
        print_frame_root(root);
        break;
    case GC_DAC_ROOT_STACK:
        text("a word %s%s", root->slot ? "on the native stack at " : "in a register",
             root->slot ? hex(root->slot) : "");
        break;
    case GC_DAC_ROOT_COMPILED:
        text("a %s of a compiled frame%s%s", root->slot ? "word" : "register", root->slot ? ", at " : "",
             root->slot ? hex(root->slot) : "");
        break;
    case GC_DAC_ROOT_GLOBAL:
        text("the global %s%s%s", clean(variable), *variable ? ", at " : "at ", hex(root->slot));
        break;
    case GC_DAC_ROOT_HANDLE:
        text("the %s handle %s", root->handle_kind_name ? root->handle_kind_name : "unknown", hex(root->handle));
        break;
    case GC_DAC_ROOT_FINALIZER:
        text("its finalizer is due or runs");
        break;
    case GC_DAC_ROOT_SCANNED:
        text("a slot at %s that scan_roots reported to the last collection", hex(root->slot));
        break;
    default:
        text("an unknown kind of root at %s", hex(root->slot));
    }
    if (root->thread_name && *root->thread_name && root->thread) text(", thread `%s`", clean(root->thread_name));
    text("%s\n", root->certain ? "" : "; perhaps no root");
}

static bool find_root_to(void *context, const gc_dac_root *root) {
    root_to *wanted = context;
    if (root->certain != wanted->certain || graph_object_at(wanted->graph, root->reference) != wanted->to) return true;
    print_root(wanted->graph->target, root);
    wanted->found = true;
    return false;
}

static void print_start(heap_graph *graph, uint32_t start) {
    root_to wanted = {graph, start, true, false};
    gc_dac_roots(graph->target->dac, graph->heap, find_root_to, &wanted);
    wanted.certain = false;
    if (!wanted.found) gc_dac_roots(graph->target->dac, graph->heap, find_root_to, &wanted);
}

static void print_step(heap_graph *graph, const char *label, uint32_t object) {
    inspected *target = graph->target;
    uint64_t address = objects_address(&graph->objects, object);
    gc_dac_object found;
    bool is_there = gc_dac_object_at(target->dac, address, &found);
    json_begin(NULL, '{');
    json_text("by", label);
    json_address("address", address);
    json_text("type", is_there ? target_type(target, found.type)->name : NULL);
    json_number("bytes", is_there ? found.bytes : 0);
    json_text("shown", shown(target, address));
    json_end();
    text("  %-18s %s  %s, %s bytes\n", label ? clean(label) : "", hex(address), clean(described(target, address)),
         commas(is_there ? found.bytes : 0));
}

/* A long list is not printed object by object: what repeats is counted. */
static void print_path(heap_graph *graph, const search_path *path) {
    char last[128] = "";
    uint64_t repeated = 0;
    json_begin("path", '[');
    for (size_t i = 0; i < path->count; i++) {
        char label[128] = "";
        if (i) snprintf(label, sizeof label, "%s", edge_label(graph, path->objects[i - 1], path->objects[i]));
        bool repeats = i > 1 && i + 1 < path->count && strcmp(label, last) == 0;
        repeated = repeats ? repeated + 1 : 0;
        bool all = output_is_json && path->count <= 10000;
        if (repeated < 3 || all || i + 4 > path->count) print_step(graph, i ? label : NULL, path->objects[i]);
        if (repeated == 3 && !all && i + 4 <= path->count) text("  %s ... and so on\n", clean(label));
        snprintf(last, sizeof last, "%s", label);
    }
    json_end();
    json_number("length", path->count);
    text("%s on the way\n", counted(path->count, "object", "objects"));
}

/* The objects to which nothing refers, and no root: where lost ones hang on. */
static uint32_t *unreferred(const heap_graph *graph, size_t *count) {
    uint32_t *objects = NULL;
    size_t capacity = 0;
    *count = 0;
    for (uint32_t i = 0; i < graph->objects.objects; i++) {
        if (graph->referred[i / 64] >> i % 64 & 1) continue;
        objects = memory_grow(objects, *count, &capacity, sizeof *objects, "objects to which nothing refers");
        objects[(*count)++] = i;
    }
    return objects;
}

static void print_lost(heap_graph *graph, const edge_store *edges, uint32_t object) {
    size_t count;
    uint32_t *starts = unreferred(graph, &count);
    search_path path = search_shortest(edges, graph->objects.objects, starts, count, object);
    text("No root that gc-inspect knows leads to it: the program's scan_roots may report one, or it is garbage that no "
         "collection "
         "has looked at yet.\n");
    if (path.count)
        text("Nothing refers to the first of these objects:\n"), print_path(graph, &path);
    else
        text("It hangs on a cycle to which nothing else refers.\n");
    free(starts), free(path.objects);
}

void command_path(inspected *target, const gc_dac_heap *heap, const command_options *options) {
    heap_graph graph;
    graph_objects(&graph, target, heap);
    uint32_t object = graph_object_at(&graph, options->address);
    if (object == OBJECT_NONE) {
        missing("no object of the heap covers %s", hex(options->address));
        graph_free(&graph);
        return;
    }
    graph_roots(&graph);
    edge_store edges = graph_edges(&graph);
    search_path path = search_shortest(&edges, graph.objects.objects, graph.roots, graph.roots_certain, object);
    if (!path.count) path = search_shortest(&edges, graph.objects.objects, graph.roots, graph.roots_count, object);
    json_address("address", objects_address(&graph.objects, object));
    json_bool("reached", path.count != 0);
    if (path.count) {
        print_start(&graph, path.objects[0]);
        print_path(&graph, &path);
    } else {
        print_lost(&graph, &edges, object);
    }
    free(path.objects);
    edges_free(&edges);
    graph_free(&graph);
}
