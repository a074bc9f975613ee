/* The order of stores and loads on a processor that keeps it only where it is asked to, such as AArch64. Each thread's stores wait in a
   buffer, from which they reach memory in any order: but a release store after all stores before it, and each store after a fence
   after those before the fence. A release store keeps nothing behind it. Loads take place in program order, except where the text
   has a choice: there, no address leads from one to the other, and nothing orders them.

   The claims are in the protocols below, of which one is chosen by its name. Each has faults, which take away one order:
   PUBLISH  a mutator takes a region, allocates an object in it, and stores a reference to it in an old object. Another finds that by a
            plain load: it sees the header, and its own store of the reference dirties a card. With COPIED the first store is one of many
            behind a fence, with RANGE the barrier compares bounds. Faults: PLAIN_STORE, NO_FENCE (of COPIED), NO_ACQUIRE (of RANGE);
            PLAIN_STOP: the second mutator
            stops by a plain store of its mode. With UNREAD it only stores the reference: PLAIN_STORE costs a card then.
   STOP     a mutator becomes cooperative while another thread stops the world. Fault: EARLY_LOAD: a load passes the store before it.
   LOG      a mutator logs a store as its slot, makes it, and hands its chunk over; the marker looks at the chunk before or afterwards.
            Faults: PLAIN_ENTRY, PLAIN_WHOLE.
   HANDLE   a mutator stores to a handle that the marker precleans. Fault: PLAIN_FLAG.
   PAGES    a thread takes the written pages, and reads one, while a mutator stores to it. Fault: UNSTOPPED: the mutators run.
   INDEX    a thread finds by an index, or by the address of a function, what another has prepared: elements of an array that has grown, or
            a library's data. Fault: NO_ACQUIRE.
   BORN     a mutator takes a region that is FILLED from then on, publishes an object there, and makes it old, while a marker finds the
            object in a slot, or finds its mark bit in a region whose marked objects it scans again. What is not FILLED or has a start
            bit has a mark bit, and what has that has a header. Faults: PLAIN_STORE, PLAIN_MARK, PLAIN_START. */
#define LOCATIONS 8
#define THREADS 2

byte memory[LOCATIONS];
typedef buffer {
    byte value[LOCATIONS];
    byte behind[LOCATIONS]; /* the stores that reach memory before this one: a bit for each location */
    byte waiting;
    byte fence;
};
buffer held[THREADS];
byte running = THREADS;

#define IS_WAITING(t, l) (held[t].waiting >> (l) & 1)
#define PUT(l, v, order) atomic { !IS_WAITING(me, l) -> \
    held[me].value[l] = v; held[me].behind[l] = order; held[me].waiting = held[me].waiting | (1 << (l)) }
#define STORE(l, v) PUT(l, v, held[me].waiting & held[me].fence)
#define RELEASE(l, v) PUT(l, v, held[me].waiting)
#define FENCE held[me].fence = held[me].waiting
#define LOAD(l) (IS_WAITING(me, l) -> held[me].value[l] : memory[l])
/* What a lock, or a load and a store of which all threads see one order, waits for. */
#define DRAINED (held[me].waiting == 0)
#define END atomic { DRAINED -> held[me].fence = 0; running-- }

inline drain(t, l) {
    atomic {
        IS_WAITING(t, l) && !(held[t].behind[l] & held[t].waiting & ~(1 << (l))) ->
        memory[l] = held[t].value[l];
        held[t].waiting = held[t].waiting & ~(1 << (l));
        held[t].value[l] = 0; held[t].behind[l] = 0; held[t].fence = held[t].fence & held[t].waiting
    }
}
active proctype memory_of_all() {
end:
    do
    :: drain(0, 0) :: drain(0, 1) :: drain(0, 2) :: drain(0, 3) :: drain(0, 4) :: drain(0, 5) :: drain(0, 6)
    :: drain(1, 0) :: drain(1, 1) :: drain(1, 2) :: drain(1, 3) :: drain(1, 4) :: drain(1, 5) :: drain(1, 6)
    od
}

#ifdef PUBLISH
#define YOUTH 0
#define HIGH 1
#define HEADER 2
#define SLOT 3
#define OTHER_SLOT 4
#define CARD 5
#define MODE 6
active proctype first() {
    byte me = 0;
    RELEASE(HIGH, 1);
    STORE(YOUTH, 1);
    STORE(HEADER, 1);
#ifdef COPIED
#ifndef NO_FENCE
    FENCE;
#endif
    STORE(SLOT, 1);
#elif defined(PLAIN_STORE)
    STORE(SLOT, 1);
#else
    RELEASE(SLOT, 1);
#endif
    END
}
active proctype second() {
    byte me = 1, object, header, needs;
    bool early;
#if defined(RANGE) && defined(NO_ACQUIRE)
    if :: needs = LOAD(HIGH); early = true :: skip fi;
#endif
    object = LOAD(SLOT);
    if
    :: object ->
#ifndef UNREAD
        header = LOAD(HEADER);
        assert(header);
#endif
        RELEASE(OTHER_SLOT, object);
#ifdef RANGE
        if :: !early -> needs = LOAD(HIGH) :: else fi;
#else
        needs = LOAD(YOUTH);
#endif
        if :: needs -> STORE(CARD, 1) :: else fi
    :: else
    fi;
#ifdef PLAIN_STOP
    STORE(MODE, 1);
#else
    RELEASE(MODE, 1);
#endif
    END
}
active proctype collector() {
    memory[MODE];
    assert(!memory[OTHER_SLOT] || memory[CARD])
}
#endif

#ifdef STOP
#define STOPPING 0
#define COOPERATIVE 1
bool works, collects;
active proctype mutator() {
    byte me = 0, stopping;
    RELEASE(COOPERATIVE, 1);
#ifndef EARLY_LOAD
    DRAINED;
#endif
    stopping = LOAD(STOPPING);
    if :: !stopping -> works = true; assert(!collects) :: else fi;
    END
}
active proctype collector() {
    byte me = 1, cooperative;
    RELEASE(STOPPING, 1);
#ifndef EARLY_LOAD
    DRAINED;
#endif
    cooperative = LOAD(COOPERATIVE);
    if :: !cooperative -> collects = true; assert(!works) :: else fi;
    END
}
#endif

#ifdef LOG
#define OLD 0
#define ENTRY 1
#define SLOT 2
#define WHOLE 3
active proctype mutator() {
    byte me = 0;
    STORE(OLD, 1);
#ifdef PLAIN_ENTRY
    STORE(ENTRY, 1);
#else
    RELEASE(ENTRY, 1);
#endif
    STORE(SLOT, 1);
#ifdef PLAIN_WHOLE
    STORE(WHOLE, 1);
#else
    RELEASE(WHOLE, 1);
#endif
    END
}
active proctype marker() {
    byte me = 1, whole, entry, word;
    whole = LOAD(WHOLE);
    entry = LOAD(ENTRY);
    assert(!whole || entry);
    if
    :: entry ->
        word = LOAD(OLD);
        assert(word);
        word = LOAD(SLOT);
        assert(!whole || word)
    :: else
    fi;
    END
}
#endif

#ifdef HANDLE
#define PLACE 0 /* 1: it refers to an object that is not marked */
#define CLEAN 1
active proctype mutator() {
    byte me = 0;
    STORE(PLACE, 1);
#ifdef PLAIN_FLAG
    STORE(CLEAN, 0);
#else
    RELEASE(CLEAN, 0);
#endif
    END
}
active proctype marker() {
    byte me = 1, had, seen;
    atomic { had = memory[CLEAN]; memory[CLEAN] = 1 }
    if :: !had -> seen = LOAD(PLACE) :: else fi;
    atomic { if :: memory[CLEAN] -> memory[CLEAN] = !seen :: else fi }
    END;
    running == 0;
    assert(!memory[CLEAN] || !memory[PLACE])
}
#endif

#ifdef PAGES
#define SLOT 0
#define WATCH 1
bool is_stopped;
byte found;
inline store(v) {
    RELEASE(SLOT, v);
    watch = LOAD(WATCH);
    if :: !watch -> STORE(WATCH, 1) :: else fi
}
active proctype mutator() {
    byte me = 0, watch;
    store(1);
    atomic { DRAINED -> is_stopped = true }
    atomic { is_stopped = false }
    store(2);
    END
}
active proctype taker() {
    byte me = 1, was;
    if
#ifdef UNSTOPPED
    :: atomic { was = memory[WATCH]; memory[WATCH] = 0 }
        if :: was -> found = LOAD(SLOT) :: else fi
#else
    :: atomic { is_stopped -> was = memory[WATCH]; memory[WATCH] = 0; if :: was -> found = memory[SLOT] :: else fi }
#endif
    :: skip
    fi;
    END;
    running == 0;
    assert(memory[WATCH] || found == memory[SLOT])
}
#endif

#ifdef INDEX
#define CONTENT 0
#define LENGTH 1
active proctype writer() {
    byte me = 0;
    STORE(CONTENT, 1);
    RELEASE(LENGTH, 1);
    END
}
active proctype reader() {
    byte me = 1, length, content;
    bool early;
#ifdef NO_ACQUIRE
    if :: content = LOAD(CONTENT); early = true :: skip fi;
#endif
    length = LOAD(LENGTH);
    if
    :: length ->
        if :: !early -> content = LOAD(CONTENT) :: else fi;
        assert(content)
    :: else
    fi;
    END
}
#endif

#ifdef BORN
#define HEADER 0
#define FILLED 1
#define SLOT 2
#define MARK 3
#define START 4
active proctype mutator() {
    byte me = 0;
    STORE(FILLED, 1);
    STORE(HEADER, 1);
#ifdef PLAIN_STORE
    STORE(SLOT, 1);
#else
    RELEASE(SLOT, 1);
#endif
#ifdef PLAIN_MARK
    STORE(MARK, 1);
#else
    RELEASE(MARK, 1);
#endif
#ifdef PLAIN_START
    STORE(START, 1);
#else
    RELEASE(START, 1);
#endif
    END
}
active proctype marker() {
    byte me = 1, object, filled, start, mark, header;
    if
    :: object = LOAD(SLOT);
        if
        :: object ->
            filled = LOAD(FILLED);
            start = LOAD(START);
            if
            :: !filled || start ->
                mark = LOAD(MARK);
                assert(mark)
            :: else
            fi
        :: else
        fi
    :: mark = LOAD(MARK);
        if
        :: mark ->
            header = LOAD(HEADER);
            assert(header)
        :: else
        fi
    fi;
    END
}
#endif
