#!/bin/bash
# gc_keep_alive keeps its argument alive up to the call, at every level of optimization, and costs no instruction.
cd "$(dirname "$0")/../.." && . tests/tap.sh || exit
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
printf '#define GC_IMPLEMENTATION\n#include "gc.h"\n' > "$dir/gc.c"
for language in c cc; do cp tests/compile/keep_alive.h "$dir/user.$language"; done
printf '#include "gc.h"\nvoid keep(void *p);\nvoid keep(void *p) { gc_keep_alive(p); }\n' > "$dir/keep.c"
cp "$dir/keep.c" "$dir/keep.cc"
gcc -std=c11 -O0 -I. -c "$dir/gc.c" -o "$dir/gc.o"
ok $? "the implementation compiles"

# From -O2 on the object dies without the call; so where it lives, it lives because of the call.
program() { # program COMPILER SOURCE IMPLEMENTATION FLAGS
    local output
    # shellcheck disable=SC2086 # a command and its options
    $1 $4 -w -I. -pthread "$dir/$2" "$dir/$3" -o "$dir/program" && output=$("$dir/program")
    matches "$output" '^kept lives$' "$1 $4: an object lives up to gc_keep_alive"
    case $4 in *-O[23]*) matches "$output" '^dropped died$' "$1 $4: and without it does not" ;; esac
}
for compiler in 'gcc -std=c11' 'clang -std=c11' 'g++ -std=c++14' 'clang++ -std=c++17'; do
    source=user.c keep=keep.c
    case $compiler in *++*) source=user.cc keep=keep.cc ;; esac
    for level in -O0 -O1 -O2 -O3; do program "$compiler" $source gc.o $level; done
    for level in -O1 -O2 -O3; do
        # shellcheck disable=SC2086
        $compiler $level -fcf-protection=none -I. -c "$dir/$keep" -o "$dir/keep.o"
        is "$(objdump -d --no-show-raw-insn "$dir/keep.o" | awk -F'\t' 'NF == 2 { print $2 }' | sed 's/ *$//' | grep -v '^nop')" ret "$compiler $level: no instruction"
    done
done
for compiler in gcc clang; do
    linker=
    [ $compiler = clang ] && ! command -v ld.lld > /dev/null && ! ls /usr/lib/bfd-plugins/LLVMgold.so > /dev/null 2>&1 && linker=none
    if [ "$linker" = none ]; then
        skip "$compiler -O3 -flto" 'no linker for it'
        continue
    fi
    lto=-flto=auto
    [ $compiler = clang ] && command -v ld.lld > /dev/null && lto="-flto -fuse-ld=lld"
    $compiler -std=c11 -O1 -flto -I. -c "$dir/gc.c" -o "$dir/gc-lto.o"
    program "$compiler -std=c11" user.c gc-lto.o "-O3 $lto"
    case $compiler in gcc) plus=g++ ;; *) plus=clang++ ;; esac
    program "$plus -std=c++17" user.cc gc-lto.o "-O3 $lto"
done
finish
