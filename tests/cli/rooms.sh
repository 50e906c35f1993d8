#!/usr/bin/env bash
# The rooms of src use only rooms before them, in the order that src/README.md gives, which names all of them; headers of include use no room.
# No two files of src call each other, be it through others, and no two headers include each other. No two headers define one tag.
# At the top there is nothing but what belongs there.
. "$(dirname "$0")/lib.sh"
cd "$source_folder" || exit 1

mapfile -t rooms < <(sed -nE 's/^\| `([a-z]+)` \|.*/\1/p' src/README.md)
[ "${#rooms[@]}" -ge 10 ] || fail "src/README.md names only ${#rooms[@]} rooms"
diff <(printf '%s\n' "${rooms[@]}" | sort) <(ls -d src/*/ | cut -d/ -f2 | sort) >/tmp/rooms.$$ || fail "src/README.md and src have other rooms: $(cat /tmp/rooms.$$)"
rm -f /tmp/rooms.$$

before=' '
arrows=0
for room in "${rooms[@]}"; do
  while IFS=: read -r file include; do
    used=${include#*\"} used=${used%%/*}
    arrows=$((arrows + 1))
    case "$before $room " in *" $used "*) ;; *) fail "$file uses $used, which comes after $room" ;; esac
  done < <(grep -roE '#include "[a-z]+/' "src/$room" --include='*.[ch]' | grep -v '#include "\(lumos\|templates\)/')
  before="$before$room "
done
[ "$arrows" -gt 500 ] || fail "only $arrows uses found"

# no_circle WHAT FILE: pairs of names, of which the first needs the second.
no_circle() {
  tsort "$2" >/dev/null 2>circle || fail "a circle of $1: $(sed 's/^tsort: //' circle | head -12 | tr '\n' ' ')"
}
cd "$work" || exit 1
grep -roE '#include "[a-z/_]+\.h"' "$source_folder/src" --include='*.h' | sed -E "s,^$source_folder/src/,,; s/:#include \"/ /; s/\"$//" >headers
no_circle includes headers
grep -rhoE '^(struct|enum|union) [a-z_0-9]+ \{|^LUMOS_VECTOR_TYPE\([a-z_0-9]+' "$source_folder/src" "$source_folder/include" --include='*.h' |
  sed -E 's/^[a-zA-Z_]+[ (]//; s/ \{$//' | sort | uniq -d >twice
[ ! -s twice ] || fail "tags with two meanings: $(paste -sd' ' twice)"
calls=0
objects=$(find "$bin/../CMakeFiles/lumos.dir/src" -name '*.c.o' 2>/dev/null)
if [ -n "$objects" ] && command -v nm >/dev/null; then
  nm -A -g $objects | sed 's,^.*/lumos.dir/src/,,; s/:/ /' | awk '
    $2 == "U" { user[++uses] = $1; wanted[uses] = $3; next }
    { definer[$NF] = $1 }
    END { for (i = 1; i <= uses; i++) if (wanted[i] in definer && definer[wanted[i]] != user[i]) print user[i], definer[wanted[i]] }' | sort -u >calls
  calls=$(wc -l <calls)
  [ "$calls" -gt 1000 ] || fail "only $calls calls between files found"
  no_circle calls calls
  # Who calls a room is in the third column, but for the tools, which stand in files of their own.
  sed -nE 's/^\| `([a-z]+)` \|.*\| ([^|]*) \|$/\1 \2/p' "$source_folder/src/README.md" | while read -r room callers; do
    [ "$callers" = all ] || [ "$callers" = users ] || grep -oE '`[a-z]+`' <<<"$callers" | tr -d '`' | grep -xFf <(printf '%s\n' "${rooms[@]}") | sed "s/^/$room /"
  done | sort >said
  awk '{ split($1, user, "/"); split($2, of, "/"); if (user[1] != of[1] && user[1] != "tools" && of[1] != "base") print of[1], user[1] }' calls | sort -u >found
  diff said found >differ || fail "src/README.md and calls differ in who calls a room: $(grep '^[<>]' differ | head -5 | paste -sd';')"
else
  echo 'SKIPPED in part: circles of calls, for there are no object files or no nm'
fi
cd "$source_folder" || exit 1
! grep -rnE '#include "' include || fail 'a public header uses a room'
if [ -e .git ] && command -v git >/dev/null; then
  strange=$(git ls-files | cut -d/ -f1 | sort -u | grep -vxE '\..*|CMakeLists\.txt|LICENSE|README\.md|src|templates|include|tests|examples|reports')
  [ -z "$strange" ] || fail "at the top: $strange"
else
  echo 'SKIPPED in part: what stands at the top, for this is no git repository'
fi
proved "${#rooms[@]} rooms, $arrows uses, none of a room that comes later; $calls pairs of files that call one another, none in a circle"
finish
