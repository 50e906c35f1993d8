# Collectives: how far apart their members start and end, on one clock. Reads the records, for those that lumos-graph has joined, then the
# device rows. Where none is joined, the ranks' sequences are: by the order of ends, each shifted against the first rank's until the
# ends differ the least.
FNR == NR {
  if ($1 == "C" && $3 == "symmetric" && NF > 4) { size[++joined] = NF - 3; for (i = 4; i <= NF; i++) member[joined, i - 3] = $i }
  next
}
$6 == "collective" {
  starts[$5] = $2 + $15
  ends[$5] = $3 + $15
  names[$5] = $7
  if (!($1 in count)) rank[++ranks] = $1
  listed[$1, ++count[$1]] = $5
}
END {
  if (!joined && ranks > 1) join_by_order()
  for (c = 1; c <= joined; c++) if (size[c] > 1) spread(c)
}

function spread(c,   i, list, first, last, middle) {
  for (i = 1; i <= size[c]; i++) list[i] = starts[member[c, i]]
  sort_numbers(list, 1, size[c])
  first = list[1]
  last = list[size[c]]
  put("10d", "collective arrival spread", "us", (last - first) / 1000)
  for (i = 1; i <= size[c]; i++) list[i] = ends[member[c, i]]
  middle = median(list, size[c])
  for (i = 1; i <= size[c]; i++) put("10a", "collective end skew", "us", (list[i] > middle ? list[i] - middle : middle - list[i]) / 1000)
  put("10b", "collective last end - first end", "us", (list[size[c]] - list[1]) / 1000)
  if (middle > last) put("10c", "collective last end - first end / transfer", "ratio", (list[size[c]] - list[1]) / (middle - last))
}

function join_by_order(   r, i, id, base, other, shift) {
  for (r = 1; r <= ranks; r++) by_end(rank[r])
  base = rank[1]
  for (i = 1; i <= count[base]; i++) { size[i] = 1; member[i, 1] = listed[base, i] }
  joined = count[base]
  for (r = 2; r <= ranks; r++) {
    other = rank[r]
    shift = best_shift(base, other)
    if (shift == "") continue
    for (i = 1; i <= count[other]; i++) { id = listed[other, i]; starts[id] -= best_offset; ends[id] -= best_offset }
    for (i = 1; i <= joined; i++)
      if (names[listed[other, i + shift]] == names[member[i, 1]]) member[i, ++size[i]] = listed[other, i + shift]
  }
}

function by_end(rank,   i, j, id) {
  for (i = 2; i <= count[rank]; i++) {
    id = listed[rank, i]
    for (j = i - 1; j > 0 && ends[listed[rank, j]] > ends[id]; j--) listed[rank, j + 1] = listed[rank, j]
    listed[rank, j + 1] = id
  }
}

# The shift with the least spread of differences, among those where nine of ten names agree; sets best_offset.
function best_shift(base, other,   shift, i, n, same, differ, list, middle, deviation, least, best) {
  best = ""
  for (shift = -45; shift <= 45; shift++) {
    n = same = 0
    for (i = 1; i <= count[base]; i++) if (i + shift >= 1 && i + shift <= count[other]) {
      same += names[listed[base, i]] == names[listed[other, i + shift]]
      differ[++n] = ends[listed[other, i + shift]] - ends[listed[base, i]]
      list[n] = differ[n]
    }
    if (n < 4 || n < count[base] / 2 || same < 0.9 * n) continue
    middle = median(list, n)
    for (i = 1; i <= n; i++) list[i] = differ[i] > middle ? differ[i] - middle : middle - differ[i]
    deviation = median(list, n)
    if (best == "" || deviation < least) { least = deviation; best = shift; best_offset = middle }
  }
  return best
}
