#!/bin/sh
# Random handles and finalizers against a shadow model, in every mode, with regions of several sizes and the sanitizers.
# HANDLES_OPS: operations for each mode and seed (10000).
cd "$(dirname "$0")/../.." && . tests/tap.sh || exit
make -s tests/random/handles.t
ok $? "the programs compile"
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# handles VARIANT OPS SEED..
handles() {
    variant=$1 count=$2
    shift 2
    for seed; do
        timeout 300 build/tests/handles-"$variant" --ops="$count" --seed="$seed" > "$log" 2>&1
        ok $? "$variant, seed $seed: $(awk '/^ok/ { for (i = 1; i < NF; i++) if ($(i + 1) ~ /^(operations|collections)/) n[$(i + 1)] += $i }
            END { print n["operations,"] + 0, "operations,", n["collections,"] + 0, "collections" }' "$log")"
        grep -q '^1\.\.' "$log" || sed 's/^/# /' "$log" | head -40 >&2
    done
}
ops=${HANDLES_OPS:-10000}
handles shift16 "$ops" 1 2 3
handles shift18 "$ops" 4 5 6
handles shift22 "$ops" 7
handles debug "$ops" 8 9
handles sanitize "$ops" 10
# Collector threads, at once and in turns.
export GC_COLLECTOR_THREADS=3 GC_TEST_COLLECTORS
for GC_TEST_COLLECTORS in 1 9; do handles shift18 "$ops" 11; done
finish
