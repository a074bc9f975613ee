#!/bin/sh
# Writes examples/vm/rungs/N.patch: what changes from build/examples/vm/rung(N-1) to rungN.
set -eu
cd "$(dirname "$0")/../../build/examples/vm"
before=
for rung; do
    if [ -n "$before" ]; then
        diff -ruN -U1 -x sources "rung$before" "rung$rung" | sed -E '/^diff /d; s/^(---|\+\+\+) (.*)\t.*/\1 \2/' > ../../../examples/vm/rungs/"$rung".patch || true
    fi
    before=$rung
done
