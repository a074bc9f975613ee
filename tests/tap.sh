# shellcheck shell=sh disable=SC2034
# TAP for the shell tests: ok STATUS NAME, is GOT EXPECTED NAME, matches TEXT PATTERN NAME, skip NAME REASON; at the end: finish.
# For the ladders: all NAME PROGRAM VARIABLES SCRIPT...
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

# The program prints what lies beside each script, and nothing else; those whose names begin with error_ or syntax_ end with
# status 1. The first line may have an argument: "# test N". Needs $dir.
all() {
    name=$1 program=$2 variables=$3 wrong=
    shift 3
    for script in "$@"; do
        case ${script##*/} in error_* | syntax_*) expected=1 ;; *) expected=0 ;; esac
        n=$(sed -n '1s/# test \([0-9]*\).*/\1/p' "$script")
        # shellcheck disable=SC2086 # lists of assignments, and of arguments
        env $variables timeout 300 "$program" "$script" $n > "$dir/out" 2>&1
        status=$?
        [ $status -eq $expected ] && cmp -s "$dir/out" "${script%.*}.expected" && continue
        wrong="$wrong $(basename "$script")"
        diag "$name: $script: exit status $status" "$(diff "${script%.*}.expected" "$dir/out" | head -5)"
    done
    is "$wrong" '' "$name"
}

finish() {
    echo "1..$tests"
    [ "$failures" -eq 0 ]
    exit
}
