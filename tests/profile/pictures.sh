#!/bin/bash
# Makes the pictures of docs/profile.md from real runs:  tests/profile/pictures.sh [FOLDER], in the top folder after `tools/setup profile`
set -eu
cd "$(dirname "$0")/../.."
to=$(realpath "${1:-docs/pictures}")
chromium=$(command -v chromium || command -v chromium-browser || command -v google-chrome)
dir=$(mktemp -d) && trap 'rm -rf "$dir"' EXIT
make -s build/examples/scheme build/examples/profile/leak build/examples/profile/pause
picture() { node tests/profile/browser.mjs "$PWD/build/profile-readers" "$chromium" --picture "$@"; }

GC_PROFILE=$dir/derive.svg,period=20000 build/examples/scheme examples/scheme/programs/derive.scm > "$dir/out"
picture "$dir/derive.svg" "$to/profile-svg.png" 1200 620
GC_PROFILE=$dir/json.html,period=20000 build/examples/scheme examples/scheme/programs/json.scm > "$dir/out"
picture "$dir/json.html" "$to/profile-page.png" 1240 1305
"$PWD/build/examples/profile/leak" "$dir/leak.html"
picture "$dir/leak.html" "$to/profile-leak.png" 1240 900 light '.panel' '#measure=bytes%20in%20use'
GC_PROFILE=$dir/pause.html build/examples/profile/pause > "$dir/out"
picture "$dir/pause.html" "$to/profile-pause.png" 1240 900 dark '.panel:has(#pauses)' '#measure=allocated%20bytes'
