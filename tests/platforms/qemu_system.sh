#!/bin/bash
# gc.h on an AArch64 kernel of its own, in the emulator of a whole machine:  qemu_system.sh KERNEL..
#
# Each KERNEL is an Image, compressed or not, for qemu's machine `virt`: a console on PL011 and an initial file system in memory
# must be built in. One with pages of 4 KiB comes from Debian, and qemu with it (the versions change):
#   apt-get install qemu-system-arm cpio gcc-aarch64-linux-gnu libc6-dev-arm64-cross
#   curl -O http://deb.debian.org/debian/pool/main/l/linux-signed-arm64/linux-image-VERSION-cloud-arm64_REVISION_arm64.deb
#   dpkg-deb -x linux-image-*.deb k && tests/platforms/qemu_system.sh k/boot/vmlinuz-*
# For pages of 64 KiB take one whose configuration has CONFIG_ARM64_64K_PAGES: Ubuntu has linux-image-*-generic-64k, and
# tests/platforms/kernel_64k.sh makes a small one from Debian's linux-source in some minutes.
#
# Compiles unit tests, random operations and threads, linked statically, with the arena and the addresses that they have by
# default, puts them into an initial file system with init.c, and starts the machine with each kernel. Prints TAP; takes an hour.
# BUILT=1: what an earlier call has left in build/platforms/qemu_system is not compiled again.
# UNIT="test_roots test_pins" chooses among unit tests; OPS: random operations (200000); MEMORY: of the machine (4G).
cd "$(dirname "$0")/../.." && . tests/tap.sh || exit
out=build/platforms/qemu_system compiler=aarch64-linux-gnu-gcc ops=${OPS:-200000}
[ -f "$1" ] || { sed -n '2s/^# //p' "$0" >&2; exit 2; }
for missing in qemu-system-aarch64:qemu-system-arm $compiler:gcc-aarch64-linux-gnu cpio:cpio; do
    command -v "${missing%%:*}" > /dev/null && continue
    echo "1..0 # SKIP ${missing%%:*} is not installed (apt-get install ${missing#*:})"
    exit
done

# What cannot run there, with the reason.
declined() {
    case $1 in
    test_code_[^r]* | test_code_return | test_jit_assembler) echo 'it runs compiled code, which is for x86-64' ;;
    test_profile_pages | test_snapshot) echo 'it reads its files by a Perl script' ;;
    test_left_out) echo 'it is a test of the collector without what can be left out' ;;
    esac
}

# On AArch64 gcc takes a frame of GC_ROOTS for one that longjmp changes.
flags="-std=c11 -Wall -Wextra -Werror -Wno-clobbered -pthread -g1 -Isrc"
root=$out/root
# builds NAME ARGUMENT..: with $link
builds() { nice -n 5 $compiler $flags "${@:2}" $link -lm -o "$root/$1" > "$out/log" 2>&1 || { echo "$1" >> "$out/broken"; head -5 "$out/log" >&2; }; }
compile() {
    local test source others each link=-static
    rm -rf "$out" && mkdir -p "$root/dev" "$root/etc" && : > "$out/broken" || return
    printf 'root:x:0:0::/tmp:/\nnobody:x:65534:65534::/tmp:/\n' > "$root/etc/passwd"
    for each in gc inside; do nice -n 5 $compiler $flags -O1 -c tests/unit/$each.c -o "$out/$each.o" || return; done
    $compiler -std=c11 -Wall -Wextra -Werror -O1 -static tests/platforms/init.c -o "$root/init" || return
    for test in ${UNIT:-$(basename -s .c tests/unit/test_*.c)}; do
        [ -z "$(declined "$test")" ] || continue
        source=tests/unit/$test.c others="-O1 $out/gc.o"
        if grep -q 'include "../inside.h"' "$source"; then
            others="-O0 -isystem src $out/inside.o"
        elif grep -q 'define GC_IMPLEMENTATION' "$source"; then
            others=-O1
        fi
        # It checks its own file as if that were a library.
        [ "$test" != test_load ] || link=-static-pie
        # shellcheck disable=SC2086 # a list of arguments
        builds "$test" "$source" $others
        link=-static
        echo "1200 $test /$test"
    done > "$root/tests"
    builds random -O1 tests/random/random.c && echo "3600 random_default /random --ops=$((ops / 42)) --seed=1" >> "$root/tests"
    builds random_bits -O1 -DGC_REGION_SHIFT=16 -DGC_CARD_BITS=1 -DGC_CARD_SHIFT=7 tests/random/random.c &&
        echo "3600 random_bits /random_bits --ops=$((ops / 42)) --seed=1" >> "$root/tests"
    builds threads -O1 -DGC_REGION_SHIFT=18 tests/random/threads.c
    for each in moving non_moving conservative stress limit concurrent; do
        echo "600 threads_$each /threads --mode=$each --seconds=2 --seed=1"
    done >> "$root/tests"
}

if [ -z "$BUILT" ]; then
    compile
    ok $? 'the tests compile for AArch64'
    is "$(xargs < "$out/broken")" '' 'each of them'
fi
for test in ${UNIT:-$(basename -s .c tests/unit/test_*.c)}; do
    reason=$(declined "$test")
    [ -z "$reason" ] || skip "$test" "$reason"
done

(cd "$root" && find . | cpio -o -H newc 2> /dev/null) > "$out/initrd"
for kernel; do
    # The authentication of pointers is slow to emulate as processors do it.
    timeout 14400 nice -n 10 qemu-system-aarch64 -machine virt -cpu max,pauth-impdef=on -smp 2 -m "${MEMORY:-4G}" -display none -nic none \
        -no-reboot -kernel "$kernel" -initrd "$out/initrd" -append 'console=ttyAMA0 panic=-1 quiet' -serial stdio < /dev/null 2>&1 |
        sed -u 's/\r//g' | tee "$out/console" |
        sed -un 's/^== end \([^ ]*\) \([0-9]*\) \([0-9]*\)$/# \1: status \2, \3 s/p; s/^== machine/#/p; /^Kernel panic/s/^/# /p' >&2
    machine=$(sed -n 's/^== machine .* \(pages of [0-9]* KiB\).*/\1/p' "$out/console")
    matches "$machine" pages "the machine starts: $kernel"
    sed -n 's/^== machine \(.*\)/# \1/p' "$out/console"
    while read -r _ name _; do
        # What it printed, without the lines around that. A test's own plan says whether it has come to its end.
        sed -n "/^== begin $name\$/,/^== end $name /p" "$out/console" > "$out/log"
        end=$(sed -n "s/^== end $name //p" "$out/log")
        [ "${end%% *}" = 0 ] && grep -q '^1\.\.' "$out/log"
        ok $? "$machine: $name: $(grep -c '^ok' "$out/log") checks, ${end##* } s"
        [ "${end%% *}" = 0 ] || { diag "status ${end%% *}"; grep -A3 '^not ok' "$out/log" | head -20 >&2; }
    done < "$root/tests"
    is "$(grep -c '^== off' "$out/console")" 1 "$machine: all tests have ended"
done
finish
