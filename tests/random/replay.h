/* Programs that compare the heap with a model while operations are chosen at random, in one mode after the other. The same
   arguments do the same again, and a failure ends the program with the command for that. */
#pragma once

#include "../fixture.h"

#include <signal.h>

static struct {
    const char *program, *mode;
    unsigned long long seed, ops, rounds;
} run_options;
static uint64_t operations, collections;

static uint64_t state;
static size_t below(size_t n) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return (size_t)(state >> 11) % n;
}

static __attribute__((format(printf, 1, 2), noreturn)) void wrong(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    printf("not ok - ");
    vprintf(format, arguments);
    va_end(arguments);
    printf("\n# operation %llu, collection %llu. Replay: %s --mode=%s --seed=%llu --ops=%llu\n",
           (unsigned long long)operations, (unsigned long long)collections, run_options.program, run_options.mode,
           run_options.seed, run_options.ops);
    fflush(stdout);
    signal(SIGABRT, SIG_DFL);
    abort();
}

/* Faults end with the command that replays them; AddressSanitizer says more by its own handler. */
#ifndef __SANITIZE_ADDRESS__
static void on_signal(int number) { wrong("%s", strsignal(number)); }
#endif

typedef struct operation {
    void (*op)(void);
    unsigned weight;
} operation;

/* Does `count` operations, each as often as its weight says. */
static void operate(const operation *ops, size_t number_of_ops, unsigned long long count) {
    unsigned total = 0;
    for (size_t i = 0; i < number_of_ops; i++) total += ops[i].weight;
    for (operations = 0; operations < count; operations++) {
        size_t choice = below(total), i = 0;
        while (choice >= ops[i].weight) choice -= ops[i++].weight;
        ops[i].op();
    }
}

typedef struct run_mode {
    const char *name;
    gc_options options;
} run_mode;

/* Runs the mode that the arguments name, or all. run_options has the defaults; `rounds` is 0 in programs that have none. */
static int run_modes(int count, char **arguments, const run_mode *modes, size_t number_of_modes,
                     void (*run)(const run_mode *mode, size_t number)) {
    size_t number = 0;
    const char *only = NULL;
    run_options.program = arguments[0];
    for (int i = 1; i < count; i++) {
        if (strncmp(arguments[i], "--mode=", 7) == 0)
            only = arguments[i] + 7;
        else if (sscanf(arguments[i], "--seed=%llu", &run_options.seed) != 1 &&
                 sscanf(arguments[i], "--ops=%llu", &run_options.ops) != 1 &&
                 !(run_options.rounds && sscanf(arguments[i], "--rounds=%llu", &run_options.rounds) == 1))
            return 2;
    }
#ifndef __SANITIZE_ADDRESS__
    signal(SIGSEGV, on_signal), signal(SIGABRT, on_signal);
#endif
    for (const run_mode *mode = modes; mode < modes + number_of_modes; mode++) {
        if (only && strcmp(only, mode->name) != 0) continue;
        run_options.mode = mode->name;
        run(mode, ++number);
    }
    printf("1..%zu\n", number);
    return number == 0;
}
