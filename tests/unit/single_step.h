/* Counts the instructions that the processor executes between two points, by its trap flag:

       if (single_step_available()) {
           single_step_begin();
           f(x);
           single_step_end();    // returns the count: the call, what f does, and the return
       }

   To know what f's body costs, subtract the count of an empty function of the same type, called in the same way. Both
   ends count some instructions of their own, always as many; the count of an empty pair, taken once, is subtracted. Each
   instruction costs a signal, a microsecond or two. One thread at a time; a debugger, or a system that withholds the
   trap, makes it unavailable, as does another processor: then the count is -1.

   With _GNU_SOURCE. */
#pragma once

#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <ucontext.h>

static volatile long single_step_count;
static long single_step_overhead = -1;
static void (*single_step_each)(
    void); /* called before each instruction but the first; once for one that repeats itself */
static struct sigaction single_step_before;

#ifdef __x86_64__
static inline void single_step_trap(int number, siginfo_t *info, void *context) {
    static greg_t last;
    greg_t now = ((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
    (void)number, (void)info;
    single_step_count++;
    if (single_step_each && now != last) single_step_each();
    last = now;
}

/* The red zone of the caller is stepped over before something is pushed. */
static inline __attribute__((always_inline)) void single_step_set_flag(void) {
    __asm__ volatile("{leaq -128(%%rsp), %%rsp|lea rsp, [rsp-128]}\n\tpushfq\n\t"
                     "{orl $0x100, (%%rsp)|or dword ptr [rsp], 0x100}\n\tpopfq\n\t"
                     "{leaq 128(%%rsp), %%rsp|lea rsp, [rsp+128]}" ::
                         : "cc", "memory");
}

static inline __attribute__((always_inline)) void single_step_clear_flag(void) {
    __asm__ volatile("{leaq -128(%%rsp), %%rsp|lea rsp, [rsp-128]}\n\tpushfq\n\t"
                     "{andl $~0x100, (%%rsp)|and dword ptr [rsp], ~0x100}\n\tpopfq\n\t"
                     "{leaq 128(%%rsp), %%rsp|lea rsp, [rsp+128]}" ::
                         : "cc", "memory");
}

static inline void single_step_handle(void) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = single_step_trap;
    action.sa_flags = SA_SIGINFO;
    sigaction(SIGTRAP, &action, &single_step_before);
    single_step_count = 0;
}
#else
static inline void single_step_set_flag(void) {}
static inline void single_step_clear_flag(void) {}
static inline void single_step_handle(void) {}
#endif

static inline bool single_step_available(void) {
#ifdef __x86_64__
    if (single_step_overhead < 0) {
        single_step_handle();
        single_step_set_flag();
        single_step_clear_flag();
        sigaction(SIGTRAP, &single_step_before, NULL);
        single_step_overhead = single_step_count;
    }
    return single_step_overhead > 0;
#else
    return false;
#endif
}

/* Starts counting. Setting the flag is the last that is done. */
static inline __attribute__((always_inline)) void single_step_begin(void) {
    if (!single_step_available()) return;
    single_step_handle();
    single_step_set_flag();
}

/* Stops counting. Returns the number of instructions since single_step_begin; -1 if it is unavailable. */
static inline __attribute__((always_inline)) long single_step_end(void) {
    single_step_clear_flag();
    if (!single_step_available()) return -1;
    sigaction(SIGTRAP, &single_step_before, NULL);
    return single_step_count - single_step_overhead;
}
