#!/bin/bash
# Fuzzers, tests/fuzz/NAME.c, with AddressSanitizer: each reads its corpus, and then mutations of it from a fixed seed. With
# FUZZ_SECONDS=N it goes on for so long from another seed, and new inputs stay in build/fuzz/NAME.
cd "$(dirname "$0")/../.." && . tests/tap.sh || exit
mkdir -p build/fuzz
# Optimizing takes longer than it saves, unless the fuzzers run for long.
optimize=-O0
[ -z "${FUZZ_SECONDS:-}" ] || optimize=-O1

for source in tests/fuzz/*.c; do
    name=$(basename "$source" .c)
    program=build/fuzz/fuzz_$name found=build/fuzz/$name corpus=tests/fuzz/corpus/$name
    compile=(clang -std=c11 -Wall -Wextra -Werror -g $optimize -fsanitize=fuzzer,address,undefined
        -fno-sanitize-recover=undefined -pthread -Isrc)
    parts=() more=()
    if [ "$name" = inspect ]; then # it is the tool itself
        parts=(tools/inspect/*.c -D_GNU_SOURCE -Dmain=inspect_main -Dexit=inspect_exit)
        more=(-detect_leaks=0 -close_fd_mask=3) # it ends without giving its memory back, and prints
        corpus=tests/fuzz/corpus/dac
    fi
    if ! "${compile[@]}" "${parts[@]}" "$source" -o "$program"; then
        ok 1 "$name: compiles"
        continue
    fi
    # New inputs go to the first of the directories; what other runs have found would change what the seed does.
    if [ -n "${FUZZ_SECONDS:-}" ]; then
        what="$FUZZ_SECONDS seconds" amount=(-max_total_time="$FUZZ_SECONDS")
    else
        runs=30000
        [ "$name" = dac ] && runs=5000 # each input is a core, whose walks take a while
        [ "$name" = inspect ] && runs=500
        what="$runs mutations" amount=(-runs=$runs -seed=1)
        rm -rf "$found"
    fi
    mkdir -p "$found"
    options=(-artifact_prefix="build/fuzz/$name-" -timeout=10 -rss_limit_mb=2000 -verbosity=0 "${more[@]}")
    "$program" "${options[@]}" -runs=0 "$corpus" > "$found.log" 2>&1
    is $? 0 "$name: the corpus of $(find "$corpus" -type f | wc -l) inputs"
    "$program" "${options[@]}" "${amount[@]}" "$found" "$corpus" >> "$found.log" 2>&1
    is $? 0 "$name: $what"
    [ "$failures" -eq 0 ] || tail -30 "$found.log" | sed 's/^/# /' >&2
done
finish
