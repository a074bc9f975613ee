#!/bin/sh
# Small runs of every workload over every memory manager: the same checks everywhere, whole JSON, errors of usage.
cd "$(dirname "$0")/../.." && . tests/tap.sh || exit
programs="workloads workloads-malloc workloads-mimalloc workloads-bdwgc"

make -s tests/scripts/workloads.t
ok $? "the four programs compile"

# fields JSON NAME...: the values, a line each, parts of an array separated by blanks; nothing if JSON is not one whole object
fields() {
    object=$1
    shift
    printf '%s' "$object" | perl -MJSON::PP -e '
        my $object = decode_json(join "", <STDIN>);
        for my $value (map { $object->{$_} } @ARGV) {
            print ref $value ? join(" ", @$value) : defined $value ? $value : "missing", "\n";
        }' "$@" 2>&1
}
field() { fields "$2" "$1"; }

# numbers JSON NAME FIELDS: each of the fields is a number
numbers() {
    json=$1 name=$2
    shift 2
    is "$(fields "$json" "$@" | grep -Ecx '[0-9.]+([eE][-+]?[0-9]+)?')" $# "$name --json: these are numbers: $*"
}

# same_check CHECK LINE ARGUMENTS: workloads prints LINE, and the JSON of every program has CHECK
same_check() {
    check=$1 line=$2
    shift 2
    matches "$(build/bench/workloads "$@")" "^$line\$" "workloads $*: $line"
    for program in $programs; do
        json=$(build/bench/"$program" "$@" --json)
        is $? 0 "$program $* --json: exit status"
        is "$(printf '%s\n' "$json" | wc -l)" 1 "$program $* --json: one line"
        is "$(fields "$json" check name args | xargs)" "$check $*" "$program $* --json: check, name and args"
        numbers "$json" "$program $1" user_s sys_s wall_s rss_peak_bytes
    done
}

same_check c112926c5d4aa136 'lru checksum c112926c5d4aa136' lru 10000 1000000
same_check 7c79c48299edc3e8 'pause checksum 7c79c48299edc3e8' pause 2000 20000 1024
# 2^12 - 1 nodes of the stretch tree, the trees of 4 depths, 2^11 - 1 nodes of the one that lives.
same_check 135854 '256	 trees of depth 6	 check: 32512' binary-trees 10
# The long-lived tree of 2^17 - 1 nodes and 500,000 right numbers.
same_check 631071 'gcbench check 631071' gcbench 1
same_check 1262142 'gcbench check 1262142' gcbench 2
same_check a0dd1ed5e2f4a4d8 'churn checksum a0dd1ed5e2f4a4d8' churn 1000 30000
same_check c248582ddb39c876 'graph checksum c248582ddb39c876' graph 1000 30000
# 300,000 * 299,999 / 2
same_check 0000000a7a333810 'alloc checksum 0000000a7a333810' alloc 300000

json=$(build/bench/workloads lru 10000 100000 --json --print-pauses=1 2> /dev/null)
numbers "$json" "workloads lru" pause_p999_s pause_max_s utilisation_1ms utilisation_10ms utilisation_100ms
matches "$(build/bench/workloads lru 10000 100000 --print-pauses=1 2>&1)" ' ms at .* collection [0-9]+ of generation [0-2] .*: .' "--print-pauses says why pauses were long"

for program in $programs; do
    json=$(build/bench/"$program" pause 2000 20000 1024 --json)
    numbers "$json" "$program pause" push_mean_s push_p50_s push_p99_s push_p999_s push_p9999_s push_max_s
    json=$(build/bench/"$program" alloc 300000 --json)
    numbers "$json" "$program alloc" ns_per_object
done

json=$(build/bench/workloads lru 10000 1000000 --nursery=1048576 --max-heap=67108864 --json)
is "$(field check "$json")" c112926c5d4aa136 "the nursery and the heap can be bounded"
matches "$(field collections "$json")" '^[0-9]+ [0-9]+ [0-9]+$' "collections is an array of three numbers"
test "$(field collections "$json" | awk '{ print $1 + $2 + $3 }')" -ge 30
ok $? "a small nursery is collected often"
numbers "$json" "workloads lru" pause_total_s pause_max_s pause_p999_s
page=$(build/bench/workloads lru 10000 1000000)
matches "$page" '^collections: [0-9]+ \+ [0-9]+ \+ [0-9]+ = [0-9]+ ' "the page has collections"
matches "$page" '^pauses: total [0-9.]+ s, longest [0-9.]+ ms, p99.9 [0-9.]+ ms$' "the page has pauses"
matches "$page" '^peak RSS: [0-9.]+ MiB$' "the page has peak RSS"

# fails STATUS PATTERN ARGUMENTS: the program says why, on stderr only
fails() {
    status=$1 pattern=$2
    shift 2
    for program in workloads workloads-malloc; do
        said=$(build/bench/"$program" "$@" 2>&1 > /dev/null)
        is $? "$status" "$program $*: exit status"
        matches "$said" "$pattern" "$program $*: says why"
    done
}

fails 2 'name of a workload is missing'
fails 2 "no workload 'trees'" trees 10
fails 2 'argument N is missing' binary-trees
fails 2 "N must be a number, not 'ten'" binary-trees ten
fails 2 "N must be a number, not '10x'" binary-trees 10x
fails 2 'N must be 4 to 32, not 33' binary-trees 33
fails 2 'argument M is missing' lru 10
fails 2 'N must be 1 to' lru 0 10
fails 2 'M must be 0 to' lru 10 99999999999999999999
fails 2 'BYTES must be 513 to' pause 10 10 512
fails 2 'one argument too many' gcbench 1 1
fails 2 "unknown option '--jason'" alloc --jason
fails 2 "unknown option '-5'" alloc -5
fails 2 "nursery must be a number, not ''" alloc --nursery=
fails 2 'max-heap must be 1 to' alloc --max-heap=0

# within PROGRAM INTERVAL LIMITS ARGUMENTS: the workload runs with heaps of LIMITS percent of its largest live data, which a run
# that collects at every INTERVAL-th allocation finds out.
within() {
    program=$1 interval=$2 limits=$3
    shift 3
    json=$(GC_STRESS=$interval build/bench/"$program" "$@" --json)
    live=$(field live_peak_bytes "$json") check=$(field check "$json")
    matches "$live" '^[0-9]{7,}$' "$program $*: some megabytes live"
    for percent in $limits; do
        got=$(build/bench/"$program" "$@" --max-heap=$((live / 100 * percent)) --json 2> build/bench/within.txt)
        is $? 0 "$program $*: ends with a heap of $percent % of what lives"
        is "$(field check "$got")" "$check" "$program $*: its check in $percent %"
        diag "$program $*, $percent %: $(field collections "$got") collections $(cat build/bench/within.txt)"
    done
}

make -s build/bench/workloads-regions-1m
ok $? "the program with small regions compiles"
# shellcheck disable=SC2086 # the arguments of a workload
{
    for args in 'lru 150000 900000' 'churn 60000 600000' 'graph 100000 1000000' 'binary-trees 16' 'gcbench 1'; do
        within workloads-regions-1m 5000 '150 160 175 200 250' $args
    done
    for args in 'lru 400000 2000000' 'churn 250000 1000000' 'graph 200000 1500000'; do
        within workloads 50000 '150 200' $args
    done
}

build/bench/workloads pause 200000 200000 1024 --max-heap=67108864 > /dev/null 2> build/bench/limit.txt
is $? 1 "a heap that is too small: exit status"
matches "$(cat build/bench/limit.txt)" 'heap_bytes_max' "a heap that is too small: says why"
build/bench/workloads lru 4294967296 1 --max-heap=67108864 > /dev/null 2> build/bench/limit.txt
is $? 1 "a table that can never fit: exit status"
matches "$(cat build/bench/limit.txt)" 'heap_bytes_max' "a table that can never fit: says why"
finish
