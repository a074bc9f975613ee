#!/bin/bash
# Measures gc-inspect upon 30 million objects in 1 GB (RECORDS=N: 3 N objects): seconds and memory of the answers about the live
# process, and how long a process stands still beyond the time for which gc-inspect says that it was stopped.
cd "$(dirname "$0")/.." || exit
dir=$(mktemp -d) && trap 'rm -rf "$dir"; kill $pids 2> /dev/null' EXIT
inspect=build/tools/gc-inspect pids=

# start ARGUMENT...: a heap, of which it waits until it is ready
start() {
    build/bench/inspect "$@" > "$dir/out" &
    pid=$! pids="$pids $!"
    until grep -q ready "$dir/out"; do sleep 0.2; done
}

start "${RECORDS:-10000000}"
address=$(sed -n 's/^ready //p' "$dir/out")
echo "load: $(cut -d' ' -f1-3 /proc/loadavg), $(nproc) processors"
$inspect "$pid" types | tail -1
for command in types "path $address" retained verify; do
    # shellcheck disable=SC2086 # a command and its argument
    $inspect --cost "$pid" $command 2>&1 > /dev/null | sed -n "s/^took/$command:/p"
done
kill "$pid"

start 100000 tick
for command in summary types "path $(sed -n 's/^ready //p' "$dir/out")" retained; do
    # shellcheck disable=SC2086
    $inspect "$pid" $command 2>&1 > /dev/null | sed -n "s/^process [0-9]* was/$command: a process of 300,000 objects was/p"
done
sleep 1
echo "the process itself: $(tail -1 "$dir/out")"
