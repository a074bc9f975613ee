/* Frames of GC_ROOTS: walks them, and detects those whose scope was left without its end. */
#pragma once

#include "mode.h"

#define GC__STACK_BYTES_MAX ((size_t)1 << 30) /* frames farther from the base than this are not on that stack */

/* Frames form a list, innermost first. If a scope was left without its end, and then entered again, the list becomes a
   cycle. Brent's algorithm finds it, with one comparison for each frame. Comparing addresses would not do: compilers
   place the frames of one function as they like. */
typedef struct gc__frame_search {
    const gc_heap *heap;
    const gc_frame *first, *kept;
    size_t left, span; /* after `left` more frames another one is remembered, for twice as many frames */
} gc__frame_search;

/* Reports the cycle that the frame is in. The innermost frame of the cycle is the one that was entered again. */
GC__OUT_OF_LINE void gc__frames_report_cycle(const gc__frame_search *search, const gc_frame *within) {
    const gc_frame *again = search->first, *ahead = again, *each = within;
    do {
        ahead = ahead->previous;
        each = each->previous;
    } while (each != within);
    while (again != ahead) {
        again = again->previous;
        ahead = ahead->previous;
    }
    gc__fatal(&search->heap->options, GC__FRAME_AGAIN, again->site->names, again->site->file, again->site->line);
}

GC__FN gc__frame_search gc__frames_begin(const gc_heap *heap, const gc_frame *frames) {
    gc__frame_search search = {heap, frames, NULL, 1, 1};
    return search;
}

/* Processes the next frame of the walk. */
GC__FN void gc__frames_seen(gc__frame_search *search, const gc_frame *frame) {
    if (GC__UNLIKELY(frame == search->kept)) gc__frames_report_cycle(search, frame);
    if (GC__LIKELY(--search->left)) return;
    search->kept = frame;
    search->left = search->span *= 2;
}

#define GC__FRAME_LEFT                                                                            \
    "was left without its end, by longjmp, a computed goto (goto *label), an exception through "  \
    "C code or a switch of stacks: restore the frames by gc_frames_restore, end "                 \
    "the scope before the goto, or call gc_stack_switch"

/* A frame of another thread than the list's was left without its end, and other calls have overwritten it. */
GC__FN void gc__frame_check_thread(const gc_heap *heap, const gc_frame *frame, const gc_thread *thread) {
    if (GC__UNLIKELY(frame->thread != thread))
        gc__fatal(&heap->options, "a frame of GC_ROOTS, at %p, " GC__FRAME_LEFT, (const void *)frame);
}

/* Makes the frames of one thread belong to another thread; NULL: to none, since their heap is being destroyed. */
GC__COLD void gc__frames_assign(const gc_heap *heap, gc_frame *frames, const gc_thread *from, gc_thread *to) {
    gc__frame_search search = gc__frames_begin(heap, frames);
    for (gc_frame *frame = frames; frame; frame = frame->previous) {
        gc__frames_seen(&search, frame);
        if (frame->thread != to) gc__frame_check_thread(heap, frame, from); /* a cycle leads here again */
        frame->thread = to;
    }
}

/* A frame that other calls have overwritten, or that lies below the stack pointer, was left without its end. Stack
   pointers are compared with GC_DEBUG only. */
GC__FN void gc__frame_check(const gc_heap *heap, const gc_frame *frame, const gc_stack *stack,
                            const char *stack_pointer) {
    gc__frame_check_thread(heap, frame, stack->last);
    bool below = GC_DEBUG >= 1 && (const char *)frame < stack_pointer &&
                 (size_t)(stack->base - (const char *)frame) < GC__STACK_BYTES_MAX;
    if (below)
        gc__fatal(&heap->options, "the frame of GC_ROOTS(%s) at %s:%u " GC__FRAME_LEFT, frame->site->names, frame->site->file,
                  frame->site->line);
}

/* The memory in which the frames of a thread in native code, and what they point to, may lie: its stack, and wherever
   the system says that there is memory. The system is not asked again about a page that was found recently. */
typedef struct gc__frame_memory {
    const gc_thread *thread;
    uintptr_t pages[8]; /* pages that are memory; the lowest bits of the page number are the index */
} gc__frame_memory;

GC__FN bool gc__frame_memory_has(gc__frame_memory *memory, const void *address, size_t bytes) {
    uintptr_t at = (uintptr_t)address, from = (uintptr_t)gc__record(memory->thread)->stack_pointer,
              base = (uintptr_t)gc__record(memory->thread)->stack_base;
    if ((at & 7) || at < 4096) return false;
    if (base && at - from < base - from) return bytes <= base - at;
    uintptr_t page = at >> 12, *known = &memory->pages[page & 7];
    if (*known == page && (at + bytes - 1) >> 12 == page) return true;
    if (!gc__os_is_mapped(address, 8) || !gc__os_is_mapped((const void *)(at + bytes - 8), 8)) return false;
    *known = page;
    return true;
}

GC__FN bool gc__frame_is_whole(gc__frame_memory *memory, const gc_frame *frame) {
    if (!gc__frame_memory_has(memory, frame, sizeof *frame) || frame->thread != memory->thread) return false;
    if (!gc__frame_memory_has(memory, frame->site, sizeof *frame->site) || frame->count > SIZE_MAX / 16) return false;
    if (frame->count && !gc__frame_memory_has(memory, frame->slots, frame->count * 8)) return false;
    bool whole = true;
    if (!(frame->site->flags & GC__SLOT_CONTIGUOUS))
        for (size_t i = 0; whole && i < frame->count; i++) whole = gc__frame_memory_has(memory, frame->slots[i], 8);
    return whole;
}

/* A thread that ends in native code without leaving its scopes may overwrite its frames while collections run. */
GC__FN void gc__frame_check_native(const gc_heap *heap, gc__frame_memory *memory, const gc_frame *frame) {
    if (gc__frame_is_whole(memory, frame)) return;
    gc__fatal(
        &heap->options,
        "the frame of GC_ROOTS at %p of the thread `%s`, which is in preemptive mode, was overwritten: the thread "
        "has ended by pthread_exit or a cancellation, or called longjmp, and has not left its scopes. Compile with "
        "-fexceptions, so that a thread that ends leaves them, or restore frames by gc_frames_restore",
        (const void *)frame, gc__thread_name(memory->thread));
}

/* `native` is the thread that runs native code on that stack, if one does. */
GC__HOT void gc__frames_visit(gc_heap *heap, gc_frame *frames, gc_visitor *visitor, const gc_stack *stack,
                             const char *stack_pointer, const gc_thread *native) {
    gc__frame_search search = gc__frames_begin(heap, frames);
    gc__frame_memory memory = {native, {0}};
    gc__threads *threads = heap->threads;
    threads->root_kind = "frame";
    for (gc_frame *frame = frames; frame; frame = frame->previous) {
        gc__frames_seen(&search, frame);
        if (native) gc__frame_check_native(heap, &memory, frame);
        gc__frame_check(heap, frame, stack, stack_pointer);
        unsigned flags = frame->site->flags;
        threads->root_site = frame->site;
        if (flags & GC__SLOT_CONTIGUOUS) {
            gc_visit(visitor, (void *)frame->slots, frame->count, flags & ~(unsigned)GC__SLOT_CONTIGUOUS);
        } else if (flags & GC__SLOT_DERIVED) {
            gc_visit(visitor, (void *)frame->slots[0], 1, 0);
            for (size_t i = 1; i < frame->count; i++) gc_visit_derived(visitor, frame->slots[i], frame->slots[0]);
        } else {
            for (size_t i = 0; i < frame->count; i++) gc_visit(visitor, (void *)frame->slots[i], 1, flags);
        }
    }
    threads->root_site = NULL;
}
