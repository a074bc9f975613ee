#!/bin/sh
# Random programs, compiled and interpreted: jit.sh FIRST_SEED COUNT [STATEMENTS]. Each runs in both modes, plainly, with a small
# nursery, collected at every allocation, and collected all the time by another thread; all must print what the interpreter does.
# Every STEPS-th one (6) is collected before every instruction as well, which takes seconds.
# Prints the seed and the command of what does not.
cd "$(dirname "$0")/../.." || exit
jit=build/examples/jit first=$1 count=$2 statements=${3:-60}
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
unset GC_STRESS GC_VERIFY GC_CHECKMARK
failures=0 runs=0 errors=0

# compare VARIABLE=VALUE OPTIONS
compare() {
    # shellcheck disable=SC2086 # several words
    env "$1" timeout 300 $jit $2 "$dir/program.jit" $arguments > "$dir/out" 2> "$dir/err"
    status=$?
    grep -v -e '^torture:' -e '^step:' "$dir/err" >> "$dir/out"
    runs=$((runs + 1))
    if [ $status -ne $expected ] || ! cmp -s "$dir/out" "$dir/expected"; then
        failures=$((failures + 1))
        echo "# seed $seed: tests/random/jit.pl $seed $statements > p.jit; $1 $jit $2 p.jit $arguments: status $status"
        diff "$dir/out" "$dir/expected" | head -5 | sed 's/^/#   /'
    fi
}

# interpret ARGUMENTS: what is expected
interpret() {
    arguments=$1
    # shellcheck disable=SC2086
    $jit --interpret "$dir/program.jit" $arguments > "$dir/expected" 2> "$dir/err"
    expected=$?
    cat "$dir/err" >> "$dir/expected"
    [ $expected -le 1 ] || echo "# seed $seed: the interpreter ends with status $expected: $(head -1 "$dir/err")"
    [ $expected -eq 0 ] || errors=$((errors + 1))
}

# Adds how often the thread was stopped, which --torture reports.
stops=0
count_stops() {
    counted=$(sed -n 's/^torture: .*interrupted \([0-9]*\) times.*stopped \([0-9]*\) times at a return.*/\1 + \2/p' "$dir/err")
    stops=$((stops + ${counted:-0}))
}

seed=$first
while [ "$seed" -lt $((first + count)) ]; do
    perl tests/random/jit.pl "$seed" "$statements" > "$dir/program.jit" || exit
    interpret '100000 100'
    for mode in --debug --release; do
        compare GC_VERIFY=1 "$mode --nursery=64K"
        compare LC_ALL=C "$mode --torture"
        count_stops
    done
    compare LC_ALL=C '--release --polls --torture'
    interpret '150 2'
    for mode in --debug --release; do compare GC_STRESS=allocation $mode; done
    if [ $((seed % ${STEPS:-6})) -eq 0 ]; then
        interpret '20 1'
        for mode in --debug --release; do compare LC_ALL=C "$mode --step"; done
    fi
    seed=$((seed + 1))
done
echo "# $count programs in $runs runs, stopped by force $stops times; $errors of the expected outputs end with a runtime error"
[ $failures -eq 0 ]
