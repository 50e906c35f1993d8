"""Check what a page's sentences compare ("most", "longest", "would help more", "later than") against the JSON document: who is named must be the one.

Used by shares.py. A clause that compares and that no rule here knows is a fault, too, unless it compares nothing of this job.
"""
import re

TIME = r'([\d,.]+ (?:ns|µs|ms|s))(?![\w])'
SHARE = r'([+−<-]*[\d,]+(?:\.\d+)? %)'
UNITS = {'ns': 1, 'µs': 1e3, 'ms': 1e6, 's': 1e9}
COMPARES = re.compile(r'\b(?:more|less|longer|shorter|longest|shortest|most|least|later|late|latest|earlier|earliest|twice|fewer|above|below|slower|faster|'
                      r'largest|strongest|worst)\b|[\d.] times\b')
# Of every job: what to do, how to read a picture, thresholds.
OF_EVERY_JOB = re.compile('|'.join([
    r'^fair (?:above|below) ', r'^Drawn is the most that ', r'line above a lane shows', r'^The line below the last bar', r'^Its largest source', # which shares.py checks
     r'A strip above a stream', r'counts twice', r'are one part$', r'^The worst come first', r'^its color is the kind that ran longest', r'is late is known, but not why',
    r'add up to at most 100 %', r'at least one task runs', r'at most, between rows', r'^Layers more than 10 % above', r'earliest start to the latest end',
    r'more than a tenth of the step', r'^later or earlier than the rules say', r'take longer than such ones mostly do', r' of .* or more have their own box$', r'^Weighted by occupancy', r'^There would be more than ',
    r'^\d[\d,]* more (?:lane|constraint|note|of them)', r'constraints? with a slack of .* left out$', r'^How late each rank arrives', r'longer compared',
    r'^(?:Capture|Record|Use|Try|Launch|Make|Convert|Move|Attend|Multiply|Accumulate|Keep|Overlap|Halving|Write|Fuse|Give|Avoid|Replace|Look|Remove|Balance|Clear|Load|Compile) ', r'^The delay in the headline',
    r'^Fusing .*: a step of ', r'^What the imbalance costs', r'No kind of work alone', r'^no change saves more', r'^The stronger the color', r'worst step$', r'^of the late rank',
    r'a step of at least', r'would take at least', r'^less than 0\.5', r'^Headline', r'^recorded steps longer', r'^What .* takes? longer',
    r'less [^;]* that counts as (?:synchronization|data loading)', r'^no longer', r'^a stage keeps at least one layer', r'^These steps contain some of what the profiler costs', r'may be longer than every', r'^The error', r'^Kinds with less than', r'^so that no', r'latest ranks', r'^no kind of work',
]))


def nanoseconds(text):
    number, unit = text.split(' ')
    return float(number.replace(',', '')) * UNITS[unit]


def half_digit(text):
    number, unit = text.split(' ')
    return UNITS[unit] * 0.5 * 10 ** -(len(number.split('.')[1]) if '.' in number else 0)


def fraction(text):
    return float(re.sub('[^0-9.]', '', text)) / 100


class Checker:
    def __init__(self, document, losses):
        self.document, self.losses = document, losses
        self.checked, self.faults, self.edited = 0, [], document['edited']
        self.spoken = 'simulated' if self.edited or document['step_time']['measured'] is None else 'measured'
        self.findings = document['diagnosis']['findings']
        self.unprofiled = document['trust'].get('unprofiled_step_time')

    def table(self, name):
        found = self.document['tables'][name]
        return [dict(zip(found['columns'], row)) for row in found['rows']]

    def whole(self, name):
        return self.document['tables'][name]['whole']

    def expect(self, holds, text, why):
        self.checked += 1
        if not holds:
            self.faults.append('%s: %s' % (text, why))

    # ---- What the document has ----

    def of_ranks(self, figures, of_job=False):
        """rank: the mean over the steps that count."""
        sums = {}
        for row in self.document['rank_steps']:
            if row['timeline'] == self.spoken and not row.get('left_out') and 'step_time' in row:
                rest = -row['step_time'] if of_job and figures == ['not_recorded'] and self.document['job_steps'] else 0 # the less it has, the more lies outside
                sums.setdefault(row['rank'], []).append(sum(row.get(figure) or 0 for figure in figures) + rest)
        return {rank: sum(values) / len(values) for rank, values in sums.items()}

    def gains(self):
        """Shares that changes gain; of half of a kind of work, too, where there is no overhead to remove or GEMMs are in wide formats."""
        return [row['gain_share'] for row in self.table('improvements') if row['gain_share'] is not None]

    def metric(self, name):
        return [metric for metric in self.document['metrics'] if metric['name'] == name]

    # ---- Rules ----

    def loss(self, text, match):
        of = self.of_ranks([self.losses[match[1]]], True)
        self.expect(of[int(match[2])] <= min(of.values()), text, 'rank %s has not the least' % match[2])
        self.expect(of[int(match[3])] >= max(of.values()), text, 'rank %s has not the most' % match[3])

    def no_overhead(self, text, match):
        large = [one['cause'] for one in self.findings if one['cause'] not in ('compute', 'profiler') and one['share'] >= 0.05]
        self.expect(not large, text, '%s is above 5 %%' % large)

    def longest_layer(self, text, match):
        rows = {row['where']: row['total'] for row in self.table('layers') if row['where'].startswith('layer ')}
        self.expect(rows['layer ' + match[1]] >= max(rows.values()), text, 'another layer takes longer')

    def longer_end(self, text, match):
        rows = {row['where']: row['total'] for row in self.table('layers')}
        self.expect(rows[match[1]] > max(time for where, time in rows.items() if where.startswith('layer ')), text, 'a layer takes longer')

    def launches_saved(self, text, match):
        rows = {row['work']: row['half_gain_share'] for row in self.table('opportunities')}
        of_kernels = sum(max(rows.get(work) or 0, 0) for work in ('elementwise kernels', 'normalization kernels'))
        fused = max(row['gain_share'] for row in self.table('improvements') if row['change'].startswith('fused'))
        self.expect(of_kernels < fused / 2 and (match[1] == 'under 0.5 %') == (of_kernels == 0), text, 'half of their time saves %s' % of_kernels)

    def longest_step(self, text, match):
        rows = {row['step']: row['step_time'] for row in self.document['rank_steps'] if row['timeline'] == self.spoken and not row.get('left_out')}
        self.expect(rows[int(match[1])] >= max(rows.values()), text, 'another step is longer')

    def longest_wait(self, text, match):
        waits = {(row['rank'], row['peer']): row['time'] for row in self.table('waits')}
        self.expect(waits[('rank ' + match[1], 'rank ' + match[2])] >= max(waits.values()), text, 'another rank waits longer')

    def late(self, text, match):
        rows = {row['rank']: row for row in self.table('stragglers')}
        named = rows['rank ' + match[1]]
        late = [row['delay'] for row in rows.values() if row['straggler'] is not None]
        self.expect(named['straggler'] is not None and named['delay'] >= max(late), text, 'another rank is later')

    def waited_for(self, text, match):
        sums = {}
        for row in self.table('waits'):
            sums[row['peer']] = sums.get(row['peer'], 0) + row['time']
        self.expect(sums['rank ' + match[1]] >= max(sums.values()), text, 'they wait longer for another')
        if match[2]:
            self.expect(any(row['rank'] == 'rank ' + match[1] and abs(row['unknown'] - nanoseconds(match[2])) <= half_digit(match[2]) * 1.001
                            for row in self.table('stragglers')), text, 'it is not late by that')
        else:
            self.nobody_late(text, match)

    def slowest_cpu(self, text, match):
        self.tops('pathranks', 'rank', ['rank ' + match[1]], text)

    def mostly_overlapped(self, text, match):
        rows = self.document['job_steps'] or self.document['rank_steps']
        sums = [sum(row.get(figure) or 0 for row in rows if row['timeline'] == self.spoken and not row.get('left_out'))
                for figure in ('overlapped', 'communication_transfer')]
        self.expect(sums[0] >= sums[1], text, '%s is beside computation, %s is not' % tuple(sums))

    def nobody_late(self, text, match):
        self.expect(all(row['straggler'] is None for row in self.table('stragglers')), text, 'a rank is')

    def ratio(self, text, match):
        ratios = [one['ratio'] for one in self.findings if one.get('ratio') is not None]
        slack = 0.0501 if '.' in match[1] else 0.501
        self.expect(any(abs(float(match[1]) - ratio) < slack and ratio >= 1.1 for ratio in ratios), text, 'the document has %s' % ratios)

    def work_of_stage(self, text, match):
        stage_of = {int(rank): int(stage) for row in self.table('pipeline') for stage, rank in re.findall(r'^stage (\d+), rank (\d+)', row['where'])}
        of = {}
        for rank, time in self.of_ranks(['exposed_compute', 'overlapped']).items():
            of.setdefault(stage_of.get(rank), []).append(time)
        means = {stage: sum(times) / len(times) for stage, times in of.items()}
        own = means.pop(int(match[1]))
        others = sum(means.values()) / len(means)
        self.expect(own >= max(means.values()), text, 'another stage has more work')
        self.expect(abs(float(match[2]) - own / others) < 0.06, text, 'it has %.2f times their work' % (own / others))

    def imbalance(self):
        return next(one for one in self.findings if one['cause'] == 'imbalance')

    def bound_helps_most(self, text, match):
        """It was not simulated, and no change gains half as much that was."""
        first = self.findings[0]
        self.expect(2 * max(self.gains() + [0]) < max(first['share'], 0.1) + 0.0006, text, 'a change gains %s' % max(self.gains() + [0]))

    def delay_is_not_recorded(self, text, match):
        first = self.findings[0]
        times = {rank: time for rank, time in self.of_ranks(['not_recorded']).items()}
        self.expect(first['cause'] == 'unrecorded_rank' and times[first['ranks'][0]['rank']] > first['ranks'][0]['time'] / 2, text, 'it is %s' % times)

    def part_in_layers(self, text, match):
        """By the table of layers: those that the stage's ranks run, with what they communicate."""
        rows = {row['where']: row['total'] for row in self.table('layers')}
        first = self.imbalance()
        own = [total for where, total in rows.items() if where.startswith('layer ')][-first['layers']:]
        self.expect(abs(float(match[2]) / (rows[match[1]] * len(own) / sum(own)) - 1) < 0.1, text, 'it takes %.2f times as long' % (rows[match[1]] * len(own) / sum(own)))

    def idle_stages(self, text, match):
        """Each of them computes for less than the one that is named."""
        of, stage_of = self.of_ranks(['exposed_compute', 'overlapped']), {}
        for row in self.table('pipeline'):
            stage_of.update((int(rank), int(stage)) for stage, rank in re.findall(r'^stage (\d+), rank (\d+)', row['where']))
        named = max(time for rank, time in of.items() if stage_of.get(rank) == int(match[1]))
        idle = range(int(match[2]), int(match[3] or match[2]) + 1)
        self.expect(all(time < named for rank, time in of.items() if stage_of.get(rank) in idle), text, 'one of them computes for longer')
        self.expect(self.imbalance().get('idle_stages') == len(idle), text, 'the document has %s' % self.imbalance().get('idle_stages'))
        part = re.search(r'holds the (?:output )?(\w+), ([\d.]+) times', text) # else it is less than a layer
        if part:
            self.part_in_layers(text, part)

    def more_there(self, text, match):
        self.expect(any(one.get('op_time') is not None and abs(one['op_time'] - nanoseconds(match[1])) <= half_digit(match[1]) * 1.001 for one in self.findings), text,
                    'no finding has that time')

    def less_than_delay(self, text, match):
        first, paths = self.findings[0], {}
        for metric in self.metric('straggler_free_path'):
            kind = metric['scope']['kind']
            paths[kind] = paths.get(kind, 0) + metric['value']
        limit = re.match('(?:rank (\d+)\u2019s )?(.*)', match[1])
        kind = {'CPUs': 'cpu', 'CPU': 'cpu', 'GPU work': 'gpu', 'communication': 'communication', 'delays between tasks': 'other'}[limit[2]]
        self.expect(paths[kind] >= max(paths.values()), text, '%s limits it' % max(paths, key=paths.get))
        for metric in self.metric('straggler_free_path'):
            one = limit[1] is not None and metric['scope']['rank'] == int(limit[1]) and metric['scope']['kind'] == kind
            self.expect(not one or metric['value'] > sum(paths.values()) / 2, text, 'that rank has less than half of the path')
        cure = [row for row in self.table('improvements') if row['change'].startswith('slow ranks')]
        self.expect(cure[0]['gain'] < first['ranks'][0]['time'], text, 'it is not less')

    def cpu_limits(self, text, match):
        rows = [row for row in self.table('opportunities') if abs(row['time'] - nanoseconds(match[1])) <= half_digit(match[1]) * 1.001]
        self.expect(any(row['half_gain'] < row['time'] * 0.45 for row in rows), text, 'no such work gains so little')
        streams = [row for row in self.table('lanes') if '(stream ' in row['lane']]
        self.expect(self.document['world'] in (None, 1) and len(streams) <= 1, text, 'it may wait for more than its CPU')

    def helps_most(self, text, match):
        """The tile says how much; that is no less than any change gains."""
        self.expect(self.best is None or self.best >= max(self.gains() + [0]) - 0.0006, text, 'a change gains %s, the best %s' % (max(self.gains() + [0]), self.best))

    def outdone(self, text, match):
        """The cure of the first finding, behind what gains twice as much; of a bound, which nobody predicts, half as much."""
        best = re.findall(r'\(−([\d.]+) %', text)
        self.expect(best and float(best[-1]) / 100 >= (0.5 if match[1] else 2) * fraction(match[2]) - 0.001, text, 'what is before it gains %s %%' % best[-1:])
        costs = [one['share'] for one in self.findings[:1]] if match[1] else self.gains() + [row['half_gain_share'] for row in self.table('opportunities')]
        if self.unprofiled is None:
            self.expect(any(abs(fraction(match[2]) - gain) < 0.0006 for gain in costs), text, 'nothing gains that')

    def differ_by_more(self, text, match):
        self.expect(abs(self.document['trust']['step_spread']) >= (self.best or 0), text, 'they differ by %s' % self.document['trust']['step_spread'])

    def op_of_most(self, text, match):
        rows = [row for row in self.table('idleops') if not row['op'].startswith('(')]
        largest = max(rows, key=lambda row: row['time'])
        self.expect(match[1].rstrip('…') in largest['op'], text, 'another op costs more')
        self.expect(abs(largest['time'] - nanoseconds(match[2])) <= half_digit(match[2]) * 1.001, text, 'it costs %s' % largest['time'])

    def op_of_finding(self, text, match):
        self.expect(any((one.get('op') or '').startswith(match[1].rstrip('…')) for one in self.findings), text, 'no finding has that op')

    def most_communication(self, text, match):
        rows = [row for row in self.table('groups') if row['transfer'] is not None]
        self.expect(max(rows, key=lambda row: row['transfer'])['op'] == match[1], text, 'another operation takes longer')

    def idle_bins(self, text, match):
        values = [row[self.spoken] for row in self.table('busy') if row[self.spoken] is not None]
        count = sum(value < 0.5 for value in values)
        said = 0 if match[1] is None else int(match[1].replace(',', ''))
        self.expect(abs(said - count) <= 1, text, '%d are' % count)  # the last bin may be cut short

    def recording_is_longer(self, text, match):
        self.expect(self.document['step_time']['measured'] > self.unprofiled, text, 'they are not')

    def row_of_change(self, text, match):
        self.expect(nanoseconds(match[1]) >= self.unprofiled - half_digit(match[1]), text, 'it is less')

    def against_measured(self, text, match):
        steps = self.document['step_time']
        self.expect((steps['simulated'] > steps['measured']) == (match[1] == 'more'), text, 'the other way round')

    def instead(self, text, match):
        self.expect((nanoseconds(match[1]) > nanoseconds(match[2])) == (match[3][0] == '+'), text, 'the sign is wrong')

    def unknown_cause(self, text, match):
        self.expect(any(abs((row['unknown'] or 0) - nanoseconds(match[1])) <= half_digit(match[1]) * 1.001 for row in self.table('stragglers')), text, 'no rank is')

    def unknown_ranks(self, text, match):
        late = sorted(((row['unknown'] or 0, row['rank']) for row in self.table('stragglers') if row['last']), key=lambda one: -one[0])
        named = ['rank ' + rank for rank in re.findall(r'\d+', match[1])]
        self.expect(named == [rank for unknown, rank in late if unknown >= late[0][0] * 0.8][:8], text, 'the latest are %s' % late)
        self.expect(abs(late[0][0] - nanoseconds(match[2])) <= half_digit(match[2]) * 1.001, text, 'the latest is so by %s' % late[0][0])

    def late_as_recorded(self, text, match):
        kind = {'GPU': 'compute', 'CPU': 'host'}[match[3] or match[2]]
        late = {}
        for one in self.metric('late_arrival'):
            if one['source'] == 'measured' and one['scope'].get('kind') == kind and (not match[1] or one['scope'].get('rank') == int(match[1])):
                late.setdefault(one['scope']['rank'], []).append(one['value'])
        most = max([sum(values) / len(values) for values in late.values()] + [0])
        self.expect(abs(most - nanoseconds(match[4])) <= half_digit(match[4]) * 1.001 if match[4] else most == 0, text, 'they were late by up to %s' % most)

    def of_trust(self, text, match):
        trust = self.document['trust']
        pairs = [('replay_error', 'replay_error_worst'), ('transplant_error', 'transplant_error_worst')]
        worst = fraction(match[1])
        self.expect(any(trust.get(b) is not None and abs(abs(trust[b]) - worst) < 0.0011 and abs(trust[b]) >= abs(trust.get(a) or 0) - 1e-6 for a, b in pairs), text,
                    'the worst errors are %s' % [trust.get(b) for a, b in pairs])

    def tops(self, name, key, names, text):
        rows = sorted(self.table(name), key=lambda row: -row['time'])
        least = min((row['time'] for row in rows if row[key] in names), default=None)
        self.expect(least is not None and all(row['time'] <= least or row[key] in names for row in rows), text, 'the largest are %s' % [row[key] for row in rows[:len(names)]])

    def largest_kinds(self, text, match):
        names = [name for name in re.findall(r'[\d.]+ % ([^,;]+?)(?= and|,|;|$)', text.split(' of it is ')[0])]
        self.tops('pathkinds' if match[1].startswith('The critical') else 'kinds', 'kind', names, text)
        rank = re.search(r'of it is on rank (\d+)$', text)
        if rank:
            self.tops('pathranks', 'rank', ['rank ' + rank[1]], text)

    def range_of_steps(self, text, match):
        times = [row['step_time'] for row in self.document['job_steps'] if row['timeline'] == self.spoken and not row.get('left_out') and 'step_time' in row]
        if times and text.startswith(match[0]) and 'rank-step' not in text:
            self.expect(abs(min(times) - nanoseconds(match[1])) <= half_digit(match[1]) * 1.001, text, 'the shortest takes %s' % min(times))
            self.expect(abs(max(times) - nanoseconds(match[2])) <= half_digit(match[2]) * 1.001, text, 'the longest takes %s' % max(times))

    RULES = [(re.compile(pattern), rule) for pattern, rule in [
        (r'^(.+ takes?) [\d.<]+ % of the step: from [\d.<]+ % on rank (\d+) to [\d.<]+ % on rank (\d+)', loss),
        (r'no (?:single |other )*(?:overhead|cause of (?:its|their) idle time \([\d.]+ %\)) is above 5 %', no_overhead),
        (r'the longest of them .* \(layer (\d+), .* more\)', longest_layer),
        (r'^the (head|embedding) takes ', longer_end),
        (r'^by fewer launches: halving these kernels’ time alone saves (.*)$', launches_saved),
        (r'^The longest is step (\d+), ', longest_step),
        (r'the longest wait is .*, of rank (\d+) for rank (\d+)', longest_wait),
        (r'^' + TIME + r' more of which nothing was recorded', unknown_cause),
        (r'^as recorded, (?:rank (\d+)’s (CPU|GPU) was|their (CPU|GPU)s were) (?:not|(?:up to )?' + TIME + ') late', late_as_recorded),
        (r', nor why ranks? ([\d, and]+) (?:is|are up to) ' + TIME + ' late', unknown_ranks),
        (r'^(?:Rank|A step takes .*: rank|The step takes .*: rank) (\d+)(?:’s \w+(?: \w+)?)? (?:arrives|is|seems) [\d,.]+ \w+ late', late),
        (r'most communication is overlapped already', mostly_overlapped),
        (r'^Ranks wait most for rank (\d+), (?:late by ' + TIME + '|though it is not late)', waited_for),
        (r', most of all for rank (\d+)’s \(', slowest_cpu),
        (r'^No rank is late compared with similar ranks', nobody_late),
        (r'(?:threads|kernels) take ([\d.]+) times as long as those of similar ranks', ratio),
        (r'take ([\d.]+) times as long as the same ones elsewhere', ratio),
        (r'stage (\d+) \(.*, so stages? (\d+) (?:(?:to|and) (\d+) )?idles?(?:: |\.?$)', idle_stages),
        (r'stage (\d+) \(.*\) has ([\d.]+) times the work of other stages', work_of_stage),
        (r'it spends ' + TIME + ' more there than similar ranks', more_there),
        (r'^(?:less than the delay, because|without that delay,) (.*?) (?:then |still )?limits? the step', less_than_delay),
        (r'^less than half of its (' + TIME + '), because the CPU then limits the step', cpu_limits),
        (r' would help most$', helps_most),
        (r' could help most$', bound_helps_most),
        (r'what GPUs wait for during [\d.]+ % of the step, most of that delay included', delay_is_not_recorded),
        (r' alone would save (up to )?' + SHARE, outdone),
        (r'^similar steps differ by more', differ_by_more),
        (r'the op that costs most is “(.*)”, ' + TIME + ' of that time', op_of_most),
        (r'most blocking is in “(.*)”', op_of_finding),
        (r'^most of it is (\w+)', most_communication),
        (r'^Of [\d,]+ bins of .*, ([\d,]+) (?:is|are) busy for less than half', idle_bins),
        (r'^No bin of (?P<none>.*) is busy for less than half()', lambda self, text, match: self.idle_bins(text, {1: None})),
        (r'^Recorded steps are longer than steps without the profiler by', recording_is_longer),
        (r'^not less than the ' + TIME, row_of_change),
        (r'(more|less) than measured', against_measured),
        (r'takes ' + TIME + ' instead of ' + TIME + r' \((.)', instead),
        (r'^(?:mean size[;,] )?worst ' + SHARE, of_trust),
        (r'^(The critical path is|GPU time is) [\d.]+ %', largest_kinds),
        (r'^\d+ steps?, ' + TIME + ' to ' + TIME, range_of_steps),
    ]]

    def clause(self, text):
        for pattern, rule in self.RULES:
            match = pattern.search(text)
            if match:
                return rule(self, text, match)
        if COMPARES.search(text) and not OF_EVERY_JOB.search(text):
            self.faults.append('%s: compares what no rule of this test knows' % text)


def check(texts, best, document, losses):
    """How many comparisons were checked, and what is wrong. `best`: the largest gain that the first screen states, a fraction; None."""
    checker = Checker(document, losses)
    checker.best = best
    for text in texts:
        text = text.replace('\u00a0', ' ').replace('\u200b', '')
        checker.before = text
        for part in re.split(r'(?<=[.;])\s+|(?<=late), and (?=\d)|(?<= of the step\)), and ', text):
            checker.before = text[:text.find(part)] if part in text else text
            checker.clause(part.strip().rstrip('.;'))
    return checker.checked, checker.faults
