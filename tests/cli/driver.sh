#!/usr/bin/env bash
# lumos: runs the tools by their short names and is out of the way: arguments, input, output, status and signals are the tool's.
. "$(dirname "$0")/lib.sh"

# --- The real tools ---

lumos >list
lumos --help >help
same list help "'lumos' and 'lumos --help' differ"
lumos help >help
same list help "'lumos' and 'lumos help' differ"
clean list
tr '\n' ' ' <list | tr -s ' ' >words
for path in "$bin"/lumos-*; do
  tool=$(basename "$path")
  summary=$($tool --help | sed '/^$/q' | tr '\n' ' ' | tr -s ' ' | sed "s/^$tool - //")
  grep -qF " ${tool#lumos-} $summary" words || fail "the list lacks ${tool#lumos-} with its summary '$summary'"
  same <(lumos "${tool#lumos-}" --help) <($tool --help) "lumos ${tool#lumos-} --help is not $tool --help"
done
expect 0 lumos --version >version
grep -qE '^lumos [0-9]+\.[0-9]+\.[0-9]+$' version || fail "lumos --version says '$(cat version)'"

lumos-parse "${example[@]}" | lumos-sim | lumos-render >page.html
lumos parse "${example[@]}" | lumos sim | lumos render >driven.html || fail 'the pipe of lumos fails'
same page.html driven.html 'lumos parse | lumos sim | lumos render gives another page than the tools'
lumos report "${example[@]}" -o driven.html || fail 'lumos report fails'
same page.html driven.html 'lumos report gives another page'
expect 2 lumos sim missing-file
says 'lumos-sim: missing-file'
head -c 40000 "${example[0]}" >cut.json.gz
expect 1 lumos parse --strict cut.json.gz -o none
says 'lumos-parse:'

# --- What is no command ---

wrong() {
  local text=$1
  shift
  expect 2 lumos "$@" >nothing
  grep -q '^lumos: ' message && grep -qF -- "$text" message || fail "'lumos $*' does not say '$text': $(head -c 300 message)"
  [ ! -s nothing ] || fail "'lumos $*' prints something beside its message"
  clean message
}
wrong "did you mean 'sim'" smi
wrong "did you mean 'parse'" prse
wrong "did you mean 'parse'" parser
wrong "did you mean 'transform'" trans
wrong "unknown command 'frobnicate'; 'lumos --help'" frobnicate
wrong "unknown command ''" ''
wrong "unknown command '-'" -
wrong "unknown command '../bin/lumos-sim'" ../bin/lumos-sim
wrong 'unknown command' $'esc\033[2Jape'
wrong --no-such-option --no-such-option
wrong 'a command is missing' --
wrong "did you mean 'sim'" help smi
: >smi
wrong "'smi' is a file or folder, not a command; 'lumos report smi'" smi
rm smi

# --- A folder of its own, with tools that say what reaches them ---

mkdir own other empty
cp "$bin/lumos" own/
make_tool() {
  printf '#!/bin/sh\n%s\n' "$2" >"$1"
  chmod +x "$1"
}
make_tool own/lumos-arguments 'for a; do printf "[%s]" "$a"; done'
make_tool own/lumos-pid 'echo $$'
make_tool own/lumos-ignored 'exec grep -E "^Sig(Ign|Blk)" /proc/self/status'
make_tool own/lumos-status 'exit 37'
make_tool own/lumos-killed 'kill -TERM $$'
make_tool own/lumos-cat 'cat; echo error >&2'
make_tool own/lumos-where 'echo own'
make_tool other/lumos-where 'echo other'
make_tool other/lumos-far 'echo far'
make_tool other/lumos-described 'printf "lumos-described - What\n  it \033[31mdoes.\n\nUsage\n"'
own() { PATH=$PWD/other:$PATH "$PWD/own/lumos" "$@"; }

[ "$(own arguments -x --help -- '' 'a b' --steps=1)" = '[-x][--help][--][][a b][--steps=1]' ] ||
  fail "arguments arrive as $(own arguments -x --help -- '' 'a b' --steps=1)"
[ "$(echo in | own cat 2>message)" = in ] || fail 'input and output are not those of the tool'
[ "$(cat message)" = error ] || fail 'standard error is not that of the tool'
expect 37 own status
expect 143 own killed
sh -c 'echo $$; exec own/lumos pid' | uniq | wc -l >lines
[ "$(cat lines)" -eq 1 ] || fail 'the tool runs in another process'
# Whoever runs this test may ignore SIGPIPE, as services of systemd do; lumos takes it to be as usual.
same <(env --default-signal=PIPE own/lumos-ignored) <(env --default-signal=PIPE own/lumos ignored) 'the tool starts with other signals ignored or blocked'
[ "$(own where)" = own ] || fail 'the tool beside lumos does not go first'
[ "$(own far)" = far ] || fail 'a tool on PATH is not found'
ln -s "$PWD/own/lumos" other/lumos
[ "$(PATH=$PWD/empty:/usr/bin:/bin other/lumos where)" = own ] || fail 'behind a link, the tools beside lumos are not found'
(cd other && PATH=:.:../other:/usr/bin:/bin ../own/lumos far >/dev/null 2>&1) && fail 'a relative folder of PATH is searched'
cp own/lumos empty/
PATH=$PWD/other:/usr/bin:/bin empty/lumos >listed
grep -q '^  described   What it ?\[31mdoes\.$' listed || fail "a tool on PATH is listed as '$(grep described listed)'"
make_tool own/lumos-broken '' && printf '#!/no/such/program\n' >own/lumos-broken
expect 2 own broken
grep -q '^lumos: .*lumos-broken: cannot run' message || fail "a tool that cannot run gives $(cat message)"

# --- Help ---

mkdir -p share/man/man1 share/man/man5
: >share/man/man1/lumos-where.1
: >share/man/man5/lumos-stream.5
make_tool other/man 'echo "man $@"'
[ "$(own help where)" = "man -l $PWD/own/../share/man/man1/lumos-where.1" ] || fail "help shows '$(own help where)'"
[ "$(own help stream)" = "man -l $PWD/own/../share/man/man5/lumos-stream.5" ] || fail "help shows '$(own help stream)'"
[ "$(own help arguments)" = '[--help]' ] || fail "a tool without a page is not asked for its help: $(own help arguments)"
[ "$(PATH=$PWD/empty "$PWD/own/lumos" help where)" = own ] || fail 'without man, the tool is not asked for its help'
proved 'lumos runs every tool by its short name, with its help and its exit status'
finish
