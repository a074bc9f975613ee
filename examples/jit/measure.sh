#!/bin/sh
# Processor time of the JIT's programs, and of the tree program in C by gcc -O1, with malloc and on gc.h: medians of RUNS (5)
# runs, in seconds. Every run goes through all of them, so that a slow moment of the machine hits them alike.
set -eu
cd "$(dirname "$0")/../.."
rows=build/examples/jit.measured
programs=examples/jit/programs

# seconds NAME COMMAND...: adds a row
seconds() {
    row=$1
    shift
    { time -p "$@" > /dev/null; } 2>&1 | awk -v name="$row" '/^user|^sys/ { sum += $2 } END { printf "%s\t%.2f\n", name, sum }' >> "$rows"
}

: > "$rows"
run=0
while [ $run -lt "${RUNS:-5}" ]; do
    run=$((run + 1))
    seconds 'trees 18, gcc -O1, malloc and free' build/examples/jit-trees 18
    seconds 'trees 18, gcc -O1, on gc.h' build/examples/jit-trees_gc 18
    while read -r name argument; do
        for mode in release debug; do
            seconds "$name $argument, jit --$mode" build/examples/jit --$mode $programs/"$name".jit "$argument"
        done
    done << END
trees 18
nbody 200000
sort 500000
table 500000
matrix 300
END
done
awk -F'\t' '
    !($1 in values) { order[++count] = $1 }
    { values[$1] = values[$1] " " $2 }
    END {
        for (i = 1; i <= count; i++) {
            n = split(values[order[i]], v, " ")
            for (j = 2; j <= n; j++)
                for (k = j; k > 1 && v[k - 1] + 0 > v[k] + 0; k--) { swap = v[k]; v[k] = v[k - 1]; v[k - 1] = swap }
            printf "%-40s %6.2f   (%s to %s)\n", order[i], v[int((n + 1) / 2)], v[1], v[n]
        }
    }' "$rows"
