#!/bin/bash
# Races planted in a copy of gc.h: each makes test_workers fail, with real threads or with threads that take turns. All are in one copy,
# which is compiled once: GC_PLANTED in the environment is the number of the one that happens.
cd "$(dirname "$0")/../.." && . tests/tap.sh || exit
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cp gc*.h "$folder"
cat > "$folder/planted.h" << 'END'
extern char *getenv(const char *);
extern int atoi(const char *);
static int gc__planted;
__attribute__((constructor)) static void gc__planted_read(void) { gc__planted = getenv("GC_PLANTED") ? atoi(getenv("GC_PLANTED")) : 0; }
END
names=() programs=() missing=()

# plant NAME CODE [BUILD [HEADER [TEST]]]: CODE is perl that changes the text in $_, of gc.h or another header, so that a fault
# happens where PLANTED is true
plant() {
    names+=("$1") programs+=("${3:-usual}-${5:-test_workers}")
    CODE=${2//PLANTED/gc__planted == ${#names[@]}} perl -0777 -i -pe \
        'my $was = $_; eval $ENV{CODE}; die $@ if $@; die "nothing to change\n" if $_ eq $was' "$folder/${4:-gc.h}" || missing[${#names[@]}]=1
}

plant 'a copy that is not claimed' \
    's/__atomic_compare_exchange_n\(&GC__WORD\(object\), &header, forward, false, __ATOMIC_ACQ_REL,\s*__ATOMIC_ACQUIRE\)/(PLANTED ? (GC__WORD(object) = forward) != 0 : $&)/'
plant 'an entry of a shared piece that is lost' \
    's/(take_packet.*?for \(size_t i = )0;/$1(PLANTED) ? gc__entry_words(&piece->words[0]) : 0;/s'
plant 'an entry that is lost as others are shared' \
    's/memcpy\(worker->stack, keeps, [^;]*;/if (!(PLANTED)) $&/'
plant 'a run that ends while one worker is busy' \
    's/\? !workers->ending : workers->busy != 0/? !workers->ending : workers->busy > (PLANTED)/'
hanging=${#names[@]} # The program waits for ever: it does so beside the others.
plant 'a window that is closed twice' \
    's/(gc__copies_close\(gc_window \*window\) \{.*?)(gc__window_set\(window, NULL, 0, 0\);)/$1if (!(PLANTED)) $2/s'
plant 'a copy that is found before it is claimed' \
    's/if \(GC_DEBUG >= 3 && many\) gc__workers_step\(worker\);/if (many) { if (PLANTED) gc__mark_copy(worker, copy, true); gc__workers_step(worker); }/'
plant 'marks that workers lose' \
    's/if \(seen & ~\*word\) \*word \|= seen;/if (!(PLANTED) && seen & ~*word) *word |= seen;/'
plant 'marks of an earlier run' \
    's/while \(thread->stale.count\) gc__own_marks_clear_stripe.*?;/if (PLANTED) thread->stale.count = 0; $&/'
plant 'a card that is lost with the rest of an array' \
    's/piece->remember = (gc__worker_remembers\(worker\);)/piece->remember = !(PLANTED) && $1/' large_cards
plant 'a worker that takes itself for alone after it has shared' \
    's/(worker->exclusive = false;)\s*(workers->threads\[worker->number\]\.shared\+\+)/if (!(PLANTED)) $1 $2/'
plant 'a worker that takes itself for alone beside busy ones' \
    's/worker->exclusive = workers->busy == 1 && /worker->exclusive = (PLANTED || workers->busy == 1) && /'
plant 'a worker that takes itself for alone while roots are left' \
    's/bool left = (gc__workers_units_left\(workers\))/bool left = (!(PLANTED) && $1)/' '' gc.h test_alone
plant 'a worker that takes itself for alone while a piece is shared' \
    's/\|\| (workers->shared_count) \|\|/|| (!(PLANTED) && $1) ||/'
plant 'a worker that takes itself for alone while trace functions are to be called' \
    's/\|\| (workers->for_host\.count);/|| (!(PLANTED) && $1);/' '' gc.h test_alone
plant 'arrays that are given away whole' \
    's/if \(end - index < 2 \* GC__CHUNK\) return false;/if (PLANTED) return false; $&/' '' gc.h test_alone
plant 'cards that are scanned as roots are' \
    's/(gc__workers_remember\(worker, true\);)\s*(if \(unit >= slots\))/if (!(PLANTED)) $1 $2/'
plant 'mark bits of regions that nobody clears' \
    's/gc__min\(from \+ GC__UNIT_REGIONS, gc__regions_used\(\)\)/(PLANTED ? from + GC__UNIT_REGIONS - 60 : $&)/'
plant 'handles that nobody looks at' \
    's/size_t block = from; (block < from \+ GC__CHUNK_BLOCKS)/size_t block = from + (PLANTED); $1/' '' gc_handles.h
usual=${#names[@]}

# build NAME FLAGS TEST...: the tests, with the collector in which all is planted
build() {
    local name=$1 flags=$2 test
    shift 2
    # shellcheck disable=SC2086 # words of flags
    clang -std=c11 -O0 -g0 -w -DGC_DEBUG=3 $flags -I"$folder" -include "$folder/planted.h" -c tests/unit/gc.c -o "$folder/gc.o" || return
    for test; do
        # shellcheck disable=SC2086
        clang -std=c11 -pthread -O0 -g0 -w -DGC_DEBUG=3 $flags -I"$folder" "tests/unit/$test.c" "$folder/gc.o" -o "$folder/$name-$test" || return
    done
}
build usual '' test_workers test_alone test_verify && build large_cards '-DGC_CARD_SHIFT=12 -DGC_BUNDLE_SHIFT=18' test_workers
ok $? 'the tests compile with all that is planted'

# passes PROGRAM [NUMBER [SECONDS]]: the test passes within that time, with that fault
passes() { (ulimit -c 0; GC_PLANTED=${2:-0} TAP_FIRST_FAILURE_ENDS=1 timeout "${3:-60}" "$folder/$1" || exit 1) > "$folder/log-${2:-0}" 2>&1; }

# noticed NUMBER...: the tests notice these faults
noticed() {
    local i number
    for number; do
        i=$((number - 1))
        [ -x "$folder/${programs[i]}" ] && [ -z "${missing[number]-}" ] &&
            ! if [ "$number" = "$hanging" ]; then wait $hangs; else passes "${programs[i]}" "$number"; fi
        ok $? "${names[i]}"
    done
}

passes usual-test_workers "$hanging" &
hangs=$!
for test in test_workers test_alone; do
    passes usual-$test 0 600
    ok $? "$test passes where nothing planted happens"
done
# shellcheck disable=SC2046 # numbers
noticed $(seq "$usual")
export GC_TEST_COLLECTORS=5 GC_COLLECTOR_THREADS=3
passes usual-test_verify 0 600 # threads that take turns wait for a processor each time, which takes long where others run
ok $? 'three threads find each fault that test_verify makes'
# shellcheck disable=SC2046
noticed $(seq $((usual + 1)) ${#names[@]})
finish
