#!/usr/bin/perl
# The rows of bench/space.pl --curve as an SVG: a panel for each workload, CPU time over peak RSS / live, both beside the other
# memory managers' points. Panels have scales of time of their own, from 0.
use strict;
use warnings;

my (%points, @workloads);
while (my $line = <>) {
    chomp $line;
    my ($workload, $manager, $limit, $x, $y) = split /\t/, $line;
    next if !defined $y || $y !~ /^[\d.]+$/;
    push @workloads, $workload if !$points{$workload};
    push @{$points{$workload}}, {manager => $manager, limit => $limit, x => $x, y => $y};
}
my %color = ('gc.h' => '#1b6ca8', 'gc.h, default' => '#1b6ca8', mimalloc => '#e0913a', bdwgc => '#b0433f');
my ($columns, $wide, $high, $left, $top) = (3, 300, 210, 60, 100);
my ($x_least, $x_most) = (0.9, 5.2);
my $rows = int((@workloads + $columns - 1) / $columns);
my ($width, $height) = ($columns * ($wide + 40) + 40, $top + $rows * ($high + 70));

sub say_at {
    my ($x, $y, $size, $anchor, $fill, $words) = @_;
    printf qq(<text x="%.1f" y="%.1f" font-size="%d" text-anchor="%s" fill="%s">%s</text>\n), $x, $y, $size, $anchor, $fill, $words;
}
printf qq(<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" viewBox="0 0 %d %d" font-family="DejaVu Sans, Helvetica, Arial, sans-serif">\n),
    $width, $height, $width, $height;
printf qq(<rect width="%d" height="%d" fill="#fff"/>\n), $width, $height;
say_at(20, 32, 20, 'start', '#111', 'CPU time over memory');
say_at(20, 54, 13, 'start', '#555', 'User + system seconds over peak RSS / live bytes. The line: gc.h with heap_bytes_max of 1.15 to 5 times what lives.');
my $at = 20;
for my $manager ('gc.h', 'gc.h, default', 'mimalloc', 'bdwgc') {
    my $open = $manager eq 'gc.h, default';
    printf qq(<circle cx="%d" cy="72" r="5" fill="%s" stroke="%s" stroke-width="2"/>\n), $at + 6, $open ? '#fff' : $color{$manager}, $color{$manager};
    say_at($at + 18, 77, 13, 'start', '#333', $manager);
    $at += 60 + 8 * length $manager;
}
for my $i (0 .. $#workloads) {
    my ($x0, $y0) = ($left + $i % $columns * ($wide + 40), $top + 20 + int($i / $columns) * ($high + 70));
    my @all = @{$points{$workloads[$i]}};
    my ($most) = sort { $b <=> $a } map { $_->{y} } @all;
    my $plot_x = sub { my $x = $_[0] > $x_most ? $x_most : $_[0]; $x0 + ($x - $x_least) / ($x_most - $x_least) * ($wide - 30) };
    my $plot_y = sub { $y0 + $high - $_[0] / ($most * 1.05) * $high };
    say_at($x0, $y0 - 8, 14, 'start', '#111', $workloads[$i]);
    for my $x (1 .. 5) {
        printf qq(<line x1="%.1f" y1="%d" x2="%.1f" y2="%d" stroke="#eee"/>\n), $plot_x->($x), $y0, $plot_x->($x), $y0 + $high;
        say_at($plot_x->($x), $y0 + $high + 16, 11, 'middle', '#555', $x);
    }
    for my $part (0, 0.5, 1) {
        printf qq(<line x1="%d" y1="%.1f" x2="%d" y2="%.1f" stroke="#eee"/>\n), $x0, $plot_y->($most * $part), $x0 + $wide - 30, $plot_y->($most * $part);
        say_at($x0 - 6, $plot_y->($most * $part) + 4, 11, 'end', '#555', sprintf '%.2f', $most * $part);
    }
    my @line = sort { $a->{x} <=> $b->{x} } grep { $_->{manager} eq 'gc.h' } @all;
    printf qq(<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>\n), join(' ', map { sprintf '%.1f,%.1f', $plot_x->($_->{x}), $plot_y->($_->{y}) } @line),
        $color{'gc.h'};
    for my $p (@all) {
        my $fill = $p->{manager} eq 'gc.h, default' ? '#fff' : $color{$p->{manager}};
        printf qq(<circle cx="%.1f" cy="%.1f" r="%d" fill="%s" stroke="%s" stroke-width="2"/>\n), $plot_x->($p->{x}), $plot_y->($p->{y}),
            $p->{manager} eq 'gc.h' ? 3 : 5, $fill, $color{$p->{manager}};
    }
}
print "</svg>\n";
