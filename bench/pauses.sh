#!/bin/sh
# Pauses of workloads whose full collections stop the program (concurrent 0), and of those that mark beside it (1), with a goal of GOAL
# (1000) microseconds: medians of ROUNDS (3) runs that alternate. Tab-separated.
set -e
. bench/samples.sh
rounds=${ROUNDS:-3}
goal=${GOAL:-1000}
program=${1:-build/bench/workloads}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
printf 'workload\tconcurrent\tlongest_ms\tp999_ms\tcpu_s\telapsed_s\tpeak_mib\n'
for workload in "binary-trees 19" "pause 200000 1000000 1024" "graph 1000000 5000000" "churn 1000000 10000000" "lru 1000000 8000000"; do
    for round in $(seq "$rounds"); do
        for concurrent in 0 1; do
            # shellcheck disable=SC2086
            echo "$concurrent $($program $workload --concurrent=$concurrent --pause-goal="$goal" --json |
                fields pause_max_s pause_p999_s user_s sys_s wall_s rss_peak_bytes)"
        done
    done | awk '{ print $1, $2 * 1000, $3 * 1000, $4 + $5, $6, $7 / 1048576 }' > "$log"
    for concurrent in 0 1; do
        printf '%s\t%s' "$workload" $concurrent
        for column in 2 3 4 5 6; do printf '\t%.2f' "$(median "$log" $concurrent $column)"; done
        echo
    done
done
