#!/bin/bash
# tests/unit/test_barrier_forms.c in every compiler, optimization, code model and geometry; and bit_region is the CLR's own code.
cd "$(dirname "$0")/../.." || exit
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
sanitize='-fsanitize=address,undefined -fno-sanitize-recover=undefined'
clr='-DGC_CARD_BITS=1 -DGC_CARD_SHIFT=8 -DGC_BUNDLE_SHIFT=21 -DGC_REGION_SHIFT=22'

# job COMPILER FLAGS...: the program compiles without a warning, and every line it prints is ok
job() { echo "$*" >> "$dir/jobs"; }

# build PROGRAM COMPILER FLAGS...
build() {
    local program=$1 language='-std=c11'
    shift
    case $1 in *++*) language='-std=c++17 -x c++' ;; esac
    # shellcheck disable=SC2048,SC2086 # options
    $* -Wall -Wextra -Werror -pthread -Isrc $language tests/unit/test_barrier_forms.c -o "$program"
}

run_job() {
    local program=$dir/program.$BASHPID output
    if output=$(build "$program" "$1" 2>&1) && output=$("$program" quick 2>&1) &&
        [ "1..$(grep -c '^ok' <<< "$output")" = "$(grep '^1\.\.' <<< "$output")" ]; then
        echo "ok - $1"
    else
        echo "not ok - $1"
        grep -v '^ok' <<< "$output" | head -12 | sed 's/^/# /' >&2
    fi
    rm -f "$program"
}
export -f build run_job
export dir

# Every pair of two of optimization, compiler, code model and frame pointer, in eight jobs; with ALL=1 all of them.
models=('-fPIC' '-fno-pic -no-pie') frames=('-fomit-frame-pointer' '-fno-omit-frame-pointer') compilers=(gcc clang)
for level in 0 1 2 3; do
    for compiler in 0 1; do
        for more in 0 ${ALL:+1 2 3}; do
            model=$(((level >> 1 ^ compiler ^ more) & 1)) frame=$(((level ^ compiler ^ more >> 1) & 1))
            job ${compilers[compiler]} -O$level "${models[model]}" "${frames[frame]}"
        done
    done
done
job gcc -O0 "$sanitize"
job clang -O2 "$sanitize"
job g++ -O2
job clang++ -O2
for compiler in gcc clang; do job $compiler -O2 -masm=intel -DINTEL_DIALECT; done
job gcc -O0 -masm=intel -DINTEL_DIALECT -DGC_CARD_BITS=1
job clang -O0 -masm=intel -DINTEL_DIALECT -DGC_BUNDLE_SHIFT=0 -DGC_REGION_SHIFT=16

number=0
for geometry in '-DGC_CARD_SHIFT=7' '-DGC_CARD_SHIFT=8 -DGC_BUNDLE_SHIFT=18' '-DGC_CARD_SHIFT=12 -DGC_BUNDLE_SHIFT=18' \
    '-DGC_CARD_BITS=1' '-DGC_CARD_BITS=1 -DGC_CARD_SHIFT=7 -DGC_REGION_SHIFT=16' \
    '-DGC_CARD_BITS=1 -DGC_CARD_SHIFT=12 -DGC_BUNDLE_SHIFT=21 -DGC_REGION_SHIFT=22 -DGC_PORTABLE_BARRIERS' \
    '-DGC_BUNDLE_SHIFT=0' '-DGC_CARD_BITS=1 -DGC_BUNDLE_SHIFT=0 -DGC_REGION_SHIFT=18' '-DGC_BUNDLE_SHIFT=22 -DGC_REGION_SHIFT=22' \
    '-DGC_REGION_SHIFT=16' '-DGC_REGION_SHIFT=18 -DGC_PORTABLE_BARRIERS' '-DGC_REGION_SHIFT=30 -DGC_BUNDLE_SHIFT=21' "$clr"; do
    number=$((number + 1))
    case $((number % 2)) in 0) job gcc -O0 "$geometry" ;; 1) job clang -O0 "$geometry" ;; esac
done

# The listing of JIT_WriteBarrier in .NET 8 for x86-64: offset and instruction, immediates of 64 bits aside.
clr_listing() {
    cat << 'END'
0 mov qword ptr [rdi], rsi
3 mov r8, rdi
6 movabs rax, IMMEDIATE
16 shr rdi, 0x16
20 cmp byte ptr [rdi + rax], 0x0
24 jne 30
26 rep ret
28 nop
30 movabs r9, IMMEDIATE
40 cmp rsi, r9
43 jae 46
45 ret
46 movabs r9, IMMEDIATE
56 cmp rsi, r9
59 jb 63
61 rep ret
63 shr rsi, 0x16
67 mov dl, byte ptr [rsi + rax]
70 cmp dl, byte ptr [rdi + rax]
73 jb 78
75 rep ret
77 nop
78 movabs rax, IMMEDIATE
88 mov ecx, r8d
91 shr r8, 0xb
95 shr ecx, 0x8
98 and ecx, 0x7
101 mov dl, 0x1
103 shl dl, cl
105 test byte ptr [r8 + rax], dl
109 je 113
111 rep ret
113 lock or byte ptr [r8 + rax], dl
118 movabs rax, IMMEDIATE
128 shr r8, 0xa
132 cmp byte ptr [r8 + rax], -0x1
137 jne 141
139 rep ret
141 mov byte ptr [r8 + rax], -0x1
146 ret
END
}

# objdump's text in the words of the listing, which is lldb's.
disassemble() {
    objdump -D -b binary -m i386:x86-64 -M intel --no-show-raw-insn "$1" | perl -ne '
        my ($offset, $text) = /^ *([0-9a-f]+):\t(.*?)\s*$/ or next;
        for ($text) {
            s/ +/ /g; s/BYTE PTR/byte ptr/; s/QWORD PTR/qword ptr/; s/repz ret/rep ret/; s/xchg ax,ax/nop/;
            s/,/, /; s/\[(r..?)\+(r..?)\*1\]/[$1 + $2]/; s/(movabs r[a-z0-9]+), 0x[0-9a-f]+/$1, IMMEDIATE/; s/0xff$/-0x1/;
            s/^(j.*) 0x([0-9a-f]+)$/"$1 " . hex $2/e;
        }
        print hex $offset, " $text\n"'
}

same_code() {
    local name='with the geometry of the CLR, emitted bit_region is JIT_WriteBarrier, byte for byte'
    if build "$dir/clr" gcc "$clr" && "$dir/clr" emit bit_region 0 > "$dir/code" &&
        diff <(clr_listing) <(disassemble "$dir/code") > "$dir/difference"; then
        echo "ok - $name"
    else
        echo "not ok - $name"
        sed 's/^/# /' "$dir/difference" >&2
    fi
}

# Emitted code leaves vector and floating point registers alone, and calls nothing: no such instruction is in any of it.
plain_code() {
    local name='emitted code calls nothing, and uses no vector or floating point registers' barrier form program odd
    build "$dir/default" gcc
    sed -n 's/^    X(\([a-z_]*\),.*/\1/p' src/barrier/tables.h | while read -r barrier; do
        for form in 0 1 2 3 4 5; do
            for program in clr default; do "$dir/$program" emit "$barrier" $form; done
        done
    done > "$dir/code"
    disassemble "$dir/code" > "$dir/all"
    odd=$(grep -E '\b([xyz]?mm[0-9]+|st|k[0-7]|call|syscall|int|jmp [^0-9].*)\b|\(bad\)' "$dir/all")
    if [ -z "$odd" ] && [ "$(wc -l < "$dir/all")" -gt 4000 ]; then
        echo "ok - $name"
    else
        echo "not ok - $name"
        head <<< "$odd" | sed 's/^/# /' >&2
    fi
}

echo "1..$(($(wc -l < "$dir/jobs") + 2))"
# shellcheck disable=SC2016
{
    tr '\n' '\0' < "$dir/jobs" | xargs -0 -n1 -P"${JOBS:-2}" bash -c 'run_job "$0"'
    same_code
    plain_code
} | tee "$dir/results"
! grep -q '^not ok' "$dir/results"
