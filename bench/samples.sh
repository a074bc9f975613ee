# shellcheck shell=sh
# Shared by scripts that measure workloads: what their --json reports say, and medians.

# fields NAME...: the values of these names in the report on stdin, in a line
fields() {
    awk -v names="$*" '
        BEGIN { count = split(names, name, " ") }
        { for (i = 1; i <= count; i++) if (match($0, "\"" name[i] "\": *[0-9.e+-]+")) {
              value = substr($0, RSTART, RLENGTH); sub(/.*: */, "", value); got[i] = value
          } }
        END { for (i = 1; i <= count; i++) printf "%s%s", got[i], i < count ? " " : "\n" }'
}

# median FILE KEY COLUMN: of that column in the lines that begin with the key
median() {
    awk -v key="$2" -v column="$3" '$1 == key { print $column }' "$1" | sort -n | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}
