#!/bin/sh
# Runs hello and the Scheme programs and ends in one page about what their collections cost. `make demo` calls it.
set -u
cd "$(dirname "$0")/../.." || exit 1
scheme=build/examples/scheme
programs=examples/scheme/programs
work=$(mktemp -d) && trap 'rm -rf "$work"' EXIT
failed=0

# The text to count words in is generated, always the same, once.
text=build/examples/text.txt
[ -s $text ] || { $scheme $programs/text.scm > $text.new && mv $text.new $text; } || exit 1

# run NAME TITLE ARGUMENT...: shows the program's output and adds a line of fields to $work/table
run() {
    name=$1 title=$2
    shift 2
    echo "--- $title ($programs/$name.scm)"
    $scheme --stats $programs/"$name".scm "$@" > "$work/out" 2> "$work/err"
    status=$?
    cat "$work/out"
    echo
    answer=$(sed -n 's/^answer: //p' "$work/out")
    if [ $status -ne 0 ] || ! cmp -s "$work/out" $programs/"$name".expected; then
        cat "$work/err"
        answer="WRONG: see above"
        failed=1
    fi
    printf '%s|%s|%s\n' "$title" "$answer" "$(grep '^gc-stats' "$work/err")" >> "$work/table"
}

echo "--- a list of a million cells (examples/hello.c)"
build/examples/hello || failed=1
echo
run meta 'evaluator in Scheme'
run queens 'n queens'
run sieve 'prime sieves'
run derive 'derivatives'
run words 'word count, 3 MB' $text
run json 'JSON round trip'
run lru 'LRU cache'

echo "What the collector did, on $(uname -m), at its default settings. Survival: bytes that collections kept, per byte"
echo "allocated. Heap: the most memory held. GC: share of the run's wall-clock time, start to end, spent in collections."
echo
awk -F'|' '
    BEGIN {
        row = "%-20s  %-42s %11s %9s %9s %9s %6s\n"
        printf row, "program", "answer", "collections", "longest", "survival", "heap", "GC"
        printf row, "", "", "gen 0/1/2", "pause", "", "peak", ""
    }
    {
        split($3, words, " ")
        for (i in words) if (split(words[i], pair, "=") == 2) stat[pair[1]] = pair[2]
        printf row, $1, $2, stat["collections0"] "/" stat["collections1"] "/" stat["collections2"],
            sprintf("%.1f ms", stat["pause_max_us"] / 1000), sprintf("%.1f %%", stat["survival_percent"]),
            sprintf("%.0f MiB", stat["heap_peak_bytes"] / 1048576), sprintf("%.1f %%", stat["gc_percent"])
        wall += stat["wall_ms"]; pause += stat["pause_total_ms"]
    }
    END { printf "\n%d programs in %.1f s, %.1f %% of it in collections.\n", NR, wall / 1000, 100 * pause / wall }
' "$work/table"
exit $failed
