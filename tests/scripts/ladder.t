#!/bin/sh
# The porting ladder: every rung runs every script, plainly, verified and under stress; and docs/porting.md and docs/porting_calc.md are true.
cd "$(dirname "$0")/../.." && . tests/tap.sh || exit
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
unset GC_STRESS GC_VERIFY GC_CHECKMARK
ulimit -c 0
programs=build/examples/ladder
scripts=examples/ladder/programs

make -s tests/scripts/ladder.t
ok $? 'all rungs compile'

verified='GC_VERIFY=1 GC_CHECKMARK=1'
is "$(for script in "$scripts"/*.calc; do [ -s "${script%.calc}.expected" ] || echo "$script"; done)" '' 'every script has its output'
for rung in 0 1 2 3 4 5 6; do all "rung $rung" $programs/rung$rung LC_ALL=C $scripts/*.calc; done
for rung in 1 2; do
    all "rung $rung, verified" $programs/rung$rung "$verified GC_STRESS=50" $scripts/*.calc
    all "rung $rung, at every allocation" $programs/rung$rung 'GC_VERIFY=1 GC_STRESS=allocation' \
        $scripts/language.calc $scripts/window.calc
done
for rung in 3 4 5 6; do
    all "rung $rung, stress by stack" $programs/rung$rung "$verified GC_STRESS=stack" $scripts/*.calc
    all "rung $rung, at every allocation" $programs/rung$rung 'GC_VERIFY=1 GC_STRESS=allocation' \
        $scripts/language.calc $scripts/mistakes.calc $scripts/window.calc
done
for rung in 1 2 3 4 5 6; do
    all "rung $rung, sanitized" $programs/sanitize/rung$rung UBSAN_OPTIONS=print_stacktrace=1 $scripts/*.calc
    all "rung $rung, sanitized, under stress" $programs/sanitize/rung$rung "$verified GC_STRESS=100" \
        $scripts/language.calc $scripts/mistakes.calc
done

for mistake in rung3-FORGET_ROOT rung4-FORGET_BARRIER rung5-FORGET_ROOT rung5-FORGET_ADDRESS; do
    all "$mistake, without stress: it does not show" $programs/$mistake LC_ALL=C $scripts/mistakes.calc
done

# Each rung collects.
for rung in 1 2 3 4 5 6; do
    collections=$($programs/rung$rung --stats $scripts/tables.calc 40000 2>&1 | sed -n 's/.* collections=\([0-9]*\) .*/\1/p')
    test "${collections:-0}" -ge 1
    ok $? "rung $rung collects"
done

# Errors of a script: where, and no report of gc.h's.
printf 'fn f(x) { return 1 + f(x + 1); }\nf(1);\n' > "$dir/deep.calc"
printf 'let a = [1];\nprint(a[0] + "b");\n' > "$dir/type.calc"
printf 'print(b);\n' > "$dir/name.calc"
for rung in 0 1 2 3 4 5 6; do
    said=$(cd "$dir" && for script in deep type name; do "$OLDPWD/$programs/rung$rung" $script.calc 2>&1; done)
    is "$said" 'deep.calc:1: error: more than 4000 calls within one another
type.calc:2: error: this operator does not take a number and a string
name.calc:1: error: b is not defined' "rung $rung, errors of scripts"
done

# In both pages each command prints the lines that are shown below it, except for addresses, offsets, and counts of collections.
normal() { sed -E 's/0x[0-9a-f]+/0x/g; s/(collection|generation|offset) [0-9]+/\1/g; s/[ \t]+$//'; }
awk -v dir="$dir" '
    /^```/ { inside = !inside; file = ""; next }
    !inside { next }
    /^\$ / { file = sprintf("%s/shown-%02d", dir, ++count); print substr($0, 3) > (file ".sh"); next }
    file && $0 != "..." { print > (file ".lines") }' docs/porting.md docs/porting_calc.md
for command in "$dir"/shown-*.sh; do
    sh "$command" 2>&1 | normal > "$dir/output"
    missing=$(normal < "${command%.sh}.lines" | grep -vxFf "$dir/output")
    is "$missing" '' "the pages: $(cat "$command")"
    [ -z "$missing" ] || diag "$(head -20 "$dir/output")"
done
count=$(find "$dir" -name 'shown-*.sh' | wc -l)
test "$count" -ge 6
ok $? "the pages show $count commands"

# And the size of each step.
for rung in 1 2 3 4 5 6; do
    steps=$(diff examples/ladder/rung$((rung - 1)).c examples/ladder/rung$rung.c)
    step="+$(echo "$steps" | grep -c '^>') -$(echo "$steps" | grep -c '^<')"
    matches "$(grep "^## Rung $rung:" docs/porting_calc.md)" "\\$step lines" "docs/porting_calc.md: the step to rung $rung is $step lines"
done
finish
