/* The buffers of threads: rings of records, each with one writer, its thread, and one reader at a time, which holds the lock.
   Positions count all bytes that passed since the buffer was rewound. */
#pragma once

#include "state.h"

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
