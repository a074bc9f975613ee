# Makes docs/api.md, the whole API on one page:  awk -f tools/api.awk src/gc.h src/gc_handles.h ...
#
# Reads the parts that these headers include from src/api and src/barrier. A contract is the comment before a declaration; it
# begins with what the function does and ends in its terms:  [thread and mode; whether it collects; how it fails]
# A declaration right below another, without a comment of its own, shares that one's.

function fail(text) {
    print text > "/dev/stderr"
    faults++
}

function trim(text) {
    gsub(/^[ \t]+|[ \t]+$/, "", text)
    return text
}

function cell(text) {
    gsub(/\|/, "\\|", text)
    return trim(text)
}

# The first sentence, or what comes before an example or an empty line.
function effect(text) {
    sub(/:? *\001.*/, ".", text)
    if (match(text, /[a-z0-9_)`][.]( [A-Z`*(]|$)/)) text = substr(text, 1, RSTART + 1)
    sub(/[.][.]$/, ".", text)
    return text
}

function short(terms) {
    if (terms == "never collects") return "no"
    if (terms == "may collect") return "may"
    if (terms == "may wait") return "waits"
    return terms == "cannot fail" ? "" : terms
}

function head() {
    if (headed) return
    headed = 1
    page = page sprintf("\n## %s\n\n%s\n\n| | what it does | thread, mode | collects | fails |\n|---|---|---|---|---|\n", part, introduction)
}

# The C declaration, without linkage, attributes and body.
function signature(declaration) {
    sub(/^(GC_API|GC_DAC_API|GC__EXTERN GC__VISIBLE|static inline)[ \t]+/, "", declaration)
    sub(/^__attribute__\(\([a-z_]*\)\)[ \t]+/, "", declaration)
    sub(/[ \t]*(__attribute__.*|[;{].*)$/, "", declaration)
    gsub(/[ \t]+/, " ", declaration)
    return declaration
}

# `shown` is what the row begins with: the name of a macro, or a declaration.
function entry(name, kind, shown,    terms, text, piece) {
    if (name in seen) return
    seen[name] = 1
    text = trim(comment)
    if (text == "") {
        fail(file ":" line_number ": " name " has no comment")
        return
    }
    if (match(text, /\[[^\]]*;[^\]]*;[^\]]*\]$/)) {
        terms = substr(text, RSTART + 1, RLENGTH - 2)
        text = trim(substr(text, 1, RSTART - 1))
    } else if (kind == "function") {
        fail(file ":" line_number ": the comment of " name " does not end in [thread and mode; whether it collects; how it fails]")
        return
    }
    if (kind == "function" && lines > 6) fail(file ":" line_number ": the comment of " name " has " lines " lines, more than 6")
    split(terms, piece, ";")
    head()
    page = page sprintf("| `%s` | %s | %s | %s | %s |\n", shown, cell(effect(text)), cell(piece[1]), short(cell(piece[2])), short(cell(piece[3])))
    sub(/\(.*/, "", name)
    what[name] = cell(effect(text))
    where[name] = part
}

# A field that is a struct itself, in a line.
function nested(declaration,    line) {
    while (declaration !~ /\}[^}]*;$/ && (getline line < file) > 0) {
        line_number++
        sub(/\/\*.*\*\//, "", line)
        declaration = declaration " " trim(line)
    }
    return declaration
}

# The fields of a struct, or the constants of an enum, whose first line this is: each with the comment behind or above it.
function members(line,    kind, name, text, about, declaration, above, rows, at, behind) {
    kind = line ~ /enum/ ? "enum" : "struct"
    about = line_number == comment_end + 1 ? effect(trim(comment)) : ""
    name = match(line, /gc_[a-z_0-9]+/) && RSTART < index(line, "{") ? substr(line, RSTART, RLENGTH) : ""
    sub(/^[^{]*\{/, "", line)
    if (line ~ /\}/) {
        short_enum(line, name, about)
        return
    }
    while ((getline line < file) > 0) {
        line_number++
        if (line ~ /^\}/) break
        if (trim(line) ~ /^\/\*/ && trim(declaration) == "") {
            take_comment(line)
            above = trim(comment)
            continue
        }
        text = ""
        if ((at = index(line, "/*"))) {
            behind = substr(line, at)
            line = substr(line, 1, at - 1)
            take_comment(behind)
            text = trim(comment)
        }
        declaration = trim(declaration " " trim(line))
        if (declaration ~ /\{$/) declaration = nested(declaration)
        if (declaration ~ /=$/) continue
        if (kind == "struct" ? declaration !~ /;$/ : line !~ /,/ && text == "" && declaration == "") continue
        if (text == "") text = above
        above = ""
        sub(/[;,]$/, "", declaration)
        gsub(/\001/, "", text)
        if (declaration != "" && declaration !~ /gc__|GC__|##/) rows = rows "| `" declaration "` | " cell(text) " |\n"
        declaration = ""
    }
    comment = ""
    if (kind == "enum" && list != "") {
        rows = list rows
        about = list_about
        list = ""
    }
    if (rows == "") return
    if (!headed) head()
    tables = tables "\n" (name == "" ? "Constants" : "`" name "`") (about == "" ? "" : ": " about) "\n\n| | |\n|---|---|\n" rows
}

# The constants of an enum that takes one line, of which this is what follows "{"; a comment behind it is about all.
function short_enum(line, name, about,    behind, piece, rows, count, i) {
    if (match(line, /\/\*.*\*\//)) behind = trim(substr(line, RSTART + 2, RLENGTH - 4))
    sub(/\}.*/, "", line)
    count = split(line, piece, ",")
    for (i = 1; i <= count; i++)
        if (piece[i] !~ /GC__/) rows = rows "| `" trim(piece[i]) "` | |\n"
    if (rows == "") return
    if (about == "") about = behind
    if (!headed) head()
    tables = tables "\n" (name == "" ? "Constants" : "`" name "`") (about == "" ? "" : ": " about) "\n\n| | |\n|---|---|\n" rows
}

# The constants that a list X(NAME, ..., "text") makes, whose first line this is, each with its text and the comment behind it:
# for the enum that comes next.
function listed(line,    prefix, text, piece) {
    list_about = effect(trim(comment))
    match(line, /GC_[A-Z_]+/)
    prefix = substr(line, RSTART, RLENGTH)
    sub(/[A-Z]+$/, "", prefix)
    list = ""
    while (line ~ /\\$/ && (getline line < file) > 0) {
        line_number++
        if (!match(line, /X\([A-Z_0-9]+,.*"[^"]*"/)) continue
        split(substr(line, RSTART + 2), piece, ",")
        text = line
        sub(/^[^"]*".*, "|^[^"]*"/, "", text)
        sub(/"\).*/, "", text)
        if (match(line, /\/\*.*\*\//)) text = text ": " trim(substr(line, RSTART + 2, RLENGTH - 4))
        list = list "| `" (piece[1] ~ /^GC_/ ? "" : prefix) piece[1] "` | " cell(text) " |\n"
    }
}

# Takes a comment, whose first line this is.
function take_comment(line) {
    comment = line
    lines = 1
    while (line !~ /\*\//) {
        if ((getline line < file) <= 0) break
        line_number++
        lines++
        comment = comment (line ~ /^(    +[^ ]|$)/ ? " \001" : " ") trim(line)
    }
    comment_end = line_number
    sub(/^[ \t]*\/\* */, "", comment)
    sub(/ *\*\/.*/, "", comment)
}

function read_part(path,    line, declaration) {
    file = path
    part = path
    sub(/^src\//, "", part)
    headed = line_number = 0
    list = ""
    tables = ""
    comment = introduction = ""
    while ((getline line < file) > 0) {
        line_number++
        if (line ~ /^[ \t]*\/\*/) {
            take_comment(line)
            if (introduction == "") introduction = effect(comment)
        } else if (line ~ /^$/) {
            comment = ""
        } else if (line ~ /^#define GC_[A-Z]/ && line !~ /^#define GC__/) {
            declaration = line
            sub(/^#define /, "", declaration)
            match(declaration, /^[A-Z_0-9]+(\([^)]*\))?/)
            declaration = substr(declaration, 1, RLENGTH)
            if (declaration ~ /\(X\)$/) {
                listed(line)
                continue
            }
            if (declaration ~ /\(/ && comment != "") entry(declaration, "macro", declaration)
            while (line ~ /\\$/ && (getline line < file) > 0) line_number++
        } else if (line ~ /^(typedef )?(struct gc_[a-z]|enum)[a-z_ 0-9]*\{/ && line !~ /gc__/) {
            members(line)
        } else if (line ~ /^(GC_API|GC_DAC_API|GC__EXTERN GC__VISIBLE|static inline)/) {
            declaration = line
            while (declaration !~ /[;{]/ && (getline line < file) > 0) {
                line_number++
                declaration = declaration " " trim(line)
            }
            if (declaration ~ /[* ]gc_[a-z0-9]+[a-z0-9_]*\(/ && declaration !~ /[* ]gc__[a-z0-9_]*\(/) {
                match(declaration, /[* ]gc_[a-z0-9_]+\(/)
                entry(substr(declaration, RSTART + 1, RLENGTH - 2), "function", signature(declaration))
            }
            if (declaration ~ /\{/ && declaration !~ /\}$/) {
                while ((getline line < file) > 0) {
                    line_number++
                    if (line ~ /^\}/) break
                }
            }
        }
    }
    close(file)
    page = page tables
}

# Parts in the order in which the header includes them.
function read_header(path,    line, name, part_path) {
    while ((getline line < path) > 0) {
        if (line !~ /^#include "(api|barrier)\//) {
            if (line ~ /^#ifdef GC_(DAC_)?IMPLEMENTATION$/) break
            continue
        }
        split(line, name, "\"")
        part_path = "src/" name[2]
        read_part(part_path)
    }
    close(path)
}

# The paragraph of src/gc.h that gives the rule of names, if it is there.
function names(    line, on) {
    while ((getline line < "src/gc.h") > 0) {
        if (sub(/^   Names: a/, "   A", line)) {
            on = 1
            print "## Names\n"
        }
        if (on && line ~ /^$/) break
        if (on) print trim(line)
    }
    close("src/gc.h")
}

# The calls that src/gc.h names as those that every host needs, each with what it does and where more is said.
function first_calls(    line, text, title, name, count, i, anchor) {
    while ((getline line < "src/gc.h") > 0) {
        if (line ~ /^   The [a-z]+ calls that every host needs: /) text = " "
        if (text != "" && line ~ /^$/) break
        if (text != "") text = text " " trim(line)
    }
    close("src/gc.h")
    if (text == "") return
    text = trim(text)
    title = text
    sub(/:.*/, "", title)
    sub(/^[^:]*: */, "", text)
    sub(/[.]$/, "", text)
    count = split(text, name, / *, */)
    printf "## %s\n\n| | what it does | in |\n|---|---|---|\n", title
    for (i = 1; i <= count; i++) {
        if (!(name[i] in what)) fail("src/gc.h: " name[i] ", which every host needs, is not on the page")
        anchor = where[name[i]]
        gsub(/[^a-z0-9_]/, "", anchor)
        printf "| `%s` | %s | [%s](#%s) |\n", name[i], what[name[i]], where[name[i]], anchor
    }
    print ""
}

BEGIN {
    for (i = 1; i < ARGC; i++) read_header(ARGV[i])
    print "# The API on one page"
    print ""
    print "Generated from the comments in `src/api` and `src/barrier` by `make api`; the comments say more. *Cooperative*: the calling"
    print "thread is attached and in cooperative mode. *May*: the call is a safe point at which a collection may run, so every live"
    print "reference must be in a root; *waits*: it collects nothing itself, but waits for a collection of another thread, which is the"
    print "same to the caller. What fails returns what the last column says; `gc_last_result()` and `gc_last_message()` tell why."
    print "NULL where it is not allowed fails with `GC_ERROR_ARGUMENT`, and is asserted with `GC_DEBUG` >= 1. Below the functions of a"
    print "part are its structures, with their fields, and its constants."
    print ""
    first_calls()
    names()
    printf "%s", page
    if (faults) exit 1
    exit 0
}
