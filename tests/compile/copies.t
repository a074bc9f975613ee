#!/bin/bash
# Several copies of gc.h in a process: each library and each unit with GC_API static keeps its own to itself; one that is exported serves plugins.
cd "$(dirname "$0")/../.." && . tests/tap.sh || exit
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
source=tests/compile/copies.c
flags='-O0 -pthread -I. -Wall -Wextra -Werror'

# library COMPILER NAME FLAGS...: a shared library with the user NAME and a gc.h
library() {
    local compiler=$1 name=$2
    shift 2
    # shellcheck disable=SC2086 # a command and its options
    $compiler $flags -DGC_IMPLEMENTATION -DNAME="$name" "$@" -fPIC -shared $source -o "$dir/$name.so"
}
exported() { nm -D --defined-only "$1" | awk '$3 ~ /^_*gc_|^GC_/ { print $3 }'; }
run() { timeout 60 "$@" 2>&1 | tail -3; }

# shellcheck disable=SC2086
gcc -std=c11 $flags -DMAIN $source -o "$dir/loader" -ldl
# two COMPILER LINKAGE...: of that compiler, and of gcc with another configuration, in one process
two() {
    local name="$*" compiler=$1
    shift
    library "$compiler" run_a "$@" && library 'gcc -std=c11' run_b "$@" -DGC_REGION_SHIFT=20
    ok $? "two libraries: $name"
    is "$(exported "$dir/run_a.so")" '' "nothing is exported: $name"
    # shellcheck disable=SC2086
    gcc -std=c11 $flags -DMAIN $source "$dir/run_a.so" "$dir/run_b.so" -Wl,-rpath,"$dir" -o "$dir/program"
    is "$(run "$dir/program")" 'all right' "one program, linked with both: $name"
    is "$(run "$dir/loader" "$dir/run_b.so" run_b "$dir/run_a.so" run_a)" 'all right' "loaded with RTLD_GLOBAL: $name"
}
two 'gcc -std=c11'
two 'g++ -x c++ -std=c++14'
two 'clang -std=c11' -DGC_API=static
two 'clang++ -x c++ -std=c++17' '-DGC_API=static inline'

# objects FLAGS...: three units with a gc.h of their own, in one program
objects() {
    for user in run_a run_b; do
        # shellcheck disable=SC2086
        gcc -std=c11 $flags -DGC_IMPLEMENTATION -DGC_API=static -DNAME=$user "$@" -c $source -o "$dir/$user.o" || return
    done
    # shellcheck disable=SC2086
    g++ -x c++ -std=c++14 $flags -DGC_IMPLEMENTATION -DNAME=run_c -c $source -o "$dir/run_c.o" &&
        gcc -std=c11 $flags -DMAIN -c $source -o "$dir/main.o" && g++ -pthread "$dir"/{main,run_a,run_b,run_c}.o -o "$dir/program"
}
objects
ok $? "units that have it as static link with one another and with one that shares it"
is "$(run "$dir/program")" 'all right' "and run"
is "$(nm -g --defined-only "$dir/run_a.o" | awk '$3 != "run_a" && !($2 == "W" && $3 ~ /^gc__/) { print $3 }')" '' \
    "a static one defines no name but weak ones of assembly"
objects -DGC_DEBUG=2 -DGC_SHADOW_HEAP=1 -DGC_BARRIER=at_run_time && is "$(run "$dir/program")" 'all right' "with other configurations"

# A program or library that exports its gc.h, and a plugin without one.
echo '#include "gc.h"' > "$dir/gc.c"
# exporter COMPILER LINKAGE
exporter() {
    # shellcheck disable=SC2086
    $1 -std=c11 $flags -fvisibility=hidden "$2" -DGC_IMPLEMENTATION -fPIC -shared "$dir/gc.c" -o "$dir/libgc.so" &&
        $1 -std=c11 $flags "$2" -DNAME=run_a -fPIC -shared $source -Wl,--no-undefined "$dir/libgc.so" -Wl,-rpath,"$dir" -o "$dir/run_a.so" &&
        $1 -std=c11 $flags -fno-pie "$2" -DNAME=run_b -c $source -o "$dir/run_b.o" &&
        gcc -no-pie $flags -DMAIN $source "$dir/run_b.o" "$dir/run_a.so" "$dir/libgc.so" -Wl,-rpath,"$dir" -o "$dir/program"
    ok $? "an exporting library, a plugin and a program: $*"
    is "$(run "$dir/program")" 'all right' "run: $*"
    is "$(exported "$dir/libgc.so" | grep -v '^gc_')" '' "only gc_ names are exported"
}
exporter gcc -DGC_EXPORTED=1
exporter clang '-DGC_API=extern __attribute__((visibility("default")))'
# shellcheck disable=SC2086
gcc -std=c11 $flags -DNAME=run_a -fPIC -shared $source -Wl,--no-undefined "$dir/libgc.so" -o "$dir/run_a.so" 2> "$dir/log"
test $? -ne 0
ok $? "a plugin without GC_EXPORTED does not link"
# Plugins that come and go: neither the threads nor the address space remember them.
library "gcc -std=c11" run_a
is "$(run "$dir/loader" cycle 1 "$dir/run_a.so" run_a)" $'unloaded\nended' "a thread that a plugin was used on ends after the plugin was unloaded"
is "$(GC_STRESS=1000 run "$dir/loader" cycle 3 "$dir/run_a.so" run_a)" $'unloaded\nended' "the same under stress"
is "$(run "$dir/loader" cycle 1000 "$dir/run_a.so" run_a)" $'unloaded\nended' "a thousand times"
library "gcc -std=c11" run_a -DWITH_CODE
is "$(run "$dir/loader" cycle 100 "$dir/run_a.so" run_a)" $'unloaded\nended' "with a registry of code"
library "gcc -std=c11" run_a -DGC_BARRIER=at_run_time -DGC_SHADOW_HEAP=1 -DGC_API=static
is "$(run "$dir/loader" cycle 100 "$dir/run_a.so" run_a)" $'unloaded\nended' "with a shadow heap"
finish
