#!/bin/sh
# Eight threads on one heap: for half a second in every mode; with ThreadSanitizer and AddressSanitizer. Then threads that
# have a heap each.
# THREADS_SECONDS: for each mode (0.5).
cd "$(dirname "$0")/../.." && . tests/tap.sh || exit
make -s tests/random/threads.t
ok $? "the programs compile"
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# threads VARIANT MODE SECONDS SEED
threads() {
    timeout $((${3%.*} * 10 + 300)) build/tests/threads-"$1" --mode="$2" --seconds="$3" --seed="$4" > "$log" 2>&1
    ok $? "$1, $2: $(sed -n 's/^ok 1 - [a-z_]*: //p' "$log")"
    grep -q '^ok 1' "$log" || sed 's/^/# /' "$log" | head -60 >&2
}
seconds=${THREADS_SECONDS:-0.5}
for mode in moving non_moving conservative stress limit concurrent; do threads plain $mode "$seconds" 1; done
threads debug moving "$seconds" 2
threads debug concurrent "$seconds" 2
threads logging moving "$seconds" 3
threads asan moving "$seconds" 4
# ThreadSanitizer's code takes a sixth of the time to compile where it is not optimized, and so gets more time to run.
longer=$(awk "BEGIN { print 1.7 * $seconds }")
for mode in moving conservative stress limit concurrent; do threads tsan $mode "$longer" 5; done
for mode in moving limit concurrent; do GC_COLLECTOR_THREADS=3 GC_TEST_COLLECTORS=1 threads tsan $mode "$longer" 6; done
threads tsan-watch moving "$longer" 5

# under_tsan TEST WHAT
under_tsan() {
    for try in 1 2 3; do # a check of ThreadSanitizer's own may fail in a child of fork, which says nothing about the program
        timeout 600 build/tests/tsan/test_$1 > "$log" 2>&1
        result=$?
        grep -q 'ThreadSanitizer: CHECK failed' "$log" || break
    done
    ok $result "$2 under ThreadSanitizer"
    grep -E -A 12 '^not ok|^WARNING' "$log" | head -60 | sed 's/^/# /' >&2
}
under_tsan heaps 'heaps of several threads'
under_tsan destroy 'the end of a heap beside its threads'
under_tsan profile_threads 'a profile of eight threads'
under_tsan code_registry 'the registry of code'
under_tsan code_threads 'threads that make, run and remove code'
TSAN_OPTIONS=die_after_fork=0 # which starts threads in children
export TSAN_OPTIONS
under_tsan fork 'fork() of threads, in callbacks, too,'
finish
