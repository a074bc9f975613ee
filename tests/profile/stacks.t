#!/bin/bash
# Native stacks and names beyond C programs that are linked as usual: C++, libraries that come and go, static programs, other C
# libraries, programs without symbols whose debugging symbols are in files of their own.
cd "$(dirname "$0")/../.." && . tests/tap.sh || exit
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT

gcc -O2 -shared -fPIC -DNAME=first_relay -DFRAME=40 tests/profile/stacks_library.c -o "$dir/first.so" &&
    gcc -O2 -shared -fPIC -DNAME=second_relay -DFRAME=400 -fno-omit-frame-pointer tests/profile/stacks_library.c -o "$dir/second.so"
ok $? "two libraries"

# tried NAME COMMAND...: the program finds all stacks; its folded profile is in $page
tried() {
    local name=$1
    shift
    rm -f "$dir/out.folded"
    GC_PROFILE=$dir/out.folded,period=1 timeout 60 "$@" > "$dir/log" 2>&1
    ok $? "$name"
    grep -v '^ok' "$dir/log" | grep -v '^1\.\.' >&2
    page=$(cat "$dir/out.folded")
}
for compiler in 'g++ -O1' 'clang++ -O1 -fomit-frame-pointer'; do
    name=${compiler// /}
    # shellcheck disable=SC2086 # a list of words
    $compiler -std=c++14 -pthread -Isrc tests/profile/stacks.cc -o "$dir/$name" -ldl > "$dir/log" 2>&1
    ok $? "$compiler"
    grep -m3 error "$dir/log" >&2
    tried "$compiler: stacks" "$dir/$name" "$dir/first.so" "$dir/second.so"
    matches "$page" 'allocate_here\(.*\)[^;]*;' "$compiler: names as C++ has them"
    # Functions that are unloaded when the profile is written have names.
    matches "$page" 'first_relay;.*allocate_here.*;leaf 640$' "$compiler: names of a library that was unloaded"
    matches "$page" 'second_relay;.*allocate_here.*;leaf 640$' "$compiler: and of another one in its place"
done

# Debugging symbols in a file of their own: beside the program, and by the build id.
name=$dir/g++-O1
objcopy --only-keep-debug "$name" "$dir/names.debug" && cp "$name" "$dir/stripped" && strip "$dir/stripped"
tried "stripped" "$dir/stripped" "$dir/first.so" "$dir/second.so"
matches "$page" 'first_relay;0x[0-9a-f]*;leaf' "stripped: the program's functions have no names"
(cd "$dir" && cp stripped linked && objcopy --add-gnu-debuglink=names.debug linked && mkdir .debug && mv names.debug .debug)
tried "linked to its symbols" "$dir/linked" "$dir/first.so" "$dir/second.so"
matches "$page" 'main;.*first_relay;.*allocate_here.*;leaf' "symbols of a file in .debug"
id=$(readelf -n "$dir/stripped" | sed -n 's/.*Build ID: //p')
mkdir -p "$dir/root/.build-id/${id:0:2}" && mv "$dir/.debug/names.debug" "$dir/root/.build-id/${id:0:2}/${id:2}.debug"
DEBUG_FOLDER=$dir/root tried "installed symbols" "$dir/stripped" "$dir/first.so" "$dir/second.so"
matches "$page" 'main;.*first_relay;.*allocate_here.*;leaf' "symbols by the build id"
# Symbols of another program are not taken, though the name is right.
(cd "$dir" && rm -rf root && objcopy --only-keep-debug 'clang++-O1-fomit-frame-pointer' .debug/names.debug)
tried "wrong symbols" "$dir/linked" "$dir/first.so" "$dir/second.so"
matches "$page" 'first_relay;0x[0-9a-f]*;leaf' "a file with other symbols is not used"

# Static programs have their tables in no list.
for compiler in 'gcc -static' 'musl-gcc' 'musl-gcc -static'; do
    if ! command -v "${compiler%% *}" > /dev/null; then skip "$compiler" "not installed"; continue; fi
    # shellcheck disable=SC2086 # a list of words
    $compiler -std=c11 -O1 -pthread -Isrc tests/profile/deep.c -o "$dir/deep" > "$dir/log" 2>&1
    ok $? "$compiler"
    is "$("$dir/deep")" "10 main" "$compiler: all frames up to main, with their names"
done
finish
