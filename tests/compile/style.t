#!/bin/sh
# The measurable part of the house style, over src/.
cd "$(dirname "$0")/../.." && . tests/tap.sh || exit
parts=$(find src -name '*.h' | sort)

# none NAME FINDINGS: one line for each place that breaks the rule
none() { is "$2" '' "$1"; }

# shellcheck disable=SC2086 # lists of files
{
    none "no file is longer than 700 lines" "$(wc -l $parts | awk '$1 > 700 && $2 != "total"')"
    none "no line is longer than 130 characters" "$(awk 'length > 130 { print FILENAME ":" FNR }' $parts)"
    # Doubled asterisks, dashes and the like make art of a comment.
    none "no section art" "$(grep -nE '(/\*|//) *[-=*#_]{4}' $parts)"
    none "no // comments, no tabs, no trailing blanks" "$(grep -nP '^\s*//|\t|[^\\]\s+$' $parts | grep -v '"http')"

    # A function starts at a line that ends in "{" and has a parameter list, and ends at the next "}" in column 0.
    none "no function is longer than 70 lines" "$(awk '
        /^[A-Za-z_].*\).*\{$/ { start = FNR }
        /^}/ { if (start && FNR - start + 1 > 70) print FILENAME ":" start ": " FNR - start + 1 " lines"; start = 0 }
        FNR == 1 { start = 0 }' $parts)"

    # The geometry checks of the public configuration are counted like everything else.
    density=$(cat $parts | awk '/^[ \t]*#[ \t]*(if|elif|ifdef|ifndef)/ { n++ } END { printf "%.2f", 100 * n / NR }')
    test "$(echo "$density" | tr -d .)" -lt 150
    ok $? "#if density: $density % of lines, under 1.5 %"

    os='__linux__|__APPLE__|_WIN32|__unix__|__FreeBSD__|__aarch64__|__x86_64__'
    none "only src/platform asks for the system or the processor" \
        "$(grep -nE "^ *# *(if|elif).*($os)" $parts | grep -v -e '^src/platform/' -e '^src/barrier/geometry.h:')"
    none "only src/platform includes the system's headers" \
        "$(grep -nE '^ *# *include <(sys/|unistd|pthread|sched|signal|windows|mach|errno|time|fcntl)' $parts | grep -v '^src/platform/')"
    none "every part is read once" "$(grep -LE '^#pragma once|^#ifndef GC_HANDLES_H' $parts)"
    none "every part opens with a comment" "$(awk 'FNR == 1 && !/^\/\*/ { print FILENAME }' $parts)"
    # A user may have copied the shipped headers alone.
    none "no comment cites a part or another file of the project by its path alone" \
        "$(grep -nE '(^|[^a-z])((api|base|platform|space|threads|trace|cycle|policy|weak|diag|collection|mutator|stackmap|profile|dac)/[a-z_0-9]+\.h|see [a-z_]+\.h|(docs|bench|tests|examples)/)' $parts |
            grep -vE '#include|project.s docs/')"
    none "no comment points at history" "$(grep -niE 'issue ?#?[0-9]|TODO|FIXME|XXX|no longer|used to be|previously' $parts)"

    # The preprocessor does not report a macro that no file uses, and then the build would not test what it was meant to test.
    known=$(mktemp)
    grep -ohE '\bGC_[A-Z0-9_]+' $parts | sort -u > "$known"
    none "every macro that a build defines is one that gc.h knows" \
        "$(grep -rnoE --include=Makefile --include='*.mk' --include='*.t' --include='*.sh' -- '-DGC_[A-Z0-9_]+' Makefile tests bench examples tools |
            awk -F-D 'NR == FNR { known[$1]; next } !($2 in known)' "$known" -)"
    rm -f "$known"

    # The rooms of src/: a part refers only to its own room and to those before it, and includes what it uses.
    none "the order of the house" "$(perl tools/order.pl 2>&1)"
}
finish
