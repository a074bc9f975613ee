#!/bin/sh
# Measures the write barriers: first a store alone (bench/barriers.c), then whole programs rebuilt with each barrier.
# Writes build/bench/barriers.tsv, barriers-programs.tsv, barriers.txt and barriers.svg.
#     BENCH_RUNS=3    how often each program is measured in a round, after one run to warm up
#     BENCH_ROUNDS=3  rounds over all barriers; medians are over all runs of all rounds
#     BENCH_REPS=25   repetitions of the stores
#     BENCH_ONLY=lru  only what begins so: stores, binary-trees, lru
set -eu
cd "$(dirname "$0")/.."
out=build/bench
runs=${BENCH_RUNS:-3}
stores=$out/barriers.tsv
programs=$out/barriers-programs.tsv

for tool in hyperfine jq; do
    command -v $tool > /dev/null || { echo "bench/barriers.sh: $tool is missing; tools/setup bench installs it" >&2; exit 1; }
done
if [ "${BENCH_BARRIERS:-}" = "" ]; then
    echo "bench/barriers.sh: BENCH_BARRIERS names no barrier; make bench-barriers sets it" >&2
    exit 1
fi
rm -rf "$out/barrier-runs"
mkdir -p "$out/barrier-runs"
: > "$stores"
: > "$programs"

wanted() { case $1 in "${BENCH_ONLY:-}"*) ;; *) return 1 ;; esac; }

# measure LIVE_MIB NAME ARGS...: rounds over all barriers, so that a slow minute hits all alike. As in bench/run.sh, the heap
# is three times the live data, and every run appends its --json to a file.
measure() {
    heap=$((3 * $1 > 32 ? 3 * $1 : 32)) workload=$2 log=$out/barrier-runs/hyperfine.log
    shift
    wanted "$workload" || return 0
    round=0
    while [ $round -lt "${BENCH_ROUNDS:-3}" ]; do
        round=$((round + 1))
        echo "== $*, round $round" >&2
        hyperfine_arguments "$*" | xargs hyperfine --style basic --warmup 1 --runs "$runs" > "$log" 2>&1 ||
            { cat "$log" >&2; exit 1; }
    done
    checks=$(cat "$out/barrier-runs/$workload".* | jq -r .check | sort -u | wc -l)
    [ "$checks" -eq 1 ] || { echo "bench/barriers.sh: the checks of $* differ, see $out/barrier-runs" >&2; exit 1; }
    for barrier in $BENCH_BARRIERS; do summarize "$*" "$barrier" "$out/barrier-runs/$workload.$barrier"; done >> "$programs"
}

hyperfine_arguments() {
    for barrier in $BENCH_BARRIERS; do
        echo "'$out/workloads-barrier-$barrier $1 --max-heap=$((heap * 1048576)) --json >> $out/barrier-runs/$workload.$barrier'"
    done
}

# summarize TEXT BARRIER FILE: a row: text, barrier, median and interquartile range of user+sys s; without each round's run to
# warm up.
summarize() {
    jq -rs --arg text "$1" --arg barrier "$2" --argjson runs "$runs" '
        def at(part): sort | .[(length * part | floor)];
        to_entries | map(select(.key % ($runs + 1) != 0).value | .user_s + .sys_s)
            | [$text, $barrier, at(0.5), at(0.75) - at(0.25)] | @tsv' "$3"
}

if wanted stores; then "$out/barriers" --tsv ${BENCH_REPS:+"--reps=$BENCH_REPS"} > "$stores"; fi
measure 12 binary-trees 17       # the stretch tree, of 2^19 nodes of 24 bytes
measure 61 lru 1000000 4000000  # 10^6 items of 56 bytes and the table

[ -s "$stores" ] || [ -s "$programs" ] || { echo "bench/barriers.sh: nothing begins with '${BENCH_ONLY:-}'" >&2; exit 1; }
awk -f bench/barriers_table.awk "$stores" "$programs" | tee "$out/barriers.txt"
awk -f bench/barriers_chart.awk "$stores" "$programs" > "$out/barriers.svg"
echo "chart: $out/barriers.svg, single runs: $out/barrier-runs" >&2
