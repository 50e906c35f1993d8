#!/usr/bin/env python3
"""tables.py STREAM REPORT: the tables of a report in JSON, computed again from the stream's tasks and spans.

Shares no code with Lumos. Prints what differs; exit status 1 where something does.
"""
import bisect
import json
import sys
from collections import defaultdict

STREAM, REPORT = sys.argv[1:]
CALLS = {'launch', 'sync', 'event', 'alloc', 'other'}
LONG = 50_000

records = defaultdict(list)
for line in open(STREAM, encoding='utf-8'):
    record = json.loads(line)
    records[record['type']].append(record)
with open(REPORT, encoding='utf-8') as file:
    report = json.load(file)

streams = {(lane['rank'], lane['lane']) for lane in records['lane'] if lane['kind'] == 'stream'}
tasks = {task['id']: task for task in records['task']}
spans = {span['id']: span for span in records['span']}
rank_steps = [m for m in records['metric'] if m['name'] == 'step_time' and m['source'] == 'measured' and {'rank', 'step'} == set(m['scope'])]
steps = {m['scope']['step'] for m in rank_steps}
steps -= {min(steps)} if len(steps) >= 3 else set() # the recording begins in it
parts = sum(m['scope']['step'] in steps for m in rank_steps)
counted = [task for task in records['task'] if task.get('step') in steps]
device = [task for task in counted if (task['rank'], task['lane']) in streams]
host = [task for task in counted if (task['rank'], task['lane']) not in streams]
device_time = sum(task['dur'] for task in device)

faults = 0
compared = 0


def fault(*words):
    global faults
    faults += 1
    if faults <= 20:
        print(*words)


def same(where, said, found, tolerance):
    global compared
    compared += 1
    if (said is None) != (found is None) or (said is not None and abs(said - found) > tolerance):
        fault(where, 'is', said, 'and should be', found)


def check(table, wanted, kinds):
    """wanted: key -> values in the order of the columns behind the keys; kinds: 't' time, 'n' mean count, 's' share, 'r' rate."""
    tolerance = {'t': 2, 'n': 0.0011, 's': 0.000002, 'r': 0.0011}
    rows = {row[0]: row[1:] for row in report['tables'][table]['rows']}
    for name in set(rows) ^ set(wanted):
        fault(table, 'and the stream differ in', name)
    for name in set(rows) & set(wanted):
        for column, (said, found, kind) in enumerate(zip(rows[name], wanted[name], kinds)):
            if kind != '-':
                same((table, name, report['tables'][table]['columns'][column + 1]), said, found, tolerance[kind])


def share(part):
    return part / device_time if device_time else None


# --- Kernels, and GPU time by kind ---
by_name = defaultdict(list)
by_kind = defaultdict(list)
for task in device:
    by_name[task['name'], task['kind']].append(task['dur'])
    by_kind[task['kind']].append(task['dur'])
cut = [(row[0], row) for row in report['tables']['kernels']['rows']]
if len(cut) != len(by_name):
    fault('kernels has', len(cut), 'rows, the stream', len(by_name), 'names')
if [row[3] for _, row in cut] != sorted((row[3] for _, row in cut), reverse=True):
    fault('kernels are not in the order of their times')
ordered = sorted(by_name.values(), key=lambda durations: (-(sum(durations) // parts), len(durations)))
for (name, row), durations in zip(sorted(cut, key=lambda pair: (-pair[1][3], pair[1][2])), ordered):
    same(('kernels', name, 'count'), row[2], len(durations) / parts, 0.0011)
    same(('kernels', name, 'time'), row[3], sum(durations) // parts, 1)
    same(('kernels', name, 'share'), row[4], share(sum(durations)), 0.000002)
kinds = sorted(by_kind.values(), key=lambda durations: (-sum(durations), len(durations)))
rows = sorted(report['tables']['kinds']['rows'], key=lambda row: (-row[1], row[3]))
if len(rows) != len(kinds):
    fault('kinds has', len(rows), 'rows, the stream', len(kinds), 'kinds')
for row, durations in zip(rows, kinds):
    same(('kinds', row[0], 'time'), row[1], sum(durations) / parts, 2)
    same(('kinds', row[0], 'share'), row[2], share(sum(durations)), 0.000002)
    same(('kinds', row[0], 'count'), row[3], len(durations) / parts, 0.0011)

# --- Copies ---
copies = defaultdict(lambda: [0, 0])
rates = defaultdict(lambda: [0, 0])
for task in device:
    if task['kind'] in ('copy', 'memset'):
        row = copies[task['name']]
        row[0] += task['dur']
        row[1] += 1
        if 'bytes' in task:
            rates[task['name']][0] += task['bytes']
            rates[task['name']][1] += task['dur']
wanted = {}
for name, (time, count) in copies.items():
    moved, took = rates[name]
    wanted[name] = [time / parts, share(time), count / parts, moved / parts if took else None, moved / took if took else None]
check('copies', wanted, 'tsntr')

# --- Calls: a call is its last segment, which names the first ---
pieces = set()
starts = {}
by_place = {(task['rank'], task['lane'], task['seq']): task for task in records['task']}
for task in records['task']:
    first = tasks.get(task.get('first_segment'))
    starts[task['id']] = task.get('start') if first is None else first['start']
    if first is not None:
        pieces.add(first['id'])
        for seq in range(first['seq'] + 1, task['seq']):
            inner = by_place.get((task['rank'], task['lane'], seq))
            if inner and 'first_segment' not in inner and all(inner.get(key) == task.get(key) for key in ('name', 'kind', 'span')):
                pieces.add(inner['id'])
calls = defaultdict(list)
for task in host:
    if task['kind'] in CALLS and task['id'] not in pieces:
        calls[task['name']].append(task['start'] + task['dur'] - starts[task['id']])
launched = defaultdict(list)
for task in records['task']:
    if 'call' in task:
        launched[task['call']].append(task)
alone = defaultdict(int)
short = defaultdict(int)
for call, work in launched.items():
    if len(work) == 1 and work[0].get('step') in steps and (work[0]['rank'], work[0]['lane']) in streams:
        record = tasks[call]
        length = record['start'] + record['dur'] - starts[call]
        alone[record['name']] += 1
        short[record['name']] += length <= LONG and work[0]['dur'] < length
wanted = {}
for name, times in calls.items():
    times.sort()
    wanted[name] = [sum(times) / parts, len(times) / parts, times[(len(times) - 1) // 2], times[(len(times) * 99 + 99) // 100 - 1],
                    sum(time > LONG for time in times) / parts, alone[name] / parts if alone[name] else None,
                    short[name] / parts if alone[name] else None]
check('calls', wanted, 'tnttnnn')

# --- Annotations ---
def around(span):
    found = []
    while span is not None:
        if spans[span]['kind'] == 'annotation':
            found.append(spans[span])
        span = spans[span].get('parent')
    return found


marked = defaultdict(list)
for span in records['span']:
    if span['kind'] == 'step':
        marked[span['rank']].append((span['start'], int(span['name'].rsplit('#')[-1])))
for rank in marked:
    marked[rank].sort()
opened = defaultdict(list)
for span in records['span']:
    if span['kind'] == 'annotation' and 'lane' in span:
        opened[span['rank']].append((span['start'], span['start'] + span['dur'], span['lane'], int(span['id'].split(':')[1]), span))
gpu = defaultdict(int)
for task in device:
    if 'call' not in task:
        continue
    call = tasks[task['call']]
    names = {span['name'] for span in around(call.get('span'))}
    if task.get('phase') in ('backward', 'weight'):
        elsewhere = [one for one in opened[task['rank']] if one[0] <= call['start'] < one[1] and one[2] != call['lane']]
        if elsewhere:
            last = max(elsewhere, key=lambda one: (one[0], one[3]))
            names |= {span['name'] for span in around(last[4]['id'])}
    for name in names:
        gpu[name] += task['dur']
cpu = defaultdict(int)
count = defaultdict(int)
for span in records['span']:
    if span['kind'] == 'annotation' and 'lane' in span:
        marks = marked[span['rank']]
        place = bisect.bisect_right(marks, (span['start'], 1 << 62)) - 1
        if marks and marks[max(place, 0)][1] not in steps:
            continue
        count[span['name']] += 1
        if span['name'] not in {outer['name'] for outer in around(span.get('parent'))}:
            cpu[span['name']] += span['dur']
wanted = {name: [gpu[name] / parts, share(gpu[name]), cpu[name] / parts, count[name] / parts] for name in set(gpu) | set(count)}
check('annotations', wanted, 'tstn')

print(f'{compared} figures, {faults} of them wrong')
sys.exit(faults > 0 or (compared < 10 and len(records['task']) > 50))
