/* The format of .NET's event pipe, "nettrace": a container of objects, each of which has the name of its type, its versions and
   its contents. Metadata say which event a number means; stacks come before the events that have them; events come in
   the order of time.

   An event of a block is stored as its difference from the one before. Only what the block begins with is known then, so a
   block stands for itself. */
#pragma once

#include "../base/map.h"
#include "model.h"
#include "text.h"

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
