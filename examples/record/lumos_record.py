"""Record a few steps of a training loop, with all that Lumos has a use for, and nothing that it has none for.

Copy this file into your project; it needs PyTorch 1.13 or later, Python 3.8 or later, and nothing else.

    from lumos_record import Recorder

    with Recorder("traces") as recorder:
        for batch in loader:
            train_step(batch)
            recorder.step()                      # after every step, on every rank

Or, so that no step can be forgotten:

    with Recorder("traces") as recorder:
        for batch in recorder.steps_of(loader):
            train_step(batch)

Without `with`, the first step() or start() starts the recorder; it ends by itself once all is recorded, or with stop().

Each rank writes one file, traces/rankN.json.gz, which appears whole or not at all. What goes wrong in the profiler is a warning, and
training goes on. Then:

    lumos-parse --check traces                   # what the recording holds and lacks
    lumos report traces -o report.html

What happens when, with the defaults wait=10, warmup=3, steps=3:

    steps 0-6    nothing: compilation, autotuning and the allocator settle
    steps 7-9    timed without the profiler: the device is waited for at both ends only
    steps 10-12  the profiler warms up; what it sees is thrown away
    steps 13-15  recorded; the device's queue is empty at the start, so that every kernel has its launch
    afterwards   nothing: step() returns at once

The time without the profiler goes into the trace, and Lumos says what recording has cost. What each option is good for and what it costs
is in the README.md beside this file.
"""

import atexit
import contextlib
import gc
import gzip
import inspect
import json
import os
import shutil
import sys
import time
import warnings

import torch
import torch.profiler

__all__ = ["Recorder"]

METADATA = "lumos_recorder"  # the key in the trace under which Lumos looks for what was measured here


class Recorder:
    """Counts the steps of a training loop, and records some of them once.

    folder   where rankN.json.gz goes; made where it is missing
    wait     steps before the profiler starts, more than `steps`; the last `steps` of them are timed
    warmup   steps that the profiler sees and throws away, at least 1
    steps    steps that are recorded, the same ones on every rank
    shapes   the sizes behind every matrix product
    sync     which stream or thread waited for which event (PyTorch 2.1 and later, on CUDA)
    stacks   Python functions and modules; slows the host, so leave it out where times matter
    memory   every allocation of the framework, on the device too; slows the host
    hold_gc  no garbage collection while steps are timed or recorded: fewer outliers, but not quite the job as it was
    """

    def __init__(self, folder, wait=10, warmup=3, steps=3, shapes=True, sync=True, stacks=False, memory=False,
                 hold_gc=False):
        if steps < 1 or warmup < 1 or wait <= steps:
            raise ValueError(f"Recorder wants steps >= 1, warmup >= 1 and wait > steps, not {steps}, {warmup}, {wait}")
        self.folder = folder
        self.path = None  # of the trace, once it is written
        self.unprofiled_ns = None  # how long `steps` steps took without the profiler, once that is known
        self._steps = steps
        self._timed = (wait - steps, wait)  # from the end of this step to that of that one, counted from 1
        self._first = wait + warmup  # recorded are the steps behind this one
        self._last = wait + warmup + steps
        self._options = {"wait": wait, "warmup": warmup, "shapes": shapes, "sync": sync, "stacks": stacks,
                         "memory": memory}
        self._hold_gc = hold_gc
        self._collects = None  # whether garbage was collected before it was held back
        self._froze = False  # whether this recorder froze what there was
        self._running = None  # None before the start, False behind the end
        self._broken = False  # the profiler failed
        self._profiler = None  # only while there is something to record
        self._count = 0  # steps that have ended
        self._clock = 0

    @property
    def done(self):
        """Are all steps recorded (then a loop that ran only for the trace may end)?"""
        return self._count >= self._last

    @property
    def unprofiled_step_ns(self):
        """The mean time of a step without the profiler, in nanoseconds; None until it is known."""
        return None if self.unprofiled_ns is None else self.unprofiled_ns // self._steps

    def __enter__(self):
        self.start()
        return self

    def __exit__(self, kind, error, trace):
        self._end(kind is None)

    def start(self):
        """Count from here on. Not needed in a `with`, nor before the first step(), which starts what has not started."""
        self._end(False)
        self._count = 0
        self._broken = False
        self._running = True
        self.path = self.unprofiled_ns = None
        atexit.register(self._remind)
        if getattr(torch.profiler, "kineto_available", lambda: True)():
            with self._no_failure("start"):
                self._profiler = _profiler(self._steps, self._options, self._save)
                self._profiler.start()
        else:
            warnings.warn("Steps are timed but not recorded: this PyTorch was built without Kineto, which writes the traces "
                          "(that of Debian 12 is such a one, those of pytorch.org are not).", stacklevel=2)

    def stop(self):
        """End. Nothing is written if steps are missing, and a warning says so; once all is recorded this does nothing."""
        self._end(True)

    def steps_of(self, batches, until_done=False):
        """The batches, with a step after each; with until_done the loop ends with the recording."""
        before = None
        for batch in batches:
            clock = time.perf_counter_ns()
            try:
                yield batch
            except GeneratorExit:
                # The loop was left amid this step. It has ended, too, unless it was cut short: with a break before the work.
                if before is not None and (time.perf_counter_ns() - clock) * 2 >= before:
                    self.step()
                raise
            before = time.perf_counter_ns() - clock
            self.step()
            if until_done and self.done:
                return

    def step(self):
        """A step has ended."""
        if self._running is None:
            self.start()
        if self.done or not self._running:
            return
        self._count += 1
        if self._count == self._timed[0]:
            self._hold_garbage()
            _synchronize()
            self._clock = time.perf_counter_ns()
        elif self._count == self._timed[1]:
            _synchronize()
            self.unprofiled_ns = time.perf_counter_ns() - self._clock
        elif self._count == self._first:
            _synchronize()  # no kernel in the first recorded step that was launched before the recording
        if self._profiler is not None:
            with self._no_failure("go on"):
                self._profiler.step()  # starts, records, stops and saves as its schedule says
                if self._count == self._first:
                    self._profiler.add_metadata_json(METADATA, json.dumps(self._facts()))
        if self.done:
            self._end(False)

    def _facts(self):
        """What only the recorder knows, for the trace: times in nanoseconds."""
        return {
            "version": 1,
            "torch": str(torch.__version__),
            "unprofiled": {"steps": self._steps, "dur": self.unprofiled_ns},
            "options": dict(self._options, steps=self._steps, hold_gc=self._hold_gc),
        }

    def _end(self, remark):
        """Stop; `remark`: say so if nothing was recorded."""
        if not self._running:
            return
        self._running = False
        atexit.unregister(self._remind)
        self._stop_profiler()
        self._release_garbage()
        if remark:
            self._remind()

    def _remind(self):
        missing = self._last - self._count
        if missing > 0:
            warnings.warn(f"Nothing was recorded: the loop ended {missing} of {self._last} steps early. "
                          "Run longer, or give Recorder a smaller wait, warmup or steps.", stacklevel=4)

    @contextlib.contextmanager
    def _no_failure(self, what):
        """An error of the profiler costs the trace, not the training."""
        try:
            yield
        except Exception as error:
            if not self._broken:
                warnings.warn(f"No trace: the profiler cannot {what}: {type(error).__name__}: {error}", stacklevel=4)
            self._broken = True
            self._stop_profiler()

    def _stop_profiler(self):
        profiler, self._profiler = self._profiler, None
        if profiler is not None:
            with self._no_failure("stop"):
                profiler.stop()

    def _hold_garbage(self):
        if self._hold_gc:
            gc.collect()
            self._collects = gc.isenabled()
            self._froze = gc.get_freeze_count() == 0  # unfreeze() would free what the program itself has frozen
            if self._froze:
                gc.freeze()
            gc.disable()

    def _release_garbage(self):
        if self._collects is not None:
            if self._froze:
                gc.unfreeze()
            if self._collects:
                gc.enable()
            self._collects = None

    def _save(self, profiler):
        """Called by the profiler, also where a loop ends amid the recorded steps: that is no recording."""
        if not self.done or self._broken or self.path is not None:
            return
        try:
            rank = _rank()
            path = os.path.join(self.folder, f"rank{rank}.json.gz")
            os.makedirs(self.folder, exist_ok=True)
            _write(profiler, path)
        except Exception as error:  # neither a full disk nor a broken profiler is a reason to end a training run
            warnings.warn(f"No trace: {error}")
            return
        self.path = path
        if rank == 0:
            print(f"Recorded {self._steps} steps: {path}. What they hold: lumos-parse --check {self.folder}",
                  file=sys.stderr)


def _profiler(steps, options, save):
    """The profiler with these options, without those that this version of PyTorch does not know."""
    arguments = {
        "activities": _activities(),
        "schedule": torch.profiler.schedule(wait=options["wait"], warmup=options["warmup"], active=steps, repeat=1),
        "on_trace_ready": save,
        "record_shapes": options["shapes"],
        "profile_memory": options["memory"],
        "with_stack": options["stacks"],
        "with_modules": options["stacks"],
        "experimental_config": _experimental(options["sync"]),
    }
    known = inspect.signature(torch.profiler.profile).parameters
    return torch.profiler.profile(**{name: value for name, value in arguments.items() if name in known})


def _activities():
    """The host, and the devices that are there."""
    kinds = torch.profiler.ProfilerActivity
    found = [kinds.CPU]
    for kind, device in (("CUDA", "cuda"), ("XPU", "xpu")):  # AMD's devices are CUDA here, too
        if hasattr(kinds, kind) and hasattr(torch, device) and getattr(torch, device).is_available():
            found.append(getattr(kinds, kind))
    return found


def _experimental(sync):
    """The option for synchronisation events, which has no public name yet; None where PyTorch has none."""
    try:
        return torch._C._profiler._ExperimentalConfig(enable_cuda_sync_events=True) if sync else None
    except (AttributeError, TypeError):
        return None


def _synchronize():
    """Wait for the device, if one is in use."""
    for name in ("cuda", "xpu", "accelerator"):
        device = getattr(torch, name, None)
        if device is not None and device.is_available():
            if getattr(device, "is_initialized", lambda: True)():
                device.synchronize()
            return


def _rank():
    """This process's number in the job: as the process group says, or the launcher, or 0."""
    distributed = getattr(torch, "distributed", None)
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        return distributed.get_rank()
    for name in ("RANK", "SLURM_PROCID"):  # of torchrun, of srun
        number = os.environ.get(name, "")
        if number.isdecimal():
            return int(number)
    return 0


def _write(profiler, path):
    """The trace, compressed; it has its name only once it is whole, and what else was written is gone."""
    folder, name = os.path.split(path)
    plain = os.path.join(folder, f".{name}.{os.getpid()}.json")
    packed = plain + ".part"
    try:
        profiler.export_chrome_trace(plain)
        with open(plain, "rb") as source, gzip.open(packed, "wb", compresslevel=6) as target:
            source.seek(max(0, os.path.getsize(plain) - 16))
            if not source.read().rstrip().endswith(b"}"):  # on a full disk the profiler stops writing without a word
                raise OSError(f"the profiler could not write all of {plain}")
            source.seek(0)
            shutil.copyfileobj(source, target, 1 << 20)
        os.replace(packed, path)
    finally:
        for left in (plain, packed):
            if os.path.exists(left):
                os.remove(left)
