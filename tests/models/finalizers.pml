/* Finalizers in a marking beside a mutator. Object 0 is a root, and has a field. Objects 1 and 2 have finalizers, and 1 refers to 2. The
   mutator has a register. A short and a long weak handle refer to 2, another long one to 1. A marker marks beside the mutator. When it
   has marked what it can, a stop, the remark, marks the rest. It clears short weak handles of objects that are not marked, and makes
   their finalizers undecided. An undecided pair is queued if its object is not marked: the marker decides, or a mutator that asks; only
   then does the marker go on, from the queued objects. The last stop may come at any time, also without a remark. It decides what is
   undecided, traces from roots and from what is queued, and queues and traces what else has died.

   The claims: what the remark finds not marked is not reachable, and all of it that has a finalizer is queued by the end, once; nobody
   finds such an object by a short weak handle afterwards; and at the end everything that can be reached is marked.

   Faults: UNTAKEN: the remark does not take what was logged. NO_ROOTS: it does not trace from the register. MARKS_ON: the marker marks
   while pairs are undecided. END_UNDECIDED: the last stop leaves them undecided. LATE_CLEAR: only the last stop clears short weak
   handles. UNLOGGED: stores are not logged. UNVISITED: the last stop does not trace from queued objects to which the marker has not
   come. UNTRACED: nor from those that it queues. */
#define N 3
#define NIL 3
#ifndef STEPS
#define STEPS 6
#endif

byte field[N], register_of, short_of_2 = 2, long_of_1 = 1, long_of_2 = 2;
bool marked[N], grey[N], logged[N + 1];
bool registered[N], undecided[N], due[N], was_dead[N];
byte queued[N];
bool is_deciding, is_remarked, is_over, in_store;

inline shade(v) { if :: v < N && !marked[v] -> marked[v] = true; grey[v] = true :: else fi }
inline drain() {
  for (k : 0 .. N) { for (i : 0 .. N - 1) { if :: grey[i] -> grey[i] = false; shade(field[i]) :: else fi } };
  k = 0; i = 0
}
inline take_all() { for (i : 0 .. N - 1) { if :: logged[i] -> shade(i); logged[i] = false :: else fi }; logged[NIL] = false; i = 0 }
inline reach(v) { if :: v < N && !reached[v] -> reached[v] = true :: else fi }
inline reach_all() {
  for (i : 0 .. N - 1) { reached[i] = false };
  reach(0); reach(register_of);
  for (i : 0 .. N - 1) { if :: due[i] -> reach(i) :: else fi };
  for (k : 0 .. N) { for (i : 0 .. N - 1) { if :: reached[i] -> reach(field[i]) :: else fi } };
  k = 0; i = 0
}

inline enqueue(o) {
  assert(!queued[o]);
  queued[o]++; due[o] = true; registered[o] = false
}
inline decide(o) {
  undecided[o] = false;
  if :: registered[o] && !marked[o] -> enqueue(o) :: else fi;
  is_deciding = undecided[1] || undecided[2]
}

inline store(object, ref) {
  field[object] = ref;
#ifndef UNLOGGED
  logged[ref] = true
#endif
}

proctype mutator() {
  byte step, r;
  do
  :: atomic { step < STEPS && !is_over -> step++; r = register_of }
     if
     :: atomic { !is_over -> register_of = field[0] }
     :: atomic { !is_over && r != NIL -> register_of = field[r] }
     :: atomic { !is_over -> register_of = long_of_1 }
     :: atomic { !is_over -> register_of = long_of_2 }
     :: atomic { !is_over && short_of_2 != NIL -> register_of = short_of_2; assert(!was_dead[2]) }
     :: atomic { !is_over -> in_store = true }; store(0, r); in_store = false
     :: atomic { !is_over -> in_store = true; register_of = NIL }; store(0, NIL); in_store = false
     :: atomic { !is_over && due[1] -> due[1] = false; register_of = 1 }
     :: atomic { !is_over && due[2] -> due[2] = false; register_of = 2 }
     :: atomic { !is_over && undecided[1] -> decide(1) }
     :: atomic { !is_over && undecided[2] -> decide(2) }
     :: is_over -> break
     fi
  :: step == STEPS || is_over -> break
  od;
  atomic { step = 0; r = 0 }
}

inline remark() {
#ifndef UNTAKEN
  take_all();
#endif
#ifndef NO_ROOTS
  shade(register_of);
#endif
  drain();
  reach_all();
  for (i : 0 .. N - 1) {
    assert(!reached[i] || marked[i]);
    was_dead[i] = !marked[i];
    undecided[i] = registered[i] && !marked[i]
  };
#ifndef LATE_CLEAR
  if :: short_of_2 != NIL && !marked[2] -> short_of_2 = NIL :: else fi;
#endif
  is_deciding = undecided[1] || undecided[2];
  is_remarked = true; i = 0
}

inline last_stop() {
#ifndef END_UNDECIDED
  if :: undecided[1] -> decide(1) :: else fi;
  if :: undecided[2] -> decide(2) :: else fi;
#endif
  take_all();
  shade(register_of);
#ifndef UNVISITED
  for (i : 1 .. 2) { if :: due[i] -> shade(i) :: else fi };
#endif
  drain();
  if :: short_of_2 != NIL && !marked[2] -> short_of_2 = NIL :: else fi;
  undecided[1] = registered[1] && !marked[1]; undecided[2] = registered[2] && !marked[2];
  for (i : 1 .. 2) { if :: undecided[i] -> enqueue(i) :: else fi };
#ifndef UNTRACED
  for (i : 1 .. 2) { if :: undecided[i] -> undecided[i] = false; shade(i) :: else fi };
#endif
  drain();
  reach_all();
  for (i : 0 .. N - 1) { assert(!reached[i] || marked[i]) };
  for (i : 1 .. 2) { assert(!was_dead[i] || queued[i]) };
  is_deciding = false; is_over = true; i = 0
}

#ifdef MARKS_ON
#define MARKS true
#else
#define MARKS !is_deciding
#endif
#define IDLE (!grey[0] && !grey[1] && !grey[2])

proctype marker() {
  byte i, k, v;
  bool reached[N];
  do
  :: MARKS && grey[0] -> grey[0] = false; v = field[0]; shade(v)
  :: MARKS && grey[1] -> grey[1] = false; v = field[1]; shade(v)
  :: MARKS && grey[2] -> grey[2] = false; v = field[2]; shade(v)
  :: atomic { MARKS && logged[0] -> logged[0] = false; shade(0) }
  :: atomic { MARKS && logged[1] -> logged[1] = false; shade(1) }
  :: atomic { MARKS && logged[2] -> logged[2] = false; shade(2) }
  :: atomic { MARKS && due[1] && !marked[1] -> shade(1) }
  :: atomic { MARKS && due[2] && !marked[2] -> shade(2) }
  :: atomic { undecided[1] -> decide(1) }
  :: atomic { undecided[2] -> decide(2) }
  :: !in_store && !is_remarked && IDLE -> d_step { if :: !in_store -> remark() :: else fi }
  :: !in_store -> d_step { if :: !in_store -> last_stop() :: else fi }; if :: is_over -> break :: else fi
  od
}

init {
  atomic {
    if :: field[0] = 1 :: field[0] = 2 :: field[0] = NIL fi;
    field[1] = 2; field[2] = NIL;
    if :: register_of = NIL :: register_of = 1 :: register_of = 2 fi;
    marked[0] = true; grey[0] = true;
    registered[1] = true; registered[2] = true;
    run mutator(); run marker()
  }
}
