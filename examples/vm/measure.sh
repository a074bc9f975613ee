#!/bin/sh
# Runs the programs in bench/ on the rungs that are named, and prints a row for each: program, rung, cpu_s, peak_mib. Of RUNS runs
# it prints the median; each goes through all rungs before the next one, so that a slow moment of the machine hits them alike.
set -eu
cd "$(dirname "$0")/../.."
run=0
while [ $run -lt "${RUNS:-5}" ]; do
    run=$((run + 1))
    for script in examples/vm/bench/${ONLY:-*}.sprig; do
        n=$(sed -n '1s/.* bench \([0-9]*\):.*/\1/p' "$script")
        for rung; do
            echo "$(basename "$script" .sprig) $rung $(build/examples/vm/vm"$rung" --stats "$script" "$n" 2>&1 > /dev/null)"
        done
    done
done | awk '
    function median(key,   n, i, j, swap, v) {
        n = split(values[key], v, " ")
        for (i = 2; i <= n; i++)
            for (j = i; j > 1 && v[j - 1] + 0 > v[j] + 0; j--) { swap = v[j]; v[j] = v[j - 1]; v[j - 1] = swap }
        return v[int((n + 1) / 2)]
    }
    !(($1, $2) in values_seen) { values_seen[$1, $2] = 1; order[++rows] = $1 SUBSEP $2 }
    {
        split($4, cpu, "=")
        split($5, peak, "=")
        values[$1, $2, "cpu"] = values[$1, $2, "cpu"] " " cpu[2]
        values[$1, $2, "peak"] = values[$1, $2, "peak"] " " peak[2]
    }
    END {
        print "program\trung\tcpu_s\tpeak_mib"
        for (r = 1; r <= rows; r++) {
            split(order[r], key, SUBSEP)
            printf "%s\t%s\t%s\t%s\n", key[1], key[2], median(order[r] SUBSEP "cpu"), median(order[r] SUBSEP "peak")
        }
    }'
