# shellcheck shell=sh
# Shared by the tests over random programs. RANDOM_OPS: operations for each mode of a full configuration (6000).
. tests/tap.sh
# compiled TARGET: with what it needs
compiled() {
    make -s "$1"
    ok $? "the programs compile"
}
ops=${RANDOM_OPS:-6000}
operations=0
log=$(mktemp)
trap 'rm -f "$log"' EXIT
# A field as reports name it.
field='(field `[a-z0-9]+`|element [0-9]+|the slot at offset [0-9]+) .*of `[a-z0-9]+`'

# random VARIANT OPS SEED [OPTION]: all modes of a configuration
random() {
    build/tests/random-"$1" --ops="$2" --seed="$3" ${4:+"$4"} > "$log" 2>&1
    status=$?
    total=$(sed -n 's/^ok .*: \([0-9]*\) operations.*/\1/p' "$log" | awk '{ sum += $1 } END { print sum + 0 }')
    operations=$((operations + total))
    ok $status "$1${4:+ $4}: $total operations, seed $3"
    [ $status -eq 0 ] || sed 's/^/# /' "$log" >&2
}
