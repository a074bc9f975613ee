/* Objects: listing those of a region, and finding the one that covers an address.

   A linear region is walked from its base: objects and fillers follow one another. A thread's open window is the place where that
   would fail: its objects end at the window's `next`, and what is behind that, up to the window's end, is no object. So the walk
   jumps from there to the end. In other regions mark bits say where objects begin. */
#pragma once

#include "heaps.h"
#include "types.h"

#define GC__DAC_CONTENTS_MAX ((uint64_t)1 << 16) /* of a large object's bytes, as many are read with it */

/* A walk through one region. */
typedef struct gc__dac_cursor {
    gc__dac_copy *copy;
    gc__dac_place *place;
    size_t number;
    const uint8_t *memory; /* from the region's base to `readable` */
    uint8_t *own;          /* the same, if it had to be copied */
    uint64_t own_bytes;
    uint64_t *marks; /* NULL: the region is linear, or large */
    uint64_t at, readable, end;
    gc__dac_window *window; /* the first one whose `next` is not below `at`; NULL: none */
    gc_dac_object object;
} gc__dac_cursor;

GC__DAC_FN uint64_t gc__dac_align(const gc__dac_copy *copy, uint64_t bytes) {
    uint64_t least = gc__dac_fact(copy, GC__DAC_FACT_OBJECT_BYTES_MIN);
    return bytes < least ? least : (bytes + 7) & ~(uint64_t)7;
}

/* Fills in the object whose first `known` bytes are at `memory`, and which has at most `room` bytes. False: its header says
   nothing, or something impossible. */
GC__DAC_FN bool gc__dac_object_parse(gc_dac *dac, const gc__dac_copy *copy, const uint8_t *memory, uint64_t known,
                                     uint64_t room, gc_dac_object *object) {
    uint64_t header, length = 0, bytes;
    object->type = NULL;
    object->bytes = object->length = 0;
    object->flags = 0;
    object->contents = memory;
    object->contents_bytes = known < room ? known : room;
    if (known < 16 || room < 16) return false;
    memcpy(&header, memory, 8);
    if (gc__dac_fact(copy, GC__DAC_FACT_HAS_MODEL)) {
        if (!dac->host.bytes || !header) return false;
        bytes = dac->host.bytes(dac->host.context, dac, object->address, memory, (size_t)object->contents_bytes);
        if (!bytes || bytes > room) return false;
    } else {
        gc_dac_type *type = gc__dac_type_of(dac, copy, header);
        if (!type) return false;
        bytes = type->bytes;
        if (type->element_bytes) {
            if (copy->members[GC__DAC_AT_object_length] > 8) return false;
            memcpy(&length, memory + copy->members[GC__DAC_AT_object_length], 8);
            if (length > room / type->element_bytes) return false;
            bytes += length * type->element_bytes;
        }
        object->type = type;
    }
    bytes = gc__dac_align(copy, bytes);
    if (bytes > room) {
        object->type = NULL;
        return false;
    }
    object->bytes = bytes;
    object->length = length;
    if (object->contents_bytes > bytes) object->contents_bytes = bytes;
    return true;
}

/* Whether only the program knows what headers of the collector's objects say. */
GC__DAC_FN bool gc__dac_is_of_unknown_model(const gc_dac *dac, const gc__dac_copy *copy) {
    return gc__dac_fact(copy, GC__DAC_FACT_HAS_MODEL) && !dac->host.bytes;
}

GC__DAC_FN void gc__dac_cursor_close(gc_dac *dac, gc__dac_cursor *cursor) {
    gc__dac_free(dac, cursor->own, cursor->own_bytes, 1);
    gc__dac_free(dac, cursor->marks, cursor->copy->info.region_bytes / 64, 1);
    cursor->own = NULL;
    cursor->marks = NULL;
}

/* Brings the first `bytes` of the region into reach, or as many as are readable. */
GC__DAC_FN bool gc__dac_cursor_load(gc_dac *dac, gc__dac_cursor *cursor, uint64_t bytes) {
    uint64_t base = cursor->place->base;
    cursor->readable = base + bytes;
    cursor->memory = dac->target.at ? (const uint8_t *)dac->target.at(dac->target.context, base, (size_t)bytes) : NULL;
    if (cursor->memory || !bytes) return true;
    cursor->own = (uint8_t *)gc__dac_allocate(dac, bytes, 1);
    if (!cursor->own) return false;
    cursor->own_bytes = bytes;
    cursor->memory = cursor->own;
    cursor->readable = base + dac->target.read(dac->target.context, base, cursor->own, (size_t)bytes);
    return true;
}

/* The window that the walk meets next. */
GC__DAC_FN void gc__dac_cursor_window(gc_dac *dac, gc__dac_cursor *cursor) {
    gc__dac_copy *copy = cursor->copy;
    cursor->window = NULL;
    if (!gc__dac_step(dac, copy->window_count)) cursor->end = cursor->at;
    for (size_t i = 0; i < copy->window_count; i++) {
        gc__dac_window *each = &copy->windows[i];
        bool ahead = each->next > cursor->at || (each->next == cursor->at && each->end > cursor->at);
        if (each->place == cursor->number && ahead && (!cursor->window || each->next < cursor->window->next))
            cursor->window = each;
    }
}

/* Marks the objects of a window that have no marks before its thread leaves it: those that are born in generation 2. They follow
   one another. */
GC__DAC_FN void gc__dac_cursor_mark_born(gc_dac *dac, gc__dac_cursor *cursor, const gc__dac_window *window) {
    const uint64_t filler = gc__dac_fact(cursor->copy, GC__DAC_FACT_FILLER_TAG),
                   shift = gc__dac_fact(cursor->copy, GC__DAC_FACT_FILLER_SHIFT), base = cursor->place->base;
    uint64_t at = window->start, header, bytes;
    if (at < base || at % 8) return;
    for (; at < window->next && at < cursor->readable && cursor->readable - at >= 8; at += bytes) {
        gc_dac_object object;
        const uint8_t *memory = cursor->memory + (at - base);
        memcpy(&header, memory, 8);
        bytes = header >> shift;
        if ((header & filler) == filler && (bytes < 8 || bytes % 8 || bytes > window->next - at)) return;
        if ((header & filler) == filler) continue;
        cursor->marks[(at - base) / 512] |= (uint64_t)1 << (at - base) / 8 % 64;
        object.address = at;
        if (!gc__dac_object_parse(dac, cursor->copy, memory, cursor->readable - at, window->next - at, &object)) return;
        bytes = object.bytes;
    }
}

/* Begins with a region that is in a list and that no collection is at work in. False: its memory cannot be had. */
GC__DAC_FN bool gc__dac_cursor_open(gc_dac *dac, gc__dac_copy *copy, size_t number, gc__dac_cursor *cursor) {
    memset(cursor, 0, sizeof *cursor);
    cursor->copy = copy;
    cursor->number = number;
    cursor->place = &copy->places[number];
    if (!gc__dac_step(dac, 2 * copy->window_count)) return false;
    cursor->at = cursor->place->base;
    cursor->end = gc__dac_place_top(copy, number);
    cursor->object.generation = cursor->place->generation;
    uint64_t bytes = cursor->end - cursor->at;
    if (gc__dac_is_large(copy, cursor->place) && bytes > GC__DAC_CONTENTS_MAX) bytes = GC__DAC_CONTENTS_MAX;
    if (!gc__dac_cursor_load(dac, cursor, bytes)) return false;
    gc__dac_cursor_window(dac, cursor);
    if (cursor->place->linear || gc__dac_is_large(copy, cursor->place)) return true;
    uint64_t mark_bytes = copy->info.region_bytes / 64;
    cursor->marks = (uint64_t *)gc__dac_allocate(dac, mark_bytes, 1);
    uint64_t plane = copy->marks[cursor->place->second_plane];
    if (!cursor->marks || !gc__dac_load(dac, plane + (cursor->at >> 9) * 8, cursor->marks, (size_t)mark_bytes)) return false;
    for (size_t i = 0; i < copy->window_count; i++)
        if (copy->windows[i].place == number) gc__dac_cursor_mark_born(dac, cursor, &copy->windows[i]);
    return true;
}

/* The header says nothing: the walk cannot go on behind it. */
GC__DAC_FN bool gc__dac_cursor_lost(gc_dac *dac, gc__dac_cursor *cursor, uint64_t at) {
    uint64_t header = 0;
    if (at < cursor->readable && cursor->readable - at >= 8) memcpy(&header, cursor->memory + (at - cursor->place->base), 8);
    if (at >= cursor->readable)
        return gc__dac_fail(
            dac, "the region at 0x%llx is not readable from 0x%llx on: the objects from there on are left out%s",
            (unsigned long long)cursor->place->base, (unsigned long long)at, dac->complaint);
    if (gc__dac_fact(cursor->copy, GC__DAC_FACT_HAS_MODEL))
        return gc__dac_fail(
            dac, "this program has an object model of its own (GC_MODEL_BYTES): only gc_dac_host.bytes can say "
                 "how long its objects are");
    return gc__dac_fail(
        dac,
        "the header 0x%llx of the object at 0x%llx leads to no type: it was overwritten, or the file that has the "
        "types is not readable. Objects behind it are left out%s",
        (unsigned long long)header, (unsigned long long)at, dac->complaint);
}

GC__DAC_FN bool gc__dac_cursor_unfinished(gc__dac_cursor *cursor, uint64_t next) {
    cursor->object.type = NULL;
    cursor->object.bytes = cursor->object.length = 0;
    cursor->object.flags = GC_DAC_UNFINISHED;
    cursor->at = next;
    return true;
}

/* The next object of a linear region. */
GC__DAC_FN bool gc__dac_cursor_linear(gc_dac *dac, gc__dac_cursor *cursor) {
    const uint64_t filler = gc__dac_fact(cursor->copy, GC__DAC_FACT_FILLER_TAG),
                   shift = gc__dac_fact(cursor->copy, GC__DAC_FACT_FILLER_SHIFT);
    while (cursor->at < cursor->end) {
        uint64_t at = cursor->at, header, limit = cursor->end;
        gc__dac_window *window = cursor->window;
        if (window && window->next == at) {
            cursor->at = window->end;
            gc__dac_cursor_window(dac, cursor);
            continue;
        }
        if (window) limit = window->next;
        if (cursor->readable < at + 8 || cursor->readable < at) return gc__dac_cursor_lost(dac, cursor, at);
        const uint8_t *memory = cursor->memory + (at - cursor->place->base);
        memcpy(&header, memory, 8);
        if ((header & filler) == filler) {
            uint64_t bytes = header >> shift;
            if (bytes < 8 || bytes % 8 || bytes > cursor->end - at) return gc__dac_cursor_lost(dac, cursor, at);
            cursor->at += bytes;
            if (window && cursor->at > window->next) gc__dac_cursor_window(dac, cursor);
            continue;
        }
        cursor->object.address = at;
        if (gc__dac_object_parse(dac, cursor->copy, memory, cursor->readable - at, limit - at, &cursor->object)) {
            cursor->at += cursor->object.bytes;
            return true;
        }
        if (window && window->running && !header) return gc__dac_cursor_unfinished(cursor, window->next);
        return gc__dac_cursor_lost(dac, cursor, at);
    }
    return false;
}

/* As of an object without a type that was made with GC_NEW_FIXED, which is marked before its host writes the header. */
GC__DAC_FN bool gc__dac_has_no_header(const gc__dac_cursor *cursor, uint64_t at) {
    uint64_t header = 1;
    if (cursor->readable - at >= 8) memcpy(&header, cursor->memory + (at - cursor->place->base), 8);
    return !header;
}

/* The next object that a mark bit shows. One whose header says nothing is reported without its size. */
GC__DAC_FN bool gc__dac_cursor_marked(gc_dac *dac, gc__dac_cursor *cursor) {
    uint64_t base = cursor->place->base, bit = (cursor->at - base) / 8, bits = (cursor->end - base) / 8;
    while (bit < bits) {
        uint64_t word = cursor->marks[bit / 64] >> (bit % 64);
        if (!word) {
            bit = (bit / 64 + 1) * 64;
            continue;
        }
        bit += (uint64_t)__builtin_ctzll(word);
        uint64_t at = base + 8 * bit;
        cursor->at = at + 8;
        if (at >= cursor->readable) return gc__dac_cursor_lost(dac, cursor, at);
        cursor->object.address = at;
        if (gc__dac_object_parse(dac, cursor->copy, cursor->memory + 8 * bit, cursor->readable - at, cursor->end - at,
                                 &cursor->object))
            cursor->at = at + cursor->object.bytes;
        else if (gc__dac_has_no_header(cursor, at))
            gc__dac_cursor_unfinished(cursor, at + 8);
        else if (!gc__dac_cursor_lost(dac, cursor, at) && gc__dac_is_of_unknown_model(dac, cursor->copy))
            gc__dac_cursor_unfinished(cursor, at + 8);
        return true;
    }
    return false;
}

GC__DAC_FN bool gc__dac_cursor_large(gc_dac *dac, gc__dac_cursor *cursor) {
    uint64_t at = cursor->at, header = 0;
    if (at != cursor->place->base) return false;
    cursor->at = cursor->end;
    cursor->object.address = at;
    if (cursor->readable < at + 16) return gc__dac_cursor_lost(dac, cursor, at);
    memcpy(&header, cursor->memory, 8);
    if (gc__dac_object_parse(dac, cursor->copy, cursor->memory, cursor->readable - at, cursor->end - at,
                             &cursor->object)) {
        cursor->object.flags |= GC_DAC_OBJECT_LARGE;
        return true;
    }
    if (!header) return gc__dac_cursor_unfinished(cursor, cursor->end);
    return gc__dac_cursor_lost(dac, cursor, at);
}

/* The region's next object, in cursor->object. False: there is none, or none that can be found. */
GC__DAC_FN bool gc__dac_cursor_next(gc_dac *dac, gc__dac_cursor *cursor) {
    if (cursor->marks) return gc__dac_cursor_marked(dac, cursor);
    return gc__dac_is_large(cursor->copy, cursor->place) ? gc__dac_cursor_large(dac, cursor)
                                                         : gc__dac_cursor_linear(dac, cursor);
}

/* Whether objects of the region can be listed now. */
GC__DAC_FN bool gc__dac_place_listable(const gc__dac_place *place, uint64_t heap) {
    return place->listed && place->heap == heap && !place->condemned;
}

GC_DAC_API bool gc_dac_objects(gc_dac *dac, const gc_dac_heap *heap,
                               bool (*visit)(void *context, const gc_dac_object *object), void *context) {
    gc__dac_copy *copy = gc__dac_copy_of(dac, heap);
    bool on = copy != NULL;
    size_t condemned = 0;
    for (size_t i = 0; on && i < copy->place_count; i++) {
        gc__dac_cursor cursor;
        condemned += copy->places[i].heap == heap->address && copy->places[i].condemned;
        if (!gc__dac_place_listable(&copy->places[i], heap->address)) continue;
        if (gc__dac_cursor_open(dac, copy, i, &cursor))
            while (on && gc__dac_cursor_next(dac, &cursor)) on = visit(context, &cursor.object);
        gc__dac_cursor_close(dac, &cursor);
    }
    if (condemned)
        gc__dac_fail(dac, "a collection is at work in %zu regions of this heap: their objects are left out", condemned);
    return gc__dac_end_names(dac);
}

/* Which objects begin where in a region; NULL: no memory. */
GC__DAC_FN const uint64_t *gc__dac_starts(gc_dac *dac, gc__dac_copy *copy, size_t number) {
    gc__dac_place *place = &copy->places[number];
    if (place->starts && !dac->moving) return place->starts;
    uint64_t bytes = copy->info.region_bytes / 64;
    uint64_t *starts = place->starts ? place->starts : (uint64_t *)gc__dac_allocate(dac, bytes, 1);
    if (!starts) return NULL;
    memset(starts, 0, (size_t)bytes);
    gc__dac_cursor cursor;
    if (gc__dac_cursor_open(dac, copy, number, &cursor))
        while (gc__dac_cursor_next(dac, &cursor)) {
            uint64_t bit = (cursor.object.address - place->base) / 8;
            starts[bit / 64] |= (uint64_t)1 << bit % 64;
        }
    gc__dac_cursor_close(dac, &cursor);
    return place->starts = starts;
}

/* The last bit set in [0, bit]; UINT64_MAX: none. */
GC__DAC_FN uint64_t gc__dac_last_bit(const uint64_t *bits, uint64_t bit) {
    uint64_t word = bits[bit / 64] << (63 - bit % 64);
    if (word) return bit - (uint64_t)__builtin_clzll(word);
    for (uint64_t i = bit / 64; i-- > 0;)
        if (bits[i]) return i * 64 + 63 - (uint64_t)__builtin_clzll(bits[i]);
    return UINT64_MAX;
}

/* Has the object's contents in reach. */
GC__DAC_FN const uint8_t *gc__dac_contents(gc_dac *dac, uint64_t address, uint64_t *bytes) {
    const uint8_t *memory =
        dac->target.at ? (const uint8_t *)dac->target.at(dac->target.context, address, (size_t)*bytes) : NULL;
    if (memory) return memory;
    if (*bytes > GC__DAC_CONTENTS_MAX) *bytes = GC__DAC_CONTENTS_MAX;
    if (!dac->object) {
        dac->object = (uint8_t *)gc__dac_allocate(dac, GC__DAC_CONTENTS_MAX, 1);
        if (!dac->object) return NULL;
    }
    *bytes = gc__dac_copy_memory(dac, address, dac->object, (size_t)*bytes);
    return dac->object;
}

/* The region that has the address; NULL: it is in no heap. */
GC__DAC_FN gc__dac_place *gc__dac_place_of(gc__dac_copy *copy, uint64_t address) {
    if (address < copy->arena || address >= copy->arena_end) return NULL;
    uint64_t number = (address - copy->arena) / copy->info.region_bytes;
    if (number >= copy->place_count) return NULL;
    gc__dac_place *place = &copy->places[number];
    if (place->kind == gc__dac_fact(copy, GC__DAC_FACT_KIND_LARGE_REST)) {
        if (place->rest_index > number) return NULL;
        place -= place->rest_index;
        if (!gc__dac_is_large(copy, place) || address >= gc__dac_place_end(copy, place)) return NULL;
    }
    return place->heap ? place : NULL;
}

/* The object that covers the address. The message says why there is none. */
GC__DAC_FN bool gc__dac_object_find(gc_dac *dac, gc__dac_copy *copy, uint64_t address, gc_dac_object *object) {
    gc__dac_place *place = gc__dac_place_of(copy, address);
    memset(object, 0, sizeof *object);
    if (place && place->condemned)
        return gc__dac_fail(dac, "a collection is at work in the region of 0x%llx", (unsigned long long)address);
    if (!place || !place->listed)
        return gc__dac_fail(dac, "0x%llx is in no region that holds objects", (unsigned long long)address);
    uint64_t start = place->base;
    if (!gc__dac_is_large(copy, place)) {
        const uint64_t *starts = gc__dac_starts(dac, copy, (size_t)(place - copy->places));
        uint64_t bit = starts ? gc__dac_last_bit(starts, (address - place->base) / 8) : UINT64_MAX;
        if (bit == UINT64_MAX) return gc__dac_fail(dac, "no object covers 0x%llx", (unsigned long long)address);
        start += 8 * bit;
    }
    uint64_t room = gc__dac_place_end(copy, place) - start, bytes = 64 < room ? 64 : room;
    object->address = start;
    const uint8_t *memory = gc__dac_contents(dac, start, &bytes);
    if (!memory || !gc__dac_object_parse(dac, copy, memory, bytes, room, object))
        return gc__dac_fail(dac, "the header of the object at 0x%llx leads to no type%s", (unsigned long long)start,
                            dac->complaint);
    object->generation = place->generation;
    if (gc__dac_is_large(copy, place)) object->flags |= GC_DAC_OBJECT_LARGE;
    if (address - start >= object->bytes)
        return gc__dac_fail(dac, "no object covers 0x%llx", (unsigned long long)address);
    bytes = object->bytes;
    object->contents = gc__dac_contents(dac, start, &bytes);
    object->contents_bytes = object->contents ? bytes : 0;
    return true;
}

/* The collector in whose arena the address is; NULL: none. */
GC__DAC_FN gc__dac_copy *gc__dac_copy_at(gc_dac *dac, uint64_t address) {
    for (size_t i = 0; i < dac->copy_count; i++)
        if (!dac->copies[i].info.rejected && address >= dac->copies[i].arena && address < dac->copies[i].arena_end)
            return &dac->copies[i];
    return NULL;
}

GC_DAC_API bool gc_dac_object_at(gc_dac *dac, uint64_t address, gc_dac_object *object) {
    memset(object, 0, sizeof *object);
    if (!gc__dac_begin(dac)) return gc__dac_end(dac);
    gc__dac_copy *copy = gc__dac_copy_at(dac, address);
    if (copy)
        gc__dac_object_find(dac, copy, address, object);
    else
        gc__dac_fail(dac, "0x%llx is in no heap", (unsigned long long)address);
    return gc__dac_end(dac);
}
