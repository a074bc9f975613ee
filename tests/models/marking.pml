/* Marking beside mutators. Three old objects of one field, one more that becomes old meanwhile, a slot outside of the heap that
   object 0 owns, mutators with a register each, the field of a young object, a weak handle, and a marker beside them. Each read,
   mark, entry and store is a step of its own.

   A store is logged as the word that is stored, in a chunk of ENTRIES that its thread owns. A reference to object 2, which the last
   stop moves, is logged as the slot, and the marker reads the slot when it takes the entry. When a thread needs another chunk, the
   last one is whole: the marker takes its words, and what its slots hold then. It may look at the words of other chunks. Each
   collection takes all, and ends the chunks. A form of the barrier comes after the store. A slot that lies outside of the heap is
   never read for an entry.

   The claim: when the last stop has traced from roots, young objects and what is grey, everything reachable is marked.

   Faults: UNSTORED: what is stored is not logged, unless it moves. NO_SLOT: slots are not read. EARLY: a chunk is whole when it
   is full, before its last store, so that a slot is read before what moves is there. SAME_CHUNKS: a collection does not end the
   chunks that it has taken. OUTSIDE_UNLOGGED: nothing is logged for the slot outside. NO_BORN: a collection in which an object
   becomes old does not note what it refers to. WHITE_BORN: that object is not marked. UNSTOPPED: the last stop comes while a mutator
   is in its barrier. UNTAKEN: it does not look at what was logged. NO_ROOTS: it does not trace from registers, which may have what
   was overwritten. */
#define N 4
#define OLD 3 /* the fourth is young at first */
#define NIL 4
#define MOVING 2
#ifndef MUTATORS
#define MUTATORS 1
#endif
#ifndef STEPS
#define STEPS 4 /* of each mutator */
#endif

#define ENTRIES 2
#define OUTSIDE N /* the slot that object 0 owns */
#define SLOT(object) (NIL + 1 + object) /* in entries, instead of what is stored */

byte field[N + 1], register_of[MUTATORS], steps[MUTATORS];
bool marked[N], grey[N], is_old;
byte young = NIL; /* what the young object refers to */
byte in_step;
bool is_stopped;

/* The chunk of each mutator; and the words and slots of all whole ones. */
typedef chunk { byte stored[ENTRIES]; byte count; bool is_taken };
chunk open[MUTATORS];
bool whole[N + 1], whole_slot[N];

inline shade(v) {
  if
  :: v < N && (v < OLD || is_old) && !marked[v] -> atomic { marked[v] = true; skip }; grey[v] = true
  :: else
  fi
}

/* Hands the mutator's chunk over. */
inline hand_over(m) {
  d_step {
    k = 0;
    do
    :: k < open[m].count ->
       if
       :: open[m].is_taken
       :: !open[m].is_taken && open[m].stored[k] <= NIL -> whole[open[m].stored[k]] = true
       :: else -> whole_slot[open[m].stored[k] - SLOT(0)] = true
       fi;
       open[m].stored[k] = 0; k++
    :: else -> break
    od;
    k = 0; open[m].count = 0; open[m].is_taken = false
  }
}

#ifdef UNSTORED
#define STORED(ref) NIL
#else
#define STORED(ref) (ref == OLD && !is_old -> NIL : ref)
#endif
inline log_store(object, ref) {
  if :: open[me].count == ENTRIES -> hand_over(me) :: else fi;
  d_step {
    if
    :: ref == MOVING && object < N -> open[me].stored[open[me].count] = SLOT(object)
    :: else -> open[me].stored[open[me].count] = STORED(ref)
    fi;
    open[me].count++
  };
#ifdef EARLY
  if :: open[me].count == ENTRIES -> hand_over(me) :: else fi
#endif
}

inline store(object, ref) {
  k = 0; /* options of a choice may not all begin with choices */
  log_store(object, ref);
  field[object] = ref
}

inline store_then_log(object, ref) {
  field[object] = ref;
  log_store(object, ref)
}

inline store_outside(ref) {
  field[OUTSIDE] = ref;
#ifndef OUTSIDE_UNLOGGED
  log_store(OUTSIDE, ref)
#endif
}

proctype mutator(byte me) {
  byte r, k;
  do
  :: atomic { steps[me] < STEPS && !is_stopped -> in_step++; steps[me]++; r = register_of[me] }
     if
     :: r < OLD || (r == OLD && is_old) -> register_of[me] = field[r]
     :: register_of[me] = 0
     :: r < OLD || (r == OLD && is_old) ->
        if
        :: store(0, r)
        :: store(r, NIL)
        :: register_of[me] = NIL; store(0, r)
        :: store_then_log(0, r)
        :: store_outside(r)
        fi
     :: is_old -> store(OLD, r)
     :: !is_old && r != OLD -> young = r
     :: !is_old && r == OLD -> store(0, OLD); register_of[me] = 0
     :: register_of[me] = 2
     fi;
     in_step--
  :: steps[me] == STEPS || is_stopped -> break
  od
}

inline mark_now(v) {
  if :: v < N && (v < OLD || is_old) && !marked[v] -> marked[v] = true; grey[v] = true; found = true :: else fi
}

/* Takes all chunks while the mutators are stopped. */
inline take_all() {
  for (i : 0 .. N) { if :: whole[i] -> mark_now(i); whole[i] = false :: else fi };
  for (i : 0 .. N - 1) {
#ifndef NO_SLOT
    if :: whole_slot[i] -> mark_now(field[i]) :: else fi;
#endif
    whole_slot[i] = false
  };
  for (i : 0 .. MUTATORS - 1) {
    k = 0;
    do
    :: k < open[i].count && !open[i].is_taken ->
       if
       :: open[i].stored[k] <= NIL -> mark_now(open[i].stored[k])
#ifndef NO_SLOT
       :: open[i].stored[k] > NIL -> mark_now(field[open[i].stored[k] - SLOT(0)])
#endif
       :: else
       fi;
       k++
    :: else -> break
    od;
#ifdef SAME_CHUNKS
    open[i].is_taken = open[i].count > 0
#else
    for (k : 0 .. ENTRIES - 1) { open[i].stored[k] = 0 };
    open[i].count = 0
#endif
  };
  i = 0; k = 0; found = false
}

/* A young collection: the young object becomes old. */
proctype collection() {
  byte i, k;
  bool found;
  if
  :: atomic {
    in_step == 0 && !is_stopped ->
    take_all();
    is_old = true;
    field[OLD] = young;
#ifndef WHITE_BORN
    marked[OLD] = true;
#endif
#ifndef NO_BORN
    if :: young < OLD && !marked[young] -> marked[young] = true; grey[young] = true :: else fi;
#endif
    young = NIL
  }
  :: is_stopped
  fi
}

inline reach(v) { if :: v < N && !reached[v] -> reached[v] = true :: else fi }
inline last_stop() {
#ifndef UNTAKEN
  take_all();
#endif
  found = false;
#ifndef NO_ROOTS
  for (i : 0 .. MUTATORS - 1) { mark_now(register_of[i]) };
#endif
  mark_now(young);
  mark_now(0);
  for (k : 0 .. N) { for (i : 0 .. N - 1) { if :: grey[i] -> grey[i] = false; mark_now(field[i]) :: else fi } };
}

/* Mutators that were in a barrier have left it. */
inline check() {
  reach(0); reach(young); reach(field[OUTSIDE]);
  for (i : 0 .. MUTATORS - 1) { reach(register_of[i]) };
  for (k : 0 .. N) { for (i : 0 .. N - 1) { if :: reached[i] && (i < OLD || is_old) -> reach(field[i]) :: else fi } };
  for (i : 0 .. N - 1) { assert(!reached[i] || marked[i] || (i == OLD && !is_old)) }
}

inline take(word) { whole[word] = false; shade(word) }
#ifdef NO_SLOT
inline take_slot(object) { whole_slot[object] = false }
#else
inline take_slot(object) { v = field[object]; whole_slot[object] = false; shade(v) }
#endif
inline scan(object) { grey[object] = false; v = field[object]; shade(v) }
#define IS_WHITE(v) (v < N && (v < OLD || is_old) && !marked[v])
#define LOOKS(m, i) (open[m].count > i && !open[m].is_taken && IS_WHITE(open[m].stored[i]))

proctype marker() {
  byte i, k, v;
  bool reached[N], found;
  do
  :: grey[0] -> scan(0); v = field[OUTSIDE]; shade(v)
  :: grey[1] -> scan(1)
  :: grey[2] -> scan(2)
  :: is_old && grey[3] -> scan(3)
  :: whole[0] -> take(0)
  :: whole[1] -> take(1)
  :: whole[2] -> take(2)
  :: whole[3] -> take(3)
  :: whole[NIL] -> whole[NIL] = false
  :: whole_slot[0] -> take_slot(0)
  :: whole_slot[1] -> take_slot(1)
  :: whole_slot[2] -> take_slot(2)
  :: whole_slot[3] -> take_slot(3)
  :: LOOKS(0, 0) -> v = open[0].stored[0]; shade(v)
  :: LOOKS(0, 1) -> v = open[0].stored[1]; shade(v)
#if MUTATORS > 1
  :: LOOKS(1, 0) -> v = open[1].stored[0]; shade(v)
  :: LOOKS(1, 1) -> v = open[1].stored[1]; shade(v)
#endif
  :: atomic {
#ifdef UNSTOPPED
       true
#else
       in_step == 0
#endif
       -> is_stopped = true
     } -> d_step { last_stop(); skip }
     in_step == 0 -> d_step { check(); skip }
     break
  od
}

init {
  byte i;
  atomic {
    field[0] = NIL; field[1] = NIL; field[2] = 1; /* from 2 on, only the weak handle leads there */
    field[OLD] = NIL;
    field[OUTSIDE] = NIL;
    marked[0] = true; grey[0] = true;
    register_of[MUTATORS - 1] = OLD;
    for (i : 0 .. MUTATORS - 1) { run mutator(i) };
    run collection(); run marker()
  }
}
