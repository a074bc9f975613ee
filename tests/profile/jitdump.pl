#!/usr/bin/perl
# Reads a jitdump, checks every rule of its format that perf relies on, and prints a line for each record: "load NAME BYTES INDEX",
# "lines FILE:LINE FILE:LINE...", "close". Not one line of it is shared with the writer.
use strict;
use warnings;

my ($path, $process) = @ARGV;
open my $in, '<:raw', $path or die "cannot read $path: $!\n";
my $file = do { local $/; <$in> };
my $broken = 0;
sub rule { my ($holds, $what) = @_; print("broken: $what\n"), $broken = 1 if !$holds; return $holds }

my ($magic, $version, $head, $machine, $pad, $pid, $time, $flags) = unpack 'V6 Q<2', $file;
rule($magic == 0x4A695444 && $version == 1 && $head == 40, 'the head');
rule($machine == 62 || $machine == 183, 'the machine');
rule($pid == $process && $flags == 0, 'the process, and its clock');
rule($path =~ m{(^|/)jit-$pid\.dump$}, 'the name of the file');
my ($at, $index, $lines_of) = ($head, 0, 0);
while ($at < length $file) {
    rule($at + 16 <= length $file, 'the head of a record is whole') or last;
    my ($kind, $bytes, $now) = unpack 'V2 Q<', substr $file, $at, 16;
    rule($bytes >= 16 && $at + $bytes <= length $file, 'a record is whole') or last;
    rule($now >= $time, 'records have ascending times');
    $time = $now;
    my $record = substr $file, $at + 16, $bytes - 16;
    if ($kind == 0) {
        my ($pid_again, $tid, $vma, $address, $size, $number) = unpack 'V2 Q<4', $record;
        my ($name) = unpack 'Z*', substr $record, 40;
        rule($pid_again == $pid && $tid > 0 && $vma == $address, 'the fields of code');
        rule($number == ++$index, 'numbers of code ascend');
        rule(length($record) == 40 + length($name) + 1 + $size, 'the code is all there');
        rule(!$lines_of || $lines_of == $address, 'lines are followed by their code');
        $lines_of = 0;
        print "load $name $size $number ", unpack('H*', substr $record, 40 + length($name) + 1, 3), "\n";
    } elsif ($kind == 2) {
        my ($address, $count) = unpack 'Q<2', $record;
        my ($from, $last, @lines) = (16, 0);
        for (1 .. $count) {
            my ($place, $line, $discriminator, $name) = unpack 'Q< V2 Z*', substr $record, $from;
            rule($place >= $last, 'lines ascend');
            $last = $place;
            $from += 16 + length($name) + 1;
            push @lines, "$name:$line+" . ($place - $address);
        }
        rule($from == length $record, 'lines end where the record does');
        $lines_of = $address;
        print "lines @lines\n";
    } elsif ($kind == 3) {
        rule($at + $bytes == length $file, 'the end is the last record');
        print "close\n";
    } else {
        rule(0, "no record is of kind $kind");
    }
    $at += $bytes;
}
exit($broken ? 1 : 0);
