#!/usr/bin/env bash
# What a step communicates, counted by hand from how Megatron-LM spreads a GPT; and what traces say of it, the same on all members.
. "$(dirname "$0")/lib.sh"
hidden=1024 tokens=512 vocabulary=8192 batches=3
job=(--hidden $hidden --seq $tokens --vocab $vocabulary --micro-batches $batches --layers 4 --steps 1 --warmup 1 --without latency)

# census RANK: of a job's only recorded step, "group op bytes number", group by the first word of its description.
census() {
  jq -r --argjson rank "$1" --slurpfile trace "$2/rank$1.json" '
    ($trace[0].distributedInfo.pg_config | map({key: .pg_name, value: .pg_desc}) | from_entries) as $groups
    | .collectives.columns as $names | (.steps[0].step) as $step
    | [.collectives.rows[] | . as $row | [$names, $row] | transpose | map({key: .[0], value: .[1]}) | from_entries
       | select(.step == $step and any(.ranks[]; . == $rank)) | "\($groups[.communicator] | split("_")[0]) \(.op) \(.bytes)"]
    | group_by(.) | map("\(.[0]) \(length)") | .[]' "$2/truth.json" | sort
}

# wants RANK JOB: what is on standard input, in any order.
wants() {
  sort >wanted
  census "$1" "$2" >counted
  cmp -s wanted counted || fail "$2, rank $1 communicates otherwise: $(diff wanted counted | grep '^[<>]' | tr '\n' ';')"
}

# Two stages of two layers, two tensor ranks with sequence parallelism, two replicas. A tensor rank's activation between linear layers is
# tokens / 2 x hidden in bfloat16, the gathered one twice that. For a micro-batch a layer gathers before its two column-parallel products,
# in backward again for the gradient of their weights, and gathers the gradient before its two row-parallel ones: 6; it scatters behind the two row-parallel ones and
# in backward behind the two column-parallel ones: 4. The embedding scatters once and gathers once; the head gathers twice and scatters
# once. Its loss reduces the maximum, the label's logit and the sum, and is averaged over the replicas once a step. Norms, and the biases behind row-parallel products, see a part of the sequence, so their gradients
# are summed: 6 hidden a layer, 2 hidden for the last norm, in float32. Buckets hold the whole of a stage's gradients (100 MB is more).
activation=$((tokens * hidden * 2))
layer=$((6 * hidden * hidden + 19 * hidden / 2)) # parameters of a tensor rank: half of 12 hidden^2, of the biases of 7 hidden, and all of 6 hidden
embedding=$((vocabulary / 2 * hidden))
emulate spread "${job[@]}" --tp 2 --pp 2 --dp 2 --sequence-parallel on --record collectives
wants 0 spread <<EOF
TENSOR all_gather $activation $((batches * (2 * 6 + 1)))
TENSOR reduce_scatter $activation $((batches * (2 * 4 + 1)))
TENSOR broadcast $((8 * tokens)) $batches
TENSOR all_reduce $((4 * 2 * 6 * hidden)) 1
PIPELINE send_receive $((activation / 2)) $((2 * batches))
DATA all_reduce $((4 * (2 * layer + embedding))) 1
EMBEDDING all_reduce $((4 * embedding)) 1
MODEL all_reduce 4 1
EOF
wants 4 spread <<EOF
TENSOR all_gather $activation $((batches * (2 * 6 + 2)))
TENSOR reduce_scatter $activation $((batches * (2 * 4 + 1)))
TENSOR broadcast $((8 * tokens)) $batches
TENSOR all_reduce $((4 * tokens)) $((3 * batches))
TENSOR all_reduce $((4 * (2 * 6 * hidden + 2 * hidden))) 1
PIPELINE send_receive $((activation / 2)) $((2 * batches))
DATA all_reduce $((4 * (2 * layer + embedding + 2 * hidden))) 1
DATA all_reduce 4 1
EMBEDDING all_reduce $((4 * embedding)) 1
MODEL all_reduce 4 1
EOF

# Without sequence parallelism a layer all-reduces twice forward and twice backward, the embedding once, the head once backward.
emulate plain "${job[@]}" --tp 2 --record collectives
wants 1 plain <<EOF
TENSOR all_reduce $activation $((batches * (4 * 4 + 1 + 1)))
TENSOR all_reduce $((4 * tokens)) $((3 * batches))
TENSOR broadcast $((8 * tokens)) $batches
MODEL all_reduce 4 1
EOF

# With the distributed optimizer gradients are scattered and parameters gathered, and Adam has half to do on each of two replicas.
parameters=$((4 * (12 * hidden * hidden + 13 * hidden) + vocabulary * hidden + 2 * hidden))
emulate whole "${job[@]}" --dp 2 --record collectives --ideal
emulate shared "${job[@]}" --dp 2 --record collectives --ideal --distributed-optimizer on
sum() { census 0 "$1" | awk -v op="$2" '$1 == "DATA" && $2 == op && $3 > 4 { bytes += $3 * $4 } END { printf "%.0f", bytes }'; }
[ "$(sum whole all_reduce)" = $((4 * parameters)) ] || fail "gradients of $(sum whole all_reduce) bytes are reduced, not $((4 * parameters))"
[ "$(sum shared reduce_scatter)" = $((4 * parameters)) ] || fail "gradients of $(sum shared reduce_scatter) bytes are scattered, not $((4 * parameters))"
[ "$(sum shared all_gather)" = $((2 * parameters)) ] || fail "parameters of $(sum shared all_gather) bytes are gathered, not $((2 * parameters))"
tables whole
tables shared
adam() { awk -F'\t' '$13 ~ /[Aa]dam/ { time += $5 - $4 } END { print time }' "$1/work"; }
awk -v whole="$(adam whole)" -v half="$(adam shared)" 'BEGIN { exit !(half > 0 && half > whole * 0.48 && half < whole * 0.56) }' ||
  fail "Adam takes $(adam shared) ns of half the parameters, $(adam whole) of all"

# ---- what the traces say ----

# arguments JOB: rank, and the arguments of every communication kernel that has them.
arguments() {
  local trace
  for trace in "$1"/rank*.json; do
    jq -r '.distributedInfo.rank as $rank | .traceEvents[] | select(.cat == "kernel" and .args["Collective name"] != null) | .args
      | [$rank, .["Collective name"], .["Process Group Name"], .Seq, (.["Comms Id"] | tostring), .["In msg nelems"], .["Out msg nelems"], .["Group size"],
         .["Src Rank"] // -1, .["Dst Rank"] // -1] | @tsv' "$trace"
  done >arguments
}

# A collective has one id, and no other collective has it; what is gathered grows by the size of the group, what is scattered shrinks.
arguments spread
holds 'arguments of collectives' '
  $2 ~ /send|recv|coalesced/ { next }
  { seen++; key = $3 OFS $4; members[key]++ }
  key in id && id[key] != $5 { print "two ids", $0 }
  $5 in of && of[$5] != key { print "one id for two", $0 }
  { id[key] = $5; of[$5] = key }
  $2 ~ /gather/ && $7 != $6 * $8 { print "gathers", $0 }
  $2 ~ /scatter/ && $6 != $7 * $8 { print "scatters", $0 }
  $2 ~ /allreduce|broadcast/ && $6 != $7 { print "changes its size", $0 }' arguments

# Sends go to the other stage, and receives come from it.
emulate apart "${job[@]}" --pp 2 --batched-p2p off --record collectives
arguments apart
holds 'arguments of sends and receives' '
  $2 !~ /send|recv/ { next }
  { seen++ }
  $2 ~ /send/ && $10 != 1 - $1 { print "sends to", $10, $0 }
  $2 ~ /recv/ && $9 != 1 - $1 { print "receives from", $9, $0 }' arguments

# The groups that a trace lists are those that the rank is in.
for rank in 0 3 5; do
  jq -e --argjson rank $rank '.distributedInfo.pg_config | length > 3 and all(.[]; .ranks | index($rank) != null)' "spread/rank$rank.json" >/dev/null ||
    fail "rank $rank lists groups that it is not in"
done
finish
