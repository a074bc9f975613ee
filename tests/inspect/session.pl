#!/usr/bin/perl
# Runs the sessions of docs/inspect.md: tests/inspect/session.pl DIR [--rewrite]. DIR is for core files.
#
# A session begins with a line <!-- session: PROGRAM --> (build/inspect/PROGRAM), or <!-- core of: PROGRAM -->, whose core file
# is called `core`. In its blocks ```console each line that begins
# with $ is a command, and what follows is its output. PID and core names stand for what they are here. Addresses differ from run
# to run: the first one of the page stands for the first one of the run, and so on, and so they do in commands. After
# <!-- numbers vary --> numbers do not count either; <!-- continue --> lets the program go on to where it waits next. Prints TAP, or with --rewrite writes the page anew with what came out.
use strict;
use warnings;
use IPC::Open2;

my ($dir, $rewrite) = @ARGV;
my $page = 'docs/inspect.md';
my ($tests, $failed) = (0, 0);
my ($pid, $in, $out, $vary, %here, @processes);

sub report {
    my ($ok, $name) = @_;
    $tests++;
    $failed ||= !$ok;
    print $ok ? '' : 'not ', "ok $tests - $name\n" if !$rewrite;
}

sub stop { kill 'KILL', $_ for @processes; waitpid $_, 0 for @processes; @processes = () }
END { my $status = $?; stop(); $? = $status }

sub wait_until_ready {
    while (my $line = <$out>) { return if $line =~ /^ready/ }
    die "the program has ended\n";
}

sub save_core {
    my ($name) = @_;
    system("gcore -o $dir/$name $pid > $dir/gcore.log 2>&1") == 0 or die "gcore does not run here\n";
}

# `is_dead`: all that is left of the program is a core file.
sub begin {
    my ($program, $is_dead) = @_;
    stop();
    ($vary, %here) = 0;
    local $ENV{STOP_WHEN_FULL} = 1;
    $pid = open2($out, $in, "exec build/inspect/$program 2> /dev/null");
    push @processes, $pid;
    wait_until_ready();
    return if !$is_dead;
    save_core('core');
    stop();
}

sub go_on {
    print $in "\n";
    $in->flush;
    wait_until_ready();
}

# The command with the addresses of this run.
sub here {
    my ($command) = @_;
    $command =~ s/(0x[0-9a-f]+)/$here{$1} \/\/ $1/ge;
    return $command;
}

sub run {
    my $command = here(@_);
    if ($command =~ /^gcore -o (\w+) PID/) {
        save_core($1);
        return '';
    }
    die "the page has a command that is not known: $command\n" if $command !~ s/^gc-inspect /.\/build\/tools\/gc-inspect /;
    $command =~ s/\b(\w+)\.PID\b/$dir\/$1.$pid/g;
    $command =~ s/\bPID\b/$pid/g;
    $command =~ s/ core / $dir\/core.$pid /;
    return scalar qx($command 2> $dir/notes);
}

# Learns which address of the page is which of the run.
sub learn {
    my ($there, $now) = @_;
    my @there = $there =~ /0x[0-9a-f]+/g;
    my @now = $now =~ /0x[0-9a-f]+/g;
    for my $i (0 .. $#there) { $here{$there[$i]} //= $now[$i] if defined $now[$i] }
}

sub mask {
    my ($text) = @_;
    my %names;
    $text =~ s/0x[0-9a-f]+/$names{$&} \/\/= 'A' . (1 + keys %names)/ge;
    $text =~ s/tid [0-9,]+/tid N/g;
    $text =~ s/[0-9][0-9,.]*/N/g if $vary;
    $text =~ s/ +/ /g;
    return $text;
}

open my $file, '<', $page or die "cannot read $page\n";
my @lines = <$file>;
close $file;
my (@result, $command, $expected, $block);
sub finish {
    return if !defined $command;
    my $now = run($command);
    learn($expected, $now);
    my ($was, $is) = (mask($expected), mask($now));
    report($was eq $is, $command);
    print STDERR map { "# $_\n" } 'expected:', split(/\n/, $was), 'got:', split(/\n/, $is) if $was ne $is && !$rewrite;
    push @result, $rewrite ? $now : $expected;
    undef $command;
}
for my $line (@lines) {
    if ($block && $line =~ /^\$ (.*)/) {
        finish();
        ($command, $expected) = ($1, '');
        push @result, $rewrite ? here($line) : $line;
    } elsif ($block && $line eq "```\n") {
        finish();
        $block = 0;
        push @result, $line;
    } elsif ($block) {
        $expected .= $line;
    } else {
        $block = 1 if $line eq "```console\n";
        begin($1) if $line =~ /^<!-- session: (\w+) -->/;
        begin($1, 1) if $line =~ /^<!-- core of: (\w+) -->/;
        go_on() if $line =~ /^<!-- continue -->/;
        $vary = 1 if $line =~ /^<!-- numbers vary -->/;
        push @result, $line;
    }
}
if ($rewrite) {
    open $file, '>', $page or die "cannot write $page\n";
    print $file @result;
    close $file;
} else {
    print "1..$tests\n";
}
exit $failed;
