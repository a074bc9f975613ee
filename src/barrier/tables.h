/* The tables that barriers read and write, and the list of barriers. */
#pragma once

#include "geometry.h"

/* A word of the heap. It may alias any type, since slots have the host's types. */
typedef uintptr_t __attribute__((may_alias)) gc_word;

/* The buffer in which object_logging logs the slots or objects stored to: words from its start up to `limit`. */
typedef struct gc_barrier_log {
    uintptr_t next;  /* address of the next word; it keeps growing when the buffer is full */
    uintptr_t limit; /* address of the buffer's end */
} gc_barrier_log;

/* The tables. All bases are biased: base + (address >> shift) is the entry of an address. Only what a barrier reads
   needs to be filled: age (with youth below it) for filters RANK, SUM, REGION and OLD; cards and bundles for every
   mark, even for LOG, which uses them when its log is full. A card table byte is cards[address >> GC_CARD_BYTE_SHIFT];
   with bits, a card is bit (address >> GC_CARD_SHIFT) & 7. */
typedef struct gc_barrier_tables {
    uint8_t *age; /* GC_RANK_ENTRIES entries; youth is another GC_RANK_ENTRIES just below them */
    uint8_t *cards;
    uint8_t *bundles;          /* unused without bundles */
    uint8_t *watch;            /* write_watch_*: a byte per page of 2^GC_WATCH_SHIFT bytes */
    uint8_t *log_bits;         /* object_logging: bit (address >> 3) & 7 of byte address >> 6 */
    gc_barrier_log *log;       /* object_logging */
    uintptr_t low, high;       /* filters LOW, RANGE and REGION: young referents are in [low, high) */
    uintptr_t lowest, highest; /* checked forms: slots outside [lowest, highest) are not in the heap */
    /* RANK calls this, instead of its other steps, for a slot whose age has GC_AGE_LOGGED, and never for other ages.
       The assembly pushes ref and slot, calls log_store_call, which preserves every register, and pops them again. On AArch64
       they are in x17 and x16, which it may change: it then reads the word at x16, and so faults if ref is stale. The collector's
       functions are gc__store_logged and gc__store_logged_call. */
    void (*log_store)(const void *slot, const void *ref);
    void (*log_store_call)(void);
    uintptr_t end; /* of all addresses that objects may ever have, which begin at `lowest` */
} gc_barrier_tables;

/* Set in the age of a heap's regions of generation 2 while stores there are logged one by one, because objects are
   being marked concurrently, or slots are remembered instead of cards. The bits above GC_AGE_GENERATION tell the
   collector which. */
#define GC_AGE_LOGGED 0x80
#define GC_AGE_GENERATION 0x03

/* The barriers: name, enumerator, write watch, filter, mark. After *slot = ref,
     write watch  1: the byte of the slot's page becomes 0xFF if it is 0
     filter       ANY     always
                  LOW     if ref >= low
                  RANGE   if low <= ref < high
                  REGION  if age[slot] != 0, low <= ref < high, and age[ref] < age[slot]
                  RANK    if age[slot] + youth[ref] > 2; for ages with GC_AGE_LOGGED log_store is called instead, before the
                          store if the form has one. SUM is the same without a branch, and without log_store
                  OLD     if age[slot] != 0
     mark         CARD    unless the card is dirty: make it so, and the bundle unless it is
                  BYTE    as CARD, with the card table's whole byte, even where cards are bits
                  BIT     as CARD, with one bit of the byte, even where cards are bytes: a card is dirty if it is not 0
                  ALWAYS  write card and bundle without reading them
                  SELECT  as CARD, but if the filter fails, on a byte that is always dirty: no branch on ages
                  LOG     unless the object's log bit is set: set it, and append the object to the log, or if that is full
                          make the slot's card and bundle dirty
   The names are the CLR's where it has the barrier: JIT_WriteBarrier_PreGrow64, _PostGrow64, _SVR64, _Byte_Region64,
   _Bit_Region64 and JIT_WriteBarrier_WriteWatch_*. */
#define GC_BARRIERS(X)                                                   \
    X(none, NONE, 0, ANY, NOTHING)                                       \
    X(rank_sum, RANK_SUM, 0, RANK, CARD)                                 \
    X(rank_sum_branch_free, RANK_SUM_BRANCH_FREE, 0, SUM, SELECT)        \
    X(card_unconditional, CARD_UNCONDITIONAL, 0, ANY, ALWAYS)            \
    X(card_conditional, CARD_CONDITIONAL, 0, ANY, CARD)                  \
    X(pre_grow, PRE_GROW, 0, LOW, BYTE)                                  \
    X(post_grow, POST_GROW, 0, RANGE, BYTE)                              \
    X(svr, SVR, 0, ANY, BYTE)                                            \
    X(byte_region, BYTE_REGION, 0, REGION, BYTE)                         \
    X(bit_region, BIT_REGION, 0, REGION, BIT)                            \
    X(write_watch_pre_grow, WRITE_WATCH_PRE_GROW, 1, LOW, BYTE)          \
    X(write_watch_post_grow, WRITE_WATCH_POST_GROW, 1, RANGE, BYTE)      \
    X(write_watch_svr, WRITE_WATCH_SVR, 1, ANY, BYTE)                    \
    X(write_watch_byte_region, WRITE_WATCH_BYTE_REGION, 1, REGION, BYTE) \
    X(write_watch_bit_region, WRITE_WATCH_BIT_REGION, 1, REGION, BIT)    \
    X(object_logging, OBJECT_LOGGING, 0, OLD, LOG)

typedef enum gc_barrier {
#define GC__BARRIER_ENUMERATOR(name, NAME, watch, filter, mark) GC_BARRIER_##NAME,
    GC_BARRIERS(GC__BARRIER_ENUMERATOR)
#undef GC__BARRIER_ENUMERATOR
        GC_BARRIER_COUNT
} gc_barrier;

typedef enum gc__filter {
    GC__FILTER_ANY,
    GC__FILTER_LOW,
    GC__FILTER_RANGE,
    GC__FILTER_REGION,
    GC__FILTER_RANK,
    GC__FILTER_SUM,
    GC__FILTER_OLD
} gc__filter;
typedef enum gc__card_mark {
    GC__MARK_NOTHING,
    GC__MARK_CARD,
    GC__MARK_BYTE,
    GC__MARK_BIT,
    GC__MARK_ALWAYS,
    GC__MARK_SELECT,
    GC__MARK_LOG
} gc__card_mark;

typedef struct gc__barrier_parts {
    const char *name;
    uint8_t watch, filter, mark;
} gc__barrier_parts;

static inline gc__barrier_parts gc__barrier_parts_of(gc_barrier barrier) {
    static const gc__barrier_parts parts[] = {
#define GC__BARRIER_PARTS(name, NAME, watch, filter, mark) {#name, watch, GC__FILTER_##filter, GC__MARK_##mark},
        GC_BARRIERS(GC__BARRIER_PARTS)
#undef GC__BARRIER_PARTS
    };
    return parts[barrier];
}

/* Returns the barrier's name, as in GC_BARRIERS; "unknown" for other numbers. [any thread; never collects; cannot
   fail] */
static inline const char *gc_barrier_name(gc_barrier barrier) {
    return (unsigned)barrier < GC_BARRIER_COUNT ? gc__barrier_parts_of(barrier).name : "unknown";
}

/* Returns the barrier of that name; GC_BARRIER_COUNT if there is none. [any thread; never collects; GC_BARRIER_COUNT:
   there is none] */
static inline gc_barrier gc_barrier_named(const char *name) {
    int barrier = 0;
    while (barrier < GC_BARRIER_COUNT && strcmp(gc_barrier_name((gc_barrier)barrier), name) != 0) barrier++;
    return (gc_barrier)barrier;
}

/* True if barriers with this watch and filter read the slot's age first, so that any slot is correct without a
   check. */
#define GC__ANYWHERE(watch, filter) (!(watch) && (filter) >= GC__FILTER_REGION)

/* *slot = ref. Another thread that reads the reference there also sees what this thread wrote to the object before. */
static inline void gc__barrier_publish(void *slot, uintptr_t ref) { __atomic_store_n((gc_word *)slot, ref, __ATOMIC_RELEASE); }

static inline uint8_t gc__barrier_load(const uint8_t *byte) { return __atomic_load_n(byte, __ATOMIC_RELAXED); }
static inline void gc__barrier_write(uint8_t *byte) {
    __atomic_store_n(byte, (uint8_t)GC_CARD_DIRTY, __ATOMIC_RELAXED);
}
static inline void gc__barrier_set(uint8_t *byte) {
    if (gc__barrier_load(byte) != GC_CARD_DIRTY) gc__barrier_write(byte);
}

static inline uint8_t *gc__barrier_card_byte(const gc_barrier_tables *tables, uintptr_t slot) {
    return tables->cards + (slot >> GC_CARD_BYTE_SHIFT);
}

/* Returns the bit for the slot in its byte of the card table. Where cards are bytes, a bit stands for an eighth of a
   card. */
static inline uint8_t gc__barrier_card_bit(uintptr_t slot) {
    return (uint8_t)(1u << ((slot >> (GC_CARD_BYTE_SHIFT - 3)) & 7));
}

/* Makes the bits in `mask` of the slot's card byte dirty if they are not, and then its bundle. Invariant: the bundle of
   a dirty card is dirty; so nothing needs to be done for a dirty card. */
static inline void gc__barrier_dirty_at(const gc_barrier_tables *tables, uint8_t *card, uintptr_t slot, uint8_t mask) {
    if ((gc__barrier_load(card) & mask) == mask) return;
    if (mask == GC_CARD_DIRTY)
        gc__barrier_write(card);
    else
        __atomic_fetch_or(card, mask, __ATOMIC_RELAXED);
    if (GC_BUNDLE_SHIFT) gc__barrier_set(tables->bundles + (slot >> GC_BUNDLE_SHIFT));
}
static inline void gc__barrier_dirty(const gc_barrier_tables *tables, uintptr_t slot, uint8_t mask) {
    gc__barrier_dirty_at(tables, gc__barrier_card_byte(tables, slot), slot, mask);
}

/* SELECT reads this byte where no card is needed. */
static const uint8_t gc__barrier_dirty_byte = GC_CARD_DIRTY;

/* Dirties the card that covers slot, and its bundle, if the card is not dirty yet. [any thread; never collects;
   cannot fail] */
static inline void gc__barrier_dirty_card(const gc_barrier_tables *tables, const void *slot) {
    gc__barrier_dirty(tables, (uintptr_t)slot,
                      GC_CARD_BITS ? gc__barrier_card_bit((uintptr_t)slot) : (uint8_t)GC_CARD_DIRTY);
}

static inline uint8_t gc__barrier_age(const gc_barrier_tables *tables, uintptr_t address) {
    return gc__barrier_load(&tables->age[address >> GC_REGION_SHIFT]);
}

/* Returns age[slot] + youth[ref]: a card is needed if this is more than 2, for an age with no other bits than
   GC_AGE_GENERATION. Both must be user addresses, or small. [any thread; never collects; cannot fail] */
static inline unsigned gc__barrier_ranks(const gc_barrier_tables *tables, const void *slot, const void *ref) {
    ptrdiff_t youth = (ptrdiff_t)((uintptr_t)ref >> GC_REGION_SHIFT) - (ptrdiff_t)GC_RANK_ENTRIES;
    return (unsigned)gc__barrier_age(tables, (uintptr_t)slot) + gc__barrier_load(&tables->age[youth]);
}

/* Bounds may widen while mutators run. */
static inline uintptr_t gc__barrier_bound(const uintptr_t *bound) { return __atomic_load_n(bound, __ATOMIC_RELAXED); }

/* Returns whether the slot may have a card at all. */
static inline int gc__barrier_in_heap(const gc_barrier_tables *tables, const void *slot) {
    uintptr_t lowest = gc__barrier_bound(&tables->lowest);
    return (uintptr_t)slot - lowest < gc__barrier_bound(&tables->highest) - lowest;
}
