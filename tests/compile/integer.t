#!/bin/sh
# The check for numbers that wrap, which the unit tests run under: that it finds some, and that its list of exceptions is of gc.h.
cd "$(dirname "$0")/../.." && . tests/tap.sh || exit
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

cat src/*.h src/*/*.h > "$work/parts"
is "$(sed -n 's/^fun://p' tests/integer.ignore | sort -u | while read -r name; do grep -qE "^[A-Za-z_].*\<$name\(" "$work/parts" || echo "$name"; done)" '' \
    "each function that may wrap is one of gc.h"

# wraps NAME EXPRESSION: function NAME, whose argument is SIZE_MAX
wraps() {
    cat > "$work/wraps.c" <<END
#include <stddef.h>
__attribute__((noinline)) size_t $1(size_t limit) { return $2; }
int main(int count, char **arguments) {
    (void)arguments;
    return $1((size_t)0 - (size_t)(count > 0)) == 0 && count == 99;
}
END
    # main's own argument wraps, too
    { cat tests/integer.ignore; printf '[unsigned-integer-overflow]\nfun:main\n'; } > "$work/ignore"
    flags=$(make -s --no-print-directory -f Makefile -f - show-integer <<'END'
show-integer: ; @echo '$(filter-out -fsanitize-ignorelist=%,$(integer))'
END
    )
    # shellcheck disable=SC2086 # flags
    clang $flags -fsanitize-ignorelist="$work/ignore" "$work/wraps.c" -o "$work/wraps" 2>&1 && "$work/wraps" 2>&1
}
matches "$(wraps more_than 'limit + 4096')" "unsigned integer overflow" "a limit of SIZE_MAX and more wraps, and is found"
matches "$(wraps twice 'limit << 1')" "left shift" "so are bits that a shift pushes out"
matches "$(wraps short_of '(unsigned short){limit}')" "implicit conversion" "and those that a conversion loses"
is "$(wraps gc__holes_count 'limit + 4096')" "" "but not where it is meant to"
finish
