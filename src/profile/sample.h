/* What an allocating thread does: finds which objects are sampled, takes call stacks, and puts records into its buffer. */
#pragma once

#include "../space/object.h"
#include "../threads/lock.h"
#include "drain.h"

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
