"""The page of a paper.json, as a template for lumos-render, to standard output. Every figure that was measured, predicted or published comes from
that file or from published.json. What describes the set-up stands here: numbers of ranks and GPUs, aims, and what counts as alike.

page.py PAPER.json
"""

import html
import json
import math
import os
import re
import sys

JOBS, CONFIGURATIONS, VARIANTS = 24, 9, 4  # of Fig. 5, 7 and 8
AIMS = {"replay": 0.5, "parallelism": 2, "worst": 5, "models": 2}  # percent
HEAD = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'; script-src '{{script_digest}}'; img-src data:">
<meta name="generator" content="lumos-render {{version}}">
<link rel="icon" href="data:,">
<title>The experiments of the Lumos paper, on an emulated cluster</title>
<style>
{{{palette}}}
{{{style}}}
</style>
</head>
<body>
"""
TAIL = """<script type="application/json" id="lumos-summary">
%s</script>
<script>{{{script}}}</script>
</body>
</html>
"""


def text(value):
    """As HTML; what lumos-render would take for a name to fill in cannot come about."""
    return html.escape(str(value)).replace("{", "&#123;")


def signed(value, digits=2):
    return "–" if value is None else f"{round(value, digits) or 0:+.{digits}f}".replace("-", "−")


def plain(value, digits=1):
    return "–" if value is None else f"{value:,.{digits}f}".replace(",", "\u202f")


def mean(values):
    return sum(values) / len(values)


def at_most(value):
    """A bound with one decimal: rounded up, since 1.62 is not within 1.6."""
    return f"{math.ceil(round(value, 6) * 10) / 10:.1f}"


def of_all(some, all_of_them, what):
    """The paper’s 24 jobs, or 22 of the paper’s 24 jobs."""
    whole = f"the paper’s {all_of_them} {what}"
    return whole if some == all_of_them else f"{some} of {whole}"


def table(name, headings, rows):
    """The first column holds names; in others figures stand to the right, words to the left."""
    words = [i == 0 or any(row[i][:1].isalpha() for row in rows) or not any(row[i][-1:].isdigit() for row in rows) for i in range(len(headings))]
    head = "".join(f'<th scope="col"{" class=text" if word else ""}>{heading}</th>' for heading, word in zip(headings, words))
    long = [max((len(row[i]) for row in rows), default=0) > 40 for i in range(len(headings))]
    mark = [' class="text name"' if wide else " class=text" if word else "" for wide, word in zip(long, words)]
    body = "".join("<tr>" + "".join(f"<td{mark[i]}>{text(cell)}</td>" for i, cell in enumerate(row)) + "</tr>\n" for row in rows)
    return (f'<div class="scroll" role="region" tabindex="0" aria-label="Table: {name}"><table><thead><tr>{head}</tr></thead>\n'
            f"<tbody>\n{body}</tbody></table></div>\n")


def section(anchor, title, *parts):
    return f'<section aria-labelledby="{anchor}">\n<h2 id="{anchor}">{text(title)}</h2>\n' + "".join(parts) + "</section>\n\n"


def finding(words):
    return f'<p class="finding">{text(words)}</p>\n'


def reading(words):
    return f'<p class="reading">{text(words)}</p>\n'


def legend(entries):
    return '<ul class="kinds">' + "".join(f'<li class="swatch {paint}">{text(name)}</li>' for paint, name in entries) + "</ul>\n"


def picture(label, width, height, marks):
    return (f'<figure><div class="scroll picture" role="region" tabindex="0" aria-label="Picture: {text(label)}">'
            f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{text(label)}" style="font-size:12.5px">{"".join(marks)}</svg></div></figure>\n')


def label(x, y, words, anchor="start", paint="ink"):
    return f'<text class="{paint}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{text(words)}</text>'


def box(paint, x, y, width, height, title):
    outline = " outlined" if paint == "pipeline-bubble" else ""
    if paint == "overlapped":  # in two tones, as in all reports
        parts = ((paint, y, 0.65 * height), (paint + "-second", y + 0.65 * height, 0.35 * height))
        return "<g>" + "".join(f'<rect class="{name}" x="{x:.1f}" y="{top:.1f}" width="{max(width, 0.5):.1f}" height="{tall:.1f}"/>' for name, top, tall in parts) + f"<title>{text(title)}</title></g>"
    return f'<rect class="{paint}{outline}" x="{x:.1f}" y="{y:.1f}" width="{max(width, 0.5):.1f}" height="{height}"><title>{text(title)}</title></rect>'


def by_recording(cases):
    """Number of jobs, what was recorded of them, mean and worst size of Lumos’ error: for each kind of recording."""
    kinds = ((words, [abs(of_models(case)["lumos"]) for case in cases if case["recorded"] == recorded])
             for recorded, words in (("all ranks", "traces of all ranks"), ("one rank a stage", "one trace a stage")))
    return [(len(sizes), words, mean(sizes), max(sizes)) for words, sizes in kinds if sizes]


def of_models(case):
    return {how: case["replayed"][how]["error"] for how in ("lumos", "dpro", "daydream")}


# ---- Fig. 5 ----


def replay_section(result, paper):
    cases, seen = result["replay"], paper["seen"]["cpu_share"]
    if not cases:
        return ""
    sizes = {how: [abs(of_models(case)[how]) for case in cases] for how in ("lumos", "dpro", "daydream")}
    least = min(min(of_models(case).values()) for case in cases)
    span, left, width, row = max(-least, 1) * 1.1, 150, 1000, 26
    marks = []
    for percent in range(0, int(span) + 1, 10):
        x = left + width * (1 - percent / span)
        marks.append(f'<line class="rule" x1="{x:.1f}" x2="{x:.1f}" y1="18" y2="{22 + len(cases) * row}"/>')
        marks.append(label(x, 12, "0" if percent == 0 else f"−{percent} %", "middle", "muted"))
    for i, case in enumerate(cases):
        y, errors = 22 + i * row, of_models(case)
        marks.append(label(left - 12, y + 12, f'{case["model"]} {case["configuration"]}', "end"))
        marks.append(f'<line class="rule" x1="{left}" x2="{left + width}" y1="{y + 8}" y2="{y + 8}"/>')
        for how, paint, size in (("daydream", "copies", 16), ("dpro", "transfer", 10), ("lumos", "compute", 10)):  # Daydream’s shows around dPRO’s
            at = left + width * (1 + errors[how] / span)
            marks.append(box(paint, at - size / 2, y + 8 - size / 2, size, size, f"{how}: {signed(errors[how])} %"))
    rows = [[f'{case["model"]} {case["configuration"]}', plain(case["gpus"], 0), case["recorded"], plain(case["true"]["step"]),
             *(signed(of_models(case)[how]) for how in ("lumos", "dpro", "daydream"))] for case in cases]
    split = "".join(f" Of the {number} jobs with {words} the mean is {size:.2f} %." for number, words, size, _ in by_recording(cases))
    flattery = ""
    for case in (result["cases"][name] for name in ("whole",) if name in result["cases"]):
        same = next((c for c in cases if (c["model"], c["configuration"]) == (case["model"], case["configuration"])), None)
        if same:
            flattery = (f" One trace a stage flatters: communication with ranks that have no trace keeps its measured length, waiting included. {case['model']} {case['configuration']} is off by "
                        f"{signed(of_models(same)['lumos'])} % with one trace a stage, and by {signed(case['error'])} % with the traces of all its ranks.")
    alike = sum(abs(of_models(case)["dpro"] - of_models(case)["daydream"]) < 0.01 for case in cases)
    return section(
        "replay", f"Replay is off by {mean(sizes['lumos']):.2f} % on average over {of_all(len(cases), JOBS, 'jobs')} (Fig. 5)",
        finding(f"At worst it is off by {max(sizes['lumos']):.2f} %. Without waits between streams, as dPRO has it, the same jobs are off by {mean(sizes['dpro']):.1f} % on average and "
                f"{max(sizes['dpro']):.1f} % at worst. As Daydream has it, they are off by {mean(sizes['daydream']):.1f} % and {max(sizes['daydream']):.1f} %. The paper reports {paper['replay']['lumos']} % for its Lumos, and "
                f"{paper['replay']['dpro']:.0f} % on average and {paper['replay']['dpro_worst']} % at worst for dPRO."),
        reading(f"{split}{flattery}".strip()),
        reading(f"In {alike} of {len(cases)} jobs dPRO’s and Daydream’s dependencies give the same step within 0.01 points. Both leave out waits between streams; Daydream also leaves out waits between ranks, dPRO the CPU’s waits for the GPU. "
                "Without waits between streams no kernel waits for communication, and the CPU becomes critical: its calls keep their recorded times in both. "
                f"In {seen['job']} its calls and ops are {seen['percent']} % of either critical path (seen with version {seen['version']}). "
                "Where Daydream’s critical path has communication, with its measured waiting, its step is the longer one.") if alike else "",
        legend([("compute", "Lumos"), ("transfer", "dPRO’s dependencies"), ("copies", "Daydream’s dependencies")]),
        reading("Error of the simulated step against the measured one. Names are the model, then TP × PP × DP."),
        picture("replay error by job and model", left + width + 20, 30 + len(cases) * row, marks),
        table("replay", ["job", "GPUs", "traces", "true step <small>ms</small>", "Lumos <small>%</small>", "dPRO <small>%</small>", "Daydream <small>%</small>"], rows))


# ---- Fig. 1 ----

BARS = [("exposed_compute", "compute", "exposed compute"), ("overlapped", "overlapped", "overlapped"), ("transfer", "transfer", "exposed communication without the bubble"),
        ("exposed_communication", "transfer", "exposed communication"), ("pipeline_bubble", "pipeline-bubble", "pipeline bubble"), ("other", "idle", "other")]


def parts_of(parts):
    return {"exposed_compute": parts["exposed_compute"], "overlapped": parts["overlapped"], "transfer": parts["exposed_communication"] - parts["pipeline_bubble"],
            "pipeline_bubble": parts["pipeline_bubble"], "other": parts["exposed_copy"] + parts["idle"]}


def breakdown_section(result, paper):
    if not result["replay"]:
        return ""
    case = next((c for c in result["replay"] if (c["model"], c["configuration"]) == ("175B", "8x4x8")), result["replay"][0])
    job = f'{case["model"]} {case["configuration"]}'
    bars = [(f"{job}, true", parts_of(case["true"]["parts"]))]
    if "true_recorded" in case:
        bars.append((f"{job}, true, ranks with a trace", parts_of(case["true_recorded"]["parts"])))
    bars += [(f"{job}, by Lumos, from its traces", parts_of(case["measured_parts"])), (f"{job}, dPRO’s dependencies", parts_of(case["replayed"]["dpro"]["parts"]))]
    bars += [(f"paper, {row['name']}", {key: row[key] for key in ("exposed_compute", "overlapped", "exposed_communication", "other")}) for row in paper["breakdown"]["rows"]]
    longest, left, width = max(sum(parts.values()) for _, parts in bars), 260, 890
    marks, rows = [], []
    for i, (name, parts) in enumerate(bars):
        x, y = left, 8 + 34 * i
        marks.append(label(left - 12, y + 16, name, "end"))
        for key, paint, words in BARS:
            if key in parts:
                marks.append(box(paint, x, y, width * parts[key] / longest, 22, f"{words}: {plain(parts[key], 0)} ms"))
                x += width * parts[key] / longest
        total = sum(parts.values())
        marks.append(label(x + 8, y + 16, f"{plain(total, 0)} ms"))
        exposed = parts.get("exposed_communication", parts.get("transfer", 0) + parts.get("pipeline_bubble", 0))
        rows.append([name, plain(parts["exposed_compute"], 0), plain(parts["overlapped"], 0), plain(exposed, 0), plain(parts.get("pipeline_bubble"), 0), plain(parts["other"], 0), plain(total, 0)])
    true = bars[0][1]
    exposed = true["transfer"] + true["pipeline_bubble"]
    missed = ""
    if "true_recorded" in case:
        of_traced, seen = case["true_recorded"]["parts"]["pipeline_bubble"], case["measured_parts"]["pipeline_bubble"]
        missed = reading(f"From one trace a stage Lumos reads {plain(seen, 0)} ms of bubble, where these ranks truly have {plain(of_traced, 0)} ms. What is missing lies in one all-reduce at the end of the step, over all "
                         "stages and tensor-parallel ranks. The stages in the middle wait in it for the first. Most of its ranks have no trace, so Lumos cannot split that time into transfer and bubble. "
                         "With traces of all ranks it reads the true bubble.")
    dpro = sum(parts_of(case["replayed"]["dpro"]["parts"]).values())
    sums = reading("Parts are means over ranks, each of its own step, so they add up to the mean step of a rank. The step of the whole job lasts until its last rank ends, which can be longer. "
                   f"With dPRO’s dependencies the parts make {plain(dpro, 0)} ms; the step, of which Fig. 5 has the error, takes {plain(case['true']['step'] * (1 + of_models(case)['dpro'] / 100), 0)} ms.")
    return section(
        "breakdown", f"{100 * true['pipeline_bubble'] / exposed:.0f} % of the exposed communication is pipeline bubble (Fig. 1)",
        finding("A stage that has nothing to run waits in a receive kernel. The paper counts that as communication; here it is a part of its own. "
                f"True parts are means over all ranks where nothing else is said. Parts by Lumos are means over the ranks with a trace ({case['recorded']}). Lumos simulates an unchanged job with its own times, so its simulated parts are not shown apart."),
        sums,
        missed,
        legend([(paint, words) for key, paint, words in BARS if key != "exposed_communication"]),
        picture(f"where the step of the {case['model']} job goes", left + width + 90, 12 + 34 * len(bars), marks),
        table("breakdown", ["ms", "exposed compute", "overlapped", "exposed communication", "bubble in that", "other", "step"], rows))


# ---- Fig. 6 ----


def busy_section(result):
    if not result["busy"]:
        return ""
    points = result["busy"]["points"]
    left, width, top, height = 60, 1110, 14, 190
    last = points[-1][0]
    marks = []
    for share in (0, 50, 100):
        y = top + height * (1 - share / 100)
        marks += [f'<line class="rule" x1="{left}" x2="{left + width}" y1="{y:.1f}" y2="{y:.1f}"/>', label(left - 8, y + 4, f"{share} %", "end", "muted")]
    for at in range(0, int(last) + 1, 100):
        marks.append(label(left + width * at / last, top + height + 18, f"{at} ms", "middle", "muted"))
    for column, paint in ((1, "busy-measured"), (2, "busy-simulated")):
        line = " ".join(f"{left + width * p[0] / last:.1f},{top + height * (1 - p[column] / 100):.1f}" for p in points)
        marks.append(f'<polyline class="stroke {paint}" fill="none" stroke-width="1.4" points="{line}"/>')
    off = mean([abs(p[1] - p[2]) for p in points])
    return section(
        "busy", f"How busy GPUs are: off by {off:.2f} points on average (Fig. 6)",
        finding(f"The share of every {points[1][0] - points[0][0]:.0f} ms in which a GPU runs anything, over the steps of the {result['busy']['job']} job; the mean over the ranks with a trace. Simulated is the job rebuilt from its blocks in the recorded configuration. That is an easy test, for these keep their recorded times. The paper shows the same job, says that its curves closely match, and gives no number."),
        legend([("busy-measured", "measured"), ("busy-simulated", "simulated")]),
        picture("how busy GPUs are", left + width + 30, top + height + 30, marks))


# ---- Fig. 7 and 8 ----


def within(case):
    return "unknown" if case["low"] is None else "yes" if case["low"] <= case["true"]["step"] <= case["high"] else "no"


def span_of(case):
    return "unknown" if case["low"] is None else f'{plain(case["low"])} to {plain(case["high"])}'


def summary(cases):
    sizes = [abs(case["error"]) for case in cases]
    return mean(sizes), max(sizes)


def held_of(cases):
    known = [case for case in cases if within(case) != "unknown"]
    return f"{sum(within(case) == 'yes' for case in known)} of {len(known)}"


def of_group(result, group):
    return [case for case in result["predictions"] if case["name"].startswith(group)]


def parallelism_section(result, paper):
    cases, reported = of_group(result, "parallelism-"), {row["configuration"]: row for row in paper["parallelism"]}
    if not cases or not result["base_step"]:
        return ""
    seen = paper["seen"]["scarce"]
    half, faulty = sum(case["recorded"] < 16 for case in cases), result["cases"].get("scarce")
    recorded = "All 16 ranks of it are recorded."
    if half:
        recorded = (f"Predictions of up to 64 GPUs start from the traces of all 16 ranks. Those of 128 GPUs, {half} of {len(cases)}, start from 8, the first of each two tensor-parallel ranks. "
                    f"From 16, the rebuilt job takes up to {paper['seen']['memory']['gigabytes']} GB in each of two processes (seen with version {paper['seen']['memory']['version']}).")
    out_of_memory = reading(f"None of these jobs runs out of memory. Where each micro-batch does, in the recorded job and in the true one, {faulty['configuration']} from all 16 ranks is off by "
                            f"{signed(faulty['error'])} %. Does its range hold the true {plain(faulty['true']['step'])} ms? {within(faulty).capitalize()}: it is {span_of(faulty)} ms. "
                            f"{seen['configuration']} was off by {signed(seen['all_ranks'], 1)} % so, and from 8 ranks by {signed(seen['half_of_them'], 1)} % (seen with version {seen['version']}). "
                            "That case counts neither above nor in the title. No row of a trace shows that wait for memory. "
                            "It is likely that tensor-parallel ranks keep their recorded waits as CPU time, and then wait for each other.") if faulty else ""
    average, worst = summary(cases)
    rows = []
    for case in cases:
        name = case["name"].split("-")[1]
        predicted, actual = reported[name]["predicted"][-1], reported[name]["actual"][-1]
        rows.append([name, str(case["recorded"]), plain(case["step"]), span_of(case), plain(case["true"]["step"]), signed(case["error"]), within(case), signed(100 * (result["base_step"] / case["true"]["step"] - 1)),
                     plain(predicted, 0), plain(actual, 0), signed(100 * (predicted / actual - 1))])
    return section(
        "parallelism", f"Other parallelism: off by {average:.2f} % on average, {worst:.2f} % at worst (Fig. 7)",
        finding(f"Predicted from the traces of one job, 15B on 2x2x4 with a step of {plain(result['base_step'])} ms; true are runs of {of_all(len(cases), CONFIGURATIONS, 'other configurations')}. {held_of(cases)} ranges of 90 % hold the truth. {recorded} "),
        out_of_memory,
        reading("Communication over links that were not recorded follows NCCL’s tuning tables and speeds of links. The emulated cluster has the same, so these are not tested here."),
        reading(paper["parallelism_note"]),
        table("parallelism", ["TP × PP × DP", "traces", "predicted <small>ms</small>", "range <small>90 %</small>", "true <small>ms</small>", "error <small>%</small>", "range holds", "if nothing changed <small>%</small>",
                              "paper: predicted <small>ms</small>", "paper: actual <small>ms</small>", "paper: error <small>%</small>"], rows))


def by_layers(case, result, paper):
    """By how much the base's step times the layers is off, in percent; None where more than the layers changes."""
    found = re.fullmatch(r"--layers (\d+)", case["change"])
    return 100 * (result["base_step"] * int(found[1]) / paper["base_layers"] / case["true"]["step"] - 1) if found and result["base_step"] else None


def models_section(result, paper):
    cases = of_group(result, "model-")
    if not cases:
        return ""
    average, worst = summary(cases)
    rows = [[case["name"].split("-")[1], case["change"].replace("--", ""), plain(case["step"]), span_of(case), plain(case["true"]["step"]), signed(case["error"]), within(case), signed(by_layers(case, result, paper))] for case in cases]
    simple = [(case["name"].split("-")[1], by_layers(case, result, paper), case["error"]) for case in cases if by_layers(case, result, paper) is not None]
    compared = "; ".join(f"{name} {signed(base)} %, Lumos {signed(ours)} %, which is {'nearer' if abs(ours) < abs(base) else 'worse'}" for name, base, ours in simple)
    return section(
        "models", f"Other models: off by {average:.2f} % on average, {worst:.2f} % at worst (Fig. 8)",
        finding(f"Predicted from the 15B job on 2x2x4: {of_all(len(cases), VARIANTS, 'variants')}. {held_of(cases)} ranges of 90 % hold the truth. The paper’s bars have no numbers. A wider model fills buckets of gradients anew, and a trace does not show their limit. So V3 and V4 also get the job’s own setting, 100 MB."),
        reading(f"Where layers alone change, the base’s step times the layers ({paper['base_layers']} in the base) needs no Lumos. It is off by: {compared}. V3 and V4 have no such rule.") if simple else "",
        table("models", ["variant", "change", "predicted <small>ms</small>", "range <small>90 %</small>", "true <small>ms</small>", "error <small>%</small>", "range holds", "base’s step times layers <small>%</small>"], rows))


# ---- Reality ----


def reality_rows(run, figures):
    """A row for each change: run, change, published, predicted, range, whether it holds, what is not known."""
    rows = []
    for row, words, value in zip(figures, run["words"], run["published"]):
        span = "unknown" if row["low"] is None else f'{signed(row["low"])} to {signed(row["high"])}'
        holds = "unknown" if row["low"] is None else "yes" if row["low"] <= value <= row["high"] else "no"
        rows.append([run["name"], words, signed(value, 1), signed(row["step"]), span, holds, run["unknown"]])
    return rows


def reality_steps(run, case):
    """A row for each number of GPUs whose step is published: the step, the emulated or predicted one, and how far off that is."""
    rows = []
    for i, (gpus, tokens) in enumerate(zip(run["gpus_of"], run["tokens"])):
        published = 1000 * run["sequences"] * run["sequence"] / tokens
        ours = case["step"] if i == 0 else case["step"] * (1 + case["rows"][i - 1]["step"] / 100)
        rows.append([run["name"], str(gpus), plain(published, 0), plain(ours, 0), "emulated" if i == 0 else "predicted", signed(100 * (ours / published - 1), 1)])
    return rows


def reality_section(result, paper):
    if not result["reality"]:
        return ""
    cases = {run["name"]: run for run in result["reality"]}
    runs = [run for run in paper["reality"] if run["name"] in cases]
    tests, handed = [run for run in runs if not run.get("circular")], [run for run in runs if run.get("circular")]
    rows = [row for run in tests for row in reality_rows(run, cases[run["name"]]["rows"])]
    back = [row for run in handed for row in reality_rows(run, cases[run["name"]]["rows"])]
    steps = [row for run in tests if "tokens" in run for row in reality_steps(run, cases[run["name"]])]
    unchanged = sum(row["low"] is not None and row["low"] <= 0 <= row["high"] for run in tests for row in cases[run["name"]]["rows"])
    held = sum(row[5] == "yes" for row in rows)
    both = sum(row["low"] is not None and row["low"] <= min(value, 0) and max(value, 0) <= row["high"] for run in tests for row, value in zip(cases[run["name"]]["rows"], run["published"]))
    headings = ["published run", "change", "published <small>%</small>", "predicted <small>%</small>", "range <small>90 %</small>", "range holds", "not known, or not modeled"]
    parts = []
    if rows:
        parts += [finding("By how much a step takes longer after a change. Predicted from an emulated job: of the published shape for MPT, of a smaller one for Llama. "
                          "A range that holds “nothing changes”, too, is weak evidence. Both rows of Llama are one published change, under two assumptions."),
                  table("reality", headings, rows)]
    if steps:
        offs = [float(row[5].replace("−", "-")) for row in steps]
        parts += ["<h3>Published and emulated step times</h3>\n",
                  reading(f"The steps of the emulated cluster, and those predicted from them, are {min(map(abs, offs)):.0f} to {max(map(abs, offs)):.0f} % off the published ones. "
                          "No trace is published, so Lumos could start only from an emulated one. Its kernels, network and optimizer are assumptions. Published steps follow from tokens/s."),
                  table("step times", ["published run", "GPUs", "published <small>ms</small>", "ours <small>ms</small>", "how", "difference <small>%</small>"], steps)]
    if back:
        parts += ["<h3>No test: other GPUs</h3>\n",
                  reading("Lumos has the best rate of each GPU from the same source, so these rows hand back what was put in. They count nowhere."),
                  table("other GPUs", headings, back)]
    sources = "; ".join(dict.fromkeys(run["source"] for run in runs))
    others = len(rows) - unchanged
    title = (f"Ranges hold {held} of {len(rows)} changes that others published: {both} that also hold “nothing changes”, and {held - both or 'none'} of the {others} that do not") if rows else "Changes that others published"
    return section("reality", title, *parts, reading("Sources: " + sources + "."))


# ---- Tables ----

WAYS = {"others": "the other sizes of the table", "one": "one size of the table", "there": "the same product on an H100"}


def judged(name, rows, way, words=None):
    """A line of the summary: how far off the predictions of one kind are."""
    found = [row[way] for row in rows if row.get(way)]
    if not found:
        return []
    sizes = [abs(one["error"]) for one in found]
    return [[name, words or WAYS[way], str(len(found)), plain(mean(sizes)), plain(max(sizes)), f"{sum(one['holds'] for one in found)} of {len(found)}"]]


def size_of(count):
    for unit in ("B", "KiB", "MiB", "GiB"):
        if count < 1024 or unit == "GiB":
            return f"{count:.0f} {unit}"
        count /= 1024


def tables_section(result, paper):
    products, transfers = result["cases"].get("table-products"), result["cases"].get("table-transfers")
    if not products or not transfers:
        return ""
    published = paper["tables"]
    lines = judged("products on H100", products["rows"], "others") + judged("products on H100", products["rows"], "one")
    lines += judged("products on B200", products["rows"], "there")
    nodes = {one["name"]: one.get("spread_words") for one in published["transfers"]}
    for table_of in transfers["tables"]:
        for way in ("others", "one", "spread"):
            lines += judged("all-reduce, " + table_of["name"], table_of["rows"], way, nodes[table_of["name"]] if way == "spread" else None)
    shown = [[" × ".join(map(str, row["shape"])), plain(row["published"]), *(cells for way in ("others", "one") for cells in pair(row[way])), plain(row["published_there"]), *pair(row["there"])] for row in products["rows"]]
    moved = [[table_of["name"], size_of(row["size"]), plain(row["published"], 0), *(cells for way in ("others", "one", "spread") for cells in pair(row[way]))]
             for table_of in transfers["tables"] for i, row in enumerate(table_of["rows"]) if len(table_of["rows"]) < 5 or i % 2 == 0]
    unknown = [f"Products: {published['products']['source']}. Not known: {published['products']['unknown']}."]
    unknown += [f"All-reduce, {one['name']}: {one['source']}. Not known: {one['unknown']}." for one in published["transfers"]]
    best = {line[1]: line[3] for line in lines if line[0].startswith("products")}
    reduced = {}
    for line in lines:
        if line[0].startswith("all-reduce"):
            reduced.setdefault(line[1] if line[1] in WAYS.values() else "node", []).append(line[3])
    reduced = {way: sorted(values, key=float) for way, values in reduced.items()}
    between = lambda way: " to ".join(dict.fromkeys((reduced[way][0], reduced[way][-1])))
    return section(
        "tables", f"Published tables: products {best[WAYS['others']]} % off between sizes, {best[WAYS['there']]} % on another GPU; all-reduces {between(WAYS['others'])} %, {between('node')} % from one node, {between(WAYS['one'])} % from one size",
        finding("Each table is read as if a job had run it. The models of Lumos then predict each size from the others, and all from one. "
                f"Mean errors of products are {best[WAYS['others']]} % between sizes, {best[WAYS['one']]} % from one size and {best[WAYS['there']]} % on another GPU. "
                f"Those of all-reduces, a table each, are {', '.join(reduced[WAYS['others']])} % between sizes; {', '.join(reduced['node'])} % from one node; {', '.join(reduced[WAYS['one']])} % from one size. "
                "Between sizes that are known the models are close; far from them they are not. "
                "From one large all-reduce, short ones come out too short. Their ranges do not grow with the distance in size, which they should."),
        table("tables in short", ["table", "predicted from", "sizes", "mean error <small>%</small>", "worst <small>%</small>", "ranges hold"], lines),
        "<h3>Matrix products in bf16, rows × inner × columns</h3>\n",
        table("matrix products", ["product", "H100 <small>µs</small>", "from others <small>%</small>", "range holds", "from one <small>%</small>", "range holds", "B200 <small>µs</small>", "from H100 <small>%</small>", "range holds"], shown),
        "<h3>All-reduces</h3>\n",
        reading("Every second size of the long tables; paper.json has all, and they count above. “From one node”:" + "".join(f" {name}, from {words}." for name, words in nodes.items() if words)),
        table("all-reduces", ["table", "size", "published <small>µs</small>", "from others <small>%</small>", "range holds", "from one <small>%</small>", "range holds", "from one node <small>%</small>", "range holds"], moved),
        "<h3>Sources, and what is not known</h3>\n",
        '<ul class="notes">\n' + "".join(f"<li>{text(words)}</li>\n" for words in unknown) + "</ul>\n")


def pair(found):
    return [signed(found["error"], 1), "yes" if found["holds"] else "no"] if found else ["–", "–"]


# ---- the page ----


def arranged(result):
    """With the cases by figure."""
    cases = result["cases"]
    of = lambda *beginnings: [{"name": name, **case} for name, case in cases.items() if name.startswith(beginnings)]
    return {**result, "base_step": cases["base"]["step"] if "base" in cases else None, "predictions": of("parallelism-", "model-"), "replay": of("replay-"), "busy": cases.get("busy"),
            "reality": [{**run, "name": run["name"].split("-", 1)[1]} for run in of("reality-")]}


def tiles(result):
    met = lambda good: "met" if good else "missed"
    every, entries = result["predictions"], []
    if result["replay"]:
        sizes = [abs(of_models(case)["lumos"]) for case in result["replay"]]
        kinds = by_recording(result["replay"])
        by_kind = "; ".join(f"{size:.2f} % of the {number} with {words}" for number, words, size, _ in kinds) if len(kinds) > 1 else ""
        missed = " and ".join(f"the {number} with {words}" for number, words, size, _ in kinds if size >= AIMS["replay"])
        aim = met(mean(sizes) < AIMS["replay"]) + (f" by the mean, missed by {missed}" if missed and mean(sizes) < AIMS["replay"] else "")
        entries.append(("Replay error", f"{mean(sizes):.2f} %", f"mean of {len(sizes)} jobs{': ' + by_kind if by_kind else ''}. Aim under {AIMS['replay']} %: {aim}. The paper: {result['paper_replay']} %"))
    for words, beginning, aim in (("Other parallelism", "parallelism-", "parallelism"), ("Other models", "model-", "models")):
        if of_group(result, beginning):
            average, worst = summary(of_group(result, beginning))
            last = f"{worst:.2f} %, aim {AIMS['worst']} %: {met(worst < AIMS['worst'])}" if aim == "parallelism" else f"{worst:.2f} %"
            entries.append((words, f"{average:.2f} %", f"mean; aim under {AIMS[aim]} %: {met(average < AIMS[aim])}. Worst {last}"))
    if every:
        unknown = sum(within(case) == "unknown" for case in every)
        faulty = result["cases"].get("scarce")
        without = (f". Left out here and in the title: {faulty['configuration']} with scarce memory, off by {signed(faulty['error'])} %; its range is {span_of(faulty)} ms, "
                   f"true are {plain(faulty['true']['step'])} ms. Range holds: {within(faulty)}") if faulty else ""
        entries.append(("Ranges hold", held_of(every), "meant to hold nine of ten" + (f"; {unknown} predictions have no range" if unknown else "") + without))
    return '<ul class="tiles">\n' + "".join(f'<li><p class="label">{a}</p><p class="figure">{b}</p><p class="evidence">{text(c)}</p></li>\n' for a, b, c in entries) + "</ul>\n"


def headline(result):
    """What the page says above all: of the cases that there are."""
    whole = [abs(result["cases"][name]["error"]) for name in ("whole",) if name in result["cases"]]  # one of them, with the traces of all ranks
    sizes, errors = [abs(of_models(case)["lumos"]) for case in result["replay"]], [abs(case["error"]) for case in result["predictions"]]
    parts = [f"replays {of_all(len(sizes), JOBS, 'jobs')} within {at_most(max(sizes + whole))} %"] if sizes else []
    parts += [f"predicts {len(errors)} other job{'s' if len(errors) > 1 else ''} from one of them within {at_most(max(errors))} %"] if errors else []
    return "Lumos " + ", and ".join(parts) if parts else "Some of the experiments of the Lumos paper"


# What the mechanisms of the emulated cluster are, for who does not know their names
WITHOUT = {"": "all mechanisms", "collective-skew": "members of a collective end at the same moment", "free-sms": "communication need not wait for multiprocessors"}
MECHANISMS = {
    "none": "none of the five",
    "SM queue": "communication waits until all of its blocks have a multiprocessor",
    "prepared inputs": "inputs are masked on the copy stream",
    "pageable copies": "copies from and to the CPU use memory that is not pinned",
    "these three": "these three, as on all of this page",
    "these three and captured graphs": "these three, and layers run as captured graphs",
    "these three and scarce memory": "these three, and each micro-batch runs out of memory",
    "these three without collective-skew": "these three, but " + WITHOUT["collective-skew"],
    "these three without free-sms": "these three, but " + WITHOUT["free-sms"],
}


def mechanisms_section(result, paper):
    shown, worth = result["cases"].get("mechanisms"), result["cases"].get("causes")
    if not shown and not worth:
        return ""
    parts = []
    if shown:
        parts += [finding("The 15B job on 2x2x4, replayed with the traces of all its ranks. "
                          f"The emulated cluster has {paper['seen']['mechanisms']['by_default']} mechanisms that are on by default, and {paper['seen']['mechanisms']['others']} that are not. Three of these are on for all of this page. "
                          "Captured graphs are not, since they take the place of launches, and these jobs launch their kernels one by one. "
                          "Scarce memory is not, since no ordinary job asks for memory in vain in every micro-batch."),
                  table("mechanisms", ["mechanism", "true step <small>ms</small>", "replay error <small>%</small>"],
                        [[MECHANISMS.get(row["words"], row["words"]), plain(row["step"]), signed(row["error"])] for row in shown["rows"]])]
    if worth:
        base = {row["job"]: row["true"]["step"] for row in worth["rows"] if not row["without"]}
        ours = {name.split("-", 1)[1]: result["cases"][name]["step"] for name in result["cases"] if name.startswith(("parallelism-", "model-"))}
        recorded = {row["words"]: row["step"] for row in shown["rows"]} if shown else {}
        shorter = [f"by {plain(recorded['these three'] - recorded[name])} ms {words}" for name, words in (("these three without collective-skew", "where members of a collective end at the same moment"),
                   ("these three without free-sms", "where communication need not wait")) if {name, "these three"} <= recorded.keys()]
        base_too = f" The recorded base is shorter {' and '.join(shorter)}." if shorter else ""
        parts += ["<h3>How much longer two mechanisms make the true steps</h3>\n",
                  reading(f"The true steps of three predicted jobs, each without one mechanism. Without it both the base and the true run get shorter, so the prediction does, too.{base_too} "
                          "So “shorter by” is the most that the mechanism can explain of “predicted too short by”; the table bounds the cause from above. "
                          "None of the three was predicted anew without them: the bound is all that is known."),
                  table("causes", ["job", "true run", "step <small>ms</small>", "shorter by, at most the cause <small>ms</small>", "waiting in it <small>ms</small>", "bubble in it <small>ms</small>", "predicted too short by, with all mechanisms <small>ms</small>"],
                        [[row["job"], WITHOUT[row["without"]], plain(row["true"]["step"]), plain(base[row["job"]] - row["true"]["step"]) if row["without"] else "–", plain(row["true"]["parts"]["communication_wait"]),
                          plain(row["true"]["parts"]["pipeline_bubble"]), plain(base[row["job"]] - ours[row["job"]]) if not row["without"] and row["job"] in ours else "–"] for row in worth["rows"]])]
    return section("mechanisms", "Which mechanisms make these jobs hard to replay and to predict", *parts)


def figures_of(result, paper):
    """What the notes have to say in figures, of the cases that there are."""
    cases, found = result["cases"], {}
    stages = [cases.get(name) for name in ("base", "parallelism-2x4x4", "parallelism-2x8x4", "parallelism-2x16x4")]
    if all(stages):
        reported = {row["configuration"]: row["actual"][-1] for row in paper["parallelism"]}
        true = [case.get("true", case) for case in stages]
        shares = [f"{100 * one['parts']['pipeline_bubble'] / one['step']:.0f} %" for one in true]
        found |= {"paper_pp": plain(100 * (reported["2x8x4"] / reported["2x4x4"] - 1), 0), "true_pp": plain(100 * (true[2]["step"] / true[1]["step"] - 1), 0), "bubbles": f"{', '.join(shares[:-1])} and {shares[-1]}"}
    if "model-V4" in cases:
        case, missing = cases["model-V4"], lambda part: plain(cases["model-V4"]["true"]["parts"][part] - cases["model-V4"]["parts"][part])
        found |= {"v4_missed": plain(case["true"]["step"] - case["step"]), "v4_bubble": missing("pipeline_bubble"), "v4_wait": missing("communication_wait")}
    if "table-products" in cases:
        rows = [row for row in cases["table-products"]["rows"] if row.get("there")]
        worst = sorted(rows, key=lambda row: row["there"]["error"])[:3]
        found |= {"b200": len(rows), "b200_fast": sum(row["there"]["error"] < 0 for row in rows), "b200_held": sum(row["there"]["holds"] for row in worst) or "none",
                  "b200_worst": "; ".join(f"{' × '.join(map(str, row['shape']))} {signed(row['there']['error'], 1)} %" for row in worst)}
    return found


def filled(note, figures):
    """A note with its figures; None where the cases that it is about were not run."""
    names = re.findall(r"\{(\w+)\}", note)
    return note.format(**figures) if all(name in figures for name in names) else None


def notes_section(result, paper):
    figures = figures_of(result, paper)
    notes = [] if result["quick"] else [note for note in (filled(note, figures) for note in paper["differences"]) if note]
    entries = "".join(f"<li>{text(note)}</li>\n" for note in notes)
    return section("notes", "What differs from the paper or from the truth, and why", reading("What is measured stands in the tables above. What is only likely is called so."), f'<ul class="notes">\n{entries}</ul>\n') if entries else ""


GROUPS = {"base": "recording of the base of Fig. 7 and 8", "replay-": "replays, each with its run", "parallelism-": "predictions of Fig. 7, each with a true run", "model-": "predictions of Fig. 8, each with a true run",
          "busy": "Fig. 6", "mechanisms": "replays with other mechanisms", "causes": "true runs without a mechanism", "scarce": "a prediction with scarce memory", "whole": "a replay with all ranks",
          "reality-": "published runs", "table-": "published tables"}


def made_section(result, paper):
    cases, machine, run = result["cases"], result["machine"], result.get("run", {})
    versions = list(dict.fromkeys(case["version"] for case in cases.values()))
    rows = []
    for beginning, words in GROUPS.items():
        some = [case for name, case in cases.items() if name.startswith(beginning)]
        if some:
            rows.append([words, str(len(some)), plain(sum(case["cpu_s"] for case in some), 0), plain(max(case["cpu_s"] for case in some), 0), plain(sum(case["wall_s"] for case in some) / 60),
                         ", ".join(version for version in versions if any(case["version"] == version for case in some))])
    cpu, wall = (sum(case[key] for case in cases.values()) for key in ("cpu_s", "wall_s"))
    left = f" Not run: {', '.join(result['left_out'])}." if result["left_out"] else ""
    made = f"All cases were run with version {versions[0]} of the code." if len(versions) == 1 else f"The cases were run with {len(versions)} versions of the code."
    command = f"examples/paper/run.sh{' --quick' if result['quick'] else ''}"
    once = run.get("cases") == len(cases)
    loads = [case for case in cases.values() if "load" in case]
    load = sum(case["load"] * case["wall_s"] for case in loads) / sum(case["wall_s"] for case in loads) if loads else 0
    how = (f"{command} ran all {len(cases)} cases one after another, in one go: {run['wall_s'] / 60:.0f} minutes, {plain(run['cpu_s'], 0)} s of CPU time. The largest process took {run['process_gb']} GB." if once else
           f"{command} runs case after case. These were run in parts, with --only: {wall / 60:.0f} minutes together, {plain(cpu, 0)} s of CPU time.")
    where = f"The machine: a virtual one with {machine['cores']} cores{' (' + machine['processor'] + ')' if machine.get('processor') else ''} and {machine['memory_gb']} GB."
    busy = f" It had other work to do: {load:.1f} processes ran or waited, averaged over time." if load > 1.5 else ""
    return section(
        "made", f"All of this took {(run['wall_s'] if once else wall) / 60:.0f} minutes, {cpu / 60:.0f} of CPU time",
        finding(f"{how} {where}{busy} {made}{left}"),
        table("time of the cases", ["cases", "number", "CPU time <small>s</small>", "longest <small>s</small>", "time <small>min</small>", "version"], rows),
        reading("The cluster is emulated: an H100-like machine with 8 GPUs a node. It shares no code with the simulator. But both have NCCL’s tuning tables and the speeds of links from the same sources. "
                "So these cases test how Lumos simulates rather than those figures. The cluster’s figures for real GPUs are assumptions. What was measured and predicted here is in paper.json. What the paper and others published is in published.json beside it. "
                "So is, as “seen”, what runs gave that paper.json does not have, each with its version; and the text of the notes, with the figures that they name."))


def main(path):
    with open(path) as file:
        document = file.read()
    result = arranged(json.loads(document))
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "published.json")) as file:
        paper = json.load(file)
    result["paper_replay"] = paper["replay"]["lumos"]
    out = HEAD + f'<header>\n<p class="eyebrow"><b>Lumos</b> The paper’s experiments, on an emulated cluster</p>\n<h1>{text(headline(result))}</h1>\n{tiles(result)}</header>\n<main>\n\n'
    out += replay_section(result, paper) + breakdown_section(result, paper) + busy_section(result) + parallelism_section(result, paper) + models_section(result, paper) + mechanisms_section(result, paper)
    out += reality_section(result, paper) + tables_section(result, paper) + notes_section(result, paper) + made_section(result, paper) + "</main>\n"
    sys.stdout.write(out + TAIL % document.replace("<", "\\u003c"))


main(sys.argv[1])
