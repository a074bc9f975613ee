/* The reader's own record, its messages, memory and texts.

   Nothing that was read is trusted: a number is compared with what is readable before it counts or sizes anything; a list is
   followed only while it is no cycle; memory is taken from a budget that depends on the size of the target. */
#pragma once

#include "../platform/dac_linux.h"

#include <stdarg.h>

#define GC__DAC_MESSAGE_BYTES 1024
#define GC__DAC_BLOCK_SHIFT 14 /* log2 of the bytes that are read at a time from a target that is not in memory */
#define GC__DAC_BLOCKS_LOG2 9  /* of how many are kept of them */
#define GC__DAC_BLOCKS ((size_t)1 << GC__DAC_BLOCKS_LOG2)
#define GC__DAC_WAYS_LOG2 2    /* of how many places one block may be in: few tables must not drive each other out */
#define GC__DAC_BLOCK_PART 4096
#define GC__DAC_TEXT_MAX 400   /* of a name */

/* A map from a key, which is not 0, to a pointer. */
typedef struct gc__dac_map {
    uint64_t *keys;
    void **values;
    size_t count, capacity;
} gc__dac_map;

/* Texts and types live until the reader is closed. */
typedef struct gc__dac_chunk {
    struct gc__dac_chunk *next;
    size_t used, bytes;
} gc__dac_chunk;

typedef struct gc__dac_place {
    uint64_t heap, base, top, live_bytes;
    uint64_t next; /* the address of the next region's record in its list */
    uint32_t span, rest_index;
    uint8_t kind, generation, verdict;
    bool linear, formatted, accessible, second_plane;
    bool listed;      /* it is in a list of its heap, and so complete */
    bool condemned;   /* a collection is at work in it: nothing in it can be listed */
    uint64_t *starts; /* a bit for each 8 bytes: objects; NULL: not known yet */
} gc__dac_place;

/* A window of a thread. */
typedef struct gc__dac_window {
    uint64_t start, next, end; /* where marks show objects, those from `start` on have none yet */
    size_t place; /* number of its region */
    bool running;
} gc__dac_window;

/* A collector of the target. */
typedef struct gc__dac_copy {
    gc_dac_collector info;
    uint64_t variables[GC__DAC_VARIABLE_COUNT];
    uint32_t facts[GC__DAC_FACT_COUNT];
    uint16_t members[GC__DAC_AT_COUNT];
    uint16_t statistics[GC__DAC_STATISTIC_COUNT][2];
    unsigned variable_count, fact_count, member_count, statistic_count;
    uint64_t arena, arena_end, regions, marks[2];
    gc__dac_place *places;
    size_t place_count;
    gc__dac_window *windows;
    size_t window_count, window_room;
    const char *fault; /* what the tables of its heaps lack, for each call on one; NULL: nothing */
} gc__dac_copy;

/* A call that the caller has made, or made within a callback of another one. */
typedef struct gc__dac_call {
    uint64_t steps;  /* that it may still take */
    bool incomplete; /* it has left something out */
    char message[GC__DAC_MESSAGE_BYTES];
} gc__dac_call;

/* What a place for a block has. */
typedef struct gc__dac_block_tag {
    uint64_t number; /* of the block, and 1; 0: none */
    uint32_t parts;  /* a bit for each GC__DAC_BLOCK_PART: it was readable */
} gc__dac_block_tag;

#define GC__DAC_CALLS 6

struct gc_dac {
    gc_dac_target target;
    gc_dac_host host;
    const char *rejected;                /* why every call fails; NULL: it does not */
    bool moving;                         /* the target runs on: nothing is kept from call to call */
    uint64_t target_bytes, budget_bytes; /* what is readable at most; what the reader may still take */
    gc__dac_copy *copies;
    size_t copy_count;
    gc__dac_map types, texts;
    gc__dac_chunk *chunks;
    uint8_t *blocks;
    gc__dac_block_tag *block_tags;
    size_t block_turn;    /* the way that the next block takes */
    uint8_t *object;      /* the contents of gc_dac_object_at's last object */
    size_t object_bytes;
    gc_dac_type *last_type;
    char complaint[GC__DAC_MESSAGE_BYTES]; /* why something is not readable; goes with the messages of that */
    bool unnamed;                          /* a name was not readable */
    unsigned depth;                        /* of calls; 0: opening */
    gc__dac_call calls[GC__DAC_CALLS];
};

GC__DAC_FN gc__dac_call *gc__dac_this_call(gc_dac *dac) {
    return &dac->calls[dac->depth < GC__DAC_CALLS ? dac->depth : GC__DAC_CALLS - 1];
}

/* Records what the call could not do. Only the first fault is kept: later ones mostly follow from it. */
GC__DAC_FN bool gc__dac_fail(gc_dac *dac, const char *format, ...) __attribute__((format(printf, 2, 3), cold));
GC__DAC_FN bool gc__dac_fail(gc_dac *dac, const char *format, ...) {
    va_list arguments;
    gc__dac_call *call = gc__dac_this_call(dac);
    call->incomplete = true;
    if (call->message[0]) return false;
    va_start(arguments, format);
    vsnprintf(call->message, sizeof call->message, format, arguments);
    va_end(arguments);
    return false;
}

/* Memory from the budget. */

GC__DAC_FN void *gc__dac_allocate(gc_dac *dac, uint64_t count, size_t bytes) {
    if (count > dac->budget_bytes / bytes) {
        gc__dac_fail(dac, "the reader would need more memory than its budget, which depends on the size of the target: "
                          "what was read contradicts itself");
        return NULL;
    }
    void *memory = calloc(count ? (size_t)count : 1, bytes);
    if (!memory) {
        gc__dac_fail(dac, "the system gives no memory to the reader");
        return NULL;
    }
    dac->budget_bytes -= count * bytes;
    return memory;
}

GC__DAC_FN void gc__dac_free(gc_dac *dac, void *memory, uint64_t count, size_t bytes) {
    if (memory) dac->budget_bytes += count * bytes;
    free(memory);
}

/* Memory that lives as long as the reader. */
GC__DAC_FN void *gc__dac_keep(gc_dac *dac, size_t bytes) {
    bytes = (bytes + 15) & ~(size_t)15;
    if (!dac->chunks || dac->chunks->bytes - dac->chunks->used < bytes) {
        size_t size = bytes > 4000 ? bytes : 65536 - 64;
        gc__dac_chunk *chunk = (gc__dac_chunk *)gc__dac_allocate(dac, 1, sizeof *chunk + 16 + size);
        if (!chunk) return NULL;
        chunk->next = dac->chunks;
        chunk->bytes = size;
        dac->chunks = chunk;
    }
    void *memory = (char *)(dac->chunks + 1) + dac->chunks->used;
    dac->chunks->used += bytes;
    return memory;
}

GC__DAC_FN size_t gc__dac_map_place(const gc__dac_map *map, uint64_t key) {
    size_t at = (size_t)((key >> 3) * 0x9E3779B97F4A7C15u >> 24);
    for (;; at++) {
        at &= map->capacity - 1;
        if (!map->keys[at] || map->keys[at] == key) return at;
    }
}

GC__DAC_FN void *gc__dac_map_get(const gc__dac_map *map, uint64_t key) {
    return map->capacity ? map->values[gc__dac_map_place(map, key)] : NULL;
}

GC__DAC_FN void gc__dac_map_free(gc_dac *dac, gc__dac_map *map) {
    gc__dac_free(dac, map->keys, map->capacity, sizeof *map->keys);
    gc__dac_free(dac, map->values, map->capacity, sizeof *map->values);
    memset(map, 0, sizeof *map);
}

/* Without memory the entry is left out, so that it will be made again. */
GC__DAC_FN void gc__dac_map_put(gc_dac *dac, gc__dac_map *map, uint64_t key, void *value) {
    if (map->capacity < 2 * map->count + 2) {
        gc__dac_map bigger = {NULL, NULL, 0, map->capacity ? 2 * map->capacity : 256};
        bigger.keys = (uint64_t *)gc__dac_allocate(dac, bigger.capacity, sizeof *bigger.keys);
        bigger.values = (void **)gc__dac_allocate(dac, bigger.capacity, sizeof *bigger.values);
        if (!bigger.keys || !bigger.values) {
            gc__dac_map_free(dac, &bigger);
            return;
        }
        for (size_t i = 0; i < map->capacity; i++) {
            if (!map->keys[i]) continue;
            size_t at = gc__dac_map_place(&bigger, map->keys[i]);
            bigger.keys[at] = map->keys[i];
            bigger.values[at] = map->values[i];
        }
        bigger.count = map->count;
        gc__dac_map_free(dac, map);
        *map = bigger;
    }
    size_t at = gc__dac_map_place(map, key);
    map->count += !map->keys[at];
    map->keys[at] = key;
    map->values[at] = value;
}

/* The target's memory. */

GC__DAC_FN void gc__dac_blocks_forget(gc_dac *dac) {
    if (dac->block_tags) memset(dac->block_tags, 0, GC__DAC_BLOCKS * sizeof *dac->block_tags);
}

GC__DAC_FN bool gc__dac_blocks_open(gc_dac *dac) {
    if (dac->blocks) return true;
    dac->blocks = (uint8_t *)malloc(GC__DAC_BLOCKS << GC__DAC_BLOCK_SHIFT);
    dac->block_tags = (gc__dac_block_tag *)calloc(GC__DAC_BLOCKS, sizeof *dac->block_tags);
    if (dac->blocks && dac->block_tags) return true;
    free(dac->blocks), free(dac->block_tags);
    dac->blocks = NULL, dac->block_tags = NULL;
    return false;
}

GC__DAC_FN bool gc__dac_block_read(gc_dac *dac, uint64_t address, uint8_t *to, size_t bytes) {
    return dac->target.read(dac->target.context, address, to, bytes) == bytes;
}

/* The place of a block: where it is, or the next way of its set. */
GC__DAC_FN size_t gc__dac_block_place(gc_dac *dac, uint64_t number) {
    const size_t ways = (size_t)1 << GC__DAC_WAYS_LOG2;
    /* Tables are far apart, by multiples of what their places could be counted by. */
    size_t set = (size_t)(number * 0x9E3779B97F4A7C15u >> (64 - GC__DAC_BLOCKS_LOG2 + GC__DAC_WAYS_LOG2));
    size_t place = set << GC__DAC_WAYS_LOG2;
    for (size_t way = 0; way < ways; way++)
        if (dac->block_tags[place + way].number == number + 1) return place + way;
    return place + dac->block_turn++ % ways;
}

/* The block that has the address, read at least from there on for so many bytes, which are all in it. Where a mapping begins
   or ends within it, it is read in parts. NULL: they are not readable. */
GC__DAC_FN const uint8_t *gc__dac_block(gc_dac *dac, uint64_t address, size_t bytes) {
    uint64_t number = address >> GC__DAC_BLOCK_SHIFT, base = number << GC__DAC_BLOCK_SHIFT;
    size_t first = (size_t)(address - base) / GC__DAC_BLOCK_PART;
    if (!gc__dac_blocks_open(dac)) return NULL;
    size_t place = gc__dac_block_place(dac, number);
    uint8_t *block = dac->blocks + (place << GC__DAC_BLOCK_SHIFT);
    gc__dac_block_tag *tag = &dac->block_tags[place];
    if (tag->number != number + 1) {
        tag->number = 0;
        bool whole = gc__dac_block_read(dac, base, block, (size_t)1 << GC__DAC_BLOCK_SHIFT);
        tag->parts = whole ? ~0u : 0;
        tag->number = number + 1;
    }
    for (size_t part = first; part * GC__DAC_BLOCK_PART < address - base + bytes; part++) {
        size_t within = part * GC__DAC_BLOCK_PART;
        if (tag->parts >> part & 1) continue;
        if (!gc__dac_block_read(dac, base + within, block + within, GC__DAC_BLOCK_PART)) return NULL;
        tag->parts |= 1u << part;
    }
    return block;
}

/* Copies memory; returns how many bytes, from the first on, were readable. */
GC__DAC_FN size_t gc__dac_copy_memory(gc_dac *dac, uint64_t address, void *to, size_t bytes) {
    if (address + bytes < address) bytes = (size_t)(0 - address);
    if (!bytes) return 0;
    if (dac->target.at) {
        const void *from = dac->target.at(dac->target.context, address, bytes);
        if (from) return memcpy(to, from, bytes), bytes;
    } else if (bytes <= 4096) {
        size_t within = (size_t)(address & (((uint64_t)1 << GC__DAC_BLOCK_SHIFT) - 1));
        const uint8_t *block = within + bytes <= (size_t)1 << GC__DAC_BLOCK_SHIFT ? gc__dac_block(dac, address, bytes) : NULL;
        if (block) return memcpy(to, block + within, bytes), bytes;
    }
    return dac->target.read(dac->target.context, address, to, bytes);
}

GC__DAC_FN bool gc__dac_load(gc_dac *dac, uint64_t address, void *to, size_t bytes) {
    if (gc__dac_copy_memory(dac, address, to, bytes) == bytes) return true;
    memset(to, 0, bytes);
    return gc__dac_fail(dac, "%zu bytes at 0x%llx are not readable%s", bytes, (unsigned long long)address,
                        dac->complaint);
}

GC__DAC_FN uint64_t gc__dac_u64(gc_dac *dac, uint64_t address) {
    uint64_t word = 0;
    gc__dac_load(dac, address, &word, sizeof word);
    return word;
}

/* Counts a step of a walk. False: there were more than could be of use in a target of that size. */
GC__DAC_FN bool gc__dac_step(gc_dac *dac, uint64_t steps) {
    gc__dac_call *call = gc__dac_this_call(dac);
    if (call->steps < steps)
        return gc__dac_fail(dac, "the walk takes longer than the target is large: what was read contradicts itself");
    call->steps -= steps;
    return true;
}

/* A copy of a text of the target. Control characters become question marks: the text may go to a terminal. */
GC__DAC_FN bool gc__dac_fetch_text(gc_dac *dac, uint64_t address, char *text, size_t room) {
    size_t length = 0;
    text[0] = 0;
    while (address && length + 1 < room) {
        char part[64];
        size_t got = sizeof part < room - 1 - length ? sizeof part : room - 1 - length;
        if ((got = gc__dac_copy_memory(dac, address + length, part, got)) == 0) break;
        for (size_t i = 0; i < got; i++) {
            unsigned char c = (unsigned char)part[i];
            text[length + i] = (char)(c && (c < 32 || c == 127) ? '?' : c);
            text[length + i + 1] = 0;
            if (!c) return true;
        }
        length += got;
    }
    return address && length;
}

/* The text at an address, kept; `otherwise` if it cannot be read. */
GC__DAC_FN const char *gc__dac_text(gc_dac *dac, uint64_t address, const char *otherwise) {
    char text[GC__DAC_TEXT_MAX];
    if (!address) return otherwise;
    const char *known = (const char *)gc__dac_map_get(&dac->texts, address);
    if (known) return known;
    if (!gc__dac_fetch_text(dac, address, text, sizeof text)) {
        dac->unnamed = true;
        return otherwise;
    }
    char *kept = (char *)gc__dac_keep(dac, strlen(text) + 1);
    if (!kept) return otherwise;
    strcpy(kept, text);
    gc__dac_map_put(dac, &dac->texts, address, kept);
    return kept;
}

GC__DAC_FN const char *gc__dac_format(gc_dac *dac, const char *format, ...) __attribute__((format(printf, 2, 3)));
GC__DAC_FN const char *gc__dac_format(gc_dac *dac, const char *format, ...) {
    char text[GC__DAC_MESSAGE_BYTES];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    char *kept = (char *)gc__dac_keep(dac, strlen(text) + 1);
    return kept ? strcpy(kept, text) : "(no memory)";
}
