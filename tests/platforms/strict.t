#!/bin/bash
# Old kernels and sandboxes: gc.h works without the calls that docs/platforms.md lists as optional, and needs no others than those it
# lists as needed. Short address space, promises of memory, and transparent huge pages.
# STRICT_SYSTEM=1: also with settings of the whole system, which other programs notice for a second; that needs root.
cd "$(dirname "$0")/../.." && . tests/tap.sh || exit
if [ "$(uname -sm)" != 'Linux x86_64' ]; then
    skip 'old and strict kernels' 'the filters are for x86-64 Linux'
    finish
fi
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
unset GC_STRESS GC_VERIFY GC_CHECKMARK
ulimit -c 0

# build NAME COMMAND...: a collector with tables for all addresses, and one with tables for 39 bits, in a program that has no others
build() {
    "${@:2}" -std=gnu11 -Wall -Wextra -Werror -pthread -Isrc -o "$dir/$1" > "$dir/log" 2>&1
    ok $? "the program compiles ($1)"
    head -5 "$dir/log" >&2
}
make -s build/tests/plain/gc.o > "$dir/log" 2>&1
ok $? "the collector compiles"
build strict gcc tests/platforms/strict.c build/tests/plain/gc.o
build short clang -O0 -static -fno-pie -DGC_ADDRESS_BITS=39 -DGC_DIAGNOSTICS=0 -DGC_CONCURRENT=0 -DGC_COLLECTOR_THREADS_MAX=1 \
    tests/platforms/strict.c tests/unit/gc.c
strict=$dir/strict
# names HEADING: what the first column of that table lists
names() { sed -n "/^| $1 |/,/^\$/s/^| \(\`[^|]*\)|.*/\1/p" docs/platforms.md | tr -d '`'; }
needed=$(names needed) optional=$(names optional) advice=$(names advice) reports=$(names 'in reports') unused=$(names 'not used')
[ "$(echo $needed $optional $advice $reports $unused | wc -w)" -gt 45 ]
ok $? "docs/platforms.md lists calls"

# run WORD...: the status; the output is in $dir/out. The shell does not say that a program was killed.
run() { { timeout 60 "$strict" "$@" > "$dir/out" 2>&1; } 2> /dev/null; }

# runs NAME WORD...: the program with these arguments says that its heap worked
runs() {
    local name=$1 status
    shift
    run "$@"
    status=$?
    [ $status -eq 0 ] && [ "$(tail -1 "$dir/out")" = worked ]
    ok $? "$name"
    [ "$(tail -1 "$dir/out")" = worked ] || diag "status $status: $(head -3 "$dir/out")"
}
# refused NAME PATTERN WORD...: it fails with a sentence
refused() {
    local name=$1 pattern=$2
    shift 2
    matches "$(timeout 60 "$strict" "$@" 2>&1)" "$pattern" "$name"
}

run default membarrier 38
if [ $? -eq 98 ]; then
    skip 'filters of system calls' "$(cat "$dir/out")"
    finish
fi

# The program's own calls, besides those of its heap.
own='write exit_group'
for heap in default alone memory threads conservative huge_pages; do runs "a heap with nothing refused: $heap" $heap; done
runs 'a sandbox that kills all but what is needed' alone late only $own $needed
runs 'the same, and what is called at the beginning only' alone late only $own mmap munmap mprotect madvise mremap futex clock_gettime brk
runs 'a sandbox that allows what is listed' threads only $own $needed $optional rseq exit
for each in $needed; do
    case $each in mmap | munmap | mprotect | madvise | futex | clock_gettime | brk) ;; *) continue ;; esac
    run alone late $each kill
    is $? 159 "no heap without $each"
done

# EPERM, EACCES, ENOSYS; for advice also EINVAL, as kernels say that do not know it.
every() {
    local name=$1 heap=$2 failed= error
    for error in ${errors:-1 13 38}; do
        run $heap $name $error && [ "$(tail -1 "$dir/out")" = worked ] || failed="$failed $error: $(head -2 "$dir/out")"
    done
    is "$failed" '' "refused: $name"
}
for each in $optional mremap getrandom sched_getaffinity getpid gettid; do every $each threads; done
for each in $advice; do errors='1 13 22 38' every $each threads; done
for each in $optional; do runs "killed: $each" alone late $each kill; done
for each in $advice; do runs "killed, with the host's memory: $each" memory late $each kill; done
for each in $unused; do runs "killed: $each, which nothing calls" threads $each kill; done
runs 'an old kernel, without any of them' threads MADV_POPULATE_WRITE 22 MADV_FREE 22 MADV_DODUMP 22 MADV_DONTDUMP 22 MADV_HUGEPAGE 22 \
    membarrier 38 userfaultfd 38 PR_SET_VMA 22 clone3 38 process_vm_readv 38 memfd_create 38
matches "$(timeout 60 "$strict" threads clone3 1 2>&1)" 'the system gives only 1 of 4 collector threads' 'threads that are refused are warned of'
refused 'an unknown end of the stack is said' 'conservative_stack is set, but the system does not tell .*is /proc mounted and allowed' conservative openat 1

# Reports have their sentence whatever is refused; names, where nothing kills.
report() {
    run mistake "$@"
    echo "status $?"
    grep -o 'missed root or barrier\|frames in force' "$dir/out"
}
whole=$(printf 'status 134\nmissed root or barrier\nframes in force')
is "$(report)" "$whole" "a report"
for each in $reports; do
    is "$(report $each 1)" "$whole" "a report, refused: $each"
    is "$(report $each kill | grep -v status)" "${whole#*$'\n'}" "a report, killed: $each"
done

# bits of addresses: gVisor and some processors give 39 or 47
for bits in 47 39 36 32; do runs "addresses of $bits bits" bits $bits default; done
refused 'address space that is too short is said' 'cannot reserve [0-9]+ MiB for the rank tables: .*GC_REGION_SHIFT' bits 29 default
for kib in 100000000 8000000 2000000; do runs_limited=$( (ulimit -v $kib; "$strict" default 2>&1) ); is "$runs_limited" worked "ulimit -v $kib"; done
matches "$( (ulimit -v 500000; "$strict" default 2>&1) )" 'raise .ulimit -v.' 'ulimit -v 500000 is named'
strict=$dir/short
for bits in 39 32 29; do runs "tables for 39 bits, addresses of $bits bits" bits $bits default; done
refused 'tables that are too short are said' 'beyond the 39 bits of an address: compile with more GC_ADDRESS_BITS' default
strict=$dir/strict

# With huge pages a heap takes about as much memory, and gives it back.
few() { sed -n 's/^\([0-9]*\) KiB resident, \([0-9]*\) at most$/\1 \2/p' "$dir/out"; }
runs 'transparent huge pages: never' default small_pages resident
read -r now most <<< "$(few)"
runs 'transparent huge pages: always' huge_pages resident
read -r now_huge most_huge <<< "$(few)"
[ "${most_huge:-99999999}" -lt $((${most:-0} + 4096)) ] && [ "${now_huge:-99999999}" -lt $((${now:-0} + (${most:-0} - ${now:-0}) / 2 + 1024)) ]
ok $? "with these a heap takes at most $most_huge KiB instead of $most, and at last $now_huge instead of $now"

if [ -z "$STRICT_SYSTEM" ]; then
    skip 'vm.overcommit_memory=2' 'it would change the whole system: STRICT_SYSTEM=1 tries it'
    skip 'transparent huge pages of the whole system' 'it would change the whole system: STRICT_SYSTEM=1 tries it'
    finish
fi
# setting FILE VALUE: the file has it; what it had before is restored at the end
restore=
trap 'eval "$restore"; rm -rf "$dir"' EXIT
setting() {
    local former
    former=$(sed 's/.*\[\(.*\)\].*/\1/' "$1" 2> /dev/null)
    [ -w "$1" ] && restore="echo $former > $1; $restore" && echo "$2" > "$1" 2> /dev/null
}
restored() { eval "$restore"; restore=; }
if setting /proc/sys/vm/overcommit_memory 2; then
    setting /proc/sys/vm/overcommit_ratio 95
    runs 'vm.overcommit_memory=2' default
    runs 'vm.overcommit_memory=2, with threads' threads
    refused 'vm.overcommit_memory=2: a promise that is refused is said' 'vm.overcommit_memory is 2, so the system promises no more' default promises 40
    restored
else
    skip 'vm.overcommit_memory=2' 'it cannot be set here'
fi
for value in always never; do
    if setting /sys/kernel/mm/transparent_hugepage/enabled $value; then
        runs "transparent huge pages of the whole system: $value" default resident
        restored
    else
        skip "transparent huge pages of the whole system: $value" 'they cannot be set here'
    fi
done
finish
