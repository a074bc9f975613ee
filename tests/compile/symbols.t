#!/bin/bash
# The names that gc.h adds to a program: it defines gc_ and GC_ names only, needs libc only, and units in C and C++ link into one program.
cd "$(dirname "$0")/../.." && . tests/tap.sh || exit
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
printf '#define GC_IMPLEMENTATION\n#include "gc.h"\n' > "$dir/gc.c"
printf '#define GC_IMPLEMENTATION\n#include "gc_stackmap.h"\n' > "$dir/gc_stackmap.c"
printf '#include "tests/compile/user.h"\nint main(void) { return call_user() == 0 || !gc_result_text(GC_OK); }\n' > "$dir/user.c"
cp "$dir/gc.c" "$dir/gc.cc" && cp "$dir/user.c" "$dir/user.cc"
cp "$dir/user.c" "$dir/other.c" && sed -i 's/main/other_main/' "$dir/other.c"

# adds NAME SOURCE COMPILER OPTIONS...
adds() {
    local name=$1 source=$2
    shift 2
    "$@" -std=c11 -fPIC -I. -c "$dir/$source" -o "$dir/gc.o"
    ok $? "$name compiles"
    is "$(nm -g --defined-only "$dir/gc.o" | awk '$3 !~ /^(gc|GC)_/ { print $3 }')" '' "$name: only gc_ names are defined"
    # Statics share the namespace of the file that has the implementation. The part after a dot is the compiler's.
    is "$(nm "$dir/gc.o" | awk '$2 ~ /^[tdbr]$/ && $3 !~ /^(gc_|GC_|[.])|[.]/ { print $3 }')" '' "$name: statics too"
    # The undefined symbols of a shared library are libc's only; since glibc 2.34 libc has pthreads, too.
    "$1" -shared -nodefaultlibs -Wl,--no-undefined "$dir/gc.o" -lc -lgcc -o "$dir/gc.so" 2> "$dir/log"
    ok $? "$name: needs libc alone"
    cat "$dir/log" >&2
}
for compiler in gcc clang; do
    # Optimized once for each compiler, with gc_stackmap.h, which has all of gc.h.
    for configuration in '-O0' '-O0 -DGC_DEBUG=3 -DGC_SHADOW_HEAP=1' '-O0 -DGC_PORTABLE_BARRIERS -DGC_CARD_BITS=1'; do
        # shellcheck disable=SC2086 # options
        adds "$compiler $configuration" gc.c $compiler $configuration
    done
    for configuration in -Og '-O0 -DGC_DEBUG=3'; do
        # shellcheck disable=SC2086
        adds "gc_stackmap.h, $compiler $configuration" gc_stackmap.c $compiler $configuration
    done
done

# A program without gc_stackmap.h has none of its code: what the two objects define differs by its functions.
defined() { gcc -std=c11 -O0 -w -I. -c "$dir/$1.c" -o "$dir/$1.o" && nm --defined-only "$dir/$1.o" | awk '{ sub(/[.][0-9]+$/, "", $3); print $3 }' | sort -u; }
ctags --languages=C --langmap=C:.h --kinds-C=fv -I GC__FN,GC__INLINED,GC__OUT_OF_LINE,GC__COLD,GC_API --sort=no -x --_xformat=%N src/stackmap/*.h |
    sort > "$dir/parts"
defined gc > "$dir/without" && defined gc_stackmap > "$dir/with"
is "$(comm -12 "$dir/parts" "$dir/without")" '' "gc.h alone has nothing of src/stackmap"
is "$(comm -23 "$dir/without" "$dir/with")" '' "gc_stackmap.h has all of gc.h"

macros() { gcc -std=c11 -D_GNU_SOURCE -I. -dM -E "$@" - | awk '{ sub(/[(].*/, "", $2); print $2 }' | sort; }
# Some headers are those of other systems.
sed -n 's/^# *include \(<.*>\).*/#if __has_include(\1)\n#include \1\n#endif/p' ./*.h | macros > "$dir/system"
echo '#include "gc_stackmap.h"' | macros -DGC_IMPLEMENTATION > "$dir/all"
is "$(comm -13 "$dir/system" "$dir/all" | grep -v '^GC_')" '' "only GC_ macros are defined"

# links NAME COMPILER-OF-IMPLEMENTATION COMPILER-OF-USER LINKER
links() {
    implementation=gc.c user=user.c object=$dir/${2// /}.o
    case $2 in *++*) implementation=gc.cc ;; esac
    case $3 in *++*) user=user.cc ;; esac
    [ -f "$object" ] || $2 -O0 -I. -c "$dir/$implementation" -o "$object"
    $3 -O0 -I. -c "$dir/$user" -o "$dir/b.o" && gcc -std=c11 -O0 -I. -c "$dir/other.c" -o "$dir/c.o" &&
        $4 -pthread "$object" "$dir/b.o" "$dir/c.o" -o "$dir/program" && "$dir/program"
    ok $? "links and starts: $1"
}
links 'C with C' 'gcc -std=c11' 'gcc -std=c11' gcc
links 'clang with gcc' 'clang -std=c11' 'gcc -std=c11' gcc
links 'C with C++' 'gcc -std=c11' 'g++ -std=c++17' g++
links 'C++ with C' 'g++ -std=c++14' 'gcc -std=c11' g++
links 'C++ with C++' 'clang++ -std=c++17' 'g++ -std=c++17' g++

# differs NAME FLAGS SYMBOL: a user with other flags does not link, and the linker names the symbol
differs() {
    for compiler in 'gcc -std=c11' 'g++ -std=c++14' 'clang -std=c11 -O2'; do
        file=user.c
        case $compiler in *++*) file=user.cc ;; esac
        # shellcheck disable=SC2086 # options
        $compiler -I. $2 -c "$dir/$file" -o "$dir/b.o" && report=$(g++ -pthread "$dir/gcc-std=c11.o" "$dir/b.o" -o "$dir/program" 2>&1)
        test $? -ne 0
        ok $? "does not link: $1, $compiler"
        matches "$report" "undefined reference to .*gc_configuration_.*$3" "and the linker says why"
    done
}
differs 'another region shift' -DGC_REGION_SHIFT=20 region_shift_20
differs 'other cards' '-DGC_CARD_SHIFT=10 -DGC_CARD_BITS=1' card_shift_10_bits_1
differs 'no bundles' -DGC_BUNDLE_SHIFT=0 bundle_0
differs 'another barrier' -DGC_BARRIER=at_run_time barrier_at_run_time
differs 'a shadow heap' -DGC_SHADOW_HEAP=1 shadow_1

finish
