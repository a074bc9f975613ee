#!/usr/bin/perl
# Reads a profile in the format of its name's ending, checks the rules of the format, and prints what was allocated by type:
#     type NAME COUNT BYTES
# with COUNT "-" where the format has none; from .json also a line for each pause, "pause NUMBER TS DUR TID", and each "thread TID NAME".
# Names are written as JSON. Not one line of it is shared with the writers.
use strict;
use warnings;
use JSON::PP;

my $path = shift // die "usage: read.pl FILE\n";
open my $in, '<:raw', $path or die "cannot read $path: $!\n";
my $text = do { local $/; <$in> };
binmode STDOUT, ':utf8';
my $broken = 0;
sub rule { my ($holds, $what) = @_; print("broken: $what\n"), $broken = 1 if !$holds; return $holds }
my $json = JSON::PP->new->canonical->allow_nonref;
my %types; # name => [count, bytes]
sub allocated { my ($name, $count, $bytes) = @_; $types{$name}[0] = defined $count ? ($types{$name}[0] // 0) + $count : undef; $types{$name}[1] += $bytes }

my $characters = $text;
rule(utf8::decode($characters), 'the file is UTF-8') if $path !~ /\.folded$/;

# A document of XML or HTML: its elements as [name, attributes, children or texts]. `raw`: elements whose content is no markup.
sub markup {
    my ($document, $is_xml, %raw) = @_;
    my @stack = ['', {}];
    my %void = map { $_ => 1 } $is_xml ? () : qw(meta input br link);
    rule($document !~ /[\x00-\x08\x0B\x0C\x0E-\x1F]/, 'no control characters in it');
    while ($document =~ /\G([^<]+|<!\[CDATA\[(.*?)\]\]>|<(\/?)([A-Za-z][\w:-]*)((?:\s+[\w:-]+(?:\s*=\s*(?:"[^"<]*"|'[^'<]*'))?)*)\s*(\/?)>|<\?xml[^>]*\?>|<!DOCTYPE html>|(.))/gcs) {
        my ($all, $cdata, $end, $name, $attributes, $empty, $other) = ($1, $2, $3, $4, $5, $6, $7);
        return rule(0, 'a stray < at ' . substr($document, pos($document) - 1, 40)) if defined $other;
        if (defined $cdata) { push @{$stack[-1]}, $cdata; next }
        if (!defined $name) {
            next if $all =~ /^<[?!]/;
            rule($all !~ /&(?!amp;|lt;|gt;|quot;|#39;)/, "entities: $all") and rule(!$is_xml || $all !~ /\]\]>/, 'no ]]> in a text');
            push @{$stack[-1]}, unescape($all);
            next;
        }
        if ($end) {
            return rule(0, "</$name> ends <$stack[-1][0]>") if $stack[-1][0] ne $name;
            pop @stack;
            next;
        }
        my %attributes;
        while ($attributes =~ /([\w:-]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'))?/g) { $attributes{$1} = unescape($2 // $3 // '') }
        my $element = [$name, \%attributes];
        push @{$stack[-1]}, $element;
        next if $empty || $void{$name};
        if ($raw{$name}) {
            $document =~ /\G(.*?)<\/$name>/gcs or return rule(0, "<$name> has no end");
            push @$element, $1;
            next;
        }
        push @stack, $element;
    }
    rule(@stack == 1, "each element has its end: <$stack[-1][0]>");
    return $stack[0];
}
sub unescape { my ($t) = @_; my %e = (amp => '&', lt => '<', gt => '>', quot => '"', '#39' => "'"); $t =~ s/&(amp|lt|gt|quot|#39);/$e{$1}/g; $t }
sub find { my ($element, $name) = @_; return map { ($_->[0] eq $name ? $_ : ()), find($_, $name) } grep { ref } @{$element}[2 .. $#$element] }
sub content { my ($element) = @_; return join '', map { ref ? content($_) : $_ } @{$element}[2 .. $#$element] }

if ($path =~ /\.folded$/) {
    for my $line (split /\n/, $text) {
        rule($line =~ /^(.*) (\d+)$/s, "a line ends in a number: $line") or next;
        my ($frames, $bytes) = ($1, $2);
        my $type = (split /;/, $frames)[-1];
        allocated($type, undef, $bytes);
    }
} elsif ($path =~ /\.svg$/) {
    my $svg = markup($characters, 1, script => 0);
    my ($root) = find($svg, 'svg');
    rule($root->[1]{xmlns} eq 'http://www.w3.org/2000/svg', 'its name space');
    rule($characters !~ /(?:href|src)\s*=|url\(|\@import/, 'it needs no other file');
    my @graphs = grep { ($_->[1]{class} // '') eq 'graph' } find($root, 'g');
    rule(@graphs == 2, 'two graphs');
    my @totals;
    for my $graph (@graphs) {
        my (@frames, %rows);
        for my $g (find($graph, 'g')) {
            my ($title, $rect) = (content((find($g, 'title'))[0]), (find($g, 'rect'))[0][1]);
            my ($name, $bytes, $percent) = $title =~ /^(.*) \(([\d,]+) bytes, ([\d.]+)%\)$/s;
            rule(defined $bytes && $name eq $g->[1]{'data-name'}, "a title says it all: $title") or next;
            $bytes =~ tr/,//d;
            push @frames, {name => $name, bytes => $bytes, percent => $percent, %$rect};
            push @{$rows{$rect->{y}}}, $frames[-1];
        }
        my ($all) = grep { $_->{name} eq 'all' && $_->{width} > 1179 } @frames;
        rule($all, 'a root, of the whole width') or next;
        push @totals, $all->{bytes};
        for my $frame (@frames) {
            rule(abs($frame->{width} - 1180 * $frame->{percent} / 100) < 0.2, "$frame->{name} is as wide as its percentage");
            my @below = grep { $_->{x} <= $frame->{x} + 0.02 && $_->{x} + $_->{width} >= $frame->{x} + $frame->{width} - 0.02 } @{$rows{$frame->{y} - 17} || []};
            rule($frame == $all || @below, "$frame->{name} stands on its caller");
            rule($frame->{x} >= 9.99 && $frame->{x} + $frame->{width} <= 1190.02, "$frame->{name} lies within the picture");
            $frame->{caller} = $below[0];
        }
        for my $row (values %rows) {
            my ($end, $left) = (0, undef);
            for my $frame (sort { $a->{x} <=> $b->{x} } @$row) {
                rule($frame->{x} >= $end - 0.02, "$frame->{name} does not lie on its neighbor");
                rule(!$left || ($left->{caller} // 0) != ($frame->{caller} // 0) || $left->{name} lt $frame->{name}, "$frame->{name} is there once, in its order");
                $left = $frame;
                $end = $frame->{x} + $frame->{width};
            }
        }
        if (@totals == 2) { allocated($_->{name}, undef, $_->{bytes}) for @{$rows{$all->{y} + 17}} }
    }
    rule(@totals == 2 && $totals[0] == $totals[1], 'both graphs have the same total');
} elsif ($path =~ /\.html$/) {
    my $page = markup($characters, 0, script => 1, style => 1);
    rule($characters !~ /(?:href|src)\s*=|url\(|\@import/, 'it needs no other file');
    my @scripts = find($page, 'script');
    rule(@scripts == 2 && ($scripts[0][1]{id} // '') eq 'data', 'the data, and a script') or exit 1;
    my $data = eval { JSON::PP->new->decode($scripts[0][2]) };
    rule($data, "the data is JSON: $@") or exit 1;
    for my $entry (@{$data->{entries}}) {
        rule(@$entry == 16, 'an entry has 16 numbers');
        rule($entry->[0] < @{$data->{types}} && $entry->[1] < @{$data->{stacks}}, 'its type and its stack exist');
        allocated($data->{types}[$entry->[0]], $entry->[2], $entry->[3]) if $entry->[2];
    }
    for my $i (1 .. $#{$data->{stacks}}) {
        my ($frame, $caller) = @{$data->{stacks}[$i]};
        rule($frame < @{$data->{frames}} && $caller < $i, 'a stack has a frame, and a caller that was there before it');
    }
    for my $pause (@{$data->{collections}}) {
        my $sum = 0;
        $sum += $_->[1] for @{$pause->{parts}};
        rule($pause->{asked} <= $pause->{start} && $pause->{start} <= $pause->{end}, 'times ascend');
        rule($sum <= $pause->{end} - $pause->{start} + 1000, "phases of collection $pause->{number} are no longer than it");
    }
    print "data ", scalar @{$data->{collections}}, " collections\n";
} elsif ($path =~ /\.json$/) {
    my $events = eval { JSON::PP->new->utf8->decode($text) };
    rule(ref $events eq 'ARRAY', "an array of JSON: $@") or exit 1;
    my (%slices, %pauses);
    for my $event (@$events) {
        my ($ph, $what) = ($event->{ph} // '', $json->encode($event));
        rule(defined $event->{name} && !ref $event->{name}, "a name: $what");
        rule($ph =~ /^[XiCM]$/, "a known kind: $what");
        for my $id (qw(pid tid)) { rule(defined $event->{$id} && $event->{$id} =~ /^\d+$/ && $event->{$id} < 2 ** 31, "$id has 32 bits: $what") }
        rule($ph eq 'M' || defined $event->{ts} && $event->{ts} < 2 ** 53, "a time: $what");
        rule($ph ne 'X' || defined $event->{dur}, "a duration: $what");
        rule($ph ne 'i' || ($event->{s} // '') =~ /^[tpg]$/, "a scope: $what");
        rule($ph ne 'M' || $event->{name} =~ /^(process|thread)_name$/ && defined $event->{args}{name}, "a name in it: $what");
        if ($ph eq 'C') { rule(%{$event->{args}} && !grep({ !/^\d+$/ } values %{$event->{args}}), "numbers by series: $what") }
        print 'thread ', $event->{tid}, ' ', $json->encode($event->{args}{name}), "\n" if $ph eq 'M' && $event->{name} eq 'thread_name';
        if ($ph eq 'X') {
            push @{$slices{$event->{tid}}}, $event;
            next if !defined $event->{args}{number};
            print "pause $event->{args}{number} $event->{ts} $event->{dur} $event->{tid}\n";
            rule(!$pauses{"$event->{args}{heap} $event->{args}{number}"}++, "each collection once: $what");
        }
        if ($event->{name} eq 'allocated, by type') { allocated($_, @{$event->{args}{$_}}{qw(count bytes)}) for keys %{$event->{args}} }
    }
    # In the text, times have no exponent and no sign.
    while ($text =~ /"(ts|dur)":([^,}]*)/g) { my ($key, $value) = ($1, $2); rule($value =~ /^\d+\.\d\d\d$/, "$key is a plain number: $value") }
    # Slices of a thread nest.
    for my $tid (keys %slices) {
        my @open;
        for my $slice (sort { $a->{ts} <=> $b->{ts} || $b->{dur} <=> $a->{dur} } @{$slices{$tid}}) {
            pop @open while @open && $open[-1] <= $slice->{ts} + 0.0005;
            rule(!@open || $slice->{ts} + $slice->{dur} <= $open[-1] + 0.0015, "slices of thread $tid nest: $slice->{name} at $slice->{ts}");
            push @open, $slice->{ts} + $slice->{dur};
        }
    }
} else {
    die "read.pl: no reader for $path\n";
}
printf "type %s %s %.0f\n", $json->encode($_), (defined $types{$_}[0] ? sprintf('%.1f', $types{$_}[0]) : '-'), $types{$_}[1] for sort keys %types;
exit $broken;
