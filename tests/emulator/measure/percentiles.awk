# From values in order, a row a quantity: order, quantity, number of the job, unit, job, count, percentiles, mean.
$1 FS $2 != quantity { row(); quantity = $1 FS $2; unit = $3; n = sum = 0 }
{ value[++n] = $4; sum += $4 }
END { row() }

function at(percent) { return value[1 + int(percent / 100 * (n - 1) + 0.5)] }

# Of a call that is rare there is nothing to say.
function row() {
  if (n == 0 || (quantity ~ /\tcall / && n < 20)) return
  print quantity, number, unit, job, n, at(5), at(50), at(90), at(99), sum / n
}
