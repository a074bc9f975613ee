/* Generated from src/gc_profile.h by tools/amalgamate.awk: edit src/, then run `make headers`. */
/* gc_profile.h - what allocates, what lives, when it paused, in the formats that people's tools read; a companion of gc.h,
   which it includes.

   In the .c file that defines GC_IMPLEMENTATION include this header after gc.h, or instead of it. Then the environment
   GC_PROFILE=FILE has the program write a profile, and gc_profile_start and gc_profile_write do so from within. */
#pragma once

#include "gc.h"

GC__STYLE_BEGIN

/* Profiles: what allocates, what lives, and when collections paused. One profile at a time is taken, of all heaps of the
   process. GC_PROFILE=FILE in the environment takes one from the first heap on, and writes it when the program ends (a
   .heapsnapshot when a heap is destroyed); options follow the name, each after a comma: GC_PROFILE=lisp.pb,period=4096,ticks.

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

/* One event, as a subscriber gets it. What a field means depends on the kind; one that is not named there is 0.
   SAMPLE: object; bytes: its size; amount: which of its bytes was the first sampled one.
   TICK: object, bytes; amount: bytes allocated since the last tick of the thread.
   OBJECT: object, bytes; amount: objects of the type since the type's last event; detail: their bytes.
   COLLECTION_START: amount: its number; detail: generation.
   PHASE: amount: gc_phase; detail: ns.
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

/* Files for perf: /tmp/perf-PID.map; and jit-PID.dump, in the folder of the environment's JITDUMPDIR or else in the current
   one, for `perf record -k mono` and `perf inject --jit`. */
enum { GC_PROFILE_PERF_MAP = 1, GC_PROFILE_JITDUMP = 2 };

/* How a profile is taken. All zero is the default. */
typedef struct gc_profile_options {
    uint64_t period_bytes; /* a byte in so many is sampled; 1: each; 0: 102,400 */
    uint64_t tick_bytes;   /* from one tick to the next, for each thread; 0: 102,400 */
    unsigned per_second;   /* OBJECT: how many events a type has in a second at most; 0: 5 (the CLR's High is 100) */
    unsigned what;         /* GC_PROFILE_BIT(...) of the events that are recorded; 0: GC_PROFILE_DEFAULT */
    unsigned depth_max;    /* frames of a call stack that are kept, the innermost ones, at most 256; 0: 128 */
    unsigned interval_s; /* a file that is written as a whole is also written at this interval, by a thread of its own;
                              0: at the end only */
    uint64_t seed;       /* of the generators that choose bytes; 0: another one each time */
    size_t buffer_bytes; /* of each thread's buffer; 0: 65,536 */
    bool hides_texts; /* heap snapshots, of this profile and until the next one starts, do not show what strings contain;
                         else the first 80 bytes, of types made by GC_TYPE_STRING with elements of one byte */
    unsigned perf; /* GC_PROFILE_PERF_MAP, GC_PROFILE_JITDUMP: Linux's perf is told of named code, too; 0: it is not */
} gc_profile_options;

/* Sets what the host adds, for the profile that is taken and later ones; NULL: nothing. Call it before the first heap is
   created for it to be in force from the start. [any thread; may wait; cannot fail] */
GC_API void gc_profile_set_host(const gc_profile_host *host);

/* Starts a profile of all heaps, forgetting the last one; options may be NULL. With a file name, whose ending says the
   format (see gc_profile_write), it is written there: streamed formats from now on, others by gc_profile_stop. If a heap's
   threads must be stopped for that, the call waits. [any thread in no heap's collection; may wait; GC_ERROR_MISUSE: one is
   being taken; GC_ERROR_OPTION; GC_ERROR_FILE; GC_ERROR_MEMORY] */
GC_API gc_result gc_profile_start(const gc_profile_options *options, const char *file);
/* Ends the profile, and writes its file if it has one. It stays for gc_profile_write until the next start.
   [any thread in no heap's collection; may wait; GC_ERROR_MISUSE: none is being taken; GC_ERROR_FILE] */
GC_API gc_result gc_profile_stop(void);

/* Writes what was recorded so far, in the format of the name's ending: .folded, .txt (a report), .pb, .svg, .html, .json,
   .nettrace; or, with .heapsnapshot, the objects of all heaps, which are collected and stopped for it. An existing file is
   replaced once the new one is complete. [any thread in no heap's collection; may collect; GC_ERROR_FILE: why is in
   gc_last_message; GC_ERROR_OPTION: no such format; GC_ERROR_MISUSE: there is no profile] */
GC_API gc_result gc_profile_write(const char *file);

/* A place in compiled code: from this address on, this line. */
typedef struct gc_profile_line {
    uintptr_t address;
    uint32_t line;
    const char *file;
} gc_profile_line;

/* Names `bytes` of compiled code at `start` from now on; all strings are copied. Code that was there before a profile
   starts may be named at any time. Code of gc_stackmap.h is named without this call. [any thread; may wait; GC_ERROR_MEMORY] */
GC_API gc_result gc_profile_code_add(const void *start, size_t bytes, const char *name, const gc_profile_line *lines,
                                     size_t line_count);
/* The code that starts there is gone; call it before the memory is used again. [any thread; may wait; cannot fail] */
GC_API void gc_profile_code_remove(const void *start);

#ifdef GC_IMPLEMENTATION
#ifndef GC__FN
#error "gc.h was included before GC_IMPLEMENTATION was defined: define it before the first include of both headers"
#endif
/* Files that gc.h writes of its own accord. Errors are left in errno. */


#ifndef __linux__
#error "gc_profile.h: profiles are for Linux only, so far: on Windows, leave GC_IMPLEMENTATION to gc.h or gc_stackmap.h"
#include GC__STOP
#endif
#include <fcntl.h>
#include <sys/stat.h>

#define GC__NAME_BYTES_MAX ((size_t)PATH_MAX)

/* Opens a file for writing, creating or emptying it; returns -1 if the system refuses. Processes started by exec do not
   inherit it. */
GC__FN int gc__os_file_create(const char *name) {
    return open(name, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY, 0666);
}

/* Opens a file in a folder to which everybody may write: refuses a link, and a file of another user. */
GC__FN int gc__os_file_create_own(const char *name) {
    struct stat status;
    int file = open(name, O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NOCTTY | O_NONBLOCK, 0644);
    if (file < 0) return -1;
    if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_uid == geteuid() && ftruncate(file, 0) == 0)
        return file;
    close(file);
    errno = EPERM;
    return -1;
}

/* The identity of the file behind a descriptor. Programs close descriptors that are not theirs, as daemons do when they
   start, and then get the same numbers for files of their own, to which gc.h must not write. */
typedef struct gc__os_file_identity {
    uint64_t device, number;
} gc__os_file_identity;

GC__FN gc__os_file_identity gc__os_file_identify(int file) {
    struct stat status;
    gc__os_file_identity none = {0, 0};
    if (file < 0 || fstat(file, &status) != 0) return none;
    gc__os_file_identity identity = {(uint64_t)status.st_dev, (uint64_t)status.st_ino};
    return identity;
}

GC__FN bool gc__os_file_is(int file, const gc__os_file_identity *identity) {
    gc__os_file_identity now = gc__os_file_identify(file);
    bool same = now.device == identity->device && now.number == identity->number;
    if (!same) errno = EBADF;
    return same;
}

/* Maps the beginning of a file as code that this process never runs; returns NULL if the system refuses. */
GC__FN void *gc__os_file_map_code(int file, size_t bytes) {
    void *mapped = mmap(NULL, bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE, file, 0);
    return mapped == MAP_FAILED ? NULL : mapped;
}

/* The file in which perf looks for names of compiled code, by the number of the process. */
#define GC__PERF_MAP "/tmp/perf-%u.map"

/* Writes all of the data at a position or, if that is -1, where the last such call has ended. */
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

/* Returns whether the name is that of a device, a pipe or the like, which cannot be replaced by another file. */
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

/* Returns the time of day, in ns since 1970. */
GC__FN uint64_t gc__os_utc_ns(void) { return gc__os_clock_ns(CLOCK_REALTIME); }
/* Reading numbers out of tables that may be damaged: nothing beyond their end is read. */


typedef struct gc__byte_reader {
    const uint8_t *at, *end;
    bool is_broken; /* more was asked for than there is: that was read as 0 */
} gc__byte_reader;

GC__FN gc__byte_reader gc__byte_reader_of(uintptr_t at, uintptr_t end) {
    gc__byte_reader reader = {(const uint8_t *)at, (const uint8_t *)end, at > end};
    return reader;
}

/* Passes over so many bytes. NULL: there are fewer. */
GC__FN const uint8_t *gc__byte_skip(gc__byte_reader *reader, uint64_t bytes) {
    const uint8_t *at = reader->at;
    reader->is_broken |= reader->is_broken || bytes > (uint64_t)(reader->end - at);
    if (reader->is_broken) return NULL;
    reader->at += bytes;
    return at;
}

/* A number of 1, 2, 4 or 8 bytes. */
GC__FN uint64_t gc__byte_number(gc__byte_reader *reader, unsigned bytes) {
    const uint8_t *at = gc__byte_skip(reader, bytes);
    uint64_t number = 0;
    if (at) memcpy(&number, at, bytes);
    return __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__ ? number : number >> (64 - 8 * bytes);
}

GC__FN int64_t gc__byte_signed(gc__byte_reader *reader, unsigned bytes) {
    unsigned shift = 64 - 8 * bytes;
    return (int64_t)(gc__byte_number(reader, bytes) << shift) >> shift;
}

/* A number in pieces of seven bits, the lowest first: ULEB128, or if `is_signed` SLEB128. */
GC__FN uint64_t gc__byte_pieces(gc__byte_reader *reader, bool is_signed) {
    uint64_t number = 0, piece;
    unsigned shift = 0;
    do {
        piece = gc__byte_number(reader, 1);
        if (shift < 64) number |= (piece & 127) << shift;
        shift += 7;
    } while (piece & 128);
    if (is_signed && shift < 64 && (piece & 64)) number |= ~(uint64_t)0 << shift;
    return number;
}

GC__FN uint64_t gc__byte_uleb(gc__byte_reader *reader) { return gc__byte_pieces(reader, false); }
GC__FN int64_t gc__byte_sleb(gc__byte_reader *reader) { return (int64_t)gc__byte_pieces(reader, true); }

GC__FN const char *gc__byte_text(gc__byte_reader *reader) {
    const void *zero = reader->is_broken ? NULL : memchr(reader->at, 0, (size_t)(reader->end - reader->at));
    const char *text = (const char *)reader->at;
    reader->is_broken |= !zero;
    if (!zero) return "";
    reader->at = (const uint8_t *)zero + 1;
    return text;
}
/* A native frame while a stack is unwound: its registers, and how its memory is read, which may be damaged. */

/* The platform contract for unwinding the native stack, on Linux: registers, the bounds of stacks, the files with
   code. */


#include <link.h>
#include <sys/auxv.h>
#include <ucontext.h>

/* Registers have DWARF's numbers. GC__CPU_PC is the number of the return address. */
#if defined(__x86_64__)
enum { GC__CPU_FRAME = 6, GC__CPU_SP = 7, GC__CPU_PC = 16, GC__CPU_REGISTERS = 17, GC__CPU_HAS_CFI = 1 };
#define GC__CPU_PRESERVED_COUNT 6
static const uint8_t gc__cpu_preserved[GC__CPU_PRESERVED_COUNT] = {3, 6, 12, 13, 14, 15};
/* Maps the processor's own register numbers to DWARF's. */
static const uint8_t gc__cpu_dwarf[16] = {0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15};

/* Stores the registers that calls preserve, the stack pointer and the pc, all as they are at one instruction. */
#define GC__CPU_HERE(r)                                                 \
    __asm__ volatile("{leaq 0(%%rip), %%rax|lea rax, [rip]}\n\t"        \
                     "{movq %%rax, 128(%0)|mov [%0+128], rax}\n\t"      \
                     "{movq %%rbx, 24(%0)|mov [%0+24], rbx}\n\t"        \
                     "{movq %%rbp, 48(%0)|mov [%0+48], rbp}\n\t"        \
                     "{movq %%rsp, 56(%0)|mov [%0+56], rsp}\n\t"        \
                     "{movq %%r12, 96(%0)|mov [%0+96], r12}\n\t"        \
                     "{movq %%r13, 104(%0)|mov [%0+104], r13}\n\t"      \
                     "{movq %%r14, 112(%0)|mov [%0+112], r14}\n\t"      \
                     "{movq %%r15, 120(%0)|mov [%0+120], r15}" ::"r"(r) \
                     : "rax", "memory")
#elif defined(__aarch64__)
enum { GC__CPU_FRAME = 29, GC__CPU_SP = 31, GC__CPU_PC = 32, GC__CPU_REGISTERS = 33, GC__CPU_HAS_CFI = 0 };
#define GC__CPU_PRESERVED_COUNT 1
static const uint8_t gc__cpu_preserved[GC__CPU_PRESERVED_COUNT] = {29};
static const uint8_t gc__cpu_dwarf[16] = {0};
#define GC__CPU_HERE(r)                                                                                       \
    __asm__ volatile(                                                                                         \
        "adr x9, .\n\tstr x9, [%0, #256]\n\tstr x29, [%0, #232]\n\tmov x9, sp\n\tstr x9, [%0, #248]" ::"r"(r) \
        : "x9", "memory")
#else /* with numbers of gc.h's own; the pc is the address to which the function returns */
enum { GC__CPU_FRAME = 0, GC__CPU_SP = 1, GC__CPU_PC = 2, GC__CPU_REGISTERS = 3, GC__CPU_HAS_CFI = 0 };
#define GC__CPU_PRESERVED_COUNT 1
static const uint8_t gc__cpu_preserved[GC__CPU_PRESERVED_COUNT] = {0};
static const uint8_t gc__cpu_dwarf[16] = {0};
#define GC__CPU_HERE(r)                                                   \
    ((r)[GC__CPU_FRAME] = (uintptr_t)__builtin_frame_address(0),          \
     (r)[GC__CPU_SP] = (r)[GC__CPU_FRAME], (r)[GC__CPU_PC] = (uintptr_t)__builtin_return_address(0))
#endif
#if defined(__x86_64__) || defined(__aarch64__)
#define GC__CPU_UNWINDS 1
#else
#define GC__CPU_UNWINDS 0 /* gc.h does not leave frames itself: the C library lists them */
#endif

/* Stores the registers of the code that a signal has interrupted. */
GC__FN void gc__cpu_interrupted(uintptr_t *registers, const void *context) {
    const ucontext_t *at = (const ucontext_t *)context;
#if defined(__x86_64__)
    static const uint8_t order[GC__CPU_REGISTERS] = {REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
                                                     REG_RBP, REG_RSP, REG_R8,  REG_R9,  REG_R10, REG_R11,
                                                     REG_R12, REG_R13, REG_R14, REG_R15, REG_RIP};
    for (int i = 0; i < GC__CPU_REGISTERS; i++) registers[i] = (uintptr_t)at->uc_mcontext.gregs[order[i]];
#elif defined(__aarch64__)
    memcpy(registers, at->uc_mcontext.regs, 31 * sizeof *registers);
    registers[GC__CPU_SP] = at->uc_mcontext.sp;
    registers[GC__CPU_PC] = at->uc_mcontext.pc;
#else
    const uintptr_t *words = gc__os_context(at);
    registers[GC__CPU_FRAME] = words[GC__OS_FRAME_POINTER];
    registers[GC__CPU_SP] = words[GC__OS_FAULT_SP];
    registers[GC__CPU_PC] = words[GC__OS_FAULT_PC];
#endif
}

GC__FN int gc__os_count_changes(struct dl_phdr_info *file, size_t bytes, void *count) {
    bool counts = bytes >= offsetof(struct dl_phdr_info, dlpi_subs) + sizeof file->dlpi_subs;
    *(uint32_t *)count = counts ? (uint32_t)(file->dlpi_adds + file->dlpi_subs) : 0;
    return 1;
}
/* Returns a number that differs after each change of the set of loaded files with code. */
GC__FN uint32_t gc__os_file_changes(void) {
    uint32_t count = 0;
    dl_iterate_phdr(gc__os_count_changes, &count);
    return count;
}

/* The name by which the program's own file is opened, even if it was removed since. */
#define GC__OS_PROGRAM_FILE "/proc/self/exe"

/* The tables of the file with code at a pc: its .eh_frame_hdr, or else its .eh_frame (0: it has none), and the segment
   with these, beyond which nothing is read. */
typedef struct gc__os_tables {
    uintptr_t header, frames, start, end;
} gc__os_tables;

/* Returns the address of the program's .eh_frame, relative to where the program is loaded; 0 if it has none. It is
   found by its section, since statically linked programs often have no .eh_frame_hdr. */
GC__FN uintptr_t gc__os_program_frames(void) {
    static uintptr_t frames; /* atomic; 0: not looked for yet; 1: there are none */
    uintptr_t found = __atomic_load_n(&frames, __ATOMIC_RELAXED);
    gc__image program;
    Elf64_Shdr section;
    if (found) return found == 1 ? 0 : found;
    found = 1;
    if (!gc__image_map(GC__OS_PROGRAM_FILE, &program)) {
        if (gc__image_section_named(&program, ".eh_frame", &section)) found = section.sh_addr;
        gc__image_unmap(&program);
    }
    __atomic_store_n(&frames, found, __ATOMIC_RELAXED);
    return found == 1 ? 0 : found;
}

typedef struct gc__os_tables_search {
    uintptr_t pc;
    void (*f)(void *context, const gc__os_tables *tables);
    void *context;
} gc__os_tables_search;

GC__FN bool gc__os_is_program(const struct dl_phdr_info *file) {
    return (uintptr_t)file->dlpi_phdr == getauxval(AT_PHDR);
}

GC__FN int gc__os_tables_in(struct dl_phdr_info *file, size_t bytes, void *context) {
    const gc__os_tables_search *search = (const gc__os_tables_search *)context;
    gc__os_tables tables = {0, 0, 0, 0};
    if (!gc__os_file_has_code(file, bytes, (void *)search->pc)) return 0;
    for (int i = 0; i < file->dlpi_phnum; i++)
        if (file->dlpi_phdr[i].p_type == PT_GNU_EH_FRAME) tables.header = file->dlpi_addr + file->dlpi_phdr[i].p_vaddr;
    if (!tables.header && gc__os_is_program(file) && gc__os_program_frames())
        tables.frames = file->dlpi_addr + gc__os_program_frames();
    for (int i = 0; i < file->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &file->dlpi_phdr[i];
        uintptr_t start = file->dlpi_addr + part->p_vaddr;
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_R) ||
            (tables.header | tables.frames) - start >= part->p_memsz)
            continue;
        tables.start = start;
        tables.end = start + part->p_memsz;
    }
    if (!tables.end) tables.header = tables.frames = 0;
    search->f(search->context, &tables);
    return 1;
}
/* Calls f for the file that has code at the pc, which is not unloaded during the call. Returns false if no file has. */
GC__FN bool gc__os_tables_of(uintptr_t pc, void (*f)(void *context, const gc__os_tables *tables), void *context) {
    gc__os_tables_search search = {pc, f, context};
    return dl_iterate_phdr(gc__os_tables_in, &search) != 0;
}

#define GC__OS_NO_FILE "[vdso]"

/* The code of a file in memory, and the identity of the file. */
typedef struct gc__os_code {
    uintptr_t start, end;
    uint64_t offset;  /* of `start` in the file */
    const char *path; /* "" for the program, GC__OS_NO_FILE for code that the kernel supplies */
    const uint8_t *build_id;
    size_t build_id_bytes; /* 0: the file has none */
} gc__os_code;

typedef struct gc__os_code_search {
    void (*f)(void *context, const gc__os_code *code);
    void *context;
} gc__os_code_search;

GC__FN int gc__os_code_in(struct dl_phdr_info *file, size_t bytes, void *context) {
    const gc__os_code_search *search = (const gc__os_code_search *)context;
    gc__os_code code = {0, 0, 0, file->dlpi_name, NULL, 0};
    uintptr_t page = gc__os_page_bytes();
    (void)bytes;
    if (gc__os_is_program(file))
        code.path = "";
    else if (file->dlpi_addr == getauxval(AT_SYSINFO_EHDR)) /* 0 without a vDSO, as is the address of many programs */
        code.path = GC__OS_NO_FILE;
    for (int i = 0; i < file->dlpi_phnum && !code.build_id; i++) {
        const ElfW(Phdr) *part = &file->dlpi_phdr[i];
        if (part->p_type != PT_NOTE) continue;
        const uint8_t *notes = (const uint8_t *)(file->dlpi_addr + part->p_vaddr);
        code.build_id = gc__image_id_in(notes, part->p_memsz, part->p_align, &code.build_id_bytes);
    }
    for (int i = 0; i < file->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &file->dlpi_phdr[i];
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_X)) continue;
        uintptr_t start = file->dlpi_addr + part->p_vaddr, before = start & (page - 1);
        code.start = start - before;
        code.offset = part->p_offset - before;
        code.end = (start + part->p_memsz + page - 1) & ~(page - 1);
        search->f(search->context, &code);
    }
    return 0;
}
/* Calls f for the code of each loaded file, the program first. */
GC__FN void gc__os_each_code(void (*f)(void *context, const gc__os_code *code), void *context) {
    gc__os_code_search search = {f, context};
    dl_iterate_phdr(gc__os_code_in, &search);
}
/* Writes the path of the program; "" if the system does not say. */
GC__FN void gc__os_program_path(char *path, size_t bytes) {
    ssize_t length = readlink("/proc/self/exe", path, bytes - 1);
    path[length < 0 ? 0 : length] = 0;
}

typedef struct gc__native_cursor {
    uintptr_t registers[GC__CPU_REGISTERS]; /* by the numbers of DWARF */
    uint64_t known;                         /* bit i: registers[i] is that of this frame */
    bool is_call;                           /* the pc is a return address; else the next instruction */
    uintptr_t low, high;        /* what is between can be read: the thread's stack from its innermost frame on */
    uintptr_t page;             /* so can this page elsewhere; 0: none */
    uint32_t changes;           /* gc__os_file_changes when the walk began */
    struct gc__own_rule *rules; /* 1 << GC__OWN_RULES_SHIFT of them, the thread's; NULL: it has none */
} gc__native_cursor;

#define GC__NATIVE_PRESERVED ((uint64_t)1 << GC__CPU_SP | (uint64_t)1 << GC__CPU_PC)

/* Whether a word elsewhere than on the thread's own stack can be read: the program may run on a stack of its own, or handle
   a signal on one. */
GC__FN bool gc__native_probe(gc__native_cursor *frame, uintptr_t address) {
    uintptr_t page = address & ~(uintptr_t)4095, word;
    if (page && page == frame->page) return true;
    if (!page || !gc__os_read(&word, (const void *)address, sizeof word)) return false;
    frame->page = page;
    return true;
}

/* A word of the stack, without AddressSanitizer's opinion of what it is. */
__attribute__((no_sanitize("address"))) GC__FN uintptr_t gc__native_load(uintptr_t address) {
    return *(const gc_word *)address;
}

/* Reads a word of the stack. */
GC__INLINED bool gc__native_read(gc__native_cursor *frame, uintptr_t address, uintptr_t *word) {
    bool is_near = address - frame->low < frame->high - frame->low;
    if (GC__UNLIKELY(address & 7) || (GC__UNLIKELY(!is_near) && !gc__native_probe(frame, address))) return false;
    *word = gc__native_load(address);
    return true;
}

/* A register's value. False: it is not known. */
GC__FN bool gc__native_register(const gc__native_cursor *frame, uint64_t number, uintptr_t *value) {
    if (number >= GC__CPU_REGISTERS || !(frame->known >> number & 1)) return false;
    *value = frame->registers[number];
    return true;
}
/* Evaluating DWARF's expressions, by which few frames say where a register is: those of signal handlers and of stubs. */


#define GC__EXPRESSION_DEPTH 16
#define GC__EXPRESSION_STEPS 256

typedef struct gc__expression {
    gc__byte_reader reader;
    gc__native_cursor *frame;
    uintptr_t stack[GC__EXPRESSION_DEPTH];
    unsigned depth;
    bool is_wrong;
} gc__expression;

GC__FN void gc__expression_push(gc__expression *e, uintptr_t value) {
    if (e->depth == GC__EXPRESSION_DEPTH)
        e->is_wrong = true;
    else
        e->stack[e->depth++] = value;
}

GC__FN uintptr_t gc__expression_pop(gc__expression *e) {
    if (e->depth) return e->stack[--e->depth];
    e->is_wrong = true;
    return 0;
}

GC__FN void gc__expression_pick(gc__expression *e, uint64_t index) {
    e->is_wrong |= index >= e->depth;
    gc__expression_push(e, e->is_wrong ? 0 : e->stack[e->depth - 1 - index]);
}

GC__FN void gc__expression_register(gc__expression *e, uint64_t number, int64_t offset) {
    uintptr_t value = 0;
    e->is_wrong |= !gc__native_register(e->frame, number, &value);
    gc__expression_push(e, value + (uintptr_t)offset);
}

GC__FN void gc__expression_load(gc__expression *e) {
    uintptr_t value = 0;
    e->is_wrong |= !gc__native_read(e->frame, gc__expression_pop(e), &value);
    gc__expression_push(e, value);
}

/* What takes two numbers: `a` was pushed before `b`. */
GC__FN uintptr_t gc__expression_two(gc__expression *e, unsigned op, uintptr_t a, uintptr_t b) {
    intptr_t x = (intptr_t)a, y = (intptr_t)b;
    switch (op) {
    case 0x1a:
        return a & b;
    case 0x1c:
        return a - b;
    case 0x1e:
        return a * b;
    case 0x21:
        return a | b;
    case 0x22:
        return a + b;
    case 0x24:
        return b < 64 ? a << b : 0;
    case 0x25:
        return b < 64 ? a >> b : 0;
    case 0x27:
        return a ^ b;
    case 0x29:
        return x == y;
    case 0x2a:
        return x >= y;
    case 0x2b:
        return x > y;
    case 0x2c:
        return x <= y;
    case 0x2d:
        return x < y;
    case 0x2e:
        return x != y;
    default:
        e->is_wrong = true;
        return 0;
    }
}

/* What takes no two numbers, but for the ranges of numbers and registers. */
GC__FN void gc__expression_other(gc__expression *e, unsigned op) {
    gc__byte_reader *reader = &e->reader;
    switch (op) {
    case 0x03:
        gc__expression_push(e, gc__byte_number(reader, 8));
        break;
    case 0x06:
        gc__expression_load(e);
        break;
    case 0x08:
    case 0x0a:
    case 0x0c:
    case 0x0e:
        gc__expression_push(e, gc__byte_number(reader, 1u << (op - 0x08) / 2));
        break;
    case 0x09:
    case 0x0b:
    case 0x0d:
    case 0x0f:
        gc__expression_push(e, (uintptr_t)gc__byte_signed(reader, 1u << (op - 0x09) / 2));
        break;
    case 0x10:
        gc__expression_push(e, gc__byte_uleb(reader));
        break;
    case 0x11:
        gc__expression_push(e, (uintptr_t)gc__byte_sleb(reader));
        break;
    case 0x12:
        gc__expression_pick(e, 0);
        break;
    case 0x13:
        gc__expression_pop(e);
        break;
    case 0x14:
        gc__expression_pick(e, 1);
        break;
    case 0x15:
        gc__expression_pick(e, gc__byte_number(reader, 1));
        break;
    case 0x1f:
        gc__expression_push(e, 0 - gc__expression_pop(e));
        break;
    case 0x20:
        gc__expression_push(e, ~gc__expression_pop(e));
        break;
    case 0x23:
        gc__expression_push(e, gc__expression_pop(e) + gc__byte_uleb(reader));
        break;
    case 0x96:
        break;
    default:
        e->is_wrong = true;
        break;
    }
}

GC__FN void gc__expression_step(gc__expression *e) {
    unsigned op = (unsigned)gc__byte_number(&e->reader, 1);
    bool takes_two = (op >= 0x1a && op <= 0x1e) || (op >= 0x21 && op <= 0x2e && op != 0x23 && op != 0x28);
    if (op >= 0x30 && op <= 0x4f) {
        gc__expression_push(e, op - 0x30);
    } else if (op >= 0x70 && op <= 0x8f) {
        gc__expression_register(e, op - 0x70, gc__byte_sleb(&e->reader));
    } else if (takes_two) {
        uintptr_t b = gc__expression_pop(e), a = gc__expression_pop(e);
        gc__expression_push(e, gc__expression_two(e, op, a, b));
    } else {
        gc__expression_other(e, op);
    }
}

/* The value of the expression, which its length precedes, with `first` on the stack if `has_first`. False: it is damaged, or
   needs what is not known. */
GC__FN bool gc__expression_value(gc__native_cursor *frame, gc__byte_reader reader, const uintptr_t *first,
                                 uintptr_t *value) {
    gc__expression e;
    uint64_t bytes = gc__byte_uleb(&reader);
    const uint8_t *start = gc__byte_skip(&reader, bytes);
    memset(&e, 0, sizeof e);
    if (!start) return false;
    e.frame = frame;
    e.reader = gc__byte_reader_of((uintptr_t)start, (uintptr_t)(start + bytes));
    if (first) gc__expression_push(&e, *first);
    for (int i = 0; i < GC__EXPRESSION_STEPS && e.reader.at < e.reader.end && !e.is_wrong && !e.reader.is_broken; i++)
        gc__expression_step(&e);
    *value = gc__expression_pop(&e);
    return !e.is_wrong && !e.reader.is_broken;
}
/* Call frame information: the tables of .eh_frame, which say where a function's frame ends and where it has saved its
   caller's registers, instruction by instruction.

   A file has one description for each function (FDE), which continues one that many share (CIE). .eh_frame_hdr lists them by
   address. The instructions of both are carried out up to the pc; what then holds is a row. */


typedef enum gc__cfi_how {
    GC__CFI_SAME,       /* the register has its caller's value */
    GC__CFI_UNDEFINED,  /* that value is lost */
    GC__CFI_OFFSET,     /* it is in memory at CFA + value */
    GC__CFI_SUM,        /* it is CFA + value */
    GC__CFI_REGISTER,   /* it is in the register `value` */
    GC__CFI_EXPRESSION, /* it is in memory where the expression at `value` says */
    GC__CFI_RESULT      /* it is the result of that expression */
} gc__cfi_how;

typedef struct gc__cfi_rule {
    uint8_t how; /* gc__cfi_how */
    int64_t value;
} gc__cfi_rule;

typedef struct gc__cfi_row {
    uint8_t cfa_register;
    gc__cfi_rule cfa; /* GC__CFI_SUM: cfa_register + value; or GC__CFI_RESULT */
    gc__cfi_rule registers[GC__CPU_REGISTERS];
} gc__cfi_row;

#define GC__CFI_REMEMBERED 4

/* What a CIE says, and the row while instructions are carried out. */
typedef struct gc__cfi {
    uint64_t code_unit;
    int64_t data_unit;
    uint8_t encoding; /* of addresses in FDEs */
    bool has_augmentation, is_signal_frame;
    gc__byte_reader initial; /* instructions */
    uintptr_t location;
    uintptr_t end; /* of the segment */
    bool is_wrong;
    unsigned remembered_count;
    gc__cfi_row row, first; /* `first`: after the CIE's instructions */
    gc__cfi_row remembered[GC__CFI_REMEMBERED];
} gc__cfi;

/* An address as .eh_frame encodes it, in relation to itself or to `base`. */
GC__FN uintptr_t gc__cfi_address(gc__byte_reader *reader, unsigned encoding, uintptr_t base) {
    uintptr_t here = (uintptr_t)reader->at, value;
    switch (encoding & 0x0f) {
    case 0x00:
    case 0x04:
    case 0x0c:
        value = gc__byte_number(reader, 8);
        break;
    case 0x01:
        value = gc__byte_uleb(reader);
        break;
    case 0x02:
        value = gc__byte_number(reader, 2);
        break;
    case 0x03:
        value = gc__byte_number(reader, 4);
        break;
    case 0x09:
        value = (uintptr_t)gc__byte_sleb(reader);
        break;
    case 0x0a:
        value = (uintptr_t)gc__byte_signed(reader, 2);
        break;
    case 0x0b:
        value = (uintptr_t)gc__byte_signed(reader, 4);
        break;
    default:
        reader->is_broken = true;
        return 0;
    }
    if ((encoding & 0x70) == 0x10) return value + here;
    if ((encoding & 0x70) == 0x30) return value + base;
    reader->is_broken |= (encoding & 0x70) != 0;
    return value;
}

/* Starts reading an entry: its length is taken off. Returns whether there is one. */
GC__FN bool gc__cfi_entry(gc__byte_reader *from, gc__byte_reader *entry) {
    uint64_t bytes = gc__byte_number(from, 4);
    if (bytes == UINT32_MAX) bytes = gc__byte_number(from, 8);
    const uint8_t *start = gc__byte_skip(from, bytes);
    if (!bytes || !start) return false;
    *entry = gc__byte_reader_of((uintptr_t)start, (uintptr_t)(start + bytes));
    return true;
}

/* What the letters of a CIE say. */
GC__FN void gc__cfi_augment(gc__cfi *cfi, gc__byte_reader *entry, const char *letters) {
    if (*letters != 'z') {
        cfi->is_wrong |= *letters != 0;
        return;
    }
    uint64_t bytes = gc__byte_uleb(entry);
    const uint8_t *start = gc__byte_skip(entry, bytes);
    if (!start) return;
    gc__byte_reader data = gc__byte_reader_of((uintptr_t)start, (uintptr_t)(start + bytes));
    cfi->has_augmentation = true;
    for (letters++; *letters; letters++) {
        if (*letters == 'R') cfi->encoding = (uint8_t)gc__byte_number(&data, 1);
        if (*letters == 'L') gc__byte_number(&data, 1);
        if (*letters == 'P') gc__cfi_address(&data, (unsigned)gc__byte_number(&data, 1) & 0x7f, 0);
        if (*letters == 'S') cfi->is_signal_frame = true;
    }
    cfi->is_wrong |= data.is_broken;
}

GC__FN bool gc__cfi_common(gc__cfi *cfi, uintptr_t start, uintptr_t end) {
    gc__byte_reader from = gc__byte_reader_of(start, end), entry;
    if (!gc__cfi_entry(&from, &entry) || gc__byte_number(&entry, 4) != 0) return false;
    unsigned version = (unsigned)gc__byte_number(&entry, 1);
    const char *letters = gc__byte_text(&entry);
    cfi->code_unit = gc__byte_uleb(&entry);
    cfi->data_unit = gc__byte_sleb(&entry);
    uint64_t number = version == 1 ? gc__byte_number(&entry, 1) : gc__byte_uleb(&entry);
    gc__cfi_augment(cfi, &entry, letters);
    cfi->initial = entry;
    return (version == 1 || version == 3) && number == GC__CPU_PC && !entry.is_broken && !cfi->is_wrong;
}

/* Rules of registers that frames are not found by, those of vectors for instance, are ignored. */
GC__FN void gc__cfi_set(gc__cfi *cfi, uint64_t number, gc__cfi_how how, int64_t value) {
    gc__cfi_rule rule = {(uint8_t)how, value};
    if (number < GC__CPU_REGISTERS) cfi->row.registers[number] = rule;
}

/* Products of numbers that may be anything. */
GC__FN int64_t gc__cfi_scale(int64_t unit, uint64_t number) { return (int64_t)((uint64_t)unit * number); }

GC__FN void gc__cfi_restore(gc__cfi *cfi, uint64_t number) {
    if (number < GC__CPU_REGISTERS) cfi->row.registers[number] = cfi->first.registers[number];
}

/* Passes over an expression; returns where it is. */
GC__FN int64_t gc__cfi_expression(gc__byte_reader *reader) {
    int64_t at = (int64_t)(uintptr_t)reader->at;
    uint64_t bytes = gc__byte_uleb(reader);
    gc__byte_skip(reader, bytes);
    return at;
}

GC__FN void gc__cfi_remember(gc__cfi *cfi, bool again) {
    if (again ? !cfi->remembered_count : cfi->remembered_count == GC__CFI_REMEMBERED)
        cfi->is_wrong = true;
    else if (again)
        cfi->row = cfi->remembered[--cfi->remembered_count];
    else
        cfi->remembered[cfi->remembered_count++] = cfi->row;
}

/* Instructions about the CFA. Returns whether it is one. */
GC__FN bool gc__cfi_step_cfa(gc__cfi *cfi, gc__byte_reader *reader, unsigned op) {
    uint64_t number = cfi->row.cfa_register;
    int64_t value = cfi->row.cfa.value;
    uint8_t how = GC__CFI_SUM;
    switch (op) {
    case 0x0c:
        number = gc__byte_uleb(reader);
        value = (int64_t)gc__byte_uleb(reader);
        break;
    case 0x0d:
        number = gc__byte_uleb(reader);
        break;
    case 0x0e:
        value = (int64_t)gc__byte_uleb(reader);
        break;
    case 0x0f:
        how = GC__CFI_RESULT;
        value = gc__cfi_expression(reader);
        break;
    case 0x12:
        number = gc__byte_uleb(reader);
        value = gc__cfi_scale(cfi->data_unit, (uint64_t)gc__byte_sleb(reader));
        break;
    case 0x13:
        value = gc__cfi_scale(cfi->data_unit, (uint64_t)gc__byte_sleb(reader));
        break;
    default:
        return false;
    }
    cfi->row.cfa_register = number < GC__CPU_REGISTERS ? (uint8_t)number : (uint8_t)GC__CPU_PC;
    cfi->row.cfa.how = how;
    cfi->row.cfa.value = value;
    return true;
}

/* Instructions about one register. */
GC__FN void gc__cfi_step_register(gc__cfi *cfi, gc__byte_reader *reader, unsigned op) {
    uint64_t number = gc__byte_uleb(reader);
    switch (op) {
    case 0x05:
        gc__cfi_set(cfi, number, GC__CFI_OFFSET, gc__cfi_scale(cfi->data_unit, gc__byte_uleb(reader)));
        break;
    case 0x06:
        gc__cfi_restore(cfi, number);
        break;
    case 0x07:
        gc__cfi_set(cfi, number, GC__CFI_UNDEFINED, 0);
        break;
    case 0x08:
        gc__cfi_set(cfi, number, GC__CFI_SAME, 0);
        break;
    case 0x09:
        gc__cfi_set(cfi, number, GC__CFI_REGISTER, (int64_t)gc__byte_uleb(reader));
        break;
    case 0x10:
        gc__cfi_set(cfi, number, GC__CFI_EXPRESSION, gc__cfi_expression(reader));
        break;
    case 0x11:
        gc__cfi_set(cfi, number, GC__CFI_OFFSET, gc__cfi_scale(cfi->data_unit, (uint64_t)gc__byte_sleb(reader)));
        break;
    case 0x14:
        gc__cfi_set(cfi, number, GC__CFI_SUM, gc__cfi_scale(cfi->data_unit, gc__byte_uleb(reader)));
        break;
    case 0x15:
        gc__cfi_set(cfi, number, GC__CFI_SUM, gc__cfi_scale(cfi->data_unit, (uint64_t)gc__byte_sleb(reader)));
        break;
    case 0x16:
        gc__cfi_set(cfi, number, GC__CFI_RESULT, gc__cfi_expression(reader));
        break;
    case 0x2f:
        gc__cfi_set(cfi, number, GC__CFI_OFFSET, -gc__cfi_scale(cfi->data_unit, gc__byte_uleb(reader)));
        break;
    default:
        cfi->is_wrong = true;
        break;
    }
}

GC__FN void gc__cfi_step(gc__cfi *cfi, gc__byte_reader *reader) {
    unsigned op = (unsigned)gc__byte_number(reader, 1), low = op & 0x3f;
    if (op >> 6 == 1)
        cfi->location += low * cfi->code_unit;
    else if (op >> 6 == 2)
        gc__cfi_set(cfi, low, GC__CFI_OFFSET, gc__cfi_scale(cfi->data_unit, gc__byte_uleb(reader)));
    else if (op >> 6 == 3)
        gc__cfi_restore(cfi, low);
    else if (op >= 0x02 && op <= 0x04)
        cfi->location += gc__byte_number(reader, 1u << (op - 2)) * cfi->code_unit;
    else if (op == 0x01)
        cfi->location = gc__cfi_address(reader, cfi->encoding, 0);
    else if (op == 0x0a || op == 0x0b)
        gc__cfi_remember(cfi, op == 0x0b);
    else if (op == 0x2e)
        gc__byte_uleb(reader);
    else if (op && !gc__cfi_step_cfa(cfi, reader, op))
        gc__cfi_step_register(cfi, reader, op);
}

/* Carries out instructions as far as they are about the pc. */
GC__FN void gc__cfi_run(gc__cfi *cfi, gc__byte_reader reader, uintptr_t pc) {
    while (reader.at < reader.end && cfi->location <= pc && !reader.is_broken && !cfi->is_wrong)
        gc__cfi_step(cfi, &reader);
    cfi->is_wrong |= reader.is_broken;
}

/* Finds the row for the pc by the FDE at `start`. False: the FDE is damaged, or of other code. */
GC__FN bool gc__cfi_read(gc__cfi *cfi, uintptr_t start, uintptr_t low, uintptr_t end, uintptr_t pc) {
    gc__byte_reader from = gc__byte_reader_of(start, end), entry;
    memset(cfi, 0, offsetof(gc__cfi, row));
    if (!gc__cfi_entry(&from, &entry)) return false;
    uintptr_t here = (uintptr_t)entry.at;
    uint64_t back = gc__byte_number(&entry, 4);
    if (!back || back > here - low || !gc__cfi_common(cfi, here - back, end)) return false;
    uintptr_t first = gc__cfi_address(&entry, cfi->encoding, 0);
    uintptr_t bytes = gc__cfi_address(&entry, cfi->encoding & 0x0f, 0);
    if (cfi->has_augmentation) gc__byte_skip(&entry, gc__byte_uleb(&entry));
    if (entry.is_broken || pc - first >= bytes) return false;
    memset(&cfi->row, 0, sizeof cfi->row);
    cfi->end = end;
    cfi->row.cfa.how = GC__CFI_SUM;
    cfi->row.registers[GC__CPU_SP].how = GC__CFI_SUM;
    gc__cfi_run(cfi, cfi->initial, UINTPTR_MAX);
    cfi->first = cfi->row;
    cfi->location = first;
    if (!cfi->is_wrong) gc__cfi_run(cfi, entry, pc);
    return !cfi->is_wrong;
}

/* Tries each FDE in turn, for files that have no list. */
GC__FN bool gc__cfi_try_all(gc__cfi *cfi, uintptr_t frames, const gc__os_tables *tables, uintptr_t pc) {
    gc__byte_reader from = gc__byte_reader_of(frames, tables->end), entry;
    for (uintptr_t at = frames; gc__cfi_entry(&from, &entry); at = (uintptr_t)from.at) {
        uint64_t back = gc__byte_number(&entry, 4);
        if (back && gc__cfi_read(cfi, at, tables->start, tables->end, pc)) return true;
    }
    return false;
}

#define GC__CFI_LIST_ENCODING 0x3b /* of all linkers: four bytes each, in relation to the header */

/* Finds the row for the pc. False: the file has none, or its tables are damaged. */
GC__FN bool gc__cfi_find(gc__cfi *cfi, const gc__os_tables *tables, uintptr_t pc) {
    gc__byte_reader header = gc__byte_reader_of(tables->header, tables->end);
    if (GC__CPU_HAS_CFI && tables->frames) return gc__cfi_try_all(cfi, tables->frames, tables, pc);
    if (!GC__CPU_HAS_CFI || !tables->header || gc__byte_number(&header, 1) != 1) return false;
    unsigned of_frames = (unsigned)gc__byte_number(&header, 1), of_count = (unsigned)gc__byte_number(&header, 1),
             of_list = (unsigned)gc__byte_number(&header, 1);
    uintptr_t frames = gc__cfi_address(&header, of_frames, tables->header);
    if (header.is_broken) return false;
    if (of_count == 0xff || of_list != GC__CFI_LIST_ENCODING)
        return frames >= tables->start && gc__cfi_try_all(cfi, frames, tables, pc);
    uint64_t count = gc__cfi_address(&header, of_count, tables->header), low = 0, high = count;
    const uint8_t *list = gc__byte_skip(&header, count > UINT32_MAX ? UINT64_MAX : count * 8);
    if (!list) return false;
    int32_t entry[2] = {0, 0};
    while (low < high) { /* the last function that begins at the pc or before */
        uint64_t middle = low + (high - low) / 2;
        memcpy(entry, list + middle * 8, sizeof entry);
        if (tables->header + (uintptr_t)(intptr_t)entry[0] <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low) return false;
    memcpy(entry, list + (low - 1) * 8, sizeof entry);
    uintptr_t start = tables->header + (uintptr_t)(intptr_t)entry[1];
    return start >= tables->start && gc__cfi_read(cfi, start, tables->start, tables->end, pc);
}
/* How a frame is left whose pc is in a file's code, as short as most frames allow, and kept for each pc: a table decodes
   in 200 to 500 ns, and the same code allocates again and again.

   The table of rules takes no lock. An entry's first word is the exclusive or of its other words and of its pc, so what another
   thread has written in part is no entry. A rule is forgotten when files have been loaded or unloaded since. */


typedef enum gc__rule_kind {
    GC__RULE_SHORT = 1, /* CFA = register `base` + cfa; the return address is at CFA - 8 */
    GC__RULE_LONG,      /* the row is found again each time */
    GC__RULE_NO_TABLE,  /* code of a file that does not describe it */
    GC__RULE_NO_FILE,   /* code of no file */
    GC__RULE_LAST       /* the stack's first function: it has no caller */
} gc__rule_kind;

typedef struct gc__rule {
    uint32_t changes; /* gc__os_file_changes */
    int32_t cfa;
    uint8_t kind, base;
    int8_t saved[6]; /* of gc__cpu_preserved: at CFA + 8 * saved; 0: the register has its caller's value */
} gc__rule;

GC__STATIC_ASSERT(sizeof(gc__rule) == 16 && GC__CPU_PRESERVED_COUNT <= 6, "a rule is two words");

#define GC__RULES_SHIFT 12

typedef struct gc__rule_entry {
    uint64_t check, words[2];
} gc__rule_entry;

static gc__rule_entry *gc__rules; /* atomic; NULL before the first one is kept */

/* A thread's own few rules, which are close together in memory. */
#define GC__OWN_RULES_SHIFT 6
typedef struct gc__own_rule {
    uintptr_t pc;
    gc__rule rule;
} gc__own_rule;

GC__INLINED size_t gc__rule_place(uintptr_t pc, int shift) { return pc * UINT64_C(0x9E3779B97F4A7C15) >> (64 - shift); }

GC__FN gc__rule_entry *gc__rule_at(gc__rule_entry *rules, uintptr_t pc) {
    return &rules[gc__rule_place(pc, GC__RULES_SHIFT)];
}

/* Whether the rule of the pc is known. */
GC__INLINED bool gc__rule_get(uintptr_t pc, uint32_t changes, gc__rule *rule) {
    gc__rule_entry *rules = __atomic_load_n(&gc__rules, __ATOMIC_ACQUIRE);
    if (!rules) return false;
    const gc__rule_entry *entry = gc__rule_at(rules, pc);
    uint64_t check = __atomic_load_n(&entry->check, __ATOMIC_RELAXED), words[2];
    for (int i = 0; i < 2; i++) words[i] = __atomic_load_n(&entry->words[i], __ATOMIC_RELAXED);
    if ((check ^ words[0] ^ words[1]) != pc) return false;
    memcpy(rule, words, sizeof words);
    return rule->kind && rule->changes == changes;
}

GC__FN void gc__rule_keep(uintptr_t pc, const gc__rule *rule) {
    gc__rule_entry *rules = __atomic_load_n(&gc__rules, __ATOMIC_ACQUIRE), *none = NULL;
    uint64_t words[2];
    if (!rules) {
        size_t bytes = sizeof *rules << GC__RULES_SHIFT;
        rules = (gc__rule_entry *)gc__os_map(bytes);
        if (!rules) return;
        if (!__atomic_compare_exchange_n(&gc__rules, &none, rules, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE)) {
            gc__os_unmap(rules, bytes);
            rules = none;
        }
    }
    gc__rule_entry *entry = gc__rule_at(rules, pc);
    memcpy(words, rule, sizeof words);
    __atomic_store_n(&entry->check, pc ^ words[0] ^ words[1], __ATOMIC_RELAXED);
    for (int i = 0; i < 2; i++) __atomic_store_n(&entry->words[i], words[i], __ATOMIC_RELAXED);
}

/* Nobody walks a stack any more. */
GC__FN void gc__rules_free(void) {
    gc__rule_entry *rules = __atomic_exchange_n(&gc__rules, (gc__rule_entry *)NULL, __ATOMIC_ACQ_REL);
    if (rules) gc__os_unmap(rules, sizeof *rules << GC__RULES_SHIFT);
}

/* Makes the row a short rule. False: it says more than that can. */
GC__FN bool gc__rule_shorten(const gc__cfi *cfi, gc__rule *rule) {
    const gc__cfi_row *row = &cfi->row;
    const gc__cfi_rule *back = &row->registers[GC__CPU_PC], *sp = &row->registers[GC__CPU_SP];
    bool is_plain = row->cfa.how == GC__CFI_SUM && row->cfa.value == (int32_t)row->cfa.value &&
                    sp->how == GC__CFI_SUM && sp->value == 0 && back->how == GC__CFI_OFFSET && back->value == -8 &&
                    !cfi->is_signal_frame;
    if (!is_plain) return false;
    rule->kind = GC__RULE_SHORT;
    rule->base = row->cfa_register;
    rule->cfa = (int32_t)row->cfa.value;
    for (int i = 0; i < GC__CPU_PRESERVED_COUNT; i++) {
        const gc__cfi_rule *saved = &row->registers[gc__cpu_preserved[i]];
        if (saved->how == GC__CFI_SAME) continue;
        if (saved->how != GC__CFI_OFFSET || saved->value % 8 || saved->value < -1024 || saved->value >= 0) return false;
        rule->saved[i] = (int8_t)(saved->value / 8);
    }
    return true;
}

typedef struct gc__rule_search {
    uintptr_t pc;
    gc__rule *rule;
    gc__cfi *cfi;
} gc__rule_search;

GC__FN void gc__rule_found(void *context, const gc__os_tables *tables) {
    const gc__rule_search *search = (const gc__rule_search *)context;
    gc__rule *rule = search->rule;
    rule->kind = GC__RULE_NO_TABLE;
    if (!gc__cfi_find(search->cfi, tables, search->pc)) return;
    if (search->cfi->row.registers[GC__CPU_PC].how == GC__CFI_UNDEFINED) {
        rule->kind = GC__RULE_LAST;
    } else if (!gc__rule_shorten(search->cfi, rule)) {
        memset(rule->saved, 0, sizeof rule->saved);
        rule->kind = GC__RULE_LONG;
    }
}

/* Finds the rule of the pc anew. If it is a long one, the row is in `cfi`; its expressions are part of the file. */
GC__FN void gc__rule_find(uintptr_t pc, uint32_t changes, gc__rule *rule, gc__cfi *cfi) {
    gc__rule_search search = {pc, rule, cfi};
    memset(rule, 0, sizeof *rule);
    if (!gc__os_tables_of(pc, gc__rule_found, &search)) rule->kind = GC__RULE_NO_FILE;
    rule->changes = changes;
    gc__rule_keep(pc, rule);
}
/* Unwinding the native stack of the calling thread.

   A frame whose code is in a file is left by the tables of that file. Compiled code that gc_stackmap.h has registered is left
   by its stack maps. What neither describes is left by the frame pointer, which need not be one: then functions are missing
   among the frames, or the walk ends. Each step goes to a higher address, but for those out of signal handlers, and reads what
   can be read only, so damaged stacks give fewer frames, or wrong ones, and nothing worse. */


static __thread uintptr_t gc__native_low, gc__native_high; /* the thread's own stack; 0: not asked for yet */
static __thread uint32_t gc__native_changes;               /* gc__os_file_changes at the thread's last walk */

/* Completes a frame that has its registers. `may_ask`: the C library may be asked for the stack's bounds. */
GC__FN void gc__native_bound(gc__native_cursor *frame, bool may_ask) {
    uintptr_t sp = frame->registers[GC__CPU_SP];
    if (GC__UNLIKELY(!gc__native_high) && may_ask) gc__os_stack_bounds(&gc__native_low, &gc__native_high);
    frame->changes = gc__native_changes = gc__os_file_changes();
    frame->low = frame->high = 0;
    if (sp - gc__native_low >= gc__native_high - gc__native_low) return;
    frame->low = sp;
    frame->high = gc__native_high;
}

/* Goes on to the caller, whose stack pointer is the CFA. False: the CFA cannot be right. */
GC__INLINED bool gc__native_return(gc__native_cursor *frame, uintptr_t cfa) {
    uintptr_t pc;
    if (cfa <= frame->registers[GC__CPU_SP] || !gc__native_read(frame, cfa - 8, &pc)) return false;
    frame->registers[GC__CPU_SP] = cfa;
    frame->registers[GC__CPU_PC] = gc__cpu_return_address(pc);
    frame->is_call = true;
    return true;
}

GC__INLINED bool gc__native_leave_short(gc__native_cursor *frame, const gc__rule *rule) {
    uintptr_t cfa;
    if (!gc__native_register(frame, rule->base, &cfa)) return false;
    cfa += (uintptr_t)(intptr_t)rule->cfa;
    if (!gc__native_return(frame, cfa)) return false;
    for (int i = 0; i < GC__CPU_PRESERVED_COUNT; i++) {
        uintptr_t at = cfa + 8 * (uintptr_t)(intptr_t)rule->saved[i];
        if (!rule->saved[i]) continue;
        if (!gc__native_read(frame, at, &frame->registers[gc__cpu_preserved[i]])) return false;
        frame->known |= (uint64_t)1 << gc__cpu_preserved[i];
    }
    return true;
}

/* The caller's value of a register. False: it is not known. */
GC__FN bool gc__native_apply(gc__native_cursor *frame, const gc__cfi *cfi, unsigned number, uintptr_t cfa,
                             uintptr_t *value) {
    const gc__cfi_rule *rule = &cfi->row.registers[number];
    gc__byte_reader expression = gc__byte_reader_of((uintptr_t)rule->value, cfi->end);
    switch (rule->how) {
    case GC__CFI_SAME:
        return gc__native_register(frame, number, value);
    case GC__CFI_OFFSET:
        return gc__native_read(frame, cfa + (uintptr_t)rule->value, value);
    case GC__CFI_SUM:
        return *value = cfa + (uintptr_t)rule->value, true;
    case GC__CFI_REGISTER:
        return gc__native_register(frame, (uint64_t)rule->value, value);
    case GC__CFI_EXPRESSION:
        return gc__expression_value(frame, expression, &cfa, value) && gc__native_read(frame, *value, value);
    case GC__CFI_RESULT:
        return gc__expression_value(frame, expression, &cfa, value);
    default:
        return false;
    }
}

/* Out of a signal handler the walk may come to another stack, and all registers are known. */
GC__FN bool gc__native_leave_long(gc__native_cursor *frame, const gc__cfi *cfi) {
    gc__native_cursor to = *frame;
    uintptr_t cfa;
    if (cfi->row.cfa.how == GC__CFI_SUM) {
        if (!gc__native_register(frame, cfi->row.cfa_register, &cfa)) return false;
        cfa += (uintptr_t)cfi->row.cfa.value;
    } else if (!gc__expression_value(frame, gc__byte_reader_of((uintptr_t)cfi->row.cfa.value, cfi->end), NULL, &cfa)) {
        return false;
    }
    for (unsigned i = 0; i < GC__CPU_REGISTERS; i++) {
        uint64_t bit = (uint64_t)1 << i;
        to.known = gc__native_apply(frame, cfi, i, cfa, &to.registers[i]) ? to.known | bit : to.known & ~bit;
    }
    to.page = frame->page;
    to.is_call = !cfi->is_signal_frame;
    bool goes_up = to.registers[GC__CPU_SP] > frame->registers[GC__CPU_SP] || cfi->is_signal_frame;
    *frame = to;
    return goes_up && (to.known & GC__NATIVE_PRESERVED) == GC__NATIVE_PRESERVED;
}

GC__FN bool gc__native_leave_by_pointer(gc__native_cursor *frame) {
    uintptr_t pointer, former;
    if (!gc__native_register(frame, GC__CPU_FRAME, &pointer) || pointer < frame->registers[GC__CPU_SP] ||
        !gc__native_read(frame, pointer, &former) || !gc__native_return(frame, pointer + 16))
        return false;
    frame->registers[GC__CPU_FRAME] = former;
    if (!GC__CPU_HAS_CFI && former > pointer) frame->registers[GC__CPU_SP] = former; /* where the caller's frame begins */
    return true;
}

/* Compiled code of gc_stackmap.h, or else of a host that keeps to frame pointers. */
GC__FN bool gc__native_leave_compiled(gc__native_cursor *frame) {
    uintptr_t registers[16], cfa = 0, end = frame->high ? frame->high : frame->page + 4096;
    int32_t saved[16] = {0};
    uint32_t known = 0;
    for (unsigned i = 0; i < 16; i++) {
        registers[i] = frame->registers[gc__cpu_dwarf[i]];
        known |= (uint32_t)(frame->known >> gc__cpu_dwarf[i] & 1) << i;
    }
    if (!GC__CPU_HAS_CFI || !gc__compiled ||
        !gc__compiled->lay_out(frame->registers[GC__CPU_PC], frame->is_call, registers, end, &known, &cfa, saved))
        return gc__native_leave_by_pointer(frame);
    if (!gc__native_return(frame, cfa)) return false;
    frame->registers[GC__CPU_PC] = gc__compiled->original(frame->registers[GC__CPU_PC]);
    frame->known = GC__NATIVE_PRESERVED;
    for (unsigned i = 0; i < 16; i++) {
        uintptr_t *value = &frame->registers[gc__cpu_dwarf[i]];
        bool has = saved[i] ? gc__native_read(frame, cfa + (uintptr_t)(intptr_t)saved[i], value) : known >> i & 1;
        frame->known |= (uint64_t)has << gc__cpu_dwarf[i];
    }
    return true;
}

GC__OUT_OF_LINE bool gc__native_next_slowly(gc__native_cursor *frame, uintptr_t pc, gc__rule rule) {
    gc__cfi cfi;
    if (!rule.kind || rule.kind == GC__RULE_LONG) gc__rule_find(pc, frame->changes, &rule, &cfi);
    switch (rule.kind) {
    case GC__RULE_SHORT:
        return gc__native_leave_short(frame, &rule);
    case GC__RULE_LONG:
        return gc__native_leave_long(frame, &cfi);
    case GC__RULE_NO_TABLE:
    case GC__RULE_NO_FILE:
        return gc__native_leave_compiled(frame);
    default:
        return false;
    }
}

/* Goes to the caller's frame. False: there is none, or it cannot be found. */
GC__FN bool gc__native_next(gc__native_cursor *frame) {
    uintptr_t pc = frame->registers[GC__CPU_PC] - frame->is_call;
    gc__rule rule;
    if (!gc__rule_get(pc, frame->changes, &rule)) rule.kind = 0;
    if (GC__LIKELY(rule.kind == GC__RULE_SHORT)) return gc__native_leave_short(frame, &rule);
    return gc__native_next_slowly(frame, pc, rule);
}

typedef struct gc__native_frame {
    uintptr_t
        pc; /* in the last byte of the call that the function has made; or in code that a signal interrupted, where
                      the next instruction is */
    uintptr_t cfa; /* the frame lies below this address, which its caller's stack pointer has after the call */
    int8_t saved[sizeof(((gc__rule *)0)->saved)]; /* as in gc__rule, of a frame that gc__native_hop has left */
} gc__native_frame;

/* Whether the rule of the pc is known. */
GC__INLINED bool gc__native_rule(const gc__native_cursor *cursor, uintptr_t pc, gc__rule *rule) {
    gc__own_rule *own = cursor->rules ? &cursor->rules[gc__rule_place(pc, GC__OWN_RULES_SHIFT)] : NULL;
    bool is_own = own && own->pc == pc && own->rule.changes == cursor->changes && own->rule.kind;
    if (is_own)
        *rule = own->rule;
    else if (!gc__rule_get(pc, cursor->changes, rule))
        return false;
    else if (own)
        own->pc = pc, own->rule = *rule;
    return true;
}

/* Restores one of the preserved registers, by its place among them, as it is in frame `last` of the list: it is where the
   outermost of the frames from `first` up to there has saved it. */
GC__INLINED void gc__native_restore(gc__native_cursor *cursor, const gc__native_frame *frames, size_t first,
                                    size_t last, int which) {
    while (last > first && !frames[last - 1].saved[which]) last--;
    if (last == first) return;
    unsigned number = gc__cpu_preserved[which];
    uintptr_t at = frames[last - 1].cfa + 8 * (uintptr_t)(intptr_t)frames[last - 1].saved[which];
    bool is_known = gc__native_read(cursor, at, &cursor->registers[number]);
    cursor->known = (cursor->known & ~((uint64_t)1 << number)) | (uint64_t)is_known << number;
}

/* Goes from frame `last` of the list, the cursor's, to its caller by a short rule. Of the registers only the stack pointer and
   the pc are the caller's then, since most frames are left by these alone: the others are those of frame `first`, and
   gc__native_restore finds them. False: the rule cannot be followed, and nothing has changed. */
GC__INLINED bool gc__native_hop(gc__native_cursor *cursor, gc__native_frame *frames, size_t first, size_t last,
                                const gc__rule *rule) {
    uintptr_t base;
    for (int i = 0; rule->base != GC__CPU_SP && i < GC__CPU_PRESERVED_COUNT; i++)
        if (gc__cpu_preserved[i] == rule->base) gc__native_restore(cursor, frames, first, last, i);
    if (!gc__native_register(cursor, rule->base, &base)) return false;
    if (!gc__native_return(cursor, base + (uintptr_t)(intptr_t)rule->cfa)) return false;
    memcpy(frames[last].saved, rule->saved, sizeof rule->saved);
    return true;
}

/* The same as long as it is simple: frames whose rules the thread has at hand and begin at the stack pointer, and whose return
   addresses are on its own stack. Almost all are. Returns the number of frames. */
GC__INLINED size_t gc__native_run(gc__native_cursor *cursor, gc__native_frame *frames, size_t count, size_t most) {
    uintptr_t sp = cursor->registers[GC__CPU_SP], pc = frames[count - 1].pc, low = cursor->low;
    uintptr_t bytes = cursor->high - low;
    size_t before = count;
    while (count < most) {
        const gc__own_rule *own = &cursor->rules[gc__rule_place(pc, GC__OWN_RULES_SHIFT)];
        if (own->pc != pc || own->rule.kind != GC__RULE_SHORT || own->rule.base != GC__CPU_SP ||
            own->rule.changes != cursor->changes)
            break;
        uintptr_t cfa = sp + (uintptr_t)(intptr_t)own->rule.cfa;
        if (cfa <= sp || cfa & 7 || cfa - 8 - low >= bytes) break;
        uintptr_t back = gc__native_load(cfa - 8);
        if (back < 4096) break;
        gc__native_frame *frame = &frames[count++];
        memcpy(frame[-1].saved, own->rule.saved, sizeof frame->saved);
        frame[-1].cfa = sp = cfa;
        frame->pc = pc = back - 1;
        frame->cfa = UINTPTR_MAX;
        memset(frame->saved, 0, sizeof frame->saved);
    }
    if (count == before) return count;
    cursor->registers[GC__CPU_SP] = sp;
    cursor->registers[GC__CPU_PC] = pc + 1;
    cursor->is_call = true;
    return count;
}

/* Continues a list of `count` frames, the last of which is the cursor's, to at most `most`; returns how many it has then. */
GC__FN size_t gc__native_list(gc__native_cursor *cursor, gc__native_frame *frames, size_t count, size_t most) {
    size_t first = count ? count - 1 : 0;
    for (;;) {
        gc__rule rule;
        if (count && cursor->rules) count = gc__native_run(cursor, frames, count, most);
        bool is_known = count && gc__native_rule(cursor, frames[count - 1].pc, &rule);
        if (is_known && rule.kind == GC__RULE_LAST) break;
        if (!is_known || rule.kind != GC__RULE_SHORT || !gc__native_hop(cursor, frames, first, count - 1, &rule)) {
            for (int i = 0; count && i < GC__CPU_PRESERVED_COUNT; i++)
                gc__native_restore(cursor, frames, first, count - 1, i);
            if (!gc__native_next(cursor)) break;
            first = count;
        }
        if (count) frames[count - 1].cfa = cursor->registers[GC__CPU_SP];
        if (count == most || cursor->registers[GC__CPU_PC] < 4096) break;
        memset(&frames[count], 0, sizeof *frames);
        frames[count].pc = cursor->registers[GC__CPU_PC] - cursor->is_call;
        frames[count++].cfa = UINTPTR_MAX;
    }
    return count;
}

/* Where a walk starts. */
typedef struct gc__native_start {
    uintptr_t registers[GC__CPU_REGISTERS];
} gc__native_start;

/* In the function whose caller is to be the innermost frame; it must not return before the walk. */
GC__INLINED void gc__native_here(gc__native_start *start) { GC__CPU_HERE(start->registers); }

/* Fills in the frames that the C library lists. How far each reaches is not known. */
GC__FN size_t gc__native_listed(const gc__native_start *start, gc__native_frame *frames, size_t most) {
    void *pcs[256];
    size_t count = (size_t)gc__os_list_frames(pcs, 256), first = 0, taken = 0;
    gc__native_changes = gc__os_file_changes();
    while (first < count && (uintptr_t)pcs[first] != start->registers[GC__CPU_PC]) first++;
    for (; first + taken < count && taken < most; taken++) {
        memset(&frames[taken], 0, sizeof *frames);
        frames[taken].pc = (uintptr_t)pcs[first + taken] - 1;
        frames[taken].cfa = UINTPTR_MAX;
    }
    return taken;
}

/* Fills in at most `most` frames of the calling thread, and returns how many. `rules`: see gc__native_cursor. */
GC__FN size_t gc__native_take(const gc__native_start *start, gc__native_frame *frames, size_t most,
                              gc__own_rule *rules) {
    gc__native_cursor cursor;
    if (!GC__CPU_UNWINDS) return gc__native_listed(start, frames, most);
    memset(&cursor, 0, sizeof cursor);
    cursor.known = GC__NATIVE_PRESERVED;
    for (int i = 0; i < GC__CPU_PRESERVED_COUNT; i++) cursor.known |= (uint64_t)1 << gc__cpu_preserved[i];
    memcpy(cursor.registers, start->registers, sizeof cursor.registers);
    cursor.rules = rules;
    gc__native_bound(&cursor, true);
    return gc__native_list(&cursor, frames, 0, most);
}

/* The same in a signal handler, which has the context: the first frame is that of the code which was interrupted. */
GC__FN size_t gc__native_take_interrupted(const void *context, gc__native_frame *frames, size_t most) {
    gc__native_cursor cursor;
    if (!most) return 0;
    memset(&cursor, 0, sizeof cursor);
    gc__cpu_interrupted(cursor.registers, context);
    cursor.known = ((uint64_t)1 << GC__CPU_REGISTERS) - 1;
    gc__native_bound(&cursor, false);
    memset(frames, 0, sizeof *frames);
    frames[0].pc = cursor.registers[GC__CPU_PC];
    frames[0].cfa = UINTPTR_MAX;
    return GC__CPU_UNWINDS ? gc__native_list(&cursor, frames, 1, most) : 1;
}
/* Writing files. Nothing of what is put is reported as failed: after the first error nothing more is written, and
   gc__output_close says so.

   A file that is written as a whole has a temporary name until it is complete. One that is streamed has its own name, and
   is handed whole records only, so that what was written before a program is killed can be read. (A system that ends a
   program in the midst of a write may leave a part of the last one.) */


#include <locale.h>
#include <stdarg.h>

#define GC__OUTPUT_BYTES ((size_t)1 << 16) /* that are buffered before they are written, or more for a longer record */

typedef struct gc__output {
    int file;
    gc__os_file_identity identity; /* of that */
    bool streamed;
    bool special;     /* a device or a pipe: written in place, and not to be patched */
    int error;        /* of the first failure; 0: none */
    size_t used;      /* bytes in the buffer */
    size_t capacity;  /* of the buffer */
    uint64_t written; /* bytes that were written before those in the buffer */
    char *buffer;
    void *format; /* what a streamed format keeps from `begin` to `write` */
    char name[GC__NAME_BYTES_MAX], temporary[GC__NAME_BYTES_MAX];
} gc__output;

GC__FN void gc__output_fail(gc__output *output, int error) {
    if (!output->error) output->error = error ? error : EIO;
    output->used = 0;
}

/* The number of bytes that were put so far: the position in the file of what is put next. */
GC__FN uint64_t gc__output_position(const gc__output *output) { return output->written + output->used; }

GC__FN void gc__output_write(gc__output *output, const void *data, size_t bytes, int64_t position) {
    if (output->error || !bytes) return;
    if (!gc__os_file_is(output->file, &output->identity) || !gc__os_file_write(output->file, data, bytes, position))
        gc__output_fail(output, gc__os_error());
}

GC__FN void gc__output_flush(gc__output *output) {
    gc__output_write(output, output->buffer, output->used, -1);
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

GC__FN void gc__put_format(gc__output *output, const char *format, ...) __attribute__((GC__PRINTF(2, 3)));
GC__FN void gc__put_format(gc__output *output, const char *format, ...) {
    va_list arguments;
    /* The host's locale may have decimal commas. Systems take no memory for this one. */
    locale_t plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
    locale_t before = plain ? uselocale(plain) : (locale_t)0;
    va_start(arguments, format);
    int length = vsnprintf(NULL, 0, format, arguments);
    va_end(arguments);
    if (length >= 0 && gc__output_reserve(output, (size_t)length + 1)) {
        va_start(arguments, format);
        vsnprintf(output->buffer + output->used, (size_t)length + 1, format, arguments);
        va_end(arguments);
        output->used += (size_t)length;
    }
    if (!plain) return;
    uselocale(before);
    freelocale(plain);
}

/* Replaces bytes that were put before, in a file that is written as a whole: counts in its head, say. */
GC__FN void gc__output_patch(gc__output *output, uint64_t position, const void *data, size_t bytes) {
    gc__output_flush(output);
    if (output->special) gc__output_fail(output, ESPIPE);
    gc__output_write(output, data, bytes, (int64_t)position);
}

static unsigned gc__outputs; /* that were opened; atomic: two threads may write a file of the same name */

/* Opens the file; false: it cannot be, and errors are in gc_last_message. */
GC__FN bool gc__output_open(gc__output *output, const char *name, bool streamed) {
    memset(output, 0, sizeof *output);
    output->file = -1;
    output->streamed = streamed;
    output->special = gc__os_file_is_special(name);
    bool direct = streamed || output->special;
    int length = snprintf(output->name, sizeof output->name, "%s", name);
    int longer = snprintf(output->temporary, sizeof output->temporary, "%s.%u.%u.tmp", name, gc__os_process_number(),
                          __atomic_add_fetch(&gc__outputs, 1, __ATOMIC_RELAXED));
    if (length < 0 || longer < 0 || (size_t)longer >= sizeof output->temporary)
        output->error = ENAMETOOLONG;
    else if ((output->file = gc__os_file_create(direct ? output->name : output->temporary)) < 0)
        output->error = gc__os_error();
    output->identity = gc__os_file_identify(output->file);
    if (direct) output->temporary[0] = 0;
    return !output->error;
}

/* Completes and closes the file. False: it was not written, for which output->error says why. */
GC__FN bool gc__output_close(gc__output *output) {
    gc__output_flush(output);
    bool lost = output->file >= 0 && !gc__os_file_is(output->file, &output->identity);
    if (lost || (output->file >= 0 && !gc__os_file_close(output->file))) gc__output_fail(output, gc__os_error());
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
/* Texts, frames, stacks, types and entries, each kept once. Functions that add one return its number: 0 where the system
   gives no memory, but for entries. The profile's lock is held, or the profile is a writer's copy. */


GC__OUT_OF_LINE bool gc__profile_grow(void *array, size_t count, size_t *capacity, size_t bytes) {
    void *items;
    size_t wanted = *capacity ? 2 * *capacity : (size_t)1 << 16; /* a page may have as many */
    while (wanted < (count + 1) * bytes) wanted *= 2;
    memcpy(&items, array, sizeof items);
    items = items ? gc__os_remap(items, *capacity, wanted) : gc__os_map(wanted);
    if (!items) return false;
    memcpy(array, &items, sizeof items);
    *capacity = wanted;
    return true;
}

/* Makes room for one more item in an array; false: no memory. `array` is the address of a pointer to items. */
GC__INLINED bool gc__profile_reserve(void *array, size_t count, size_t *capacity, size_t bytes) {
    return GC__LIKELY((count + 1) * bytes <= *capacity) || gc__profile_grow(array, count, capacity, bytes);
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

GC__FN uint32_t gc__profile_type_add_part(gc__profile *profile, const char *name, size_t bytes) {
    uint32_t text = gc__profile_text_add_part(profile, name, bytes);
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

GC__FN uint32_t gc__profile_type_add(gc__profile *profile, const char *name) {
    return gc__profile_type_add_part(profile, name, strlen(name));
}

/* The fields that tell frames apart: those that are known when a stack is taken. */
typedef struct gc__frame_key {
    uintptr_t pc;
    uint32_t code, name, file, line;
    uint32_t module, zero;
} gc__frame_key;

GC__FN bool gc__frame_equal(const gc__profile *profile, uint32_t number, const void *key, size_t bytes) {
    const gc__profile_frame *frame = &profile->frames[number];
    const gc__frame_key *k = (const gc__frame_key *)key;
    (void)bytes;
    if (frame->pc != k->pc || frame->code != k->code || frame->module != k->module) return false;
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
    frame->module = key->module;
    gc__index_set(&profile->frame_index, place, hash, profile->frames_count - 1);
    return (uint32_t)(profile->frames_count - 1);
}

GC__FN bool gc__stack_equal(const gc__profile *profile, uint32_t number, const void *key, size_t bytes) {
    uint32_t found[2] = {gc__stack_frame_number(profile, number), gc__stack_caller(profile, number)};
    return memcmp(found, key, bytes) == 0;
}

/* A new stack of `frame` that was called by `caller`, which may be there already. */
GC__FN uint32_t gc__profile_stack_append(gc__profile *profile, uint32_t frame, uint32_t caller) {
    size_t count = profile->stacks_count;
    if (!gc__profile_reserve(&profile->stacks, count + 1, &profile->stacks_capacity, sizeof *profile->stacks)) return 0;
    if (count + 2 >= GC__STACK_APART || frame >= GC__STACK_APART) return 0;
    if (caller != count - 1) {
        profile->stacks[count++] = caller;
        frame |= GC__STACK_APART;
    }
    profile->stacks[count] = frame;
    profile->stacks_count = count + 1;
    return (uint32_t)count;
}

/* The stack of `frame` that was called by `caller`. */
GC__FN uint32_t gc__profile_stack_add(gc__profile *profile, uint32_t frame, uint32_t caller) {
    uint32_t key[2] = {frame, caller};
    if (!gc__index_reserve(&profile->stack_index)) return 0;
    uint64_t hash = gc__index_hash(key, sizeof key);
    uint64_t *place = gc__index_place(profile, &profile->stack_index, hash, gc__stack_equal, key, sizeof key);
    if (*place) return (uint32_t)*place;
    uint32_t number = gc__profile_stack_append(profile, frame, caller);
    if (number) gc__index_set(&profile->stack_index, place, hash, number);
    return number;
}

GC__FN bool gc__site_equal(const gc__profile *profile, uint32_t number, const void *key, size_t bytes) {
    return memcmp(&profile->sites[number].hash, key, bytes) == 0;
}

/* The amount of what died in the generation; NULL: no memory. */
GC__FN gc__profile_amount *gc__site_died(gc__profile *profile, uint32_t site, int generation) {
    uint32_t *number = &profile->sites[site].died[generation];
    if (*number) return &profile->amounts[*number];
    gc__profile_amount *amount = GC__PROFILE_APPEND(profile, amounts);
    if (amount) *number = (uint32_t)(amount - profile->amounts);
    return amount;
}

/* What the site has of events other than samples; NULL: no memory. */
GC__FN gc__profile_marks *gc__site_marks(gc__profile *profile, uint32_t site) {
    uint32_t *number = &profile->sites[site].marks;
    if (*number) return &profile->marks[*number];
    gc__profile_marks *marks = GC__PROFILE_APPEND(profile, marks);
    if (marks) *number = (uint32_t)(marks - profile->marks);
    return marks;
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

GC__FN void gc__entry_sum(gc__profile_entry *sum, const gc__profile_entry *entry) {
    for (int g = 0; g < GC_GENERATIONS; g++) {
        gc__amount_sum(&sum->live[g], &entry->live[g]);
        gc__amount_sum(&sum->died[g], &entry->died[g]);
    }
    gc__amount_sum(&sum->allocated, &entry->allocated);
    sum->marks.ticks += entry->marks.ticks;
    sum->marks.tick_bytes += entry->marks.tick_bytes;
    sum->marks.events += entry->marks.events;
    sum->marks.objects += entry->marks.objects;
    sum->marks.object_bytes += entry->marks.object_bytes;
}

/* Unites stacks with the same frames, and their entries. False: no memory. */
GC__FN bool gc__profile_unite(gc__profile *profile) {
    size_t count = profile->stacks_count, bytes = count * sizeof(uint32_t), entries = profile->entries_count;
    uint32_t *united = (uint32_t *)gc__os_map(bytes);
    bool ok = united != NULL;
    profile->stacks_count = 1;
    for (uint32_t i = 1; ok && i < count; i++) {
        if (i + 1 < count && profile->stacks[i + 1] & GC__STACK_APART) i++; /* the word was a caller */
        uint32_t frame = gc__stack_frame_number(profile, i), caller = gc__stack_caller(profile, i);
        ok = (united[i] = gc__profile_stack_add(profile, frame, united[caller])) != 0; /* at or before i */
    }
    profile->entries_count = 0;
    for (size_t i = 0; ok && i < entries; i++) {
        const gc__profile_entry entry = profile->entries[i];
        gc__profile_entry *sum = gc__profile_entry_add(profile, entry.type, united[entry.stack]);
        ok = sum != NULL;
        if (ok) gc__entry_sum(sum, &entry);
    }
    if (united) gc__os_unmap(united, bytes);
    return ok;
}

/* X(array): all arrays of a profile. */
#define GC__PROFILE_ARRAYS(X)                                                                                        \
    X(texts)                                                                                                         \
    X(frames) X(stacks) X(types) X(modules) X(codes) X(lines) X(sites) X(amounts) X(marks) X(entries) X(collections) \
        X(threads) X(heaps)
#define GC__PROFILE_INDEXES(X) X(text_index) X(frame_index) X(stack_index) X(type_index) X(site_index) X(entry_index)

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
           GC__PROFILE_APPEND(profile, modules) && GC__PROFILE_APPEND(profile, codes) &&
           GC__PROFILE_APPEND(profile, amounts) && GC__PROFILE_APPEND(profile, marks);
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
/* The files of native code that have been loaded. They are noted as soon as that shows, since they may be gone when a profile is
   written. */


GC__FN uint32_t gc__modules_hex(gc__profile *profile, const uint8_t *bytes, size_t count) {
    char text[2 * 64 + 1] = "";
    if (!bytes || count > 64) return 0;
    for (size_t i = 0; i < count; i++) snprintf(text + 2 * i, 3, "%02x", bytes[i]);
    return gc__profile_text_add(profile, text);
}

/* Adds a file's code, unless the profile has it already. */
GC__FN void gc__modules_add_one(void *context, const gc__os_code *code) {
    gc__profile *profile = (gc__profile *)context;
    char program[GC__IMAGE_PATH];
    if (!*code->path) gc__os_program_path(program, sizeof program);
    uint32_t file = gc__profile_text_add(profile, *code->path ? code->path : program);
    uint32_t build_id = gc__modules_hex(profile, code->build_id, code->build_id_bytes);
    for (size_t i = 1; i < profile->modules_count; i++) {
        gc__profile_module *module = &profile->modules[i];
        if (module->start != code->start || module->file != file || module->build_id != build_id) continue;
        module->listed = profile->lists;
        return;
    }
    gc__profile_module *module = GC__PROFILE_APPEND(profile, modules);
    if (!module) return;
    module->start = code->start;
    module->end = code->end;
    module->offset = code->offset;
    module->file = file;
    module->build_id = build_id;
    module->listed = profile->lists;
}

/* Adds the files that have been loaded; to be called when gc__os_file_changes has changed. */
GC__FN void gc__modules_add(gc__profile *profile) {
    profile->lists++;
    gc__os_each_code(gc__modules_add_one, profile);
}

/* The module that has the pc: of several, the one that was loaded last. 0: none. */
GC__FN uint32_t gc__modules_of(const gc__profile *profile, uintptr_t pc) {
    uint32_t found = 0;
    for (uint32_t i = 1; i < profile->modules_count; i++) {
        const gc__profile_module *module = &profile->modules[i];
        if (pc - module->start >= module->end - module->start) continue;
        if (!found || module->listed > profile->modules[found].listed) found = i;
    }
    return found;
}
/* Which bytes are sampled: each with the probability p, independently of all others, so that the number of bytes before the
   next sampled one has the geometric distribution. It has no memory: the count may begin anew at any byte. */


typedef struct gc__chance {
    uint64_t state;
    uint64_t period; /* 1 / p */
    double scale;    /* 1 / ln(1 - p) */
} gc__chance;

GC__FN uint64_t gc__chance_bits(gc__chance *chance) {
    uint64_t z = chance->state += 0x9E3779B97F4A7C15u;
    z = (z ^ z >> 30) * 0xBF58476D1CE4E5B9u;
    z = (z ^ z >> 27) * 0x94D049BB133111EBu;
    return z ^ z >> 31;
}

/* The natural logarithm of x > 0, without the library of mathematics, which programs would have to be linked with. The
   mantissa m is in [0.7, 1.4], and ln m = 2 artanh((m - 1) / (m + 1)). */
GC__FN double gc__logarithm(double x) {
    static const double series[] = {1.0 / 21, 1.0 / 19, 1.0 / 17, 1.0 / 15, 1.0 / 13, 1.0 / 11,
                                    1.0 / 9,  1.0 / 7,  1.0 / 5,  1.0 / 3,  1.0};
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    int exponent = (int)(bits >> 52) - 1023;
    bits = (bits & 0xFFFFFFFFFFFFFu) | (uint64_t)1023 << 52;
    memcpy(&x, &bits, sizeof bits);
    if (x > 1.4) {
        x /= 2;
        exponent++;
    }
    double s = (x - 1) / (x + 1), square = s * s, sum = 0;
    for (size_t i = 0; i < sizeof series / sizeof *series; i++) sum = sum * square + series[i];
    return 2 * s * sum + exponent * 0.69314718055994530942;
}

GC__FN void gc__chance_start(gc__chance *chance, uint64_t seed, uint64_t period) {
    chance->state = seed;
    chance->period = period;
    chance->scale = period > 1 ? 1 / gc__logarithm(1 - 1 / (double)period) : 0;
}

/* The number of bytes that are not sampled before the next one that is. */
GC__FN uint64_t gc__chance_gap(gc__chance *chance) {
    if (chance->period <= 1) return 0;
    double uniform = ((double)(gc__chance_bits(chance) >> 11) + 1) / 9007199254740992.0; /* in (0, 1] */
    double gap = gc__logarithm(uniform) * chance->scale;
    return gap < 1e18 ? (uint64_t)gap : (uint64_t)1e18;
}

/* The number of objects for which a sample of an object of `bytes` stands: 1 / (1 - (1 - p) ^ bytes). */
GC__FN double gc__chance_weight(uint64_t period, uint64_t bytes) {
    double missed = 1, power = 1 - 1 / (double)period;
    for (; bytes; bytes >>= 1, power *= power)
        if (bytes & 1) missed *= power;
    return 1 / (1 - missed);
}
/* The profile that is being taken, and what is kept of heaps and threads meanwhile.

   gc__profile_lock guards it. Who holds it waits for a file that is being written, or the registry of code. A thread that
   allocates never waits for it: it puts what happens into a buffer of its own, and empties all buffers if it finds the lock
   free. A collection takes the lock, and empties all buffers before it changes anything; so the addresses of objects that
   are in a buffer are right. */


#define GC__RECORD_BYTES_MAX ((size_t)16384)
#define GC__BUDGETS 1024

enum {
    GC__ZEROED,
    GC__RAW,
    GC__LARGE_OBJECTS,
    GC__STREAMS
}; /* of allocated bytes: a thread's windows, objects that are large or never move */

/* What happened on a thread, as its buffer has it. The call stack follows, as words, and then the name of the object's type.
   The word of a native frame is its pc. That of a frame of the host's language has bit 63 set, the lengths of the
   function's and the file's name in bits 40 to 47 and 32 to 39, and the line; the names follow it, without their zeros. */
typedef struct gc__noted {
    uint32_t bytes; /* of all this, a multiple of 8 */
    uint16_t kind;  /* gc_profile_kind; GC_PROFILE_KIND_COUNT: nothing, for the next record is at the buffer's start */
    uint16_t also;  /* GC_PROFILE_BIT of SAMPLE, TICK, OBJECT: what an allocation is; GC__RECORD_CUT */
    uint32_t type_bytes; /* of the type's name; 0: none */
    uint32_t stack_words;
    uint64_t origin;                                      /* of an allocation: see gc__origin_of */
    uint64_t time_ns, object, size, amount, detail;       /* as those of gc_profile_event */
    uint64_t tick_bytes, type_objects, type_object_bytes; /* amounts of TICK and OBJECT */
} gc__noted;

#define GC__HOST_FRAME ((uint64_t)1 << 63)
#define GC__RECORD_CUT ((uint16_t)0x8000) /* the stack had more frames */

/* Objects of a type that a thread has allocated since the type's last OBJECT event. */
typedef struct gc__type_rate {
    const void *key; /* the type, or its name; NULL: the place is free */
    uint64_t objects, bytes;
    uint64_t every; /* the number of objects after which the next event may come */
    uint64_t last_ns;
} gc__type_rate;

/* Written by the thread, unless a field says otherwise; by the collector while the thread is stopped. */
typedef struct gc__profiled_thread {
    struct gc__profiled_thread *next; /* lock */
    gc_thread *thread;
    uint64_t profile; /* the profile's number; atomic, written under the lock */
    uint32_t tid;
    uint32_t number;            /* in gc__profile.threads */
    gc_profile_options options; /* the profile's */
    const char *name;           /* that the profile knows; lock */
    gc__chance chance;
    uint64_t left[GC__STREAMS]; /* bytes beyond the limit before the next sampled one */
    int64_t since_tick;
    unsigned due;         /* GC_PROFILE_BIT of what the object is that is being allocated */
    uint64_t offset;      /* of its sampled byte */
    bool waiting;         /* the record in `scratch` waits for its object's header to be written */
    gc__type_rate *rates; /* by type, for OBJECT; open addressing */
    size_t rates_capacity, rates_count;
    uint64_t head;                           /* atomic, written by the thread */
    uint64_t tail;                           /* atomic, written under the lock */
    uint64_t lost, lost_samples;             /* atomic, written by the thread */
    uint64_t lost_noted, lost_samples_noted; /* lock: what the profile knows of them */
    size_t buffer_bytes;                     /* a power of two */
    char *buffer;
    union {
        gc__noted record;
        char bytes[GC__RECORD_BYTES_MAX];
    } scratch;
    gc__own_rule rules[1 << GC__OWN_RULES_SHIFT];
    gc__native_frame native_frames[GC__PROFILE_DEPTH_MAX];
    gc_profile_frame host_frames[GC__PROFILE_DEPTH_MAX];
    uintptr_t pcs[GC__PROFILE_DEPTH_MAX]; /* for the host's `event` */
    size_t pc_count;
} gc__profiled_thread;

/* A sampled object that has not been found dead. */
typedef struct gc__tracked {
    uintptr_t object;
    uint64_t bytes;
    double weight;
    uint32_t site;
} gc__tracked;

typedef struct gc__tracked_list {
    gc__tracked *items;
    size_t count, capacity; /* bytes */
} gc__tracked_list;

/* Written by the collector, with the heap's lock held, unless a field says otherwise. */
typedef struct gc__profiled_heap {
    struct gc__profiled_heap *next; /* this and the next four: lock; `profile` is atomic */
    gc_heap *heap;
    uint64_t profile;
    uint32_t number;                          /* in gc__profile.heaps */
    gc__tracked_list tracked[GC_GENERATIONS]; /* by the generation of the object; each has room for all */
    uint64_t allocated_before;                /* the profile */
    uint64_t collecting; /* the profile in which the collection that is running has begun; else 0 or a former one */
    uint64_t asked_ns, part_ns; /* the threads were asked to stop; the phase has begun. 0: not so */
    gc__profile_collection collection;
} gc__profiled_heap;

/* The words of the last new stack, with the outermost frame first, and the stacks that its frames are: the next one has most of
   them. And frames of native code by their pc. */
#define GC__RECENT_FRAMES 256
typedef struct gc__recent {
    size_t count;
    uint64_t words[GC__RECORD_BYTES_MAX / sizeof(uint64_t)];
    uint32_t stacks[GC__RECORD_BYTES_MAX / sizeof(uint64_t)]; /* where a frame's first word is; else 0 */
    struct {
        uintptr_t pc;
        uint32_t frame; /* 0: none */
    } frames[GC__RECENT_FRAMES];
} gc__recent;

typedef struct gc__events {
    gc__profile_event *items;
    size_t count, capacity; /* bytes */
} gc__events;

typedef struct gc__profiling {
    uint64_t number;  /* of the profile; atomic: 0 if none was ever taken */
    uint32_t on;      /* atomic; heaps that are created get a profiler */
    uint32_t what;    /* atomic; GC_PROFILE_BIT of what is recorded */
    bool hides_texts; /* atomic; of the last profile's options */
    gc__profile profile;
    gc__profiled_thread *threads;
    gc__profiled_heap *heaps;
    gc__recent recent;
    uint64_t site_changes;                  /* of code and files, when `recent` and profile.site_index were begun */
    bool doubled;                           /* stacks from before a change of code or files may have come again */
    gc__tracked_list ended[GC_GENERATIONS]; /* sampled objects that were in use when their heaps were destroyed */
    uint64_t lost_outside;                  /* atomic; events of threads that have no buffer to put them into */
    uint64_t budgets[GC__BUDGETS];    /* atomic; of types, by a hash: a second, and the number of OBJECT events in it */
    const gc__profile_format *format; /* of the file; NULL: there is none */
    gc__output output;                /* if it is streamed */
    bool streaming;
    gc__events events, sorted; /* not yet written, and memory to sort them */
    uint64_t written_ns;       /* time of the last event that was */
    uint64_t ended_bytes;      /* that heaps had allocated which are destroyed */
    char file[GC__NAME_BYTES_MAX];
    bool by_environment;   /* GC_PROFILE asked for the profile that is being taken; lock, or the end of the program */
    uintptr_t *code_order; /* numbers of profile.codes, by address */
    size_t code_order_count, code_order_capacity;
    uint64_t code_changes;
    gc__os_thread writer;  /* writes the file at intervals */
    uint32_t writing;      /* atomic; it runs, and ends when this is 0 */
    uint32_t file_changes; /* atomic, written under the lock: gc__os_file_changes when profile.modules was complete */
} gc__profiling;

GC__VAR gc__profiling gc__the_profile;

/* What the host adds. Former ones stay, since threads may be using them. */
typedef struct gc__profile_host_set {
    gc_profile_host host;
    struct gc__profile_host_set *next;
} gc__profile_host_set;
static gc__profile_host_set *gc__the_profile_host;  /* atomic; written under the lock */
static gc__profile_host_set *gc__the_profile_hosts; /* all that there ever were, each once; lock */

GC__FN const gc_profile_host *gc__profile_host(void) {
    static const gc_profile_host none = {NULL, NULL, NULL};
    const gc__profile_host_set *set = __atomic_load_n(&gc__the_profile_host, __ATOMIC_ACQUIRE);
    return set ? &set->host : &none;
}

GC__FN bool gc__profile_wants(gc_profile_kind kind) {
    return __atomic_load_n(&gc__the_profile.what, __ATOMIC_RELAXED) >> kind & 1;
}
/* The buffers of threads: rings of records, each with one writer, its thread, and one reader at a time, which holds the lock.
   Positions count all bytes that passed since the buffer was rewound. */


GC__FN uint64_t gc__buffer_used(const gc__profiled_thread *self) {
    return self->head - __atomic_load_n(&self->tail, __ATOMIC_ACQUIRE);
}

GC__FN gc__noted *gc__buffer_at(const gc__profiled_thread *self, uint64_t position) {
    return (gc__noted *)(void *)(self->buffer + (position & (self->buffer_bytes - 1)));
}

/* Appends the record; false: there is no room. */
GC__FN bool gc__buffer_put(gc__profiled_thread *self, const gc__noted *record) {
    uint64_t head = self->head, rest = self->buffer_bytes - (head & (self->buffer_bytes - 1));
    uint64_t skipped = rest < record->bytes ? rest : 0;
    if (gc__buffer_used(self) + skipped + record->bytes > self->buffer_bytes) return false;
    if (skipped) {
        gc__noted *filler = gc__buffer_at(self, head);
        filler->bytes = (uint32_t)skipped;
        filler->kind = GC_PROFILE_KIND_COUNT;
    }
    memcpy(gc__buffer_at(self, head + skipped), record, record->bytes);
    __atomic_store_n(&self->head, head + skipped + record->bytes, __ATOMIC_RELEASE);
    return true;
}

/* The next record; NULL: there is none. gc__buffer_drop ends it. */
GC__FN const gc__noted *gc__buffer_first(gc__profiled_thread *thread) {
    uint64_t head = __atomic_load_n(&thread->head, __ATOMIC_ACQUIRE);
    while (thread->tail != head) {
        const gc__noted *record = gc__buffer_at(thread, thread->tail);
        if (record->kind != GC_PROFILE_KIND_COUNT) return record;
        __atomic_store_n(&thread->tail, thread->tail + record->bytes, __ATOMIC_RELEASE);
    }
    return NULL;
}

GC__FN void gc__buffer_drop(gc__profiled_thread *thread, const gc__noted *record) {
    __atomic_store_n(&thread->tail, thread->tail + record->bytes, __ATOMIC_RELEASE);
}

/* Has an empty buffer of a stopped thread begin at its start, which is in the processor's cache. */
GC__FN void gc__buffer_rewind(gc__profiled_thread *thread) {
    if (thread->tail != thread->head) return;
    __atomic_store_n(&thread->head, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&thread->tail, 0, __ATOMIC_RELAXED);
}
/* Sampled objects, followed until they are found dead: which entries keep memory, and how old their objects get. */


GC__FN void gc__amount_add(gc__profile_amount *amount, const gc__tracked *object) {
    amount->samples++;
    amount->count += object->weight;
    amount->bytes += object->weight * (double)object->bytes;
}

/* Every list of the heap has room for all its objects, so that a collection needs no memory. */
GC__FN bool gc__tracked_reserve(gc__profiled_heap *heap) {
    size_t count = 0;
    for (int g = 0; g < GC_GENERATIONS; g++) count += heap->tracked[g].count;
    for (int g = 0; g < GC_GENERATIONS; g++) {
        gc__tracked_list *list = &heap->tracked[g];
        if (!gc__profile_reserve(&list->items, count, &list->capacity, sizeof *list->items)) return false;
    }
    return true;
}

/* An object was sampled. Lock held. */
GC__FN void gc__tracked_add(gc__profiled_heap *heap, const gc__tracked *object) {
    if (gc__tracked_reserve(heap))
        heap->tracked[0].items[heap->tracked[0].count++] = *object;
    else
        gc__the_profile.profile.lost_samples++;
}

/* Follows the objects of a generation through a collection that has condemned it. Lock held. */
GC__FN void gc__tracked_follow(gc__profiled_heap *heap, int generation) {
    gc__tracked_list *from = &heap->tracked[generation];
    size_t kept = 0, count = from->count;
    for (size_t i = 0; i < count; i++) {
        gc__tracked object = from->items[i];
        object.object = gc__address_after_trace(object.object);
        int target = object.object ? gc__region_first(gc__region_of(object.object))->target : generation;
        if (object.object && target == generation) {
            from->items[kept++] = object;
            continue;
        }
        if (object.object) {
            heap->tracked[target].items[heap->tracked[target].count++] = object;
            continue;
        }
        gc__profile_amount *died = gc__site_died(&gc__the_profile.profile, object.site, generation);
        if (died)
            gc__amount_add(died, &object);
        else
            gc__the_profile.profile.lost_samples++;
    }
    from->count = kept;
}

/* Oldest first, so that none is looked at twice. */
GC__FN void gc__tracked_follow_all(gc__profiled_heap *heap, int generation) {
    for (int g = generation; g >= 0; g--) gc__tracked_follow(heap, g);
}

GC__FN void gc__tracked_free(gc__tracked_list *lists) {
    for (int g = 0; g < GC_GENERATIONS; g++)
        if (lists[g].capacity) gc__os_unmap(lists[g].items, lists[g].capacity);
    memset(lists, 0, GC_GENERATIONS * sizeof *lists);
}

/* The heap is about to be destroyed: what is in use remains so for the profile. Lock held. */
GC__FN void gc__tracked_end(gc__profiled_heap *heap) {
    gc__tracked_list *ended = gc__the_profile.ended;
    for (int g = 0; g < GC_GENERATIONS && heap->profile == gc__the_profile.number; g++) {
        for (size_t i = 0; i < heap->tracked[g].count; i++) {
            if (gc__profile_reserve(&ended[g].items, ended[g].count, &ended[g].capacity, sizeof *ended[g].items))
                ended[g].items[ended[g].count++] = heap->tracked[g].items[i];
            else
                gc__the_profile.profile.lost_samples++;
        }
    }
    gc__tracked_free(heap->tracked);
}

GC__FN void gc__tracked_sum_lists(gc__profile *profile, const gc__tracked_list *lists) {
    for (int g = 0; g < GC_GENERATIONS; g++)
        for (size_t i = 0; i < lists[g].count; i++)
            gc__amount_add(&profile->entries[lists[g].items[i].site].live[g], &lists[g].items[i]);
}

/* Makes an entry of each site, with what is in use, and what was allocated. False: no memory. Lock held. */
GC__FN bool gc__tracked_sum(gc__profiling *all) {
    gc__profile *profile = &all->profile;
    profile->entries_count = 0;
    if (!gc__profile_reserve(&profile->entries, profile->sites_count, &profile->entries_capacity,
                             sizeof *profile->entries))
        return false;
    profile->entries_count = profile->sites_count;
    for (size_t i = 0; i < profile->entries_count; i++) {
        const gc__profile_site *site = &profile->sites[i];
        gc__profile_entry *entry = &profile->entries[i];
        memset(entry, 0, sizeof *entry);
        entry->type = site->type;
        entry->stack = site->stack;
        for (int g = 0; g < GC_GENERATIONS; g++) entry->died[g] = profile->amounts[site->died[g]];
        entry->marks = profile->marks[site->marks];
    }
    gc__tracked_sum_lists(profile, all->ended);
    for (const gc__profiled_heap *heap = all->heaps; heap; heap = heap->next)
        if (heap->profile == all->number) gc__tracked_sum_lists(profile, heap->tracked);
    for (size_t i = 0; i < profile->entries_count; i++) {
        gc__profile_entry *entry = &profile->entries[i];
        for (int g = 0; g < GC_GENERATIONS; g++) {
            gc__amount_sum(&entry->allocated, &entry->live[g]);
            gc__amount_sum(&entry->allocated, &entry->died[g]);
        }
    }
    return true;
}
/* Emptying the threads' buffers into the profile, and events into the file of a streamed format. Lock held. */


/* Stacks. */

/* The number of the named code that has the pc, or 0. */
GC__FN uint32_t gc__code_at(const gc__profiling *all, uintptr_t pc) {
    size_t low = 0, high = all->code_order_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (all->profile.codes[all->code_order[middle]].start <= pc)
            low = middle + 1;
        else
            high = middle;
    }
    if (!low) return 0;
    const gc__profile_code *code = &all->profile.codes[all->code_order[low - 1]];
    return pc - code->start < code->bytes ? (uint32_t)all->code_order[low - 1] : 0;
}

/* A frame of native code. */
GC__FN uint32_t gc__stack_native_frame(gc__profiling *all, uintptr_t pc) {
    size_t place = (size_t)(pc * 0x9E3779B97F4A7C15u >> 32) % GC__RECENT_FRAMES;
    if (all->recent.frames[place].frame && all->recent.frames[place].pc == pc) return all->recent.frames[place].frame;
    gc__frame_key key = {pc, gc__code_at(all, pc), 0, 0, 0, 0, 0};
    if (!key.code) key.module = gc__modules_of(&all->profile, pc);
    all->recent.frames[place].pc = pc;
    return all->recent.frames[place].frame = gc__profile_frame_add(&all->profile, &key);
}

/* The number of words that the frame has which begins with this one. */
GC__FN size_t gc__stack_frame_words(uint64_t word) {
    return word & GC__HOST_FRAME ? 1 + ((word >> 40 & 0xFF) + (word >> 32 & 0xFF) + 7) / 8 : 1;
}

GC__FN uint32_t gc__stack_frame(gc__profiling *all, const uint64_t *words) {
    gc__frame_key key = {0, 0, 0, 0, 0, 0, 0};
    if (!(*words & GC__HOST_FRAME)) return gc__stack_native_frame(all, (uintptr_t)*words);
    size_t function = *words >> 40 & 0xFF, file = *words >> 32 & 0xFF;
    const char *names = (const char *)(words + 1);
    key.name = gc__profile_text_add_part(&all->profile, names, function);
    key.file = gc__profile_text_add_part(&all->profile, names + function, file);
    key.line = (uint32_t)*words;
    return gc__profile_frame_add(&all->profile, &key);
}

/* A new stack with these words, the innermost frame first. It has the outer frames of the last new one. */
GC__FN uint32_t gc__stack_make(gc__profiling *all, const uint64_t *words, size_t count) {
    gc__recent *recent = &all->recent;
    size_t starts[GC__PROFILE_DEPTH_MAX], depth = 0, at = 0, shared = 0, most = gc__min(count, recent->count);
    uint32_t stack = 0;
    while (shared < most && recent->words[shared] == words[count - 1 - shared]) shared++;
    for (; at < count && depth < GC__PROFILE_DEPTH_MAX; at += gc__stack_frame_words(words[at])) {
        if (count - at <= shared && recent->stacks[count - at - 1]) break;
        starts[depth++] = at;
    }
    if (at < count) stack = recent->stacks[count - at - 1];
    for (size_t i = shared; i < count; i++) {
        recent->words[i] = words[count - 1 - i];
        recent->stacks[i] = 0;
    }
    recent->count = count;
    while (depth--) {
        stack = gc__profile_stack_append(&all->profile, gc__stack_frame(all, words + starts[depth]), stack);
        recent->stacks[count - 1 - starts[depth]] = stack;
    }
    return stack;
}

/* Sites. */

/* The pcs of stacks mean something else when code or files have changed. */
GC__FN void gc__sites_renew(gc__profiling *all) {
    uint64_t changes = all->code_changes + ((uint64_t)all->file_changes << 40);
    gc__profile_index *index = &all->profile.site_index;
    if (changes == all->site_changes) return;
    all->doubled |= index->count != 0;
    all->site_changes = changes;
    index->count = all->recent.count = 0;
    if (index->capacity) memset(index->places, 0, index->capacity * sizeof *index->places);
    memset(all->recent.frames, 0, sizeof all->recent.frames);
}

/* A hash of the record's stack and of the type's name behind it. Two of 100,000 sites have the same one in one of 10 ^ 9
   profiles. */
GC__FN uint64_t gc__origin_of(const gc__noted *record) {
    return gc__index_hash(record + 1, record->bytes - sizeof *record) ^ record->stack_words;
}

/* The type whose name is behind the record's stack. Most have that of the last site. */
GC__FN uint32_t gc__record_type(gc__profile *profile, const gc__noted *record) {
    const char *name = (const char *)(record + 1) + record->stack_words * sizeof(uint64_t);
    if (profile->sites_count) {
        uint32_t last = profile->sites[profile->sites_count - 1].type;
        if (gc__text_equal(profile, profile->types[last].name, name, record->type_bytes)) return last;
    }
    return gc__profile_type_add_part(profile, name, record->type_bytes);
}

/* The site of the record; NULL: no memory. */
GC__FN gc__profile_site *gc__site_of(gc__profiling *all, const gc__noted *record) {
    gc__profile *profile = &all->profile;
    gc__profile_index *index = &profile->site_index;
    gc__sites_renew(all);
    if (!gc__index_reserve(index)) return NULL;
    uint64_t hash = record->origin;
    uint64_t *place = gc__index_place(profile, index, hash, gc__site_equal, &hash, sizeof hash);
    if (*place) return &profile->sites[(uint32_t)*place];
    uint32_t type = gc__record_type(profile, record);
    gc__profile_site *site = GC__PROFILE_APPEND(profile, sites);
    if (!site) return NULL;
    site->hash = hash;
    site->type = type;
    site->stack = gc__stack_make(all, (const uint64_t *)(const void *)(record + 1), record->stack_words);
    gc__index_set(index, place, hash, profile->sites_count - 1);
    return site;
}

/* Events for streamed formats. */

GC__FN void gc__event_keep(gc__profiling *all, const gc__profile_event *event) {
    gc__events *list = &all->events;
    if (!all->streaming || !gc__profile_wants((gc_profile_kind)event->kind)) return;
    if (!gc__profile_reserve(&list->items, list->count, &list->capacity, sizeof *list->items))
        all->profile.lost_events++;
    else
        list->items[list->count++] = *event;
}

/* Sorts the events by time, stably, by merging. False: no memory. */
GC__FN bool gc__events_sort(gc__events *list, gc__events *other) {
    if (other->capacity < list->capacity) {
        if (other->capacity) gc__os_unmap(other->items, other->capacity);
        other->items = (gc__profile_event *)gc__os_map(list->capacity);
        other->capacity = other->items ? list->capacity : 0;
        if (!other->items) return false;
    }
    for (size_t width = 1; width < list->count; width *= 2) {
        for (size_t from = 0; from < list->count; from += 2 * width) {
            size_t left = from, middle = gc__min(from + width, list->count), right = middle;
            size_t end = gc__min(from + 2 * width, list->count);
            for (size_t to = from; to < end; to++) {
                bool takes_left =
                    left < middle && (right == end || list->items[left].time_ns <= list->items[right].time_ns);
                other->items[to] = list->items[takes_left ? left++ : right++];
            }
        }
        gc__events sorted = *other;
        sorted.count = list->count;
        *other = *list;
        *list = sorted;
    }
    return true;
}

/* Writes the events from before `until_ns`, in the order of time. One that comes late, because its thread was interrupted
   before it put the event into its buffer, gets the time of the last one that was written. */
GC__FN void gc__events_write(gc__profiling *all, uint64_t until_ns) {
    gc__events *list = &all->events;
    size_t count = 0;
    if (!list->count || !gc__events_sort(list, &all->sorted)) return;
    for (; count < list->count && list->items[count].time_ns < until_ns; count++) {
        gc__profile_event *event = &list->items[count];
        if (event->time_ns < all->written_ns) event->time_ns = all->written_ns;
        all->written_ns = event->time_ns;
    }
    if (count) all->format->events(&all->profile, list->items, count, &all->output);
    list->count -= count;
    memmove(list->items, list->items + count, list->count * sizeof *list->items);
}

/* Records. */

GC__FN void gc__drain_allocation(gc__profiled_heap *heap, const gc__noted *record, gc__profile_event *event) {
    gc__profiling *all = &gc__the_profile;
    const gc__profile_site *found = gc__site_of(all, record);
    if (!found) {
        all->profile.lost_samples += record->also >> GC_PROFILE_SAMPLE & 1;
        return;
    }
    uint32_t site = (uint32_t)(found - all->profile.sites);
    event->stack = found->stack;
    event->type = found->type;
    if (record->also & GC__RECORD_CUT) all->profile.cut_stacks++;
    if (record->also & GC_PROFILE_BIT(SAMPLE)) {
        gc__tracked object = {(uintptr_t)record->object, record->size,
                              gc__chance_weight(all->profile.options.period_bytes, record->size), site};
        event->kind = GC_PROFILE_SAMPLE;
        gc__tracked_add(heap, &object);
        gc__event_keep(all, event);
    }
    if (!(record->also & (GC_PROFILE_BIT(TICK) | GC_PROFILE_BIT(OBJECT)))) return;
    gc__profile_marks *marks = gc__site_marks(&all->profile, site), nowhere;
    if (!marks) all->profile.lost_events++;
    if (!marks) marks = &nowhere;
    if (record->also & GC_PROFILE_BIT(TICK)) {
        event->kind = GC_PROFILE_TICK;
        event->amount = record->tick_bytes;
        marks->ticks++;
        marks->tick_bytes += record->tick_bytes;
        gc__event_keep(all, event);
    }
    if (record->also & GC_PROFILE_BIT(OBJECT)) {
        event->kind = GC_PROFILE_OBJECT;
        event->amount = record->type_objects;
        event->detail = record->type_object_bytes;
        marks->events++;
        marks->objects += record->type_objects;
        marks->object_bytes += record->type_object_bytes;
        gc__event_keep(all, event);
    }
}

GC__FN void gc__drain_record(gc__profiled_thread *thread, const gc__noted *record) {
    gc__profiling *all = &gc__the_profile;
    gc__profiled_heap *heap = thread->thread->heap->profiled;
    gc__profile_event event;
    memset(&event, 0, sizeof event);
    event.time_ns = record->time_ns;
    event.kind = record->kind;
    event.thread = thread->tid;
    event.heap = heap->number;
    event.object = record->object;
    event.bytes = record->size;
    event.amount = record->amount;
    event.detail = record->detail;
    if (record->also) {
        gc__drain_allocation(heap, record, &event);
        return;
    }
    if (record->type_bytes) event.type = gc__record_type(&all->profile, record);
    gc__event_keep(all, &event);
}

/* Notes what the thread's buffer had no room for. */
GC__FN void gc__drain_losses(gc__profiled_thread *thread) {
    gc__profiling *all = &gc__the_profile;
    uint64_t lost = __atomic_load_n(&thread->lost, __ATOMIC_RELAXED),
             samples = __atomic_load_n(&thread->lost_samples, __ATOMIC_RELAXED), more = lost - thread->lost_noted;
    if (!more) return;
    gc__profile_event event;
    memset(&event, 0, sizeof event);
    event.time_ns = gc__os_now_ns();
    event.kind = GC_PROFILE_LOST;
    event.thread = thread->tid;
    event.amount = more;
    gc__event_keep(all, &event);
    all->profile.lost_events += more;
    all->profile.lost_samples += samples - thread->lost_samples_noted;
    all->profile.threads[thread->number].lost += more;
    thread->lost_noted = lost;
    thread->lost_samples_noted = samples;
}

GC__FN void gc__drain_thread(gc__profiled_thread *thread) {
    if (thread->profile != gc__the_profile.number) return;
    for (const gc__noted *record; (record = gc__buffer_first(thread));) {
        gc__drain_record(thread, record);
        gc__buffer_drop(thread, record);
    }
    gc__drain_losses(thread);
}

/* All that has happened so far is in the profile, and in the file of a streamed format, but for the calling thread's own
   record that is just being made. */
GC__FN void gc__drain(void) {
    uint64_t now = gc__the_profile.streaming ? gc__os_now_ns() : 0;
    for (gc__profiled_thread *thread = gc__the_profile.threads; thread; thread = thread->next) gc__drain_thread(thread);
    uint32_t changes = gc__os_file_changes(); /* stacks that were taken before are of the files that were loaded then */
    if (changes != gc__the_profile.file_changes) gc__modules_add(&gc__the_profile.profile);
    __atomic_store_n(&gc__the_profile.file_changes, changes, __ATOMIC_RELAXED);
    if (gc__the_profile.streaming) gc__events_write(&gc__the_profile, now);
}
/* What an allocating thread does: finds which objects are sampled, takes call stacks, and puts records into its buffer. */


#define GC__INNER_FRAMES_MAX 12 /* of gc.h's own functions, above the one that allocates */

/* Threads. */

/* The profile knows of the thread's name. Lock held. */
GC__FN void gc__thread_note_name(gc__profiled_thread *self) {
    const char *name = __atomic_load_n(&gc__record(self->thread)->name, __ATOMIC_ACQUIRE);
    if (name == self->name || self->profile != gc__the_profile.number) return;
    self->name = name;
    gc__the_profile.profile.threads[self->number].name = gc__profile_text_add(&gc__the_profile.profile, name);
}

/* A record with a buffer; NULL: no memory. Lock held. */
GC__FN gc__profiled_thread *gc__thread_allocate(gc_thread *thread, size_t buffer_bytes) {
    gc__profiled_thread *self = gc__record(thread)->profiled;
    if (!self) {
        self = (gc__profiled_thread *)gc__os_map(sizeof *self);
        if (!self) return NULL;
        self->thread = thread;
        self->next = gc__the_profile.threads;
        gc__the_profile.threads = self;
        gc__record(thread)->profiled = self;
    }
    if (self->buffer && self->buffer_bytes != buffer_bytes) {
        gc__os_unmap(self->buffer, self->buffer_bytes);
        self->buffer = NULL;
    }
    if (!self->buffer) self->buffer = (char *)gc__os_map(buffer_bytes);
    self->buffer_bytes = buffer_bytes;
    return self->buffer ? self : NULL;
}

/* Makes the thread part of the profile. Lock held. */
GC__FN bool gc__thread_enter(gc__profiled_thread *self, bool attaches) {
    gc__profiling *all = &gc__the_profile;
    gc__profile_thread *noted = GC__PROFILE_APPEND(&all->profile, threads);
    if (!noted) return false;
    noted->number = self->tid = gc__record(self->thread)->tid;
    noted->heap = self->thread->heap->profiled->number;
    noted->attached_ns = attaches ? gc__os_now_ns() : 0;
    self->number = (uint32_t)(all->profile.threads_count - 1);
    self->options = all->profile.options;
    uint64_t seed = self->options.seed + self->number * (uint64_t)0xD1B54A32D192ED03u;
    gc__chance_start(&self->chance, seed, self->options.period_bytes);
    for (int i = 0; i < GC__STREAMS; i++) self->left[i] = gc__chance_gap(&self->chance);
    self->since_tick = 0;
    self->due = 0;
    self->waiting = false;
    self->name = NULL;
    if (self->rates_count) memset(self->rates, 0, self->rates_capacity * sizeof *self->rates);
    self->rates_count = 0;
    self->head = self->tail = self->lost = self->lost_samples = self->lost_noted = self->lost_samples_noted = 0;
    __atomic_store_n(&self->profile, all->number, __ATOMIC_RELEASE);
    gc__thread_note_name(self);
    return true;
}

/* The thread's record, made ready for the profile; NULL: no memory, or another thread has the lock. */
GC__OUT_OF_LINE gc__profiled_thread *gc__thread_begin(gc_thread *thread, bool attaches) {
    gc__profiling *all = &gc__the_profile;
    gc__profiled_thread *self = NULL;
    if (attaches)
        gc__lock_take(&gc__profile_lock);
    else if (!gc__lock_try(&gc__profile_lock))
        return NULL;
    if (all->number && thread->heap->profiled) self = gc__thread_allocate(thread, all->profile.options.buffer_bytes);
    if (self && !gc__thread_enter(self, attaches)) self = NULL;
    gc__lock_release(&gc__profile_lock);
    return self;
}

/* The thread's record, if it is ready. */
GC__FN gc__profiled_thread *gc__thread_profiled(gc_thread *thread) {
    gc__profiled_thread *self = gc__record(thread)->profiled;
    if (GC__LIKELY(self && self->profile == __atomic_load_n(&gc__the_profile.number, __ATOMIC_RELAXED))) return self;
    return gc__thread_begin(thread, false);
}

/* Empties all buffers, unless another thread does so. */
GC__FN bool gc__drain_now(void) {
    if (!gc__lock_try(&gc__profile_lock)) return false;
    gc__drain();
    gc__lock_release(&gc__profile_lock);
    return true;
}

/* Puts a record into the buffer. Empties all buffers afterwards if this one is half full; and ahead, if the record's stack was
   taken after a change of the files that are loaded. */
GC__FN void gc__record_put(gc__profiled_thread *self, const gc__noted *record) {
    uint32_t changes = __atomic_load_n(&gc__the_profile.file_changes, __ATOMIC_RELAXED);
    if (GC__UNLIKELY(record->stack_words && gc__native_changes != changes)) gc__drain_now();
    bool put = gc__buffer_put(self, record);
    if (GC__UNLIKELY(!put || gc__buffer_used(self) > self->buffer_bytes / 2) && gc__drain_now() && !put)
        put = gc__buffer_put(self, record);
    if (put) return;
    __atomic_store_n(&self->lost, self->lost + 1, __ATOMIC_RELAXED);
    if (record->also & GC_PROFILE_BIT(SAMPLE))
        __atomic_store_n(&self->lost_samples, self->lost_samples + 1, __ATOMIC_RELAXED);
}

/* Windows. */

GC__FN size_t gc__profile_extend(gc_thread *thread, int stream, size_t room, size_t needed, size_t extra) {
    gc__profiled_thread *self = gc__thread_profiled(thread);
    if (!self) return extra;
    bool samples = gc__profile_wants(GC_PROFILE_SAMPLE);
    if (samples && needed > self->left[stream]) {
        self->due |= GC_PROFILE_BIT(SAMPLE);
        self->offset = room + self->left[stream];
        self->left[stream] = gc__chance_gap(&self->chance);
        extra = needed;
    } else if (samples) {
        if (extra > self->left[stream]) extra = (size_t)self->left[stream];
        self->left[stream] -= extra;
    }
    if (gc__profile_wants(GC_PROFILE_OBJECT)) {
        self->left[stream] += samples && extra > needed ? extra - needed : 0;
        extra = needed;
        self->due |= GC_PROFILE_BIT(OBJECT);
    }
    self->since_tick += (int64_t)extra;
    if (gc__profile_wants(GC_PROFILE_TICK) && self->since_tick >= (int64_t)self->options.tick_bytes)
        self->due |= GC_PROFILE_BIT(TICK);
    return extra;
}

GC__FN void gc__profile_unused(gc_thread *thread, int stream, size_t bytes) {
    gc__profiled_thread *self = gc__record(thread)->profiled;
    if (!self || self->profile != __atomic_load_n(&gc__the_profile.number, __ATOMIC_RELAXED)) return;
    self->left[stream] += bytes;
    self->since_tick -= (int64_t)bytes;
}

/* Types that have few events. */

/* Whether one of the events that the types with this key may have in a second is left. */
GC__FN bool gc__budget_take(const void *key, uint64_t now_ns, unsigned per_second) {
    uint64_t second = now_ns / 1000000000 << 32;
    uint64_t *budget = &gc__the_profile.budgets[((uintptr_t)key >> 4) * 0x9E3779B97F4A7C15u >> 54];
    uint64_t before = __atomic_load_n(budget, __ATOMIC_RELAXED), after;
    do {
        after = gc__max(before, second) + 1;
        if ((uint32_t)after > per_second) return false;
    } while (!__atomic_compare_exchange_n(budget, &before, after, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
    return true;
}

GC__FN gc__type_rate *gc__rate_place(gc__type_rate *rates, size_t capacity, const void *key) {
    size_t at = (size_t)(((uintptr_t)key >> 4) * 0x9E3779B97F4A7C15u >> 40) & (capacity - 1);
    while (rates[at].key && rates[at].key != key) at = (at + 1) & (capacity - 1);
    return &rates[at];
}

/* What the thread knows of the type; NULL: no memory. */
GC__FN gc__type_rate *gc__rate_of(gc__profiled_thread *self, const void *key) {
    if (2 * (self->rates_count + 1) > self->rates_capacity) {
        size_t capacity = self->rates_capacity ? 2 * self->rates_capacity : 256;
        gc__type_rate *rates = (gc__type_rate *)gc__os_map(capacity * sizeof *rates);
        if (!rates) return NULL;
        for (size_t i = 0; i < self->rates_capacity; i++)
            if (self->rates[i].key) *gc__rate_place(rates, capacity, self->rates[i].key) = self->rates[i];
        if (self->rates_capacity) gc__os_unmap(self->rates, self->rates_capacity * sizeof *rates);
        self->rates = rates;
        self->rates_capacity = capacity;
    }
    gc__type_rate *rate = gc__rate_place(self->rates, self->rates_capacity, key);
    if (!rate->key) self->rates_count++;
    rate->key = key;
    return rate;
}

/* Counts an object, and says in the record if it is one that has an event: the first of its type, and then as many in a
   second as are allowed, at intervals that follow the rate of allocation. */
GC__FN void gc__rate_count(gc__profiled_thread *self, gc__noted *record, const void *key, uint64_t bytes) {
    gc__type_rate *rate = gc__rate_of(self, key);
    record->also &= (uint16_t)~GC_PROFILE_BIT(OBJECT);
    if (!rate) return;
    rate->objects++;
    rate->bytes += bytes;
    if (rate->objects < rate->every) return;
    uint64_t now = gc__os_now_ns(), interval = 1000000000 / self->options.per_second;
    uint64_t passed = rate->last_ns ? gc__max(gc__ns_since(now, rate->last_ns), 1) : 1;
    double wanted = (double)rate->objects * (double)interval / (double)passed;
    rate->every = !rate->last_ns || wanted < 1 ? 1 : wanted < 1e9 ? (uint64_t)wanted : 1000000000;
    if (!gc__budget_take(key, now, self->options.per_second)) return;
    record->also |= GC_PROFILE_BIT(OBJECT);
    record->type_objects = rate->objects;
    record->type_object_bytes = rate->bytes;
    rate->objects = rate->bytes = 0;
    rate->last_ns = now;
}

/* Call stacks. */

/* The bytes that a record has at most. */
GC__FN size_t gc__scratch_most(const gc__profiled_thread *self) {
    return gc__min(sizeof self->scratch, self->buffer_bytes / 2);
}

/* Makes room at the end of the record in the scratch memory, for whole words; NULL: they do not fit. */
GC__FN char *gc__scratch_extend(gc__profiled_thread *self, size_t bytes) {
    gc__noted *record = &self->scratch.record;
    if (record->bytes + bytes > gc__scratch_most(self)) return NULL;
    char *to = self->scratch.bytes + record->bytes;
    record->bytes += (uint32_t)bytes;
    return to;
}

/* Appends words to the record; false: they do not fit. */
GC__FN bool gc__scratch_put(gc__profiled_thread *self, const void *words, size_t bytes) {
    size_t whole = (bytes + 7) & ~(size_t)7;
    char *to = gc__scratch_extend(self, whole);
    if (!to) return false;
    if (whole) memset(to + whole - 8, 0, 8);
    memcpy(to, words, bytes);
    return true;
}

/* As many of the frames as fit; returns how many. */
GC__FN size_t gc__scratch_put_native(gc__profiled_thread *self, const gc__native_frame *frames, size_t count) {
    gc__noted *record = &self->scratch.record;
    size_t room = (gc__scratch_most(self) - record->bytes) / sizeof(uint64_t);
    uint64_t *words = (uint64_t *)(void *)(self->scratch.bytes + record->bytes);
    count = gc__min(count, room);
    for (size_t i = 0; i < count; i++) words[i] = frames[i].pc & ~GC__HOST_FRAME;
    record->bytes += (uint32_t)(count * sizeof *words);
    return count;
}

GC__FN bool gc__scratch_put_host(gc__profiled_thread *self, const gc_profile_frame *frame) {
    const char *function = frame->function ? frame->function : "(unnamed)", *file = frame->file ? frame->file : "";
    size_t function_bytes = gc__min(strlen(function), 255), file_bytes = gc__min(strlen(file), 255);
    uint64_t word = GC__HOST_FRAME | (uint64_t)function_bytes << 40 | (uint64_t)file_bytes << 32 | frame->line;
    size_t bytes = sizeof word + ((function_bytes + file_bytes + 7) & ~(size_t)7);
    char *to = gc__scratch_extend(self, bytes);
    if (!to) return false;
    memset(to + bytes - 8, 0, 8);
    memcpy(to, &word, sizeof word);
    memcpy(to + sizeof word, function, function_bytes);
    memcpy(to + sizeof word + function_bytes, file, file_bytes);
    return true;
}

/* The frames of the host's language whose address is in the native frame, from number `at` on; returns the next number. */
GC__FN size_t gc__stack_put_hosts(gc__profiled_thread *self, size_t at, size_t count, uintptr_t cfa, size_t *depth) {
    const gc_profile_frame *frames = self->host_frames;
    size_t most = self->options.depth_max;
    for (; at < count && (!frames[at].native || (uintptr_t)frames[at].native < cfa); at++)
        if (*depth < most && gc__scratch_put_host(self, &frames[at])) ++*depth;
    return at;
}

/* Appends a stack, from the function that contains the return address `caller` on. The language's frames take the place of the
   native frame that runs them. */
GC__FN void gc__stack_put(gc__profiled_thread *self, size_t count, uintptr_t caller) {
    const gc__native_frame *native = self->native_frames;
    const gc_profile_host *host = gc__profile_host();
    gc__noted *record = &self->scratch.record;
    size_t first = 0, at = 0, hosts = 0, depth = 0, i, most = self->options.depth_max;
    uint32_t before = record->bytes;
    while (first < count && first < GC__INNER_FRAMES_MAX && native[first].pc + 1 != caller) first++;
    if (first == count || first == GC__INNER_FRAMES_MAX) first = 0;
    if (host->stack) hosts = host->stack(host->host, self->thread, self->host_frames, GC__PROFILE_DEPTH_MAX);
    hosts = gc__min(hosts, GC__PROFILE_DEPTH_MAX);
    at = gc__stack_put_hosts(self, at, hosts, 0, &depth); /* those of no native frame */
    for (i = first; i < count && depth < most && at < hosts; i++) {
        size_t next = gc__stack_put_hosts(self, at, hosts, native[i].cfa, &depth);
        if (next == at) depth += gc__scratch_put_native(self, &native[i], 1);
        at = next;
    }
    at = gc__stack_put_hosts(self, at, hosts, UINTPTR_MAX, &depth);
    size_t rest = gc__scratch_put_native(self, native + i, gc__min(count - i, most - depth));
    depth += rest;
    i += rest;
    record->stack_words = (record->bytes - before) / 8;
    if (depth == most && (i < count || at < hosts)) record->also |= GC__RECORD_CUT;
}

/* Begins a record in the scratch memory. */
GC__FN gc__noted *gc__scratch_begin(gc__profiled_thread *self, gc_profile_kind kind) {
    gc__noted *record = &self->scratch.record;
    memset(record, 0, sizeof *record);
    record->bytes = sizeof *record;
    record->kind = (uint16_t)kind;
    record->time_ns = gc__os_now_ns();
    return record;
}

/* Tells the host of an event at once. */
GC__FN void gc__event_tell(gc_heap *heap, const gc__noted *record, gc_profile_event *event) {
    const gc_profile_host *host = gc__profile_host();
    if (!host->event || !gc__profile_wants(event->kind)) return;
    event->heap = heap;
    event->time_ns = record->time_ns;
    event->object = (uintptr_t)record->object;
    event->bytes = record->size;
    host->event(host->host, event);
}

GC__FN void gc__allocation_tell(gc__profiled_thread *self, const gc__noted *record, const char *type) {
    gc_profile_event event;
    memset(&event, 0, sizeof event);
    event.thread = self->tid;
    event.type = type;
    event.stack = self->pcs;
    event.depth = self->pc_count;
    if (record->also & GC_PROFILE_BIT(SAMPLE)) {
        event.kind = GC_PROFILE_SAMPLE;
        event.amount = record->amount;
        gc__event_tell(self->thread->heap, record, &event);
    }
    if (record->also & GC_PROFILE_BIT(TICK)) {
        event.kind = GC_PROFILE_TICK;
        event.amount = record->tick_bytes;
        gc__event_tell(self->thread->heap, record, &event);
    }
    if (record->also & GC_PROFILE_BIT(OBJECT)) {
        event.kind = GC_PROFILE_OBJECT;
        event.amount = record->type_objects;
        event.detail = record->type_object_bytes;
        gc__event_tell(self->thread->heap, record, &event);
    }
}

/* Completes a record by the type's name, and puts it into the buffer. */
GC__FN void gc__scratch_end(gc__profiled_thread *self, const char *type) {
    gc__noted *record = &self->scratch.record;
    size_t bytes = gc__min(strlen(type), 255);
    if (gc__scratch_put(self, type, bytes)) record->type_bytes = (uint32_t)bytes;
    if (record->also) record->origin = gc__origin_of(record);
    gc__record_put(self, record);
}

/* The header of the object is written. */
GC__FN void gc__allocation_end(gc__profiled_thread *self) {
    gc__noted *record = &self->scratch.record;
    const char *type = gc__object_name((uintptr_t)record->object);
    self->waiting = false;
    if (record->also & GC_PROFILE_BIT(OBJECT)) gc__rate_count(self, record, type, record->size);
    if (!(record->also & ~GC__RECORD_CUT)) return;
    if (gc__profile_host()->event) gc__allocation_tell(self, record, type);
    gc__scratch_end(self, type);
}

/* Takes the stack of an object that has some event. */
GC__OUT_OF_LINE void gc__allocation_take(gc__profiled_thread *self, void *object, size_t bytes, uintptr_t caller) {
    gc__native_frame *native = self->native_frames;
    gc__native_start start;
    gc__noted *record = gc__scratch_begin(self, GC_PROFILE_SAMPLE);
    gc__native_here(&start);
    size_t most = gc__min(self->options.depth_max + GC__INNER_FRAMES_MAX, GC__PROFILE_DEPTH_MAX);
    size_t count = gc__native_take(&start, native, most, self->rules);
    record->also = (uint16_t)self->due;
    record->object = (uintptr_t)object;
    record->size = bytes;
    if (self->due & GC_PROFILE_BIT(SAMPLE)) record->amount = self->offset;
    if (self->due & GC_PROFILE_BIT(TICK)) {
        record->tick_bytes = (uint64_t)self->since_tick;
        self->since_tick = 0;
    }
    self->due = 0;
    gc__stack_put(self, count, caller);
    self->pc_count = gc__profile_host()->event ? count : 0;
    for (size_t i = 0; i < self->pc_count; i++) self->pcs[i] = native[i].pc + 1;
}

/* Whether an object whose only event is OBJECT has it, so that its stack is worth to be taken. */
GC__FN bool gc__allocation_is_due(gc__profiled_thread *self, void *object, bool typed) {
    if (!typed || self->due != GC_PROFILE_BIT(OBJECT)) return self->due != 0;
    gc__type_rate *rate = gc__rate_of(self, gc__object_name((uintptr_t)object));
    return !rate || rate->objects + 1 >= rate->every;
}

GC__FN void gc__profile_allocated(gc_thread *thread, void *object, size_t bytes, const void *caller, bool typed) {
    gc__profiled_thread *self = gc__record(thread)->profiled;
    if (!self || self->profile != __atomic_load_n(&gc__the_profile.number, __ATOMIC_RELAXED)) return;
    if (self->waiting) gc__allocation_end(self);
    if (!self->due) return;
    if (!gc__allocation_is_due(self, object, typed)) {
        gc__rate_count(self, &self->scratch.record, gc__object_name((uintptr_t)object), bytes);
        self->due = 0;
        return;
    }
    gc__allocation_take(self, object, bytes, (uintptr_t)caller);
    self->waiting = true;
    if (typed) gc__allocation_end(self);
}

/* Other events of threads. */

#define GC__EVENTS_OUTSIDE 4096 /* kept before they are written, if nobody allocates or collects */

/* Keeps an event at once, if nobody holds the lock. */
GC__FN void gc__event_put_outside(const gc_heap *heap, const gc__noted *record, uint32_t thread) {
    gc__profile_event event;
    memset(&event, 0, sizeof event);
    if (!gc__lock_try(&gc__profile_lock)) {
        __atomic_fetch_add(&gc__the_profile.lost_outside, 1, __ATOMIC_RELAXED);
        return;
    }
    event.time_ns = record->time_ns;
    event.kind = record->kind;
    event.thread = thread;
    event.heap = heap->profiled->number;
    event.object = record->object;
    event.amount = record->amount;
    event.detail = record->detail;
    gc__event_keep(&gc__the_profile, &event);
    if (gc__the_profile.events.count >= GC__EVENTS_OUTSIDE) gc__drain();
    gc__lock_release(&gc__profile_lock);
}

/* Puts an event of the calling thread, which is `thread` if it is attached, into its buffer. A thread in preemptive mode must
   not use that, since a collection may. */
GC__FN void gc__event_put(gc_heap *heap, gc_thread *thread, gc_profile_event *event, const char *type) {
    gc__profiled_thread *self = thread && gc__is_cooperative(thread) ? gc__thread_profiled(thread) : NULL;
    gc__noted record;
    memset(&record, 0, sizeof record);
    record.bytes = sizeof record;
    record.kind = (uint16_t)event->kind;
    record.time_ns = gc__os_now_ns();
    record.object = event->object;
    record.amount = event->amount;
    record.detail = event->detail;
    event->thread = self ? self->tid : gc__os_thread_number();
    event->type = type;
    gc__event_tell(heap, &record, event);
    if (!self) {
        gc__event_put_outside(heap, &record, event->thread);
    } else if (self->waiting || !type) {
        gc__record_put(self, &record);
    } else {
        self->scratch.record = record;
        gc__scratch_end(self, type);
    }
}

GC__FN void gc__profile_finalized(gc_thread *thread, const char *type, uint64_t started_ns) {
    gc_profile_event event;
    if (!gc__profile_wants(GC_PROFILE_FINALIZER)) return;
    memset(&event, 0, sizeof event);
    event.kind = GC_PROFILE_FINALIZER;
    event.amount = gc__ns_since(gc__os_now_ns(), started_ns);
    gc__event_put(thread->heap, thread, &event, type);
}

GC__FN void gc__profile_handle(gc_heap *heap, const void *handle, unsigned kind, bool created) {
    gc_profile_event event;
    memset(&event, 0, sizeof event);
    event.kind = created ? GC_PROFILE_HANDLE_CREATED : GC_PROFILE_HANDLE_DESTROYED;
    if (!gc__profile_wants(event.kind)) return;
    event.object = (uintptr_t)handle;
    event.detail = kind;
    gc__event_put(heap, gc__thread_self(heap), &event, NULL);
}
/* What a collecting thread does: times its phases, follows sampled objects, notes what the heap holds. */


GC__FN void gc__space_note(const gc_heap *heap, gc__profile_space *space) {
    memset(space, 0, sizeof *space);
    space->generation_bytes[0] = gc__counted(&heap->generation_bytes[0]) + heap->nursery_survivor_bytes;
    for (int g = 1; g < GC_GENERATIONS; g++) space->generation_bytes[g] = heap->generation_bytes[g];
    space->large_bytes = heap->large_bytes;
    space->external_bytes = gc__counted(&heap->external_bytes);
    space->held_bytes = gc__held_bytes(heap);
    space->finalizers_queued = gc__due_total(heap->finalizers);
}

/* Makes the events of a collection, in the order of time; returns how many. */
GC__FN size_t gc__collection_events(const gc__profile_collection *collection, gc__profile_event *events) {
    size_t count = 0;
    uint64_t time_ns = collection->start_ns;
    gc__profile_event event;
    memset(&event, 0, sizeof event);
    event.thread = collection->thread;
    event.heap = collection->heap;
    event.kind = GC_PROFILE_COLLECTION_START;
    event.time_ns = time_ns;
    event.amount = collection->number;
    event.detail = collection->generation;
    events[count++] = event;
    event.kind = GC_PROFILE_PHASE;
    for (unsigned i = 0; i < collection->part_count; i++) {
        event.amount = (uint64_t)collection->parts[i].phase;
        event.detail = collection->parts[i].ns;
        event.time_ns = time_ns += event.detail;
        events[count++] = event;
    }
    event.kind = GC_PROFILE_COLLECTION_END;
    event.time_ns = collection->end_ns;
    event.amount = collection->number;
    event.detail = collection->generation;
    for (int g = 0; g < GC_GENERATIONS; g++) event.bytes += collection->promoted_bytes[g];
    events[count++] = event;
    return count;
}

/* Tells the host of an event of the heap, and keeps it for a streamed format. Lock held. */
GC__FN void gc__heap_tell(const gc__profiled_heap *self, const gc__profile_event *event,
                          const gc_collection *collection) {
    const gc_profile_host *host = gc__profile_host();
    gc_profile_event told;
    gc__event_keep(&gc__the_profile, event);
    if (!host->event || !gc__profile_wants((gc_profile_kind)event->kind)) return;
    memset(&told, 0, sizeof told);
    told.kind = (gc_profile_kind)event->kind;
    told.thread = event->thread;
    told.time_ns = event->time_ns;
    told.heap = self->heap;
    told.bytes = event->bytes;
    told.amount = event->amount;
    told.detail = event->detail;
    told.collection = collection;
    host->event(host->host, &told);
}

/* The number of the profile that the heap is part of, which another thread may just be ending to start the next one. */
GC__FN uint64_t gc__heap_profile(const gc__profiled_heap *self) {
    return __atomic_load_n(&self->profile, __ATOMIC_RELAXED);
}

/* The system's number of the calling thread, which it is asked for only if it is not attached. */
GC__FN uint32_t gc__collecting_thread(const gc_heap *heap) {
    const gc_thread *self = gc__thread_self(heap);
    return self ? gc__record(self)->tid : gc__os_thread_number();
}

/* A collection begins: nothing has changed yet, and threads have stopped. */
GC__FN void gc__collection_begin(gc__profiled_heap *self, uint64_t now_ns) {
    gc_heap *heap = self->heap;
    gc__profile_collection *collection = &self->collection;
    for (gc_thread *thread = heap->threads->first; thread; thread = gc__record(thread)->next) {
        gc__profiled_thread *profiled = gc__record(thread)->profiled;
        if (profiled && profiled->waiting && profiled->profile == self->profile) gc__allocation_end(profiled);
    }
    memset(collection, 0, sizeof *collection);
    collection->number = heap->collection.number + 1;
    collection->asked_ns = self->asked_ns ? self->asked_ns : now_ns;
    collection->start_ns = now_ns;
    collection->heap = self->number;
    collection->thread = gc__collecting_thread(heap);
    gc__space_note(heap, &collection->before);
    self->collecting = gc__heap_profile(self);
    gc__lock_take(&gc__profile_lock);
    if (collection->asked_ns < gc__the_profile.profile.start_ns) collection->asked_ns = now_ns;
    gc__drain();
    for (gc_thread *thread = heap->threads->first; thread; thread = gc__record(thread)->next)
        if (gc__record(thread)->profiled) gc__buffer_rewind(gc__record(thread)->profiled);
    gc__lock_release(&gc__profile_lock);
}

/* Ends the phase that has run until now. */
GC__FN void gc__part_end(gc__profiled_heap *self, uint64_t now_ns) {
    gc__profile_collection *collection = &self->collection;
    if (collection->part_count) collection->parts[collection->part_count - 1].ns = gc__ns_since(now_ns, self->part_ns);
    self->part_ns = now_ns;
}

GC__FN void gc__profile_phase_begun(gc_heap *heap, gc_phase phase) {
    gc__profiled_heap *self = heap->profiled;
    uint64_t now = gc__os_now_ns();
    if (phase == GC_PHASE_OPEN) gc__collection_begin(self, now);
    if (self->collecting != gc__heap_profile(self) || self->collection.part_count == GC__PROFILE_PARTS) return;
    gc__part_end(self, now);
    self->collection.parts[self->collection.part_count++].phase = phase;
}

GC__FN void gc__profile_traced(gc_heap *heap, int generation) {
    gc__profiled_heap *self = heap->profiled;
    gc__lock_take(&gc__profile_lock);
    if (self->profile == gc__the_profile.number) gc__tracked_follow_all(self, generation);
    gc__lock_release(&gc__profile_lock);
}

GC__FN void gc__profile_ended(gc_heap *heap) {
    gc__profiled_heap *self = heap->profiled;
    gc__profile_collection *collection = &self->collection;
    gc__profile *profile = &gc__the_profile.profile;
    gc__profile_event events[GC__PROFILE_PARTS + 2];
    if (self->collecting != gc__heap_profile(self)) return;
    self->collecting = 0;
    collection->end_ns = gc__os_now_ns();
    gc__part_end(self, collection->end_ns);
    collection->generation = (uint8_t)heap->collection.generation;
    collection->reason = heap->collection.reason;
    collection->compacting = heap->collection.compacting;
    collection->left_out = heap->collection.left_out;
    collection->moved_bytes = heap->collection.moved_bytes;
    for (int g = 0; g < GC_GENERATIONS && !collection->left_out; g++) {
        collection->condemned_bytes[g] = heap->cycle->condemned_bytes[g];
        collection->promoted_bytes[g] = heap->cycle->copied_bytes[g] + heap->cycle->marked_bytes[g];
    }
    gc__space_note(heap, &collection->after);
    size_t count = gc__collection_events(collection, events);
    gc__lock_take(&gc__profile_lock);
    gc__profile_collection *kept =
        self->profile == gc__the_profile.number ? GC__PROFILE_APPEND(profile, collections) : NULL;
    if (kept)
        *kept = *collection;
    else
        profile->lost_collections += self->profile == gc__the_profile.number;
    for (size_t i = 0; kept && i < count; i++) {
        events[i].collection = (uint32_t)(kept - profile->collections);
        gc__heap_tell(self, &events[i], &heap->collection);
    }
    gc__lock_release(&gc__profile_lock);
}

/* Threads that stop. */

GC__FN void gc__stop_tell(const gc__profiled_heap *self, gc_profile_kind kind, uint64_t amount, uint64_t detail) {
    gc__profile_event event;
    memset(&event, 0, sizeof event);
    event.kind = (uint32_t)kind;
    event.time_ns = gc__os_now_ns();
    event.thread = gc__collecting_thread(self->heap);
    event.heap = self->number;
    event.amount = amount;
    event.detail = detail;
    gc__lock_take(&gc__profile_lock);
    if (self->profile == gc__the_profile.number) gc__heap_tell(self, &event, NULL);
    gc__lock_release(&gc__profile_lock);
}

GC__FN void gc__profile_stopped(gc_heap *heap, uint64_t asked_ns) {
    uint64_t last_ns = 0;
    uint32_t last = 0;
    heap->profiled->asked_ns = asked_ns;
    if (!gc__profile_wants(GC_PROFILE_STOP)) return;
    for (const gc_thread *thread = heap->threads->first; thread; thread = gc__record(thread)->next) {
        uint64_t at = __atomic_load_n(&gc__record(thread)->stopped_at_ns, __ATOMIC_RELAXED);
        if (at < asked_ns || at < last_ns) continue;
        last_ns = at;
        last = gc__record(thread)->tid;
    }
    gc__stop_tell(heap->profiled, GC_PROFILE_STOP, gc__ns_since(gc__os_now_ns(), asked_ns), last);
}

GC__FN void gc__profile_resumed(gc_heap *heap) {
    bool was = heap->profiled->asked_ns != 0;
    heap->profiled->asked_ns = 0;
    if (was && gc__profile_wants(GC_PROFILE_RESUME)) gc__stop_tell(heap->profiled, GC_PROFILE_RESUME, 0, 0);
}
/* Names of compiled code for Linux's perf: the perf map, lines "START BYTES NAME" that perf report reads at the end; and the
   jitdump, a file of records with times, the code itself and its lines, which perf inject turns into files with symbols. Its
   name and a page of it that is mapped executable are how perf finds it. */


typedef struct gc__perf_file {
    int file; /* 0: not written */
    gc__os_file_identity identity;
} gc__perf_file;

typedef struct gc__perf {
    gc__perf_file map, dump;
    void *marker;  /* the mapped page of the dump */
    uint64_t count;
} gc__perf;

static gc__perf gc__the_perf; /* profile lock */

#define GC__JITDUMP_MAGIC 0x4A695444u
enum { GC__JITDUMP_LOAD = 0, GC__JITDUMP_LINES = 2, GC__JITDUMP_CLOSE = 3 };

typedef struct gc__jitdump_head {
    uint32_t magic, version, bytes, machine, pad, process;
    uint64_t time_ns, flags;
} gc__jitdump_head;

/* Ahead of every record. */
typedef struct gc__jitdump_record {
    uint32_t kind, bytes;
    uint64_t time_ns;
} gc__jitdump_record;

/* The code's name with its 0, and the code, follow. */
typedef struct gc__jitdump_load {
    gc__jitdump_record record;
    uint32_t process, thread;
    uint64_t address, code_address, code_bytes, index;
} gc__jitdump_load;

/* A line for each place in the code follows, with the name of its file. */
typedef struct gc__jitdump_lines {
    gc__jitdump_record record;
    uint64_t code_address, count;
} gc__jitdump_lines;

typedef struct gc__jitdump_line {
    uint64_t address;
    uint32_t line, discriminator;
} gc__jitdump_line;

GC__STATIC_ASSERT(sizeof(gc__jitdump_head) == 40 && sizeof(gc__jitdump_load) == 56 && sizeof(gc__jitdump_lines) == 32 &&
                      sizeof(gc__jitdump_line) == 16,
                  "perf knows these layouts");

GC__FN void gc__perf_close_file(gc__perf_file *self) {
    if (self->file && gc__os_file_is(self->file, &self->identity)) gc__os_file_close(self->file);
    self->file = 0;
}

/* A process that was forked forgets the files of its parent. */
GC__FN void gc__perf_forget(void) {
    gc__perf_close_file(&gc__the_perf.map);
    gc__perf_close_file(&gc__the_perf.dump);
    if (gc__the_perf.marker) gc__os_unmap(gc__the_perf.marker, gc__os_page_bytes());
    memset(&gc__the_perf, 0, sizeof gc__the_perf);
}

/* Writes to one of the files, which is given up if that fails. */
GC__FN void gc__perf_write(gc__perf_file *self, const void *data, size_t bytes) {
    if (!self->file) return;
    bool same = gc__os_file_is(self->file, &self->identity);
    if (!same || !gc__os_file_write(self->file, data, bytes, -1)) gc__perf_close_file(self);
}

/* False: the file could not be opened. */
GC__FN bool gc__perf_take(gc__perf_file *self, int file) {
    if (file <= 0) return false;
    self->file = file;
    self->identity = gc__os_file_identify(file);
    return true;
}

GC__FN bool gc__perf_open_map(void) {
    char name[64];
    snprintf(name, sizeof name, GC__PERF_MAP, gc__os_process_number());
    return gc__perf_take(&gc__the_perf.map, gc__os_file_create_own(name));
}

GC__FN bool gc__perf_open_dump(void) {
    char name[GC__NAME_BYTES_MAX];
    gc__jitdump_head head = {GC__JITDUMP_MAGIC, 1, sizeof head, GC__IMAGE_MACHINE, 0, gc__os_process_number(),
                             gc__os_now_ns(),   0};
    const char *folder = gc__setting("JITDUMPDIR");
    snprintf(name, sizeof name, "%s/jit-%u.dump", folder && *folder ? folder : ".", head.process);
    int file = gc__os_file_create_own(name);
    if (!gc__perf_take(&gc__the_perf.dump, file)) return false;
    gc__perf_write(&gc__the_perf.dump, &head, sizeof head);
    gc__the_perf.marker = gc__the_perf.dump.file ? gc__os_file_map_code(file, gc__os_page_bytes()) : NULL;
    return gc__the_perf.marker != NULL;
}

/* Opens what the options ask for. False: a file cannot be written. */
GC__FN bool gc__perf_open(unsigned perf) {
    bool ok = true;
    gc__perf_forget();
    if (perf & GC_PROFILE_PERF_MAP) ok = gc__perf_open_map();
    if (perf & GC_PROFILE_JITDUMP) ok = gc__perf_open_dump() && ok;
    return ok;
}

GC__FN void gc__perf_map_code(const void *start, size_t bytes, const char *name) {
    char line[1024];
    int length = snprintf(line, sizeof line, "%llx %llx %s", (unsigned long long)(uintptr_t)start,
                          (unsigned long long)bytes, name);
    if (length < 0) return;
    size_t used = gc__min((size_t)length, sizeof line - 1);
    for (size_t i = 0; i < used; i++)
        if ((unsigned char)line[i] < ' ') line[i] = ' ';
    line[used] = '\n';
    gc__perf_write(&gc__the_perf.map, line, used + 1);
}

/* The lines come before their code. One more ends the list. */
GC__FN void gc__perf_dump_lines(const void *start, size_t bytes, const gc_profile_line *lines, size_t count,
                                uint64_t now_ns) {
    gc__jitdump_lines head = {{GC__JITDUMP_LINES, sizeof head, now_ns}, (uintptr_t)start, count + 1};
    for (size_t i = 0; i <= count; i++) {
        const gc_profile_line *line = &lines[i < count ? i : count - 1];
        head.record.bytes += (uint32_t)(sizeof(gc__jitdump_line) + (line->file ? strlen(line->file) : 0) + 1);
    }
    gc__perf_write(&gc__the_perf.dump, &head, sizeof head);
    for (size_t i = 0; i <= count; i++) {
        const gc_profile_line *line = &lines[i < count ? i : count - 1];
        gc__jitdump_line entry = {i < count ? line->address : (uintptr_t)start + bytes, line->line, 0};
        const char *file = line->file ? line->file : "";
        gc__perf_write(&gc__the_perf.dump, &entry, sizeof entry);
        gc__perf_write(&gc__the_perf.dump, file, strlen(file) + 1);
    }
}

/* Says to perf that the code is there. */
GC__FN void gc__perf_note(const void *start, size_t bytes, const char *name, const gc_profile_line *lines,
                          size_t line_count) {
    gc__perf *perf = &gc__the_perf;
    if (perf->map.file) gc__perf_map_code(start, bytes, name);
    if (!perf->dump.file) return;
    uint64_t now = gc__os_now_ns();
    if (line_count) gc__perf_dump_lines(start, bytes, lines, line_count, now);
    gc__jitdump_load load = {{GC__JITDUMP_LOAD, (uint32_t)(sizeof load + strlen(name) + 1 + bytes), now},
                             gc__os_process_number(),
                             gc__os_thread_number(),
                             (uintptr_t)start,
                             (uintptr_t)start,
                             bytes,
                             ++perf->count};
    gc__perf_write(&perf->dump, &load, sizeof load);
    gc__perf_write(&perf->dump, name, strlen(name) + 1);
    gc__perf_write(&perf->dump, start, bytes);
}

/* The end of the profile. */
GC__FN void gc__perf_close(void) {
    gc__jitdump_record end = {GC__JITDUMP_CLOSE, sizeof end, gc__os_now_ns()};
    gc__perf_write(&gc__the_perf.dump, &end, sizeof end);
    gc__perf_forget();
}
/* Code that the host has named. */


/* The place in the order of addresses of the first code that starts at `start` or later. */
GC__FN size_t gc__code_place(const gc__profiling *all, uintptr_t start) {
    size_t low = 0, high = all->code_order_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (all->profile.codes[all->code_order[middle]].start < start)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Copies code with its texts and lines into a profile; NULL: no memory. */
GC__FN gc__profile_code *gc__code_copy(gc__profile *to, const void *start, size_t bytes, const char *name,
                                       const gc_profile_line *lines, size_t line_count) {
    size_t first = to->lines_count;
    for (size_t i = 0; i < line_count; i++) {
        uint32_t file = gc__profile_text_add(to, lines[i].file);
        gc__profile_line *line = GC__PROFILE_APPEND(to, lines);
        if (!line) return NULL;
        line->address = lines[i].address;
        line->line = lines[i].line;
        line->file = file;
    }
    uint32_t text = gc__profile_text_add(to, name);
    gc__profile_code *code = GC__PROFILE_APPEND(to, codes);
    if (!code) return NULL;
    code->start = (uintptr_t)start;
    code->bytes = bytes;
    code->name = text;
    code->first_line = (uint32_t)first;
    code->line_count = (uint32_t)line_count;
    return code;
}

/* Enters the last code of the profile in the order of addresses. */
GC__FN bool gc__codes_enter(gc__profiling *all) {
    size_t number = all->profile.codes_count - 1;
    const gc__profile_code *code = &all->profile.codes[number];
    if (!gc__profile_reserve(&all->code_order, all->code_order_count, &all->code_order_capacity,
                             sizeof *all->code_order))
        return false;
    size_t at = gc__code_place(all, code->start);
    bool replaces = at < all->code_order_count && all->profile.codes[all->code_order[at]].start == code->start;
    if (!replaces)
        memmove(all->code_order + at + 1, all->code_order + at, (all->code_order_count - at) * sizeof *all->code_order);
    all->code_order[at] = number;
    all->code_order_count += !replaces;
    all->code_changes++;
    return true;
}

/* What the host has named, whether or not a profile is being taken, so that one that starts later has it. */
typedef struct gc__known_code {
    struct gc__known_code *next, *previous;
    const void *start;
    size_t bytes, line_count;
    gc_profile_line *lines;
    char *name; /* after the lines; the files' names follow it */
} gc__known_code;

typedef struct gc__known_codes {
    gc__known_code *first;
    gc__map places; /* records by start; a value of 0: none */
} gc__known_codes;

static gc__known_codes gc__the_known_codes; /* lock */

GC__FN gc__known_code *gc__known_make(const void *start, size_t bytes, const char *name, const gc_profile_line *lines,
                                      size_t line_count) {
    size_t size = sizeof(gc__known_code) + line_count * sizeof *lines + strlen(name) + 1;
    for (size_t i = 0; i < line_count; i++) size += (lines[i].file ? strlen(lines[i].file) : 0) + 1;
    gc__known_code *code = (gc__known_code *)malloc(size);
    if (!code) return NULL;
    memset(code, 0, sizeof *code);
    code->start = start;
    code->bytes = bytes;
    code->line_count = line_count;
    code->lines = (gc_profile_line *)(void *)(code + 1);
    code->name = (char *)(code->lines + line_count);
    char *text = code->name;
    text += strlen(strcpy(text, name)) + 1;
    for (size_t i = 0; i < line_count; i++) {
        code->lines[i] = lines[i];
        code->lines[i].file = strcpy(text, lines[i].file ? lines[i].file : "");
        text += strlen(text) + 1;
    }
    return code;
}

/* Forgets the code that starts there. */
GC__FN void gc__known_remove(const void *start) {
    uintptr_t *place = gc__map_find(&gc__the_known_codes.places, (uintptr_t)start);
    gc__known_code *code = place ? (gc__known_code *)*place : NULL;
    if (!code) return;
    *place = 0;
    if (code->next) code->next->previous = code->previous;
    if (code->previous)
        code->previous->next = code->next;
    else
        gc__the_known_codes.first = code->next;
    free(code);
}

GC__FN void gc__known_free(void) {
    while (gc__the_known_codes.first) gc__known_remove(gc__the_known_codes.first->start);
    gc__map_free(&gc__the_known_codes.places);
}

GC__FN void gc__profile_warn(const char *message) {
    gc_options options;
    memset(&options, 0, sizeof options);
    gc__warn(&options, "%s", message);
}

/* The profile learns of code that is there. False: no memory. Lock held. */
GC__FN bool gc__code_note(gc__profiling *all, const void *start, size_t bytes, const char *name,
                          const gc_profile_line *lines, size_t line_count, uint64_t added_ns) {
    gc__profile_code *noted = gc__code_copy(&all->profile, start, bytes, name, lines, line_count);
    if (!noted) return false;
    noted->added_ns = added_ns;
    gc__perf_note(start, bytes, name, lines, line_count);
    return gc__codes_enter(all);
}

/* The code is about to go. Lock held. */
GC__FN void gc__code_gone(gc__profiling *all, uintptr_t start) {
    size_t at = gc__code_place(all, start);
    if (at == all->code_order_count || all->profile.codes[all->code_order[at]].start != start) return;
    gc__drain(); /* stacks that were taken before have this code */
    all->profile.codes[all->code_order[at]].removed_ns = gc__os_now_ns();
    all->code_order_count--;
    memmove(all->code_order + at, all->code_order + at + 1, (all->code_order_count - at) * sizeof *all->code_order);
    all->code_changes++;
}

/* Code of gc_stackmap.h is added or removed. */
GC__FN void gc__code_watch(const void *start, size_t bytes, const char *name, bool is_added) {
    gc__profiling *all = &gc__the_profile;
    gc__lock_take(&gc__profile_lock);
    if (all->on && is_added) gc__code_note(all, start, bytes, name, NULL, 0, gc__os_now_ns());
    if (all->on && !is_added) gc__code_gone(all, (uintptr_t)start);
    gc__lock_release(&gc__profile_lock);
}

GC__FN void gc__code_was_there(void *context, const void *start, size_t bytes, const char *name) {
    gc__code_note((gc__profiling *)context, start, bytes, name, NULL, 0, 0);
}

/* A new profile begins: it has all code that is known, and that gc_stackmap.h has registered. Lock held. */
GC__FN void gc__codes_begin(gc__profiling *all) {
    if (!gc__perf_open(all->profile.options.perf))
        gc__profile_warn(
            "the files for perf (/tmp/perf-PID.map, jit-PID.dump in JITDUMPDIR or here) cannot be written, so "
            "perf will not know the names of compiled code: see that nobody else's are there");
    for (const gc__known_code *code = gc__the_known_codes.first; code; code = code->next)
        gc__code_note(all, code->start, code->bytes, code->name, code->lines, code->line_count, 0);
    __atomic_store_n(&gc__code_watcher, &gc__code_watch, __ATOMIC_RELEASE);
    if (gc__compiled) gc__compiled->each(gc__code_was_there, all);
}

/* The profile ends. Lock held. */
GC__FN void gc__codes_end(void) {
    __atomic_store_n(&gc__code_watcher, (gc__code_watch_call)0, __ATOMIC_RELEASE);
    gc__perf_close();
}

GC_API gc_result gc_profile_code_add(const void *start, size_t bytes, const char *name, const gc_profile_line *lines,
                                     size_t line_count) {
    gc__known_codes *known = &gc__the_known_codes;
    gc__profiling *all = &gc__the_profile;
    if (gc__is_null(start, "gc_profile_code_add", "start") || gc__is_null(name, "gc_profile_code_add", "name"))
        return GC_ERROR_ARGUMENT;
    gc__known_code *code = gc__known_make(start, bytes, name, lines, line_count);
    gc__lock_take(&gc__profile_lock);
    bool ok = code && gc__map_reserve(&known->places, known->places.count + 1);
    if (ok) {
        gc__known_remove(start);
        code->next = known->first;
        if (code->next) code->next->previous = code;
        known->first = code;
        *gc__map_put(&known->places, (uintptr_t)start) = (uintptr_t)code;
    } else {
        free(code);
    }
    if (ok && all->on) ok = gc__code_note(all, start, bytes, name, lines, line_count, gc__os_now_ns());
    gc__lock_release(&gc__profile_lock);
    return ok ? GC_OK : gc__fail(GC_ERROR_MEMORY, "gc_profile_code_add: the system gives no memory for the name");
}

GC_API void gc_profile_code_remove(const void *start) {
    gc__profiling *all = &gc__the_profile;
    gc__lock_take(&gc__profile_lock);
    gc__known_remove(start);
    if (all->on) gc__code_gone(all, (uintptr_t)start);
    gc__lock_release(&gc__profile_lock);
}
/* Names of native code: the symbols of files are read when a profile is written. Code of no file has the names that the host,
   or some compiler in this process, has given it in a perf map. */


/* Maps the file of a module; what is no file is copied. False: it cannot be. */
GC__FN bool gc__names_map(const gc__profile_module *module, const char *path, gc__image *image) {
    if (strcmp(path, GC__OS_NO_FILE) != 0) return !gc__image_map(path, image);
    const Elf64_Ehdr *header = (const Elf64_Ehdr *)(module->start - module->offset);
    size_t bytes = module->end - (uintptr_t)header, all = header->e_shoff + header->e_shnum * sizeof(Elf64_Shdr);
    /* The list of sections may lie in pages behind the code. */
    if (all > bytes && (errno = 0, gc__os_is_mapped(header, all)) && !errno) bytes = all;
    void *copy = gc__os_map(bytes);
    if (!copy) return false;
    memcpy(copy, header, bytes);
    image->bytes = (const uint8_t *)copy;
    image->size = bytes;
    return true;
}

/* Opens the symbols of a module. False: its file is not there, or is another one than was loaded. */
GC__FN bool gc__names_open(gc__profile *profile, uint32_t number, gc__symbols *symbols) {
    const gc__profile_module *module = &profile->modules[number];
    const char *path = gc__profile_text(profile, module->file);
    memset(symbols, 0, sizeof *symbols);
    if (!gc__names_map(module, number == 1 ? GC__OS_PROGRAM_FILE : path, &symbols->image)) return false;
    size_t length = 0;
    const uint8_t *id = gc__image_build_id(&symbols->image, &length);
    if (module->build_id && gc__modules_hex(profile, id, length) != module->build_id) {
        gc__symbols_close(symbols);
        return false;
    }
    gc__symbols_list(symbols, path, GC__IMAGE_CODE);
    return true;
}

/* Of the library of C++, if the program is linked with it. */
extern char *gc__names_demangle(const char *name, char *buffer, size_t *bytes, int *status) __asm__("__cxa_demangle")
    __attribute__((weak));

/* A symbol's name as its language has it, if this process has C++'s library; else as it is. */
GC__FN uint32_t gc__names_add(gc__profile *profile, const char *symbol) {
    int status = 0;
    char *name = strncmp(symbol, "_Z", 2) == 0 && gc__names_demangle != 0
                     ? gc__names_demangle(symbol, NULL, NULL, &status)
                     : NULL;
    uint32_t text = gc__profile_text_add(profile, name ? name : symbol);
    free(name);
    return text;
}

GC__FN void gc__names_use(gc__profile *profile, gc__profile_frame *frame, const gc__symbols *symbols) {
    const gc__profile_module *module = &profile->modules[frame->module];
    uint64_t address = gc__symbols_address(symbols, frame->pc - module->start + module->offset);
    const gc__symbol *symbol = gc__symbols_find(symbols, address);
    if (!symbol) return;
    frame->name = gc__names_add(profile, symbol->name);
    frame->name_start = frame->pc - (uintptr_t)(address - symbol->start);
}

/* A frame of code that the host has named. */
GC__FN void gc__names_use_code(const gc__profile *profile, gc__profile_frame *frame) {
    const gc__profile_code *code = &profile->codes[frame->code];
    frame->name = code->name;
    frame->name_start = code->start;
    for (uint32_t i = 0; i < code->line_count; i++) {
        const gc__profile_line *line = &profile->lines[code->first_line + i];
        if (line->address > frame->pc) return;
        frame->line = line->line;
        frame->file = line->file;
    }
}

/* Lists what a perf map names, which the text is: lines "START BYTES NAME". A line's end becomes a 0. Of two lines for one
   place the later one holds. */
GC__FN void gc__names_list_map(gc__symbols *symbols, char *text) {
    for (char *line = text; line && symbols->count * sizeof *symbols->list < symbols->capacity_bytes;) {
        char *end = strchr(line, '\n'), *at, *name;
        if (end) *end = 0;
        unsigned long long start = strtoull(line, &at, 16), bytes = strtoull(at, &name, 16);
        bool right = at > line && *at == ' ' && name > at && *name == ' ' && name[1] && bytes;
        gc__symbol symbol = {start, bytes, name + right, UINT32_MAX - (uint32_t)symbols->count};
        if (right) symbols->list[symbols->count++] = symbol;
        line = end ? end + 1 : NULL;
    }
    gc__symbols_sort(symbols);
}

/* Opens a perf map. False: there is none that can be read. */
GC__FN bool gc__names_open_map(gc__symbols *symbols, const char *path) {
    gc__image file;
    memset(symbols, 0, sizeof *symbols);
    if (gc__image_map(path, &file)) return false;
    char *text = (char *)gc__os_map(file.size + 1);
    size_t lines = 1;
    for (size_t i = 0; i < file.size; i++) lines += file.bytes[i] == '\n';
    symbols->capacity_bytes = lines * sizeof *symbols->list;
    symbols->list = text ? (gc__symbol *)gc__os_map(symbols->capacity_bytes) : NULL;
    symbols->image.bytes = (const uint8_t *)text;
    symbols->image.size = file.size + 1;
    if (symbols->list) memcpy(text, file.bytes, file.size);
    gc__image_unmap(&file);
    if (symbols->list)
        gc__names_list_map(symbols, text);
    else
        gc__symbols_close(symbols);
    return symbols->list != NULL;
}

/* Names frames of code that is in no file. */
GC__FN void gc__names_use_map(gc__profile *profile) {
    gc__symbols symbols;
    char path[64];
    bool is_open = false;
    snprintf(path, sizeof path, GC__PERF_MAP, profile->process);
    for (size_t i = 1; i < profile->frames_count; i++) {
        gc__profile_frame *frame = &profile->frames[i];
        if (!frame->pc || frame->code || frame->module) continue;
        if (!is_open && !gc__names_open_map(&symbols, path)) return;
        is_open = true;
        const gc__symbol *symbol = gc__symbols_find(&symbols, frame->pc);
        if (!symbol) continue;
        frame->name = gc__profile_text_add(profile, symbol->name);
        frame->name_start = symbol->start;
    }
    if (is_open) gc__symbols_close(&symbols);
}

/* Finds for each native frame its name, module, file and line, and all modules. It runs in a copy of the profile, by the thread
   that writes, and may take long. */
GC__FN void gc__names_find(gc__profile *profile) {
    gc__symbols symbols;
    gc__modules_add(profile);
    for (size_t i = 1; i < profile->frames_count; i++) {
        gc__profile_frame *frame = &profile->frames[i];
        if (frame->code)
            gc__names_use_code(profile, frame);
        else if (frame->pc && !frame->module)
            frame->module = gc__modules_of(profile, frame->pc);
    }
    for (uint32_t module = 1; module < profile->modules_count; module++) {
        bool is_open = false;
        for (size_t i = 1; i < profile->frames_count; i++) {
            if (profile->frames[i].module != module) continue;
            if (!is_open && !gc__names_open(profile, module, &symbols)) break;
            is_open = true;
            gc__names_use(profile, &profile->frames[i], &symbols);
        }
        if (is_open) gc__symbols_close(&symbols);
    }
    gc__names_use_map(profile);
}
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
    size_t count = gc__stack_depth(profile, stack, most);
    for (size_t i = count; i-- > 0; stack = gc__stack_caller(profile, stack)) stacks[i] = stack;
    return count;
}

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
/* Sums over the entries of a profile. */


/* What is in use of an entry, in all generations. */
GC__FN gc__profile_amount gc__entry_live(const gc__profile_entry *entry) {
    gc__profile_amount sum = entry->live[0];
    for (int g = 1; g < GC_GENERATIONS; g++) gc__amount_sum(&sum, &entry->live[g]);
    return sum;
}

/* What was allocated, by type: an array of profile->types_count items, given back by gc__type_totals_free. NULL: there is no
   memory, and the output has failed. */
GC__FN gc__profile_amount *gc__type_totals(const gc__profile *profile, gc__output *output) {
    gc__profile_amount *totals = (gc__profile_amount *)gc__os_map((profile->types_count + 1) * sizeof *totals);
    if (!totals) gc__output_fail(output, ENOMEM);
    for (size_t i = 0; totals && i < profile->entries_count; i++)
        gc__amount_sum(&totals[profile->entries[i].type], &profile->entries[i].allocated);
    return totals;
}

GC__FN void gc__type_totals_free(const gc__profile *profile, gc__profile_amount *totals) {
    gc__os_unmap(totals, (profile->types_count + 1) * sizeof *totals);
}
/* The report as text: types by what was allocated of them, each with its call stacks and their counts, the most first. */


#define GC__REPORT_STACKS_MAX 10 /* that are listed of each type */

/* What an entry stands for: estimated, or as OBJECT or TICK events count it if there are no samples. */
typedef struct gc__report_sum {
    double count, bytes, live_count, live_bytes;
    uint64_t events;
} gc__report_sum;

GC__FN void gc__report_add(gc__report_sum *sum, const gc__profile_entry *entry) {
    const gc__profile_marks *marks = &entry->marks;
    bool samples = entry->allocated.samples != 0, objects = marks->events != 0;
    sum->count += samples ? entry->allocated.count : objects ? (double)marks->objects : (double)marks->ticks;
    sum->bytes += samples ? entry->allocated.bytes : objects ? (double)marks->object_bytes : (double)marks->tick_bytes;
    sum->events += samples ? entry->allocated.samples : objects ? marks->events : marks->ticks;
    gc__profile_amount live = gc__entry_live(entry);
    sum->live_count += live.count;
    sum->live_bytes += live.bytes;
}

/* An entry or a type, and what it is sorted by. */
typedef struct gc__report_item {
    double bytes;
    uint32_t number;
} gc__report_item;

GC__FN int gc__report_compare(const void *a, const void *b) {
    const gc__report_item *x = (const gc__report_item *)a, *y = (const gc__report_item *)b;
    if (x->bytes != y->bytes) return x->bytes < y->bytes ? 1 : -1;
    return x->number < y->number ? -1 : x->number > y->number;
}

/* Entries of one type, sorted, with their sums. */
GC__FN size_t gc__report_entries(const gc__profile *profile, uint32_t type, gc__report_item *items) {
    size_t count = 0;
    for (size_t i = 0; i < profile->entries_count; i++) {
        gc__report_sum sum = {0, 0, 0, 0, 0};
        if (profile->entries[i].type != type) continue;
        gc__report_add(&sum, &profile->entries[i]);
        items[count].number = (uint32_t)i;
        items[count++].bytes = sum.bytes;
    }
    qsort(items, count, sizeof *items, gc__report_compare);
    return count;
}

GC__FN void gc__report_stack(const gc__profile *profile, const gc__profile_entry *entry, gc__output *output) {
    gc__report_sum sum = {0, 0, 0, 0, 0};
    char text[24];
    gc__report_add(&sum, entry);
    gc__put_format(output, "  %.0f objects, %.0f bytes (%llu events)", sum.count, sum.bytes,
                   (unsigned long long)sum.events);
    if (sum.live_count > 0) gc__put_format(output, "; in use: %.0f, %.0f bytes", sum.live_count, sum.live_bytes);
    gc__put_byte(output, '\n');
    for (uint32_t stack = entry->stack; stack; stack = gc__stack_caller(profile, stack)) {
        const gc__profile_frame *frame = gc__profile_frame_of(profile, stack);
        gc__put_text(output, "      ");
        gc__folded_put(output, gc__frame_name(profile, frame, text));
        if (frame->file) {
            gc__put_text(output, " at ");
            gc__folded_put(output, gc__profile_text(profile, frame->file));
        }
        if (frame->file && frame->line) gc__put_format(output, ":%u", (unsigned)frame->line);
        gc__put_byte(output, '\n');
    }
}

GC__FN void gc__report_type(const gc__profile *profile, uint32_t type, gc__report_item *items, gc__output *output) {
    gc__report_sum sum = {0, 0, 0, 0, 0};
    double died[GC_GENERATIONS] = {0}, all = 0;
    size_t count = gc__report_entries(profile, type, items);
    for (size_t i = 0; i < count; i++) {
        const gc__profile_entry *entry = &profile->entries[items[i].number];
        gc__report_add(&sum, entry);
        for (int g = 0; g < GC_GENERATIONS; g++) {
            died[g] += entry->died[g].count;
            all += entry->died[g].count + entry->live[g].count;
        }
    }
    gc__put_byte(output, '\n');
    gc__folded_put(output, gc__profile_type_name(profile, type));
    gc__put_format(output, ": %.0f objects, %.0f bytes (%llu events)", sum.count, sum.bytes,
                   (unsigned long long)sum.events);
    if (all > 0)
        gc__put_format(output, "; in use: %.0f, %.0f bytes; of 100 died %.0f young, %.0f in generation 1, %.0f in 2",
                       sum.live_count, sum.live_bytes, 100 * died[0] / all, 100 * died[1] / all, 100 * died[2] / all);
    gc__put_byte(output, '\n');
    for (size_t i = 0; i < count && i < GC__REPORT_STACKS_MAX; i++)
        gc__report_stack(profile, &profile->entries[items[i].number], output);
    if (count > GC__REPORT_STACKS_MAX)
        gc__put_format(output, "  and %zu other stacks\n", count - GC__REPORT_STACKS_MAX);
}

/* What the profile is, and what it lacks. */
GC__FN void gc__report_head(const gc__profile *profile, gc__output *output) {
    uint64_t pause_ns = 0, longest_ns = 0;
    for (size_t i = 0; i < profile->collections_count; i++) {
        uint64_t ns = gc__ns_since(profile->collections[i].end_ns, profile->collections[i].asked_ns);
        pause_ns += ns;
        if (ns > longest_ns) longest_ns = ns;
    }
    gc__put_format(output, "%.3f s, %llu bytes allocated; a byte in %llu is sampled\n",
                   (double)gc__ns_since(profile->end_ns, profile->start_ns) / 1e9, (unsigned long long)profile->allocated_bytes,
                   (unsigned long long)profile->options.period_bytes);
    gc__put_format(output, "%zu collections, %.3f ms in all, the longest %.3f ms\n", profile->collections_count,
                   (double)pause_ns / 1e6, (double)longest_ns / 1e6);
    if (profile->lost_events | profile->lost_samples | profile->lost_collections)
        gc__put_format(output, "lost: %llu events, %llu of them samples; %llu collections\n",
                       (unsigned long long)profile->lost_events, (unsigned long long)profile->lost_samples,
                       (unsigned long long)profile->lost_collections);
}

GC__FN void gc__write_report(const gc__profile *profile, gc__output *output) {
    size_t most = gc__max(profile->entries_count, profile->types_count) + 1, bytes = most * sizeof(gc__report_item);
    gc__report_item *items = (gc__report_item *)gc__os_map(2 * bytes), *types = items + most;
    gc__report_head(profile, output);
    if (!items) {
        gc__output_fail(output, ENOMEM);
        return;
    }
    for (size_t i = 0; i < profile->types_count; i++) types[i].number = (uint32_t)i;
    for (size_t i = 0; i < profile->entries_count; i++) {
        gc__report_sum sum = {0, 0, 0, 0, 0};
        gc__report_add(&sum, &profile->entries[i]);
        types[profile->entries[i].type].bytes += sum.bytes;
    }
    qsort(types, profile->types_count, sizeof *types, gc__report_compare);
    for (size_t i = 0; i < profile->types_count && types[i].bytes > 0; i++)
        gc__report_type(profile, types[i].number, items, output);
    gc__os_unmap(items, 2 * bytes);
}
/* Texts of the host in formats with rules of their own. A name may hold any bytes: what is not UTF-8 becomes U+FFFD. */


#define GC__NOT_A_CHARACTER 0xFFFDu
#define GC__TEXT_CHARACTERS_MAX 1024 /* longer names are clipped, as V8 clips the contents of strings */

/* The length of a sequence by its first byte, 0 if none begins so; and the least character that needs that many bytes. */
GC__FN unsigned gc__utf8_length(unsigned char first) {
    return first < 0x80 ? 1 : first < 0xC2 ? 0 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : first < 0xF5 ? 4 : 0;
}

/* Takes the next character of a text that ends in 0. */
GC__FN uint32_t gc__utf8_next(const char **text) {
    static const uint32_t least[] = {0, 0, 0x80, 0x800, 0x10000};
    const unsigned char *at = (const unsigned char *)*text;
    unsigned length = gc__utf8_length(*at), i = 1;
    uint32_t character = length > 1 ? *at & (0x7Fu >> length) : *at;
    *text += 1;
    if (length < 2) return length ? character : GC__NOT_A_CHARACTER;
    for (; i < length && (at[i] & 0xC0) == 0x80; i++) character = character << 6 | (at[i] & 0x3F);
    bool surrogate = character >= 0xD800 && character < 0xE000;
    if (i < length || character < least[length] || character > 0x10FFFF || surrogate) return GC__NOT_A_CHARACTER;
    *text += length - 1;
    return character;
}

/* Writes a character as UTF-8; returns how many bytes that takes, at most 4. */
GC__FN size_t gc__utf8_put(char *to, uint32_t c) {
    if (c < 0x80) return to[0] = (char)c, 1;
    if (c < 0x800) return to[0] = (char)(0xC0 | c >> 6), to[1] = (char)(0x80 | (c & 0x3F)), 2;
    size_t length = c < 0x10000 ? 3 : 4;
    to[0] = (char)((length == 3 ? 0xE0 : 0xF0) | c >> (6 * (length - 1)));
    for (size_t i = 1; i < length; i++) to[i] = (char)(0x80 | (c >> (6 * (length - 1 - i)) & 0x3F));
    return length;
}

#define GC__ESCAPED_BYTES_MAX 8

/* A character within a string of JSON, which may stand in a script of HTML or XML: < > & are escaped, too. */
GC__FN size_t gc__json_put(char *to, uint32_t c) {
    bool control = c < 0x20 || c == 0x7F || c == 0x2028 || c == 0x2029;
    if (control || c == '<' || c == '>' || c == '&')
        return (size_t)snprintf(to, GC__ESCAPED_BYTES_MAX, "\\u%04x", (unsigned)c);
    if (c == '"' || c == '\\') return to[0] = '\\', to[1] = (char)c, 2;
    return gc__utf8_put(to, c);
}

/* A character of a text or attribute of XML or HTML, which have no way to say most control characters. */
GC__FN size_t gc__xml_put(char *to, uint32_t c) {
    const char *name = c == '&'    ? "&amp;"
                       : c == '<'  ? "&lt;"
                       : c == '>'  ? "&gt;"
                       : c == '"'  ? "&quot;"
                       : c == '\'' ? "&#39;"
                                   : NULL;
    if (name) return (size_t)snprintf(to, GC__ESCAPED_BYTES_MAX, "%s", name);
    bool unspeakable = (c < 0x20 && c != '\t' && c != '\n') || (c >= 0x7F && c < 0xA0) || (c & 0xFFFE) == 0xFFFE;
    return gc__utf8_put(to, unspeakable ? GC__NOT_A_CHARACTER : c);
}

GC__FN void gc__put_escaped(gc__output *output, const char *text, size_t (*put)(char *to, uint32_t character)) {
    size_t left = GC__TEXT_CHARACTERS_MAX;
    for (; *text && left && gc__output_reserve(output, GC__ESCAPED_BYTES_MAX); left--)
        output->used += put(output->buffer + output->used, gc__utf8_next(&text));
    if (*text) gc__put_text(output, "...");
}

/* A text as a string of JSON. */
GC__FN void gc__put_json(gc__output *output, const char *text) {
    gc__put_byte(output, '"');
    gc__put_escaped(output, text, gc__json_put);
    gc__put_byte(output, '"');
}

/* A text within XML or HTML. */
GC__FN void gc__put_xml(gc__output *output, const char *text) { gc__put_escaped(output, text, gc__xml_put); }

#define GC__NUMBER_BYTES_MAX 20

/* The digits of a number, which end at `end`. Returns where they begin. */
GC__INLINED char *gc__digits(char *end, uint64_t number) {
    if (number < 10) {
        *--end = (char)('0' + number);
        return end;
    }
    static const char pairs[] =
        "00010203040506070809101112131415161718192021222324252627282930313233343536373839404142434445464748"
        "495051525354555657585960616263646566676869707172737475767778798081828384858687888990919293949596"
        "979899";
    for (; number >= 100; number /= 100) {
        end -= 2;
        memcpy(end, pairs + 2 * (number % 100), 2);
    }
    *--end = pairs[2 * number + 1];
    if (number >= 10) *--end = pairs[2 * number];
    return end;
}
/* pprof's format: a message of Protocol Buffers. Each field is a tag (its number * 8 + its wire type), and a number in pieces
   of seven bits, or for wire type 2 a length and so many bytes.

   Strings are those of the profile's texts, and those that the format itself needs. Each field of the profile is complete in
   itself, and comes after all that it refers to. */


/* A message that is a field of another one, while it is built: of bounded length, since lists are clipped. */
typedef struct gc__pb {
    size_t used;
    uint8_t bytes[GC__PROFILE_DEPTH_MAX * 10 + 256];
} gc__pb;

/* What a field is, by the proto file. */
enum {
    GC__PB_SAMPLE_TYPE = 1,
    GC__PB_SAMPLE = 2,
    GC__PB_MAPPING = 3,
    GC__PB_LOCATION = 4,
    GC__PB_FUNCTION = 5,
    GC__PB_STRING = 6,
    GC__PB_TIME = 9,
    GC__PB_DURATION = 10,
    GC__PB_PERIOD_TYPE = 11,
    GC__PB_PERIOD = 12,
    GC__PB_COMMENT = 13,
    GC__PB_DEFAULT_TYPE = 14
};

/* Strings of the format itself, by their numbers. X(NAME, text). Number 0 must be empty. */
#define GC__PB_STRINGS(X)             \
    X(NONE, "")                       \
    X(ALLOC_OBJECTS, "alloc_objects") \
    X(COUNT, "count")                 \
    X(ALLOC_SPACE, "alloc_space")     \
    X(BYTES, "bytes")                 \
    X(INUSE_OBJECTS, "inuse_objects") \
    X(INUSE_SPACE, "inuse_space")     \
    X(SPACE, "space")                 \
    X(TYPE, "type")                   \
    X(NO_STACK, "(no stack)")

typedef enum gc__pb_string {
#define GC__PB_STRING_NAME(name, text) GC__PB_TEXT_##name,
    GC__PB_STRINGS(GC__PB_STRING_NAME)
#undef GC__PB_STRING_NAME
        GC__PB_STRING_COUNT
} gc__pb_string;

typedef struct gc__pb_writer {
    const gc__profile *profile;
    gc__output *output;
    uint32_t *strings;   /* by the number of a text: that of its string */
    uint32_t *functions; /* by the number of a frame: that of its function */
    uint32_t string_count, function_count;
} gc__pb_writer;

GC__FN void gc__pb_raw(gc__pb *message, uint64_t number) {
    do {
        message->bytes[message->used++] = (uint8_t)(number & 127) | (uint8_t)((number > 127) << 7);
        number >>= 7;
    } while (number);
}

/* Adds a number to the message, as a field; 0 is left out. */
GC__FN void gc__pb_number(gc__pb *message, unsigned field, uint64_t number) {
    if (!number) return;
    gc__pb_raw(message, field << 3);
    gc__pb_raw(message, number);
}

GC__FN void gc__pb_message(gc__pb *message, unsigned field, const gc__pb *part) {
    gc__pb_raw(message, field << 3 | 2);
    gc__pb_raw(message, part->used);
    memcpy(message->bytes + message->used, part->bytes, part->used);
    message->used += part->used;
}

/* Puts bytes as a field of the profile. */
GC__FN void gc__pb_put(gc__output *output, unsigned field, const void *data, size_t bytes) {
    gc__pb head;
    head.used = 0;
    gc__pb_raw(&head, field << 3 | 2);
    gc__pb_raw(&head, bytes);
    gc__put(output, head.bytes, head.used);
    gc__put(output, data, bytes);
}

GC__FN void gc__pb_put_message(gc__output *output, unsigned field, gc__pb *message) {
    gc__pb_put(output, field, message->bytes, message->used);
    message->used = 0;
}

GC__FN void gc__pb_put_number(gc__output *output, unsigned field, uint64_t number) {
    gc__pb message;
    message.used = 0;
    gc__pb_number(&message, field, number);
    gc__put(output, message.bytes, message.used);
}

/* Puts a string, whose text may be any bytes; returns its number. */
GC__FN uint32_t gc__pb_put_string(gc__pb_writer *writer, const char *text) {
    char valid[4 * GC__TEXT_CHARACTERS_MAX];
    size_t used = 0;
    for (size_t i = 0; *text && i < GC__TEXT_CHARACTERS_MAX; i++)
        used += gc__utf8_put(valid + used, gc__utf8_next(&text));
    gc__pb_put(writer->output, GC__PB_STRING, valid, used);
    return writer->string_count++;
}

GC__FN void gc__pb_put_strings(gc__pb_writer *writer) {
#define GC__PB_STRING_PUT(name, text) gc__pb_put_string(writer, text);
    GC__PB_STRINGS(GC__PB_STRING_PUT)
#undef GC__PB_STRING_PUT
    const char *texts = writer->profile->texts;
    for (size_t at = 1; at < writer->profile->texts_count; at += strlen(texts + at) + 1)
        writer->strings[at] = gc__pb_put_string(writer, texts + at);
}

/* What samples count, and how they were taken. */
GC__FN void gc__pb_put_head(gc__pb_writer *writer) {
    static const uint8_t types[][2] = {{GC__PB_TEXT_ALLOC_OBJECTS, GC__PB_TEXT_COUNT},
                                       {GC__PB_TEXT_ALLOC_SPACE, GC__PB_TEXT_BYTES},
                                       {GC__PB_TEXT_INUSE_OBJECTS, GC__PB_TEXT_COUNT},
                                       {GC__PB_TEXT_INUSE_SPACE, GC__PB_TEXT_BYTES},
                                       {GC__PB_TEXT_SPACE, GC__PB_TEXT_BYTES}};
    const gc__profile *profile = writer->profile;
    gc__pb message;
    message.used = 0;
    for (int i = 0; i < 5; i++) {
        gc__pb_number(&message, 1, types[i][0]);
        gc__pb_number(&message, 2, types[i][1]);
        gc__pb_put_message(writer->output, i < 4 ? GC__PB_SAMPLE_TYPE : GC__PB_PERIOD_TYPE, &message);
    }
    gc__pb_put_number(writer->output, GC__PB_PERIOD, profile->options.period_bytes);
    gc__pb_put_number(writer->output, GC__PB_TIME, profile->start_utc_ns);
    gc__pb_put_number(writer->output, GC__PB_DURATION, gc__ns_since(profile->end_ns, profile->start_ns));
    gc__pb_put_number(writer->output, GC__PB_DEFAULT_TYPE, GC__PB_TEXT_INUSE_SPACE);
}

/* Says how much is missing, if anything is: `pprof -comments` shows it. */
GC__FN void gc__pb_put_comments(gc__pb_writer *writer) {
    const gc__profile *profile = writer->profile;
    char text[96];
    if (!profile->lost_samples && !profile->cut_stacks) return;
    snprintf(text, sizeof text, "%llu samples lost, %llu stacks cut to %u frames",
             (unsigned long long)profile->lost_samples, (unsigned long long)profile->cut_stacks,
             profile->options.depth_max);
    gc__pb_put_number(writer->output, GC__PB_COMMENT, gc__pb_put_string(writer, text));
}

GC__FN void gc__pb_put_mappings(gc__pb_writer *writer) {
    gc__pb message;
    message.used = 0;
    for (size_t i = 1; i < writer->profile->modules_count; i++) {
        const gc__profile_module *module = &writer->profile->modules[i];
        gc__pb_number(&message, 1, i);
        gc__pb_number(&message, 2, module->start);
        gc__pb_number(&message, 3, module->end);
        gc__pb_number(&message, 4, module->offset);
        gc__pb_number(&message, 5, writer->strings[module->file]);
        gc__pb_number(&message, 6, writer->strings[module->build_id]);
        gc__pb_number(&message, 7, 1); /* functions are named, as far as symbols name them */
        gc__pb_put_message(writer->output, GC__PB_MAPPING, &message);
    }
}

/* What tells functions apart: several of one file may have the same name. */
typedef struct gc__pb_function {
    uint32_t name, file;
    uintptr_t start;
} gc__pb_function;

GC__FN gc__pb_function gc__pb_function_of(const gc__profile_frame *frame) {
    gc__pb_function function = {frame->name, frame->file, frame->name_start};
    return function;
}

GC__FN bool gc__pb_function_equal(const gc__profile *profile, uint32_t number, const void *key, size_t bytes) {
    gc__pb_function function = gc__pb_function_of(&profile->frames[number]);
    return memcmp(&function, key, bytes) == 0;
}

GC__FN void gc__pb_put_function(gc__pb_writer *writer, const gc__profile_frame *frame) {
    gc__pb message;
    message.used = 0;
    gc__pb_number(&message, 1, ++writer->function_count);
    gc__pb_number(&message, 2, writer->strings[frame->name]);
    if (frame->module) gc__pb_number(&message, 3, writer->strings[frame->name]); /* which has readers demangle it */
    gc__pb_number(&message, 4, writer->strings[frame->file]);
    gc__pb_put_message(writer->output, GC__PB_FUNCTION, &message);
}

/* Puts a function for each name, and remembers that of each frame. */
GC__FN void gc__pb_put_functions(gc__pb_writer *writer) {
    const gc__profile *profile = writer->profile;
    gc__profile_index index = {NULL, 0, 0};
    for (uint32_t i = 1; i < profile->frames_count; i++) {
        if (!profile->frames[i].name || !gc__index_reserve(&index)) continue;
        gc__pb_function key = gc__pb_function_of(&profile->frames[i]);
        uint64_t hash = gc__index_hash(&key, sizeof key);
        uint64_t *place = gc__index_place(profile, &index, hash, gc__pb_function_equal, &key, sizeof key);
        if (!*place) {
            gc__pb_put_function(writer, &profile->frames[i]);
            writer->functions[i] = writer->function_count;
            gc__index_set(&index, place, hash, i);
        } else {
            writer->functions[i] = writer->functions[(uint32_t)*place];
        }
    }
    if (index.capacity) gc__os_unmap(index.places, index.capacity * sizeof *index.places);
}

/* A location is a frame. The first one stands for stacks that are not known. */
GC__FN void gc__pb_put_locations(gc__pb_writer *writer) {
    const gc__profile *profile = writer->profile;
    gc__pb message, line;
    message.used = line.used = 0;
    for (uint32_t i = 0; i < profile->frames_count; i++) {
        const gc__profile_frame *frame = &profile->frames[i];
        gc__pb_number(&message, 1, i + 1);
        gc__pb_number(&message, 2, frame->module);
        gc__pb_number(&message, 3, frame->pc);
        gc__pb_number(&line, 1, writer->functions[i]);
        gc__pb_number(&line, 2, frame->line);
        if (writer->functions[i]) gc__pb_message(&message, 4, &line);
        line.used = 0;
        gc__pb_put_message(writer->output, GC__PB_LOCATION, &message);
    }
}

/* A sample's labels: the type, and the mean size of its objects. */
GC__FN void gc__pb_add_labels(gc__pb_writer *writer, gc__pb *message, const gc__profile_entry *entry) {
    gc__pb label;
    label.used = 0;
    gc__pb_number(&label, 1, GC__PB_TEXT_TYPE);
    gc__pb_number(&label, 2, writer->strings[writer->profile->types[entry->type].name]);
    gc__pb_message(message, 3, &label);
    label.used = 0;
    gc__pb_number(&label, 1, GC__PB_TEXT_BYTES);
    gc__pb_number(&label, 3, gc__profile_whole(entry->allocated.bytes / entry->allocated.count));
    gc__pb_number(&label, 4, GC__PB_TEXT_BYTES);
    gc__pb_message(message, 3, &label);
}

GC__FN void gc__pb_put_sample(gc__pb_writer *writer, const gc__profile_entry *entry) {
    const gc__profile *profile = writer->profile;
    gc__profile_amount live = gc__entry_live(entry);
    const uint64_t values[] = {gc__profile_whole(entry->allocated.count), gc__profile_whole(entry->allocated.bytes),
                               gc__profile_whole(live.count), gc__profile_whole(live.bytes)};
    gc__pb message, list;
    message.used = list.used = 0;
    if (!entry->stack) gc__pb_raw(&list, 1);
    for (uint32_t at = entry->stack, left = GC__PROFILE_DEPTH_MAX; at && left;
         at = gc__stack_caller(profile, at), left--)
        gc__pb_raw(&list, gc__stack_frame_number(profile, at) + 1);
    gc__pb_message(&message, 1, &list);
    list.used = 0;
    for (int i = 0; i < 4; i++) gc__pb_raw(&list, values[i]);
    gc__pb_message(&message, 2, &list);
    gc__pb_add_labels(writer, &message, entry);
    gc__pb_put_message(writer->output, GC__PB_SAMPLE, &message);
}

GC__FN void gc__pb_put_profile(gc__pb_writer *writer) {
    const gc__profile *profile = writer->profile;
    gc__pb message;
    message.used = 0;
    gc__pb_put_strings(writer);
    gc__pb_put_head(writer);
    gc__pb_put_comments(writer);
    gc__pb_put_mappings(writer);
    gc__pb_number(&message, 1, ++writer->function_count);
    gc__pb_number(&message, 2, GC__PB_TEXT_NO_STACK);
    gc__pb_put_message(writer->output, GC__PB_FUNCTION, &message);
    writer->functions[0] = writer->function_count;
    gc__pb_put_functions(writer);
    gc__pb_put_locations(writer);
    for (size_t i = 0; i < profile->entries_count; i++)
        if (profile->entries[i].allocated.samples) gc__pb_put_sample(writer, &profile->entries[i]);
}

GC__FN void gc__write_pprof(const gc__profile *profile, gc__output *output) {
    gc__pb_writer writer = {profile, output, NULL, NULL, 0, 0};
    size_t string_bytes = profile->texts_count * sizeof *writer.strings;
    size_t function_bytes = profile->frames_count * sizeof *writer.functions;
    writer.strings = (uint32_t *)gc__os_map(string_bytes);
    writer.functions = (uint32_t *)gc__os_map(function_bytes);
    if (writer.strings && writer.functions)
        gc__pb_put_profile(&writer);
    else
        gc__output_fail(output, ENOMEM);
    if (writer.strings) gc__os_unmap(writer.strings, string_bytes);
    if (writer.functions) gc__os_unmap(writer.functions, function_bytes);
}
/* The format of .NET's event pipe, "nettrace": a container of objects, each of which has the name of its type, its versions and
   its contents. Metadata say which event a number means; stacks come before the events that have them; events come in
   the order of time.

   An event of a block is stored as its difference from the one before. Only what the block begins with is known then, so a
   block stands for itself. */


#define GC__NETTRACE_BLOCK_BYTES ((size_t)1 << 15) /* of a block, after which a new one begins */
#define GC__NETTRACE_PAYLOAD_BYTES 8192            /* of an event at most; readers have 16 bits for that */

typedef enum gc__nettrace_provider {
    GC__NETTRACE_RUNTIME,
    GC__NETTRACE_RUNDOWN,
    GC__NETTRACE_OWN
} gc__nettrace_provider;

/* The events of the CLR that are written, and one of our own, a text. X(NAME, provider, id, version, level, keywords). */
#define GC__NETTRACE_EVENTS(X)                                          \
    X(COLLECTION_START, GC__NETTRACE_RUNTIME, 1, 2, 4, 0x1)             \
    X(COLLECTION_END, GC__NETTRACE_RUNTIME, 2, 1, 4, 0x1)               \
    X(RESTART_END, GC__NETTRACE_RUNTIME, 3, 1, 4, 0x1)                  \
    X(HEAP_STATS, GC__NETTRACE_RUNTIME, 4, 2, 4, 0x1)                   \
    X(RESTART_BEGIN, GC__NETTRACE_RUNTIME, 7, 1, 4, 0x1)                \
    X(SUSPEND_END, GC__NETTRACE_RUNTIME, 8, 1, 4, 0x1)                  \
    X(SUSPEND_BEGIN, GC__NETTRACE_RUNTIME, 9, 1, 4, 0x1)                \
    X(TICK, GC__NETTRACE_RUNTIME, 10, 4, 5, 0x1)                        \
    X(BULK_TYPE, GC__NETTRACE_RUNTIME, 15, 0, 4, 0x80000)               \
    X(OBJECT_HIGH, GC__NETTRACE_RUNTIME, 20, 0, 4, 0x200000)            \
    X(FINALIZE, GC__NETTRACE_RUNTIME, 29, 0, 5, 0x1)                    \
    X(HANDLE_CREATED, GC__NETTRACE_RUNTIME, 30, 0, 4, 0x2)              \
    X(HANDLE_DESTROYED, GC__NETTRACE_RUNTIME, 31, 0, 4, 0x2)            \
    X(OBJECT_LOW, GC__NETTRACE_RUNTIME, 32, 0, 4, 0x2000000)            \
    X(METHOD_LOAD, GC__NETTRACE_RUNTIME, 143, 2, 4, 0x30)               \
    X(SAMPLE, GC__NETTRACE_RUNTIME, 303, 0, 4, (uint64_t)0x80000000000) \
    X(METHOD_RUNDOWN, GC__NETTRACE_RUNDOWN, 144, 2, 4, 0x10)            \
    X(MODULE_RUNDOWN, GC__NETTRACE_RUNDOWN, 154, 2, 4, 0x8)             \
    X(NOTE, GC__NETTRACE_OWN, 1, 0, 4, 0x1)

/* Their numbers in the file. */
typedef enum gc__nettrace_event {
    GC__NETTRACE_NO_EVENT,
#define GC__NETTRACE_NUMBER(name, provider, id, version, level, keywords) GC__NETTRACE_##name,
    GC__NETTRACE_EVENTS(GC__NETTRACE_NUMBER)
#undef GC__NETTRACE_NUMBER
} gc__nettrace_event;

/* Contents of a block or of an event while it is made. */
typedef struct gc__nettrace_bytes {
    uint8_t *bytes;
    size_t used, capacity;
} gc__nettrace_bytes;

typedef struct gc__nettrace {
    const gc__profile *profile;
    gc__output *output;
    gc__nettrace_bytes block, stacks_block, payload;
    uint64_t block_first_ns, last_ns; /* of the block; of the last event in it */
    uint64_t written_ns;              /* of the last event of all */
    uint32_t last_sequence;           /* in the block */
    uint32_t thread, stack;           /* of the event that is being made; no thread: of all */
    uint32_t stack_count;             /* that have a number in the file */
    uint32_t stacks_written;          /* of these; the rest is in stacks_block */
    gc__map stacks;                   /* their numbers, by those of the profile */
    gc__map sequences;                /* by thread: the number of its last event */
    uint32_t frames_done, types_done; /* of the profile: the file has them */
    uint32_t collections;             /* the number of the last one that started */
    gc__map stops;                    /* by thread: what it has stopped, for a collection of one of the heaps */
} gc__nettrace;

/* Making contents. */

GC__FN void gc__net_put(gc__nettrace_bytes *to, const void *data, size_t bytes) {
    if (bytes > to->capacity - to->used) return; /* the caller has left room */
    memcpy(to->bytes + to->used, data, bytes);
    to->used += bytes;
}
GC__FN void gc__net_u8(gc__nettrace_bytes *to, unsigned number) {
    uint8_t byte = (uint8_t)number;
    gc__net_put(to, &byte, 1);
}
GC__FN void gc__net_u16(gc__nettrace_bytes *to, unsigned number) {
    uint16_t half = GC__LITTLE(16, (uint16_t)number);
    gc__net_put(to, &half, sizeof half);
}
GC__FN void gc__net_u32(gc__nettrace_bytes *to, uint64_t number) {
    uint32_t word = GC__LITTLE(32, (uint32_t)number);
    gc__net_put(to, &word, sizeof word);
}
GC__FN void gc__net_u64(gc__nettrace_bytes *to, uint64_t number) {
    number = GC__LITTLE(64, number);
    gc__net_put(to, &number, sizeof number);
}

/* Makes of a number in the processor's order of bytes one in the file's, the lowest first. */
GC__FN void gc__net_turn(uint8_t *number, size_t bytes) {
    if (__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__) return;
    for (size_t i = 0; i < bytes / 2; i++) {
        uint8_t byte = number[i];
        number[i] = number[bytes - 1 - i];
        number[bytes - 1 - i] = byte;
    }
}

/* A number in pieces of seven bits. */
GC__FN void gc__net_pieces(gc__nettrace_bytes *to, uint64_t number) {
    for (; number > 127; number >>= 7) gc__net_u8(to, (unsigned)(number & 127) | 128);
    gc__net_u8(to, (unsigned)number);
}

/* A text in UTF-16, with a zero. */
GC__FN void gc__net_text(gc__nettrace_bytes *to, const char *text) {
    for (size_t left = GC__TEXT_CHARACTERS_MAX; *text && left; left--) {
        uint32_t character = gc__utf8_next(&text);
        if (character >= 0x10000) {
            gc__net_u16(to, 0xD800 + ((character - 0x10000) >> 10));
            character = 0xDC00 + ((character - 0x10000) & 0x3FF);
        }
        gc__net_u16(to, character);
    }
    gc__net_u16(to, 0);
}

/* Objects of the container. */

/* Begins an object: a block is one with an alignment. */
GC__FN void gc__net_object(gc__output *output, const char *name, uint32_t version) {
    version = GC__LITTLE(32, version);
    uint32_t words[3] = {version, version, GC__LITTLE(32, (uint32_t)strlen(name))};
    gc__put(output, "\5\5\1", 3);
    gc__put(output, words, sizeof words);
    gc__put_text(output, name);
    gc__put_byte(output, 6);
}

GC__FN void gc__net_put_block(gc__output *output, const char *name, const gc__nettrace_bytes *contents) {
    uint32_t size = GC__LITTLE(32, (uint32_t)contents->used);
    gc__net_object(output, name, 2);
    gc__put(output, &size, sizeof size);
    gc__put(output, "\0\0\0", (size_t)(0 - gc__output_position(output)) % 4); /* a file that failed stays where it was */
    gc__put(output, contents->bytes, contents->used);
    gc__put_byte(output, 6);
    gc__output_record(output);
}

/* Blocks of events. */

GC__FN void gc__net_block_begin(gc__nettrace *self) {
    self->block.used = 0;
    self->last_ns = self->block_first_ns = 0;
    self->last_sequence = 0;
    gc__net_u16(&self->block, 20);
    gc__net_u16(&self->block, 1);
    gc__net_u64(&self->block, 0);
    gc__net_u64(&self->block, 0);
}

GC__FN void gc__net_block_end(gc__nettrace *self) {
    if (self->block.used <= 20) return;
    memcpy(self->block.bytes + 4, &self->block_first_ns, 8);
    memcpy(self->block.bytes + 12, &self->last_ns, 8);
    gc__net_turn(self->block.bytes + 4, 8);
    gc__net_turn(self->block.bytes + 12, 8);
    gc__net_put_block(self->output, "EventBlock", &self->block);
    gc__net_block_begin(self);
}

/* Numbers the thread's next events: the last one's number. Readers take numbers without an event for lost events. */
GC__FN uint32_t gc__net_sequence(gc__nettrace *self, uint64_t count) {
    if (!gc__map_reserve(&self->sequences, self->sequences.count + 1)) return 1;
    uintptr_t *last = gc__map_put(&self->sequences, self->thread + (uintptr_t)1);
    *last += (uintptr_t)count;
    return (uint32_t)*last;
}

/* Adds the event whose contents are in `payload`. All are marked as sorted: none that follows has an earlier time. */
GC__FN void gc__net_event(gc__nettrace *self, gc__nettrace_event event, uint64_t time_ns) {
    gc__nettrace_bytes *to = &self->block;
    if (to->used + self->payload.used + 64 > to->capacity) gc__net_block_end(self);
    uint32_t sequence = gc__net_sequence(self, 1);
    if (time_ns < self->written_ns) time_ns = self->written_ns;
    self->written_ns = time_ns;
    gc__net_u8(to, 1 | 2 | 4 | 8 | 64 | 128);
    gc__net_pieces(to, (uint64_t)event);
    gc__net_pieces(to, (uint32_t)(sequence - self->last_sequence - 1));
    gc__net_pieces(to, self->thread);
    gc__net_pieces(to, 0); /* processor */
    gc__net_pieces(to, self->thread);
    gc__net_pieces(to, self->stack);
    gc__net_pieces(to, gc__ns_since(time_ns, self->last_ns));
    gc__net_pieces(to, self->payload.used);
    gc__net_put(to, self->payload.bytes, self->payload.used);
    if (!self->block_first_ns) self->block_first_ns = time_ns;
    self->last_ns = time_ns;
    self->last_sequence = sequence;
    self->payload.used = 0;
}

/* The beginning of a file. */

GC__FN const char *gc__net_provider_name(gc__nettrace_provider provider) {
    static const char *const names[] = {"Microsoft-Windows-DotNETRuntime", "Microsoft-Windows-DotNETRuntimeRundown",
                                        "gc.h"};
    return names[provider];
}

/* Readers know the names and the fields of the CLR's events by the provider's name and the event's number. */
GC__FN void gc__net_put_metadata(gc__nettrace *self) {
    static const struct {
        gc__nettrace_provider provider;
        uint32_t id, version, level;
        uint64_t keywords;
    } events[] = {
#define GC__NETTRACE_METADATA(name, provider, id, version, level, keywords) {provider, id, version, level, keywords},
        GC__NETTRACE_EVENTS(GC__NETTRACE_METADATA)
#undef GC__NETTRACE_METADATA
    };
    gc__nettrace_bytes *payload = &self->payload;
    for (uint32_t i = 0; i < sizeof events / sizeof *events; i++) {
        gc__net_u32(payload, i + 1);
        gc__net_text(payload, gc__net_provider_name(events[i].provider));
        gc__net_u32(payload, events[i].id);
        bool is_own = events[i].provider == GC__NETTRACE_OWN;
        gc__net_text(payload, is_own ? "Note" : "");
        gc__net_u64(payload, events[i].keywords);
        gc__net_u32(payload, events[i].version);
        gc__net_u32(payload, events[i].level);
        gc__net_u32(payload, is_own);
        if (is_own) {
            gc__net_u32(payload, 18); /* a text */
            gc__net_text(payload, "Text");
        }
        gc__net_u8(&self->block, 128);
        gc__net_pieces(&self->block, 0);
        gc__net_pieces(&self->block, payload->used);
        gc__net_put(&self->block, payload->bytes, payload->used);
        payload->used = 0;
    }
    gc__net_put_block(self->output, "MetadataBlock", &self->block);
    gc__net_block_begin(self);
}

/* The time of day in the fields that the format has: year, month, day of the week, day, hour, minute, second, ms. */
GC__FN void gc__net_put_date(gc__nettrace_bytes *to, uint64_t utc_ns) {
    uint64_t ms = utc_ns / 1000000, seconds = ms / 1000, days = seconds / 86400, year = 1970, month = 0;
    static const uint8_t month_days[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
    uint64_t weekday = (days + 4) % 7;
    for (;; year++) {
        uint64_t year_days = 365u + (year % 4 == 0 && (year % 100 != 0 || year % 400 == 0));
        if (days < year_days) break;
        days -= year_days;
    }
    bool leaps = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    for (; days >= month_days[month] + (uint64_t)(leaps && month == 1); month++)
        days -= month_days[month] + (uint64_t)(leaps && month == 1);
    const uint64_t fields[8] = {year,         month + 1, weekday, days + 1, seconds / 3600 % 24, seconds / 60 % 60,
                                seconds % 60, ms % 1000};
    for (int i = 0; i < 8; i++) gc__net_u16(to, (unsigned)fields[i]);
}

GC__FN void gc__net_put_head(gc__nettrace *self) {
    const gc__profile *profile = self->profile;
    uint32_t length = GC__LITTLE(32, 20u);
    gc__put_text(self->output, "Nettrace");
    gc__put(self->output, &length, sizeof length);
    gc__put_text(self->output, "!FastSerialization.1");
    gc__net_object(self->output, "Trace", 4);
    gc__net_put_date(&self->payload, profile->start_utc_ns);
    gc__net_u64(&self->payload, profile->start_ns);
    gc__net_u64(&self->payload, 1000000000);
    gc__net_u32(&self->payload, sizeof(uintptr_t));
    gc__net_u32(&self->payload, profile->process);
    gc__net_u32(&self->payload, gc__os_processors());
    gc__net_u32(&self->payload, 0);
    gc__put(self->output, self->payload.bytes, self->payload.used);
    gc__put_byte(self->output, 6);
    self->payload.used = 0;
}
/* The events of a profile as those of the CLR, in nettrace files. A stack's addresses are those of native code; a frame of the
   host's language, or of code that it has named, has an address that is made up, so that each has a name of its own even if
   its memory was used again. Names of native code come at the end of the file. */


#define GC__NET_FRAMES \
    ((uint64_t)1 << 44) /* made-up addresses begin here, where systems map nothing of their own accord */

GC__FN uint64_t gc__net_frame_address(const gc__profile *profile, uint32_t frame) {
    const gc__profile_frame *it = &profile->frames[frame];
    return it->pc && !it->code ? it->pc : GC__NET_FRAMES + 16 * (uint64_t)frame;
}

/* A method, as the event that tells of it has it. */
GC__FN void gc__net_method(gc__nettrace *self, gc__nettrace_event event, uint64_t start, uint64_t bytes,
                           uint32_t module, const char *name, uint64_t time_ns) {
    gc__nettrace_bytes *to = &self->payload;
    gc__net_u64(to, start);
    gc__net_u64(to, module);
    gc__net_u64(to, start);
    gc__net_u32(to, bytes);
    gc__net_u32(to, 0);
    gc__net_u32(to, 1 | 8); /* dynamic, jitted: readers ignore what is neither */
    gc__net_text(to, "");
    gc__net_text(to, name);
    gc__net_text(to, "");
    gc__net_u16(to, 0);
    gc__net_u64(to, 0);
    gc__net_event(self, event, time_ns);
}

/* Names the frames that are new in the profile and have made-up addresses. */
GC__FN void gc__net_name_frames(gc__nettrace *self, uint64_t time_ns) {
    const gc__profile *profile = self->profile;
    if (!self->frames_done) self->frames_done = 1;
    self->thread = self->stack = 0;
    for (; self->frames_done < profile->frames_count; self->frames_done++) {
        const gc__profile_frame *frame = &profile->frames[self->frames_done];
        if (frame->pc && !frame->code) continue;
        uint32_t name = frame->code ? profile->codes[frame->code].name : frame->name;
        gc__net_method(self, GC__NETTRACE_METHOD_LOAD, gc__net_frame_address(profile, self->frames_done), 16, 0,
                       gc__profile_text(profile, name), time_ns);
    }
}

/* Describes the types that are new in the profile to the events that have only their numbers. */
GC__FN void gc__net_name_types(gc__nettrace *self, uint64_t time_ns) {
    gc__nettrace_bytes *to = &self->payload;
    if (!self->types_done) self->types_done = 1;
    self->thread = self->stack = 0;
    for (; self->types_done < self->profile->types_count; self->types_done++) {
        gc__net_u32(to, 1);
        gc__net_u16(to, 0);
        gc__net_u64(to, self->types_done);
        gc__net_u64(to, 0);
        gc__net_u32(to, 0);
        gc__net_u32(to, 0);
        gc__net_u8(to, 0);
        gc__net_text(to, gc__profile_type_name(self->profile, self->types_done));
        gc__net_u32(to, 0);
        gc__net_event(self, GC__NETTRACE_BULK_TYPE, time_ns);
    }
}

/* Stacks. */

/* Writes the stacks that were added. */
GC__FN void gc__net_stacks_end(gc__nettrace *self) {
    uint32_t count = self->stack_count - self->stacks_written;
    uint32_t head[2] = {GC__LITTLE(32, self->stacks_written + 1), GC__LITTLE(32, count)};
    if (count) {
        memcpy(self->stacks_block.bytes, head, sizeof head);
        gc__net_put_block(self->output, "StackBlock", &self->stacks_block);
    }
    self->stacks_block.used = sizeof head;
    self->stacks_written = self->stack_count;
}

/* Gives the stack a number in the file, if it has none. */
GC__FN void gc__net_add_stack(gc__nettrace *self, uint32_t stack) {
    gc__nettrace_bytes *to = &self->stacks_block;
    size_t depth = gc__stack_depth(self->profile, stack, GC__PROFILE_DEPTH_MAX);
    if (!stack || gc__map_find(&self->stacks, stack)) return;
    if (!gc__map_reserve(&self->stacks, self->stacks.count + 1)) return;
    if (to->capacity - to->used < 4 + depth * sizeof(uint64_t)) gc__net_stacks_end(self);
    *gc__map_put(&self->stacks, stack) = ++self->stack_count;
    gc__net_u32(to, depth * sizeof(uint64_t));
    for (; depth; depth--, stack = gc__stack_caller(self->profile, stack))
        gc__net_u64(to, gc__net_frame_address(self->profile, gc__stack_frame_number(self->profile, stack)));
}

GC__FN uint32_t gc__net_stack_number(const gc__nettrace *self, uint32_t stack) {
    const uintptr_t *number = stack ? gc__map_find(&self->stacks, stack) : NULL;
    return number ? (uint32_t)*number : 0;
}

/* Collections. */

GC__FN uint32_t gc__net_reason(gc_reason reason) {
    switch (reason) {
    case GC_REASON_NURSERY:
    case GC_REASON_GROWTH: return 0;
    case GC_REASON_INDUCED: return 1;
    case GC_REASON_LIMIT: return 5;
    case GC_REASON_STRESS: return 7;
    }
    return 0;
}

/* An event without contents of its own. */
GC__FN void gc__net_plain(gc__nettrace *self, gc__nettrace_event event, uint64_t time_ns) {
    gc__net_u16(&self->payload, 0);
    gc__net_event(self, event, time_ns);
}

#define GC__NET_OTHERS 1 /* there were other threads */
#define GC__NET_NONE 2

/* What the thread has stopped. Heaps are collected independently, but a thread collects one at a time. */
GC__FN unsigned gc__net_stopped(const gc__nettrace *self) {
    const uintptr_t *state = gc__map_find(&self->stops, self->thread + 1);
    return state ? (unsigned)*state : 0;
}
GC__FN void gc__net_stop(gc__nettrace *self, unsigned state) {
    if (gc__map_reserve(&self->stops, self->stops.count + 1)) *gc__map_put(&self->stops, self->thread + 1) = state;
}

GC__FN void gc__net_suspend(gc__nettrace *self, unsigned state, uint64_t time_ns) {
    gc__net_u32(&self->payload, 1); /* for a collection */
    gc__net_u32(&self->payload, self->collections + 1);
    gc__net_stop(self, state);
    gc__net_plain(self, GC__NETTRACE_SUSPEND_BEGIN, time_ns);
}

/* The first collection of all heaps has number 1. */
GC__FN void gc__net_collection_start(gc__nettrace *self, uint32_t number, uint32_t generation, gc_reason reason,
                                     uint64_t time_ns) {
    gc__nettrace_bytes *to = &self->payload;
    self->collections = number;
    gc__net_u32(to, number);
    gc__net_u32(to, generation);
    gc__net_u32(to, gc__net_reason(reason));
    gc__net_u32(to, 0);
    gc__net_u16(to, 0);
    gc__net_u64(to, 0);
    gc__net_event(self, GC__NETTRACE_COLLECTION_START, time_ns);
}

/* Objects of any size count for their generation, so the CLR's heap of large objects is empty. */
GC__FN void gc__net_heap_stats(gc__nettrace *self, const gc__profile_collection *collection, uint64_t time_ns) {
    gc__nettrace_bytes *to = &self->payload;
    for (int g = 0; g < 3; g++) {
        gc__net_u64(to, collection->after.generation_bytes[g]);
        gc__net_u64(to, collection->promoted_bytes[g]);
    }
    gc__net_u64(to, 0);
    gc__net_u64(to, 0);
    gc__net_u64(to, 0);
    gc__net_u64(to, collection->after.finalizers_queued);
    gc__net_u32(to, 0);
    gc__net_u32(to, 0);
    gc__net_u32(to, collection->after.handles);
    gc__net_u16(to, 0);
    gc__net_u64(to, 0);
    gc__net_u64(to, 0);
    gc__net_event(self, GC__NETTRACE_HEAP_STATS, time_ns);
}

GC__FN void gc__net_collection_end(gc__nettrace *self, uint32_t number, const gc__profile_collection *collection,
                                   uint64_t time_ns) {
    gc__net_u32(&self->payload, number);
    gc__net_u32(&self->payload, collection->generation);
    gc__net_plain(self, GC__NETTRACE_COLLECTION_END, time_ns);
    gc__net_heap_stats(self, collection, time_ns);
}

GC__FN void gc__net_resume(gc__nettrace *self, uint64_t time_ns) {
    gc__net_plain(self, GC__NETTRACE_RESTART_BEGIN, time_ns);
    gc__net_plain(self, GC__NETTRACE_RESTART_END, time_ns);
    gc__net_stop(self, 0);
}

GC__STATIC_ASSERT(GC_GENERATIONS == 3, "as many as the CLR has");

/* Objects. */

GC__FN void gc__net_tick(gc__nettrace *self, uint64_t amount, uint32_t type, uint64_t object, uint64_t bytes,
                         uint64_t time_ns) {
    gc__nettrace_bytes *to = &self->payload;
    gc__net_u32(to, amount > UINT32_MAX ? UINT32_MAX : amount);
    gc__net_u32(to, 0);
    gc__net_u16(to, 0);
    gc__net_u64(to, amount);
    gc__net_u64(to, type);
    gc__net_text(to, gc__profile_type_name(self->profile, type));
    gc__net_u32(to, 0);
    gc__net_u64(to, object);
    gc__net_u64(to, bytes);
    gc__net_event(self, GC__NETTRACE_TICK, time_ns);
}

GC__FN void gc__net_sample(gc__nettrace *self, const gc__profile_event *event) {
    gc__nettrace_bytes *to = &self->payload;
    gc__net_u32(to, 0);
    gc__net_u16(to, 0);
    gc__net_u64(to, event->type);
    gc__net_text(to, gc__profile_type_name(self->profile, event->type));
    gc__net_u64(to, event->object);
    gc__net_u64(to, event->bytes);
    gc__net_u64(to, event->amount);
    gc__net_event(self, GC__NETTRACE_SAMPLE, event->time_ns);
}

GC__FN void gc__net_object_event(gc__nettrace *self, const gc__profile_event *event) {
    gc__nettrace_bytes *to = &self->payload;
    gc__net_u64(to, event->object);
    gc__net_u64(to, event->type);
    gc__net_u32(to, event->amount);
    gc__net_u64(to, event->detail);
    gc__net_u16(to, 0);
    gc__net_event(self, self->profile->options.per_second >= 100 ? GC__NETTRACE_OBJECT_HIGH : GC__NETTRACE_OBJECT_LOW,
                  event->time_ns);
}

GC__FN void gc__net_finalizer(gc__nettrace *self, const gc__profile_event *event) {
    gc__net_u64(&self->payload, event->type);
    gc__net_u64(&self->payload, event->object);
    gc__net_plain(self, GC__NETTRACE_FINALIZE, event->time_ns);
}

GC__FN void gc__net_handle(gc__nettrace *self, const gc__profile_event *event) {
    static const uint8_t kinds[GC_HANDLE_KINDS] = {0, 1, 2, 3, 6, 5}; /* the CLR's */
    gc__nettrace_bytes *to = &self->payload;
    gc__net_u64(to, event->object);
    if (event->kind == GC_PROFILE_HANDLE_DESTROYED) {
        gc__net_plain(self, GC__NETTRACE_HANDLE_DESTROYED, event->time_ns);
        return;
    }
    gc__net_u64(to, 0);
    gc__net_u32(to, event->detail < GC_HANDLE_KINDS ? kinds[event->detail] : event->detail);
    gc__net_u32(to, 0);
    gc__net_u64(to, 0);
    gc__net_plain(self, GC__NETTRACE_HANDLE_CREATED, event->time_ns);
}

/* The file. */

/* Readers expect of each collection that threads were stopped for it: if there was no other thread, no event says so. */
GC__FN void gc__net_collection_event(gc__nettrace *self, const gc__profile_event *event) {
    const gc__profile *profile = self->profile;
    if (event->collection >= profile->collections_count) return; /* there was no memory to record it */
    const gc__profile_collection *collection = &profile->collections[event->collection];
    uint32_t number = event->collection + 1;
    if (event->kind == GC_PROFILE_COLLECTION_START) {
        bool is_alone = !gc__net_stopped(self);
        if (is_alone) gc__net_suspend(self, GC__NET_NONE, event->time_ns);
        if (is_alone) gc__net_plain(self, GC__NETTRACE_SUSPEND_END, event->time_ns);
        gc__net_collection_start(self, number, collection->generation, collection->reason, event->time_ns);
    } else {
        gc__net_collection_end(self, number, collection, event->time_ns);
        if (gc__net_stopped(self) == GC__NET_NONE) gc__net_resume(self, event->time_ns);
    }
}

GC__FN void gc__net_one(gc__nettrace *self, const gc__profile_event *event) {
    self->thread = event->thread;
    self->stack = gc__net_stack_number(self, event->stack);
    switch (event->kind) {
    case GC_PROFILE_SAMPLE:
        gc__net_sample(self, event);
        break;
    case GC_PROFILE_TICK:
        gc__net_tick(self, event->amount, event->type, event->object, event->bytes, event->time_ns);
        break;
    case GC_PROFILE_OBJECT:
        gc__net_object_event(self, event);
        break;
    case GC_PROFILE_COLLECTION_START:
    case GC_PROFILE_COLLECTION_END:
        gc__net_collection_event(self, event);
        break;
    case GC_PROFILE_STOP:
        gc__net_plain(self, GC__NETTRACE_SUSPEND_END, event->time_ns);
        break;
    case GC_PROFILE_RESUME:
        gc__net_resume(self, event->time_ns);
        break;
    case GC_PROFILE_FINALIZER:
        gc__net_finalizer(self, event);
        break;
    case GC_PROFILE_HANDLE_CREATED:
    case GC_PROFILE_HANDLE_DESTROYED:
        gc__net_handle(self, event);
        break;
    case GC_PROFILE_LOST:
        gc__net_sequence(self, event->amount);
        break;
    default:
        break;
    }
}

/* When the threads were asked to stop, ahead of the event which says that they have. */
GC__FN uint64_t gc__net_asked(const gc__profile_event *event) { return gc__ns_since(event->time_ns, event->amount); }

GC__FN void gc__net_events(const gc__profile *profile, const gc__profile_event *events, size_t count,
                           gc__output *output) {
    gc__nettrace *self = (gc__nettrace *)output->format;
    if (!self || !count) return;
    self->profile = profile;
    for (size_t i = 0; i < count; i++) gc__net_add_stack(self, events[i].stack);
    gc__net_stacks_end(self);
    gc__net_name_frames(self, events[0].time_ns);
    gc__net_name_types(self, events[0].time_ns);
    size_t stop = 0;
    for (size_t i = 0; i < count; i++) {
        for (; stop < count &&
               (events[stop].kind != GC_PROFILE_STOP || gc__net_asked(&events[stop]) <= events[i].time_ns);
             stop++) {
            if (events[stop].kind != GC_PROFILE_STOP) continue;
            self->thread = events[stop].thread;
            self->stack = 0;
            gc__net_suspend(self, GC__NET_OTHERS, gc__net_asked(&events[stop]));
        }
        gc__net_one(self, &events[i]);
    }
    gc__net_block_end(self);
}

/* Instead of events: collections as they were, and for each type and stack one tick with all bytes, which are estimated if there
   are samples. */
GC__FN void gc__net_put_summary(gc__nettrace *self) {
    const gc__profile *profile = self->profile;
    self->stack = 0;
    for (uint32_t i = 0; i < profile->collections_count; i++) {
        const gc__profile_collection *collection = &profile->collections[i];
        self->thread = collection->thread;
        gc__net_suspend(self, GC__NET_OTHERS, collection->asked_ns);
        gc__net_plain(self, GC__NETTRACE_SUSPEND_END, collection->start_ns);
        gc__net_collection_start(self, i + 1, collection->generation, collection->reason, collection->start_ns);
        gc__net_collection_end(self, i + 1, collection, collection->end_ns);
        gc__net_resume(self, collection->end_ns);
    }
    gc__net_block_end(self);
    for (size_t i = 0; i < profile->entries_count; i++) gc__net_add_stack(self, profile->entries[i].stack);
    gc__net_stacks_end(self);
    self->thread = profile->process;
    gc__net_text(&self->payload,
                 "ticks have the sums of their type and stack: for each event when it came, start the profile "
                 "with a .nettrace file");
    gc__net_event(self, GC__NETTRACE_NOTE, profile->end_ns);
    for (size_t i = 0; i < profile->entries_count; i++) {
        const gc__profile_entry *entry = &profile->entries[i];
        gc__report_sum sum = {0, 0, 0, 0, 0};
        gc__report_add(&sum, entry);
        if (!sum.events) continue;
        self->stack = gc__net_stack_number(self, entry->stack);
        gc__net_tick(self, gc__profile_whole(sum.bytes), entry->type, 0, gc__profile_whole(sum.bytes / sum.count),
                     profile->end_ns);
    }
}

GC__FN void gc__net_put_modules(gc__nettrace *self) {
    const gc__profile *profile = self->profile;
    gc__nettrace_bytes *to = &self->payload;
    static const uint8_t none[16] = {0};
    for (uint32_t i = 1; i < profile->modules_count; i++) {
        gc__net_u64(to, i);
        gc__net_u64(to, i);
        gc__net_u32(to, 0);
        gc__net_u32(to, 0);
        gc__net_text(to, gc__profile_text(profile, profile->modules[i].file));
        gc__net_text(to, "");
        gc__net_u16(to, 0);
        gc__net_put(to, none, sizeof none);
        gc__net_u32(to, 0);
        gc__net_text(to, "");
        gc__net_put(to, none, sizeof none);
        gc__net_u32(to, 0);
        gc__net_text(to, "");
        gc__net_event(self, GC__NETTRACE_MODULE_RUNDOWN, profile->end_ns);
    }
}

GC__FN bool gc__net_is_named(const gc__profile_frame *frame) {
    return frame->pc && !frame->code && frame->name && frame->name_start;
}

/* Names functions of native code, from their start to the last address that is on a stack. */
GC__FN void gc__net_put_methods(gc__nettrace *self) {
    const gc__profile *profile = self->profile;
    gc__map last;
    memset(&last, 0, sizeof last);
    for (uint32_t i = 1; i < profile->frames_count; i++) {
        const gc__profile_frame *frame = &profile->frames[i];
        if (!gc__net_is_named(frame) || !gc__map_reserve(&last, last.count + 1)) continue;
        uintptr_t *end = gc__map_put(&last, frame->name_start);
        if (*end < frame->pc) *end = frame->pc;
    }
    for (uint32_t i = 1; i < profile->frames_count; i++) {
        const gc__profile_frame *frame = &profile->frames[i];
        uintptr_t *end = gc__net_is_named(frame) ? gc__map_find(&last, frame->name_start) : NULL;
        if (!end || !*end) continue;
        gc__net_method(self, GC__NETTRACE_METHOD_RUNDOWN, frame->name_start, *end - frame->name_start + 1,
                       frame->module, gc__profile_text(profile, frame->name), profile->end_ns);
        *end = 0;
    }
    gc__map_free(&last);
}

#define GC__NET_BUFFER_BYTES (GC__NETTRACE_BLOCK_BYTES * 2 + GC__NETTRACE_PAYLOAD_BYTES)

GC__FN void gc__net_begin(const gc__profile *profile, gc__output *output) {
    size_t head = (sizeof(gc__nettrace) + 63) & ~(size_t)63;
    uint8_t *memory = (uint8_t *)gc__os_map(head + GC__NET_BUFFER_BYTES);
    gc__nettrace *self = (gc__nettrace *)(void *)memory;
    output->format = self;
    if (!self) {
        gc__output_fail(output, ENOMEM);
        return;
    }
    self->profile = profile;
    self->output = output;
    self->block.bytes = memory + head;
    self->stacks_block.bytes = self->block.bytes + GC__NETTRACE_BLOCK_BYTES;
    self->payload.bytes = self->stacks_block.bytes + GC__NETTRACE_BLOCK_BYTES;
    self->block.capacity = self->stacks_block.capacity = GC__NETTRACE_BLOCK_BYTES;
    self->payload.capacity = GC__NETTRACE_PAYLOAD_BYTES;
    self->stacks_block.used = 8;
    gc__net_put_head(self);
    gc__net_block_begin(self);
    gc__net_put_metadata(self);
    gc__output_record(output);
}

GC__FN void gc__write_nettrace(const gc__profile *profile, gc__output *output) {
    gc__nettrace *self = (gc__nettrace *)output->format;
    if (!self) return;
    self->profile = profile;
    if (!output->streamed) gc__net_put_summary(self);
    gc__net_name_frames(self, profile->end_ns);
    gc__net_put_modules(self);
    gc__net_put_methods(self);
    gc__net_block_end(self);
    gc__put_byte(output, 1);
    gc__map_free(&self->stacks);
    gc__map_free(&self->sequences);
    gc__map_free(&self->stops);
    output->format = NULL;
    gc__os_unmap(self, ((sizeof(gc__nettrace) + 63) & ~(size_t)63) + GC__NET_BUFFER_BYTES);
}
/* Numbers for all objects of some heaps, in the order of their addresses, while the heaps are stopped.

   For each 64 mark bits there is the number of objects before them, so that an object's number is found by one count of
   bits. That takes 0.8 % of the heap. Every region is indexed: its mark bits are its objects' starts. */


#define GC__NUMBERED_BYTES ((size_t)512) /* for which there is an entry */

enum {
    GC__NUMBERED_NOT,
    GC__NUMBERED_SMALL,
    GC__NUMBERED_LARGE,
    GC__NUMBERED_KIND = 3, /* the bits of these */
    GC__NUMBERED_HOLDS = 4 /* set by the first walk: some object in the region has references */
};

typedef struct gc__numbering {
    uint32_t *before;
    uint8_t *kinds; /* of regions: whether objects of the heaps begin in them; behind that table */
    size_t regions;
    size_t bytes; /* of both tables */
    size_t count; /* objects */
} gc__numbering;

GC__FN uint8_t gc__numbering_kind(const gc__region *region, gc_heap *const *heaps, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (!gc__region_is_of(region, heaps[i])) continue;
        return region->kind == GC__SMALL   ? GC__NUMBERED_SMALL
               : region->kind == GC__LARGE ? GC__NUMBERED_LARGE
                                           : GC__NUMBERED_NOT;
    }
    return GC__NUMBERED_NOT;
}

/* A large object's only mark bit with a meaning is the first. */
GC__FN void gc__numbering_count(gc__numbering *numbering, const gc__region *region, bool large) {
    const uint64_t *marks = &gc__region_marks(region)[gc__mark_index(region->base) >> 6];
    uint32_t *before = numbering->before + (region->base - gc__the_arena.base) / GC__NUMBERED_BYTES;
    for (size_t i = 0; i < gc__mark_words(region); i++) {
        before[i] = (uint32_t)numbering->count;
        numbering->count += large ? marks[i] & 1 : (size_t)__builtin_popcountll(marks[i]);
    }
}

/* False: the system gives no memory. */
GC__FN bool gc__numbering_make(gc__numbering *numbering, gc_heap *const *heaps, size_t count) {
    size_t regions = gc__regions_used(), entries = regions * (GC_REGION_BYTES / GC__NUMBERED_BYTES);
    memset(numbering, 0, sizeof *numbering);
    numbering->regions = regions;
    numbering->bytes = entries * sizeof(uint32_t) + regions + 1;
    numbering->before = (uint32_t *)gc__os_map(numbering->bytes);
    if (!numbering->before) return false;
    numbering->kinds = (uint8_t *)(numbering->before + entries);
    for (size_t i = 0; i < regions; i++) {
        gc__region *region = &gc__the_arena.regions[i];
        numbering->kinds[i] = gc__numbering_kind(region, heaps, count);
        if (numbering->kinds[i] == GC__NUMBERED_NOT) continue;
        gc__region_index(region);
        gc__numbering_count(numbering, region, numbering->kinds[i] == GC__NUMBERED_LARGE);
    }
    return true;
}

GC__FN void gc__numbering_free(gc__numbering *numbering) {
    if (numbering->before) gc__os_unmap(numbering->before, numbering->bytes);
}

/* Whether an object of the heaps starts at the address. */
GC__FN bool gc__is_numbered(const gc__numbering *numbering, uintptr_t address) {
    size_t offset = address - gc__the_arena.base, region = offset >> GC_REGION_SHIFT;
    if (region >= numbering->regions || (address & 7)) return false;
    unsigned kind = numbering->kinds[region] & GC__NUMBERED_KIND;
    if (kind == GC__NUMBERED_SMALL) return gc__mark_get(address);
    return kind == GC__NUMBERED_LARGE && !(offset & (GC_REGION_BYTES - 1));
}

GC__FN size_t gc__number_of(const gc__numbering *numbering, uintptr_t object) {
    size_t index = gc__mark_index(object);
    uint64_t below = gc__region_marks(gc__region_of(object))[index >> 6] & (((uint64_t)1 << (index & 63)) - 1);
    return numbering->before[(object - gc__the_arena.base) / GC__NUMBERED_BYTES] + (size_t)__builtin_popcountll(below);
}

GC__FN void gc__numbering_holds(gc__numbering *numbering, uintptr_t object) {
    numbering->kinds[(object - gc__the_arena.base) >> GC_REGION_SHIFT] |= GC__NUMBERED_HOLDS;
}

/* Calls visit(context, object) for all objects by their numbers, until it returns false; `holders`: of regions that
   gc__numbering_holds was called for. */
GC__FN bool gc__numbering_walk(const gc__numbering *numbering, bool holders,
                               bool (*visit)(void *context, uintptr_t object), void *context) {
    for (size_t i = 0; i < numbering->regions; i++) {
        if (numbering->kinds[i] == GC__NUMBERED_NOT) continue;
        if (holders && !(numbering->kinds[i] & GC__NUMBERED_HOLDS)) continue;
        const gc__region *region = &gc__the_arena.regions[i];
        uintptr_t end = gc__region_starts_end(region), at = gc__mark_next(region->base, end);
        for (; at < end; at = gc__mark_next(at + GC_OBJECT_BYTES_MIN, end))
            if (!visit(context, at)) return false;
    }
    return true;
}
/* What keeps objects alive, as a snapshot shows it: a tree of named groups, and the references that they hold.

   Group 0 is the root of the graph, group 1 "(GC roots)"; below it are the kinds of roots, and the threads with a group
   for each function that has frames. */


enum {
    GC__EDGE_CONTEXT,
    GC__EDGE_ELEMENT,
    GC__EDGE_PROPERTY,
    GC__EDGE_INTERNAL,
    GC__EDGE_HIDDEN,
    GC__EDGE_SHORTCUT,
    GC__EDGE_WEAK
};

/* A reference of a group. They are words of a list: */
enum {
    GC__HELD_NEXT, /* the number of the group's next one + 1; 0: it is the last */
    GC__HELD_EDGE, /* GC__EDGE_ kind, and above it the name, or for GC__EDGE_ELEMENT the index */
    GC__HELD_WHAT, /* an object; or a group's number * 2 + 1 */
    GC__HELD_WORDS
};
#define GC__HELD_EDGE_BITS 3

typedef struct gc__root_group {
    size_t name;
    size_t first, last, count; /* references: numbers + 1 */
} gc__root_group;
#define GC__GROUP_WORDS (sizeof(gc__root_group) / sizeof(uintptr_t))

typedef struct gc__root_tree {
    gc_visitor visitor;
    gc_heap *heap; /* whose roots are being visited */
    const gc__numbering *numbering;
    gc__profile *names; /* its types are the strings of the snapshot */
    gc__words groups;   /* gc__root_group */
    gc__words held;
    gc__words dependents;      /* pairs: an object that keeps another one by a dependent handle, and that */
    gc__map known;             /* groups by parent and name */
    size_t top;                /* the group of the thread, or of all */
    size_t group;              /* to which the roots belong that are being visited */
    const gc_frame_site *site; /* the one that the last root was of */
    size_t index;              /* of the next root of that group */
    bool failed;
} gc__root_tree;

GC__FN gc__root_group *gc__root_group_at(const gc__root_tree *tree, size_t group) {
    return (gc__root_group *)(tree->groups.words + group * GC__GROUP_WORDS);
}

GC__FN size_t gc__root_groups(const gc__root_tree *tree) { return tree->groups.count / GC__GROUP_WORDS; }

/* `name`: a number of the tree's names, or the index of an element. */
GC__FN void gc__root_hold(gc__root_tree *tree, size_t group, int kind, size_t name, uintptr_t what) {
    size_t number = tree->held.count / GC__HELD_WORDS + 1;
    if (!gc__words_reserve(&tree->held, tree->held.count + GC__HELD_WORDS)) {
        tree->failed = true;
        return;
    }
    uintptr_t *held = tree->held.words + tree->held.count;
    held[GC__HELD_NEXT] = 0;
    held[GC__HELD_EDGE] = (uintptr_t)name << GC__HELD_EDGE_BITS | (unsigned)kind;
    held[GC__HELD_WHAT] = what;
    gc__root_group *holder = gc__root_group_at(tree, group);
    if (holder->count++)
        tree->held.words[(holder->last - 1) * GC__HELD_WORDS + GC__HELD_NEXT] = number;
    else
        holder->first = number;
    holder->last = number;
    tree->held.count += GC__HELD_WORDS;
}

GC__FN size_t gc__root_group_add(gc__root_tree *tree, const char *name) {
    size_t number = gc__root_groups(tree);
    if (!gc__words_reserve(&tree->groups, tree->groups.count + GC__GROUP_WORDS)) {
        tree->failed = true;
        return 0;
    }
    gc__root_group group = {gc__profile_type_add(tree->names, name), 0, 0, 0};
    tree->groups.count += GC__GROUP_WORDS;
    *gc__root_group_at(tree, number) = group;
    return number;
}

/* The group of that name below another one. */
GC__FN size_t gc__root_group_of(gc__root_tree *tree, size_t parent, const char *name) {
    size_t text = gc__profile_type_add(tree->names, name);
    if (!gc__map_reserve(&tree->known, tree->known.count + 1)) {
        tree->failed = true;
        return 0;
    }
    uintptr_t *known = gc__map_put(&tree->known, (uintptr_t)(parent << 32 | text) << 3);
    if (*known) return *known;
    size_t group = gc__root_group_add(tree, name);
    if (group)
        gc__root_hold(tree, parent, GC__EDGE_ELEMENT, gc__root_group_at(tree, parent)->count + 1,
                      (uintptr_t)group * 2 + 1);
    return *known = group;
}

/* The group of the roots that are being visited. */
GC__FN size_t gc__root_group_now(gc__root_tree *tree) {
    const gc__threads *threads = tree->heap->threads;
    char name[256];
    if (threads->root_site)
        snprintf(name, sizeof name, "(frame of %s at %s:%u)", threads->root_site->function, threads->root_site->file,
                 threads->root_site->line);
    else if (threads->root_method)
        snprintf(name, sizeof name, "(compiled frame of %s)", threads->root_method);
    else
        snprintf(name, sizeof name, "(%s)", threads->root_kind);
    return gc__root_group_of(tree, tree->top, name);
}

/* The name of a frame's variable: the part of the site's names with that index. A frame of several calls on a stack is
   visited again, so the index begins anew after the last name. */
GC__FN size_t gc__root_variable(gc__root_tree *tree) {
    const char *name = tree->site->names;
    for (size_t i = 0; i < tree->index; i++) name += gc__name_bytes(name), name += strspn(name, ", ");
    size_t length = gc__name_bytes(name);
    char text[128];
    tree->index = name[length] ? tree->index + 1 : 0;
    snprintf(text, sizeof text, "%.*s", (int)length, name);
    return gc__profile_type_add(tree->names, text);
}

/* Visits the slots of a weak table, those that do not keep their objects with GC_SLOT_WEAK. The values of ephemerons are
   taken for kept, as they are while their keys live. */
GC__FN void gc__entries_visit_apart(gc_visitor *visitor, const gc_weak_entries *entries) {
    unsigned flags = entries->flags & (unsigned)GC_SLOT_VALUE;
    unsigned key = entries->kind == GC_WEAK_VALUES ? flags : flags | (unsigned)GC_SLOT_WEAK;
    bool weak_values = entries->kind == GC_WEAK_VALUES || entries->kind == GC_WEAK_PAIRS;
    for (size_t i = 0; i < entries->count; i++) {
        gc_visit(visitor, gc__entry_key(entries, i), 1, key);
        if (entries->kind == GC_WEAK_REFS) continue;
        gc_visit(visitor, gc__entry_value(entries, i), 1, weak_values ? flags | (unsigned)GC_SLOT_WEAK : flags);
    }
}

GC__FN void gc__root_note(gc__root_tree *tree, const gc_word *slot, unsigned flags, bool named) {
    uintptr_t ref, object = gc__root_object(tree->heap, slot, flags, &ref);
    bool weak = flags & GC_SLOT_WEAK;
    int kind = weak ? GC__EDGE_WEAK : named ? GC__EDGE_INTERNAL : GC__EDGE_ELEMENT;
    size_t name = weak ? gc__profile_type_add(tree->names, "weak") : named ? gc__root_variable(tree) : tree->index++;
    if (object && gc__is_numbered(tree->numbering, object)) gc__root_hold(tree, tree->group, kind, name, object);
}

GC__FN void gc__root_tree_visit(gc_visitor *visitor, void *slot, size_t count, unsigned flags) {
    gc__root_tree *tree = (gc__root_tree *)visitor;
    const gc__threads *threads = tree->heap->threads;
    const gc_frame_site *site = threads->root_site;
    size_t group = gc__root_group_now(tree);
    bool named = site && (!(site->flags & GC__SLOT_CONTIGUOUS) || strchr(site->names, ','));
    if (group != tree->group || site != tree->site || (site && !named)) tree->index = 0;
    tree->group = group;
    tree->site = site;
    if (flags & GC__SLOT_DERIVED) { /* the slot that it is derived from was visited, and is the frame's only one */
        tree->index = 0;
        return;
    }
    if (flags & GC__SLOT_ENTRIES) {
        gc__entries_visit_apart(visitor, (const gc_weak_entries *)slot);
        return;
    }
    if (gc__visit_slots_of(visitor, slot, flags)) return;
    for (size_t i = 0; i < count; i++) gc__root_note(tree, gc__slot_at(slot, i, gc__flags_value(flags)), flags, named);
}

GC__FN bool gc__root_handle(void *context, gc_handle handle, gc_handle_kind kind, void *object, void *extra) {
    static const char *const names[GC_HANDLE_KINDS] = {"(weak handles)",      "(long weak handles)",
                                                       "(strong handles)",    "(pinned handles)",
                                                       "(dependent handles)", "(ref-counted handles)"};
    gc__root_tree *tree = (gc__root_tree *)context;
    const gc_options *options = &tree->heap->options;
    if (!gc__is_numbered(tree->numbering, (uintptr_t)object)) return true;
    bool keeps = kind == GC_HANDLE_STRONG || kind == GC_HANDLE_PINNED;
    if (kind == GC_HANDLE_REF_COUNTED && options->handle_is_held)
        keeps = options->handle_is_held(options->host, handle, object, extra);
    size_t group = gc__root_group_of(tree, tree->top, names[kind]), index = gc__root_group_at(tree, group)->count;
    if (!keeps) index = gc__profile_type_add(tree->names, "handle");
    gc__root_hold(tree, group, keeps ? GC__EDGE_ELEMENT : GC__EDGE_WEAK, index, (uintptr_t)object);
    if (kind != GC_HANDLE_DEPENDENT || !gc__is_numbered(tree->numbering, (uintptr_t)extra)) return true;
    if (!gc__words_push(&tree->dependents, (uintptr_t)object) || !gc__words_push(&tree->dependents, (uintptr_t)extra))
        tree->failed = true;
    return true;
}

/* By the addresses of the keys. */
GC__FN int gc__dependent_order(const void *a, const void *b) {
    uintptr_t left = *(const uintptr_t *)a, right = *(const uintptr_t *)b;
    return left < right ? -1 : left > right;
}

GC__FN void gc__root_tree_handles(gc__root_tree *tree, gc_heap *heap) {
    gc_handle_walk(heap, gc__root_handle, tree);
    heap->threads->root_kind = "objects due for finalizers";
    gc__finalizers_visit_queued(heap, &tree->visitor);
    heap->threads->root_kind = NULL;
}

GC__FN void gc__root_tree_add(gc__root_tree *tree, gc_heap *heap, size_t top) {
    char name[128];
    tree->heap = heap;
    tree->site = NULL;
    for (gc_thread *thread = heap->threads->first; thread && !tree->failed; thread = gc__record(thread)->next) {
        if (gc__record(thread)->unbound) continue; /* as in gc__roots_visit */
        const char *given = gc__record(thread)->name;
        snprintf(name, sizeof name, given ? "(thread %s, %u)" : "(thread%s %u)", given ? given : "",
                 (unsigned)gc__record(thread)->tid);
        tree->top = gc__root_group_of(tree, top, name);
        gc__thread_visit(heap, thread, &tree->visitor);
    }
    tree->top = top;
    gc__roots_visit_shared(heap, &tree->visitor);
    gc__root_tree_handles(tree, heap);
}

/* False: the system gives no memory. Its memory is freed by gc__root_tree_free in any case. */
GC__FN bool gc__root_tree_make(gc__root_tree *tree, gc_heap *const *heaps, size_t count) {
    char name[32];
    tree->visitor.visit = gc__root_tree_visit;
    gc__root_group_add(tree, "");
    size_t top = gc__root_group_of(tree, 0, "(GC roots)");
    for (size_t i = 0; i < count && !tree->failed; i++) {
        snprintf(name, sizeof name, "(heap %zu)", i + 1);
        gc__root_tree_add(tree, heaps[i], count > 1 ? gc__root_group_of(tree, top, name) : top);
    }
    if (tree->dependents.count)
        qsort(tree->dependents.words, tree->dependents.count / 2, 2 * sizeof(uintptr_t), gc__dependent_order);
    return !tree->failed;
}

GC__FN void gc__root_tree_free(gc__root_tree *tree) {
    gc__words_free(&tree->groups);
    gc__words_free(&tree->held);
    gc__words_free(&tree->dependents);
    gc__map_free(&tree->known);
}
/* Heap snapshots in V8's format, which Chrome's DevTools, memlab and others read: every object with its references.

   The nodes of the graph are the groups of roots, and then all objects by their addresses. The heap is walked twice in
   that order, since all nodes come before all edges; nothing is kept of an object meanwhile. Numbers of nodes and edges
   stand at the file's beginning, and are filled in at the end. The strings come last. */


#define GC__NODE_FIELDS 7
#define GC__ROW_BYTES_MAX (5 * (GC__NUMBER_BYTES_MAX + 1) + 5)
#define GC__NODE_STRING 2
#define GC__NODE_OBJECT 3
#define GC__NODE_SYNTHETIC 9
#define GC__MASKED_WORDS 64 /* words of an object that have a name of their own */

/* How the references of a type's objects are called: the number of a name for each word, 0 where it has none yet. */
typedef struct gc__snapshot_type {
    size_t name;
    size_t text_at; /* the offset of characters that are shown; 0: the type is no string's */
    uint32_t words[GC__MASKED_WORDS];
} gc__snapshot_type;
#define GC__SNAPSHOT_TYPE_WORDS ((sizeof(gc__snapshot_type) + 7) / sizeof(uintptr_t))

typedef struct gc__snapshot {
    gc_visitor visitor;
    gc__output *out;
    gc__numbering numbering;
    gc__root_tree roots;
    gc__profile names; /* its types are the strings of the snapshot */
    gc__words types;   /* gc__snapshot_type; the first one is no type's */
    gc__map type_numbers;
    gc_word last_type;
    gc__snapshot_type *type; /* the type of `holder`, valid until another one is asked for */
    uintptr_t holder;
    size_t edges_of_holder, edges;
    size_t dependent; /* the next one in roots.dependents */
    bool writing;     /* edges; otherwise they are counted */
    bool hides_texts;
    size_t texts_max; /* bytes of names and of what strings contain, after which strings are objects like others */
} gc__snapshot;

/* Types. */

/* Where objects of the type have characters, if GC_TYPE_STRING has made it; else 0. */
GC__FN size_t gc__snapshot_text_at(gc_word key) {
#if GC_HAS_MODEL
    return (void)key, 0;
#else
    const gc_type *type = (const gc_type *)key;
    bool is_string = type->element_bytes == 1 && type->fields && type->field_offsets[0] + 1u == type->bytes;
    return is_string && gc__type_is_leaf(type) ? type->field_offsets[0] : 0;
#endif
}

GC__FN gc__snapshot_type *gc__snapshot_type_add(gc__snapshot *snapshot, gc_word key, const char *name) {
    size_t number = snapshot->types.count / GC__SNAPSHOT_TYPE_WORDS;
    if (!gc__words_reserve(&snapshot->types, snapshot->types.count + GC__SNAPSHOT_TYPE_WORDS) ||
        !gc__map_reserve(&snapshot->type_numbers, snapshot->type_numbers.count + 1))
        return NULL;
    gc__snapshot_type *type = (gc__snapshot_type *)(snapshot->types.words + snapshot->types.count);
    snapshot->types.count += GC__SNAPSHOT_TYPE_WORDS;
    memset(type, 0, sizeof *type);
    type->name = gc__profile_type_add(&snapshot->names, name);
    type->text_at = snapshot->hides_texts ? 0 : gc__snapshot_text_at(key);
    *gc__map_put(&snapshot->type_numbers, key) = number;
    return type;
}

/* What the type of an object is known by: its record, or in a host's own model its name. */
GC__FN gc_word gc__snapshot_type_key(uintptr_t object) {
#if GC_HAS_MODEL
    const char *name = gc__object_name(object);
    return gc__index_hash(name, strlen(name)) | 1;
#else
    return GC__WORD(object);
#endif
}

/* Makes the object the holder of the references that follow. */
GC__FN bool gc__snapshot_hold(gc__snapshot *snapshot, uintptr_t object) {
    gc_word key = gc__snapshot_type_key(object);
    snapshot->holder = object;
    snapshot->edges_of_holder = 0;
    if (key == snapshot->last_type) return true;
    const uintptr_t *number = gc__map_find(&snapshot->type_numbers, key);
    snapshot->type = number ? (gc__snapshot_type *)(snapshot->types.words + *number * GC__SNAPSHOT_TYPE_WORDS)
                            : gc__snapshot_type_add(snapshot, key, gc__object_name(object));
    snapshot->last_type = snapshot->type ? key : 0;
    return snapshot->type;
}

/* The name of a word of the holder: that of the field there, else "+16". */
GC__FN size_t gc__snapshot_word_name(gc__snapshot *snapshot, size_t offset) {
    uint32_t *known = &snapshot->type->words[offset / 8];
    if (!*known) {
        char text[128];
        size_t length;
        const char *name = gc__field_name(snapshot->holder, offset, &length);
        if (name)
            snprintf(text, sizeof text, "%.*s", (int)length, name);
        else
            snprintf(text, sizeof text, "+%zu", offset);
        *known = gc__profile_type_add(&snapshot->names, text);
    }
    return *known;
}

/* Edges. */

/* Puts a row of numbers, and what follows the last one. */
GC__INLINED void gc__snapshot_row(gc__output *out, const size_t *numbers, size_t count, const char *tail,
                                  size_t tail_bytes) {
    char text[2 * GC__ROW_BYTES_MAX], *end = text + GC__ROW_BYTES_MAX, *at = end - tail_bytes;
    if (!gc__output_reserve(out, GC__ROW_BYTES_MAX)) return;
    memcpy(at, tail, tail_bytes);
    for (size_t i = count; i-- > 0;) {
        at = gc__digits(at, numbers[i]);
        if (i) *--at = ',';
    }
    memcpy(out->buffer + out->used, at,
           GC__ROW_BYTES_MAX); /* of constant size, which is faster than of the right one */
    out->used += (size_t)(end - at);
}

/* `name`: the number of a name; for an element, its index. */
GC__FN void gc__snapshot_edge(gc__snapshot *snapshot, int kind, size_t name, size_t node) {
    snapshot->edges_of_holder++;
    if (!snapshot->writing) return;
    snapshot->edges++;
    const size_t row[] = {(size_t)kind, name, node * GC__NODE_FIELDS};
    gc__snapshot_row(snapshot->out, row, 3, ",\n", 2);
}

GC__FN size_t gc__snapshot_node_of(const gc__snapshot *snapshot, uintptr_t object) {
    return gc__root_groups(&snapshot->roots) + gc__number_of(&snapshot->numbering, object);
}

GC__FN void gc__snapshot_slot(gc__snapshot *snapshot, const gc_word *slot, bool value, bool weak) {
    uintptr_t ref = gc__slot_ref(slot, value);
    if (!ref || !gc__is_numbered(&snapshot->numbering, ref)) return;
    size_t offset = (uintptr_t)slot - snapshot->holder, name = offset / 8;
    int kind = GC__EDGE_ELEMENT;
#if GC_HAS_MODEL
    bool is_element = false;
#else
    const gc_type *type = gc__object_type(snapshot->holder);
    bool is_element = type->element_bytes && offset >= type->bytes && offset < gc__object_bytes(snapshot->holder);
    if (is_element) name = (offset - type->bytes) / type->element_bytes;
#endif
    if (weak) {
        kind = GC__EDGE_WEAK;
        name = gc__profile_type_add(&snapshot->names, "weak");
    } else if (!is_element && offset < GC__MASKED_WORDS * 8) {
        kind = GC__EDGE_PROPERTY;
        name = snapshot->writing ? gc__snapshot_word_name(snapshot, offset) : 0;
    } else if (!is_element) {
        name = snapshot->edges_of_holder; /* a slot that a trace function has reported, perhaps outside the object */
    }
    gc__snapshot_edge(snapshot, kind, name, snapshot->writing ? gc__snapshot_node_of(snapshot, ref) : 0);
}

GC__FN void gc__snapshot_visit(gc_visitor *visitor, void *slot, size_t count, unsigned flags) {
    if (flags & GC__SLOT_ENTRIES) {
        gc__entries_visit_apart(visitor, (const gc_weak_entries *)slot);
        return;
    }
    if (gc__visit_slots_of(visitor, slot, flags)) return;
    bool value = gc__flags_value(flags), weak = flags & GC_SLOT_WEAK;
    for (size_t i = 0; i < count; i++)
        gc__snapshot_slot((gc__snapshot *)visitor, gc__slot_at(slot, i, value), value, weak);
}

GC__INLINED void gc__snapshot_masked(void *snapshot, gc_word *slot, bool value) {
    if (*slot) gc__snapshot_slot((gc__snapshot *)snapshot, slot, value, false);
}

/* The holder's references. */
GC__FN void gc__snapshot_slots(gc__snapshot *snapshot, uintptr_t object) {
#if !GC_HAS_MODEL
    gc__slots_of(object, gc__snapshot_masked, snapshot);
    if (!gc__object_type(object)->trace) return;
#endif
    gc__object_trace(&gc__traced, object, &snapshot->visitor);
}

/* What dependent handles have the holder keep. Objects come by their addresses, as those pairs do. */
GC__FN void gc__snapshot_dependents(gc__snapshot *snapshot) {
    const gc__words *pairs = &snapshot->roots.dependents;
    for (; snapshot->dependent < pairs->count && pairs->words[snapshot->dependent] == snapshot->holder;
         snapshot->dependent += 2) {
        size_t name = gc__profile_type_add(&snapshot->names, "dependent");
        gc__snapshot_edge(snapshot, GC__EDGE_INTERNAL, name,
                          gc__snapshot_node_of(snapshot, pairs->words[snapshot->dependent + 1]));
    }
}

/* Nodes. */

GC__FN void gc__snapshot_node(gc__output *out, size_t kind, size_t name, size_t id, size_t bytes, size_t edges) {
    const size_t row[] = {kind, name, id, gc__min(bytes, UINT32_MAX), edges}; /* readers have 32 bits */
    gc__snapshot_row(out, row, sizeof row / sizeof *row, ",0,0,\n", 6);
}

/* An object keeps its number as long as it is not moved, so that snapshots can be compared. The heap may be too large for
   that. Even numbers are those of groups; the first two groups have 1 and 3. */
GC__FN size_t gc__snapshot_id(const gc__snapshot *snapshot, uintptr_t object) {
    bool fits = (gc__regions_used() << GC_REGION_SHIFT) / 4 < UINT32_MAX - 8;
    return 5 + 2 * (fits ? (object - gc__the_arena.base) / 8 : gc__number_of(&snapshot->numbering, object));
}

#define GC__SNAPSHOT_TEXT_BYTES 80

/* What a string contains, up to its first 0, and no more than its beginning. */
GC__FN size_t gc__snapshot_text(gc__snapshot *snapshot, uintptr_t object) {
#if GC_HAS_MODEL
    return (void)object, snapshot->type->name;
#else
    char text[GC__SNAPSHOT_TEXT_BYTES + 4];
    size_t length = gc__object_length(object), bytes = gc__min(length, GC__SNAPSHOT_TEXT_BYTES);
    memcpy(text, (const char *)object + snapshot->type->text_at, bytes);
    const char *end = (const char *)memchr(text, 0, bytes);
    if (end) return gc__profile_type_add_part(&snapshot->names, text, (size_t)(end - text));
    if (bytes == length) return gc__profile_type_add_part(&snapshot->names, text, bytes);
    for (int i = 0; i < 3 && (text[bytes - 1] & 0xC0) == 0x80; i++) bytes--; /* within a character */
    if (text[bytes - 1] & 0x80) bytes--;
    memcpy(text + bytes, "...", 3);
    return gc__profile_type_add_part(&snapshot->names, text, bytes + 3);
#endif
}

GC__FN bool gc__snapshot_object(void *context, uintptr_t object) {
    gc__snapshot *snapshot = (gc__snapshot *)context;
    if (snapshot->out->error || !gc__snapshot_hold(snapshot, object)) return false;
    gc__snapshot_slots(snapshot, object);
    gc__snapshot_dependents(snapshot);
    if (snapshot->writing) return true;
    if (snapshot->edges_of_holder) gc__numbering_holds(&snapshot->numbering, object);
    bool shown = snapshot->type->text_at && snapshot->names.texts_count < snapshot->texts_max;
    gc__snapshot_node(snapshot->out, shown ? GC__NODE_STRING : GC__NODE_OBJECT,
                      shown ? gc__snapshot_text(snapshot, object) : snapshot->type->name,
                      gc__snapshot_id(snapshot, object), gc__object_bytes(object), snapshot->edges_of_holder);
    return true;
}

/* False: there is no memory, or the file has failed. */
GC__FN bool gc__snapshot_objects(gc__snapshot *snapshot, bool writing) {
    snapshot->writing = writing;
    snapshot->dependent = 0;
    return gc__numbering_walk(&snapshot->numbering, writing, gc__snapshot_object, snapshot);
}

GC__FN void gc__snapshot_group_nodes(const gc__snapshot *snapshot) {
    for (size_t i = 0; i < gc__root_groups(&snapshot->roots); i++) {
        const gc__root_group *group = gc__root_group_at(&snapshot->roots, i);
        gc__snapshot_node(snapshot->out, GC__NODE_SYNTHETIC, group->name, i < 2 ? 2 * i + 1 : 2 * i, 0, group->count);
    }
}

GC__FN void gc__snapshot_group_edges(gc__snapshot *snapshot) {
    snapshot->writing = true;
    for (size_t i = 0; i < gc__root_groups(&snapshot->roots); i++)
        for (size_t at = gc__root_group_at(&snapshot->roots, i)->first; at;) {
            const uintptr_t *held = snapshot->roots.held.words + (at - 1) * GC__HELD_WORDS;
            uintptr_t what = held[GC__HELD_WHAT];
            size_t node = what & 1 ? what >> 1 : gc__snapshot_node_of(snapshot, what);
            gc__snapshot_edge(snapshot, (int)(held[GC__HELD_EDGE] & ((1 << GC__HELD_EDGE_BITS) - 1)),
                              held[GC__HELD_EDGE] >> GC__HELD_EDGE_BITS, node);
            at = held[GC__HELD_NEXT];
        }
}

/* The file. */

static const char gc__snapshot_meta[] =
    "{\"snapshot\":{\"meta\":{\"node_fields\":[\"type\",\"name\",\"id\",\"self_size\",\"edge_count\",\"trace_node_id\","
    "\"detachedness\"],\n"
    "\"node_types\":[[\"hidden\",\"array\",\"string\",\"object\",\"code\",\"closure\",\"regexp\",\"number\",\"native\","
    "\"synthetic\","
    "\"concatenated string\",\"sliced string\",\"symbol\",\"bigint\",\"object shape\",\"wasm object\"],\n"
    "\"string\",\"number\",\"number\",\"number\",\"number\",\"number\"],\n"
    "\"edge_fields\":[\"type\",\"name_or_index\",\"to_node\"],\n"
    "\"edge_types\":[[\"context\",\"element\",\"property\",\"internal\",\"hidden\",\"shortcut\",\"weak\"],\"string_or_"
    "number\",\"node\"],\n"
    "\"trace_function_info_fields\":[\"function_id\",\"name\",\"script_name\",\"script_id\",\"line\",\"column\"],\n"
    "\"trace_node_fields\":[\"id\",\"function_info_index\",\"count\",\"size\",\"children\"],\n"
    "\"sample_fields\":[\"timestamp_us\",\"last_assigned_id\"],\n"
    "\"location_fields\":[\"object_index\",\"script_id\",\"line\",\"column\"]},\n";

GC__FN void gc__snapshot_strings(gc__snapshot *snapshot) {
    gc__put_text(snapshot->out,
                 "\"trace_function_infos\":[],\n\"trace_tree\":[],\n\"samples\":[],\n\"locations\":[],\n\"strings\":[");
    for (size_t i = 0; i < snapshot->names.types_count; i++) {
        if (i) gc__put_text(snapshot->out, ",\n");
        gc__put_json(snapshot->out, gc__profile_type_name(&snapshot->names, (uint32_t)i));
    }
    gc__put_text(snapshot->out, "]}\n");
}

/* Takes back the comma after a list's last number. */
GC__FN void gc__snapshot_list_end(gc__output *out) {
    out->used -= 2; /* they are still in the buffer, which is emptied only when something is written to it */
    gc__put_text(out, "],\n");
}

/* False: there is no memory, or the file has failed. */
GC__FN bool gc__snapshot_graph(gc__snapshot *snapshot) {
    gc__output *out = snapshot->out;
    char counts[96];
    size_t nodes = gc__root_groups(&snapshot->roots) + snapshot->numbering.count;
    gc__put_text(out, gc__snapshot_meta);
    uint64_t counts_at = gc__output_position(out);
    gc__put_format(out, "%95s\n\"nodes\":[", "");
    gc__snapshot_group_nodes(snapshot);
    if (!gc__snapshot_objects(snapshot, false)) return false;
    gc__snapshot_list_end(out);
    gc__put_text(out, "\"edges\":[");
    gc__snapshot_group_edges(snapshot);
    if (!gc__snapshot_objects(snapshot, true)) return false;
    gc__snapshot_list_end(out);
    gc__snapshot_strings(snapshot);
    int length = snprintf(counts, sizeof counts, "\"node_count\":%zu,\"edge_count\":%zu,\"trace_function_count\":0},",
                          nodes, snapshot->edges);
    gc__output_patch(out, counts_at, counts, (size_t)length);
    return true;
}

GC__FN bool gc__snapshot_make(gc__snapshot *snapshot, gc_heap *const *heaps, size_t count) {
    if (!gc__profile_open(&snapshot->names) || !gc__numbering_make(&snapshot->numbering, heaps, count)) return false;
    for (size_t i = 0; i < count; i++) snapshot->texts_max += gc__held_bytes(heaps[i]) / 64;
    if (snapshot->texts_max < (size_t)1 << 20) snapshot->texts_max = (size_t)1 << 20;
    snapshot->roots.numbering = &snapshot->numbering;
    snapshot->roots.names = &snapshot->names;
    return gc__root_tree_make(&snapshot->roots, heaps, count) && gc__snapshot_graph(snapshot);
}

/* The heaps are stopped. Without a collection, at the end or for want of memory, the snapshot has the dead, too. */
GC__FN void gc__write_snapshot(gc_heap *const *heaps, size_t count, bool at_end, gc__output *output) {
    gc__snapshot snapshot;
    memset(&snapshot, 0, sizeof snapshot);
    snapshot.visitor.visit = gc__snapshot_visit;
    snapshot.out = output;
    snapshot.hides_texts = __atomic_load_n(&gc__the_profile.hides_texts, __ATOMIC_RELAXED);
    for (size_t i = 0; i < count; i++) {
        const gc__request request = gc__request_stopped(2, GC_REASON_INDUCED, false);
        if (!at_end) gc__collect_stopped(heaps[i], &request);
        gc__heap_flush(heaps[i]);
    }
    if (!gc__snapshot_make(&snapshot, heaps, count)) gc__output_fail(output, output->error ? output->error : ENOMEM);
    gc__numbering_free(&snapshot.numbering);
    gc__root_tree_free(&snapshot.roots);
    gc__profile_free(&snapshot.names);
    gc__words_free(&snapshot.types);
    gc__map_free(&snapshot.type_numbers);
}
/* How the pages that writers make are put together. */


#define GC__PUT_LINES(output, lines) gc__put_lines(output, lines, sizeof(lines) / sizeof *(lines))
GC__FN void gc__put_lines(gc__output *output, const char *const *lines, size_t count) {
    for (size_t i = 0; i < count; i++) {
        gc__put_text(output, lines[i]);
        gc__put_byte(output, '\n');
    }
}

/* The name of the program's file, without its folders. */
GC__FN const char *gc__program_name(const gc__profile *profile) {
    const char *path = profile->modules_count > 1 ? gc__profile_text(profile, profile->modules[1].file) : "";
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : *path ? path : "a program with gc.h";
}

/* A number with its thousands apart. */
GC__FN const char *gc__grouped(char text[32], double number) {
    char digits[32];
    int length = snprintf(digits, sizeof digits, "%.0f", number), to = 0;
    for (int i = 0; i < length && to < 30; i++) {
        if (i && (length - i) % 3 == 0) text[to++] = ',';
        text[to++] = digits[i];
    }
    text[to] = 0;
    return text;
}
/* Trace events, as Perfetto and chrome://tracing read them: pauses with their phases on the threads that collected, finalizers,
   the heap's sizes, and threads by name.

   The file is a bare array. Each record begins with the comma that follows the one before it, so a file that was cut between
   records is whole but for the closing bracket, without which chrome://tracing reads it. Times are microseconds since the
   profile's start. */


/* Puts a time or duration in microseconds. */
GC__FN void gc__trace_us(gc__output *output, uint64_t ns) {
    gc__put_format(output, "%llu.%03u", (unsigned long long)(ns / 1000), (unsigned)(ns % 1000));
}

/* Begins a record: the members that all have. The first record is that of gc__trace_begin. */
GC__FN void gc__trace_open(const gc__profile *profile, gc__output *output, const char *ph, const char *name,
                           uint32_t thread) {
    gc__put_text(output, ",\n{\"ph\":\"");
    gc__put_text(output, ph);
    gc__put_text(output, "\",\"name\":");
    gc__put_json(output, name);
    gc__put_format(output, ",\"pid\":%u,\"tid\":%u", (unsigned)profile->process, (unsigned)thread);
}

/* What happened before the profile started is shown at its start. */
GC__FN void gc__trace_time(const gc__profile *profile, gc__output *output, uint64_t ns) {
    gc__put_text(output, ",\"ts\":");
    gc__trace_us(output, gc__ns_since(ns, profile->start_ns));
}

/* A span of time, without its end: arguments may follow. */
GC__FN void gc__trace_span(const gc__profile *profile, gc__output *output, const char *name, uint32_t thread,
                           uint64_t from_ns, uint64_t to_ns) {
    from_ns = from_ns > profile->start_ns ? from_ns : profile->start_ns;
    gc__trace_open(profile, output, "X", name, thread);
    gc__put_text(output, ",\"cat\":\"gc\"");
    gc__trace_time(profile, output, from_ns);
    gc__put_text(output, ",\"dur\":");
    gc__trace_us(output, gc__ns_since(to_ns, from_ns));
}

/* Ends a record. */
GC__FN void gc__trace_close(gc__output *output) {
    gc__put_text(output, "}");
    gc__output_record(output);
}

/* The phases lie one after another from the collection's start on, and within it. */
GC__FN void gc__trace_phases(const gc__profile *profile, gc__output *output, const gc__profile_collection *collection) {
    uint64_t from = collection->start_ns;
    if (from > collection->asked_ns && collection->asked_ns) {
        gc__trace_span(profile, output, "stop threads", collection->thread, collection->asked_ns, from);
        gc__trace_close(output);
    }
    for (unsigned i = 0; i < collection->part_count; i++) {
        uint64_t to = from + collection->parts[i].ns;
        if (to > collection->end_ns) to = collection->end_ns;
        gc__trace_span(profile, output, gc__phase_text(collection->parts[i].phase), collection->thread, from, to);
        gc__trace_close(output);
        from = to;
    }
}

/* What a heap holds, as counters. A process may have several heaps. */
GC__FN void gc__trace_space(const gc__profile *profile, gc__output *output, uint32_t heap, uint64_t ns,
                            const gc__profile_space *space) {
    gc__trace_open(profile, output, "C", "live bytes", 0);
    gc__put_format(output, ",\"id\":\"heap %u\"", (unsigned)heap + 1);
    gc__trace_time(profile, output, ns);
    gc__put_format(output, ",\"args\":{\"generation 0\":%zu,\"generation 1\":%zu,\"generation 2\":%zu}",
                   space->generation_bytes[0], space->generation_bytes[1], space->generation_bytes[2]);
    gc__trace_close(output);
    gc__trace_open(profile, output, "C", "memory", 0);
    gc__put_format(output, ",\"id\":\"heap %u\"", (unsigned)heap + 1);
    gc__trace_time(profile, output, ns);
    gc__put_format(output, ",\"args\":{\"held\":%zu,\"large objects\":%zu,\"off-heap\":%zu}", space->held_bytes,
                   space->large_bytes, space->external_bytes);
    gc__trace_close(output);
}

GC__FN void gc__trace_collection(const gc__profile *profile, gc__output *output,
                                 const gc__profile_collection *collection) {
    char name[64];
    uint64_t from = collection->asked_ns ? collection->asked_ns : collection->start_ns;
    snprintf(name, sizeof name, "GC %u%s%s", (unsigned)collection->generation,
             collection->compacting ? ", compacting" : "", collection->left_out ? ", left out" : "");
    gc__trace_span(profile, output, name, collection->thread, from, collection->end_ns);
    gc__put_format(output, ",\"args\":{\"number\":%llu,\"heap\":%u,\"reason\":\"%s\"",
                   (unsigned long long)collection->number, (unsigned)collection->heap + 1,
                   gc_reason_text(collection->reason));
    size_t condemned = 0, survived = 0;
    for (int g = 0; g < GC_GENERATIONS; g++)
        condemned += collection->condemned_bytes[g], survived += collection->promoted_bytes[g];
    gc__put_format(output, ",\"condemned bytes\":%zu,\"survived bytes\":%zu,\"moved bytes\":%zu}", condemned, survived,
                   collection->moved_bytes);
    gc__trace_close(output);
    gc__trace_phases(profile, output, collection);
    gc__trace_space(profile, output, collection->heap, collection->start_ns, &collection->before);
    gc__trace_space(profile, output, collection->heap, collection->end_ns, &collection->after);
}

GC__FN void gc__trace_thread(const gc__profile *profile, gc__output *output, const gc__profile_thread *thread) {
    gc__trace_open(profile, output, "M", "thread_name", thread->number);
    gc__put_text(output, ",\"args\":{\"name\":");
    gc__put_json(output, gc__profile_text(profile, thread->name));
    gc__put_text(output, "}");
    gc__trace_close(output);
}

/* A sampled allocation, or a tick. */
GC__FN void gc__trace_allocation(const gc__profile *profile, gc__output *output, const gc__profile_event *event) {
    gc__trace_open(profile, output, "i", gc__profile_type_name(profile, event->type), event->thread);
    gc__put_format(output, ",\"s\":\"t\",\"cat\":\"%s\"", event->kind == GC_PROFILE_TICK ? "tick" : "sample");
    gc__trace_time(profile, output, event->time_ns);
    gc__put_format(output, ",\"args\":{\"bytes\":%llu}", (unsigned long long)event->bytes);
    gc__trace_close(output);
}

GC__FN void gc__trace_lost(const gc__profile *profile, gc__output *output, const gc__profile_event *event) {
    gc__trace_open(profile, output, "i", "events lost", event->thread);
    gc__put_text(output, ",\"s\":\"t\",\"cat\":\"profile\"");
    gc__trace_time(profile, output, event->time_ns);
    gc__put_format(output, ",\"args\":{\"count\":%llu}", (unsigned long long)event->amount);
    gc__trace_close(output);
}

GC__FN void gc__trace_event(const gc__profile *profile, gc__output *output, const gc__profile_event *event) {
    if (event->kind == GC_PROFILE_SAMPLE || event->kind == GC_PROFILE_TICK)
        gc__trace_allocation(profile, output, event);
    if (event->kind == GC_PROFILE_LOST) gc__trace_lost(profile, output, event);
    if (event->kind == GC_PROFILE_COLLECTION_END)
        gc__trace_collection(profile, output, &profile->collections[event->collection]);
    if (event->kind != GC_PROFILE_FINALIZER) return;
    gc__trace_span(profile, output, "finalizer", event->thread, gc__ns_since(event->time_ns, event->amount), event->time_ns);
    gc__trace_close(output);
}

GC__FN void gc__trace_begin(const gc__profile *profile, gc__output *output) {
    gc__put_format(output, "[\n{\"ph\":\"M\",\"name\":\"process_name\",\"pid\":%u,\"tid\":0,\"args\":{\"name\":",
                   (unsigned)profile->process);
    gc__put_json(output, gc__program_name(profile));
    gc__put_text(output, "}");
    gc__trace_close(output);
}

GC__FN void gc__trace_events(const gc__profile *profile, const gc__profile_event *events, size_t count,
                             gc__output *output) {
    for (size_t i = 0; i < count; i++) gc__trace_event(profile, output, &events[i]);
}

/* What was allocated, by type, as one event at the end. */
GC__FN void gc__trace_types(const gc__profile *profile, gc__output *output) {
    const char *comma = "";
    gc__profile_amount *totals = gc__type_totals(profile, output);
    if (!totals) return;
    gc__trace_open(profile, output, "i", "allocated, by type", 0);
    gc__put_text(output, ",\"s\":\"p\",\"cat\":\"profile\"");
    gc__trace_time(profile, output, profile->end_ns);
    gc__put_text(output, ",\"args\":{");
    for (uint32_t type = 0; type < profile->types_count; type++) {
        if (!totals[type].samples) continue;
        gc__put_text(output, comma);
        gc__put_json(output, gc__profile_type_name(profile, type));
        gc__put_format(output, ":{\"count\":%.0f,\"bytes\":%.0f}", totals[type].count, totals[type].bytes);
        comma = ",";
    }
    gc__put_text(output, "}");
    gc__trace_close(output);
    gc__type_totals_free(profile, totals);
}

/* Says what a file does not have that is written by gc_profile_write. */
GC__FN void gc__trace_notice(const gc__profile *profile, gc__output *output) {
    gc__trace_open(profile, output, "i", "this file has collections only", 0);
    gc__put_text(output, ",\"s\":\"p\",\"cat\":\"profile\"");
    gc__trace_time(profile, output, profile->end_ns);
    gc__put_text(
        output, ",\"args\":{\"remedy\":\"start the profile with a .json file to have samples, finalizers and losses as "
                "well\"}");
    gc__trace_close(output);
}

GC__FN void gc__write_trace(const gc__profile *profile, gc__output *output) {
    for (size_t i = 0; i < profile->collections_count && !output->streamed; i++)
        gc__trace_collection(profile, output, &profile->collections[i]);
    for (size_t i = 0; i < profile->threads_count; i++)
        if (profile->threads[i].name) gc__trace_thread(profile, output, &profile->threads[i]);
    gc__trace_types(profile, output);
    if (!output->streamed) gc__trace_notice(profile, output);
    gc__put_text(output, "\n]\n");
}
/* The frames of a flame graph: each path of names, from the root on, with all paths that begin alike next to one another.

   The paths are sorted by their names, so that a frame is a run of neighbours, and appears once. */


typedef struct gc__flame_path {
    const char **names;
    size_t depth;
    double value;
} gc__flame_path;

/* What is done with a frame: from what value to what value of all its parent's it reaches. `depth` 0 is the root. */
typedef struct gc__flame_frame {
    const char *name;
    size_t depth;
    double from, to;
    bool is_type;
} gc__flame_frame;

typedef struct gc__flame {
    gc__words names; /* of all paths, one after another */
    gc__words texts; /* names that were made */
    gc__words paths; /* gc__flame_path; while paths are added, `names` is an index */
    double total;
    size_t depth; /* of the deepest path */
    bool type_first, failed;
} gc__flame;
#define GC__FLAME_PATH_WORDS (sizeof(gc__flame_path) / sizeof(uintptr_t))

GC__FN gc__flame_path *gc__flame_paths(const gc__flame *flame) { return (gc__flame_path *)flame->paths.words; }

GC__FN void gc__flame_name(gc__flame *flame, const char *name) {
    if (!gc__words_push(&flame->names, (uintptr_t)name)) flame->failed = true;
}

/* The name of a frame. An address, which stands for a name that is unknown, is a text that is made, and freed with the graph. */
GC__FN void gc__flame_frame_name(gc__flame *flame, const gc__profile *profile, const gc__profile_frame *frame) {
    char text[24], *copy = NULL;
    const char *name = gc__frame_name(profile, frame, text);
    if (name == text) {
        name = copy = strdup(text);
        if (!copy || !gc__words_push(&flame->texts, (uintptr_t)copy)) flame->failed = true;
    }
    gc__flame_name(flame, name);
}

/* Adds an entry's path: its stack, and its type before or after that. */
GC__FN void gc__flame_add(gc__flame *flame, const gc__profile *profile, const gc__profile_entry *entry, double value) {
    uint32_t stacks[GC__PROFILE_DEPTH_MAX];
    size_t depth = gc__stack_outer_first(profile, entry->stack, stacks, GC__PROFILE_DEPTH_MAX);
    if (!gc__words_reserve(&flame->paths, flame->paths.count + GC__FLAME_PATH_WORDS)) {
        flame->failed = true;
        return;
    }
    gc__flame_path *path = gc__flame_paths(flame) + flame->paths.count / GC__FLAME_PATH_WORDS;
    path->names = (const char **)(flame->names.count * sizeof(char *));
    path->depth = depth + 1;
    path->value = value;
    flame->paths.count += GC__FLAME_PATH_WORDS;
    if (flame->type_first) gc__flame_name(flame, gc__profile_type_name(profile, entry->type));
    for (size_t i = 0; i < depth; i++) gc__flame_frame_name(flame, profile, gc__profile_frame_of(profile, stacks[i]));
    if (!flame->type_first) gc__flame_name(flame, gc__profile_type_name(profile, entry->type));
    if (path->depth > flame->depth) flame->depth = path->depth;
    flame->total += value;
}

GC__FN int gc__flame_order(const void *a, const void *b) {
    const gc__flame_path *left = (const gc__flame_path *)a, *right = (const gc__flame_path *)b;
    for (size_t i = 0; i < left->depth && i < right->depth; i++) {
        int order = strcmp(left->names[i], right->names[i]);
        if (order) return order;
    }
    return left->depth < right->depth ? -1 : left->depth > right->depth;
}

/* Makes the paths of what was allocated. False: there is no memory. */
GC__FN bool gc__flame_make(gc__flame *flame, const gc__profile *profile, bool type_first) {
    memset(flame, 0, sizeof *flame);
    flame->type_first = type_first;
    for (size_t i = 0; i < profile->entries_count && !flame->failed; i++)
        if (profile->entries[i].allocated.samples)
            gc__flame_add(flame, profile, &profile->entries[i], profile->entries[i].allocated.bytes);
    if (flame->failed) return false;
    gc__flame_path *paths = gc__flame_paths(flame);
    size_t count = flame->paths.count / GC__FLAME_PATH_WORDS;
    for (size_t i = 0; i < count; i++)
        paths[i].names = (const char **)((char *)flame->names.words + (uintptr_t)paths[i].names);
    if (count) qsort(paths, count, sizeof *paths, gc__flame_order);
    return true;
}

GC__FN void gc__flame_free(gc__flame *flame) {
    for (size_t i = 0; i < flame->texts.count; i++) free((void *)flame->texts.words[i]);
    gc__words_free(&flame->names);
    gc__words_free(&flame->texts);
    gc__words_free(&flame->paths);
}

GC__FN size_t gc__flame_common(const gc__flame_path *a, const gc__flame_path *b) {
    size_t depth = 0;
    while (depth < a->depth && depth < b->depth && strcmp(a->names[depth], b->names[depth]) == 0) depth++;
    return depth;
}

/* Calls draw(context, frame) for each frame, the inner ones of a frame before itself; the root is "all". */
GC__FN void gc__flame_each(const gc__flame *flame, void (*draw)(void *context, const gc__flame_frame *frame),
                           void *context) {
    double starts[GC__PROFILE_DEPTH_MAX + 1], at = 0;
    const gc__flame_path *paths = gc__flame_paths(flame);
    size_t count = flame->paths.count / GC__FLAME_PATH_WORDS, open = 0;
    for (size_t i = 0; i < count; i++) {
        size_t closed = i + 1 < count ? gc__flame_common(&paths[i], &paths[i + 1]) : 0;
        while (open < paths[i].depth) starts[open++] = at;
        at += paths[i].value;
        for (; open > closed; open--) {
            bool is_type = flame->type_first ? open == 1 : open == paths[i].depth;
            gc__flame_frame frame = {paths[i].names[open - 1], open, starts[open - 1], at, is_type};
            draw(context, &frame);
        }
    }
    gc__flame_frame all = {"all", 0, 0, at, false};
    draw(context, &all);
}
/* The style and the script of flame graphs in SVG. */

/* clang-format off */
static const char *const gc__svg_style[] = {
    "svg { background: #fbfaf8; color: #25262b; font: 12px Verdana, 'DejaVu Sans', sans-serif; }",
    "text { fill: #25262b; }",
    ".f { cursor: pointer; }",
    ".f text { pointer-events: none; fill: #1c1c1c; }",
    ".f:hover rect { stroke: #25262b; stroke-width: 0.8; }",
    ".title { font-size: 17px; font-weight: bold; }",
    ".part { font-size: 14px; font-weight: bold; }",
    ".control { cursor: pointer; }",
    ".control:hover { text-decoration: underline; }",
    ".quiet { fill: #6d6f76; }",
    "rect.hit { fill: rgb(230,0,230); }",
    "@media (prefers-color-scheme: dark) {",
    "svg { background: #1b1c20; }",
    "text { fill: #dcdce0; }",
    ".quiet { fill: #9a9ca4; }",
    ".f:hover rect { stroke: #ffffff; }",
    "}",
};

static const char *const gc__svg_script[] = {
    "'use strict';",
    "var frames = [], graphs = [], state = {x: null, y: null, s: '', i: ''};",
    "function numbers(name, element) { return Number(element.getAttribute(name)); }",
    "function init() {",
    "    document.querySelectorAll('.graph').forEach(function (graph, number) {",
    "        var own = [];",
    "        graph.querySelectorAll('.f').forEach(function (g) {",
    "            var r = g.querySelector('rect');",
    "            var f = {g: g, r: r, t: g.querySelector('text'), name: g.getAttribute('data-name'),",
    "                title: g.querySelector('title').textContent,",
    "                x: numbers('x', r), y: numbers('y', r), w: numbers('width', r)};",
    "            g.addEventListener('click', function () { zoom(f); });",
    "            g.addEventListener('mouseover', function () { say('details', f.title); });",
    "            g.addEventListener('mouseout', function () { say('details', ''); });",
    "            own.push(f);",
    "            frames.push(f);",
    "        });",
    "        graphs.push({frames: own, matched: document.getElementById('matched' + number)});",
    "    });",
    "    document.getElementById('reset').addEventListener('click', reset);",
    "    document.getElementById('search').addEventListener('click', ask);",
    "    document.getElementById('case').addEventListener('click', toggleCase);",
    "    window.addEventListener('keydown', function (event) {",
    "        if (event.ctrlKey && event.key === 'f') { event.preventDefault(); ask(); }",
    "        if (event.ctrlKey && event.key === 'i') { event.preventDefault(); toggleCase(); }",
    "        if (event.key === 'Escape') reset();",
    "    });",
    "    window.addEventListener('hashchange', restore);",
    "    restore();",
    "}",
    "function say(id, text) { document.getElementById(id).textContent = text; }",
    "/* The state stands in the address, so that a view can be sent to somebody. */",
    "function keep() {",
    "    var parts = [];",
    "    for (var key in state) if (state[key]) parts.push(key + '=' + encodeURIComponent(state[key]));",
    "    history.replaceState(null, '', '#' + parts.join('&'));",
    "}",
    "function restore() {",
    "    state = {x: null, y: null, s: '', i: ''};",
    "    location.hash.slice(1).split('&').forEach(function (part) {",
    "        var at = part.indexOf('=');",
    "        if (at > 0) state[part.slice(0, at)] = decodeURIComponent(part.slice(at + 1));",
    "    });",
    "    var wanted = frames.filter(function (f) { return state.x === String(f.x) && state.y === String(f.y); })[0];",
    "    if (wanted) zoom(wanted); else unzoom();",
    "    search(state.s);",
    "}",
    "function place(f, x, w, opacity) {",
    "    f.g.style.display = w < 0.1 ? 'none' : '';",
    "    f.g.style.opacity = opacity;",
    "    f.r.setAttribute('x', x);",
    "    f.r.setAttribute('width', Math.max(w - 0.5, 0.1));",
    "    f.t.setAttribute('x', x + 3);",
    "    var room = Math.floor((w - 6) / 7.1);",
    "    f.t.textContent = room < 3 ? '' : f.name.length <= room ? f.name : f.name.slice(0, room - 2) + '..';",
    "}",
    "function zoom(to) {",
    "    graphs.forEach(function (graph) {",
    "        if (graph.frames.indexOf(to) < 0) return;",
    "        var scale = 1180 / to.w, end = to.x + to.w + 0.001;",
    "        graph.frames.forEach(function (f) {",
    "            var within = f.x >= to.x - 0.001 && f.x + f.w <= end;",
    "            if (f.y < to.y && f.x <= to.x + 0.001 && f.x + f.w >= end - 0.002) place(f, 10, 1180, 0.5);",
    "            else if (f.y >= to.y && within) place(f, 10 + (f.x - to.x) * scale, f.w * scale, 1);",
    "            else f.g.style.display = 'none';",
    "        });",
    "    });",
    "    state.x = to.w > 1179 ? null : String(to.x);",
    "    state.y = to.w > 1179 ? null : String(to.y);",
    "    document.getElementById('reset').style.display = state.x ? '' : 'none';",
    "    keep();",
    "}",
    "function unzoom() {",
    "    frames.forEach(function (f) { place(f, f.x, f.w, 1); });",
    "    state.x = state.y = null;",
    "    document.getElementById('reset').style.display = 'none';",
    "    keep();",
    "}",
    "function reset() { unzoom(); search(''); }",
    "function ask() {",
    "    var text = window.prompt('Regular expression:', state.s);",
    "    if (text !== null) search(text);",
    "}",
    "function toggleCase() { state.i = state.i ? '' : '1'; search(state.s); }",
    "/* What is matched is counted once, where matched frames lie within others, too. */",
    "function search(text) {",
    "    var expression = null;",
    "    try {",
    "        expression = text ? new RegExp(text, state.i ? 'i' : '') : null;",
    "    } catch (error) { say('details', String(error)); }",
    "    state.s = text;",
    "    document.getElementById('case').style.opacity = state.i ? 1 : 0.4;",
    "    graphs.forEach(function (graph) {",
    "        var hits = [], sum = 0, end = 0;",
    "        graph.frames.forEach(function (f) {",
    "            var hit = expression !== null && f.w < 1179.5 && expression.test(f.name);",
    "            f.r.classList.toggle('hit', hit);",
    "            if (hit) hits.push(f);",
    "        });",
    "        hits.sort(function (a, b) { return a.x - b.x; });",
    "        hits.forEach(function (f) {",
    "            sum += Math.max(f.x + f.w - Math.max(f.x, end), 0);",
    "            end = Math.max(end, f.x + f.w);",
    "        });",
    "        graph.matched.textContent = expression ? 'Matched: ' + (100 * sum / 1180).toFixed(1) + '%' : '';",
    "    });",
    "    keep();",
    "}",
};
/* clang-format on */
/* Flame graphs as one file of SVG: what was allocated, by site and by type. It has its own script, for zooming and searching. */


#define GC__SVG_WIDTH 1200.0
#define GC__SVG_SIDE 10.0
#define GC__SVG_ROW 17.0  /* the height of a frame, and a gap */
#define GC__SVG_LEAST 0.1 /* narrower frames are left out */

typedef struct gc__svg {
    gc__output *output;
    const gc__flame *flame;
    double top;
    size_t left_out;
} gc__svg;

/* Restrained colors: the hue is the kind's, and the name makes a shade of it. */
GC__FN void gc__svg_color(gc__output *output, const gc__flame_frame *frame) {
    unsigned shade = (unsigned)(gc__profile_hash(frame->name, strlen(frame->name), 7) >> 40);
    if (!frame->depth)
        gc__put_text(output, "#d9d7d2");
    else if (frame->is_type)
        gc__put_format(output, "hsl(%u,%u%%,%u%%)", 195 + shade % 30, 38 + shade / 32 % 20, 66 + shade / 1024 % 12);
    else
        gc__put_format(output, "hsl(%u,%u%%,%u%%)", 22 + shade % 30, 62 + shade / 32 % 20, 64 + shade / 1024 % 12);
}

GC__FN void gc__svg_frame(void *context, const gc__flame_frame *frame) {
    gc__svg *svg = (gc__svg *)context;
    gc__output *output = svg->output;
    char number[32];
    double total = svg->flame->total > 0 ? svg->flame->total : 1, scale = (GC__SVG_WIDTH - 2 * GC__SVG_SIDE) / total;
    double part = frame->depth ? (frame->to - frame->from) / total : 1; /* the root's is the whole, even of nothing */
    double x = GC__SVG_SIDE + frame->from * scale, width = part * (GC__SVG_WIDTH - 2 * GC__SVG_SIDE);
    double y = svg->top + (double)frame->depth * GC__SVG_ROW;
    if (width < GC__SVG_LEAST && frame->depth) {
        svg->left_out++;
        return;
    }
    gc__put_text(output, "<g class=\"f\" data-name=\"");
    gc__put_xml(output, frame->name);
    gc__put_text(output, "\"><title>");
    gc__put_xml(output, frame->name);
    gc__put_format(output, " (%s bytes, %.2f%%)</title>", gc__grouped(number, frame->to - frame->from), 100 * part);
    gc__put_format(output, "<rect x=\"%.2f\" y=\"%.0f\" width=\"%.2f\" height=\"%.0f\" rx=\"1\" fill=\"", x, y, width,
                   GC__SVG_ROW - 1);
    gc__svg_color(output, frame);
    gc__put_format(output, "\"/><text x=\"%.2f\" y=\"%.0f\"></text></g>\n", x + 3, y + 12);
}

/* A graph with its heading; returns its height. */
GC__FN double gc__svg_graph(const gc__profile *profile, gc__output *output, double top, unsigned number,
                            bool type_first) {
    gc__flame flame;
    gc__svg svg = {output, &flame, top + 26, 0};
    if (!gc__flame_make(&flame, profile, type_first)) gc__output_fail(output, ENOMEM);
    gc__put_format(output, "<text class=\"part\" x=\"10\" y=\"%.0f\">%s</text>\n", top + 16,
                   type_first ? "By type, and where it was allocated" : "By allocation site, and the types there");
    gc__put_format(output,
                   "<text id=\"matched%u\" x=\"1190\" y=\"%.0f\" text-anchor=\"end\"></text>\n<g class=\"graph\">\n",
                   number, top + 16);
    gc__flame_each(&flame, gc__svg_frame, &svg);
    double height = 26 + (double)(flame.depth + 1) * GC__SVG_ROW + 24;
    gc__put_text(output, "</g>\n");
    if (svg.left_out)
        gc__put_format(
            output,
            "<text class=\"quiet\" x=\"10\" y=\"%.0f\">%zu frames narrower than %.1f pixels are left out</text>\n",
            top + height - 10, svg.left_out, GC__SVG_LEAST);
    gc__flame_free(&flame);
    return height;
}

GC__FN void gc__svg_head(const gc__profile *profile, gc__output *output) {
    char bytes[32];
    gc__put_text(output, "<style>\n");
    GC__PUT_LINES(output, gc__svg_style);
    gc__put_text(output, "</style>\n<script><![CDATA[\n");
    GC__PUT_LINES(output, gc__svg_script);
    gc__put_text(output, "]]></script>\n<text class=\"title\" x=\"10\" y=\"26\">Allocations of ");
    gc__put_xml(output, gc__program_name(profile));
    gc__put_format(
        output,
        "</text>\n<text class=\"quiet\" x=\"10\" y=\"46\">%s bytes in %.3f s; one byte in %llu was sampled</text>\n",
        gc__grouped(bytes, (double)profile->allocated_bytes), (double)gc__ns_since(profile->end_ns, profile->start_ns) / 1e9,
        (unsigned long long)profile->options.period_bytes);
    gc__put_text(output,
                 "<text id=\"reset\" class=\"control\" x=\"10\" y=\"68\" style=\"display:none\">Reset Zoom</text>\n"
                 "<text id=\"details\" x=\"120\" y=\"68\"></text>\n"
                 "<text id=\"search\" class=\"control\" x=\"1190\" y=\"26\" text-anchor=\"end\">Search</text>\n"
                 "<text id=\"case\" class=\"control\" x=\"1190\" y=\"46\" text-anchor=\"end\">ignore case</text>\n");
}

/* The height is known at last; until then there is room for it. A device cannot be gone back in: it gets a window's height. */
GC__FN void gc__write_svg(const gc__profile *profile, gc__output *output) {
    char size[96];
    gc__put_text(
        output,
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" onload=\"init()\" ");
    uint64_t at = gc__output_position(output);
    gc__put_format(output, "%-64s>\n", "width=\"1200\" height=\"1000\"");
    gc__svg_head(profile, output);
    double top = 80;
    top += gc__svg_graph(profile, output, top, 0, false);
    top += gc__svg_graph(profile, output, top, 1, true);
    gc__put_text(output, "</svg>\n");
    int length = snprintf(size, sizeof size, "width=\"1200\" height=\"%.0f\" viewBox=\"0 0 1200 %.0f\"", top, top);
    if (!output->special && length <= 64) gc__output_patch(output, at, size, (size_t)length);
}
/* The style, the body and the script of the page that shows a profile. */

/* clang-format off */
static const char *const gc__page_style[] = {
    ":root { --back: #fbfaf8; --text: #25262b; --quiet: #6d6f76; --line: #dedbd5; --panel: #ffffff; --accent: #3b6ea5;",
    "  --g0: #9cc3e0; --g1: #5a92bf; --g2: #2f5f8c; --held: #b4a58f; }",
    "@media (prefers-color-scheme: dark) { :root { --back: #1b1c20; --text: #dcdce0; --quiet: #9a9ca4; --line: #36383f;",
    "  --panel: #222429; --accent: #7fb2e5; --g0: #3f6d92; --g1: #5d97c6; --g2: #9fcbee; --held: #8a7c66; } }",
    "body { margin: 0 auto; max-width: 1240px; padding: 20px; background: var(--back); color: var(--text);",
    "  font: 14px/1.45 system-ui, 'Segoe UI', 'DejaVu Sans', sans-serif; }",
    "h1 { font-size: 22px; margin: 0 0 4px; } h2 { font-size: 16px; margin: 30px 0 8px; }",
    "p { margin: 0 0 6px; } .quiet { color: var(--quiet); }",
    ".panel { background: var(--panel); border: 1px solid var(--line); border-radius: 6px; padding: 10px; }",
    ".controls { display: flex; gap: 10px; align-items: center; flex-wrap: wrap; margin-bottom: 8px; }",
    ".controls select, .controls input[type=search], .controls button { font: inherit; color: inherit; background: var(--back);",
    "  border: 1px solid var(--line); border-radius: 4px; padding: 3px 7px; }",
    ".controls input[type=search] { width: 260px; } .controls #matched { margin-left: auto; }",
    "canvas { display: block; width: 100%; } #details { min-height: 21px; overflow-wrap: anywhere; }",
    "#tip { position: fixed; display: none; pointer-events: none; background: var(--panel); border: 1px solid var(--line);",
    "  border-radius: 4px; padding: 5px 8px; font-size: 12.5px; white-space: pre; box-shadow: 0 2px 8px #0003; z-index: 9; }",
    ".legend span { margin-right: 14px; white-space: nowrap; } .legend i { display: inline-block; width: 11px; height: 11px;",
    "  border-radius: 2px; margin-right: 5px; }",
    "table { border-collapse: collapse; width: 100%; font-size: 13px; }",
    "th { text-align: right; cursor: pointer; font-weight: 600; }",
    "th, td { padding: 3px 8px; border-bottom: 1px solid var(--line); text-align: right; font-variant-numeric: tabular-nums; }",
    "th:first-child, td:first-child, th:nth-child(2), td:nth-child(2) { text-align: left; overflow-wrap: anywhere; }",
    "th.sorted { color: var(--accent); }",
    "td .bar { display: flex; width: 130px; height: 11px; border-radius: 2px; overflow: hidden; }",
};

static const char *const gc__page_body[] = {
    "<h2>What was allocated, and where</h2>",
    "<div class='panel'>",
    "<div class='controls'><select id='view' title='the order of frames'></select>",
    "<select id='measure' title='what is measured'></select>",
    "<input id='search' type='search' placeholder='regular expression (Ctrl-F)'>",
    "<label><input id='case' type='checkbox'> ignore case</label>",
    "<button id='reset' hidden>Reset Zoom</button><span id='total' class='quiet'></span><span id='matched'></span></div>",
    "<canvas id='flames'></canvas>",
    "<div id='details'></div><div id='left' class='quiet'></div>",
    "</div>",
    "<h2>Pauses</h2>",
    "<div class='panel'><canvas id='pauses'></canvas><div id='phases' class='legend quiet'></div></div>",
    "<h2>The heap by generation</h2>",
    "<div class='panel'><canvas id='heap'></canvas><div id='generations' class='legend quiet'></div></div>",
    "<h2>What dies young, and what gets old</h2>",
    "<div class='panel'>",
    "<table><thead><tr><th>function</th><th>type</th>",
    "<th>allocated</th><th>died in 0</th><th>in 1</th><th>in 2</th><th>in use</th>",
    "<th>0, 1, 2, in use</th></tr></thead><tbody id='rows'></tbody></table>",
    "<div id='more' class='quiet'></div>",
    "</div>",
    "<div id='tip'></div>",
};

static const char *const gc__page_script[] = {
    "'use strict';",
    "const data = JSON.parse(document.getElementById('data').textContent);",
    "const $ = id => document.getElementById(id);",
    "const css = name => getComputedStyle(document.documentElement).getPropertyValue(name).trim();",
    "const grouped = n => Math.round(n).toString().replace(/\\B(?=(\\d{3})+$)/g, ',');",
    "function bytes(n) {",
    "    const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];",
    "    let unit = 0;",
    "    while (n >= 1024 && unit < 4) { n /= 1024; unit++; }",
    "    return (unit && n < 100 ? n.toFixed(1) : Math.round(n)) + ' ' + units[unit];",
    "}",
    "const ms = ns => ns >= 1e8 ? (ns / 1e9).toFixed(2) + ' s' : ns >= 1e6 ? (ns / 1e6).toFixed(2) + ' ms' :",
    "    (ns / 1e3).toFixed(1) + ' \\u00b5s';",
    "/* An entry: type, stack, then count and bytes of what was allocated, lives in generations 0 to 2, died in them. */",
    "const sum = (entry, at) => entry[at] + entry[at + 2] + entry[at + 4];",
    "const measures = {",
    "    'allocated bytes': e => e[3], 'allocated objects': e => e[2],",
    "    'bytes in use': e => sum(e, 5), 'objects in use': e => sum(e, 4),",
    "    'bytes that died in generation 0': e => e[11], 'bytes that grew old (generation 2)': e => e[9] + e[15]};",
    "const views = ['by allocation site', 'by type', 'by type, callers inverted'];",
    "let state = {view: '0', measure: 'allocated bytes', s: '', i: '', z: ''};",
    "let root, shown, zoomed, rects = [], expression = null;",
    "",
    "function pathOf(entry, view) {",
    "    const path = [], type = {name: data.types[entry[0]], type: true};",
    "    for (let s = entry[1]; s; s = data.stacks[s][1]) path.push({name: data.frames[data.stacks[s][0]], type: false});",
    "    if (view !== '2') path.reverse();",
    "    return view === '0' ? path.concat([type]) : [type].concat(path);",
    "}",
    "function build() {",
    "    const measure = measures[state.measure] || measures['allocated bytes'];",
    "    root = {name: 'all', value: 0, children: new Map(), depth: 0, parent: null, type: false, path: ''};",
    "    for (const entry of data.entries) {",
    "        const value = measure(entry);",
    "        if (!(value > 0)) continue;",
    "        let node = root;",
    "        root.value += value;",
    "        for (const step of pathOf(entry, state.view)) {",
    "            const key = (step.type ? 't' : 'f') + step.name;",
    "            let next = node.children.get(key);",
    "            if (!next) {",
    "                next = {name: step.name, value: 0, children: new Map(), depth: node.depth + 1, parent: node,",
    "                    type: step.type, path: node.path + '/' + encodeURIComponent(key)};",
    "                node.children.set(key, next);",
    "            }",
    "            next.value += value;",
    "            node = next;",
    "        }",
    "    }",
    "    zoomed = root;",
    "    for (const key of state.z.split('/').slice(1)) {",
    "        const next = zoomed.children.get(decodeURIComponent(key));",
    "        if (next) zoomed = next;",
    "    }",
    "}",
    "function shade(name, type, dark) {",
    "    let hash = 7;",
    "    for (let i = 0; i < name.length; i++) hash = (hash * 31 + name.charCodeAt(i)) >>> 0;",
    "    const hue = (type ? 195 : 22) + hash % 30, light = (dark ? 34 : 66) + (hash >>> 8) % 12;",
    "    return `hsl(${hue},${(type ? 38 : 58) + (hash >>> 16) % 18}%,${light}%)`;",
    "}",
    "function sized(canvas, height) {",
    "    const ratio = window.devicePixelRatio || 1, width = canvas.clientWidth || 1180;",
    "    canvas.style.height = height + 'px';",
    "    canvas.width = width * ratio;",
    "    canvas.height = height * ratio;",
    "    const g = canvas.getContext('2d');",
    "    g.scale(ratio, ratio);",
    "    g.font = '12px system-ui, \"DejaVu Sans\", sans-serif';",
    "    g.textBaseline = 'middle';",
    "    return [g, width];",
    "}",
    "function layout(width) {",
    "    rects = [];",
    "    let left = 0, deepest = 0;",
    "    const ancestors = [];",
    "    for (let n = zoomed.parent; n; n = n.parent) ancestors.unshift(n);",
    "    ancestors.forEach(n => rects.push({n, x: 0, w: width, faded: true}));",
    "    const stack = [[zoomed, 0, width]];",
    "    while (stack.length) {",
    "        const [n, x, w] = stack.pop();",
    "        if (w < 0.3) { left++; continue; }",
    "        rects.push({n, x, w, faded: false});",
    "        deepest = Math.max(deepest, n.depth);",
    "        let at = x;",
    "        const children = [...n.children.values()];",
    "        for (const child of children.sort((a, b) => a.name < b.name ? -1 : a.name > b.name ? 1 : 0)) {",
    "            const wide = w * child.value / n.value;",
    "            stack.push([child, at, wide]);",
    "            at += wide;",
    "        }",
    "    }",
    "    return [deepest, left];",
    "}",
    "/* What is matched is counted once, where matched frames lie within others, too. */",
    "function matched() {",
    "    let total = 0;",
    "    const stack = [root];",
    "    while (stack.length) {",
    "        const n = stack.pop();",
    "        if (n !== root && expression.test(n.name)) total += n.value;",
    "        else stack.push(...n.children.values());",
    "    }",
    "    return root.value ? 100 * total / root.value : 0;",
    "}",
    "function drawFlames() {",
    "    const canvas = $('flames'), row = 18;",
    "    const [deepest, left] = layout(canvas.clientWidth || 1180);",
    "    const [g] = sized(canvas, (deepest + 1) * row + 2);",
    "    const dark = window.matchMedia('(prefers-color-scheme: dark)').matches;",
    "    for (const r of rects) {",
    "        const y = r.n.depth * row, hit = expression && r.n !== root && expression.test(r.n.name);",
    "        r.y = y;",
    "        g.globalAlpha = r.faded ? 0.5 : 1;",
    "        g.fillStyle = hit ? 'rgb(230,0,230)' : r.n === root ? css('--line') : shade(r.n.name, r.n.type, dark);",
    "        g.fillRect(r.x, y, Math.max(r.w - 0.6, 0.3), row - 1);",
    "        const room = Math.floor((r.w - 8) / 6.8);",
    "        if (room >= 3) {",
    "            g.fillStyle = hit ? '#ffffff' : dark ? '#f0f0f2' : '#1c1c1c';",
    "            g.fillText(r.n.name.length <= room ? r.n.name : r.n.name.slice(0, room - 2) + '..', r.x + 4, y + row / 2);",
    "        }",
    "    }",
    "    g.globalAlpha = 1;",
    "    $('matched').textContent = expression ? 'Matched: ' + matched().toFixed(1) + '%' : '';",
    "    $('reset').hidden = zoomed === root && !expression;",
    "    $('left').textContent = left ? `${grouped(left)} frames are too narrow to be drawn: zoom in to see them.` : '';",
    "    $('total').textContent = state.measure.includes('objects') ? grouped(root.value) + ' objects' : bytes(root.value);",
    "}",
    "function describe(n) {",
    "    const objects = state.measure.includes('objects');",
    "    const percent = (100 * n.value / (root.value || 1)).toFixed(2);",
    "    return `${n.name} (${grouped(n.value)} ${objects ? 'objects' : 'bytes'}, ${percent}%)`;",
    "}",
    "function at(event) {",
    "    const box = $('flames').getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top;",
    "    return rects.find(r => x >= r.x && x < r.x + r.w && y >= r.y && y < r.y + 18);",
    "}",
    "function keep() {",
    "    const parts = Object.keys(state).filter(k => state[k]).map(k => k + '=' + encodeURIComponent(state[k]));",
    "    history.replaceState(null, '', '#' + parts.join('&'));",
    "}",
    "function zoom(n) { zoomed = n; state.z = n.path; keep(); drawFlames(); }",
    "function search(text) {",
    "    state.s = text;",
    "    $('search').value = text;",
    "    try {",
    "        expression = text ? new RegExp(text, state.i ? 'i' : '') : null;",
    "        $('details').textContent = '';",
    "    } catch (error) { expression = null; $('details').textContent = String(error); }",
    "    keep();",
    "    drawFlames();",
    "    drawTable();",
    "}",
    "function restore() {",
    "    for (const part of location.hash.slice(1).split('&')) {",
    "        const at = part.indexOf('=');",
    "        if (at > 0) state[part.slice(0, at)] = decodeURIComponent(part.slice(at + 1));",
    "    }",
    "    $('view').value = state.view;",
    "    $('measure').value = state.measure;",
    "    $('case').checked = Boolean(state.i);",
    "    build();",
    "    search(state.s);",
    "}",
    "/* Time lines. */",
    "const palette = ['#8c8c94', '#c9b458', '#b0a9c9', '#5a92bf', '#d08c60',",
    "    '#a87fb0', '#6fae8f', '#c5707f', '#2f5f8c', '#9a9ca4', '#7a6a58', '#55565c'];",
    "function steps(most, count) {",
    "    const rough = most / count, power = Math.pow(10, Math.floor(Math.log10(rough)));",
    "    const step = [1, 2, 5, 10].map(m => m * power).find(s => s >= rough);",
    "    const list = [];",
    "    for (let v = 0; v <= most * 1.0001; v += step) list.push(v);",
    "    return list;",
    "}",
    "const plain = v => Number(v.toPrecision(6)).toString();",
    "/* Axes with their units; returns functions from values to places. */",
    "function axes(g, width, height, seconds, most, unit) {",
    "    const left = 64, bottom = height - 26, top = 14, right = width - 10;",
    "    const x = s => left + (right - left) * s / seconds, y = v => bottom - (bottom - top) * v / most;",
    "    g.strokeStyle = css('--line');",
    "    g.fillStyle = css('--quiet');",
    "    g.lineWidth = 1;",
    "    g.textAlign = 'right';",
    "    for (const v of steps(most, 5)) {",
    "        g.beginPath(); g.moveTo(left, y(v)); g.lineTo(right, y(v)); g.stroke();",
    "        g.fillText(plain(v) + ' ' + unit, left - 6, y(v));",
    "    }",
    "    g.textAlign = 'center';",
    "    for (const s of steps(seconds, 10)) g.fillText(plain(s) + ' s', x(s), bottom + 14);",
    "    g.textAlign = 'left';",
    "    return {x, y, left, right, bottom, top};",
    "}",
    "const seconds = Math.max(data.duration_ns / 1e9, 1e-6);",
    "const spots = {};",
    "function drawPauses() {",
    "    const [g, width] = sized($('pauses'), 220);",
    "    const most = data.collections.reduce((most, c) => Math.max(most, c.end - c.asked), 1000) / 1e6;",
    "    const {x, y} = axes(g, width, 220, seconds, most, 'ms');",
    "    spots.pauses = [];",
    "    for (const c of data.collections) {",
    "        const from = x(c.asked / 1e9), wide = Math.max(x(c.end / 1e9) - from, 2.5);",
    "        let height = 0;",
    "        for (const [phase, ns] of [[-1, Math.max(c.start - c.asked, 0)]].concat(c.parts)) {",
    "            g.fillStyle = palette[phase + 1];",
    "            g.fillRect(from, y((height + ns) / 1e6), wide, y(height / 1e6) - y((height + ns) / 1e6));",
    "            height += ns;",
    "        }",
    "        const all = y((c.end - c.asked) / 1e6);",
    "        g.fillStyle = palette[11];",
    "        if (c.end - c.asked > height) g.fillRect(from, all, wide, y(height / 1e6) - all);",
    "        spots.pauses.push({from: from - 2, to: from + wide + 2, c});",
    "    }",
    "}",
    "function drawHeap() {",
    "    const [g, width] = sized($('heap'), 220);",
    "    const points = [];",
    "    for (const c of data.collections) { points.push([c.start, c.before, c]); points.push([c.end, c.after, c]); }",
    "    const most = points.reduce((most, p) => Math.max(most, p[1][0] + p[1][1] + p[1][2], p[1][3]), 1024);",
    "    const unit = most >= 2 ** 30 ? 30 : most >= 2 ** 20 ? 20 : 10;",
    "    const {x, y} = axes(g, width, 220, seconds, most / 2 ** unit, {30: 'GiB', 20: 'MiB', 10: 'KiB'}[unit]);",
    "    const line = (value, from, color) => {",
    "        if (!points.length) return;",
    "        g.beginPath();",
    "        points.forEach((p, i) => g[i ? 'lineTo' : 'moveTo'](x(p[0] / 1e9), y(value(p[1]) / 2 ** unit)));",
    "        if (!from) { g.strokeStyle = color; g.lineWidth = 1.5; g.stroke(); return; }",
    "        points.slice().reverse().forEach(p => g.lineTo(x(p[0] / 1e9), y(from(p[1]) / 2 ** unit)));",
    "        g.fillStyle = color;",
    "        g.fill();",
    "    };",
    "    line(p => p[2], () => 0, css('--g2'));",
    "    line(p => p[2] + p[1], p => p[2], css('--g1'));",
    "    line(p => p[2] + p[1] + p[0], p => p[2] + p[1], css('--g0'));",
    "    line(p => p[3], null, css('--held'));",
    "    spots.heap = data.collections.map(c => ({from: x(c.start / 1e9) - 3, to: x(c.end / 1e9) + 3, c}));",
    "}",
    "function tell(c) {",
    "    const total = s => bytes(s[0] + s[1] + s[2]);",
    "    const lines = [`collection ${c.number}: generation ${c.generation}, ${c.reason}${c.compacting ? ', compacting' : ''}`,",
    "        `at ${(c.asked / 1e9).toFixed(3)} s, ${ms(c.end - c.asked)} on thread ${c.thread}`,",
    "        `  stop threads: ${ms(Math.max(c.start - c.asked, 0))}`];",
    "    for (const [phase, ns] of c.parts) lines.push(`  ${data.phases[phase]}: ${ms(ns)}`);",
    "    lines.push(`objects: ${total(c.before)}, then ${total(c.after)}; held: ${bytes(c.after[3])}`);",
    "    return lines.join('\\n');",
    "}",
    "function hover(id) {",
    "    $(id).addEventListener('mousemove', event => {",
    "        const x = event.clientX - $(id).getBoundingClientRect().left;",
    "        let best = null;",
    "        const far = s => Math.abs(x - (s.from + s.to) / 2);",
    "        for (const s of spots[id] || []) if (x >= s.from && x <= s.to && (!best || far(s) < far(best))) best = s;",
    "        $('tip').style.display = best ? 'block' : 'none';",
    "        if (!best) return;",
    "        $('tip').textContent = tell(best.c);",
    "        $('tip').style.left = Math.min(event.clientX + 14, window.innerWidth - 340) + 'px';",
    "        $('tip').style.top = Math.min(event.clientY + 14, window.innerHeight - 260) + 'px';",
    "    });",
    "    $(id).addEventListener('mouseleave', () => { $('tip').style.display = 'none'; });",
    "}",
    "function legend(id, items) {",
    "    for (const [color, text] of items) {",
    "        const span = document.createElement('span'), mark = document.createElement('i');",
    "        mark.style.background = color;",
    "        span.append(mark, text);",
    "        $(id).append(span);",
    "    }",
    "}",
    "function legends() {",
    "    const sums = ['stop threads'].concat(data.phases).map((text, i) => [palette[i], text, 0]);",
    "    for (const c of data.collections) {",
    "        sums[0][2] += Math.max(c.start - c.asked, 0);",
    "        for (const [phase, ns] of c.parts) sums[phase + 1][2] += ns;",
    "    }",
    "    legend('phases', sums.filter(s => s[2] > 0).map(s => [s[0], `${s[1]} ${ms(s[2])}`]));",
    "    legend('generations', [['var(--g0)', 'generation 0'], ['var(--g1)', 'generation 1'], ['var(--g2)', 'generation 2'],",
    "        ['var(--held)', 'memory held (line)']]);",
    "}",
    "/* Survival: a row for each type and innermost function, most allocated first. */",
    "let column = 2, rows = [];",
    "function survival() {",
    "    const all = new Map();",
    "    for (const e of data.entries) {",
    "        const site = e[1] ? data.frames[data.stacks[e[1]][0]] : '(no stack)', type = data.types[e[0]];",
    "        const key = site + '\\n' + type;",
    "        const row = all.get(key) || [site, type, 0, 0, 0, 0, 0];",
    "        [e[3], e[11], e[13], e[15], sum(e, 5)].forEach((n, i) => { row[i + 2] += n; });",
    "        all.set(key, row);",
    "    }",
    "    rows = [...all.values()].filter(r => r[2] > 0);",
    "}",
    "function drawTable() {",
    "    const body = $('rows'), absolute = column === 2 || column === 6;",
    "    const key = r => column < 2 ? r[column] : absolute ? -r[column] : -r[column] / r[2];",
    "    rows.sort((a, b) => key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0);",
    "    const chosen = rows.filter(r => !expression || expression.test(r[0]) || expression.test(r[1]));",
    "    body.textContent = '';",
    "    for (const r of chosen.slice(0, 200)) {",
    "        const line = document.createElement('tr'), known = r[3] + r[4] + r[5] + r[6] || 1;",
    "        const percent = n => (100 * n / known).toFixed(1) + '%';",
    "        for (const text of [r[0], r[1], bytes(r[2]), percent(r[3]), percent(r[4]), percent(r[5]), bytes(r[6])]) {",
    "            const cell = document.createElement('td');",
    "            cell.textContent = text;",
    "            line.append(cell);",
    "        }",
    "        const bar = document.createElement('div'), last = document.createElement('td');",
    "        bar.className = 'bar';",
    "        [[r[3], '--g0'], [r[4], '--g1'], [r[5], '--g2'], [r[6], '--held']].forEach(([n, color]) => {",
    "            const part = document.createElement('span');",
    "            part.style.cssText = `width:${100 * n / known}%;background:var(${color})`;",
    "            bar.append(part);",
    "        });",
    "        last.append(bar);",
    "        line.append(last);",
    "        body.append(line);",
    "    }",
    "    $('more').textContent = chosen.length > 200 ? `${grouped(chosen.length - 200)} more rows: search to see them.` : '';",
    "    document.querySelectorAll('th').forEach((th, i) => th.classList.toggle('sorted', i === column));",
    "}",
    "function start() {",
    "    views.forEach((text, i) => $('view').add(new Option(text, String(i))));",
    "    Object.keys(measures).forEach(text => $('measure').add(new Option(text, text)));",
    "    $('view').onchange = () => { state.view = $('view').value; state.z = ''; build(); keep(); drawFlames(); };",
    "    $('measure').onchange = () => { state.measure = $('measure').value; state.z = ''; build(); keep(); drawFlames(); };",
    "    $('search').oninput = () => search($('search').value);",
    "    $('case').onchange = () => { state.i = $('case').checked ? '1' : ''; search(state.s); };",
    "    $('reset').onclick = () => { zoomed = root; state.z = ''; search(''); };",
    "    $('flames').onclick = event => { const r = at(event); if (r) zoom(r.n); };",
    "    $('flames').onmousemove = event => { const r = at(event); $('details').textContent = r ? describe(r.n) : ''; };",
    "    window.addEventListener('keydown', event => {",
    "        if (event.ctrlKey && event.key === 'f') { event.preventDefault(); $('search').focus(); }",
    "        if (event.ctrlKey && event.key === 'i') { event.preventDefault(); $('case').click(); }",
    "        if (event.key === 'Escape') $('reset').click();",
    "    });",
    "    document.querySelectorAll('th').forEach((th, i) => { if (i < 7) th.onclick = () => { column = i; drawTable(); }; });",
    "    const redraw = () => { drawFlames(); drawPauses(); drawHeap(); };",
    "    window.addEventListener('resize', redraw);",
    "    window.addEventListener('hashchange', restore);",
    "    window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', redraw);",
    "    survival();",
    "    legends();",
    "    restore();",
    "    drawPauses();",
    "    drawHeap();",
    "    hover('pauses');",
    "    hover('heap');",
    "}",
    "start();",
};
/* clang-format on */
/* The whole profile as one page that needs nothing else: flame graphs, pauses, the heap over time, and what dies young. The page
   has the profile as JSON, and draws it itself, so a large profile is no larger as a page. */


/* Puts "[", then what `put` puts of each of `count` items, with commas between them, then "]". */
#define GC__PUT_LIST(output, name, count, i, put)              \
    do {                                                       \
        gc__put_format(output, "%s\"" name "\":[", ",\n");     \
        for (size_t i = 0; i < (count); i++) {                 \
            if (i) gc__put_text(output, i % 16 ? "," : ",\n"); \
            put;                                               \
        }                                                      \
        gc__put_text(output, "]");                             \
    } while (0)

GC__FN void gc__page_amount(gc__output *output, const gc__profile_amount *amount) {
    if (amount->samples)
        gc__put_format(output, ",%.1f,%.0f", amount->count, amount->bytes);
    else
        gc__put_text(output, ",0,0");
}

/* Its innermost frame, and the stack of the caller. */
GC__FN void gc__page_stack(const gc__profile *profile, gc__output *output, uint32_t stack) {
    if (!stack || gc__stack_is_caller(profile, stack))
        gc__put_text(output, "[0,0]");
    else
        gc__put_format(output, "[%u,%u]", (unsigned)gc__stack_frame_number(profile, stack),
                       (unsigned)gc__stack_caller(profile, stack));
}

GC__FN void gc__page_entry(gc__output *output, const gc__profile_entry *entry) {
    gc__put_format(output, "[%u,%u", (unsigned)entry->type, (unsigned)entry->stack);
    gc__page_amount(output, &entry->allocated);
    for (int g = 0; g < GC_GENERATIONS; g++) gc__page_amount(output, &entry->live[g]);
    for (int g = 0; g < GC_GENERATIONS; g++) gc__page_amount(output, &entry->died[g]);
    gc__put_text(output, "]");
}

GC__FN void gc__page_frame(const gc__profile *profile, gc__output *output, const gc__profile_frame *frame) {
    char text[24];
    gc__put_json(output, gc__frame_name(profile, frame, text));
}

GC__FN void gc__page_space(gc__output *output, const gc__profile_space *space) {
    gc__put_format(output, "[%zu,%zu,%zu,%zu]", space->generation_bytes[0], space->generation_bytes[1],
                   space->generation_bytes[2], space->held_bytes);
}

GC__FN uint64_t gc__page_time(const gc__profile *profile, uint64_t ns) {
    return gc__ns_since(ns, profile->start_ns);
}

GC__FN void gc__page_collection(const gc__profile *profile, gc__output *output,
                                const gc__profile_collection *collection) {
    uint64_t asked = collection->asked_ns ? collection->asked_ns : collection->start_ns;
    gc__put_format(output, "\n{\"number\":%llu,\"generation\":%u,\"reason\":\"%s\",\"compacting\":%s,\"thread\":%u",
                   (unsigned long long)collection->number, (unsigned)collection->generation,
                   gc_reason_text(collection->reason), collection->compacting ? "true" : "false",
                   (unsigned)collection->thread);
    gc__put_format(output, ",\"asked\":%llu,\"start\":%llu,\"end\":%llu,\"parts\":[",
                   (unsigned long long)gc__page_time(profile, asked),
                   (unsigned long long)gc__page_time(profile, collection->start_ns),
                   (unsigned long long)gc__page_time(profile, collection->end_ns));
    for (unsigned i = 0; i < collection->part_count; i++)
        gc__put_format(output, "%s[%u,%llu]", i ? "," : "", (unsigned)collection->parts[i].phase,
                       (unsigned long long)collection->parts[i].ns);
    gc__put_text(output, "],\"before\":");
    gc__page_space(output, &collection->before);
    gc__put_text(output, ",\"after\":");
    gc__page_space(output, &collection->after);
    gc__put_text(output, "}");
}

GC__FN void gc__page_data(const gc__profile *profile, gc__output *output) {
    gc__put_format(output, "{\"duration_ns\":%llu,\"period_bytes\":%llu,\"allocated_bytes\":%llu,\"lost_samples\":%llu",
                   (unsigned long long)gc__ns_since(profile->end_ns, profile->start_ns),
                   (unsigned long long)profile->options.period_bytes, (unsigned long long)profile->allocated_bytes,
                   (unsigned long long)profile->lost_samples);
    GC__PUT_LIST(output, "phases", (size_t)GC_PHASE_COUNT, i, gc__put_json(output, gc__phase_text((gc_phase)i)));
    GC__PUT_LIST(output, "types", profile->types_count, i,
                 gc__put_json(output, gc__profile_type_name(profile, (uint32_t)i)));
    GC__PUT_LIST(output, "frames", profile->frames_count, i, gc__page_frame(profile, output, &profile->frames[i]));
    GC__PUT_LIST(output, "stacks", profile->stacks_count, i, gc__page_stack(profile, output, (uint32_t)i));
    GC__PUT_LIST(output, "entries", profile->entries_count, i, gc__page_entry(output, &profile->entries[i]));
    GC__PUT_LIST(output, "collections", profile->collections_count, i,
                 gc__page_collection(profile, output, &profile->collections[i]));
    gc__put_text(output, "}");
}

/* The page's head in words: how long, how much, how often. */
GC__FN void gc__page_summary(const gc__profile *profile, gc__output *output) {
    char bytes[32];
    uint64_t pauses = 0, longest = 0;
    for (size_t i = 0; i < profile->collections_count; i++) {
        const gc__profile_collection *collection = &profile->collections[i];
        uint64_t asked = collection->asked_ns ? collection->asked_ns : collection->start_ns,
                 pause = gc__ns_since(collection->end_ns, asked);
        pauses += pause;
        if (pause > longest) longest = pause;
    }
    gc__put_format(
        output,
        "<p>%s bytes allocated in %.3f s; %zu collections paused for %.1f ms in all, and %.2f ms at most.</p>\n",
        gc__grouped(bytes, (double)profile->allocated_bytes), (double)gc__ns_since(profile->end_ns, profile->start_ns) / 1e9,
        profile->collections_count, (double)pauses / 1e6, (double)longest / 1e6);
    gc__put_format(output,
                   "<p class='quiet'>One byte in %s was sampled, and what is shown of objects is estimated from that.",
                   gc__grouped(bytes, (double)profile->options.period_bytes));
    if (profile->lost_samples || profile->lost_collections)
        gc__put_format(output, " There was no room for %llu samples and %llu collections, which are missing.",
                       (unsigned long long)profile->lost_samples, (unsigned long long)profile->lost_collections);
    gc__put_text(output, "</p>\n");
}

GC__FN void gc__write_html(const gc__profile *profile, gc__output *output) {
    gc__put_text(output, "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'>\n<title>Profile of ");
    gc__put_xml(output, gc__program_name(profile));
    gc__put_text(output, "</title>\n<meta name='viewport' content='width=device-width'>\n<style>\n");
    GC__PUT_LINES(output, gc__page_style);
    gc__put_text(output, "</style></head><body>\n<h1>");
    gc__put_xml(output, gc__program_name(profile));
    gc__put_text(output, "</h1>\n");
    gc__page_summary(profile, output);
    GC__PUT_LINES(output, gc__page_body);
    gc__put_text(output, "<script id='data' type='application/json'>");
    gc__page_data(profile, output);
    gc__put_text(output, "</script>\n<script>\n");
    GC__PUT_LINES(output, gc__page_script);
    gc__put_text(output, "</script>\n</body></html>\n");
}
/* The formats of files, by the endings of their names. Each writer is a part of its own, which this one includes. */


static const gc__profile_format gc__profile_formats[] = {
    {".folded", gc__write_folded, NULL, NULL, NULL},
    {".nettrace", gc__write_nettrace, gc__net_begin, gc__net_events, NULL},
    {".pb", gc__write_pprof, NULL, NULL, NULL},
    {".txt", gc__write_report, NULL, NULL, NULL},
    {".svg", gc__write_svg, NULL, NULL, NULL},
    {".html", gc__write_html, NULL, NULL, NULL},
    {".json", gc__write_trace, gc__trace_begin, gc__trace_events, NULL},
    {".heapsnapshot", NULL, NULL, NULL, gc__write_snapshot},
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
/* Starting, stopping and writing a profile. */


/* Threads and heaps. */

/* Empties the thread's buffer for the last time, and frees it. Lock held. */
GC__FN void gc__thread_end(gc__profiled_thread *thread) {
    gc__profiled_thread **link = &gc__the_profile.threads;
    while (*link != thread) link = &(*link)->next;
    *link = thread->next;
    gc__thread_note_name(thread);
    gc__drain_thread(thread);
    if (thread->profile == gc__the_profile.number)
        gc__the_profile.profile.threads[thread->number].detached_ns = gc__os_now_ns();
    gc__record(thread->thread)->profiled = NULL;
    if (thread->rates_capacity) gc__os_unmap(thread->rates, thread->rates_capacity * sizeof *thread->rates);
    if (thread->buffer) gc__os_unmap(thread->buffer, thread->buffer_bytes);
    gc__os_unmap(thread, sizeof *thread);
}

GC__FN void gc__profile_detached(gc_thread *thread) {
    gc__profiled_thread *self = gc__record(thread)->profiled;
    if (self->waiting) gc__allocation_end(self);
    gc__lock_take(&gc__profile_lock);
    gc__thread_end(self);
    gc__lock_release(&gc__profile_lock);
}

GC__FN void gc__profile_attached(gc_thread *thread, bool attached) {
    gc__profiled_thread *self = attached ? gc__thread_begin(thread, true) : gc__record(thread)->profiled;
    gc_profile_event event;
    if (!self) return;
    memset(&event, 0, sizeof event);
    event.kind = GC_PROFILE_THREAD;
    event.amount = !attached;
    if (self->waiting) gc__allocation_end(self);
    if (gc__profile_wants(GC_PROFILE_THREAD)) gc__event_put(thread->heap, thread, &event, NULL);
    if (!attached) gc__profile_detached(thread);
}

static const gc__profiler gc__the_profiler = {
    gc__profile_extend,    gc__profile_unused,      gc__profile_allocated, gc__profile_stopped,
    gc__profile_resumed,   gc__profile_phase_begun, gc__profile_ended,     gc__profile_traced,
    gc__profile_finalized, gc__profile_handle,      gc__profile_attached,
};

/* Makes the heap part of the profile. Lock held. */
GC__FN bool gc__heap_enter(gc_heap *heap, bool created) {
    gc__profiling *all = &gc__the_profile;
    gc__profiled_heap *self = heap->profiled;
    if (self && self->profile == all->number) return true;
    gc__profile_heap *noted = GC__PROFILE_APPEND(&all->profile, heaps);
    if (!noted) return false;
    if (!self) {
        self = (gc__profiled_heap *)gc__os_map(sizeof *self);
        if (!self) return false;
        self->heap = heap;
        self->next = all->heaps;
        all->heaps = self;
        heap->profiled = self;
    }
    noted->address = (uintptr_t)heap;
    noted->created_ns = created ? gc__os_now_ns() : 0;
    self->number = (uint32_t)(all->profile.heaps_count - 1);
    __atomic_store_n(&self->profile, all->number, __ATOMIC_RELAXED);
    self->allocated_before = gc__counted(&heap->stats.allocated_bytes);
    for (int g = 0; g < GC_GENERATIONS; g++) self->tracked[g].count = 0;
    __atomic_store_n(&heap->profiler, &gc__the_profiler, __ATOMIC_RELEASE);
    return true;
}

/* What the heap's threads have allocated in the profile. They may have given back more of windows that they had before. */
GC__FN uint64_t gc__heap_allocated(const gc__profiled_heap *profiled) {
    uint64_t now = gc__counted(&profiled->heap->stats.allocated_bytes);
    return now - gc__min(now, profiled->allocated_before);
}

GC__FN void gc__heap_leave(gc_heap *heap) {
    gc__profiled_heap **link = &gc__the_profile.heaps, *self = heap->profiled;
    if (!self) return;
    for (gc__profiled_thread *thread = gc__the_profile.threads, *next; thread; thread = next) {
        next = thread->next;
        if (thread->thread->heap != heap) continue;
        if (thread->waiting) gc__allocation_end(thread);
        gc__thread_end(thread);
    }
    while (*link != self) link = &(*link)->next;
    *link = self->next;
    if (self->profile == gc__the_profile.number) {
        gc__the_profile.profile.heaps[self->number].destroyed_ns = gc__os_now_ns();
        gc__the_profile.ended_bytes += gc__heap_allocated(self);
    }
    gc__tracked_end(self);
    gc__os_unmap(self, sizeof *self);
    __atomic_store_n(&heap->profiler, (const gc__profiler *)NULL, __ATOMIC_RELEASE);
    heap->profiled = NULL;
}

/* Profiles. */

GC__FN gc_result gc__profile_fail_file(const char *file, int error) {
    char text[160];
    gc__os_error_text(error, text, sizeof text);
    return gc__fail(GC_ERROR_FILE, "the profile %s cannot be written: %s", file, text);
}

/* The format of the file, or NULL with gc__fail. */
GC__FN const gc__profile_format *gc__profile_find_format(const char *file) {
    char endings[256];
    size_t length = 0;
    const gc__profile_format *format = gc__profile_format_of(file);
    for (size_t i = 0; !format && i < sizeof gc__profile_formats / sizeof *gc__profile_formats; i++)
        length += (size_t)snprintf(endings + length, sizeof endings - length, " %s", gc__profile_formats[i].ending);
    if (!format)
        gc__fail(GC_ERROR_OPTION, "the profile %s has an unknown format: its name must end in one of%s", file, endings);
    return format;
}

#define GC__PERIOD_BYTES_MOST (UINT64_C(1) << 50) /* the chance of each byte must differ from 0 in calculations */

/* Fills in the defaults; false with gc__fail. */
GC__FN bool gc__profile_options_fill(gc_profile_options *options, const gc_profile_options *given) {
    const char *fault = NULL;
    memset(options, 0, sizeof *options);
    if (given) *options = *given;
    if (options->depth_max > GC__PROFILE_DEPTH_MAX) fault = "depth_max is over 256";
    if (options->what >> GC_PROFILE_KIND_COUNT) fault = "what has bits of no event";
    if (options->buffer_bytes > (size_t)1 << 30) fault = "buffer_bytes is over 1 GiB";
    if (fault) gc__fail(GC_ERROR_OPTION, "gc_profile_start: options.%s", fault);
    if (fault) return false;
    if (!options->period_bytes) options->period_bytes = 102400;
    if (!options->tick_bytes) options->tick_bytes = 102400;
    options->period_bytes = gc__min(options->period_bytes, GC__PERIOD_BYTES_MOST);
    options->tick_bytes = gc__min(options->tick_bytes, INT64_MAX);
    if (!options->per_second) options->per_second = 5;
    if (!options->what) options->what = GC_PROFILE_DEFAULT;
    if (!options->depth_max) options->depth_max = 128;
    if (!options->seed) options->seed = gc__os_now_ns() ^ gc__os_utc_ns() << 20;
    size_t bytes = 4096;
    while (bytes < (options->buffer_bytes ? options->buffer_bytes : 65536)) bytes *= 2;
    options->buffer_bytes = bytes;
    return true;
}

/* Forgets the last profile. Lock held. */
GC__FN void gc__profile_forget(gc__profiling *all) {
    if (all->number) gc__profile_free(&all->profile);
    gc__tracked_free(all->ended);
    if (all->code_order_capacity) gc__os_unmap(all->code_order, all->code_order_capacity);
    if (all->events.capacity) gc__os_unmap(all->events.items, all->events.capacity);
    if (all->sorted.capacity) gc__os_unmap(all->sorted.items, all->sorted.capacity);
    memset(&all->recent, 0, sizeof all->recent);
    all->doubled = false;
    memset(&all->events, 0, sizeof all->events);
    memset(&all->sorted, 0, sizeof all->sorted);
    all->code_order = NULL;
    all->code_order_count = all->code_order_capacity = 0;
    all->written_ns = all->ended_bytes = 0;
    all->file_changes = 0;
}

/* What can be known only now. False: no memory. Lock held. */
GC__FN bool gc__profile_refresh(gc__profiling *all) {
    gc__drain();
    if (all->on) all->profile.end_ns = gc__os_now_ns();
    for (gc__profiled_thread *thread = all->threads; thread; thread = thread->next) gc__thread_note_name(thread);
    if (!all->on) return all->profile.entries_count || !all->profile.sites_count;
    all->profile.allocated_bytes = all->ended_bytes;
    for (const gc__profiled_heap *heap = all->heaps; heap; heap = heap->next)
        if (heap->profile == all->number)
            all->profile.allocated_bytes += gc__heap_allocated(heap);
    all->profile.lost_events += __atomic_exchange_n(&all->lost_outside, 0, __ATOMIC_RELAXED);
    return gc__tracked_sum(all);
}

/* Writes a copy of the profile, which may go on. */
GC__FN gc_result gc__profile_write_copy(const char *file, const gc__profile_format *format) {
    gc__profile copy;
    gc__lock_take(&gc__profile_lock);
    bool any = gc__the_profile.number != 0, copied = false, doubled = false;
    if (any) {
        copied = gc__profile_refresh(&gc__the_profile) && gc__profile_copy(&copy, &gc__the_profile.profile);
        doubled = gc__the_profile.doubled;
    }
    gc__lock_release(&gc__profile_lock);
    if (copied && doubled && !gc__profile_unite(&copy)) {
        gc__profile_free(&copy);
        copied = false;
    }
    if (!any) return gc__fail(GC_ERROR_MISUSE, "gc_profile_write: there is no profile: start one by gc_profile_start");
    if (!copied)
        return gc__fail(GC_ERROR_MEMORY, "gc_profile_write: the system gives no memory for a copy of the profile");
    gc__output output;
    gc__names_find(&copy);
    if (gc__output_open(&output, file, false)) {
        if (format->begin) format->begin(&copy, &output);
        format->write(&copy, &output);
    }
    bool written = gc__output_close(&output);
    gc__profile_free(&copy);
    return written ? GC_OK : gc__profile_fail_file(file, output.error);
}

/* The thread that writes the file at intervals, for programs that are killed. */

GC__FN void gc__profile_writer(void *context) {
    gc__profiling *all = (gc__profiling *)context;
    uint64_t seconds = all->profile.options.interval_s, interval = seconds * 1000 * GC__NS_PER_MS;
    uint64_t written = gc__os_now_ns();
    while (__atomic_load_n(&all->writing, __ATOMIC_SEQ_CST)) {
        uint64_t now = gc__os_now_ns();
        if (!gc__ns_passed(now, written, interval)) {
            gc__os_wait_for(&all->writing, 1, interval - (now - written));
        } else {
            gc__profile_write_copy(all->file, all->format);
            written = gc__os_now_ns();
        }
    }
}

/* Lock held. */
GC__FN void gc__profile_writer_start(gc__profiling *all) {
    const gc__profile_format *format = all->format;
    if (!all->profile.options.interval_s || !format || format->events || format->objects) return;
    __atomic_store_n(&all->writing, 1u, __ATOMIC_SEQ_CST);
    if (!gc__os_thread_start(&all->writer, gc__profile_writer, all))
        __atomic_store_n(&all->writing, 0u, __ATOMIC_SEQ_CST);
}

GC__FN void gc__profile_writer_end(gc__profiling *all) {
    if (!__atomic_exchange_n(&all->writing, 0u, __ATOMIC_SEQ_CST)) return;
    gc__os_wake(&all->writing);
    gc__os_thread_join(&all->writer);
}

/* Lock held. */
GC__FN gc_result gc__profile_begin(const gc_profile_options *options, const char *file,
                                   const gc__profile_format *format) {
    gc__profiling *all = &gc__the_profile;
    bool streamed = format && format->events;
    if (file && strlen(file) >= sizeof all->file) return gc__profile_fail_file(file, ENAMETOOLONG);
    if (streamed && !gc__output_open(&all->output, file, true)) {
        int error = all->output.error;
        gc__output_close(&all->output);
        return gc__profile_fail_file(file, error);
    }
    gc__profile_forget(all);
    if (!gc__profile_open(&all->profile)) {
        if (streamed) gc__output_close(&all->output);
        return gc__fail(GC_ERROR_MEMORY, "gc_profile_start: the system gives no memory for the profile");
    }
    all->profile.options = *options;
    all->profile.start_ns = gc__os_now_ns();
    all->profile.start_utc_ns = gc__os_utc_ns();
    all->profile.process = gc__os_process_number();
    all->format = format;
    all->streaming = streamed;
    snprintf(all->file, sizeof all->file, "%s", file ? file : "");
    __atomic_store_n(&all->lost_outside, 0, __ATOMIC_RELAXED);
    for (size_t i = 0; i < GC__BUDGETS; i++) __atomic_store_n(&all->budgets[i], 0, __ATOMIC_RELAXED);
    __atomic_store_n(&all->what, options->what, __ATOMIC_RELAXED);
    __atomic_store_n(&all->hides_texts, options->hides_texts, __ATOMIC_RELAXED);
    __atomic_store_n(&all->number, all->number + 1, __ATOMIC_RELEASE);
    __atomic_store_n(&all->on, 1u, __ATOMIC_RELEASE);
    gc__codes_begin(all);
    if (streamed) {
        format->begin(&all->profile, &all->output);
        gc__output_flush(&all->output);
    }
    gc__profile_writer_start(all);
    return GC_OK;
}

GC_API gc_result gc_profile_start(const gc_profile_options *options, const char *file) {
    GC__API_SCOPE("gc_profile_start");
    gc_profile_options filled;
    const gc__profile_format *format = NULL;
    if (file && !(format = gc__profile_find_format(file))) return GC_ERROR_OPTION;
    if (!gc__profile_options_fill(&filled, options)) return GC_ERROR_OPTION;
    gc__heaps_lock_take();
    gc__lock_take(&gc__profile_lock);
    gc_result result = GC_OK;
    if (gc__the_profile.on)
        result = gc__fail(GC_ERROR_MISUSE, "gc_profile_start: a profile is being taken: end it by gc_profile_stop");
    else
        result = gc__profile_begin(&filled, file, format);
    bool entered = true;
    for (gc_heap *heap = gc__heaps; result == GC_OK && heap; heap = heap->threads->next_heap)
        entered = gc__heap_enter(heap, false) && entered;
    if (!entered)
        result = gc__fail(GC_ERROR_MEMORY, "gc_profile_start: a heap is left out: the system gives no memory");
    gc__lock_release(&gc__profile_lock);
    gc__heaps_lock_release();
    return result;
}

/* Writes the objects of all heaps. The calling function has stopped them. */
GC__FN gc_result gc__profile_write_heaps(const char *file, const gc__profile_format *format) {
    gc__output output;
    size_t count = 0, at = 0;
    for (gc_heap *heap = gc__heaps; heap; heap = heap->threads->next_heap) count++;
    gc_heap **heaps = (gc_heap **)gc__os_map((count + 1) * sizeof *heaps);
    for (gc_heap *heap = gc__heaps; heaps && heap; heap = heap->threads->next_heap) heaps[at++] = heap;
    bool open = gc__output_open(&output, file, false);
    if (!heaps) gc__output_fail(&output, ENOMEM);
    if (open && heaps) format->objects(heaps, count, false, &output);
    if (heaps) gc__os_unmap(heaps, (count + 1) * sizeof *heaps);
    return gc__output_close(&output) ? GC_OK : gc__profile_fail_file(file, output.error);
}

/* Stops all heaps, as fork does. */
GC__INLINED gc_result gc__profile_write_objects(const char *file, const gc__profile_format *format) {
    gc__heaps_stop("writing the objects of a profile");
    gc_result result = gc__profile_write_heaps(file, format);
    for (gc_heap *heap = gc__heaps; heap; heap = heap->threads->next_heap) {
        gc__world_resume_locked(heap);
        gc__heap_let_go(heap);
    }
    gc__heaps_lock_release();
    return result;
}

GC_API gc_result gc_profile_write(const char *file) {
    GC__API_SCOPE("gc_profile_write");
    if (gc__is_null(file, "gc_profile_write", "file")) return GC_ERROR_ARGUMENT;
    const gc__profile_format *format = gc__profile_find_format(file);
    if (!format) return GC_ERROR_OPTION;
    return format->objects ? gc__profile_write_objects(file, format) : gc__profile_write_copy(file, format);
}

/* Completes the file of a streamed format. Lock held. */
GC__FN gc_result gc__profile_stream_end(gc__profiling *all) {
    gc__events_write(all, UINT64_MAX);
    all->streaming = false;
    gc__names_find(&all->profile);
    all->format->write(&all->profile, &all->output);
    return gc__output_close(&all->output) ? GC_OK : gc__profile_fail_file(all->file, all->output.error);
}

/* Ends the profile; `file` gets the name under which it is still to be written, or "". */
GC__FN gc_result gc__profile_end(char *file) {
    gc__profiling *all = &gc__the_profile;
    gc_result result = GC_OK;
    *file = 0;
    gc__profile_writer_end(all);
    gc__lock_take(&gc__profile_lock);
    if (!all->on) {
        result = gc__fail(GC_ERROR_MISUSE, "gc_profile_stop: no profile is being taken");
    } else {
        gc__profile_refresh(all);
        if (all->streaming)
            result = gc__profile_stream_end(all);
        else
            memcpy(file, all->file, sizeof all->file);
        for (gc__profiled_heap *heap = all->heaps; heap; heap = heap->next)
            __atomic_store_n(&heap->heap->profiler, (const gc__profiler *)NULL, __ATOMIC_RELEASE);
        __atomic_store_n(&all->on, 0u, __ATOMIC_RELEASE);
        all->by_environment = false;
        gc__codes_end();
    }
    gc__lock_release(&gc__profile_lock);
    return result;
}

GC_API gc_result gc_profile_stop(void) {
    GC__API_SCOPE("gc_profile_stop");
    char file[GC__NAME_BYTES_MAX];
    gc_result result = gc__profile_end(file);
    if (result != GC_OK || !*file) return result;
    const gc__profile_format *format = gc__profile_format_of(file);
    return format->objects ? gc__profile_write_objects(file, format) : gc__profile_write_copy(file, format);
}

/* The record of that host; NULL: no memory. Lock held. */
GC__FN gc__profile_host_set *gc__profile_host_find(const gc_profile_host *host) {
    gc__profile_host_set *set = gc__the_profile_hosts;
    while (set && memcmp(&set->host, host, sizeof *host) != 0) set = set->next;
    if (set) return set;
    set = (gc__profile_host_set *)calloc(1, sizeof *set);
    if (!set) return NULL;
    set->host = *host;
    set->next = gc__the_profile_hosts;
    return gc__the_profile_hosts = set;
}

GC_API void gc_profile_set_host(const gc_profile_host *host) {
    const gc_profile_host none = {NULL, NULL, NULL};
    gc__lock_take(&gc__profile_lock);
    gc__profile_host_set *set = gc__profile_host_find(host ? host : &none);
    if (set) __atomic_store_n(&gc__the_profile_host, set, __ATOMIC_RELEASE);
    gc__lock_release(&gc__profile_lock);
}

/* Frees what is left of profiles. Lock held; there is no heap, nor thread of a profile. */
GC__FN void gc__profile_free_all(void) {
    gc__profile_forget(&gc__the_profile);
    __atomic_store_n(&gc__the_profile.number, 0, __ATOMIC_RELEASE);
    gc__known_free();
    gc__rules_free();
    __atomic_store_n(&gc__the_profile_host, (gc__profile_host_set *)NULL, __ATOMIC_RELEASE);
    while (gc__the_profile_hosts) {
        gc__profile_host_set *next = gc__the_profile_hosts->next;
        free(gc__the_profile_hosts);
        gc__the_profile_hosts = next;
    }
}
/* GC_PROFILE in the environment, and what happens with the program's heaps, processes and end. */


static bool gc__profile_asked;         /* the environment was looked at; profile lock */
static bool gc__profile_objects_tried; /* objects were written, or a warning said why not */

/* The bits of the events with that name; 0: none has it. */
GC__FN unsigned gc__profile_events_named(const char *name, size_t length) {
    static const char *const names[] = {
#define GC__PROFILE_OPTION(name, option, text) option,
        GC_PROFILE_KINDS(GC__PROFILE_OPTION)
#undef GC__PROFILE_OPTION
    };
    unsigned bits = 0;
    for (unsigned i = 0; i < GC_PROFILE_KIND_COUNT; i++)
        if (strlen(names[i]) == length && strncmp(names[i], name, length) == 0) bits |= 1u << i;
    return bits;
}

/* Reads one option, "name" or "name=number". */
GC__FN bool gc__profile_option_read(gc_profile_options *options, const char *option, size_t length) {
    const char *equals = (const char *)memchr(option, '=', length);
    size_t name = equals ? (size_t)(equals - option) : length;
    char *end = NULL;
    uint64_t number = equals ? strtoull(equals + 1, &end, 10) : 0;
    unsigned events = gc__profile_events_named(option, name);
    bool wide = number > UINT32_MAX; /* for a number of 32 bits */
    if (equals && (end != option + length || equals[1] < '0' || equals[1] > '9')) return false;
    if (equals && !number && strncmp(option, "seed=", 5) != 0) return false; /* which would be the default */
    options->what |= events;
    if (!equals && name == 7 && strncmp(option, "notexts", name) == 0)
        options->hides_texts = true;
    else if (!equals && name == 7 && strncmp(option, "perfmap", name) == 0)
        options->perf |= GC_PROFILE_PERF_MAP;
    else if (!equals && name == 7 && strncmp(option, "jitdump", name) == 0)
        options->perf |= GC_PROFILE_JITDUMP;
    else if (name == 5 && strncmp(option, "ticks", name) == 0)
        options->tick_bytes = number;
    else if (!wide && name == 7 && strncmp(option, "objects", name) == 0)
        options->per_second = (unsigned)number;
    else if (events || !equals)
        return events && !equals;
    else if (name == 6 && strncmp(option, "period", name) == 0)
        options->period_bytes = number;
    else if (!wide && name == 5 && strncmp(option, "depth", name) == 0)
        options->depth_max = (unsigned)number;
    else if (name == 6 && strncmp(option, "buffer", name) == 0)
        options->buffer_bytes = (size_t)number;
    else if (!wide && name == 8 && strncmp(option, "interval", name) == 0)
        options->interval_s = (unsigned)number;
    else if (name == 4 && strncmp(option, "seed", name) == 0)
        options->seed = number;
    else
        return false;
    return true;
}

/* Takes the text "FILE,option,option=number" apart; false with gc__fail. */
GC__FN bool gc__profile_setting_read(const char *setting, char *file, gc_profile_options *options) {
    size_t length = strcspn(setting, ",");
    memset(options, 0, sizeof *options);
    options->what = GC_PROFILE_DEFAULT;
    snprintf(file, GC__NAME_BYTES_MAX, "%.*s", (int)gc__min(length, GC__NAME_BYTES_MAX), setting);
    for (const char *at = setting + length; *at; at += length) {
        length = strcspn(++at, ",");
        if (gc__profile_option_read(options, at, length)) continue;
        gc__fail(GC_ERROR_OPTION,
                 "environment GC_PROFILE: no profile is taken, for `%.*s` is none of its options: period=N, "
                 "ticks, ticks=N, objects, objects=N, handles, depth=N, interval=SECONDS, buffer=N, seed=N, notexts, "
                 "perfmap, jitdump; numbers begin at 1",
                 (int)length, at);
        return false;
    }
    return true;
}

/* Starts the profile that the environment asks for, once. Lock held. */
GC__FN void gc__profile_ask(void) {
    char file[GC__NAME_BYTES_MAX];
    gc_profile_options options, filled;
    const char *setting = GC_ENVIRONMENT && !gc__profile_asked ? gc__setting("GC_PROFILE") : NULL;
    gc__profile_asked = true;
    if (!setting || !*setting) return;
    const gc__profile_format *format = NULL;
    bool ok = gc__profile_setting_read(setting, file, &options) && (format = gc__profile_find_format(file)) != NULL &&
              gc__profile_options_fill(&filled, &options) && gc__profile_begin(&filled, file, format) == GC_OK;
    gc__the_profile.by_environment = ok;
    if (!ok) gc__profile_warn(gc__last_message);
}

GC__FN void gc__profile_heap_created(gc_heap *heap) {
    gc__lock_take(&gc__profile_lock);
    if (!gc__profile_asked && !gc__the_profile.on) gc__profile_ask();
    if (gc__the_profile.on) gc__heap_enter(heap, true);
    gc__lock_release(&gc__profile_lock);
}

/* Writes the objects of a heap that is about to be destroyed, if that is what the environment asked for. */
GC__FN void gc__profile_write_last_objects(gc_heap *heap) {
    const gc__profile_format *format = gc__the_profile.format;
    gc__output output;
    if (!gc__the_profile.by_environment || !gc__the_profile.on || !format->objects) return;
    gc__profile_objects_tried = true;
    gc__world_stop(heap);
    if (gc__output_open(&output, gc__the_profile.file, false)) format->objects(&heap, 1, true, &output);
    gc__world_resume(heap);
    if (gc__output_close(&output)) return;
    gc__profile_fail_file(gc__the_profile.file, output.error);
    gc__profile_warn(gc__last_message);
}

GC__FN void gc__profile_heap_destroyed(gc_heap *heap) {
    gc__profile_write_last_objects(heap);
    gc__lock_take(&gc__profile_lock);
    gc__heap_leave(heap);
    gc__lock_release(&gc__profile_lock);
}

/* The child goes on with a copy of the profile, but must not write to the parent's files. */
GC__FN void gc__profile_forked(void) {
    gc__profiling *all = &gc__the_profile;
    all->by_environment = false;
    if (all->streaming) {
        all->streaming = false;
        gc__output_fail(&all->output, ECANCELED);
        gc__output_close(&all->output);
    }
    gc__perf_forget();
    all->file[0] = 0;
    all->writing = 0;
    all->profile.process = gc__os_process_number();
    for (gc__profiled_thread *thread = all->threads; thread; thread = thread->next) {
        if (gc__thread_self(thread->thread->heap) != thread->thread) continue;
        thread->tid = gc__os_thread_number();
        if (thread->profile == all->number) all->profile.threads[thread->number].number = thread->tid;
    }
}

static const gc__profiling_calls gc__the_profiling_calls = {gc__profile_heap_created, gc__profile_heap_destroyed,
                                                            gc__profile_detached, gc__profile_forked};

GC__AT_LOAD GC__FN void gc__profile_at_load(void) { gc__the_profiling = &gc__the_profiling_calls; }

/* Ends the profile that the environment asked for. */
GC__FN gc_result gc__profile_end_asked(void) {
    char file[GC__NAME_BYTES_MAX];
    gc_result result = gc__profile_end(file);
    const gc__profile_format *format = *file ? gc__profile_format_of(file) : NULL;
    if (result == GC_OK && format && !format->objects) result = gc__profile_write_copy(file, format);
    if (result == GC_OK && format && format->objects && !gc__profile_objects_tried)
        result = gc__fail(GC_ERROR_FILE,
                          "the profile %s is not written: the program ended without gc_heap_destroy; call that, or "
                          "gc_profile_write at the moment of interest",
                          file);
    return result;
}

/* Ends a profile that the host has left, whose writer would run on in a library that is gone, and frees everything, unless there
   still is a heap: then all of it may be in use. */
GC__FN gc_result gc__profile_unload(void) {
    char file[GC__NAME_BYTES_MAX];
    gc_result result = GC_OK;
    gc__lock_take(&gc__the_arena.lock);
    if (!gc__the_arena.heaps) {
        if (gc__the_profile.on) result = gc__profile_end(file);
        gc__lock_take(&gc__profile_lock);
        gc__profile_free_all();
        gc__lock_release(&gc__profile_lock);
    }
    gc__lock_release(&gc__the_arena.lock);
    return result;
}

/* The end of the program, or of the library with this gc.h. Other threads may be running, and nothing waits for them. */
GC__AT_UNLOAD GC__FN void gc__profile_at_end(void) {
    if (gc__the_profile.by_environment && gc__profile_end_asked() != GC_OK) gc__profile_warn(gc__last_message);
    if (gc__profile_unload() != GC_OK) gc__profile_warn(gc__last_message);
}
#endif

GC__STYLE_END
