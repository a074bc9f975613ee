#!/usr/bin/perl
# The rows of bench/sizes as an SVG: time for each byte, and memory for each byte that lives, over the size of objects, beside
# malloc's; sizes and times by powers.
use strict;
use warnings;

my @rows = grep { /^\s*\d+\s+[\d.]+\s/ } <>;
my @points = map { my ($size, $ns, undef, $held, $resident, $fills, $malloc_ns, $malloc_resident) = split;
    {size => $size, time => $ns / $size, malloc_time => $malloc_ns / $size, held => $held, resident => $resident,
        malloc_resident => $malloc_resident, fills => $fills} } @rows;
my ($wide, $high, $left) = (440, 260, 60);
my @panels = (
    ['ns per byte, replaced at random', 0.05, 30, [0.1, 1, 10], ['time', '#1b6ca8', 'gc.h'], ['malloc_time', '#8a8f98', 'calloc']],
    ['memory / live bytes, by default', 1, 4, [1, 2, 3, 4], ['resident', '#1b6ca8', 'gc.h, resident'], ['held', '#7fb3d9', 'gc.h, held'],
        ['malloc_resident', '#8a8f98', 'calloc, resident']]);

sub text { printf qq(<text x="%.1f" y="%.1f" font-size="%d" text-anchor="%s" fill="%s">%s</text>\n), @_ }
printf qq(<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="DejaVu Sans, Helvetica, Arial, sans-serif">\n),
    @panels * ($wide + 80), $high + 110;
print qq(<rect width="100%" height="100%" fill="#fff"/>\n);
for my $i (0 .. $#panels) {
    my ($title, $least, $most, $marks, @lines) = @{$panels[$i]};
    my $x0 = $left + $i * ($wide + 80);
    my $x = sub { $x0 + log($_[0] / 16) / log(2 ** 22) * $wide };
    my $y = sub { 60 + $high - log($_[0] / $least) / log($most / $least) * $high };
    text($x0, 24, 15, 'start', '#111', $title);
    for my $power (4, 8, 12, 15, 18, 22, 26) {
        printf qq(<line x1="%.1f" y1="60" x2="%.1f" y2="%d" stroke="#eee"/>\n), $x->(2 ** $power), $x->(2 ** $power), 60 + $high;
        my $unit = $power < 10 ? 2 ** $power : $power < 20 ? 2 ** ($power - 10) . 'K' : 2 ** ($power - 20) . 'M';
        text($x->(2 ** $power), 78 + $high, 11, 'middle', '#555', $unit);
    }
    for my $mark (@$marks) {
        printf qq(<line x1="%d" y1="%.1f" x2="%d" y2="%.1f" stroke="#eee"/>\n), $x0, $y->($mark), $x0 + $wide, $y->($mark);
        text($x0 - 6, $y->($mark) + 4, 11, 'end', '#555', $mark);
    }
    for my $n (0 .. $#lines) {
        my ($key, $color, $name) = @{$lines[$n]};
        printf qq(<polyline points="%s" fill="none" stroke="%s" stroke-width="2"/>\n),
            join(' ', map { sprintf '%.1f,%.1f', $x->($_->{size}), $y->($_->{$key}) } @points), $color;
        text($x0 + 150 * $n, 46, 12, 'start', $color, $name);
    }
}
print "</svg>\n";
