"""What lumos-compare should say of one trace, read by nothing but this: calls by name and GPU time in a step.

compare.py TRACE FIRST: of all steps of the trace from ordinal FIRST on, mean counts of calls into the runtime as "NAME COUNT", and the mean GPU
time as "(gpu) NS". A call belongs to the step whose mark it begins in; what it launched, by correlation id, to that step, too.
"""
import bisect
import collections
import decimal
import fractions
import gc
import gzip
import json
import re
import sys

gc.disable()  # nothing here is garbage
events = json.load(gzip.open(sys.argv[1]))["traceEvents"]
first = int(sys.argv[2])


def ns(microseconds):
    return int((decimal.Decimal(str(microseconds)) * 1000).to_integral_value(decimal.ROUND_HALF_EVEN))


rows = [e for e in events if e.get("ph") == "X" and "dur" in e]
marks = sorted((ns(e["ts"]), ns(e["dur"])) for e in rows if re.fullmatch(r"ProfilerStep#\d+", e["name"]) and e.get("cat", "").lower() != "gpu_user_annotation")
starts = [start for start, _ in marks]
steps = len(marks) - first


def step_of(event):
    at = bisect.bisect_right(starts, ns(event["ts"])) - 1
    return at if at >= first and ns(event["ts"]) < marks[at][0] + marks[at][1] else None


calls, step_of_call = collections.Counter(), {}
for event in rows:
    if event.get("cat", "").lower() in ("cuda_runtime", "cuda_driver", "runtime"):
        if step_of(event) is not None:
            calls[event["name"]] += 1
            step_of_call[event["args"].get("correlation")] = True
gpu = sum(ns(e["dur"]) for e in rows if e.get("cat", "").lower() in ("kernel", "gpu_memcpy", "gpu_memset") and step_of_call.get(e["args"].get("correlation")))
for name in sorted(calls):
    print(name, f"{float(round(fractions.Fraction(calls[name], steps), 3)):g}")
print("(gpu)", gpu // steps)
