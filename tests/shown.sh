# shellcheck shell=sh disable=SC2154 # $dir is the caller's
# Pages that show commands with their output: shown PAGE LEAST [FILTER]. In a block of the page (```) each command ("$ ...") prints the
# lines that are shown below it, in that order, as FILTER, a command, leaves both; "..." stands for any lines. At least LEAST commands.
shown() {
    page=$1 least=$2 filter=${3:-cat}
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
