#!/bin/bash
# Every platform of platform.sh in turn, and the table that docs/platforms.md has. With arguments only those platforms.
# build/platforms/NAME.tap has what each has printed.
cd "$(dirname "$0")/../.." || exit
mkdir -p build/platforms
failed=
for platform in ${*:-musl musl-static aarch64 riscv64 s390x}; do
    start=$SECONDS
    tests/platforms/platform.sh "$platform" > "build/platforms/$platform.tap" 2> "build/platforms/$platform.err" || failed="$failed $platform"
    grep '^not ok' "build/platforms/$platform.tap"
    sed -n 's/^1\.\.0 # SKIP //p' "build/platforms/$platform.tap"
    echo "# $platform: $(grep -c '^ok' "build/platforms/$platform.tap") of $(grep -c '^\(not \)\?ok' "build/platforms/$platform.tap") checks, $((SECONDS - start)) s"
done
echo
echo "At $(git rev-parse --short HEAD 2> /dev/null), $(date +%Y-%m-%d):"
echo
echo '| platform | compiles | unit tests | random | threads | examples | ladder |'
echo '|---|---|---|---|---|---|---|'
for platform in ${*:-musl musl-static aarch64 riscv64 s390x}; do
    if [ -f "build/platforms/$platform/row" ]; then cat "build/platforms/$platform/row"; else echo "| $platform | not tested | | | | | |"; fi
done
[ -z "$failed" ] || { echo; echo "Failures on:$failed"; exit 1; }
