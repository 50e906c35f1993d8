#!/usr/bin/env bash
# Pictures for slides: of the size that was asked for, in every format; no taller than wide unless asked; titled by what they find; with the
# ranks and the time that were asked for, and no others; without the verdict where it is not wanted.
. "$(dirname "$0")/lib.sh"
command -v pdfinfo >/dev/null || skip 'pdfinfo is not here (see examples/install.sh)'

lumos-parse "${example[@]}" 2>message | lumos-sim >sim || fail 'the example cannot be simulated'
texts() { sed 's/<text/\n<text/g' "$1" | sed -nE 's/^<text[^>]*>([^<]*)<.*/\1/p' | sed 's/\xc2\xa0/ /g; s/&lt;/</g; s/&gt;/>/g; s/&amp;/\&/g'; }
box() { sed -nE 's/.*viewBox="0 0 ([0-9.]+) ([0-9.]+)" width="([0-9.]+)" height="([0-9.]+)".*/\1 \2 \3 \4/p' "$1" | head -1; }

# --- Sizes: what SVG has PNG and PDF have, too, which are seen of two pictures, or of all with LUMOS_ALL=yes. ---
for view in breakdown opportunities gantt busy pipeline layers graph; do
  expect 0 lumos-render sim --view $view -o plain.svg
  read -r width height _ < <(box plain.svg)
  awk -v w="$width" -v h="$height" 'BEGIN { exit !(w >= h) }' || fail "$view is taller than wide: $width x $height"
  shapes=(16:9 1:2)
  [ "$all_cases" != yes ] || shapes+=(4:3 1:1)
  for size in "${shapes[@]}"; do
    expect 0 lumos-render sim --view $view --size $size -o ratio.svg
    read -r width height _ < <(box ratio.svg)
    awk -v w="$width" -v h="$height" -v s=$size 'BEGIN { split(s, r, ":"); e = w / h * r[2] / r[1]; exit !(e > .998 && e < 1.002) }' ||
      fail "$view at $size is $width x $height"
  done
  for size in 1920x1080 800x600; do
    expect 0 lumos-render sim --view $view --size $size -o sized.svg
    read -r _ _ width height < <(box sized.svg)
    [ "${width}x$height" = $size ] || fail "$view at $size is ${width}x$height in SVG"
    [[ $view =~ ^(breakdown|gantt)$ || $all_cases = yes ]] || continue
    expect 0 lumos-render sim --view $view --size $size -o sized.png
    expect 0 lumos-render sim --view $view --size $size -o sized.pdf
    [ "$(file sized.png | sed -nE 's/.*PNG image data, ([0-9]+) x ([0-9]+), .*/\1x\2/p')" = $size ] || fail "$view at $size: $(file sized.png)"
    pdfinfo sized.pdf | sed -nE 's/^Page size: +([0-9.]+) x ([0-9.]+) pts.*/\1 \2/p' |
      awk -v s=$size '{ split(s, r, "x"); exit !($1 == r[1] * .75 && $2 > r[2] * .75 - 1 && $2 < r[2] * .75 + 1) }' || fail "$view at $size: $(pdfinfo sized.pdf | grep size)"
  done
  # However large it is drawn: its names and numbers are there; but of a graph only the boxes that there is room for.
  [ $view != graph ] || continue
  texts plain.svg | grep -vE ' .* .* ' | sort -u >wanted
  texts sized.svg | sort -u >found
  [ -z "$(comm -23 wanted found)" ] || fail "$view at 800x600 lacks $(comm -23 wanted found | head -3)"
done

# --- The title is the finding; the verdict stands under it, unless it says the same or is not wanted ---
finding=$(lumos-render sim --format json | jq -r '.verdict' | sed 's/\xc2\xa0/ /g')
for view in breakdown busy layers; do
  lumos-render sim --view $view -o plain.svg
  lumos-render sim --view $view --no-verdict -o bare.svg
  lumos-render sim --view $view --title 'Ours' -o titled.svg
  title=$(texts plain.svg | head -1)
  [[ $finding != *"$title"* ]] || fail "the title of $view is the verdict"
  [ "$(texts bare.svg | head -1)" = "$title" ] || fail "the title of $view is another without the verdict"
  [ "$(texts titled.svg | head -1)" = Ours ] && [ "$(texts titled.svg | sed -n 2p | cut -c1-12)" = "${title:0:12}" ] || fail "$view: --title is not the title"
  texts plain.svg | tr '\n' ' ' | grep -qF -- "${finding:0:30}" || fail "$view does not tell the verdict"
  ! texts bare.svg | tr '\n' ' ' | grep -qF -- "${finding:0:30}" || fail "$view tells the verdict"
done
lumos-render sim --view gantt -o gantt.svg
title=$(texts gantt.svg | head -1)
[[ ${finding,,} == *"$(sed 's/^.//' <<<"${title,,}")"* ]] || fail "the timeline's title is not what is found: $title"
lumos-render sim --view gantt --no-verdict -o gantt.svg
title=$(texts gantt.svg | head -1)
[[ ${finding,,} != *"$(sed 's/^.//' <<<"${title,,}")"* ]] || fail "the timeline without the verdict has it as its title: $title"

# --- Ranks ---
expect 0 lumos-render sim --view gantt --ranks 1 -o one.svg
[ "$(texts one.svg | grep -cx 'rank 1')" = 1 ] && ! texts one.svg | grep -qx 'rank 0' || fail '--ranks 1 shows other lanes'
expect 0 lumos-render sim --view gantt --ranks 0-1 -o both.svg
texts both.svg | grep -qx 'rank 0' && texts both.svg | grep -qx 'rank 1' || fail '--ranks 0-1 leaves lanes out'
expect 0 lumos-render sim --ranks 1 -o one.svg
texts one.svg | grep -qx 'rank 1' || fail "--ranks 1 has no bar of it: $(texts one.svg | head -20)"
! texts one.svg | grep -qE '^ranks? 0' || fail '--ranks 1 has a bar of rank 0'
expect 2 lumos-render sim --ranks 7 -o none.svg
says 'no rank 7' '0' '1'
for list in '' x 1, ,1 1-0 -1 1.5 0-99999999; do
  expect 2 lumos-render no-such-file --ranks "$list" -o none.svg
  says --ranks 0,2-5
done

# --- Time: what is drawn are the tasks that run then, and the axis says so ---
expect 0 lumos-render sim --view gantt --span 10ms-20ms -o span.svg
texts span.svg | grep -qx '10 ms' && texts span.svg | grep -qx '20 ms' && ! texts span.svg | grep -qxE '(8|9|21|22) ms' || fail "the axis of --span: $(texts span.svg | grep ' ms$' | tr '\n' ' ')"
# What runs then fills the picture: as many columns of stream work as the tasks of that time take, within the columns at its ends.
expect 0 lumos-render sim --view gantt --ranks 0 --span 10ms-20ms -o span.svg
columns=$(grep -o 'class="[a-z]*" d="[^"]*"' span.svg | wc -l)
[ "$columns" -gt 3 ] || fail "--span draws $columns kinds of work"
expect 2 lumos-render sim --view gantt --span 90s-91s -o none.svg
says 'nothing ran then; the timeline ends at' && [ ! -e none.svg ] || fail 'a span after the end of the job makes a picture'
expect 2 lumos-render no-such-file --span 10ms-20ms -o none.svg
says --span --view gantt
for span in 5ms 5-6 6ms-5ms 5ms-5ms 5ms- 5ms-6ms-; do
  expect 2 lumos-render no-such-file --view gantt --span "$span" -o none.svg
  says --span 10ms-25ms
done

# --- What cannot be ---
for size in 16 16:0 0:9 9:1:1 100x100 1920x 1920X1080 5:1 20000x20000 -1:1 ''; do
  expect 2 lumos-render no-such-file --size "$size" -o none.png
  says --size 16:9 1920x1080
done
for option in '--size 16:9' '--ranks 1' '--no-verdict'; do
  expect 2 lumos-render no-such-file $option -o none.html
  says "${option%% *}" .svg
done
expect 2 lumos-render no-such-file --view busy --ranks 1 -o none.svg
says --ranks gantt
[ -z "$(ls none* 2>/dev/null)" ] || fail "a failed run left $(ls none*)"
proved 'pictures have the size, ranks and time that were asked for, and say what they find'
finish
