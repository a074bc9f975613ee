#!/bin/sh
# Workloads with 1, 2 and 8 collector threads, alternating: elapsed and CPU time, medians of ROUNDS (5) runs, beside one thread.
set -e
. bench/samples.sh
rounds=${ROUNDS:-5}
program=${1:-build/bench/workloads}
log=$(mktemp)
trap 'rm -f "$log"' EXIT
echo "workload                          threads  elapsed s  CPU s  pauses s  elapsed x  CPU x"
for workload in "binary-trees 20" "lru 1000000 10000000" "graph 1000000 4000000" "churn 200000 5000000"; do
    for round in $(seq "$rounds"); do
        for threads in 1 2 8; do
            # shellcheck disable=SC2086
            echo "$threads $($program $workload --collector-threads=$threads --json | fields wall_s user_s sys_s pause_total_s)"
        done
    done | awk '{ print $1, $2, $3 + $4, $5 }' > "$log"
    for threads in 1 2 8; do
        echo "$(median "$log" $threads 2) $(median "$log" $threads 3) $(median "$log" $threads 4)"
    done | awk -v name="$workload" 'NR == 1 { e = $1; c = $2 }
        { printf "%-33s %7d %10.2f %6.2f %9.2f %10.2f %6.2f\n", name, NR < 3 ? NR : 8, $1, $2, $3, $1 / e, $2 / c }'
done
