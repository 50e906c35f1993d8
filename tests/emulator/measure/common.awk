# What all parts share: how a value is handed on, and medians.
BEGIN {
  FS = OFS = "\t"
  OFMT = CONVFMT = "%.15g"
}

# order: where the quantity stands in the table.
function put(order, quantity, unit, value) { print order, quantity, unit, value >> values }

function sort_numbers(list, low, high,   i, j, pivot, held) {
  while (low < high) {
    pivot = list[int((low + high) / 2)]
    i = low
    j = high
    while (i <= j) {
      while (list[i] < pivot) i++
      while (list[j] > pivot) j--
      if (i <= j) { held = list[i]; list[i++] = list[j]; list[j--] = held }
    }
    if (j - low < high - i) { sort_numbers(list, low, j); low = i }
    else { sort_numbers(list, i, high); high = j }
  }
}

# Of list[1..n], which it sorts.
function median(list, n) {
  sort_numbers(list, 1, n)
  return n % 2 ? list[(n + 1) / 2] : (list[n / 2] + list[n / 2 + 1]) / 2
}
