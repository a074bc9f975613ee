/* Walking frames of compiled code.

   Native and compiled code call each other, so the compiled frames of a stack form runs. A run begins at a gc_code_frame, a
   record that compiled code left on the stack when it called native code or was stopped, and goes on caller by caller while
   return addresses are in registered code. Where one is not, native code has called compiled code: the run ends, and the
   next record, farther from the stack pointer, begins the next run.

   Invariant: on one stack, records and the frames of runs lie in the order of the walk, at ascending addresses. */
#pragma once

#include "../threads/mode.h"
#include "returns.h"
#include "unwind.h"
#include "registry.h"
#include "known.h"
#include "../platform/code_x86_64.h"
#include "../diag/dac_table.h"

GC__STATIC_ASSERT(offsetof(gc_code_frame, previous) == offsetof(gc__dac_code_frame, previous) &&
                      offsetof(gc_code_frame, pc) == offsetof(gc__dac_code_frame, pc) &&
                      offsetof(gc_code_frame, registers) == offsetof(gc__dac_code_frame, registers) &&
                      offsetof(gc_code_frame, known) == offsetof(gc__dac_code_frame, known) &&
                      GC_CODE_REGISTERS == GC__DAC_CODE_REGISTERS,
                  "readers in other processes are told of this layout");

#define GC__RUN_BYTES_MAX ((uintptr_t)1 << 40) /* of a run on a stack whose base is not known */
#define GC__PRESERVED_COUNT 6
static const uint8_t gc__preserved[GC__PRESERVED_COUNT] = {3, 5, 12, 13, 14, 15};
#define GC__SCRATCH_MASK 0x0FC7u

GC__FN const char *gc__register_name(unsigned number) {
    static const char *const names[GC_CODE_REGISTERS] = {"rax", "rcx", "rdx", "rbx", "rsp", "rbp", "rsi", "rdi",
                                                         "r8",  "r9",  "r10", "r11", "r12", "r13", "r14", "r15"};
    return number < GC_CODE_REGISTERS ? names[number] : "(no register)";
}

GC__FN size_t gc__code_offset(const gc_code_cursor *frame) { return frame->pc - (uintptr_t)frame->code->start; }

GC__FN void gc__walk_fault(const gc_code_cursor *frame, const char *fault) __attribute__((__noreturn__, __cold__));
GC__FN void gc__walk_fault(const gc_code_cursor *frame, const char *fault) {
    gc__fatal(&frame->heap->options, "the compiled frame of `%s` at +0x%zx (pc %p, stack pointer %p): %s",
              gc__code_name(frame->code), gc__code_offset(frame), (void *)frame->pc, (void *)frame->sp, fault);
}

/* Applies the layout of a frame of gc_stackmap_encode's maps. */
GC__FN const char *gc__walk_apply(gc_code_cursor *frame, const gc__frame_layout *layout) {
    uintptr_t base = frame->sp;
    if (layout->by_frame) {
        if (GC__UNLIKELY(!frame->registers[GC__FRAME_POINTER]))
            return "its frame is found by rbp, and a frame that it has called does not say where it saved rbp: list "
                   "that in "
                   "its unwind rows";
        base = *frame->registers[GC__FRAME_POINTER];
    }
    frame->cfa = base + (uintptr_t)(intptr_t)layout->cfa;
    memcpy(frame->saved, layout->saved, sizeof frame->saved);
    return NULL;
}

GC__FN const char *gc__walk_lay_out(gc_code_cursor *frame) {
    gc__frame_layout layout;
    if (!gc__stackmap_layout(frame->code->map, (uint32_t)gc__code_offset(frame), frame->kind, &layout))
        return "the pc is outside of the code";
    if (frame->known) {
        frame->known->pc = frame->pc;
        frame->known->code = frame->code;
        frame->known->layout = layout;
        frame->known->live_count = UINT32_MAX;
    }
    return gc__walk_apply(frame, &layout);
}

/* Finds the code and the layout of the frame, unless they are known. Its code is NULL if that is no compiled frame. */
GC__FN const char *gc__walk_find(gc_code_cursor *frame) {
    bool caller = frame->kind == GC_FRAME_CALLER;
    frame->known = caller && frame->places ? gc__known_at(frame->places, frame->pc) : NULL;
    if (frame->known && frame->known->pc == frame->pc) {
        frame->code = frame->known->code;
        return gc__walk_apply(frame, &frame->known->layout);
    }
    frame->code = gc_code_find((const void *)(frame->pc - caller));
    if (!frame->code) return NULL;
    if (!frame->code->format) return gc__walk_lay_out(frame);
    frame->known = NULL; /* another format's tables may tell apart what is alike to gc.h */
    memset(frame->saved, 0, sizeof frame->saved);
    return frame->code->format->layout(frame);
}

/* Completes a cursor that has the pc, the stack pointer and the registers of a frame. */
GC__FN void gc__walk_enter(gc_code_cursor *frame) {
    const char *fault = gc__walk_find(frame);
    if (fault) gc__walk_fault(frame, fault);
    if (!frame->code || GC__LIKELY(frame->cfa > frame->sp && frame->cfa <= frame->end && !(frame->cfa & 7))) return;
    gc__walk_fault(frame, "its unwind rows contradict the stack: its return address would lie below its stack pointer, "
                          "beyond the stack, or beyond the native code that called it. The rows must say what each "
                          "instruction does to the frame, or the code has overwritten rbp or the stack");
}

/* Whether mistakes are looked for that make walks slower. */
GC__FN bool gc__walks_are_checked(const gc_heap *heap) {
    return GC_DEBUG >= 1 || gc__verify_of(heap) || gc__stress_of(heap);
}

/* The run has ended: whoever called that frame must be native code. */
GC__FN void gc__walk_check_end(const gc_heap *heap, const gc_code *callee, uintptr_t pc) {
    if (pc == (uintptr_t)gc__code_entered || !gc__walks_are_checked(heap) || gc__os_is_file_code((const void *)pc))
        return;
    gc__fatal(
        &heap->options,
        "the compiled method `%s` seems to have been called from %p, which is neither in registered code nor in a "
        "loaded file: either its unwind rows are wrong, so that its return address is looked for in the wrong place "
        "(each push, pop and change of the stack pointer needs a row); or what is compiled there is not registered: "
        "code must be registered by gc_code_add until its last call has returned, also if it holds no references",
        gc__code_name(callee), (void *)pc);
}

/* Moves the cursor to the caller's frame, if that is compiled code; else code is NULL. */
GC__FN void gc__walk_leave(gc_code_cursor *frame) {
    if (frame->innermost)
        for (unsigned i = 0; i < GC_CODE_REGISTERS; i++)
            if (GC__SCRATCH_MASK >> i & 1) frame->registers[i] = NULL;
    for (unsigned i = 0; i < GC__PRESERVED_COUNT; i++) {
        int32_t saved = frame->saved[gc__preserved[i]];
        if (GC__UNLIKELY(saved == GC_SAVED_SOMEWHERE))
            frame->registers[gc__preserved[i]] = NULL;
        else if (saved)
            frame->registers[gc__preserved[i]] = (uintptr_t *)(frame->cfa + (uintptr_t)(intptr_t)saved);
    }
    const gc_code *callee = frame->code;
    frame->sp = frame->cfa;
    frame->pc = gc__code_return_address(frame->thread, (const uintptr_t *)(frame->cfa - 8));
    frame->kind = GC_FRAME_CALLER;
    frame->innermost = false;
    gc__walk_enter(frame);
    if (!frame->code) gc__walk_check_end(frame->heap, callee, frame->pc);
}

GC__FN void gc__walk_report_record(const gc_heap *heap, const gc_code_frame *record)
    __attribute__((__noreturn__, __cold__));
GC__FN void gc__walk_report_record(const gc_heap *heap, const gc_code_frame *record) {
    gc__fatal(&heap->options,
              "the record at %p of a call out of compiled code (pc %p, stack pointer %p, next record %p) is not whole, "
              "or below "
              "the stack pointer: the call was left by longjmp or by an exception, or the stack was switched "
              "meanwhile. Restore "
              "by gc_code_restore what gc_code_mark has returned before, and switch stacks by gc_stack_switch",
              (const void *)record, (void *)record->pc, (void *)record->registers[GC__STACK_POINTER],
              (const void *)record->previous);
}

/* A record that was left on a stack, which other calls have used since, may hold anything. */
GC__FN void gc__walk_check_record(const gc_heap *heap, const gc_code_frame *record, uintptr_t end) {
    uintptr_t at = (uintptr_t)record, sp = record->registers[GC__STACK_POINTER];
    bool whole = !(at & 7) && sp > at && sp <= end && record->kind <= GC_FRAME_INTERRUPTED;
    if (GC__UNLIKELY(!whole)) gc__walk_report_record(heap, record);
}

/* The first frame of the record's run, which is empty if gc_code_call has called a stub of GC_CODE_EXPORT. */
GC__FN gc_code_cursor gc__walk_begin(gc_heap *heap, const gc_stack *stack, gc_code_frame *record,
                                     gc__known_places *places) {
    gc_code_cursor frame;
    memset(&frame, 0, sizeof frame);
    uintptr_t base = (uintptr_t)stack->base;
    frame.end = record->previous           ? (uintptr_t)record->previous
                : base > (uintptr_t)record ? base
                                           : (uintptr_t)record + GC__RUN_BYTES_MAX;
    gc__walk_check_record(heap, record, frame.end);
    frame.heap = heap;
    frame.thread = stack->thread && stack->thread->stack == stack ? stack->thread : NULL;
    frame.from = record;
    frame.places = places;
    frame.sp = record->registers[GC__STACK_POINTER];
    frame.pc = record->pc;
    if (GC__UNLIKELY(frame.pc == GC__CODE_RETURNED)) /* it has jumped to native code, which returns there */
        frame.pc = gc__code_return_address(frame.thread, (const uintptr_t *)(frame.sp - 8));
    frame.kind = (gc_frame_kind)record->kind;
    frame.innermost = true;
    for (unsigned i = 0; i < GC_CODE_REGISTERS; i++)
        frame.registers[i] = record->known >> i & 1 ? &record->registers[i] : NULL;
    gc__walk_enter(&frame);
    if (!frame.code && frame.pc != (uintptr_t)gc__code_entered)
        gc__fatal(
            &heap->options,
            "the code at %p, which has called gc_code_call_native or was stopped, is in no registered code: register "
            "it by gc_code_add, and keep it registered until its last call has returned",
            (void *)record->pc);
    return frame;
}

/* The first compiled frame from the record on. */
GC__FN gc_code_cursor gc__walk_first(gc_heap *heap, const gc_stack *stack, gc_code_frame *record) {
    gc_code_cursor frame;
    memset(&frame, 0, sizeof frame);
    for (; record && !frame.code; record = record->previous) frame = gc__walk_begin(heap, stack, record, NULL);
    return frame;
}

GC_API gc_code_cursor gc_code_first(gc_thread *thread) {
    return gc__walk_first(thread->heap, thread->stack, thread->code);
}

GC_API void gc_code_next(gc_code_cursor *frame) {
    gc__walk_leave(frame);
    if (!frame->code) *frame = gc__walk_first(frame->heap, frame->thread->stack, frame->from->previous);
}

/* What a call has just returned. */
GC__FN void gc__walk_visit_results(gc_code_frame *record, gc_visitor *visitor) {
    static const unsigned flags[] = {0, 0, GC_SLOT_INTERIOR, GC_SLOT_VALUE};
    if (GC__LIKELY(!record->results)) return;
    if (record->results & 3) gc_visit(visitor, &record->registers[0], 1, flags[record->results & 3]);
    if (record->results >> 2 & 3) gc_visit(visitor, &record->registers[2], 1, flags[record->results >> 2 & 3]);
}

/* Where a live slot is; NULL: it is in a register that the walk does not know. */
GC__FN void *gc__walk_slot_address(const gc_code_cursor *frame, const gc_stackmap_slot *slot) {
    uintptr_t offset = (uintptr_t)(intptr_t)slot->offset;
    if (slot->place == GC_PLACE_REGISTER) return frame->registers[slot->number];
    if (slot->place == GC_PLACE_CFA) return (void *)(frame->cfa + offset);
    if (slot->place == GC_PLACE_SP) return (void *)(frame->sp + offset);
    return frame->registers[GC__FRAME_POINTER] ? (void *)(*frame->registers[GC__FRAME_POINTER] + offset) : NULL;
}

GC__FN void gc__walk_visit_slot(const gc_code_cursor *frame, const gc_stackmap_slot *slot, gc_visitor *visitor) {
    void *at = gc__walk_slot_address(frame, slot);
    if (GC__LIKELY(at != NULL)) {
        gc_visit(visitor, at, 1, slot->flags);
        return;
    }
    char fault[320];
    snprintf(
        fault, sizeof fault,
        "%s is live in it, and a frame that it has called does not say where it saved that register: list each "
        "preserved register that a method saves in its unwind rows, or keep what is live across calls on the stack",
        gc__register_name(slot->place == GC_PLACE_REGISTER ? slot->number : 5));
    gc__walk_fault(frame, fault);
}

/* Begins with the live slots of the frame. False: it may not be stopped there. */
GC__FN bool gc__walk_live_begin(gc__live_cursor *live, const gc_code_cursor *frame) {
    uint32_t offset = (uint32_t)gc__code_offset(frame);
    if (!frame->innermost) return gc__live_begin(live, frame->code->map, offset, frame->kind);
    gc__live_open(live, frame->code->map);
    return gc__stackmap_find_innermost(&live->map, offset, frame->kind, &live->set);
}

/* Reports the frame by a map of gc_stackmap_encode. */
GC__FN const char *gc__walk_visit_map(const gc_code_cursor *frame, gc_visitor *visitor) {
    gc__known_place *known = frame->innermost ? NULL : frame->known; /* more may be live there than in a caller */
    if (known && known->live_count <= GC__KNOWN_SLOTS) {
        for (uint32_t i = 0; i < known->live_count; i++) gc__walk_visit_slot(frame, &known->live[i], visitor);
        return NULL;
    }
    gc__live_cursor live;
    if (GC__UNLIKELY(!gc__walk_live_begin(&live, frame)))
        return frame->kind == GC_FRAME_CALLER
                   ? "the call that returns there is no safe point: name it in the points of the method, with the "
                     "slots "
                     "that are live after it"
                   : "the thread was stopped where the code is not interruptible: a fault of gc_stackmap.h, please "
                     "report it";
    uint32_t count = 0;
    for (; gc__live_next(&live); count++) {
        if (known && count < GC__KNOWN_SLOTS) known->live[count] = live.slots.slot;
        gc__walk_visit_slot(frame, &live.slots.slot, visitor);
    }
    if (known) known->live_count = count;
    return NULL;
}

GC__FN bool gc__walk_is_interruptible(const gc_code_cursor *frame) {
    gc__live_cursor live;
    return gc__walk_live_begin(&live, frame);
}

GC__FN unsigned gc__code_return_kinds(const gc_code *code) {
    gc_stackmap_facts facts = gc_stackmap_read(code->map);
    return facts.returns[0] | (unsigned)facts.returns[1] << 2;
}

static const gc_code_format gc__own_format = {"gc_stackmap_encode",
                                              gc__walk_visit_map,
                                              gc__walk_lay_out,
                                              gc__walk_is_interruptible,
                                              gc__code_return_kinds,
                                              NULL,
                                              NULL};

GC__FN const gc_code_format *gc__code_format(const gc_code *code) {
    return code->format ? code->format : &gc__own_format;
}

GC_API void gc_code_visit(const gc_code_cursor *frame, gc_visitor *visitor) {
    gc__threads *threads = frame->heap->threads;
    threads->root_method = gc__code_name(frame->code);
    threads->root_offset = gc__code_offset(frame);
    const char *fault = gc__code_format(frame->code)->visit(frame, visitor);
    if (fault) gc__walk_fault(frame, fault);
    if (frame->innermost) gc__walk_visit_results(frame->from, visitor);
    threads->root_method = NULL;
}

/* With GC_DEBUG, finds a record that was left, although nothing has overwritten it yet. */
GC__FN void gc__walk_check_left(const gc_heap *heap, const gc_stack *stack, const gc_code_frame *record) {
    const gc_thread *thread = stack->thread;
    const char *stack_pointer = stack->stack_pointer;
    if (thread && thread->stack == stack)
        stack_pointer = thread == gc__thread_self(heap) ? (const char *)__builtin_frame_address(0)
                                                        : gc__record(thread)->stack_pointer;
    if (GC_DEBUG >= 1 && (const char *)record < stack_pointer) gc__walk_report_record(heap, record);
}

/* Visits the roots in all compiled frames of a stack, whose innermost record is given. */
GC__FN void gc__code_visit_stack(gc_heap *heap, const gc_stack *stack, gc_code_frame *record, gc_visitor *visitor) {
    gc__walk_check_left(heap, stack, record);
    gc__known_places *places = gc__known_take();
    for (; record; record = record->previous) {
        gc_code_cursor frame = gc__walk_begin(heap, stack, record, places);
        if (!frame.code) gc__walk_visit_results(record, visitor);
        for (; frame.code; gc__walk_leave(&frame)) gc_code_visit(&frame, visitor);
    }
    gc__known_give(places);
}

/* gc__compiled_code.lay_out. */
GC__FN bool gc__code_lay_out(uintptr_t pc, bool is_call, uintptr_t *registers, uintptr_t end, uint32_t *known,
                             uintptr_t *cfa, int32_t *saved) {
    gc_code_cursor frame;
    memset(&frame, 0, sizeof frame);
    frame.kind = is_call ? GC_FRAME_CALLER : GC_FRAME_INTERRUPTED;
    frame.pc = pc;
    frame.sp = registers[GC__STACK_POINTER];
    frame.end = end;
    frame.innermost = !is_call;
    for (unsigned i = 0; i < GC_CODE_REGISTERS; i++) frame.registers[i] = *known >> i & 1 ? &registers[i] : NULL;
    if (gc__walk_find(&frame) || !frame.code) return false;
    for (unsigned i = 0; i < GC__PRESERVED_COUNT; i++) {
        int32_t place = frame.saved[gc__preserved[i]];
        saved[gc__preserved[i]] = place == GC_SAVED_SOMEWHERE ? 0 : place;
        if (place == GC_SAVED_SOMEWHERE) *known &= ~(1u << gc__preserved[i]);
    }
    *cfa = frame.cfa;
    return true;
}

/* gc__compiled_code.original. */
GC__FN uintptr_t gc__code_original(uintptr_t address) {
    return address == GC__CODE_RETURNED && gc__my_interruptee.slot ? gc__my_interruptee.original : address;
}

#define GC__PRINTED_FRAMES 8

/* For a report. */
GC__FN void gc__code_print(gc_thread *thread) {
    unsigned count = 0;
    fprintf(stderr, "gc.h:   compiled frames, innermost first:\n");
    for (gc_code_cursor frame = gc_code_first(thread); frame.code && count < GC__PRINTED_FRAMES;
         gc_code_next(&frame), count++)
        fprintf(stderr, "gc.h:     `%s` at +0x%zx, %s\n", gc__code_name(frame.code), gc__code_offset(&frame),
                frame.kind == GC_FRAME_CALLER ? "after a call" : "interrupted");
}
