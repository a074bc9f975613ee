/* The platform contract for interrupts of compiled code, on Linux: a thread sends another one a signal,
   GC_CODE_SIGNAL. */
#pragma once

#include "../api/code.h"
#include "platform.h"

#ifdef __linux__
/* A thread to which interrupts are sent. */
typedef struct gc__os_target {
    pid_t id;      /* 0: the thread is to receive none */
    /* atomic; 0: no signal is pending; else the number of requests since it was sent, and GC__OS_SENDING */
    uint32_t sent;
    bool has_timer;
    timer_t timer;
} gc__os_target;

GC__VAR __thread gc__os_target gc__os_me;
static void (*gc__os_interrupted)(void *context); /* written once, under gc__os_end_lock, as is the next variable */
static struct sigaction gc__os_interrupt_former;

/* While a signal is pending, further requests send no second one, except after this many: the host may have lost the
   first. */
#define GC__OS_SENT_LOST 64u
/* the requester is between its decision to send a signal and its return from the system */
#define GC__OS_SENDING (1u << 31)

/* Returns the new value of `sent` when a signal has arrived: 0 only if none of gc.h's signals can still come. Several
   may have been sent, and one may have been merged with a signal of the host's; so this asks the system which signals
   it holds back while the handler runs. */
GC__FN uint32_t gc__os_interrupts_left(uint32_t sent, bool is_mine) {
    uint32_t sending = sent & GC__OS_SENDING;
    sigset_t held;
    if (is_mine && (sent ^ sending) <= GC__OS_SENT_LOST) return 0;
    if (!sending && (sigpending(&held) != 0 || sigismember(&held, GC_CODE_SIGNAL) != 1)) return 0;
    return GC__OS_SENT_LOST | sending; /* the next request sends another signal */
}

/* Returns whether a signal is gc.h's own. It is if it carries the address of this thread's gc__os_me; or if it carries
   nothing about its sender, as when too many signals are queued (RLIMIT_SIGPENDING), while one is pending. */
GC__FN bool gc__os_interrupt_is_mine(const siginfo_t *info) {
    bool is_nameless = info->si_code == SI_USER && info->si_pid == 0;
    bool is_marked = (info->si_code == SI_QUEUE || info->si_code == SI_TIMER) && info->si_value.sival_ptr == &gc__os_me;
    uint32_t sent = __atomic_load_n(&gc__os_me.sent, __ATOMIC_ACQUIRE);
    bool is_mine = is_marked || (is_nameless && sent);
    while (sent && !__atomic_compare_exchange_n(
                       &gc__os_me.sent, &sent, gc__os_interrupts_left(sent, is_mine && info->si_code != SI_TIMER), false,
                       __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {}
    return is_mine;
}

/* Handles a signal, and passes signals of others on to their handler. They may stop the thread as well, if a collection
   waits for it. */
GC__FN void gc__os_interrupt_signal(int number, siginfo_t *info, void *context) {
    int error = errno;
    /* comes first: while the thread waits, the next signal may be sent */
    bool is_mine = gc__os_interrupt_is_mine(info);
    gc__os_interrupted(context);
    errno = error;
    const struct sigaction *former = &gc__os_interrupt_former;
    if (is_mine || former->sa_handler == SIG_DFL || former->sa_handler == SIG_IGN) return;
    if (former->sa_flags & SA_SIGINFO)
        former->sa_sigaction(number, info, context);
    else
        former->sa_handler(number);
}

GC__FN void gc__os_interrupt_in_child(void) {
    if (gc__os_me.id) gc__os_me.id = (pid_t)syscall(SYS_gettid);
    gc__os_me.has_timer = false; /* timers are not inherited, nor are pending signals */
    gc__os_me.sent = 0;
}

/* Requires gc__os_end_lock. */
GC__FN bool gc__os_interrupts_handle(void (*f)(void *context)) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = gc__os_interrupt_signal;
    action.sa_flags = SA_SIGINFO | SA_RESTART;
    sigemptyset(&action.sa_mask);
    if (gc__os_interrupted) return true;
    gc__os_interrupted = f;
    /* The former handler is known before a signal can ask for it. */
    if (pthread_atfork(NULL, NULL, gc__os_interrupt_in_child) == 0 &&
        sigaction(GC_CODE_SIGNAL, NULL, &gc__os_interrupt_former) == 0 && sigaction(GC_CODE_SIGNAL, &action, NULL) == 0)
        return true;
    gc__os_interrupted = NULL;
    return false;
}

/* Interrupts a thread if it is in cooperative mode. The thread must exist, and only one thread at a time may call
   this. */
GC__FN void gc__os_interrupt(gc__os_target *target) {
    uint32_t sent = __atomic_load_n(&target->sent, __ATOMIC_ACQUIRE), sending;
    do sending = sent % GC__OS_SENT_LOST ? 0 : GC__OS_SENDING;
    while (!__atomic_compare_exchange_n(&target->sent, &sent, (sent + 1) | sending, false, __ATOMIC_ACQ_REL,
                                        __ATOMIC_ACQUIRE));
    if (!sending) return;
    siginfo_t info;
    memset(&info, 0, sizeof info);
    info.si_signo = GC_CODE_SIGNAL;
    info.si_code = SI_QUEUE;
    info.si_pid = getpid();
    info.si_uid = getuid();
    info.si_value.sival_ptr = target;
    int error = errno;
    syscall(SYS_rt_tgsigqueueinfo, info.si_pid, target->id, GC_CODE_SIGNAL, &info);
    __atomic_fetch_and(&target->sent, ~GC__OS_SENDING, __ATOMIC_ACQ_REL);
    errno = error;
}

/* Not every C library names this field. */
#ifdef sigev_notify_thread_id
#define GC__SIGEV_THREAD sigev_notify_thread_id
#else
#define GC__SIGEV_THREAD _sigev_un._tid
#endif

/* Makes the system interrupt the calling thread once, after that time; 0: cancels that. For stress; the system may
   refuse. */
GC__FN void gc__os_interrupt_later(uint64_t ns) {
    int error = errno;
    struct sigevent event;
    struct itimerspec time;
    memset(&event, 0, sizeof event);
    memset(&time, 0, sizeof time);
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = GC_CODE_SIGNAL;
    event.sigev_value.sival_ptr = &gc__os_me;
    event.GC__SIGEV_THREAD = gc__os_me.id;
    time.it_value.tv_nsec = (long)ns;
    if (ns && !gc__os_me.has_timer) gc__os_me.has_timer = timer_create(CLOCK_MONOTONIC, &event, &gc__os_me.timer) == 0;
    if (gc__os_me.has_timer) timer_settime(gc__os_me.timer, 0, &time, NULL);
    if (!ns && gc__os_me.has_timer) timer_delete(gc__os_me.timer);
    gc__os_me.has_timer &= ns != 0;
    errno = error;
}

#if defined(__x86_64__)
#define GC__ARCH_SHSTK_STATUS 0x5005

/* With a shadow stack, a replaced return address would differ from the processor's copy. */
GC__FN bool gc__os_has_shadow_stack(void) {
    unsigned long features = 0;
    int error = errno;
    bool has = syscall(SYS_arch_prctl, GC__ARCH_SHSTK_STATUS, &features) == 0 && (features & 1);
    errno = error;
    return has;
}

/* Makes interrupts of the calling thread call `f` with the thread's state, which f passes to the functions below.
   Returns the target of interrupts, or NULL with the reason in *refusal. */
GC__FN gc__os_target *gc__os_interruptible(void (*f)(void *context), const char **refusal) {
    sigset_t blocked;
    *refusal = NULL;
    gc__lock_take(&gc__os_end_lock);
    if (!gc__os_interrupts_handle(f))
        *refusal = "the system does not let GC_CODE_SIGNAL be handled: choose another signal";
    gc__lock_release(&gc__os_end_lock);
    if (gc__os_has_shadow_stack())
        *refusal = "the process runs with a shadow stack, which forbids to replace return addresses: start it with "
                   "GLIBC_TUNABLES=glibc.cpu.x86_shstk=off";
    if (pthread_sigmask(SIG_BLOCK, NULL, &blocked) == 0 && sigismember(&blocked, GC_CODE_SIGNAL) == 1)
        *refusal = "the calling thread blocks GC_CODE_SIGNAL (SIGURG by default): unblock it by pthread_sigmask";
    if (*refusal) return NULL;
    gc__os_me.id = (pid_t)syscall(SYS_gettid);
    return &gc__os_me;
}

static const unsigned char gc__os_register_index[GC_CODE_REGISTERS] = {
    REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
    REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};

GC__FN uintptr_t gc__os_context_pc(const void *context) {
    return (uintptr_t)((const ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
}
GC__FN void gc__os_context_read(const void *context, uintptr_t *registers) {
    for (int i = 0; i < GC_CODE_REGISTERS; i++)
        registers[i] = (uintptr_t)((const ucontext_t *)context)->uc_mcontext.gregs[gc__os_register_index[i]];
}
/* Sets the registers with which the thread continues. */
GC__FN void gc__os_context_write(void *context, const uintptr_t *registers) {
    for (int i = 0; i < GC_CODE_REGISTERS; i++)
        ((ucontext_t *)context)->uc_mcontext.gregs[gc__os_register_index[i]] = (greg_t)registers[i];
}
#else
GC__FN gc__os_target *gc__os_interruptible(void (*f)(void *context), const char **refusal) {
    (void)f;
    *refusal = "interrupting compiled code is for x86-64 only, so far";
    return NULL;
}
GC__FN uintptr_t gc__os_context_pc(const void *context) { return (uintptr_t)context & 0; }
GC__FN void gc__os_context_read(const void *context, uintptr_t *registers) { (void)context, (void)registers; }
GC__FN void gc__os_context_write(void *context, const uintptr_t *registers) { (void)context, (void)registers; }
#endif

/* Restores the former handler when the library is unloaded, or the program ends. */
GC__AT_UNLOAD GC__FN void gc__os_interrupts_end(void) {
    struct sigaction action;
    if (!gc__os_interrupted || sigaction(GC_CODE_SIGNAL, NULL, &action) != 0) return;
    if (!(action.sa_flags & SA_SIGINFO) || action.sa_sigaction != gc__os_interrupt_signal) return;
    sigaction(GC_CODE_SIGNAL, &gc__os_interrupt_former, NULL);
}
#endif
