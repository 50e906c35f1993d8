#!/usr/bin/env bash
# The rooms of src use only rooms before them, in the order that src/README.md gives, which names all of them; headers of include use no room.
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
! grep -rnE '#include "' include || fail 'a public header uses a room'
if [ -e .git ] && command -v git >/dev/null; then
  strange=$(git ls-files | cut -d/ -f1 | sort -u | grep -vxE '\..*|CMakeLists\.txt|LICENSE|README\.md|src|templates|include|tests|examples|reports')
  [ -z "$strange" ] || fail "at the top: $strange"
else
  echo 'SKIPPED in part: what stands at the top, for this is no git repository'
fi
proved "${#rooms[@]} rooms, $arrows uses, none of a room that comes later"
finish
