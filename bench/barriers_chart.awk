# The rows of bench/barriers.sh as an SVG: a column per case, with a bar per barrier; then a column per whole program.
BEGIN {
    FS = "\t"
    bar = 15; pitch = 20; left = 190; pitch_column = 186; length_max = 84; columns_max = 6; clip = 5
    width = left + columns_max * pitch_column + 10
    color["none"] = "#333"; color["object_logging"] = "#7a4f9e"; color["at_run_time"] = "#4a9b7f"
}
$1 == "variant" { next }
function escape(text) { gsub(/</, "\\&lt;", text); return text }
function add_column(text, unit) { if (!(text in known)) { known[text] = ++columns; title[columns] = text; units[columns] = unit } return known[text] }
function add_row(name) { if (!(name in known_row)) { known_row[name] = ++rows; names[rows] = name } }
NF == 6 && $2 == "inline" { add_row($1); value[$1, add_column($3, "ns")] = $4 }
NF == 4 { add_row($2); value[$2, add_column($1, "s")] = $3 }
function color_of(name) {
    if (name in color) return color[name]
    return name ~ /^rank/ ? "#1b6ca8" : name ~ /^card/ ? "#8a8f98" : name ~ /^write_watch/ ? "#b0433f" : "#e0913a"
}
function say(x, y, size, anchor, fill, words) {
    printf "<text x=\"%.1f\" y=\"%.1f\" font-size=\"%d\" text-anchor=\"%s\" fill=\"%s\">%s</text>\n", x, y, size, anchor, fill, words
}
function box(x, y, w, h, fill) { printf "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"%s\"/>\n", x, y, w, h, fill }
# Programs are compared with rank_sum, to the scale of the slowest; stores with the plain store, up to `clip` times that.
function column(c, x, y,    r, amount, base, most, length_px, words) {
    say(x, y - 8, 13, "start", "#111", escape(title[c]))
    for (r = 1; r <= rows; r++) if (value[names[r], c] > most) most = value[names[r], c]
    base = value[units[c] == "s" ? "rank_sum" : "none", c]
    if (units[c] == "ns") most = clip * base
    for (r = 1; r <= rows; r++) {
        amount = value[names[r], c]
        if (amount == "" || most == 0) continue
        length_px = (amount > most ? most : amount) / most * length_max
        box(x, y + (r - 1) * pitch, length_px, bar, color_of(names[r]))
        if (amount > most) box(x + length_max - 9, y + (r - 1) * pitch, 3, bar, "#fff")
        words = sprintf(units[c] == "s" ? "%.3f" : "%.2f", amount)
        if (base > 0) words = words sprintf(" (%.2f x)", amount / base)
        if (length_px < base / most * length_max) length_px = base / most * length_max
        say(x + length_px + 5, y + (r - 1) * pitch + 12, 11, "start", "#333", words)
    }
    if (base > 0) printf "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"#111\" stroke-dasharray=\"2 3\"/>\n", \
        x + base / most * length_max, y - 3, x + base / most * length_max, y + rows * pitch
}
function block(first, last, y,    r, c) {
    for (r = 1; r <= rows; r++) say(left - 10, y + (r - 1) * pitch + 12, 12, "end", "#333", names[r])
    for (c = first; c <= last; c++) column(c, left + (c - first) * pitch_column, y)
}
END {
    blocks = int((columns + columns_max - 1) / columns_max)
    height = 84 + blocks * (rows * pitch + 50)
    printf "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" viewBox=\"0 0 %d %d\" font-family=\"DejaVu Sans, Helvetica, Arial, sans-serif\">\n", \
        width, height, width, height
    printf "<rect width=\"%d\" height=\"%d\" fill=\"#fff\"/>\n", width, height
    say(20, 32, 20, "start", "#111", "Write barriers, inline")
    say(20, 54, 13, "start", "#555", "Stores: ns, and how many times the plain store (dashed); bars are cut at " clip " times. Programs: user+sys s, and how many times rank_sum. Shorter is better.")
    for (b = 0; b < blocks; b++)
        block(b * columns_max + 1, (b + 1) * columns_max < columns ? (b + 1) * columns_max : columns, 104 + b * (rows * pitch + 50))
    print "</svg>"
}
