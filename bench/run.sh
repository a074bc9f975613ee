#!/bin/sh
# Measures every workload over gc.h, mimalloc, malloc and bdwgc; writes build/bench/bench.txt and build/bench/bench.svg.
#     BENCH_FULL=1    the full sizes
#     BENCH_RUNS=5    how often each is measured, after one run to warm up
#     BENCH_ONLY=lru  only workloads whose label begins so
set -eu
cd "$(dirname "$0")/.."
out=build/bench
runs=${BENCH_RUNS:-5}
rows=$out/bench.tsv

for tool in hyperfine jq; do
    command -v $tool > /dev/null || { echo "bench/run.sh: $tool is missing; tools/setup bench installs it" >&2; exit 1; }
done
rm -rf "$out/runs"
mkdir -p "$out/runs"
: > "$rows"

# measure LIVE_MIB NAME ARGS...: gc.h gets three times the live data, that is what the workload can reach at its peak
# in gc.h's object sizes, but at least 32 MiB, and grows up to that. The others choose their memory themselves.
measure() {
    live=$1
    shift
    label=$(echo "$*" | tr ' ' '-')
    case $label in "${BENCH_ONLY:-}"*) ;; *) return 0 ;; esac
    max_heap=$((3 * live > 32 ? 3 * live : 32))
    echo "== $* (gc.h: --max-heap=$max_heap MiB --growth=200)" >&2
    each "$*" "$label" $((max_heap * 1048576))
    checks=$(cat "$out/runs/$label".* | jq -r .check | sort -u | wc -l)
    [ "$checks" -eq 1 ] || { echo "bench/run.sh: the checks of $* differ, see $out/runs" >&2; exit 1; }
    for side in gc.h mimalloc malloc bdwgc; do summarize "$*" "$side" "$out/runs/$label.$side"; done >> "$rows"
}

# each TEXT LABEL MAX_HEAP: the four sides in turn, so that what else the machine does falls on all of them. Every run
# appends its --json to a file, for hyperfine's own user and system times are means only.
each() {
    base="$out/runs/$2" log="$out/runs/hyperfine-$2.log"
    for _ in $(seq 0 "$runs"); do # the first warms up
        hyperfine --style basic --runs 1 \
            -n gc.h "$out/workloads $1 --max-heap=$3 --growth=200 --json >> $base.gc.h" \
            -n mimalloc "$out/workloads-mimalloc $1 --json >> $base.mimalloc" \
            -n malloc "$out/workloads-malloc $1 --json >> $base.malloc" \
            -n bdwgc "$out/workloads-bdwgc $1 --json >> $base.bdwgc" > "$log" 2>&1 || { cat "$log" >&2; exit 1; }
    done
}

# summarize TEXT SIDE FILE: a row of medians, without the run to warm up:
# text, side, user+sys s, wall s, peak RSS MiB, longest pause ms, longest push ms, ns per object, collections
summarize() {
    jq -rs --arg text "$1" --arg side "$2" '
        def median: sort | .[(length / 2 | floor)];
        .[1:] | [$text, $side, (map(.user_s + .sys_s) | median), (map(.wall_s) | median),
            (map(.rss_peak_bytes) | median / 1048576),
            (if .[0].pause_max_s != null then map(.pause_max_s) | median * 1000 else "-" end),
            (if .[0].push_max_s != null then map(.push_max_s) | median * 1000 else "-" end),
            (if .[0].ns_per_object != null then map(.ns_per_object) | median else "-" end),
            (.[0].collections // [] | map(tostring) | join("+") | if . == "" then "-" else . end)] | @tsv' "$3"
}

if [ "${BENCH_FULL:-0}" = 1 ]; then
    measure 96 binary-trees 20 # the stretch tree, of 2^22 nodes of 24 bytes
    measure 192 binary-trees 21
    measure 16 gcbench # the stretch tree, of 2^19 nodes of 32 bytes
    measure 16 gcbench 5 # the same five times
    measure 61 lru 1000000 50000000 # 10^6 items of 56 bytes and the table
    measure 200 pause 200000 10000000 1024 # 200,000 arrays of 1,040 bytes and the ring
else
    measure 24 binary-trees 18
    measure 16 gcbench
    measure 61 lru 1000000 10000000
    measure 200 pause 200000 2000000 1024
fi
measure 0 alloc
# Nothing in gc.h was tuned for these two.
if [ "${BENCH_FULL:-0}" = 1 ]; then
    measure 100 churn 500000 20000000 # half of 10^6 keys, with entries of 40 bytes, values of 128 on average, and the table
    measure 74 graph 400000 40000000  # vertices of 32 bytes, on average 5.5 edges of 24 each, and the table
else
    measure 100 churn 500000 5000000
    measure 74 graph 400000 10000000
fi

[ -s "$rows" ] || { echo "bench/run.sh: no workload begins with '${BENCH_ONLY:-}'" >&2; exit 1; }
awk -f bench/table.awk "$rows" | tee "$out/bench.txt"
awk -f bench/chart.awk "$rows" > "$out/bench.svg"
echo "chart: $out/bench.svg, single runs: $out/runs" >&2
