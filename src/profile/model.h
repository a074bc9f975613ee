/* A profile as writers see it. Everything is kept once and named by its number: texts, frames, stacks, types, entries.
   Number 0 of texts, frames, stacks, types, modules and codes stands for "none"; other arrays begin with item 0.

   A writer is a function of gc__profile_format. It gets a copy, which nobody else changes. */
#pragma once

#include "../api/profile.h"
#include "output.h"

/* A frame of a call stack: of native code if pc is not 0, else of the host's language. */
typedef struct gc__profile_frame {
    uintptr_t pc;         /* an address within the call: the return address - 1 */
    uint32_t code;        /* the code named by gc_profile_code_add that had the pc when the stack was taken, or 0 */
    uint32_t name, file;  /* texts; 0: unknown. Those of native frames are found just before a profile is written */
    uint32_t line;        /* 0: unknown */
    uint32_t module;      /* of native frames: the file that has the code, or 0 */
    uintptr_t name_start; /* where the named function starts; 0: unknown */
} gc__profile_frame;

/* A file of native code in memory. The first one is the program. */
typedef struct gc__profile_module {
    uintptr_t start, end;
    uint64_t offset;         /* of `start` in the file */
    uint32_t file, build_id; /* texts; the build id in hexadecimal digits, or 0 */
    uint32_t listed;         /* the last list of loaded files that had it */
} gc__profile_module;

/* Code that the host has named. */
typedef struct gc__profile_code {
    uintptr_t start;
    uint64_t bytes;
    uint64_t added_ns, removed_ns; /* 0: it was there before the profile; it is there still */
    uint32_t name;
    uint32_t first_line, line_count; /* in gc__profile.lines, ascending */
} gc__profile_code;

typedef struct gc__profile_line {
    uintptr_t address;
    uint32_t line, file;
} gc__profile_line;

#define GC__PROFILE_DEPTH_MAX 256 /* frames of a stack that are written */

/* A number of objects, as estimated from samples: each sample of an object of `size` bytes stands for
   1 / (1 - (1 - p) ^ size) objects, where p = 1 / period_bytes. */
typedef struct gc__profile_amount {
    uint64_t samples;
    double count, bytes;
} gc__profile_amount;

GC__FN void gc__amount_sum(gc__profile_amount *sum, const gc__profile_amount *amount) {
    sum->samples += amount->samples;
    sum->count += amount->count;
    sum->bytes += amount->bytes;
}

typedef struct gc__profile_type {
    uint32_t name;
} gc__profile_type;

typedef struct gc__profile_marks {
    uint64_t ticks, tick_bytes;             /* TICK events, and the sum of their amounts */
    uint64_t events, objects, object_bytes; /* OBJECT events, and what they stand for */
} gc__profile_marks;

/* One entry for each pair of type and stack. Entries are made from sites just before a profile is written. */
typedef struct gc__profile_entry {
    uint32_t type, stack;
    gc__profile_amount died[GC_GENERATIONS]; /* found dead: by the generation they were in */
    gc__profile_amount live[GC_GENERATIONS]; /* in use, as far as known: by the generation they are in */
    gc__profile_amount allocated;            /* the sum of these */
    gc__profile_marks marks;
} gc__profile_entry;

/* What is kept of a type and a stack while the profile is taken: little, since most have few samples, and since memory that is
   touched for the first time costs more than the rest of a sample. Its sampled objects are in lists until they die. */
typedef struct gc__profile_site {
    uint64_t hash; /* of the records that belong to it */
    uint32_t type, stack;
    uint32_t died[GC_GENERATIONS]; /* in gc__profile.amounts; 0: none */
    uint32_t marks;                /* in gc__profile.marks; 0: none */
} gc__profile_site;

/* What a heap holds. */
typedef struct gc__profile_space {
    size_t generation_bytes[GC_GENERATIONS]; /* objects, as far as known */
    size_t large_bytes;                      /* the part of them in large objects */
    size_t external_bytes;
    size_t held_bytes; /* the memory that the heap has of the system */
    size_t handles, finalizers_queued;
} gc__profile_space;

#define GC__PROFILE_PARTS 16

/* Times are those of gc__os_now_ns. */
typedef struct gc__profile_collection {
    uint64_t number;
    uint64_t asked_ns; /* the threads were asked to stop */
    uint64_t start_ns; /* they had, and the collection began */
    uint64_t end_ns;   /* it ended; the threads go on a moment later */
    uint32_t heap, thread;
    gc_reason reason;
    uint8_t generation;
    bool compacting, left_out;
    uint8_t part_count;
    struct {
        gc_phase phase;
        uint64_t ns;
    } parts[GC__PROFILE_PARTS]; /* one after another from start_ns on: a phase may come several times */
    size_t condemned_bytes[GC_GENERATIONS];
    size_t promoted_bytes[GC_GENERATIONS]; /* survivors, by the generation that they are in now */
    size_t moved_bytes;
    gc__profile_space before, after;
} gc__profile_collection;

typedef struct gc__profile_thread {
    uint32_t number; /* the system's */
    uint32_t heap;
    uint32_t name;
    uint64_t attached_ns, detached_ns; /* 0: before the profile; not yet */
    uint64_t lost;                     /* events that its buffer had no room for */
} gc__profile_thread;

typedef struct gc__profile_heap {
    uintptr_t address;
    uint64_t created_ns, destroyed_ns; /* 0: before the profile; not yet */
} gc__profile_heap;

/* One event, for formats that list them. Fields without a comment mean the same as those of gc_profile_event. */
typedef struct gc__profile_event {
    uint64_t time_ns;
    uint32_t kind; /* gc_profile_kind */
    uint32_t thread;
    uint32_t heap;        /* in gc__profile.heaps */
    uint32_t type, stack; /* or 0 */
    uint32_t collection;  /* of COLLECTION_START, PHASE and COLLECTION_END: in gc__profile.collections */
    uint64_t object, bytes, amount, detail;
} gc__profile_event;

/* Places of an index: the upper half of a word is a hash, the lower half the number of an item; 0: free. */
typedef struct gc__profile_index {
    uint64_t *places;
    size_t capacity, count;
} gc__profile_index;

typedef struct gc__profile {
    gc_profile_options options; /* with all defaults filled in */
    uint64_t start_ns, end_ns;  /* of gc__os_now_ns; end_ns is the time of writing while the profile goes on */
    uint64_t start_utc_ns;      /* the time of day at start_ns, since 1970 */
    uint32_t process;

    char *texts; /* one after another, each with its 0; a text's number is its offset */
    gc__profile_frame *frames;
    uint32_t *stacks; /* see gc__stack_caller */
    gc__profile_type *types;
    gc__profile_module *modules;
    gc__profile_code *codes;
    gc__profile_line *lines;
    gc__profile_site *sites;
    gc__profile_amount *amounts;
    gc__profile_marks *marks;
    gc__profile_entry *entries;
    gc__profile_collection *collections;
    gc__profile_thread *threads;
    gc__profile_heap *heaps;
    size_t texts_count, frames_count, stacks_count, types_count, modules_count, codes_count, lines_count, sites_count,
        amounts_count, marks_count, entries_count, collections_count, threads_count, heaps_count;

    uint32_t lists;            /* of loaded files that were made */
    uint64_t allocated_bytes;  /* by all threads since the start */
    uint64_t lost_events;      /* for which a buffer had no room */
    uint64_t lost_samples;     /* those of them that were samples, and samples for which there was no memory */
    uint64_t lost_collections; /* for which there was no memory */
    uint64_t cut_stacks;       /* samples whose stacks had more than depth_max frames */

    /* The store's own. Capacities are bytes. */
    size_t texts_capacity, frames_capacity, stacks_capacity, types_capacity, modules_capacity, codes_capacity,
        lines_capacity, sites_capacity, amounts_capacity, marks_capacity, entries_capacity, collections_capacity,
        threads_capacity, heaps_capacity;
    gc__profile_index text_index, frame_index, stack_index, type_index, site_index, entry_index;
} gc__profile;

/* A format of files, by the ending of their names. */
typedef struct gc__profile_format {
    const char *ending; /* ".pb" */
    /* Writes a whole profile; if the output is streamed, what comes last. */
    void (*write)(const gc__profile *profile, gc__output *output);
    /* Streamed formats write events as they come, in order of time for each thread, and say after each whole record
       gc__output_record. NULL: the format is not streamed. */
    void (*begin)(const gc__profile *profile, gc__output *output);
    void (*events)(const gc__profile *profile, const gc__profile_event *events, size_t count, gc__output *output);
    /* Instead of all these: writes the objects of the heaps, whose threads are stopped, after a collection. `at_end`: without
       one, since the heaps are about to be destroyed, and what held their objects has let go of them. */
    void (*objects)(gc_heap *const *heaps, size_t count, bool at_end, gc__output *output);
} gc__profile_format;

/* An estimate as a whole number, rounded as printf's "%.0f" does, so that all formats have the same. */
GC__FN uint64_t gc__profile_whole(double estimate) {
    uint64_t whole = (uint64_t)estimate;
    double rest = estimate - (double)whole;
    return whole + (rest > 0.5 || (!(rest < 0.5) && (whole & 1)));
}

GC__FN const char *gc__profile_text(const gc__profile *profile, uint32_t text) { return profile->texts + text; }

GC__FN const char *gc__profile_type_name(const gc__profile *profile, uint32_t type) {
    return gc__profile_text(profile, profile->types[type].name);
}

/* Stacks share their outer parts: a stack is its innermost frame and the stack of the caller. It is one word with the number of
   the frame if it comes just behind its caller; else the word before has the caller, and GC__STACK_APART is set. */
#define GC__STACK_APART ((uint32_t)1 << 31)

/* The stack of the caller; 0: the frame is the outermost that was found. */
GC__FN uint32_t gc__stack_caller(const gc__profile *profile, uint32_t stack) {
    return profile->stacks[stack] & GC__STACK_APART ? profile->stacks[stack - 1] : stack - 1;
}

/* The number of the stack's innermost frame. */
GC__FN uint32_t gc__stack_frame_number(const gc__profile *profile, uint32_t stack) {
    return profile->stacks[stack] & ~GC__STACK_APART;
}

/* Whether the word is not a stack, but the caller of the next one. */
GC__FN bool gc__stack_is_caller(const gc__profile *profile, size_t word) {
    return word + 1 < profile->stacks_count && profile->stacks[word + 1] & GC__STACK_APART;
}

/* The number of the stack's frames, but at most `most`. */
GC__FN size_t gc__stack_depth(const gc__profile *profile, uint32_t stack, size_t most) {
    size_t depth = 0;
    for (; stack && depth < most; stack = gc__stack_caller(profile, stack)) depth++;
    return depth;
}

GC__FN const gc__profile_frame *gc__profile_frame_of(const gc__profile *profile, uint32_t stack) {
    return &profile->frames[gc__stack_frame_number(profile, stack)];
}
