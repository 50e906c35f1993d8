#!/usr/bin/env bash
# What the command line takes: --help tells the limits of each option, and they hold; what has none of its own has them together.
. "$(dirname "$0")/lib.sh"
small=(--quiet --hidden 512 --seq 512 --vocab 4096 --layers 2 --micro-batches 2 --steps 1 --warmup 1 --ranks none)

# refuses TEXT OPTION...: one line that says TEXT, and nothing is left.
refuses() {
  local text=$1
  shift
  expect 2 emulated-cluster "${small[@]}" "$@" refused
  clean message
  [ "$(wc -l <message)" -eq 1 ] && grep -q '^emulated-cluster: ' message && grep -qF -- "$text" message || fail "$*: the message is $(head -c 300 message)"
  [ ! -e refused ] || fail "$*: a folder is left"
}
takes() { check "$* is refused" emulated-cluster "${small[@]}" "$@" taken; }

# ---- each by itself ----

check '--help' emulated-cluster --help >help
sed -nE 's/^  --([a-z-]+) (N|X|MB|US|GB\/s|WHAT=X|RANK=X|RANK=MS|LINK=X|C,T) .*; from ([0-9.]+) to ([0-9.]+)$/\1 \2 \3 \4/p' help >limits
[ "$(wc -l <limits)" -ge 24 ] || fail "--help tells $(wc -l <limits) limits"
for option in $(grep -oE '^  --[a-z-]+ (N|X|MB|US|GB/s|WHAT=X|RANK=X|RANK=MS|LINK=X|C,T) ' help | grep -oE -- '--[a-z-]+' | grep -v -- --seed); do
  grep -q "^${option#--} " limits || fail "--help does not tell the limits of $option"
done
while read -r option argument least most; do
  case $argument in
    N) beyond=($((least - 1)) $((most + 1)) 99999999999 1$most$most$most) forms=('' ' 1' '1 ' +1 -1 0x1 1e0 1.0 1, one) ;;
    WHAT=X) beyond=("gemm=$most.5") forms=(1 gemm gemm= gemm=-1 'gemm= 1' gemm=0x1 gemm=inf gemm=nan gem=1 =1) ;;
    RANK=X | RANK=MS) beyond=("0=$most.5" 0=0) forms=(1 0 0= =1 '0= 1' ' 0=1' +0=1 0=0x1 0=inf 0=nan 0=-1 0x0=1 x=1 0-0=1) ;;
    LINK=X) beyond=("0=$most.5" 0=0.5) forms=(1 0 0-0 0= =1 -=1 0-=1 -0=1 0--0=1 0-0-0=1 '0= 1' ' 0=1' '0 -0=1' +0=1 0=0x1 0=inf 0=nan 0=-1 0x0=1 x=1) ;;
    C,T) beyond=("0,$most.5" "$most.5,0") forms=(1 1, ,1 '1, 1' ' 1,1' -1,1 0x1,1 1,nan inf,1) ;;
    *) beyond=("$most.5") forms=('' ' 1' '1 ' +1 -1 0x1 inf nan 1e999 one 1,5) ;;
  esac
  for text in "${beyond[@]}" "${forms[@]}"; do refuses "--$option $text: $argument from $least to $most is wanted" "--$option=$text"; done
done <limits
for text in '' ' 5' -5 ' -5' +5 0x5 5e0 18446744073709551616; do refuses "--seed $text: " --seed "$text"; done
for text in '' ' 0' 0- -0 +0 0,,1 0x0 0--1 1-0 1 99999999999999999999; do refuses '--ranks' --ranks "$text"; done
for others in '' '--dp 2 --pp 2' '--dp 2 --schedule zb-h1' '--dp 2 --distributed-optimizer on' '--dp 2 --graphs layers'; do
  # shellcheck disable=SC2086
  refuses '--fsdp: with --dp of at least 2' --fsdp on $others
done
takes --fsdp on --dp 2 --recompute full --leave-out gradients
takes --fsdp on --dp 2 --recompute selective
takes --memory on --fsdp on --dp 2 --recompute full
takes --memory on --tp 2 --sequence-parallel on --pp 2 --dp 2 --distributed-optimizer on
for others in '--fsdp on --dp 2 --tp 2' '--fsdp on --dp 2 --recompute selective' '--leave-out norm' '--schedule zb-h1 --pp 2' '--cp 2' '--graphs layers'; do
  # shellcheck disable=SC2086
  refuses '--memory: without --fsdp' --memory on $others
done
for others in '--dp 2 --fsdp on' '--graphs layers' '--graphs passes'; do
  # shellcheck disable=SC2086
  refuses '--cp: without --fsdp and --graphs' --cp 2 $others
done
refuses '--seq (512) must be a multiple of 2 times --cp (6)' --cp 3
refuses '--seq (512) must be a multiple of 2 times --cp times --tp (1024)' --cp 64 --tp 8 --heads 8 --sequence-parallel on
refuses 'at most 16384' --cp 64 --dp 512
takes --cp 2 --dp 2 --pp 2 --recompute full --leave-out gradients
takes --cp 4 --tp 2 --sequence-parallel on --distributed-optimizer on --record all
for others in '--dp 2 --fsdp on' '--graphs layers'; do
  # shellcheck disable=SC2086
  refuses '--experts: without --fsdp and --graphs' --experts 4 $others
done
refuses '--experts: with --tp, --sequence-parallel on, too, as Megatron-LM demands' --experts 4 --tp 2
refuses '--ep: with --experts' --ep 2 --dp 2
refuses '--experts: with --gpu h100, h200 or b200' --experts 4 --gpu a100
refuses '--top-k (3): at most --experts (2)' --experts 2 --top-k 3
refuses '--experts (6) must be a multiple of --ep (4)' --experts 6 --ep 4 --dp 4
refuses '--tp times --cp times --dp (2) must be a multiple of --ep (4)' --experts 8 --ep 4 --dp 2
refuses '--micro-batch times --seq times --top-k (510) must be a multiple of --tp times --cp times --ep (4)' --experts 8 --ep 4 --dp 4 --seq 510 --top-k 1
takes --experts 4 --ep 2 --dp 2 --pp 2 --recompute full --leave-out gradients --record all
takes --experts 4 --ep 4 --tp 2 --cp 2 --sequence-parallel on --pp 2 --record all
takes --experts 4 --ep 2 --dp 4 --top-k 1 --distributed-optimizer on --recompute selective --scale all-to-all=2
refuses "--recompute half: none|full|selective is wanted" --recompute half
takes --seed 18446744073709551615
takes --hidden 64 --heads 1 --jitter .5 --nic-bandwidth 1e2 --contention 0,10 --scale gemm=0 --scale host=1e-3 --straggler 0=0.001 --slow-host 0=1 --seed 0

for option in straggler slow-host slow-link slow-data; do
  refuses "--$option 1=2: the ranks are 0 to 0" --$option 1=2
  # shellcheck disable=SC2046 # words
  refuses "--$option: at most 64 times" $(printf -- "--$option 0=1 %.0s" {1..65})
done
refuses '--slow-link 0-2=2: the ranks are 0 to 1' --dp 2 --slow-link 0-2=2
takes --dp 2 --slow-link 0-1=2 --slow-link 1=3 --slow-link 1-1=1 --slow-data 0=0.5 --slow-data 0=2 --read-back 2
for text in '' 1 1,1,1 1, ,1 1,,1 0,2 -1,1 1.5,1 x,1 4096,1 99999999999999999,1; do
  refuses "--stage-layers $text: a number for each of 2 stages is wanted, at most 4096 together" --pp 2 "--stage-layers=$text"
done
refuses 'without --vp' --pp 2 --vp 2 --schedule interleaved --stage-layers 2,2
takes --pp 3 --stage-layers 1,4,2 --record all
refuses '--read-back: not with --graphs' --graphs layers --read-back 1

refuses 'ops have names' --leave-out norm,op=
refuses 'at most 16 of them' --leave-out "$(printf 'op=%d,' {1..16})op=17"
for text in '' norm, ,norm Norm gemm 'norm ' p2p op; do refuses "--leave-out: no work that can be left out is called '" --leave-out "$text"; done
for text in '' norm, copy gemm op=aten::add; do refuses "--fuse: no kernels that can be fused are called '" --fuse "$text"; done
takes --fuse elementwise,norm,reduction,optimizer,embedding
takes --leave-out norm,elementwise,reduction,optimizer,embedding,copy,memset,all-reduce,gradients --leave-out norm --tp 2 --pp 2 --dp 2

# ---- together ----

refuses 'with those before it' --scale gemm=1e4 --scale gemm=1e3
refuses 'with those before it' --straggler 0=1e6 --straggler 0=1e6 --straggler 0=1e6
refuses 'with those before it' --slow-host 0=1e6 --slow-host 0=2
takes --scale gemm=1e6 --scale gemm=1e-6
refuses '--heads times --head-dim' --heads 1048576 --head-dim 1048576
refuses 'largest tensor' --micro-batch 4096 --seq 1048576 --hidden 1048576
refuses 'largest tensor' --micro-batch 4096 --seq 65536 --hidden 64 --vocab 1048576
refuses 'parameters' --hidden 1048576 --heads 8192
refuses 'parameters' --hidden 16384 --layers 4096
refuses 'at most 16384' --dp 16384 --tp 2

# A job that takes too long says so; whatever factors come together, no time overflows.
refuses 'longer than 104 days' --scale device=1e6 --scale gemm=1e6 --scale part-head=1e6 --straggler 0=1e6 --jitter 100
refuses 'longer than 104 days' --scale host=1e6 --slow-host 0=1e6 --jitter 100
refuses 'longer than 104 days' --tp 2 --scale communication=1e6 --scale all-reduce=1e6 --nic-bandwidth 0.001 --nic-latency 1e6 --node-size 1
takes --scale device=0 --scale communication=0 --scale host=0 --tp 2 --pp 2
takes --ideal --scale device=0 --scale communication=0 --dp 2
proved 'options keep to the limits that --help tells'
finish
