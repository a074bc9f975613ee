/* Roots: what keeps objects alive. */
#pragma once

#include "threads.h"
#include "handles.h"
#include "slots.h"

typedef struct gc__dac_root_walk {
    gc_dac *dac;
    gc__dac_copy *copy;
    uint64_t heap;
    bool (*visit)(void *context, const gc_dac_root *root);
    void *context;
    const gc_dac_thread *thread; /* whose roots are reported; NULL: nobody's */
    bool stopped;
} gc__dac_root_walk;

GC__DAC_FN gc_dac_root gc__dac_root_new(const gc__dac_root_walk *walk, gc_dac_root_kind kind) {
    gc_dac_root root;
    memset(&root, 0, sizeof root);
    root.kind = kind;
    root.certain = true;
    root.thread = walk->thread ? walk->thread->address : 0;
    root.thread_name = walk->thread ? walk->thread->name : "";
    root.function = root.file = root.variable = "";
    return root;
}

/* Reports the root if its word refers to the heap. False: the visitor wants no more. */
GC__DAC_FN bool gc__dac_root_report(gc__dac_root_walk *walk, gc_dac_root *root) {
    root->reference =
        root->value ? gc__dac_value(walk->dac, walk->copy, root->word) : gc__dac_reference(walk->copy, root->word);
    const gc__dac_place *place = root->reference ? gc__dac_place_of(walk->copy, root->reference) : NULL;
    if (!place || place->heap != walk->heap) return true;
    walk->stopped = !walk->visit(walk->context, root);
    return !walk->stopped;
}

/* The root is a word that may be anything: a plain reference, or else a value. */
GC__DAC_FN void gc__dac_root_guess(const gc__dac_copy *copy, gc_dac_root *root) {
    root->certain = false;
    root->interior = root->pinned = true;
    root->value = gc__dac_fact(copy, GC__DAC_FACT_HAS_VALUES) && !gc__dac_reference(copy, root->word);
}

/* What the flags say of the root, whose word is known. */
GC__DAC_FN void gc__dac_root_flags(const gc__dac_copy *copy, gc_dac_root *root, uint64_t flags) {
    root->interior = (flags & gc__dac_fact(copy, GC__DAC_FACT_SLOT_INTERIOR)) != 0;
    root->pinned = (flags & gc__dac_fact(copy, GC__DAC_FACT_SLOT_PINNED)) != 0;
    root->value = (flags & gc__dac_fact(copy, GC__DAC_FACT_SLOT_VALUE)) != 0;
    if (flags & gc__dac_fact(copy, GC__DAC_FACT_SLOT_CONSERVATIVE)) gc__dac_root_guess(copy, root);
}

/* The distance of slots with these flags. */
GC__DAC_FN uint64_t gc__dac_slot_bytes(const gc__dac_copy *copy, uint64_t flags) {
    uint64_t bytes = gc__dac_fact(copy, GC__DAC_FACT_VALUE_BYTES);
    return bytes && flags & gc__dac_fact(copy, GC__DAC_FACT_SLOT_VALUE) ? bytes : 8;
}

/* The i-th of "list, cell". */
GC__DAC_FN const char *gc__dac_name_of(gc_dac *dac, const char *names, uint64_t i) {
    for (; i && *names; i--) {
        names += gc__name_bytes(names);
        names += *names == ',';
    }
    names += strspn(names, " ");
    return strchr(names, ',') ? gc__dac_format(dac, "%.*s", (int)gc__name_bytes(names), names) : names;
}

/* Words on a stack, or in registers, that may be references. */
GC__DAC_FN bool gc__dac_root_words(gc__dac_root_walk *walk, gc_dac_root_kind kind, uint64_t from, uint64_t end) {
    uint64_t chunk[512];
    from = (from + 7) & ~(uint64_t)7;
    if (end > from && end - from > GC__DAC_STACK_BYTES) end = from + GC__DAC_STACK_BYTES;
    while (from && end > from && end - from >= 8) {
        size_t bytes = end - from < sizeof chunk ? (size_t)(end - from) & ~(size_t)7 : sizeof chunk;
        size_t got = gc__dac_copy_memory(walk->dac, from, chunk, bytes) / 8;
        if (!gc__dac_step(walk->dac, got + 1)) return false;
        for (size_t i = 0; i < got; i++) {
            gc_dac_root root = gc__dac_root_new(walk, kind);
            root.slot = from + 8 * i;
            root.word = chunk[i];
            gc__dac_root_guess(walk->copy, &root);
            if (!gc__dac_root_report(walk, &root)) return false;
        }
        if (got * 8 < bytes)
            return gc__dac_fail(walk->dac, "the stack is not readable at 0x%llx: roots on it are left out%s",
                                (unsigned long long)(from + 8 * got), walk->dac->complaint);
        from += bytes;
    }
    return true;
}

GC__DAC_FN bool gc__dac_root_registers(gc__dac_root_walk *walk, gc_dac_root_kind kind, const uint64_t *words,
                                       unsigned count) {
    for (unsigned i = 0; i < count; i++) {
        gc_dac_root root = gc__dac_root_new(walk, kind);
        root.word = words[i];
        root.index = i;
        gc__dac_root_guess(walk->copy, &root);
        if (!gc__dac_root_report(walk, &root)) return false;
    }
    return true;
}

/* The variables of a frame of GC_ROOTS. */
GC__DAC_FN bool gc__dac_frame_roots(gc__dac_root_walk *walk, const gc_dac_frame *frame, uint64_t site) {
    gc_dac *dac = walk->dac;
    const gc__dac_copy *copy = walk->copy;
    uint64_t flags = gc__dac_member32(dac, copy, site, GC__DAC_AT_site_flags);
    uint64_t slots = gc__dac_member(dac, copy, frame->address, GC__DAC_AT_frame_slots);
    bool array = (flags & gc__dac_fact(copy, GC__DAC_FACT_SLOT_CONTIGUOUS)) != 0;
    bool named = !array || strchr(frame->names, ','); /* each variable, not the array */
    uint64_t slot_bytes = array ? gc__dac_slot_bytes(copy, flags) : 8;
    bool derived = (flags & gc__dac_fact(copy, GC__DAC_FACT_SLOT_DERIVED)) != 0; /* what follows the base keeps nothing */
    for (uint64_t i = 0; i < (derived ? 1 : frame->count) && gc__dac_step(dac, 1); i++) {
        gc_dac_root root = gc__dac_root_new(walk, GC_DAC_ROOT_FRAME);
        uint64_t entry = 0;
        if (!gc__dac_load(dac, slots + slot_bytes * i, &entry, sizeof entry)) return true;
        root.slot = array ? slots + slot_bytes * i : entry;
        root.word = array ? entry : gc__dac_u64(dac, entry);
        gc__dac_root_flags(copy, &root, flags);
        root.index = i;
        root.function = frame->function;
        root.file = frame->file;
        root.line = frame->line;
        if (!root.word) continue;
        root.variable = named ? gc__dac_name_of(dac, frame->names, i) : frame->names;
        if (!gc__dac_root_report(walk, &root)) return false;
    }
    return true;
}

/* A record of compiled code: its registers, and the stack from its stack pointer to where the next record or the stack ends.
   Which of these are references only stack maps could say. */
GC__DAC_FN bool gc__dac_code_roots(gc__dac_root_walk *walk, const gc_dac_frame *frame) {
    gc_dac *dac = walk->dac;
    const gc__dac_copy *copy = walk->copy;
    uint64_t words[GC_DAC_REGISTERS], count = gc__dac_fact(copy, GC__DAC_FACT_CODE_REGISTERS);
    uint64_t sp_number = gc__dac_fact(copy, GC__DAC_FACT_CODE_STACK_POINTER),
             known = gc__dac_member32(dac, copy, frame->address, GC__DAC_AT_code_known);
    if (!count || count > GC_DAC_REGISTERS || sp_number >= count) return true;
    if (!gc__dac_load(dac, gc__dac_at(copy, frame->address, GC__DAC_AT_code_registers), words, (size_t)count * 8))
        return true;
    uint64_t sp = words[sp_number], next = gc__dac_member(dac, copy, frame->address, GC__DAC_AT_code_previous);
    for (unsigned i = 0; i < count; i++)
        if (!(known >> i & 1)) words[i] = 0;
    words[sp_number] = 0;
    if (!next && frame->stack) next = gc__dac_member(dac, copy, frame->stack, GC__DAC_AT_stack_base);
    if (!next && !frame->stack && walk->thread) next = walk->thread->stack_base;
    if (!gc__dac_root_registers(walk, GC_DAC_ROOT_COMPILED, words, (unsigned)count)) return false;
    return next <= sp || gc__dac_root_words(walk, GC_DAC_ROOT_COMPILED, sp, next) || !walk->stopped;
}

GC__DAC_FN bool gc__dac_roots_of_frame(void *context, const gc_dac_frame *frame, uint64_t site) {
    gc__dac_root_walk *walk = (gc__dac_root_walk *)context;
    if (frame->kind == GC_DAC_FRAME_ROOTS) return gc__dac_frame_roots(walk, frame, site);
    return frame->kind != GC_DAC_FRAME_COMPILED || gc__dac_code_roots(walk, frame);
}

/* Registers that were saved at an address. */
GC__DAC_FN bool gc__dac_saved_roots(gc__dac_root_walk *walk, uint64_t address) {
    uint64_t saved[GC_DAC_REGISTERS], count = gc__dac_fact(walk->copy, GC__DAC_FACT_REGISTERS);
    if (!count || count > GC_DAC_REGISTERS || !gc__dac_load(walk->dac, address, saved, (size_t)count * 8)) return true;
    return gc__dac_root_registers(walk, GC_DAC_ROOT_STACK, saved, (unsigned)count);
}

/* What a conservative scan of a thread would find: registers, and the stack. */
GC__DAC_FN bool gc__dac_stack_roots(gc__dac_root_walk *walk, const gc_dac_thread *thread) {
    gc_dac_native native;
    if (!thread->stack_base || !thread->stack_pointer)
        return gc__dac_fail(walk->dac, "the native stack of the thread `%s` is a root, but its bounds are not known",
                            thread->name);
    if (thread->running) {
        gc__dac_native_find(walk->dac, thread->tid, &native);
        if (!gc__dac_root_registers(walk, GC_DAC_ROOT_STACK, native.registers, native.register_count)) return false;
    } else if (!gc__dac_saved_roots(walk, gc__dac_at(walk->copy, thread->address, GC__DAC_AT_thread_registers))) {
        return false;
    }
    return gc__dac_root_words(walk, GC_DAC_ROOT_STACK, thread->stack_pointer, thread->stack_base);
}

/* The native part of a stack that was left, and is scanned. */
GC__DAC_FN bool gc__dac_left_roots(gc__dac_root_walk *walk, uint64_t stack, bool conservative) {
    if (!conservative) return true;
    uint64_t base = gc__dac_member(walk->dac, walk->copy, stack, GC__DAC_AT_stack_base);
    uint64_t pointer = gc__dac_member(walk->dac, walk->copy, stack, GC__DAC_AT_stack_stack_pointer);
    if (!base || !pointer) return true;
    if (gc__dac_has(walk->copy, GC__DAC_AT_stack_registers) &&
        !gc__dac_saved_roots(walk, gc__dac_at(walk->copy, stack, GC__DAC_AT_stack_registers)))
        return false;
    return gc__dac_root_words(walk, GC_DAC_ROOT_STACK, pointer, base);
}

GC__DAC_FN bool gc__dac_roots_of_thread(void *context, const gc_dac_thread *thread) {
    gc__dac_root_walk *walk = (gc__dac_root_walk *)context;
    uint64_t left = gc__dac_left_stack(walk->dac, walk->copy, thread->address);
    if (thread->unbound) return true; /* the frames of such a record are no roots */
    walk->thread = thread;
    gc__dac_each_frame(walk->dac, walk->copy, thread, gc__dac_roots_of_frame, walk);
    if (!walk->stopped && thread->conservative) gc__dac_stack_roots(walk, thread);
    if (!walk->stopped && left)
        gc__dac_left_roots(walk, left, gc__dac_thread_is_conservative(walk->dac, walk->copy, thread->address));
    walk->thread = NULL;
    return !walk->stopped;
}

GC__DAC_FN bool gc__dac_roots_of_stack(void *context, uint64_t stack) {
    gc__dac_root_walk *walk = (gc__dac_root_walk *)context;
    gc__dac_each_left_frame(walk->dac, walk->copy, stack, gc__dac_roots_of_frame, walk);
    bool conservative = gc__dac_member8(walk->dac, walk->copy, stack, GC__DAC_AT_stack_conservative) != 0;
    if (!walk->stopped) gc__dac_left_roots(walk, stack, conservative);
    return !walk->stopped;
}

GC__DAC_FN bool gc__dac_root_of_handle(void *context, const gc_dac_handle *handle, uint64_t place) {
    gc__dac_root_walk *walk = (gc__dac_root_walk *)context;
    bool counted = handle->kind == gc__dac_fact(walk->copy, GC__DAC_FACT_HANDLE_REF_COUNTED);
    bool pinned = handle->kind == gc__dac_fact(walk->copy, GC__DAC_FACT_HANDLE_PINNED);
    if (!counted && !pinned && handle->kind != gc__dac_fact(walk->copy, GC__DAC_FACT_HANDLE_STRONG)) return true;
    gc_dac_root root = gc__dac_root_new(walk, GC_DAC_ROOT_HANDLE);
    root.slot = place;
    root.word = handle->object;
    root.handle = handle->handle;
    root.handle_kind = handle->kind;
    root.handle_kind_name = handle->kind_name;
    root.pinned = pinned;
    root.certain = !counted;
    return gc__dac_root_report(walk, &root);
}

GC__DAC_FN bool gc__dac_root_of_finalizer(void *context, const gc_dac_finalizer *finalizer, uint64_t slot) {
    gc__dac_root_walk *walk = (gc__dac_root_walk *)context;
    if (finalizer->state == GC_DAC_REGISTERED) return false;
    gc_dac_root root = gc__dac_root_new(walk, GC_DAC_ROOT_FINALIZER);
    root.slot = slot;
    root.word = finalizer->object;
    return gc__dac_root_report(walk, &root);
}

GC__DAC_FN void gc__dac_global_roots(gc__dac_root_walk *walk) {
    gc_dac *dac = walk->dac;
    uint64_t collector = gc__dac_member(dac, walk->copy, walk->heap, GC__DAC_AT_heap_collector);
    uint64_t list = gc__dac_at(walk->copy, collector, GC__DAC_AT_collector_globals);
    uint64_t words = gc__dac_member(dac, walk->copy, list, GC__DAC_AT_words_words);
    uint64_t count = gc__dac_member(dac, walk->copy, list, GC__DAC_AT_words_count);
    for (uint64_t i = 0; i < count && count - i >= 3 && gc__dac_step(dac, 1); i += 3) {
        uint64_t entry[3], word;
        if (!gc__dac_load(dac, words + 8 * i, entry, sizeof entry)) return;
        uint64_t slot_bytes = gc__dac_slot_bytes(walk->copy, entry[2]);
        for (uint64_t j = 0; j < entry[1] && gc__dac_step(dac, 1); j++) {
            gc_dac_root root = gc__dac_root_new(walk, GC_DAC_ROOT_GLOBAL);
            if (!gc__dac_load(dac, entry[0] + slot_bytes * j, &word, sizeof word)) break;
            root.slot = entry[0] + slot_bytes * j;
            root.word = word;
            gc__dac_root_flags(walk->copy, &root, entry[2]);
            root.index = j;
            if (!gc__dac_root_report(walk, &root)) return;
        }
    }
}

/* A slot that scan_roots has reported: what it holds now, if it can be read. */
GC__DAC_FN bool gc__dac_scanned_root(gc__dac_root_walk *walk, uint64_t slot, bool value) {
    gc_dac_root root = gc__dac_root_new(walk, GC_DAC_ROOT_SCANNED);
    if (gc__dac_copy_memory(walk->dac, slot, &root.word, sizeof root.word) < sizeof root.word) return true;
    root.slot = slot;
    root.value = value;
    root.certain = false;
    return gc__dac_root_report(walk, &root);
}

/* A stack of values that it has reported. The host may have freed it since. */
GC__DAC_FN bool gc__dac_scanned_stack(gc__dac_root_walk *walk, uint64_t stack) {
    gc_dac *dac = walk->dac;
    uint8_t record[32];
    if (!gc__dac_has(walk->copy, GC__DAC_AT_value_stack_flags) ||
        gc__dac_copy_memory(dac, stack, record, sizeof record) < sizeof record)
        return true;
    uint64_t base = gc__dac_member(dac, walk->copy, stack, GC__DAC_AT_value_stack_base);
    uint64_t top = gc__dac_member(dac, walk->copy, stack, GC__DAC_AT_value_stack_top);
    uint64_t bytes = gc__dac_member32(dac, walk->copy, stack, GC__DAC_AT_value_stack_entry_bytes);
    uint64_t flags = gc__dac_member32(dac, walk->copy, stack, GC__DAC_AT_value_stack_flags);
    bool value = (flags & gc__dac_fact(walk->copy, GC__DAC_FACT_SLOT_VALUE)) != 0;
    if (!bytes) bytes = gc__dac_slot_bytes(walk->copy, flags);
    for (uint64_t at = base, word; at < top && top - at >= 8 && !(base % 8) && !(bytes % 8); at += bytes) {
        if (gc__dac_copy_memory(dac, at, &word, sizeof word) < sizeof word) return true;
        if (!gc__dac_step(dac, 1) || !gc__dac_scanned_root(walk, at, value)) return false;
    }
    return true;
}

/* A list of the collector's. */
typedef struct gc__dac_words {
    uint64_t words, count;
} gc__dac_words;

GC__DAC_FN gc__dac_words gc__dac_words_of(gc__dac_root_walk *walk, unsigned member) {
    uint64_t cycle = gc__dac_member(walk->dac, walk->copy, walk->heap, GC__DAC_AT_heap_cycle);
    uint64_t list = gc__dac_at(walk->copy, cycle, member);
    gc__dac_words found = {gc__dac_member(walk->dac, walk->copy, list, GC__DAC_AT_words_words),
                           gc__dac_member(walk->dac, walk->copy, list, GC__DAC_AT_words_count)};
    return found;
}

/* The slots from one number to another in the list of roots. Those that were entries of stacks are left out, since what is in
   use of a stack is known. */
GC__DAC_FN bool gc__dac_scanned_slots(gc__dac_root_walk *walk, gc__dac_words roots, gc__dac_words *stacks,
                                      uint64_t from, uint64_t to) {
    uint64_t stack_words = gc__dac_fact(walk->copy, GC__DAC_FACT_STACK_WORDS);
    for (uint64_t i = from; i < to && i < roots.count;) {
        uint64_t of_stack[2] = {roots.count, roots.count}, slot;
        while (stacks->count >= stack_words) {
            if (!gc__dac_step(walk->dac, 1)) return false;
            if (!gc__dac_load(walk->dac, stacks->words + 8 * 3, of_stack, sizeof of_stack)) return false;
            if (of_stack[1] > i) break;
            stacks->words += 8 * stack_words;
            stacks->count -= stack_words;
        }
        for (; i < of_stack[0] && i < to && i < roots.count; i++)
            if (!gc__dac_step(walk->dac, 1) || !gc__dac_load(walk->dac, roots.words + 8 * i, &slot, sizeof slot) ||
                !gc__dac_scanned_root(walk, slot & ~(uint64_t)7, slot & 1))
                return false;
        if (stacks->count < stack_words) break;
        i = of_stack[1];
    }
    return true;
}

/* What scan_roots has reported to the last collection. */
GC__DAC_FN void gc__dac_scanned_roots(gc__dac_root_walk *walk) {
    uint64_t stack_words = gc__dac_fact(walk->copy, GC__DAC_FACT_STACK_WORDS);
    if (stack_words < 5 || !gc__dac_has(walk->copy, GC__DAC_AT_cycle_stacks)) return;
    gc__dac_words reported = gc__dac_words_of(walk, GC__DAC_AT_cycle_reported);
    gc__dac_words roots = gc__dac_words_of(walk, GC__DAC_AT_cycle_roots);
    gc__dac_words stacks = gc__dac_words_of(walk, GC__DAC_AT_cycle_stacks), rest = stacks;
    for (uint64_t i = 0; i < reported.count && reported.count - i >= 2; i += 2) {
        uint64_t pair[2];
        if (!gc__dac_step(walk->dac, 1) || !gc__dac_load(walk->dac, reported.words + 8 * i, pair, sizeof pair) ||
            !gc__dac_scanned_slots(walk, roots, &rest, pair[0], pair[1]))
            return;
    }
    for (uint64_t i = 0, stack; i < stacks.count && gc__dac_step(walk->dac, 1); i += stack_words)
        if (!gc__dac_load(walk->dac, stacks.words + 8 * i, &stack, sizeof stack) || !gc__dac_scanned_stack(walk, stack))
            return;
}

GC_DAC_API bool gc_dac_roots(gc_dac *dac, const gc_dac_heap *heap,
                             bool (*visit)(void *context, const gc_dac_root *root), void *context) {
    gc__dac_root_walk walk = {dac, gc__dac_copy_of(dac, heap), heap->address, visit, context, NULL, false};
    if (!walk.copy) return gc__dac_end(dac);
    gc__dac_each_thread(dac, walk.copy, heap->address, gc__dac_roots_of_thread, &walk);
    if (!walk.stopped) gc__dac_each_stack(dac, walk.copy, heap->address, gc__dac_roots_of_stack, &walk);
    if (!walk.stopped) gc__dac_global_roots(&walk);
    if (!walk.stopped) gc__dac_each_handle(dac, walk.copy, heap->address, gc__dac_root_of_handle, &walk);
    if (!walk.stopped) gc__dac_each_finalizer(dac, walk.copy, heap->address, gc__dac_root_of_finalizer, &walk);
    if (gc__dac_member(dac, walk.copy, heap->address, GC__DAC_AT_heap_scan_roots)) {
        if (!walk.stopped) gc__dac_scanned_roots(&walk);
        gc__dac_fail(
            dac, "this heap has a scan_roots callback, whose roots only the program knows: the slots that it reported "
                 "to the last collection are taken for perhaps roots, and what others keep looks lost. Roots of "
                 "gc_roots_add are seen");
    }
    return gc__dac_end_names(dac);
}
