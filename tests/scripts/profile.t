#!/bin/bash
# Profiles of real programs, those of docs/profile.md: the same numbers in all formats, a leak that is found, a pause that is explained,
# functions of Scheme; snapshots and pages in programs of others, where those are installed (tools/setup profile).
cd "$(dirname "$0")/../.." && . tests/tap.sh || exit
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
built=$PWD/build/examples/profile
packages=$PWD/build/profile-readers
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome)

# perl_ok NAME PROGRAM ARGUMENT...: whether the program finds no fault; what it says is in $said
perl_ok() {
    local name=$1 status
    shift
    said=$(perl "$@" 2>&1)
    status=$?
    ok $status "$name"
    [ $status -eq 0 ] || diag "$(grep -a broken: <<< "$said" | head -5)"
}

# The same profile in each format: what was allocated of each type.
(cd "$dir" && "$built/leak" leak.txt leak.folded leak.pb leak.json leak.html leak.svg leak.nettrace leak.heapsnapshot)
ok $? "a program writes its profile in eight formats"
sed -nE 's/^([a-z]+): ([0-9]+) objects, ([0-9]+) bytes.*/\1 \2 \3/p' "$dir/leak.txt" | sort > "$dir/expected"
is "$(cut -d' ' -f1 "$dir/expected" | xargs)" "answer closed session text" "the report has all types"

# same NAME: whether stdin, lines "TYPE COUNT BYTES", has the numbers of the report, but for what rounding each entry makes
same() {
    sort | join "$dir/expected" - | awk '{
        rows++
        if ($4 != "-" && ($2 - $4) ^ 2 > 100) { print $1 ": " $4 " objects, not " $2; exit }
        if (($3 - $5) ^ 2 > 100) { print $1 ": " $5 " bytes, not " $3; exit }
    } END { if (rows != 4) print rows " types" }' > "$dir/different"
    is "$(cat "$dir/different")" "" "$1 has the same numbers"
}
for format in folded json html svg; do
    perl_ok ".$format keeps the rules of its format" tests/profile/read.pl "$dir/leak.$format"
    same ".$format" <<< "$(sed -nE 's/^type "([a-z]+)" /\1 /p' <<< "$said")"
done
perl_ok ".pb keeps the rules of its format" tests/profile/pprof.pl "$dir/leak.pb"
same .pb <<< "$(awk '$1 == "sample" { count[$2] += $3; bytes[$2] += $4 } END { for (type in count) print type, count[type], bytes[type] }' <<< "$said")"
perl tests/profile/nettrace.pl "$dir/leak.nettrace" > "$dir/events" 2> "$dir/warnings"
is "$? $(grep -c '^tick text .* copy_text;open_session;handle_request;' "$dir/events" | sed 's/^[1-9].*/some/')" "0 some" "a .nettrace that is written at once has stacks"
same ".nettrace, written at once," <<< "$(awk '$1 == "tick" { bytes[$2] += $3 } END { for (type in bytes) print type, "-", bytes[type] }' "$dir/events")"
# The CLR's events are of single samples: with the same seed they are the same ones, and the sum of what each stands for.
GC_PROFILE=$dir/again.nettrace,period=1024,seed=1 "$built/leak"
GC_PROFILE=$dir/again.txt,period=1024,seed=1 "$built/leak"
sed -nE 's/^([a-z]+): ([0-9]+) objects, ([0-9]+) bytes.*/\1 \2 \3/p' "$dir/again.txt" | sort > "$dir/expected"
perl tests/profile/nettrace.pl "$dir/again.nettrace" > "$dir/events" 2> /dev/null
same .nettrace <<< "$(awk '$1 == "sample" { each = 1 / (1 - exp($3 * log(1 - 1 / 1024))); count[$2] += each; bytes[$2] += each * $3 }
    END { for (type in count) printf "%s %.1f %.0f\n", type, count[type], bytes[type] }' "$dir/events")"

# The leak: what is in use of it, and which call keeps it.
live() { sed -nE "s/^$1: .* in use: ([0-9]+), .*/\\1/p" "$dir/leak.txt"; }
is "$(live answer)" 0 "answers are gone"
test "$(live session)" -gt 23000 -a "$(live session)" -lt 27000
ok $? "of 25,000 sessions nearly all are in use: $(live session)"
matches "$(grep -A2 '^closed:' "$dir/leak.txt")" '^ +note_closed$' "the notes that keep them are made by note_closed"
perl_ok ".heapsnapshot keeps the rules of its format" tests/profile/snapshot.pl "$dir/leak.heapsnapshot"
matches "$said" '^edge \(global slot\) element \[\] closed 1$' "a global variable holds the first note"
matches "$said" '^edge closed property session session 2498[0-9]$' "each note a session"
retained=$(sed -n 's/^type closed [0-9]* [0-9]* //p' <<< "$said")
test "$retained" -gt 2500000
ok $? "so the notes retain $retained bytes"
printf '%s\n' "$said" > "$dir/snapshot"

# The pause.
matches "$(GC_PROFILE=$dir/pause.json "$built/pause")" 'rude: the longest pause took more than 20 ms' "a thread without safe points makes a pause long"
perl_ok "its time line keeps the rules" tests/profile/read.pl "$dir/pause.json"
perl -MJSON::PP -e 'undef $/; my ($slow, $longest) = (0, 0); for (@{decode_json(<STDIN>)}) {
    next if $_->{ph} ne "X"; $slow = $_->{dur} if $_->{name} eq "stop threads" && $_->{dur} > $slow; $longest = $_->{dur} if $_->{dur} > $longest }
    exit !($slow > 15000 && $slow > $longest / 2)' < "$dir/pause.json"
ok $? "nearly all of it is \"stop threads\""
matches "$said" '^thread [0-9]+ "computing"$' "threads have their names"
matches "$("$built/pause" polite)" 'polite: ' "with safe points it ends as well"

# Scheme.
GC_PROFILE=$dir/derive.folded build/examples/scheme examples/scheme/programs/derive.scm > "$dir/out"
is "$(cmp "$dir/out" examples/scheme/programs/derive.expected)" "" "a program in Scheme runs as ever while it is profiled"
matches "$(cat "$dir/derive.folded")" 'main;.*derive-times;derive;derive;.*;pair [0-9]+$' "its stacks have the functions of Scheme"
test "$(grep -Ec ';(run|vm_resume|vm_call);' "$dir/derive.folded")" -eq 0
ok $? "in the place of the C function that runs them"
perl_ok "its folded stacks keep the rules" tests/profile/read.pl "$dir/derive.folded"
GC_PROFILE=$dir/derive.html,period=20000 build/examples/scheme examples/scheme/programs/derive.scm > /dev/null
GC_PROFILE=$dir/derive.svg,period=20000 build/examples/scheme examples/scheme/programs/derive.scm > /dev/null
perl_ok "its page keeps the rules" tests/profile/read.pl "$dir/derive.html"
perl_ok "its flame graph keeps the rules" tests/profile/read.pl "$dir/derive.svg"

# A file that cannot be written is a warning, and the program goes on.
GC_PROFILE=/nonexistent/x.html build/examples/scheme examples/scheme/programs/derive.scm > "$dir/out" 2> "$dir/warnings"
is "$(cmp "$dir/out" examples/scheme/programs/derive.expected)" "" "a program whose profile cannot be written runs as ever"
is "$(grep -c '/nonexistent/x.html' "$dir/warnings")" 1 "and warns once"

# A program that ends by _Exit leaves the head of a streamed file, which the system writes at once.
printf '#define GC_IMPLEMENTATION\n#include "gc_profile.h"\n#include <stdlib.h>\nint main(void) { gc_heap_create(NULL); _Exit(0); }\n' > "$dir/exits.c"
gcc -std=c11 -O0 -pthread -I. "$dir/exits.c" -o "$dir/exits" && GC_PROFILE=$dir/cut.json "$dir/exits" && GC_PROFILE=$dir/cut.nettrace "$dir/exits"
is "$(head -c 1 "$dir/cut.json") $(head -c 8 "$dir/cut.nettrace")" '[ Nettrace' "a program that ends by _Exit leaves a file that says what it is"

# Mistakes in the setting: none is taken for another setting, nor passed over.
for option in perid=3 period period=-5 period=0 ticks=0 interval=0 perfmap=1 perfmap,foo ''; do
    GC_PROFILE="$dir/none.txt,$option" "$built/leak" 2> "$dir/warnings"
    matches "$(cat "$dir/warnings")" 'no profile is taken' "an option that is none: $option"
done
[ ! -e "$dir/none.txt" ]
ok $? "and no profile is taken"

# Programs of others.
if command -v node > /dev/null && [ -d "$packages/node_modules/heap-snapshot-toolkit" ]; then
    timeout 120 node tests/profile/snapshot.mjs "$packages" "$dir/leak.heapsnapshot" > "$dir/others" 2>&1
    ok $? "two programs of others read the snapshot"
    is "$(sed -nE 's/^devtools type ([a-z]+ [0-9]+ [0-9]+ [0-9]+)$/\1/p' "$dir/others" | sort)" \
        "$(sed -n 's/^type //p' "$dir/snapshot" | sort)" "Chrome's DevTools count and retain the same"
    is "$(sed -nE 's/.*memlab type ([a-z]+ [0-9]+ [0-9]+)$/\1/p' "$dir/others" | sort)" \
        "$(sed -nE 's/^type ([a-z]+ [0-9]+ [0-9]+) .*/\1/p' "$dir/snapshot" | sort)" "memlab counts the same"
else
    skip "snapshots in Chrome's DevTools and memlab" "their packages are not installed (tools/setup profile)"
fi
if command -v node > /dev/null && [ -n "$chromium" ] && [ -d "$packages/node_modules/puppeteer-core" ]; then
    timeout 200 node tests/profile/browser.mjs "$packages" "$chromium" "$dir"/{leak,derive}.{svg,html} > "$dir/clicks" 2>&1
    ok $? "pages and flame graphs in a browser: zoom, search, addresses, no errors, nothing asked of the network"
    grep -E '^not ok|^# |Error' "$dir/clicks" >&2
    test "$(grep -c ^ok "$dir/clicks")" -ge 35
    ok $? "$(grep -c ^ok "$dir/clicks") things were tried there"
else
    skip "pages in a browser" "chromium or puppeteer-core is not installed (tools/setup profile)"
fi
pprof=$(command -v "$packages/pprof" || command -v pprof)
if [ -n "$pprof" ]; then
    lines() { HOME=$dir timeout 120 "$pprof" -symbolize=force "$@" -alloc_space "$dir/leak.pb" 2>&1; }
    matches "$(lines -list handle_request)" '^ +[0-9].* answer \*reply = gc_new' "pprof lists the source with what each line allocates"
    matches "$(lines -top -lines)" 'gc_new_array .*/gc\.h:[0-9]+ \(inline\)' "and shows inlined functions"
else
    skip "lines and inlined functions in pprof" "pprof is not installed (tools/setup profile)"
fi
trace_processor=$(command -v trace_processor_shell || command -v trace_processor)
if [ -n "$trace_processor" ]; then
    echo "select count(*) as n from slice where name like 'GC %'" > "$dir/query"
    matches "$("$trace_processor" -q "$dir/query" "$dir/pause.json" 2>&1 | xargs)" 'n [0-9]*[1-9]' "Perfetto finds the collections"
else
    skip "the time line in Perfetto" "its trace_processor_shell is not installed: no package has it"
fi
finish
