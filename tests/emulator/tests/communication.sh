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

# The gradient's norm is of all that the optimizer holds: the model's ranks have it together, but where replicas share the optimizer each has a part,
# so that all ranks of the job sum. Then gradients are scattered in float32, padded to whole shares, and parameters gathered in bfloat16.
rank_parameters=$((4 * layer + embedding + 2 * hidden))
emulate norm "${job[@]}" --tp 2 --dp 2 --distributed-optimizer on --bucket-mb 1000 --record collectives
for rank in 0 3; do
  wants $rank norm <<EOF
TENSOR all_reduce $activation $((batches * (4 * 4 + 1 + 1)))
TENSOR all_reduce $((4 * tokens)) $((3 * batches))
TENSOR broadcast $((8 * tokens)) $batches
DATA reduce_scatter $((4 * rank_parameters)) 1
DATA all_gather $((2 * rank_parameters)) 1
DATA all_reduce 4 1
default all_reduce 4 1
EOF
done

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

truth apart
holds 'pairs go from their source to their destination' '
  $2 == "send_receive" { seen++; split($10, r, ","); if ($6 != r[1] || $7 != r[2] || r[1] == r[2]) print "from", $6, "to", $7, "among", $10; sent[r[1], $3]++ }
  $2 != "send_receive" && ($6 != -1 || $7 != -1) { print $2, "has a source" }' apart/collectives
jq -r '.distributedInfo.rank as $rank | .traceEvents[] | select(.cat == "kernel" and (.args["Collective name"] // "" | IN("send", "recv"))) | [$rank, .args.correlation, .args["Collective name"]] | @tsv' \
  apart/rank*.json >kernels
holds 'the first of a pair sends' '
  FILENAME == "kernels" { kind[$1, $2] = $3; next }
  $2 == "send_receive" { split($10, r, ","); split($13, c, ","); for (i = 1; i <= 2; i++) if ((r[i], c[i]) in kind) { seen++; if (kind[r[i], c[i]] != (i == 1 ? "send" : "recv")) print "rank", r[i], "of", $10, "does", kind[r[i], c[i]] } }' kernels apart/collectives

# NCCL gives a pair a channel, which is a block of the kernel, for every 128 KiB: 8 for this tensor, but 4 at the most between nodes.
emulate across "${job[@]}" --pp 2 --batched-p2p off --node-size 1 --ranks 0
for placed in 'apart 8' 'across 4'; do
  [ "$(jq -c '[.traceEvents[] | select(.cat == "kernel" and (.name | contains("SendRecv"))) | .args.grid] | unique' "${placed% *}/rank0.json")" = "[[${placed#* },1,1]]" ] ||
    fail "${placed% *}: sends and receives have not ${placed#* } blocks"
done

# PyTorch counts a rank's sends and receives in a group from the job's beginning, whatever is recorded. Two stages exchange two tensors a micro-batch: each a
# number where they are apart, while those that go out together have one. What all steps do alike takes as many numbers in each.
# numbered JOB NUMBERS: of a step, 0: as many as there are
numbered() {
  local trace
  for trace in "$1"/rank*.json; do
    jq -r '.distributedInfo.rank as $rank | .traceEvents[] | select(.ph == "X" and (.cat == "user_annotation" or .cat == "cpu_op")) | .args as $args
      | if .name | startswith("ProfilerStep#") then [$rank, .ts, "step", (.name[13:] | tonumber)]
        elif ($args["Collective name"] // "" | test("^(send|recv|coalesced)")) and $args.Seq then [$rank, .ts, $args["Process Group Name"], $args.Seq] else empty end | @tsv' "$trace"
  done | sort -t$'\t' -k1,1n -k2,2n >sequences
  holds "$1: sends and receives are numbered from the job's beginning" '
    $3 == "step" { step[$1] = $4; steps[$1, $4]; next }
    { seen++; at = $1 OFS $3; here = at OFS step[$1] }
    !(here in first) { first[here] = $4; last[here] = $4 - 1; of[here] = step[$1] }
    $4 < last[here] || $4 > last[here] + 1 { print at, "in step", step[$1], "has number", $4, "behind", last[here] }
    { last[here] = $4 }
    END { for (i in first) { n = last[i] - first[i] + 1; if (first[i] != of[i] * n + 1 || (wanted && n != wanted)) print i, "begins at", first[i], "and has", n } }' wanted="$2" sequences
}
emulate late "${job[@]}" --pp 2 --dp 2 --batched-p2p off --warmup 3 --steps 2 --record collectives
numbered late $((2 * batches))
emulate together "${job[@]}" --pp 2 --warmup 2 --steps 2 --record collectives
numbered together 0

# Batched, each is recorded in its own op, and all of a batch are launched behind these: one kernel, of no op and without arguments, in an annotation of its own.
# batched JOB
batched() {
  local trace
  for trace in "$1"/rank*.json; do
    jq -r '.distributedInfo.rank as $rank | .traceEvents[] | select(.ph == "X") | .args as $args
      | if .cat == "cpu_op" and (.name | test("^c10d::(send|recv_)$")) then [$rank, .ts, "op", .name]
        elif .name == "record_param_comms" and ($args["Collective name"] | test("send|recv")) then [$rank, .ts, $args["Collective name"], $args["Dst Rank"] // $args["Src Rank"], $args.Seq, $args["In msg nelems"], $args["Out msg nelems"]]
        elif .cat == "user_annotation" and .name == "nccl:coalesced" then [$rank, .ts, "batch", .dur]
        elif .cat == "cuda_driver" and .name == "cuLaunchKernelEx" then [$rank, .ts, "launch", $args.correlation, $args["External id"] // -1]
        elif .cat == "kernel" and (.name | test("SendRecv")) then [$rank, -1, "kernel", $args.correlation, $args["External id"] // -1, $args["Collective name"] // "none"] else empty end | @tsv' "$trace"
  done | sort -t$'\t' -k1,1n -k2,2n
}
batched together >batches
holds 'batches of sends and receives' '
  $3 == "kernel" { pairs[$1, $4]; if ($5 != -1 || $6 != "none") print "a batch tells", $0; next }
  $3 == "op" { op[$1] = $4; next }
  $3 ~ /^(send|recv)$/ {
    if (op[$1] !~ "::" $3) print $3, "in", op[$1]
    if ($4 != 1 - $1 || $6 != $7 || $6 < 1) print "it is", $0
    if (parts[$1]++ && $5 != number[$1]) print "one batch has two numbers", $0
    number[$1] = $5; seen++
  }
  $3 == "batch" { if (!parts[$1]) print "an empty batch", $0; many += parts[$1] > 1; parts[$1] = 0; end[$1] = $2 + $4; next }
  $3 == "launch" && ($1, $4) in pairs { if ($2 > end[$1]) print "a batch is launched outside", $0; if ($5 != -1) print "an op launches a batch", $0; launched++ }
  END { if (!many) print "no batch has two parts"; if (!launched) print "no batch is launched" }' batches
holds 'what one stage sends the other receives' '
  $3 ~ /^(send|recv)$/ { seen++; count[$1, $3]++ }
  END { for (rank = 0; rank < 2; rank++) if (count[rank, "send"] != count[1 - rank, "recv"] || count[rank, "send"] != wanted) print rank, "sends", count[rank, "send"] }' wanted=$((2 * batches)) batches

# ---- the rows of an operation ----

# What the host calls for a collective, in the annotation and around it, as in real traces with that NCCL; and to wait for it.
# called JOB VERSION INFOS LAUNCH: what stands in the two places that differ
called() {
  local folder=$1 version=$2 infos=$3 launch=$4
  emulate "$folder" "${job[@]}" --tp 2 --dp 2 --nccl "$version" --record collectives
  jq -e --arg version "$version" '.distributedInfo.nccl_version == $version' "$folder/rank0.json" >/dev/null || fail "--nccl $version: the trace does not say so"
  jq -r '.traceEvents[] | select(.ph == "X" and (.cat | IN("cpu_op", "user_annotation", "cuda_runtime", "cuda_driver"))) | [.tid, .ts, .dur, .cat, .name, .args["Collective name"] // ""] | @tsv' "$folder/rank0.json" |
    sort -t$'\t' -k1,1n -k2,2n -k3,3nr >called
  holds "$folder: the calls of operations" '
    $4 == "cpu_op" || $1 != thread || $2 >= end { if (op != "") said[op, calls]++; op = "" }
    $5 == "record_param_comms" { op = $6 == "wait" ? "wait" : "operation"; thread = $1; end = $2 + $3; inside = 0; calls = ""; next }
    op == "" || ($4 == "user_annotation" && $5 !~ /^nccl:/) { next }
    $4 == "user_annotation" { inside = $2 + $3; calls = calls " {"; next }
    inside && $2 >= inside { calls = calls " }"; inside = 0 }
    { calls = calls " " substr($4, 6, 1) ":" $5 }
    END {
      wanted["wait"] = " r:cudaStreamIsCapturing r:cudaStreamWaitEvent"
      wanted["operation"] = " r:cudaStreamIsCapturing r:cudaStreamIsCapturing r:cudaEventRecordWithFlags r:cudaStreamIsCapturing r:cudaStreamWaitEvent {" infos \
        " r:cudaEventRecord r:cudaStreamWaitEvent" launch " r:cudaEventRecord r:cudaStreamWaitEvent r:cudaStreamIsCapturing r:cudaEventRecordWithFlags r:cudaEventRecord"
      for (i in said) { seen++; split(i, at, SUBSEP); if (at[2] != wanted[at[1]]) print said[i], "of", at[1], at[2] }
      if (seen != 2) print seen, "kinds"
    }' infos="$infos" launch="$launch" called
}
called nccl-2.17 2.17.1 ' r:cudaStreamGetCaptureInfo_v2' ' r:cudaLaunchKernelExC'
called nccl-2.28 2.28.9 ' r:cudaStreamGetCaptureInfo_v2' ' r:cudaGetFuncBySymbol d:cuLaunchKernelEx'
called nccl-2.29 2.29.7 ' r:INVALID r:INVALID' ' r:cudaGetFuncBySymbol d:cuLaunchKernelEx'

# Matrix products are launched by the driver, too, where their library does so.
holds 'launches of kernels, by library' '
  $2 == "cuda_runtime" || $2 == "cuda_driver" { call[$1, $7] = $3 }
  $2 == "kernel" { name[$1, $7] = $3 }
  END { for (i in name) if (i in call) { seen++
    wanted = name[i] ~ /^nvjet|^nccl/ ? "cuLaunchKernelEx" : name[i] ~ /^triton_/ ? "cuLaunchKernel" : name[i] ~ /^sm90_xmma/ ? "cudaLaunchKernelExC" : "cudaLaunchKernel"
    if (call[i] != wanted) print name[i], "by", call[i] } }' <(for rank in 0 1; do rows nccl-2.28 $rank; done)

# ---- groups ----

# Ranks count tensor-parallel ranks first, then replicas, then stages, as Megatron-LM lays them out: who is in a group agrees in all that its kind does not
# vary. A trace lists the groups that its rank is in, once each, all in which it is not alone; and every row that communicates says of its group what the list says. PyTorch
# names 29 ranks of more than 30, and the last. Its waits name no ranks.
# groups JOB TP PP DP
groups() {
  local trace
  for trace in "$1"/rank*.json; do
    jq -r --argjson tp "$2" --argjson pp "$3" --argjson dp "$4" '
      def place: {TENSOR: (. % $tp), DATA: ((. / $tp | floor) % $dp), STAGE: (. / ($tp * $dp) | floor)};
      def varies: {default_pg: ["TENSOR", "DATA", "STAGE"], DATA_PARALLEL_GROUP: ["DATA"], MODEL_PARALLEL_GROUP: ["TENSOR", "STAGE"],
        TENSOR_MODEL_PARALLEL_GROUP: ["TENSOR"], PIPELINE_MODEL_PARALLEL_GROUP: ["STAGE"], EMBEDDING_GROUP: ["STAGE"]};
      def members($of): . as $kind | [range($tp * $pp * $dp) | select((place | delpaths([varies[$kind][] | [.]])) == ($of | place | delpaths([varies[$kind][] | [.]])))
        | select($kind != "EMBEDDING_GROUP" or place.STAGE == 0 or place.STAGE == $pp - 1)];
      def text: map(tostring) | if length > 30 then .[:29] + ["..."] + .[-1:] else . end | "[\(join(", "))]";
      .distributedInfo as $job | $job.rank as $rank | ($job.pg_config | map({key: .pg_name, value: .}) | from_entries) as $groups
      | [varies | keys[] | . as $kind | {pg_desc: $kind, ranks: members($rank)} | select((.ranks | length > 1 and index($rank) != null) or $kind == "default_pg")] as $wanted
      | ($job.pg_config | map({pg_desc, ranks} | select((.ranks | length > 1) or .pg_desc == "default_pg")) | sort) as $listed
      | (if $listed != ($wanted | sort) then "rank \($rank) lists \($listed), not \($wanted | sort)" else empty end),
        (if $job.pg_count != ($job.pg_config | length) or $job.world_size != $tp * $pp * $dp or any($job.pg_config[]; .pg_size != (.ranks | length)) or
          ($groups | length) != ($job.pg_config | length) then "rank \($rank) miscounts" else empty end),
        (.traceEvents[] | select((.args["Collective name"] // "wait") != "wait") | .args as $args | $groups[$args["Process Group Name"]] as $group
          | if $args["Group size"] == $group.pg_size and $args["Process Group Description"] == $group.pg_desc and $args["Process Group Ranks"] == ($group.ranks | text)
              and (.cat == "kernel" or ([$group.ranks[1:], $group.ranks[:-1]] | transpose | map(.[0] - .[1]) | unique) as $strides
                | if ($strides | length) == 1 then $args["Global rank start"] == $group.ranks[0] and $args["Global rank stride"] == $strides[0] else $args["Global rank stride"] == null end)
              and (.cat == "kernel" or ($args["Collective name"] | IN("send", "recv", "coalesced")) or $args.Rank == if $args["Collective name"] == "broadcast" then 0 else $group.ranks | index($rank) end)
              and $args.dtype == ($args["Collective name"] | if . == "broadcast" then "Long" elif $args["Process Group Description"] | test("^(DATA|MODEL|EMBEDDING|default)") then
                if . == "_allgather_base" then "BFloat16" else "Float" end else $args.dtype end) then "seen"
            else "rank \($rank) \(.cat) \($args["Collective name"]) says \($args["Group size"]) \($args["Process Group Ranks"]) \($args["Process Group Description"]) \($args.dtype) \($args.Rank) of \($group)" end)' "$trace"
  done >said
  holds "$1: groups" '$0 == "seen" { seen++; next } { print }' said
}
groups spread 2 2 2
groups norm 2 1 2
groups apart 1 2 1
emulate many --layers 1 --hidden 256 --seq 128 --vocab 1024 --heads 2 --dp 33 --steps 1 --warmup 1 --micro-batches 1 --ranks 0,32 --record collectives
groups many 1 1 33
proved 'what a step communicates is what is counted by hand, and traces say it alike on all members'
finish
