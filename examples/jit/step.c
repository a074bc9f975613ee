/* step.c - a collection before every instruction: the processor traps after each instruction of the main thread, and if the
   next one is compiled code, another thread is asked to collect, and moves every object. Where the code is fully
   interruptible the thread is stopped just there; elsewhere it runs on to the next return or call. At the end it says how
   often. No instruction is left to chance.

   A native function is not stepped through: a breakpoint at its return address makes the thread go on with that. */
#define _GNU_SOURCE
#include "method.h"
#include "runtime.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <ucontext.h>

static pthread_t main_thread, collecting_thread;
static gc_thread *stepped;
static sem_t request, ready;
static atomic_bool is_over;
static atomic_bool is_busy;    /* a collection was asked for, and has not ended */
static atomic_bool is_stopped; /* it has stopped the main thread */

enum { TRAP_FLAG = 0x100 };
#define BREAKPOINT ((char)0xCC)
static char *breakpoint; /* where code is replaced until the main thread comes there; NULL: nowhere */
static char replaced;
static bool was_compiled; /* the main thread's last instruction was compiled code */

static struct { uint64_t instructions, asked, interrupted, returned, called; } count;

/* The world is stopped: says where. */
void step_observe(void *host, const gc_collection *collection) {
    (void)host, (void)collection;
    if (!stepped || !pthread_equal(pthread_self(), collecting_thread)) return;
    const gc_code_frame *record = stepped->code;
    if (record && record->kind == GC_FRAME_INTERRUPTED)
        count.interrupted++;
    else if (record && !is_native_call((const void *)record->pc))
        count.returned++;
    else
        count.called++;
    atomic_store(&is_stopped, true);
}

static void *collect(void *unused) {
    (void)unused;
    gc_thread *thread = gc_thread_attach(runtime_heap);
    if (!thread) fprintf(stderr, "jit: --step: %s\n", gc_last_message()), exit(1);
    gc_thread_set_name(thread, "step");
    gc_thread_set_mode(thread, GC_MODE_PREEMPTIVE);
    sem_post(&ready);
    for (;;) {
        while (sem_wait(&request) != 0) continue;
        if (atomic_load(&is_over)) break;
        gc_thread_set_mode(thread, GC_MODE_COOPERATIVE);
        gc_collect(runtime_heap, GC_GENERATIONS - 1, GC_COLLECT_COMPACTING);
        gc_thread_set_mode(thread, GC_MODE_PREEMPTIVE);
        atomic_store(&is_busy, false);
    }
    gc_thread_set_mode(thread, GC_MODE_COOPERATIVE);
    gc_thread_detach(thread);
    return NULL;
}

static bool is_signal_pending(void) {
    sigset_t pending;
    return sigpending(&pending) == 0 && sigismember(&pending, GC_CODE_SIGNAL) == 1;
}

static void wait_a_little(void) { nanosleep(&(struct timespec){0, 1000}, NULL); }

static void set_code(char *at, char byte) { __atomic_store_n(code_writable(at), byte, __ATOMIC_SEQ_CST); }

/* Native code was called: lets it run to its return address. */
static void run_to(char *return_address, greg_t *registers) {
    if (!gc_code_find(return_address)) return;
    breakpoint = return_address;
    replaced = *return_address;
    set_code(breakpoint, BREAKPOINT);
    registers[REG_EFL] &= ~(greg_t)TRAP_FLAG;
}

/* Whether the thread came here by the breakpoint; it then goes on with the instruction that was replaced. */
static bool was_breakpoint(greg_t *registers, bool is_main) {
    if (!breakpoint || (char *)registers[REG_RIP] != breakpoint + 1) return false;
    registers[REG_RIP]--;
    if (!is_main) return true; /* it tries again until the main thread has been there */
    set_code(breakpoint, replaced);
    breakpoint = NULL;
    registers[REG_EFL] |= TRAP_FLAG;
    return true;
}

/* The next instruction is compiled code: has a collection begin there, unless the last one still waits for this thread. If
   that finds the code interruptible, it will interrupt it again. */
static void step(const gc_code *code, const char *pc) {
    count.instructions++;
    bool is_interruptible = gc_stackmap_is_interruptible(code->map, (uint32_t)(pc - (const char *)code->start));
    while (atomic_load(&is_busy) && atomic_load(&is_stopped)) wait_a_little();
    if (atomic_load(&is_busy) && !is_interruptible) return;
    if (!atomic_load(&is_busy)) {
        count.asked++;
        atomic_store(&is_stopped, false);
        atomic_store(&is_busy, true);
        sem_post(&request);
    }
    while (!is_signal_pending() && atomic_load(&is_busy)) wait_a_little();
}

/* Runs after each instruction, with GC_CODE_SIGNAL blocked: once that is pending it interrupts the very next instruction. */
static void trapped(int signal_number, siginfo_t *info, void *context) {
    (void)signal_number, (void)info;
    greg_t *registers = ((ucontext_t *)context)->uc_mcontext.gregs;
    bool is_main = pthread_equal(pthread_self(), main_thread);
    bool broke = was_breakpoint(registers, is_main);
    if (!is_main) {
        if (!broke) registers[REG_EFL] &= ~(greg_t)TRAP_FLAG; /* of a thread that the main thread has made */
        return;
    }
    const char *pc = (const char *)registers[REG_RIP];
    const gc_code *code = gc_code_find(pc);
    if (code)
        step(code, pc);
    else if (was_compiled)
        run_to(*(char **)registers[REG_RSP], registers);
    was_compiled = code != NULL;
}

/* Sets or clears the flag by which the processor traps, below what the compiler keeps under the stack pointer. */
static void set_trap_flag(bool on) {
    if (on)
        __asm__ volatile("lea -128(%%rsp), %%rsp\n pushfq\n orq $0x100, (%%rsp)\n popfq\n lea 128(%%rsp), %%rsp" ::
                             : "cc", "memory");
    else
        __asm__ volatile("lea -128(%%rsp), %%rsp\n pushfq\n andq $~0x100, (%%rsp)\n popfq\n lea 128(%%rsp), %%rsp" ::
                             : "cc", "memory");
}

void step_begin(gc_thread *thread) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = trapped;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    sigaddset(&action.sa_mask, GC_CODE_SIGNAL);
    stepped = thread;
    main_thread = pthread_self();
    sem_init(&request, 0, 0);
    sem_init(&ready, 0, 0);
    if (pthread_create(&collecting_thread, NULL, collect, NULL) != 0 || sigaction(SIGTRAP, &action, NULL) != 0)
        fputs("jit: --step: no thread can be made\n", stderr), exit(1);
    {
        GC_IN_MODE(thread, GC_MODE_PREEMPTIVE);
        while (sem_wait(&ready) != 0) continue;
    }
    set_trap_flag(true);
}

void step_end(gc_thread *thread) {
    set_trap_flag(false);
    GC_IN_MODE(thread, GC_MODE_PREEMPTIVE);
    atomic_store(&is_over, true);
    sem_post(&request);
    pthread_join(collecting_thread, NULL);
    fprintf(stderr,
            "step: %llu instructions, %llu collections; stopped at an instruction %llu times, at a return %llu times, "
            "in native code %llu times\n",
            (unsigned long long)count.instructions, (unsigned long long)count.asked,
            (unsigned long long)count.interrupted, (unsigned long long)count.returned,
            (unsigned long long)count.called);
}
