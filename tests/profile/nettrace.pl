#!/usr/bin/perl
# Reads a .nettrace file, checks every rule of the container and of the CLR's events that readers rely on, and prints what it
# finds, in the words of nettrace/Program.cs. Not one line of it is shared with the writer.
#     nettrace.pl [--cut] FILE        --cut: the file may end after any whole block
use strict;
use warnings;
no warnings 'portable'; # numbers of 64 bits

my $cut = @ARGV && $ARGV[0] eq '--cut' ? shift : '';
my $path = shift // die "usage: nettrace.pl [--cut] FILE\n";
open my $in, '<:raw', $path or die "cannot read $path: $!\n";
my $file = do { local $/; <$in> };
binmode STDOUT, ':utf8';
my $broken = 0;
sub rule { my ($holds, $what) = @_; print("broken: $what\n"), $broken = 1 if !$holds; return $holds }
sub stop { print "broken: $_[0]\n"; exit 1 }

# A reader of a text: [text, position].
sub take {
    my ($from, $count) = @_;
    stop("$count bytes at $from->[1] of " . length $from->[0]) if $from->[1] + $count > length $from->[0];
    my $part = substr $from->[0], $from->[1], $count;
    $from->[1] += $count;
    return $part;
}
sub u8 { ord take($_[0], 1) }
sub u16 { unpack 'v', take($_[0], 2) }
sub u32 { unpack 'V', take($_[0], 4) }
sub u64 { unpack 'Q<', take($_[0], 8) }
sub pieces {
    my ($from, $bits) = @_;
    my ($number, $shift) = (0, 0);
    while (1) {
        my $byte = u8($from);
        $number |= ($byte & 127) << $shift;
        last if $byte < 128;
        $shift += 7;
        stop('a number that is too long') if $shift >= 64;
    }
    rule($bits == 64 || $number < 2 ** $bits, "a number has at most $bits bits");
    return $number;
}
sub text {
    my ($from) = @_;
    my @units;
    while (my $unit = u16($from)) { push @units, $unit }
    my $text = '';
    while (@units) {
        my $unit = shift @units;
        if ($unit >= 0xD800 && $unit < 0xDC00 && @units && $units[0] >= 0xDC00 && $units[0] < 0xE000) {
            $unit = 0x10000 + (($unit - 0xD800) << 10) + (shift(@units) - 0xDC00);
        }
        rule($unit < 0xD800 || $unit > 0xDFFF, 'surrogates come in pairs');
        $text .= chr $unit;
    }
    $text =~ tr/\n/~/;
    return $text;
}
sub at_end { my ($from, $what) = @_; rule($from->[1] == length $from->[0], "$what ends where its fields do") }

my $top = [$file, 0];
rule(take($top, 8) eq 'Nettrace' && u32($top) == 20 && take($top, 20) eq '!FastSerialization.1', 'the head of the file');

my ($trace, %metadata, %stacks, %sequence, $lost, @events, $last_time, %names);
$lost = 0;
my %versions = (Trace => 4, EventBlock => 2, MetadataBlock => 2, StackBlock => 2, SPBlock => 2);
while (1) {
    last if $cut && $top->[1] == length $file;
    my $tag = u8($top);
    if ($tag == 1) { rule($top->[1] == length $file, 'nothing follows the end'); last }
    stop("tag $tag begins no object") if $tag != 5;
    rule(u8($top) == 5 && u8($top) == 1, 'the tags of a type');
    my ($version, $least) = (u32($top), u32($top));
    my $name = take($top, u32($top));
    rule(u8($top) == 6, 'the end of a type');
    stop("no object is a $name") if !$versions{$name};
    rule($version == $versions{$name} && $least <= $version, "$name has version $versions{$name}");
    if ($name eq 'Trace') {
        rule(!$trace, 'there is one Trace, the first object');
        $trace = {date => [map { u16($top) } 1 .. 8], sync => u64($top), frequency => u64($top), pointer => u32($top), process => u32($top),
                  processors => u32($top), rate => u32($top)};
        rule($trace->{pointer} == 8 && $trace->{frequency} == 1e9 && $trace->{processors} > 0 && $trace->{process} > 0, 'the facts of the trace');
    } else {
        stop('a block comes before the trace') if !$trace;
        my $size = u32($top);
        while ($top->[1] % 4) { rule(u8($top) == 0, 'blocks are aligned by zeros') }
        my $block = [take($top, $size), 0];
        if ($name eq 'StackBlock') { read_stacks($block) }
        elsif ($name eq 'SPBlock') { }
        else { read_events($block, $name eq 'MetadataBlock') }
    }
    stop("the end of $name") if u8($top) != 6;
}

sub read_stacks {
    my ($block) = @_;
    my ($first, $count) = (u32($block), u32($block));
    rule($first > 0 && $count > 0, 'stacks have numbers from 1 on');
    for my $id ($first .. $first + $count - 1) {
        rule(!$stacks{$id}, "stack $id comes once");
        my $bytes = u32($block);
        rule($bytes % 8 == 0 && $bytes <= 65527, 'the size of a stack');
        $stacks{$id} = [unpack 'Q<*', take($block, $bytes)];
        rule(!grep({ $_ >= 0xFFFF000000000000 } @{$stacks{$id}}), 'no address is one of the kernel');
    }
    at_end($block, 'a block of stacks');
}

sub read_events {
    my ($block, $is_metadata) = @_;
    my ($head, $flags, $min, $max) = (u16($block), u16($block), u64($block), u64($block));
    rule($head == 20 && $flags == 1, 'the head of a block');
    rule($block->[1] < length $block->[0], 'a block of events is not empty');
    my %now = (metadata => 0, sequence => 0, capture => 0, thread => 0, stack => 0, time => 0, size => 0);
    my $count = 0;
    while ($block->[1] < length $block->[0]) {
        my $flags = u8($block);
        $now{metadata} = pieces($block, 32) if $flags & 1;
        if ($flags & 2) {
            $now{sequence} = ($now{sequence} + pieces($block, 32)) % 2 ** 32;
            $now{capture} = pieces($block, 64);
            pieces($block, 32);
        }
        if ($now{metadata}) { $now{sequence} = ($now{sequence} + 1) % 2 ** 32 }
        else { rule(!($flags & 2), 'metadata have no sequence') }
        $now{thread} = pieces($block, 64) if $flags & 4;
        $now{stack} = pieces($block, 32) if $flags & 8;
        $now{time} += pieces($block, 64);
        rule(!($flags & 48), 'no activities');
        $now{size} = pieces($block, 32) if $flags & 128;
        rule($now{size} <= 65535, 'the size of an event');
        my $event = [take($block, $now{size}), 0];
        rule(!$now{metadata} == $is_metadata, 'metadata are in their own block') or next;
        if ($is_metadata) { read_metadata($event); next }
        rule($flags & 64, 'events are marked as sorted');
        rule(!defined $last_time || $now{time} >= $last_time, 'events are sorted');
        rule($now{time} >= $min && $now{time} <= $max, 'an event is within the times of its block');
        rule(!$now{stack} || $stacks{$now{stack}}, "stack $now{stack} comes before its event");
        $last_time = $now{time};
        my $before = $sequence{$now{capture}} // 0;
        my $missing = ($now{sequence} - $before - 1) % 2 ** 32;
        rule($missing < 2 ** 31, 'the numbers of a thread ascend');
        $lost += $missing;
        $sequence{$now{capture}} = $now{sequence};
        $count++;
        my $kind = $metadata{$now{metadata}};
        rule($kind, "the metadata $now{metadata} of an event come before it") or next;
        push @events, {%$kind, %now, data => $event};
    }
}

sub read_metadata {
    my ($from) = @_;
    my $id = u32($from);
    rule($id == 1 + keys %metadata, "metadata have numbers from 1 on: $id");
    my $provider = text($from);
    my $event = u32($from);
    my $is_own = $provider eq 'gc.h';
    rule(text($from) eq ($is_own ? 'Note' : ''), 'the name of an event of the CLR is empty');
    my ($keywords, $version, $level) = (u64($from), u32($from), u32($from));
    rule(u32($from) == $is_own, 'and so are its fields');
    rule(u32($from) == 18 && text($from) eq 'Text', 'a note is a text') if $is_own;
    rule($keywords && $level >= 1 && $level <= 5, 'keywords and level');
    at_end($from, 'an entry of metadata');
    $metadata{$id} = {provider => $provider, id => $event, version => $version};
}

# Names first: some come at the end.
my $runtime = 'Microsoft-Windows-DotNETRuntime';
my @ranges;
for (@events) {
    my $rundown = $_->{provider} eq "${runtime}Rundown";
    rule($rundown || $_->{provider} eq $runtime || $_->{provider} eq 'gc.h', "no provider is $_->{provider}");
    next if !($rundown && $_->{id} == 144 || !$rundown && $_->{id} == 143);
    my $data = $_->{data};
    rule($_->{version} == 2, 'the version of a method');
    my ($method, $module, $start, $bytes, $token, $flags) = (u64($data), u64($data), u64($data), u32($data), u32($data), u32($data));
    my ($namespace, $name, $signature) = (text($data), text($data), text($data));
    rule(u16($data) == 0 && u64($data) == 0, 'the rest of a method');
    at_end($data, 'a method');
    rule($method && $bytes && $flags & 8, 'a method has a number, code, and is jitted');
    rule(!$rundown || !$_->{stack}, 'rundown has no stacks');
    push @ranges, [$start, $start + $bytes, $name];
}
@ranges = sort { $a->[0] <=> $b->[0] } @ranges;
for (1 .. $#ranges) { rule($ranges[$_][0] >= $ranges[$_ - 1][1], "methods do not overlap: $ranges[$_][2]") }
sub name_of { my ($at) = @_; for (@ranges) { return $_->[2] if $at >= $_->[0] && $at < $_->[1] } return '?' }
sub stack_of {
    my @frames = @{$_[0]{stack} ? $stacks{$_[0]{stack}} : []};
    return scalar(@frames) . ' ' . join '', map { ($names{$_} //= name_of($_)) . ';' } @frames[0 .. ($#frames < 2 ? $#frames : 2)];
}

my @date = @{$trace->{date}};
printf "session %04d-%02d-%02dT%02d:%02d:%02d.%03d lost %d processors %d\n", @date[0, 1, 3, 4, 5, 6, 7], $lost, $trace->{processors};
my ($suspend, $collection, @collections);
sub ms { my $ms = sprintf '%.3f', $_[0] / 1e6; $ms =~ s/\.?0+$//; return $ms }
my @handle_kinds = qw(WeakShort WeakLong Strong Pinned Variable RefCounted Dependent);
for my $event (@events) {
    my ($id, $data, $time) = @{$event}{qw(id data time)};
    if ($event->{provider} eq 'gc.h') {
        print 'note ', text($data), "\n";
        at_end($data, 'a note');
        next;
    }
    if ($event->{provider} ne $runtime) {
        rule($id == 144 || $id == 154, "no event of rundown is $id");
        if ($id == 154) {
            rule(u64($data) > 0 && u64($data) > 0, 'a module has a number');
            take($data, 8);
            rule(text($data) ne '', 'and a file');
            text($data);
            rule(u16($data) == 0, 'instance');
            take($data, 20), text($data), take($data, 20), text($data);
            at_end($data, 'a module');
        }
        next;
    }
    next if $id == 143;
    rule($event->{thread} > 0, "event $id has a thread") if $id != 15;
    if ($id == 9) {
        rule(!$suspend, 'threads are suspended once');
        rule(u32($data) == 1, 'for a collection');
        $suspend = {begin => $time, thread => $event->{thread}, number => u32($data)};
        u16($data);
    } elsif ($id == 8) {
        rule($suspend && $event->{thread} == $suspend->{thread}, 'the end of a suspension follows on its thread') or next;
        $suspend->{end} = $time;
        u16($data);
    } elsif ($id == 1) {
        rule($suspend && $suspend->{end}, 'a collection starts while threads are suspended');
        $collection = {number => u32($data), generation => u32($data), reason => u32($data), type => u32($data)};
        rule($collection->{number} == @collections + 1 && $collection->{generation} < 3, 'numbers of collections ascend');
        rule($collection->{number} == $suspend->{number}, 'the suspension says which collection it is for');
        u16($data), u64($data);
    } elsif ($id == 2) {
        rule($collection && u32($data) == $collection->{number} && u32($data) == $collection->{generation}, 'a collection ends that has started');
        $collection->{ended} = 1;
        u16($data);
    } elsif ($id == 4) {
        rule($collection && $collection->{ended}, 'the summary follows the end of a collection');
        my @n = map { u64($data) } 1 .. 10;
        my @rest = map { u32($data) } 1 .. 3;
        u16($data), u64($data), u64($data);
        print "heap @n[0, 2, 4] promoted @n[1, 3, 5] finalizers $n[9] handles $rest[2]\n";
        $collection->{complete} = 1 if $collection;
    } elsif ($id == 7) {
        u16($data);
    } elsif ($id == 3) {
        u16($data);
        rule($suspend && $event->{thread} == $suspend->{thread}, 'the thread that suspended the others restarts them') or next;
        if ($collection) {
            push @collections, sprintf 'collection %d generation %d reason %d type %d pause %s suspended %s complete %s', @{$collection}{qw(number generation reason type)},
                ms($time - $suspend->{begin}), ms($suspend->{end} - $suspend->{begin}), $collection->{complete} ? 'True' : 'False';
        }
        $suspend = $collection = undef;
    } elsif ($id == 10) {
        my ($amount, $kind, $clr, $amount64, $type, $name) = (u32($data), u32($data), u16($data), u64($data), u64($data), text($data));
        my ($heap, $object, $bytes) = (u32($data), u64($data), u64($data));
        rule($amount == ($amount64 > 0xFFFFFFFF ? 0xFFFFFFFF : $amount64), 'both amounts are the same');
        print "tick $name $amount64 $bytes ", stack_of($event), "\n";
    } elsif ($id == 303) {
        my ($kind, $clr, $type, $name, $object, $bytes, $offset) = (u32($data), u16($data), u64($data), text($data), u64($data), u64($data), u64($data));
        rule($offset < $bytes, 'the sampled byte is one of the object');
        print "sample $name $bytes $offset thread $event->{thread} ", stack_of($event), "\n";
    } elsif ($id == 20 || $id == 32) {
        my ($object, $type, $count, $bytes, $clr) = (u64($data), u64($data), u32($data), u64($data), u16($data));
        print "object $type $count $bytes ", stack_of($event), "\n";
    } elsif ($id == 15) {
        my ($count, $clr) = (u32($data), u16($data));
        for (1 .. $count) {
            my ($type, $module, $name_id, $flags, $element) = (u64($data), u64($data), u32($data), u32($data), u8($data));
            print "type $type ", text($data), "\n";
            rule(u32($data) == 0, 'types have no parameters');
        }
    } elsif ($id == 29) {
        printf "finalized %d %x\n", u64($data), u64($data);
        u16($data);
    } elsif ($id == 30) {
        my ($handle, $object, $kind) = (u64($data), u64($data), u32($data));
        u32($data), u64($data), u16($data);
        printf "handle %x %s\n", $handle, $handle_kinds[$kind];
    } elsif ($id == 31) {
        printf "handle %x destroyed\n", u64($data);
        u16($data);
    } else {
        rule(0, "no event is $id");
        next;
    }
    at_end($data, "event $id");
}
print "$_\n" for @collections;
exit($broken ? 1 : 0);
