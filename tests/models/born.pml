/* Objects that are born old while a marker marks. Object 0 is a root. A weak handle leads to object 1, which the last stop moves, so
   that slots which refer to it are recorded; with STAYS it does not. The others are born in holes of a region that is FILLED: the
   first mutator has one. With TWO the second has another; with AGAIN the first has both. Each object has a field, each mutator two
   registers. Each read, entry, bit and store is a step of its own. marking.pml describes what barriers log and the marker takes; here
   a chunk has one entry, and entries for references to object 1 carry the slot if it moves. With CHECKS barriers do not log what
   leads to marked objects only.

   A new object has neither a start bit nor a mark bit. Its owner stores into it without a barrier until it flushes its window at a
   safe point: for each object, it shades the referent and records the slot; sets the mark bit, and counts the object; and sets the
   start bit. Others that have found the object store into it with a barrier all the time. The marker passes over referents in a FILLED
   region that have no start bit, and never scans new objects. Each stop flushes all windows, and then takes what was logged.

   The claims: at the end everything reachable is marked; each marked object was counted once; the marker reads no object without a
   start bit, except slots that were logged for references to object 1, so with STAYS none; slots which refer to object 1 are
   recorded. With LATE_SHADE the referent is shaded after both bits are set. Spin has found no error in that in any of the runs,
   since until then the owner's register has what it stores, and stops wait for the flush: the order does not matter.

   Faults: NO_START: the marker does not look for start bits. LATE_FILLED: the region is FILLED only when its window is flushed.
   START_FIRST: the start bit is set before the mark bit. UNTESTED: the marker sets a mark bit without a test. PLAIN_MARK: a flush
   sets it by a load and a store. UNSHADED: a flush does not shade. UNRECORDED: nor does it record slots. UNLOGGED: others store
   without a barrier while there is no start bit. UNSTORED, with STAYS: entries are empty. PASSED_SLOT: the marker passes over
   logged slots of objects without a start bit. LATE_FLUSH: the last stop takes what was logged, and then flushes. UNFLUSHED: it
   does not flush. UNSAFE: a window is flushed while its owner stores. */
#define ROOT 0
#define WEAK 1
#define NEW 2
#if defined(TWO) || defined(AGAIN)
#define N 4
#else
#define N 3
#endif
#define NIL N
#define SLOT(o) (NIL + 1 + (o)) /* in entries, instead of what is stored */
#ifdef STAYS
#define MOVES(o) false
#else
#define MOVES(o) ((o) == WEAK)
#endif
#define MUTATORS 2
#ifndef STEPS
#define STEPS 3 /* of the first mutator */
#endif
#ifndef OTHER_STEPS
#define OTHER_STEPS 3
#endif
#ifdef AGAIN
#define OWNER(o) 0
#else
#define OWNER(o) ((o) - NEW)
#endif

#define BIT(o) ((o) == NIL -> 0 : 1 << (o))
byte field[N], first[MUTATORS] = NIL, second[MUTATORS] = NIL, steps[MUTATORS];
/* A bit for each object: */
byte allocated, window, starts = BIT(ROOT) | BIT(WEAK), marks = BIT(ROOT), counted = BIT(ROOT), grey = BIT(ROOT), recorded;
byte whole, whole_slot; /* what whole chunks have: words, and slots */
bool is_filled, is_stopped;
byte in_step;

typedef chunk { byte stored; bool is_full };
chunk open[MUTATORS];

#define HAS(bits, o) ((bits) >> (o) & 1)
#define IS_WHITE(o) ((o) != NIL && !HAS(marks, o))

inline count(o) { assert(!HAS(counted, o)); counted = counted | BIT(o) }
inline record(o, ref) { if :: MOVES(ref) -> recorded = recorded | BIT(o) :: else fi }

inline hand_over(m) {
  if
  :: open[m].is_full ->
     if
     :: open[m].stored > NIL -> whole_slot = whole_slot | 1 << open[m].stored - SLOT(0)
     :: else -> whole = whole | BIT(open[m].stored)
     fi
  :: else
  fi
}

/* An entry for a reference in a slot; unless that moves, it has the given word. */
inline log_store(o, ref, now) {
  hand_over(me);
  if :: MOVES(ref) -> open[me].stored = SLOT(o) :: else -> open[me].stored = now fi;
  open[me].is_full = true
}
#ifdef UNSTORED
#define STORED(ref) NIL
#else
#define STORED(ref) ref
#endif

#define IS_MINE(o) (HAS(window, o) && OWNER(o) == me)
#ifdef UNLOGGED
#define IS_RAW(o) !HAS(starts, o)
#else
#define IS_RAW(o) IS_MINE(o)
#endif
#define RUNS steps[me] < most && !is_stopped
#define BEGIN steps[me]++; in_step++

inline allocate(o) {
  atomic {
    RUNS && OWNER(o) == me && !HAS(allocated, o) ->
    steps[me]++;
#ifndef LATE_FILLED
    is_filled = true;
#endif
    allocated = allocated | BIT(o); window = window | BIT(o); field[o] = NIL; first[me] = o
  }
}

#ifdef CHECKS
#define NEEDS_ENTRY(ref) (!is_raw && IS_WHITE(ref))
#else
#define NEEDS_ENTRY(ref) (!is_raw)
#endif
/* The mutator may forget `last` afterwards. */
inline store(object, ref, last) {
  if
  :: NEEDS_ENTRY(ref) -> d_step { log_store(object, ref, STORED(ref)); record(object, ref) }
  :: !NEEDS_ENTRY(ref) -> d_step { if :: !is_raw -> record(object, ref) :: else fi }
  fi;
  atomic { field[object] = ref; if :: last = NIL :: skip fi; v = 0; is_raw = false; in_step-- }
}
#define LOOK(object) atomic { RUNS && object != NIL -> BEGIN; is_raw = IS_RAW(object); v = field[object] }

#ifdef UNSHADED
#define IS_SHADED(v) false
#else
#define IS_SHADED(v) IS_WHITE(v)
#endif
#ifdef UNRECORDED
inline record_flushed(o, ref) { skip }
#else
inline record_flushed(o, ref) { record(o, ref) }
#endif
inline shade_field(o) {
  atomic { v = field[o]; record_flushed(o, v) };
  if
  :: IS_SHADED(v) -> d_step { log_store(o, v, v) }
  :: !IS_SHADED(v)
  fi;
  v = 0
}
inline flush(o) {
  is_filled = true;
#ifndef LATE_SHADE
  shade_field(o);
#endif
#ifdef START_FIRST
  starts = starts | BIT(o);
#endif
#ifdef PLAIN_MARK
  v = marks; atomic { marks = v | BIT(o); count(o); v = 0 };
#else
  atomic { marks = marks | BIT(o); count(o) };
#endif
  starts = starts | BIT(o);
#ifdef LATE_SHADE
  shade_field(o);
#endif
  atomic { window = window & ~BIT(o); in_step-- }
}

proctype mutator(byte me; byte most) {
  byte v;
  bool is_raw;
end:
  do
  :: allocate(NEW)
#ifndef UNSAFE
  :: atomic { RUNS && IS_MINE(NEW) -> BEGIN }; flush(NEW)
#endif
#if N > 3
  :: allocate(NEW + 1)
  :: atomic { RUNS && IS_MINE(NEW + 1) -> BEGIN }; flush(NEW + 1)
  :: atomic { RUNS && first[me] != NIL -> steps[me]++; second[me] = first[me] }
#endif
  :: atomic { RUNS -> steps[me]++; first[me] = field[ROOT] }
  :: atomic { RUNS && first[me] != NIL -> steps[me]++; second[me] = field[first[me]] }
  :: LOOK(ROOT); store(ROOT, first[me], first[me])
  :: LOOK(ROOT); store(ROOT, second[me], second[me])
  :: LOOK(first[me]); store(first[me], second[me], second[me])
  :: LOOK(first[me]); store(first[me], NIL, v)
  :: atomic { RUNS -> steps[me]++; second[me] = WEAK }
  :: LOOK(first[me]); store(first[me], WEAK, v)
  od
}

/* The world is stopped. */
inline mark_now(o) {
  if
  :: o != NIL && HAS(starts, o) && !HAS(marks, o) -> marks = marks | BIT(o); count(o); grey = grey | BIT(o); found = true
  :: else
  fi
}
inline flush_all() {
  for (i : NEW .. N - 1) {
    if
    :: HAS(window, i) ->
#ifndef UNSHADED
       whole = whole | BIT(field[i]);
#endif
#ifndef UNRECORDED
       record(i, field[i]);
#endif
       marks = marks | BIT(i); count(i); starts = starts | BIT(i)
    :: else
    fi
  };
  window = 0
}
inline take_all() {
  for (i : 0 .. MUTATORS - 1) {
    hand_over(i);
    open[i].stored = 0; open[i].is_full = false
  };
  for (i : 0 .. N - 1) {
    if :: HAS(whole, i) -> mark_now(i) :: else fi;
    if :: HAS(whole_slot, i) -> mark_now(field[i]) :: else fi
  };
  whole = 0; whole_slot = 0
}

/* A young collection. With UNSAFE, one that does not wait for mutators. */
proctype collection() {
  byte i;
  bool found;
end:
#ifdef UNSAFE
  d_step { !is_stopped -> flush_all(); i = 0 }
#else
  d_step { in_step == 0 && !is_stopped -> flush_all(); take_all(); i = 0; found = false }
#endif
}

inline last_stop() {
  found = false;
#ifdef LATE_FLUSH
  take_all(); flush_all();
#elif defined(UNFLUSHED)
  take_all();
#else
  flush_all(); take_all();
#endif
  for (i : 0 .. MUTATORS - 1) { mark_now(first[i]); mark_now(second[i]) };
  for (k : 0 .. N) {
    for (i : 0 .. N - 1) {
      if :: HAS(grey, i) -> grey = grey & ~BIT(i); record(i, field[i]); mark_now(field[i]) :: else fi
    }
  }
}

inline reach(o) { if :: o != NIL -> reached = reached | BIT(o) :: else fi }
inline check() {
  reach(ROOT);
  for (i : 0 .. MUTATORS - 1) { reach(first[i]); reach(second[i]) };
  for (k : 0 .. N) { for (i : 0 .. N - 1) { if :: HAS(reached, i) -> reach(field[i]) :: else fi } };
  assert(!(reached & ~marks));
  assert(counted == marks);
  for (i : 0 .. N - 1) { assert(!HAS(reached, i) || !MOVES(field[i]) || i == WEAK || HAS(recorded, i)) }
}

/* All runs have the same last state. */
inline clear() {
  for (i : 0 .. N - 1) { field[i] = 0 };
  for (i : 0 .. MUTATORS - 1) { first[i] = 0; second[i] = 0; steps[i] = 0 };
  allocated = 0; window = 0; starts = 0; marks = 0; counted = 0; recorded = 0; is_filled = false; i = 0; k = 0; reached = 0
}

/* The bits are looked at one after the other, and then the mark bit is tested and set. */
#ifdef NO_START
#define IS_PASSED(o) false
#else
#define IS_PASSED(o) (is_filled && !HAS(starts, o))
#endif
#ifdef UNTESTED
#define SETS(o) true
#else
#define SETS(o) !HAS(marks, o)
#endif
inline shade(o) {
  if
  :: o == NIL
  :: o != NIL && IS_PASSED(o)
  :: o != NIL && !IS_PASSED(o) ->
     atomic {
       assert(HAS(starts, o));
       if :: SETS(o) -> marks = marks | BIT(o); count(o); grey = grey | BIT(o) :: else fi
     }
  fi;
  v = 0
}
inline see(o) { if :: IS_WHITE(o) -> v = o :: else -> v = NIL fi }
inline scan(o) { grey = grey & ~BIT(o); assert(HAS(starts, o)); record(o, field[o]); see(field[o]) }
inline take(o) { whole = whole & ~BIT(o); see(o) }
inline take_slot(o) {
  whole_slot = whole_slot & ~BIT(o);
#ifdef PASSED_SLOT
  if :: HAS(starts, o) -> see(field[o]) :: else -> v = NIL fi
#else
  see(field[o])
#endif
}
/* The marker looks at open chunks, too. */
#define IS_FOUND(o) (IS_WHITE(o) && HAS(starts, o))
#define LOOKS(m) (open[m].is_full && open[m].stored < NIL && IS_FOUND(open[m].stored))
#define LOOKS_UP(m) (open[m].is_full && open[m].stored > NIL && IS_FOUND(field[open[m].stored - SLOT(0)]))

proctype marker() {
  byte i, k, v, reached;
  bool found;
  do
  :: atomic {
       if
       :: HAS(grey, ROOT) -> scan(ROOT)
       :: HAS(grey, WEAK) -> scan(WEAK)
       :: HAS(grey, NEW) -> scan(NEW)
       :: HAS(whole, ROOT) -> take(ROOT)
       :: HAS(whole, WEAK) -> take(WEAK)
       :: HAS(whole, NEW) -> take(NEW)
       :: HAS(whole_slot, ROOT) -> take_slot(ROOT)
       :: HAS(whole_slot, WEAK) -> take_slot(WEAK)
       :: HAS(whole_slot, NEW) -> take_slot(NEW)
#if N > 3
       :: HAS(grey, NEW + 1) -> scan(NEW + 1)
       :: HAS(whole, NEW + 1) -> take(NEW + 1)
       :: HAS(whole_slot, NEW + 1) -> take_slot(NEW + 1)
#endif
       :: LOOKS(0) -> v = open[0].stored
       :: LOOKS(1) -> v = open[1].stored
       :: LOOKS_UP(0) -> v = field[open[0].stored - SLOT(0)]
       :: LOOKS_UP(1) -> v = field[open[1].stored - SLOT(0)]
       fi
     };
     shade(v)
  :: d_step { in_step == 0 -> is_stopped = true; last_stop(); check(); clear() };
     break
  od
}

init {
  atomic {
    field[ROOT] = NIL;
    field[WEAK] = NIL;
    run mutator(0, STEPS); run mutator(1, OTHER_STEPS);
    run collection(); run marker()
  }
}
