#!/bin/bash
# Finished programs on collectors that are loaded: make standalone's libraries, unit tests, examples and the Scheme interpreter on
# them, a planted mistake that only the checked one reports, and several collectors at once.
cd "$(dirname "$0")/../.." && . tests/tap.sh || exit
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
unset GC_STRESS GC_VERIFY GC_CHECKMARK GC_NAME GC_PATH
export GC_VERBOSE=0
libraries=$PWD/build/standalone
scheme=build/examples/scheme-standalone
programs=examples/scheme/programs

# on COLLECTOR COMMAND...: runs the command on the embedded collector, or on a library
on() {
    local collector=$1
    shift
    if [ "$collector" = embedded ]; then "$@"; else GC_PATH=$libraries/libgc-$collector.so "$@"; fi
}

for library in release checked profile; do
    is "$(nm -D --defined-only "$libraries/libgc-$library.so" | awk '{ print $3 }' | xargs)" 'GC_Initialize GC_VersionInfo' \
        "libgc-$library.so exports these two, and nothing else"
done

# Threads, handles, finalizers, safe handles, fork() and the rest of the API.
for test in alloc api barrier claims external finalizer_ends finalizers fork heaps large limits pins roots safe_handle stats \
    thread_ends threads trace types walk weak; do
    on release timeout 300 build/tests/standalone/test_$test > "$dir/log" 2>&1
    status=$?
    test $status -eq 0 && grep -q '^ok' "$dir/log" && ! grep -q '^not ok' "$dir/log"
    ok $? "unit test $test on the release library: $(grep -c '^ok' "$dir/log") facts"
    [ $status -eq 0 ] || diag "status $status" "$(grep -A3 '^not ok' "$dir/log" | head -20)"
done
for test in alloc claims large roots safe_handle walk weak; do
    on checked timeout 300 build/tests/standalone/test_$test > "$dir/log" 2>&1
    ok $? "unit test $test on the checked library"
done

# program NAME COMPILER SOURCE: links a program without a collector of its own with one that can be exchanged
program() {
    $2 -O2 -I. -Iexamples -c "$3" -o "$dir/$1.o" && gcc -pthread "$dir/$1.o" build/tests/standalone/collector.o -lstdc++ -lm -ldl -o "$dir/$1"
    ok $? "compiles: $1"
}
# The same with link-time optimization of both sides.
sed '/define GC_IMPLEMENTATION/d' examples/hello.c > "$dir/hello.c"
for compiler in gcc clang; do
    linker=()
    [ $compiler = gcc ] || linker=(-fuse-ld=$(command -v ld.lld > /dev/null && echo lld || echo gold))
    if ! echo 'int main(void) { return 0; }' | $compiler -flto "${linker[@]}" -x c - -o "$dir/empty" 2> "$dir/err"; then
        skip "$compiler -flto" 'no linker for it'
        continue
    fi
    $compiler -std=c11 -O1 -flto "${linker[@]}" -I. packaging/standalone_program.c "$dir/hello.c" -pthread -ldl -o "$dir/lto" 2> "$dir/err"
    ok $? "links with -flto, $compiler"
    for collector in embedded release; do
        is "$(on $collector "$dir/lto" | head -1)" 'the sum of a million cells: 499999500000' "-flto, $compiler, $collector"
    done
done
for source in examples/delegate.c examples/file_stream.c examples/handle_recycling.c examples/native.c examples/weak_tables.c; do
    name=$(basename $source .c)
    sed '/define GC_IMPLEMENTATION/d' $source > "$dir/$name.c"
    program "$name" 'gcc -std=c11 -D_GNU_SOURCE' "$dir/$name.c"
    for collector in embedded release checked; do
        is "$(on $collector timeout 300 "$dir/$name" 2>&1)" "$(cat "examples/$name.expected")" "$name, $collector"
    done
done
# Compiled code with stack maps: frames are walked, and references in them updated, by the library.
sed '/define GC_IMPLEMENTATION/d' examples/stackmap.c > "$dir/stackmap.c"
program stackmap 'gcc -std=c11 -D_GNU_SOURCE' "$dir/stackmap.c"
expected=$(on embedded "$dir/stackmap" 2>&1)
ok $? "stack maps, embedded"
for collector in release checked; do is "$(on $collector "$dir/stackmap" 2>&1)" "$expected" "stack maps, $collector"; done

# Values by macros: a library has to be compiled with them. (The Scheme has two numbers, which any library learns.)
grep '^#define GC_VALUE_' tests/unit/test_tagged.c > "$dir/seam.h"
sed '/define GC_IMPLEMENTATION/d; /^#define /d' tests/unit/test_tagged.c > "$dir/tagged.c"
gcc -std=c11 -O0 -Isrc -include "$dir/seam.h" -c packaging/standalone_program.c -o "$dir/tagged.o" &&
    gcc -std=c11 -D_GNU_SOURCE -O1 -Isrc -Itests/unit -include "$dir/seam.h" "$dir/tagged.c" "$dir/tagged.o" -pthread -ldl -o "$dir/tagged"
ok $? "a program with macros for its values compiles"
page=$(on release "$dir/tagged" 2>&1)
matches "$page" 'own_values is 1 in the program and 0 in the library' "it is refused by a library without them"
gcc -std=c11 -shared -fPIC -O0 -Isrc -include "$dir/seam.h" packaging/standalone.c -pthread -o "$dir/libgc-mine.so"
ok $? "a library with them compiles"
page=$(GC_PATH=$dir/libgc-mine.so timeout 300 "$dir/tagged" 2>&1)
test $? -eq 0 && ! grep -q '^not ok' <<< "$page" && grep -q '^ok 1' <<< "$page"
ok $? "and serves it"

# The demos. The checked library's own settings make it collect at each new call stack and check everything; that takes a
# program four to eight times as long, so the longer demos only have it verify.
$scheme $programs/text.scm > "$dir/text"
for collector in embedded release checked; do
    for name in meta queens sieve derive json lru words; do
        # scheme.t has run all of them on a collector that was compiled in.
        case $collector$name in embeddedqueens | embeddedwords) ;; embedded*) continue ;; esac
        settings=(LC_ALL=C)
        case $collector$name in checkedsieve) ;; checked*) settings=(GC_STRESS=0 GC_CHECKMARK=0) ;; esac
        arguments=()
        if [ $name = words ]; then arguments=("$dir/text"); fi
        on $collector env "${settings[@]}" $scheme $programs/$name.scm "${arguments[@]}" > "$dir/out" 2> "$dir/err"
        cmp -s "$dir/out" $programs/$name.expected
        ok $? "Scheme, $name, $collector"
        [ ! -s "$dir/err" ] || diag "$(head -5 "$dir/err")"
    done
done
# The profiling library writes what the program asks for by nothing but the environment.
GC_PROFILE=$dir/profile.txt on profile $scheme $programs/derive.scm > "$dir/out" 2> "$dir/err"
cmp -s "$dir/out" $programs/derive.expected
ok $? "Scheme, derive, profile"
is "$(cat "$dir/err")" '' "without a word on standard error"
matches "$(tr '\n' ' ' < "$dir/profile.txt")" 'pair: [0-9]+ objects.*vm_resume' "GC_PROFILE=FILE has it write which function allocates what"
GC_PROFILE=$dir/none.txt on release $scheme $programs/sieve.scm > /dev/null 2>&1
test ! -e "$dir/none.txt"
ok $? "other libraries do not"

# A barrier is forgotten where no collector needs it: an old object is stored to an old one. The shadow heap sees it.
cat > "$dir/barrier.c" << 'END'
#include "gc.h"
typedef struct cell { gc_object header; struct cell *next; } cell;
static const gc_type cell_type = GC_TYPE(cell, next);
int main(int argc, char **argv) {
    (void)argv;
    gc_heap *heap = gc_heap_create(NULL);
    gc_thread *gc = gc_thread_attach(heap);
    cell *one = gc_new(gc, &cell_type), *other = NULL;
    GC_ROOTS(gc, one, other);
    other = gc_new(gc, &cell_type);
    for (int i = 0; i < 3; i++) gc_collect(heap, 2, GC_COLLECT_DEFAULT);
    if (argc > 1)
        one->next = other;
    else
        gc_store(gc, &one->next, other);
    gc_collect(heap, 2, GC_COLLECT_DEFAULT);
    return puts(one->next == other ? "works" : "does not") < 0;
}
END
gcc -std=c11 -O0 -DGC_SHADOW_HEAP=1 -I. packaging/standalone_program.c "$dir/barrier.c" -pthread -ldl -o "$dir/barrier"
ok $? "a program that keeps the shadow heap compiles"
is "$(GC_STRESS=0 on checked "$dir/barrier" 2>&1)" works "with its barriers it works on the checked library"
is "$(on release "$dir/barrier" forgets 2>&1)" works "and without one on another"
page=$(ulimit -c 0; GC_STRESS=0 on checked "$dir/barrier" forgets 2>&1)
matches "$page" 'without the write barrier \(the shadow heap holds another value\)' "the checked one reports that"
gcc -std=c11 -I. "$dir/barrier.c" build/tests/standalone/collector.o -pthread -ldl -o "$dir/barrier"
is "$(GC_STRESS=0 on checked "$dir/barrier" forgets 2>&1)" works "which it cannot see in a program that does not keep the shadow heap"
is "$(cmp "$(on release build/examples/scheme $programs/queens.scm > "$dir/out"; echo "$dir/out")" $programs/queens.expected)" '' \
    "a program that was not compiled with GC_STANDALONE does not read the environment"

# A root is forgotten. Nobody notices, until the finished program is run on the checked library.
mkdir "$dir/scheme" && cp examples/scheme/*.[ch] "$dir/scheme"
sed -i '226{/GC_ROOTS_WITH(x->m->gc, GC_SLOT_VALUE, arguments);/d}' "$dir/scheme/expand.c"
test "$(diff examples/scheme/expand.c "$dir/scheme/expand.c" | grep -c '^<')" -eq 1
ok $? "a root is planted as missing"
objects=()
for object in build/objects/standalone/examples/scheme/*.o; do [ "$(basename "$object")" = expand.o ] || objects+=("$object"); done
gcc -std=c11 -O2 -g -DGC_STANDALONE -I. -c "$dir/scheme/expand.c" -o "$dir/expand.o" &&
    gcc -pthread "${objects[@]}" "$dir/expand.o" -lm -ldl -o "$dir/forgetful"
ok $? "it compiles"
on embedded "$dir/forgetful" $programs/sieve.scm > "$dir/out" 2>&1 && cmp -s "$dir/out" $programs/sieve.expected
ok $? "the program works on the embedded collector"
page=$(ulimit -c 0; on checked "$dir/forgetful" $programs/sieve.scm 2>&1)
test $? -ne 0
ok $? "and fails on the checked library"
matches "$page" 'missed root or barrier' "which reports the root"

# Several collectors at once, in C and C++.
for compiler in 'gcc -std=c11' 'clang -std=c11' 'g++ -std=c++14 -x c++' 'clang++ -std=c++14 -x c++'; do
    # shellcheck disable=SC2086 # options
    $compiler -Wall -Wextra -Wpedantic -Werror -O0 -I. tests/scripts/standalone_tables.c -pthread -ldl -o "$dir/tables"
    ok $? "tables: $compiler"
    is "$(GC_STRESS=0 "$dir/tables" "$libraries/libgc-release.so" "$libraries/libgc-checked.so" 2>&1 | sed 's/^[0-9]: //' | sort | uniq -c | sed 's/^ *//')" \
        '3 sum 200010000, weak handle cleared 1, object of the strong one kept 1, finalizers 1 1, warnings 0, described 1' "three collectors, $compiler"
done

# The unit with the embedded collector must not use it by name, for that would be the embedded one in any case.
printf '#define GC_STANDALONE\n#define GC_IMPLEMENTATION\n#include "gc_standalone.h"\nint main(void) { return gc_heap_create(NULL) == NULL; }\n' > "$dir/poison.c"
for compiler in gcc clang; do
    page=$($compiler -std=c11 -I. -fsyntax-only "$dir/poison.c" 2>&1)
    matches "$page" 'poisoned.* "?gc_heap_create|poisoned identifier' "does not compile: a call in the unit of the embedded collector, $compiler"
done
finish
