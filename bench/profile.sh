#!/bin/sh
# What profiles cost: a row for each program and kind of profile, with the CPU time in percent of a run without one; the last
# column is what starting and writing the profile takes, in ms. Programs in Scheme are made shorter (see slices.h).
#     BENCH_RUNS=100     rounds
#     BENCH_ONLY=binary  only programs whose labels begin so
set -eu
cd "$(dirname "$0")/.."
rounds=${BENCH_RUNS:-100}
short=build/bench/short
mkdir -p $short

# measure LABEL PROGRAM ARGS...
measure() {
    label=$1 program=$2
    shift 2
    case $label in "${BENCH_ONLY:-}"*) "build/bench/profile_$program" "$rounds" "$label" "$@" ;; esac
}

# scheme NAME EDITS: the program with other numbers
scheme() {
    sed "$2" "examples/scheme/programs/$1.scm" > "$short/$1.scm"
    measure "scheme $1" scheme "$short/$1.scm"
}

printf '%-18s %7s   %-15s %6s   %-15s   %8s\n' program ms profile % '95 %' 'write ms'
measure 'binary-trees 15' workloads binary-trees 15
measure 'lru' workloads lru 200000 500000
scheme derive 's/(= i 80)/(= i 5)/; s/ 6 2)/ 4 2)/; s/ 9 3)/ 5 3)/'
scheme json 's/iota 10000/iota 1000/'
scheme lru 's/(simulate 100 20000 100000)//; s/400000)/20000)/'
scheme meta 's/(fib 24)/(fib 15)/; s/4000/300/; s/repeat 150/repeat 20/'
scheme queens 's/(show 11)/(show 9)/; s/ 9 10/ 9/'
scheme sieve 's/2000000/300000/; s/10000)/2000)/; s/ 999)/ 400)/'
