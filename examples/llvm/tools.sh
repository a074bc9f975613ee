#!/bin/sh
# Prints the names of an opt and an llc of one version: of LLVM 14, which Debian 12 has, or else of another one; nothing if
# there are none. The IR here has typed pointers, which 14 needs; 16 and 19, which have other pointers, read it as well.
for version in -14 '' -15 -16 -17 -18 -19 -20 -21 -22; do
    if command -v "opt$version" > /dev/null && command -v "llc$version" > /dev/null; then
        echo "opt$version llc$version"
        exit
    fi
done
