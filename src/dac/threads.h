/* Attached threads, and the frames on their stacks. */
#pragma once

#include "heaps.h"

#define GC__DAC_STACK_BYTES ((uint64_t)64 << 20) /* of a native stack, as many are looked at */

/* The native thread with that number. False: it is not known. */
GC__DAC_FN bool gc__dac_native_find(gc_dac *dac, uint64_t tid, gc_dac_native *native) {
    size_t i = 0;
    while (tid && dac->target.native && gc__dac_step(dac, 1) && dac->target.native(dac->target.context, i++, native))
        if (native->tid == tid) return true;
    memset(native, 0, sizeof *native);
    return false;
}

GC__DAC_FN void gc__dac_thread_windows(gc_dac *dac, const gc__dac_copy *copy, gc_dac_thread *thread) {
    const unsigned members[2] = {GC__DAC_AT_thread_window, GC__DAC_AT_thread_raw};
    for (int i = 0; i < 2; i++) {
        uint64_t window = gc__dac_at(copy, thread->address, members[i]);
        if (!gc__dac_member(dac, copy, window, GC__DAC_AT_window_region)) continue;
        thread->windows[i] = gc__dac_member(dac, copy, window, GC__DAC_AT_window_next);
        thread->window_ends[i] = gc__dac_member(dac, copy, window, GC__DAC_AT_window_end);
    }
}

/* Whether its own stack is a root. Another one that it has entered may be one by itself. */
GC__DAC_FN bool gc__dac_thread_is_conservative(gc_dac *dac, const gc__dac_copy *copy, uint64_t thread) {
    return gc__dac_member8(dac, copy, thread, GC__DAC_AT_thread_conservative) != 0;
}

GC__DAC_FN gc_dac_thread gc__dac_thread_read(gc_dac *dac, const gc__dac_copy *copy, uint64_t address) {
    gc_dac_thread thread;
    gc_dac_native native;
    memset(&thread, 0, sizeof thread);
    thread.address = address;
    thread.tid = gc__dac_member32(dac, copy, address, GC__DAC_AT_thread_tid);
    thread.name = gc__dac_text(dac, gc__dac_member(dac, copy, address, GC__DAC_AT_thread_name), "");
    bool preemptive = gc__dac_member32(dac, copy, address, GC__DAC_AT_thread_mode) ==
                      gc__dac_fact(copy, GC__DAC_FACT_MODE_PREEMPTIVE);
    thread.mode = preemptive ? GC_DAC_PREEMPTIVE : GC_DAC_COOPERATIVE;
    thread.parked = gc__dac_member8(dac, copy, address, GC__DAC_AT_thread_parked) != 0;
    uint64_t stack = gc__dac_member(dac, copy, address, GC__DAC_AT_thread_stack);
    thread.conservative = gc__dac_thread_is_conservative(dac, copy, address) ||
                          gc__dac_member8(dac, copy, stack, GC__DAC_AT_stack_conservative);
    thread.unbound = gc__dac_member8(dac, copy, address, GC__DAC_AT_thread_unbound) != 0;
    thread.running = !thread.unbound && gc__dac_thread_runs(dac, copy, address);
    gc__dac_thread_windows(dac, copy, &thread);
    gc__dac_native_find(dac, thread.tid, &native);
    thread.pc = native.pc;
    thread.sp = native.sp;
    thread.stack_base = gc__dac_member(dac, copy, address, GC__DAC_AT_thread_stack_base);
    thread.stack_pointer =
        thread.running ? native.sp : gc__dac_member(dac, copy, address, GC__DAC_AT_thread_stack_pointer);
    thread.stopped_ns = gc__dac_member(dac, copy, address, GC__DAC_AT_thread_stop_total_ns);
    thread.stops = gc__dac_member(dac, copy, address, GC__DAC_AT_thread_stops);
    return thread;
}

/* Calls f for each attached thread until it returns false. */
GC__DAC_FN void gc__dac_each_thread(gc_dac *dac, const gc__dac_copy *copy, uint64_t heap,
                                    bool (*f)(void *context, const gc_dac_thread *thread), void *context) {
    uint64_t threads = gc__dac_member(dac, copy, heap, GC__DAC_AT_heap_threads);
    gc__dac_list list = gc__dac_list_begin(gc__dac_member(dac, copy, threads, GC__DAC_AT_threads_first));
    bool more = list.at != 0;
    while (more) {
        gc_dac_thread thread = gc__dac_thread_read(dac, copy, list.at);
        if (!f(context, &thread)) return;
        more = gc__dac_list_next(dac, &list, gc__dac_member(dac, copy, list.at, GC__DAC_AT_thread_next), "threads");
    }
}

GC_DAC_API bool gc_dac_threads(gc_dac *dac, const gc_dac_heap *heap,
                               bool (*visit)(void *context, const gc_dac_thread *thread), void *context) {
    const gc__dac_copy *copy = gc__dac_copy_of(dac, heap);
    if (copy) gc__dac_each_thread(dac, copy, heap->address, visit, context);
    return gc__dac_end(dac);
}

/* Receives frames, and with them what roots need. */
typedef bool (*gc__dac_frame_function)(void *context, const gc_dac_frame *frame, uint64_t site);

/* The frames of a list of GC_ROOTS. */
GC__DAC_FN bool gc__dac_each_roots_frame(gc_dac *dac, const gc__dac_copy *copy, uint64_t first, uint64_t stack,
                                         gc__dac_frame_function f, void *context) {
    gc__dac_list list = gc__dac_list_begin(first);
    bool more = first != 0;
    while (more) {
        gc_dac_frame frame;
        memset(&frame, 0, sizeof frame);
        uint64_t site = gc__dac_member(dac, copy, list.at, GC__DAC_AT_frame_site);
        frame.kind = GC_DAC_FRAME_ROOTS;
        frame.address = list.at;
        frame.stack = stack;
        frame.function = gc__dac_text(dac, gc__dac_member(dac, copy, site, GC__DAC_AT_site_function), "");
        frame.file = gc__dac_text(dac, gc__dac_member(dac, copy, site, GC__DAC_AT_site_file), "");
        frame.names = gc__dac_text(dac, gc__dac_member(dac, copy, site, GC__DAC_AT_site_names), "");
        frame.line = gc__dac_member32(dac, copy, site, GC__DAC_AT_site_line);
        frame.count = gc__dac_member(dac, copy, list.at, GC__DAC_AT_frame_count);
        if (!f(context, &frame, site)) return false;
        more = gc__dac_list_next(dac, &list, gc__dac_member(dac, copy, list.at, GC__DAC_AT_frame_previous),
                                 "frames of GC_ROOTS");
    }
    return true;
}

/* The records that compiled code has left. */
GC__DAC_FN bool gc__dac_each_code_frame(gc_dac *dac, const gc__dac_copy *copy, uint64_t first, uint64_t stack,
                                        gc__dac_frame_function f, void *context) {
    gc__dac_list list = gc__dac_list_begin(first);
    bool more = first != 0;
    while (more) {
        gc_dac_frame frame;
        memset(&frame, 0, sizeof frame);
        frame.kind = GC_DAC_FRAME_COMPILED;
        frame.address = list.at;
        frame.stack = stack;
        frame.pc = gc__dac_member(dac, copy, list.at, GC__DAC_AT_code_pc);
        frame.function = frame.file = frame.names = "";
        if (!f(context, &frame, 0)) return false;
        more = gc__dac_list_next(dac, &list, gc__dac_member(dac, copy, list.at, GC__DAC_AT_code_previous),
                                 "records of compiled code");
    }
    return true;
}

/* The frames of a stack on which no thread runs. */
GC__DAC_FN bool gc__dac_each_left_frame(gc_dac *dac, const gc__dac_copy *copy, uint64_t stack, gc__dac_frame_function f,
                                        void *context) {
    return gc__dac_each_roots_frame(dac, copy, gc__dac_member(dac, copy, stack, GC__DAC_AT_stack_frames), stack, f,
                                    context) &&
           gc__dac_each_code_frame(dac, copy, gc__dac_member(dac, copy, stack, GC__DAC_AT_stack_code), stack, f,
                                   context);
}

/* Calls f for each stack of gc_stack_create on which no thread runs. */
GC__DAC_FN void gc__dac_each_stack(gc_dac *dac, const gc__dac_copy *copy, uint64_t heap,
                                   bool (*f)(void *context, uint64_t stack), void *context) {
    uint64_t threads = gc__dac_member(dac, copy, heap, GC__DAC_AT_heap_threads);
    gc__dac_list list = gc__dac_list_begin(gc__dac_member(dac, copy, threads, GC__DAC_AT_threads_stacks));
    bool more = list.at != 0;
    while (more) {
        if (!gc__dac_member(dac, copy, list.at, GC__DAC_AT_stack_thread) && !f(context, list.at)) return;
        more = gc__dac_list_next(dac, &list, gc__dac_member(dac, copy, list.at, GC__DAC_AT_stack_next), "stacks");
    }
}

/* The thread's own stack, if it runs on another one; else 0. */
GC__DAC_FN uint64_t gc__dac_left_stack(gc_dac *dac, const gc__dac_copy *copy, uint64_t thread) {
    uint64_t own = gc__dac_at(copy, thread, GC__DAC_AT_thread_own_stack);
    return gc__dac_has(copy, GC__DAC_AT_thread_own_stack) &&
                   gc__dac_member(dac, copy, thread, GC__DAC_AT_thread_stack) != own
               ? own
               : 0;
}

GC__DAC_FN bool gc__dac_each_frame(gc_dac *dac, const gc__dac_copy *copy, const gc_dac_thread *thread,
                                   gc__dac_frame_function f, void *context) {
    uint64_t address = thread->address, left = gc__dac_left_stack(dac, copy, address);
    gc_dac_frame frame;
    memset(&frame, 0, sizeof frame);
    frame.kind = GC_DAC_FRAME_NATIVE;
    frame.address = thread->stack_pointer;
    frame.pc = thread->pc;
    frame.function = frame.file = frame.names = "";
    frame.count = thread->stack_base > thread->stack_pointer ? (thread->stack_base - thread->stack_pointer) / 8 : 0;
    return gc__dac_each_roots_frame(dac, copy, gc__dac_member(dac, copy, address, GC__DAC_AT_thread_frames), 0, f,
                                    context) &&
           gc__dac_each_code_frame(dac, copy, gc__dac_member(dac, copy, address, GC__DAC_AT_thread_code), 0, f,
                                   context) &&
           (!thread->conservative || !thread->stack_pointer || f(context, &frame, 0)) &&
           (!left || gc__dac_each_left_frame(dac, copy, left, f, context));
}

typedef struct gc__dac_frame_walk {
    gc_dac *dac;
    const gc__dac_copy *copy;
    bool (*visit)(void *context, const gc_dac_frame *frame);
    void *context;
} gc__dac_frame_walk;

GC__DAC_FN bool gc__dac_frame_visit(void *context, const gc_dac_frame *frame, uint64_t site) {
    const gc__dac_frame_walk *walk = (const gc__dac_frame_walk *)context;
    (void)site;
    return walk->visit(walk->context, frame);
}

GC__DAC_FN bool gc__dac_frames_of_stack(void *context, uint64_t stack) {
    gc__dac_frame_walk *walk = (gc__dac_frame_walk *)context;
    return gc__dac_each_left_frame(walk->dac, walk->copy, stack, gc__dac_frame_visit, walk);
}

GC_DAC_API bool gc_dac_frames(gc_dac *dac, const gc_dac_heap *heap, const gc_dac_thread *thread,
                              bool (*visit)(void *context, const gc_dac_frame *frame), void *context) {
    gc__dac_frame_walk walk = {dac, gc__dac_copy_of(dac, heap), visit, context};
    if (walk.copy && thread)
        gc__dac_each_frame(dac, walk.copy, thread, gc__dac_frame_visit, &walk);
    else if (walk.copy)
        gc__dac_each_stack(dac, walk.copy, heap->address, gc__dac_frames_of_stack, &walk);
    return gc__dac_end_names(dac);
}
