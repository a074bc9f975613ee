#!/usr/bin/perl
# Every pair of options on three workloads: where two together cost much more than either alone, there is a cliff. Rows separated by
# tabs, the worst first:
#     ratio, workload, options, CPU seconds with both, the most with one or none, collections with both
# CPU seconds are the least of BENCH_RUNS runs (2). BENCH_ONLY=lru measures only workloads whose names begin so. A warning on stderr
# that an option has no effect is no reason for time.
use strict;
use warnings;

my $runs = $ENV{BENCH_RUNS} // 2;
# Each with what lives, in MiB: the limits are 3 and 2 times that.
my %live = ('lru 100000 1500000' => 8, 'binary-trees 15' => 4, 'churn 50000 600000' => 10);

sub options_of {
    my ($mib) = map { $_ * 1048576 } @_;
    return ('--non-moving=1', '--non-generational=1', '--conservative-stack=1', '--concurrent=1', '--concurrent=1 --pause-goal=1000',
        '--pause-goal=500', '--nursery=262144', '--nursery=16777216', '--growth=25', '--growth-min=33554432', '--keep-memory=1',
        '--collector-threads=1', '--collector-threads=4', '--soft-limit=' . 2 * $mib, '--max-heap=' . 3 * $mib, '--overhead=50');
}

# The least CPU seconds, and the collections of that run; 'failed' where a run has failed.
my %known;
sub measured {
    my ($workload, @options) = @_;
    my $command = join ' ', $workload, sort @options;
    return @{$known{$command}} if $known{$command};
    my ($least, $collections) = (1e9, 'failed');
    for (1 .. $runs) {
        my $line = `sh -c 'ulimit -t 60; exec build/bench/workloads $command --json' 2> /dev/null`;
        next if $line !~ /"user_s": ([\d.]+), "sys_s": ([\d.]+).*"collections": \[([\d, ]+)\]/;
        ($least, $collections) = ($1 + $2, join '+', split /, /, $3) if $1 + $2 < $least;
    }
    return @{$known{$command} = [$least, $collections]};
}

my @rows;
for my $workload (sort keys %live) {
    next if $ENV{BENCH_ONLY} && index($workload, $ENV{BENCH_ONLY});
    my @options = options_of($live{$workload});
    for my $i (0 .. $#options) {
        for my $j ($i .. $#options) {
            my @both = $i == $j ? ($options[$i]) : ($options[$i], $options[$j]);
            my %names;
            next if grep { /(--[a-z-]+)/ && $names{$1}++ } @both; # the same option twice
            my ($cpu, $collections) = measured($workload, @both);
            my $most = 0;
            for my $alone ([], $i == $j ? () : ([$options[$i]], [$options[$j]])) {
                my ($one) = measured($workload, @$alone);
                $most = $one if $one > $most && $one < 1e9;
            }
            push @rows, [$cpu / $most, $workload, "@both", $cpu, $most, $collections];
        }
    }
}
printf "%.2f\t%s\t%s\t%.3f\t%.3f\t%s\n", @$_ for sort { $b->[0] <=> $a->[0] } @rows;
