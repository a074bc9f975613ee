#!/bin/bash
# What LLVM emits: examples/llvm under stress, and the functions of zoo.ll with all options that change their stack maps.
cd "$(dirname "$0")/../.." && . tests/tap.sh || exit
read -r opt llc <<< "$(examples/llvm/tools.sh)"
if [ -z "$opt" ] || [ "$(uname -m)" != x86_64 ]; then
    echo "1..0 # SKIP needs x86-64, and opt and llc of one version, which tools/setup test installs (Debian's package llvm)"
    exit
fi
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
diag "$opt: $("$opt" --version | grep -o 'version.*' | head -1)"

# The example.
make -s build/examples/llvm
ok $? "examples/llvm builds"
for environment in GC_VERIFY=0 GC_STRESS=allocation GC_STRESS=safepoint GC_STRESS=stack; do
    env $environment GC_VERIFY=1 GC_CHECKMARK=1 timeout 60 build/examples/llvm > "$dir/out" 2> "$dir/err"
    is $? 0 "examples/llvm runs, $environment"
    diff -u examples/llvm/llvm.expected "$dir/out" >&2
    ok $? "and prints what it should"
    grep -v '^[1-9][0-9]* of [0-9]* collections moved [1-9][0-9]* bytes$' "$dir/err" >&2
    ok $((! $?)) "and says nothing else but that objects were moved"
done
is "$(timeout 60 build/examples/llvm 1000 | cksum)" "$(GC_STRESS=1000 timeout 60 build/examples/llvm 1000 2> "$dir/err" | cksum)" \
    "with more objects it prints the same under stress"
readelf -d build/examples/llvm > "$dir/dynamic"
matches "$(grep -c TEXTREL "$dir/dynamic")" '^0$' "it has no relocations of read-only memory"

gcc -std=c11 -Wall -Wextra -Werror -O1 -g -pthread -I. -c tests/llvm/zoo.c -o "$dir/zoo_c.o"
ok $? "zoo.c compiles"

# object FILE NAME FLAGS...: compiles IR with these flags of llc
object() {
    local file=$1 name=$2
    shift 2
    "$opt" -passes='default<O2>,rewrite-statepoints-for-gc' "$file" -o "$dir/$name.bc" &&
        "$llc" -O2 "$@" --relocation-model=pic -filetype=obj "$dir/$name.bc" -o "$dir/$name.o" &&
        objcopy --rename-section .llvm_stackmaps=llvm_stackmaps,alloc,load,data,contents "$dir/$name.o"
}

# zoo NAME FLAGS...: makes $dir/zoo of IR that was compiled so, with the linker's options in $link
zoo() {
    local name=$1
    shift
    # shellcheck disable=SC2086
    object tests/llvm/zoo.ll zoo "$@" && gcc -pthread $link "$dir/zoo.o" "$dir/zoo_c.o" -o "$dir/zoo"
    ok $? "$name: links"
}

all=$'plain\ndeopt\nvector\nderived_vector\nselect\nselect\ndynamic\naligned\ndynamic_aligned\npushes\ndeep\nback\nloop\ninterrupted\nescape'
all_right=${all//$'\n'/: right$'\n'}': right'
runs_right() {
    local what=$1
    shift
    timeout 60 "$dir/zoo" "$@" > "$dir/out" 2> "$dir/err"
    ok $? "$what: runs"
    is "$(cat "$dir/out" "$dir/err")" "$all_right" "$what: every object was moved, and every answer is right"
}

# fails WHAT PATTERN ARGUMENTS...
fails() {
    local what=$1 pattern=$2
    shift 2
    (ulimit -c 0; timeout 60 "$dir/zoo" "$@" > "$dir/out" 2>&1) 2> /dev/null
    test $? -ne 0
    ok $? "$what: ends"
    matches "$(cat "$dir/out")" "$pattern" "$what: says what to do"
}

# There is something to test: the sections have the locations that they are to have.
has_locations() {
    local reader=${llc/llc/llvm-readobj}
    if ! command -v "$reader" > /dev/null; then skip "$1" "no $reader"; return; fi
    objcopy --rename-section llvm_stackmaps=.llvm_stackmaps "$dir/zoo.o" "$dir/named.o"
    matches "$("$reader" --stackmap "$dir/named.o" 2>&1)" "$2" "$1"
}

link=-pie zoo "frame pointers" --frame-pointer=all
runs_right "frame pointers"
has_locations "its vectors are of 16 bytes" 'Indirect \[R#7 \+ [0-9]+\], size: 16'
has_locations "it has references by rbp" 'Indirect \[R#6 \+ -[0-9]+\], size: 8'
has_locations "it has references by rbx" 'Indirect \[R#3 \+ [0-9]+\], size: 8'
has_locations "it has sizes that are not known" 'size: 18446744073709551615'
objdump -d --no-show-raw-insn "$dir/zoo" | awk '/<zoo_pushes>:/ { on = 1 } /^$/ { on = 0 } on && /push/ { n++ } END { exit n < 6 }'
ok $? "its calls push arguments, besides registers"
strip "$dir/zoo"
runs_right "stripped"
link=-no-pie zoo "at a fixed address" --frame-pointer=all
runs_right "at a fixed address"
link="-static -Wl,--gc-sections" zoo "static" --frame-pointer=all
runs_right "static"

link= zoo "deopt operands in registers" --frame-pointer=all -use-registers-for-deopt-values
runs_right "deopt operands in registers"

link= zoo "references in registers" --frame-pointer=all -max-registers-for-gc-values=16 -fixup-allow-gcptr-in-csr
has_locations "some are" 'Register R#(3|12|14|15), size: 8'
fails "where another frame may have saved the register" 'a reference is in r[a-z0-9]+, .*compile without .*-max-registers-for-gc-values' deep
all_of=$all_right all_right=$(grep -E '^(plain|deopt|vector|derived_vector|select|loop)' <<< "$all_right")
runs_right "references in registers" plain deopt vector derived_vector select loop
all_right=$all_of

link= zoo "by size" -no-x86-call-frame-opt
runs_right "by size" --by-size
fails "without frame pointers, and not by size" 'rbp holds no frame pointer of its frame: .*--frame-pointer=all' plain
link= zoo "by size, with pushed arguments"
fails "by size, with pushed arguments" 'leads to no return address: .*-no-x86-call-frame-opt' --by-size pushes

# Code that was not linked.
objcopy -O binary -j llvm_stackmaps "$dir/zoo.o" "$dir/section"
matches "$("$dir/zoo" --section "$dir/section")" 'at byte 16 .*relocations must be applied to the section first' \
    "the section of an object file is refused"

# A function in two modules: of its copies, the linker keeps one.
for module in a b; do
    sed "s/use_MODULE/use_$module/" tests/llvm/copies.ll > "$dir/$module.ll"
    object "$dir/$module.ll" "$module"
done
link= zoo "with copies" --frame-pointer=all
gcc -pthread "$dir/zoo.o" "$dir/a.o" "$dir/b.o" "$dir/zoo_c.o" -o "$dir/zoo"
ok $? "a function in two modules: links"
all_right=$'a copy: right\na copy: right'
runs_right "a function in two modules" "a copy"
finish
