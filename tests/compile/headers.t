#!/bin/sh
# The shipped headers are up to date with src/, and the amalgamator refuses includes that it cannot keep in order.
cd "$(dirname "$0")/../.." && . tests/tap.sh
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
make_header() { awk -f tools/amalgamate.awk "$1"; }

for source in src/*.h; do
    header=$(basename "$source")
    make_header "$source" > "$dir/$header" && diff -u "$header" "$dir/$header" > "$dir/diff"
    ok $? "$header is up to date (make headers)"
    head -40 "$dir/diff" >&2
done
# The shipped headers compile to the same tokens as src/, except for __FILE__ and __LINE__. gc_handles.h includes the others, and
# gc_stackmap.h all.
tokens() { # tokens DIRECTORY LANGUAGE FLAGS...
    include=$1
    shift
    printf '#include <gc_handles.h>\n#include <gc_stackmap.h>\n' > "$dir/user"
    gcc -x "$@" -I"$include" -E -P "$dir/user" | sed 's/"[^"]*[.]h"\(, *[0-9]*\)*/FILE/g' | tr -s ' \n' '\n\n'
    gcc -x "$@" -I"$include" -E -dM "$dir/user" | sort
}
[ -n "${QUICK-}" ] || for flags in '' -DGC_IMPLEMENTATION '-DGC_IMPLEMENTATION -DGC_DEBUG=3 -DGC_SHADOW_HEAP=1 -DGC_BARRIER=at_run_time' \
    '-DGC_IMPLEMENTATION -DGC_PORTABLE_BARRIERS -DGC_CARD_BITS=1'; do
    for language in 'c -std=c11' 'c++ -std=c++14'; do
        # shellcheck disable=SC2086 # options
        tokens . $language $flags > "$dir/shipped" && tokens src $language $flags > "$dir/source" &&
            [ "$(wc -l < "$dir/source")" -gt 10000 ] && cmp -s "$dir/source" "$dir/shipped"
        ok $? "shipped headers are those of src/, token by token: $language $flags"
    done
done
for header in *.h; do
    test -f "src/$header"
    ok $? "$header has a source"
done

mkdir -p "$dir/src/deep"
cd "$dir" && ln -s "$OLDPWD/tools" tools
printf '#pragma once\n#include "beside.h"\n#include "deep/a.h"\n#ifdef GC_IMPLEMENTATION\n#include "deep/b.h"\n#endif\nint end;\n' > src/root.h
printf '#pragma once\nint beside;\n' > src/beside.h
printf '#pragma once\n#include "../beside.h"\n#include <stddef.h>\nint a;\n' > src/deep/a.h
printf '/* Not a directive:\n#include "nowhere.h"\n*/\n#pragma once\n#include "a.h"\nint b;\n' > src/deep/b.h
expected='#pragma once
#include "beside.h"
#include <stddef.h>
int a;
#ifdef GC_IMPLEMENTATION
/* Not a directive:
#include "nowhere.h"
*/
int b;
#endif
int end;'
is "$(make_header src/root.h | sed 1d)" "$expected" "each part once, in place; a header beside the source stays an include"
sed -i '1s/^/#ifndef ROOT_H\n/; $s/$/\n#endif/; s/ifdef GC_IMPLEMENTATION/if defined(GC_IMPLEMENTATION) \&\& 1/' src/root.h
make_header src/root.h > /dev/null
ok $? "the root may have an include guard, and a longer condition for the implementation"
matches "$(make_header src/root.h | sed 1q)" '^/\* Generated from src/root.h .*make headers' "the first line says what the file is made from"

printf '#pragma once\nint c;\n#include "d.h"\nint after;\n' > src/deep/c.h
printf '#pragma once\n#include "c.h"\nint d;\n' > src/deep/d.h
printf '#pragma once\n#include "deep/c.h"\n' > src/circle.h
is "$(make_header src/circle.h | sed 1d)" '#pragma once
int c;
int d;
int after;' "a part that includes the one it is included by brings nothing in twice"

# refuses NAME PART ROOT MESSAGE: the two as printf formats
refuses() {
    # shellcheck disable=SC2059
    printf "$2" > src/deep/bad.h
    # shellcheck disable=SC2059
    printf "$3" > src/bad.h
    message=$(make_header src/bad.h 2>&1 > /dev/null)
    is "$?: $message" "1: $4" "refused: $1"
}
refuses "a missing file" '\n#include "gone.h"\n' '#include "deep/bad.h"\n' 'src/deep/bad.h:2: cannot read src/deep/gone.h'
refuses "an include in a part's conditional" '#if 1\n#include "a.h"\n#endif\n' '#include "deep/bad.h"\n' \
    'src/deep/bad.h:2: a quoted include inside a conditional'
refuses "an include in another conditional of the root" '' '#ifdef X\n#include "deep/bad.h"\n#endif\n' \
    'src/bad.h:2: a quoted include inside a conditional'
refuses "an include in a conditional within the list of parts" '' \
    '#ifdef GC_IMPLEMENTATION\n#if 1\n#include "deep/bad.h"\n#endif\n#endif\n' 'src/bad.h:3: a quoted include inside a conditional'
refuses "a part of the implementation that is needed without it" '' \
    '#ifdef GC_IMPLEMENTATION\n#include "deep/bad.h"\n#endif\n#include "deep/bad.h"\n' \
    'src/bad.h:4: src/deep/bad.h is first included under GC_IMPLEMENTATION, but needed without it'
refuses "an #if without its #endif" '#if 1\n' '#include "deep/bad.h"\n' 'src/deep/bad.h:1: an #if without its #endif'
message=$(make_header src/none.h 2>&1)
is "$?: $message" "1: amalgamate:0: cannot read src/none.h" "refused: a missing source"
finish
