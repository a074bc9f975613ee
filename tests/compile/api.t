#!/bin/sh
# docs/api.md is up to date with the comments and has every public function; a function without a contract is refused.
cd "$(dirname "$0")/../.." && . tests/tap.sh
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
page() { awk -f "$tool" src/gc.h src/gc_handles.h src/gc_barrier_x86_64.h src/gc_stackmap.h src/gc_standalone.h src/gc_dac.h src/gc_profile.h; }
tool=$PWD/tools/api.awk

page > "$dir/api.md" && diff -u docs/api.md "$dir/api.md" > "$dir/diff"
ok $? "docs/api.md is up to date (make api)"
head -40 "$dir/diff" >&2

printf '#define GC_IMPLEMENTATION\n#include "gc_stackmap.h"\n' > "$dir/gc.c"
gcc -std=c11 -O0 -w -I. -c "$dir/gc.c" -o "$dir/gc.o"
ok $? "gc.h and gc_stackmap.h compile"
nm -g --defined-only "$dir/gc.o" | awk '$2 ~ /[TW]/ && $3 ~ /^gc_[a-z]/ { print $3 }' | sort > "$dir/defined"
sed -nE 's/^[|] `[^`(]*[ *](gc_[a-z_0-9]*)[(].*/\1/p' docs/api.md | sort > "$dir/listed"
is "$(comm -23 "$dir/defined" "$dir/listed")" '' "every function that they define is on the page"
is "$(uniq -d "$dir/listed")" '' "none is there twice"
test "$(wc -l < "$dir/defined")" -gt 50
ok $? "which are more than 50"

cp -r src "$dir/" && cd "$dir" || exit
# refuses NAME DECLARATION MESSAGE
refuses() {
    cp src/api/version.h "$dir/keep"
    printf '\n%s\n' "$2" >> src/api/version.h
    message=$(page 2>&1 > /dev/null)
    status=$?
    matches "$status $message" "^1 .*$3" "refused: $1"
    cp "$dir/keep" src/api/version.h
}
refuses 'a function without a comment' 'GC_API void gc_new_one(void);' 'version.h:[0-9]*: gc_new_one has no comment'
refuses 'an inline function without a comment' 'static inline int gc_new_one(int a) { return a; }' 'gc_new_one has no comment'
refuses 'a comment without terms' '/* Does. */
GC_API void gc_new_one(void);' 'the comment of gc_new_one does not end in'
refuses 'a comment with two terms of three' '/* Does. [any thread; never collects] */
GC_API void gc_new_one(void);' 'the comment of gc_new_one does not end in'
refuses 'a comment of seven lines' '/* Does.
   2
   3
   4
   5
   6
   [any thread; never collects; cannot fail] */
GC_API void gc_new_one(void);' 'the comment of gc_new_one has 7 lines'
sed -i 's/GC_IN_MODE, gc_collect,/GC_IN_MODE, gc_collect_all,/' src/gc.h
message=$(page 2>&1 > /dev/null)
matches "$? $message" '^1 .*gc_collect_all, which every host needs, is not on the page' 'refused: a call that every host needs and that there is not'
sed -i 's/GC_IN_MODE, gc_collect_all,/GC_IN_MODE, gc_collect,/' src/gc.h
matches "$(page | sed -n '/^## /{p;q}')" 'The ten calls that every host needs' 'the page begins with the calls that every host needs'
is "$(page | sed -n '/^## The ten/,/^## Names/p' | grep -c '^| `')" 10 'which are ten'
printf '\n%s\n' '/* Does it well. And more. [any thread; never collects; NULL: no more] */
GC_API void gc_new_one(void);
GC_API void *gc_new_two(int a, int (*call)(void),
                        int b);' >> src/api/version.h
matches "$(page)" '^. `void gc_new_one\(void\)` . Does it well\. . any thread . no . NULL: no more .$' "a row of the page"
matches "$(page)" '^. `void \*gc_new_two\(int a, int \(\*call\)\(void\), int b\)` . Does it well\. . any thread . no . NULL: no more .$' "which the next declaration shares"
printf '\n%s\n' '/* Kinds. X(NAME, text). */
#define GC_NEW_KINDS(X) \
    X(GC_NEW_A, "one, (a)") /* more */ \
    X(GC_NEW_B, "two")
typedef enum gc_new_kind {
    GC_NEW_KINDS(GC__NEW_NAME)
} gc_new_kind;' >> src/api/version.h
matches "$(page | sed -n '/gc_new_kind/,/NEW_B/p' | tr '\n' '^')" '.gc_new_kind.: Kinds\.\^\^[^a-z]*\^. .GC_NEW_A. . one, \(a\): more .\^. .GC_NEW_B. . two .\^' "the constants of an enum that a list makes"
printf '\n%s\n' 'enum { GC_NEW_C = 1, GC_NEW_D }; /* of a field */' >> src/api/version.h
matches "$(page | sed -n '/of a field/,/NEW_D/p' | tr '\n' '^')" '^Constants: of a field\^\^[^a-z]*\^. .GC_NEW_C = 1. . .\^. .GC_NEW_D. . .\^' "the constants of an enum in one line"
finish
