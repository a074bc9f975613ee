#!/bin/sh
# The randomized test for hours: soak.sh [OPERATIONS], 1000000000 by default, with region shifts 16, 18 and 22 and the
# other configurations in turn, a new seed each time; progress is printed. SOAK_SEED is the first seed (the time).
# Before that several threads on one heap, each collection verified, for THREADS_SECONDS (600) over all modes, and JIT_PROGRAMS
# (500) random programs in the example JIT, another program of which is stopped JIT_STOPS (100000) times in each mode; so are
# the loops of test_code_interrupt, INTERRUPTS (100000) times, and a process that a reader looks into, DAC_STOPS (1000) times.
# The registry of code is changed 100000 times for each layout, and four threads make and run 80000 methods. The barriers are
# compiled with every combination of options.
cd "$(dirname "$0")/../.." || exit
total=${1:-1000000000} seed=${SOAK_SEED:-$(date +%s)} done=0 round=400000
make -s random-programs build/examples/jit build/tests/plain/test_dac_stops \
    build/tests/plain/test_code_interrupt build/tests/plain/test_code_registry build/tests/plain/test_code_threads || exit
log=$(mktemp)
trap 'rm -f "$log"' EXIT
seconds=$((${THREADS_SECONDS:-600} / 6))
for mode in moving non_moving conservative stress limit concurrent; do
    seed=$((seed + 1))
    if ! timeout $((seconds * 10 + 60)) build/tests/threads-plain --mode="$mode" --seconds=$seconds --seed=$seed > "$log" 2>&1; then
        echo "not ok 1 - threads-plain --mode=$mode, seed $seed" && sed 's/^/# /' "$log"
        exit 1
    fi
    sed -n "s/^ok 1 -/# $seconds s of threads,/p" "$log"
done
tests/random/jit.sh $seed "${JIT_PROGRAMS:-500}" || exit
STOPS=${JIT_STOPS:-100000} tests/scripts/jit_stops.t || exit
# unit NAME OPTION...
unit() {
    if ! build/tests/plain/test_"$@" > "$log" 2>&1; then
        sed 's/^/# /' "$log" && echo "not ok 1 - test_$*"
        exit 1
    fi
}
unit code_interrupt --count="${INTERRUPTS:-100000}"
unit code_registry --rounds=100000 --seed="$seed"
ALL=1 tests/compile/barriers.t || exit
unit code_threads --rounds=20000 --seed="$seed"
DAC_STOPS=${DAC_STOPS:-1000} DAC_SEED=$seed
export DAC_STOPS DAC_SEED
unit dac_stops
stackmaps=${STACKMAPS:-10000000} maps=0
while [ "$maps" -lt "$stackmaps" ]; do
    if ! build/tests/stackmaps-plain --count=100000 --seed="$seed" > "$log" 2>&1; then
        sed 's/^/# /' "$log" && echo "not ok 1 - stackmaps-plain, after $maps methods"
        exit 1
    fi
    maps=$((maps + 100000)) seed=$((seed + 100000))
    echo "# $maps of $stackmaps methods"
done
start=$(date +%s)
while [ "$done" -lt "$total" ]; do
    # One round in four with collector threads: as many as the seed says, at once or in turns.
    unset GC_COLLECTOR_THREADS GC_TEST_COLLECTORS
    if [ $((seed / 15 % 4)) -eq 0 ]; then
        export GC_COLLECTOR_THREADS=$((2 + seed % 7)) GC_TEST_COLLECTORS=$((seed % 3 ? seed : 1))
    fi
    for variant in shift16 shift18 shift22 shift16 shift18 shift22 bit-cards no-bundles portable tagged nanbox shadow sanitize at_run_time at_run_time-tagged; do
        [ "$done" -lt "$total" ] || break
        seed=$((seed + 1))
        if ! build/tests/random-$variant --ops=$round --seed=$seed > "$log" 2>&1; then
            echo "not ok 1 - random-$variant, seed $seed, after $done operations" && sed 's/^/# /' "$log"
            exit 1
        fi
        done=$((done + $(sed -n 's/^ok .*: \([0-9]*\) operations.*/\1/p' "$log" | awk '{ sum += $1 } END { print sum + 0 }')))
        elapsed=$(($(date +%s) - start))
        echo "# $done of $total operations in $elapsed s (random-$variant, seed $seed)"
    done
done
echo "ok 1 - $done operations"
echo 1..1
