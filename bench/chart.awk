# The rows of bench/run.sh as an SVG: per workload a group of bars for time and one for memory, each to its own scale, for
# what differs between workloads by powers of ten is not what is compared.
BEGIN {
    FS = "\t"
    color["gc.h"] = "#1b6ca8"; color["mimalloc"] = "#e0913a"; color["malloc"] = "#8a8f98"; color["bdwgc"] = "#b0433f"
    bar = 17; gap = 4; head = 30; top = 84; width = 1000; length_max = 250
}
$1 != text { text = $1; texts[++groups] = text }
{
    n = ++sides[groups]
    side[groups, n] = $2; value[groups, n, 1] = $3; value[groups, n, 2] = $5
    for (i = 1; i <= 2; i++) if (value[groups, n, i] + 0 > most[groups, i]) most[groups, i] = value[groups, n, i] + 0
}
function say(x, y, size, anchor, fill, words) {
    printf "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%d\" text-anchor=\"%s\" fill=\"%s\">%s</text>\n", x, y, size, anchor, fill, words
}
function panel(g, i, x, y,    n, amount, length_px, words) {
    for (n = 1; n <= sides[g]; n++) {
        amount = value[g, n, i]
        length_px = most[g, i] > 0 ? amount / most[g, i] * length_max : 0
        if (length_px < 1) length_px = 1
        printf "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" fill=\"%s\"/>\n", x, y, length_px, bar, color[side[g, n]]
        if (i == 1) say(x - 8, y + 13, 13, "end", "#333", side[g, n])
        words = i == 1 ? sprintf("%.2f s", amount) : sprintf("%.0f MiB", amount)
        if (side[g, n] != "gc.h" && value[g, 1, i] > 0) words = words sprintf("  (%.2f x)", amount / value[g, 1, i])
        say(x + length_px + 6, y + 13, 13, "start", "#333", words)
        y += bar + gap
    }
}
END {
    height = top
    for (g = 1; g <= groups; g++) height += head + sides[g] * (bar + gap) + 18
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" font-family=\"DejaVu Sans, Helvetica, Arial, sans-serif\">\n", \
        width, height, width, height
    printf "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n", width, height
    say(20, 32, 20, "start", "#111", "gc.h beside other memory managers")
    say(20, 54, 13, "start", "#555", "Shorter is better. In brackets: how many times what gc.h takes. Each group has a scale of its own.")
    say(100, top, 14, "start", "#111", "user + system time")
    say(580, top, 14, "start", "#111", "peak memory (RSS)")
    y = top + 10
    for (g = 1; g <= groups; g++) {
        printf "<line x1=\"20\" y1=\"%.1f\" x2=\"%d\" y2=\"%.1f\" stroke=\"#ddd\"/>\n", y, width - 20, y
        say(20, y + 20, 15, "start", "#111", texts[g])
        panel(g, 1, 100, y + head)
        panel(g, 2, 580, y + head)
        y += head + sides[g] * (bar + gap) + 18
    }
    print "</svg>"
}
