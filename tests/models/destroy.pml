/* The end of a heap beside two threads of it. A thread is cooperative, and may touch the heap, or preemptive; parked in gc.h it is preemptive,
   too, but will touch the heap when it has waited. It may end in either mode, collect, and run a finalizer, in which it may become
   preemptive. The destroyer says that the heap ends, which also keeps `stopping` set: so a thread that wants to be cooperative again has to
   take the lock, where it learns that the heap is gone if it was preemptive of its own will. When all threads are that, the destroyer takes
   them out of the list, and frees the heap. Or it gives up, since it has waited for too long, and abandons the heap. The heap's record, which
   has the lock and `stopping`, is freed by the last that leaves it: the destroyer, or a thread that frees its own record.

   The claims: no thread touches a heap that is freed, nor its record then; only threads that are preemptive of their own will, outside of
   finalizers, learn that the heap is gone, and each that does so later than the heap's end; and the record is freed in the end.

   Faults: UNCOUNTED: the destroyer frees the record. OVERLOOKED: it takes cooperative threads for gone. UNPARKED: it takes those that are
   parked for gone. RETURNED: a parked thread is not parked any more when it looks at `stopping`. UNLOCKED: a thread looks whether the heap ends
   before it has the lock. CLEARED: the end of a collection clears `stopping`. LOAD_FIRST: a thread loads `stopping` before it stores its mode.
   FORGOTTEN: a finalizer that runs does not count. LISTED: the destroyer leaves threads in the list. */
#define N 2
#ifndef STEPS
#define STEPS 2
#endif
#define ALIVE assert(!is_freed)
#define THERE assert(!is_record_freed)

bool preemptive[N], parked[N], finalizing[N], listed[N];
bool stopping, ends, locked, no_finalizers, is_freed, is_record_freed, is_abandoned;
byte users = N + 1, running;

inline lock() { THERE; atomic { !locked -> locked = true } }
inline unlock() { locked = false; THERE }
inline drop() { atomic { users--; if :: users == 0 -> is_record_freed = true :: else fi } }

inline resume() {
  atomic { was_parked = parked[me]; is_late = is_abandoned };
#ifdef RETURNED
  parked[me] = false;
#endif
#ifdef LOAD_FIRST
  THERE; waits = stopping; preemptive[me] = false;
#else
  preemptive[me] = false; THERE; waits = stopping;
#endif
  if
  :: !waits -> parked[me] = false
  :: else ->
    preemptive[me] = true;
#ifdef UNLOCKED
    gone = ends; lock();
#else
    lock(); gone = ends;
#endif
    gone = gone && !parked[me] && !finalizing[me];
    if :: gone :: else -> preemptive[me] = false; parked[me] = false fi;
    unlock()
  fi;
  assert(!gone || !was_parked);
  assert(gone || !is_late || was_parked || finalizing[me]);
  atomic { waits = false; is_late = false; was_parked = false }
}

inline wait_and_lock() {
  parked[me] = true; preemptive[me] = true;
  lock();
  preemptive[me] = false; parked[me] = false
}
inline collect() {
  wait_and_lock();
  stopping = true;
  preemptive[1 - me] || !listed[1 - me];
  ALIVE;
#ifdef CLEARED
  stopping = false;
#else
  stopping = ends;
#endif
  unlock()
}

proctype mutator(byte me) {
  byte step;
  bool gone, waits, was_parked, is_late;
  do
  :: step < STEPS && !gone -> step++;
    if
    :: ALIVE
    :: collect()
    :: parked[me] = true; preemptive[me] = true; resume(); ALIVE /* it waited for another heap */
    :: preemptive[me] = true; THERE; resume()
    :: atomic { !no_finalizers && !finalizing[me] -> finalizing[me] = true; running++ }
    :: finalizing[me] -> ALIVE; atomic { finalizing[me] = false; running-- }; THERE
    fi;
    assert(!gone || !finalizing[me])
  :: else -> break
  od;
  if
  :: gone
  :: else ->
    if :: finalizing[me] -> ALIVE; atomic { finalizing[me] = false; running-- }; THERE :: else fi;
    if :: preemptive[me] = true; resume() :: true fi
  fi;
  if :: gone -> lock() :: else -> wait_and_lock() fi;
  if :: listed[me] -> ALIVE; listed[me] = false :: else -> assert(gone) fi;
  unlock();
  drop();
  atomic { step = 0; gone = false }
}

inline look(t) {
  if
  :: !listed[t]
  :: else ->
    is_preemptive = preemptive[t];
#ifndef OVERLOOKED
    busy = busy || !is_preemptive;
#endif
#ifndef UNPARKED
    busy = busy || parked[t];
#endif
#ifndef FORGOTTEN
    busy = busy || finalizing[t]
#endif
  fi
}

proctype destroyer() {
  bool busy, is_preemptive;
  if
  :: atomic { running == 0 -> no_finalizers = true }
  :: true
  fi;
  do
  :: lock(); ends = true; stopping = true; busy = false;
    look(0); look(1);
    unlock();
    if :: !busy -> break :: else fi
  :: atomic { ends -> is_abandoned = true; break }
  od;
  if
  :: is_abandoned
  :: else ->
    lock();
#ifndef LISTED
    listed[0] = false; listed[1] = false;
#endif
    unlock();
    is_freed = true
  fi;
#ifdef UNCOUNTED
  is_record_freed = !is_abandoned;
#endif
  drop()
}

init {
  atomic { listed[0] = true; listed[1] = true; run mutator(0); run mutator(1); run destroyer() }
  _nr_pr == 1;
  assert(is_record_freed && (is_freed || is_abandoned))
}
