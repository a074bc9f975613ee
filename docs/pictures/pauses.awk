# Draws pauses.svg from the table of longest steps and stops in docs/performance.md:
#     awk -f docs/pictures/pauses.awk docs/performance.md > docs/pictures/pauses.svg
# For each workload and collector a line of two bars on a scale of powers of ten: the longest step that the program sees, and the
# longest stop. Collectors that were measured beside other work, which the table marks by (*), are left out.
BEGIN { FS = "|"; left = 190; unit = 190; top = 88 }

function trim(text) { gsub(/^ +| +$|`| 17/, "", text); gsub(/&/, "\\&amp;", text); return text }
function x(ms) { return left + unit * (log(ms < 0.05 ? 0.05 : ms) / log(10) - low) }

/^## / { inside = /^## Pauses beside Go and Java/ }
inside && !rows && /^\| +\| +\| longest step/ { table = 1; next }
!inside || !/^\|/ { table = 0; next }
table && !/^\|---/ {
    if (trim($2) != "") workload[++workloads] = trim($2)
    side = trim($3)
    if (side ~ /\(\*\)/) next
    sub(/gc.h, full collections stop the program/, "gc.h, stopping", side)
    rows++
    of[rows] = workloads; name[rows] = side; step[rows] = $4 + 0; stop[rows] = $5 + 0
}

function text(at, y, size, anchor, color, words) {
    printf "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%d\" text-anchor=\"%s\" fill=\"%s\">%s</text>\n", at, y, size, anchor, color, words
}
function bar(y, height, ms, color) {
    printf "<rect x=\"%d\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>\n", left, y, x(ms) - left, height, color
}

END {
    low = log(0.05) / log(10)
    height = top + rows * 16 + workloads * 24 + 14
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"1040\" height=\"%d\" viewBox=\"0 0 1040 %d\" ", height, height
    print "font-family=\"DejaVu Sans, Helvetica, Arial, sans-serif\">"
    printf "<rect width=\"1040\" height=\"%d\" fill=\"#fff\"/>\n", height
    text(20, 30, 20, "start", "#111", "Longest pauses beside Go and Java")
    print "<rect x=\"20\" y=\"44\" width=\"14\" height=\"10\" fill=\"#1b6ca8\"/><rect x=\"340\" y=\"48\" width=\"14\" height=\"4\" fill=\"#111\"/>"
    text(42, 54, 12, "start", "#555", "longest step that the program sees, in ms")
    text(362, 54, 12, "start", "#555", "longest stop that the collector reports, in ms; each line is ten times the one before")
    for (power = -1; power <= 3; power++) {
        printf "<line x1=\"%.1f\" y1=\"%d\" x2=\"%.1f\" y2=\"%d\" stroke=\"#ddd\"/>\n", x(10 ^ power), top - 6, x(10 ^ power), height - 10
        text(x(10 ^ power), top - 10, 11, "middle", "#555", 10 ^ power " ms")
    }
    y = top
    for (row = 1; row <= rows; row++) {
        if (of[row] != of[row - 1]) { text(20, y + 16, 13, "start", "#111", workload[of[row]]); y += 24 }
        own = name[row] ~ /^gc/
        text(left - 8, y + 10, 11, "end", own ? "#1b6ca8" : "#333", name[row])
        bar(y + 1, 9, step[row], own ? "#1b6ca8" : "#b8b8b8")
        bar(y + 10, 3, stop[row], "#111")
        text(x(step[row] > stop[row] ? step[row] : stop[row]) + 6, y + 10, 10, "start", "#555", step[row] " / " stop[row])
        y += 16
    }
    print "</svg>"
}
