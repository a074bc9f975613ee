#!/bin/sh
# README and docs/: how long they may be, that their links lead somewhere, and that what they cite of the sources exists.
cd "$(dirname "$0")/../.." && . tests/tap.sh || exit
pages=$(ls README.md CONTRIBUTING.md CHANGELOG.md docs/*.md docs/design/*.md)

# none NAME FINDINGS: one line for each place that breaks the rule
none() { is "$2" '' "$1"; }

# shellcheck disable=SC2086 # lists of files
{
    none "README.md has at most 120 lines" "$(awk 'END { if (NR > 120) print NR " lines" }' README.md)"
    none "docs/design.md has at most 300 lines" "$(awk 'END { if (NR > 300) print NR " lines" }' docs/design.md)"
    # Code and tables are as wide as they need to be; docs/api.md is generated; CHANGELOG.md has an entry per line.
    none "no line of prose is longer than 120 columns" "$(for page in $pages; do
        case $page in docs/api.md | CHANGELOG.md) continue ;; esac
        LC_ALL=C awk -v page="$page" '
            /^ *```/ { code = !code }
            !code && !/^ *\|/ && !/^    / && !/^</ { text = $0; gsub(/[\200-\277]/, "", text); if (length(text) > 120) print page ":" FNR }' "$page"
    done)"
    none "each mechanism's page has the four headings" "$(for page in docs/design/*.md; do
        is=$(sed -n 's/^## //p' "$page" | xargs)
        [ "$is" = "Problem Invariant Protocol Cost" ] || echo "$page: $is"
    done)"
    none "docs/design.md leads to each mechanism's page" "$(for page in docs/design/*.md; do
        grep -qF "(design/${page##*/})" docs/design.md || echo "$page"
    done)"

    # Code has brackets of its own, so links are looked for in prose and tables only.
    none "relative links lead to files, and to headings of theirs" "$(perl -e '
        sub anchors {
            my ($page, %found, $code) = @_;
            open my $in, "<", $page or return;
            while (<$in>) {
                $code = !$code if /^\s*```/;
                next if $code || !/^#+ +(.*)/;
                my $anchor = lc $1;
                $anchor =~ s/[^\w\- ]//g;
                $anchor =~ tr/ /-/;
                $found{$anchor} = 1;
            }
            return \%found;
        }
        for my $page (@ARGV) {
            my ($folder) = $page =~ m{^(.*/)} ? $1 : "";
            open my $in, "<", $page or die $page;
            local $/;
            my $text = <$in>;
            $text =~ s/^[ \t]*```.*?^[ \t]*```//gms;
            $text =~ s/^(    |\t)(?! *[*\d]).*$//gm;
            $text =~ s/`[^`\n]*`//g;
            while ($text =~ /\]\(([^)\s]+)\)/g) {
                my $link = $1;
                next if $link =~ /^[a-z]+:/;
                my ($path, $anchor) = split /#/, $link, 2;
                $path = length $path ? "$folder$path" : $page;
                { local $/ = "\n"; print "$page: $link\n" if !-e $path || defined $anchor && !anchors($path)->{$anchor}; }
            }
        }' $pages)"
    # Only what the pages name as code counts, and all that the sources, tests, builds and examples have.
    cited=$(mktemp) known=$(mktemp)
    grep -ohE '`[^`]+`' README.md CONTRIBUTING.md $(ls docs/*.md docs/design/*.md | grep -v docs/api.md) > "$cited"
    grep -rohE '\b(gc_|GC_)[A-Za-z0-9_]+' src tests/unit tests/random examples Makefile | sort -u > "$known"
    none "private names, options and macros that pages cite exist" \
        "$(grep -oE '\b(gc__|GC__|GC_)[A-Za-z0-9_]*[A-Za-z0-9]\b' "$cited" | sort -u | comm -23 - "$known")"
    none "parts of src/ that pages cite exist" \
        "$(grep -oE '^`[a-z_]+/[a-z_0-9]+\.h`$' "$cited" | tr -d '`' | grep -vE '^(src|tests|tools|bench|examples|docs|packaging)/' | sort -u |
            while read -r part; do [ -e "src/$part" ] || echo "$part"; done)"
    none "files of the project that pages cite exist" \
        "$(grep -oE '^`(src|tests|tools|bench|examples|docs|packaging)/[A-Za-z0-9_./-]*`$' "$cited" | tr -d '`' | sort -u |
            while read -r file; do [ -e "$file" ] || echo "$file"; done)"
    rm -f "$cited" "$known"
    is "$(awk '/^## /{ in_rooms = $0 == "## Rooms" } in_rooms && /^\| [a-z]/ && $2 != "room"{ print $2 }' docs/design.md | xargs)" \
        "$(sed -n 's/^my @rooms = qw(\(.*\));$/\1/p' tools/order.pl)" "docs/design.md has the rooms of src/, in their order"

    awk -f docs/pictures/pauses.awk docs/performance.md | cmp -s - docs/pictures/pauses.svg
    ok $? "docs/pictures/pauses.svg shows the figures of docs/performance.md (awk -f docs/pictures/pauses.awk)"
}
finish
