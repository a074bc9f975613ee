#!/bin/sh
# A small AArch64 kernel with pages of 64 KiB for qemu_system.sh, from the kernel's sources:  kernel_64k.sh SOURCES IMAGE
#   apt-get install linux-source bc bison flex make gcc gcc-aarch64-linux-gnu && tar -xf /usr/src/linux-source-6.1.tar.xz
#   tests/platforms/kernel_64k.sh linux-source-6.1 Image.gz
# It has what a program may ask of memory, threads, signals and control groups, a console, and nothing else.
set -eu
sources=$(cd "${1:?}" && pwd) image=${2:?}
export ARCH=arm64 CROSS_COMPILE=aarch64-linux-gnu-
make="make --no-print-directory -C $sources"
part=$(mktemp)
trap 'rm -f "$part"' EXIT
for option in ARM64_64K_PAGES ARM64_VA_BITS_48 SMP BLK_DEV_INITRD RD_GZIP BINFMT_ELF BINFMT_SCRIPT COREDUMP TTY PRINTK BUG \
    SERIAL_AMBA_PL011 SERIAL_AMBA_PL011_CONSOLE DEVTMPFS PROC_FS PROC_SYSCTL PROC_PAGE_MONITOR SYSFS TMPFS SHMEM MEMFD_CREATE \
    MULTIUSER FUTEX EPOLL SIGNALFD TIMERFD EVENTFD POSIX_TIMERS HIGH_RES_TIMERS ADVISE_SYSCALLS MEMBARRIER RSEQ USERFAULTFD \
    TRANSPARENT_HUGEPAGE TRANSPARENT_HUGEPAGE_MADVISE CROSS_MEMORY_ATTACH ANON_VMA_NAME SECCOMP SECCOMP_FILTER AIO FILE_LOCKING \
    NET UNIX CGROUPS MEMCG BASE_FULL; do
    echo "CONFIG_$option=y"
done > "$part"
$make tinyconfig > /dev/null
(cd "$sources" && scripts/kconfig/merge_config.sh -m .config "$part" > /dev/null)
$make olddefconfig > /dev/null
grep -q '^CONFIG_ARM64_64K_PAGES=y' "$sources/.config"
nice $make -j"$(nproc)" Image.gz
cp "$sources/arch/arm64/boot/Image.gz" "$image"
