#!/bin/bash
# What gc.h does on another platform than x86-64 with glibc:  platform.sh musl | musl-static | aarch64 | riscv64 | s390x
#
# Compiles each shipped header and program with -Werror, and runs them, other processors' under qemu-user, linked statically:
# unit tests, the random test, threads, examples, and the porting ladder. Prints TAP, and writes what the table of docs/platforms.md
# says of each part to build/platforms/NAME/cell-PART. ONLY="headers unit random threads examples ladder" chooses among these,
# UNIT="test_roots test_pins" among unit tests. OPS: random operations (1000000). SECONDS_EACH: of threads in each mode (2).
# CELL: seconds after which the whole is ended, which leaves what was done until then; the random test ends before.
# LIMIT: seconds after which a unit test is ended (1200).
cd "$(dirname "$0")/../.." && . tests/tap.sh || exit
platform=$1 only=${ONLY:-headers unit random threads examples ladder} ops=${OPS:-1000000}
out=build/platforms/$platform emulator= link=-static
warnings='-Wall -Wextra -Werror -Wno-clobbered' # on some processors gcc takes a frame of GC_ROOTS for one that longjmp changes
mkdir -p "$out/log" || exit

# What a compiler or an emulator is called, and the package that has it.
case $platform in
musl) compiler=musl-gcc link= package=musl-tools ;;
musl-static) compiler=musl-gcc package=musl-tools ;;
aarch64 | riscv64 | s390x)
    compiler=$platform-linux-gnu-gcc libc=$platform
    [ "$platform" != aarch64 ] || libc=arm64
    package="gcc-$platform-linux-gnu libc6-dev-$libc-cross"
    for emulator in qemu-$platform qemu-$platform-static ''; do command -v "$emulator" > /dev/null && break; done
    ;;
*) sed -n '2s/^# //p' "$0" >&2; exit 2 ;;
esac
missing=
command -v $compiler > /dev/null || missing=$package
[ "$platform" = musl ] || [ "$platform" = musl-static ] || [ -n "$emulator" ] || missing="$missing qemu-user"
if [ -n "$missing" ]; then
    echo "1..0 # SKIP $platform: not installed (apt-get install $missing)"
    exit
fi

# Tests of what a platform lacks, with the reason.
declined() {
    case $1 in
    test_left_out) echo 'it is a test of the collector without what can be left out' ;;
    test_stacks) [ -n "$emulator" ] || echo 'it asks the unwinder of gcc, which needs glibc' ;;
    test_load)
        [ "$platform" != musl-static ] || echo 'its own file is no library, and such programs load none'
        [ -z "$emulator" ] || [ "$platform" = aarch64 ] || echo 'its C library has no rcrt1.o for static links that can be moved' ;;
    esac
    [ -n "$emulator" ] || return
    case $1 in
    test_code_[^r]* | test_code_return | test_jit_assembler)
        echo 'it runs compiled code, which is for x86-64' ;;
    test_dac*) echo 'the emulator has no process_vm_readv' ;;
    test_fork) echo 'the emulator starts no threads in a child of a process that has some' ;;
    test_code_registry) echo 'it fills address space, which the emulator does not limit' ;;
    test_stacks) [ "$platform" = aarch64 ] || echo 'it leaves frames by what gc.h knows of a processor; elsewhere the C library lists them' ;;
    test_llvm) [ "$platform" != s390x ] || echo 'it writes sections for x86-64 in the order of bytes of its own processor' ;;
    test_arena) echo 'it fills an arena again and again, which takes minutes there' ;;
    esac
}

# What fails in an emulator because that does not enforce limits on memory (RLIMIT_AS), or because of the small arena: a pattern of
# names of checks.
excused() {
    case $1 in
    test_finalizer_ends) echo 'without memory for more finalizers|with a message that says so' ;;
    # The child has new threads; and where the highest byte comes first, it is not known which pages were written to.
    test_marking) echo "a child of fork goes on$([ "$platform" != s390x ] || echo '|of which there were 1$')" ;;
    test_external) echo 'more than the limit' ;;
    test_workers) echo 'so does the child, with new threads' ;;
    # It locks memory of its own, too, and reports every failure to map as a lack of memory.
    test_locked) echo 'a heap in locked memory is small|names the limit' ;;
    *) echo 'RLIMIT_AS' ;;
    esac
}

# The emulator takes time for each page of address space, so the arena is small. It spends half of its time on returns and indirect calls,
# so the compiler inlines what it can there. Under it tests do less of what they repeat.
flags="-std=c11 $warnings -pthread -g1"
collector=-O1 own=-O0
if [ -n "$emulator" ]; then
    export QUICK=1
    # In inside.c functions that a configuration never calls are compiled, too.
    collector='-O3 -Wno-nonnull' own='-O2 -fwhole-program'
fi
# Where dynamic links have shown all of them.
[ "$platform" != musl-static ] || export QUICK=1
arena=-DGC_ARENA_BYTES="((size_t)1<<$([ -n "$emulator" ] && echo 32 || echo 40))"
# Nor do programs there have addresses of more bits.
[ "$platform" != aarch64 ] || flags="$flags -DGC_ADDRESS_BITS=40"

# Compilers write tables for call stacks there only if asked.
[ "$platform" != riscv64 ] || flags="$flags -funwind-tables"

# say RESULT: what the table says of this part, so far
say() { echo "$1" > "$out/cell-$part"; }

# A compiler of C++ for another processor may be missing; headers are the same there as on x86-64.
headers() {
    for header in *.h; do
        echo "#include \"$header\"" | $compiler -std=c11 -x c $warnings -Wpedantic -Wshadow -Wundef -fsyntax-only -I. -DGC_IMPLEMENTATION - >&2
        ok $? "$platform: $header compiles"
    done
    # shellcheck disable=SC2086 # flags
    $compiler $flags "$arena" -O1 -flto=auto $link -I. examples/hello.c -o "$out/hello-lto" >&2 && [ "$(readelf -n "$out/hello-lto" | grep -c '^ *gc\.h ')" -eq 1 ]
    ok $? "$platform: examples/hello.c links with link-time optimization, and has the note for gc_dac.h"
}

# build/platforms/NAME/gc.o and inside.o: the collector that tests without one of their own share
shared() {
    local each
    for each in gc inside; do
        [ ! -f "$out/$each.o" ] || [ -n "$(find src tests/inside.h tests/unit/$each.c -newer "$out/$each.o")" ] || continue
        $compiler $flags "$arena" -Isrc $collector -c tests/unit/$each.c -o "$out/$each.o" || return
    done
}

# run SECONDS PROGRAM ARGUMENT..
run() {
    local seconds=$1
    shift
    timeout ${CELL:+--foreground} "$seconds" $emulator "$@" < /dev/null # what ends the cell ends the program, too
}

# unit TEST: a line for the results
unit() {
    local source=tests/unit/$1.c log=$out/log/$1 size=$arena link=$link start=$SECONDS others
    # It checks its own file as if that were a library.
    [ -z "$link" ] || [ "$1" != test_load ] || link=-static-pie
    grep -q 'define GC_ARENA_BYTES' "$source" && size=
    if grep -q 'include "../inside.h"' "$source"; then
        others="-O0 -isystem src $source $out/inside.o"
    elif grep -q 'define GC_IMPLEMENTATION' "$source"; then
        others="$own -Isrc $source" # what runs in an emulator is worth a longer compilation
    else
        others="-O1 -Isrc $source $out/gc.o"
    fi
    if ! $compiler $flags $size $link $others -lm -o "$out/$1" > "$log" 2>&1; then
        echo "$1 does not compile"
    elif run "${LIMIT:-1200}" "$out/$1" > "$log" 2>&1; then
        echo "$1 passes $(grep -c '^ok' "$log"), $((SECONDS - start)) s"
        rm -f "$out/$1"
    elif [ -n "$emulator" ] && grep -q '^1\.\.' "$log" && ! grep '^not ok' "$log" | grep -vqE "$(excused "$1")"; then
        echo "$1 passes $(grep -c '^ok' "$log"), but for $(grep -c '^not ok' "$log") that the emulator cannot, $((SECONDS - start)) s"
    else
        echo "$1 fails in $(grep -c '^not ok' "$log") of $(grep -c '^\(not \)\?ok' "$log"), $((SECONDS - start)) s"
    fi
}
export -f unit run excused
export platform out compiler flags arena link emulator own

units() {
    local wanted test reason rest passed facts all
    shared
    ok $? "$platform: the collector compiles"
    for test in ${UNIT:-$(basename -s .c tests/unit/test_*.c)}; do
        reason=$(declined "$test")
        if [ -n "$reason" ]; then skip "$platform: $test" "$reason"; else wanted="$wanted $test"; fi
    done
    passed=0 facts=0 all=$(echo $wanted | wc -w)
    while read -r test rest; do
        [ "${rest%% *}" = passes ]
        ok $? "$platform: $test $rest"
        if [ "${rest%% *}" = passes ]; then
            passed=$((passed + 1)) facts=$((facts + $(sed 's/passes \([0-9]*\).*/\1/' <<< "$rest")))
        else
            grep -v '^ok' "$out/log/$test" | head -20 >&2
        fi
        say "$passed of $all tests, $facts checks"
        # shellcheck disable=SC2016 # expanded by the shell that runs it
    done < <(echo $wanted | xargs -n 1 -P "${JOBS:-$(nproc)}" bash -c 'unit "$0"')
}

# Again and again with another seed, until there are so many operations, or three quarters of the time are over. Most of them are
# only compared with the model; a tenth is verified, too, which takes longer.
random() {
    local total=0 seed=1 variant wrong=0 until most=$((ops / 42)) log few last=0
    local variants=('default' 'bit-cards -DGC_REGION_SHIFT=16 -DGC_CARD_BITS=1 -DGC_CARD_SHIFT=7' 'nanbox -DRANDOM_NANBOX' 'debug -DGC_DEBUG=3')
    for variant in "${variants[@]}"; do
        # shellcheck disable=SC2086 # flags
        $compiler $flags "$arena" -Isrc ${emulator:+-fwhole-program} -O3 ${variant#"${variant%% *}"} $link tests/random/random.c -o "$out/random-${variant%% *}" || wrong=1
    done
    ok $wrong "$platform: the random test compiles"
    for log in handles stackmaps; do
        [ -z "$emulator" ] || break # they take too long there
        $compiler $flags "$arena" -Isrc -O1 $link tests/random/$log.c -o "$out/random-$log" && run 600 "$out/random-$log" > "$out/log/random-$log" 2>&1
        ok $? "$platform: tests/random/$log.c"
    done
    until=$((${CELL:-12000} * 3 / 4))
    [ -z "$CELL" ] || [ $most -lt 10000 ] || most=10000 # so that the time is kept
    while [ $wrong -eq 0 ] && [ $total -lt "$ops" ]; do
        last=$((seed + 1))
        for variant in "${variants[@]}"; do
            log=$out/log/random-${variant%% *}
            few=$((most / 10))
            # With all checks it takes twice as long as the others there, so it has a quarter of the operations.
            [ -z "$emulator" ] || [ "${variant%% *}" != debug ] || few=$((few / 4))
            if ! { run 3000 "$out/random-${variant%% *}" --ops=$few --seed=$seed &&
                run 3000 "$out/random-${variant%% *}" --ops=$((10 * few)) --verify=0 --seed=$last; } > "$log" 2>&1; then
                wrong=1
                grep -v '^ok\|^1\.\.' "$log" | head -20 >&2
            fi
            total=$((total + $(sed -n 's/^ok .*: \([0-9]*\) operations.*/\1/p' "$log" | awk '{ sum += $1 } END { print sum + 0 }')))
            say "$total operations"
            [ $wrong -eq 0 ] && [ $SECONDS -lt $until ] || break 2
        done
        seed=$((seed + 2))
    done
    ok $wrong "$platform: $total random operations, up to seed $last"
}

threads() {
    local mode collections=0
    $compiler $flags "$arena" -Isrc -O1 -DGC_REGION_SHIFT=18 $link tests/random/threads.c -o "$out/threads"
    ok $? "$platform: threads compile"
    for mode in moving non_moving conservative stress limit concurrent; do
        run 600 "$out/threads" --mode=$mode --seconds="${SECONDS_EACH:-2}" --seed=1 > "$out/log/threads-$mode" 2>&1
        ok $? "$platform: $(sed -n 's/^ok 1 - /threads, /p' "$out/log/threads-$mode" | head -1)"
        grep -v '^ok\|^1\.\.' "$out/log/threads-$mode" | head -20 >&2
    done
}

# A user compiles an example with its gc.h, as hello is here. The others share one with all companions, to save time.
examples() {
    local source name
    printf '#define GC_IMPLEMENTATION\n#include "gc_profile.h"\n#include "gc_stackmap.h"\n' |
        $compiler $flags "$arena" -O1 -I. -x c -c - -o "$out/collector.o"
    ok $? "$platform: the collector of the examples compiles"
    for source in examples/*.c; do
        name=$(basename "$source" .c)
        case $name-$emulator in
        fibers-) skip "$platform: $source" 'musl has no makecontext'; continue ;;
        stackmap-?*) skip "$platform: $source" 'it runs compiled code, which is for x86-64'; continue ;;
        esac
        case $name in
        hello | barriers) cp "$source" "$out/$name.c" && others= ;;
        *) sed '/^#define GC_IMPLEMENTATION$/d' "$source" > "$out/$name.c" && others=$out/collector.o ;;
        esac
        $compiler $flags "$arena" -D_GNU_SOURCE= -I. -O1 $link "$out/$name.c" $others -lm -o "$out/$name" && run 600 "$out/$name" > "$out/log/$name" 2>&1
        ok $? "$platform: $source runs"
        [ -f "examples/$name.expected" ] || continue
        # barriers.c shows the emitted code, too, where there is some
        if [ -n "$emulator" ] && [ "$platform" != aarch64 ]; then grep -v '^emitted' "examples/$name.expected"; else cat "examples/$name.expected"; fi |
            diff - "$out/log/$name" >&2
        ok $? "$platform: it prints $name.expected"
    done
}

ladder() {
    local rung part objects
    for part in syntax host collector; do
        $compiler $flags "$arena" -I. -O1 -c examples/ladder/$part.c -o "$out/ladder-$part.o"
        ok $? "$platform: examples/ladder/$part.c compiles"
    done
    for rung in 0 1 2 3 4 5 6; do
        objects="$out/ladder-syntax.o $out/ladder-host.o"
        [ $rung -lt 2 ] || objects="$objects $out/ladder-collector.o"
        $compiler $flags "$arena" -I. -O1 $link examples/ladder/rung$rung.c $objects -lm -o "$out/rung$rung"
        ok $? "$platform: rung $rung compiles"
        printf '#!/bin/sh\nexec %s "%s/rung%s" "$@"\n' "$emulator" "$PWD/$out" $rung > "$out/run$rung" && chmod +x "$out/run$rung"
        all "$platform: rung $rung" "$out/run$rung" LC_ALL=C examples/ladder/programs/*.calc
        [ $rung -eq 0 ] || all "$platform: rung $rung, verified" "$out/run$rung" "GC_VERIFY=1 GC_CHECKMARK=1 GC_STRESS=500" \
            examples/ladder/programs/language.calc examples/ladder/programs/window.calc
    done
}

dir=$out
for part in headers unit random threads examples ladder; do
    [[ " $only " == *" $part "* ]] || continue
    before=$failures
    rm -f "$out/cell-$part"
    case $part in unit) units ;; *) $part ;; esac
    [ -f "$out/cell-$part" ] || say yes
    [ "$failures" -eq "$before" ] || say "$(cat "$out/cell-$part"), $((failures - before)) failures"
done
finish
