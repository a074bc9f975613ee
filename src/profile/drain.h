/* Emptying the threads' buffers into the profile, and events into the file of a streamed format. Lock held. */
#pragma once

#include "buffer.h"
#include "live.h"
#include "modules.h"

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
