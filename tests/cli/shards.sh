#!/usr/bin/env bash
# From one tensor-parallel rank to several and back: which collectives a built job has, and that it takes what it took.
#
#   tests/cli/shards.sh
#
# Expected are the collectives that a true run of the emulated cluster records. How long such jobs take: cli/sizes.sh.
. "$(dirname "$0")/lib.sh"
. "$here/predictions.sh"

model='--layers 2 --hidden 512 --heads 8 --seq 256 --vocab 8192 --micro-batches 2'

# recorded FILE OPTIONS...: the graph of such a job.
recorded() {
  local file=$1
  shift
  rm -rf emulated
  # shellcheck disable=SC2086
  emulated-cluster --quiet --plain --steps 2 --record shapes,collectives $model "$@" emulated || fail "the emulated cluster fails: $*"
  lumos-graph emulated/rank*.json >"$file" 2>message || fail "no graph of $*: $(head -c 300 message)"
}

# built FILE OPTIONS...: the job that lumos-transform makes of the recorded graph.
built() {
  local file=$1
  shift
  lumos-transform "$@" recorded -o "$file" 2>message || fail "$* is not built: $(head -c 300 message)"
}

# collectives STREAM...: how many there are of each operation, size and number of ranks, but for the few bytes of the gradients' norm, and gradients.
collectives() {
  only collective "$@" | sed -nE 's/.*"op":"([^"]*)".*"size":([0-9]+),"bytes":([0-9]+).*/\1 \3 of \2/p' | grep -vE ' (4|[0-9]{7,}) of ' | sort | uniq -c
}

# steps: of a stream at hand, the mean simulated step behind the first, in ns.
mean_step() { predicted_step <"$1" | cut -d '|' -f 1; }

for case in '' '--recompute full' '--recompute selective' '--pp 2' '--dp 2'; do
  # shellcheck disable=SC2086
  recorded true $case --tp 2
  # shellcheck disable=SC2086
  recorded recorded $case
  built two --tp 2
  collectives true >expected
  collectives two >found
  [ -s expected ] && same expected found "--tp 2 of one rank ($case) has other collectives than a true run: $(diff expected found | head -n 6)"
done

# Each rank with a part of the sequence: from one, from two that have it whole, and back to that. What norms and biases need once a step is not put in.
for case in '' '--recompute full' '--recompute selective' '--pp 2'; do
  # shellcheck disable=SC2086
  recorded true $case --tp 2 --sequence-parallel on
  collectives true | grep -vE ' all_reduce [0-9]{5} of ' >expected
  # shellcheck disable=SC2086
  recorded recorded $case
  built parts --tp 2 --sequence-parallel on
  collectives parts >found
  [ -s expected ] && same expected found "--sequence-parallel on of one rank ($case) has other collectives than a true run: $(diff expected found | head -n 6)"
  # shellcheck disable=SC2086
  recorded recorded $case --tp 2
  built parts --sequence-parallel on
  collectives parts >found
  same expected found "--sequence-parallel on ($case) has other collectives than a true run: $(diff expected found | head -n 6)"
  lumos-transform --sequence-parallel off parts 2>message | lumos-transform --sequence-parallel on -o again 2>>message || fail "on, off, on ($case): $(head -c 300 message)"
  collectives again >again.found
  same found again.found "--sequence-parallel on, off and on ($case) has other collectives than on: $(diff found again.found | head -n 6)"
  collectives recorded >expected
  lumos-transform --sequence-parallel off parts -o whole 2>message || fail "--sequence-parallel off ($case) is not built: $(head -c 300 message)"
  collectives whole >found
  same expected found "--sequence-parallel on, then off ($case) has other collectives: $(diff expected found | head -n 6)"
done

# Experts stay whole: ranks send their parts of sequences to them, and nothing is gathered for them. Who sums their gradients comes below.
for case in '--experts 4' '--experts 4 --ep 2 --dp 2' '--experts 16 --top-k 4 --ep 2 --dp 4 --pp 2 --recompute full'; do
  # shellcheck disable=SC2086
  recorded true $case --tp 2 --sequence-parallel on
  collectives true | grep -vE ' all_reduce [0-9]{5} of ' >expected
  # shellcheck disable=SC2086
  recorded recorded $case
  built parts --tp 2 --sequence-parallel on
  collectives parts >found
  [ -s expected ] && same expected found "--tp 2 of experts ($case) has other collectives than a true run: $(diff expected found | head -n 6)"
  # What gradients are summed by how many ranks, and how much of it.
  for job in true parts; do
    only collective $job | sed -nE 's/.*"op":"([^"]*)".*"size":([0-9]+),"bytes":([0-9]{7,}).*/\1 \2 \3/p' | grep '^all_reduce' |
      awk '{ sum[$2] += $3 } END { for (size in sum) printf "%d %.0f\n", size, sum[size] / 1e6 }' | sort >$job.sums
  done
  same true.sums parts.sums "--tp 2 of experts ($case) sums other gradients than a true run: $(diff true.sums parts.sums | head -n 6)"
done

# Recorded so: no gathers are left, nor what norms and biases need once a step; and what launches a sum says which.
recorded true --tp 2
recorded recorded --tp 2 --sequence-parallel on
built whole --sequence-parallel off
collectives true >expected
collectives whole >found
same expected found "--sequence-parallel off has other collectives than a true run: $(diff expected found | head -n 6)"
! only task whole | grep -qE '"name":"nccl[^"]*(ReduceScatter|AllGather)' || fail "kernels are named after what they no longer do: $(only task whole | grep -E -m 1 'ReduceScatter|AllGather')"

# One GPU needs no recorded groups to be one rank of every dimension, by which the page tells its tokens a second.
recorded recorded
jq -c 'del(.distributedInfo)' emulated/rank*.json >alone.json
lumos-transform alone.json --tp 2 -o two 2>message || fail "--tp 2 of one GPU: $(head -c 300 message)"
[ "$(only model two | jq -c '.recorded | [.ranks, .tp, .pp, .dp]')" = '[1,1,1,1]' ] || fail "one GPU was recorded as $(only model two | jq -c .recorded)"

# Both at once, of a job that does neither.
for again in full selective; do
  recorded true --tp 2 --recompute $again
  built two --tp 2 --recompute $again
  collectives true >expected
  collectives two >found
  same expected found "--tp 2 --recompute $again has other collectives than a true run: $(diff expected found | head -n 6)"
done

# A recorded job of two ranks, bound by its CPUs: what these did for the sums goes, and the waits for them.
recorded true
recorded recorded --tp 2
built one --tp 1
[ -z "$(collectives one)" ] || fail "--tp 1 of two ranks has collectives: $(collectives one | head -n 3)"
[ "$(grep -cF '"cudaStreamWaitEvent"' true)" -eq "$(grep -cF '"cudaStreamWaitEvent"' one)" ] || fail '--tp 1 of two ranks still waits'
calls() { only task "$1" | grep -cF '"lane":"t'; }
awk -v is="$(calls one)" -v was="$(calls true)" 'BEGIN { off = is / was - 1; exit off > 0.01 || off < -0.01 }' ||
  fail "--tp 1 of two ranks has $(calls one) tasks on threads, a true run $(calls true)"

# ---- there and back ----

recorded recorded
built same --rebuild
built two --tp 2
lumos-transform --tp 1 two -o back 2>message || fail "--tp 2, then --tp 1 is not built: $(head -c 300 message)"
[ -z "$(collectives back)" ] || fail "one rank still has collectives: $(collectives back | head -n 3)"
awk -v was="$(mean_step same)" -v is="$(mean_step back)" 'BEGIN { off = is / was - 1; exit off > 0.01 || off < -0.01 }' ||
  fail "--tp 2, then --tp 1 takes $(mean_step back) ns, before it took $(mean_step same)"
grep -qF '"code":"transform.assumed_sums"' two || fail 'nothing says that what ranks sum is assumed'
! grep -qF '"code":"transform.assumed_sums"' back || [ "$(grep -cF '"code":"transform.assumed_sums"' back)" -eq 1 ] || fail 'the note stands twice'

# ---- compiled ----

# A compiled backward pass is one node: its sums are found as those of the same model run op by op, phase by phase, also where a layer's
# labels end before its products do (llama), and where the feed-forward block is as wide as there are tokens (the GPT).
pairs=$source_folder/examples/pairs/h100
sums() { # of rank 0's second step: how many in each phase
  only task "$1" | awk "$field"' field("rank") == 0 && field("step") == 14 && field("kind") == "collective" { n[field("phase")]++ }
    END { for (phase in n) print phase, n[phase] }' | sort
}
for recording in layers=4 compile llama llama,compile; do
  lumos-transform --tp 2 "$pairs/$recording" -o built 2>message || fail "--tp 2 of $recording: $(head -c 300 message)"
  sums built >"$recording.sums"
done
[ -s layers=4.sums ] && same layers=4.sums compile.sums 'a compiled GPT has other sums'
[ -s llama.sums ] && same llama.sums llama,compile.sums 'a compiled llama has other sums'

# ---- what does not show it ----

# What is asked for is so already.
recorded recorded
built same --recompute none
grep -qF '"code":"transform.recompute_kept"' same || fail 'nothing says that --recompute none changes nothing'
built full --recompute full
! grep -qF '"code":"transform.recompute_kept"' full || fail '--recompute full is said to change nothing'
lumos-transform --recompute full full -o again 2>message || fail "--recompute full of a job that does: $(head -c 300 message)"
grep -qF '"code":"transform.recompute_kept"' again || fail 'nothing says that --recompute full changes nothing'

# A compiled pass that computes again: its products for inputs are not alone, and neither is what --recompute would take out or put in.
again=$source_folder/examples/pairs/h200/llama,kv-heads=8,compile,recompute
for asked in '--tp 2' '--recompute none' '--recompute selective' '--recompute full'; do
  # shellcheck disable=SC2086
  ! lumos-transform $asked "$again" >built 2>message || fail "$asked goes through a compiled pass that computes again"
done
grep -qF 'compiled backward pass computes part of the forward pass again' message || fail "of such a pass it says: $(cat message)"

# Parts of a sequence for one rank; for ranks that have them; and where gradients of weights are put off.
recorded recorded
! lumos-transform --sequence-parallel on recorded >built 2>message || fail 'one rank has a part of a sequence'
grep -qF 'give --tp, too' message || fail "of parts for one rank it says: $(cat message)"
recorded recorded --tp 2
built same --sequence-parallel off
grep -qF '"code":"transform.sequence_kept"' same || fail 'nothing says that --sequence-parallel off changes nothing'
built built --sequence-parallel on
! grep -qF '"code":"transform.sequence_kept"' built || fail '--sequence-parallel on is said to change nothing'
recorded recorded --tp 2 --pp 2 --schedule zb-h1
! lumos-transform --sequence-parallel on recorded >built 2>message || fail 'inputs are gathered for weights that are put off'
grep -qF 'gradients of weights are put off' message || fail "of weights that are put off it says: $(cat message)"

# Sequences that cannot be divided; experts; and ranks of which nothing says what they exchange.
recorded recorded --tp 2 --sequence-parallel on --seq 258
! lumos-transform --tp 4 recorded >built 2>message || fail '258 tokens are divided by 4'
grep -qF '258 tokens cannot be divided' message || fail "of 258 tokens for 4 ranks it says: $(cat message)"
! lumos-transform --tp 2 "$source_folder/examples/pairs/h200/mixtral" >built 2>message || fail 'experts get whole sequences'
grep -qF 'add --sequence-parallel=on' message || fail "of experts it says: $(cat message)"
rm -rf emulated
# shellcheck disable=SC2086
emulated-cluster --quiet --plain --steps 2 --record shapes,annotations $model --tp 2 --sequence-parallel on emulated || fail 'the emulated cluster fails: no arguments'
lumos-graph emulated/rank*.json >recorded 2>message
for word in on off; do
  ! lumos-transform --sequence-parallel $word recorded >built 2>message || fail "--sequence-parallel $word goes where nothing shows what ranks exchange"
  grep -qF 'does not show what tensor-parallel ranks exchange' message || fail "of ranks that show nothing it says: $(cat message)"
done
if have_traces; then
  ! lumos-transform --tp 2 "$traces/ao-ep-moe-2xB200" >built 2>message || fail '--tp 2 of a job without a model'
  grep -qF 'does not show the sizes of a model' message || fail "of a job without a model it says: $(cat message)"
fi

recorded recorded --graphs layers --tp 2
! lumos-transform --tp 1 recorded >built 2>message || fail 'work without shapes is divided among ranks'
grep -qF 'shapes are not known' message || fail "of work without shapes it says: $(cat message)"
recorded recorded --graphs layers
! lumos-transform --tp 2 recorded >built 2>message || fail 'halves of layers are found in CUDA graphs'
grep -qF 'CUDA graph' message || fail "of CUDA graphs it says: $(cat message)"

proved "from one tensor-parallel rank to two the collectives of 5 true runs, and of 3 with experts; to two and back the same step within 1 %"
finish
