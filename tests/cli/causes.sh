# Sourced by diagnosis.sh: emulated jobs that are slow for one known reason, drawn by chance from `seed`.
#
# draw CAUSE NUMBER: one job, the same whatever else is drawn. Each cause has six kinds, which its numbers go through; all else is drawn. Sets
#   options   of the emulated cluster
#   healthy   the same of the job without its cause: what that costs is the difference of their steps
#   culprit   the rank that must be named, or ""
#   guilty    the ranks that may be named; "": nobody in particular
#   stage     the stage that has more work, or ""; the last one has a little more in every job, the head
#   means     what is wrong, in words
causes=(slow_gpu slow_cpu slow_link imbalance cpu_bound data_loader synchronization communication bubble compute)
kinds=6

# one_of WORD...: picks one.  between LEAST MOST: a whole number.  factor LEAST MOST: of hundredths, as 1.25.
one_of() {
  shift $((RANDOM % $#))
  picked=$1
}
between() { picked=$(($1 + RANDOM % ($2 - $1 + 1))); }
factor() {
  between "$1" "$2"
  printf -v picked '%d.%02d' $((picked / 100)) $((picked % 100))
}

# spread WAY: how the model is spread over how many ranks.
spread() {
  case $1 in
    one) ranks=1 && options+=(--layers 4) ;;
    dp) one_of 2 3 4 6 && ranks=$picked && options+=(--layers 4 --dp "$ranks") ;;
    tp) ranks=4 && options+=(--layers 4 --tp 2 --dp 2) ;;
    pp) ranks=4 && options+=(--layers 4 --pp 2 --dp 2) ;;
    deep) ranks=4 && options+=(--layers 8 --pp 4) ;;
  esac
  case $1 in
    pp) between 11 16 ;; # so many that the bubble of the schedule is small
    deep) between 15 18 ;;
    *) between 2 3 ;;
  esac
  options+=(--micro-batches "$picked")
}

# Hidden size and sequences in a micro-batch: a GPU has more to do than its host, by much or by little, or less.
sized() { options+=(--hidden "$1" --micro-batch "$2"); }
large() { one_of '2048 2' '2048 3' '3072 1' '3072 2' && sized $picked; }
middling() { one_of '2048 1' '1536 2' && sized $picked; }
small() { one_of '256 1' '512 1' '512 2' '768 1' && sized $picked; }


# What a cause adds to the healthy job stands in cause_options, or healthy_options undoes it.
draw() {
  local cause=$1 number=$2
  RANDOM=$(($(cksum <<<"$seed $cause $number" | cut -d' ' -f1) % 32768))
  : $RANDOM $RANDOM $RANDOM # seeds that lie near each other begin with numbers that do
  options=() cause_options=() healthy_options=() culprit='' guilty='' stage=''
  vocabulary=8192
  "draw_$cause" $((number % kinds))
  options+=(--vocab "$vocabulary")
  one_of shapes,annotations,collectives shapes,collectives collectives && options+=(--record "$picked")
  between 3 4 && options+=(--steps "$picked")
  # Where hosts set the pace, more chance than measured would make one of them truly late.
  factor 60 "$([ "$cause" = cpu_bound ] && echo 100 || echo 140)" && options+=(--jitter "$picked" --seed "$((1 + RANDOM))")
  healthy=("${options[@]}" "${healthy_options[@]}")
  options+=("${cause_options[@]}")
}

draw_slow_gpu() {
  local ways=(dp dp tp pp deep dp) least=(120 120 140 150 180 120)
  spread "${ways[$1]}"
  large
  culprit=$((RANDOM % ranks)) guilty=$culprit
  factor "${least[$1]}" 200
  means="rank $guilty's kernels take $picked times as long"
  cause_options=(--straggler "$guilty=$picked")
}

draw_slow_cpu() {
  local ways=(dp dp tp dp pp dp) least=(170 170 170 170 210 170)
  spread "${ways[$1]}"
  middling
  culprit=$((RANDOM % ranks)) guilty=$culprit
  factor "${least[$1]}" 300
  means="rank $guilty's host takes $picked times as long"
  cause_options=(--slow-host "$guilty=$picked")
}

# There are like groups, which are not slow. Whose fault it is within a group its members do not show.
draw_slow_link() {
  local link
  case $1 in
    0 | 3) # a tensor-parallel pair
      one_of 2 3 && ranks=$((2 * picked)) && options+=(--layers 4 --tp 2 --dp "$picked" --micro-batches 2)
      between 0 $((ranks / 2 - 1)) && guilty="$((2 * picked)) $((2 * picked + 1))" link=${guilty/ /-}
      large && factor 350 700
      ;;
    1) # two of four tensor-parallel ranks
      options+=(--layers 4 --tp 4 --dp 2 --micro-batches 2 --hidden 4096)
      one_of 0-1 1-2 0-3 4-5 5-7 && link=$picked
      if [ "${link%-*}" -lt 4 ]; then guilty='0 1 2 3'; else guilty='4 5 6 7'; fi
      factor 350 700
      ;;
    2) # neighbours in the pipeline
      between 12 16 && options+=(--layers 4 --pp 4 --micro-batches "$picked")
      between 0 2 && guilty="$picked $((picked + 1))" link=${guilty/ /-}
      large && factor 4000 7000
      ;;
    4) # replicas of one shard
      options+=(--layers 4 --tp 2 --dp 2 --micro-batches 2)
      one_of 0-2 1-3 && link=$picked guilty=${picked/-/ }
      large && factor 800 1400
      ;;
    5) # all links of one rank
      options+=(--layers 4 --tp 2 --dp 3 --micro-batches 2)
      between 0 5 && link=$picked guilty="$picked $((picked ^ 1)) $(((picked + 2) % 6)) $(((picked + 4) % 6))"
      large && factor 300 600
      ;;
  esac
  means="transfers over link $link take $picked times as long"
  cause_options=(--slow-link "$link=$picked")
}

draw_imbalance() {
  local stages layers
  between 11 15 && options+=(--micro-batches "$picked")
  large
  case $1 in
    0 | 1 | 2) # one stage with more layers; healthy: as many in each
      one_of '2 1 3' '2 2 6' '3 2 5' '3 3 6' '4 2 6' && read -r stages least most <<<"$picked"
      between 0 $((stages - 1)) && stage=$picked
      for ((i = 0; i < stages; i++)); do layers+=,$((i == stage ? most : least)); done
      means="stage $stage has $most layers, the others $least each"
      options+=(--pp "$stages" --layers $((((stages - 1) * least + most))))
      cause_options=(--stage-layers "${layers#,}")
      ;;
    3 | 4) # a head that takes as long as some layers
      one_of 2 4 && stages=$picked stage=$((picked - 1))
      factor 900 1400
      means="the head, on stage $stage, takes $picked times as long"
      options+=(--pp "$stages" --layers $((2 * stages)))
      cause_options=(--scale "part-head=$picked")
      ;;
    5)
      one_of 2 4 && stages=$picked stage=$((picked - 1))
      between 50 90
      means="stage $stage has a head of $((1000 * picked)) words"
      options+=(--pp "$stages" --layers "$stages")
      cause_options=(--vocab "$((picked * 1000))")
      ;;
  esac
  one_of 1 1 2 && options+=(--dp "$picked")
  guilty=$(seq -s ' ' $((stage * picked)) $((stage * picked + picked - 1)))
}

draw_cpu_bound() {
  local ways=(one dp dp tp one dp)
  spread "${ways[$1]}"
  small
  factor 100 160
  means="kernels are short, and the host takes $picked times as long"
  options+=(--scale "host=$picked")
  healthy_options=(--scale host=0.02)
}

draw_data_loader() {
  local ways=(dp one dp tp pp dp) whose=(one all one all one all) each=() i
  spread "${ways[$1]}"
  large
  between 20 60
  [ "${ways[$1]}" != pp ] || picked=$((picked + 60))
  culprit=$((RANDOM % ranks)) guilty=$culprit means="rank $culprit waits $picked ms a step for its data"
  [ "${whose[$1]}" = one ] || { culprit='' guilty=$(seq -s ' ' 0 $((ranks - 1))) && means="all ranks wait $picked ms a step for their data"; }
  for i in $guilty; do each+=(--slow-data "$i=$picked"); done
  cause_options=("${each[@]}")
}

draw_synchronization() {
  local ways=(one dp one dp one dp)
  spread "${ways[$1]}"
  middling
  between 8 14
  means="the host reads $picked values of each layer"
  cause_options=(--read-back "$picked")
}

draw_communication() {
  local ways=(dp dp dp tp tp dp)
  case ${ways[$1]} in
    dp) # gradients, between nodes
      one_of 2 4 && options+=(--layers 4 --dp "$picked" --micro-batches 2 --node-size 1)
      large
      one_of on on off && options+=(--overlap-gradients "$picked")
      one_of on off off && options+=(--distributed-optimizer "$picked")
      between 5 20 && options+=(--nic-bandwidth "$picked")
      ;;
    tp) # activations, between nodes
      options+=(--layers 4 --tp 4 --micro-batches 2 --node-size 2 --hidden 4096)
      one_of on off && options+=(--sequence-parallel "$picked")
      between 8 25 && options+=(--nic-bandwidth "$picked")
      ;;
  esac
  means="nodes are joined by $picked GB/s a GPU"
  healthy_options=(--scale communication=0.01)
}

draw_bubble() {
  local ways=('2 2 4' '4 1 4' '4 1 8' '2 1 4' '4 1 4' '4 1 8') stages deep
  read -r stages picked deep <<<"${ways[$1]}"
  options+=(--pp "$stages" --dp "$picked" --layers "$deep")
  between "$stages" $((stages * 3 / 2)) && options+=(--micro-batches "$picked")
  means="$stages stages have $picked micro-batches"
  one_of 1f1b 1f1b gpipe && options+=(--schedule "$picked")
  vocabulary=1024
  large
}

draw_compute() {
  local ways=(one dp dp one dp dp)
  case ${ways[$1]} in
    dp) one_of 2 4 && options+=(--dp "$picked") ;;
  esac
  between 3 4 && options+=(--layers 2 --micro-batches "$picked")
  one_of '4096 3' '4096 4' '3072 4' && sized $picked
  means='nothing is wrong'
}
