"""torch.profiler: the profile of each form, and the order in which a schedule starts, stops and saves."""

import enum
import gc
import gzip
import json
import os

from . import FORM, log


class ProfilerActivity(enum.Enum):
    CPU = 0
    CUDA = 2


def kineto_available():
    return FORM != "bare"


def schedule(*, wait, warmup, active, repeat=0, skip_first=0):
    assert repeat == 1 and skip_first == 0, "what this stand-in is made for"
    log("schedule", wait=wait, warmup=warmup, active=active, repeat=repeat)
    return wait, warmup, active


def _fail_in(place):
    if FORM == "fails-in-" + place:
        raise RuntimeError("the profiler has failed")


class _Profile:
    def _begin(self, schedule, on_trace_ready, **options):
        wait, warmup, active = schedule
        self._first, self._end, self._ready = wait + warmup, wait + warmup + active, on_trace_ready
        self._step, self._metadata, self._recording = 0, {}, False
        activities = sorted(kind.name for kind in options.pop("activities"))
        config = options.pop("experimental_config", None)
        log("profile", activities=activities, experimental_config=config is not None, **options)

    def start(self):
        log("start")
        _fail_in("start")

    def step(self):
        self._step += 1
        if self._step == self._end:
            _fail_in("step")
        log("step", number=self._step, collects=gc.isenabled())
        if self._step == self._first:
            self._recording = True
        elif self._step == self._end:
            self._save()

    def stop(self):
        log("stop", number=self._step)
        _fail_in("stop")
        if self._recording:
            self._save()

    def _save(self):
        self._recording = False
        self._ready(self)

    def add_metadata_json(self, key, value):
        assert self._recording, "metadata are lost unless they are added while it records"
        self._metadata[key] = json.loads(value)

    def export_chrome_trace(self, path):
        _fail_in("export")
        with gzip.open(os.environ["FAKE_TRACE"]) as file:
            trace = json.load(file)
        text = json.dumps(dict(self._metadata, **trace))
        with open(path, "w") as file:
            file.write(text[: len(text) // 2] if FORM == "full" else text)


class _New(_Profile):
    def __init__(self, *, activities=None, schedule=None, on_trace_ready=None, record_shapes=False, profile_memory=False,
                 with_stack=False, with_flops=False, with_modules=False, experimental_config=None):
        self._begin(schedule, on_trace_ready, activities=activities, record_shapes=record_shapes, with_stack=with_stack,
                    with_modules=with_modules, experimental_config=experimental_config)


class _Old(_Profile):
    def __init__(self, *, activities=None, schedule=None, on_trace_ready=None, record_shapes=False, profile_memory=False,
                 with_stack=False, with_flops=False):
        self._begin(schedule, on_trace_ready, activities=activities, record_shapes=record_shapes, with_stack=with_stack)


profile = _Old if FORM == "old" else _New
