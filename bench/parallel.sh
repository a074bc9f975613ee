#!/bin/sh
# Workloads with 1, 2 and 8 collector threads, alternating: elapsed and CPU time, medians of ROUNDS (5) runs, beside one thread.
set -e
rounds=${ROUNDS:-5}
program=${1:-build/bench/workloads}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
echo "workload                          threads  elapsed s  CPU s  pauses s  elapsed x  CPU x"
for workload in "binary-trees 20" "lru 1000000 10000000" "graph 1000000 4000000" "churn 200000 5000000"; do
    : > "$log"
    for round in $(seq "$rounds"); do
        for threads in 1 2 8; do
            # shellcheck disable=SC2086
            $program $workload --collector-threads=$threads --json | awk -v threads=$threads '{
                for (name in wanted) delete wanted[name]
                split("wall_s user_s sys_s pause_total_s", names, " ")
                for (i in names) if (match($0, "\"" names[i] "\": *[0-9.e+-]+")) {
                    value = substr($0, RSTART, RLENGTH); sub(/.*: */, "", value); got[names[i]] = value
                }
            } END { print threads, got["wall_s"], got["user_s"] + got["sys_s"], got["pause_total_s"] }' >> "$log"
        done
    done
    for threads in 1 2 8; do
        for column in 2 3 4; do
            awk -v t=$threads -v c=$column '$1 == t { print $c }' "$log" | sort -n | awk '{ v[NR] = $1 } END { printf "%s ", v[int((NR + 1) / 2)] }'
        done
        echo
    done | awk -v name="$workload" 'NR == 1 { e = $1; c = $2 }
        { printf "%-33s %7d %10.2f %6.2f %9.2f %10.2f %6.2f\n", name, NR < 3 ? NR : 8, $1, $2, $3, $1 / e, $2 / c }'
done
