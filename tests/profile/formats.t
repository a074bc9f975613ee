#!/bin/bash
# Formats of profiles: one profile that is made up is written in each, and read back by readers of our own, which check the rules
# of the formats; and by the tools that people use, where they are installed.
cd "$(dirname "$0")/../.." && . tests/tap.sh || exit
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT

gcc -std=c11 -O1 -Wall -Wextra -Werror -Isrc -pthread tests/profile/made.c -o "$dir/made" &&
    (cd "$dir" && ./made made.pb made.nettrace streamed.nettrace > expected)
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

# What both readers of .nettrace must say of the profile as a whole, and of its events.
cat > "$dir/made.facts" << 'END'
session 2023-11-14T22:13:20.123 lost 0 processors N
heap 1100 2100 3100 promoted 200 300 400 finalizers 2 handles 5
heap 1200 2200 3200 promoted 300 400 500 finalizers 2 handles 5
heap 1300 2300 3300 promoted 400 500 600 finalizers 2 handles 5
note ticks have the sums of their type and stack: for each event when it came, start the profile with a .nettrace file
tick pair 32012 32 3 grow_leaf;grow_tree;(main);
tick pair 640 32 3 compiled<map>;grow_tree;(main);
tick vector é 3000000000 1000000000 3 grow_leaf;grow_tree;(main);
tick string 7700 100 256 loop; �~<&"'>;loop; �~<&"'>;loop; �~<&"'>;
tick box 80 16 1 ?;
tick no stack 96 16 0 
tick ticked 102400 102400 3 grow_leaf;grow_tree;(main);
collection 1 generation 0 reason 0 type 0 pause 4 suspended 1 complete True
collection 2 generation 2 reason 1 type 0 pause 4 suspended 1 complete True
collection 3 generation 1 reason 7 type 0 pause 4 suspended 1 complete True
END
cat > "$dir/streamed.facts" << 'END'
session 2023-11-14T22:13:20.123 lost 4 processors N
type 1 pair
type 2 vector é
type 3 string
type 4 box
type 5 no stack
type 6 ticked
sample pair 32 7 thread 11 3 grow_leaf;grow_tree;(main);
sample pair 48 8 thread 12 3 compiled<map>;grow_tree;(main);
tick pair 102500 48 3 compiled<map>;grow_tree;(main);
object 3 9 900 256 loop; �~<&"'>;loop; �~<&"'>;loop; �~<&"'>;
heap 1100 2100 3100 promoted 200 300 400 finalizers 2 handles 5
finalized 1 4000
handle 5000 Dependent
handle 5000 destroyed
sample string 80 0 thread 12 256 loop; �~<&"'>;loop; �~<&"'>;loop; �~<&"'>;
sample pair 32 7 thread 11 3 grow_leaf;grow_tree;(main);
sample vector é 48 8 thread 12 3 grow_leaf;grow_tree;(main);
tick vector é 102600 48 3 grow_leaf;grow_tree;(main);
object 3 9 900 256 loop; �~<&"'>;loop; �~<&"'>;loop; �~<&"'>;
heap 1200 2200 3200 promoted 300 400 500 finalizers 2 handles 5
finalized 1 4000
handle 5000 Dependent
handle 5000 destroyed
sample string 80 0 thread 12 256 loop; �~<&"'>;loop; �~<&"'>;loop; �~<&"'>;
heap 1300 2300 3300 promoted 400 500 600 finalizers 2 handles 5
collection 1 generation 0 reason 0 type 0 pause 5 suspended 1 complete True
collection 2 generation 2 reason 1 type 0 pause 5 suspended 1 complete True
collection 3 generation 1 reason 7 type 0 pause 3 suspended 0 complete True
END

# reads NAME FILE COMMAND...: the command prints the facts of FILE
reads() {
    local name=$1 file=$2
    shift 2
    "$@" "$dir/$file.nettrace" > "$dir/facts" 2> "$dir/log"
    ok $? "$name: $file.nettrace can be read"
    cat "$dir/log" >&2
    is "$(sed 's/processors [0-9]*$/processors N/' "$dir/facts")" "$(cat "$dir/$file.facts")" "$name: $file.nettrace"
}
for file in made streamed; do reads 'our own reader' $file tests/profile/nettrace.pl; done

# A program that is killed leaves whole blocks.
perl -0777 -ne 'while (/\x05\x05\x01/g) { print pos() - 3, "\n" if pos > 100 }' "$dir/streamed.nettrace" > "$dir/ends"
wrong=0
while read -r end; do
    head -c "$end" "$dir/streamed.nettrace" > "$dir/part.nettrace"
    tests/profile/nettrace.pl --cut "$dir/part.nettrace" > "$dir/log" || { wrong=1 && grep broken "$dir/log" >&2; }
done < "$dir/ends"
test $wrong -eq 0 && test "$(wc -l < "$dir/ends")" -ge 5
ok $? "the beginning of a .nettrace file can be read, up to the end of any block"

# By the library of .NET's tools. The SDK fetches it once.
reader=build/nettrace/nettrace.dll
why='no .NET SDK is installed'
if command -v dotnet > /dev/null && test -n "$(dotnet --list-sdks 2> /dev/null)"; then
    why=
    if [ $reader -ot tests/profile/nettrace/Program.cs ]; then
        mkdir -p build && rm -rf build/nettrace-source && cp -r tests/profile/nettrace build/nettrace-source
        timeout 300 dotnet build -v q -nologo build/nettrace-source -o build/nettrace > "$dir/log" 2>&1 ||
            why="the SDK cannot build the reader: $(grep -m1 error "$dir/log")"
    fi
fi
for file in made streamed; do
    if [ -z "$why" ]; then reads 'TraceEvent' $file dotnet $reader; else skip "TraceEvent: $file.nettrace" "$why"; fi
done
finish
