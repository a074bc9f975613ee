# The rows of bench/barriers.sh as tables: per form the cases side by side, then instructions, then whole programs.
BEGIN { FS = "\t" }
$1 == "variant" { next }
# Lists a name that is new as the number `count` of its kind; returns 1 if it is new.
function list(kind, count, name) {
    if ((kind, name) in seen) return 0
    seen[kind, name] = 1
    all[kind, count] = name
    return 1
}
NF == 6 {
    variants += list("variant", variants + 1, $1)
    forms += list("form", forms + 1, $2)
    cases += list("case", cases + 1, $3)
    ns[$1, $2, $3] = $4; spread[$1, $2, $3] = $5; instructions[$1, $2, $3] = $6
}
NF == 4 {
    barriers += list("barrier", barriers + 1, $2)
    programs += list("program", programs + 1, $1)
    seconds[$2, $1] = $3; seconds_spread[$2, $1] = $4
}
# Some forms are measured in some cases only.
function has(form, name) { return ("none", form, name) in ns }
function head(form, width,    c) {
    printf "%-24s", form
    for (c = 1; c <= cases; c++) if (has(form, all["case", c])) printf " %" width "s", all["case", c]
    print ""
}
function ratio(value, base) { return base > 0 ? value / base : 0 }
function row(variant, form,    c, name) {
    printf "%-24s", variant
    for (c = 1; c <= cases; c++) {
        name = all["case", c]
        if (!has(form, name)) continue
        printf " %10.2f %4.2fx", ns[variant, form, name], ratio(ns[variant, form, name], ns["none", form, name])
    }
    print ""
}
function widest_spread(form,    c, v, key, most) {
    for (c = 1; c <= cases; c++) for (v = 1; v <= variants; v++) {
        key = all["variant", v] SUBSEP form SUBSEP all["case", c]
        if (ns[key] > 0 && spread[key] / ns[key] > most) most = spread[key] / ns[key]
    }
    return most
}
function count_row(variant, form,    c, name) {
    printf "%-24s", variant
    for (c = 1; c <= cases; c++) { name = all["case", c]; if (has(form, name)) printf " %16s", instructions[variant, form, name] }
    print ""
}
END {
    if (cases) print "A store: median ns, and how many times the plain store in the same form. Whole table: build/bench/barriers.tsv."
    for (f = 1; f <= forms; f++) {
        print ""
        head(all["form", f], 16)
        for (v = 1; v <= variants; v++) row(all["variant", v], all["form", f])
        printf "%-24s widest interquartile range: %.0f %% of its median\n", "", 100 * widest_spread(all["form", f])
    }
    for (f = 1; f <= forms; f++) {
        if (all["form", f] != "inline" && all["form", f] != "emitted") continue
        print "\nInstructions per store, mean:\n"
        head(all["form", f], 16)
        for (v = 1; v <= variants; v++) count_row(all["variant", v], all["form", f])
    }
    for (p = 1; p <= programs; p++) {
        name = all["program", p]
        printf "\n%s: median user+sys s, interquartile range, ratio to rank_sum\n", name
        for (b = 1; b <= barriers; b++) {
            key = all["barrier", b] SUBSEP name
            printf "%-24s %8.3f %8.3f %7.3fx\n", all["barrier", b], seconds[key], seconds_spread[key], \
                ratio(seconds[key], seconds["rank_sum", name])
        }
    }
}
