#!/bin/bash
# Names of compiled code: in profiles; in perf maps and jitdumps, which perf reads where it is installed and permitted.
cd "$(dirname "$0")/../.." && . tests/tap.sh || exit
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
[ "$(uname -m)" = x86_64 ] || { skip "compiled code" "its code is for x86-64"; finish; }

gcc -std=c11 -O1 -g -Wall -Wextra -Werror -Isrc -pthread tests/profile/jit.c -o "$dir/jit"
ok $? "the program is compiled"
pid=$(cd "$dir" && GC_PROFILE=jit.folded,period=1 ./jit)
is "$(sed 's/^.*;main;//' "$dir/jit.folded")" "before;allocate_one;node 32
gc_code_call;gc__code_enter;compiled;gc_code_call_native;allocate_one;node 32
gc_code_call;gc__code_enter;later;gc_code_call_native;allocate_one;node 32
after;allocate_one;node 32
foreign: with spaces;allocate_one;node 32" "code that was there before, registered code, code in the place of other code, code of a perf map"
rm -f "/tmp/perf-$pid.map"
pid=$(cd "$dir" && GC_PROFILE=jit.folded,period=1,perfmap,jitdump ./jit 1)
map=$(cat "/tmp/perf-$pid.map") && rm -f "/tmp/perf-$pid.map"
is "$(echo "$map" | sed -E 's/^[0-9a-f]+ //')" "8 before
24 compiled
24 later
8 after
9 spin" "the perf map"
tests/profile/jitdump.pl "$dir/jit-$pid.dump" "$pid" > "$dir/records"
ok $? "the jitdump keeps the rules of its format"
is "$(cat "$dir/records")" "load before 8 1 554889
load compiled 36 2 554889
load later 36 3 554889
lines first.scm:31+0 first.scm:32+6 first.scm:32+8
load after 8 4 554889
lines spin.scm:21+0 spin.scm:22+3 spin.scm:22+9
load spin 9 5 4889f8
close" "its records: names, code, lines"

# A file that somebody else has put there is neither followed nor overwritten.
mkdir "$dir/link" && echo kept > "$dir/kept"
(cd "$dir/link" && bash -c 'ln -s ../kept "jit-$$.dump" && GC_PROFILE=jit.folded,period=1,jitdump exec ../jit 1' > ../log 2> ../warning)
is "$(cat "$dir/kept")" kept "a link is not followed"
matches "$(cat "$dir/warning")" 'warning: the files for perf .* cannot be written' "but warned of"

perf=
command -v perf > /dev/null && perf record -q -e cpu-clock -o "$dir/try" true > /dev/null 2>&1 && perf=1
if [ $perf ]; then
    (cd "$dir" && GC_PROFILE=jit.folded,period=1,perfmap,jitdump timeout 60 perf record -k mono -q -e cpu-clock -o data ./jit 300) > "$dir/pid" 2> "$dir/log"
    pid=$(cat "$dir/pid")
    matches "$(perf report -i "$dir/data" --stdio 2> /dev/null)" 'spin$' "perf report: the perf map"
    rm -f "/tmp/perf-$pid.map"
    (cd "$dir" && perf inject --jit -i data -o injected) > "$dir/log" 2>&1
    matches "$(perf report -i "$dir/injected" --stdio 2> /dev/null)" 'jitted-[0-9]+-5.so +\[\.\] spin$' "perf inject: the jitdump"
    matches "$(perf report -i "$dir/injected" --stdio -s srcline 2> /dev/null)" ' spin.scm:22 *$' "perf inject: its lines"
else
    for what in "report: the perf map" "inject: the jitdump" "inject: its lines"; do skip "perf $what" "perf is not installed, or may not record here"; done
fi
finish
