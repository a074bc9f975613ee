#!/bin/sh
# docs/stackmaps.md shows what the example JIT prints, but for addresses.
cd "$(dirname "$0")/../.." && . tests/tap.sh || exit
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
unset GC_STRESS GC_VERIFY GC_CHECKMARK

# Where code and classes are, and how far the stack's limit is from the thread's own memory.
normal() {
    sed -E 's/^(>>> )?[0-9a-f]{8,} /\1ADDRESS /; s/^Begin [0-9a-f]+/Begin/; s/at address: [0-9a-f]+/at address:/
        s/(ADDRESS 48b[0-9a-f])[0-9a-f]{16} (movabs [a-z0-9]+),0x[0-9a-f]+/\1 \2/; s/(ADDRESS 64483b2425)[0-9a-f]{8} (.*fs:)0x[0-9a-f]+/\1 \2/
        s/[ \t]+$//'
}
# shown PAGE LEAST FILTER: in a block of the page (```) each command ("$ ...") prints the lines that are shown below it, in that order,
# as the filter leaves both; "..." stands for any lines. There are at least LEAST commands.
shown() {
    page=$1 least=$2 filter=$3
    rm -f "$dir"/shown-*
    awk -v dir="$dir" '
        /^```/ { inside = !inside; file = ""; next }
        !inside { next }
        /^\$ / { file = sprintf("%s/shown-%02d", dir, ++count); print substr($0, 3) > (file ".sh"); next }
        file && $0 != "..." { print > (file ".lines") }' "$page"
    for command in "$dir"/shown-*.sh; do
        sh "$command" 2>&1 | $filter > "$dir/output"
        : >> "${command%.sh}.lines"
        missing=$($filter < "${command%.sh}.lines" | awk -v output="$dir/output" '{
            do { more = getline line < output } while (more > 0 && line != $0)
            if (more <= 0) { print; exit }
        }')
        is "$missing" '' "$page: $(cat "$command")"
        [ -z "$missing" ] || diag "$(head -60 "$dir/output")"
    done
    count=$(find "$dir" -name 'shown-*.sh' | wc -l)
    test "$count" -ge "$least"
    ok $? "$page shows $count commands"
}

shown docs/stackmaps.md 6 normal
finish
