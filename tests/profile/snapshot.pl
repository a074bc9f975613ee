#!/usr/bin/perl
# Reads a heap snapshot, checks every rule of its format that readers rely on, and prints what it says, a fact a line:
#     nodes N; edges N; unreachable N; type NAME COUNT BYTES RETAINED; edge TYPE KIND NAME TYPE COUNT
# RETAINED is the size of what only the objects of that type keep, all together. Not one line of it is shared with the writer.
use strict;
use warnings;
use JSON::PP;

my $path = shift // die "usage: snapshot.pl FILE\n";
open my $in, '<:raw', $path or die "cannot read $path: $!\n";
my $text = do { local $/; <$in> };
my $broken = 0;
sub rule { my ($holds, $what) = @_; print("broken: $what\n"), $broken = 1 if !$holds; return $holds }
sub finish { exit($broken ? 1 : 0) }

my $copy = $text;
rule(utf8::decode($copy), 'the file is UTF-8');
my $all = eval { JSON::PP->new->utf8->decode($text) };
rule($all, "it is JSON: $@") or finish();

# DevTools reads keys in this order, and numbers by their digits alone.
my @keys = qw(snapshot nodes edges trace_function_infos trace_tree samples locations strings);
my $at = -1;
for my $key (@keys) {
    my $found = index($text, "\"$key\":", $at + 1);
    rule($found > $at, "the key $key comes in its turn");
    $at = $found if $found > $at;
}
rule(join(' ', sort keys %$all) eq join(' ', sort @keys), 'it has these keys and no other');
for my $list (qw(nodes edges)) {
    my ($body) = $text =~ /"$list":\[([^]]*)\]/;
    rule(defined $body && $body =~ /^[0-9,\s]*$/, "$list are plain unsigned numbers");
}

my ($meta, $nodes, $edges, $strings) = ($all->{snapshot}{meta}, @{$all}{qw(nodes edges strings)});
my @fields = @{$meta->{node_fields}};
rule("@fields" eq 'type name id self_size edge_count trace_node_id detachedness', 'the fields of nodes');
rule("@{$meta->{edge_fields}}" eq 'type name_or_index to_node', 'the fields of edges');
rule(!grep({ @{$all->{$_}} } qw(trace_function_infos trace_tree samples locations)), 'the lists that are not used are empty');
my @node_types = @{$meta->{node_types}[0]};
my @edge_types = @{$meta->{edge_types}[0]};
rule("@edge_types" eq 'context element property internal hidden shortcut weak', 'the kinds of edges');
rule($node_types[2] eq 'string' && $node_types[3] eq 'object' && $node_types[9] eq 'synthetic', 'the kinds of nodes');
my $count = @$nodes / @fields;
rule($count == int $count && $count == $all->{snapshot}{node_count}, 'node_count');
rule(@$edges % 3 == 0 && @$edges / 3 == $all->{snapshot}{edge_count}, 'edge_count');
rule(!grep({ $_ > 0xFFFFFFFF } @$nodes, @$edges), 'numbers have 32 bits');

my (@first, %ids, $owned);
$owned = 0;
for my $n (0 .. $count - 1) {
    my ($type, $name, $id, $size, $edge_count) = @{$nodes}[$n * @fields .. $n * @fields + 4];
    rule($type == 2 || $type == 3 || $type == 9, "node $n is a string, an object or synthetic");
    rule($name < @$strings, "node $n has a name");
    rule(!$ids{$id}++, "the id $id is one node's only");
    rule($type != 9 || $size == 0, "the synthetic node $n has no size");
    $first[$n] = $owned;
    $owned += $edge_count;
}
$first[$count] = $owned;
rule($owned == @$edges / 3, 'each edge has an owner');
finish() if $broken;

sub type { $nodes->[$_[0] * @fields] }
sub name { my $name = $strings->[$nodes->[$_[0] * @fields + 1]]; type($_[0]) == 2 ? "\"$name\"" : $name }
rule(type(0) == 9 && name(0) eq '' && $nodes->[2] == 1, 'node 0 is the root');
rule(type(1) == 9 && name(1) eq '(GC roots)', 'node 1 has the roots');
rule("@{$edges}[0 .. 2]" eq '1 1 7', 'the first edge leads to node 1, as element 1');
my (@to, %named);
for my $n (0 .. $count - 1) {
    for my $e ($first[$n] .. $first[$n + 1] - 1) {
        my ($kind, $which, $where) = @{$edges}[3 * $e .. 3 * $e + 2];
        rule($kind < @edge_types, "edge $e has a kind") or next;
        rule($where % @fields == 0 && $where < @$nodes, "edge $e leads to a node") or next;
        my $element = $edge_types[$kind] eq 'element' || $edge_types[$kind] eq 'hidden';
        rule($element || $which < @$strings, "edge $e has a name") or next;
        my $target = $where / @fields;
        rule($n > 0 || type($target) == 9, 'the children of the root are synthetic, else sizes of others are changed by readers');
        $named{join "\t", name($n), $edge_types[$kind], ($element ? '[]' : $strings->[$which]), name($target)}++;
        push @{$to[$n]}, $target if $edge_types[$kind] ne 'weak';
    }
}

# What is reached without the objects of one type: the rest is retained by them.
sub reach {
    my ($without) = @_;
    my @reached = (1);
    my @stack = (0);
    while (@stack) {
        for my $target (@{$to[pop @stack] || []}) {
            next if $reached[$target] || (defined $without && type($target) != 9 && name($target) eq $without);
            $reached[$target] = 1;
            push @stack, $target;
        }
    }
    return \@reached;
}
my $reached = reach();
my (%counts, %bytes, %retained, $unreachable);
$unreachable = 0;
for my $n (0 .. $count - 1) {
    $unreachable++ if !$reached->[$n];
    next if type($n) == 9;
    $counts{name($n)}++;
    $bytes{name($n)} += $nodes->[$n * @fields + 3];
}
for my $type (keys %counts) {
    $retained{$type} = $bytes{$type}, next if $type =~ /^"/; # strings have no references, and may be many
    my $others = reach($type);
    $retained{$type} = 0;
    for my $n (0 .. $count - 1) { $retained{$type} += $nodes->[$n * @fields + 3] if $reached->[$n] && !$others->[$n] }
}
binmode STDOUT, ':utf8';
print "nodes $count\nedges ", @$edges / 3, "\nunreachable $unreachable\n";
print "type $_ $counts{$_} $bytes{$_} $retained{$_}\n" for sort keys %counts;
print "edge ", join(' ', split /\t/), " $named{$_}\n" for sort keys %named;
finish();
