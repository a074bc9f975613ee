/* Stress: collecting far more often than needed, moving every survivor and making the memory that it left
   inaccessible, so that a reference that no root reported faults at its first use. The fault handler then reports
   which object it meant. */
#pragma once

#include "verify.h"

/* Walking the stack takes a microsecond or more. After this many allocations from known stacks, only some are looked
   at. */
#define GC__STRESS_WARM 10000
#define GC__STRESS_SKIPPED 16

/* Returns whether the key, which is not 0, occurs for the first time. */
GC__COLD bool gc__stress_is_new(gc_heap *heap, uintptr_t key) {
    gc__map *seen = &heap->stress->seen;
    gc__lock_take(&heap->threads->roots_lock);
    bool is_new = !gc__map_find(seen, key) && gc__map_reserve(seen, seen->count + 1);
    if (is_new) gc__map_put(seen, key);
    gc__lock_release(&heap->threads->roots_lock);
    return is_new;
}

GC__COLD bool gc__stack_is_new(gc_heap *heap) {
    size_t allocations = __atomic_add_fetch(&heap->stress->allocations, 1, __ATOMIC_RELAXED);
    if (allocations > GC__STRESS_WARM && allocations % GC__STRESS_SKIPPED) return false;
    bool is_new = gc__stress_is_new(heap, (uintptr_t)gc__os_stack_hash() | 1);
    if (is_new) __atomic_store_n(&heap->stress->allocations, 0, __ATOMIC_RELAXED);
    return is_new;
}

GC__COLD bool gc__location_is_new(gc_thread *thread) {
    GC__HOST_SCOPE;
    const gc_options *options = &thread->heap->options;
    uintptr_t location = options->debug.location(options->host, thread, NULL, 0);
    return location && gc__stress_is_new(thread->heap, location);
}

/* Returns the last place of an object that may have moved several times, or 0 if that is not known. The quarantine
   must be accessible. */
GC__FN uintptr_t gc__follow_forwarding(uintptr_t object) {
    while ((GC__WORD(object) & 3) == GC__FORWARD_TAG && gc__in_arena(GC__WORD(object))) {
        uintptr_t next = GC__WORD(object) - GC__FORWARD_TAG;
        const gc__region *region = gc__region_of(next);
        if (!region->accessible || region->kind == GC__FREE || next >= gc__region_starts_end(region)) return 0;
        if (!gc__bit_get(gc__region_marks(region), next)) return 0; /* the memory was used again */
        object = next;
    }
    return object;
}

/* Finds the heap slots that still hold the stale address: the store into such a slot lacked a barrier. */
typedef struct gc__holder_search {
    gc_visitor visitor;
    uintptr_t object, first, last; /* the search is for addresses in [first, last] */
    uintptr_t slots[8];            /* visited slots of the object that hold such an address */
    unsigned slot_count, shown;
} gc__holder_search;

GC__COLD bool gc__is_searched(const gc__holder_search *search, uintptr_t word) {
    return word - search->first <= search->last - search->first;
}

/* Returns the name of what a slot or register holds in a report: the object, or one of several addresses. */
GC__COLD const char *gc__held_text(const gc__holder_search *search, uintptr_t word, char text[24]) {
    if (search->first == search->last) return "it";
    snprintf(text, 24, "%p", (void *)word);
    return text;
}

GC__COLD void gc__holder_visit(gc_visitor *visitor, void *slot, size_t count, unsigned flags) {
    gc__holder_search *search = (gc__holder_search *)visitor;
    for (size_t i = 0; i < count; i++) {
        gc_word *word = gc__slot_at(slot, i, gc__flags_value(flags));
        uintptr_t ref = gc__slot_ref(word, gc__flags_value(flags));
        if (!gc__is_searched(search, ref)) continue;
        char field[160], held[24];
        gc__describe_field(field, sizeof field, search->object, (uintptr_t)word - search->object);
        fprintf(stderr, "gc.h:   %s of `%s` %p in the heap holds %s: a store there had no write barrier (gc_store)\n",
                field, gc__object_name(search->object), (void *)search->object, gc__held_text(search, ref, held));
        if (search->slot_count < 8) search->slots[search->slot_count++] = (uintptr_t)word;
    }
}

/* Returns the searched address if the word holds it, plainly or as a tagged value, otherwise 0. */
GC__COLD uintptr_t gc__holder_word(const gc__holder_search *search, uintptr_t word) {
    if (gc__is_searched(search, word)) return word;
    uintptr_t ref = gc__shade_decode(word);
    return gc__is_searched(search, ref) ? ref : 0;
}

/* Reports words of the object that hold the address although neither its type nor its trace function has reported
   them. */
GC__COLD void gc__holder_unnamed(gc__holder_search *search) {
    uintptr_t end = search->object + gc__object_bytes(search->object);
    for (uintptr_t at = search->object + 8; at + 8 <= end; at += 8) {
        uintptr_t ref = gc__holder_word(search, *(gc_word *)at);
        bool visited = !ref;
        for (unsigned i = 0; i < search->slot_count; i++) visited |= search->slots[i] == at;
        if (visited || search->slot_count == 8) continue;
        char held[24];
        fprintf(stderr, "gc.h:   offset %zu of `%s` %p in the heap holds %s: its type names no reference there\n",
                (size_t)(at - search->object), gc__object_name(search->object), (void *)search->object,
                gc__held_text(search, ref, held));
    }
}

GC__COLD bool gc__holder_object(void *context, uintptr_t object) {
    gc__holder_search *search = (gc__holder_search *)context;
    search->object = object;
    search->slot_count = 0;
    gc__object_visit(object, &search->visitor);
    gc__holder_unnamed(search);
    return true;
}

/* Returns whether the address is in one of the collector's own variables with addresses of the heap. */
GC__COLD bool gc__is_own_data(uintptr_t at) {
    uintptr_t tables = (uintptr_t)&gc__tables, arena = (uintptr_t)&gc__the_arena;
    return (at >= tables && at < tables + sizeof gc__tables) || (at >= arena && at < arena + sizeof gc__the_arena);
}

/* Searches static data, including what AddressSanitizer puts between variables. */
__attribute__((no_sanitize("address"))) GC__COLD void gc__holder_data(void *context, uintptr_t start, uintptr_t end) {
    enum { MOST = 4 };
    gc__holder_search *search = (gc__holder_search *)context;
    for (uintptr_t at = start; at < end && search->shown < MOST; at += 8) {
        uintptr_t ref = gc__holder_word(search, *(gc_word *)at);
        char name[256], held[24];
        if (!ref || gc__is_own_data(at)) continue;
        gc__os_name_data(name, sizeof name, at);
        fprintf(stderr, "gc.h:   %s holds %s: gc_roots_add, or scan_roots, must report it\n", name,
                gc__held_text(search, ref, held));
        search->shown++;
    }
}

/* Searches the calling thread's native stack from `from` on: whole frames, including what AddressSanitizer puts between
   variables. */
__attribute__((no_sanitize("address"))) GC__COLD void gc__holder_stack(const gc__holder_search *search, uintptr_t from,
                                                                     uintptr_t end) {
    char held[24];
    unsigned shown = 0;
    for (uintptr_t at = from & ~(uintptr_t)7; at + 8 <= end && shown < 4; at += 8) {
        if (!gc__is_searched(search, *(gc_word *)at)) continue;
        fprintf(stderr, "gc.h:   the native stack holds %s at %p, %zu bytes above the stack pointer\n",
                gc__held_text(search, *(gc_word *)at, held), (void *)at, (size_t)(at - from));
        shown++;
    }
}

GC__COLD void gc__print_frames(gc_thread *thread, bool is_mine) {
    unsigned shown = 0;
    fprintf(stderr, "gc.h:   frames in force%s%s, innermost first:\n", is_mine ? "" : " in thread ",
            is_mine ? "" : gc__thread_name(thread));
    for (const gc_frame *frame = thread->frames; frame && shown < 8; frame = frame->previous, shown++)
        fprintf(stderr, "gc.h:     %s (%s:%u) roots: %s\n", frame->site->function, frame->site->file, frame->site->line,
                frame->site->names);
    if (!thread->frames) fprintf(stderr, "gc.h:     none\n");
    /* A thread in cooperative mode may be changing its frames concurrently. */
    if (thread->code && (is_mine || gc_thread_mode(thread) == GC_MODE_PREEMPTIVE)) gc__compiled->print(thread);
}

/* Reports what holds an address of [first, last]. */
GC__COLD void gc__report_holders(gc_heap *heap, uintptr_t first, uintptr_t last, const uintptr_t *words, size_t count,
                                 uintptr_t stack_pointer) {
    gc__holder_search search = {{gc__holder_visit}, 0, first, last, {0}, 0, 0};
    char held[24];
    for (int g = 0; g < GC_GENERATIONS; g++)
        for (gc__region *region = heap->regions[g]; region; region = region->next)
            if (!region->linear) gc__region_walk(region, gc__holder_object, &search);
    gc__os_each_data(gc__holder_data, &search);
    for (size_t i = 0; i < count; i++)
        if (words[i] >= first && words[i] < last + 16)
            fprintf(stderr, "gc.h:   a register holds %s\n", gc__held_text(&search, words[i], held));
    if (gc__compiled) gc__compiled->print_use(gc__os_fault_pc(words));
    for (gc_thread *thread = heap->threads->first; thread; thread = gc__record(thread)->next) {
        bool is_mine = thread == gc__thread_self(heap);
        if (is_mine) gc__holder_stack(&search, stack_pointer, (uintptr_t)gc__record(thread)->stack_base);
        gc__print_frames(thread, is_mine);
    }
}

GC__COLD void gc__print_fault(const uintptr_t *words) {
    void *frames[GC__STACK_FRAMES];
    gc__os_name_frames(frames, gc__os_fault_frames(words, frames), gc__os_fault_pc(words));
}

/* Returns whether the fault is in a barrier that was given a stale reference. */
GC__COLD bool gc__is_stored(uintptr_t address) {
    return address == __atomic_load_n(&gc__the_arena.stale_stored, __ATOMIC_RELAXED);
}

/* Reports which object was used; or that the memory has been used again, and no object covers the address. The stale
   reference points into [*first, result]: the object, or memory to which no reference should point. */
__attribute__((no_sanitize("address"))) GC__COLD uintptr_t gc__report_use(const gc__region *region, uintptr_t address,
                                                                        uintptr_t *first) {
    uintptr_t object = gc__mark_previous(region->base, address);
    uintptr_t now = object ? gc__follow_forwarding(object) : 0;
    bool moved = object && (GC__WORD(object) & 3) == GC__FORWARD_TAG;
    *first = region->base;
    if (!object || (now && address - object >= gc__object_bytes(now))) {
        fprintf(
            stderr,
            "gc.h: missed root or barrier: the program used the address %p, where no object was when collection %llu "
            "emptied that memory: the object that it belonged to died or moved away in an earlier collection, and "
            "that memory may have been used again since.\n",
            (void *)address, (unsigned long long)region->condemned);
        return address;
    }
    fprintf(stderr,
            "gc.h: missed root or barrier: the program %s a `%s` at %p (offset %zu), but that object %s in "
            "collection %llu.\n",
            gc__is_stored(address) ? "stored a reference to" : "used",
            now ? gc__object_name(now) : "(freed since)", (void *)object, (size_t)(address - object),
            moved ? "moved away" : "was found dead", (unsigned long long)region->condemned);
    char owner[640] = "";
    if (moved && now) gc__describe_owner(owner, sizeof owner, region->heap, now, false);
    if (*owner) fprintf(stderr, "gc.h: %s now.\n", owner);
    return *first = object;
}

/* Handles a fault: reports which object was used after it moved or died. */
__attribute__((no_sanitize("address"))) GC__COLD bool gc__stress_fault(uintptr_t address, const uintptr_t *words,
                                                                     size_t count, uintptr_t stack_pointer) {
    if (!gc__in_arena(address)) return false;
    gc__region *region = gc__region_of(address);
    gc_heap *heap = __atomic_load_n(&region->heap, __ATOMIC_RELAXED);
    if (region->kind != GC__QUARANTINED || !heap) return false;
    for (gc__region *each = heap->quarantine; each; each = each->next)
        if (!gc__os_access((void *)each->base, GC_REGION_BYTES, true)) return false;
    uintptr_t first, last;
    fflush(stdout);
    last = gc__report_use(region, address, &first);
    fprintf(stderr, "gc.h: the variable or field that holds that address was not reported as a root then. Put the "
                    "variable into GC_ROOTS "
                    "(or report it from\n"
                    "gc.h: scan_roots) before the call that may collect; an address such as &x->field that was "
                    "computed before it is stale too.\n"
                    "gc.h: If it was read from an object, name that field in the object's gc_type; if from a static "
                    "variable, gc_roots_add:\n");
    gc__report_holders(heap, first, last, words, count, stack_pointer);
    gc__stress_print_place(heap, region->condemned);
    fprintf(stderr, "gc.h: the %s is here:\n", gc__is_stored(address) ? "store" : "use");
    gc__stress_print_location(heap);
    gc__print_fault(words);
    if (heap->options.fatal) heap->options.fatal(heap->options.host, "missed root or barrier: see stderr");
    abort();
}

/* Reports a fault while a trace function runs. */
GC__COLD bool gc__trace_fault(uintptr_t address, const uintptr_t *words) {
    uintptr_t object = gc__traced;
    if (!object) return false;
    const gc_heap *heap = gc__in_arena(object) ? gc__region_of(object)->heap : NULL;
    gc__traced_set(&gc__traced, 0); /* a fault while reporting is not the trace function's */
    fflush(stdout);
    fprintf(stderr, "gc.h: a trace function faults here:\n");
    gc__print_fault(words);
    gc__fatal(
        heap ? &heap->options : NULL,
        "the trace function of `%s` faults at %p, for the object %p: what it reads was freed, or is not there yet. "
        "An object is visited from its allocation on, and also after its finalizer has run: a finalizer that frees "
        "what the trace function reads must leave a NULL and a count of 0 in the object",
        gc__object_name(object), (void *)address, (void *)object);
}

GC__COLD bool gc__fault(uintptr_t address, const uintptr_t *words, size_t count, uintptr_t stack_pointer) {
    return gc__stress_fault(address, words, count, stack_pointer) || gc__trace_fault(address, words);
}

GC__COLD void gc__faults_watch(void) {
    void *frames[GC__STACK_FRAMES];
    if (GC_EMBEDDED || !GC_DIAGNOSTICS) return;
    gc__os_stack_frames(frames); /* the first call may load a library */
    gc__lock_take(&gc__the_arena.lock);
    gc__os_on_fault(gc__fault);
    gc__lock_release(&gc__the_arena.lock);
}

/* Sets the mark bits of all objects before a stress collection; the fault handler finds objects by them. */
GC__COLD void gc__stress_index(gc_heap *heap) {
    gc__stress_keep_place(heap);
    for (gc__region *region = heap->regions[0]; region; region = region->next) gc__region_index(region);
}
