#!/usr/bin/env bash
# tests/emulator/measure.sh on a job whose irregularities are set: five steps on two ranks, in whole microseconds, the last of which is left
# out because the recording cuts it. Every figure expected below can be worked out from the rows of `step`.
. "$(dirname "$0")/lib.sh"
measure=$source_folder/tests/emulator/measure.sh
export LUMOS_BIN=$bin

host() { # host CATEGORY NAME START DUR ARGS
  printf ',\n{"ph":"X","cat":"%s","name":"%s","pid":9,"tid":9,"ts":%d,"dur":%d,"args":{%s}}' "$@"
}
op() { host cpu_op "$1" "$2" "$3" '"Input Dims":[[64,64],[64,64]]'; }
call() { host cuda_runtime "$1" "$2" "$3" "\"correlation\":$4"; }
kernel() { # kernel NAME STREAM START DUR CORRELATION [MORE]
  printf ',\n{"ph":"X","cat":"kernel","name":"%s","pid":0,"tid":%d,"ts":%d,"dur":%d,"args":{"device":0,"stream":%d,"correlation":%d%s}}' \
    "$1" "$2" "$3" "$4" "$2" "$5" "${6:-}"
}

# step RANK NUMBER. In step 2 a call takes twice its time; before step 3 the job pauses 300 us; in step 3 a kernel is a tenth slower, the
# all-reduce runs on beside the next kernel, which takes twice its time, and rank 1 ends it 6 us late.
step() {
  local rank=$1 number=$2 odd=$(($2 == 3)) pointwise='void at::native::vectorized_elementwise_kernel<4>'
  local at=$((1000000 + 3000 * number + (number >= 3) * 300)) id=$((10 * number))
  host user_annotation "ProfilerStep#$number" $at 2900 ''
  op aten::mm $((at + 10)) 20
  call cudaLaunchKernel $((at + 12)) 6 $((id + 1))
  kernel ampere_sgemm_64x64_nn 7 $((at + 20)) 50 $((id + 1))
  op aten::relu $((at + 33)) 20
  call cudaLaunchKernel $((at + 35)) $((number == 2 ? 16 : 8)) $((id + 2))
  kernel "$pointwise" 7 $((at + 71)) $((30 + 3 * odd)) $((id + 2))
  op c10d::allreduce_ $((at + 53)) 17
  call cudaStreamWaitEvent $((at + 54)) 2 $((id + 3))
  call cudaLaunchKernelExC $((at + 57)) 9 $((id + 4))
  kernel ncclDevKernel_AllReduce_Sum_bf16_RING_LL 20 $((at + 105 + 3 * odd)) $((40 + 885 * odd + 6 * odd * rank)) $((id + 4)) \
    ",\"Collective name\":\"allreduce\",\"In msg nelems\":4096,\"Out msg nelems\":4096,\"Group size\":2,\"dtype\":\"BFloat16\",
    \"Process Group Name\":\"0\",\"Process Group Ranks\":\"[0, 1]\",\"Seq\":$number"
  op aten::add $((at + 1000)) 20
  call cudaLaunchKernel $((at + 1002)) 6 $((id + 5))
  kernel "$pointwise" 7 $((at + 1011)) $((5 + 5 * odd)) $((id + 5))
  op aten::mul $((at + 1100)) 40
  call cudaLaunchKernel $((at + 1102)) 6 $((id + 6))
  kernel "$pointwise" 7 $((at + 1111)) 30 $((id + 6))
  call cudaLaunchKernel $((at + 1112)) 8 $((id + 7))
  kernel "$pointwise" 7 $((at + 1140)) 20 $((id + 7))
}

trace() { # trace RANK
  local number
  printf '{"schemaVersion":1,"baseTimeNanoseconds":0,"distributedInfo":{"backend":"nccl","rank":%d,"world_size":2},"traceEvents":[\n' "$1"
  printf '{"ph":"M","name":"process_name","pid":9,"tid":0,"ts":0,"args":{"name":"python"}}'
  for number in 0 1 2 3 4; do step "$1" $number; done
  printf ']}\n'
}

trace 0 >rank0.json
trace 1 >rank1.json
check 'the job is not measured' "$measure" --json -o lines made=rank0.json,rank1.json

# Quantity, count, median, 99th percentile, mean.
cat >expected <<'END'
host gap below 1 ms|24|80|930|337.667
host gap of 1 ms or more|6|1870|2170|1970
consecutive host events without a gap|1|80|80|80
uncovered host time in gaps of 1 ms or more|1|59.3254|59.3254|59.3254
call cudaLaunchKernel|40|6|16|7.2
host segment / median over steps|136|1|2|1.00294
host segment / median over steps, below 2 us|16|1|1|1
launch delay on an idle stream, kernel|14|3|3|2.57143
back-to-back gap, kernel|8|1|1|1
overlaps among back-to-back kernels|1|50|50|50
overlap of back-to-back kernels|8|1|1|1
event latency|6|4|4|4
kernel time / median over steps, gemm|8|1|1|1
kernel time / median over steps, memory-bound|24|1|1.1|1.00833
kernel time / median over steps, memory-bound, below 10 us|6|1|1|1
all kernels of a step / their medians over steps|8|1|1.02308|1.00577
kernel time beside communication / alone, memory-bound|2|2|2|2
GEMM kernels per GEMM shape|2|1|1|1
GEMM kernels per step, distinct|8|1|1|1
kernels per step|8|6|6|6
collective end skew|8|0|3|0.75
collective last end - first end|4|0|6|1.5
collective arrival spread|4|0|0|0
step time|6|3|3.3|3.1
step time, from the mean of the rank|6|-3.22581|6.45161|0
END
while IFS='|' read -r quantity figures; do
  found=$(jq -r --arg quantity "$quantity" 'select(.quantity == $quantity) | [.count, .p50, .p99, .mean] | map(tostring) | join("|")' lines)
  [ "$found" = "$figures" ] || fail "$quantity: found '$found', expected '$figures'"
done <expected
! grep -q cudaLaunchKernelExC lines || fail 'a call too rare to say anything of is listed'

# The table is the same figures; several jobs stand side by side; what cannot be measured is refused.
check 'two jobs are not measured' "$measure" -o table made=rank0.json,rank1.json example="$source_folder"/examples/traces
grep -qE '^call cudaLaunchKernel +us +made +40 +6\.000 +6\.000 +8\.000 +16\.00 +7\.200$' table || fail 'the table lacks a row'
[ "$(grep -A1 '^kernels per step .* made ' table | tail -1 | awk '{ print $5 }')" = example ] || fail 'the jobs do not stand side by side'
clean table
! "$measure" made=none.json >none 2>message || fail 'a trace that is not there is no failure'
grep -q none.json message || fail "the message does not name the trace: $(cat message)"
[ ! -s none ] || fail 'a failure left a table'
expect 2 "$measure" rank0.json
proved 'measure.sh finds the irregularities that a job was given'
finish
