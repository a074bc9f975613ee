/* Phase "gather": visits every root once, into three lists, before anything is condemned, because pins decide
   verdicts and interior pointers are resolved by the mark bits that the trace is about to clear.
   roots: slots, bit 0 set if they hold tagged values;
   interior: triples {slot, bit 0 as well; offset in its object; object};
   pins: objects, bit 0 set if a conservative word found it. */
#pragma once

#include "../space/slots.h"
#include "../space/index.h"
#include "../threads/frames.h"
#include "collector.h"
#include "shade.h"
#include "value_stacks.h"

#define GC__PIN_CONSERVATIVE 1

typedef struct gc__root_visitor {
    gc_visitor visitor;
    gc_heap *heap;
    bool failed; /* there was no memory for the lists */
} gc__root_visitor;

/* Gathers plain references and tagged values, which nearly all roots are. */
GC__FN bool gc__root_gather_plain(gc__cycle *cycle, gc_word *slots, size_t count, bool value) {
    for (size_t i = 0; i < count; i++) {
        const gc_word *slot = gc__slot_at(slots, i, value);
        if (gc__in_arena(gc__slot_ref(slot, value)) && !gc__words_push(&cycle->roots, (uintptr_t)slot | value)) return false;
    }
    return true;
}

/* Returns the object to which a root refers, or 0 if it refers to none. Sets *ref to the address in the slot. */
GC__FN uintptr_t gc__root_object(gc_heap *heap, const gc_word *slot, unsigned flags, uintptr_t *ref) {
    bool guess = flags & GC_SLOT_CONSERVATIVE, boxed = GC_HAS_VALUES && guess && !gc__in_arena(*slot);
    *ref = gc__slot_ref(slot, boxed || (gc__flags_value(flags) && !guess));
    if (!gc__in_arena(*ref)) return 0;
    return flags & (GC_SLOT_INTERIOR | GC_SLOT_CONSERVATIVE) ? gc__heap_covering(heap, *ref) : *ref;
}

/* Gathers words that may refer to the inside of an object, or that pin it. */
GC__FN bool gc__root_gather_other(gc_heap *heap, gc_word *slots, size_t count, unsigned flags) {
    gc__cycle *cycle = heap->cycle;
    bool value = gc__flags_value(flags), guess = flags & GC_SLOT_CONSERVATIVE, ok = true;
    for (size_t i = 0; i < count; i++) {
        const gc_word *slot = gc__slot_at(slots, i, value);
        uintptr_t ref, object = gc__root_object(heap, slot, flags, &ref);
        if (!object) continue; /* an address in no heap, or between objects */
        if (flags & (GC_SLOT_PINNED | GC_SLOT_CONSERVATIVE)) {
            ok &= gc__words_push(&cycle->pins, object | (guess ? GC__PIN_CONSERVATIVE : 0));
        } else {
            ok &= gc__words_push(&cycle->interior, (uintptr_t)slot | value);
            ok &= gc__words_push(&cycle->interior, ref - object);
            ok &= gc__words_push(&cycle->interior, object);
        }
    }
    return ok;
}

/* Gathers a slot at a distance from an object, which may be of any size. The object's slot is not updated before the
   trace. */
GC__FN bool gc__root_gather_derived(gc__cycle *cycle, const gc__derived *pair) {
    uintptr_t object = *(gc_word *)pair->base;
    if (!gc__in_arena(object)) return true;
    return gc__words_push(&cycle->interior, (uintptr_t)pair->slot) &&
           gc__words_push(&cycle->interior, *(gc_word *)pair->slot - object) &&
           gc__words_push(&cycle->interior, object);
}

/* Gathers one plain slot among other kinds, out of line. */
GC__OUT_OF_LINE bool gc__root_gather_slot(gc__cycle *cycle, gc_word *slot, bool value) {
    return gc__root_gather_plain(cycle, slot, 1, value);
}

/* Gathers a weak table of the host: its strong slots are roots. */
GC__FN bool gc__root_gather_entries(gc__cycle *cycle, const gc_weak_entries *entries) {
    bool value = gc__flags_value(entries->flags), ok = gc__discovered_push(&cycle->entries, entries);
    if (entries->kind != GC_WEAK_VALUES && entries->kind != GC_WEAK_KEYS) return ok;
    for (size_t i = 0; i < entries->count; i++) {
        if (entries->kind == GC_WEAK_VALUES) ok &= gc__root_gather_slot(cycle, gc__entry_key(entries, i), value);
        if (entries->kind == GC_WEAK_KEYS) ok &= gc__root_gather_slot(cycle, gc__entry_value(entries, i), value);
    }
    return ok;
}

/* Gathers a value stack of the host. The ages to which its entries will refer are known after the trace. */
GC__FN bool gc__root_gather_stack(gc_heap *heap, const gc__stack_part *part) {
    gc__cycle *cycle = heap->cycle;
    bool value = gc__flags_value(part->stack->flags), ok = true;
    uintptr_t from = gc__stack_begin(part->stack, gc__roots_generation(heap)), first = cycle->roots.count;
    for (uintptr_t at = from; at < (uintptr_t)part->stack->top; at += gc__stack_entry_bytes(part->stack))
        ok &= gc__root_gather_slot(cycle, (gc_word *)at, value);
    return ok && gc__words_push(&cycle->stacks, (uintptr_t)part->stack) && gc__words_push(&cycle->stacks, from) &&
           gc__words_push(&cycle->stacks, (uintptr_t)part->frame) && gc__words_push(&cycle->stacks, first) &&
           gc__words_push(&cycle->stacks, cycle->roots.count);
}

GC__HOT void gc__root_stacks_note_bounds(gc__cycle *cycle) {
    const uintptr_t *words = cycle->stacks.words;
    for (size_t i = 0; i < cycle->stacks.count; i += GC__STACK_WORDS)
        gc__stack_note_bounds((gc_value_stack *)words[i], words[i + 1], (const void *)words[i + 2]);
}

/* Remembers the objects that are active: memory that they own is stored to without a barrier. */
GC__FN void gc__root_remember(gc_word *slots, size_t count, bool value) {
    for (size_t i = 0; i < count; i++) {
        uintptr_t object = gc__slot_ref(gc__slot_at(slots, i, value), value);
        if (gc__in_arena(object)) gc_remember(NULL, (void *)object);
    }
}

/* Gathers a root that is not simply a range of slots. Returns false if it is. */
GC__OUT_OF_LINE bool gc__root_gather_special(gc__root_visitor *roots, void *slot, size_t count, unsigned flags) {
    gc__cycle *cycle = roots->heap->cycle;
    bool ok = true;
    if (flags & GC__SLOT_ENTRIES)
        ok = gc__root_gather_entries(cycle, (const gc_weak_entries *)slot);
    else if (flags & GC__SLOT_STACK)
        ok = gc__root_gather_stack(roots->heap, (const gc__stack_part *)slot);
    else if (flags & GC__SLOT_DERIVED)
        ok = gc__root_gather_derived(cycle, (const gc__derived *)slot);
    else if (flags & GC_SLOT_ACTIVE)
        gc__root_remember((gc_word *)slot, count, gc__flags_value(flags));
    if (!ok) roots->failed = true;
    return flags & (GC__SLOT_ENTRIES | GC__SLOT_STACK | GC__SLOT_DERIVED);
}

GC__FN void gc__root_gather(gc_visitor *visitor, void *slot, size_t count, unsigned flags) {
    gc__root_visitor *roots = (gc__root_visitor *)visitor;
    if (GC__UNLIKELY(flags >= 2 * GC_SLOT_VALUE) && gc__root_gather_special(roots, slot, count, flags)) return;
    if (GC__UNLIKELY(roots->failed)) return; /* the collection is left out, and each slot would ask the system once more */
    bool plain = !(flags & (GC_SLOT_INTERIOR | GC_SLOT_PINNED | GC_SLOT_CONSERVATIVE));
    bool ok = plain ? gc__root_gather_plain(roots->heap->cycle, (gc_word *)slot, count, gc__flags_value(flags))
                    : gc__root_gather_other(roots->heap, (gc_word *)slot, count, flags);
    if (!ok) roots->failed = true;
}

/* A native stack that is scanned conservatively, from the stack pointer to `base`. */
typedef struct gc__stack_scan {
    gc_visitor *visitor;
    const uintptr_t *registers;
    const char *base;
} gc__stack_scan;

GC__HOT void gc__stack_word(gc__stack_scan *scan, uintptr_t word) {
    if (gc__in_arena(word) || (GC_HAS_VALUES && gc__in_arena(gc__shade_decode(word))))
        gc_visit(scan->visitor, &word, 1, GC_SLOT_CONSERVATIVE);
}

/* The scan reads whole stack frames, redzones included, which AddressSanitizer would report; and frames of a thread in
   preemptive mode, whose native code may be writing to variables that are no references, which ThreadSanitizer would
   report. */
__attribute__((no_sanitize("address", "thread"))) GC__FN void gc__stack_visit(gc__stack_scan *scan,
                                                                              char *stack_pointer) {
    for (int i = 0; i < GC__SAVED_STACK_POINTER; i++) gc__stack_word(scan, scan->registers[i]);
    for (char *at = stack_pointer; at + 8 <= scan->base; at += 8) {
        gc__stack_word(scan, *(gc_word *)(void *)at);
    }
}

GC__FN void gc__code_visit_all(gc_heap *heap, const gc_stack *stack, struct gc_code_frame *innermost,
                               gc_visitor *visitor) {
    if (!innermost) return;
    heap->threads->root_kind = "compiled frame";
    gc__compiled->visit(heap, stack, innermost, visitor);
}

/* Visits the roots of a stack that does not run. */
GC__FN void gc__stack_visit_left(gc_heap *heap, const gc_stack *stack, bool conservative, gc_visitor *visitor) {
    gc__stack_scan scan = {visitor, stack->registers, stack->base};
    if (stack->thread && stack->thread->stack == stack) return;
    gc__frames_visit(heap, stack->frames, visitor, stack, stack->stack_pointer, NULL);
    gc__code_visit_all(heap, stack, stack->code, visitor);
    heap->threads->root_kind = "native stack";
    if (conservative && stack->base && stack->stack_pointer) gc__stack_visit(&scan, stack->stack_pointer);
}

/* Lets the host report roots, and records which of the gathered ones are its own. If there is no memory for that,
   readers in other processes know less. `thread` is NULL if none is attached. */
GC__FN void gc__host_roots_visit(gc_heap *heap, gc_thread *thread, gc_visitor *visitor) {
    gc__cycle *cycle = heap->cycle;
    size_t first = cycle->roots.count;
    if (!heap->options.scan_roots) return;
    heap->threads->root_kind = "scan_roots callback";
    heap->options.scan_roots(heap->options.host, thread, visitor);
    if (cycle->roots.count == first || !gc__words_reserve(&cycle->reported, cycle->reported.count + 2)) return;
    gc__words_push(&cycle->reported, first);
    gc__words_push(&cycle->reported, cycle->roots.count);
}

GC__FN void gc__thread_visit(gc_heap *heap, gc_thread *thread, gc_visitor *visitor) {
    bool self = thread == gc__thread_self(heap),
         parked = __atomic_load_n(&gc__record(thread)->parked, __ATOMIC_RELAXED);
    bool native = !self && !parked && !gc__is_cooperative(thread);
    uintptr_t mine[GC__SAVED_REGISTERS] = {0};
    if (self) gc__save_registers(mine);
    gc__stack_scan scan = {visitor, self ? mine : thread->registers, gc__record(thread)->stack_base};
    char *stack_pointer = self ? (char *)mine[GC__SAVED_STACK_POINTER] : gc__record(thread)->stack_pointer;
    gc__frames_visit(heap, thread->frames, visitor, thread->stack, stack_pointer, native ? thread : NULL);
    gc__code_visit_all(heap, thread->stack, thread->code, visitor);
    heap->threads->root_kind = "native stack";
    bool conservative = gc__record(thread)->conservative || thread->stack->conservative;
    if (conservative && !stack_pointer)
        gc__fatal(&heap->options, "options.suspend has left a thread with a conservative stack in cooperative mode: have it call "
                                  "gc_safepoint, or stop in preemptive mode");
    if (conservative) gc__stack_visit(&scan, stack_pointer);
    gc__stack_visit_left(heap, &gc__record(thread)->own_stack, gc__record(thread)->conservative, visitor);
    gc__host_roots_visit(heap, thread, visitor);
}

/* Calls the visitor for the roots of the heap that belong to no thread, except handles and queued finalizers. */
GC__HOT void gc__roots_visit_shared(gc_heap *heap, gc_visitor *visitor) {
    gc__lock_take(&heap->threads->roots_lock);
    for (const gc_stack *stack = heap->threads->stacks; stack; stack = stack->next)
        gc__stack_visit_left(heap, stack, stack->conservative, visitor);
    gc__lock_release(&heap->threads->roots_lock);
    const gc_thread *bound = heap->threads->first;
    while (bound && gc__record(bound)->unbound) bound = gc__record(bound)->next;
    if (!bound) gc__host_roots_visit(heap, NULL, visitor);
    heap->threads->root_kind = "global slot";
    const gc__words *globals = &heap->collector->globals;
    gc__lock_take(&heap->threads->roots_lock);
    for (size_t i = 0; i < globals->count; i += 3)
        gc_visit(visitor, (void *)globals->words[i], globals->words[i + 1], (unsigned)globals->words[i + 2]);
    gc__lock_release(&heap->threads->roots_lock);
    heap->threads->root_kind = NULL;
}

/* Calls the visitor for every root of the heap except handles and queued finalizers. During the visit
   heap->threads->root_kind and root_site describe what reports the root. */
GC__HOT void gc__roots_visit(gc_heap *heap, gc_visitor *visitor) {
    for (gc_thread *thread = heap->threads->first; thread; thread = gc__record(thread)->next)
        if (!gc__record(thread)->unbound) gc__thread_visit(heap, thread, visitor);
    gc__roots_visit_shared(heap, visitor);
}

GC_API gc_result gc_roots_add(gc_heap *heap, void *slots, size_t count, unsigned flags) {
    GC__API_SCOPE("gc_roots_add");
    if (gc__is_null(heap, "gc_roots_add", "heap") || (count && gc__is_null(slots, "gc_roots_add", "slots")))
        return GC_ERROR_ARGUMENT;
    if ((uintptr_t)slots & 7)
        return gc__fail(GC_ERROR_MISUSE, "gc_roots_add: the slots at %p are not 8-byte aligned", slots);
    if (flags & GC__SLOT_DERIVED)
        return gc__fail(GC_ERROR_MISUSE,
                        "gc_roots_add: GC_SLOT_DERIVED is of GC_ROOTS_WITH only: add the base");
    if (count > (UINTPTR_MAX - (uintptr_t)slots) / gc__flags_bytes(flags))
        return gc__fail(GC_ERROR_MISUSE,
                        "gc_roots_add: %zu slots at %p would reach beyond the end of memory: give their number, not their bytes",
                        count, slots);
    gc__lock_take(&heap->threads->roots_lock);
    bool reserved = gc__words_reserve(&heap->collector->globals, heap->collector->globals.count + 3);
    if (reserved) {
        gc__words_push(&heap->collector->globals, (uintptr_t)slots);
        gc__words_push(&heap->collector->globals, count);
        gc__words_push(&heap->collector->globals, flags);
    }
    gc__lock_release(&heap->threads->roots_lock);
    if (reserved) return GC_OK;
    return gc__fail_memory("gc_roots_add", "the list of global roots");
}

GC__FN bool gc__roots_remove(gc__words *globals, uintptr_t slots) {
    for (size_t i = globals->count; i > 0; i -= 3) {
        uintptr_t *entry = &globals->words[i - 3];
        if (entry[0] != slots) continue;
        memmove(entry, entry + 3, (globals->count - i) * sizeof *entry);
        globals->count -= 3;
        return true;
    }
    return false;
}

GC_API gc_result gc_roots_remove(gc_heap *heap, void *slots) {
    GC__API_SCOPE("gc_roots_remove");
    if (gc__is_null(heap, "gc_roots_remove", "heap")) return GC_ERROR_ARGUMENT;
    gc__lock_take(&heap->threads->roots_lock);
    bool found = gc__roots_remove(&heap->collector->globals, (uintptr_t)slots);
    gc__lock_release(&heap->threads->roots_lock);
    if (found) return GC_OK;
    return gc__fail(GC_ERROR_MISUSE, "gc_roots_remove: no roots were added at %p", slots);
}
