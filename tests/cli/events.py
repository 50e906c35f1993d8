"""events.py TRACE...: hold files against the Trace Event Format, as its document ("Trace Event Format", Google) and Perfetto's importer have it: what
kinds of events there are and what each must have, rows of a thread that nest, arrows that begin and end on a row, counters that are numbers. Shares
no code with what writes them.
"""
import bisect
import collections
import gzip
import json
import math
import sys

METADATA = {'process_name': ('name', str), 'thread_name': ('name', str), 'process_labels': ('labels', str),
            'process_sort_index': ('sort_index', int), 'thread_sort_index': ('sort_index', int)}


def check(path):
    faults = []
    fault = lambda event, what: len(faults) < 20 and faults.append('%s: %s: %s' % (path, what, json.dumps(event)[:200]))
    data = gzip.open(path).read() if path.endswith('.gz') else open(path, 'rb').read()
    document = json.loads(data.decode('utf-8'), parse_constant=lambda text: fault(None, 'no JSON: ' + text))
    events = document['traceEvents']
    number = lambda value: isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)
    rows, named, seen = collections.defaultdict(list), {'process_name': {}, 'thread_name': {}}, collections.Counter()
    flows = collections.defaultdict(list)
    counters = collections.defaultdict(list)
    for event in events:
        phase = event.get('ph')
        seen[phase] += 1
        if not isinstance(event.get('name'), str) or not event['name'] or not isinstance(event.get('args', {}), dict):
            fault(event, 'no name, or arguments that are none')
        if not isinstance(event.get('pid'), int) or not isinstance(event.get('tid', 0), int):
            fault(event, 'no process or thread')
            continue
        if phase == 'M':
            member, kind = METADATA.get(event['name'], (None, None))
            if member is None or not isinstance(event['args'].get(member), kind):
                fault(event, 'metadata that is none')
            if event['name'] in named:
                key = (event['pid'], event.get('tid') if event['name'] == 'thread_name' else None)
                if key in named[event['name']]:
                    fault(event, 'named twice')
                named[event['name']][key] = event['args'].get('name')
            continue
        if not number(event.get('ts')) or event['ts'] < 0:
            fault(event, 'no time')
            continue
        if phase == 'X':
            if not number(event.get('dur')) or event['dur'] < 0 or 'tid' not in event or not isinstance(event.get('cat'), str):
                fault(event, 'no duration, thread or category')
            else:
                start = round(event['ts'] * 1000)
                rows[event['pid'], event['tid']].append((start, start + round(event['dur'] * 1000)))
        elif phase in ('s', 'f'):
            if 'id' not in event or 'cat' not in event or 'tid' not in event or (phase == 'f' and event.get('bp') != 'e'):
                fault(event, 'an arrow without number, category or row')
            else:
                flows[event['cat'], event['name'], event['id']].append((phase, round(event['ts'] * 1000), event['pid'], event['tid']))
        elif phase == 'C':
            if not event.get('args') or not all(number(value) for value in event['args'].values()):
                fault(event, 'a counter that is no number')
            counters[event['pid'], event['name']].append(event['ts'])
        elif phase == 'i':
            if event.get('s', 't') not in ('g', 'p', 't'):
                fault(event, 'an instant of no scope')
        else:
            fault(event, 'no kind of event that is used here')
    for pid, tid in rows:
        if (pid, None) not in named['process_name'] or (pid, tid) not in named['thread_name']:
            fault({'pid': pid, 'tid': tid}, 'rows without a name')
    for pid, name in counters:
        if (pid, None) not in named['process_name']:
            fault({'pid': pid, 'name': name}, 'a counter of a process without a name')
        if counters[pid, name] != sorted(set(counters[pid, name])):
            fault({'pid': pid, 'name': name}, 'a counter with two numbers at once, or out of order')
    for key, spans in rows.items():
        spans.sort(key=lambda span: (span[0], -span[1]))
        open_until = []
        for start, end in spans:
            while open_until and open_until[-1] <= start:
                open_until.pop()
            if open_until and end > open_until[-1]:
                fault({'row': key, 'from': start, 'until': end}, 'crosses the row that it begins in')
            open_until.append(end)
    starts = {key: [start for start, _ in spans] for key, spans in rows.items()}
    for key, ends in flows.items():
        if [phase for phase, *_ in sorted(ends, key=lambda end: end[0], reverse=True)] != ['s', 'f']:
            fault({'arrow': key}, 'not one begin and one end')
            continue
        for phase, time, pid, tid in ends:
            spans = rows.get((pid, tid), [])
            at = bisect.bisect_right(starts.get((pid, tid), []), time)
            if not any(spans[i][0] <= time <= spans[i][1] for i in range(at - 1, -1, -1)):
                fault({'arrow': key, 'ts': time, 'at': (pid, tid)}, 'begins or ends on no row')
        # Perfetto drops arrows that lead back in time. Clocks of a call and its kernel may differ, so that the kernel was over by then.
        (begin, *_), (end, pid, tid) = [rest for _, *rest in sorted(ends, key=lambda end: end[0], reverse=True)]
        if end < begin:
            seen['back'] += 1
            at = bisect.bisect_right(starts[pid, tid], end)
            if any(start <= end < until and begin < until for start, until in rows[pid, tid][max(at - 1, 0):at]):
                fault({'arrow': key}, 'leads back in time, to a row that is longer')
    return faults, seen, named['process_name'].values()


status = 0
for name in sys.argv[1:]:
    wrong, kinds, processes = check(name)
    for line in wrong:
        print(line)
    print('%s: %s; processes: %s' % (name, ', '.join('%d of %s' % (kinds[kind], kind) for kind in sorted(kinds)).replace('of back', 'arrows that lead back'), ', '.join(sorted(processes))))
    status |= bool(wrong) or not kinds['X']
sys.exit(status)
