#!/bin/sh
# Stack maps of random methods against uncompressed tables, and their size against that of the CLR's format.
# STACKMAPS: methods (5000; a tenth of them with the sanitizers). STACKMAPS_SEED: the first one's seed (1).
cd "$(dirname "$0")/../.." && . tests/tap.sh || exit
make -s tests/random/stackmaps.t
ok $? "the programs compile"
log=$(mktemp)
trap 'rm -f "$log"' EXIT

# stackmaps VARIANT ARGUMENTS..
stackmaps() {
    variant=$1
    shift
    timeout 600 build/tests/stackmaps-"$variant" "$@" > "$log" 2>&1
    ok $? "$variant: $(sed -n 's/^ok [0-9]* - //p' "$log" | paste -sd ';')"
    grep '^#' "$log"
    grep -q '^not ok\|ERROR\|error:' "$log" && sed 's/^/# /' "$log" | head -40 >&2
}
count=${STACKMAPS:-5000} seed=${STACKMAPS_SEED:-1}
stackmaps plain --count="$count" --seed="$seed"
stackmaps sanitize --count=$((count / 10)) --seed=$((seed + count))
stackmaps plain --sizes --count="$count" --seed="$seed"
finish
