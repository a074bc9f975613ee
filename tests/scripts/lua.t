#!/bin/sh
# The port of Lua (examples/lua). Its changes to Lua's sources are checked as far as that needs no Lua; where LUA_SOURCES names the
# folder of lua-5.4.7, and perhaps LUA_TESTS that of its tests, Lua is built with them, tested and run under stress.
cd "$(dirname "$0")/../.." && . tests/tap.sh || exit
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
unset GC_STRESS GC_VERIFY GC_CHECKMARK
edits=examples/lua/edits

# What `edits make` writes leads from one folder to the other, and repeats no line of the first.
mkdir "$dir/before" "$dir/after" "$dir/made"
printf 'int a;\nint keeps_its_name(void);\n\nint old_b;\nint c = 1, d = 2;\nint e;\nint last;\n' > "$dir/before/x.c"
printf 'int first;\nint a;\nint keeps_its_name(void);\nint c = 1, d = 3;\nint f;\n/* a\n   b */\nint e;\n' > "$dir/after/x.c"
printf 'same\n' | tee "$dir/before/y.h" > "$dir/after/y.h"
printf 'one line\n' > "$dir/before/z.h"
printf 'one other line\n' > "$dir/after/z.h"
$edits make "$dir/before" "$dir/after" > "$dir/changes"
cp "$dir"/before/* "$dir/made"
$edits apply "$dir/changes" "$dir/made"
is "$(diff -r "$dir/after" "$dir/made")" '' 'changes are made as they were written'
is "$(grep -xFf "$dir/before/x.c" "$dir/changes" | grep .)" '' 'and repeat no line'
printf '== z.h\n2d\n' > "$dir/wrong"
matches "$($edits apply "$dir/wrong" "$dir/made" 2>&1)" 'z.h has no line 2: these changes are for another version' 'a line that is not there is named'
printf '== z.h\n1s\nabsent\npresent\n' > "$dir/wrong"
matches "$($edits apply "$dir/wrong" "$dir/made" 2>&1)" 'z.h, line 1, has no .absent.' 'so is a text that is not there'
mkdir "$dir/empty"
matches "$(examples/lua/run "$dir/empty" 2>&1)" 'there is no lua.h in' 'a folder without Lua is refused'

# docs/porting_lua.md says how large each step is.
for rung in 1 2; do
    step=$($edits count examples/lua/rung$rung.edits)
    matches "$(grep "^## Rung $rung:" docs/porting_lua.md)" "\\$step lines" "docs/porting_lua.md: the step to rung $rung is $step lines"
done

if [ -z "${LUA_SOURCES:-}" ]; then
    skip 'Lua 5.4.7 on gc.h' 'LUA_SOURCES does not name the folder of its sources'
    finish
fi
for stress in '' 1; do
    output=$(RUNS=0 STRESS=$stress nice examples/lua/run "$LUA_SOURCES" ${LUA_TESTS:+"$LUA_TESTS"} 2>&1)
    ok $? "Lua passes the tests at every rung${stress:+, verified and under stress}" || diag "$output"
    [ "${stress:-0}" = 1 ] && break
    LUA_TESTS=
done
finish
