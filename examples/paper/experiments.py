"""The experiments of the Lumos paper on the emulated cluster: every number into one file, FOLDER/paper.json.

experiments.py [--quick] [--only CASE]... BIN FOLDER

A case is one run of the emulated cluster and what the tools make of it. Its figures are kept in FOLDER/cases/NAME.json until all cases are
done; its traces are removed as soon as they are read. Times are in ms, errors and shares in percent, if nothing else is said.
"""

import argparse
import csv
import fnmatch
import json
import os
import resource
import shutil
import subprocess
import sys
import time

import tables

# Of the emulated cluster's mechanisms those that are off unless asked for, and that an ordinary step meets. Captured graphs take the place of
# launches, and a job that runs out of memory in every micro-batch is a faulty one: these two have cases of their own.
ALWAYS = "--sm-queue on --prepare on --pageable on"
SCARCE = "--scarce-memory on"
GPT = f"--seq 2048 --micro-batch 1 --vocab 51200 {ALWAYS}"
MODELS = {
    "15B": "--layers 48 --hidden 6144 --ffn 12288 --heads 48 --head-dim 128",
    "44B": "--layers 48 --hidden 12288 --ffn 24576 --heads 48 --head-dim 128",
    "117B": "--layers 96 --hidden 12288 --ffn 24576 --heads 96 --head-dim 128",
    "175B": "--layers 96 --hidden 12288 --ffn 49152 --heads 96 --head-dim 128",
}
# TP, PP, DP of Fig. 5
CONFIGURATIONS = {
    "15B": [(2, 2, 4), (2, 2, 8), (2, 4, 2), (2, 4, 4), (4, 2, 2), (4, 2, 4)],
    "44B": [(4, 4, 2), (4, 4, 4), (4, 8, 1), (4, 8, 2), (8, 4, 1), (8, 4, 2)],
    "117B": [(4, 8, 2), (4, 8, 4), (8, 4, 2), (8, 4, 4), (8, 8, 1), (8, 8, 2)],
    "175B": [(4, 8, 4), (4, 8, 8), (4, 8, 16), (8, 4, 4), (8, 4, 8), (8, 4, 16)],
}
BASE = (2, 2, 4)  # of Fig. 7 and 8, with the 15B model
HALF = "0,2,4,6,8,10,12,14"  # all stages and replicas of the base, of each the first of two tensor-parallel ranks, which do the same work
MOST = 64  # GPUs of a job that is predicted from all 16 ranks of the base: with more the rebuilt job takes up to 9 GB, twice
PARALLELISM = [(2, 2, 8), (2, 2, 16), (2, 2, 32), (2, 4, 4), (2, 8, 4), (2, 16, 4), (2, 4, 8), (2, 8, 8), (2, 4, 16)]
VARIANTS = {
    "V1": "--layers 64",
    "V2": "--layers 96",
    "V3": "--hidden 9216 --ffn 18432 --heads 48 --head-dim 128",
    "V4": "--hidden 12288 --ffn 24576 --heads 48 --head-dim 128",
}
# Jobs of which it is measured what a mechanism takes of their true steps: the worst of Fig. 7 and 8, and what more stages and replicas add
CAUSES = {
    "2x2x16": f"{MODELS['15B']} --tp 2 --pp 2 --dp 16 --micro-batches 4",
    "2x4x16": f"{MODELS['15B']} --tp 2 --pp 4 --dp 16 --micro-batches 8",
    "V4": f"{MODELS['15B']} {VARIANTS['V4']} --tp 2 --pp 2 --dp 4 --micro-batches 4",
}
BUCKETS = "--bucket-mb 100"  # what the job is configured with: a trace shows its buckets, not the limit that a wider model fills anew
REPLAYED = ["lumos", "dpro", "daydream"]
PARTS = ["exposed_compute", "overlapped", "exposed_communication", "communication_transfer", "communication_wait",
         "communication_unsplit", "pipeline_bubble", "exposed_copy", "idle"]
# Replays of the base: what is switched in place of ALWAYS
MECHANISMS = {"none": "", "SM queue": "--sm-queue on", "prepared inputs": "--prepare on", "pageable copies": "--pageable on", "these three": ALWAYS,
              "these three and captured graphs": f"{ALWAYS} --graphs layers", "these three and scarce memory": f"{ALWAYS} {SCARCE}",
              "these three without collective-skew": f"{ALWAYS} --without collective-skew", "these three without free-sms": f"{ALWAYS} --without free-sms"}
ALONE = ["-j", "1", "--opportunities", "off"]  # one core, and only what is asked for
WHOLE = 8192  # the most layers that all ranks run in a step, micro-batch by micro-batch, of a job of which all ranks are recorded


class Cluster:
    def __init__(self, binaries, folder):
        self.binaries, self.folder = binaries, folder
        self.cases = os.path.join(folder, "cases")
        self.traces = os.path.join(folder, "traces")
        self.graphs = {ranks: os.path.join(folder, f"base-{name}.graph") for ranks, name in (("all", "all"), (HALF, "half"))}
        self.version = version()
        self.done = []  # cases of this run
        os.makedirs(self.cases, exist_ok=True)

    def tool(self, name):
        return os.path.join(self.binaries, name)

    def run(self, *command):
        subprocess.run([self.tool(command[0]), *command[1:]], check=True, stderr=subprocess.DEVNULL)

    def pipe(self, *commands, last=None):
        """Run tools, each on what the one before writes, and the program `last` behind them; returns what that writes."""
        processes = []
        for command in [*([self.tool(name), *rest] for name, *rest in commands), *([last] if last else [])]:
            source = processes[-1].stdout if processes else subprocess.DEVNULL
            processes.append(subprocess.Popen(command, stdin=source, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL))
            if source is not subprocess.DEVNULL:
                source.close()
        text = processes[-1].communicate()[0].decode()
        if any(process.wait() for process in processes):
            raise RuntimeError(f"{commands} failed")
        return text

    def path(self, name):
        return os.path.join(self.cases, name + ".json")

    def has(self, name):
        return os.path.exists(self.path(name))

    def case(self, name, work):
        """The figures of a case, from an earlier run where there are any."""
        path = self.path(name)
        if not self.has(name):
            start, used = time.time(), cpu_seconds()
            figures = work()
            figures["wall_s"] = round(time.time() - start, 1)
            figures["cpu_s"] = round(cpu_seconds() - used, 1)
            figures["load"] = round(os.getloadavg()[0], 1)  # processes that run or wait for a core, mean of the last minute
            figures["version"] = self.version
            self.done.append(name)
            with open(path + ".new", "w") as file:
                json.dump(figures, file)
            os.rename(path + ".new", path)
            print(f"{name}: {figures['wall_s']} s", flush=True)
        with open(path) as file:
            return json.load(file)

    def emulate(self, options, ranks, steps=2):
        """So many steps behind one for warming up; the truth about them. The traces of `ranks` are in self.traces."""
        shutil.rmtree(self.traces, ignore_errors=True)
        self.run("emulated-cluster", "--quiet", "--once", "--warmup", "1", "--steps", str(steps), *options.split(), "--ranks", ranks, self.traces)
        return truth(os.path.join(self.traces, "truth.json"))

    def metrics(self, *commands):
        """The metrics of a job that the last of several commands simulates."""
        return [json.loads(line) for line in self.pipe(*commands, last=["grep", '^{"type":"metric"']).splitlines()]


def cpu_seconds():
    children = resource.getrusage(resource.RUSAGE_CHILDREN)
    return children.ru_utime + children.ru_stime


def true_steps(path):
    """What truth.json has of the steps as a whole; the long lists behind are not read."""
    head = []
    with open(path) as file:
        for line in file:
            if line.startswith('"collectives"'):
                break
            head.append(line)
    return [step["profiled"] for step in json.loads("".join(head).rstrip().rstrip(",") + "}")["steps"]]


def truth(path, chosen=None):
    """The true step and its parts, means over all ranks, or over those chosen."""
    steps = true_steps(path)
    ranks = [rank for step in steps for rank in step["ranks"] if chosen is None or rank[0] in chosen]
    mean = lambda column: round(sum(rank[column] for rank in ranks) / len(ranks) / 1e6, 3)
    parts = {"exposed_compute": mean(3), "overlapped": mean(4), "communication_transfer": mean(5), "communication_wait": mean(6),
             "pipeline_bubble": mean(7), "exposed_copy": mean(8), "idle": mean(9)}
    parts["exposed_communication"] = round(mean(5) + mean(6) + mean(7), 3)
    return {"step": round(sum(step["end"] - step["start"] for step in steps) / len(steps) / 1e6, 3),
            "mfu": round(100 * sum(step["mfu"] for step in steps) / len(steps), 2), "parts": parts}


def of_steps(metrics, name, source):
    return {m["scope"]["step"]: m for m in metrics if m["name"] == name and m["source"] == source and list(m["scope"]) == ["step"]}


def mean_parts(metrics, steps, source="simulated"):
    """Of the ranks' steps, in ms."""
    sums, counts = dict.fromkeys(PARTS, 0), 0
    for metric in metrics:
        if metric["source"] == source and set(metric["scope"]) == {"rank", "step"} and metric["scope"]["step"] in steps:
            counts += metric["name"] == "step_time"
            if metric["name"] in sums:
                sums[metric["name"]] += metric["value"]
    return {name: round(value / counts / 1e6, 3) for name, value in sums.items()}


def spread(tp, pp, dp):
    """m = TP x PP micro-batches: what makes the paper's FLOPs per GPU constant. It does not print them."""
    return f"--tp {tp} --pp {pp} --dp {dp} --micro-batches {tp * pp}"


def name_of(configuration):
    return "x".join(map(str, configuration))


def recorded(model, tp, pp, dp):
    """All ranks of a job that is not too large; of others the first of each stage, since those of a stage do the same work."""
    layers = int(MODELS[model].split()[1])
    whole = tp * dp * layers * tp * pp <= WHOLE  # each of tp * dp ranks of a stage has its layers, tp * pp times
    return "all" if whole else ",".join(str(tp * dp * stage) for stage in range(pp))


def replay(cluster, model, configuration):
    ranks = recorded(model, *configuration)
    true = cluster.emulate(f"{GPT} {MODELS[model]} {spread(*configuration)} --record annotations,collectives", ranks, 1)
    case = {"model": model, "configuration": name_of(configuration), "gpus": configuration[0] * configuration[1] * configuration[2],
            "recorded": "all ranks" if ranks == "all" else "one rank a stage", "true": true, "replayed": {}}
    if ranks != "all":
        case["true_recorded"] = truth(os.path.join(cluster.traces, "truth.json"), [int(rank) for rank in ranks.split(",")])
    for how in REPLAYED:
        case["replayed"][how], metrics, steps = replayed(cluster, how)
        if how == "lumos":
            case["measured_parts"] = mean_parts(metrics, steps, "measured")
    return case


def replayed(cluster, how):
    """How far off the replay of self.traces is, the metrics behind that, and which steps it is of."""
    metrics = cluster.metrics(["lumos-sim", *ALONE, "--model", how, cluster.traces])
    errors = of_steps(metrics, "replay_error", "simulated")
    values = [100 * error["value"] for error in errors.values()]
    return {"error": round(sum(values) / len(values), 3), "size": round(sum(map(abs, values)) / len(values), 3), "parts": mean_parts(metrics, errors)}, metrics, errors


def whole(cluster, model, configuration):
    """The replay of a job with the traces of all its ranks, of which Fig. 5 has one a stage: what the others' traces are worth."""
    true = cluster.emulate(f"{GPT} {MODELS[model]} {spread(*configuration)} --record annotations,collectives", "all", 1)
    return {"model": model, "configuration": name_of(configuration), "true": true, "error": replayed(cluster, "lumos")[0]["error"]}


def mechanisms(cluster):
    """The replay of the base with each mechanism that is off unless asked for alone, and without one that is on: which of them make it hard."""
    rows = []
    for words, changed in MECHANISMS.items():
        options = GPT.replace(ALWAYS, changed)
        true = cluster.emulate(f"{options} {MODELS['15B']} {spread(*BASE)} --record annotations,collectives", "all", 1)
        rows.append({"words": words, "options": changed, "step": true["step"], "error": replayed(cluster, "lumos")[0]["error"]})
    return {"rows": rows}


def causes(cluster):
    """The true steps of predicted jobs without one mechanism: what it is worth there."""
    rows = []
    for name, options in CAUSES.items():
        for without in ("", "collective-skew", "free-sms"):
            true = cluster.emulate(f"{GPT} {options}" + (f" --without {without}" if without else ""), "none")
            rows.append({"job": name, "without": without, "true": true})
    return {"rows": rows}


def scarce(cluster):
    """A prediction of more stages where every micro-batch runs out of memory, in the recorded job and in the true one."""
    cluster.emulate(f"{GPT} {SCARCE} {MODELS['15B']} {spread(*BASE)}", "all")
    graph = os.path.join(cluster.folder, "scarce.graph")
    cluster.run("lumos-graph", "-j", "1", cluster.traces, "-o", graph)
    c = (2, 4, 4)
    found = prediction(cluster, graph, f"--dp {c[2]} --pp {c[1]} --micro-batches {c[0] * c[1]}", f"{GPT} {SCARCE} {MODELS['15B']} {spread(*c)}")
    os.remove(graph)
    return {"configuration": name_of(c), **found}


def busy(cluster):
    """Share of each ms in which the GPUs run anything, mean over ranks, of the base: as its traces have it, and as rebuilt from their blocks, since
    a job that is not changed has its curve to the nanosecond."""
    curves = []
    for how in ([], ["--rebuild"]):
        stream = os.path.join(cluster.folder, "busy.sim")
        cluster.pipe(["lumos-transform", *ALONE[:2], *how, graph_of_base(cluster, "all")], ["lumos-sim", *ALONE, "-o", stream])
        text = subprocess.run([cluster.tool("lumos-render"), "--view", "busy", "-f", "csv", stream], check=True, capture_output=True, text=True).stdout
        curves.append([[float(row["time"]) / 1e6, 100 * float(row["simulated"])] for row in csv.DictReader(text.splitlines())])
        os.remove(stream)
    return {"job": f"15B {name_of(BASE)}", "points": [[round(a[0], 3), round(a[1], 2), round(b[1], 2)] for a, b in zip(*curves)]}


def settled(metrics):
    """The mean simulated step, with its range, in ms, and which steps these are: the first of a rebuilt job has a beginning of its own."""
    steps = of_steps(metrics, "step_time", "simulated")
    chosen = sorted(steps)[1:]
    mean = lambda key: round(sum(steps[step][key] for step in chosen) / len(chosen) / 1e6, 3) if all(key in steps[step] for step in chosen) else None
    return {"step": mean("value"), "low": mean("low"), "high": mean("high")}, chosen


def prediction(cluster, graph, change, options):
    """A change of a recorded base against a run of the changed job."""
    true = cluster.emulate(options, "none")
    metrics = cluster.metrics(["lumos-transform", *ALONE[:2], *change.split(), graph], ["lumos-sim", *ALONE])
    predicted, steps = settled(metrics)
    return {"change": change, "true": true, **predicted, "error": round(100 * (predicted["step"] / true["step"] - 1), 3), "parts": mean_parts(metrics, steps)}


def record_base(cluster, ranks):
    """Those ranks of the base, recorded: their graph is in cluster.graphs."""
    true = cluster.emulate(f"{GPT} {MODELS['15B']} {spread(*BASE)}", ranks)
    cluster.run("lumos-graph", "-j", "1", cluster.traces, "-o", cluster.graphs[ranks])
    return true


def graph_of_base(cluster, ranks):
    """Recorded anew where an earlier run has left only the figures."""
    if not os.path.exists(cluster.graphs[ranks]):
        record_base(cluster, ranks)
    return cluster.graphs[ranks]


def of_base(cluster, ranks, change, options):
    return {"recorded": 16 if ranks == "all" else len(ranks.split(",")), **prediction(cluster, graph_of_base(cluster, ranks), change, f"{GPT} {options}")}


def published(cluster, shape, changes):
    """How much longer a step takes with each change, in percent, predicted from an emulated job of the published shape."""
    cluster.emulate(f"{ALWAYS} {shape}", "all")
    graph = os.path.join(cluster.folder, "published.graph")
    cluster.pipe(["lumos-graph", "-j", "1", cluster.traces, "-o", graph])
    before, _ = settled(cluster.metrics(["lumos-sim", *ALONE, graph]))
    rows = []
    for change in changes:
        after, _ = settled(cluster.metrics(["lumos-transform", *ALONE[:2], *change.split(), graph], ["lumos-sim", *ALONE]))
        rows.append({"change": change, **{key: value and round(100 * (value / before["step"] - 1), 2) for key, value in after.items()}})
    os.remove(graph)
    return {"shape": shape, "step": before["step"], "rows": rows}


def products(cluster, gpus):
    """How much longer the matrix products of one GPU take on another one, in percent."""
    cluster.emulate(f"{ALWAYS} --layers 2 --hidden 8192 --micro-batches 1", "all")
    chosen = lambda metric, source: metric["name"] == "kind_time" and metric["source"] == source and metric["scope"].get("kind") == "gemm" and set(metric["scope"]) == {"kind", "step"}
    time_of = lambda metrics, key, source: sum(metric.get(key, metric["value"]) for metric in metrics if chosen(metric, source))
    before = time_of(cluster.metrics(["lumos-sim", *ALONE, cluster.traces]), "value", "measured")
    rows = []
    for gpu in gpus:
        metrics = cluster.metrics(["lumos-transform", *ALONE[:2], "--gpu", gpu, cluster.traces], ["lumos-sim", *ALONE])
        rows.append({"change": gpu, **{name: round(100 * (time_of(metrics, key, "simulated") / before - 1), 2) for name, key in (("step", "value"), ("low", "low"), ("high", "high"))}})
    return {"rows": rows}


def processor():
    """Its name, where the system has it."""
    try:
        with open("/proc/cpuinfo") as file:
            return next((line.split(":", 1)[1].strip() for line in file if line.startswith("model name")), "")
    except OSError:
        return ""


def memory_gb():
    return round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30)


def version():
    """Of the code, so that a reader sees whether all cases were run with the same: the last commit to it, where this is a checkout."""
    root = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
    found = subprocess.run(["git", "-C", root, "log", "-1", "--format=%h", "--abbrev=9", "--", "include", "src", "tests/emulator"], capture_output=True, text=True)
    return found.stdout.strip() or "unknown"


def plan(cluster, quick, reality):
    """What to run: the name of each case and its work, in the order of the page."""
    cases = {"base": lambda: record_base(cluster, "all")}
    for c in PARALLELISM[:1] if quick else PARALLELISM:
        change, options = f"--dp {c[2]} --pp {c[1]} --micro-batches {c[0] * c[1]}", f"{MODELS['15B']} {spread(*c)}"
        ranks = "all" if c[0] * c[1] * c[2] <= MOST else HALF
        cases["parallelism-" + name_of(c)] = lambda ranks=ranks, change=change, options=options: of_base(cluster, ranks, change, options)
    for v in ["V1"] if quick else VARIANTS:
        change, options = f"{VARIANTS[v]} {BUCKETS}" if "hidden" in VARIANTS[v] else VARIANTS[v], f"{MODELS['15B']} {VARIANTS[v]} {spread(*BASE)}"
        cases["model-" + v] = lambda change=change, options=options: of_base(cluster, "all", change, options)
    if not quick:
        cases["mechanisms"] = lambda: mechanisms(cluster)
        cases["causes"] = lambda: causes(cluster)
        cases["scarce"] = lambda: scarce(cluster)
        cases["whole"] = lambda: whole(cluster, "44B", (8, 4, 1))
        cases["busy"] = lambda: busy(cluster)
    for model, c in [("15B", BASE), ("15B", (2, 4, 2))] if quick else [(model, c) for model in CONFIGURATIONS for c in CONFIGURATIONS[model]]:
        cases[f"replay-{model}-{name_of(c)}"] = lambda model=model, c=c: replay(cluster, model, c)
    for run in [] if quick else reality["reality"]:
        work = (lambda run=run: products(cluster, run["gpus"])) if "gpus" in run else (lambda run=run: published(cluster, run["shape"], run["changes"]))
        cases["reality-" + run["name"]] = work
    if not quick:
        models = tables.Models(cluster.tool, cluster.folder)
        cases["table-products"] = lambda: tables.products(models, reality["tables"]["products"])
        cases["table-transfers"] = lambda: tables.transfers(models, reality["tables"]["transfers"])
    return cases


def finished(cluster, names):
    """The figures of the cases that are done: of this run, or in an earlier paper.json."""
    path, cases = os.path.join(cluster.folder, "paper.json"), {}
    if os.path.exists(path):
        with open(path) as file:
            cases = json.load(file).get("cases", {})
    return {name: cluster.case(name, None) if cluster.has(name) else cases[name] for name in names if cluster.has(name) or name in cases}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", action="append", metavar="CASE", help="this case, or those that a pattern fits; the others stay as they are in paper.json")
    parser.add_argument("binaries")
    parser.add_argument("folder")
    arguments = parser.parse_args()
    start, used = time.time(), cpu_seconds()
    cluster = Cluster(arguments.binaries, os.path.abspath(arguments.folder))
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "published.json")) as file:
        reality = json.load(file)

    cases = plan(cluster, arguments.quick, reality)
    unknown = [pattern for pattern in arguments.only or [] if not fnmatch.filter(cases, pattern)]
    if unknown:
        sys.exit(f"experiments.py: no case is named {unknown[0]}; there are: {', '.join(cases)}")
    chosen = [name for name in cases if not arguments.only or any(fnmatch.fnmatchcase(name, pattern) for pattern in arguments.only)]
    for name in chosen:
        cluster.case(name, cases[name])
    for graph in cluster.graphs.values():
        if os.path.exists(graph):
            os.remove(graph)

    done = finished(cluster, cases)
    result = {"quick": arguments.quick, "machine": {"processor": processor(), "cores": os.cpu_count(), "memory_gb": memory_gb()},
              "run": {"cases": len(cluster.done), "wall_s": round(time.time() - start, 1), "cpu_s": round(cpu_seconds() - used, 1),
                      "process_gb": round(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 2**20, 1)}, "left_out": [name for name in cases if name not in done], "cases": done}
    shutil.rmtree(cluster.traces, ignore_errors=True)
    with open(os.path.join(cluster.folder, "paper.json"), "w") as file:
        json.dump(result, file, indent=1)
        file.write("\n")
    shutil.rmtree(cluster.cases)


if __name__ == "__main__":
    main()
