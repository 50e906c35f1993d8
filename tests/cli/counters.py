"""counters.py TRACE STREAM...: hold the counters of a file of lumos-sim --trace or lumos-compare --trace against its own rows, and the busy time of each
rank of the first STREAM against the metric gpu_busy. Counters are numbers that stand until the next one of their track.
"""
import collections
import gzip
import json
import sys

path = sys.argv[1]
events = json.load(gzip.open(path) if path.endswith('.gz') else open(path, encoding='utf-8'))['traceEvents']
faults = []
names = {event['pid']: event['args']['name'] for event in events if event['name'] == 'process_name'}
ns = lambda microseconds: round(microseconds * 1000)
TRACKS = {'GPU busy': 'running streams', 'queue length': 'launched, not started', 'copy bandwidth': 'GB/s', 'communication bandwidth': 'GB/s'}

# What counters say: (process, track): [(time, value)].
tracks = collections.defaultdict(list)
for event in events:
    if event['ph'] == 'C':
        track = event['name'].replace(' (simulated)', '')
        if list(event['args']) != [TRACKS[track]]:
            faults.append('%s has %s' % (event['name'], event['args']))
        tracks[event['pid'], event['name']].append((ns(event['ts']), event['args'][TRACKS[track]]))


def area(track, of=lambda value: value):
    """The sum of numbers times how long they stand, ns."""
    return sum(of(value) * (after[0] - time) for (time, value), after in zip(track, track[1:]))


# What rows say, by process and timeline.
rows = collections.defaultdict(list)
calls = {}
for event in events:
    if event['ph'] != 'X':
        continue
    simulated = event['cat'] == 'lumos_simulated'
    if event['cat'] in ('kernel', 'gpu_memcpy', 'gpu_memset', 'other') or simulated:
        if 'stream' in event['args']:
            rows[event['pid'], simulated].append(event)
    rank = names[event['pid']].replace(' device', ' host').split(' host')[0]
    if 'correlation' in event.get('args', {}) and 'stream' not in event['args'] and event['cat'] != 'cuda_sync':
        calls[rank, simulated, event['args']['correlation']] = ns(event['ts'])


def union(spans):
    total, end = 0, None
    for start, until in sorted(spans):
        if end is None or start > end:
            total += until - start
            end = until
        elif until > end:
            total += until - end
            end = until
    return total


busy, before = collections.Counter(), collections.Counter()
checked = 0
for (pid, simulated), work in rows.items():
    suffix = ' (simulated)' if simulated else ''
    rank = names[pid].split(' device')[0]
    spans = [(ns(event['ts']), ns(event['ts']) + ns(event['dur'])) for event in work]
    running, queue = tracks.get((pid, 'GPU busy' + suffix), []), tracks.get((pid, 'queue length' + suffix), [])
    for what, said, true in [('time of all streams', area(running), sum(until - start for start, until in spans)),
                             ('busy time', area(running, lambda value: value > 0), union(spans)),
                             ('what is left running', running[-1][1] if running else 0, 0), ('what is left queued', queue[-1][1] if queue else 0, 0)]:
        checked += 1
        if said != true:
            faults.append('%s%s: %s is %s, of its rows %s' % (names[pid], suffix, what, said, true))
    if any(value < 0 for _, value in running + queue):
        faults.append('%s%s: a number is below 0' % (names[pid], suffix))
    waits = [ns(event['ts']) - calls[rank, simulated, event['args']['correlation']] for event in work
             if (rank, simulated, event['args'].get('correlation')) in calls]
    checked += 1
    if area(queue) != sum(wait for wait in waits if wait > 0):
        faults.append('%s%s: the queue adds up to %d, of launches and starts %d' % (names[pid], suffix, area(queue), sum(wait for wait in waits if wait > 0)))
    before[rank] += union([span for span, event in zip(spans, work) if simulated and 'step' not in event['args']])
    busy[rank, simulated] += area(running, lambda value: value > 0)
    if not simulated: # the bytes of simulated rows are those of the measured ones
        for track, key, kinds in [('copy bandwidth', 'bytes', ('gpu_memcpy',)), ('communication bandwidth', 'Lumos bytes', ('kernel', 'other'))]:
            moved = [event for event in work if event['cat'] in kinds and event['args'].get(key, 0) > 0 and event['dur'] > 0]
            true = sum(event['args'][key] for event in moved)
            said = area(tracks.get((pid, track), []))
            checked += 1
            if abs(said - true) > 1 + 0.001 * sum(ns(event['dur']) for event in moved): # rates are cut to MB/s
                faults.append('%s: the %s adds up to %d bytes, rows to %d' % (names[pid], track, said, true))

# The metric is of the steps: what no step has done may lie before them.
for line in open(sys.argv[2], encoding='utf-8') if len(sys.argv) > 2 else []:
    metric = json.loads(line)
    if metric.get('name') == 'gpu_busy' and metric['source'] == 'simulated' and list(metric['scope']) == ['rank', 'step']:
        busy['rank %d' % metric['scope']['rank'], 'metric'] += metric['value']
for rank, which in list(busy):
    if which == 'metric':
        checked += 1
        if not 0 <= busy[rank, True] - busy[rank, 'metric'] <= max(before[rank], busy[rank, True] // 1000):
            faults.append('%s: busy for %d, by the metric %d' % (rank, busy[rank, True], busy[rank, 'metric']))
for line in faults:
    print(line)
print('%d sums of counters checked, %d wrong' % (checked, len(faults)))
sys.exit(1 if faults or not checked else 0)
