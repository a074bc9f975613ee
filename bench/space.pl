#!/usr/bin/perl
# Space: how little memory each workload can do with, what that costs, and what heaps hold by default. Rows separated by tabs:
#     workload, live MiB, least limit / live, CPU seconds at 1.5 and at 3 times live, their ratio,
#     by default: CPU seconds, the most that the heap held / live, peak RSS MiB, what RSS should not exceed (2 x live + 4)
# CPU seconds are medians of BENCH_RUNS runs (3), limits in turn. A limit at which one takes more than 15 s of them is too small.
# BENCH_ONLY=lru measures only workloads whose names begin so.
# bench/space.pl --curve: CPU seconds and peak RSS at several limits instead, and those of the other memory managers.
use strict;
use warnings;

my $runs = $ENV{BENCH_RUNS} // 3;
my @own = ('random', 'random-pinned-1000', 'random-pinned-100', 'quads', 'large', 'mixed', 'non-moving', 'non-moving-unlimited');
my @shared = ('binary-trees 17', 'gcbench', 'lru 200000 3000000', 'churn 100000 1000000', 'graph 100000 2000000', 'pause 200000 1000000 1024');

sub median { my @sorted = sort { $a <=> $b } @_; return $sorted[@sorted / 2] }

# A run, with heap_bytes_max if it is not 0: (live, 'ok' or 'full', CPU seconds, peak of what the heap held or '-', peak RSS, collections)
sub own {
    my ($workload, $limit) = @_;
    my $line = `sh -c 'ulimit -t 15; exec build/bench/space $workload $limit' 2> /dev/null`;
    return (0, 'full', 0, '-', 0, '-') if $? & 127 || $? >> 8 > 127;
    die "build/bench/space $workload $limit has failed\n" if $? || $line !~ /\t/;
    chomp $line;
    my ($live, undef, $end, $cpu, $held, $rss, $collections) = split /\t/, $line;
    return ($live, $end, $cpu, $held, $rss, $collections);
}

sub shared {
    my ($workload, $limit, $program, $growth) = @_;
    my $options = ($limit ? "--max-heap=$limit" : '') . ($growth ? " --growth=$growth" : '');
    my $patience = $ENV{GC_STRESS} ? 600 : 15;
    my $line = `sh -c 'ulimit -t $patience; exec build/bench/$program $workload $options --json' 2> /dev/null`;
    return (0, 'full', 0, '-', 0, '-') if $line !~ /"user_s": ([\d.]+), "sys_s": ([\d.]+).*"rss_peak_bytes": (\d+)/;
    my ($cpu, $rss) = ($1 + $2, $3);
    my $live = $line =~ /"live_peak_bytes": (\d+)/ ? $1 : 0;
    my $collections = $line =~ /"collections": \[([\d, ]+)\]/ ? join('+', split(/, /, $1)) : '-';
    return ($live, 'ok', $cpu, '-', $rss, $collections);
}

sub run {
    my ($workload, $limit) = @_;
    return (grep { $_ eq $workload } @own) ? own($workload, $limit) : shared($workload, $limit, 'workloads');
}

# What lives at most: by the program's own account, or as full collections find it that are forced all the time.
sub live_of {
    my ($workload) = @_;
    local $ENV{GC_STRESS} = $workload =~ /^(?:binary|gcbench)/ ? 15000 : 100000 if !grep { $_ eq $workload } @own;
    return (run($workload, 0))[0];
}

# The least limit by hundredths of what lives, to a hundredth.
sub least_of {
    my ($workload, $live) = @_;
    my ($fails, $works) = (99, 100);
    ($fails, $works) = ($works, $works + 20) while $works < 1000 && (run($workload, int($live * $works / 100)))[1] ne 'ok';
    while ($works - $fails > 1) {
        my $middle = int(($works + $fails) / 2);
        if ((run($workload, int($live * $middle / 100)))[1] eq 'ok') { $works = $middle } else { $fails = $middle }
    }
    return $works / 100;
}

sub measure {
    my ($workload) = @_;
    my $live = live_of($workload);
    my $limited = $workload ne 'non-moving-unlimited';
    my $least = $limited ? least_of($workload, $live) : 0;
    my %cpu;
    my ($held, $rss) = (0, 0);
    for my $i (1 .. $runs) {
        for my $percent ($limited ? (150, 300, 0) : 0) {
            my @run = run($workload, int($live * $percent / 100));
            push @{$cpu{$percent}}, $run[1] eq 'ok' ? $run[2] : 9999;
            next if $percent;
            $held = $run[3] if $run[3] ne '-' && $run[3] > $held;
            $rss = $run[4] if $run[4] > $rss;
        }
    }
    my $rss_most = 2 * $live / 1048576 + 4;
    my ($tight, $ample, $default) = map { $cpu{$_} ? median(@{$cpu{$_}}) : 0 } (150, 300, 0);
    my @limited = ('-', '-', '-', '-');
    @limited = map { sprintf '%.2f', $_ } $least, $tight, $ample, $tight / ($ample || 1) if $limited;
    my $held_ratio = $held ? sprintf('%.2f', $held / $live) : '-';
    print join("\t", $workload, sprintf('%.1f', $live / 1048576), @limited, sprintf('%.2f', $default), $held_ratio,
        map { sprintf '%.1f', $_ } $rss / 1048576, $rss_most), "\n";
}

# Rows for bench/curve.pl: workload, memory manager, limit in hundredths of what lives, peak RSS / live, CPU seconds. Beyond twice
# what lives the heap is also told to grow as far, or it would not come near its limit.
sub curve {
    my ($workload) = @_;
    my $live = live_of($workload);
    my @points = ((map { ['gc.h', 'workloads', $_] } 115, 130, 150, 200, 250, 300, 400, 500), ['gc.h, default', 'workloads', 0],
        ['mimalloc', 'workloads-mimalloc', 0], ['bdwgc', 'workloads-bdwgc', 0]);
    my %seen;
    for my $i (1 .. $runs) {
        for my $p (0 .. $#points) {
            my $percent = $points[$p][2];
            my @run = shared($workload, int($live * $percent / 100), $points[$p][1], $percent > 200 ? $percent - 100 : 0);
            push @{$seen{$p}}, [@run[2, 4]] if $run[1] eq 'ok';
        }
    }
    for my $p (sort { $a <=> $b } keys %seen) {
        my ($cpu, $rss) = map { my $i = $_; median(map { $_->[$i] } @{$seen{$p}}) } 0, 1;
        print join("\t", $workload, $points[$p][0], $points[$p][2], sprintf('%.3f', $rss / $live), sprintf('%.4f', $cpu)), "\n";
    }
}

$| = 1;
my $curve = @ARGV && $ARGV[0] eq '--curve';
my @workloads = grep { index($_, $ENV{BENCH_ONLY} // '') == 0 } $curve ? @shared : (@own, @shared);
print join("\t", $curve ? ('workload', 'manager', 'limit %', 'RSS/live', 'CPU s')
    : ('workload', 'live MiB', 'least limit', 'CPU s at 1.5', 'at 3', 'ratio', 'CPU s', 'held/live', 'RSS MiB', '2 x live + 4')), "\n";
for my $workload (@workloads) { if ($curve) { curve($workload) } else { measure($workload) } }
