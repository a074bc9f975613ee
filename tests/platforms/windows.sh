#!/bin/bash
# Windows on x86-64: compiled by mingw-w64's gcc and by clang, run under wine. Prints TAP; takes some minutes.
#   tests/platforms/windows.sh [PART...]    commit, compile, ends, examples, fibers, ladder, libraries, random, threads, unit; all without arguments
# Writes a row of the table of docs/platforms.md to ROW (build/platforms/windows/row). OPS: random operations (300000).
# THREADS_SECONDS: for each mode (0.5). UNIT="test_roots test_pins" chooses among unit tests.
cd "$(dirname "$0")/../.." && . tests/tap.sh || exit
compiler=x86_64-w64-mingw32-gcc
wine=$(command -v wine64 || command -v wine || ls /usr/lib/wine/wine64 2> /dev/null)
for missing in "$compiler:gcc-mingw-w64-x86-64" "${wine:-wine}:wine64 wine"; do
    command -v "${missing%%:*}" > /dev/null && continue
    skip "Windows" "${missing%%:*} is not installed (apt-get install --no-install-recommends ${missing#*:})"
    finish
done

dir=$(mktemp -d)
# The server of the programs of this folder alone.
export WINEPREFIX=$dir/wine WINEDEBUG=-all WINEDLLOVERRIDES='mscoree,mshtml='
trap 'WINEPREFIX=$dir/wine "$(command -v wineserver || echo /usr/lib/wine/wineserver)" -k 2> /dev/null; rm -rf "$dir"' EXIT
unset GC_STRESS GC_VERIFY GC_CHECKMARK DISPLAY
nice "$wine" cmd /c exit > "$dir/log" 2>&1
ok $? "wine starts"

shims='-isystem tests/platforms/windows -include tests/platforms/windows/posix.h'
# Wine keeps a byte for each page of reserved address space, so the arena is small.
arena='-DGC_ARENA_BYTES=((size_t)1<<34)'
parts=${*:-commit compile ends examples fibers ladder libraries random threads unit}
wants() {
    part=$1 before=$failures
    [[ " $parts " == *" $1 "* ]]
}
# Each part ends so.
declare -A result
ends() {
    result[$part]=${1:-yes}
    [ "$failures" -eq "$before" ] || result[$part]="$((failures - before)) failures"
}

# compiles NAME CODE COMPILER... : it compiles without a warning
compiles() {
    local name=$1 code=$2
    shift 2
    nice -n 5 "$@" -Wall -Wextra -Werror -I. -c - -o "$dir/compiled.o" > "$dir/log" 2>&1 <<< "$code"
    ok $? "compiles: $name"
    grep -m 5 'error' "$dir/log" >&2
}
# runs SECONDS PROGRAM ARGUMENT...: the output, without carriage returns, is in $dir/out and $dir/err
runs() {
    local seconds=$1
    shift
    timeout "$seconds" nice "$wine" "$@" > "$dir/raw" 2> "$dir/err" < /dev/null
    local status=$?
    tr -d '\r' < "$dir/raw" > "$dir/out"
    return $status
}
implementation() { printf '#define GC_IMPLEMENTATION\n#include "%s"\n' "$1"; }

if wants compile; then
    for header in gc.h gc_stackmap.h; do
        compiles "$header, gcc" "$(implementation $header)" $compiler -x c -std=c11 -O2 -Wpedantic -Wshadow -Wundef
        if command -v clang > /dev/null; then
            compiles "$header, clang" "$(implementation $header)" clang --target=x86_64-w64-mingw32 -x c -std=c11 -O1
        else
            skip "compiles: $header, clang" 'clang is not installed (apt-get install clang)'
        fi
        if command -v x86_64-w64-mingw32-g++ > /dev/null; then
            compiles "$header, C++" "$(implementation $header)" x86_64-w64-mingw32-g++ -x c++ -std=c++14 -O0
        else
            skip "compiles: $header, C++" 'x86_64-w64-mingw32-g++ is not installed (apt-get install g++-mingw-w64-x86-64)'
        fi
    done
    compiles 'Intel syntax' "$(implementation gc.h)" $compiler -x c -std=c11 -O1 -masm=intel
    $compiler -std=c11 -O1 -flto=auto -Wall -Wextra -Werror -Wno-format -pthread -static -I. examples/hello.c -o "$dir/lto.exe" > "$dir/log" 2>&1
    ok $? "compiles: examples/hello.c with link-time optimization"
    grep -m 5 'error' "$dir/log" >&2
    compiles 'with all checks' "$(implementation gc.h)" $compiler -x c -std=c11 -O1 -DGC_DEBUG=3
    compiles 'least' "$(implementation gc.h)" $compiler -x c -std=c11 -O1 -DGC_CONCURRENT=0 -DGC_COLLECTOR_THREADS_MAX=1 -DGC_DIAGNOSTICS=0
    compiles 'windows.h after gc.h' "$(implementation gc.h && echo '#include <windows.h>')" $compiler -x c -std=c11 -O0
    compiles 'windows.h before gc.h' "$(echo '#include <windows.h>' && implementation gc.h)" $compiler -x c -std=c11 -O0
    for declined in gc_profile.h gc_standalone.h gc_dac.h; do
        page=$( (echo '#define GC_DAC_IMPLEMENTATION' && implementation $declined) |
            $compiler -x c -std=c11 -I. -fsyntax-only - 2>&1 | grep ' error: ')
        matches "$page" "error: #error \"$declined: .* for Linux only" "declined with a sentence: $declined"
        is "$(grep -c ': error: ' <<< "$page")" 1 "declined with no other errors: $declined"
    done
    ends
fi

# builds OUTPUT ARGUMENT...
builds() {
    : > "$dir/out" && : > "$dir/err"
    $build "${@:2}" -o "$1" > "$dir/log" 2>&1
}
build="nice -n 5 $compiler -std=c11 -O1 -g1 -Wall -Wextra -Wno-format -pthread -static $shims $arena"
if wants examples; then
    # A user compiles an example with its gc.h, as hello is here. The others share one, to save time.
    implementation gc_stackmap.h | $build -I. -x c -c - -o "$dir/shared.o"
    ok $? 'example: the collector that most of them share compiles'
    for source in examples/*.c; do
        name=$(basename "$source" .c)
        case $name in
        fibers) skip "$name" 'it switches stacks by ucontext.h, which Windows does not have' && continue ;;
        file_stream | finalizer_race | handle_recycling | native) skip "$name" 'it makes calls of POSIX that Windows does not have' && continue ;;
        stackmap) skip "$name" 'calls of compiled code are for Linux only' && continue ;;
        esac
        case $name in
        hello | barriers) cp "$source" "$dir/$name.c" && collector= ;;
        *) sed '/^#define GC_IMPLEMENTATION$/d' "$source" > "$dir/$name.c" && collector=$dir/shared.o ;;
        esac
        builds "$dir/$name.exe" -I. -Iexamples "$dir/$name.c" $collector && runs 300 "$dir/$name.exe"
        ok $? "example: $name"
        grep -m 3 -E 'error|undefined' "$dir/log" >&2
        if [ -f "examples/$name.expected" ]; then
            diff -u "examples/$name.expected" "$dir/out" >&2
            ok $? "example: $name prints $name.expected"
        fi
        # hello keeps so many objects that a collection takes a second where each is looked at
        GC_STRESS=$([ $name = hello ] && echo 50000 || echo 500) GC_VERIFY=1 GC_CHECKMARK=1 runs 300 "$dir/$name.exe"
        ok $? "example: $name, under stress and verify"
    done
    ends
fi

if wants ladder; then
    ladder=examples/ladder
    for file in syntax host collector; do builds "$dir/$file.o" -I. -c $ladder/$file.c || cat "$dir/log" >&2; done
    for rung in 0 1 2 3 4 5 6; do
        collector= && [ $rung -gt 1 ] && collector=$dir/collector.o
        builds "$dir/rung$rung.exe" -I. $ladder/rung$rung.c "$dir/syntax.o" "$dir/host.o" $collector
        ok $? "ladder: rung $rung compiles"
        wrong=
        for script in $ladder/programs/*.calc; do
            GC_STRESS=$([ $rung -gt 1 ] && echo 100) GC_VERIFY=1 runs 300 "$dir/rung$rung.exe" "$script" \
                "$(sed -n '1s/# test \([0-9]*\).*/\1/p' "$script")"
            tr -d '\r' < "$dir/err" >> "$dir/out"
            cmp -s "$dir/out" "${script%.*}.expected" || wrong="$wrong $(basename "$script")"
        done
        is "$wrong" '' "ladder: rung $rung prints what it should, under stress and verify"
    done
    ends
fi

if wants libraries; then
    # Two collectors in one program, each static in its file, and a third one in a library that is unloaded again.
    cat > "$dir/static.c" << 'END'
#define GC_IMPLEMENTATION
#define GC_API static
#include "gc.h"
typedef struct cell { gc_object header; struct cell *next; } cell;
static const gc_type cell_type = GC_TYPE(cell, next);
NAME { gc_heap *heap = gc_heap_create(NULL);
    gc_thread *gc = gc_thread_attach(heap);
    if (!gc) return 1;
    { cell *list = NULL;
      GC_ROOTS(gc, list);
      for (int i = 0; i < 100000; i++) { cell *c = (cell *)gc_new(gc, &cell_type); gc_store(gc, &c->next, list); list = c; }
      gc_collect(heap, 2, GC_COLLECT_DEFAULT); }
    gc_heap_destroy(heap);
    return 0; }
END
    cat > "$dir/main.c" << 'END'
#include <windows.h>
#include <stdio.h>
int first(void), second(void);
static DWORD WINAPI thread(LPVOID f) { return (DWORD)((int (*)(void))f)(); }
int main(int argc, char **argv) {
    int wrong = first() + second();
    for (int i = 0; i < 3; i++) {
        HMODULE library = LoadLibraryA(argv[argc - 1]);
        if (!library) return 9;
        void (*f)(void) = (void (*)(void))GetProcAddress(library, "third");
        HANDLE other = CreateThread(NULL, 0, thread, (LPVOID)(UINT_PTR)f, 0, NULL);
        DWORD status = 1;
        WaitForSingleObject(other, INFINITE);
        GetExitCodeThread(other, &status);
        wrong += ((int (*)(void))f)() + (int)status;
        FreeLibrary(library);
    }
    printf("%d\n", wrong);
    return wrong;
}
END
    $build -I. -D'NAME=int first(void)' -c "$dir/static.c" -o "$dir/first.o" 2> "$dir/log" &&
        $build -I. -masm=intel -D'NAME=int second(void)' -c "$dir/static.c" -o "$dir/second.o" 2>> "$dir/log" &&
        $build -I. -shared -D'NAME=__declspec(dllexport) int third(void)' "$dir/static.c" -o "$dir/third.dll" 2>> "$dir/log" &&
        $build -Wno-cast-function-type "$dir/main.c" "$dir/first.o" "$dir/second.o" -o "$dir/main.exe" 2>> "$dir/log"
    ok $? "libraries: two collectors link into one program, and a third into a library"
    grep -m 5 -E 'error|undefined|multiple' "$dir/log" >&2
    runs 300 "$dir/main.exe" "Z:${dir//\//\\}\\third.dll"
    is "$? $(cat "$dir/out")" '0 0' "libraries: the program loads, uses and unloads the library three times"
fi

if wants fibers; then
    # Each fiber keeps a list of its own in a root, grows it, and hands over to the next one.
    cat > "$dir/fibers.c" << 'END'
#define GC_IMPLEMENTATION
#include "gc.h"
#include <windows.h>
typedef struct cell { gc_object header; struct cell *next; intptr_t value; } cell;
static const gc_type cell_type = GC_TYPE(cell, next);
enum { FIBERS = 4, TURNS = 2000 };
static gc_thread *gc;
static struct { void *fiber; gc_stack *stack; } fibers[FIBERS + 1]; /* the last one is the thread itself */
static int ended, wrong;
static void go_to(int i) { gc_stack_switch(gc, fibers[i].stack); SwitchToFiber(fibers[i].fiber); }
static void CALLBACK run(void *me) {
    int index = (int)(intptr_t)me;
    cell *list = NULL;
    {
        GC_ROOTS(gc, list);
        for (int i = 0; i < TURNS; i++) {
            cell *c = (cell *)gc_new(gc, &cell_type);
            c->value = index * TURNS + i;
            gc_store(gc, &c->next, list);
            list = c;
            if (i % 100 == 0) go_to((index + 1) % FIBERS);
        }
        int i = TURNS;
        for (cell *c = list; c; c = c->next) wrong += c->value != index * TURNS + --i;
        wrong += i != 0;
    }
    ended++;
    for (;;) go_to(ended == FIBERS ? FIBERS : (index + 1) % FIBERS);
}
int main(void) {
    gc_heap *heap = gc_heap_create(NULL);
    gc = gc_thread_attach(heap);
    if (!gc) return 9;
    fibers[FIBERS].fiber = ConvertThreadToFiber(NULL);
    for (int i = 0; i < FIBERS; i++) {
        fibers[i].fiber = CreateFiber(0, run, (void *)(intptr_t)i);
        fibers[i].stack = gc_stack_create(heap, NULL);
    }
    go_to(0);
    for (int i = 0; i < FIBERS; i++) { DeleteFiber(fibers[i].fiber); gc_stack_destroy(fibers[i].stack); }
    printf("%d of %d, %d wrong\n", ended, FIBERS, wrong);
    gc_heap_destroy(heap);
    return wrong;
}
END
    builds "$dir/fibers.exe" -I. "$dir/fibers.c"
    ok $? 'fibers: compiles'
    grep -m 5 -E 'error|undefined' "$dir/log" >&2
    GC_STRESS=50 GC_VERIFY=1 GC_CHECKMARK=1 runs 300 "$dir/fibers.exe"
    is "$? $(cat "$dir/out")" '0 4 of 4, 0 wrong' "fibers: each keeps its objects, under stress and verify"
    head -3 "$dir/err" >&2
fi

if wants ends; then
    # Native threads that end attached, in cooperative mode, while another one collects: one, or with an argument two.
    cat > "$dir/ends.c" << 'END'
#define GC_IMPLEMENTATION
#include "gc.h"
#include <windows.h>
static gc_heap *heap;
static LONG attached, go[2];
static DWORD WINAPI end_attached(void *me) {
    gc_thread_attach(heap);
    InterlockedIncrement(&attached);
    while (!InterlockedCompareExchange(&go[(INT_PTR)me], 0, 0)) {}
    return 0;
}
static DWORD WINAPI collect(void *unused) {
    gc_thread *gc = gc_thread_attach(heap);
    gc_collect(heap, 2, GC_COLLECT_BLOCKING);
    gc_thread_detach(gc);
    return (void)unused, 0;
}
int main(int count, char **arguments) {
    HANDLE all[3] = {0};
    (void)arguments;
    heap = gc_heap_create(NULL);
    for (int i = 0; i < count; i++) all[i] = CreateThread(NULL, 0, end_attached, (void *)(INT_PTR)i, 0, NULL);
    while (InterlockedCompareExchange(&attached, 0, 0) != count) Sleep(1);
    all[count] = CreateThread(NULL, 0, collect, NULL, 0, NULL);
    for (int i = 0; i < count; i++) Sleep(200), InterlockedIncrement(&go[i]);
    DWORD ended = WaitForMultipleObjects((DWORD)count + 1, all, TRUE, 10000);
    printf("%s\n", ended == WAIT_TIMEOUT ? "waits for ever" : "ends");
    fflush(stdout);
    _exit(0);
}
END
    builds "$dir/ends.exe" -I. "$dir/ends.c" && runs 60 "$dir/ends.exe"
    is "$(cat "$dir/out")" ends 'ends: a native thread that ends attached lets the collection go on'
    matches "$(cat "$dir/err")" 'ended without gc_thread_detach' 'ends: with a warning'
    runs 60 "$dir/ends.exe" both
    if [ "$(cat "$dir/out")" = 'waits for ever' ]; then
        skip 'ends: two of them at once' 'wine calls the callbacks of fiber-local storage one at a time'
    else
        is "$(cat "$dir/out")" ends 'ends: two of them at once'
    fi

    # Threads of pthreads, one of which detaches in a destructor, and one not at all. A compiler whose own threads are those has
    # freed thread-local variables before that.
    cat > "$dir/pthreads.c" << 'END'
#define GC_IMPLEMENTATION
#include "gc.h"
#include <pthread.h>
#include <stdlib.h>
static gc_heap *heap;
static pthread_key_t key;
static __thread int mine;
static int lost;
static void warning(void *host, const char *message) { (void)host, printf("warning: %.24s\n", message); }
static void detach(void *gc) {
    lost = !mine;
    if (gc_thread_current(heap) != gc) puts("another thread");
    gc_thread_detach((gc_thread *)gc);
}
static void *end_attached(void *detaches) {
    mine = 1;
    gc_thread *gc = gc_thread_attach(heap);
    if (detaches) pthread_setspecific(key, gc);
    return NULL;
}
int main(void) {
    gc_options options = {.warning = warning};
    heap = gc_heap_create(&options);
    pthread_t thread;
    for (int i = 0; i < 4; i++) {
        if (i == 1) pthread_key_create(&key, detach); /* after the key of gc.h's */
        pthread_create(&thread, NULL, end_attached, i % 2 ? &key : NULL);
        pthread_join(thread, NULL);
        gc_thread *gc = gc_thread_attach(heap);
        printf("%s\n", gc_result_text(gc_collect(heap, 2, GC_COLLECT_BLOCKING)));
        gc_thread_detach(gc);
    }
    fprintf(stderr, "%s\n", lost ? "lost" : "kept");
    fflush(stdout);
    _exit(0);
}
END
    left='warning: the thread `(unnamed)` e'
    for threads in '' -posix; do
        if ! command -v "$compiler$threads" > /dev/null; then
            skip "ends: threads of pthreads, $compiler$threads" "it is not installed (apt-get install gcc-mingw-w64-x86-64-posix)"
            continue
        fi
        build=${build/$compiler/$compiler$threads} builds "$dir/pthreads.exe" -I. "$dir/pthreads.c" && runs 60 "$dir/pthreads.exe"
        is "$(tr '\n' ' ' < "$dir/out")" "$left success success $left success success " "ends: threads of pthreads, $compiler$threads ($(cat "$dir/err"))"
    done

    # While a thread that attaches makes the key that notices ends, another one has a second to attach, too.
    cat > "$dir/keys.c" << 'END'
#define GC_IMPLEMENTATION
#include "gc.h"
#include <pthread.h>
#include <windows.h>
static gc_heap *heap;
static pthread_t second;
static pthread_key_t key_made;
static LONG attached, go, has_key;
static void *attach(void *unused) {
    gc_thread *gc = gc_thread_attach(heap);
    InterlockedIncrement(&attached);
    while (!InterlockedCompareExchange(&go, 0, 0)) Sleep(1);
    has_key = pthread_getspecific(key_made) != NULL;
    gc_thread_detach(gc);
    return unused;
}
int __real_pthread_key_create(pthread_key_t *key, void (*f)(void *));
int __wrap_pthread_key_create(pthread_key_t *key, void (*f)(void *)) {
    if (f != gc__os_key_call) return __real_pthread_key_create(key, f);
    pthread_create(&second, NULL, attach, NULL);
    for (int i = 0; i < 100 && !InterlockedCompareExchange(&attached, 0, 0); i++) Sleep(10);
    int result = __real_pthread_key_create(key, f);
    key_made = *key;
    return result;
}
int main(void) {
    heap = gc_heap_create(NULL);
    gc_thread *gc = gc_thread_attach(heap);
    InterlockedIncrement(&go);
    gc_thread_detach(gc);
    pthread_join(second, NULL);
    printf("%ld\n", has_key);
    return 0;
}
END
    builds "$dir/keys.exe" -Wl,--wrap=pthread_key_create -I. "$dir/keys.c" && runs 60 "$dir/keys.exe"
    is "$(cat "$dir/out")" 1 'ends: a thread that attaches while another makes the key has it, too'
    grep -m 5 -E 'error|undefined' "$dir/log" >&2
    ends
fi

if wants commit; then
    # The system refuses the pages of tables that barriers read: always, or with an argument three times.
    cat > "$dir/commit.c" << 'END'
#define GC_IMPLEMENTATION
#include "gc.h"
#include <windows.h>
typedef struct cell { gc_object header; struct cell *next; } cell;
static const gc_type cell_type = GC_TYPE(cell, next);
static LONG refusals = 1 << 30;
void *__real_VirtualAlloc(void *address, SIZE_T bytes, DWORD how, DWORD protection);
void *__wrap_VirtualAlloc(void *address, SIZE_T bytes, DWORD how, DWORD protection) {
    if (protection == PAGE_READONLY && InterlockedDecrement(&refusals) >= 0) return SetLastError(ERROR_COMMITMENT_LIMIT), NULL;
    return __real_VirtualAlloc(address, bytes, how, protection);
}
int main(int count, char **arguments) {
    (void)arguments;
    if (count > 1) refusals = 3;
    gc_thread *gc = gc_thread_attach(gc_heap_create(NULL));
    cell *c = (cell *)gc_new(gc, &cell_type);
    gc_store(gc, &c->next, NULL);
    printf("%s\n", refusals < 0 ? "reads" : "was not refused");
    return 0;
}
END
    builds "$dir/commit.exe" -Wl,--wrap=VirtualAlloc -I. "$dir/commit.c" && runs 60 "$dir/commit.exe" three
    is "$(cat "$dir/out")" reads 'commit: a table is read once the system has memory for it again'
    runs 60 "$dir/commit.exe"
    matches "$(cat "$dir/err")" 'refuses memory for the page at .* of a table that write barriers read: .*enlarge the page file' \
        'commit: if it never has, a sentence says so'
    grep -m 5 -E 'error|undefined' "$dir/log" >&2
    ends
fi

if wants random; then
    operations=0
    # random VARIANT FLAGS...
    random() {
        local variant=$1 most=$((${OPS:-300000} / 50)) status done=0 run
        shift
        builds "$dir/random.exe" -O2 -Isrc "$@" tests/random/random.c
        status=$?
        # Most are only compared with the model; a tenth is verified, too, which takes longer.
        for run in "--ops=$((most / 10)) --seed=1" "--ops=$most --verify=0 --seed=2"; do
            [ $status -eq 0 ] || break
            # shellcheck disable=SC2086 # arguments
            runs 1200 "$dir/random.exe" $run
            status=$?
            done=$((done + $(sed -n 's/^ok .*: \([0-9]*\) operations.*/\1/p' "$dir/out" | awk '{ sum += $1 } END { print sum + 0 }')))
        done
        operations=$((operations + done))
        ok $status "random: $variant: $done operations"
        grep -m 3 -hE 'error|undefined|^not ok|^# op' "$dir/log" "$dir/out" "$dir/err" >&2
    }
    random 'the default' -DGC_REGION_SHIFT=18
    random 'small regions, bits' -DGC_REGION_SHIFT=16 -DGC_CARD_BITS=1 -DGC_CARD_SHIFT=7
    random 'barriers in C' -DGC_REGION_SHIFT=18 -DGC_PORTABLE_BARRIERS
    random 'any barrier' -DGC_REGION_SHIFT=18 -DGC_BARRIER=at_run_time
    random 'all checks, shadow heap' -DGC_REGION_SHIFT=18 -DGC_SHADOW_HEAP=1 -DGC_DEBUG=3
    ends "$operations operations"
fi

if wants threads; then
    builds "$dir/threads.exe" -Isrc tests/random/threads.c -DGC_REGION_SHIFT=18
    ok $? "threads: compiles"
    for mode in moving non_moving conservative stress limit concurrent; do
        runs 300 "$dir/threads.exe" --mode=$mode --seconds="${THREADS_SECONDS:-0.5}" --seed=1
        ok $? "threads: $mode: $(sed -n 's/^ok 1 - [a-z_]*: //p' "$dir/out")"
        head -5 "$dir/err" >&2
    done
    ends
fi

# Unit tests that cannot run, each with the reason.
declare -A without=(
    [arena]='it binds threads to processors by a call of Linux' [clocks]='it reads profiles' [workers]='it binds threads to processors by a call of Linux'
    [claims]='it asks for the state of file descriptors' [heaps]='its assembly is for ELF' [limits]='limits of the process are those of Linux'
    [supply]='it releases parts of a mapping' [threads]='it steps through code by a signal' [value_stacks]='it makes system calls of Linux'
    [verify]='it handles signals' [space]='control groups are Linux'"'"'s' [barrier_forms]='it handles signals'
    [alone]='it asks whether the process has one thread' [fork]='there is no fork' [locked]='there is no mlockall'
    [jit_assembler]='it writes an ELF file' [inspect_graph]='gc-inspect is for Linux' [load]='collectors as libraries are for Linux only'
    [stacks]='native stacks are unwound for profiles' [finalizer_ends]='limits of the process are those of Linux'
    [external]='its arena is smaller than the limit that it exceeds' [stats]='CPU time is known in steps of 10 ms'
    [code_registry]='it steps through code by a signal'
    [marking]='it asks for huge pages' [refused]='it makes system calls of Linux'
    [llvm]='which of two bases it takes depends on qsort' [left_out]='it forks'
    [snapshot]='it writes profiles' [pages]='it asks which pages are resident'
)
profiles='profile profile_pages profile_threads'
compiled_code='code_calls code_faults code_interrupt code_return code_threads code_walk'
if wants unit; then
    for test in $profiles; do without[$test]='profiles are for Linux only'; done
    for test in $compiled_code; do without[$test]='calls and interrupts of compiled code are for Linux only'; done
    for test in dac dac_model dac_stops dac_versions; do without[$test]='gc_dac.h is for Linux only'; done
    $build -c tests/platforms/windows/child.c -o "$dir/child.o" && implementation gc_stackmap.h | $build -Isrc -x c -c - -o "$dir/gc.o"
    ok $? "unit: the collector compiles"
    count=0 facts=0
    for test in ${UNIT:-$(basename -s .c tests/unit/test_*.c)}; do
        source=tests/unit/$test.c
        reason=${without[${test#test_}]}
        [ -n "$reason" ] && skip "unit: $test" "$reason" && continue
        others=$dir/gc.o
        grep -qE 'define GC_IMPLEMENTATION|include "../inside.h"' "$source" && others=-O0
        builds "$dir/test.exe" -Isrc "$source" $others "$dir/child.o" && runs 600 "$dir/test.exe" &&
            tail -1 "$dir/out" | grep -q '^1\.\.'
        ok $? "unit: $test: $(grep -c '^ok' "$dir/out") facts"
        grep -m 5 -hE 'error:|undefined|^not ok' "$dir/log" "$dir/out" >&2
        rm -f "$dir/test.exe"
        count=$((count + 1)) facts=$((facts + $(grep -c '^ok' "$dir/out")))
    done
    ends "$count tests, $facts checks"
fi
mkdir -p build/platforms/windows
echo "| windows | ${result[compile]} | ${result[unit]} | ${result[random]} | ${result[threads]} | ${result[examples]} | ${result[ladder]} |" \
    > "${ROW:-build/platforms/windows/row}"
finish
