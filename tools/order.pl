#!/usr/bin/perl
# Checks the order of the house: tools/order.pl, in the top folder. Prints a line for each place that breaks a rule.
#   1. A part refers only to what is defined in its own room of src/ or in one before it, and earlier in the reading order of
#      src/gc.h, which src/gc_stackmap.h continues. Only api/, whose inline functions end in slow paths, declares functions for later parts to define.
#   2. Every quoted include names a part of which something is used.
#   3. No function is declared in one part and defined in another one, except those that api/ declares.
# Definitions are found by ctags, uses by reading words outside comments and strings.
use strict;
use warnings;

my @rooms = qw(barrier api platform base space threads stacks trace cycle policy weak diag collection mutator stackmap profile standalone dac);
my %rank = map { $rooms[$_] => $_ } 0 .. $#rooms;
my $broken = 0;
sub report { print "@_\n"; $broken = 1 }

# The reading order: includes are followed as the compiler does.
my (@parts, %place, %includes);
sub read_part {
    my ($path) = @_;
    return if exists $place{$path};
    $place{$path} = -1; # being read
    open my $in, '<', $path or die "cannot read $path\n";
    my ($folder) = $path =~ m{(.*)/};
    while (my $line = <$in>) {
        next if $line !~ /^\s*#\s*include\s*"([^"]+)"/;
        my $to = "$folder/$1";
        1 while $to =~ s{[^/.]+/\.\./}{};
        push @{$includes{$path}}, $to;
        read_part($to);
    }
    push @parts, $path;
    $place{$path} = $#parts;
}
read_part($_) for 'src/gc.h', 'src/gc_stackmap.h', 'src/gc_profile.h', 'src/gc_standalone.h', 'src/gc_dac.h';

# The words of a part, without comments and strings; those of its macros, too.
my %looks_into = (
    '\bheap->' => 'space/heap.h', '\bregion->' => 'space/region.h', '\b(?:thread|self)->' => 'api/thread.h', '\boptions->' => 'api/heap.h',
    '\bheap->threads->' => 'threads/mode.h', '\bheap->(?:cycle|pace|collector)->' => 'trace/collector.h', '\bworker->' => 'trace/worker.h',
    '\bheap->handles->' => 'weak/handle_table.h', '\bheap->finalizers->' => 'weak/finalizers.h', '\bheap->stress->' => 'diag/places.h', '\bheap->pauses->' => 'diag/pauses.h', '\bheap->stores->' => 'trace/store_buffer.h',
    '\bgc_finalizer \*\)' => 'api/finalizer.h');
my (%words, %looks);
for my $path (@parts) {
    open my $in, '<', $path or die;
    local $/;
    my $text = <$in>;
    $text =~ s{/\*.*?\*/|"(?:\\.|[^"\\\n])*"}{ }gs;
    $text =~ s{^\s*#\s*include.*}{}gm;
    # Ignores fields of structures, whose names other parts may use as well, and structures that are only passed on by address.
    $text =~ s{\bstruct\s+\w+}{}g;
    $words{$path}{$1} = 1 while $text =~ /(?<![.\w])(?<!->)([A-Za-z_]\w*)/g;
    # A part that looks into a structure depends on where that is.
    for my $field (keys %looks_into) { $looks{$path}{$looks_into{$field}} = 1 if $text =~ /$field/ }
}

# The lists of api/dac_vars.h name what later parts define: only diag/dac_table.h expands them so far, and the reader takes their names alone.
$words{'src/diag/dac_table.h'}{$_} = 1 for keys %{$words{'src/api/dac_vars.h'}};
$words{'src/api/dac_vars.h'} = {};

my (%definers, %declarers, %kind);
open my $tags, '-|', 'ctags', '--languages=C', '--langmap=C:.h', '--kinds-C=dfpstugev', '-I', 'GC__FN,GC__INLINED,GC__OUT_OF_LINE,GC__COLD,GC_API,GC_DAC_API,GC__DAC_FN,GC__EXTERN,GC__CODE_RETURN_STUB+,GC_PHASES+',
    '--sort=no', '-x', '--_xformat=%N %K %F', @parts or die "ctags does not start: tools/setup test installs it\n";
while (<$tags>) {
    my ($name, $kind, $path) = split;
    next if $name !~ /^(gc|GC)_/;
    if ($kind eq 'prototype') { $declarers{$name}{$path} = 1 }
    else { $definers{$name}{$path} = 1; $kind{$name} = $kind }
}
close $tags or die "ctags failed\n";

sub room { $_[0] =~ m{^src/([^/]+)/} ? $1 : '' }

# Whether `path` may refer to what `home` defines.
sub above {
    my ($path, $home) = @_;
    my ($from, $to) = ($rank{room($path)}, $rank{room($home)});
    die "an unknown room: $path or $home\n" if !defined $from || !defined $to;
    return 0 if $to == 0 || room($path) eq 'platform' && room($home) eq 'platform';
    return $from < $to || $place{$path} < $place{$home};
}

for my $name (sort keys %definers) {
    my @homes = grep { room($_) } sort keys %{$definers{$name}};
    my @declared = sort keys %{$declarers{$name} || {}};
    for my $path (@declared) {
        next if $kind{$name} ne 'function' || room($path) eq 'api' || !@homes;
        report("$path declares $name, which $homes[0] defines") if !grep { room($_) eq room($path) } @homes;
    }
    my $in_api = grep { room($_) eq 'api' } @declared;
    for my $path (@parts) {
        next if !room($path) || !@homes || !$words{$path}{$name} || $definers{$name}{$path};
        next if $in_api && room($path) eq 'api'; # an inline function's slow path
        report("$path uses $name, which $homes[0] defines: it comes later") if !grep { !above($path, $_) } @homes;
    }
}

for my $path (@parts) {
    next if !room($path) || room($path) eq 'platform' || room($path) eq 'barrier';
    for my $to (@{$includes{$path} || []}) {
        next if $looks{$path}{$to =~ s{^src/}{}r};
        next if $to eq 'src/gc_barrier_x86_64.h' || $path eq 'src/api/config.h';
        next if $to eq 'src/api/dac_vars.h'; # its lists define names that ctags does not see
        my @in = $to eq 'src/api/config.h' ? ($to, 'src/api/linkage.h') : $to; # which it alone may include
        # A part that expands the list of all functions uses all of them.
        my %used = (%{$words{$path}}, $words{$path}{GC__INTERFACE} ? %{$words{'src/api/interface.h'}} : ());
        next if grep { $used{$_} } grep { my $name = $_; grep { $definers{$name}{$_} || $declarers{$name}{$_} } @in } keys %{{%definers, %declarers}};
        report("$path includes $to, and uses nothing of it");
    }
}
exit $broken;
