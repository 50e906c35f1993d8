# The steps: how many kernels they have and how various, and how long they take.
$10 == "" { next }
{
  step = $1 FS $10
  if ($3 > last_end[step]) last_end[step] = $3
}
$6 == "copy" || $6 == "memset" { next }
{ kernels[step]++ }
$6 == "gemm" {
  if (!((step, $7) in seen)) { seen[step, $7] = 1; gemms[step]++ }
  product = $1 FS $13 FS $14
  if ($14 !~ /[0-9]/) next
  if (!((product, $7) in seen)) { seen[product, $7] = 1; kernels_of[product]++; shapes_of[$1 FS $7]++ }
}
END {
  for (product in kernels_of) put("09a", "GEMM kernels per GEMM shape", "count", kernels_of[product])
  for (kernel in shapes_of) put("09b", "GEMM shapes per GEMM kernel", "count", shapes_of[kernel])
  for (step in gemms) put("09c", "GEMM kernels per step, distinct", "count", gemms[step])
  for (step in kernels) put("09d", "kernels per step", "count", kernels[step])
  for (step in last_end) {
    split(step, part)
    before = part[1] FS part[2] - 1
    if (!(before in last_end)) continue
    time[step] = last_end[step] - last_end[before]
    put("11a", "step time", "ms", time[step] / 1e6)
  }
  for (step in kernels) group[step] = rank_of(step)
  deviations("09e", "kernels per step, from the mean of the rank", kernels)
  for (step in time) group[step] = rank_of(step)
  deviations("11b", "step time, from the mean of the rank", time)
  for (step in time) group[step] = rank_of(step) FS kernels[step]
  deviations("11c", "step time, from the mean of the rank's like steps", time)
}

function rank_of(step,   part) {
  split(step, part)
  return part[1]
}

function deviations(order, quantity, value,   step, sum, count) {
  for (step in value) { sum[group[step]] += value[step]; count[group[step]]++ }
  for (step in value) if (count[group[step]] > 1)
    put(order, quantity, "%", 100 * (value[step] * count[group[step]] / sum[group[step]] - 1))
}
