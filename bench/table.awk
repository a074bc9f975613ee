# The rows of bench/run.sh as a table. "ours/other" compares user+sys of gc.h with that of the row: under 1, gc.h is faster.
BEGIN {
    FS = "\t"
    print "user+sys, wall, peak RSS, longest pause and push: medians of the runs. ours/other: user+sys of gc.h by that of the row."
}
function number(value, format) { return value == "-" ? "-" : sprintf(format, value) }
$1 != text {
    text = $1
    printf "\n%s\n", text
    printf "  %-9s %11s %9s %11s %13s %14s %13s %11s  %s\n", "", "user+sys s", "wall s", "ours/other", "peak RSS MiB", \
        "longest pause", "longest push", "ns/object", "collections"
}
$2 == "gc.h" { ours = $3 }
{
    printf "  %-9s %11.3f %9.3f %11.2f %13.1f %14s %13s %11s  %s\n", $2, $3, $4, $3 ? ours / $3 : 0, $5, number($6, "%.2f ms"), \
        number($7, "%.2f ms"), number($8, "%.2f"), $9
}
