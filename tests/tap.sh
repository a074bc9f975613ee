# shellcheck shell=sh disable=SC2034
# TAP for the shell tests: ok STATUS NAME, is GOT EXPECTED NAME, matches TEXT PATTERN NAME, skip NAME REASON; at the end: finish.
tests=0
failures=0

ok() {
    tests=$((tests + 1))
    if [ "$1" -eq 0 ]; then
        echo "ok $tests - $2"
    else
        failures=$((failures + 1))
        echo "not ok $tests - $2"
    fi
}

diag() { printf '%s\n' "$*" | sed 's/^/# /' >&2; }

is() {
    if [ "$1" = "$2" ]; then ok 0 "$3"; else ok 1 "$3"; diag "$3: got '$1', expected '$2'"; fi
}

matches() {
    if printf '%s\n' "$1" | grep -Eq -- "$2"; then ok 0 "$3"; else ok 1 "$3"; diag "$3: no '$2' in:" "$1"; fi
}

skip() {
    tests=$((tests + 1))
    echo "ok $tests - $1 # skip $2"
}

finish() {
    echo "1..$tests"
    [ "$failures" -eq 0 ]
    exit
}
