/* Random operations on heaps, compared with a shadow model.

   random [--mode=MODE] [--seed=S] [--ops=N] [--check=N] [--verify=0] [--forget-barrier=K] [--forget-card=K] [--forget-root=K]
          [--barrier=NAME]

   The same arguments do exactly the same again, but for mode adaptive, whose nursery depends on the time. --check=N
   compares heap and model every N operations, to find the operation after which they differ. With --verify=0 that
   comparison is all that notices errors: collections are not verified, and there are three times as many in the same
   time. --forget-barrier=K makes the K-th store that needs its write barrier without it, --forget-card=K takes back the
   card that the K-th store has dirtied, --forget-root=K does not report slot K of scan_roots. --barrier=NAME, with
   GC_BARRIER at_run_time, uses that barrier; without it the barriers change as it goes. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdint.h>
#include <string.h>

#if defined(RANDOM_TAGGED)
#define GC_VALUE_IS_REF(word) (((word) & 1) == 0 && (word) > 6)
#define GC_VALUE_TO_REF(word) ((word) & ~(uintptr_t)7)
#define GC_VALUE_FROM_REF(ref, word) ((uintptr_t)(ref) | ((word) & 7))
#define VALUE_TAGS 4
static inline uintptr_t box_number(uint64_t value) { return (uintptr_t)value << 1 | 1; }
static inline uintptr_t box_tagged(const void *object, int tag) { return (uintptr_t)object | (uintptr_t)tag << 1; }
#elif defined(RANDOM_NANBOX)
#define GC_VALUE_IS_REF(word) ((word) >> 50 == 0x3FFF)
#define GC_VALUE_TO_REF(word) ((word) & 0xFFFFFFFFFFFF)
#define GC_VALUE_FROM_REF(ref, word) ((uintptr_t)(ref) | ((word) & ~(uintptr_t)0xFFFFFFFFFFFF))
#define VALUE_TAGS 4
static inline uintptr_t box_number(uint64_t value) {
    double number = (double)value;
    uintptr_t word;
    memcpy(&word, &number, sizeof word);
    return word;
}
static inline uintptr_t box_tagged(const void *object, int tag) {
    return (uintptr_t)object | (uintptr_t)0x3FFF << 50 | (uintptr_t)tag << 48;
}
#elif defined(RANDOM_WIDE) /* a word, and beside it 0, 1 for a number, or a tag of an object */
#define GC_VALUE_SLOT_IS_REF(slot) (__atomic_load_n((const uint64_t *)(slot) + 1, __ATOMIC_RELAXED) > 1)
#define VALUE_TAGS 4
static inline uintptr_t box_number(uint64_t value);
static inline uintptr_t box_tagged(const void *object, int tag) { return (void)tag, (uintptr_t)object; }
#endif

#ifdef SHARES_INSIDE
#include "../inside.h"
#else
#define GC_IMPLEMENTATION
#endif
#include "gc.h"

#ifdef RANDOM_WIDE
/* Numbers look like addresses of objects. */
static inline uintptr_t box_number(uint64_t value) { return gc__the_arena.base + value % ((uint64_t)1 << 25); }
#endif

#include "random_run.h"

static bool number_option(const char *argument, const char *name, unsigned long long *number) {
    size_t length = strlen(name);
    char *end;
    if (strncmp(argument, name, length) != 0 || argument[length] != '=') return false;
    *number = strtoull(argument + length + 1, &end, 10);
    return !*end && argument[length + 1];
}

static bool option(const char *argument) {
    if (strncmp(argument, "--mode=", 7) == 0) {
        run.mode = argument + 7;
        return true;
    }
    if (strncmp(argument, "--barrier=", 10) == 0) {
        run.barrier = argument + 10;
        return gc_barrier_named(run.barrier) != GC_BARRIER_COUNT;
    }
    return number_option(argument, "--seed", &run.seed) || number_option(argument, "--ops", &run.ops) ||
           number_option(argument, "--check", &run.check_every) || number_option(argument, "--verify", &run.verify) ||
           number_option(argument, "--forget-barrier", &run.forget_barrier) ||
           number_option(argument, "--forget-card", &run.forget_card) ||
           number_option(argument, "--forget-root", &run.forget_root);
}

/* Faults end with the command that replays them; AddressSanitizer says more by its own handler. */
#ifdef __SANITIZE_ADDRESS__
static void catch_faults(void) {}
#else
static void on_signal(int number) { stop(strsignal(number)); }

static void catch_faults(void) {
    static const int signals[] = {SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL};
    for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) signal(signals[i], on_signal);
}
#endif

static void usage(void) {
    fprintf(stderr, "usage: %s [--mode=MODE] [--seed=S] [--ops=N] [--check=N] [--verify=0] [--forget-barrier=K] [--forget-card=K] [--forget-root=K] [--barrier=NAME]\nmodes: all", run.program);
    for (size_t i = 0; i < MODES; i++) fprintf(stderr, ", %s", modes[i].name);
    fputc('\n', stderr);
    exit(2);
}

int main(int count, char **arguments) {
    run.program = arguments[0];
    run.seed = 1;
    run.ops = 100000;
    for (int i = 1; i < count; i++)
        if (!option(arguments[i])) usage();
    size_t first = 0, last = MODES;
    if (strcmp(run.mode, "all") != 0) {
        while (first < MODES && strcmp(run.mode, modes[first].name) != 0) first++;
        if (first == MODES) usage();
        last = first + 1;
    }
    print_replay(stdout);
    fflush(stdout);
    catch_faults();
    kinds_make(run.seed);
    for (size_t i = first; i < last; i++) run_mode(&modes[i], i - first + 1);
    printf("1..%zu\n", last - first);
    return 0;
}
