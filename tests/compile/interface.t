#!/bin/bash
# The interface between programs and collectors in libraries: every function of the API is in its list, and nothing that was
# released has moved. interface.expected has each entry of the tables, with the version that brought it.
cd "$(dirname "$0")/../.." && . tests/tap.sh || exit
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
golden=tests/compile/interface.expected

# What a program that calls gc.h needs symbols for: functions that src/api declares and does not define. Profiles are taken by a
# library of their own, and asked for by GC_PROFILE.
tags() { ctags --languages=C --langmap=C:.h --kinds-C="$1" -I GC_API,GC__EXTERN,GC__VISIBLE,GC__SHARED --sort=no -x --_xformat="$2" "${@:3}"; }
parts=$(find src/api -name '*.h' | grep -v -e /standalone.h -e /dac.h -e /interface.h -e /profile.h | sort)
# shellcheck disable=SC2086 # a list of files
{
    tags p %N $parts | grep '^gc_' | sort -u > "$dir/declared"
    tags f %N $parts | sort -u > "$dir/inline"
    tags x %N $parts | grep -v '^gc_' | sort -u >> "$dir/inline"
}
# The processor's own code is in both; each has its own.
comm -23 "$dir/declared" "$dir/inline" | grep -v '^gc__save_registers$' > "$dir/called"
sed -n 's/^    X(\([A-Z_]*\), \(gc_[a-z_]*\)).*/\1 \2/p' src/api/interface.h > "$dir/list"
awk '$1 !~ /INLINE/ { print $2 }' "$dir/list" | sort > "$dir/listed"
test "$(wc -l < "$dir/called")" -gt 90
ok $? "$(wc -l < "$dir/called") functions are declared and not inline"
is "$(comm -23 "$dir/called" "$dir/listed" | xargs)" '' "each is in GC__INTERFACE: append what is missing there, and raise GC_INTERFACE_MINOR"
is "$(comm -13 "$dir/called" "$dir/listed" | xargs)" '' "GC__INTERFACE has no others: a function that has gone keeps its place, as one that ends the program"
is "$(awk '$1 ~ /INLINE/ { print $2 }' "$dir/list" | sort | comm -23 - "$dir/inline" | xargs)" '' "and what it calls inline is"
is "$(tags vx '%N' src/api/barrier.h | grep '^gc_' | xargs)" "$(sed -n 's/^#define GC__INTERFACE_DATA(X) //p' src/api/interface.h | sed 's/X(\([a-z_]*\))/\1/g')" \
    "GC__INTERFACE_DATA has the data that inline code reads"

version=$(sed -n 's/^#define GC_INTERFACE_M[AJINO]*R \([0-9]*\)$/\1/p' src/api/standalone.h | xargs | tr ' ' .)
{
    sed 's/^/function /' "$dir/list"
    sed -n '/^#define GC_GEOMETRY/,/^$/s/^ *X(\([a-z_]*\), .*/geometry \1/p' src/api/standalone.h
    tags m '%s %N' src/api/standalone.h | sed -n 's/^\(struct:\)*gc_\(host\|version_info\) /\2 /p'
} > "$dir/now"
test "$(grep -c . "$dir/now")" -gt 150
ok $? "$(wc -l < "$dir/now") entries"
cut -d' ' -f2- $golden > "$dir/released"
for table in function geometry host version_info; do
    grep "^$table " "$dir/released" > "$dir/before"
    grep "^$table " "$dir/now" > "$dir/after"
    is "$(head -"$(wc -l < "$dir/before")" "$dir/after" | diff "$dir/before" - | grep '^[<>]' | head -3)" '' \
        "released entries of the table of each $table are where they were"
    is "$(tail -n +$(($(wc -l < "$dir/before") + 1)) "$dir/after" | sed "s/^/$version /")" '' \
        "$golden has them all: append these lines, with a higher GC_INTERFACE_MINOR if the version before was released"
done
is "$(sort -t. -k1,1n -k2,2n -c <(cut -d' ' -f1 $golden | uniq) 2>&1 | head -1; tail -1 $golden | cut -d' ' -f1 | sort -V | tail -1)" "$version" \
    "the last entries are those of interface $version"
finish
