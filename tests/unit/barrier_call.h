/* Every way to call every barrier: inline, in portable C, through pointers, and as emitted code. */
#pragma once

#include "barrier_world.h"

enum {
    STORE,
    CHECKED,
    AFTER,
    AFTER_CHECKED,
    ASSIGN,
    ASSIGN_CHECKED,
    COPY_ONE,
    COPY_ONE_CHECKED,
    COPY_RUN,
    COPY_RUN_CHECKED,
    FORMS
};
typedef struct form {
    const char *name;
    bool checked;
    unsigned emitted; /* the form for gc_barrier_emit */
    bool assigns, copies;
    size_t count;
} form;
static const form forms[FORMS] = {
    {"store", false, GC_EMIT_STORE, false, false, 1},
    {"checked", true, GC_EMIT_CHECKED, false, false, 1},
    {"after", false, 0, false, false, 1},
    {"after_checked", true, 0, false, false, 1},
    {"assign", false, GC_EMIT_ASSIGN, true, false, 1},
    {"assign_checked", true, GC_EMIT_ASSIGN | GC_EMIT_CHECKED, true, false, 1},
    {"copy of one", false, GC_EMIT_COPY, false, true, 1},
    {"copy_checked of one", true, GC_EMIT_COPY | GC_EMIT_CHECKED, false, true, 1},
    {"copy of several", false, GC_EMIT_COPY, false, true, RUN},
    {"copy_checked of several", true, GC_EMIT_COPY | GC_EMIT_CHECKED, false, true, RUN},
};

enum { INLINE, PORTABLE, AT_RUN_TIME, POINTERS, EMITTED, GROUPS };
static const char *const group_names[GROUPS] = {"inline", "in C", "in C, chosen at run time", "through pointers",
                                                "emitted"};

/* Each barrier's C has only its shortest forms here, since a copy of them all takes long to compile. */
static inline bool group_has(int group, int f) {
    if (f == AFTER_CHECKED) return group == INLINE || group == POINTERS;
    return group == PORTABLE ? f <= AFTER : group != EMITTED || f != AFTER;
}

/* Arguments and, of assign, results. */
typedef struct call {
    gc_barrier barrier;
    void *slot;
    const void *const *source;
    size_t count;
    void *to;
    const void *from;
} call;

#define NOINLINE __attribute__((noinline))
#define CALL_FORMS(store, checked, after, after_checked, assign, assign_checked, copy, copy_checked) \
    c->to = c->slot, c->from = c->source;                                                            \
    if (f == AFTER || f == AFTER_CHECKED) *(gc_word *)c->slot = (uintptr_t)*c->source;               \
    switch (f) {                                                                                     \
    case STORE:                                                                                      \
        store(&tables, c->slot, *c->source);                                                         \
        break;                                                                                       \
    case CHECKED:                                                                                    \
        checked(&tables, c->slot, *c->source);                                                       \
        break;                                                                                       \
    case AFTER:                                                                                      \
        after(&tables, c->slot, *c->source);                                                         \
        break;                                                                                       \
    case AFTER_CHECKED:                                                                              \
        after_checked(&tables, c->slot, *c->source);                                                 \
        break;                                                                                       \
    case ASSIGN:                                                                                     \
        assign(&tables, &c->to, &c->from);                                                           \
        break;                                                                                       \
    case ASSIGN_CHECKED:                                                                             \
        assign_checked(&tables, &c->to, &c->from);                                                   \
        break;                                                                                       \
    case COPY_ONE:                                                                                   \
    case COPY_RUN:                                                                                   \
        copy(&tables, c->slot, c->source, c->count);                                                 \
        break;                                                                                       \
    default:                                                                                         \
        copy_checked(&tables, c->slot, c->source, c->count);                                         \
        break;                                                                                       \
    }

/* In C, of the barrier B. There is no after_checked. */
#define C_STORE(t, slot, ref) gc_barrier_store_c(B, t, slot, ref)
#define C_CHECKED(t, slot, ref) gc_barrier_checked_c(B, t, slot, ref)
#define C_AFTER(t, slot, ref) gc_barrier_after_c(B, t, slot, ref)
#define C_AFTER_CHECKED(t, slot, ref) abort()
#define C_ASSIGN(t, to, from) gc_barrier_assign_c(B, t, to, from)
#define C_ASSIGN_CHECKED(t, to, from) gc_barrier_assign_checked_c(B, t, to, from)
#define C_COPY(t, to, from, count) gc_barrier_copy_c(B, t, to, from, count)
#define C_COPY_CHECKED(t, to, from, count) gc_barrier_copy_checked_c(B, t, to, from, count)

#define CALLERS(name, NAME, watch, filter, mark)                                                                \
    static NOINLINE void call_inline_##name(int f, call *c) {                                                   \
        CALL_FORMS(gc_barrier_store_##name, gc_barrier_checked_##name, gc_barrier_after_##name,                 \
                   gc_barrier_after_checked_##name, gc_barrier_assign_##name, gc_barrier_assign_checked_##name, \
                   gc_barrier_copy_##name, gc_barrier_copy_checked_##name)                                      \
    }                                                                                                           \
    static NOINLINE void call_c_##name(int f, call *c) {                                                        \
        const gc_barrier B = GC_BARRIER_##NAME;                                                                 \
        if (f == STORE) C_STORE(&tables, c->slot, *c->source);                                                  \
        if (f == CHECKED) C_CHECKED(&tables, c->slot, *c->source);                                              \
        if (f != AFTER) return;                                                                                 \
        *(gc_word *)c->slot = (uintptr_t)*c->source;                                                            \
        C_AFTER(&tables, c->slot, *c->source);                                                                  \
    }
GC_BARRIERS(CALLERS)

typedef void caller(int f, call *c);
#define INLINE_CALLER(name, NAME, watch, filter, mark) call_inline_##name,
#define C_CALLER(name, NAME, watch, filter, mark) call_c_##name,
static caller *const inline_callers[] = {GC_BARRIERS(INLINE_CALLER)};
static caller *const c_callers[] = {GC_BARRIERS(C_CALLER)};

static NOINLINE void call_at_run_time(int f, call *c) {
    const gc_barrier B = c->barrier;
    CALL_FORMS(C_STORE, C_CHECKED, C_AFTER, C_AFTER_CHECKED, C_ASSIGN, C_ASSIGN_CHECKED, C_COPY, C_COPY_CHECKED)
}

static inline void call_pointers(int f, call *c) {
    const gc_barrier_functions *p = gc_barrier_functions_of(c->barrier);
    CALL_FORMS(p->store, p->checked, p->after, p->after_checked, p->assign, p->assign_checked, p->copy, p->copy_checked)
}

/* Emitted code: written through one mapping of a page, executed through another. */

enum { CODE_BYTES = 4096 };
static uint8_t *code_alias, *code_page;
static gc_barrier_code emitted;

static inline void make_code_page(void) {
    int file = memfd_create("barrier", 0);
    if (file < 0 || ftruncate(file, CODE_BYTES) != 0) abort();
    code_alias = (uint8_t *)mmap(NULL, CODE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    code_page = (uint8_t *)mmap(NULL, CODE_BYTES, PROT_READ | PROT_EXEC, MAP_SHARED, file, 0);
    if (code_alias == MAP_FAILED || code_page == MAP_FAILED) abort();
    close(file);
}

#ifdef __x86_64__
#define CAN_EXECUTE 1
/* The processor follows changes of code made through another address only from the next serializing instruction on. */
static inline void code_changed(void) {
    unsigned a = 0, c = 0;
    __asm__ volatile("cpuid" : "+a"(a), "+c"(c) : : "ebx", "edx", "memory");
}
#else
#define CAN_EXECUTE 0
static inline void code_changed(void) {}
#endif

/* Emits for tables of which nothing is right, and patches. */
static inline void emit_and_patch(gc_barrier barrier, unsigned f) {
    gc_barrier_tables wrong;
    memset(&wrong, 0xA5, sizeof wrong);
    if (GC_HAS_EMIT) gc_barrier_emit(&emitted, code_alias, CODE_BYTES, barrier, f, &wrong);
    gc_barrier_patch(&emitted, code_alias, &tables);
    code_changed();
}

typedef GC_EMITTED void emitted_store(void *slot, const void *ref);
typedef GC_EMITTED void emitted_assign(void *slot, const void *const *source);
typedef GC_EMITTED void emitted_copy(void *destination, const void *const *source, size_t count);

/* As a function of C, which does not see what assign leaves in its registers. */
static inline void call_emitted_as_c(int f, call *c) {
    c->to = c->slot, c->from = c->source;
    if (forms[f].copies) {
        ((emitted_copy *)(uintptr_t)code_page)(c->slot, c->source, c->count);
    } else if (forms[f].assigns) {
        ((emitted_assign *)(uintptr_t)code_page)(c->slot, c->source);
        c->to = (char *)c->to + 8, c->from = (const char *)c->from + 8;
    } else {
        ((emitted_store *)(uintptr_t)code_page)(c->slot, *c->source);
    }
}

enum { RAX, RCX, RDX, RBX, RSP, RBP, RSI, RDI, R8, R9, R10, R11, REGISTERS = 16 };
enum { STACK_BYTES = 1 << 16, STACK_TOP = STACK_BYTES - 1024, RED_ZONE_BYTES = 24, STACK_FILL = 0xB7 };
static uint32_t changed_registers; /* by emitted code, since it was set to 0 */
static uint8_t private_stack[STACK_BYTES] __attribute__((aligned(64)));

/* Whether the code kept to the red zone that is allowed to it. */
static inline bool private_stack_is_whole(void) {
    int allowed = STACK_TOP - 24 - RED_ZONE_BYTES; /* two words and a return address are the trampoline's */
    for (int i = 0; i < STACK_BYTES; i++)
        if ((i < allowed || i >= STACK_TOP) && private_stack[i] != STACK_FILL) return false;
    return true;
}

#if GC_HAS_ASSEMBLY
#ifdef __cplusplus
extern "C"
#else
extern
#endif
    /* Calls `code` with all registers as in r[0..15], and puts there what it leaves. r[16] is for the stack pointer. */
    __attribute__((visibility("hidden"))) void
    barrier_trampoline(const void *code, uint64_t *r);

/* With -masm=intel, gcc's assembler is in that dialect here; clang's is not. */
#if defined(INTEL_DIALECT) && !defined(__clang__)
#define ATT_SYNTAX ".att_syntax prefix\n\t"
#define FORMER_SYNTAX ".intel_syntax noprefix\n\t"
#else
#define ATT_SYNTAX
#define FORMER_SYNTAX
#endif
__asm__(ATT_SYNTAX ".text\n\t.p2align 4\nbarrier_trampoline:\n\t"
        "pushq %rbx\n\tpushq %rbp\n\tpushq %r12\n\tpushq %r13\n\tpushq %r14\n\tpushq %r15\n\t"
        "movq %rsp, 128(%rsi)\n\tmovq 32(%rsi), %rsp\n\tpushq %rsi\n\tpushq %rdi\n\t"
        "movq 0(%rsi), %rax\n\tmovq 8(%rsi), %rcx\n\tmovq 16(%rsi), %rdx\n\tmovq 24(%rsi), %rbx\n\t"
        "movq 40(%rsi), %rbp\n\tmovq 56(%rsi), %rdi\n\tmovq 64(%rsi), %r8\n\tmovq 72(%rsi), %r9\n\t"
        "movq 80(%rsi), %r10\n\tmovq 88(%rsi), %r11\n\tmovq 96(%rsi), %r12\n\tmovq 104(%rsi), %r13\n\t"
        "movq 112(%rsi), %r14\n\tmovq 120(%rsi), %r15\n\tmovq 48(%rsi), %rsi\n\t"
        "call *(%rsp)\n\t"
        "xchgq %rax, 8(%rsp)\n\tmovq %rcx, 8(%rax)\n\tmovq %rdx, 16(%rax)\n\tmovq %rbx, 24(%rax)\n\t"
        "movq %rbp, 40(%rax)\n\tmovq %rsi, 48(%rax)\n\tmovq %rdi, 56(%rax)\n\tmovq %r8, 64(%rax)\n\t"
        "movq %r9, 72(%rax)\n\tmovq %r10, 80(%rax)\n\tmovq %r11, 88(%rax)\n\tmovq %r12, 96(%rax)\n\t"
        "movq %r13, 104(%rax)\n\tmovq %r14, 112(%rax)\n\tmovq %r15, 120(%rax)\n\t"
        "movq 8(%rsp), %rcx\n\tmovq %rcx, 0(%rax)\n\tleaq 16(%rsp), %rcx\n\tmovq %rcx, 32(%rax)\n\t"
        "movq 128(%rax), %rsp\n\t"
        "popq %r15\n\tpopq %r14\n\tpopq %r13\n\tpopq %r12\n\tpopq %rbp\n\tpopq %rbx\n\tret\n\t.previous\n\t" FORMER_SYNTAX);

static inline void call_emitted(int f, call *c) {
    uint64_t before[REGISTERS + 1], after[REGISTERS + 1];
    for (unsigned i = 0; i < REGISTERS; i++) before[i] = 0xC0DE5B6C7D8E9FA3 + i * 0x0101010101010101; /* no address */
    before[RSP] = (uintptr_t)(private_stack + STACK_TOP);
    before[RDI] = (uintptr_t)c->slot;
    before[RSI] = forms[f].copies || forms[f].assigns ? (uintptr_t)c->source : (uintptr_t)*c->source;
    if (forms[f].copies) before[RDX] = c->count;
    memcpy(after, before, sizeof after);
    barrier_trampoline(code_page, after);
    for (int i = 0; i < REGISTERS; i++) changed_registers |= (uint32_t)(after[i] != before[i]) << i;
    c->to = forms[f].assigns ? (void *)(uintptr_t)after[RDI] : c->slot;
    c->from = forms[f].assigns ? (const void *)(uintptr_t)after[RSI] : c->source;
}
#else
static inline void call_emitted(int f, call *c) { call_emitted_as_c(f, c); }
#endif

static inline void shoot(int group, int f, call *c) {
    switch (group) {
    case INLINE:
        inline_callers[c->barrier](f, c);
        break;
    case PORTABLE:
        c_callers[c->barrier](f, c);
        break;
    case AT_RUN_TIME:
        call_at_run_time(f, c);
        break;
    case POINTERS:
        call_pointers(f, c);
        break;
    default:
        call_emitted(f, c);
        break;
    }
}
