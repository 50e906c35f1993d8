#!/usr/bin/env bash
# How ranks are spread (rank.parallel, group.role, the sizes in the model record) is what emulated jobs were told to be: by what
# groups are called, by what is communicated in them alone, with ranks missing, and of one rank. Nothing is ever wrong; where too
# little is known it is absent. And what the real jobs were.
. "$(dirname "$0")/lib.sh"

# emulate FOLDER OPTION...
emulate() {
  emulated-cluster --quiet --plain --steps 1 --hidden 512 --seq 512 --vocab 4096 "${@:2}" "$1" || fail "$1: the emulated cluster fails"
}

without_names() { sed 's/^\({"type":"group".*\)"name":"[^"]*",/\1/'; }
without_groups() { grep -v '^{"type":"group"'; }

# told FOLDER: "RANK TP PP DP" of every rank, and CP or EP where ranks share sequences or experts, and the sizes, as the job was started. Ranks are
# numbered tensor first, then context, then data; of a stage some in a row share experts.
told() {
  sed -nE 's/^"parallel": \{"tensor": ([0-9]+), "context": ([0-9]+), "pipeline": ([0-9]+), "data": ([0-9]+)(, "expert": )?([0-9]*),.*/\1 \3 \4 \2 \6/p' "$1"/truth.json |
    awk '{ all = $1 * $2 * $3 * $4; n = $4 > 1 ? 4 : 3
      for (rank = -1; rank < all; rank++) {
        at[1] = rank < 0 ? $1 : rank % $1; at[2] = rank < 0 ? $2 : int(rank / ($1 * $4 * $3)); at[3] = rank < 0 ? $3 : int(rank / ($1 * $4)) % $3
        at[4] = rank < 0 ? $4 : int(rank / $1) % $4
        line = rank < 0 ? "sizes" : rank
        for (i = 1; i <= n; i++) line = line " " at[i]
        if ($5 > 1) line = line " " (rank < 0 ? $5 : rank % ($1 * $4 * $3) % $5)
        print line
      } }'
}

# found: the same from a graph; "-" where it is absent, but for CP and EP, which then stand nowhere.
found() {
  only 'model|rank' graph | awk "$field"'
    function size(name,   value) { value = field(name); return value == "" ? "-" : value }
    {
      who = /^\{"type":"model"/ ? "sizes" : field("rank")
      from = index($0, "\"parallel\":{")
      $0 = from ? substr($0, from) : ""
      sub(/\}.*/, "}")
      line[++n] = who " " size("tp") " " size("pp") " " size("dp")
      cp[n] = field("cp"); ep[n] = field("ep")
      contexts = contexts || (who == "sizes" && cp[n] != "")
      experts = experts || (who == "sizes" && ep[n] != "")
    }
    END { for (i = 1; i <= n; i++) print line[i] ((contexts || !experts) && cp[i] != "" ? " " cp[i] : "") (ep[i] != "" ? " " ep[i] : "") }'
}

# spread_as_told NAME FOLDER [absent]: `graph` has every coordinate; with "absent": it may lack some or all.
spread_as_told() {
  local wrong
  told "$2" >expected
  found >spread
  wrong=$(awk -v absent="${3:-}" 'NR == FNR { told[$1] = $0; next }
    { n = split(told[$1], one); split($0, other)
      for (i = 1; i <= n; i++) if (other[i] != one[i] && !(absent != "" && other[i] == "-")) { print $0 " but told " told[$1]; next }
      seen[$1] = 1 }
    END { if (absent == "" && !seen["sizes"]) print "no sizes" }' expected spread)
  [ -z "$wrong" ] || fail "$1: $wrong"
}

graph_of() { lumos-graph "$@" -o graph 2>message || fail "graph fails: $(head -c 300 message)"; }

# looked_at NAME FOLDER RECORDED TRACE...: by what groups are called and by use alone, with `parse` from the traces.
looked_at() {
  local name=$1 folder=$2 recorded=$3
  lumos-parse "${@:4}" -o parse 2>message || fail "$name: parse fails: $(head -c 300 message)"
  graph_of parse
  spread_as_told "$name" "$folder"
  without_names <parse >unnamed
  graph_of unnamed
  spread_as_told "$name, no names" "$folder" "$([ "$recorded" = all ] || echo absent)"
}

jobs=0
# job NAME OPTION...: with everything recorded, and without arguments of collectives.
job() {
  local name=$1 recorded
  for recorded in all none; do
    emulate "$name" --record $recorded "${@:2}"
    jobs=$((jobs + 1))
    looked_at "$name, $recorded" "$name" $recorded "$name"/rank*.json
  done
  without_groups <parse >bare
  graph_of --edited bare
  spread_as_told "$name, no groups" "$name" absent
}

# few NAME: the last job again, of which a rank alone, or two, are there.
few() {
  local last=$(($(ls "$1"/rank*.json | wc -l) - 1)) ranks
  for ranks in 0 $last "0 $last"; do
    # shellcheck disable=SC2046,SC2086
    looked_at "$1, ranks $ranks" "$1" "$2" $(printf "$1/rank%d.json " $ranks)
  done
}

rarely job dp4 --dp 4 --layers 2 --micro-batches 2
rarely job dp4-optimizer --dp 4 --layers 2 --micro-batches 2 --distributed-optimizer on
rarely job tp2 --tp 2 --layers 3 --micro-batches 2
rarely job tp4-sequence --tp 4 --layers 2 --micro-batches 2 --sequence-parallel on
rarely job pp4 --pp 4 --layers 4 --micro-batches 4
rarely job pp2-gpipe --pp 2 --layers 4 --micro-batches 4 --schedule gpipe
job pp4-interleaved --steps 2 --pp 4 --vp 2 --schedule interleaved --layers 8 --micro-batches 8 --batched-p2p off
few pp4-interleaved none
rarely job pp4-zero-bubble --pp 4 --schedule zb-h1 --layers 4 --micro-batches 6
rarely job tp2pp2 --tp 2 --pp 2 --layers 4 --micro-batches 4
job tp2dp2 --tp 2 --dp 2 --layers 3 --micro-batches 3
few tp2dp2 none
rarely job pp2dp2 --pp 2 --dp 2 --layers 4 --micro-batches 4
job pp3dp2-late --pp 3 --dp 2 --layers 6 --micro-batches 4 --overlap-gradients off --batched-p2p off
rarely job tp2pp2dp2 --steps 2 --tp 2 --pp 2 --dp 2 --layers 4 --micro-batches 4 --sequence-parallel on --distributed-optimizer on
rarely job tp2pp2dp2-recompute --tp 2 --pp 2 --dp 2 --layers 4 --micro-batches 4 --recompute full
rarely job tp2pp2-interleaved --tp 2 --pp 2 --vp 2 --schedule interleaved --layers 4 --micro-batches 4
# Ranks that share sequences, by what groups are called: by use alone they may pass for shards that gather parts of sequences.
shared() {
  emulate shared "$@"
  jobs=$((jobs + 1))
  lumos-parse shared/rank*.json -o parse 2>message || fail "$*: parse fails: $(head -c 300 message)"
  graph_of parse
  spread_as_told "$*" shared
}
shared --cp 2 --layers 2 --micro-batches 2
shared --steps 2 --cp 2 --tp 2 --pp 2 --dp 2 --layers 4 --micro-batches 4 --sequence-parallel on --distributed-optimizer on
graph_of shared/rank0.json shared/rank15.json
spread_as_told 'two of 16 ranks that share sequences' shared
# A rank without its group of contexts has its place by its number, as in Megatron-LM, if those of all others are so.
grep -vE '^\{"type":"group".*"name":"CONTEXT_PARALLEL_GROUP".*"ranks":\[[0-9]*5,' parse >partly
graph_of --edited partly
spread_as_told 'a context group is missing' shared absent
check 'its ranks have their place by number' [ "$(found | awk 'NF == 5' | wc -l)" -eq 17 ]
rarely shared --cp 4 --dp 2 --layers 2 --micro-batches 2 --recompute full

# The same of ranks that share experts.
shared --experts 4 --ep 2 --dp 2 --layers 2 --micro-batches 2
shared --steps 2 --experts 8 --ep 4 --dp 8 --pp 2 --layers 4 --micro-batches 4 --distributed-optimizer on
graph_of shared/rank0.json shared/rank15.json
spread_as_told 'two of 16 ranks that share experts' shared
# A rank without its group of experts has its place by its number.
grep -vE '^\{"type":"group".*"name":"EXPERT_MODEL_PARALLEL_GROUP".*"ranks":\[[0-9,]*\b6\b' parse >partly
graph_of --edited partly
check 'ranks without a group of experts have their place by number' [ "$(found | sed -n 's/^6 //p')" = '0 0 6 2' ]
spread_as_told 'a group of experts is missing' shared
shared --steps 2 --experts 8 --ep 2 --tp 2 --sequence-parallel on --dp 4 --layers 2 --micro-batches 2
# Its groups of experts have the ranks of those of tensors, or of replicas; names tell them apart, and numbers the places of those that lack one.
grep -vE '^\{"type":"group".*"name":"EXPERT_MODEL_PARALLEL_GROUP".*"ranks":\[[0-9,]*\b6\b' parse >partly
graph_of --edited partly
spread_as_told 'a group of experts beside tensors is missing' shared
shared --steps 2 --experts 8 --ep 8 --tp 2 --cp 2 --sequence-parallel on --dp 2 --pp 2 --layers 2 --micro-batches 2
graph_of shared/rank0.json shared/rank15.json
spread_as_told 'two of 16 ranks that share tensors, sequences and experts' shared
rarely shared --experts 4 --ep 2 --dp 4 --pp 2 --vp 2 --schedule interleaved --layers 4 --micro-batches 4 --recompute full

job alone --layers 2 --micro-batches 2

# Roles, by use alone: those that the names say, where they are of an axis in use.
emulate job --steps 2 --tp 2 --pp 2 --dp 2 --layers 4 --micro-batches 4
few job all
lumos-parse job/rank*.json -o parse 2>message
graph_of parse
only group graph | jq -r 'select(.name != "default_pg") | "\(.id) \(.role)"' >expected
without_names <parse >unnamed
graph_of unnamed
only group graph | jq -r 'select(.role) | "\(.id) \(.role)"' >spread
check 'enough groups' [ "$(wc -l <expected)" -ge 18 ]
check 'roles by use are those by name' diff expected spread >&2

# Where nothing tells of which stage a rank is, its layers are not taken for all there are, and the note says why.
note() { only note graph | jq -r 'select(.code == "graph.program").text'; }
layers() { only model graph | jq -r 'select(.layers).layers'; }
emulate unplaced --record none --pp 2 --layers 4 --micro-batches 2
lumos-parse unplaced/rank*.json -o parse 2>message || fail 'unplaced: parse fails'
graph_of parse
check 'all layers where stages are known' [ "$(layers)" = 4 ]
check 'no doubt where stages are known' [ "$(note | grep -c 'pipeline stage of a rank is unknown')" -eq 0 ]
for rank in 0 1; do
  lumos-parse unplaced/rank$rank.json -o parse 2>message || fail 'unplaced: parse fails'
  graph_of parse
  check "a stage that is not there has as many layers as that of rank $rank" [ "$(layers)" = 4 ]
done
lumos-parse unplaced/rank*.json -o parse 2>message || fail 'unplaced: parse fails'
without_names <parse >unnamed
graph_of unnamed
check 'no layers where stages are not known' [ -z "$(layers)" ]
check 'the note says that stages are not known' [ "$(note | grep -c 'pipeline stage of a rank is unknown')" -eq 1 ]
micro_batches() { only model graph | jq -r 'select(.micro_batches).micro_batches'; }
check 'nor micro-batches, of which each may take several passes' [ -z "$(micro_batches)" ]
check 'but passes' [ "$(note | grep -c 'Forward passes of a rank per step: 2')" -eq 1 ]
lumos-sim graph >unplaced.sim && lumos-render --format json unplaced.sim -o unplaced.page || fail 'unplaced: no report'
check 'the report calls them so' [ "$(jq -c '.. | strings' unplaced.page | grep -c '2.*forward passes: forward spans')" -ge 1 ]

# A stage again from a graph says the same: what was inferred is forgotten first.
cp graph again
graph_of again
same graph again 'a graph of a graph is the same'

proved "the place of every rank of $jobs emulated jobs, by names and by use, with ranks missing and without names or groups"
have_traces || finish
# real SET SIZES: "TP PP DP", or nothing where it cannot be told.
real() {
  lumos-parse "$traces/$1" -o parse 2>message || fail "$1: parse fails"
  graph_of parse
  check "$1 is '$2', not '$(found | sed -n 's/^sizes //p')'" [ "$(found | sed -n 's/^sizes //p')" = "$2" ]
  [ -z "$2" ] || check "$1: every rank has its place" [ "$(found | grep -c -- '-')" -eq 0 ]
}
real megatron-tp2-V100 '2 1 1'
check 'the one group of megatron in which layers communicate' \
  [ "$(only group graph | jq -r 'select(.role) | "\(.id) \(.role)"')" = '13 tensor' ]
real nanogpt-8xH100-ddp '1 1 8'
check 'places are in the order of ranks' [ "$(found | awk '$1 != "sizes" { printf "%s ", $4 }')" = '0 1 2 3 4 5 6 7 ' ]
shares=$(note | grep -o '([0-9]* % of their time)' | tr -dc '0-9\n' | awk '{ sum += $1 } END { print sum }')
check "the evidence for layers, with what was launched before the recording, adds up to 100 %, not $shares %" [ "$shares" -ge 99 ] && [ "$shares" -le 101 ]
real df-index-V100x2-216k '1 1 2'
real hta-nccl-params-A100 '1 1 2'
real tracelens-resnet-8xMI300-rank0 '1 1 8'
real dlrm-8xV100 '1 1 8'
real hta-epoch-float-ts-V100 '1 1 1'
real ao-ep-moe-2xB200 ''
real torchrec-4xV100-lateRank2 ''
real hta-cpu-only-gloo ''
real ao-vit-cudagraph-A100 ''
finish
