#!/bin/sh
# Pauses of workloads whose full collections stop the program (concurrent 0), and of those that mark beside it (1), with a goal of GOAL
# (1000) microseconds: medians of ROUNDS (3) runs that alternate. Tab-separated.
set -e
rounds=${ROUNDS:-3}
goal=${GOAL:-1000}
program=${1:-build/bench/workloads}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
printf 'workload\tconcurrent\tlongest_ms\tp999_ms\tcpu_s\telapsed_s\tpeak_mib\n'
for workload in "binary-trees 19" "pause 200000 1000000 1024" "graph 1000000 5000000" "churn 1000000 10000000" "lru 1000000 8000000"; do
    : > "$log"
    for round in $(seq "$rounds"); do
        for concurrent in 0 1; do
            # shellcheck disable=SC2086
            $program $workload --concurrent=$concurrent --pause-goal="$goal" --json | awk -v concurrent=$concurrent '{
                split("pause_max_s pause_p999_s user_s sys_s wall_s rss_peak_bytes", names, " ")
                for (i in names) if (match($0, "\"" names[i] "\": *[0-9.e+-]+")) {
                    value = substr($0, RSTART, RLENGTH); sub(/.*: */, "", value); got[names[i]] = value
                }
            } END { print concurrent, got["pause_max_s"] * 1000, got["pause_p999_s"] * 1000, got["user_s"] + got["sys_s"], got["wall_s"],
                    got["rss_peak_bytes"] / 1048576 }' >> "$log"
        done
    done
    for concurrent in 0 1; do
        printf '%s\t%s' "$workload" $concurrent
        for column in 2 3 4 5 6; do
            awk -v t=$concurrent -v c=$column '$1 == t { print $c }' "$log" | sort -n | awk '{ v[NR] = $1 } END { printf "\t%.2f", v[int((NR + 1) / 2)] }'
        done
        echo
    done
done
