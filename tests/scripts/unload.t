#!/bin/bash
# Nothing stays behind where a feature is used again and again: neither when its library is unloaded, nor in one that is kept.
cd "$(dirname "$0")/../.." && . tests/tap.sh || exit
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
unset GC_PROFILE GC_STRESS GC_VERIFY
# What malloc counts as taken would vary with caches of threads.
export FOLDER=$dir JITDUMPDIR=$dir MALLOC_ARENA_MAX=1 GLIBC_TUNABLES=glibc.malloc.tcache_count=0:glibc.pthread.stack_cache_size=0
flags='-std=c11 -g1 -Wall -Wextra -Werror -pthread -I.'
if [ "$(uname -m)" = x86_64 ]; then flags="$flags -DWITH_CODE"; fi

# library NAME FLAGS...
library() {
    local name=$1
    shift
    # shellcheck disable=SC2086 # a list of options
    gcc $flags "$@" -DWITH_READER -fPIC -shared tests/scripts/unload.c -o "$dir/$name.so"
    ok $? "compiles: $name"
}
# flat NAME LIBRARY FEATURE VARIABLE=VALUE...: after a hundred rounds more
flat() {
    local name=$1 library=$2 feature=$3
    shift 3
    is "$(env "$@" timeout 300 "$dir/main" 100 "$dir/$library.so" "$feature" 2>&1 | tail -12)" 'nothing is left' "unloaded: $name"
}
kept() {
    local name=$1 library=$2 feature=$3
    shift 3
    is "$(env "$@" timeout 300 "$dir/main" 100 "$dir/$library.so" "$feature" kept 2>&1 | tail -12)" 'nothing is left' "kept: $name"
}

# shellcheck disable=SC2086
gcc $flags -O0 -DMAIN tests/scripts/unload.c -ldl -o "$dir/main" && library library -O1 && library checked -O0 -DGC_DEBUG=2 -DGC_BARRIER=at_run_time -DGC_SHADOW_HEAP=1
features='plain concurrent threads all forks options reports profile reader'
if [ "$(uname -m)" = x86_64 ]; then features="$features code"; fi
for feature in $features; do
    flat "$feature" library "$feature" LC_ALL=C
    kept "$feature" library "$feature" LC_ALL=C
done
flat 'a profile that the host has not ended' library profile_left LC_ALL=C
for ending in folded txt pb svg html json nettrace heapsnapshot; do
    flat "GC_PROFILE with .$ending" library plain "GC_PROFILE=$dir/asked.$ending,objects,ticks,period=1000"
    test -s "$dir/asked.$ending"
    ok $? "and the profile is there: .$ending"
done
flat 'GC_PROFILE with threads and all else' library all "GC_PROFILE=$dir/asked.txt,interval=1"
for feature in ${features/concurrent /}; do flat "$feature, checked, under stress" checked "$feature" GC_STRESS=1000 GC_VERIFY=1; done
for feature in threads code; do flat "$feature, interrupted at random" checked "$feature" GC_STRESS=safepoint SCALE=500; done
finish
