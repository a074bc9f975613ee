/* track.c - see track.h. */
#include "track.h"

#include <stdlib.h>
#include <string.h>

static void *grown(void *array, uint32_t *room, uint32_t count, size_t element_bytes) {
    if (count <= *room) return array;
    *room = count * 2 + 32;
    void *larger = realloc(array, *room * element_bytes);
    if (!larger) fprintf(stderr, "jit: no memory for a stack map\n"), exit(1);
    return larger;
}
#define ADD(t, name)                                                                                     \
    ((t)->name##s = grown((t)->name##s, &(t)->name##_room, (t)->name##_count + 1, sizeof *(t)->name##s), \
     &(t)->name##s[(t)->name##_count++])

void track_begin(tracker *t, assembler *a, const ir_function *f, int32_t home_offset) {
    memset(t, 0, sizeof *t);
    t->a = a;
    t->home_words = (int)f->stack_words;
    t->home_offset = home_offset;
    t->has_frame = f->is_debug;
    size_t count = (size_t)location_count(t);
    t->holds = calloc(count, 1);
    t->slot_of = malloc(count * sizeof *t->slot_of);
    if (!t->holds || !t->slot_of) fprintf(stderr, "jit: no memory for a stack map\n"), exit(1);
    memset(t->slot_of, -1, count * sizeof *t->slot_of);
}

void track_free(tracker *t) {
    free(t->holds);
    free(t->slot_of);
    free(t->slots);
    free(t->changes);
    free(t->ranges);
    free(t->unwind);
    free(t->points);
    free(t->listed);
}

int location_of(ir_home home) {
    if (home.place == HOME_REGISTER) return home.number;
    return home.place == HOME_STACK ? REGISTER_LOCATIONS + home.number : -1;
}

static gc_stackmap_slot slot_at(const tracker *t, int location, holding what) {
    gc_stackmap_slot slot = {GC_PLACE_REGISTER, (uint8_t)location, 0, 0, 0};
    int word = location - REGISTER_LOCATIONS;
    if (what == HOLDS_PINNED) slot.flags = GC_SLOT_PINNED;
    if (what == HOLDS_INTERIOR) slot.flags = GC_SLOT_INTERIOR;
    if (word < 0) return slot;
    slot.number = 0;
    slot.place = t->has_frame ? GC_PLACE_FRAME : GC_PLACE_SP;
    slot.offset = t->home_offset + 8 * word;
    return slot;
}

static uint32_t slot_for(tracker *t, int location, holding what) {
    int *known = &t->slot_of[location][what];
    if (*known < 0) {
        *known = (int)t->slot_count;
        *ADD(t, slot) = slot_at(t, location, what);
    }
    return (uint32_t)*known;
}

int track_slot(const tracker *t, int location, holding what) { return t->slot_of[location][what]; }

/* A change that another one before the same instruction undoes is none. */
static void change(tracker *t, int location, holding what, bool live) {
    uint32_t slot = slot_for(t, location, what), here = t->change_count;
    while (here && t->changes[here - 1].offset == t->a->bytes) {
        here--;
        if (t->changes[here].slot != slot) continue;
        memmove(t->changes + here, t->changes + here + 1, (--t->change_count - here) * sizeof *t->changes);
        return;
    }
    *ADD(t, change) = (gc_stackmap_change){t->a->bytes, slot, live};
}

void track_hold(tracker *t, int location, holding what) {
    holding before = (holding)t->holds[location];
    if (!t->is_open || before == what) return;
    if (before) change(t, location, before, false);
    if (what) change(t, location, what, true);
    t->holds[location] = (uint8_t)what;
}

void track_open(tracker *t, const uint8_t *holds) {
    int count = location_count(t);
    if (!t->is_open) {
        *ADD(t, range) = (gc_stackmap_range){t->a->bytes, t->a->bytes};
        memset(t->holds, HOLDS_NOTHING, (size_t)count);
        t->is_open = true;
    }
    for (int i = 0; i < count; i++) track_hold(t, i, (holding)holds[i]);
}

/* Another range may begin where this one ends, so no change is left there. */
void track_close(tracker *t) {
    if (!t->is_open) return;
    t->is_open = false;
    gc_stackmap_range *last = &t->ranges[t->range_count - 1];
    last->end = t->a->bytes;
    while (t->change_count && t->changes[t->change_count - 1].offset == last->end) t->change_count--;
    if (last->start == last->end) t->range_count--;
}

void track_point(tracker *t, const uint8_t *holds) {
    tracked_point *point = ADD(t, point);
    *point = (tracked_point){t->a->bytes, t->listed_count, 0};
    for (int i = 0; i < location_count(t); i++) {
        if (!holds[i]) continue;
        uint32_t slot = slot_for(t, i, (holding)holds[i]);
        t->listed = grown(t->listed, &t->listed_room, t->listed_count + 1, sizeof *t->listed);
        t->listed[t->listed_count++] = slot;
        point->count++;
    }
}

void track_unwind(tracker *t, gc_unwind_op op, int number, int32_t bytes) {
    t->unwind = grown(t->unwind, &t->unwind_room, t->unwind_count + 1, sizeof *t->unwind);
    t->unwind[t->unwind_count++] = (gc_stackmap_unwind){t->a->bytes, (uint8_t)op, (uint8_t)number, bytes};
}

static int by_offset(const void *one, const void *other) {
    uint32_t a = ((const tracked_point *)one)->offset, b = ((const tracked_point *)other)->offset;
    return a < b ? -1 : a > b;
}

/* The points in ascending order, with sets of bits, all in one piece of memory. */
static gc_stackmap_point *points_of(tracker *t) {
    size_t words = (t->slot_count + 63) / 64;
    if (t->point_count) qsort(t->points, t->point_count, sizeof *t->points, by_offset);
    gc_stackmap_point *points = calloc(t->point_count + 1, sizeof *points + words * sizeof(uint64_t));
    if (!points) fprintf(stderr, "jit: no memory for a stack map\n"), exit(1);
    uint64_t *sets = (uint64_t *)(void *)(points + t->point_count + 1);
    for (uint32_t i = 0; i < t->point_count; i++, sets += words) {
        points[i] = (gc_stackmap_point){t->points[i].offset, sets};
        for (uint32_t n = 0; n < t->points[i].count; n++) set_add(sets, (int)t->listed[t->points[i].first + n]);
    }
    return points;
}

void *track_encode(tracker *t, gc_stackmap_method *m, size_t *bytes) {
    gc_stackmap_point *points = points_of(t);
    m->code_bytes = t->a->bytes;
    m->slots = t->slots, m->slot_count = t->slot_count;
    m->points = points, m->point_count = t->point_count;
    m->ranges = t->ranges, m->range_count = t->range_count;
    m->changes = t->changes, m->change_count = t->change_count;
    m->unwind = t->unwind, m->unwind_count = t->unwind_count;
    *bytes = gc_stackmap_encode(m, NULL, 0);
    void *map = *bytes ? malloc(*bytes) : NULL;
    if (!map || gc_stackmap_encode(m, map, *bytes) != *bytes)
        fprintf(stderr, "jit: a stack map: %s\n", gc_last_message()), exit(1);
    free(points);
    return map;
}
