/* The workers of one collection: how they share work, and when they are done.

   Each worker has its own mark stack. Shared work lies in a few packets under one lock: a worker that holds much
   gives half of it away, but only while others wait for work. So the lock is taken seldom, and it guards all state
   that decides whether the collection is done: *a worker is busy while it may hold work; it becomes busy and stops
   being busy under the lock; and it gives work away only while it is busy. Hence if no worker is busy and nothing is
   shared, nothing is left.*

   Idle threads sleep, each on a word of its own, in the same way between collections and within one. No thread is
   woken before there is something to share, so a collection wakes as many as its work can use. */
#pragma once

#include "../threads/mode.h"
#include "../threads/lock.h"
#include "worker.h"

#define GC__WORKERS_MAX GC_COLLECTOR_THREADS_MAX
#define GC__SHARED_WORDS 128 /* words of a mark stack in a shared packet */
#define GC__SHARED_PACKETS 16
#define GC__POLL 64 /* objects between two polls at first */
#define GC__POLL_MAX 4096
#define GC__OWN_MARKS_MAX 4     /* workers, if each is to have its own mark bits */
#define GC__SEED_LOCKED 2       /* tests: a bit of the seed; workers do not get their own mark bits */
#define GC__FOR_HOST 64         /* objects handed over at a time */
#define GC__WORKERS_LOCK_SPINS 100 /* a thread that waits for the lock polls this often before it sleeps */
#define GC__WORKERS_SPIN_NS 20000  /* a worker that waits for work in a run polls for this long before it sleeps */
#define GC__UNITS_PER_CALL 4    /* another worker is woken while there are this many units for each */

typedef struct gc__shared {
    size_t count;
    bool remember; /* `remember` of the worker that shared the packet */
    uintptr_t words[GC__SHARED_WORDS];
} gc__shared;

/* An object whose trace function only the thread that collects may call. The range [from, to) of the object is
   traced, or all of it if `to` is 0. */
typedef struct gc__for_host {
    uintptr_t object, from, to;
} gc__for_host;

/* The state of one worker's thread, with counts over all collections. */
typedef struct gc__worker_thread {
    gc__worker worker; /* written by the thread that collects, between runs */
    struct gc__workers *workers;
    unsigned number;
    gc__os_thread os_thread;
    gc__words stack;
    /* memory of the worker's counts and marks: both are indexed from the start of the arena */
    gc__words live, own_marks;
    gc__words stale;           /* stripes of the arena with marks left from an earlier run */
    size_t own_stripes;         /* stripes that had own marks since their memory was mapped, summed over the runs */
    uint32_t woken;    /* changes when the thread is woken; atomic */
    int called_from;   /* the processor of the thread that last woke it; under the lock */
    bool busy;         /* under the lock */
    uint32_t poll;     /* objects between polls */
    uint32_t polled;   /* objects counted by the current poll interval */
    uint64_t taken_at; /* `objects` when the worker last took shared work */
    gc__words refused; /* slots for whose referents there was no room; entries as in the FIFO */
    /* objects of generation 2 that the worker has met while that generation is being marked concurrently */
    gc__words seen;
    size_t for_host_count;
    gc__for_host for_host[GC__FOR_HOST];
    uint64_t objects, shared, steals, steps_asleep, asleep_ns;
    uint64_t bytes, lost; /* of collections that have ended */
    uint64_t cpu_ns; /* CPU time of a thread other than the one that collects, when it last went to sleep; atomic */
} gc__worker_thread;

typedef struct gc__workers {
    gc__lock lock;  /* guards what follows unless stated otherwise; no other lock is taken under it */
    gc__lock space; /* guards taking regions while several workers run; taken before the barrier lock */
    gc_heap *heap;
    void (*job)(void *context, size_t unit); /* what a run does with its units; NULL: the run traces */
    void *job_context;
    size_t opened;  /* regions of the arena when the collection began, for which the workers have counters */
    unsigned count; /* threads, including the one that collects */
    unsigned most;  /* the most threads that work: processors may have been taken away */
    bool fits;      /* atomic: each thread may have a processor to itself, so waiting threads poll for a while */
    unsigned busy;
    uint32_t asleep;         /* bits of the threads that wait */
    uint32_t called;         /* bits of the threads that are woken when the lock is released */
    bool runs;               /* a run is going on */
    bool remember_all;       /* `remember_all` of a worker whose work was not found through cards */
    bool ending;             /* also atomic */
    bool rests;              /* atomic: the collection has no further run, so polling for one is useless */
    uint32_t stop;           /* atomic: the trace goes on with one worker */
    uint32_t idle;         /* atomic: more threads wait than packets are shared */
    size_t next_unit, units; /* units of roots and cards; the first is atomic, the second is written between runs */
    size_t shared_count;
    gc__shared shared[GC__SHARED_PACKETS];
    gc__words for_host;                        /* triples, as in gc__for_host */
    gc__words cards;                           /* dirty cards that were cleaned, which any worker may scan */
    size_t root_units, card_units, slot_units; /* units of the run, which come in this order */
    bool forked;                               /* the process is a forked child, without the other threads */
    uint32_t seed;     /* tests: workers run one at a time, in an order that follows from the seed; 0: all at once */
    uint32_t random;   /* state of the generator of that order */
    uint32_t turn;     /* the worker whose turn it is; atomic */
    uint64_t steps;    /* rounds of turns */
    uint64_t began_ns; /* when the last run began; atomic */
    uint64_t traces;   /* traces in which several workers took part */
    gc__worker_thread threads[GC__WORKERS_MAX];
} gc__workers;

GC__FN uint32_t gc__workers_random(gc__workers *workers) {
    workers->random ^= workers->random << 13;
    workers->random ^= workers->random >> 17;
    return workers->random ^= workers->random << 5;
}

GC__OUT_OF_LINE void gc__workers_lock(gc__workers *workers) {
    gc__lock_take_polling(&workers->lock, __atomic_load_n(&workers->fits, __ATOMIC_RELAXED) ? GC__WORKERS_LOCK_SPINS : 0);
}

GC__FN void gc__own_marks_free(gc__worker_thread *thread) {
    gc__words_free(&thread->own_marks);
    thread->stale.count = thread->own_stripes = 0;
}

/* The lock is held from here on, unless a comment says otherwise. */

/* Returns the threads that wait and may work. */
GC__FN uint32_t gc__workers_waiting(const gc__workers *workers) {
    return workers->asleep & (uint32_t)(((uint64_t)1 << workers->most) - 1);
}

/* Sets how many threads there are, and how many of them may work. */
GC__FN void gc__workers_resize(gc__workers *workers, unsigned count, unsigned most) {
    workers->count = count;
    workers->most = most;
    __atomic_store_n(&workers->fits, gc__min(count, most) <= workers->heap->threads->processors, __ATOMIC_RELAXED);
}

GC__FN void gc__workers_count_idle(gc__workers *workers) {
    unsigned asleep = (unsigned)__builtin_popcount(gc__workers_waiting(workers));
    __atomic_store_n(&workers->idle, (uint32_t)(asleep > workers->shared_count), __ATOMIC_RELAXED);
}

/* Releases the lock, and then wakes the threads that were called while it was held. */
GC__OUT_OF_LINE void gc__workers_unlock(gc__workers *workers) {
    uint32_t called = workers->called;
    workers->called = 0;
    gc__lock_release(&workers->lock);
    for (; called; called &= called - 1) gc__os_wake(&workers->threads[__builtin_ctz(called)].woken);
}

GC__FN void gc__workers_wake(gc__workers *workers, unsigned number) {
    workers->asleep &= ~(1u << number);
    gc__workers_count_idle(workers);
    if (workers->seed) return; /* the thread's turn will come */
    workers->threads[number].called_from = gc__os_processor();
    __atomic_fetch_add(&workers->threads[number].woken, 1, __ATOMIC_SEQ_CST);
    workers->called |= 1u << number;
}

GC__FN void gc__workers_wake_one(gc__workers *workers) {
    uint32_t waiting = gc__workers_waiting(workers);
    if (waiting && !workers->forked) gc__workers_wake(workers, (unsigned)__builtin_ctz(waiting));
}

/* With a seed: chooses whose turn is next among the threads that do not sleep. */
GC__FN unsigned gc__workers_turn_after(gc__workers *workers, unsigned number) {
    unsigned next = number;
    do {
        next = (next + 1) % workers->count;
        if (!next) {
            workers->steps++;
            for (unsigned i = 0; i < workers->count; i++) workers->threads[i].steps_asleep += workers->asleep >> i & 1;
        }
    } while (workers->asleep >> next & 1 && next != number);
    return next;
}

/* Waits for the thread's turn. The lock is not held. */
GC__FN void gc__workers_await_turn(gc__workers *workers, unsigned number) {
    gc__worker_thread *thread = &workers->threads[number];
    for (;;) {
        uint32_t woken = __atomic_load_n(&thread->woken, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&workers->turn, __ATOMIC_SEQ_CST) == number) return;
        if (__atomic_load_n(&workers->ending, __ATOMIC_SEQ_CST)) return;
        gc__os_wait_for(&thread->woken, woken, 1000 * GC__NS_PER_MS);
    }
}

/* Gives the turn to another thread, and waits for the next one. Releases and retakes the lock. */
GC__FN void gc__workers_pass_turn(gc__workers *workers, unsigned number) {
    unsigned next = gc__workers_turn_after(workers, number);
    if (next == number && !(workers->asleep >> number & 1)) return;
    __atomic_store_n(&workers->turn, next, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&workers->threads[next].woken, 1, __ATOMIC_SEQ_CST);
    workers->called |= 1u << next;
    gc__workers_unlock(workers);
    gc__workers_await_turn(workers, number);
    gc__workers_lock(workers);
}

/* Waits, without the lock, until the thread has been woken since `woken` was read. Polls first, for `polls_ns` from
   `start_ns` on. A thread that is woken on the waker's processor would make the waker wait, and both would run in
   turns. Guest systems do that, since an idle processor is not theirs until it is woken. So the woken thread leaves
   that processor; a thread of the host stays. */
GC__FN void gc__worker_thread_wait(gc__worker_thread *thread, uint32_t woken, uint64_t start_ns, uint64_t polls_ns) {
    while (!gc__ns_passed(gc__os_now_ns(), start_ns, polls_ns) && !__atomic_load_n(&thread->workers->rests, __ATOMIC_RELAXED)) {
        for (int i = 0; i < 16; i++) gc__cpu_pause();
        if (__atomic_load_n(&thread->woken, __ATOMIC_SEQ_CST) != woken) return;
    }
    if (thread->number) __atomic_store_n(&thread->cpu_ns, gc__os_cpu_ns(), __ATOMIC_RELAXED);
    while (__atomic_load_n(&thread->woken, __ATOMIC_SEQ_CST) == woken)
        gc__os_wait_for(&thread->woken, woken, 60000 * GC__NS_PER_MS);
    if (thread->number && __atomic_load_n(&thread->workers->fits, __ATOMIC_RELAXED) &&
        gc__os_processor() == thread->called_from)
        gc__os_leave_processor(&thread->os_thread, thread->called_from);
}

/* Waits until the thread is woken. Releases and retakes the lock. */
GC__FN void gc__workers_sleep(gc__workers *workers, unsigned number) {
    gc__worker_thread *thread = &workers->threads[number];
    uint32_t woken = __atomic_load_n(&thread->woken, __ATOMIC_SEQ_CST);
    bool polls = workers->runs && workers->fits;
    workers->asleep |= 1u << number;
    gc__workers_count_idle(workers);
    if (workers->seed) {
        gc__workers_pass_turn(workers, number);
        return;
    }
    gc__workers_unlock(workers);
    uint64_t start = gc__os_now_ns();
    gc__worker_thread_wait(thread, woken, start, polls ? GC__WORKERS_SPIN_NS : 0);
    uint64_t woke = gc__os_now_ns();
    start =
        /* waiting between runs does not count as idle time */
        gc__max(start, __atomic_load_n(&workers->began_ns, __ATOMIC_RELAXED));
    gc__workers_lock(workers);
    thread->asleep_ns += gc__ns_since(woke, start);
}

/* Returns the CPU time of all collector threads except the one that collects. */
GC__FN uint64_t gc__workers_cpu_ns(const gc__workers *workers) {
    uint64_t sum = 0;
    for (unsigned i = 1; workers && i < workers->count; i++)
        sum += __atomic_load_n(&workers->threads[i].cpu_ns, __ATOMIC_RELAXED);
    return sum;
}

/* Pushes an entry of another mark stack on this worker's. */
GC__FN void gc__workers_push(gc__worker *worker, const uintptr_t *entry, size_t words) {
    if (gc__trace_stack_room(worker, words)) {
        for (size_t i = 0; i < words; i++) *worker->top++ = entry[i];
    } else {
        gc__trace_overflow(worker, entry[words - 1] & ~(uintptr_t)GC__CONTINUED);
    }
}

/* Returns how many words the entry takes that begins there, counted from the bottom of a stack. */
GC__FN size_t gc__entry_words(const uintptr_t *entry) { return *entry & GC__NUMBER ? 3 : 1; }

/* Sets whether the worker's slots may be those of older objects, found through dirty cards, whose cards may be
   needed again. Before it stops remembering, its stack and its FIFO must be empty. */
GC__FN void gc__workers_remember(gc__worker *worker, bool remember) {
    gc__worker_remember(worker, remember);
    worker->remember_all = remember || worker->workers->remember_all;
}

/* Takes a packet that others have shared. */
GC__FN bool gc__workers_take_packet(gc__workers *workers, gc__worker *worker) {
    if (!workers->shared_count) return false;
    const gc__shared *piece = &workers->shared[--workers->shared_count];
    gc__workers_remember(worker, piece->remember);
    for (size_t i = 0; i < piece->count; i += gc__entry_words(&piece->words[i]))
        gc__workers_push(worker, &piece->words[i], gc__entry_words(&piece->words[i]));
    gc__workers_count_idle(workers);
    gc__worker_thread *thread = &workers->threads[worker->number];
    thread->taken_at = thread->objects;
    thread->steals++;
    return true;
}

/* Takes objects that were handed over to the thread that collects, whose trace functions it is to call. */
GC__FN bool gc__workers_take_for_host(gc__workers *workers, const gc__worker *worker) {
    gc__worker_thread *thread = &workers->threads[worker->number];
    if (worker->number || !workers->for_host.count) return false;
    while (workers->for_host.count && thread->for_host_count < GC__FOR_HOST) {
        const uintptr_t *words = &workers->for_host.words[workers->for_host.count -= 3];
        const gc__for_host item = {words[0], words[1], words[2]};
        thread->for_host[thread->for_host_count++] = item;
    }
    return true;
}

GC__FN bool gc__workers_units_left(const gc__workers *workers) {
    return __atomic_load_n(&workers->next_unit, __ATOMIC_RELAXED) < workers->units;
}

/* Checks that no worker finds work while another one is exclusive. */
GC__FN void gc__workers_check(const gc__workers *workers, unsigned number) {
    for (unsigned i = 0; i < workers->count; i++)
        if (i != number && workers->threads[i].busy && workers->threads[i].worker.exclusive)
            gc__fatal(&workers->heap->options, "collector thread %u has found work beside %u, which claims as if alone",
                      number, i);
}

/* Looks for work. A worker that finds some is busy from now on. A thread also looks when it starts, even if it may
   not work. */
GC__FN bool gc__workers_find(gc__workers *workers, gc__worker *worker) {
    if (!workers->runs || worker->number >= workers->most || __atomic_load_n(&workers->stop, __ATOMIC_RELAXED)) return false;
    bool found = gc__workers_take_for_host(workers, worker) || gc__workers_units_left(workers) ||
                 gc__workers_take_packet(workers, worker);
    if (found) workers->threads[worker->number].busy = true;
    if (GC_DEBUG >= 3 && found) gc__workers_check(workers, worker->number);
    workers->busy += found;
    return found;
}

/* Makes a worker with nothing left idle. If it had little since it last took something, workers share less often
   from now on: what they share is worth less than waking a thread for it. */
GC__FN void gc__workers_go_idle(gc__workers *workers, gc__worker_thread *thread) {
    if (!thread->busy) return;
    thread->busy = false;
    workers->busy--;
    if (!workers->busy && workers->asleep & 1) gc__workers_wake(workers, 0); /* the run is over */
    if (!thread->number) return;
    uint64_t had = thread->objects - thread->taken_at;
    for (unsigned i = 0; i < workers->count; i++) {
        uint32_t poll = __atomic_load_n(&workers->threads[i].poll, __ATOMIC_RELAXED);
        poll = had < 8 * GC__POLL ? poll * 2 : poll / 2;
        poll = poll < GC__POLL ? GC__POLL : poll > GC__POLL_MAX ? GC__POLL_MAX : poll;
        __atomic_store_n(&workers->threads[i].poll, poll, __ATOMIC_RELAXED);
    }
}

/* The functions below are called without the lock. */

/* Waits for work, and takes it. Returns false if no work is left: for the first worker, in this run; for others,
   when the threads end. */
GC__FN bool gc__workers_next(gc__worker_thread *thread) {
    gc__workers *workers = thread->workers;
    bool found;
    gc__workers_lock(workers);
    gc__workers_go_idle(workers, thread);
    while (!(found = gc__workers_find(workers, &thread->worker)) && (thread->number ? !workers->ending : workers->busy != 0))
        gc__workers_sleep(workers, thread->number);
    gc__workers_unlock(workers);
    return found;
}

/* Hands over objects whose trace functions this worker may not call to the thread that collects. */
GC__FN void gc__workers_give_host(gc__worker *worker) {
    gc__workers *workers = worker->workers;
    gc__worker_thread *thread = &workers->threads[worker->number];
    if (!worker->number || !thread->for_host_count) return;
    gc__workers_lock(workers);
    worker->exclusive = false;
    for (; thread->for_host_count; thread->for_host_count--) {
        const gc__for_host *item = &thread->for_host[thread->for_host_count - 1];
        if (!gc__words_reserve(&workers->for_host, workers->for_host.count + 3)) {
            gc__trace_overflow(worker, item->object);
            continue;
        }
        gc__words_push(&workers->for_host, item->object);
        gc__words_push(&workers->for_host, item->from);
        gc__words_push(&workers->for_host, item->to);
    }
    if (workers->asleep & 1) gc__workers_wake(workers, 0);
    gc__workers_unlock(workers);
}

GC__OUT_OF_LINE void gc__workers_hand_over(gc__worker *worker, uintptr_t object, uintptr_t from, uintptr_t to) {
    gc__worker_thread *thread = &worker->workers->threads[worker->number];
    const gc__for_host item = {object, from, to};
    if (thread->for_host_count == GC__FOR_HOST) gc__workers_give_host(worker);
    thread->for_host[thread->for_host_count++] = item;
}

/* Splits the rest of a long array between two entries. */
GC__FN bool gc__entry_halve(const uintptr_t *entry, uintptr_t *lower, uintptr_t *upper) {
    if (!(*entry & GC__NUMBER)) return false;
    size_t end = entry[0] >> 2, index = entry[1] >> 2, middle = index + (end - index) / 2;
    if (end - index < 2 * GC__CHUNK) return false;
    lower[0] = middle << 2 | GC__NUMBER;
    upper[0] = entry[0];
    lower[1] = entry[1];
    upper[1] = lower[0];
    lower[2] = upper[2] = entry[2];
    return true;
}

/* Moves every second entry of the older part of the stack, except the newest entry, and the second half of each long
   array into the packet. Entries deep in the stack mostly lead to more objects, so each worker gets half of the
   large ones and half of the small ones. If all of an array were given away, the giver would soon have nothing and
   take it back. */
GC__FN void gc__workers_fill(gc__worker *worker, gc__shared *piece) {
    size_t words = (size_t)(worker->top - worker->stack), seen = 0, kept = 0, given = 0;
    uintptr_t keeps[GC__SHARED_WORDS], *from = worker->stack;
    bool give = true;
    piece->remember = gc__worker_remembers(worker);
    while (seen < words) {
        size_t entry = gc__entry_words(from + seen);
        if (given + entry > GC__SHARED_WORDS || kept + entry > GC__SHARED_WORDS) break;
        if (gc__entry_halve(from + seen, keeps + kept, piece->words + given)) {
            kept += entry;
            given += entry;
        } else {
            if (give && seen + entry == words) break;
            memcpy(give ? piece->words + given : keeps + kept, from + seen, entry * sizeof *from);
            *(give ? &given : &kept) += entry;
            give = !give;
        }
        seen += entry;
    }
    piece->count = given;
    worker->stack += seen - kept;
    memcpy(worker->stack, keeps, kept * sizeof *keeps);
}

/* Makes a worker with nothing to share exclusive if no other one is busy and no work is left to be found: anything
   that another worker could find, this one must share first. */
GC__FN void gc__workers_look_exclusive(gc__worker *worker) {
    gc__workers *workers = worker->workers;
    if (worker->exclusive) return;
    gc__workers_lock(workers);
    bool left = gc__workers_units_left(workers) || workers->shared_count || workers->for_host.count;
    worker->exclusive = workers->busy == 1 && !left;
    gc__workers_unlock(workers);
}

/* Shares work, if there is more than one entry, and wakes a thread for it. */
GC__FN void gc__workers_share(gc__worker *worker) {
    gc__workers *workers = worker->workers;
    if (worker->top - worker->stack < 2) {
        gc__workers_look_exclusive(worker);
        return;
    }
    gc__workers_lock(workers);
    if (workers->shared_count < GC__SHARED_PACKETS && __atomic_load_n(&workers->idle, __ATOMIC_RELAXED)) {
        gc__workers_fill(worker, &workers->shared[workers->shared_count]);
        if (workers->shared[workers->shared_count].count) {
            workers->shared_count++;
            worker->exclusive = false;
            workers->threads[worker->number].shared++;
            gc__workers_wake_one(workers);
            gc__workers_count_idle(workers);
        }
    }
    gc__workers_unlock(workers);
}

/* Lets other workers run, if a seed decides their order. */
GC__FN void gc__workers_step(gc__worker *worker) {
    gc__workers *workers = worker->workers;
    if (!workers || !workers->seed || !workers->runs) return;
    gc__workers_lock(workers);
    gc__workers_pass_turn(workers, worker->number);
    gc__workers_unlock(workers);
}

/* Called once per poll interval. Returns false if the worker must return, with what it holds. */
GC__OUT_OF_LINE bool gc__workers_poll(gc__worker *worker) {
    gc__workers *workers = worker->workers;
    gc__worker_thread *thread = &workers->threads[worker->number];
    thread->objects += thread->polled;
    worker->until_poll = __atomic_load_n(&thread->poll, __ATOMIC_RELAXED);
    /* the seed decides whether others work before or after this worker shares */
    bool later = workers->seed && gc__workers_random(workers) % 2;
    if (!later) gc__workers_step(worker);
    if (workers->seed) worker->until_poll = 1 + gc__workers_random(workers) % 16;
    thread->polled = worker->until_poll;
    if (__atomic_load_n(&workers->stop, __ATOMIC_RELAXED)) {
        worker->until_poll = 1;
        return false;
    }
    if (__atomic_load_n(&workers->idle, __ATOMIC_RELAXED)) gc__workers_share(worker);
    if (later) gc__workers_step(worker);
    return true;
}

/* Wakes another thread while many units are left. */
GC__FN void gc__workers_call(gc__workers *workers) {
    if (!__atomic_load_n(&workers->idle, __ATOMIC_RELAXED)) return;
    size_t next = __atomic_load_n(&workers->next_unit, __ATOMIC_RELAXED);
    if (next + GC__UNITS_PER_CALL > workers->units) return;
    gc__workers_lock(workers);
    gc__workers_wake_one(workers);
    gc__workers_unlock(workers);
}

/* Claims the next unit of roots and cards. Returns false if all are claimed. */
GC__FN bool gc__workers_claim_unit(gc__workers *workers, size_t *unit) {
    if (!gc__workers_units_left(workers)) return false;
    *unit = __atomic_fetch_add(&workers->next_unit, 1, __ATOMIC_RELAXED);
    return *unit < workers->units;
}

/* Begins a run, in which the first worker is busy. */
GC__FN void gc__workers_begin(gc__workers *workers, size_t units) {
    gc__workers_lock(workers);
    workers->runs = true;
    workers->asleep &= ~1u;
    workers->busy = 1;
    workers->threads[0].busy = true;
    workers->units = units;
    workers->random = workers->seed;
    __atomic_store_n(&workers->next_unit, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&workers->stop, 0u, __ATOMIC_RELAXED);
    __atomic_store_n(&workers->turn, 0u, __ATOMIC_SEQ_CST);
    for (unsigned i = 0; i < workers->count; i++) {
        workers->threads[i].polled = workers->threads[i].worker.until_poll = workers->seed ? 1 : GC__POLL;
        workers->threads[i].worker.exclusive = false;
    }
    __atomic_store_n(&workers->began_ns, gc__os_now_ns(), __ATOMIC_RELAXED);
    gc__workers_count_idle(workers);
    gc__workers_unlock(workers);
}

/* Ends the run: no worker is busy. */
GC__FN void gc__workers_run_end(gc__workers *workers) {
    gc__workers_lock(workers);
    workers->runs = false;
    gc__workers_unlock(workers);
}

/* Stops the run, and waits until no other worker is busy. Called within a trace function on the thread that
   collects. */
GC__FN void gc__workers_stop(gc__workers *workers) {
    gc__workers_lock(workers);
    __atomic_store_n(&workers->stop, 1u, __ATOMIC_RELAXED);
    while (workers->runs && workers->busy > 1) {
        if (workers->seed) {
            gc__workers_pass_turn(workers, 0);
            continue;
        }
        gc__workers_unlock(workers);
        gc__os_wait_for(&workers->stop, 1, GC__NS_PER_MS / 10);
        gc__workers_lock(workers);
    }
    gc__workers_unlock(workers);
}
