#!/bin/sh
# Pauses of workloads over gc.h, whose full collections stop the program ("stopping") or mark beside it ("concurrent"), and of the
# same programs in Go and Java where these are installed; gc.h has a goal of GOAL (1000) microseconds, and all have the same limit.
# Medians of ROUNDS (3) runs that alternate. Tab-separated: "step" is the longest step of the program as it sees it itself, stops are
# what the collector says of itself, and CPU time that of all threads.
#     ONLY="lru graph"       only these workloads
#     SIDES="stopping go"    only these sides
#     SIZE=large             1 GB live instead of 60 to 200 MB
set -e
. bench/samples.sh
rounds=${ROUNDS:-3}
goal=${GOAL:-1000}
peers=build/bench/peers
dir=$(mktemp -d)
trap 'rm -rf "$dir"' EXIT

without() { echo "bench/pauses.sh: left out: $1: $2 (tools/setup bench-pauses installs it)" >&2; }

sides="stopping concurrent"
if [ -x $peers/workloads-go ]; then sides="$sides go"; else without go "no Go compiler was found"; fi
if [ -f $peers/Workloads.class ]; then
    for collector in Z Shenandoah G1 Parallel; do
        if java "-XX:+Use${collector}GC" -version > /dev/null 2>&1; then
            sides="$sides java-$collector"
        else
            without "java-$collector" "this Java has no such collector"
        fi
    done
else
    without java "no Java compiler was found"
fi
sides=${SIDES:-$sides}

# run SIDE LIMIT_MIB NAME ARGS...: the report as a JSON object in a line
run() {
    side=$1 limit=$2
    shift 2
    case $side in
    stopping) build/bench/workloads-steps "$@" --concurrent=0 --pause-goal="$goal" --max-heap=$((limit << 20)) --json ;;
    concurrent) build/bench/workloads-steps "$@" --concurrent=1 --pause-goal="$goal" --max-heap=$((limit << 20)) --json ;;
    go) $peers/workloads-go "$@" --max-heap=$((limit << 20)) ;;
    java-*) java "-XX:+Use${side#java-}GC" "-Xmx${limit}m" "-Xlog:safepoint:file=$dir/safepoints:none:filecount=0" \
        -cp $peers Workloads "$@" ;;
    esac
}

# Adds what the log of safe points says to the report of a Java program.
with_pauses() {
    stops=$(sed -n 's/.*Total: *\([0-9]*\) ns.*/\1/p' "$dir/safepoints" | sort -n |
        awk '{ v[NR] = $1 } END { i = int(0.999 * NR); if (i < 0.999 * NR) i++
                                 printf "\"pause_p999_s\": %.9f, \"pause_max_s\": %.9f", v[i] / 1e9, v[NR] / 1e9 }')
    sed "s/}\$/, $stops}/"
}

# measure LIMIT_MIB NAME ARGS...
measure() {
    limit=$1
    shift
    case " ${ONLY:-$1} " in *" $1 "*) ;; *) return 0 ;; esac
    : > "$dir/log"
    for _ in $(seq "$rounds"); do
        for side in $sides; do
            if ! run "$side" "$limit" "$@" > "$dir/json" 2> "$dir/error"; then
                echo "bench/pauses.sh: $* over $side failed: $(head -1 "$dir/error")" >&2
                continue
            fi
            case $side in java-*) with_pauses < "$dir/json" > "$dir/whole" && mv "$dir/whole" "$dir/json" ;; esac
            sed 's/.*"check": "\([^"]*\)".*/\1/' "$dir/json" >> "$dir/checks"
            echo "$side $(fields step_max_s pause_p999_s pause_max_s user_s sys_s wall_s rss_peak_bytes < "$dir/json")" |
                awk '{ print $1, $2 * 1000, $3 * 1000, $4 * 1000, $5 + $6, $7, $8 / 1048576 }' >> "$dir/log"
        done
    done
    [ "$(sort -u "$dir/checks" | wc -l)" -eq 1 ] || { echo "bench/pauses.sh: the checks of $* differ" >&2; exit 1; }
    rm "$dir/checks"
    for side in $sides; do
        grep -q "^$side " "$dir/log" || continue
        printf '%s\t%s' "$*" "$side"
        for column in 2 3 4 5 6 7; do printf '\t%.2f' "$(median "$dir/log" "$side" $column)"; done
        echo
    done
}

printf 'workload\tside\tstep_ms\tstop_p999_ms\tstop_max_ms\tcpu_s\telapsed_s\tpeak_mib\n'
if [ "${SIZE:-}" = large ]; then
    measure 3500 binary-trees 23
    measure 3500 pause 1000000 5000000 1024
    measure 3500 graph 7000000 20000000
    measure 3500 churn 6000000 30000000
    measure 3500 lru 16000000 32000000
else
    measure 256 binary-trees 19
    measure 768 pause 200000 1000000 1024
    measure 640 graph 1000000 5000000
    measure 640 churn 1000000 10000000
    measure 256 lru 1000000 8000000
fi
