#!/bin/sh
# Tables whose entries become strong, weak or ephemerons, against a shadow model, for each kind of values and with the sanitizers.
# TABLES_ROUNDS: for each mode and kind of values (2). TABLES_SEED: of the first round (1).
cd "$(dirname "$0")/../.." && . tests/tap.sh || exit
make -s tests/random/tables.t
ok $? "the programs compile"
log=$(mktemp)
trap 'rm -f "$log"' EXIT
seed=${TABLES_SEED:-1} rounds=${TABLES_ROUNDS:-2}

# tables VARIANT [OPTION]
tables() {
    timeout 3000 build/tests/tables-"$1" --seed="$seed" --rounds="$rounds" ${2:+"$2"} > "$log" 2>&1
    ok $? "$1, seed $seed: $(awk '/^ok/ { for (i = 1; i < NF; i++) if ($(i + 1) ~ /^(collections|markings|entries)/) n[$(i + 1)] += $i }
        END { print n["collections,"] + 0, "collections,", n["markings,"] + 0, "markings,", n["entries"] + 0, "entries cleared" }' "$log")"
    grep -q '^1\.\.' "$log" || sed 's/^/# /' "$log" | head -40 >&2
    seed=$((seed + rounds))
}
for variant in plain wide nanbox; do tables $variant; done
rounds=$(((rounds + 1) / 2))
tables sanitize --ops=800
finish
