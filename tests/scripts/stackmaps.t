#!/bin/sh
# docs/stackmaps.md shows what the example JIT prints, but for addresses.
cd "$(dirname "$0")/../.." && . tests/tap.sh && . tests/shown.sh || exit
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
unset GC_STRESS GC_VERIFY GC_CHECKMARK

# Where code and classes are, and how far the stack's limit is from the thread's own memory.
normal() {
    sed -E 's/^(>>> )?[0-9a-f]{8,} /\1ADDRESS /; s/^Begin [0-9a-f]+/Begin/; s/at address: [0-9a-f]+/at address:/
        s/(ADDRESS 48b[0-9a-f])[0-9a-f]{16} (movabs [a-z0-9]+),0x[0-9a-f]+/\1 \2/; s/(ADDRESS 64483b2425)[0-9a-f]{8} (.*fs:)0x[0-9a-f]+/\1 \2/
        s/[ \t]+$//'
}
shown docs/stackmaps.md 4 normal
finish
