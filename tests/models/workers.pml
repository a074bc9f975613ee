/* The crew of src/trace/workers.h: workers claim objects, share what they hold, fall asleep, and find out that nothing is left.

   What the crew does under its lock is one step here; copies, claims and the looks at an object's first word are steps of their
   own. Objects are a small graph in which two ways lead to some. Each of the names below plants a fault, of which one property
   must fail:
   UNCLAIMED     a copy is recorded by a store: an object is copied twice
   LOST_PIECE    what was taken from the shared pieces is dropped: an object is left out
   EARLY         the run ends while one worker is busy
   LATE_BUSY     a worker that takes a piece is busy only some steps later
   NO_WAKE       the last worker to become idle does not wake the one that waits for the end
   FORGETFUL     a waking word is cleared after the lock was released, so that a wake in between is lost
   A worker that is alone claims by a store. Faults of that:
   STAYS_ALONE   a worker that was alone takes itself for alone after it has shared
   ALONE_BUSY, ALONE_UNITS, ALONE_PIECES: it does not ask for other busy workers, for units, or for shared pieces */

#ifndef WORKERS
#define WORKERS 3
#endif
#define OBJECTS 5
#define UNITS 2 /* of roots: references to objects 0 and 1 */

byte word[OBJECTS];           /* 0, or the worker whose copy it is, + 1 */
byte copies[OBJECTS];         /* how many workers took theirs for the copy */
byte held[WORKERS * OBJECTS]; /* references on the stacks */
byte shared[OBJECTS], shared_count;
byte busy = 1, next_unit;
bool is_busy[WORKERS], asleep[WORKERS], woken[WORKERS], alone[WORKERS];
bool ending, done;

#define HELD(o) held[me * OBJECTS + (o)]
#define HOLDS (HELD(0) + HELD(1) + HELD(2) + HELD(3) + HELD(4))

inline wake(number) {
    asleep[number] = false;
    woken[number] = true
}

inline wake_one() {
    if
    :: asleep[1] -> wake(1)
    :: !asleep[1] && asleep[WORKERS - 1] -> wake(WORKERS - 1)
    :: else
    fi
}

/* Which objects the references of `o` lead to. */
inline push_children(o) {
    if
    :: o == 0 -> HELD(4)++
    :: o == 1 -> HELD(2)++; HELD(3)++; HELD(4)++
    :: o == 2 -> HELD(3)++
    :: else
    fi
}

#ifdef ALONE_BUSY
#define NO_OTHER_IS_BUSY true
#else
#define NO_OTHER_IS_BUSY (busy == 1)
#endif
#ifdef ALONE_UNITS
#define NO_UNITS true
#else
#define NO_UNITS (next_unit >= UNITS)
#endif
#ifdef ALONE_PIECES
#define NO_PIECES true
#else
#define NO_PIECES (shared_count == 0)
#endif

inline become_busy() {
    is_busy[me] = true;
    busy++
}

/* One reference moves, which is all that a piece is here. */
#define MOVE(from, to)               \
    if                               \
    :: from(0) -> from(0)--; to(0)++ \
    :: from(1) -> from(1)--; to(1)++ \
    :: from(2) -> from(2)--; to(2)++ \
    :: from(3) -> from(3)--; to(3)++ \
    :: from(4) -> from(4)--; to(4)++ \
    fi
#define SHARED(o) shared[o]
#ifdef LOST_PIECE
byte dropped[OBJECTS];
#define TAKEN(o) dropped[o]
#else
#define TAKEN(o) HELD(o)
#endif

#ifdef EARLY
#define NOBODY_IS_BUSY (busy <= 1)
#else
#define NOBODY_IS_BUSY (busy == 0)
#endif

active [WORKERS] proctype worker() {
    byte me = _pid, object;
    bool late;
    if
    :: me == 0 -> is_busy[0] = true
    :: else -> goto next
    fi;
work:
    do
    :: atomic { next_unit < UNITS -> HELD(next_unit)++; next_unit++ }
    :: atomic {
            HOLDS ->
            if
            :: HELD(0) -> object = 0
            :: !HELD(0) && HELD(1) -> object = 1
            :: !HELD(0) && !HELD(1) && HELD(2) -> object = 2
            :: !HELD(0) && !HELD(1) && !HELD(2) && HELD(3) -> object = 3
            :: else -> object = 4
            fi;
            HELD(object)--
        };
        if
        :: word[object] != 0
        :: atomic { word[object] == 0 -> skip };
            /* The copy is made here. */
#ifdef UNCLAIMED
            atomic { word[object] = me + 1; copies[object]++; push_children(object) }
#else
            atomic {
                if
                :: word[object] == 0 || alone[me] -> word[object] = me + 1; copies[object]++; push_children(object)
                :: else /* it is taken back */
                fi
            }
#endif
        fi
    :: atomic { /* a look at what the crew needs */
            if
            :: HOLDS >= 2 && shared_count == 0 && (asleep[1] || asleep[WORKERS - 1]) ->
                MOVE(HELD, SHARED);
                shared_count++;
#ifndef STAYS_ALONE
                alone[me] = false;
#endif
                wake_one()
            :: HOLDS == 1 && !alone[me] && NO_OTHER_IS_BUSY && NO_UNITS && NO_PIECES -> alone[me] = true
            fi
        }
    :: next_unit >= UNITS && HOLDS == 0 -> break
    od;
next:
    atomic {
        if
        :: is_busy[me] ->
            is_busy[me] = false;
            busy--;
#ifndef NO_WAKE
            if
            :: busy == 0 && asleep[0] -> wake(0)
            :: else
            fi
#endif
        :: else
        fi
    };
    do
    :: atomic {
            !ending && next_unit < UNITS ->
            become_busy();
            goto work
        }
    :: atomic {
            !ending && next_unit >= UNITS && shared_count ->
            shared_count--;
            MOVE(SHARED, TAKEN);
#ifdef LATE_BUSY
            late = true
#else
            become_busy();
            goto work
#endif
        }
#ifdef LATE_BUSY
        atomic { late -> late = false; become_busy(); goto work }
#endif
    :: atomic { me == 0 && next_unit >= UNITS && !shared_count && NOBODY_IS_BUSY -> break }
    :: atomic { me != 0 && ending -> break }
    :: atomic {
            !ending && next_unit >= UNITS && !shared_count && (me != 0 || !NOBODY_IS_BUSY) ->
            asleep[me] = true;
#ifndef FORGETFUL
            woken[me] = false
#endif
        };
#ifdef FORGETFUL
        woken[me] = false;
#endif
        woken[me] /* sleeps */
    od;
    if
    :: me == 0 ->
        assert(word[0] && word[1] && word[2] && word[3] && word[4]);
        assert(copies[0] == 1 && copies[1] == 1 && copies[2] == 1 && copies[3] == 1 && copies[4] == 1);
        byte i = 0;
        do
        :: i < WORKERS * OBJECTS -> assert(!held[i]); i++
        :: else -> break
        od;
        atomic {
            ending = true;
            i = 1;
            do
            :: i < WORKERS -> wake(i); i++
            :: else -> break
            od
        };
        done = true
    :: else
    fi
}

ltl ends { <> done }
