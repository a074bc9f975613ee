/* A heap where the kernel lacks system calls, or a sandbox forbids them, or memory and address space are short.
     strict [bits N] HEAP [CONDITION]... [NAME ACTION]...    each of the calls has its action: kill, or the number of an error
     strict [bits N] HEAP [CONDITION]... only NAME...        all other calls kill
   NAME is that of a system call, of an advice of madvise, or of an option of prctl. N: of addresses. CONDITION: late (the calls are
   refused once the heap has its first thread), small_pages, promises MIB, resident (tells how much memory the process has). */
#define _GNU_SOURCE
#include "../fixture.h"

#include <errno.h>
#include <inttypes.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/prctl.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#ifdef __x86_64__
#define ARCHITECTURE AUDIT_ARCH_X86_64
#else
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif
#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif
#ifndef PR_SET_VMA
#define PR_SET_VMA 0x53564d41
#endif

enum { ANY = -1, RULES_MAX = 200 };

/* What the cases name. `argument` is that by which a call is chosen among those with its number. */
static const struct call {
    const char *name;
    unsigned number;
    int argument;
    unsigned value;
} calls[] = {
#define CALL(name) {#name, SYS_##name, ANY, 0}
#define ADVICE(name) {#name, SYS_madvise, 2, name}
    CALL(mmap), CALL(munmap), CALL(mprotect), CALL(madvise), CALL(mremap), CALL(mincore), CALL(brk), CALL(msync),
    CALL(futex), CALL(clock_gettime), CALL(getpid), CALL(gettid), CALL(getrandom), CALL(exit_group), CALL(exit),
    CALL(write), CALL(read), CALL(close), CALL(openat), CALL(newfstatat), CALL(fstat), CALL(pread64), CALL(prlimit64),
    CALL(sysinfo), CALL(clone), CALL(clone3), CALL(rseq), CALL(set_robust_list), CALL(rt_sigprocmask),
    CALL(rt_sigaction), CALL(rt_sigreturn), CALL(rt_sigpending), CALL(sched_getaffinity), CALL(sched_setaffinity),
    CALL(sched_getscheduler), CALL(sched_setscheduler), CALL(sched_yield), CALL(process_vm_readv), CALL(membarrier),
    CALL(userfaultfd), CALL(prctl), CALL(tgkill), CALL(tkill), CALL(kill), CALL(wait4), CALL(execve), CALL(pipe2), CALL(dup2), CALL(ppoll),
    CALL(readlink), CALL(access), CALL(vfork), CALL(arch_prctl), CALL(rt_tgsigqueueinfo), CALL(getuid), CALL(getcpu),
    CALL(memfd_create), CALL(lseek), CALL(ioctl), CALL(geteuid), CALL(getegid), CALL(getgid), CALL(set_tid_address),
    ADVICE(MADV_DONTNEED), ADVICE(MADV_DONTDUMP), ADVICE(MADV_DODUMP), ADVICE(MADV_HUGEPAGE), ADVICE(MADV_NOHUGEPAGE),
    ADVICE(MADV_POPULATE_WRITE), ADVICE(MADV_FREE),
    {"PR_SET_VMA", SYS_prctl, 0, PR_SET_VMA},
};

static const struct call *call_of(const char *name) {
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++)
        if (strcmp(calls[i].name, name) == 0) return &calls[i];
    fprintf(stderr, "strict: there is no call %s in the list\n", name);
    exit(99);
}

static struct sock_filter program[RULES_MAX];
static unsigned short length;

static void emit(unsigned code, unsigned value, unsigned yes, unsigned no) {
    if (length == RULES_MAX) abort();
    program[length++] = (struct sock_filter){(uint16_t)code, (uint8_t)yes, (uint8_t)no, value};
}
#define LOAD (BPF_LD | BPF_W | BPF_ABS)
#define EQUAL (BPF_JMP | BPF_JEQ | BPF_K)
#define RETURN (BPF_RET | BPF_K)

static void rule(const struct call *call, unsigned action) {
    emit(EQUAL, call->number, 0, call->argument == ANY ? 1 : 4);
    if (call->argument != ANY) {
        emit(LOAD, (unsigned)offsetof(struct seccomp_data, args) + 8u * (unsigned)call->argument, 0, 0);
        emit(EQUAL, call->value, 0, 1);
    }
    emit(RETURN, action, 0, 0);
    if (call->argument != ANY) emit(LOAD, offsetof(struct seccomp_data, nr), 0, 0);
}

static void impose(int count, char *const *words) {
    bool only = count && strcmp(*words, "only") == 0;
    emit(LOAD, offsetof(struct seccomp_data, arch), 0, 0);
    emit(EQUAL, ARCHITECTURE, 1, 0);
    emit(RETURN, SECCOMP_RET_KILL_PROCESS, 0, 0);
    emit(LOAD, offsetof(struct seccomp_data, nr), 0, 0);
    for (int i = only; i < count; i += only ? 1 : 2) {
        unsigned action = SECCOMP_RET_ALLOW;
        if (!only && i + 1 == count) exit(99);
        if (!only) action = strcmp(words[i + 1], "kill") == 0 ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ERRNO | (unsigned)atoi(words[i + 1]);
        rule(call_of(words[i]), action);
    }
    emit(RETURN, only ? SECCOMP_RET_KILL_PROCESS : SECCOMP_RET_ALLOW, 0, 0);
    struct sock_fprog filter = {length, program};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0) return;
    fprintf(stderr, "strict: the system has no filters of system calls: %s\n", strerror(errno));
    exit(98);
}

/* Output without the C library's buffers, which would ask the system what stdout is. */
static void say(const char *text) {
    if (write(1, text, strlen(text)) < 0) exit(97);
}

/* Takes all address space from 2^bits on, apart from what lies there and room for the stack to grow. */
static void only_bits(int bits) {
    char line[256], name[64];
    uintptr_t free_from = (uintptr_t)1 << bits, all = ((uintptr_t)1 << 47) - 4096, from, to;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (free_from < all) {
        *name = 0;
        if (!maps || !fgets(line, sizeof line, maps)) from = to = all;
        else if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " %*s %*s %*s %*s %63s", &from, &to, name) < 2) exit(96);
        if (from > all) from = to = all;
        uintptr_t end = strcmp(name, "[stack]") == 0 ? from - ((uintptr_t)16 << 20) : from;
        if (end > free_from && mmap((void *)free_from, end - free_from, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE, -1, 0) == MAP_FAILED)
            exit(96);
        if (to > free_from) free_from = to;
    }
    if (maps) fclose(maps);
}

/* Replaces the C library's, which makes this call where the kernel has put no answer into the program's memory. */
int sched_getcpu(void) {
    unsigned processor = 0;
    return syscall(SYS_getcpu, &processor, NULL, NULL) == 0 ? (int)processor : -1;
}

static void finalize(gc_thread *thread, void *object) { (void)thread, (void)object; }
static const gc_finalizer finalizer = {.finalize = finalize};

static void lost(const char *what) {
    say(what);
    exit(1);
}

/* Objects of all sizes, with weak handles and finalizers; of the small ones the last KEPT live. What is new is zero, also where
   memory was used before. */
enum { KEPT = 10000, ROUNDS = 40000, LARGE = 4 * GC_REGION_BYTES };
static void work(gc_thread *thread) {
    vector *list = gc_new_array(thread, &vector_type, KEPT), *huge = NULL;
    GC_ROOTS(thread, list, huge);
    huge = gc_new_array(thread, &vector_type, 1 << 18);
    for (uint64_t i = 0; i < ROUNDS; i++) {
        node *n = gc_new(thread, &node_type);
        if (!n || !list || !huge) lost(gc_last_message());
        if (n->value || n->left || n->right) lost("a new object has other contents\n");
        n->value = i;
        gc_store(thread, &list->items[i % KEPT], n);
        if (i % 64 == 0) {
            gc_store(thread, &huge->items[i], n);
            gc_handle_create(heap, GC_HANDLE_WEAK, n);
            gc_finalizer_register(thread, n, &finalizer);
        }
        if (i % (ROUNDS / 8) == 0) {
            bytes *large = gc_new_array(thread, &bytes_type, LARGE);
            for (size_t k = 0; k < LARGE; k += 64)
                if (large->items[k]) lost("a new array has other contents\n");
            memset(large->items, 0xA5, LARGE);
        }
        if (i % (ROUNDS / 4) == 0) gc_collect(heap, 2, 0);
    }
    for (uint64_t i = ROUNDS - KEPT; i < ROUNDS; i++)
        if (((node *)list->items[i % KEPT])->value != i) lost("an object is lost\n");
}

static void *mutator(void *unused) {
    gc_thread *thread = gc_thread_attach(heap);
    work(thread);
    gc_thread_detach(thread);
    return unused;
}

/* The host's memory, for which gc.h gives no advice. */
static void *reserve(void *huge, size_t bytes, size_t alignment, bool readable) {
    char *start = mmap(NULL, bytes + alignment, readable ? PROT_READ : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (start == MAP_FAILED) return NULL;
    start = (char *)(((uintptr_t)start + alignment - 1) & ~(uintptr_t)(alignment - 1));
    if (huge) madvise(start, bytes, MADV_HUGEPAGE);
    return start;
}
static bool commit(void *context, void *address, size_t bytes) {
    (void)context;
    return mprotect(address, bytes, PROT_READ | PROT_WRITE) == 0;
}
static bool discard(void *context, void *address, size_t bytes) {
    (void)context;
    return madvise(address, bytes, MADV_DONTNEED) == 0;
}
static void release(void *context, void *address, size_t bytes) { (void)context, munmap(address, bytes); }

static gc_memory memory = {.reserve = reserve, .commit = commit, .release = release};
/* The system makes huge pages wherever it can, as it does for all memory if transparent huge pages are set to `always`. */
static gc_memory huge_pages = {.reserve = reserve, .commit = commit, .discard = discard, .release = release, .context = &huge_pages};

static const struct kind {
    const char *name;
    gc_options options;
    int threads; /* besides the first */
} heaps[] = {
    {"default", {0}, 0},
    {"alone", {.collector_threads = 1, .heap_bytes_max = (size_t)256 << 20}, 0},
    {"memory", {.collector_threads = 1, .heap_bytes_max = (size_t)256 << 20, .memory = &memory}, 0},
    {"huge_pages", {.memory = &huge_pages}, 0},
    {"threads", {.test.collectors = 1, .collector_threads = 4, .concurrent = GC_CONCURRENT_ON, .pause_goal_us = 1000}, 2},
    {"conservative", {.conservative_stack = true}, 0},
    {"mistake", {.debug.stress = GC_STRESS_ALLOCATION}, 0},
};

static void create(const struct kind *kind) {
    heap = gc_heap_create(&kind->options);
    gc = heap ? gc_thread_attach(heap) : NULL;
    if (gc) return;
    say(gc_last_message());
    exit(3);
}

/* A reference in a variable that is no root. */
static void mistake(void) {
    const node *missed = new_node(1);
    new_node(2);
    exit((int)missed->value);
}

static void go(const struct kind *kind) {
    pthread_t threads[2];
    int started = 0;
    if (kind->threads) gc_finalizer_thread_start(heap);
    while (started < kind->threads && pthread_create(&threads[started], NULL, mutator, NULL) == 0) started++;
    work(gc);
    {
        static node *outside; /* a root that is not on the stack of its thread, which is in native code */
        GC_ROOTS(gc, outside);
        GC_IN_MODE(gc, GC_MODE_PREEMPTIVE);
        while (started) pthread_join(threads[--started], NULL);
        if (kind->threads) gc_collect(heap, 2, GC_COLLECT_BLOCKING);
    }
    full(), compact();
    gc_finalizer_run(gc, 1000000);
}

/* Tells how much memory the process has, and has had at most, in KiB. */
static void tell(void) {
    struct rusage most;
    char line[128];
    long pages = -1;
    FILE *file = fopen("/proc/self/statm", "r");
    if (!file || fscanf(file, "%*d %ld", &pages) != 1 || getrusage(RUSAGE_SELF, &most) != 0) exit(95);
    fclose(file);
    snprintf(line, sizeof line, "%ld KiB resident, %ld at most\n", pages * (sysconf(_SC_PAGESIZE) >> 10), most.ru_maxrss);
    say(line);
}

static void without_huge_pages(void) {
    if (prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0) != 0) exit(94);
}

/* Takes what the system still promises, but for so many MiB. */
static void short_of_promises(size_t left) {
    char line[128];
    long limit = -1, promised = -1;
    FILE *file = fopen("/proc/meminfo", "r");
    while (file && fgets(line, sizeof line, file)) {
        if (strncmp(line, "CommitLimit:", 12) == 0) limit = strtol(line + 12, NULL, 10);
        if (strncmp(line, "Committed_AS:", 13) == 0) promised = strtol(line + 13, NULL, 10);
    }
    if (file) fclose(file);
    size_t bytes = ((size_t)(limit - promised) << 10) - (left << 20);
    if (limit - promised > (long)left << 10 && mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED) exit(93);
}

static int run_words(int count, char **words) {
    const struct kind *kind = NULL;
    bool is_late = false, tells = false;
    for (size_t i = 0; count > 1 && i < sizeof heaps / sizeof *heaps; i++)
        if (strcmp(heaps[i].name, words[1]) == 0) kind = &heaps[i];
    if (!kind) return 99;
    for (words += 2, count -= 2; count; words++, count--) {
        if (strcmp(*words, "late") == 0) is_late = true;
        else if (strcmp(*words, "resident") == 0) tells = true;
        else if (strcmp(*words, "small_pages") == 0) without_huge_pages();
        else if (strcmp(*words, "promises") == 0) count--, short_of_promises((size_t)atoi(*++words));
        else break;
    }
    if (is_late) create(kind);
    if (count) impose(count, words);
    if (!is_late) create(kind);
    if (kind->options.debug.stress) mistake();
    go(kind);
    if (tells) tell();
    end();
    say("worked\n");
    return 0;
}

static void *run_thread(void *words) {
    int count = 0;
    while (((char **)words)[count]) count++;
    exit(run_words(count, words));
}

/* With `bits N` in another thread, whose stack has such an address. */
int main(int count, char **words) {
    pthread_t thread;
    if (count < 4 || strcmp(words[1], "bits") != 0) return run_words(count, words);
    only_bits(atoi(words[2]));
    if (pthread_create(&thread, NULL, run_thread, words + 2) != 0) return 92;
    pthread_join(thread, NULL);
    return 91;
}
