#!/bin/bash
# Compile-only: every part alone, every header in every language, every switch; and mistakes that must not compile do not.
cd "$(dirname "$0")/../.." || exit
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
warnings=(-Wall -Wextra -Werror -Wpedantic -Wshadow -Wundef -fsyntax-only)
compilers=('gcc -std=c11' 'clang -std=c11' 'g++ -std=c++14' 'clang++ -std=c++17')

# job NAME MESSAGE SOURCE COMMAND...: an empty message: it compiles silently; else it fails with that message.
job() { printf '%q ' "$@" >> "$dir/jobs"; echo >> "$dir/jobs"; }

# compiles NAME SOURCE FLAGS...: in C and C++
compiles() {
    local name=$1 source=$2 compiler
    shift 2
    for compiler in "${compilers[@]}"; do
        # shellcheck disable=SC2086 # a command and its option
        job "$name: $compiler" '' "$source" $compiler -x "$(language "$compiler")" "${warnings[@]}" "$@" -
    done
}

# other_two NAME: the array of that name, one compiler for each language, becomes the other two
turn=('gcc -std=c11' 'clang++ -std=c++17') refusing=("${turn[@]}")
other_two() {
    local -n two=$1
    case ${two[0]} in gcc*) two=('clang -std=c11' 'g++ -std=c++14') ;; *) two=('gcc -std=c11' 'clang++ -std=c++17') ;; esac
}

# compiles_in_turn NAME SOURCE FLAGS...: with one compiler for each language, the other two for the next
compiles_in_turn() {
    other_two turn
    local compilers=("${turn[@]}")
    compiles "$@"
}

# refused NAME MESSAGE SOURCE FLAGS...: by one compiler for each language, the other two for the next mistake
refused() {
    local name=$1 message=$2 source=$3 compiler
    shift 3
    other_two refusing
    for compiler in "${refusing[@]}"; do
        # shellcheck disable=SC2086
        job "refused: $name: $compiler" "$message" "$source" $compiler -x "$(language "$compiler")" -w -fsyntax-only -I. "$@" -
    done
}

language() { case $1 in *++*) echo c++ ;; *) echo c ;; esac; }

run_job() {
    eval "set -- $1"
    local name=$1 message=$2 source=$3 output status
    shift 3
    output=$(echo "$source" | "$@" 2>&1)
    status=$?
    if { [ -z "$message" ] && [ $status -eq 0 ] && [ -z "$output" ]; } ||
        { [ -n "$message" ] && [ $status -ne 0 ] && grep -Eq -- "$message" <<< "$output"; }; then
        echo "ok - $name"
    else
        echo "not ok - $name"
        printf '%s\n' "$source" "$*" "$output" | head -12 | sed 's/^/# /' >&2
    fi
}
export -f run_job

run_jobs() {
    echo "1..$(wc -l < "$dir/jobs")"
    # shellcheck disable=SC2016
    tr '\n' '\0' < "$dir/jobs" | xargs -0 -n1 -P"${JOBS:-2}" bash -c 'run_job "$0"' | tee "$dir/results"
    ! grep -q '^not ok' "$dir/results"
    exit
}

# QUICK=1: no more than each header's implementation in C++, in which fewer things are allowed than in C.
[ -z "${QUICK-}" ] || compilers=('g++ -std=c++14')

# headers.t shows that the shipped headers and those of src/ are the same tokens.
for header in *.h; do
    # The others include these three.
    case ${QUICK-}$header in 1gc.h | 1gc_handles.h | 1gc_barrier_x86_64.h) continue ;; esac
    [ -n "${QUICK-}" ] || compiles "$header" "#include \"$header\"" -I.
    compiles "$header with GC_IMPLEMENTATION" "#include \"$header\"" -I. -DGC_IMPLEMENTATION
done
[ -z "${QUICK-}" ] || run_jobs

compiles "the model seam" '#include "tests/compile/model.h"' -I. -DGC_IMPLEMENTATION
# The benchmarks, which no test runs.
for program in bench/*.c; do
    job "$program" '' "#include \"$program\"" gcc -std=c11 -x c -Wall -Wextra -Werror -fsyntax-only -I. -
done

# A part that another one includes before all else is compiled alone with that one.
covered=$(perl -0777 -ne 's,/\*.*?\*/,,gs; /\A\s*#pragma once\s+#include "(.*)"/ or next;
    my $path = $1; $path = ($ARGV =~ s,[^/]*$,,r) . $path; 1 while $path =~ s,[^/]+/\.\./,,; print "$path "' src/*/*.h)
for part in src/*/*.h; do
    case " $covered " in *" $part "*) continue ;; esac
    job "$part alone" '' "#include \"$part\"" clang -std=c11 -x c "${warnings[@]}" -DGC_IMPLEMENTATION -I. -
done

# The implementation needs features that must be asked for before the first system header, which C++ compilers always do.
late='#include <stdio.h>
#define GC_IMPLEMENTATION
#include "gc.h"'
for standard in c11 gnu11; do
    for compiler in gcc clang; do
        job "refused: after a system header, as $standard: $compiler" 'include gc.h before any other header' "$late" \
            $compiler -std=$standard -x c -fsyntax-only -I. -
        job "after a system header with _GNU_SOURCE, as $standard: $compiler" '' "$late" \
            $compiler -std=$standard -x c "${warnings[@]}" -D_GNU_SOURCE -I. -
    done
done

user='#include "tests/compile/user.h"'
compiles 'a user of gc.h' "$user" -I.
for switch in GC_DEBUG=1 GC_DEBUG=2 GC_DEBUG=3 GC_SHADOW_HEAP=1 GC_EMBEDDED=1 GC_PORTABLE_BARRIERS \
    GC_REGION_SHIFT=16 GC_REGION_SHIFT=18 GC_REGION_SHIFT=30 GC_CARD_BITS=1 'GC_CARD_BITS=1 GC_PORTABLE_BARRIERS' \
    GC_CARD_SHIFT=7 GC_CARD_SHIFT=10 GC_CARD_SHIFT=11 GC_CARD_SHIFT=12 'GC_CARD_SHIFT=12 GC_REGION_SHIFT=16' GC_BUNDLE_SHIFT=0 GC_BUNDLE_SHIFT=18 'GC_BUNDLE_SHIFT=22 GC_REGION_SHIFT=22' \
    GC_BARRIER=none GC_BARRIER=rank_sum_branch_free 'GC_BARRIER=rank_sum_branch_free GC_CARD_BITS=1' GC_BARRIER=card_unconditional \
    GC_BARRIER=pre_grow 'GC_BARRIER=bit_region GC_CARD_BITS=1 GC_CARD_SHIFT=8 GC_BUNDLE_SHIFT=21 GC_REGION_SHIFT=22' GC_BARRIER=write_watch_byte_region \
    GC_BARRIER=object_logging GC_BARRIER=at_run_time 'GC_BARRIER=at_run_time GC_PORTABLE_BARRIERS GC_DEBUG=3' \
    'GC_ARENA_BYTES=((size_t)1<<36)' 'GC_REGION_SHIFT=16 GC_CARD_BITS=1 GC_CARD_SHIFT=12 GC_BUNDLE_SHIFT=0 GC_DEBUG=3' \
    'GC_VALUE_SLOT_IS_REF(s)=(((char*)(s))[8]==5) GC_VALUE_BYTES=24' \
    'GC_VALUE_IS_REF(w)=(((w)&7)==1) GC_VALUE_TO_REF(w)=((w)-1) GC_VALUE_FROM_REF(r,w)=((r)|((w)&7))'; do
    # shellcheck disable=SC2046,SC2086 # a list of definitions
    compiles_in_turn "$switch" "$user" -I. -DGC_IMPLEMENTATION $(printf -- '-D%s ' $switch)
done
# What can be left out: each alone, and all. Nothing of that is inline code, so users may be compiled without knowing of it.
least='GC_CONCURRENT=0 GC_COLLECTOR_THREADS_MAX=1 GC_DIAGNOSTICS=0'
for macros in $least "$least" "$least GC_DEBUG=3" "$least GC_REGION_SHIFT=16 GC_CARD_BITS=1 GC_CARD_SHIFT=7 GC_BUNDLE_SHIFT=0 GC_BARRIER=at_run_time"; do
    # shellcheck disable=SC2046,SC2086 # a list of definitions
    compiles_in_turn "$macros" "$user" -I. -DGC_IMPLEMENTATION $(printf -- '-D%s ' $macros)
done
for header in gc_profile.h gc_stackmap.h gc_standalone.h tests/compile/model.h; do
    # shellcheck disable=SC2046,SC2086
    compiles_in_turn "$header with $least" "#include \"$header\"" -I. -DGC_IMPLEMENTATION $(printf -- '-D%s ' $least)
done
for macro in $least; do
    # shellcheck disable=SC2016 # for the shell that runs it
    job "users compile the same code with $macro" '' '#include "gc_stackmap.h"' bash -c \
        'source=$(cat); cmp <(gcc -E -P -I. -x c - <<< "$source") <(gcc -E -P -I. "-D$0" -x c - <<< "$source")' "$macro"
done
# The level at which gcc inlines least, and generates code: it reports calls that must be inlined and are not.
job 'all companions at -Og: gcc' '' '#include "gc_profile.h"
#include "gc_stackmap.h"' gcc -std=c11 -x c -Wall -Wextra -Werror -Og -c -o /dev/null -I. -DGC_IMPLEMENTATION -
# In either order.
compiles_in_turn 'gc_stackmap.h after gc.h' '#include "gc.h"
#include "gc_stackmap.h"' -I. -DGC_IMPLEMENTATION
compiles_in_turn 'gc_profile.h after gc.h and gc_stackmap.h' '#include "gc.h"
#include "gc_stackmap.h"
#include "gc_profile.h"' -I. -DGC_IMPLEMENTATION
compiles_in_turn 'gc_profile.h with the model seam' '#include "tests/compile/model.h"
#include "gc_profile.h"' -I. -DGC_IMPLEMENTATION
for macros in GC_DEBUG=3 GC_ENVIRONMENT=0 'GC_API=static __attribute__((unused))' GC_REGION_SHIFT=30; do
    compiles_in_turn "gc_profile.h with $macros" '#include "gc_profile.h"' -I. -DGC_IMPLEMENTATION "-D$macros"
done
refused 'gc_profile.h with GC_IMPLEMENTATION after gc.h without it' 'GC_IMPLEMENTATION was defined: define it before the first' '#include "gc.h"
#define GC_IMPLEMENTATION
#include "gc_profile.h"'
refused 'gc_stackmap.h with GC_IMPLEMENTATION after gc.h without it' 'GC_IMPLEMENTATION was defined: define it before the first' '#include "gc.h"
#define GC_IMPLEMENTATION
#include "gc_stackmap.h"'
compiles_in_turn 'a user of gc.h with gc_stackmap.h' '#include "gc_stackmap.h"
#include "tests/compile/user.h"' -I. -DGC_IMPLEMENTATION
for macros in GC_STANDALONE 'GC_STANDALONE GC_DEBUG=3' GC_STANDALONE_LIBRARY 'GC_STANDALONE_LIBRARY GC_DEBUG=3 GC_SHADOW_HEAP=1' GC_STANDALONE_CLR_VARIABLES=1; do
    # shellcheck disable=SC2046,SC2086 # a list of definitions
    compiles_in_turn "gc_standalone.h with $macros" '#include "gc_standalone.h"' -I. -DGC_IMPLEMENTATION $(printf -- '-D%s ' $macros)
done
compiles 'gc_dac.h with GC_DAC_IMPLEMENTATION' '#include "gc_dac.h"' -I. -DGC_DAC_IMPLEMENTATION
compiles_in_turn 'gc_dac.h with GC_DAC_API static, before gc.h' '#include "gc_dac.h"
#include "gc.h"' -I. -DGC_DAC_IMPLEMENTATION -DGC_IMPLEMENTATION -DGC_DAC_API='static __attribute__((unused))'
compiles_in_turn 'gc_dac.h after gc.h' '#include "gc.h"
#include "gc_dac.h"' -I. -DGC_DAC_IMPLEMENTATION -DGC_IMPLEMENTATION
compiles 'a type with an array field, element by element' "#include \"gc.h\"
typedef struct T { gc_object header; void *p[2]; } T;
extern const gc_type t, u;
const gc_type t = GC_TYPE(T, p[0], p[1]), u = GC_TYPE_WITH(T, refs(p[1]), values(p[0]));" -I.

gc='#include "gc.h"'
for shift in 15 31 0; do refused "GC_REGION_SHIFT=$shift" 'GC_REGION_SHIFT must be 16 to 30' "$gc" -DGC_REGION_SHIFT=$shift; done
for shift in 6 13; do refused "GC_CARD_SHIFT=$shift" 'GC_CARD_SHIFT must be 7 to 12' "$gc" -DGC_CARD_SHIFT=$shift; done
for shift in 14 19; do refused "GC_BUNDLE_SHIFT=$shift" 'GC_BUNDLE_SHIFT must be 0 or between' "$gc" -DGC_BUNDLE_SHIFT=$shift; done
for most in 0 33; do refused "GC_COLLECTOR_THREADS_MAX=$most" 'GC_COLLECTOR_THREADS_MAX must be 1 to 32' "$gc" -DGC_COLLECTOR_THREADS_MAX=$most; done
refused 'a shadow heap without diagnostics' 'GC_SHADOW_HEAP needs GC_DIAGNOSTICS' "$gc" -DGC_SHADOW_HEAP=1 -DGC_DIAGNOSTICS=0
refused GC_CARD_BITS=2 'GC_CARD_BITS must be 0 .* or 1' "$gc" -DGC_CARD_BITS=2
refused GC_BARRIER=fast 'GC_BARRIER must be a name from the list GC_BARRIERS' "$gc" -DGC_BARRIER=fast
refused 'two value seams' 'define neither GC_VALUE_TAG nor GC_VALUE_IS_REF' "$gc" '-DGC_VALUE_IS_REF(w)=1' '-DGC_VALUE_SLOT_IS_REF(s)=1'
refused 'the size of a value without its seam' 'define GC_VALUE_SLOT_IS_REF.slot. too' "$gc" '-DGC_VALUE_BYTES=16'
refused 'a size of values that is no multiple of 8' 'GC_VALUE_BYTES must be a multiple of 8' "$gc" '-DGC_VALUE_SLOT_IS_REF(s)=1' '-DGC_VALUE_BYTES=12'
refused 'half a value seam' 'define GC_VALUE_TO_REF.* and GC_VALUE_FROM_REF.* too' "$gc" '-DGC_VALUE_IS_REF(w)=1'
refused 'half a model seam' 'define GC_MODEL_TRACE.* and GC_MODEL_NAME.* too' "$gc" '-DGC_MODEL_BYTES(o)=16'

# misdeclared NAME MEMBERS TYPE MESSAGE
misdeclared() {
    refused "a reference field $1" "$4" "$gc
typedef struct __attribute__((packed)) T { gc_object header; $2 } T;
extern const gc_type t;
const gc_type t = $3;"
}
misdeclared 'that is not aligned' 'char c; char *p;' 'GC_TYPE(T, p)' 'not at a multiple of 8 bytes'
misdeclared 'of 4 bytes' 'int p, q;' 'GC_TYPE(T, p)' 'no single word. Name each'
misdeclared 'that is an array' 'void *p[2];' 'GC_TYPE(T, p)' 'Name each element of an array, GC_TYPE.T, f.0., f.1..'
misdeclared 'of 16 bytes' 'struct { void *a, *b; } p;' 'GC_TYPE_VALUES(T, p)' 'not the size of one, GC_VALUE_BYTES. Name each'
misdeclared 'beyond 512 bytes' 'char fill[504]; void *p;' 'GC_TYPE(T, p)' 'beyond the first 512 bytes'
misdeclared 'that does not exist' 'void *p;' 'GC_TYPE(T, q)' 'no member'
elements='size_t length; struct { uint64_t hash; void *key; } items[1];'
misdeclared 'in each element, a struct' "$elements" 'GC_TYPE_ARRAY(T, items)' 'elements are no single words. Use a clause'
misdeclared 'in each element, a struct, by value' "$elements" 'GC_TYPE_ARRAY_VALUES(T, items)' 'not the size of one value, GC_VALUE_BYTES. Use a clause'

# Clauses.
clauses='void *p; uint64_t v; void *items[1];'
misdeclared 'of a clause that does not exist' "$clauses" 'GC_TYPE_WITH(T, fields(p))' gc__unknown_clause
misdeclared 'in a clause without its parentheses' "$clauses" 'GC_TYPE_WITH(T, refs)' gc__unknown_clause
misdeclared 'that a clause names and the type lacks' "$clauses" 'GC_TYPE_WITH(T, refs(q))' 'no member'
misdeclared 'of elements that the type lacks' "$clauses" 'GC_TYPE_WITH(T, elements(refs))' 'incomplete'
misdeclared 'of elements that are too small' 'size_t length; char items[1];' 'GC_TYPE_ARRAY_WITH(T, items, elements(refs))' 'elements are no single words'
misdeclared 'of elements that are neither references nor values' "$clauses" 'GC_TYPE_ARRAY_WITH(T, items, elements(p))' gc__unknown_clause
misdeclared 'in a clause beside two trace functions' "$clauses" 'GC_TYPE_WITH(T, trace(0), refs(p), trace(0))' 'more than 16 names, or two of them'
misdeclared 'beyond sixteen' "$clauses" 'GC_TYPE_WITH(T, refs(p, p, p, p, p, p, p, p, p), values(v, v, v, v, v, v, v, v))' 'more than 16 names, or two of them'
misdeclared 'that is not aligned, in a clause' 'char c; char *p;' 'GC_TYPE_WITH(T, refs(p))' 'not at a multiple of 8 bytes'

# Hierarchies in C++. Each claim about an offset is a constant, which the type's initializer must be too.
hierarchy='struct shape { gc_object header; shape *owner; double area; };
struct circle { shape base; circle *next; int radius; };
struct ring { circle base; shape *inner; };
static constexpr gc_type ring_type = GC_TYPE(ring, base.base.owner, base.next, inner);
static_assert(ring_type.bytes == sizeof(ring) && ring_type.refs == (2 | 8 | 32), "");
static_assert(ring_type.field_offsets[0] == 8 && ring_type.field_offsets[2] == 40, "");
const void *used();
const void *used() { return &ring_type; }'
inherited='struct shape : gc_object { shape *owner; double area; };
struct circle : shape { circle *next; int radius; };
struct list : gc_array { circle *items[1]; };
static constexpr gc_type types[] = {GC_TYPE(circle, owner, next), GC_TYPE_ARRAY(list, items)};
static_assert(types[0].bytes == sizeof(circle) && types[0].refs == (2 | 8), "");
static_assert(types[1].bytes == 16 && types[1].element_bytes == 8, "");
const void *used();
const void *used() { return types; }'
record='struct record { gc_type gc; const char *name; };
struct shape { gc_object header; shape *owner; };
static constexpr record shape_class = {GC_TYPE(shape, owner), "Shape"};
static_assert(shape_class.gc.refs == 2, "");
const record *record_of(const void *object);
const record *record_of(const void *object) {
    return object ? reinterpret_cast<const record *>(static_cast<const gc_object *>(object)->type) : &shape_class;
}'
for compiler in 'g++ -std=c++14' 'g++ -std=c++20' 'clang++ -std=c++14' 'clang++ -std=c++20'; do
    # shellcheck disable=SC2086
    {
        job "a hierarchy of first members: $compiler" '' "$gc
$hierarchy" $compiler -x c++ "${warnings[@]}" -I. -
        job "a hierarchy that inherits its header: $compiler" '' "$gc
$inherited" $compiler -x c++ "${warnings[@]}" -Wno-invalid-offsetof -I. -
        job "a type within the host's record: $compiler" '' "$gc
$record" $compiler -x c++ "${warnings[@]}" -I. -
        for type in 'GC_TYPE(shape, owner)' 'GC_TYPE_LEAF(shape)' 'GC_TYPE_TRACED(shape, trace)' 'GC_TYPE_ARRAY_LEAF(shape, items)'; do
            job "refused: virtual functions: $type: $compiler" 'a type with virtual functions begins with a pointer' "$gc
struct shape : gc_array { virtual ~shape() {} shape *owner; char items[1]; };
void trace(void *object, gc_visitor *visitor);
extern const gc_type t;
const gc_type t = $type;" $compiler -x c++ -w -fsyntax-only -I. -
        done
    }
done

handles="$gc
static bool release(intptr_t value) { return value != 0; }
GC_SAFE_HANDLE_KIND(file, release, gc_safe_handle_invalid_if_minus_one);
GC_SAFE_HANDLE_KIND(semaphore, release, gc_safe_handle_invalid_if_zero);
static void post(semaphore s) { gc_keep_alive(s.safe); }
void call(gc_thread *gc);"
compiles 'handles of one kind' "$handles
void call(gc_thread *gc) { post(semaphore_new(gc, 1, true)); (void)file_new; }" -I.
mismatch='incompatible type|could not convert|no matching function|no known conversion|invalid initializer|no viable conversion|conversion from'
refused 'a handle of another kind as an argument' "$mismatch" "$handles
void call(gc_thread *gc) { post(file_new(gc, 1, true)); }"
refused 'a handle of another kind in a variable' "$mismatch" "$handles
void call(gc_thread *gc) { semaphore s = file_new(gc, 1, true); post(s); }"
refused 'a raw value as a handle' "$mismatch" "$handles
void call(gc_thread *gc) { (void)gc; post(1); }"

run_jobs
