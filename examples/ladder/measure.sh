#!/bin/sh
# Runs every script on every rung, at the size that its first line names, and prints medians; RUNS=5 says of how many runs.
# Every run goes through all rungs before the next one, so that a slow moment of the machine hits them alike.
set -eu
cd "$(dirname "$0")/../.."
rungs="0 1 2 3 4 5 6"
rows=build/examples/ladder/measure.tsv
: > "$rows"
run=0
while [ $run -lt "${RUNS:-5}" ]; do
    run=$((run + 1))
    for script in examples/ladder/programs/*.calc; do
        n=$(sed -n '1s/.* bench \([0-9]*\):.*/\1/p' "$script")
        [ -n "$n" ] || continue
        for rung in $rungs; do
            stats=$(build/examples/ladder/rung$rung --stats "$script" "$n" 2>&1 > /dev/null | grep '^calc-stats')
            echo "$(basename "$script" .calc)-$n $rung $stats"
        done
    done >> "$rows"
done
awk '
    function median(key,   n, i, j, swap, v) {
        n = split(values[key], v, " ")
        for (i = 2; i <= n; i++)
            for (j = i; j > 1 && v[j - 1] + 0 > v[j] + 0; j--) { swap = v[j]; v[j] = v[j - 1]; v[j - 1] = swap }
        return v[int((n + 1) / 2)]
    }
    !($1 in seen) { seen[$1] = 1; order[++scripts] = $1 }
    {
        for (i = 4; i <= NF; i++) {
            split($i, pair, "=")
            key = pair[1] SUBSEP $1 SUBSEP $2
            values[key] = values[key] " " pair[2]
        }
    }
    END {
        count = split("seconds rss_peak_mib pause_max_ms collections", fields, " ")
        split("CPU time, s|peak memory, MiB|longest pause, ms|collections", titles, "|")
        split("%.2f %.0f %.1f %d", formats, " ")
        for (f = 1; f <= count; f++) {
            printf "| %s | 0 | 1 | 2 | 3 | 4 | 5 | 6 |\n|---|---|---|---|---|---|---|---|\n", titles[f]
            for (s = 1; s <= scripts; s++) {
                name = order[s]
                sub(/-/, " ", name)
                printf "| %s |", name
                for (rung = 0; rung <= 6; rung++)
                    if (fields[f] != "seconds" && fields[f] != "rss_peak_mib" && rung == 0) printf " - |"
                    else printf " " formats[f] " |", median(fields[f] SUBSEP order[s] SUBSEP rung)
                print ""
            }
            print ""
        }
    }' "$rows"
