#!/bin/bash
# Other systems than x86-64 with glibc: musl, AArch64, RISC-V, S/390 with its highest byte first, Windows, pages of 64 KiB; and a
# sentence where gc.h does not work. This is a sample: tests/platforms/all.sh and windows.sh have the rest.
cd "$(dirname "$0")/../.." && . tests/tap.sh || exit
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT

# refused NAME MESSAGE FLAGS...: the implementation does not compile, with this error and one that ends it
mkdir -p "$dir/stubs/gnu" && touch "$dir/stubs/gnu/stubs-32.h"
refused() {
    local name=$1 message=$2 compiler
    shift 2
    for compiler in gcc clang; do
        page=$(echo '#include "gc.h"' | $compiler -x c -std=c11 -fsyntax-only -I. -isystem "$dir/stubs" -DGC_IMPLEMENTATION "$@" - 2>&1)
        matches "$(grep -m1 'error:' <<< "$page")" "error: .*$message" "refused: $name: $compiler"
        is "$(grep -c ': error: ' <<< "$page")" 1 "refused: $name: $compiler gives no errors that follow from it"
    done
}
refused 'another system' 'for Linux and Windows only' -U__linux__
refused 'SPARC' 'SPARC and Itanium keep registers in a second stack' -U__x86_64__ -D__sparc__
refused 'pointers of 32 bits' 'needs pointers of 64 bits' -m32
refused 'another header before it' 'include gc.h before any other header' -include stdio.h
refused 'another compiler' 'needs gcc or clang' -U__GNUC__
refused 'addresses beyond a displacement' 'GC_ADDRESS_BITS must be at most GC_REGION_SHIFT \+ 31' -DGC_ADDRESS_BITS=48 -DGC_REGION_SHIFT=16
refused 'the same in C' 'GC_ADDRESS_BITS must be at most GC_REGION_SHIFT \+ 31' -DGC_ADDRESS_BITS=48 -DGC_REGION_SHIFT=16 -DGC_PORTABLE_BARRIERS
refused 'an arena of fewer than 16 regions' 'GC_ARENA_BYTES must hold 16 regions' '-DGC_ARENA_BYTES=((size_t)1<<21)'

# variant EXPRESSION: the shipped headers, changed by sed, in $dir/changed
variant() {
    rm -rf "$dir/changed" && mkdir "$dir/changed" && cp ./*.h "$dir/changed" && sed -i "$1" "$dir"/changed/*.h
    ! diff -rq "$dir/changed" . > "$dir/log" || ! echo "# nothing is changed by: $1" >&2
    grep -q differ "$dir/log"
    ok $? "headers changed by $1"
}

variant 's/#define GC_ADDRESS_BITS 47/#define GC_ADDRESS_BITS 46/'
printf '#define GC_IMPLEMENTATION\n#include "gc.h"\nint main(void) { return gc_heap_create(NULL) ? 0 : puts(gc_last_message()), 3; }\n' > "$dir/create.c"
gcc -std=c11 -pthread -I"$dir/changed" "$dir/create.c" -o "$dir/create" && page=$("$dir/create" 2>&1)
is $? 3 "an arena whose addresses have more bits than the tables is refused"
matches "$page" 'beyond the 46 bits of an address' "with a sentence"

# passes NAME TEST COMMAND...: the unit test compiles and passes; COMMAND runs it. Flags and compiler: $compiler
passes() {
    local name=$1 test=$2 own
    shift 2
    own=tests/unit/gc.c && grep -q 'define GC_IMPLEMENTATION' "tests/unit/$test.c" && own=
    grep -q 'include "../inside.h"' "tests/unit/$test.c" && own=tests/unit/inside.c
    # shellcheck disable=SC2086 # lists of words
    $compiler -std=c11 -pthread "tests/unit/$test.c" $own -o "$dir/test" > "$dir/log" 2>&1 && timeout 600 "$@" "$dir/test" > "$dir/log" 2>&1
    ok $? "$name: $test"
    grep -v '^ok\|^# ' "$dir/log" | head -5 >&2
}

# The code checks that its requests to the system are whole pages. Here it takes pages for larger than they are.
variant 's/return (size_t)sysconf(_SC_PAGESIZE)/return 65536/'
compiler="gcc -I$dir/changed -DGC_DEBUG=1 -DGC_REGION_SHIFT=16 -DGC_BUNDLE_SHIFT=0 -DGC_CARD_BITS=1"
for test in test_stomp test_roots test_claims; do passes "pages of 64 KiB, regions as large" $test; done
compiler="gcc -I$dir/changed -DGC_DEBUG=1"
passes "pages of 64 KiB" test_roots

for compiler in 'gcc -O1' clang; do
    # shellcheck disable=SC2086 # a command and its option
    $compiler -std=c11 -masm=intel -Wall -Wextra -Werror -pthread -I. examples/hello.c -o "$dir/hello" && "$dir/hello" > "$dir/log" 2>&1
    ok $? "$compiler -masm=intel: examples/hello.c"
done
compiler='gcc -masm=intel -I.'
passes 'registers are scanned with -masm=intel' test_pins

# Regions so large that a quarantine of 256 MiB would hold none.
cat > "$dir/stale.c" << 'END'
#define GC_IMPLEMENTATION
#include "gc.h"
typedef struct cell { gc_object header; long value; } cell;
static const gc_type cell_type = GC_TYPE_LEAF(cell);
int main(void) {
    gc_heap *heap = gc_heap_create(NULL);
    gc_thread *gc = gc_thread_attach(heap);
    cell *missed = (cell *)gc_new(gc, &cell_type), *root = missed;
    GC_ROOTS(gc, root);
    gc_new(gc, &cell_type);
    return (int)missed->value;
}
END
for shift in 28 29 30; do
    gcc -std=c11 -g -pthread -I. -DGC_REGION_SHIFT=$shift "$dir/stale.c" -o "$dir/stale" && page=$(ulimit -c 0; GC_STRESS=allocation "$dir/stale" 2>&1)
    matches "$page" 'missed root or barrier: the program used a .cell.' "stress notices a missed root with regions of 2^$shift bytes"
done

# A report blames neither the store that it is about nor the collector's own variables, where barriers are in C or nothing has a name.
cat > "$dir/stored.c" << 'END'
#define GC_IMPLEMENTATION
#include "gc.h"
typedef struct pair { gc_object header; struct pair *next; } pair;
static const gc_type pair_type = GC_TYPE(pair, next);
int main(void) {
    gc_thread *gc = gc_thread_attach(gc_heap_create(NULL));
    pair *root = (pair *)gc_new(gc, &pair_type);
    GC_ROOTS(gc, root);
    pair *missed = (pair *)gc_new(gc, &pair_type);
    gc_new(gc, &pair_type);
    gc_store(gc, &root->next, missed);
}
END
for flag in -DGC_PORTABLE_BARRIERS -s; do
    gcc -std=c11 -pthread $flag -I. "$dir/stored.c" -o "$dir/stored" && page=$(ulimit -c 0; GC_STRESS=allocation "$dir/stored" 2>&1)
    matches "$page" 'missed root or barrier: the program stored a reference to a .pair.' "$flag: a stale reference that is stored is reported"
    is "$(grep -E 'holds it: (a store there|gc_roots_add)' <<< "$page")" '' "$flag: and nothing is blamed that has no fault"
done

if ! command -v musl-gcc > /dev/null; then
    skip "musl" "musl-gcc is not installed (tools/setup test)"
else
    musl-gcc -std=c11 -O1 -Wall -Wextra -Werror -pthread -I. examples/hello.c -o "$dir/hello" && "$dir/hello" > "$dir/log" 2>&1
    ok $? "musl: examples/hello.c"
    compiler='musl-gcc -Wall -Wextra -Werror -I.'
    for test in test_roots test_heaps test_claims; do passes musl $test; done
    musl-gcc -std=c11 -O1 -pthread -I. "$dir/stale.c" -o "$dir/stale" && page=$(ulimit -c 0; GC_STRESS=allocation "$dir/stale" 2>&1)
    matches "$(grep -A1 'was here:' <<< "$page")" '^gc.h:     .no functions are found on the stack: compile with -fno-omit-frame-pointer' \
        "musl: without frame pointers a report says which option shows the stack"
    musl-gcc -std=c11 -g -fno-omit-frame-pointer -pthread -I. "$dir/stale.c" -o "$dir/stale" && page=$(ulimit -c 0; GC_STRESS=stack "$dir/stale" 2>&1)
    matches "$page" 'missed root or barrier: the program used a .cell.' "musl: a missed root is reported"
    line_of() { grep -nF "$1" "$dir/stale.c" | cut -d: -f1; }
    is "$(sed -n '/the use is here:/,$s/^gc.h:     .*\/\(stale.c:[0-9]*\)$/\1/p' <<< "$page")" "stale.c:$(line_of 'missed->value')" \
        "musl: the use, and nothing else, in the program"
    matches "$(sed -n '/was here:/,/the use/p' <<< "$page")" "^gc\.h:     main at .*/stale\.c:$(line_of '    gc_new(')\$" \
        "musl: the collection"
    is "$(sed -n '/was here:/,$s/^gc.h:     //p' <<< "$page" | grep -vE '^(main|gc_[a-z_]*) at |^/[^ ]*(ld-musl[^ ]*|libc.so)[+]0x[0-9a-f]+$')" '' \
        "musl: no frame has a wrong name"
fi

# As on Windows, where faults overwrite what is below the stack pointer.
variant 's/#define GC__HAS_RED_ZONE 1/#define GC__HAS_RED_ZONE 0/'
compiler="gcc -I$dir/changed"
passes 'no red zone' test_barrier_forms

# A system that is not known, for which a file has the least that gc.h needs. The C library here does not mind not to be on Linux.
compiler='gcc -std=c11 -O1 -Wall -Wextra -Werror -pthread -U__linux__ -DGC_OS="platforms/least.h" -I. -Itests' ladder=examples/ladder
$compiler examples/hello.c -o "$dir/hello" && "$dir/hello" > "$dir/log" 2>&1
ok $? "another system: examples/hello.c"
$compiler $ladder/rung2.c $ladder/syntax.c $ladder/host.c $ladder/collector.c -o "$dir/rung"
ok $? "another system: the ladder's rung 2 compiles"
wrong=
for script in $ladder/programs/*.calc; do
    GC_STRESS=100 GC_VERIFY=1 timeout 300 "$dir/rung" "$script" "$(sed -n '1s/# test \([0-9]*\).*/\1/p' "$script")" > "$dir/out" 2> "$dir/err"
    cat "$dir/err" >> "$dir/out"
    cmp -s "$dir/out" "${script%.*}.expected" || wrong="$wrong $(basename "$script")"
done
is "$wrong" '' "another system: the ladder's rung 2 prints what it should, under stress and verify"
matches "$(nm -D "$dir/hello")" ' mprotect' "another system: its calls are listed"
is "$(nm -D "$dir/hello" | grep -oE '\b(madvise|mremap|syscall|process_vm_readv|dl_iterate_phdr|sigaction|backtrace|open)\b')" '' \
    "another system: nothing else of Linux is called"

# tests/platforms/windows.sh has programs run.
windows=x86_64-w64-mingw32-gcc
for header in gc.h gc_stackmap.h; do
    if ! command -v $windows > /dev/null; then
        skip "Windows: $header" "$windows is not installed (apt-get install gcc-mingw-w64-x86-64)"
        continue
    fi
    echo "#include \"$header\"" | $windows -std=c11 -x c -Wall -Wextra -Werror -Wpedantic -Wshadow -Wundef -fsyntax-only -I. -DGC_IMPLEMENTATION - >&2
    ok $? "Windows: $header"
done

# Link-time optimization may put what assembly names elsewhere.
for cross in $windows aarch64-linux-gnu-gcc; do
    if ! command -v $cross > /dev/null; then
        skip "$cross -flto" "$cross is not installed"
        continue
    fi
    $cross -std=c11 -O1 -flto=auto -Wall -Wextra -Werror -pthread -I. examples/hello.c -o "$dir/hello" >&2
    ok $? "$cross -flto: examples/hello.c"
done

# emits_nothing PROCESSOR COMPILER...
emits_nothing() {
    local processor=$1
    shift
    page=$(printf '#include "gc_barrier_x86_64.h"\nlong code[48];\nint main(void) { gc_barrier_tables tables = {0}; gc_barrier_code of; return gc_barrier_emit(&of, code, 384, GC_BARRIER_RANK_SUM, 0, &tables) == 0; }' |
        "$@" -std=c11 -I. -x c -c -o "$dir/emit.o" - 2>&1)
    matches "$page" 'error: .*gc_barrier_emit has no machine code for this processor' "$processor: barriers are not emitted"
}

cross=aarch64-linux-gnu-gcc
if ! command -v $cross > /dev/null; then
    skip "AArch64" "$cross is not installed (apt-get install gcc-aarch64-linux-gnu libc6-dev-arm64-cross)"
else
    for header in *.h; do
        echo "#include \"$header\"" | $cross -std=c11 -x c -Wall -Wextra -Werror -Wpedantic -Wshadow -Wundef -fsyntax-only -I. -DGC_IMPLEMENTATION - >&2
        ok $? "AArch64: $header"
    done
    matches "$(echo '#include "gc.h"
GC_ADDRESS_BITS' | $cross -E -I. - | tail -1)" '^48$' "AArch64: addresses have 48 bits"

    touch "$dir/stubs/gnu/stubs-lp64_be.h"
    emits_nothing 'AArch64 with its highest byte first' $cross -mbig-endian -isystem "$dir/stubs"

    # Emulators on x86-64 show no other order of memory than x86-64's, so this looks for the instructions that ask for it.
    cat > "$dir/order.c" << 'END'
#define GC_IMPLEMENTATION
#include "gc.h"
void store(gc_thread *gc, void *slot, void *object) { gc_store(gc, slot, object); }
void store_in(gc_thread *gc, void *owner, void *slot, void *object) { gc_store_in(gc, owner, slot, object); }
void store_in_range(gc_barrier_tables *tables, void *slot, void *object) { gc_barrier_store_post_grow(tables, slot, object); }
void store_in_c(gc_barrier_tables *tables, void *slot, void *object) { gc_barrier_store_c(GC_BARRIER_RANK_SUM, tables, slot, object); }
void store_in_range_in_c(gc_barrier_tables *tables, void *slot, void *object) {
    gc_barrier_store_c(GC_BARRIER_POST_GROW, tables, slot, object);
}
void store_if_in(gc_barrier_tables *tables, void *slot, void *object) { gc_barrier_checked_write_watch_svr(tables, slot, object); }
void store_if_in_in_c(gc_barrier_tables *tables, void *slot, void *object) {
    gc_barrier_checked_c(GC_BARRIER_WRITE_WATCH_SVR, tables, slot, object);
}
END
    $cross -std=c11 -O1 -pthread -DGC_DIAGNOSTICS=0 -I. -c "$dir/order.c" -o "$dir/order.o"
    ok $? "AArch64: the functions compile"
    # orders FUNCTION INSTRUCTION WHAT
    orders() {
        aarch64-linux-gnu-objdump -d --no-show-raw-insn --disassemble="$1" "$dir/order.o" | grep -q "[[:space:]]$2"
        ok $? "AArch64: $3"
    }
    orders store 'stlr[[:space:]]' 'the store of a reference is a release'
    orders store_in_c 'stlr[[:space:]]' 'so it is in C'
    orders store_in 'stlr[[:space:]]' 'and that to a buffer of an object'
    orders store_in_range 'dmb[[:space:]]*ishld' 'bounds are read after it'
    orders store_in_range_in_c 'dmb[[:space:]]*ishld' 'in C, too'
    orders store_if_in 'dmb[[:space:]]*ishld' 'a watched slot is checked after the reference to its object was read'
    orders store_if_in_in_c 'dmb[[:space:]]*ishld' 'in C, too'
    orders gc_copy_refs 'dmb[[:space:]]*ish$' 'a copy of references begins with a fence'
    orders gc_copy_values 'dmb[[:space:]]*ish$' 'so does one of values'
    orders gc_stores_begin 'dmb[[:space:]]*ish$' 'and a bracket of stores'
    orders gc_handle_set 'stlr[[:space:]]' 'an object is given to a handle by a release'
    # The emulator takes time for each page of address space, so the arena is small.
    compiler="$cross -static -I. -DGC_ADDRESS_BITS=40 -DGC_ARENA_BYTES=((size_t)1<<30)"
    for emulator in qemu-aarch64 qemu-aarch64-static ''; do command -v "$emulator" > /dev/null && break; done
    if [ -z "$emulator" ]; then
        skip "AArch64: unit tests" "qemu-aarch64 is not installed (apt-get install qemu-user)"
    else
        passes AArch64 test_roots "$emulator"
        passes 'AArch64, stack maps' test_stackmap_dump "$emulator"
        QUICK=1 passes 'AArch64, the order of stores' test_order "$emulator"
        compiler="$compiler -O1 -Wno-clobbered" QUICK=1 passes 'AArch64, barriers inline and emitted' test_barrier_forms "$emulator"
        compiler="$compiler -mbranch-protection=pac-ret" QUICK=1 passes 'AArch64, return addresses that are signed' test_stacks "$emulator"
        cat > "$dir/code.c" << 'END'
#define GC_IMPLEMENTATION
#include "gc_stackmap.h"
int main(void) {
    gc_thread *gc = gc_thread_attach(gc_heap_create(NULL));
    setbuf(stdout, NULL);
    printf("%s: %s\n", gc_result_text(gc_thread_set_interruptible(gc, true)), gc_last_message());
    printf("%d\n", gc_code_first(gc).code == NULL);
    gc_code_call(gc, "", NULL, 0);
}
END
        $compiler "$dir/code.c" -pthread -o "$dir/code" && page=$(ulimit -c 0; "$emulator" "$dir/code" 2>&1)
        matches "$page" 'the call is not allowed here: .*interrupting compiled code is for x86-64 only' \
            "AArch64: compiled code cannot be interrupted"
        matches "$page" '^1$' "AArch64: there are no compiled frames"
        matches "$page" 'compiled code can be called on x86-64 Linux only' "AArch64: compiled code cannot be called"

        # The compiler keeps `factor` in a register of SVE, of which calls preserve no more than the lower part, across stores
        # that are logged.
        cat > "$dir/sve.c" << 'END'
#define GC_IMPLEMENTATION
#include "gc.h"
typedef struct cell { gc_object header; struct cell *next; } cell;
static const gc_type cell_type = GC_TYPE(cell, next);
enum { CELLS = 5000, NUMBERS = 37 };
static cell *cells[CELLS];
static float numbers[NUMBERS], products[NUMBERS];
void multiply(gc_thread *gc, cell *object, float *restrict to, const float *restrict from, float factor);
__attribute__((noinline)) void multiply(gc_thread *gc, cell *object, float *restrict to, const float *restrict from, float factor) {
    for (int i = 0; i < CELLS; i++) {
        gc_store(gc, &cells[i]->next, object);
        for (int k = 0; k < NUMBERS; k++) to[k] = from[k] * factor;
    }
}
int main(void) {
    gc_options options = {.collector_threads = 1, .concurrent = GC_CONCURRENT_ON, .test.marker_steps = 1, .pause_goal_us = 1000};
    gc_heap *heap = gc_heap_create(&options);
    gc_thread *gc = gc_thread_attach(heap);
    GC_ROOTS_ARRAY(gc, cells, CELLS, 0);
    for (int i = 0; i < CELLS; i++) cells[i] = (cell *)gc_new(gc, &cell_type);
    for (int i = 0; i < NUMBERS; i++) numbers[i] = (float)(1 + i);
    gc_collect(heap, 2, GC_COLLECT_DEFAULT), gc_collect(heap, 2, GC_COLLECT_DEFAULT);
    int wrong = 0, logged = 0;
    for (int round = 2; round < 12; round++) {
        gc_collect(heap, 2, GC_COLLECT_NON_BLOCKING);
        logged += gc__tables.age[(uintptr_t)cells[0] >> GC_REGION_SHIFT] >> 7;
        multiply(gc, (cell *)gc_new(gc, &cell_type), products, numbers, (float)round);
        for (int k = 0; k < NUMBERS; k++) wrong += products[k] != numbers[k] * (float)round;
    }
    printf("%d wrong, %s\n", wrong, logged ? "logged" : "not logged");
}
END
        $compiler -O1 -ftree-loop-vectorize -march=armv8.2-a+sve "$dir/sve.c" -pthread -o "$dir/sve" && page=$(timeout 300 "$emulator" "$dir/sve" 2>&1)
        is "$page" '0 wrong, logged' "AArch64: the store of a reference destroys no register of SVE"

        # Code whose indirect calls may lead only to what begins with bti: the compiler says of the file that all of it does.
        printf '#define GC_IMPLEMENTATION\n#include "gc_standalone.h"\n' > "$dir/stubs.c"
        cat > "$dir/targets.c" << 'END'
#include "gc.h"
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>
extern char __executable_start, etext;
int main(void) {
    gc_heap *(*volatile create)(const gc_options *) = gc_heap_create;
    void (*volatile save)(uintptr_t *) = gc__save_registers;
    uintptr_t start = (uintptr_t)&__executable_start, registers[GC__SAVED_REGISTERS];
    if (mprotect(&__executable_start, ((uintptr_t)&etext - start + 4095) & ~4095ul, PROT_READ | PROT_EXEC | 0x10 /* PROT_BTI */)) return 1;
    save(registers);
    static gc_barrier_tables tables;
    static uint64_t page[4096 / 8] __attribute__((aligned(4096))), slot;
    gc_barrier_code code;
    void (*volatile emitted)(void *slot, void *object) = (void (*)(void *, void *))(uintptr_t)page;
    if (!gc_barrier_emit(&code, page, sizeof page, GC_BARRIER_NONE, GC_EMIT_STORE, &tables)) return 3;
    __builtin___clear_cache((char *)page, (char *)page + sizeof page);
    if (mprotect(page, sizeof page, PROT_READ | PROT_EXEC | 0x10)) return 1;
    emitted(&slot, &tables);
    if (slot != (uintptr_t)&tables) return 4;
    gc_thread *gc = gc_thread_attach(create(NULL));
    gc_collect(gc->heap, 2, GC_COLLECT_DEFAULT);
    _exit(gc ? 0 : 2);
}
END
        $cross -std=gnu11 -O1 -mbranch-protection=standard -DGC_STANDALONE -DGC_ADDRESS_BITS=40 "-DGC_ARENA_BYTES=((size_t)1<<30)" -I. \
            "$dir/targets.c" "$dir/stubs.c" -pthread -o "$dir/targets" -Wl,-z,now && timeout 100 "$emulator" -L /usr/aarch64-linux-gnu "$dir/targets"
        ok $? "AArch64: assembly and emitted code that pointers lead to begin with a target of indirect calls"
    fi
fi

# Processors that gc.h has no assembly for: what is declined is said at compile time, and the rest works.
for processor in riscv64 s390x; do
    cross=$processor-linux-gnu-gcc
    if ! command -v $cross > /dev/null; then
        skip "$processor" "$cross is not installed (tools/setup test-all-platforms)"
        continue
    fi
    ONLY=headers tests/platforms/platform.sh $processor > "$dir/log" 2>&1
    ok $? "$processor: every shipped header compiles"
    grep -v '^ok' "$dir/log" | head -5 >&2
    emits_nothing $processor $cross
    page=$(echo '#include "gc_standalone.h"' | $cross -std=c11 -x c -DGC_STANDALONE -fsyntax-only -I. -DGC_IMPLEMENTATION - 2>&1)
    matches "$page" 'error: .*stubs for x86-64 and AArch64: here, compile it into the program' "$processor: no collector in a library"
    for emulator in qemu-$processor qemu-$processor-static ''; do command -v "$emulator" > /dev/null && break; done
    if [ -z "$emulator" ]; then
        skip "$processor: random operations" "qemu-$processor is not installed (tools/setup test-all-platforms)"
        continue
    fi
    if [ $processor = riscv64 ]; then
        $cross -std=c11 -pthread -static '-DGC_ARENA_BYTES=((size_t)1<<30)' -I. "$dir/stale.c" -o "$dir/stale" &&
            page=$(ulimit -c 0; GC_STRESS=allocation timeout 300 "$emulator" "$dir/stale" 2>&1)
        matches "$(grep -A1 'was here:' <<< "$page")" 'compile with -funwind-tables' "$processor: a report says which option shows the stack"
    fi
    $cross -std=c11 -g -funwind-tables -pthread -static '-DGC_ARENA_BYTES=((size_t)1<<30)' -I. "$dir/stale.c" -o "$dir/stale" &&
        page=$(ulimit -c 0; GC_STRESS=allocation timeout 300 "$emulator" "$dir/stale" 2>&1)
    matches "$page" 'missed root or barrier: the program used a .cell.' "$processor: a missed root is reported"
    matches "$page" '^gc.h:   a register holds it' "$processor: and that a register holds it"
    matches "$(sed '1,/the use is here/d' <<< "$page")" '^gc.h:     main(\+| at )' "$processor: and the use"
    # With bundles, whose bytes are read as words.
    $cross -std=c11 -O1 -Wall -Wextra -Werror -pthread -static '-DGC_ARENA_BYTES=((size_t)1<<30)' -Isrc tests/random/random.c -o "$dir/random" &&
        timeout 300 "$emulator" "$dir/random" --ops=1000 --seed=1 > "$dir/log" 2>&1
    ok $? "$processor: random operations"
    grep -v '^ok\|^# \|^1\.\.' "$dir/log" | head -5 >&2
done

cross=powerpc64le-linux-gnu-gcc
for emulator in qemu-ppc64le qemu-ppc64le-static ''; do command -v "$emulator" > /dev/null && break; done
if [ -z "$emulator" ] || ! command -v $cross > /dev/null; then
    skip 'PowerPC' "$cross and qemu-ppc64le are not installed (apt-get install gcc-powerpc64le-linux-gnu libc6-dev-ppc64el-cross qemu-user)"
else
    $cross -std=c11 -g -pthread -static '-DGC_ARENA_BYTES=((size_t)1<<30)' -I. "$dir/stale.c" -o "$dir/stale" &&
        page=$(ulimit -c 0; GC_STRESS=allocation timeout 300 "$emulator" "$dir/stale" 2>&1)
    matches "$(grep -A1 'the use is here' <<< "$page")" '^gc.h:     main(\+| at )' "PowerPC: a missed root is reported, and the use comes first"
fi
finish
