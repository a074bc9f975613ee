#!/bin/sh
# Twelve random programs in the example JIT; jit.sh says how, and runs any number.
cd "$(dirname "$0")/../.." || exit
. tests/tap.sh
report=$(tests/random/jit.sh 1 12)
ok $? "compiled and interpreted programs print the same: $(printf '%s\n' "$report" | tail -1)"
[ $failures -eq 0 ] || printf '%s\n' "$report" >&2
finish
