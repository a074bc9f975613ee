#!/bin/sh
# Eight threads on one heap: for a second in every mode; with ThreadSanitizer and AddressSanitizer. Then threads that
# have a heap each.
# THREADS_SECONDS: for each mode of the plain program (1).
cd "$(dirname "$0")/../.." && . tests/tap.sh || exit
make -s tests/random/threads.t
ok $? "the programs compile"
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# threads VARIANT MODE SECONDS SEED
threads() {
    timeout $(($3 * 10 + 60)) build/tests/threads-"$1" --mode="$2" --seconds="$3" --seed="$4" > "$log" 2>&1
    ok $? "$1, $2: $(sed -n 's/^ok 1 - [a-z_]*: //p' "$log")"
    grep -q '^ok 1' "$log" || sed 's/^/# /' "$log" | head -60 >&2
}
seconds=${THREADS_SECONDS:-1}
for mode in moving non_moving conservative stress limit concurrent; do threads plain $mode "$seconds" 1; done
threads debug moving $(((seconds + 1) / 2)) 2
threads debug concurrent $(((seconds + 1) / 2)) 2
threads logging moving $(((seconds + 1) / 2)) 3
threads asan moving $(((seconds + 1) / 2)) 4
for mode in moving conservative stress limit concurrent; do threads tsan $mode "$seconds" 5; done
for mode in moving limit concurrent; do GC_COLLECTOR_THREADS=3 GC_TEST_COLLECTORS=1 threads tsan $mode "$seconds" 6; done
threads tsan-watch moving $(((seconds + 1) / 2)) 5

dir=$(mktemp -d)
tsan=$dir/tsan
trap 'rm -rf "$log" "$dir"' EXIT
sanitized() { clang -fsanitize=thread -std=c11 -O1 -g1 -Isrc -pthread '-DGC_ARENA_BYTES=((size_t)1<<34)' "$@"; }
shared() { sanitized -DGC_REGION_SHIFT=18 -DGC_PORTABLE_BARRIERS "$@"; }
# under_tsan WHAT: the program that was compiled, with the status of that
under_tsan() {
    [ $? -eq 0 ] && timeout 600 "$tsan" > "$log" 2>&1
    ok $? "$1 under ThreadSanitizer"
    grep -E -A 12 '^not ok|^WARNING' "$log" | head -60 | sed 's/^/# /' >&2
}
shared -c tests/unit/gc.c -o "$dir/gc.o"
shared "$dir/gc.o" tests/unit/test_heaps.c -o "$tsan"
under_tsan 'heaps of several threads'
shared "$dir/gc.o" tests/unit/test_profile_threads.c -o "$tsan"
under_tsan 'a profile of eight threads'
sanitized tests/unit/test_code_registry.c -o "$tsan"
under_tsan 'the registry of code'
sanitized tests/unit/test_code_threads.c -o "$tsan"
under_tsan 'threads that make, run and remove code'
finish
