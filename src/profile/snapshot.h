/* Heap snapshots in V8's format, which Chrome's DevTools, memlab and others read: every object with its references.

   The nodes of the graph are the groups of roots, and then all objects by their addresses. The heap is walked twice in
   that order, since all nodes come before all edges; nothing is kept of an object meanwhile. Numbers of nodes and edges
   stand at the file's beginning, and are filled in at the end. The strings come last. */
#pragma once

#include "../threads/stop.h"
#include "../collection/collection.h"
#include "roots.h"
#include "state.h"
#include "text.h"

#define GC__NODE_FIELDS 7
#define GC__ROW_BYTES_MAX (5 * (GC__NUMBER_BYTES_MAX + 1) + 5)
#define GC__NODE_STRING 2
#define GC__NODE_OBJECT 3
#define GC__NODE_SYNTHETIC 9
#define GC__MASKED_WORDS 64 /* words of an object that have a name of their own */

/* How the references of a type's objects are called: the number of a name for each word, 0 where it has none yet. */
typedef struct gc__snapshot_type {
    size_t name;
    size_t text_at; /* the offset of characters that are shown; 0: the type is no string's */
    uint32_t words[GC__MASKED_WORDS];
} gc__snapshot_type;
#define GC__SNAPSHOT_TYPE_WORDS ((sizeof(gc__snapshot_type) + 7) / sizeof(uintptr_t))

typedef struct gc__snapshot {
    gc_visitor visitor;
    gc__output *out;
    gc__numbering numbering;
    gc__root_tree roots;
    gc__profile names; /* its types are the strings of the snapshot */
    gc__words types;   /* gc__snapshot_type; the first one is no type's */
    gc__map type_numbers;
    gc_word last_type;
    gc__snapshot_type *type; /* the type of `holder`, valid until another one is asked for */
    uintptr_t holder;
    size_t edges_of_holder, edges;
    size_t dependent; /* the next one in roots.dependents */
    bool writing;     /* edges; otherwise they are counted */
    bool hides_texts;
    size_t texts_max; /* bytes of names and of what strings contain, after which strings are objects like others */
} gc__snapshot;

/* Types. */

/* Where objects of the type have characters, if GC_TYPE_STRING has made it; else 0. */
GC__FN size_t gc__snapshot_text_at(gc_word key) {
#if GC_HAS_MODEL
    return (void)key, 0;
#else
    const gc_type *type = (const gc_type *)key;
    bool is_string = type->element_bytes == 1 && type->fields && type->field_offsets[0] + 1u == type->bytes;
    return is_string && gc__type_is_leaf(type) ? type->field_offsets[0] : 0;
#endif
}

GC__FN gc__snapshot_type *gc__snapshot_type_add(gc__snapshot *snapshot, gc_word key, const char *name) {
    size_t number = snapshot->types.count / GC__SNAPSHOT_TYPE_WORDS;
    if (!gc__words_reserve(&snapshot->types, snapshot->types.count + GC__SNAPSHOT_TYPE_WORDS) ||
        !gc__map_reserve(&snapshot->type_numbers, snapshot->type_numbers.count + 1))
        return NULL;
    gc__snapshot_type *type = (gc__snapshot_type *)(snapshot->types.words + snapshot->types.count);
    snapshot->types.count += GC__SNAPSHOT_TYPE_WORDS;
    memset(type, 0, sizeof *type);
    type->name = gc__profile_type_add(&snapshot->names, name);
    type->text_at = snapshot->hides_texts ? 0 : gc__snapshot_text_at(key);
    *gc__map_put(&snapshot->type_numbers, key) = number;
    return type;
}

/* What the type of an object is known by: its record, or in a host's own model its name. */
GC__FN gc_word gc__snapshot_type_key(uintptr_t object) {
#if GC_HAS_MODEL
    const char *name = gc__object_name(object);
    return gc__index_hash(name, strlen(name)) | 1;
#else
    return GC__WORD(object);
#endif
}

/* Makes the object the holder of the references that follow. */
GC__FN bool gc__snapshot_hold(gc__snapshot *snapshot, uintptr_t object) {
    gc_word key = gc__snapshot_type_key(object);
    snapshot->holder = object;
    snapshot->edges_of_holder = 0;
    if (key == snapshot->last_type) return true;
    const uintptr_t *number = gc__map_find(&snapshot->type_numbers, key);
    snapshot->type = number ? (gc__snapshot_type *)(snapshot->types.words + *number * GC__SNAPSHOT_TYPE_WORDS)
                            : gc__snapshot_type_add(snapshot, key, gc__object_name(object));
    snapshot->last_type = snapshot->type ? key : 0;
    return snapshot->type;
}

/* The name of a word of the holder: that of the field there, else "+16". */
GC__FN size_t gc__snapshot_word_name(gc__snapshot *snapshot, size_t offset) {
    uint32_t *known = &snapshot->type->words[offset / 8];
    if (!*known) {
        char text[128];
        size_t length;
        const char *name = gc__field_name(snapshot->holder, offset, &length);
        if (name)
            snprintf(text, sizeof text, "%.*s", (int)length, name);
        else
            snprintf(text, sizeof text, "+%zu", offset);
        *known = gc__profile_type_add(&snapshot->names, text);
    }
    return *known;
}

/* Edges. */

/* Puts a row of numbers, and what follows the last one. */
GC__INLINED void gc__snapshot_row(gc__output *out, const size_t *numbers, size_t count, const char *tail,
                                  size_t tail_bytes) {
    char text[2 * GC__ROW_BYTES_MAX], *end = text + GC__ROW_BYTES_MAX, *at = end - tail_bytes;
    if (!gc__output_reserve(out, GC__ROW_BYTES_MAX)) return;
    memcpy(at, tail, tail_bytes);
    for (size_t i = count; i-- > 0;) {
        at = gc__digits(at, numbers[i]);
        if (i) *--at = ',';
    }
    memcpy(out->buffer + out->used, at,
           GC__ROW_BYTES_MAX); /* of constant size, which is faster than of the right one */
    out->used += (size_t)(end - at);
}

/* `name`: the number of a name; for an element, its index. */
GC__FN void gc__snapshot_edge(gc__snapshot *snapshot, int kind, size_t name, size_t node) {
    snapshot->edges_of_holder++;
    if (!snapshot->writing) return;
    snapshot->edges++;
    const size_t row[] = {(size_t)kind, name, node * GC__NODE_FIELDS};
    gc__snapshot_row(snapshot->out, row, 3, ",\n", 2);
}

GC__FN size_t gc__snapshot_node_of(const gc__snapshot *snapshot, uintptr_t object) {
    return gc__root_groups(&snapshot->roots) + gc__number_of(&snapshot->numbering, object);
}

GC__FN void gc__snapshot_slot(gc__snapshot *snapshot, const gc_word *slot, bool value, bool weak) {
    uintptr_t ref = gc__slot_ref(slot, value);
    if (!ref || !gc__is_numbered(&snapshot->numbering, ref)) return;
    size_t offset = (uintptr_t)slot - snapshot->holder, name = offset / 8;
    int kind = GC__EDGE_ELEMENT;
#if GC_HAS_MODEL
    bool is_element = false;
#else
    const gc_type *type = gc__object_type(snapshot->holder);
    bool is_element = type->element_bytes && offset >= type->bytes && offset < gc__object_bytes(snapshot->holder);
    if (is_element) name = (offset - type->bytes) / type->element_bytes;
#endif
    if (weak) {
        kind = GC__EDGE_WEAK;
        name = gc__profile_type_add(&snapshot->names, "weak");
    } else if (!is_element && offset < GC__MASKED_WORDS * 8) {
        kind = GC__EDGE_PROPERTY;
        name = snapshot->writing ? gc__snapshot_word_name(snapshot, offset) : 0;
    } else if (!is_element) {
        name = snapshot->edges_of_holder; /* a slot that a trace function has reported, perhaps outside the object */
    }
    gc__snapshot_edge(snapshot, kind, name, snapshot->writing ? gc__snapshot_node_of(snapshot, ref) : 0);
}

GC__FN void gc__snapshot_visit(gc_visitor *visitor, void *slot, size_t count, unsigned flags) {
    if (flags & GC__SLOT_ENTRIES) {
        gc__entries_visit_apart(visitor, (const gc_weak_entries *)slot);
        return;
    }
    if (gc__visit_slots_of(visitor, slot, flags)) return;
    bool value = gc__flags_value(flags), weak = flags & GC_SLOT_WEAK;
    for (size_t i = 0; i < count; i++)
        gc__snapshot_slot((gc__snapshot *)visitor, gc__slot_at(slot, i, value), value, weak);
}

GC__INLINED void gc__snapshot_masked(void *snapshot, gc_word *slot, bool value) {
    if (*slot) gc__snapshot_slot((gc__snapshot *)snapshot, slot, value, false);
}

/* The holder's references. */
GC__FN void gc__snapshot_slots(gc__snapshot *snapshot, uintptr_t object) {
#if !GC_HAS_MODEL
    gc__slots_of(object, gc__snapshot_masked, snapshot);
    if (!gc__object_type(object)->trace) return;
#endif
    gc__object_trace(&gc__traced, object, &snapshot->visitor);
}

/* What dependent handles have the holder keep. Objects come by their addresses, as those pairs do. */
GC__FN void gc__snapshot_dependents(gc__snapshot *snapshot) {
    const gc__words *pairs = &snapshot->roots.dependents;
    for (; snapshot->dependent < pairs->count && pairs->words[snapshot->dependent] == snapshot->holder;
         snapshot->dependent += 2) {
        size_t name = gc__profile_type_add(&snapshot->names, "dependent");
        gc__snapshot_edge(snapshot, GC__EDGE_INTERNAL, name,
                          gc__snapshot_node_of(snapshot, pairs->words[snapshot->dependent + 1]));
    }
}

/* Nodes. */

GC__FN void gc__snapshot_node(gc__output *out, size_t kind, size_t name, size_t id, size_t bytes, size_t edges) {
    const size_t row[] = {kind, name, id, gc__min(bytes, UINT32_MAX), edges}; /* readers have 32 bits */
    gc__snapshot_row(out, row, sizeof row / sizeof *row, ",0,0,\n", 6);
}

/* An object keeps its number as long as it is not moved, so that snapshots can be compared. The heap may be too large for
   that. Even numbers are those of groups; the first two groups have 1 and 3. */
GC__FN size_t gc__snapshot_id(const gc__snapshot *snapshot, uintptr_t object) {
    bool fits = (gc__regions_used() << GC_REGION_SHIFT) / 4 < UINT32_MAX - 8;
    return 5 + 2 * (fits ? (object - gc__the_arena.base) / 8 : gc__number_of(&snapshot->numbering, object));
}

#define GC__SNAPSHOT_TEXT_BYTES 80

/* What a string contains, up to its first 0, and no more than its beginning. */
GC__FN size_t gc__snapshot_text(gc__snapshot *snapshot, uintptr_t object) {
#if GC_HAS_MODEL
    return (void)object, snapshot->type->name;
#else
    char text[GC__SNAPSHOT_TEXT_BYTES + 4];
    size_t length = gc__object_length(object), bytes = gc__min(length, GC__SNAPSHOT_TEXT_BYTES);
    memcpy(text, (const char *)object + snapshot->type->text_at, bytes);
    const char *end = (const char *)memchr(text, 0, bytes);
    if (end) return gc__profile_type_add_part(&snapshot->names, text, (size_t)(end - text));
    if (bytes == length) return gc__profile_type_add_part(&snapshot->names, text, bytes);
    for (int i = 0; i < 3 && (text[bytes - 1] & 0xC0) == 0x80; i++) bytes--; /* within a character */
    if (text[bytes - 1] & 0x80) bytes--;
    memcpy(text + bytes, "...", 3);
    return gc__profile_type_add_part(&snapshot->names, text, bytes + 3);
#endif
}

GC__FN bool gc__snapshot_object(void *context, uintptr_t object) {
    gc__snapshot *snapshot = (gc__snapshot *)context;
    if (snapshot->out->error || !gc__snapshot_hold(snapshot, object)) return false;
    gc__snapshot_slots(snapshot, object);
    gc__snapshot_dependents(snapshot);
    if (snapshot->writing) return true;
    if (snapshot->edges_of_holder) gc__numbering_holds(&snapshot->numbering, object);
    bool shown = snapshot->type->text_at && snapshot->names.texts_count < snapshot->texts_max;
    gc__snapshot_node(snapshot->out, shown ? GC__NODE_STRING : GC__NODE_OBJECT,
                      shown ? gc__snapshot_text(snapshot, object) : snapshot->type->name,
                      gc__snapshot_id(snapshot, object), gc__object_bytes(object), snapshot->edges_of_holder);
    return true;
}

/* False: there is no memory, or the file has failed. */
GC__FN bool gc__snapshot_objects(gc__snapshot *snapshot, bool writing) {
    snapshot->writing = writing;
    snapshot->dependent = 0;
    return gc__numbering_walk(&snapshot->numbering, writing, gc__snapshot_object, snapshot);
}

GC__FN void gc__snapshot_group_nodes(const gc__snapshot *snapshot) {
    for (size_t i = 0; i < gc__root_groups(&snapshot->roots); i++) {
        const gc__root_group *group = gc__root_group_at(&snapshot->roots, i);
        gc__snapshot_node(snapshot->out, GC__NODE_SYNTHETIC, group->name, i < 2 ? 2 * i + 1 : 2 * i, 0, group->count);
    }
}

GC__FN void gc__snapshot_group_edges(gc__snapshot *snapshot) {
    snapshot->writing = true;
    for (size_t i = 0; i < gc__root_groups(&snapshot->roots); i++)
        for (size_t at = gc__root_group_at(&snapshot->roots, i)->first; at;) {
            const uintptr_t *held = snapshot->roots.held.words + (at - 1) * GC__HELD_WORDS;
            uintptr_t what = held[GC__HELD_WHAT];
            size_t node = what & 1 ? what >> 1 : gc__snapshot_node_of(snapshot, what);
            gc__snapshot_edge(snapshot, (int)(held[GC__HELD_EDGE] & ((1 << GC__HELD_EDGE_BITS) - 1)),
                              held[GC__HELD_EDGE] >> GC__HELD_EDGE_BITS, node);
            at = held[GC__HELD_NEXT];
        }
}

/* The file. */

static const char gc__snapshot_meta[] =
    "{\"snapshot\":{\"meta\":{\"node_fields\":[\"type\",\"name\",\"id\",\"self_size\",\"edge_count\",\"trace_node_id\","
    "\"detachedness\"],\n"
    "\"node_types\":[[\"hidden\",\"array\",\"string\",\"object\",\"code\",\"closure\",\"regexp\",\"number\",\"native\","
    "\"synthetic\","
    "\"concatenated string\",\"sliced string\",\"symbol\",\"bigint\",\"object shape\",\"wasm object\"],\n"
    "\"string\",\"number\",\"number\",\"number\",\"number\",\"number\"],\n"
    "\"edge_fields\":[\"type\",\"name_or_index\",\"to_node\"],\n"
    "\"edge_types\":[[\"context\",\"element\",\"property\",\"internal\",\"hidden\",\"shortcut\",\"weak\"],\"string_or_"
    "number\",\"node\"],\n"
    "\"trace_function_info_fields\":[\"function_id\",\"name\",\"script_name\",\"script_id\",\"line\",\"column\"],\n"
    "\"trace_node_fields\":[\"id\",\"function_info_index\",\"count\",\"size\",\"children\"],\n"
    "\"sample_fields\":[\"timestamp_us\",\"last_assigned_id\"],\n"
    "\"location_fields\":[\"object_index\",\"script_id\",\"line\",\"column\"]},\n";

GC__FN void gc__snapshot_strings(gc__snapshot *snapshot) {
    gc__put_text(snapshot->out,
                 "\"trace_function_infos\":[],\n\"trace_tree\":[],\n\"samples\":[],\n\"locations\":[],\n\"strings\":[");
    for (size_t i = 0; i < snapshot->names.types_count; i++) {
        if (i) gc__put_text(snapshot->out, ",\n");
        gc__put_json(snapshot->out, gc__profile_type_name(&snapshot->names, (uint32_t)i));
    }
    gc__put_text(snapshot->out, "]}\n");
}

/* Takes back the comma after a list's last number. */
GC__FN void gc__snapshot_list_end(gc__output *out) {
    out->used -= 2; /* they are still in the buffer, which is emptied only when something is written to it */
    gc__put_text(out, "],\n");
}

/* False: there is no memory, or the file has failed. */
GC__FN bool gc__snapshot_graph(gc__snapshot *snapshot) {
    gc__output *out = snapshot->out;
    char counts[96];
    size_t nodes = gc__root_groups(&snapshot->roots) + snapshot->numbering.count;
    gc__put_text(out, gc__snapshot_meta);
    uint64_t counts_at = gc__output_position(out);
    gc__put_format(out, "%95s\n\"nodes\":[", "");
    gc__snapshot_group_nodes(snapshot);
    if (!gc__snapshot_objects(snapshot, false)) return false;
    gc__snapshot_list_end(out);
    gc__put_text(out, "\"edges\":[");
    gc__snapshot_group_edges(snapshot);
    if (!gc__snapshot_objects(snapshot, true)) return false;
    gc__snapshot_list_end(out);
    gc__snapshot_strings(snapshot);
    int length = snprintf(counts, sizeof counts, "\"node_count\":%zu,\"edge_count\":%zu,\"trace_function_count\":0},",
                          nodes, snapshot->edges);
    gc__output_patch(out, counts_at, counts, (size_t)length);
    return true;
}

GC__FN bool gc__snapshot_make(gc__snapshot *snapshot, gc_heap *const *heaps, size_t count) {
    if (!gc__profile_open(&snapshot->names) || !gc__numbering_make(&snapshot->numbering, heaps, count)) return false;
    for (size_t i = 0; i < count; i++) snapshot->texts_max += gc__held_bytes(heaps[i]) / 64;
    if (snapshot->texts_max < (size_t)1 << 20) snapshot->texts_max = (size_t)1 << 20;
    snapshot->roots.numbering = &snapshot->numbering;
    snapshot->roots.names = &snapshot->names;
    return gc__root_tree_make(&snapshot->roots, heaps, count) && gc__snapshot_graph(snapshot);
}

/* The heaps are stopped. Without a collection, at the end or for want of memory, the snapshot has the dead, too. */
GC__FN void gc__write_snapshot(gc_heap *const *heaps, size_t count, bool at_end, gc__output *output) {
    gc__snapshot snapshot;
    memset(&snapshot, 0, sizeof snapshot);
    snapshot.visitor.visit = gc__snapshot_visit;
    snapshot.out = output;
    snapshot.hides_texts = __atomic_load_n(&gc__the_profile.hides_texts, __ATOMIC_RELAXED);
    for (size_t i = 0; i < count; i++) {
        const gc__request request = gc__request_stopped(2, GC_REASON_INDUCED, false);
        if (!at_end) gc__collect_stopped(heaps[i], &request);
        gc__heap_flush(heaps[i]);
    }
    if (!gc__snapshot_make(&snapshot, heaps, count)) gc__output_fail(output, output->error ? output->error : ENOMEM);
    gc__numbering_free(&snapshot.numbering);
    gc__root_tree_free(&snapshot.roots);
    gc__profile_free(&snapshot.names);
    gc__words_free(&snapshot.types);
    gc__map_free(&snapshot.type_numbers);
}
