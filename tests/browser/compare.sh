#!/usr/bin/env bash
# The page of a comparison in a real browser: it asks for nothing, complains of nothing, axe-core finds nothing, nothing is wider than a telephone,
# its tables sort by the numbers of the page, and every region that scrolls is reached with the keyboard.
. "$(dirname "$0")/lib.sh"

lumos-compare "${example[@]}" -o compare.html 2>message || fail "no page: $(head -c 300 message)"
export LUMOS_ALL=${LUMOS_ALL:-no} # in every light and width
node "$folder/compare.js" || fail 'the page of a comparison does not hold in a browser'
proved 'the page of a comparison stands in Chromium, by mouse and keyboard, on a screen, a telephone and paper'
finish
