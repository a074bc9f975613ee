/* What taking a profile costs: the CPU time of whole runs of a program, in one process, in turns with and without a profile.

   A host whose other guests come and go makes a processor up to 1.5 times slower for seconds. So runs are short, and those are
   compared that follow each other: a round has one run of each side, in an order of its own. A few bytes decide whether a
   program gets by with one full collection less, which may be 2 % of its time: so in each round heaps may grow by another
   percentage. Printed are the median of the pairwise means of the rounds' ratios (Hodges and Lehmann), and the bounds between which
   it lies with a confidence of 95 % (Wilcoxon's signed ranks). The side "none" has no profile either: what it shows is noise. */
#pragma once

#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "gc_profile.h"
#include "random.h"

#define SLICES_FILE "build/bench/profile.pb"

/* Runs the program once, from the creation of its heap to its end. */
static void slice_run(const gc_options *options, int argc, char **argv);

typedef struct slice_side {
    const char *name;
    unsigned what;   /* of gc_profile_options; 0: no profile */
    double *logs;    /* of the ratios to a run without a profile, one for each round */
    double write_ms; /* to start the profiles and to write them, all rounds together */
} slice_side;

static slice_side slice_sides[] = {{"", 0, NULL, 0},
                                   {"none", 0, NULL, 0},
                                   {"samples", GC_PROFILE_DEFAULT, NULL, 0},
                                   {"samples, ticks", GC_PROFILE_DEFAULT | GC_PROFILE_BIT(TICK), NULL, 0}};
#define SLICE_SIDES (sizeof slice_sides / sizeof *slice_sides)

static double slice_cpu_ms(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static int slice_compare(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void *slice_memory(size_t bytes) {
    void *memory = malloc(bytes);
    if (!memory) abort();
    return memory;
}

static void slice_check(gc_result result) {
    if (result == GC_OK) return;
    fprintf(stderr, "%s\n", gc_last_message());
    exit(1);
}

/* CPU time of a run in ms. Starting the profile and writing it are counted apart. */
static double slice_measure(slice_side *side, const gc_options *heap, int argc, char **argv) {
    double start = slice_cpu_ms(), started, ended;
    gc_profile_options options = {.what = side->what};
    if (side->what) slice_check(gc_profile_start(&options, SLICES_FILE));
    started = slice_cpu_ms();
    slice_run(heap, argc, argv);
    ended = slice_cpu_ms();
    if (side->what) slice_check(gc_profile_stop());
    side->write_ms += slice_cpu_ms() - ended + started - start;
    return ended - started;
}

/* One run of each side. */
static double slice_round(size_t round, uint64_t *seed, int argc, char **argv) {
    gc_options heap = {.collector_threads = 1, .growth_percent = 75 + (unsigned)(next_random(seed) % 51)};
    double ms[SLICE_SIDES];
    size_t order[SLICE_SIDES];
    for (size_t i = 0; i < SLICE_SIDES; i++) {
        size_t place = next_random(seed) % (i + 1);
        order[i] = order[place];
        order[place] = i;
    }
    for (size_t i = 0; i < SLICE_SIDES; i++) ms[order[i]] = slice_measure(&slice_sides[order[i]], &heap, argc, argv);
    for (size_t i = 0; i < SLICE_SIDES; i++) slice_sides[i].logs[round] = log(ms[i] / ms[0]);
    return ms[0];
}

static double slice_percent(double logarithm) { return 100 * (exp(logarithm) - 1); }

static void slice_print(FILE *file, const char *label, double ms, const slice_side *side, size_t rounds) {
    size_t count = 0, all = rounds * (rounds + 1) / 2;
    double *means = slice_memory(all * sizeof *means), n = (double)rounds;
    for (size_t i = 0; i < rounds; i++)
        for (size_t k = 0; k <= i; k++) means[count++] = (side->logs[i] + side->logs[k]) / 2;
    qsort(means, all, sizeof *means, slice_compare);
    double rank = n * (n + 1) / 4 - 1.96 * sqrt(n * (n + 1) * (2 * n + 1) / 24);
    size_t least = rank > 0 ? (size_t)rank : 0;
    fprintf(file, "%-18s %7.0f   %-15s %+6.2f   %+6.2f to %+.2f   %8.1f\n", label, ms, side->name,
            slice_percent(means[all / 2]), slice_percent(means[least]), slice_percent(means[all - 1 - least]),
            side->write_ms / n);
    free(means);
}

/* The first round only warms up. What the program prints is dropped. */
int main(int argc, char **argv) {
    size_t rounds = argc > 3 ? strtoul(argv[1], NULL, 10) : 0;
    uint64_t seed = RANDOM_SEED;
    if (!rounds) {
        fprintf(stderr, "usage: %s ROUNDS LABEL PROGRAM [ARGUMENTS]\n", argv[0]);
        return 64;
    }
    FILE *report = fdopen(dup(1), "w");
    if (!report || !freopen("/dev/null", "w", stdout)) abort();
    double *base = slice_memory((rounds + 1) * sizeof *base);
    for (size_t i = 0; i < SLICE_SIDES; i++) slice_sides[i].logs = slice_memory((rounds + 1) * sizeof(double));
    slice_round(rounds, &seed, argc - 3, argv + 3);
    for (size_t i = 0; i < SLICE_SIDES; i++) slice_sides[i].write_ms = 0;
    for (size_t i = 0; i < rounds; i++) base[i] = slice_round(i, &seed, argc - 3, argv + 3);
    qsort(base, rounds, sizeof *base, slice_compare);
    for (size_t i = 1; i < SLICE_SIDES; i++) slice_print(report, argv[2], base[rounds / 2], &slice_sides[i], rounds);
    return fclose(report) != 0;
}
