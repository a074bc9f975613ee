#!/usr/bin/perl
# Reads a profile of pprof's, checks every rule of its format that readers rely on, and prints what it says:
#     period N; default TYPE; comment TEXT; mapping FILE BUILD-ID; size TYPE N; sample TYPE V V V V FRAME;FRAME...
# with at most three frames, the innermost first, as NAME@FILE:LINE. Not one line of it is shared with the writer.
use strict;
use warnings;

my $path = shift // die "usage: pprof.pl FILE\n";
open my $in, '<:raw', $path or die "cannot read $path: $!\n";
my $bytes = do { local $/; <$in> };
my $broken = 0;
sub rule { my ($holds, $what) = @_; print("broken: $what\n"), $broken = 1 if !$holds; return $holds }

# Takes a number off the front.
sub number {
    my ($text) = @_;
    my ($value, $shift) = (0, 0);
    while ($$text =~ s/^(.)//s) {
        my $byte = ord $1;
        $value |= ($byte & 127) << $shift;
        return $value if $byte < 128;
        $shift += 7;
        last if $shift > 63;
    }
    rule(0, 'a number ends within its field');
    $$text = '';
    return 0;
}

# The fields of a message, in their order: [number, wire type, value].
sub fields {
    my ($text) = @_;
    my @fields;
    while (length $text) {
        my $tag = number(\$text);
        my ($field, $wire) = ($tag >> 3, $tag & 7);
        rule($wire == 0 || $wire == 2, "wire type $wire") or last;
        my $value = number(\$text);
        if ($wire == 2) {
            rule($value <= length $text, 'a field ends within its message') or last;
            $value = substr $text, 0, $value, '';
        }
        push @fields, [$field, $wire, $value];
    }
    return @fields;
}

# A message of fields that come once, as a hash; %$types says the wire type of each field that may occur.
sub message {
    my ($text, $what, %types) = @_;
    my %all;
    for (fields($text)) {
        my ($field, $wire, $value) = @$_;
        rule(defined $types{$field} && $types{$field} == $wire, "$what: field $field has wire type $wire") or next;
        rule($wire == 2 || $value != 0, "$what: field $field is not written if it is 0");
        push @{$all{$field}}, $value;
    }
    return \%all;
}
sub one { my ($message, $field) = @_; return defined $message->{$field} ? $message->{$field}[0] : 0 }
sub packed { my ($text) = @_; my @all; push @all, number(\$text) while length $text; return @all }

my (@strings, @types, %mappings, %functions, %locations, @samples, %once, @comments, @order);
for (fields($bytes)) {
    my ($field, $wire, $value) = @$_;
    push @order, $field;
    if ($field == 1) { push @types, message($value, 'sample type', 1 => 0, 2 => 0) }
    elsif ($field == 2) { push @samples, message($value, 'sample', 1 => 2, 2 => 2, 3 => 2) }
    elsif ($field == 3) {
        my $m = message($value, 'mapping', map { $_ => 0 } 1 .. 10);
        rule(one($m, 1) && !$mappings{one($m, 1)}, 'ids of mappings are not 0, and differ');
        rule(one($m, 2) < one($m, 3), 'a mapping ends beyond its start');
        $mappings{one($m, 1)} = $m;
    }
    elsif ($field == 4) {
        my $l = message($value, 'location', 1 => 0, 2 => 0, 3 => 0, 4 => 2);
        rule(one($l, 1) && !$locations{one($l, 1)}, 'ids of locations are not 0, and differ');
        my $mapping = one($l, 2);
        rule(!$mapping || $mappings{$mapping}, 'the mapping of a location comes before it');
        rule(one($mappings{$mapping}, 2) <= one($l, 3) && one($l, 3) < one($mappings{$mapping}, 3), 'the mapping has the address')
            if $mapping && $mappings{$mapping};
        $l->{lines} = [map { message($_, 'line', 1 => 0, 2 => 0) } @{$l->{4} || []}];
        rule($functions{one($_, 1)}, 'the function of a line comes before it') for @{$l->{lines}};
        $locations{one($l, 1)} = $l;
    }
    elsif ($field == 5) {
        my $f = message($value, 'function', map { $_ => 0 } 1 .. 5);
        rule(one($f, 1) && !$functions{one($f, 1)}, 'ids of functions are not 0, and differ');
        $functions{one($f, 1)} = $f;
    }
    elsif ($field == 6) {
        my $copy = $value;
        rule(utf8::decode($copy), 'strings are UTF-8');
        push @strings, $value;
    }
    elsif ($field == 13) { push @comments, $value }
    elsif ($field == 11) { rule(!defined $once{11}, 'field 11 comes once'); $once{11} = message($value, 'period type', 1 => 0, 2 => 0) }
    elsif (grep { $field == $_ } 9, 10, 12, 14) { rule(!defined $once{$field}, "field $field comes once"); $once{$field} = $value }
    else { rule(0, "no field has the number $field") }
}
rule(@strings && $strings[0] eq '', 'string 0 is empty');
sub text { my ($i) = @_; rule($i < @strings, "string $i exists"); return $strings[$i] // '' }
my $names = join ' ', map { text(one($_, 1)) . '/' . text(one($_, 2)) } @types;
rule($names eq 'alloc_objects/count alloc_space/bytes inuse_objects/count inuse_space/bytes', "the types of samples: $names");
rule(text(one($once{11}, 1)) eq 'space' && text(one($once{11}, 2)) eq 'bytes', 'the type of the period');
# 1.7e18 ns is 2023.
rule(($once{9} // 0) > 1600000000 * 1e9, 'the time');
my $first_sample = (grep { $order[$_] == 2 } 0 .. $#order)[0] // @order;
rule(!grep({ $_ != 2 } @order[$first_sample .. $#order]), 'all that samples refer to comes before them');

printf "period %d\ndefault %s\n", $once{12} // 0, text($once{14} // 0);
print 'comment ', text($_), "\n" for @comments;
for (sort { $a <=> $b } keys %mappings) { printf "mapping %s %s\n", text(one($mappings{$_}, 5)), text(one($mappings{$_}, 6)) }
for my $sample (@samples) {
    my @values = packed(one($sample, 2) || '');
    rule(@values == 4, 'a sample has four values');
    my %label;
    for (map { message($_, 'label', map { $_ => 0 } 1 .. 4) } @{$sample->{3}}) {
        my $key = text(one($_, 1));
        rule(!exists $label{$key}, "label $key comes once");
        rule(!($_->{2} && $_->{3}), "label $key is a string or a number");
        rule($key ne 'bytes' || text(one($_, 4)) eq 'bytes', 'the unit of sizes');
        $label{$key} = $_->{2} ? text(one($_, 2)) : one($_, 3);
    }
    my @ids = packed(one($sample, 1) || '');
    rule(scalar @ids, 'a sample has a location');
    rule($locations{$_}, "location $_ exists") for @ids;
    my @frames;
    for (grep { $locations{$_} } @ids[0 .. ($#ids < 2 ? $#ids : 2)]) {
        my $line = $locations{$_}{lines}[0];
        my $function = $line ? $functions{one($line, 1)} : {};
        push @frames, sprintf '%s@%s:%d;', text(one($function, 2)), text(one($function, 4)), one($line || {}, 2);
    }
    (my $frames = join '', @frames) =~ tr/\n/~/;
    printf "size %s %d\nsample %s %d %d %d %d %s\n", $label{type} // '', $label{bytes} // 0, $label{type} // '', @values, $frames;
}
exit($broken ? 1 : 0);
