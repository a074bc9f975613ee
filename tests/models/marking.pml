/* Marking beside mutators. Three old objects of one field, one more that becomes old meanwhile, mutators with a register each,
   the field of a young object, a weak handle, and a marker beside them. Each read, mark, note and store is a step of its own.
   A barrier may look whether an object is old, and not marked, before it notes it, or not; the marker looks at what was noted, and marks
   that. What a collection finds noted that is not old is dropped.

   The claim: when the last stop has traced from roots, young objects and what is grey, everything reachable is marked. With
   PAUSE, where nothing is read from the weak handle: if the marker had finished, the last stop has nothing to mark.

   Faults: NO_NEW: what is stored is not shaded. NO_OLD: nor what is overwritten, which only PAUSE finds. NO_BORN: a collection in
   which an object becomes old does not note what it refers to. WHITE_BORN: that object is not marked. UNSTOPPED: the last stop
   comes while a mutator is in its barrier. UNTAKEN: it does not look at what was noted. */
#define N 4
#define OLD 3 /* the fourth is young at first */
#define NIL 4
#ifndef MUTATORS
#define MUTATORS 1
#endif
#ifndef STEPS
#define STEPS 4 /* of each mutator */
#endif

byte field[N], register_of[MUTATORS], steps[MUTATORS];
bool marked[N], grey[N], logged[N], is_old;
byte young = NIL; /* what the young object refers to */
byte in_step;
bool is_stopped;

inline shade(v) {
  if
  :: v < N && (v < OLD || is_old) && !marked[v] -> atomic { marked[v] = true; skip }; grey[v] = true
  :: else
  fi
}

inline note(v) {
  if
#ifdef PAUSE
  :: v < N && (v < OLD || is_old) && !marked[v] -> logged[v] = true
#else
  :: v < N -> logged[v] = true
#endif
  :: v < N && (v < OLD || is_old) && marked[v]
  :: v >= N || (v == OLD && !is_old)
  fi
}

inline store(object, ref) {
  old = field[object];
#ifndef NO_OLD
  note(old);
#endif
#ifndef NO_NEW
  note(ref);
#endif
  field[object] = ref
}

proctype mutator(byte me) {
  byte old, r;
  do
  :: atomic { steps[me] < STEPS && !is_stopped -> in_step++; steps[me]++; r = register_of[me] }
     if
     :: r < OLD || (r == OLD && is_old) -> register_of[me] = field[r]
     :: register_of[me] = 0
     :: r < OLD || (r == OLD && is_old) ->
        if
        :: store(0, r)
        :: store(r, NIL)
#ifndef PAUSE
        :: register_of[me] = NIL; store(0, r)
#endif
        fi
     :: is_old -> store(OLD, r)
     :: !is_old && r != OLD -> young = r
     :: !is_old && r == OLD -> store(0, OLD); register_of[me] = 0
#ifndef PAUSE
     :: register_of[me] = 2
#endif
     fi;
     in_step--
  :: steps[me] == STEPS || is_stopped -> break
  od
}

/* A young collection: the young object becomes old. */
proctype collection() {
  if
  :: atomic {
    in_step == 0 && !is_stopped ->
    logged[OLD] = false;
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
inline mark_now(v) {
  if :: v < N && (v < OLD || is_old) && !marked[v] -> marked[v] = true; grey[v] = true; found = true :: else fi
}

inline last_stop() {
#ifndef UNTAKEN
  for (i : 0 .. N - 1) { if :: logged[i] -> mark_now(i) :: else fi };
  found = false;
#endif
  for (i : 0 .. MUTATORS - 1) { mark_now(register_of[i]) };
  mark_now(young);
  mark_now(0);
#ifdef PAUSE
  assert(!found);
#endif
  for (k : 0 .. N) { for (i : 0 .. N - 1) { if :: grey[i] -> grey[i] = false; mark_now(field[i]) :: else fi } };
}

/* Mutators that were in a barrier have left it. */
inline check() {
  reach(0); reach(young);
  for (i : 0 .. MUTATORS - 1) { reach(register_of[i]) };
  for (k : 0 .. N) { for (i : 0 .. N - 1) { if :: reached[i] && (i < OLD || is_old) -> reach(field[i]) :: else fi } };
  for (i : 0 .. N - 1) { assert(!reached[i] || marked[i] || (i == OLD && !is_old)) }
}

inline take(object) { logged[object] = false; shade(object) }
inline scan(object) { grey[object] = false; v = field[object]; shade(v) }

proctype marker() {
  byte i, k, v;
  bool reached[N], found;
  do
  :: grey[0] -> scan(0)
  :: grey[1] -> scan(1)
  :: grey[2] -> scan(2)
  :: is_old && grey[3] -> scan(3)
  :: logged[0] -> take(0)
  :: logged[1] -> take(1)
  :: logged[2] -> take(2)
  :: is_old && logged[3] -> take(3)
  :: atomic {
#ifdef PAUSE
       !grey[0] && !grey[1] && !grey[2] && !grey[3] &&
       !logged[0] && !logged[1] && !logged[2] && !logged[3] &&
#endif
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
#ifdef PAUSE
    field[0] = 1; field[1] = 2; field[2] = NIL;
#else
    field[0] = NIL; field[1] = NIL; field[2] = 1; /* from 2 on, only the weak handle leads there */
#endif
    field[OLD] = NIL;
    marked[0] = true; grey[0] = true;
    register_of[MUTATORS - 1] = OLD;
    for (i : 0 .. MUTATORS - 1) { run mutator(i) };
    run collection(); run marker()
  }
}
