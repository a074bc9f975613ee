/* Handles and finalizers. */
#pragma once

#include "heaps.h"
#include "types.h"

GC__DAC_FN const char *gc__dac_handle_kind_name(const gc__dac_copy *copy, unsigned kind) {
    static const struct {
        unsigned fact;
        const char *name;
    } kinds[] = {{GC__DAC_FACT_HANDLE_WEAK, "weak"},           {GC__DAC_FACT_HANDLE_WEAK_LONG, "weak long"},
                 {GC__DAC_FACT_HANDLE_STRONG, "strong"},       {GC__DAC_FACT_HANDLE_PINNED, "pinned"},
                 {GC__DAC_FACT_HANDLE_DEPENDENT, "dependent"}, {GC__DAC_FACT_HANDLE_REF_COUNTED, "ref-counted"}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        if (gc__dac_fact(copy, kinds[i].fact) == kind) return kinds[i].name;
    return "of a kind that this reader does not know";
}

typedef bool (*gc__dac_handle_function)(void *context, const gc_dac_handle *handle, uint64_t place);

/* The handles in one block of a segment. */
GC__DAC_FN bool gc__dac_block_handles(gc_dac *dac, const gc__dac_copy *copy, uint64_t segment, uint64_t block,
                                      uint8_t kind, gc__dac_handle_function f, void *context) {
    uint64_t count = gc__dac_fact(copy, GC__DAC_FACT_SEGMENT_BLOCK), first = block * count;
    uint64_t places = gc__dac_at(copy, segment, GC__DAC_AT_segment_places) + 8 * first;
    uint64_t tags = gc__dac_at(copy, segment, GC__DAC_AT_segment_tags) + 2 * first;
    uint64_t extras = gc__dac_u64(dac, gc__dac_at(copy, segment, GC__DAC_AT_segment_extras) + 8 * block);
    for (uint64_t i = 0; i < count; i++) {
        if (!gc__dac_step(dac, 1)) return false;
        uint64_t object = gc__dac_u64(dac, places + 8 * i);
        uint16_t tag = 0;
        if (object & gc__dac_fact(copy, GC__DAC_FACT_HANDLE_FREE)) continue;
        gc__dac_load(dac, tags + 2 * i, &tag, sizeof tag);
        gc_dac_handle handle;
        handle.handle = (places + 8 * i) | (uint64_t)tag << (gc__dac_fact(copy, GC__DAC_FACT_HANDLE_TAG_SHIFT) & 63);
        handle.kind = kind;
        handle.kind_name = gc__dac_handle_kind_name(copy, kind);
        handle.object = object;
        handle.extra = extras ? gc__dac_u64(dac, extras + 8 * i) : 0;
        if (!f(context, &handle, places + 8 * i)) return false;
    }
    return true;
}

/* Calls f for each handle of the heap until it returns false. */
GC__DAC_FN bool gc__dac_each_handle(gc_dac *dac, const gc__dac_copy *copy, uint64_t heap, gc__dac_handle_function f,
                                    void *context) {
    uint64_t handles = gc__dac_member(dac, copy, heap, GC__DAC_AT_heap_handles);
    uint64_t blocks = gc__dac_fact(copy, GC__DAC_FACT_SEGMENT_PLACES) / gc__dac_fact(copy, GC__DAC_FACT_SEGMENT_BLOCK);
    gc__dac_list list = gc__dac_list_begin(gc__dac_member(dac, copy, handles, GC__DAC_AT_handles_segments));
    bool more = list.at != 0;
    while (more) {
        for (uint64_t block = 0; block < blocks; block++) {
            uint8_t kind = 0;
            if (!gc__dac_step(dac, 1)) return false;
            if (!gc__dac_load(dac, gc__dac_at(copy, list.at, GC__DAC_AT_segment_kinds) + block, &kind, 1)) return false;
            if (kind < gc__dac_fact(copy, GC__DAC_FACT_HANDLE_KINDS) &&
                !gc__dac_block_handles(dac, copy, list.at, block, kind, f, context))
                return false;
        }
        more = gc__dac_list_next(dac, &list, gc__dac_member(dac, copy, list.at, GC__DAC_AT_segment_next),
                                 "segments of handles");
    }
    return true;
}

typedef struct gc__dac_handle_walk {
    bool (*visit)(void *context, const gc_dac_handle *handle);
    void *context;
} gc__dac_handle_walk;

GC__DAC_FN bool gc__dac_handle_visit(void *context, const gc_dac_handle *handle, uint64_t place) {
    const gc__dac_handle_walk *walk = (const gc__dac_handle_walk *)context;
    (void)place;
    return walk->visit(walk->context, handle);
}

GC_DAC_API bool gc_dac_handles(gc_dac *dac, const gc_dac_heap *heap,
                               bool (*visit)(void *context, const gc_dac_handle *handle), void *context) {
    gc__dac_handle_walk walk = {visit, context};
    const gc__dac_copy *copy = gc__dac_copy_of(dac, heap);
    if (copy) gc__dac_each_handle(dac, copy, heap->address, gc__dac_handle_visit, &walk);
    return gc__dac_end(dac);
}

/* The name of an object's type, as far as it can be known. */
GC__DAC_FN const char *gc__dac_object_type_name(gc_dac *dac, const gc__dac_copy *copy, uint64_t object) {
    uint64_t header = 0;
    if (gc__dac_fact(copy, GC__DAC_FACT_HAS_MODEL)) return "";
    gc__dac_copy_memory(dac, object, &header, sizeof header);
    const gc_dac_type *type = gc__dac_type_of(dac, copy, header);
    return type ? type->name : "";
}

typedef bool (*gc__dac_finalizer_function)(void *context, const gc_dac_finalizer *finalizer, uint64_t slot);

/* The pairs of a list, from the word `head` on. */
GC__DAC_FN bool gc__dac_pairs(gc_dac *dac, const gc__dac_copy *copy, uint64_t list, uint64_t head,
                              gc_dac_finalizer_state state, gc__dac_finalizer_function f, void *context) {
    uint64_t words = gc__dac_member(dac, copy, list, GC__DAC_AT_words_words);
    uint64_t count = gc__dac_member(dac, copy, list, GC__DAC_AT_words_count);
    for (uint64_t i = head; i < count && count - i >= 2 && gc__dac_step(dac, 1); i += 2) {
        uint64_t pair[2];
        gc_dac_finalizer finalizer;
        if (!gc__dac_load(dac, words + 8 * i, pair, sizeof pair)) return false;
        if (!pair[0]) continue; /* it has ended */
        memset(&finalizer, 0, sizeof finalizer);
        finalizer.state = state;
        finalizer.object = pair[0];
        finalizer.finalizer = pair[1];
        finalizer.type = gc__dac_object_type_name(dac, copy, pair[0]);
        if (!f(context, &finalizer, words + 8 * i)) return false;
    }
    return true;
}

/* Those that run. Their objects are in variables of the finalizers. */
GC__DAC_FN bool gc__dac_finalizing(gc_dac *dac, const gc__dac_copy *copy, uint64_t first, gc__dac_finalizer_function f,
                                   void *context) {
    gc__dac_list list = gc__dac_list_begin(first);
    bool more = first != 0;
    while (more) {
        gc_dac_finalizer finalizer;
        memset(&finalizer, 0, sizeof finalizer);
        finalizer.state = GC_DAC_RUNNING;
        finalizer.type = gc__dac_text(dac, gc__dac_member(dac, copy, list.at, GC__DAC_AT_finalizing_type), "");
        finalizer.thread = gc__dac_member(dac, copy, list.at, GC__DAC_AT_finalizing_thread);
        finalizer.started_ns = gc__dac_member(dac, copy, list.at, GC__DAC_AT_finalizing_started_ns);
        if (!f(context, &finalizer, 0)) return false;
        more = gc__dac_list_next(dac, &list, gc__dac_member(dac, copy, list.at, GC__DAC_AT_finalizing_next),
                                 "running finalizers");
    }
    return true;
}

/* Calls f for each finalizer until it returns false: first those that are due, whose objects are roots. */
GC__DAC_FN bool gc__dac_each_finalizer(gc_dac *dac, const gc__dac_copy *copy, uint64_t heap,
                                       gc__dac_finalizer_function f, void *context) {
    uint64_t all = gc__dac_member(dac, copy, heap, GC__DAC_AT_heap_finalizers);
    uint64_t due = gc__dac_at(copy, all, GC__DAC_AT_finalizers_due), bytes = gc__dac_fact(copy, GC__DAC_FACT_DUE_BYTES);
    if (!all) return true;
    for (unsigned i = 0; i < 2; i++) {
        uint64_t pairs = gc__dac_at(copy, due + i * bytes, GC__DAC_AT_due_pairs);
        uint64_t head = gc__dac_member(dac, copy, due + i * bytes, GC__DAC_AT_due_head);
        if (!gc__dac_pairs(dac, copy, pairs, head, i ? GC_DAC_DUE_CRITICAL : GC_DAC_DUE, f, context)) return false;
    }
    return gc__dac_finalizing(dac, copy, gc__dac_member(dac, copy, all, GC__DAC_AT_finalizers_running), f, context) &&
           gc__dac_pairs(dac, copy, gc__dac_at(copy, all, GC__DAC_AT_finalizers_registered), 0, GC_DAC_REGISTERED, f,
                         context);
}

typedef struct gc__dac_finalizer_walk {
    bool (*visit)(void *context, const gc_dac_finalizer *finalizer);
    void *context;
} gc__dac_finalizer_walk;

GC__DAC_FN bool gc__dac_finalizer_visit(void *context, const gc_dac_finalizer *finalizer, uint64_t slot) {
    const gc__dac_finalizer_walk *walk = (const gc__dac_finalizer_walk *)context;
    (void)slot;
    return walk->visit(walk->context, finalizer);
}

GC_DAC_API bool gc_dac_finalizers(gc_dac *dac, const gc_dac_heap *heap,
                                  bool (*visit)(void *context, const gc_dac_finalizer *finalizer), void *context) {
    gc__dac_finalizer_walk walk = {visit, context};
    const gc__dac_copy *copy = gc__dac_copy_of(dac, heap);
    if (copy) gc__dac_each_finalizer(dac, copy, heap->address, gc__dac_finalizer_visit, &walk);
    return gc__dac_end_names(dac);
}
