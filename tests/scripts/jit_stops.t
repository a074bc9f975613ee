#!/bin/sh
# Compiled code of the example JIT is stopped anywhere: at random instructions and returns while another thread collects all
# the time. STOPS=100000 for that many collections in each mode.
cd "$(dirname "$0")/../.." || exit
. tests/tap.sh
jit=build/examples/jit
programs=examples/jit/programs
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
unset GC_STRESS GC_VERIFY GC_CHECKMARK

# number PATTERN: that which the report of --torture has at the parentheses of the pattern
number() { sed -n "s/^torture: .*$1.*/\1/p" "$dir/err" | grep . || echo 0; }

# What is right: the interpreter collects nothing.
$jit --interpret $programs/stops.jit 0 20000 > "$dir/expected"

# runs NAME VARIABLE=VALUE OPTIONS: prints what is right
runs() {
    check=$1 variable=$2 options=$3
    # shellcheck disable=SC2086 # several options
    env "$variable" $jit $options $programs/stops.jit "$stops" 20000 > "$dir/out" 2> "$dir/err"
    status=$?
    [ $status -eq 0 ] && cmp -s "$dir/out" "$dir/expected"
    same=$?
    ok $same "$check: $(sed -n 's/^torture: //p' "$dir/err")"
    [ $same -eq 0 ] || diag "exit status $status" "$(head -5 "$dir/err")" "$(head -5 "$dir/out")"
}

stops=${STOPS:-300}
for mode in debug release; do
    runs "$mode, stopped at random" LC_ALL=C "--$mode --torture"
    [ "$(number 'interrupted \([0-9]*\) times')" -gt 0 ]
    ok $? "$mode: threads are interrupted in loops without calls"
    [ "$(number 'stopped \([0-9]*\) times at a return')" -gt 0 ]
    ok $? "$mode: threads are stopped when a method returns"
    runs "$mode, stopped at random, verified" GC_VERIFY=1 "--$mode --torture"
done
runs 'release with polls, stopped at random' LC_ALL=C '--release --polls --torture'
is "$(number 'interrupted \([0-9]*\) times')" 0 'release with polls: no range is interruptible'
finish
