#!/bin/bash
# Programs for .NET 10 run on gc.h (examples/clr). Each has a watchdog that prints stacks, and a failure says what the collector
# was doing.
cd "$(dirname "$0")/../.." && . tests/tap.sh || exit
library=$PWD/build/examples/clr/libgch.so

exports=$(nm -D --defined-only "$library" | sed 's/.* //' | sort | tr '\n' ' ')
is "$exports" 'GC_Initialize GC_VersionInfo ' "the library exports two functions"
matches "$(ldd -r "$library" 2>&1 | grep -c 'undefined symbol')" '^0$' "and lacks none"

if ! dotnet --list-sdks 2> /dev/null | grep -q '^10\.'; then
    skip "programs for .NET run on it" "skipped: no .NET 10 SDK"
    finish
fi

dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
unset "${!DOTNET_GC@}" "${!COMPlus_@}" DOTNET_gcServer DOTNET_gcConservative
examples/clr/build.sh programs > "$dir/build" 2>&1
ok $? "the programs are built" || cat "$dir/build"
programs=$PWD/build/examples/clr/programs/programs.dll

command=(dotnet "$programs")
# run VARIABLE=VALUE... -- ARGUMENTS: the command, on gc.h; the output is in $output, how it ended in $status
run() {
    local variables=()
    while [ "$1" != -- ]; do variables+=("$1"); shift; done
    shift
    rm -f "$dir/note"
    output=$(env DOTNET_GCPath="$library" DOTNET_GCgchNote="$dir/note" "${variables[@]}" nice tools/limit 300 "${command[@]}" "$@" 2>&1)
    status=$?
    [ $status -eq 0 ] || diag "$(tr -d '\0' < "$dir/note" 2> /dev/null)" "$output"
}
# passes NAME VARIABLE=VALUE... -- ARGUMENTS: no test of the programs fails
passes() {
    local name=$1
    shift
    run "$@"
    is "$status, $(grep -vc '^ok' <<< "$output")" '0, 0' "$name"
}

run -- hello
is "$output" 'hello, world' "hello, world"
passes 'all tests, each collection verified' DOTNET_GCgchVerify=1 --
passes 'everything moves at each 150th slow path of an allocation' DOTNET_GCgchStress=96 --
passes 'and is verified' DOTNET_GCgchStress=400 DOTNET_GCgchVerify=1 -- Linq Structures Hashes Kinds Pinning Contexts ConditionalWeakTables
passes 'without tiered compilation' DOTNET_TieredCompilation=0 DOTNET_GCgchVerify=1 --
passes 'without code that was compiled beforehand' DOTNET_ReadyToRun=0 DOTNET_GCgchVerify=1 --
passes 'with two collector threads' DOTNET_GCHeapCount=2 DOTNET_GCgchVerify=1 --
passes 'objects are marked beside the program, and each collection is checked' DOTNET_gcConcurrent=1 DOTNET_GCgchVerify=1 --
passes 'and everything moves at each 1024th slow path' DOTNET_gcConcurrent=1 DOTNET_GCgchStress=400 DOTNET_GCgchVerify=1 -- Linq Structures Threads Contexts Finalizers ConditionalWeakTables Churn
passes 'nothing moves' DOTNET_GCgchNonMoving=1 DOTNET_GCgchVerify=1 -- Linq Json Threads Finalizers Kinds Contexts Churn
passes 'without generations' DOTNET_GCgchNonGenerational=1 DOTNET_GCgchVerify=1 -- Linq Json Threads Finalizers Kinds Contexts Churn
passes 'with the barrier and roots of servers' DOTNET_gcServer=1 DOTNET_GCgchVerify=1 -- Linq Threads Structures Kinds Contexts Churn Modes TotalBytes
passes 'with conservative stacks' DOTNET_gcConservative=1 DOTNET_GCgchVerify=1 -- Linq Threads Structures Pinning Churn

for variables in 'DOTNET_gcConcurrent=0 DOTNET_GCgchVerify=1' DOTNET_gcConcurrent=1; do
    touch build/examples/clr/source/many/*.cs 2> /dev/null
    # shellcheck disable=SC2086 # a list of assignments
    output=$(env DOTNET_GCPath="$library" DOTNET_GCgchNote="$dir/note" $variables nice tools/limit 400 examples/clr/build.sh many 2>&1)
    status=$?
    is $status 0 "a build of 300 classes, the compiler included: $variables"
    [ $status -eq 0 ] || diag "$(tr -d '\0' < "$dir/note" 2> /dev/null)" "$output"
done

for load in 'trees 14' 'ring 30000' 'table 100000' 'mix 100' 'threads 8'; do
    # shellcheck disable=SC2086 # a name and a number
    run DOTNET_GCgchReport=1 DOTNET_GCgchVerify=1 -- $load
    matches "$status $output" '^0 .*' "$load"
    matches "$output" 'libgch: collections [1-9]' "has collected: $load"
done

run DOTNET_gcConcurrent=1 DOTNET_GCgchReport=1 -- table 1000000
matches "$status $output" '^0 .*table wrong 0' "a table that is replaced while it is marked"
matches "$output" ' [1-9][0-9]* markings beside the program' "has been marked beside the program"

run DOTNET_GCHeapHardLimit=4000000 -- exhaust
matches "$status $output" '^0 .*OutOfMemoryException was caught' "a program at its limit gets OutOfMemoryException"
run DOTNET_GCHeapHardLimit=4000000 DOTNET_GCgchVerify=1 -- finalizable
matches "$status $output" '^0 .*OutOfMemoryException was caught' "and so does one whose objects have finalizers, whose heap stays whole"
for variables in DOTNET_gcConcurrent=0 DOTNET_gcConcurrent=1; do
    run DOTNET_GCHeapHardLimit=4000000 "$variables" -- together
    matches "$status $output" '^0 .*OutOfMemoryException was caught' "and so do threads that meet it at once: $variables"
done
run DOTNET_GCHeapHardLimit=4000000 -- limit
matches "$status $output" '^0 .*limits 67108864 134217728' "a limit that is raised while the program runs"

${CC:-cc} -std=c11 -Wall -Wextra -Werror -O2 -shared -fPIC -o "$dir/profiler.so" tests/scripts/clr_profiler.c
ok $? "a profiler is built"
for variables in 'DOTNET_gcConcurrent=0 DOTNET_GCHeapCount=2' 'DOTNET_gcConcurrent=1 DOTNET_GCgchStress=4000'; do
    # shellcheck disable=SC2086 # a list of assignments
    run $variables DOTNET_GCgchVerify=1 CORECLR_ENABLE_PROFILING=1 CORECLR_PROFILER='{CF0D821E-299B-5307-A3D8-B283C03916DD}' \
        CORECLR_PROFILER_PATH="$dir/profiler.so" -- Finalizers Pinning Contexts ConditionalWeakTables Kinds Churn
    matches "$status ${output##*$'\n'}" '^0 profiler: unfinished 0, full [1-9][0-9]*, outside 0 of [1-9]' \
        "each object is where a profiler was told it goes: $variables"
    matches "$output" 'moved [1-9].* allocated [1-9].* finalizable [1-9].* handles [1-9].* stacks [1-9].* pairs [1-9].* bounds [1-9]' \
        "and it is told of the rest"
done

run DOTNET_EnableEventPipe=1 DOTNET_EventPipeOutputPath="$dir/trace" \
    DOTNET_EventPipeConfig=Microsoft-Windows-DotNETRuntime:0x3D80003:5 -- Contexts
is "$status $(head -c 8 "$dir/trace") $(tail -c 1 "$dir/trace" | od -An -tx1)" '0 Nettrace  01' "the runtime's trace is whole"

run DOTNET_DbgEnableMiniDump=1 DOTNET_DbgMiniDumpType=1 DOTNET_DbgMiniDumpName="$dir/core" -- crash > /dev/null
matches "$output" 'Dump successfully written' "a crash leaves a dump"

command=(prlimit --as=34359738368 dotnet "$programs")
passes 'with 32 GiB of address space' DOTNET_GCgchVerify=1 -- Structures Kinds Hashes

# as most programs are: their project says nothing about it
grep -v System.GC.Concurrent "${programs%.dll}.runtimeconfig.json" > "$dir/silent.json"
command=(dotnet exec --runtimeconfig "$dir/silent.json" "$programs")
run DOTNET_GCgchReport=1 -- table 1000000
matches "$output" ' 0 markings beside the program' "nothing is marked beside a program that has not asked for it"
run DOTNET_GCgchReport=1 DOTNET_gcConcurrent=1 -- table 1000000
matches "$output" ' [1-9][0-9]* markings beside the program' "but beside one whose environment does"

echo 'no library' > "$dir/broken.so"
output=$(DOTNET_GCPath=$dir/broken.so timeout 60 dotnet "$programs" hello 2>&1)
matches "$output" 'GC initialization failed' "what is no library is refused"
output=$(DOTNET_GCPath=$library DOTNET_GCHeapHardLimit=1000 timeout 60 dotnet "$programs" hello 2>&1)
matches "$output" 'GC: libgch: heap_bytes_max is .* Raise it' "a limit that is too low is refused, by a sentence that says what to do"
finish
