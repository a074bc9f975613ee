#!/bin/sh
# The second ladder: the bytecode VM at every rung runs every script, plainly, and verified under stress.
cd "$(dirname "$0")/../.." && . tests/tap.sh || exit
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
unset GC_STRESS GC_VERIFY GC_CHECKMARK
ulimit -c 0
programs=build/examples/vm
scripts=examples/vm/tests
bench=examples/vm/bench
rungs="0 $(cd examples/vm/rungs 2> /dev/null && ls | sed 's/\.patch$//' | sort -n | tr '\n' ' ')"

make -s tests/scripts/vm.t
ok $? 'all rungs compile'

is "$(for script in $scripts/*.sprig $bench/*.sprig; do [ -s "${script%.sprig}.expected" ] || echo "$script"; done)" '' \
    'every script has its output'
for rung in $rungs; do all "rung $rung" $programs/vm"$rung" LC_ALL=C $scripts/*.sprig $bench/*.sprig; done
top=$(echo "$rungs" | tr ' ' '\n' | sed '/^$/d' | tail -1)
all "rung $top with a switch" $programs/vm"$top"-VM_SWITCH LC_ALL=C $scripts/*.sprig
all 'rung 0 with a switch' $programs/vm0-VM_SWITCH LC_ALL=C $scripts/*.sprig
all 'rung 0, its own collector at every allocation' $programs/vm0 VM_STRESS=1 $scripts/*.sprig $bench/*.sprig

# docs/porting.md says how large each step is.
for rung in $rungs; do
    [ "$rung" -eq 0 ] && continue
    patch=examples/vm/rungs/$rung.patch
    step="+$(grep '^+' "$patch" | grep -vc '^+++ ') -$(grep '^-' "$patch" | grep -vc '^--- ')"
    matches "$(grep "^## Rung $rung:" docs/porting.md)" "\\$step lines" "docs/porting.md: the step to rung $rung is $step lines"
done

# Under stress and verify. All scripts at every allocation take minutes: make soak does that.
for rung in $rungs; do
    [ "$rung" -eq 0 ] && continue
    if [ "${VM_FULL:-0}" = 1 ]; then
        all "rung $rung, at every allocation" $programs/vm"$rung" 'GC_VERIFY=1 GC_CHECKMARK=1 GC_STRESS=allocation' $scripts/*.sprig $bench/*.sprig
        all "rung $rung, at every seventh allocation" $programs/vm"$rung" 'GC_VERIFY=1 GC_STRESS=7' $scripts/*.sprig $bench/*.sprig
    fi
    all "rung $rung, verified" $programs/vm"$rung" 'GC_VERIFY=1 GC_CHECKMARK=1 GC_STRESS=300' $scripts/*.sprig $bench/*.sprig
    all "rung $rung, at each place that allocates" $programs/vm"$rung" 'GC_VERIFY=1 GC_STRESS=stack' $scripts/c*.sprig $scripts/try.sprig
    all "rung $rung, at every allocation" $programs/vm"$rung" 'GC_VERIFY=1 GC_STRESS=allocation' \
        $scripts/closures.sprig $scripts/classes.sprig $scripts/coroutines.sprig $scripts/words.sprig $scripts/error_*.sprig
done
finish
