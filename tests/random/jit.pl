#!/usr/bin/perl
# Prints a random program of the example JIT's language: tests/random/jit.pl SEED [STATEMENTS]. It ends, since functions call
# only those before them, loops are counted, and all of them use up fuel; mistakes that end it early are rare. What it computes
# goes into a hash, which it prints now and then.
use strict;
use warnings;

my ($seed, $size) = (@ARGV, 60);
my $state = $seed * 2654435761 % 4294967296;

# Not Perl's own generator, so that a seed is the same program everywhere.
sub random {
    my ($below) = @_;
    $state = ($state * 1103515245 + 12345) % 4294967296;
    return int($state / 65536) % $below;
}
sub pick { return $_[random(scalar @_)] }
sub chance { return random(100) < $_[0] }

my @types = qw(int int int float bool string Node []int []Node []float fn(int):int);
my $names = 0;
my (@functions, @scope, $loops, $in_closure, $left, $depth);

sub fresh { return $_[0] . $names++ }
sub visible {
    my ($type, $wanted) = @_;
    return grep { $_->{type} eq $type && (!$wanted || $_->{$wanted}) } @scope;
}

# Expressions. Each kind of type has constants, and forms with operands; `level` bounds their depth.
sub int_constant { return pick(0, 1, 2, 3, 7, 8, -1, -2, 63, 64, 100, 255, 1000003, '0x7fffffffffffffff', '-9223372036854775808', random(1000)) }
sub float_constant { return pick('0.0', '1.0', '-1.5', '0.1', '1e10', '3.25', '1e-3', '1e300') }

my %constants = (
    int => \&int_constant,
    float => \&float_constant,
    bool => sub { pick('true', 'false') },
    string => sub { pick('""', '"a"', '"xyz"', '"a longer one, of more bytes than a word has"') },
    Node => sub { 'new Node(' . int_constant() . ')' },
    '[]int' => sub { 'new []int(8)' },
    '[]Node' => sub { 'new []Node(8)' },
    '[]float' => sub { 'new []float(8)' },
    'fn(int):int' => sub { pick('twice', 'w.add', 'w.solid(w.nodes[0]).plus') },
);

my %forms = (
    int => [
        sub { my $l = shift; '(' . int_of($l) . pick(' + ', ' - ', ' * ', ' & ', ' | ', ' ^ ') . int_of($l) . ')' },
        sub { my $l = shift; '(' . int_of($l) . pick(' + ', ' - ', ' * ', ' & ', ' | ', ' ^ ') . int_of($l) . ')' },
        sub { my $l = shift; '(' . int_of($l) . pick(' << ', ' >> ') . int_of($l) . ')' },
        sub { my $l = shift; '(' . int_of($l) . pick(' / ', ' % ') . '(' . int_of($l) . ' | 1))' },
        sub { my $l = shift; pick('-', '~') . '(' . int_of($l) . ')' },
        sub { my $l = shift; 'int(' . value('float', $l) . ')' },
        sub { my $l = shift; value('string', $l) . '.length' },
        sub { my $l = shift; 'w.byte(' . value('string', $l) . ', ' . int_of($l) . ')' },
        sub { my $l = shift; value('[]int', $l) . '[' . int_of($l) . ' & 7]' },
        sub { my $l = shift; 'w.value_of(' . value('Node', $l) . ')' },
        sub { my $l = shift; 'w.solid(' . value('Node', $l) . ').' . pick('value', 'value', 'sum()', 'plus(' . int_of($l) . ')') },
        sub { my $l = shift; value('fn(int):int', $l) . '(' . int_of($l) . ')' },
        sub { my $l = shift; chance(90) ? int_of($l) : 'w.nodes[' . int_of($l) . ' & 7].value' },
        sub { my $l = shift; 'w.choose(' . value('bool', $l) . ', ' . int_of($l) . ', ' . int_of($l) . ')' },
    ],
    float => [
        sub { my $l = shift; '(' . value('float', $l) . pick(' + ', ' - ', ' * ', ' / ') . value('float', $l) . ')' },
        sub { my $l = shift; '(' . value('float', $l) . pick(' + ', ' - ', ' * ', ' / ') . value('float', $l) . ')' },
        sub { my $l = shift; 'float(' . int_of($l) . ')' },
        sub { my $l = shift; pick('-', 'sqrt') . '(' . value('float', $l) . ')' },
        sub { my $l = shift; value('[]float', $l) . '[' . int_of($l) . ' & 7]' },
        sub { my $l = shift; 'w.solid(' . value('Node', $l) . ').weight' },
    ],
    bool => [
        sub { my $l = shift; '(' . int_of($l) . pick(' == ', ' != ', ' < ', ' <= ', ' > ', ' >= ') . int_of($l) . ')' },
        sub { my $l = shift; '(' . value('float', $l) . pick(' == ', ' != ', ' < ', ' <= ', ' > ', ' >= ') . value('float', $l) . ')' },
        sub { my $l = shift; '(' . value('string', $l) . pick(' == ', ' != ', ' < ', ' >= ') . value('string', $l) . ')' },
        sub { my $l = shift; '(' . value('Node', $l) . pick(' == ', ' != ') . pick('null', value('Node', $l)) . ')' },
        sub { my $l = shift; '(' . value('bool', $l) . pick(' && ', ' || ', ' == ', ' != ') . value('bool', $l) . ')' },
        sub { my $l = shift; '!' . value('bool', $l) },
    ],
    string => [
        sub { my $l = shift; 'w.join(' . value('string', $l) . ', ' . value('string', $l) . ')' },
        sub { my $l = shift; '(' . value('string', $l) . ' + ' . $constants{string}->() . ')' },
        sub { my $l = shift; 'str(' . value(pick('int', 'int', 'bool', 'float'), $l) . ')' },
        sub { my $l = shift; 'char(' . int_of($l) . ')' },
        sub { my $l = shift; 'w.part(' . value('string', $l) . ', ' . int_of($l) . ')' },
        sub { my $l = shift; 'w.solid(' . value('Node', $l) . ').name()' },
    ],
    Node => [
        sub { my $l = shift; 'new Node(' . int_of($l) . ', ' . value('Node', $l) . ', ' . value('Node', $l) . ')' },
        sub { my $l = shift; 'new Node(' . int_of($l) . ', null, ' . value('Node', $l) . ', ' . value('float', $l) . ', ' . value('string', $l) . ')' },
        sub { my $l = shift; 'w.solid(' . value('Node', $l) . ').' . pick('left', 'right') },
        sub { my $l = shift; value('[]Node', $l) . '[' . int_of($l) . ' & 7]' },
        sub { 'null' },
    ],
    '[]int' => [sub { 'w.numbers' }, sub { my $l = shift; 'w.solid(' . value('Node', $l) . ').list()' }],
    '[]Node' => [sub { 'w.nodes' }],
    '[]float' => [sub { 'w.floats' }],
    'fn(int):int' => [
        sub { my $l = shift; 'w.solid(' . value('Node', $l) . ').plus' },
        sub { my $l = shift; 'w.compose(' . value('fn(int):int', $l) . ', ' . value('fn(int):int', $l) . ')' },
        sub { closure() },
        sub { 'w.functions[' . random(4) . ']' },
    ],
);

sub int_of { return value('int', $_[0]) }

# A call of a function that was made before, and has the type as its result.
sub call {
    my ($type, $level) = @_;
    my @fitting = grep { $_->{result} eq $type } @functions;
    return undef if !@fitting;
    my $f = pick(@fitting);
    return "$f->{name}(" . join(', ', 'w', map { value($_, $level) } @{$f->{parameters}}) . ')';
}

sub value {
    my ($type, $level) = @_;
    $level--;
    my @variables = visible($type);
    if ($level > 0 && chance(8)) {
        my $call = call($type, $level);
        return $call if defined $call;
    }
    return pick(@variables)->{name} if @variables && chance($level > 0 ? 40 : 90);
    return $constants{$type}->() if $level <= 0 || chance(15);
    return pick(@{$forms{$type}})->($level);
}

# A function within another one may only use variables that are never assigned.
sub closure {
    return 'twice' if $in_closure || !$depth;
    my @outer = @scope;
    my $parameter = fresh('x');
    $in_closure = 1;
    my $saved_loops = $loops;
    $loops = 0;
    @scope = (grep({ $_->{frozen} } @outer), {name => $parameter, type => 'int', frozen => 0});
    my $body = 'w.burn(); ';
    if (chance(40)) {
        my $name = fresh('v');
        $body .= "var $name = " . int_of(2) . '; ';
        push @scope, {name => $name, type => 'int', frozen => 0};
        $body .= "if (" . value('bool', 2) . ") $name += " . int_of(2) . '; ';
    }
    $body .= 'return ' . int_of(2) . ';';
    @scope = @outer;
    $loops = $saved_loops;
    $in_closure = 0;
    return "fn($parameter: int): int { $body }";
}

# Statements.
my $indent;
sub line { return '    ' x $indent . "$_[0]\n" }

sub block {
    my ($count) = @_;
    my @outer = @scope;
    my $text = '';
    $indent++;
    $text .= statement() for 1 .. $count;
    $indent--;
    @scope = @outer;
    return $text;
}

sub assignment {
    my @variables = grep { !$_->{frozen} && $_->{type} ne 'counter' } @scope;
    my $kind = random(8);
    if ($kind < 4 && @variables) {
        my $v = pick(@variables);
        return line("$v->{name} " . pick('+=', '-=', '*=', '=') . ' ' . value($v->{type}, 3) . ';') if $v->{type} =~ /^(int|float)$/;
        return line("$v->{name} = " . value($v->{type}, 3) . ';');
    }
    return line(value('[]int', 2) . '[' . int_of(2) . ' & 7] ' . pick('=', '+=', '*=') . ' ' . int_of(3) . ';') if $kind == 4;
    return line('w.nodes[' . int_of(2) . ' & 7] = ' . value('Node', 3) . ';') if $kind == 5;
    return line('w.floats[' . int_of(2) . ' & 7] ' . pick('=', '+=', '/=') . ' ' . value('float', 3) . ';') if $kind == 6;
    my ($field, $type) = @{pick(['left', 'Node'], ['right', 'Node'], ['value', 'int'], ['weight', 'float'], ['label', 'string'], ['marked', 'bool'])};
    return line('w.solid(' . value('Node', 2) . ").$field = " . value($type, 3) . ';');
}

sub declaration {
    my $type = pick(@types);
    my $name = fresh('v');
    my $frozen = chance(50);
    (my $written = $type) =~ s/\):/): /;
    my $text = line("var $name: $written = " . value($type, 4) . ';');
    push @scope, {name => $name, type => $type, frozen => $frozen};
    return $text;
}

sub loop {
    my $i = fresh('i');
    my @outer = @scope;
    push @scope, {name => $i, type => 'int', counter => 1, frozen => 0};
    # The counter is not assigned, nor copied by functions within this one.
    $scope[-1]{type} = 'counter';
    my $copy = fresh('v');
    $loops++;
    my $bound = 1 + random(6);
    my $text = chance(70) ? line("for (var $i = 0; $i < $bound && w.burn(); $i++) {")
                          : line("var $i = 0;") . line("while ($i < $bound && w.burn()) {") . line("    $i++;");
    $text .= line("    var $copy = $i;");
    push @scope, {name => $copy, type => 'int', frozen => 1};
    $text .= block(1 + random(4)) . line('}');
    $loops--;
    @scope = @outer;
    return $text;
}

sub branch {
    my $text = line('if (' . value('bool', 4) . ') {') . block(1 + random(3));
    $text .= line('} else {') . block(1 + random(3)) if chance(50);
    return $text . line('}');
}

sub statement {
    return line('w.note(' . int_of(3) . ');') if $left-- <= 0 || $indent > 6;
    my $kind = random(20);
    return declaration() if $kind < 5;
    return assignment() if $kind < 11;
    return branch() if $kind < 13;
    return loop() if $kind < 15 && $loops < 3;
    return line(pick('break;', 'continue;')) if $kind == 15 && $loops && chance(30);
    return line('w.functions[' . random(4) . '] = ' . value('fn(int):int', 3) . ';') if $kind == 16;
    return line('w.see(' . value('string', 3) . ');') if $kind == 17;
    return line('w.seen_float(' . value('float', 3) . ');') if $kind == 18;
    return line('w.note(' . int_of(4) . ');');
}

sub function {
    my ($name) = @_;
    my $result = pick(@types);
    my @parameters = map { pick(@types) } 1 .. random(5);
    @scope = map { {name => fresh('p'), type => $_, frozen => chance(50)} } @parameters;
    my $list = join ', ', 'w: World', map { (my $t = $_->{type}) =~ s/\):/): /; "$_->{name}: $t" } @scope;
    (my $written = $result) =~ s/\):/): /;
    ($loops, $left, $indent, $depth) = (0, $size, 0, 1);
    my $zero = $constants{$result}->();
    my $text = "fn $name($list): $written {\n    if (!w.burn()) return $zero;\n" . block_in_scope(3 + random(8), $result) . "}\n\n";
    push @functions, {name => $name, result => $result, parameters => \@parameters};
    return $text;
}

# A body whose last statement returns a value, with its variables in scope.
sub block_in_scope {
    my ($count, $result) = @_;
    my $text = '';
    $indent++;
    $text .= statement() for 1 .. $count;
    $text .= line('return ' . value($result, 4) . ';');
    $indent--;
    return $text;
}

print while <DATA>;
my $text = '';
$text .= function("f$_") for 1 .. 3 + random(4);
print $text;
($loops, $left, $indent, $depth) = (0, $size, 0, 1);
@scope = ();
print "fn main() {\n    var w = make_world(arg(0, 2000));\n";
print block($size / 4);
print "    for (var round = 0; round < arg(1, 4); round++) {\n";
for my $f (@functions) {
    my $call = "$f->{name}(" . join(', ', 'w', map { value($_, 2) } @{$f->{parameters}}) . ')';
    my $t = $f->{result};
    print "        ", $t eq 'int' ? "w.note($call)" : $t eq 'string' ? "w.see($call)" : $t eq 'float' ? "w.seen_float($call)" : $call, ";\n";
}
print "    }\n    print(w.hash, \" \", w.fuel, \" \", w.value_of(w.nodes[0]), \" \", w.numbers[3], \" \", w.floats[2]);\n}\n";

__DATA__
class Node {
    value: int; left: Node; right: Node; weight: float; label: string; marked: bool;

    fn sum(): int {
        var s = value;
        if (left != null) s += left.value;
        if (right != null) s = s * 3 + right.value;
        return s;
    }
    fn plus(n: int): int { return value + n; }
    fn name(): string {
        if (label == null) return "node " + str(value);
        return label;
    }
    fn list(): []int {
        var a = new []int(8);
        for (var i = 0; i < 8; i++) a[i] = value + i;
        return a;
    }
}

class World {
    hash: int; fuel: int; numbers: []int; nodes: []Node; floats: []float; functions: []fn(int): int; notes: int;

    fn burn(): bool {
        fuel--;
        return fuel > 0;
    }
    fn note(n: int) {
        hash = (hash ^ n) * 0x100000001b3;
        hash = hash ^ hash >> 31;
        notes++;
        if (notes % 64 == 0) print(notes, ": ", hash);
    }
    fn see(s: string) {
        note(s.length);
        for (var i = 0; i < s.length && i < 50; i++) note(s[i]);
    }
    // All that is no number is alike.
    fn seen_float(f: float) {
        if (f == f) note(int(f * 1000.0));
        else note(-1);
    }
    fn byte(s: string, i: int): int {
        if (s.length == 0) return -1;
        return s[(i & 0xffff) % s.length];
    }
    // So that strings do not grow without end.
    fn join(s: string, t: string): string {
        if (s.length + t.length > 200) return t;
        return s + t;
    }
    fn part(s: string, i: int): string { return sub(s, 0, (i & 0xffff) % (s.length + 1) & 63); }
    fn value_of(n: Node): int {
        if (n == null) return -7;
        return n.value;
    }
    fn solid(n: Node): Node {
        if (n != null) return n;
        return new Node(hash & 15);
    }
    fn choose(b: bool, x: int, y: int): int {
        if (b) return x;
        return y;
    }
    fn add(n: int): int { return hash + n; }
    fn compose(f: fn(int): int, g: fn(int): int): fn(int): int {
        return fn(x: int): int {
            if (!burn()) return x;
            return f(g(x));
        };
    }
}

fn twice(n: int): int { return 2 * n; }

fn make_world(fuel: int): World {
    var w = new World(1, fuel, new []int(8), new []Node(8), new []float(8), new []fn(int): int(4));
    for (var i = 0; i < 8; i++) {
        w.numbers[i] = i * i;
        w.nodes[i] = new Node(i);
        w.floats[i] = float(i) / 4.0;
    }
    for (var i = 0; i < 4; i++) w.functions[i] = twice;
    return w;
}

