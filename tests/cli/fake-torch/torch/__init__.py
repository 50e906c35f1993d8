"""As much of PyTorch as lumos_record.py touches, so that what it asks of a profiler can be looked at where there is no PyTorch.

Every call becomes a line of JSON in the file FAKE_LOG: [name, {arguments}]. The trace is FAKE_TRACE, a real one, with the metadata that
were added. FAKE_FORM says which PyTorch this is:

    new      2.6 and later, with a GPU
    1.13     _ExperimentalConfig knows no synchronisation events
    old      neither an experimental_config nor with_modules
    cpu      new, without a GPU
    bare     built without Kineto
    full     new, on a disk that is full: the trace is cut, without a word
    fails-in-PLACE  new, and the profiler raises in `start`, the last `step`, `stop` or `export`
"""

import json
import os
import types

FORM = os.environ.get("FAKE_FORM", "new")
RANK = os.environ.get("FAKE_RANK")  # set: a process group is there

__version__ = "2.6.0+fake"


def log(name, **arguments):
    with open(os.environ["FAKE_LOG"], "a") as file:
        file.write(json.dumps([name, arguments]) + "\n")


cuda = types.SimpleNamespace(is_available=lambda: FORM != "cpu", is_initialized=lambda: FORM != "cpu",
                             synchronize=lambda: log("synchronize"))
distributed = types.SimpleNamespace(is_available=lambda: True, is_initialized=lambda: RANK is not None,
                                    get_rank=lambda: int(RANK))


class _NewConfig:
    def __init__(self, profiler_metrics=(), verbose=False, enable_cuda_sync_events=False):
        log("_ExperimentalConfig", enable_cuda_sync_events=enable_cuda_sync_events)


class _FirstConfig:
    def __init__(self, profiler_metrics=(), profiler_measure_per_kernel=False, verbose=True):
        pass


if FORM == "old":
    _C = types.SimpleNamespace()
else:
    _C = types.SimpleNamespace(
        _profiler=types.SimpleNamespace(_ExperimentalConfig=_FirstConfig if FORM == "1.13" else _NewConfig))

from . import profiler  # noqa: E402
