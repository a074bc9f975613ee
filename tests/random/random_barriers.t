#!/bin/sh
# The random operations under every barrier: inlined in gc_store (one of each shape; test_barrier_forms has the others), called by it,
# changed as it goes, and as emitted code; and one card mark left out of each.
cd "$(dirname "$0")/../.." && . tests/random/random.sh || exit
compiled tests/random/random_barriers.t
barriers="rank_sum_branch_free card_unconditional card_conditional pre_grow post_grow svr byte_region bit_region
    write_watch_pre_grow write_watch_post_grow write_watch_svr write_watch_byte_region write_watch_bit_region object_logging"

inlined="pre_grow write_watch_bit_region object_logging"

for barrier in $inlined none; do random "$barrier" $((ops / 4)) 4; done
for barrier in $barriers; do
    case " $inlined " in *" $barrier "*) ;; *) random at_run_time $((ops / 4)) 4 --barrier="$barrier" ;; esac
done
random at_run_time "$ops" 5
random at_run_time-tagged "$ops" 6
echo "# $operations operations"

# card_left_out VARIANT [OPTION]: of the first cards that the barrier has dirtied one is taken back, until one mattered.
card_left_out() {
    for k in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
        build/tests/random-"$1" --mode=small_nursery --ops=8000 --seed=5 --forget-card=$k ${2:+"$2"} > "$log" 2>&1 && continue
        grep -Eq -- "$field.*write barrier" "$log" && break
    done
    grep -Eq -- "$field.*write barrier" "$log"
    ok $? "random-$1 $2 --forget-card=$k: reported"
}
card_left_out shift18
for barrier in $inlined; do card_left_out "$barrier"; done
for barrier in rank_sum $barriers; do card_left_out at_run_time --barrier="$barrier"; done
finish
