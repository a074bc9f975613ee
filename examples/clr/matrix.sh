#!/bin/bash
# The matrix of docs/clr.md: each program by each collector, one run of each, in turn:  matrix.sh [PROGRAM...]
# COLLECTORS="workstation gc.h" chooses among them; gc.h,beside marks objects beside the program.
# Rows: program, collector, whether it passes, elapsed and CPU seconds, peak MiB, longest pause in ms, collections of each generation.
cd "$(dirname "$0")/../.." || exit
library=$PWD/build/examples/clr/libgch.so
out=$(mktemp -d) && trap 'rm -rf "$out"' EXIT
unset "${!DOTNET_GC@}" "${!COMPlus_@}"

examples/clr/build.sh programs web many > "$out/build" 2>&1 || { cat "$out/build"; exit 1; }

declare -A programs=(
    [tests]='dotnet build/examples/clr/programs/programs.dll'
    [trees]='dotnet build/examples/clr/programs/programs.dll trees 20'
    [ring]='dotnet build/examples/clr/programs/programs.dll ring 1000000'
    [table]='dotnet build/examples/clr/programs/programs.dll table 4000000'
    [mix]='dotnet build/examples/clr/programs/programs.dll mix 4000'
    [threads2]='dotnet build/examples/clr/programs/programs.dll threads 2'
    [threads16]='dotnet build/examples/clr/programs/programs.dll threads 16'
    [web]='dotnet build/examples/clr/web/web.dll 10000'
    [build]='examples/clr/build.sh many'
)
declare -A collectors=(
    [workstation]='DOTNET_gcServer=0 DOTNET_gcConcurrent=0'
    [concurrent]='DOTNET_gcServer=0 DOTNET_gcConcurrent=1'
    [server]='DOTNET_gcServer=1 DOTNET_gcConcurrent=0'
    [libclrgc]='DOTNET_gcServer=0 DOTNET_gcConcurrent=0 DOTNET_GCName=libclrgc.so'
    [gc.h]="DOTNET_gcServer=0 DOTNET_gcConcurrent=0 DOTNET_GCPath=$library"
    [gc.h,beside]="DOTNET_gcServer=0 DOTNET_gcConcurrent=1 DOTNET_GCPath=$library"
)

echo '| program | collector | | elapsed s | CPU s | peak MiB | longest pause ms | collections |'
echo '|---|---|---|---|---|---|---|---|'
for program in ${*:-tests trees ring table mix threads2 threads16 web build}; do
    for collector in ${COLLECTORS:-workstation concurrent server libclrgc gc.h gc.h,beside}; do
        [ "$program" = build ] && touch build/examples/clr/source/many/*.cs
        # shellcheck disable=SC2086 # lists of assignments and words
        env ${collectors[$collector]} /usr/bin/time -o "$out/time" -f '%e %U %S %M' nice tools/limit 300 ${programs[$program]} > "$out/text" 2>&1
        status=$?
        grep -q '^not ok\|wrong [1-9]\|wrong: ' "$out/text" && status=1
        read -r elapsed user system peak < <(tail -1 "$out/time")
        pause=$(sed -n 's/.*pause_max_ms \([0-9.]*\).*/\1/p' "$out/text")
        counts=$(sed -n 's/^collections \([0-9]*\) \([0-9]*\) \([0-9]*\).*/\1 \2 \3/p' "$out/text")
        printf '| %s | %s | %s | %s | %.1f | %d | %s | %s |\n' "$program" "$collector" "$([ $status = 0 ] && echo passes || echo "fails ($status)")" \
            "$elapsed" "$(awk "BEGIN { print $user + $system }")" $((peak / 1024)) "${pause:-}" "${counts:-}"
    done
done
