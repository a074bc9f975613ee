#!/bin/sh
# Races planted in a copy of gc.h: each makes test_workers fail, with real threads or with threads that take turns.
cd "$(dirname "$0")/../.." && . tests/tap.sh || exit
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# fails TEST FLAGS [SECONDS]: the test, compiled with the headers in $folder, does not pass within that time
fails() {
    # shellcheck disable=SC2086 # words of flags
    clang -std=c11 -pthread -O0 -g0 -w -DGC_DEBUG=3 ${2:-} -I"$folder" tests/unit/gc.c "tests/unit/$1.c" -o "$folder/test" &&
        ! TAP_FIRST_FAILURE_ENDS=1 timeout "${3:-60}" "$folder/test" > "$folder/log" 2>&1
}

# planted NAME CODE [FLAGS [HEADER [TEST]]]: CODE is perl that changes the text in $_, of gc.h or another header; the test must
# notice
planted() {
    cp gc*.h "$folder"
    CODE=$2 perl -0777 -i -pe 'my $was = $_; eval $ENV{CODE}; die $@ if $@; die "nothing to change\n" if $_ eq $was' "$folder/${4:-gc.h}" &&
        fails "${5:-test_workers}" "${3:-}"
    ok $? "$1"
}

planted 'a copy that is not claimed' \
    's/__atomic_compare_exchange_n\(&GC__WORD\(object\), &header, forward, false, __ATOMIC_ACQ_REL,\s*__ATOMIC_ACQUIRE\)/(GC__WORD(object) = forward)/'
planted 'an entry of a shared piece that is lost' \
    's/(take_piece.*?for \(size_t i = )0;/$1gc__entry_words(&piece->words[0]);/s'
planted 'an entry that is lost as others are shared' \
    's/memcpy\(worker->stack, keeps, [^;]*;//'
planted 'a run that ends while one worker is busy' \
    's/\? !workers->ending : workers->busy != 0/? !workers->ending : workers->busy > 1/'
planted 'a window that is closed twice' \
    's/(gc__copies_close\(gc_window \*window\) \{.*?)gc__window_set\(window, NULL, 0, 0\);/$1/s'
planted 'a copy that is found before it is claimed' \
    's/(copy_body\(copy, object, header, bytes\);\s*)(else)/$1$2/; s/if \(GC_DEBUG >= 3 && many\) gc__workers_step\(worker\);/if (many) { gc__mark_publish(copy); gc__workers_step(worker); }/'
planted 'marks that workers lose' \
    's/if \(seen & ~\*word\) \*word \|= seen;//'
planted 'marks of an earlier run' \
    's/while \(member->stale.count\) gc__own_marks_clear_stripe.*?;/member->stale.count = 0;/'
planted 'a card that is lost with the rest of an array' \
    's/piece->remember = gc__worker_remembers\(worker\);/piece->remember = false;/' '-DGC_CARD_SHIFT=12 -DGC_BUNDLE_SHIFT=18'
planted 'a worker that takes itself for alone after it has shared' \
    's/worker->alone = false;\s*(workers->members\[worker->number\]\.shared\+\+)/$1/'
planted 'a worker that takes itself for alone beside busy ones' \
    's/worker->alone = workers->busy == 1 && /worker->alone = /'
planted 'a worker that takes itself for alone while a piece is shared' \
    's/ && !workers->shared_count (&& !workers->for_host)/ $1/'
planted 'a worker that takes itself for alone while roots are left' \
    's/!gc__workers_units_left\(crew\) && (!workers->shared_count)/$1/' '' gc.h test_alone
planted 'a worker that takes itself for alone while trace functions are to be called' \
    's/ && !workers->for_host\.count;/;/' '' gc.h test_alone
planted 'arrays that are given away whole' \
    's/if \(end - index < 2 \* GC__CHUNK\) return false;/return false;/' '' gc.h test_alone
planted 'cards that are scanned as roots are' \
    's/gc__workers_remember\(worker, true\);\s*(if \(unit >= slots\))/$1/'
planted 'mark bits of regions that nobody clears' \
    's/gc__min\(from \+ GC__UNIT_REGIONS, gc__regions_used\(\)\)/from + GC__UNIT_REGIONS - 60/'
planted 'handles that nobody looks at' \
    's/size_t block = from; (block < from \+ GC__CHUNK_BLOCKS)/size_t block = from + 1; $1/' '' gc_handles.h

# Several threads verify, and find what one finds.
export GC_TEST_COLLECTORS=5 GC_COLLECTOR_THREADS=3
cp gc*.h "$folder"
! fails test_verify '' 600 # threads that take turns wait for a processor each time, which takes long where others run
ok $? 'three threads find each fault that test_verify makes'
planted 'a fault that one of several threads finds and does not tell' \
    's/if \(verifier->unsound\) __atomic_store_n\(verifier->unsound, true, __ATOMIC_RELAXED\);//' '' gc.h test_verify
planted 'objects with trace functions that nobody verifies' \
    's/return sound && !job\.traced;/return sound;/' '' gc.h test_verify
finish
