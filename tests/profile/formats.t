#!/bin/bash
# Formats of profiles: one profile that is made up is written in each, and read back by readers of our own, which check the rules
# of the formats; and by the tools that people use, where they are installed.
cd "$(dirname "$0")/../.." && . tests/tap.sh || exit
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT

gcc -std=c11 -O1 -Wall -Wextra -Werror -Isrc -pthread tests/profile/made.c -o "$dir/made" &&
    (cd "$dir" && ./made made.pb made.folded > expected)
ok $? "a profile is made up, and written"

tests/profile/pprof.pl "$dir/made.pb" > "$dir/pprof"
ok $? ".pb keeps the rules of its format"
grep broken: "$dir/pprof" >&2
LC_ALL=C sed -i 's/\xff/\xef\xbf\xbd/g' "$dir/expected" # what is not UTF-8 becomes U+FFFD
is "$(sed -n 's/^sample //p' "$dir/pprof")" "$(cat "$dir/expected")" ".pb: samples, types, stacks"
is "$(sed -n 's/^period //p; s/^default //p; s/^comment //p' "$dir/pprof")" "102400
inuse_space
3 samples lost, 0 stacks cut to 128 frames" ".pb: period, default, losses"
matches "$(sed -n 's/^mapping //p' "$dir/pprof" | head -1)" "^$dir/made [0-9a-f]{40}$" ".pb: the first mapping is the program, with its build id"
is "$(sed -n 's/^size pair //p' "$dir/pprof")" "32
32" ".pb: mean size of the objects"

if command -v go > /dev/null; then
    pprof() { HOME=$dir go tool pprof "$@" 2>&1; }
    matches "$(pprof -top -sample_index=alloc_objects "$dir/made.pb")" '1003 .* grow_leaf' "go tool pprof: counts"
    matches "$(pprof -top -unit=bytes "$dir/made.pb")" '^3000012800B .* grow_leaf' "go tool pprof: what is in use is shown first"
    matches "$(pprof -top -alloc_space -tagfocus=type=string -unit=bytes "$dir/made.pb")" '7700B.*loop; ' "go tool pprof: focus on a type"
    matches "$(pprof -top -alloc_space -unit=bytes -tagfocus=type=pair "$dir/made.pb")" 'compiled<map>' "go tool pprof: names of the host as they are"
    matches "$(pprof -comments "$dir/made.pb")" '3 samples lost' "go tool pprof: comments"
    matches "$(pprof -raw "$dir/made.pb")" 'M=1 grow_tree' "go tool pprof: locations in their mapping"
else
    for what in counts "in use" focus names comments locations; do skip "go tool pprof: $what" "go is not installed (tools/setup profile)"; done
fi
finish
