/* Unwinding the native stack of the calling thread.

   A frame whose code is in a file is left by the tables of that file. Compiled code that gc_stackmap.h has registered is left
   by its stack maps. What neither describes is left by the frame pointer, which need not be one: then functions are missing
   among the frames, or the walk ends. Each step goes to a higher address, but for those out of signal handlers, and reads what
   can be read only, so damaged stacks give fewer frames, or wrong ones, and nothing worse. */
#pragma once

#include "../threads/mode.h"
#include "expression.h"
#include "rule.h"

static __thread uintptr_t gc__native_low, gc__native_high; /* the thread's own stack; 0: not asked for yet */
static __thread uint32_t gc__native_changes;               /* gc__os_file_changes at the thread's last walk */

/* Completes a frame that has its registers. `may_ask`: the C library may be asked for the stack's bounds. */
GC__FN void gc__native_bound(gc__native_cursor *frame, bool may_ask) {
    uintptr_t sp = frame->registers[GC__CPU_SP];
    if (GC__UNLIKELY(!gc__native_high) && may_ask) gc__os_stack_bounds(&gc__native_low, &gc__native_high);
    frame->changes = gc__native_changes = gc__os_file_changes();
    frame->low = frame->high = 0;
    if (sp - gc__native_low >= gc__native_high - gc__native_low) return;
    frame->low = sp;
    frame->high = gc__native_high;
}

/* Goes on to the caller, whose stack pointer is the CFA. False: the CFA cannot be right. */
GC__INLINED bool gc__native_return(gc__native_cursor *frame, uintptr_t cfa) {
    uintptr_t pc;
    if (cfa <= frame->registers[GC__CPU_SP] || !gc__native_read(frame, cfa - 8, &pc)) return false;
    frame->registers[GC__CPU_SP] = cfa;
    frame->registers[GC__CPU_PC] = gc__cpu_return_address(pc);
    frame->is_call = true;
    return true;
}

GC__INLINED bool gc__native_leave_short(gc__native_cursor *frame, const gc__rule *rule) {
    uintptr_t cfa;
    if (!gc__native_register(frame, rule->base, &cfa)) return false;
    cfa += (uintptr_t)(intptr_t)rule->cfa;
    if (!gc__native_return(frame, cfa)) return false;
    for (int i = 0; i < GC__CPU_PRESERVED_COUNT; i++) {
        uintptr_t at = cfa + 8 * (uintptr_t)(intptr_t)rule->saved[i];
        if (!rule->saved[i]) continue;
        if (!gc__native_read(frame, at, &frame->registers[gc__cpu_preserved[i]])) return false;
        frame->known |= (uint64_t)1 << gc__cpu_preserved[i];
    }
    return true;
}

/* The caller's value of a register. False: it is not known. */
GC__FN bool gc__native_apply(gc__native_cursor *frame, const gc__cfi *cfi, unsigned number, uintptr_t cfa,
                             uintptr_t *value) {
    const gc__cfi_rule *rule = &cfi->row.registers[number];
    gc__byte_reader expression = gc__byte_reader_of((uintptr_t)rule->value, cfi->end);
    switch (rule->how) {
    case GC__CFI_SAME:
        return gc__native_register(frame, number, value);
    case GC__CFI_OFFSET:
        return gc__native_read(frame, cfa + (uintptr_t)rule->value, value);
    case GC__CFI_SUM:
        return *value = cfa + (uintptr_t)rule->value, true;
    case GC__CFI_REGISTER:
        return gc__native_register(frame, (uint64_t)rule->value, value);
    case GC__CFI_EXPRESSION:
        return gc__expression_value(frame, expression, &cfa, value) && gc__native_read(frame, *value, value);
    case GC__CFI_RESULT:
        return gc__expression_value(frame, expression, &cfa, value);
    default:
        return false;
    }
}

/* Out of a signal handler the walk may come to another stack, and all registers are known. */
GC__FN bool gc__native_leave_long(gc__native_cursor *frame, const gc__cfi *cfi) {
    gc__native_cursor to = *frame;
    uintptr_t cfa;
    if (cfi->row.cfa.how == GC__CFI_SUM) {
        if (!gc__native_register(frame, cfi->row.cfa_register, &cfa)) return false;
        cfa += (uintptr_t)cfi->row.cfa.value;
    } else if (!gc__expression_value(frame, gc__byte_reader_of((uintptr_t)cfi->row.cfa.value, cfi->end), NULL, &cfa)) {
        return false;
    }
    for (unsigned i = 0; i < GC__CPU_REGISTERS; i++) {
        uint64_t bit = (uint64_t)1 << i;
        to.known = gc__native_apply(frame, cfi, i, cfa, &to.registers[i]) ? to.known | bit : to.known & ~bit;
    }
    to.page = frame->page;
    to.is_call = !cfi->is_signal_frame;
    bool goes_up = to.registers[GC__CPU_SP] > frame->registers[GC__CPU_SP] || cfi->is_signal_frame;
    *frame = to;
    return goes_up && (to.known & GC__NATIVE_PRESERVED) == GC__NATIVE_PRESERVED;
}

GC__FN bool gc__native_leave_by_pointer(gc__native_cursor *frame) {
    uintptr_t pointer, former;
    if (!gc__native_register(frame, GC__CPU_FRAME, &pointer) || pointer < frame->registers[GC__CPU_SP] ||
        !gc__native_read(frame, pointer, &former) || !gc__native_return(frame, pointer + 16))
        return false;
    frame->registers[GC__CPU_FRAME] = former;
    if (!GC__CPU_HAS_CFI && former > pointer) frame->registers[GC__CPU_SP] = former; /* where the caller's frame begins */
    return true;
}

/* Compiled code of gc_stackmap.h, or else of a host that keeps to frame pointers. */
GC__FN bool gc__native_leave_compiled(gc__native_cursor *frame) {
    uintptr_t registers[16], cfa = 0, end = frame->high ? frame->high : frame->page + 4096;
    int32_t saved[16] = {0};
    uint32_t known = 0;
    for (unsigned i = 0; i < 16; i++) {
        registers[i] = frame->registers[gc__cpu_dwarf[i]];
        known |= (uint32_t)(frame->known >> gc__cpu_dwarf[i] & 1) << i;
    }
    if (!GC__CPU_HAS_CFI || !gc__compiled ||
        !gc__compiled->lay_out(frame->registers[GC__CPU_PC], frame->is_call, registers, end, &known, &cfa, saved))
        return gc__native_leave_by_pointer(frame);
    if (!gc__native_return(frame, cfa)) return false;
    frame->registers[GC__CPU_PC] = gc__compiled->original(frame->registers[GC__CPU_PC]);
    frame->known = GC__NATIVE_PRESERVED;
    for (unsigned i = 0; i < 16; i++) {
        uintptr_t *value = &frame->registers[gc__cpu_dwarf[i]];
        bool has = saved[i] ? gc__native_read(frame, cfa + (uintptr_t)(intptr_t)saved[i], value) : known >> i & 1;
        frame->known |= (uint64_t)has << gc__cpu_dwarf[i];
    }
    return true;
}

GC__OUT_OF_LINE bool gc__native_next_slowly(gc__native_cursor *frame, uintptr_t pc, gc__rule rule) {
    gc__cfi cfi;
    if (!rule.kind || rule.kind == GC__RULE_LONG) gc__rule_find(pc, frame->changes, &rule, &cfi);
    switch (rule.kind) {
    case GC__RULE_SHORT:
        return gc__native_leave_short(frame, &rule);
    case GC__RULE_LONG:
        return gc__native_leave_long(frame, &cfi);
    case GC__RULE_NO_TABLE:
    case GC__RULE_NO_FILE:
        return gc__native_leave_compiled(frame);
    default:
        return false;
    }
}

/* Goes to the caller's frame. False: there is none, or it cannot be found. */
GC__FN bool gc__native_next(gc__native_cursor *frame) {
    uintptr_t pc = frame->registers[GC__CPU_PC] - frame->is_call;
    gc__rule rule;
    if (!gc__rule_get(pc, frame->changes, &rule)) rule.kind = 0;
    if (GC__LIKELY(rule.kind == GC__RULE_SHORT)) return gc__native_leave_short(frame, &rule);
    return gc__native_next_slowly(frame, pc, rule);
}

typedef struct gc__native_frame {
    uintptr_t
        pc; /* in the last byte of the call that the function has made; or in code that a signal interrupted, where
                      the next instruction is */
    uintptr_t cfa; /* the frame lies below this address, which its caller's stack pointer has after the call */
    int8_t saved[sizeof(((gc__rule *)0)->saved)]; /* as in gc__rule, of a frame that gc__native_hop has left */
} gc__native_frame;

/* Whether the rule of the pc is known. */
GC__INLINED bool gc__native_rule(const gc__native_cursor *cursor, uintptr_t pc, gc__rule *rule) {
    gc__own_rule *own = cursor->rules ? &cursor->rules[gc__rule_place(pc, GC__OWN_RULES_SHIFT)] : NULL;
    bool is_own = own && own->pc == pc && own->rule.changes == cursor->changes && own->rule.kind;
    if (is_own)
        *rule = own->rule;
    else if (!gc__rule_get(pc, cursor->changes, rule))
        return false;
    else if (own)
        own->pc = pc, own->rule = *rule;
    return true;
}

/* Restores one of the preserved registers, by its place among them, as it is in frame `last` of the list: it is where the
   outermost of the frames from `first` up to there has saved it. */
GC__INLINED void gc__native_restore(gc__native_cursor *cursor, const gc__native_frame *frames, size_t first,
                                    size_t last, int which) {
    while (last > first && !frames[last - 1].saved[which]) last--;
    if (last == first) return;
    unsigned number = gc__cpu_preserved[which];
    uintptr_t at = frames[last - 1].cfa + 8 * (uintptr_t)(intptr_t)frames[last - 1].saved[which];
    bool is_known = gc__native_read(cursor, at, &cursor->registers[number]);
    cursor->known = (cursor->known & ~((uint64_t)1 << number)) | (uint64_t)is_known << number;
}

/* Goes from frame `last` of the list, the cursor's, to its caller by a short rule. Of the registers only the stack pointer and
   the pc are the caller's then, since most frames are left by these alone: the others are those of frame `first`, and
   gc__native_restore finds them. False: the rule cannot be followed, and nothing has changed. */
GC__INLINED bool gc__native_hop(gc__native_cursor *cursor, gc__native_frame *frames, size_t first, size_t last,
                                const gc__rule *rule) {
    uintptr_t base;
    for (int i = 0; rule->base != GC__CPU_SP && i < GC__CPU_PRESERVED_COUNT; i++)
        if (gc__cpu_preserved[i] == rule->base) gc__native_restore(cursor, frames, first, last, i);
    if (!gc__native_register(cursor, rule->base, &base)) return false;
    if (!gc__native_return(cursor, base + (uintptr_t)(intptr_t)rule->cfa)) return false;
    memcpy(frames[last].saved, rule->saved, sizeof rule->saved);
    return true;
}

/* The same as long as it is simple: frames whose rules the thread has at hand and begin at the stack pointer, and whose return
   addresses are on its own stack. Almost all are. Returns the number of frames. */
GC__INLINED size_t gc__native_run(gc__native_cursor *cursor, gc__native_frame *frames, size_t count, size_t most) {
    uintptr_t sp = cursor->registers[GC__CPU_SP], pc = frames[count - 1].pc, low = cursor->low;
    uintptr_t bytes = cursor->high - low;
    size_t before = count;
    while (count < most) {
        const gc__own_rule *own = &cursor->rules[gc__rule_place(pc, GC__OWN_RULES_SHIFT)];
        if (own->pc != pc || own->rule.kind != GC__RULE_SHORT || own->rule.base != GC__CPU_SP ||
            own->rule.changes != cursor->changes)
            break;
        uintptr_t cfa = sp + (uintptr_t)(intptr_t)own->rule.cfa;
        if (cfa <= sp || cfa & 7 || cfa - 8 - low >= bytes) break;
        uintptr_t back = gc__native_load(cfa - 8);
        if (back < 4096) break;
        gc__native_frame *frame = &frames[count++];
        memcpy(frame[-1].saved, own->rule.saved, sizeof frame->saved);
        frame[-1].cfa = sp = cfa;
        frame->pc = pc = back - 1;
        frame->cfa = UINTPTR_MAX;
        memset(frame->saved, 0, sizeof frame->saved);
    }
    if (count == before) return count;
    cursor->registers[GC__CPU_SP] = sp;
    cursor->registers[GC__CPU_PC] = pc + 1;
    cursor->is_call = true;
    return count;
}

/* Continues a list of `count` frames, the last of which is the cursor's, to at most `most`; returns how many it has then. */
GC__FN size_t gc__native_list(gc__native_cursor *cursor, gc__native_frame *frames, size_t count, size_t most) {
    size_t first = count ? count - 1 : 0;
    for (;;) {
        gc__rule rule;
        if (count && cursor->rules) count = gc__native_run(cursor, frames, count, most);
        bool is_known = count && gc__native_rule(cursor, frames[count - 1].pc, &rule);
        if (is_known && rule.kind == GC__RULE_LAST) break;
        if (!is_known || rule.kind != GC__RULE_SHORT || !gc__native_hop(cursor, frames, first, count - 1, &rule)) {
            for (int i = 0; count && i < GC__CPU_PRESERVED_COUNT; i++)
                gc__native_restore(cursor, frames, first, count - 1, i);
            if (!gc__native_next(cursor)) break;
            first = count;
        }
        if (count) frames[count - 1].cfa = cursor->registers[GC__CPU_SP];
        if (count == most || cursor->registers[GC__CPU_PC] < 4096) break;
        memset(&frames[count], 0, sizeof *frames);
        frames[count].pc = cursor->registers[GC__CPU_PC] - cursor->is_call;
        frames[count++].cfa = UINTPTR_MAX;
    }
    return count;
}

/* Where a walk starts. */
typedef struct gc__native_start {
    uintptr_t registers[GC__CPU_REGISTERS];
} gc__native_start;

/* In the function whose caller is to be the innermost frame; it must not return before the walk. */
GC__INLINED void gc__native_here(gc__native_start *start) { GC__CPU_HERE(start->registers); }

/* Fills in the frames that the C library lists. How far each reaches is not known. */
GC__FN size_t gc__native_listed(const gc__native_start *start, gc__native_frame *frames, size_t most) {
    void *pcs[256];
    size_t count = (size_t)gc__os_list_frames(pcs, 256), first = 0, taken = 0;
    gc__native_changes = gc__os_file_changes();
    while (first < count && (uintptr_t)pcs[first] != start->registers[GC__CPU_PC]) first++;
    for (; first + taken < count && taken < most; taken++) {
        memset(&frames[taken], 0, sizeof *frames);
        frames[taken].pc = (uintptr_t)pcs[first + taken] - 1;
        frames[taken].cfa = UINTPTR_MAX;
    }
    return taken;
}

/* Fills in at most `most` frames of the calling thread, and returns how many. `rules`: see gc__native_cursor. */
GC__FN size_t gc__native_take(const gc__native_start *start, gc__native_frame *frames, size_t most,
                              gc__own_rule *rules) {
    gc__native_cursor cursor;
    if (!GC__CPU_UNWINDS) return gc__native_listed(start, frames, most);
    memset(&cursor, 0, sizeof cursor);
    cursor.known = GC__NATIVE_PRESERVED;
    for (int i = 0; i < GC__CPU_PRESERVED_COUNT; i++) cursor.known |= (uint64_t)1 << gc__cpu_preserved[i];
    memcpy(cursor.registers, start->registers, sizeof cursor.registers);
    cursor.rules = rules;
    gc__native_bound(&cursor, true);
    return gc__native_list(&cursor, frames, 0, most);
}

/* The same in a signal handler, which has the context: the first frame is that of the code which was interrupted. */
GC__FN size_t gc__native_take_interrupted(const void *context, gc__native_frame *frames, size_t most) {
    gc__native_cursor cursor;
    if (!most) return 0;
    memset(&cursor, 0, sizeof cursor);
    gc__cpu_interrupted(cursor.registers, context);
    cursor.known = ((uint64_t)1 << GC__CPU_REGISTERS) - 1;
    gc__native_bound(&cursor, false);
    memset(frames, 0, sizeof *frames);
    frames[0].pc = cursor.registers[GC__CPU_PC];
    frames[0].cfa = UINTPTR_MAX;
    return GC__CPU_UNWINDS ? gc__native_list(&cursor, frames, 1, most) : 1;
}
