/* Emptying the threads' buffers into the profile, and events into the file of a streamed format. Lock held. */
#pragma once

#include "buffer.h"
#include "live.h"
#include "modules.h"

/* Stacks. */

GC__FN bool gc__stack_cache_reserve(gc__stack_cache *cache) {
    if (2 * (cache->count + 1) <= cache->capacity) return true;
    gc__stack_cache bigger = {NULL, NULL, cache->capacity ? 2 * cache->capacity : 1024, cache->count};
    bigger.hashes = (uint64_t *)gc__os_map(bigger.capacity * (sizeof *bigger.hashes + sizeof *bigger.stacks));
    if (!bigger.hashes) return false;
    bigger.stacks = (uint32_t *)(void *)(bigger.hashes + bigger.capacity);
    for (size_t i = 0; i < cache->capacity; i++) {
        if (!cache->hashes[i]) continue;
        size_t at = (size_t)cache->hashes[i] & (bigger.capacity - 1);
        while (bigger.hashes[at]) at = (at + 1) & (bigger.capacity - 1);
        bigger.hashes[at] = cache->hashes[i];
        bigger.stacks[at] = cache->stacks[i];
    }
    if (cache->capacity) gc__os_unmap(cache->hashes, cache->capacity * (sizeof *cache->hashes + sizeof *cache->stacks));
    *cache = bigger;
    return true;
}

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

/* The words of a stack, and in `after` how many there are with the names that follow this one. */
GC__FN uint32_t gc__stack_frame(gc__profiling *all, const uint64_t *words, size_t *after) {
    gc__frame_key key = {0, 0, 0, 0, 0, 0, 0};
    *after = 1;
    if (!(*words & GC__HOST_FRAME)) {
        key.pc = (uintptr_t)*words;
        key.code = gc__code_at(all, key.pc);
        key.module = key.code ? 0 : gc__modules_of(&all->profile, key.pc);
        return gc__profile_frame_add(&all->profile, &key);
    }
    size_t function = *words >> 40 & 0xFF, file = *words >> 32 & 0xFF;
    const char *names = (const char *)(words + 1);
    *after += (function + file + 7) / 8;
    key.name = gc__profile_text_add_part(&all->profile, names, function);
    key.file = gc__profile_text_add_part(&all->profile, names + function, file);
    key.line = (uint32_t)*words;
    return gc__profile_frame_add(&all->profile, &key);
}

GC__FN uint32_t gc__stack_make(gc__profiling *all, const uint64_t *words, size_t count) {
    uint32_t frames[GC__PROFILE_DEPTH_MAX], stack = 0;
    size_t depth = 0, after;
    for (size_t i = 0; i < count && depth < GC__PROFILE_DEPTH_MAX; i += after)
        frames[depth++] = gc__stack_frame(all, words + i, &after);
    while (depth--) stack = gc__profile_stack_add(&all->profile, frames[depth], stack);
    return stack;
}

/* The stack with these words. Two that differ have the same hash of 64 bits in one of 10 ^ 9 profiles with 100,000 stacks. */
GC__FN uint32_t gc__stack_of(gc__profiling *all, const uint64_t *words, size_t count) {
    gc__stack_cache *cache = &all->cache;
    uint64_t hash =
        gc__profile_hash(words, count * sizeof *words, all->code_changes + 1 + ((uint64_t)all->file_changes << 40)) | 1;
    if (!count || !gc__stack_cache_reserve(cache)) return 0;
    size_t at = (size_t)hash & (cache->capacity - 1);
    while (cache->hashes[at] && cache->hashes[at] != hash) at = (at + 1) & (cache->capacity - 1);
    if (cache->hashes[at]) return cache->stacks[at];
    cache->hashes[at] = hash;
    cache->count++;
    return cache->stacks[at] = gc__stack_make(all, words, count);
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
    gc__profile_entry *entry = gc__profile_entry_add(&all->profile, event->type, event->stack);
    if (!entry) {
        all->profile.lost_samples += record->also >> GC_PROFILE_SAMPLE & 1;
        return;
    }
    if (record->also & GC_PROFILE_BIT(SAMPLE)) {
        gc__tracked object = {(uintptr_t)record->object, record->size,
                              gc__chance_weight(all->profile.options.period_bytes, record->size),
                              (uint32_t)(entry - all->profile.entries)};
        event->kind = GC_PROFILE_SAMPLE;
        gc__tracked_add(heap, &object);
        gc__event_keep(all, event);
    }
    if (record->also & GC_PROFILE_BIT(TICK)) {
        event->kind = GC_PROFILE_TICK;
        event->amount = record->tick_bytes;
        entry->ticks++;
        entry->tick_bytes += record->tick_bytes;
        gc__event_keep(all, event);
    }
    if (record->also & GC_PROFILE_BIT(OBJECT)) {
        event->kind = GC_PROFILE_OBJECT;
        event->amount = record->type_objects;
        event->detail = record->type_object_bytes;
        entry->events++;
        entry->objects += record->type_objects;
        entry->object_bytes += record->type_object_bytes;
        gc__event_keep(all, event);
    }
}

GC__FN void gc__drain_record(gc__profiled_thread *thread, const gc__noted *record) {
    gc__profiling *all = &gc__the_profile;
    gc__profiled_heap *heap = thread->thread->heap->profiled;
    const uint64_t *stack = (const uint64_t *)(const void *)(record + 1);
    const char *type = (const char *)(stack + record->stack_words);
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
    if (record->type_bytes) event.type = gc__profile_type_add_part(&all->profile, type, record->type_bytes);
    event.stack = gc__stack_of(all, stack, record->stack_words);
    if (record->also & GC__RECORD_CUT) all->profile.cut_stacks++;
    if (record->also)
        gc__drain_allocation(heap, record, &event);
    else
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
