#!/bin/sh
# The models of tests/models: spin finds no error in them, and an error for each fault that they name.
cd "$(dirname "$0")/../.." && . tests/tap.sh || exit
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

if ! command -v spin > /dev/null; then
    skip 'models of the crew' 'spin is not installed: tools/setup test'
    finish
fi

# errors MODEL FLAGS PROPERTY: how many errors spin finds, of safety or of liveness with fair workers. "soon" is of safety,
# where spin is done so soon that its program is not worth optimizing.
errors() {
    (
        cp "tests/models/$1" "$folder/model.pml" && cd "$folder" && rm -f pan* model.pml.trail
        # shellcheck disable=SC2086 # words of flags
        spin -a $2 model.pml > spin.log 2>&1 || { cat spin.log >&2; exit 1; }
        if [ "$3" = liveness ]; then
            ${CC:-cc} -O1 -w -DNFAIR=4 -DMEMLIM=2000 pan.c -o pan && timeout 100 ./pan -a -f -m1000000 -N ends
        elif [ "$3" = soon ]; then
            ${CC:-cc} -O0 -w -DSAFETY -DMEMLIM=2000 -DNOCLAIM pan.c -o pan && timeout 100 ./pan -m1000000 -w21
        else
            ${CC:-cc} -O1 -w -DSAFETY -DMEMLIM=2000 -DNOCLAIM pan.c -o pan && timeout 100 ./pan -m1000000
        fi
    ) > "$folder/log" 2>&1
    if grep -q 'max search depth too small\|reached -DMEMLIM\|out of memory' "$folder/log"; then
        echo incomplete
    else
        sed -n 's/.*errors: \([0-9]*\)$/\1/p' "$folder/log"
    fi
}

is "$(errors workers.pml '-DWORKERS=2' safety)" 0 'two workers: each object is copied once, and none is left out'
is "$(errors workers.pml '' safety)" 0 'three workers likewise'
is "$(errors workers.pml '-DWORKERS=2' liveness)" 0 'and each run ends'
for fault in UNCLAIMED LOST_PIECE EARLY LATE_BUSY NO_WAKE FORGETFUL \
    STAYS_ALONE ALONE_BUSY ALONE_UNITS ALONE_PIECES; do
    is "$(errors workers.pml "-D$fault" soon)" 1 "three workers, $fault: an error is found"
done

is "$(errors marks.pml '' soon)" 0 'marks of two workers that lose each other'\''s: all are there at the end, and counted once'
for fault in NO_OWN UNTESTED COUNTED_TWICE EARLY; do
    is "$(errors marks.pml "-D$fault" soon)" 1 "$fault: an error is found"
done

is "$(errors marking.pml '' safety)" 0 'marking beside a mutator: what is reachable at the end is marked'
is "$(errors marking.pml '-DMUTATORS=2 -DSTEPS=2' safety)" 0 'beside two likewise'
for fault in UNSTORED NO_SLOT EARLY SAME_CHUNKS OUTSIDE_UNLOGGED NO_ROOTS NO_BORN WHITE_BORN UNSTOPPED UNTAKEN; do
    is "$(errors marking.pml "-D$fault" soon)" 1 "$fault: an error is found"
done

is "$(errors born.pml '' safety)" 0 'objects that are born old beside a marker: what is reachable is marked, counted once, and recorded if it moves'
is "$(errors born.pml '-DSTEPS=4 -DOTHER_STEPS=2' safety)" 0 'where the owner takes more steps likewise'
is "$(errors born.pml '-DTWO -DOTHER_STEPS=2' soon)" 0 'where two threads have such objects likewise'
is "$(errors born.pml '-DAGAIN -DSTEPS=4 -DOTHER_STEPS=1' soon)" 0 'where one thread has two likewise'
is "$(errors born.pml '-DSTAYS' safety)" 0 'where nothing moves likewise, and nothing is read without a start bit'
for fault in NO_START LATE_FILLED START_FIRST UNTESTED PLAIN_MARK UNSHADED UNRECORDED UNLOGGED PASSED_SLOT \
    LATE_FLUSH UNFLUSHED UNSAFE; do
    is "$(errors born.pml "-D$fault" soon)" 1 "$fault: an error is found"
done
is "$(errors born.pml '-DSTAYS -DUNSTORED' soon)" 1 'UNSTORED: an error is found'

is "$(errors preclean.pml '' soon)" 0 'handles beside a mutator: what the last stop passes over refers to marked objects'
for fault in FLAG_FIRST READ_FIRST NO_COMPARE; do
    is "$(errors preclean.pml "-D$fault" soon)" 1 "$fault: an error is found"
done

is "$(errors finalizers.pml '' safety)" 0 'finalizers beside a mutator: what a remark finds dead is finalized once, and what lives then is marked'
for fault in UNTAKEN NO_ROOTS MARKS_ON END_UNDECIDED LATE_CLEAR UNLOGGED UNVISITED UNTRACED; do
    is "$(errors finalizers.pml "-D$fault" soon)" 1 "$fault: an error is found"
done

is "$(errors destroy.pml '' safety)" 0 'the end of a heap beside two threads: none touches what was freed, and each learns that the heap is gone'
for fault in UNCOUNTED OVERLOOKED UNPARKED RETURNED UNLOCKED CLEARED LOAD_FIRST FORGOTTEN LISTED; do
    is "$(errors destroy.pml "-D$fault" soon)" 1 "$fault: an error is found"
done
# ordered PROTOCOL HAVING: nothing goes wrong; and an error is found for each of the faults that follow
ordered() {
    protocol=$1
    is "$(errors order.pml "$protocol" soon)" 0 "weakly ordered memory, $2"
    shift 2
    for fault; do is "$(errors order.pml "$protocol -D$fault" soon)" 1 "$fault: an error is found"; done
}
ordered -DPUBLISH 'a new object is found in a slot: it has its header, and its card' PLAIN_STORE PLAIN_STOP
ordered '-DPUBLISH -DUNREAD' 'its card, if nobody reads it' PLAIN_STORE
ordered '-DPUBLISH -DCOPIED' 'or in one of many slots that are copied' NO_FENCE
ordered '-DPUBLISH -DRANGE' 'or where barriers compare bounds' NO_ACQUIRE
ordered -DSTOP 'no thread works in a collection' EARLY_LOAD
ordered -DLOG 'a chunk that is handed over is whole, and its stores are made' PLAIN_ENTRY PLAIN_WHOLE
ordered -DHANDLE 'a clean handle refers to a marked object' PLAIN_FLAG
ordered -DPAGES 'a page whose last store was not seen is taken again' UNSTOPPED
ordered -DBORN 'what is born old has its header and its mark where they are looked for' PLAIN_STORE PLAIN_MARK PLAIN_START
ordered -DINDEX 'what an index or a jump leads to is there' NO_ACQUIRE
finish
