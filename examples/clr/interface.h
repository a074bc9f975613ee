/* The interface between the CLR of .NET 10 (linux-x64) and a collector in a library of its own, as docs/clr.md describes it:
   structures, constants, and calls into the runtime. Interfaces are tables of functions in the Itanium C++ ABI: the first
   word of the interface's structure is the table's address, and each function takes that structure first. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct interface {
    void *const *slots;
} interface;

/* Of the interface that GC_VersionInfo is about. On entry `major` is that of the runtime's own interface. */
typedef struct version_info {
    uint32_t major, minor, build;
    const char *name;
} version_info;

enum {
    OK = 0,
    E_FAIL = (int)0x80004005,
    E_OUTOFMEMORY = (int)0x8007000E,
    HEAP_SLOTS = 89,
    MANAGER_SLOTS = 18,
    STORE_SLOTS = 8,
    EE_MAJOR_LEAST = 2 /* 9.0: from then on types have the flags below */
};

/* The bump-pointer window of a thread. Objects' pointers lie one word behind their headers, so both fields are a word
   behind the memory that they mean. */
typedef struct alloc_context {
    uintptr_t pointer, limit;
    int64_t bytes, bytes_large; /* given to the thread so far: what is left of the window included, and large objects */
    void *reserved[2];          /* the collector's */
    int32_t count;
} alloc_context;

enum {
    ALLOC_FINALIZE = 1,
    ALLOC_RAW = 16, /* only the header and the first word need be zero */
    ALLOC_LARGE = 32,
    ALLOC_PINNED = 64 /* the object never moves */
};

typedef struct write_barrier_parameters {
    int32_t operation;
    bool is_suspended, checks_upper_bound;
    void *cards, *bundles;
    uintptr_t lowest, highest;
    uintptr_t ephemeral_low, ephemeral_high;
    void *write_watch;
    void *generations; /* a byte for each region: its generation */
    uint8_t region_shift;
    bool has_card_bits;
} write_barrier_parameters;
enum { STOMP_INITIALIZE = 2, STOMP_WRITE_WATCH = 3 };

typedef struct scan_context {
    void *thread;
    int32_t thread_number, thread_count;
    uintptr_t stack_limit;
    bool promotion, concurrent;
    void *unused, *method;
    int32_t root_kind;
} scan_context;
enum { SCAN_INTERIOR = 1, SCAN_PINNED = 2 };

typedef struct segment_info {
    uintptr_t base;
    size_t first, allocated, committed, reserved; /* offsets */
} segment_info;

/* What debuggers read of stock's collector, in the order of its fields. The runtime owns the structure. */
typedef struct dac_vars {
    uint8_t major, minor;
    size_t generation_bytes, generation_count;
    void *before_counts[35];
    int32_t bookkeeping_elements, free_region_kinds;
    size_t card_table_bytes;
    void *adaptation_mode;
} dac_vars;
enum { FINALIZE_QUEUE = 15 }; /* of before_counts */

_Static_assert(sizeof(alloc_context) == 56 && sizeof(write_barrier_parameters) == 80 && sizeof(scan_context) == 56 &&
                   sizeof(segment_info) == 40 && sizeof(dac_vars) == 328 && offsetof(dac_vars, card_table_bytes) == 312,
               "these are the layouts of the runtime");

typedef void promote_function(uintptr_t *slot, scan_context *context, uint32_t flags);
typedef void handle_function(uintptr_t *slot, uintptr_t *extra, uintptr_t first, uintptr_t second);
typedef void context_function(alloc_context *context, void *argument);

/* Calls into the runtime. */
extern interface *runtime;
extern uint32_t runtime_major;

#define RUNTIME(slot, result, ...) ((result(*)(interface *, ##__VA_ARGS__))runtime->slots[slot])

static inline void runtime_suspend(void) { RUNTIME(0, void, int32_t)(runtime, 1); }
static inline void runtime_restart(bool finished) { RUNTIME(1, void, bool)(runtime, finished); }
static inline void runtime_scan_roots(promote_function *promote, int generation, scan_context *context) {
    RUNTIME(2, void, promote_function *, int, int, scan_context *)(runtime, promote, generation, 2, context);
}
static inline void runtime_start_work(int generation) { RUNTIME(3, void, int, int)(runtime, generation, 2); }
static inline void runtime_before_roots(int generation) {
    RUNTIME(4, void, int, bool, bool)(runtime, generation, false, false);
}
static inline void runtime_after_roots(int generation, scan_context *context) {
    RUNTIME(5, void, int, int, scan_context *)(runtime, generation, 2, context);
}
static inline void runtime_done(int generation) { RUNTIME(6, void, int)(runtime, generation); }
static inline bool runtime_holds_ref_counted(uintptr_t object) { return RUNTIME(7, bool, uintptr_t)(runtime, object); }
static inline void runtime_scan_sync_blocks(handle_function *scan) {
    RUNTIME(8, void, handle_function *, uintptr_t, uintptr_t)(runtime, scan, 0, 0);
}
static inline void runtime_promotions_granted(void) { RUNTIME(10, void, int)(runtime, 2); }
static inline uint32_t runtime_sync_blocks(void) { return RUNTIME(11, uint32_t)(runtime); }
static inline bool runtime_enter_preemptive(void) { return RUNTIME(13, bool)(runtime); }
static inline void runtime_enter_cooperative(void) { RUNTIME(14, void)(runtime); }
static inline void *runtime_thread(void) { return RUNTIME(15, void *)(runtime); }
static inline alloc_context *runtime_context(void) { return RUNTIME(16, alloc_context *)(runtime); }
static inline void runtime_each_context(context_function *each) {
    RUNTIME(17, void, context_function *, void *)(runtime, each, NULL);
}
static inline uintptr_t runtime_loader_allocator(uintptr_t object) {
    return RUNTIME(18, uintptr_t, uintptr_t)(runtime, object);
}
static inline void runtime_collection_begins(int generation, bool induced) {
    RUNTIME(20, void, int, bool)(runtime, generation, induced);
}
/* The runtime asks back, by DiagWalkFinalizeQueue and DiagWalkSurvivorsWithType, if anybody wants to know. */
static inline void runtime_walk_finalizable(void) { RUNTIME(23, void, void *)(runtime, NULL); }
static inline void runtime_walk_survivors(bool moved) { RUNTIME(24, void, void *, bool)(runtime, NULL, moved); }
static inline void runtime_collection_ends(size_t index, int generation, int reason) {
    RUNTIME(22, void, size_t, int, int, bool)(runtime, index, generation, reason, false);
}
static inline void runtime_stomp(write_barrier_parameters *parameters) {
    RUNTIME(27, void, write_barrier_parameters *)(runtime, parameters);
}
static inline void runtime_wake_finalizer(bool found) { RUNTIME(28, void, bool)(runtime, found); }
static inline void runtime_fail(uint32_t code) { RUNTIME(29, void, uint32_t)(runtime, code); }
static inline bool runtime_finalizes_eagerly(uintptr_t object) { return RUNTIME(30, bool, uintptr_t)(runtime, object); }
static inline uintptr_t runtime_free_type(void) { return RUNTIME(31, uintptr_t)(runtime); }
static inline bool runtime_bool_setting(const char *key, const char *public_key, bool *value) {
    return RUNTIME(32, bool, const char *, const char *, bool *)(runtime, key, public_key, value);
}
static inline bool runtime_int_setting(const char *key, const char *public_key, int64_t *value) {
    return RUNTIME(33, bool, const char *, const char *, int64_t *)(runtime, key, public_key, value);
}
static inline bool runtime_text_setting(const char *key, const char **value) {
    return RUNTIME(34, bool, const char *, const char *, const char **)(runtime, key, NULL, value);
}
static inline interface *runtime_event_sink(void) { return RUNTIME(40, interface *)(runtime); }
static inline void runtime_log_error(const char *text) { RUNTIME(49, void, const char *)(runtime, text); }
