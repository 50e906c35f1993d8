#!/usr/bin/env bash
# The folder of a run: all its files or none, however it ends; an earlier run's are replaced, anybody else's are never touched.
. "$(dirname "$0")/lib.sh"
small=(--quiet --hidden 512 --seq 512 --vocab 4096 --layers 2 --micro-batches 2 --steps 2 --warmup 1)
long=(--quiet --hidden 1024 --seq 512 --vocab 4096 --layers 24 --micro-batches 8 --dp 4 --steps 5 --record all)

# holds_files FOLDER NAME...: these and no others, hidden ones included.
holds_files() {
  local folder=$1
  shift
  [ "$(ls -A "$folder" | sort | tr '\n' ' ')" = "$(printf '%s\n' "$@" | sort | sed '/^$/d' | tr '\n' ' ')" ] || fail "$folder holds $(ls -A "$folder" | tr '\n' ' ')"
}

# ---- an earlier run ----

check 'a new folder' emulated-cluster "${small[@]}" --dp 4 job
holds_files job rank{0,1,2,3}.json.gz truth.json
check 'a smaller job in the same folder' emulated-cluster "${small[@]}" --dp 2 job
holds_files job rank{0,1}.json.gz truth.json
check 'the same job elsewhere' emulated-cluster "${small[@]}" --dp 2 other
for file in rank0.json.gz rank1.json.gz truth.json; do same job/$file other/$file "$file is another where an earlier run was"; done
check 'uncompressed' emulated-cluster "${small[@]}" --dp 2 --ranks 1 --plain job
holds_files job rank1.json truth.json
check 'properties of many GPUs before the id' emulated-cluster "${small[@]}" --node-size 1024 job
check 'and over them' emulated-cluster "${small[@]}" job
rm job/truth.json # as after a run that was killed while it changed places
check 'an earlier run without its truth' emulated-cluster "${small[@]}" --ranks none job
holds_files job truth.json

# ---- files of others ----

mkdir -p keep/rank9.json.d keep/.hidden
echo text | tee keep/notes.txt keep/rank.json keep/rankings.json keep/rank1.json.bak keep/truth.json.old keep/rank12345678901.json >keep/.hidden/rank0.json
cp -r keep kept
check 'beside other files' emulated-cluster "${small[@]}" keep
# shellcheck disable=SC2046 # several names
holds_files keep rank0.json.gz truth.json $(ls -A kept)
rm keep/rank0.json.gz keep/truth.json
check 'other files are as they were' diff -r keep kept

# refuses FILE: where it is in the folder, nothing is run and nothing changes.
refuses() {
  rm -rf before
  cp -r job before
  expect 2 emulated-cluster "${small[@]}" --dp 2 job
  grep -qF "emulated-cluster: job/$1: no emulated run wrote it" message || fail "$1: the message is $(head -c 300 message)"
  check "$1 is as it was" diff -r --no-dereference before job
}
check 'a run' emulated-cluster "${small[@]}" job
for name in rank0.json rank7.json rank7.json.gz rank007.json truth.json; do
  cp -r job saved
  echo '{"schemaVersion": 1, "traceEvents": []}' >job/$name
  refuses $name
  : >job/$name
  refuses $name
  rm job/$name
  mkdir job/$name
  refuses $name
  rm -r job
  mv saved job
done
cp job/rank0.json.gz job/rank1.json.gz
refuses rank1.json.gz # renamed, it is nobody's
rm job/rank1.json.gz
ln -s rank0.json.gz job/rank2.json.gz
refuses rank2.json.gz
rm job/rank2.json.gz
zcat job/rank0.json.gz | sed 's/"trace_id": "[0-9A-F]\{16\}/"trace_id": "0123456789ABCDEF/' >job/rank3.json
refuses rank3.json
rm job/rank3.json
mkfifo job/rank4.json
refuses_fifo() { expect 2 timeout 20 emulated-cluster "${small[@]}" job; }
refuses_fifo
rm job/rank4.json

# ---- runs that fail ----

rm -rf before
cp -r job before
# fails TEXT STATUS COMMAND...: it ends so, and the earlier run is as it was; where there was none, there is no folder.
fails() {
  local text=$1 wanted=$2
  shift 2
  expect "$wanted" "$@" job
  check "$text: the earlier run is as it was" diff -r before job
  expect "$wanted" "$@" fresh
  [ ! -e fresh ] || fail "$text: a folder is left"
}
limited() ( ulimit -f 20; exec emulated-cluster "${small[@]}" --plain "$@" )
fails 'a file that cannot be written whole' 2 limited
grep -q '^emulated-cluster: ' message || fail "a file that cannot be written whole: the message is $(head -c 300 message)"
if { (ulimit -v 200000 && emulated-cluster --version); } >/dev/null 2>&1; then # not with AddressSanitizer
  starved() ( ulimit -v 200000; exec emulated-cluster --quiet --layers 64 --pp 64 --micro-batches 16384 --ranks none "$@" )
  fails 'out of memory' 2 starved
  grep -q '^emulated-cluster: out of memory' message || fail "out of memory: the message is $(head -c 300 message)"
fi
expect 2 emulated-cluster "${small[@]}" no/such/folder
expect 2 emulated-cluster "${small[@]}" job/truth.json
check 'folders that cannot be made change nothing' diff -r before job

# ---- signals ----

# writing FOLDER: until a run has begun to write.
writing() {
  local left=3000
  until compgen -G "$1/.emulated-cluster-*/rank*" >/dev/null; do
    ((left-- > 0)) || { fail 'nothing is ever written'; return; }
    sleep 0.02
  done
}
# ended SIGNAL FOLDER [WHOM]: a run there ends by the signal while it writes, sent to it or (WHOM run) to the process that does the work.
ended() {
  env --default-signal=HUP,INT,TERM,PIPE,ALRM,USR1,USR2,XCPU,XFSZ emulated-cluster "${long[@]}" "$2" 2>message &
  local process=$! status=0
  writing "$2"
  if [ "${3-}" = run ]; then kill -s "$1" "$(pgrep -P $process)"; else kill -s "$1" $process; fi
  wait $process || status=$?
  echo $status
}
signals=(TERM INT HUP)
if [ "${LUMOS_ALL:-no}" = yes ]; then signals+=(PIPE ALRM USR1 USR2 XCPU XFSZ); else echo 'SKIPPED in part: six of nine signals (LUMOS_ALL=yes, as tests/run.sh --all does)'; fi
for signal in "${signals[@]}"; do
  [ "$(ended $signal job)" -eq $((128 + $(kill -l $signal))) ] || fail "$signal: the status is another"
  check "$signal: the earlier run is as it was" diff -r before job
  ended $signal fresh >/dev/null 2>&1
  [ ! -e fresh ] || fail "$signal: a folder is left"
done
[ "$(ended KILL job run)" -eq 2 ] || fail 'where the system kills the run, the status is not 2'
grep -q '^emulated-cluster: .*memory' message || fail "where the system kills the run, the message is $(head -c 300 message)"
check 'where the system kills the run, the earlier one is as it was' diff -r before job
[ "$(ended KILL fresh)" -eq 137 ] || fail 'KILL: the status is another'
left=$(ls -A fresh)
[[ $left =~ ^\.emulated-cluster-[A-Za-z0-9]{6}$ ]] || fail "KILL leaves ${left//$'\n'/ }"
mkdir fresh/.emulated-cluster-else fresh/.emulated-cluster-others
echo text >fresh/.emulated-cluster-others/notes.txt
( flock 9; emulated-cluster "${small[@]}" fresh ) 9<"fresh/$left" || fail 'beside what is in use, it fails'
[ -d "fresh/$left" ] || fail 'what is in use is removed'
check 'beside what has just been left' emulated-cluster "${small[@]}" fresh
holds_files fresh rank0.json.gz truth.json .emulated-cluster-else .emulated-cluster-others
check 'what others put into such a folder is there' [ -f fresh/.emulated-cluster-others/notes.txt ]
# Runs that begin in one folder at once do not take each other's files for left: each ends well, and nothing of any is left but the last one's.
processes=()
for seed in 1 2 3 4 5 6 7 8; do
  for ((i = 0; i < 8; i++)); do emulated-cluster --quiet --hidden 64 --heads 1 --seq 64 --vocab 128 --layers 1 --micro-batches 1 --steps 1 --warmup 1 --ranks none --seed $seed crowd || exit 1; done &
  processes+=($!)
done
for process in "${processes[@]}"; do wait "$process" || fail 'a run beside others fails'; done
holds_files crowd truth.json
env --ignore-signal=HUP emulated-cluster "${long[@]}" --ranks 0 held &
process=$!
writing held
kill -s HUP $process
check 'under nohup, HUP ends nothing' wait $process
holds_files held rank0.json.gz truth.json

# ---- what is said ----

expect 2 emulated-cluster "${small[@]/--quiet/--plain}" said >/dev/full
[ ! -e said ] || fail 'where the summary cannot be said, a folder is left'
expect 2 emulated-cluster "${small[@]/--quiet/--plain}" job >/dev/full
check 'where the summary cannot be said, the earlier run is as it was' diff -r before job
expect 2 emulated-cluster --help >/dev/full
expect 2 emulated-cluster --version >/dev/full
emulated-cluster --help >help
grep -q '^FOLDER is made' help || fail '--help does not say what becomes of files in the folder'
proved 'all files or none, whatever ends a run'
finish
