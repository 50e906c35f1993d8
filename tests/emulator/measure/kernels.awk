# How the time of a kernel varies where the work is the same: over steps, over ranks, and with communication beside it.
$10 == "" || $3 == $2 || $6 ~ /^(collective|p2p|copy|memset)$/ { next }
{
  kernels++
  step = $1 FS $10
  kernel = $4 FS $7 FS $8 FS $9
  dur[kernels] = $3 - $2
  rank_of[kernels] = $1
  step_of[kernels] = step
  kernel_of[kernels] = kernel
  nth[kernels] = ++times[step, kernel]
  kind[kernels] = $6 == "gemm" || $6 == "attention" ? $6 : "memory-bound"
  company[kernels] = $16
  work[kernels] = $14 ~ /[0-9]/ ? $1 FS $7 FS $8 FS $13 FS $14 : ""
}
END {
  for (i = 1; i <= kernels; i++) {
    place = kernel_of[i] FS times[step_of[i], kernel_of[i]] FS nth[i]
    if (company[i] == 2) beside[rank_of[i] FS place, ++beside_count[rank_of[i] FS place]] = i
    if (company[i] != 0) continue
    if (work[i] != "") repeats_of[work[i], ++repeat_count[work[i]]] = i
    steps_of[rank_of[i] FS place, ++alone_count[rank_of[i] FS place]] = i
    sub(/^[^\t]*\t/, "", place) # streams are numbered anew in every process
    ranks_of[place, ++rank_count[place]] = i
  }
  over_steps()
  over_ranks()
  over_repeats()
}

function short(typical) { return typical < 10000 ? ", below 10 us" : "" }

function over_steps(   place, c, i, typical, list, sum, sum_typical) {
  for (place in alone_count) {
    for (c = 1; c <= alone_count[place]; c++) list[c] = dur[steps_of[place, c]]
    typical = median(list, alone_count[place])
    for (c = 1; c <= beside_count[place]; c++) {
      i = beside[place, c]
      put("08e", "kernel time beside communication / alone, " kind[i], "ratio", dur[i] / typical)
    }
    if (alone_count[place] < 3) continue
    for (c = 1; c <= alone_count[place]; c++) {
      i = steps_of[place, c]
      put("08a", "kernel time / median over steps, " kind[i] short(typical), "ratio", dur[i] / typical)
      sum[step_of[i]] += dur[i]
      sum_typical[step_of[i]] += typical
    }
  }
  for (i in sum) put("08c", "all kernels of a step / their medians over steps", "ratio", sum[i] / sum_typical[i])
}

function over_ranks(   place, c, i, typical, list, seen, ranks, sum, sum_typical) {
  for (place in rank_count) {
    split("", seen)
    ranks = 0
    for (c = 1; c <= rank_count[place]; c++) {
      i = ranks_of[place, c]
      if (!(rank_of[i] in seen)) { seen[rank_of[i]] = 1; ranks++ }
      list[c] = dur[i]
    }
    if (ranks < 3) continue
    typical = median(list, rank_count[place])
    for (c = 1; c <= rank_count[place]; c++) {
      i = ranks_of[place, c]
      put("08b", "kernel time / median over ranks and steps, " kind[i] short(typical), "ratio", dur[i] / typical)
      sum[rank_of[i]] += dur[i]
      sum_typical[rank_of[i]] += typical
    }
  }
  for (i in sum) put("08d", "all kernels of a rank / their medians over ranks", "ratio", sum[i] / sum_typical[i])
}

# The same kernel of the same operator with the same shapes, wherever it stands.
function over_repeats(   w, c, typical, list) {
  for (w in repeat_count) if (repeat_count[w] >= 3) {
    for (c = 1; c <= repeat_count[w]; c++) list[c] = dur[repeats_of[w, c]]
    typical = median(list, repeat_count[w])
    for (c = 1; c <= repeat_count[w]; c++)
      put("08b2", "kernel time / median over repeats, " kind[repeats_of[w, c]] short(typical), "ratio", list[c] / typical)
  }
}
