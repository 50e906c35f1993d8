"""Published tables of matrix products and transfers, held against the models of the tools.

A table becomes a trace, as if a job had run just this. model-tables says what the models then make of other shapes: each
is predicted from the others, and all from one.
"""

import json
import os
import subprocess

GPU = {"H100": "NVIDIA H100 80GB HBM3", "H200": "NVIDIA H200"}
APART = 100.0  # us from one kernel's end to the next one's start: more than a launch takes


def event(category, name, thread, start, duration, **arguments):
    return {"ph": "X", "cat": category, "name": name, "pid": 1 if isinstance(thread, str) else 0, "tid": 1 if isinstance(thread, str) else thread,
            "ts": round(start, 3), "dur": round(duration, 3), "args": arguments}


def write_trace(path, gpu, work, rank=0, ranks=1, node=8):
    """`work`: of each kernel the op's name, the op's arguments, the kernel's name and its arguments, and its time in us."""
    events, now = [event("user_annotation", "ProfilerStep#1", "cpu", 0, 1)], 10.0
    for i, (op, inputs, kernel, arguments, time) in enumerate(work, 1):
        events.append(event("cpu_op", op, "cpu", now, 8, **{"External id": i, **inputs}))
        events.append(event("cuda_runtime", "cudaLaunchKernel", "cpu", now + 2, 3, **{"External id": i, "correlation": i}))
        events.append(event("kernel", kernel, 7, now + 10, time, **{"External id": i, "correlation": i, "stream": 7, "device": rank % node, **arguments}))
        now += 10 + time + APART
    events[0]["dur"] = now
    properties = [{"id": i, "name": gpu, "computeMajor": 9, "computeMinor": 0, "numSms": 132} for i in range(node)]
    trace = {"schemaVersion": 1, "deviceProperties": properties, "record_shapes": 1, "host_name": f"node-{rank // node:03}",
             "distributedInfo": {"backend": "nccl", "rank": rank, "world_size": ranks}, "traceEvents": events, "displayTimeUnit": "ms"}
    with open(path, "w") as file:
        json.dump(trace, file)


def product(rows, inner, columns, time):
    inputs = {"Input Dims": [[rows, inner], [inner, columns]], "Input type": ["c10::BFloat16", "c10::BFloat16"]}
    return "aten::mm", inputs, "gemm_bf16", {}, time


def transfer(size, ranks, time):
    elements = size // 4
    arguments = {"Collective name": "allreduce", "In msg nelems": elements, "Out msg nelems": elements, "Group size": ranks, "dtype": "Float",
                 "Process Group Name": "0", "Process Group Description": "default_pg", "Process Group Ranks": str(list(range(ranks)))}
    return "nccl:all_reduce", {"Input Dims": [[elements]], "Input type": ["float"]}, "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", arguments, time


class Models:
    def __init__(self, tool, folder):
        self.tool, self.folder = tool, folder

    def graph(self, traces):
        """The stream of traces, each a list of arguments of write_trace."""
        paths = []
        for i, trace in enumerate(traces):
            paths.append(os.path.join(self.folder, f"table{i}.json"))
            write_trace(paths[-1], **trace)
        stream = os.path.join(self.folder, "table.graph")
        subprocess.run([self.tool("lumos-graph"), "-j", "1", *paths, "-o", stream], check=True, stderr=subprocess.DEVNULL)
        for path in paths:
            os.remove(path)
        return stream

    def network(self, table):
        """The file that describes the network of a table, where it is known."""
        if "network" not in table:
            return []
        path = os.path.join(self.folder, "network.json")
        with open(path, "w") as file:
            json.dump(table["network"], file)
        return [path]

    def ask(self, stream, *what, lines=()):
        """Prediction, low and high in us, a line each."""
        text = "".join(" ".join(map(str, line)) + "\n" for line in lines)
        found = subprocess.run([self.tool("model-tables"), stream, *what], input=text, check=True, capture_output=True, text=True).stdout
        os.remove(stream)
        return [[int(number) / 1000 for number in line.split()] for line in found.splitlines()]


def row(published, found):
    """Of two times in us: how far off the prediction is, and whether its range holds what is published."""
    predicted, low, high = found
    return {"error": round(100 * (predicted / published - 1), 1), "holds": low <= published <= high, "predicted": round(predicted, 2), "low": round(low, 2), "high": round(high, 2)}


def products(models, table):
    """Shapes on one GPU, each from the others and all from one, and on another GPU."""
    time = lambda shape, rate: 2 * shape[0] * shape[1] * shape[2] / rate / 1e6  # us
    shapes = [entry[:3] for entry in table["shapes"]]
    here = [time(entry, entry[3]) for entry in table["shapes"]]
    there = [time(entry, entry[4]) for entry in table["shapes"]]
    of = lambda chosen: models.graph([{"gpu": GPU[table["gpu"]], "work": [product(*shapes[i], here[i]) for i in chosen]}])
    everything = range(len(shapes))
    others = [models.ask(of([k for k in everything if k != i]), "products", lines=[shapes[i]])[0] for i in everything]
    one = shapes.index(table["one"])
    alone = models.ask(of([one]), "products", lines=shapes)
    moved = models.ask(of(everything), "gpu", table["other"])
    rows = [{"shape": shapes[i], "published": round(here[i], 2), "others": row(here[i], others[i]), "one": None if i == one else row(here[i], alone[i]),
             "published_there": round(there[i], 2), "there": row(there[i], moved[i])} for i in everything]
    return {"rows": rows}


def transfers(models, tables):
    """All-reduces of each table, each from the others and all from one; those of more nodes also from a table of one node, by `spread`."""
    named = {table["name"]: table for table in tables}

    def time(table, entry):
        """us; a table has times, or bandwidths of the bus in GB/s"""
        size, figure = entry
        return figure if table["columns"][1] == "us" else size / 1e3 * 2 * (table["ranks"] - 1) / table["ranks"] / figure

    def of(table, chosen):
        work = [transfer(entry[0], table["ranks"], time(table, entry)) for entry in chosen]
        return models.graph([{"gpu": GPU[table["gpu"]], "work": work, "rank": rank, "ranks": table["ranks"]} for rank in range(table["ranks"])])

    result = []
    for table in tables:
        sizes = table["sizes"]
        lines = [("all_reduce", size, table["ranks"], table["nodes"]) for size, _ in sizes]
        took = [time(table, entry) for entry in sizes]
        others = [models.ask(of(table, sizes[:i] + sizes[i + 1 :]), "transfers", lines=[lines[i]])[0] if len(sizes) > 1 else None for i in range(len(sizes))]
        one = next(i for i, entry in enumerate(sizes) if entry[0] == table["one"])
        alone = models.ask(of(table, [sizes[one]]), "transfers", lines=lines)
        network = models.network(table)
        spread = models.ask(of(named[table["spread"]], named[table["spread"]]["sizes"]), "transfers", *network, lines=lines) if "spread" in table else None
        for path in network:
            os.remove(path)
        result.append({"name": table["name"], "spread": table.get("spread"), "rows": [
            {"size": sizes[i][0], "published": round(took[i], 2), "others": others[i] and row(took[i], others[i]), "one": None if i == one else row(took[i], alone[i]), "spread": spread and row(took[i], spread[i])}
            for i in range(len(sizes))]})
    return {"tables": result}
