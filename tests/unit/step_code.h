/* Runs compiled code one instruction at a time, by the processor's trap flag, together with the stubs of gc.h through which it
   goes. C functions that these call run at full speed. Before each instruction step_each(context) is called in the handler of
   a signal, as if that had arrived there. After code.h and gc_stackmap.h. */
#pragma once

#include <signal.h>
#include <ucontext.h>

static void (*step_each)(void *context);
static long step_count;
static int step_flags; /* more flags of the handler's */
static uintptr_t step_last_pc, step_last_sp;

/* As gc_code_call, with the trap flag set during the call. And where C functions return to, to set it again. */
extern uintptr_t step_enter(gc_thread *thread, const void *start, const uintptr_t *arguments)
    __attribute__((visibility("hidden")));
extern const char step_resume[] __attribute__((visibility("hidden")));
extern uintptr_t step_to __attribute__((visibility("hidden")));
__asm__(".text\n"
        ".hidden step_enter\n.globl step_enter\n"
        "step_enter:\n"
        "push %rbp\npush %rbx\npush %r12\npush %r13\npush %r14\npush %r15\nsub $8, %rsp\n"
        "mov %rdi, %r15\nmov %rsi, %r11\nmov %rdx, %r10\n"
        "mov (%r10), %rdi\nmov 8(%r10), %rsi\nmov 16(%r10), %rdx\nmov 24(%r10), %rcx\n"
        "pushfq\norl $0x100, (%rsp)\npopfq\n"
        "call *%r11\n"
        "pushfq\nandl $~0x100, (%rsp)\npopfq\n"
        "add $8, %rsp\npop %r15\npop %r14\npop %r13\npop %r12\npop %rbx\npop %rbp\nret\n"
        ".hidden step_resume\n.globl step_resume\n"
        "step_resume:\n"
        "pushfq\norl $0x100, (%rsp)\npopfq\n"
        "jmp *step_to(%rip)\n"
        ".data\n.hidden step_to\n.globl step_to\n.balign 8\n"
        "step_to: .quad 0\n.text\n");

/* What is stepped into when it is called. */
static inline bool step_goes_into(uintptr_t pc) {
    return gc_code_find((const void *)pc) || pc == (uintptr_t)gc_code_call_native ||
           pc == (uintptr_t)gc_code_call_native_ref;
}

__attribute__((no_sanitize("address"))) static void step_trap(int number, siginfo_t *info, void *context) {
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    uintptr_t pc = (uintptr_t)registers[REG_RIP], sp = (uintptr_t)registers[REG_RSP];
    (void)number, (void)info;
    uintptr_t after = *(uintptr_t *)sp - step_last_pc;
    bool called = sp == step_last_sp - 8 && after >= 2 && after <= 7 && pc - step_last_pc > 7;
    step_last_pc = pc, step_last_sp = sp;
    if (called && !step_goes_into(pc)) {
        step_to = *(uintptr_t *)sp;
        *(uintptr_t *)sp = (uintptr_t)step_resume;
        registers[REG_EFL] &= ~0x100;
        return;
    }
    step_count++;
    step_each(context);
}

/* Calls compiled code, and `each` before each instruction. */
static inline uintptr_t step_through(gc_thread *thread, const void *start, const uintptr_t *arguments,
                                     void (*each)(void *context)) {
    struct sigaction action, former;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = step_trap;
    action.sa_flags = SA_SIGINFO | step_flags;
    sigaction(SIGTRAP, &action, &former);
    gc__my_interruptee.random = 0; /* no interrupts but those of each() */
    gc__os_interrupt_later(0);
    uintptr_t to = step_to; /* native code that was called may step, too */
    step_each = each;
    step_count = 0, step_last_pc = step_last_sp = 0;
    uintptr_t result = step_enter(thread, start, arguments);
    step_to = to;
    sigaction(SIGTRAP, &former, NULL);
    return result;
}
