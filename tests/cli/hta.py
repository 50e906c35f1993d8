# What tests/cli/hta.sh compares lumos-sim --hta with: that tool's definitions, read again from the traces themselves, in doubles and lists as
# Python has them. RANK=TRACE... gives a line a figure, sorted; without arguments the same lines of a stream on standard input.
import collections
import gzip
import json
import math
import re
import sys

COMMUNICATION = re.compile(r"nccl|hip|hccl|.*ncclKernel")
MEMORY = re.compile(r"Memcpy|Memset|hipMemcpy|hipMemset|dma")
NO_COMPUTATION = re.compile(
    r"nccl|hip|hccl|.*Memcpy|.*Memset|.*dma|.*Sync|Stream Wait Event|runFunction|job_exe|packet|pe_exe"
    r"|cpum_exe_subgraph|collective_subgraph_execution|cuda.*LaunchKernel"
)
ENQUEUING = {
    "cudaLaunchKernel", "cudaLaunchKernelExC", "cuLaunchKernel", "cuLaunchKernelEx", "cudaMemcpyAsync", "cudaMemsetAsync",
    "hipLaunchKernel", "hipExtModuleLaunchKernel", "hipMemcpyAsync", "hipMemsetAsync", "hipMemcpyWithStream",
    "runFunction - job_prep_and_submit_for_execution",
}
WORK = {"kernel", "Kernel", "gpu_memset", "Memset", "gpu_memcpy", "Memcpy", "mtia_ccp_events"}
TYPES = ("COMPUTATION", "COMMUNICATION", "MEMORY")


class Row:
    def __init__(self, index, event, rounds):
        arguments = event.get("args") or {}
        self.index, self.name, self.category = index, event["name"], event["cat"]
        self.start, self.dur = event["ts"], event["dur"]
        if rounds:
            end = float(self.start) + float(self.dur)
            self.start = math.ceil(self.start)
            self.dur = math.floor(end) - self.start
        self.end = self.start + self.dur
        self.stream = int(arguments.get("stream", -1))
        self.correlation = int(arguments.get("correlation", -1))
        on_stream = self.stream >= 0 and self.correlation >= 0
        self.on_device = on_stream or self.name in ("Event Sync", "Context Sync")
        self.partner = min(self.correlation, 0)


def load(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as file:
        events = json.loads(file.read())["traceEvents"]
    rounds = any(isinstance(event.get("ts"), float) for event in events)
    rows = [
        Row(index, event, rounds)
        for index, event in enumerate(events)
        if event.get("dur") is not None and event.get("cat") not in (None, "Trace")
    ]
    sides = collections.defaultdict(lambda: ([], []))
    for row in rows:
        if row.correlation != -1:
            sides[row.correlation][row.on_device].append(row)
    for host, device in sides.values():
        for one, other in ((host, device), (device, host)):
            for row in one if other else []:
                row.partner = other[-1].index
    return rows


def is_mark(row):
    return row.name.startswith("ProfilerStep")


def without_last_step(rows):
    host = [row for row in rows if not row.on_device]
    if not host:
        return rows
    marks = [row.start for row in host if is_mark(row)]
    cut = max(marks) if marks else min(row.start for row in host)
    host = [row for row in host if row.start < cut]
    launched = collections.Counter(row.correlation for row in host)
    return [row for row in rows if row.on_device for _ in range(launched[row.correlation])] + host


def kind(name):
    if COMMUNICATION.match(name):
        return "COMMUNICATION"
    if MEMORY.match(name):
        return "MEMORY"
    return "OTHER" if NO_COMPUTATION.match(name) else "COMPUTATION"


def heap_sorted(entries):
    heap, count = list(entries), len(entries)

    def sink(place, count, entry):
        while 2 * place + 1 < count:
            child = 2 * place + 1
            if child + 1 < count and heap[child][0] < heap[child + 1][0]:
                child += 1
            if entry[0] >= heap[child][0]:
                break
            heap[place], place = heap[child], child
        heap[place] = entry

    for place in reversed(range(count // 2)):
        sink(place, count, heap[place])
    for count in reversed(range(1, count)):
        entry, heap[count] = heap[count], heap[0]
        sink(0, count, entry)
    return heap


def split_and_sort(entries, low, high, splits):
    if splits < 0:
        entries[low : high + 1] = heap_sorted(entries[low : high + 1])
        return
    while high - low > 15:
        middle, splits = (low + high) // 2, splits - 1
        for one, other in ((low, middle), (middle, high), (low, middle)):
            if entries[other][0] < entries[one][0]:
                entries[one], entries[other] = entries[other], entries[one]
        pivot, left, right = entries[middle][0], low, high - 1
        entries[middle], entries[right] = entries[right], entries[middle]
        while True:
            left += 1
            while entries[left][0] < pivot:
                left += 1
            right -= 1
            while pivot < entries[right][0]:
                right -= 1
            if left >= right:
                break
            entries[left], entries[right] = entries[right], entries[left]
        entries[left], entries[high - 1] = entries[high - 1], entries[left]
        if left - low < high - left:
            split_and_sort(entries, left + 1, high, splits)
            high = left - 1
        else:
            split_and_sort(entries, low, left - 1, splits)
            low = left + 1
    entries[low : high + 1] = sorted(entries[low : high + 1], key=lambda entry: entry[0])


def in_order(items, key):
    """As numpy's default sort has them, which is not stable: quicksort by the median of three, short parts by insertion."""
    entries = [(key(item), item) for item in items]
    split_and_sort(entries, 0, len(entries) - 1, 2 * max(len(entries).bit_length() - 1, 0))
    return [item for _, item in entries]


def unite(rows):
    united, reached = [], None
    for row in in_order(rows, lambda row: row.start):
        if reached is None or row.start > reached:
            united.append([row.start, row.end])
        else:
            united[-1][1] = max(united[-1][1], row.end)
        reached = row.end if reached is None else max(reached, row.end)
    return in_order(united, lambda interval: interval[0])


def length(intervals):
    return sum(end - start for start, end in intervals)


def sweep(lists, each=True):
    changes, running, times = [], 0, collections.Counter()
    for place, (intervals, level) in enumerate(lists):
        changes += [(start, level) for start, _ in intervals] + [(end, -level) for _, end in intervals]
        if each or place + 1 == len(lists):
            changes = in_order(changes, lambda change: change[0])
    for (time, level), (after, _) in zip(changes, changes[1:]):
        running += level
        times[running] += after - time
    return times


def ratio(part, whole):
    return part / whole if whole else None


def rounded(value, decimals):
    return None if value is None else round(value * 10**decimals) / 10**decimals  # of a whole number Python rounds halves to even


def quantile(values, q):
    place = (len(values) - 1) * q
    lower = math.floor(place)
    upper, share = min(lower + 1, len(values) - 1), place - lower
    distance = values[upper] - values[lower]
    return values[upper] - distance * (1 - share) if share >= 0.5 else values[lower] + distance * share


def deviation(values):
    mean = sum(values) / len(values)
    return math.sqrt(sum((value - mean) ** 2 for value in values) / (len(values) - 1)) if len(values) > 1 else 0


class Figures:
    def __init__(self):
        self.lines = {}

    def put(self, name, value, /, **scope):
        if value is not None:
            key = " ".join([name] + ["%s=%s" % item for item in scope.items()])
            assert key not in self.lines, key
            self.lines[key] = round(float(value), 6)

    def write(self):
        for key in sorted(self.lines):
            print(key, self.lines[key])


def split_time(rows):
    """That tool fails on a rank without rows, and asserts that the parts fit; with that all of its table is gone."""
    whole = unite(rows)
    if not whole:
        return None
    kernel_time = whole[-1][1] - whole[0][0]
    idle, compute = kernel_time - length(whole), length(unite([row for row in rows if kind(row.name) == "COMPUTATION"]))
    parts = (("idle", idle), ("compute", compute), ("non_compute", kernel_time - compute - idle))
    return (kernel_time, parts) if idle <= kernel_time >= compute and parts[2][1] >= 0 else None


def temporal(figures, rank, kernel_time, parts):
    figures.put("kernel_time", kernel_time, rank=rank)
    for name, time in parts:
        figures.put(name + "_time", time, rank=rank)
        share = ratio(time, kernel_time)
        figures.put(name + "_time_pctg", None if share is None else rounded(100 * share, 2), rank=rank)


def overlap(figures, rank, united):
    both = sweep([(united["COMMUNICATION"], 1), (united["COMPUTATION"], 2)], each=False)[3]
    share = ratio(both, length(united["COMMUNICATION"]))
    figures.put("comp_comm_overlap_pctg", None if share is None else rounded(100 * share, 2), rank=rank)


def kernels(figures, rank, rows):
    for of_type in TYPES:
        by_name = collections.defaultdict(list)
        for row in rows:
            if kind(row.name) == of_type:
                by_name[row.name].append(row.dur)
        table = in_order(sorted(by_name.items(), reverse=True), lambda item: sum(item[1]))[::-1]
        if len(table) > 10:
            running = []
            for _, values in table:
                running.append(sum(values) + (running[-1] if running else 0))
            most, sums = quantile(sorted(running), 0.8), collections.defaultdict(list)
            for place, (name, values) in enumerate(table):
                kept = sum(values) < 0 or (running[place] <= most and place < 10)
                sums[name if kept else "others"].append(sum(values))
            table = sums.items()
        for name, values in table:
            scope = {"rank": rank, "kind": of_type, "name": name}
            figures.put("kernel_sum", sum(values), **scope)
            figures.put("kernel_max", max(values), **scope)
            figures.put("kernel_min", min(values), **scope)
            figures.put("kernel_mean", sum(values) / len(values), **scope)
            figures.put("kernel_stddev", deviation(values), **scope)


def idle(figures, rank, rows, start_of):
    by_stream = collections.defaultdict(list)
    for row in rows:
        if row.category in WORK:
            by_stream[row.stream].append(row)
    for stream, on_stream in by_stream.items():
        before, gaps = None, collections.defaultdict(int)
        for row in in_order(on_stream, lambda row: row.start):
            cause, gap, called = "other", 0, start_of.get(row.partner)
            if before is not None:
                gap = row.start - before
                host = called is not None and called > before
                cause = "host_wait" if host else "kernel_wait" if gap < 30 else "other"
            gaps[cause] += gap
            before = row.end
        for cause, gap in gaps.items():
            scope = {"rank": rank, "stream": stream, "kind": cause}
            figures.put("idle_breakdown_time", gap, **scope)
            figures.put("idle_breakdown_ratio", rounded(ratio(gap, sum(gaps.values())), 2), **scope)


def queue(figures, rank, rows, on_streams, start_of):
    calls = [row for row in rows if row.name in ENQUEUING and row.partner > 0]
    launched = {call.correlation for call in calls}
    device = [row for row in on_streams if row.correlation in launched]
    streams = collections.defaultdict(list)
    for row in on_streams:
        streams[row.correlation].append(row.stream)
    changes = [(call.start, 1, stream) for call in calls for stream in streams[call.correlation] or [None]]
    if len(changes) != len(device):
        return
    changes = in_order(changes + [(row.start, -1, row.stream) for row in device], lambda change: change[0])
    full = None
    for stream in sorted({change[2] for change in changes}):
        own, lengths = [change for change in changes if change[2] == stream], []
        for _, step, _ in own:
            lengths.append(step + (lengths[-1] if lengths else 0))
        times = [
            own[place + 1][0] - own[place][0] if place + 1 < len(own) else 0
            for place, queued in enumerate(lengths)
            if queued >= 1024
        ]
        full = (stream, sum(times)) if times else full
        ordered, scope = sorted(lengths), {"rank": rank, "stream": stream}
        figures.put("queue_length_count", len(ordered), **scope)
        figures.put("queue_length_mean", sum(ordered) / len(ordered), **scope)
        figures.put("queue_length_std", deviation(ordered), **scope)
        figures.put("queue_length_min", ordered[0], **scope)
        figures.put("queue_length_max", ordered[-1], **scope)
        for percent in (25, 50, 75):
            figures.put("queue_length_p%d" % percent, quantile(ordered, percent / 100), **scope)
    if full is not None:
        extent = max(start_of.values()) - min(start_of.values())
        figures.put("full_queue_time", full[1], rank=rank, stream=full[0])
        figures.put("full_queue_ratio", full[1] / extent, rank=rank, stream=full[0])


def of_traces(ranks):
    figures = Figures()
    sums = {True: collections.Counter(), False: collections.Counter()}
    split = {}
    several = len({row.name for rows in ranks.values() for row in rows if is_mark(row)}) > 1
    for rank, rows in ranks.items():
        rows = without_last_step(rows) if several else rows
        on_streams = [row for row in rows if row.stream != -1]
        split[rank] = split_time(on_streams)
        figures.put("gpu_rows", len(on_streams), rank=rank)
        if not on_streams:
            continue
        start_of = {row.index: row.start for row in rows}
        united = {of_type: unite([row for row in on_streams if kind(row.name) == of_type]) for of_type in TYPES}
        overlap(figures, rank, united)
        kernels(figures, rank, on_streams)
        idle(figures, rank, on_streams, start_of)
        queue(figures, rank, rows, on_streams, start_of)
        for memory, counter in sums.items():
            lists = [(united[of_type], 1 << bit) for bit, of_type in enumerate(TYPES) if memory or bit < 2]
            for level, time in sweep(lists).items():
                if level > 0:
                    names = [of_type for bit, of_type in enumerate(TYPES) if level >> bit & 1]
                    counter[" overlapping ".join(names)] += time
    for rank, parts in split.items() if None not in split.values() else ():
        temporal(figures, rank, *parts)
    for memory, counter in sums.items():
        behind = "" if memory else "_no_memory"
        for name, time in counter.items():
            figures.put("kernel_type_time" + behind, time, kind=name)
            share = ratio(time, sum(counter.values()))
            figures.put("kernel_type_pctg" + behind, None if share is None else rounded(share * 100, 1), kind=name)
    return figures


def of_stream():
    figures = Figures()
    for line in sys.stdin:
        record = json.loads(line)
        if record["type"] == "metric" and record["name"].startswith("hta_"):
            scope, name = record["scope"], record["name"][len("hta_") :]
            by_stream = "queue" in name or "idle_breakdown" in name
            told = {"rank": scope["rank"]} if "rank" in scope else {}
            if by_stream:
                told["stream"] = re.fullmatch(r"s(-?\d+)", scope["name"])[1]  # the same whichever steps are chosen
            if "kind" in scope:
                told["kind"] = scope["kind"]
            if "name" in scope and not by_stream:
                told["name"] = scope["name"]
            figures.put(name, record["value"], **told)
    return figures


if len(sys.argv) > 1:
    pairs = [argument.partition("=") for argument in sys.argv[1:]]
    of_traces({int(rank): load(path) for rank, _, path in pairs}).write()
else:
    of_stream().write()
