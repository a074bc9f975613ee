#!/bin/bash
# The table of docs/platforms.md: each platform of platform.sh, and Windows by windows.sh, in cells, each with its own limit of time.
#   all.sh [PLATFORM[/PART]...]    runs these cells, or all, and prints the table of what is known of this commit
#   all.sh table [COMMIT]          prints it only
# As many cells run side by side as there are processors (JOBS=N: N), each on one of these. One that fails, or does not end, says so,
# and the next one runs. build/platforms/results keeps what each has shown; what it has printed is in build/platforms/PLATFORM/PART.tap
# and .err. The limits are longer where many other programs run, and N times as long with TIMES=N. OPS: random operations, of which
# a cell does as many as three quarters of its time allow.
cd "$(dirname "$0")/../.." || exit
platforms='musl musl-static aarch64 riscv64 s390x windows' parts='headers unit random threads examples ladder'
declare -A names=([musl]='musl' [musl-static]='musl, static' [aarch64]=AArch64 [riscv64]=RISC-V [s390x]=S/390 [windows]=Windows)
declare -A seconds=([headers]=240 [unit]=1800 [random]=720 [threads]=90 [examples]=120 [ladder]=90 [strict]=300)
results=build/platforms/results
mkdir -p build/platforms && touch $results
commit=$(git rev-parse --short HEAD)
git diff --quiet HEAD -- || commit=$commit+ # with changes

# known PLATFORM PART: what the last run of the cell at this commit has shown
known() { awk -F '\t' -v commit="$commit" -v platform="$1" -v part="$2" '$1 == commit && $2 == platform && $3 == part { last = $4 } END { print last }' $results; }

table() {
    local platform part strict
    printf 'At %s, %s:\n\n| platform | compiles | unit tests | random | threads | examples | ladder |\n|---|---|---|---|---|---|---|\n' "$commit" \
        "$(awk -F '\t' -v commit="$commit" '$1 == commit { last = $6 } END { print last ? last : "nothing was run" }' $results)"
    for platform in $platforms; do
        printf '| %s ' "${names[$platform]}"
        for part in $parts; do printf '| %s ' "$(known "$platform" "$part")"; done
        echo '|'
    done
    strict=$(known x86-64 strict)
    [ -z "$strict" ] || printf '\nOld and strict kernels: %s.\n' "$strict"
}

# cell PLATFORM PART
cell() {
    local platform=$1 part=$2 start=$SECONDS limit status result wrong folder=build/platforms/$1 command column=1
    limit=$(($(cut -d . -f 1 /proc/loadavg) / $(nproc)))
    limit=$((${seconds[$part]} * ${TIMES:-1} * (limit > 1 ? limit : 1)))
    mkdir -p "$folder" && rm -f "$folder/cell-$part"
    case $platform in
    x86-64) command='env STRICT_SYSTEM=1 tests/platforms/strict.t' ;;
    windows)
        for result in $parts; do column=$((column + 1)) && [ "$result" != "$part" ] || break; done
        case $part in headers) part='compile commit ends libraries' ;; examples) part='examples fibers' ;; esac
        command="tests/platforms/windows.sh $part" part=$2
        rm -f "$folder/$2.row"
        export ROW=$folder/$2.row
        ;;
    *) command="env JOBS=1 ONLY=$part CELL=$limit tests/platforms/platform.sh $platform" ;;
    esac
    # shellcheck disable=SC2086 # a command and its arguments
    nice -n 10 timeout -k 30 $limit $command > "$folder/$part.tap" 2> "$folder/$part.err" < /dev/null
    status=$?
    wrong=$(grep -c '^not ok' "$folder/$part.tap")
    # The program of a cell says more than a number of checks.
    if [ -f "$folder/cell-$part" ]; then
        result=$(cat "$folder/cell-$part")
    elif [ "$platform" = windows ] && [ -f "$ROW" ]; then
        result=$(cut -d '|' -f $((column + 1)) "$ROW" | sed 's/^ *//; s/ *$//')
    elif grep -q '^1\.\.[0-9]' "$folder/$part.tap"; then
        result="$(grep -c '^ok' "$folder/$part.tap") checks"
    else
        result="in part: $(grep -c '^ok' "$folder/$part.tap") checks"
    fi
    if [ $status -eq 0 ] && ! grep '^\(not \)\?ok' "$folder/$part.tap" | grep -qv '# skip'; then
        result='not installed'
        sed -n 's/^1\.\.0 # SKIP /# /p; s/^ok.*# skip /# /p' "$folder/$part.tap"
    elif [ $status -eq 124 ] || [ $status -eq 137 ]; then
        result="$result, no end in $limit s" status=1
    elif [ "$wrong" -gt 0 ]; then
        case $result in *fail*) ;; *) result="$result, $wrong failures" ;; esac
    elif [ $status -ne 0 ]; then
        result="$result, then ended with status $status"
    fi
    [ "$wrong" -eq 0 ] || status=1
    grep '^not ok' "$folder/$part.tap"
    printf '%s\t%s\t%s\t%s\t%s\t%s\n' "$commit" "$platform" "$part" "$result" $((SECONDS - start)) "$(date +%Y-%m-%d)" >> $results
    echo "# $platform, $part: $result ($((SECONDS - start)) s)"
    return $status
}

if [ "$1" = table ]; then
    commit=${2:-$commit}
    table
    exit
fi
if [ "$1" = cell ]; then
    cell "${2%/*}" "${2#*/}" || echo "$2" >> "$FAILED"
    exit 0
fi
# The longest parts come first, and old and strict kernels alone, since they change settings of the system.
cells= alone=
for part in unit random $parts; do
    for wanted in ${*:-x86-64/strict $platforms}; do
        case $wanted in */*) ;; *) wanted=$wanted/$part ;; esac
        if [ "$wanted" = x86-64/strict ]; then
            alone=$wanted
        elif [ -z "${names[${wanted%/*}]}" ] || [[ " $parts " != *" ${wanted#*/} "* ]]; then
            echo "all.sh: there is no cell $wanted: PLATFORM/PART, of $platforms, and $parts; or x86-64/strict" >&2
            exit 2
        elif [ "${wanted#*/}" = "$part" ] && [[ " $cells " != *" $wanted "* ]]; then
            cells="$cells $wanted"
        fi
    done
done
export FAILED=build/platforms/failed
: > $FAILED
[ -z "$alone" ] || tests/platforms/all.sh cell $alone
[ -z "$cells" ] || echo $cells | xargs -n 1 -P "${JOBS:-$(nproc)}" tests/platforms/all.sh cell
echo
table
[ ! -s $FAILED ] || { echo; echo "Failures in: $(xargs < $FAILED)"; exit 1; }
