# Rows as a table or as lines of JSON.
BEGIN {
  form = "%-63s %-5s %-16s %8s %9s %9s %9s %9s %9s\n"
  if (!json) printf form, "quantity", "unit", "job", "count", "p5", "p50", "p90", "p99", "mean"
}
json {
  printf "{\"quantity\":\"%s\",\"unit\":\"%s\",\"job\":\"%s\",\"count\":%d,", $2, $4, $5, $6
  printf "\"p5\":%.6g,\"p50\":%.6g,\"p90\":%.6g,\"p99\":%.6g,\"mean\":%.6g}\n", $7, $8, $9, $10, $11
  next
}
{ printf form, $2, $4, $5, $6, digits($7), digits($8), digits($9), digits($10), digits($11) }

# Four digits, and never an exponent.
function digits(value,   size) {
  size = value < 0 ? -value : value
  if (size < 0.00005) return "0"
  return sprintf("%.*f", size >= 1000 ? 0 : size >= 100 ? 1 : size >= 10 ? 2 : size >= 1 ? 3 : 4, value)
}
