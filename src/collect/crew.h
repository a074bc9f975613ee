/* The crew: several workers of one collection, how they share work, and when they are done.

   Each worker has a mark stack of its own. What is for all lies in a few shared pieces under one lock: a worker that holds
   much gives half of it away, but only while others wait for work. So the lock is taken seldom, and everything
   that says whether the collection is done is under it: *a worker is busy while it may hold work, it becomes busy and
   stops being so under the lock, and what it gives away it gives while it is busy. Hence if none is busy and nothing is
   shared, nothing is left.*

   Threads that wait sleep, each on a word of its own; they are the same to the crew between collections and within one.
   Nobody wakes them before there is something to share, so a collection wakes as many as its work can use. */
#pragma once

#include "../threads/mode.h"
#include "worker.h"

#define GC__CREW_MAX 32      /* workers */
#define GC__SHARED_WORDS 128 /* of a mark stack, in a piece that is shared */
#define GC__SHARED_PIECES 16
#define GC__POLL 64 /* objects between two looks at what the crew needs, at first */
#define GC__POLL_MAX 4096
#define GC__OWN_MARKS_MAX 4     /* workers, if each is to have marks of its own */
#define GC__SEED_LOCKED 2       /* tests: a bit of the seed: none has */
#define GC__FOR_HOST 64         /* objects handed over at a time */
#define GC__CREW_LOCK_SPINS 100 /* polls before a thread sleeps that waits for the lock */
#define GC__CREW_SPIN_NS 20000  /* a worker that waits for work in a run polls so long before it sleeps */
#define GC__UNITS_PER_CALL 4    /* another worker is woken while there are so many units for each */

typedef struct gc__shared {
    size_t count;
    bool remember; /* as that of the worker who shared it */
    uintptr_t words[GC__SHARED_WORDS];
} gc__shared;

/* An object whose trace function only the thread that collects may call; of the object, [from, to), or all of it if `to` is
   0. */
typedef struct gc__for_host {
    uintptr_t object, from, to;
} gc__for_host;

/* What a thread of the crew has, and counts over all collections. */
typedef struct gc__member {
    gc__worker worker; /* written by the thread that collects, between runs */
    struct gc__crew *crew;
    unsigned number;
    gc__os_thread thread;
    gc__words stack;
    gc__words live, own_marks; /* the memory of the worker's: both begin with the arena */
    gc__words stale;           /* pieces of the arena for which own marks are left of an earlier run */
    size_t own_pieces;         /* those for which there were any since that memory was mapped, in each run */
    uint32_t woken;    /* changes when the member is woken; atomic */
    int called_from;   /* the processor of the thread that last woke it; lock */
    bool busy;         /* lock */
    uint32_t poll;     /* objects between its looks */
    uint32_t polled;   /* those of the present one */
    uint64_t taken_at; /* `objects` when it last took what others shared */
    gc__words refused; /* slots whose referents found no room: entries as in the FIFO */
    gc__words seen;    /* objects of generation 2 that it has met while that is being marked beside mutators */
    size_t for_host_count;
    gc__for_host for_host[GC__FOR_HOST];
    uint64_t objects, shared, steals, steps_asleep, asleep_ns;
    uint64_t bytes, lost; /* of collections that have ended */
    uint64_t cpu_ns;      /* of a thread other than the one that collects, when it last went to sleep; atomic */
} gc__member;

typedef struct gc__crew {
    gc__lock lock;  /* guards what follows, unless it says otherwise. Leaf */
    gc__lock space; /* guards taking regions, while several workers run; before the barrier lock */
    gc_heap *heap;
    void (*job)(void *context, size_t unit); /* what a run does with its units; NULL: it traces */
    void *job_context;
    unsigned count; /* members, the thread that collects included */
    unsigned most;  /* so many of them work, at most: processors may have been taken away */
    bool fits;      /* atomic: each of them may have a processor to itself, so those that wait poll for a while */
    unsigned busy;
    uint32_t asleep;         /* bits of members that wait */
    uint32_t called;         /* bits of those that are woken when the lock is released */
    bool runs;               /* there is a trace to share in */
    bool remember_all;       /* that of workers which hold nothing that cards have led to */
    bool ending;             /* atomic, too */
    bool rests;              /* atomic: no run is to come in the collection, so that polling for one is in vain */
    uint32_t stop;           /* atomic: the trace goes on with one worker */
    uint32_t hungry;         /* atomic: more members wait than pieces are shared */
    size_t next_unit, units; /* of roots and cards; the first is atomic, the second written between runs */
    size_t shared_count;
    gc__shared shared[GC__SHARED_PIECES];
    gc__words for_host;                        /* triples, as in gc__for_host */
    gc__words cards;                           /* dirty cards that were cleaned, to be scanned by any worker */
    size_t root_units, card_units, slot_units; /* of the run's work: these come in this order */
    bool forked;                               /* the process is a child, without the other threads */
    uint32_t seed;     /* tests: members run one at a time, in an order that follows from it; 0: all at once */
    uint32_t random;   /* of that order */
    uint32_t turn;     /* whose turn it is; atomic */
    uint64_t steps;    /* rounds of turns */
    uint64_t began_ns; /* when the last run began; atomic */
    uint64_t traces;   /* that the crew took part in */
    gc__member members[GC__CREW_MAX];
} gc__crew;

GC__FN uint32_t gc__crew_random(gc__crew *crew) {
    crew->random ^= crew->random << 13;
    crew->random ^= crew->random >> 17;
    return crew->random ^= crew->random << 5;
}

/* The lock is held for less time than a thread takes to sleep and be woken. */
GC__FN void gc__crew_lock(gc__crew *crew) {
    unsigned spins = __atomic_load_n(&crew->fits, __ATOMIC_RELAXED) ? GC__CREW_LOCK_SPINS : 0;
    for (; spins; spins--) {
        if (gc__lock_is_free(&crew->lock) && gc__lock_try(&crew->lock)) return;
        gc__cpu_pause();
    }
    gc__lock_take(&crew->lock);
}

/* About how much memory own marks take; gives it back, between runs. */
GC__FN size_t gc__own_marks_bytes(const gc__member *member) {
    return gc__min(member->own_pieces << (GC__PIECE_SHIFT - 6), member->own_marks.capacity * sizeof(uint64_t));
}
GC__FN void gc__own_marks_free(gc__member *member) {
    gc__words_free(&member->own_marks);
    member->stale.count = member->own_pieces = 0;
}

/* Lock held from here on, unless a comment says otherwise. */

/* The members that wait and may work. */
GC__FN uint32_t gc__crew_waiting(const gc__crew *crew) {
    return crew->asleep & (uint32_t)(((uint64_t)1 << crew->most) - 1);
}

/* Says how many members there are, and how many of them may work. */
GC__FN void gc__crew_resize(gc__crew *crew, unsigned count, unsigned most) {
    crew->count = count;
    crew->most = most;
    __atomic_store_n(&crew->fits, gc__min(count, most) <= crew->heap->threads->processors, __ATOMIC_RELAXED);
}

GC__FN void gc__crew_note_hunger(gc__crew *crew) {
    unsigned asleep = (unsigned)__builtin_popcount(gc__crew_waiting(crew));
    __atomic_store_n(&crew->hungry, (uint32_t)(asleep > crew->shared_count), __ATOMIC_RELAXED);
}

/* Releases the lock, and wakes those that were called meanwhile. */
GC__FN void gc__crew_unlock(gc__crew *crew) {
    uint32_t called = crew->called;
    crew->called = 0;
    gc__lock_release(&crew->lock);
    for (; called; called &= called - 1) gc__os_wake(&crew->members[__builtin_ctz(called)].woken);
}

/* Wakes a member that sleeps. */
GC__FN void gc__crew_wake(gc__crew *crew, unsigned number) {
    crew->asleep &= ~(1u << number);
    gc__crew_note_hunger(crew);
    if (crew->seed) return; /* its turn will come */
    crew->members[number].called_from = gc__os_processor();
    __atomic_fetch_add(&crew->members[number].woken, 1, __ATOMIC_SEQ_CST);
    crew->called |= 1u << number;
}

GC__FN void gc__crew_wake_one(gc__crew *crew) {
    uint32_t waiting = gc__crew_waiting(crew);
    if (waiting && !crew->forked) gc__crew_wake(crew, (unsigned)__builtin_ctz(waiting));
}

/* With a seed: chooses whose turn is next, among those that do not sleep. */
GC__FN unsigned gc__crew_turn_after(gc__crew *crew, unsigned number) {
    unsigned next = number;
    do {
        next = (next + 1) % crew->count;
        if (!next) {
            crew->steps++;
            for (unsigned i = 0; i < crew->count; i++) crew->members[i].steps_asleep += crew->asleep >> i & 1;
        }
    } while (crew->asleep >> next & 1 && next != number);
    return next;
}

/* Not under the lock. */
GC__FN void gc__crew_await_turn(gc__crew *crew, unsigned number) {
    gc__member *member = &crew->members[number];
    for (;;) {
        uint32_t woken = __atomic_load_n(&member->woken, __ATOMIC_SEQ_CST);
        if (__atomic_load_n(&crew->turn, __ATOMIC_SEQ_CST) == number) return;
        if (__atomic_load_n(&crew->ending, __ATOMIC_SEQ_CST)) return;
        gc__os_wait_for(&member->woken, woken, 1000 * GC__NS_PER_MS);
    }
}

/* Gives the turn to another member, and waits for the next. Leaves and takes the lock. */
GC__FN void gc__crew_pass_turn(gc__crew *crew, unsigned number) {
    unsigned next = gc__crew_turn_after(crew, number);
    if (next == number && !(crew->asleep >> number & 1)) return;
    __atomic_store_n(&crew->turn, next, __ATOMIC_SEQ_CST);
    __atomic_fetch_add(&crew->members[next].woken, 1, __ATOMIC_SEQ_CST);
    crew->called |= 1u << next;
    gc__crew_unlock(crew);
    gc__crew_await_turn(crew, number);
    gc__crew_lock(crew);
}

/* Waits, outside of the lock, until the member has been woken since `woken` was read. Polls first, until `until_ns`.

   A thread that is woken on the processor of the one that woke it would have that wait, and both go on in turns. Systems do that
   which are guests: an idle processor is not theirs until it is woken. So the thread leaves; one of the host stays. */
GC__FN void gc__member_wait(gc__member *member, uint32_t woken, uint64_t until_ns) {
    while (gc__os_now_ns() < until_ns && !__atomic_load_n(&member->crew->rests, __ATOMIC_RELAXED)) {
        for (int i = 0; i < 16; i++) gc__cpu_pause();
        if (__atomic_load_n(&member->woken, __ATOMIC_SEQ_CST) != woken) return;
    }
    if (member->number) __atomic_store_n(&member->cpu_ns, gc__os_cpu_ns(), __ATOMIC_RELAXED);
    while (__atomic_load_n(&member->woken, __ATOMIC_SEQ_CST) == woken)
        gc__os_wait_for(&member->woken, woken, 60000 * GC__NS_PER_MS);
    if (member->number && __atomic_load_n(&member->crew->fits, __ATOMIC_RELAXED) &&
        gc__os_processor() == member->called_from)
        gc__os_leave_processor(&member->thread, member->called_from);
}

/* Waits until the member is woken. Leaves and takes the lock. */
GC__FN void gc__crew_sleep(gc__crew *crew, unsigned number) {
    gc__member *member = &crew->members[number];
    uint32_t woken = __atomic_load_n(&member->woken, __ATOMIC_SEQ_CST);
    bool polls = crew->runs && crew->fits;
    crew->asleep |= 1u << number;
    gc__crew_note_hunger(crew);
    if (crew->seed) {
        gc__crew_pass_turn(crew, number);
        return;
    }
    gc__crew_unlock(crew);
    uint64_t start = gc__os_now_ns();
    gc__member_wait(member, woken, polls ? start + GC__CREW_SPIN_NS : 0);
    uint64_t woke = gc__os_now_ns();
    start =
        gc__max(start, __atomic_load_n(&crew->began_ns, __ATOMIC_RELAXED)); /* to wait between runs is not to be idle */
    gc__crew_lock(crew);
    member->asleep_ns += woke > start ? woke - start : 0;
}

/* The CPU time of all threads but the one that collects. */
GC__FN uint64_t gc__crew_cpu_ns(const gc__crew *crew) {
    uint64_t sum = 0;
    for (unsigned i = 1; crew && i < crew->count; i++)
        sum += __atomic_load_n(&crew->members[i].cpu_ns, __ATOMIC_RELAXED);
    return sum;
}

/* Puts an entry of a mark stack on this worker's. */
GC__FN void gc__crew_push(gc__worker *worker, const uintptr_t *entry, size_t words) {
    if (gc__trace_stack_room(worker, words)) {
        for (size_t i = 0; i < words; i++) *worker->top++ = entry[i];
    } else {
        gc__trace_overflow(worker, entry[words - 1] & ~(uintptr_t)GC__CONTINUED);
    }
}

/* The words of the entry that begins there, from the bottom of a stack. */
GC__FN size_t gc__entry_words(const uintptr_t *entry) { return *entry & GC__NUMBER ? 3 : 1; }

/* From now on the worker's slots may be those of older objects, found by dirty cards, and may need these again; or they are
   not. Before it stops remembering, its stack and its FIFO must be empty. */
GC__FN void gc__crew_remember(gc__worker *worker, bool remember) {
    gc__worker_remember(worker, remember);
    worker->remember_all = remember || worker->crew->remember_all;
}

/* Takes a piece that others have shared. */
GC__FN bool gc__crew_take_piece(gc__crew *crew, gc__worker *worker) {
    if (!crew->shared_count) return false;
    const gc__shared *piece = &crew->shared[--crew->shared_count];
    gc__crew_remember(worker, piece->remember);
    for (size_t i = 0; i < piece->count; i += gc__entry_words(&piece->words[i]))
        gc__crew_push(worker, &piece->words[i], gc__entry_words(&piece->words[i]));
    gc__crew_note_hunger(crew);
    gc__member *member = &crew->members[worker->number];
    member->taken_at = member->objects;
    member->steals++;
    return true;
}

/* The thread that collects takes objects whose trace functions it is to call. */
GC__FN bool gc__crew_take_for_host(gc__crew *crew, const gc__worker *worker) {
    gc__member *member = &crew->members[worker->number];
    if (worker->number || !crew->for_host.count) return false;
    while (crew->for_host.count && member->for_host_count < GC__FOR_HOST) {
        const uintptr_t *words = &crew->for_host.words[crew->for_host.count -= 3];
        const gc__for_host item = {words[0], words[1], words[2]};
        member->for_host[member->for_host_count++] = item;
    }
    return true;
}

GC__FN bool gc__crew_units_left(const gc__crew *crew) {
    return __atomic_load_n(&crew->next_unit, __ATOMIC_RELAXED) < crew->units;
}

/* While a worker is alone nobody finds work. */
GC__FN void gc__crew_check(const gc__crew *crew, unsigned number) {
    for (unsigned i = 0; i < crew->count; i++)
        if (i != number && crew->members[i].busy && crew->members[i].worker.alone)
            gc__fatal(&crew->heap->options, "collector thread %u has found work beside %u, which claims as if alone",
                      number, i);
}

/* Looks for work. A worker that finds some is busy from now on. A thread looks when it starts, too, even if it may not work. */
GC__FN bool gc__crew_find(gc__crew *crew, gc__worker *worker) {
    if (!crew->runs || worker->number >= crew->most || __atomic_load_n(&crew->stop, __ATOMIC_RELAXED)) return false;
    bool found = gc__crew_take_for_host(crew, worker) || gc__crew_units_left(crew) || gc__crew_take_piece(crew, worker);
    if (found) crew->members[worker->number].busy = true;
    if (GC_DEBUG >= 3 && found) gc__crew_check(crew, worker->number);
    crew->busy += found;
    return found;
}

/* The worker has nothing left. If it had little since it last took something, workers share less often from now on:
   what they share is worth less than waking somebody for it. */
GC__FN void gc__crew_idle(gc__crew *crew, gc__member *member) {
    if (!member->busy) return;
    member->busy = false;
    crew->busy--;
    if (!crew->busy && crew->asleep & 1) gc__crew_wake(crew, 0); /* the run is over */
    if (!member->number) return;
    uint64_t had = member->objects - member->taken_at;
    for (unsigned i = 0; i < crew->count; i++) {
        uint32_t poll = __atomic_load_n(&crew->members[i].poll, __ATOMIC_RELAXED);
        poll = had < 8 * GC__POLL ? poll * 2 : poll / 2;
        poll = poll < GC__POLL ? GC__POLL : poll > GC__POLL_MAX ? GC__POLL_MAX : poll;
        __atomic_store_n(&crew->members[i].poll, poll, __ATOMIC_RELAXED);
    }
}

/* The rest is called without the lock. */

/* Waits for work, and takes it. False: there is no more; for other workers than the first, in any collection. */
GC__FN bool gc__crew_next(gc__member *member) {
    gc__crew *crew = member->crew;
    bool found;
    gc__crew_lock(crew);
    gc__crew_idle(crew, member);
    while (!(found = gc__crew_find(crew, &member->worker)) && (member->number ? !crew->ending : crew->busy != 0))
        gc__crew_sleep(crew, member->number);
    gc__crew_unlock(crew);
    return found;
}

/* Hands over objects whose trace functions this worker may not call. */
GC__FN void gc__crew_give_host(gc__worker *worker) {
    gc__crew *crew = worker->crew;
    gc__member *member = &crew->members[worker->number];
    if (!worker->number || !member->for_host_count) return;
    gc__crew_lock(crew);
    worker->alone = false;
    for (; member->for_host_count; member->for_host_count--) {
        const gc__for_host *item = &member->for_host[member->for_host_count - 1];
        if (!gc__words_reserve(&crew->for_host, crew->for_host.count + 3)) {
            gc__trace_overflow(worker, item->object);
            continue;
        }
        gc__words_push(&crew->for_host, item->object);
        gc__words_push(&crew->for_host, item->from);
        gc__words_push(&crew->for_host, item->to);
    }
    if (crew->asleep & 1) gc__crew_wake(crew, 0);
    gc__crew_unlock(crew);
}

GC__OUT_OF_LINE void gc__crew_hand_over(gc__worker *worker, uintptr_t object, uintptr_t from, uintptr_t to) {
    gc__member *member = &worker->crew->members[worker->number];
    const gc__for_host item = {object, from, to};
    if (member->for_host_count == GC__FOR_HOST) gc__crew_give_host(worker);
    member->for_host[member->for_host_count++] = item;
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

/* Moves every second entry of the older part of the stack into the piece, but not the newest; and of each long array the second
   half. What lies deeper in the stack mostly leads to more: so each has half of the large ones and half of the small. Were all
   of an array given away, who gives it would soon have nothing, and take it back. */
GC__FN void gc__crew_fill(gc__worker *worker, gc__shared *piece) {
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

/* A worker that has nothing to share is alone if no other one is busy and nothing is left to be found: what another one
   could find, this one must share first. */
GC__FN void gc__crew_note_alone(gc__worker *worker) {
    gc__crew *crew = worker->crew;
    if (worker->alone) return;
    gc__crew_lock(crew);
    worker->alone = crew->busy == 1 && !gc__crew_units_left(crew) && !crew->shared_count && !crew->for_host.count;
    gc__crew_unlock(crew);
}

/* Shares work, if there is more than one entry, and calls a member for it. */
GC__FN void gc__crew_share(gc__worker *worker) {
    gc__crew *crew = worker->crew;
    if (worker->top - worker->stack < 2) {
        gc__crew_note_alone(worker);
        return;
    }
    gc__crew_lock(crew);
    if (crew->shared_count < GC__SHARED_PIECES && __atomic_load_n(&crew->hungry, __ATOMIC_RELAXED)) {
        gc__crew_fill(worker, &crew->shared[crew->shared_count]);
        if (crew->shared[crew->shared_count].count) {
            crew->shared_count++;
            worker->alone = false;
            crew->members[worker->number].shared++;
            gc__crew_wake_one(crew);
            gc__crew_note_hunger(crew);
        }
    }
    gc__crew_unlock(crew);
}

/* Where a seed decides: lets others work. */
GC__FN void gc__crew_step(gc__worker *worker) {
    gc__crew *crew = worker->crew;
    if (!crew || !crew->seed || !crew->runs) return;
    gc__crew_lock(crew);
    gc__crew_pass_turn(crew, worker->number);
    gc__crew_unlock(crew);
}

/* Called every so many objects. False: the worker must return, with what it holds. */
GC__OUT_OF_LINE bool gc__crew_poll(gc__worker *worker) {
    gc__crew *crew = worker->crew;
    gc__member *member = &crew->members[worker->number];
    member->objects += member->polled;
    worker->until_poll = __atomic_load_n(&member->poll, __ATOMIC_RELAXED);
    bool later = crew->seed && gc__crew_random(crew) % 2; /* others work before this one shares, or after that */
    if (!later) gc__crew_step(worker);
    if (crew->seed) worker->until_poll = 1 + gc__crew_random(crew) % 16;
    member->polled = worker->until_poll;
    if (__atomic_load_n(&crew->stop, __ATOMIC_RELAXED)) {
        worker->until_poll = 1;
        return false;
    }
    if (__atomic_load_n(&crew->hungry, __ATOMIC_RELAXED)) gc__crew_share(worker);
    if (later) gc__crew_step(worker);
    return true;
}

/* While many units are left: calls another member. */
GC__FN void gc__crew_call(gc__crew *crew) {
    if (!__atomic_load_n(&crew->hungry, __ATOMIC_RELAXED)) return;
    size_t next = __atomic_load_n(&crew->next_unit, __ATOMIC_RELAXED);
    if (next + GC__UNITS_PER_CALL > crew->units) return;
    gc__crew_lock(crew);
    gc__crew_wake_one(crew);
    gc__crew_unlock(crew);
}

/* Claims the next unit of roots and cards. False: all are claimed. */
GC__FN bool gc__crew_claim_unit(gc__crew *crew, size_t *unit) {
    if (!gc__crew_units_left(crew)) return false;
    *unit = __atomic_fetch_add(&crew->next_unit, 1, __ATOMIC_RELAXED);
    return *unit < crew->units;
}

/* A run begins, with the first worker busy. */
GC__FN void gc__crew_begin(gc__crew *crew, size_t units) {
    gc__crew_lock(crew);
    crew->runs = true;
    crew->asleep &= ~1u;
    crew->busy = 1;
    crew->members[0].busy = true;
    crew->units = units;
    crew->random = crew->seed;
    __atomic_store_n(&crew->next_unit, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&crew->stop, 0u, __ATOMIC_RELAXED);
    __atomic_store_n(&crew->turn, 0u, __ATOMIC_SEQ_CST);
    for (unsigned i = 0; i < crew->count; i++) {
        crew->members[i].polled = crew->members[i].worker.until_poll = crew->seed ? 1 : GC__POLL;
        crew->members[i].worker.alone = false;
    }
    __atomic_store_n(&crew->began_ns, gc__os_now_ns(), __ATOMIC_RELAXED);
    gc__crew_note_hunger(crew);
    gc__crew_unlock(crew);
}

/* It has ended: no worker is busy. */
GC__FN void gc__crew_end_run(gc__crew *crew) {
    gc__crew_lock(crew);
    crew->runs = false;
    gc__crew_unlock(crew);
}

/* Stops the run, and waits until no other worker is busy. Called within a trace function of the thread that collects. */
GC__FN void gc__crew_stop(gc__crew *crew) {
    gc__crew_lock(crew);
    __atomic_store_n(&crew->stop, 1u, __ATOMIC_RELAXED);
    while (crew->runs && crew->busy > 1) {
        if (crew->seed) {
            gc__crew_pass_turn(crew, 0);
            continue;
        }
        gc__crew_unlock(crew);
        gc__os_wait_for(&crew->stop, 1, GC__NS_PER_MS / 10);
        gc__crew_lock(crew);
    }
    gc__crew_unlock(crew);
}
