"""shares.py DOCUMENT PAGE: recompute every share that a page's sentences, figures and legends state from the times of the JSON document, and check what
its sentences compare (comparisons.py).

A share is a time over the time that the sentence names, mostly the job's mean step. A sentence with a share that no rule here knows is a fault, too.
"""
import html
import json
import re
import sys

import comparisons

SHARE = r'(?:\u2212|[+<-])?[\d,]+(?:\.\d+)?\u00a0%'
TIME = r'[\d,.]+\u00a0(?:ns|\u00b5s|ms|s)'
UNITS = {'ns': 1, '\u00b5s': 1e3, 'ms': 1e6, 's': 1e9}
PARTS = {'compute': 'exposed_compute', 'overlapped': 'overlapped', 'transfer': 'communication_transfer', 'waiting': 'communication_wait',
         'bubble': 'pipeline_bubble', 'transfer or waiting': 'communication_unsplit', 'copies': 'exposed_copy', 'outside the recording': 'not_recorded',
         'idle': 'idle'}
IDLE = {'CPU-bound': 'idle_host', 'CPU blocked in synchronization': 'idle_sync', 'launch latency': 'idle_launch',
        'waiting for other work': 'idle_dependency', 'unexplained': 'idle_unexplained'}
LOSSES = {'Idle time takes': 'idle', 'Exposed communication takes': 'exposed_communication', 'Exposed copies take': 'exposed_copy',
          'Waiting for other ranks takes': 'communication_wait', 'The pipeline bubble takes': 'pipeline_bubble',
          'What lies outside the recording takes': 'not_recorded'}

document = json.load(open(sys.argv[1], encoding='utf-8'))
page = open(sys.argv[2], encoding='utf-8').read()
faults = []
checked = 0


def fault(text, said, true):
    faults.append('%s: says %s, is %s' % (text, said, true))


# ---- What the document has ----

def mean_rows(rows, timeline, figure, rank=None):
    """The mean over the steps that count, as the document has them."""
    values = [row.get(figure, 0) for row in rows
              if row['timeline'] == timeline and not row.get('left_out') and 'step_time' in row and (rank is None or row.get('rank') == rank)]
    return sum(values) / len(values) if values else 0


edited = document['edited']
spoken = 'simulated' if edited or document['step_time']['measured'] is None else 'measured'
step = document['step_time'][spoken]
step_of = document['step_time']


def of_job(figure, timeline):
    rows = document['job_steps'] if any(figure in row for row in document['job_steps']) else document['rank_steps']
    return mean_rows(rows, timeline, figure) / step_of[timeline]


def of_rank(figure, rank):
    return mean_rows(document['rank_steps'], spoken, figure, rank) / step


def table(name):
    found = document['tables'][name]
    return [dict(zip(found['columns'], row)) for row in found['rows']]


def whole(name):
    return document['tables'][name]['whole']


def row_named(name, key, value):
    return next(row for row in table(name) if row[key] == value)


# ---- What a text says ----

def nanoseconds(text):
    number, unit = text.split('\u00a0')
    return float(number.replace(',', '')) * UNITS[unit]


def time_error(text):
    """Half of the last digit."""
    number, unit = text.split('\u00a0')
    decimals = len(number.split('.')[1]) if '.' in number else 0
    return UNITS[unit] * 0.5 * 10 ** -decimals


def compare(text, said, true, slack=0.0):
    """`said` as written, `true` a fraction; `slack`: what a time that is itself rounded may be off by."""
    global checked
    checked += 1
    if true is None:
        return fault(text, said, 'not known')
    number = said.replace('\u00a0%', '').replace('\u2212', '-').replace(',', '')
    if number.startswith('<'):
        return None if abs(true) < float(number[1:]) / 100 + slack else fault(text, said, true)
    decimals = len(number.split('.')[1]) if '.' in number else 0
    off = abs(abs(float(number)) / 100 - abs(true))
    return None if off <= 0.00501 * 10 ** -decimals + slack else fault(text, said, true)


def over(time, base):
    return nanoseconds(time) / base, time_error(time) / base


def known(text, said, time, base):
    true, slack = over(time, base)
    compare(text, said, true, slack)


# ---- Rules: a pattern, and what its shares are. Tried in order; one that fits must account for all shares of the text. ----

def late(text, match):
    for rank, time, said in re.findall(r'[Rr]ank (\d+) arrives (%s) late \((%s)' % (TIME, SHARE), text):
        row = row_named('stragglers', 'rank', 'rank ' + rank)
        compare(text, said, row['delay'] / step)
        known(text, said, time, step)


def loss(text, match):
    figure = LOSSES[match['what']]
    compare(text, match['all'], of_job(figure, spoken))
    for said, rank in re.findall('(%s) on rank (\\d+)' % SHARE, match['ranks'] or ''):
        rest = 0 # what a rank has of the job's step before its own and after it
        if figure == 'not_recorded' and document['job_steps']:
            rest = max(step_of[spoken] - mean_rows(document['rank_steps'], spoken, 'step_time', int(rank)), 0) / step_of[spoken]
        compare(text, said, of_rank(figure, int(rank)) + rest)


def idle(text, match):
    compare(text, match['all'], of_job('idle', 'simulated'))
    for said, cause in re.findall('(%s) (%s)' % (SHARE, '|'.join(IDLE)), text):
        compare(text, said, of_job(IDLE[cause], 'simulated'))


def halving(text, match):
    """The work is in the table, with half of its time."""
    base = whole('opportunities')
    rows = [row for row in table('opportunities') if abs(row['half'] - nanoseconds(match['time'])) <= time_error(match['time']) * 1.001]
    if not rows:
        fault(text, match['time'], 'no row of the table')
    gains = sorted((base - row['half']) / base for row in rows) # of kinds that gain alike any
    if gains:
        compare(text, match['said'], sum(gains) / len(gains), time_error(match['time']) / base)


def change(text, match):
    """The change is in the table of changes."""
    base = whole('improvements')
    rows = [row for row in table('improvements') if abs(row['step'] - nanoseconds(match['time'])) <= time_error(match['time']) * 1.001]
    if not rows:
        fault(text, match['time'], 'no row of the table')
    gains = sorted((base - row['step']) / base for row in rows)
    if gains:
        compare(text, match['said'], sum(gains) / len(gains), time_error(match['time']) / base)


def largest(name, said):
    def rule(text, match):
        for share, kind in re.findall('(%s) ([^,;]+?)(?= and|,|;|$)' % SHARE, match['list']):
            compare(text, share, row_named(name, said, kind)['time'] / whole(name))
        if match['rank'] is not None:
            compare(text, match['of_rank'], row_named('pathranks', 'rank', 'rank ' + match['rank'])['time'] / whole('pathranks'))
    return rule


def pipeline(text, match):
    compare(text, match['said'], of_job('pipeline_bubble', spoken))
    if match['theory']:
        theory = [metric['value'] for metric in document['metrics'] if metric['name'] == 'bubble_theory']
        compare(text, match['theory'], theory[0])


PHASES = {'forward': 'forward', 'backward': 'backward', 'weight gradients': 'weight', 'the optimizer': 'optimizer', 'unassigned work': 'other',
          'exposed communication': 'communication'}


def passes(text, match):
    rows, base = table('pipeline'), whole('pipeline')
    mean = lambda column: sum(row[column] or 0 for row in rows) / len(rows) / base
    for name, said in re.findall('(%s)(?: spans)? (%s)' % ('|'.join(PHASES), SHARE), text):
        compare(text, said, mean(PHASES[name]))
    for said in re.findall('in (%s) no pass runs|no pass runs for (%s)' % (SHARE, SHARE), text):
        compare(text, said[0] or said[1], empty_share('pipeline'))


def empty_share(name):
    return sum(row['empty'] or 0 for row in table(name)) / len(table(name)) / whole(name)


def both_pipelines(text, match):
    compare(text, match['recorded'], empty_share('recorded_pipeline'))
    compare(text, match['predicted'], empty_share('pipeline'))


def rebuilt(text, match):
    errors = [metric['value'] for metric in document['metrics'] if metric['name'] == 'rebuild_error' and not metric['scope']]
    compare(text, match['said'], abs(errors[0]))


def layers(text, match):
    totals = sorted(row['total'] for row in table('layers') if row['where'].startswith('layer '))
    median = (totals[(len(totals) - 1) // 2] + totals[len(totals) // 2]) / 2
    compare(text, match['said'], row_named('layers', 'where', 'layer ' + match['layer'])['total'] / median - 1)
    if match['communication']:
        rows = [row for row in table('layers') if row['where'].startswith('layer ')]
        compare(text, match['communication'], sum(row[key] or 0 for row in rows for key in row if key.endswith('_communication')) / sum(row['total'] for row in rows))


def assigned(text, match):
    share = lambda test: sum(row['share'] for row in table('layers') if test(row['where']))
    places = {'layers': lambda where: where.startswith('layer '), 'embedding and head': lambda where: where in ('embedding', 'head'),
              'the optimizer': lambda where: where == 'optimizer', 'passes but no layer': lambda where: where == 'passes, no layer'}
    for said, place in re.findall('(%s) to (%s)' % (SHARE, '|'.join(places)), text):
        compare(text, said, share(places[place]))
    compare(text, match['all'], 1 - share(lambda where: where == 'no phase'))


def busy(text, match):
    """The table's bins, of which the last one may be cut short."""
    rows = table('busy')
    for said, column in [(match['said'], spoken), (match['other'], 'simulated' if spoken == 'measured' else 'measured'),
                         (match['weighted'], spoken + '_occupancy')]:
        if said is not None:
            values = [row[column] for row in rows if row[column] is not None]
            compare(text, said, sum(values) / len(values), 1 / len(values))


def chain(text, match):
    """Of one step: what is said adds up to it."""
    said = re.findall(SHARE, match['parts'])
    total = sum(float(share.replace('\u00a0%', '').lstrip('<')) for share in said)
    if abs(total - 100) > 0.06 * len(said) + 0.1:
        fault(text, ' + '.join(said), '100 %')


def trust(name):
    return lambda text, match: compare(text, match['said'], document['trust'][name])


def sure(text, match):
    compare(text, match['replay'], document['trust']['replay_error'])
    if match['cross']:
        compare(text, match['cross'], document['trust']['transplant_error'])


def step_share(figure):
    return lambda text, match: compare(text, match['said'], of_job(figure, spoken))


def mfu(text, match):
    for said, way in re.findall('(%s) by the ([a-z ]+)' % SHARE, text):
        compare(text, said, row_named('mfu', 'from', way.strip())['mfu'])


def nothing(text, match):
    """Figures of the program itself: thresholds."""


def made_up(text, match):
    """By as few names as make up half of it; where nothing is known of the op, a row says so."""
    name = 'kernels' if 'name' in match['noun'] else 'opsdevice' if match['of'] == 'GPU' else 'opshost'
    is_unknown = lambda row: row['name'] == '(no op recorded)'
    times = sorted((row['time'] for row in table(name) if not is_unknown(row)), reverse=True)
    if match['said']:
        compare(text, match['said'], sum(times[:int(match['count'].replace(',', ''))]) / whole(name))
    if match['unknown']:
        compare(text, match['unknown'], sum(row['time'] for row in table(name) if is_unknown(row)) / whole(name))


def replay(text, match):
    compare(text, match['said'], abs(step_of['simulated'] - step_of['measured']) / step_of['measured'])


def blamed(text, match):
    """Of what the first finding's rank is late by: what it spends before that op, which may be more."""
    first = document['diagnosis']['findings'][0]
    compare(text, match['said'], min(first['op_time'] / first['time'], 1))


def range_source(text, match):
    """The largest of the sources of a range."""
    errors = {metric['scope']['name']: metric['value'] for metric in document['metrics'] if metric['name'] == 'prediction_error'}
    if max(errors, key=errors.get) != match['source']:
        fault(text, match['source'], max(errors, key=errors.get))
    compare(text, match['said'], errors[match['source']])


def bubble_parts(text, match):
    """What the findings have of the bubble adds up to what the bars have."""
    findings = {one['cause']: one['time'] / step for one in document['diagnosis']['findings']}
    if match['all']:
        compare(text, match['all'], of_job('pipeline_bubble', spoken))
        compare(text, match['all'], findings['bubble'] + findings['imbalance'])
    compare(text, match['rest'], findings['bubble'])
    compare(text, match['stages'], findings['imbalance'])


def not_recorded():
    """With waiting for ranks that are late for what was not recorded, where the diagnosis has found that."""
    return max([of_job('not_recorded', spoken) or 0] + [one['time'] / step for one in document['diagnosis']['findings'] if one['cause'] == 'not_recorded'])


def headline_adds(text, match):
    compare(text, match['said'], document['diagnosis']['findings'][0]['waiting'] / step)


def stopped_before():
    """What is CPU-bound, but counts as synchronization: what that costs beyond its own time."""
    cost = sum(one['time'] for one in document['diagnosis']['findings'] if one['cause'] == 'synchronization')
    return cost / step - of_job('idle_sync', 'simulated')


def launching_parts(text, match):
    """The headline is two causes of idle time and waiting, less what counts for other findings."""
    first = next(one for one in document['diagnosis']['findings'] if one['cause'] == 'cpu_bound')
    loader = sum(one['time'] for one in document['diagnosis']['findings'] if one['cause'] == 'data_loader' and not one.get('ranks')) / step
    waiting, less = first.get('waiting', 0) / step, 0
    compare(text, match['all'], first['time'] / step)
    compare(text, match['host'], of_job('idle_host', 'simulated'))
    if match['launch']:
        compare(text, match['launch'], of_job('idle_launch', 'simulated'))
    if match['waiting']:
        compare(text, match['waiting'], waiting)
    if match['stopped']:
        less += stopped_before()
        compare(text, match['stopped'], stopped_before())
    if match['loader']:
        less += loader
        compare(text, match['loader'], loader)
    compare(text, match['all'], of_job('idle_host', 'simulated') + of_job('idle_launch', 'simulated') + waiting - less)


RULES = [(re.compile(pattern), rule) for pattern, rule in [
    (r'The bubble is a mean over ranks: (?:(?P<all>%s), of which )?(?P<rest>%s) is what the schedule costs and (?P<stages>%s) what unequal stages cost' % (SHARE, SHARE, SHARE), bubble_parts),
    (r'The headline\u2019s (?P<all>%s) of the step is (?P<host>%s) CPU-bound(?:(?:,| and) (?P<launch>%s) launch latency)?(?: and (?P<waiting>%s) waiting for other ranks, whose CPUs are behind)?'
     r'(?:, less (?P<stopped>%s) that counts as synchronization)?(?:(?:, less| and) (?P<loader>%s) that counts as data loading)?\.?$'
     % ((SHARE,) * 6), launching_parts),
    (r'The headline adds (?P<said>%s) of waiting for' % SHARE, headline_adds),
    (r'The headline adds (?P<said>%s) that is CPU-bound because a synchronization' % SHARE, lambda text, match: compare(text, match['said'], stopped_before())),
    (r'^(?P<what>%s) (?P<all>%s) of the step(?P<ranks>: .*)?$' % ('|'.join(LOSSES), SHARE), loss),
    (r'^(?:The GPU idles|GPUs idle) for (?P<all>%s) of the step' % SHARE, idle),
    (r'^[Rr]ank \d+ arrives ', late),
    (r'^Halving .* cuts the step to (?P<time>%s) \(\u2212(?P<said>%s)\)(?:; 90\u00a0%% range .*)?$' % (TIME, SHARE), halving),
    (r'^(?:Capturing|Moving|Fusing|Doubling|Bringing|Reducing|Giving) .* cuts the step to (?P<time>%s) \(\u2212(?P<said>%s)\)(?:; 90\u00a0%% range .*)?$' % (TIME, SHARE), change),
    (r'^The critical path is (?P<list>[^;]*)(?:; (?P<of_rank>%s) of it is on rank (?P<rank>\d+))?$' % SHARE, largest('pathkinds', 'kind')),
    (r'^GPU time is (?P<list>.*)(?P<rank>(?!))?(?P<of_rank>(?!))?$', largest('kinds', 'kind')),
    (r'the bubble takes (?P<said>%s) of the step(?:, (?P<theory>%s) in a step of equal passes and nothing else)?$' % (SHARE, SHARE), pipeline),
    (r'^No pass runs for (?P<recorded>%s) of the recorded step \d+, and for (?P<predicted>%s) of the predicted step \d+' % (SHARE, SHARE), both_pipelines),
    (r'(?:Rebuilt in its recorded configuration, the (?:changed )?job misses its (?:measured|simulated) step by|rebuilt in the recorded one, a step is) (?P<said>%s)' % SHARE, rebuilt),
    (r' spans %s of step \d+|no pass runs for ' % SHARE, passes),
    (r'layers? takes? .*\(layer (?P<layer>\d+), (?P<said>%s) more\)(?:; (?P<communication>%s) of the layers\u2019 time is communication, waiting included)?(?:; the (?:head|embedding) takes %s)?$' % (SHARE, SHARE, TIME), layers),
    (r'Of all GPU time (?P<all>%s) is assigned' % SHARE, assigned),
    (r'(?:GPUs are|The GPU is) busy for (?P<said>%s) of the time on average(?: \(\w+: (?P<other>%s)\))?, waiting in communication included.*?(?:Weighted by occupancy, the share of warps in use, it is at least (?P<weighted>%s))?$'
     % (SHARE, SHARE, SHARE), busy),
    (r'^Step \d+ takes %s in the simulation: (?P<parts>.*?)(?:\. %s of it is on .*)?$' % (TIME, SHARE), chain),
    (r'^(?:Confidence in the simulation: \w+\. )?The simulation (?:misses the measured step by (?P<replay>%s) on average|reproduces the measured step exactly)'
     r'(?:, and one step predicted from another by (?P<cross>%s) on average)?' % (SHARE, SHARE), sure),
    (r'The simulation misses the measured step by (?P<said>%s)' % SHARE, trust('replay_error')),
    (r'predicts one step from another with an error of (?P<said>%s)' % SHARE, trust('transplant_error')),
    (r'does not show what GPUs wait for during (?P<said>%s) of the step' % SHARE, lambda text, match: compare(text, match['said'], not_recorded())),
    (r'No GPU work was recorded on (?P<said>%s) of the ranks' % SHARE,
     lambda text, match: compare(text, match['said'], sum(not rank['device_tasks'] for rank in table('ranks')) / len(table('ranks')))),
    (r'work outside the recording for (?P<said>%s) of the step' % SHARE, trust('boundary')),
    (r'Unexplained delays of kernels add up to (?P<said>%s) of the step' % SHARE, trust('unexplained_lag')),
    (r'^(?:Confidence in the simulation: \w+\. )?Communication (?:with ranks that were not recorded|that could not be matched between ranks) takes (?P<said>%s) of the step' % SHARE, step_share('communication_unsplit')),
    (r'could not be joined with other ranks\u2019 takes (?P<said>%s) of the step' % SHARE, trust('kept_wait')),
    (r'Similar steps differ by (?P<said>%s)' % SHARE, trust('step_spread')),
    (r'no op was recorded in (?P<said>%s) of that time' % SHARE, blamed),
    (r'Gaps and unusually long calls on the CPU take (?P<said>%s) of the step' % SHARE, trust('host_unknown')),
    (r'The profiler itself takes up to (?P<said>%s) of the step' % SHARE, trust('profiler_time')),
    (r'Recorded steps are longer than steps without the profiler by (?P<said>%s)' % SHARE, trust('profiling_cost')),
    (r'No launch was recorded for (?P<said>%s) of the kernels and copies' % SHARE,
     lambda text, match: compare(text, match['said'], 1 - document['trust']['launched_share'])),
    (r'^(?:GPUs compute|The GPU computes) for (?P<said>%s) of the step$' % SHARE,
     lambda text, match: compare(text, match['said'], of_job('exposed_compute', spoken) + of_job('overlapped', spoken))),
    (r'^A simulated step takes .*?, (?P<said>%s) (?:more|less) than measured' % SHARE, replay),
    (r'^(?P<count>[\d,]+)\s(?P<noun>names?|ops?) makes? up (?P<said>%s) of the (?P<of>GPU|CPU) time(?:; for (?P<unknown>%s) of it no op was recorded)?$'
     % (SHARE, SHARE), made_up),
    (r'^For (?P<unknown>%s) of the (?P<of>GPU|CPU) time no (?P<noun>op) was recorded(?P<said>(?!))?(?P<count>(?!))?$' % SHARE, made_up),
    (r'90\u00a0%% range.* Its largest source: (?P<source>[^,]+), (?P<said>%s) of the step' % SHARE, range_source),
    (r'^Model FLOPs', mfu),
    (r'^[Nn]o kind of work alone', nothing),
    (r'less than 0\.5|Under 0\.5', nothing),
    (r'may exceed 100', nothing),
    (r'at most 100\u00a0%', nothing),
]]


def finding(text):
    """The diagnosis: every time with a share behind it, and what lies outside the recording."""
    rest = text = text.replace(', both without the first step)', ')')
    for time, said in re.findall(r'(%s)(?:(?!%s)[^();:])* \((%s)\)' % (TIME, TIME, SHARE), text):
        if 'instead of ' + time in text:
            before = step_of['measured']
            compare(text, said, (step_of['simulated'] - before) / before)
        elif 'would take ' + time in text or 'cuts the step to ' + time in text or re.search('would cut (?:a|the) step to ' + re.escape(time), text) or 'would take at least ' + time in text:
            base = step if 'at least ' + time in text else step_of['simulated']
            compare(text, said, (base - nanoseconds(time)) / base, time_error(time) / base)
        else:
            known(text, said, time, step)
        rest = rest.replace('(%s)' % said, '', 1)
    for rank, least, said in re.findall(r'most of all for rank (\d+)\u2019s \((at least )?(%s) of the critical path\)' % SHARE, rest):
        outside = sum(row['time'] for row in table('pathkinds') if row['kind'] == 'outside the recording') # which is no CPU's
        if bool(least) != (outside > 0):
            fault(text, said, 'on a path that is %s ns outside the recording' % outside)
        compare(text, said, (row_named('pathranks', 'rank', 'rank ' + rank)['time'] - outside) / whole('pathranks'))
        rest = rest.replace('(%s%s of the critical path' % (least, said), '', 1)
    for time, said in re.findall(r'(%s) \((%s) of the unprofiled step\)' % (TIME, SHARE), rest):
        without = document['trust']['unprofiled_step_time']
        if re.search('(?:would take|would cut (?:a|the) step to) ' + re.escape(time), text):
            compare(text, said, (without - nanoseconds(time)) / without, time_error(time) / without)
        else:
            known(text, said, time, without)
        rest = rest.replace('(%s of the unprofiled step' % said, '', 1)
    for said in re.findall(r'\((%s) of the critical path\)' % SHARE, rest): # of one rank where it is named
        path = [metric for metric in document['metrics'] if metric['name'] == 'straggler_free_path']
        rank = re.search('because rank (\d+)\u2019s', text)
        times = {}
        for metric in path:
            if rank is None or metric['scope']['rank'] == int(rank[1]):
                times[metric['scope']['kind']] = times.get(metric['scope']['kind'], 0) + metric['value']
        compare(text, said, max(times.values()) / sum(metric['value'] for metric in path))
        rest = rest.replace('(%s' % said, '', 1)
    for what, said in re.findall('(GEMM|attention)[^;]*, at (%s) of peak' % SHARE, rest):
        kinds = {row['name']: row['kind'] for row in table('kernels')}
        rows = [row for row in table('rates') if kinds.get(row['name']) == what.lower() and row['flops_share'] is not None]
        compare(text, said, sum(row['time'] * row['flops_share'] for row in rows) / sum(row['time'] for row in rows))
        rest = rest.replace(said, '', 1)
    for said in re.findall(r'alone would save (?:up to )?(%s)' % SHARE, rest): # by the rules of comparisons
        rest = rest.replace(said, '', 1)
    for said in re.findall('(%s) of it compute' % SHARE, rest):
        compare(text, said, of_job('exposed_compute', spoken) + of_job('overlapped', spoken))
        rest = rest.replace('%s of it compute' % said, '', 1)
    for said in re.findall('does not show what GPUs wait for during (%s) of the step' % SHARE, rest):
        compare(text, said, not_recorded())
        rest = rest.replace(said, '', 1)
    rest = rest.replace('90\u00a0% range', '')
    for said in re.findall(r'cause of (?:its|their) idle time \((%s)\)' % SHARE, rest):
        compare(text, said, of_job('idle', spoken))
        rest = rest.replace('(%s)' % said, '', 1)
    rest = re.sub(r'no (?:other )?(?:overhead|cause of (?:its|their) idle time ) is above 5\u00a0%', '', rest)
    if re.search(SHARE, rest):
        fault(text, re.findall(SHARE, rest), 'nothing that this test knows')


# Reasons of a grade behind the first.
REASONS = {name: (lambda key: lambda: abs(document['trust'][key]))(key) for name, key in (
    ('replay error', 'replay_error'), ('cross-step error', 'transplant_error'), ('unexplained delay', 'unexplained_lag'),
    ('waiting outside the recording', 'boundary'), ('unjoined communication', 'kept_wait'), ('step-to-step variation', 'step_spread'),
    ('unexplained CPU time', 'host_unknown'), ('profiler overhead', 'profiler_time'), ('recorded steps longer by', 'profiling_cost'))}
REASONS.update({
    'outside the recording': lambda: of_job('not_recorded', spoken),
    'transfer or waiting': lambda: of_job('communication_unsplit', spoken),
    'without a recorded launch': lambda: 1 - document['trust']['launched_share'],
    'ranks without GPU work': lambda: sum(not rank['device_tasks'] for rank in table('ranks')) / len(table('ranks'))})


def sentence(text):
    if not re.search(SHARE, text):
        return
    text, also, others = text.partition(' Also: ') # further reasons of a grade
    if also:
        for name, said in re.findall(r'([a-zA-Z -]+?) (%s)[,.]' % SHARE, others):
            compare(others, said, REASONS[name.strip()]())
    for pattern, rule in RULES:
        match = pattern.search(text)
        if match:
            rule(text, match)
            return
    finding(text)


# ---- The page ----

def plain(markup):
    return html.unescape(re.sub(r'<[^>]+>', '', markup)).strip()


body = re.sub(r'<style>.*?</style>|<script.*?</script>|<dl class="definitions">.*?</dl>|<ul class="notes">.*?</ul>', '', page, flags=re.S)


def elements(markup, pattern):
    return [plain(found) for found in re.findall(pattern, markup, flags=re.S)]


without_tables = re.sub(r'<table.*?</table>|<p class="caption".*?</p>|<p class="rest">.*?</p>', '', body, flags=re.S)
sentences = (elements(without_tables, r'<(?:h[123])[^>]*>(.*?)</h') + elements(without_tables, r'<summary>(.*?)</summary>')
             + elements(without_tables, r'<p class="(?:verdict|remedy|confidence|reading|finding)"[^>]*>(.*?)</p>') + document['diagnosis']['sentences'])
for text in sentences:
    sentence(text)

# What would help: a bar's gain is of the step that its line names, or of one without the profiler.
measured, without = step_of['measured'], document['trust'].get('unprofiled_step_time')
slowed = not edited and measured is not None and without is not None and (measured - without) / measured >= 0.05
rows_of_gains = {} # by what is done
for gain, evidence in re.findall(r'<p class="gain[^>]*>.*?<b>(.*?)</b></p>\n<p class="evidence">(.*?)</p>', html.unescape(without_tables), flags=re.S):
    found = re.search(': a step of (at least )?(%s)' % TIME, evidence)
    share = re.search(SHARE, gain)
    base = step if found and found[1] else without if slowed else step_of['simulated']
    rows_of_gains[evidence.split(':')[0]] = share.group().lstrip('\u2212') if share else gain
    if not found or (not share and gain != 'no gain known'):
        fault(evidence, gain, 'nothing that this test knows')
    elif share:
        compare(evidence, share.group(), (base - nanoseconds(found[2])) / base, time_error(found[2]) / base)
        if (nanoseconds(found[2]) < base) != (share.group()[0] == '\u2212') and share.group()[0] not in '0<':
            fault(evidence, gain, 'of the other sign')
    elif nanoseconds(found[2]) < without - time_error(found[2]):
        fault(evidence, gain, 'a gain')
for one in document['diagnosis']['findings']:
    checked += 1
    if abs(one['share'] - one['time'] / step) > 2e-6:
        fault('finding ' + one['cause'], one['share'], one['time'] / step)

# Legends, whose terms say of what.
for term, said in re.findall(r'<li class="swatch [^"]*"><a href="#term-(\w+)">[^<]*</a> <b>(%s)</b>' % SHARE, html.unescape(body)):
    compare('legend ' + term, said, of_job(term, 'simulated' if term.startswith('idle_') else spoken))

best = None
# Figures: the four of the first screen, then how far to trust them.
for term, label, figure, evidence in re.findall(
        r'<p class="label"><a href="#term-(\w+)">(.*?)</a></p>\n<p class="figure">(.*?)</p>\n<p class="evidence">(.*?)</p>', html.unescape(body)):
    text = '%s %s %s' % (label, figure, evidence)
    share = re.search(SHARE, figure)
    if not share:
        continue
    if term == 'exposed_compute':
        compare(text, figure, of_job('exposed_compute', spoken) + of_job('overlapped', spoken))
        known(text, figure, re.search(TIME, evidence).group(), step)
    elif term == 'mfu':
        compare(text, figure, ([row for row in table('mfu') if row['from'] == 'model'] or table('mfu'))[0]['mfu'])
    elif term == 'best_gain':
        gain = document['diagnosis']['best_gain']
        if (gain is None) != (figure == '0\u00a0%'):
            fault(text, figure, 'the document has %s' % gain)
        elif gain is not None:
            compare(text, share.group(), gain['share'])
        sentence(evidence)
        subject = re.split('[:;]', evidence.replace('Of the unprofiled step. ', ''))[0] # one prediction, wherever it stands
        if share.group() != rows_of_gains.get(subject, share.group() if figure == '0\u00a0%' else None):
            fault(text, share.group(), rows_of_gains.get(subject, 'in no row of what would help'))
        best = float(re.sub('[^0-9.]', '', figure)) / 100
        remedy = document['diagnosis']['sentences'][-1]
        found = (re.search(': a step of (at least )?(%s)' % TIME, evidence) # or the sentence above has the step
                 or re.search('(?:would take|would cut (?:a|the) step to) (at least )?(%s)' % TIME, remedy))
        base = step if found and found[1] else without if slowed else step_of['simulated']
        if found:
            known_gain = (base - nanoseconds(found[2])) / base
            compare(text, share.group(), known_gain, time_error(found[2]) / base)
        elif figure != '0\u00a0%':
            fault(text, figure, 'no step')
    elif term in ('coverage', 'joined'):
        compare(text, figure, document['trust'][{'coverage': 'launched_share', 'joined': 'joined_share'}[term]])
    else:
        compare(text, figure, document['trust'][term])

# Tables: a share is the time beside it over the table's whole; of a table of ranks over the job's step.
for name, found in document['tables'].items():
    columns = found['columns']
    if 'whole' in found and 'share' in columns and columns.index('share') > 0:
        at = columns.index('share')
        for row in found['rows']:
            value = row[at - 1]
            if name == 'dependencies': # of a box: what its parts add up to
                value = sum(row[columns.index(part)] or 0 for part in ('run', 'lag', 'unexplained', 'outside'))
            if value is None or row[at] is None or name in ('layers', 'collectives'):
                continue
            checked += 1
            if abs(row[at] - value / found['whole']) > 2e-6:
                fault('table %s, %s' % (name, row[0]), row[at], value / found['whole'])
for row in table('breakdown'):
    if row['where'].startswith('rank '):
        rank = int(row['where'][5:])
        for figure in list(PARTS.values()) + ['exposed_communication', 'gpu_busy']:
            if row[figure] is not None:
                checked += 1
                true = mean_rows(document['rank_steps'], row['timeline'], figure, rank) / step_of[row['timeline']]
                if abs(row[figure] - true) > 2e-6:
                    fault('table breakdown, rank %d, %s' % (rank, figure), row[figure], true)

for row in table('improvements') if 'improvements' in document['tables'] else []: # graphs shorten no kernel, so no mean step is shorter than these
    computes = of_job('exposed_compute', 'simulated') + of_job('overlapped', 'simulated')
    if row['change'] == 'CUDA graphs' and row['low'] is not None and row['low'] < computes * step_of['simulated'] * 0.999:
        fault('table improvements, CUDA graphs', row['low'], 'below what GPUs compute')

texts = sentences + elements(without_tables, r'<p class="evidence">(.*?)</p>')
compared, wrong = comparisons.check(texts, best if not slowed else None, document, LOSSES)
faults += wrong
for line in faults:
    print(line)
print('%d comparisons checked' % compared)
print('%d shares recomputed, %d wrong' % (checked, len(faults)))
sys.exit(1 if faults else 0)
