/* Marks without locked instructions: workers that mark objects whose bits lie in one word, by a load and a
   store, so that each may lose what another has stored in between. Each has marks of its own, too, which are added at the end.

   Objects are a small graph in which two ways lead to some, as in workers.pml. Whatever is lost, at the end each object is marked, was
   scanned by a worker, and is counted once; and no worker scans an object twice. Each of these names plants a fault:
   NO_OWN        own marks are not added at the end: a mark is lost
   UNTESTED      a worker does not look at its own mark: it scans an object again, without end if objects refer to each other
   COUNTED_TWICE what two workers have marked is counted twice
   EARLY         own marks are added when one worker has nothing left, and not when none has */

#define WORKERS 2
#define OBJECTS 4
#define ALL 15 /* the bits of all objects */

byte marks, own[WORKERS], scanned[WORKERS * OBJECTS], held[WORKERS * OBJECTS], counted, idle;
bool added;

#define HELD(o) held[me * OBJECTS + (o)]

/* 0 and 1 are roots of two workers, and refer to each other; both lead to 2, and that to 3. */
inline push_children(o) {
    if
    :: o == 0 -> HELD(1)++; HELD(2)++
    :: o == 1 -> HELD(0)++; HELD(2)++
    :: o == 2 -> HELD(3)++
    :: else
    fi
}

inline add() {
    marks = marks | own[0] | own[1];
    added = true
}

active [WORKERS] proctype worker() {
    byte me = _pid, object, seen;
    HELD(_pid)++;
    do
    :: atomic { HELD(0) -> HELD(0)--; object = 0 }; goto mark
    :: atomic { HELD(1) -> HELD(1)--; object = 1 }; goto mark
    :: atomic { HELD(2) -> HELD(2)--; object = 2 }; goto mark
    :: atomic { HELD(3) -> HELD(3)--; object = 3 }; goto mark
    :: atomic { HELD(0) + HELD(1) + HELD(2) + HELD(3) == 0 -> idle++ }; break
mark:
        seen = marks;
        if
        :: seen & (1 << object)
        :: else ->
            marks = seen | (1 << object);
            if
#ifndef UNTESTED
            :: own[me] & (1 << object)
#endif
            :: atomic {
#ifndef UNTESTED
                    !(own[me] & (1 << object)) ->
#else
                    true ->
#endif
                    own[me] = own[me] | (1 << object);
                    scanned[me * OBJECTS + object]++;
                    assert(scanned[me * OBJECTS + object] == 1);
                    counted++;
                    push_children(object)
                }
            fi
        fi
    od;
#ifdef EARLY
    if
    :: atomic { !added && idle == 1 -> add() }
    :: else
    fi
#endif
    if
    :: me == 0 ->
        idle == WORKERS;
        byte o = 0;
#if !defined(NO_OWN) && !defined(EARLY)
        add();
#endif
#ifndef COUNTED_TWICE
        do
        :: o < OBJECTS ->
            if
            :: scanned[o] && scanned[OBJECTS + o] -> counted--
            :: else
            fi;
            o++
        :: else -> break
        od;
#endif
        assert(marks == ALL);
        assert(counted == OBJECTS)
    :: else
    fi
}
