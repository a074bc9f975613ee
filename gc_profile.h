/* Generated from src/gc_profile.h by tools/amalgamate.awk: edit src/, then run `make headers`. */
/* gc_profile.h - what allocates, what lives, when it paused, in the formats that people's tools read; a companion of gc.h,
   which it includes.

   In the .c file that defines GC_IMPLEMENTATION include this header after gc.h, or instead of it. Then the environment
   GC_PROFILE=FILE has the program write a profile, and gc_profile_start and gc_profile_write do so from within. */
#pragma once

#include "gc.h"

/* Profiles: what allocates, what lives, and when collections paused. One profile at a time is taken, of all heaps of the
   process. GC_PROFILE=FILE in the environment takes one from the first heap on, and writes it when the last heap is
   destroyed and when the program ends; options follow the name, each after a comma: GC_PROFILE=lisp.pb,period=4096,ticks.

   Samples are unbiased: each allocated byte is chosen with the same probability, independently of all others, and an object
   is sampled if one of its bytes is. Sources: the CLR's AllocationSampled, AllocationTick and SampledObjectAllocation
   events. */


/* Which events are recorded: bits of gc_profile_options.what. X(NAME, option, text). */
#define GC_PROFILE_KINDS(X)                                                         \
    X(SAMPLE, "samples", "an object with a sampled byte")                           \
    X(TICK, "ticks", "the object with which another tick_bytes were allocated")     \
    X(OBJECT, "objects", "an object of a type that had few of these events lately") \
    X(COLLECTION_START, "collections", "a collection starts")                       \
    X(PHASE, "phases", "a phase of a collection has ended")                         \
    X(COLLECTION_END, "collections", "a collection has ended: the heap's summary")  \
    X(STOP, "stops", "the threads of a heap have stopped")                          \
    X(RESUME, "stops", "the threads of a heap go on")                               \
    X(FINALIZER, "finalizers", "a finalizer has run")                               \
    X(HANDLE_CREATED, "handles", "a handle was created")                            \
    X(HANDLE_DESTROYED, "handles", "a handle was destroyed")                        \
    X(THREAD, "threads", "a thread was attached, detached or named")                \
    X(LOST, "losses", "a thread's buffer was full: events before this one are lost")

typedef enum gc_profile_kind {
#define GC__PROFILE_KIND(name, option, text) GC_PROFILE_##name,
    GC_PROFILE_KINDS(GC__PROFILE_KIND)
#undef GC__PROFILE_KIND
        GC_PROFILE_KIND_COUNT
} gc_profile_kind;

#define GC_PROFILE_BIT(name) (1u << GC_PROFILE_##name)
/* What costs next to nothing: samples, collections with their phases, stops, finalizers, threads. */
#define GC_PROFILE_DEFAULT                                                                                        \
    (GC_PROFILE_BIT(SAMPLE) | GC_PROFILE_BIT(COLLECTION_START) | GC_PROFILE_BIT(PHASE) |                          \
     GC_PROFILE_BIT(COLLECTION_END) | GC_PROFILE_BIT(STOP) | GC_PROFILE_BIT(RESUME) | GC_PROFILE_BIT(FINALIZER) | \
     GC_PROFILE_BIT(THREAD) | GC_PROFILE_BIT(LOST))

/* The phases of a collection, in their order; those between ROOTS and FINALIZERS may take turns. X(NAME, text). */
#define GC_PROFILE_PHASES(X)                                                  \
    X(OPEN, "open")             /* the start hook, verification */            \
    X(GATHER, "gather roots")   /* asks the host for roots */                 \
    X(PLAN, "plan")             /* chooses regions to move, mark or ignore */ \
    X(ROOTS, "mark roots")      /* traces from roots */                       \
    X(CARDS, "cards")           /* traces from dirty cards */                 \
    X(SUSPECTS, "suspects")     /* traces from conservative words */          \
    X(HANDLES, "handles")       /* dependent and weak handles */              \
    X(FINALIZERS, "finalizers") /* queues finalizers, and traces from them */ \
    X(SWEEP, "sweep")           /* frees regions */                           \
    X(CLOSE, "close")           /* pacing, verification, the end hook */

typedef enum gc_profile_phase {
#define GC__PROFILE_PHASE(name, text) GC_PROFILE_PHASE_##name,
    GC_PROFILE_PHASES(GC__PROFILE_PHASE)
#undef GC__PROFILE_PHASE
        GC_PROFILE_PHASE_COUNT
} gc_profile_phase;

/* One event, as a subscriber gets it. What a field means depends on the kind; one that is not named there is 0.
   SAMPLE: object; bytes: its size; amount: which of its bytes was the first sampled one.
   TICK: object, bytes; amount: bytes allocated since the last tick of the thread.
   OBJECT: object, bytes; amount: objects of the type since the type's last event; detail: their bytes.
   COLLECTION_START: amount: its number; detail: generation.
   PHASE: amount: gc_profile_phase; detail: ns.
   COLLECTION_END: amount: its number; detail: generation; bytes: survivors; `collection` is all of it.
   STOP: amount: ns from asking the threads until the last one had stopped; detail: the number of that thread.
   FINALIZER: object; amount: ns that it took.
   HANDLE_CREATED, HANDLE_DESTROYED: object: the handle; detail: its gc_handle_kind.
   THREAD: amount: 0 attached, 1 detached, 2 named; LOST: amount: number of events. */
typedef struct gc_profile_event {
    gc_profile_kind kind;
    uint32_t thread; /* the system's number of the native thread */
    uint64_t time_ns;
    gc_heap *heap;
    const char *type; /* the name of the object's type; NULL: the event is of no object */
    uintptr_t object; /* its address, which a later collection may change */
    uint64_t bytes, amount, detail;
    const uintptr_t *stack; /* of SAMPLE, TICK and OBJECT: return addresses, the innermost first */
    size_t depth;
    const gc_collection *collection;
} gc_profile_event;

/* A frame of the host's language: a function of an interpreted program, say. */
typedef struct gc_profile_frame {
    const char *function; /* copied, as `file` is, when a stack is first seen */
    const char *file;     /* NULL: unknown */
    uint32_t line;        /* 0: unknown */
    /* An address in the frame of the C function, an interpreter's loop, that runs this one: that frame is replaced in the
       call stack. NULL: the same as of the frame before; of the first: the frame is the innermost of all. */
    const void *native;
} gc_profile_frame;

/* What a host adds. All zero is a host that adds nothing. */
typedef struct gc_profile_host {
    /* Implemented by the host: fills in at most `most` frames of the language's call stack, the innermost first, and
       returns how many there are, which may be more. It is called within allocations, by the thread that allocates. It
       must not allocate, wait, nor call gc.h. 0: none. */
    size_t (*stack)(void *host, gc_thread *thread, gc_profile_frame *frames, size_t most);
    /* Called for each event at once, beside what is recorded, by the thread to which it happens: perhaps within a
       collection and under locks of gc.h, so it must not allocate, wait for other threads, nor call gc.h. 0: none. */
    void (*event)(void *host, const gc_profile_event *event);
    void *host; /* handed to both */
} gc_profile_host;

/* How a profile is taken. All zero is the default. */
typedef struct gc_profile_options {
    uint64_t period_bytes; /* a byte in so many is sampled; 1: each; 0: 102,400 */
    uint64_t tick_bytes;   /* from one tick to the next, for each thread; 0: 102,400 */
    unsigned per_second;   /* OBJECT: how many events a type has in a second at most; 0: 5 (the CLR's High is 100) */
    unsigned what;         /* GC_PROFILE_BIT(...) of the events that are recorded; 0: GC_PROFILE_DEFAULT */
    unsigned depth_max;    /* frames of a call stack that are kept, the innermost ones, at most 256; 0: 128 */
    unsigned interval_s;   /* a file that is written as a whole is also written at this interval; 0: at the end only */
    uint64_t seed;         /* of the generators that choose bytes; 0: another one each time */
    size_t buffer_bytes;   /* of each thread's buffer; 0: 65,536 */
} gc_profile_options;

/* Sets what the host adds, for the profile that is taken and later ones; NULL: nothing. Call it before the first heap is
   created for it to be in force from the start. [any thread; may wait; cannot fail] */
GC_API void gc_profile_set_host(const gc_profile_host *host);

/* Starts a profile of all heaps, forgetting the last one; options may be NULL. With a file name, whose ending says the
   format (see gc_profile_write), it is written there: streamed formats from now on, others by gc_profile_stop. If a heap's
   threads must be stopped for that, the call waits. [any thread in no heap's collection; may wait; GC_ERROR_MISUSE: one is
   being taken; GC_ERROR_OPTION; GC_ERROR_MEMORY] */
GC_API gc_result gc_profile_start(const gc_profile_options *options, const char *file);
/* Ends the profile, and writes its file if it has one. It stays for gc_profile_write until the next start.
   [any thread in no heap's collection; may wait; GC_ERROR_MISUSE: none is being taken; GC_ERROR_FILE] */
GC_API gc_result gc_profile_stop(void);

/* Writes what was recorded so far, in the format of the name's ending: .folded, .txt (a report), .pb, .svg, .html, .json,
   .nettrace; or, with .heapsnapshot, the objects of all heaps, whose threads are stopped meanwhile. An existing file is
   replaced once the new one is complete. [any thread in no heap's collection; may wait; GC_ERROR_FILE: why is in
   gc_last_message; GC_ERROR_OPTION: no such format; GC_ERROR_MISUSE: there is no profile] */
GC_API gc_result gc_profile_write(const char *file);

/* A place in compiled code: from this address on, this line. */
typedef struct gc_profile_line {
    uintptr_t address;
    uint32_t line;
    const char *file;
} gc_profile_line;

/* Names compiled code in [start, start + bytes) from now on; all strings are copied. Code that was there before a profile
   starts may be named at any time. While a profile is taken, /tmp/perf-PID.map and jit-PID.dump get it too, if the options
   of GC_PROFILE ask for those (perfmap, jitdump). [any thread; may wait; GC_ERROR_MEMORY] */
GC_API gc_result gc_profile_code_add(const void *start, size_t bytes, const char *name, const gc_profile_line *lines,
                                     size_t line_count);
/* The code that starts there is gone; call it before the memory is used again. [any thread; may wait; cannot fail] */
GC_API void gc_profile_code_remove(const void *start);

#ifdef GC_IMPLEMENTATION
#ifndef GC__FN
#error "gc.h was included before GC_IMPLEMENTATION was defined: define it before the first include of both headers"
#endif
/* Files, for what gc.h writes of its own accord. Errors are left in errno. */


#include <fcntl.h>
#include <sys/stat.h>

#define GC__NAME_BYTES_MAX ((size_t)PATH_MAX)

/* Opens a file for writing, which is made or emptied; -1: the system refuses. Children of fork and exec do not have it. */
GC__FN int gc__os_file_create(const char *name) {
    return open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666);
}

/* Writes all of it, at a position, or where the last such call has ended if that is -1. */
GC__FN bool gc__os_file_write(int file, const void *data, size_t bytes, int64_t position) {
    for (size_t done = 0; done < bytes;) {
        const char *from = (const char *)data + done;
        ssize_t count = position < 0 ? write(file, from, bytes - done)
                                     : pwrite(file, from, bytes - done, (off_t)(position + (int64_t)done));
        if (count < 0 && errno == EINTR) continue;
        if (count == 0) errno = EIO;
        if (count <= 0) return false;
        done += (size_t)count;
    }
    return true;
}

GC__FN bool gc__os_file_close(int file) { return close(file) == 0 || errno == EINTR; }
GC__FN bool gc__os_file_rename(const char *from, const char *to) { return rename(from, to) == 0; }
GC__FN void gc__os_file_remove(const char *name) { unlink(name); }

/* Whether the name is that of a device, a pipe or the like, which cannot be replaced by another file. */
GC__FN bool gc__os_file_is_special(const char *name) {
    struct stat status;
    return stat(name, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

GC__FN int gc__os_error(void) { return errno; }
GC__FN void gc__os_error_text(int error, char *text, size_t bytes) {
    int saved = errno;
    snprintf(text, bytes, "%s", strerror(error));
    errno = saved;
}

GC__FN uint32_t gc__os_process_number(void) { return (uint32_t)getpid(); }

/* Time of day, in ns since 1970. */
GC__FN uint64_t gc__os_utc_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}
/* Writing files. Nothing of what is put is reported as failed: after the first error nothing more is written, and
   gc__output_close says so.

   A file that is written as a whole has a temporary name until it is complete. One that is streamed has its own name, and
   gets whole records only, so that what was written before a program is killed can be read. */


#include <stdarg.h>

#define GC__OUTPUT_BYTES ((size_t)1 << 16) /* that are buffered before they are written, or more for a longer record */

typedef struct gc__output {
    int file;
    bool streamed;
    bool special;     /* a device or a pipe: written in place, and not to be patched */
    int error;        /* of the first failure; 0: none */
    size_t used;      /* bytes in the buffer */
    size_t capacity;  /* of the buffer */
    uint64_t written; /* bytes that were written before those in the buffer */
    char *buffer;
    char name[GC__NAME_BYTES_MAX], temporary[GC__NAME_BYTES_MAX];
} gc__output;

GC__FN void gc__output_fail(gc__output *output, int error) {
    if (!output->error) output->error = error ? error : EIO;
    output->used = 0;
}

/* The number of bytes that were put so far: the position in the file of what is put next. */
GC__FN uint64_t gc__output_position(const gc__output *output) { return output->written + output->used; }

GC__FN void gc__output_flush(gc__output *output) {
    if (!output->error && output->used && !gc__os_file_write(output->file, output->buffer, output->used, -1))
        gc__output_fail(output, gc__os_error());
    output->written += output->used;
    output->used = 0;
}

/* What was put so far are whole records. */
GC__FN void gc__output_record(gc__output *output) {
    if (output->used >= GC__OUTPUT_BYTES / 2) gc__output_flush(output);
}

/* Makes room for some more bytes in the buffer, by writing it if the file is not streamed. */
GC__FN bool gc__output_reserve(gc__output *output, size_t bytes) {
    if (output->error) return false;
    if (bytes <= output->capacity - output->used) return true;
    if (!output->streamed) gc__output_flush(output);
    if (bytes <= output->capacity - output->used) return true;
    size_t capacity = output->capacity ? output->capacity : GC__OUTPUT_BYTES;
    while (capacity < output->used + bytes) capacity *= 2;
    void *buffer = output->capacity ? gc__os_remap(output->buffer, output->capacity, capacity) : gc__os_map(capacity);
    if (!buffer) {
        gc__output_fail(output, ENOMEM);
        return false;
    }
    output->buffer = (char *)buffer;
    output->capacity = capacity;
    return true;
}

GC__FN void gc__put(gc__output *output, const void *data, size_t bytes) {
    if (!gc__output_reserve(output, bytes)) return;
    memcpy(output->buffer + output->used, data, bytes);
    output->used += bytes;
}

GC__FN void gc__put_byte(gc__output *output, unsigned byte) {
    char c = (char)byte;
    gc__put(output, &c, 1);
}

GC__FN void gc__put_text(gc__output *output, const char *text) { gc__put(output, text, strlen(text)); }

GC__FN void gc__put_format(gc__output *output, const char *format, ...) __attribute__((format(printf, 2, 3)));
GC__FN void gc__put_format(gc__output *output, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length < 0 || !gc__output_reserve(output, (size_t)length + 1)) return;
    va_start(arguments, format);
    vsnprintf(output->buffer + output->used, (size_t)length + 1, format, arguments);
    va_end(arguments);
    output->used += (size_t)length;
}

/* Replaces bytes that were put before, in a file that is written as a whole: counts in its head, say. */
GC__FN void gc__output_patch(gc__output *output, uint64_t position, const void *data, size_t bytes) {
    gc__output_flush(output);
    if (output->special) gc__output_fail(output, ESPIPE);
    if (!output->error && !gc__os_file_write(output->file, data, bytes, (int64_t)position))
        gc__output_fail(output, gc__os_error());
}

/* Opens the file; false: it cannot be, and errors are in gc_last_message. */
GC__FN bool gc__output_open(gc__output *output, const char *name, bool streamed) {
    memset(output, 0, sizeof *output);
    output->streamed = streamed;
    output->special = gc__os_file_is_special(name);
    bool direct = streamed || output->special;
    int length = snprintf(output->name, sizeof output->name, "%s", name);
    int longer = snprintf(output->temporary, sizeof output->temporary, "%s.%u.tmp", name, gc__os_process_number());
    if (length < 0 || longer < 0 || (size_t)longer >= sizeof output->temporary)
        output->error = ENAMETOOLONG;
    else if ((output->file = gc__os_file_create(direct ? output->name : output->temporary)) < 0)
        output->error = gc__os_error();
    if (direct) output->temporary[0] = 0;
    return !output->error;
}

/* Completes and closes the file. False: it was not written, for which output->error says why. */
GC__FN bool gc__output_close(gc__output *output) {
    gc__output_flush(output);
    if (output->file >= 0 && !gc__os_file_close(output->file)) gc__output_fail(output, gc__os_error());
    if (output->temporary[0] && !output->error && !gc__os_file_rename(output->temporary, output->name))
        gc__output_fail(output, gc__os_error());
    if (output->temporary[0] && output->error && output->file >= 0) gc__os_file_remove(output->temporary);
    if (output->capacity) gc__os_unmap(output->buffer, output->capacity);
    output->buffer = NULL;
    output->file = -1;
    output->used = output->capacity = 0;
    return !output->error;
}
/* A profile as writers see it. Everything is kept once and named by its number: texts, frames, stacks, types, entries.
   Number 0 of texts, frames, stacks, types, modules and codes stands for "none"; other arrays begin with item 0.

   A writer is a function of gc__profile_format. It gets a copy, which nobody else changes. */


/* A frame of a call stack: of native code if pc is not 0, else of the host's language. */
typedef struct gc__profile_frame {
    uintptr_t pc;         /* an address within the call: the return address - 1 */
    uint32_t code;        /* the code named by gc_profile_code_add that had the pc when the stack was taken, or 0 */
    uint32_t name, file;  /* texts; 0: unknown. Those of native frames are found just before a profile is written */
    uint32_t line;        /* 0: unknown */
    uint32_t module;      /* of native frames: the file that has the code, or 0 */
    uintptr_t name_start; /* where the named function starts; 0: unknown */
} gc__profile_frame;

/* Stacks share their outer parts: a stack is its innermost frame and the stack of the caller. */
typedef struct gc__profile_stack {
    uint32_t frame;
    uint32_t caller; /* a stack; 0: the frame is the outermost that was found */
    uint32_t depth;
} gc__profile_stack;

/* A file of native code in memory. The first one is the program. */
typedef struct gc__profile_module {
    uintptr_t start, end;
    uint64_t offset;         /* of `start` in the file */
    uint32_t file, build_id; /* texts; the build id in hexadecimal digits, or 0 */
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

/* A number of objects, as estimated from samples: each sample of an object of `size` bytes stands for
   1 / (1 - (1 - p) ^ size) objects, where p = 1 / period_bytes. */
typedef struct gc__profile_amount {
    uint64_t samples;
    double count, bytes;
} gc__profile_amount;

typedef struct gc__profile_type {
    uint32_t name;
} gc__profile_type;

/* One entry for each pair of type and stack. allocated is the sum of all of live and died, but for lost samples. */
typedef struct gc__profile_entry {
    uint32_t type, stack;
    gc__profile_amount allocated;
    gc__profile_amount live[GC_GENERATIONS]; /* in use, as far as known: by the generation they are in */
    gc__profile_amount died[GC_GENERATIONS]; /* found dead: by the generation they were in */
    uint64_t ticks, tick_bytes;              /* TICK events, and the sum of their amounts */
    uint64_t events, objects, object_bytes;  /* OBJECT events, and what they stand for */
} gc__profile_entry;

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
        gc_profile_phase phase;
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
    gc__profile_stack *stacks;
    gc__profile_type *types;
    gc__profile_module *modules;
    gc__profile_code *codes;
    gc__profile_line *lines;
    gc__profile_entry *entries;
    gc__profile_collection *collections;
    gc__profile_thread *threads;
    gc__profile_heap *heaps;
    size_t texts_count, frames_count, stacks_count, types_count, modules_count, codes_count, lines_count, entries_count,
        collections_count, threads_count, heaps_count;

    uint64_t allocated_bytes;  /* by all threads since the start */
    uint64_t lost_events;      /* for which a buffer had no room */
    uint64_t lost_samples;     /* those of them that were samples, and samples for which there was no memory */
    uint64_t lost_collections; /* for which there was no memory */
    uint64_t cut_stacks;       /* samples whose stacks had more than depth_max frames */

    /* The store's own. Capacities are bytes. */
    size_t texts_capacity, frames_capacity, stacks_capacity, types_capacity, modules_capacity, codes_capacity,
        lines_capacity, entries_capacity, collections_capacity, threads_capacity, heaps_capacity;
    gc__profile_index text_index, frame_index, stack_index, type_index, entry_index;
} gc__profile;

/* A format of files, by the ending of their names. */
typedef struct gc__profile_format {
    const char *ending; /* ".pb" */
    /* Writes a whole profile; of a streamed format, what comes last. */
    void (*write)(const gc__profile *profile, gc__output *output);
    /* Streamed formats write events as they come, in order of time for each thread, and say after each whole record
       gc__output_record. NULL: the format is not streamed. */
    void (*begin)(const gc__profile *profile, gc__output *output);
    void (*events)(const gc__profile *profile, const gc__profile_event *events, size_t count, gc__output *output);
    /* Instead of all these: writes the objects of the heaps, whose threads are stopped. */
    void (*objects)(gc_heap *const *heaps, size_t count, gc__output *output);
} gc__profile_format;

GC__FN const char *gc__profile_text(const gc__profile *profile, uint32_t text) { return profile->texts + text; }

GC__FN const char *gc__profile_type_name(const gc__profile *profile, uint32_t type) {
    return gc__profile_text(profile, profile->types[type].name);
}

GC__FN const gc__profile_frame *gc__profile_frame_of(const gc__profile *profile, uint32_t stack) {
    return &profile->frames[profile->stacks[stack].frame];
}
/* Native call stacks. */


/* Where an unwinding starts: registers as a call of the function returns. */
typedef struct gc__unwind_start {
    uintptr_t pc, stack_pointer, frame_pointer;
} gc__unwind_start;

typedef struct gc__native_frame {
    uintptr_t pc;  /* the return address into this frame's function; of the innermost, where it is */
    uintptr_t cfa; /* the frame lies below this address: the stack pointer before the call of its function */
} gc__native_frame;

/* The frame of the calling function. */
GC__INLINED void gc__unwind_here(gc__unwind_start *start) {
    start->frame_pointer = (uintptr_t)__builtin_frame_address(0);
    start->stack_pointer = start->frame_pointer;
    start->pc = 0;
}

/* Fills in at most `most` frames, the innermost first, and returns how many there are of these. */
GC__FN size_t gc__unwind(const gc__unwind_start *start, gc__native_frame *frames, size_t most) {
    uintptr_t frame = start->frame_pointer, end = (uintptr_t)gc__os_stack_base(NULL);
    size_t count = 0;
    while (count < most && frame && frame % 8 == 0 && frame >= start->stack_pointer && frame + 16 < end) {
        const uintptr_t *link = (const uintptr_t *)frame;
        frames[count].pc = link[1];
        frames[count].cfa = link[0] + 16;
        if (!link[1]) break;
        count++;
        if (link[0] <= frame) break;
        frame = link[0];
    }
    return count;
}
/* Texts, frames, stacks, types and entries, each kept once. Functions that add one return its number: 0 where the system
   gives no memory, but for entries. The profile's lock is held, or the profile is a writer's copy. */


/* Makes room for one more item in an array; false: no memory. `array` is the address of a pointer to items. */
GC__FN bool gc__profile_reserve(void *array, size_t count, size_t *capacity, size_t bytes) {
    void *items;
    if ((count + 1) * bytes <= *capacity) return true;
    size_t wanted = *capacity ? 2 * *capacity : (size_t)1 << 14;
    while (wanted < (count + 1) * bytes) wanted *= 2;
    memcpy(&items, array, sizeof items);
    items = items ? gc__os_remap(items, *capacity, wanted) : gc__os_map(wanted);
    if (!items) return false;
    memcpy(array, &items, sizeof items);
    *capacity = wanted;
    return true;
}

/* Appends an item of zeros to profile->array, and yields its address; NULL: no memory. */
#define GC__PROFILE_APPEND(profile, array)                                                          \
    (gc__profile_reserve(&(profile)->array, (profile)->array##_count, &(profile)->array##_capacity, \
                         sizeof *(profile)->array)                                                  \
         ? (memset(&(profile)->array[(profile)->array##_count], 0, sizeof *(profile)->array),       \
            &(profile)->array[(profile)->array##_count++])                                          \
         : NULL)

GC__FN uint64_t gc__profile_hash(const void *data, size_t bytes, uint64_t hash) {
    const unsigned char *at = (const unsigned char *)data;
    for (; bytes >= 8; at += 8, bytes -= 8) {
        uint64_t word;
        memcpy(&word, at, 8);
        hash = (hash ^ word) * 0x9E3779B97F4A7C15u;
        hash ^= hash >> 29;
    }
    for (; bytes; at++, bytes--) hash = (hash ^ *at) * 0x100000001B3u;
    return hash ^ hash >> 32;
}

/* Whether item `number` is the one with this key. */
typedef bool (*gc__profile_equal)(const gc__profile *profile, uint32_t number, const void *key, size_t bytes);

/* The place of the key in the index: a free one if the key is new. The index has some capacity. */
GC__FN uint64_t *gc__index_place(const gc__profile *profile, const gc__profile_index *index, uint64_t hash,
                                 gc__profile_equal equal, const void *key, size_t bytes) {
    size_t at = (size_t)(hash >> 32) & (index->capacity - 1);
    for (;; at = (at + 1) & (index->capacity - 1)) {
        uint64_t *place = &index->places[at];
        if (!*place) return place;
        if (*place >> 32 == hash >> 32 && equal(profile, (uint32_t)*place, key, bytes)) return place;
    }
}

/* Makes room for one more item, at half load. */
GC__FN bool gc__index_reserve(gc__profile_index *index) {
    if (2 * (index->count + 1) <= index->capacity) return true;
    gc__profile_index bigger = {NULL, index->capacity ? 2 * index->capacity : 1024, index->count};
    bigger.places = (uint64_t *)gc__os_map(bigger.capacity * sizeof *bigger.places);
    if (!bigger.places) return false;
    for (size_t i = 0; i < index->capacity; i++) {
        if (!index->places[i]) continue;
        size_t at = (size_t)(index->places[i] >> 32) & (bigger.capacity - 1);
        while (bigger.places[at]) at = (at + 1) & (bigger.capacity - 1);
        bigger.places[at] = index->places[i];
    }
    if (index->capacity) gc__os_unmap(index->places, index->capacity * sizeof *index->places);
    *index = bigger;
    return true;
}

/* Enters the item with this number at its place. A number of 0 is entered as well: hashes are made not to be 0. */
GC__FN void gc__index_set(gc__profile_index *index, uint64_t *place, uint64_t hash, size_t number) {
    *place = (hash >> 32) << 32 | (uint32_t)number;
    index->count++;
}

GC__FN uint64_t gc__index_hash(const void *key, size_t bytes) {
    return gc__profile_hash(key, bytes, 1) | (uint64_t)1 << 63;
}

GC__FN bool gc__text_equal(const gc__profile *profile, uint32_t number, const void *key, size_t bytes) {
    const char *text = profile->texts + number;
    return strncmp(text, (const char *)key, bytes) == 0 && !text[bytes];
}

/* A text of `bytes` bytes, without a 0 among them. */
GC__FN uint32_t gc__profile_text_add_part(gc__profile *profile, const char *text, size_t bytes) {
    if (!bytes || !gc__index_reserve(&profile->text_index)) return 0;
    uint64_t hash = gc__index_hash(text, bytes);
    uint64_t *place = gc__index_place(profile, &profile->text_index, hash, gc__text_equal, text, bytes);
    if (*place) return (uint32_t)*place;
    size_t number = profile->texts_count;
    if (!gc__profile_reserve(&profile->texts, number + bytes, &profile->texts_capacity, 1)) return 0;
    if (number + bytes >= UINT32_MAX) return 0;
    memcpy(profile->texts + number, text, bytes);
    profile->texts[number + bytes] = 0;
    profile->texts_count += bytes + 1;
    gc__index_set(&profile->text_index, place, hash, number);
    return (uint32_t)number;
}

GC__FN uint32_t gc__profile_text_add(gc__profile *profile, const char *text) {
    return text ? gc__profile_text_add_part(profile, text, strlen(text)) : 0;
}

GC__FN bool gc__type_equal(const gc__profile *profile, uint32_t number, const void *key, size_t bytes) {
    return memcmp(&profile->types[number].name, key, bytes) == 0;
}

GC__FN uint32_t gc__profile_type_add(gc__profile *profile, const char *name) {
    uint32_t text = gc__profile_text_add(profile, name);
    if (!text || !gc__index_reserve(&profile->type_index)) return 0;
    uint64_t hash = gc__index_hash(&text, sizeof text);
    uint64_t *place = gc__index_place(profile, &profile->type_index, hash, gc__type_equal, &text, sizeof text);
    if (*place) return (uint32_t)*place;
    gc__profile_type *type = GC__PROFILE_APPEND(profile, types);
    if (!type) return 0;
    type->name = text;
    gc__index_set(&profile->type_index, place, hash, profile->types_count - 1);
    return (uint32_t)(profile->types_count - 1);
}

/* The fields that tell frames apart: those that are known when a stack is taken. */
typedef struct gc__frame_key {
    uintptr_t pc;
    uint32_t code, name, file, line;
} gc__frame_key;

GC__FN bool gc__frame_equal(const gc__profile *profile, uint32_t number, const void *key, size_t bytes) {
    const gc__profile_frame *frame = &profile->frames[number];
    const gc__frame_key *k = (const gc__frame_key *)key;
    (void)bytes;
    if (frame->pc != k->pc || frame->code != k->code) return false;
    return k->pc || (frame->name == k->name && frame->file == k->file && frame->line == k->line);
}

GC__FN uint32_t gc__profile_frame_add(gc__profile *profile, const gc__frame_key *key) {
    if (!gc__index_reserve(&profile->frame_index)) return 0;
    uint64_t hash = gc__index_hash(key, sizeof *key);
    uint64_t *place = gc__index_place(profile, &profile->frame_index, hash, gc__frame_equal, key, sizeof *key);
    if (*place) return (uint32_t)*place;
    gc__profile_frame *frame = GC__PROFILE_APPEND(profile, frames);
    if (!frame) return 0;
    frame->pc = key->pc;
    frame->code = key->code;
    frame->name = key->name;
    frame->file = key->file;
    frame->line = key->line;
    gc__index_set(&profile->frame_index, place, hash, profile->frames_count - 1);
    return (uint32_t)(profile->frames_count - 1);
}

GC__FN bool gc__stack_equal(const gc__profile *profile, uint32_t number, const void *key, size_t bytes) {
    return memcmp(&profile->stacks[number].frame, key, bytes) == 0;
}

/* The stack of `frame` that was called by `caller`. */
GC__FN uint32_t gc__profile_stack_add(gc__profile *profile, uint32_t frame, uint32_t caller) {
    uint32_t key[2] = {frame, caller};
    if (!gc__index_reserve(&profile->stack_index)) return 0;
    uint64_t hash = gc__index_hash(key, sizeof key);
    uint64_t *place = gc__index_place(profile, &profile->stack_index, hash, gc__stack_equal, key, sizeof key);
    if (*place) return (uint32_t)*place;
    gc__profile_stack *stack = GC__PROFILE_APPEND(profile, stacks);
    if (!stack) return 0;
    stack->frame = frame;
    stack->caller = caller;
    stack->depth = profile->stacks[caller].depth + 1;
    gc__index_set(&profile->stack_index, place, hash, profile->stacks_count - 1);
    return (uint32_t)(profile->stacks_count - 1);
}

GC__FN bool gc__entry_equal(const gc__profile *profile, uint32_t number, const void *key, size_t bytes) {
    return memcmp(&profile->entries[number].type, key, bytes) == 0;
}

/* The entry of the type and the stack; NULL: no memory. */
GC__FN gc__profile_entry *gc__profile_entry_add(gc__profile *profile, uint32_t type, uint32_t stack) {
    uint32_t key[2] = {type, stack};
    if (!gc__index_reserve(&profile->entry_index)) return NULL;
    uint64_t hash = gc__index_hash(key, sizeof key);
    uint64_t *place = gc__index_place(profile, &profile->entry_index, hash, gc__entry_equal, key, sizeof key);
    if (*place) return &profile->entries[(uint32_t)*place];
    gc__profile_entry *entry = GC__PROFILE_APPEND(profile, entries);
    if (!entry) return NULL;
    entry->type = type;
    entry->stack = stack;
    gc__index_set(&profile->entry_index, place, hash, profile->entries_count - 1);
    return entry;
}

/* X(array): all arrays of a profile. */
#define GC__PROFILE_ARRAYS(X) \
    X(texts) X(frames) X(stacks) X(types) X(modules) X(codes) X(lines) X(entries) X(collections) X(threads) X(heaps)
#define GC__PROFILE_INDEXES(X) X(text_index) X(frame_index) X(stack_index) X(type_index) X(entry_index)

GC__FN void gc__profile_free(gc__profile *profile) {
#define GC__FREE_ARRAY(array) \
    if (profile->array##_capacity) gc__os_unmap(profile->array, profile->array##_capacity);
#define GC__FREE_INDEX(index) \
    if (profile->index.capacity) gc__os_unmap(profile->index.places, profile->index.capacity * sizeof(uint64_t));
    GC__PROFILE_ARRAYS(GC__FREE_ARRAY)
    GC__PROFILE_INDEXES(GC__FREE_INDEX)
#undef GC__FREE_ARRAY
#undef GC__FREE_INDEX
    memset(profile, 0, sizeof *profile);
}

/* Makes the items with number 0; false: no memory. */
GC__FN bool gc__profile_open(gc__profile *profile) {
    memset(profile, 0, sizeof *profile);
    return GC__PROFILE_APPEND(profile, texts) && GC__PROFILE_APPEND(profile, frames) &&
           GC__PROFILE_APPEND(profile, stacks) && GC__PROFILE_APPEND(profile, types) &&
           GC__PROFILE_APPEND(profile, modules) && GC__PROFILE_APPEND(profile, codes);
}

GC__FN bool gc__profile_copy_bytes(void *pointer, size_t bytes) {
    void *items;
    memcpy(&items, pointer, sizeof items);
    void *copy = bytes ? gc__os_map(bytes) : NULL;
    if (copy) memcpy(copy, items, bytes);
    memcpy(pointer, &copy, sizeof copy);
    return copy || !bytes;
}

/* A copy for a writer; false: no memory, and there is nothing to free. */
GC__FN bool gc__profile_copy(gc__profile *to, const gc__profile *from) {
    bool ok = true;
    *to = *from;
#define GC__COPY_ARRAY(array)                                                       \
    ok = gc__profile_copy_bytes(&to->array, ok ? from->array##_capacity : 0) && ok; \
    if (!to->array) to->array##_capacity = 0;
#define GC__COPY_INDEX(index)                                                                               \
    ok = gc__profile_copy_bytes(&to->index.places, ok ? from->index.capacity * sizeof(uint64_t) : 0) && ok; \
    if (!to->index.places) to->index.capacity = 0;
    GC__PROFILE_ARRAYS(GC__COPY_ARRAY)
    GC__PROFILE_INDEXES(GC__COPY_INDEX)
#undef GC__COPY_ARRAY
#undef GC__COPY_INDEX
    if (!ok) gc__profile_free(to);
    return ok;
}
/* Names of native code. */


/* Finds modules, and for each native frame its name, module, file and line. It runs in a copy of the profile, by the thread
   that writes, and may take long. New texts are made by gc__profile_text_add. */
GC__FN void gc__names_find(gc__profile *profile) { (void)profile; }
/* Stacks as lines of text, root first, each with the bytes that were allocated there: what flame graphs are made from. */


/* The name of a frame, or its address as text in the buffer. */
GC__FN const char *gc__frame_name(const gc__profile *profile, const gc__profile_frame *frame, char text[24]) {
    if (frame->name) return gc__profile_text(profile, frame->name);
    snprintf(text, 24, frame->pc ? "0x%llx" : "(unknown)", (unsigned long long)frame->pc);
    return text;
}

/* Puts text in which a semicolon or a line's end would end a frame. */
GC__FN void gc__folded_put(gc__output *output, const char *text) {
    for (; *text; text++)
        gc__put_byte(output, *text == ';' ? ':' : (unsigned char)*text < ' ' ? ' ' : (unsigned char)*text);
}

/* The stacks from the outermost frame of `stack` to its innermost, at most `most` of them, of which the innermost are
   kept; returns their number. */
GC__FN size_t gc__stack_outer_first(const gc__profile *profile, uint32_t stack, uint32_t *stacks, size_t most) {
    size_t count = profile->stacks[stack].depth < most ? profile->stacks[stack].depth : most;
    for (size_t i = count; i-- > 0; stack = profile->stacks[stack].caller) stacks[i] = stack;
    return count;
}

#define GC__PROFILE_DEPTH_MAX 256

GC__FN void gc__write_folded(const gc__profile *profile, gc__output *output) {
    uint32_t stacks[GC__PROFILE_DEPTH_MAX];
    char text[24];
    for (size_t i = 0; i < profile->entries_count; i++) {
        const gc__profile_entry *entry = &profile->entries[i];
        if (!entry->allocated.samples) continue;
        size_t depth = gc__stack_outer_first(profile, entry->stack, stacks, GC__PROFILE_DEPTH_MAX);
        for (size_t at = 0; at < depth; at++) {
            gc__folded_put(output, gc__frame_name(profile, gc__profile_frame_of(profile, stacks[at]), text));
            gc__put_byte(output, ';');
        }
        gc__folded_put(output, gc__profile_type_name(profile, entry->type));
        gc__put_format(output, " %.0f\n", entry->allocated.bytes);
    }
}
/* The report: types by what was allocated of them, each with its stacks, as text. */


GC__FN void gc__write_report(const gc__profile *profile, gc__output *output) { (void)profile, (void)output; }
/* The formats of files, by the endings of their names. Each writer is a part of its own, which this one includes. */


static const gc__profile_format gc__profile_formats[] = {
    {".folded", gc__write_folded, NULL, NULL, NULL},
    {".txt", gc__write_report, NULL, NULL, NULL},
};

/* The format of a file's name; NULL: there is none with its ending. */
GC__FN const gc__profile_format *gc__profile_format_of(const char *name) {
    size_t length = strlen(name);
    for (size_t i = 0; i < sizeof gc__profile_formats / sizeof *gc__profile_formats; i++) {
        size_t ending = strlen(gc__profile_formats[i].ending);
        if (length > ending && strcmp(name + length - ending, gc__profile_formats[i].ending) == 0)
            return &gc__profile_formats[i];
    }
    return NULL;
}
#endif
