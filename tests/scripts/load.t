#!/bin/bash
# Loading a collector that the environment names: what is refused, in which words, and what is not.
cd "$(dirname "$0")/../.." && . tests/tap.sh || exit
top=$(mktemp -d) && trap 'rm -rf "$top"' EXIT
unset GC_NAME GC_PATH DOTNET_GCName DOTNET_GCPath COMPlus_GCName GC_STRESS GC_VERIFY GC_CHECKMARK
umask 022
chmod 755 "$top"
dir=$(cd "$top" && pwd -P)/app
mkdir "$dir"
CC=${CC:-gcc}

# library NAME SOURCE FLAGS...: builds $dir/NAME
library() {
    local name=$1 source=$2
    shift 2
    echo "$source" | $CC -shared -fPIC -x c - -o "$dir/$name" "$@" || echo "# $name is not built" >&2
}
# bytes NAME OFFSET BYTES: changes a file
bytes() { printf '%b' "$3" | dd of="$dir/$1" bs=1 seek="$2" conv=notrunc status=none; }
# as NAME SOURCE: a copy of another library
as() { cp "$dir/$2" "$dir/$1"; }

# shellcheck disable=SC2086 # a list of words
$CC -std=c11 -g -Wall -Wextra -Werror -pthread -I. tests/scripts/load_host.c -o "$dir/host" || exit
echo '#include "gc_standalone.h"' | $CC -std=c11 -g -Wall -Wextra -Werror -shared -fPIC -pthread -I. -DGC_STANDALONE_LIBRARY -x c - -o "$dir/good.so" || exit

# run SETTING=VALUE...: the program's words, and in $status how it ended
messages=$top/messages
run() {
    page=$(timeout 60 env "$@" 2>&1)
    status=$?
    [ $status -eq 0 ] || printf '%s\n' "$page" >> "$messages"
}
# loads NAME SETTING=VALUE...
loads() {
    local name=$1
    shift
    run "$@" "$dir/host"
    is "$status, $page" '0, loaded' "loaded: $name"
}
# refused NAME PATTERN SETTING=VALUE...: by a message that names the setting, the version and what to do
refused() {
    local name=$1 pattern=$2
    shift 2
    run "$@" "$dir/host"
    is "$status" 127 "refused: $name"
    matches "$page" "^gc\.h: GC_(NAME|PATH)=.*: the collector .*is not used\. $pattern.* The program has version 1\.0 of the interface.*\. [A-Z].*\.$" 'and why'
}

run "$dir/host"
is "$status, $page" '0, embedded' "without a setting the program runs on its own collector"
run GC_NAME= GC_PATH= "$dir/host"
is "$status, $page" '0, embedded' "and with empty ones"
loads 'by its name' GC_NAME=good.so
loads 'by its path' GC_PATH="$dir/good.so"
(cd / && run GC_NAME=good.so "$dir/host" && [ "$page" = loaded ])
ok $? "the name is looked for beside the program, wherever it is started"
(cd "$dir" && mkdir elsewhere && cp host elsewhere/ && run GC_NAME=good.so elsewhere/host && grep -q 'no such file' <<< "$page")
ok $? "and not in the current folder"

# The setting.
setting='Reading the environment: '
refused 'a name with a slash' "${setting}a name must not contain a slash" GC_NAME=elsewhere/good.so
refused 'a name with a parent folder' "${setting}a name must not contain a slash" GC_NAME=../app/good.so
refused 'a name that is a parent folder' "${setting}it leaves its folder by" GC_NAME=..
refused 'a name that is a path' "${setting}it is a path, and the variable takes the name" GC_NAME="$dir/good.so"
refused 'a relative path' "${setting}it is a relative path" GC_PATH=good.so
refused 'a relative path that begins with a dot' "${setting}it is a relative path" GC_PATH=./good.so
refused 'a path with a parent folder' "${setting}it leaves its folder by" GC_PATH="$dir/../app/good.so"
refused 'a path with a parent folder at its end' "${setting}it leaves its folder by" GC_PATH="$dir/.."
refused 'a path that ends in a slash' "${setting}it ends in a slash" GC_PATH="$dir/"
refused 'a name and a path' "${setting}GC_PATH is set, too" GC_NAME=good.so GC_PATH="$dir/good.so"
as 'a..so' good.so
loads 'two dots within a name' GC_NAME=a..so

# The file.
find='Finding the file: '
refused 'a name of no file' "${find}there is no such file" GC_NAME=absent.so
refused 'a path of no file' "${find}there is no such file" GC_PATH="$dir/absent.so"
refused 'a path without its folder' "${find}its folder cannot be opened: No such file" GC_PATH=/absent/libgc.so
refused 'a name that is too long' "${find}it cannot be opened: File name too long" GC_NAME="$(printf 'x%.0s' {1..300})"
refused 'a path that is too long' "${find}.*too long" GC_PATH="$(printf '/x%.0s' {1..3000})"
mkdir "$dir/folder.so" && mkfifo "$dir/fifo.so" && : > "$dir/empty.so"
refused 'a folder' "${find}it is a folder" GC_NAME=folder.so
refused 'the folder itself' "${find}it is a folder" GC_NAME=.
refused 'a FIFO, which blocks nobody' "${find}it is a FIFO" GC_NAME=fifo.so
refused 'a device' "${find}it is a device" GC_PATH=/dev/null
refused 'an empty file' "${find}the file is empty" GC_NAME=empty.so
ln -s good.so "$dir/link.so" && ln -s link.so "$dir/chain.so" && ln -s loop.so "$dir/loop.so"
ln -s elsewhere/good.so "$dir/below.so" && ln -s .. "$dir/above.so" && ln -s "$dir/good.so" "$dir/absolute.so" && ln -s gone.so "$dir/dangling.so"
ln -s "$dir" "$top/alias"
loads 'by a link within its folder' GC_NAME=link.so
loads 'by a link to a link' GC_NAME=chain.so
loads 'by a link to its folder' GC_PATH="$top/alias/good.so"
process="${find}the path leads through a link of /proc"
(cd "$dir" && run GC_PATH=/proc/self/cwd/good.so "$dir/host"; grep -q "$process" <<< "$page")
ok $? "refused: the current folder by a path that begins with a slash"
for way in /proc/thread-self/cwd //proc/./self/cwd "/proc/$$/cwd"; do
    (cd "$dir" && run GC_PATH="$way/good.so" "$dir/host"; grep -q "$process" <<< "$page")
    ok $? "and by $way"
done
refused 'the root of the process' "$process" GC_PATH="/proc/self/root$dir/good.so"
exec 7< "$dir"
refused 'an open folder' "$process" GC_PATH=/proc/self/fd/7/good.so
refused 'an open folder by /dev' "$process" GC_PATH=/dev/fd/7/good.so
exec 7<&-
ln -s /proc/self/cwd "$top/here"
(cd "$dir" && run GC_PATH="$top/here/good.so" "$dir/host"; grep -q "$process" <<< "$page")
ok $? "and by a link to that"
refused 'a link to itself' "${find}it cannot be opened: Too many levels" GC_NAME=loop.so
refused 'a link to nothing' "${find}there is no such file" GC_NAME=dangling.so
refused 'a link to a folder below' "${find}it is a symbolic link that leaves its folder" GC_NAME=below.so
refused 'a link to the folder above' "${find}it is a symbolic link that leaves its folder" GC_NAME=above.so
refused 'a link with an absolute path' "${find}it is a symbolic link that leaves its folder" GC_PATH="$dir/absolute.so"

# Who may change it.
rights='Checking who may change it: '
as world.so good.so && chmod o+w "$dir/world.so"
refused 'a file that all may write to' "${rights}the file is writable by everybody" GC_NAME=world.so
mkdir -p "$top/open/folder" "$top/sticky/folder" && cp "$dir/good.so" "$top/open/folder" && cp "$dir/good.so" "$top/sticky/folder"
cp "$dir/good.so" "$top/sticky/"
chmod 777 "$top/open" && chmod 1777 "$top/sticky"
refused 'a folder that all may write to' "${rights}its folder is writable by everybody" GC_PATH="$top/sticky/good.so"
refused 'a folder above it that all may write to' "${rights}the folder that is 2 above it is writable by everybody" GC_PATH="$top/open/folder/good.so"
loads 'below a folder with the sticky bit' GC_PATH="$top/sticky/folder/good.so"
as group.so good.so && chmod g+w "$dir/group.so"
if [ "$(id -g)" = "$(id -u)" ]; then
    loads "a file that the user's own group may write to" GC_NAME=group.so
else
    skip "a file that the user's own group may write to" "the user's group has another number than the user"
fi
if [ "$(id -u)" -eq 0 ]; then
    chgrp 100 "$dir/group.so"
    refused 'a file that another group may write to' "${rights}the file is writable by a group" GC_NAME=group.so
    as foreign.so good.so && chown 65534 "$dir/foreign.so"
    refused "another user's file" "${rights}the file belongs to user 65534" GC_NAME=foreign.so
    mkdir "$top/foreign" && cp "$dir/good.so" "$top/foreign" && chown 65534 "$top/foreign"
    refused "another user's folder" "${rights}its folder belongs to user 65534" GC_PATH="$top/foreign/good.so"
    chmod 1777 "$top/foreign" && mkdir "$top/foreign/folder" && cp "$dir/good.so" "$top/foreign/folder"
    refused "below another user's folder with the sticky bit" "${rights}the folder that is 2 above it belongs to user 65534" \
        GC_PATH="$top/foreign/folder/good.so"
    cp "$dir/host" "$dir/owned" && chown 65534 "$dir/owned"
    run GC_NAME=foreign.so "$dir/owned"
    is "$status, $page" '0, loaded' "a file of him who owns the program is loaded"
else
    for name in 'a file that another group may write to' "another user's file"; do skip "$name" 'only root can change owners'; done
fi

# Another user than root, who may read everything.
nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)
if [ "$(id -u)" -eq 0 ] && "${nobody[@]}" "$dir/host" > "$top/log" 2>&1; then
    as unreadable.so good.so && chmod 600 "$dir/unreadable.so"
    mkdir -m 700 "$top/closed" && cp "$dir/good.so" "$top/closed"
    run GC_NAME=unreadable.so "${nobody[@]}" "$dir/host"
    matches "$status $page" '127 .*it cannot be opened: Permission denied' "refused: a file that the user may not read"
    run GC_PATH="$top/closed/good.so" "${nobody[@]}" "$dir/host"
    matches "$status $page" '127 .*it cannot be opened: Permission denied' "refused: a folder that the user may not enter"
    cp "$dir/host" "$dir/setuid" && chmod 4755 "$dir/setuid"
    run SHOW_USER=1 GC_PATH="$dir/absent.so" "${nobody[@]}" "$dir/setuid"
    case $page in
    *'user 65534 as 0'*) is "$status, ${page%%user*}" "0, embedded
" "a setuid program does not read the settings" ;;
    *) skip "a setuid program does not read the settings" "the file system does not honour setuid: $page" ;;
    esac
    run SHOW_USER=1 GC_PATH="$dir/absent.so" "${nobody[@]}" "$dir/host"
    is "$status" 127 "where the same program without the bit reads them"
else
    for name in 'a file that the user may not read' 'a setuid program'; do skip "$name" 'only root can be another user'; done
fi

# The header.
header='Reading its header: '
echo '#!/bin/sh' > "$dir/script.so" && as cut.so good.so && truncate -s 5000 "$dir/cut.so" && as last.so good.so && truncate -s -1 "$dir/last.so"
refused 'a script' "${header}it is no ELF file: it begins with .#!/bin/s" GC_NAME=script.so
refused 'a library that has lost its end' "${header}the file is truncated: it has 5000 bytes" GC_NAME=cut.so
refused 'a library that has lost one byte' "${header}the file is truncated" GC_NAME=last.so
for size in 1 3 4 5 16 19 20 63 64 119; do
    as short.so good.so && truncate -s $size "$dir/short.so"
    refused "the first $size bytes" "${header}(it is no ELF file|the file is truncated: it has $size bytes)" GC_NAME=short.so
done
$CC -c -x c /dev/null -o "$dir/object.so" && echo 'int main(void) { return 0; }' | $CC -no-pie -x c - -o "$dir/program.so"
echo 'int main(void) { return 0; }' | $CC -pie -fPIE -x c - -o "$dir/pie.so"
refused 'an object file' "${header}it is an object file, not linked yet" GC_NAME=object.so
refused 'a program' "${header}it is a program" GC_NAME=program.so
case $(uname -m) in x86_64) other='\0267' words=AArch64 ;; *) other='\076' words=x86-64 ;; esac
as machine.so good.so && bytes machine.so 18 "$other"
refused 'a library for another machine' "${header}it is for $words .* with words of 64 bits, .* and this program" GC_NAME=machine.so
as libgc-checked.so machine.so
refused 'the example of the page' "$header" GC_NAME=libgc-checked.so
as narrow.so good.so && bytes narrow.so 4 '\001' && bytes narrow.so 18 '\003'
refused 'a library for words of 32 bits' "${header}it is for i386 .* with words of 32 bits" GC_NAME=narrow.so
as big.so good.so && bytes big.so 5 '\002' && bytes big.so 16 '\000\003\000\026'
refused 'a library for the other order of bytes' "${header}it is for S/390 .*the highest byte first" GC_NAME=big.so
as strange.so good.so && bytes strange.so 18 '\377\377'
refused 'a library for a machine that nobody knows' "${header}it is for an unknown machine .machine 65535" GC_NAME=strange.so
as parts.so good.so && bytes parts.so 56 '\000\000'
refused 'a header without parts' "${header}its header is damaged" GC_NAME=parts.so
as beyond.so good.so && bytes beyond.so 39 '\377'
refused 'a header whose parts are elsewhere' "${header}the file is truncated" GC_NAME=beyond.so

# The linker.
linker='Loading it: the dynamic linker says: '
library undefined.so 'void missing(void); void GC_VersionInfo(void) { missing(); } int GC_Initialize(void) { return 0; }'
refused 'a library that refers to what does not exist' "${linker}undefined symbol: missing" GC_NAME=undefined.so
library libneeded.so 'int needed;' && library needs.so 'extern int needed; int *p = &needed;' -L"$dir" -lneeded && rm "$dir/libneeded.so"
refused 'a library that needs another one' "${linker}libneeded.so: cannot open shared object file" GC_NAME=needs.so
refused 'a program that can be placed anywhere' "Loading it: the dynamic linker says: " GC_NAME=pie.so
matches "$page" " Name a collector's library" 'and what to name instead'
library plain.so 'int nothing;'
refused 'a library that is no collector' 'Looking up GC_VersionInfo: the dynamic linker says: undefined symbol: GC_VersionInfo' GC_NAME=plain.so
library half.so 'void GC_VersionInfo(void) {}'
refused 'half a collector' 'Looking up GC_Initialize: the dynamic linker says: undefined symbol: GC_Initialize' GC_NAME=half.so
library hidden.so '__attribute__((visibility("hidden"))) void GC_VersionInfo(void) {} int GC_Initialize(void) { return 0; }'
refused 'a collector that exports too little' 'Looking up GC_VersionInfo: ' GC_NAME=hidden.so
library replaced.so '#include <stdio.h>
#include <stdlib.h>
__attribute__((constructor)) static void start(void) { rename(getenv("NEW_FILE"), getenv("GC_PATH")); }
void GC_VersionInfo(void) {} int GC_Initialize(void) { return 0; }'
as new.so good.so
refused 'a file that is replaced meanwhile' 'Loading it: the file was replaced while' GC_PATH="$dir/replaced.so" NEW_FILE="$dir/new.so"

# The protocol, with libraries that are made up.
# fake NAME STATEMENTS [FUNCTION]: `info`, `host`, `functions` and `real`, a copy of what a real table has, are theirs to change
fake() {
    local name=$1 version=$2 initialize=$3
    cat > "$top/fake.c" << END
#include "gc_standalone.h"
const char GC__CONFIGURATION = 1;
static gc_geometry geometry;
static gc_functions real = {sizeof real, 0, &geometry};
void GC_VersionInfo(gc_version_info *info) {
    const gc_version_info before = *info;
    (void)before;
    info->major = GC_INTERFACE_MAJOR, info->minor = GC_INTERFACE_MINOR, info->build = 7, info->name = "a made-up one";
    $version
}
int32_t GC_Initialize(const gc_host *host, const gc_functions **functions, struct GcDacVars *vars) {
    (void)vars;
    geometry = *host->geometry;
    *functions = &real;
    $initialize
    return 0;
}
END
    $CC -std=c11 -shared -fPIC -I. "$top/fake.c" -o "$dir/$name" || echo "# $name is not built" >&2
}
start='Calling GC_Initialize: '
fake words.so '' 'host->refused(host->context, "the moon is full"); return -2147467259;'
refused 'by the library, with a reason' "${start}it returns -2147467259: the moon is full\." GC_NAME=words.so
fake silent.so '' 'return 5;'
refused 'by the library, without one' "${start}it returns 5\." GC_NAME=silent.so
matches "$page" 'the library version 1\.0 \(a made-up one, build 7\)' 'whose version is in the message'
fake long.so '' 'char why[5000]; memset(why, 120, 4999); why[4999] = 0; host->refused(host->context, why); return 1;'
refused 'by the library, with too much to say' "${start}it returns 1: xxx*" GC_NAME=long.so
deep=$dir$(printf '/%0100d' {1..6}) && mkdir -p "$deep" && cp "$dir/long.so" "$deep" && ln -s "$deep" "$top/deep"
run GC_PATH="$deep/$(printf 'y%.0s' {1..200}).so" "$dir/host"
matches "$page" 'there is no such file\..* Build it there, or correct the name\.$' 'a message with a long path is whole'
run GC_PATH="$top/deep/long.so" "$dir/host"
matches "$page" 'it returns 1: x*\..* or ask its author\.$' 'and one with two paths, and long reasons'
fake none.so '' '*functions = 0;'
refused 'a library without a table' "${start}it gives no table" GC_NAME=none.so
fake short.so '' 'real.bytes -= sizeof(void *);'
refused 'a library whose table is too short' "${start}it gives a table of [0-9]* bytes, and version 1\.0 has at least [0-9]*" GC_NAME=short.so
fake shapeless.so '' 'real.geometry = 0;'
refused 'a library that does not give its geometry' "${start}its table lacks the geometry" GC_NAME=shapeless.so
fake shape.so '' 'geometry.region_shift = 30; geometry.card_bits = 1;'
refused 'a library of another geometry' "${start}the geometries differ: region_shift is [0-9]* in the program and 30 in the library, card_bits is 0 in the program and 1" GC_NAME=shape.so
fake nameless.so 'info->major = 7; info->name = 0;' ''
differ='Comparing the versions: the first numbers of the versions differ'
refused 'a library of another major version' "$differ" GC_NAME=nameless.so
matches "$page" 'the library version 7\.0 \(without a name, build 7\)' 'both versions are in the message'
fake chatty.so 'static char name[5000]; memset(name, 120, 4999); info->major = 0; info->name = name;' ''
refused 'a library with a long name' "$differ" GC_NAME=chatty.so
matches "$page" 'the library version 0\.0 \(x{60}, build 7\)' 'which is cut short'
fake asks.so 'static char name[80]; snprintf(name, 80, "for %u.%u", before.major, before.minor); info->name = name; info->major = 9;' ''
refused 'a library that asks' "$differ" GC_NAME=asks.so
matches "$page" 'the library version 9\.0 \(for 1\.0, build 7\)' 'learns the version of the program'
# A library checks, too.
for macros in -DGC_REGION_SHIFT=20 '-DGC_CARD_SHIFT=10 -DGC_CARD_BITS=1'; do
    # shellcheck disable=SC2086 # a list of definitions
    echo '#include "gc_standalone.h"' | $CC -std=c11 -O0 -w -shared -fPIC -pthread -I. -DGC_STANDALONE_LIBRARY $macros -x c - -o "$dir/macros.so" || exit
    refused "a library compiled with $macros" "${start}it returns [0-9]*: the geometries differ.* in the program and .* in the library" GC_NAME=macros.so
done

# Several.
as other.so good.so && ln "$dir/good.so" "$dir/hard.so"
run "$dir/host" "$dir/good.so" "$dir/other.so"
is "$status, $page" "0, loaded
loaded" "two libraries in one process, each with a heap"
run GC_NAME=good.so "$dir/host" "$dir/other.so"
is "$status, $page" "0, loaded" "gc_library_load does not read the environment"
for again in good.so link.so hard.so; do
    run "$dir/host" "$dir/good.so" "$dir/$again"
    matches "$status $page" '^1 loaded' "one library twice, as $again"
    matches "$page" '^gc_library_load of .*Loading it: this program has loaded it already, perhaps by another name' "is refused"
done
refused 'a library that is preloaded' 'Loading it: this program has loaded it already' LD_PRELOAD="$dir/good.so" GC_NAME=good.so
run "$dir/host" "$dir/absent.so" "$dir/good.so"
matches "$status $(tr '\n' ' ' <<< "$page")" '^1 gc_library_load of .*there is no such file.* loaded $' "after a failure another library can be loaded"
run "$dir/host" good.so
matches "$page" 'gc_library_load of good.so: .*: it is a relative path' "gc_library_load takes absolute paths"

# The host's choice.
run GO_ON=1 GC_NAME=absent.so "$dir/host"
matches "$status $(tr '\n' ' ' <<< "$page")" '^0 told: GC_NAME=absent.so: .*there is no such file.*\. embedded $' "a host that is told may go on with its own collector"
run GO_ON=1 GC_NAME=good.so "$dir/host"
is "$status, $page" '0, loaded' "and is told nothing if all is well"

# Mounts, in a name space of their own.
if unshare -m true 2> "$top/log"; then
    mkdir "$top/mount"
    run unshare -m sh -c "mount -t tmpfs -o noexec,mode=755 none '$top/mount' && cp '$dir/good.so' '$top/mount' && GC_PATH='$top/mount/good.so' '$dir/host'"
    matches "$status $page" '127 .*Loading it: the dynamic linker says: failed to map segment.*noexec' 'refused: a file system mounted with noexec'
    run unshare -m sh -c "mount -t tmpfs none /proc && GC_NAME=good.so '$dir/host'"
    matches "$status $page" '127 .*the system does not say in which folder the program is' 'refused: a name where the folder of the program is not known'
    run unshare -m sh -c "mount -t tmpfs none /proc && GC_PATH='$dir/good.so' '$dir/host'"
    is "$status, $page" '0, loaded' 'a path needs no /proc'
else
    for name in 'a file system mounted with noexec' 'a program whose folder is not known'; do skip "$name" 'the user may not mount'; done
fi

# The names of the CLR.
$CC -std=c11 -g -pthread -I. -DGC_STANDALONE_CLR_VARIABLES=1 '-DGC_STANDALONE_PATH_VARIABLE="MY_PATH"' tests/scripts/load_host.c -o "$dir/clr" || exit
for setting in DOTNET_GCName=good.so DOTNET_GCPath="$dir/good.so" COMPlus_GCName=good.so COMPlus_GCName="$dir/good.so" MY_PATH="$dir/good.so" GC_NAME=good.so; do
    run "$setting" "$dir/clr"
    is "$status, $page" '0, loaded' "${setting/$dir/} is read, if the program is compiled so"
done
run COMPlus_GCName=absent.so GC_PATH="$dir/absent.so" "$dir/host"
is "$status, $page" "127, $(tail -1 "$messages")" 'and otherwise only its own settings are'
# The page shows each message, and no other one; "..." stands for what varies. Its steps are headings, its reasons rows of tables.
cat > "$top/compare.pl" << 'END'
my ($page, $messages, $top) = @ARGV;
my (%rows, %seen, $step, $block, $inside);
open my $in, '<', $page or die;
while (<$in>) {
    chomp;
    $step = $1 if /^### (.*)/;
    $inside = !$inside if /^```/;
    $block .= "$_ " if $inside && !/^```/ && ($block || /^gc.h: /) && $block !~ /by\.\s*$/;
    next if !$step || !/^\| (.*) \| (.*) \|$/ || $1 eq 'why';
    my ($why, $remedy) = map { join '.*', map { quotemeta } split /\.\.\./, $_, -1 } ("$step: $1. The program has version ", " $2.");
    $rows{"$step: $1 | $2"} = "$why.*$remedy";
}
$block =~ s/\s+/ /g;
open my $log, '<', $messages or die;
while (my $message = <$log>) {
    chomp $message;
    $message =~ s{\Q$top\E/app}{/opt/app}g;
    $shown = 1 if $message eq $block =~ s/ $//r;
    next if $message !~ /is not used\. (.*)/ || $message =~ /Reading the path/;
    my ($what, $found) = $1;
    for my $row (keys %rows) { $seen{$row} = $found = 1 if $what =~ /^$rows{$row}$/ }
    print "not on the page: $message\n" if !$found;
}
print "no message: $_\n" for sort grep { !$seen{$_} } keys %rows;
print "not shown as printed: $block\n" if !$shown;
print "too few rows\n" if keys %rows < 25;
END
if [ "$(id -u)" -eq 0 ] && [ "$(uname -m)" = x86_64 ] && unshare -m true 2> "$top/log"; then
    is "$(perl "$top/compare.pl" docs/standalone.md "$messages" "$(cd "$top" && pwd -P)")" '' "docs/standalone.md has each message as it is printed"
else
    skip "docs/standalone.md has each message as it is printed" 'some were not printed, for which root is needed, and x86-64'
fi
finish
