/* The events of a profile as those of the CLR, in nettrace files. A stack's addresses are those of native code; a frame of the
   host's language, or of code that it has named, has an address that is made up, so that each has a name of its own even if
   its memory was used again. Names of native code come at the end of the file. */
#pragma once

#include "../api/handle.h"
#include "nettrace.h"
#include "report.h"

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
