/* Two threads dirty cards whose bits share bytes: no bit may be lost. */
#pragma once

#include "barrier_cases.h"

#include <pthread.h>
#include <sched.h>
#include <time.h>

enum { SHARED_BYTES_MAX = 64, BITS_OF_EACH = 4, RACE_ROUNDS = 60 };

/* Written by the main thread between rounds. */
static struct {
    int group;
    gc_barrier barrier;
    uintptr_t first; /* slot of bit 0 of the first shared byte */
    uintptr_t bit_bytes;
    uintptr_t shared_bytes, bundles;
} race;
static gc_word race_log[SHARED_BYTES_MAX * 8]; /* of objects of 8 bytes */
/* How far each thread is: its meetings with the other, counted from 1. -1: the other is to end. Atomic, each written by its
   own thread. */
static long race_at[2] __attribute__((aligned(256)));

static inline void race_store(uintptr_t slot) {
    const void *ref = (const void *)(region(GEN0) + 8);
    call c = {race.barrier, (void *)slot, &ref, 1, NULL, NULL};
    if (race.group == EMITTED)
        call_emitted_as_c(STORE, &c);
    else
        shoot(race.group, STORE, &c);
}

static bool one_processor;

/* Puts the calling thread on its own processor: busy machines tend to run both threads on one. */
static inline void race_on_processor(int half, const cpu_set_t *allowed) {
    cpu_set_t own;
    CPU_ZERO(&own);
    for (int i = 0, found = 0; i < CPU_SETSIZE; i++)
        if (CPU_ISSET(i, allowed) && found++ == half) CPU_SET(i, &own);
    if (!one_processor) pthread_setaffinity_np(pthread_self(), sizeof own, &own);
}

/* Waits until the other thread is there too, and then for a moment that differs, so that the threads come upon it
   in every order. */
static inline bool race_meet(int half, long at) {
    __atomic_store_n(&race_at[half], at, __ATOMIC_RELEASE);
    long other, spins_max = one_processor ? 100 : 1000000;
    for (long spins = 0; (other = __atomic_load_n(&race_at[1 - half], __ATOMIC_ACQUIRE)) >= 0 && other < at; spins++)
        if (spins > spins_max) sched_yield();
    for (long wait = at * (half ? 7 : 11) % 64; wait > 0; wait--) __asm__ volatile("");
    return other >= 0;
}

/* A round, by one of the threads, which meet before it, at every byte, and after it: every other bit of each byte, from
   another one in each round. */
static inline bool race_half(int half, long round) {
    long at = round * (SHARED_BYTES_MAX + 2) + 1;
    if (!race_meet(half, at)) return false;
    for (long byte = 0; byte < (long)race.shared_bytes; byte++) {
        race_meet(half, ++at);
        for (long i = 0; i < BITS_OF_EACH; i++)
            race_store(race.first + (uintptr_t)(byte * 8 + (i + round) % BITS_OF_EACH * 2 + half) * race.bit_bytes);
    }
    return race_meet(half, ++at);
}

static inline void *race_other(void *allowed) {
    race_on_processor(1, (const cpu_set_t *)allowed);
    for (long round = 0; race_half(1, round); round++) {
    }
    return NULL;
}

static inline uint8_t *race_bundles(void) { return (uint8_t *)entry(&table[BUNDLES], race.first); }

/* Whether all bits are there after a round, with the bundle and, in a log, all objects. */
static inline bool race_lost_nothing(bool logs) {
    const table_pair *t = &table[logs ? LOG_BITS : CARDS];
    const uint8_t *shared = (const uint8_t *)entry(t, race.first);
    for (uintptr_t i = 0; i < race.shared_bytes; i++)
        if (shared[i] != 0xFF) return false;
    if (logs) return object_log.next == (uintptr_t)race_log + race.shared_bytes * 64;
    for (uint8_t *b = race_bundles(); GC_BUNDLE_SHIFT && b < race_bundles() + race.bundles; b++)
        if (*b != 0xFF) return false;
    return true;
}

static inline void race_clean(bool logs) {
    memset((void *)entry(&table[logs ? LOG_BITS : CARDS], race.first), 0, race.shared_bytes);
    if (GC_BUNDLE_SHIFT) memset(race_bundles(), 0, race.bundles);
    object_log.next = (uintptr_t)race_log;
}

static inline double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static inline void race_prepare(const model *m) {
    bool logs = m->mark == MARK_LOG;
    uintptr_t shared = 2 * GC_REGION_BYTES >> table[CARDS].shift, shared_max = SHARED_BYTES_MAX;
    race.first = region(LARGE);
    race.bit_bytes = logs ? 8 : ((uintptr_t)1 << table[CARDS].shift) / 8;
    race.shared_bytes = logs || shared > shared_max ? shared_max : shared;
    uintptr_t last = race.first + race.shared_bytes * 8 * race.bit_bytes - 8;
    protect(race.first, last + 8 - race.first, PROT_READ | PROT_WRITE);
    for (int i = CARDS; i < TABLES; i++)
        if (has_table(i)) open_entries(&table[i], race.first, last);
    race.bundles = GC_BUNDLE_SHIFT ? entry(&table[BUNDLES], last) - (uintptr_t)race_bundles() + 1 : 0;
    object_log.limit = (uintptr_t)(race_log + SHARED_BYTES_MAX * 8);
}

/* Runs rounds until there were enough or, where the threads do not run at once, the time is up. Whether nothing is lost. */
static inline bool race_run(const model *m, long *round) {
    bool logs = m->mark == MARK_LOG;
    long from = *round, rounds_max = RACE_ROUNDS;
    for (double end = seconds() + 0.05; *round < from + rounds_max && seconds() < end;) {
        race_clean(logs);
        race_half(0, (*round)++);
        if (race_lost_nothing(logs)) continue;
        diag("%s %s: something was lost in round %ld", m->name, group_names[race.group], *round - from);
        return false;
    }
    return true;
}

static inline void threads(void) {
    pthread_t other;
    cpu_set_t allowed;
    long round = 0;
    set_marking(false);
    set_bounds(0, 0);
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) abort();
    one_processor = CPU_COUNT(&allowed) < 2;
    race_on_processor(0, &allowed);
    if (pthread_create(&other, NULL, race_other, &allowed) != 0) abort();
    for (int i = 0; i < MODELS; i++) {
        if (!model_sets_bits(&models[i]) && models[i].mark != MARK_LOG) continue;
        long before = round;
        int lost = 0;
        race.barrier = (gc_barrier)i;
        race_prepare(&models[i]);
        for (race.group = 0; race.group < GROUPS; race.group++) {
            if (race.group == EMITTED && !CAN_EXECUTE) continue;
            if (race.group == EMITTED) emit_and_patch(race.barrier, GC_EMIT_STORE);
            lost += !race_run(&models[i], &round);
        }
        is(lost, 0, "%s: two threads lose no bit in %ld rounds", models[i].name, round - before);
    }
    __atomic_store_n(&race_at[0], -1, __ATOMIC_RELEASE);
    pthread_join(other, NULL);
}
