# Makes a shipped header from its source:  awk -f tools/amalgamate.awk src/gc.h > gc.h
#
# Every quoted include is replaced by the file it names, the first time it occurs. A header in the same directory as the
# source is shipped too, so it stays an #include, and what that one brings in is left out; if that one includes the source in
# its midst, what it brings in before. Nothing else changes.

function fail(file, line, text) {
    printf "%s:%d: %s\n", file, line, text > "/dev/stderr"
    exit 1
}

function directory(path) { return sub(/\/[^\/]*$/, "", path) ? path : "." }

function emit(line) { if (!silent) print line }

function last(text, pattern) { return match(text, ".*" pattern) ? RLENGTH : 0 }

# Prints `file`, unless silent. `conditional`: it is included under the root's GC_IMPLEMENTATION.
function inline(file, conditional,    line, number, open, within, comment, name, path, implementation, shipped, i) {
    while ((getline line < file) > 0) {
        number++
        within = comment
        if (last(line, "/[*]") != last(line, "[*]/")) comment = last(line, "/[*]") > last(line, "[*]/")
        if (within) { emit(line); continue }

        if (line ~ /^[ \t]*#[ \t]*if/) open[++open[0]] = line
        if (line ~ /^[ \t]*#[ \t]*endif/) open[0]--
        if (line ~ /^[ \t]*#[ \t]*pragma[ \t]+once/) {
            if (file != root) continue
            once = 1
        }
        if (line !~ /^[ \t]*#[ \t]*include[ \t]*"/) { emit(line); continue }

        implementation = conditional
        for (i = 1; i <= open[0]; i++) {
            if (directory(file) != directory(root) || open[i] !~ /^#(ifndef [A-Z0-9_]+_H$|if.*GC_(DAC_)?IMPLEMENTATION)/)
                fail(file, number, "a quoted include inside a conditional")
            if (open[i] ~ /GC_(DAC_)?IMPLEMENTATION/) implementation = 1
        }
        split(line, name, "\"")
        path = directory(file) "/" name[2]
        while (sub(/[^\/.]+\/\.\.\//, "", path)) {}
        if (path == root && silent && !once) { back_to_root = 1; close(file); return }
        if (path in done) { # perhaps still being read, by a caller of this function
            if (done[path] && !implementation)
                fail(file, number, path " is first included under GC_IMPLEMENTATION, but needed without it")
            continue
        }
        if ((getline line < path) < 0) fail(file, number, "cannot read " path)
        close(path)
        done[path] = implementation
        shipped = directory(path) == directory(root)
        if (shipped) emit("#include \"" substr(path, length(directory(path)) + 2) "\"")
        silent += shipped
        inline(path, done[path])
        if (directory(path) == directory(root)) silent--
        if (back_to_root && file != root) { close(file); return }
        back_to_root = 0
    }
    if (open[0]) fail(file, number, "an #if without its #endif")
    close(file)
}

BEGIN {
    root = ARGV[1]
    if ((getline < root) < 0) fail("amalgamate", 0, "cannot read " root)
    close(root)
    print "/* Generated from " root " by tools/amalgamate.awk: edit src/, then run `make headers`. */"
    done[root] = 0
    inline(root, 0)
}
