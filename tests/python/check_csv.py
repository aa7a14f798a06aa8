#!/usr/bin/env python3
"""Opens every table of results folders and computes every figure of summary.csv and accuracy.csv again, on its own.

    python3 tests/python/check_csv.py DIR...

Needs numpy. Where pandas, duckdb and LibreOffice are installed, each table is opened with them too: it must have as many
rows, its empty cells must be empty, and its numbers numbers. The computation follows docs/metrics.md, not the program's code; intervals of rates, which come from
random draws, are checked for order only. Every metric is computed: one that is not known here fails.
"""

import csv
import importlib.util
import json
import math
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path
from xml.etree import ElementTree

import numpy as np

PERCENTILES = ["p1", "p5", "p10", "p25", "p50", "p75", "p90", "p95", "p99", "p99.9"]
NOT_SENT = {"dropped", "not_sent", "skipped"}
UNDECIDED = {"skipped", "cancelled", "client_error", "cut_at_end"}
REASONS = {
    "stop": {"stop", "end_turn", "stop_sequence", "eos", "completed"},
    "length": {"length", "max_tokens", "max_output_tokens", "limit"},
    "tool_calls": {"tool_calls", "tool_use", "function_call"},
    "content_filter": {"content_filter", "refusal"},
}
TIMES = ["scheduled_s", "sent_s", "first_byte_s", "first_token_s", "first_answer_s", "last_token_s", "ended_s"]
TABLES = {
    "requests.csv": {"request": "int", "phase": "text", "outcome": "text", "measured": "bool", "ttft_ms": "number",
                     "scheduled_s": "number", "output_tokens": "number"},
    "summary.csv": {"phase": "text", "metric": "text", "statistic": "text", "value": "number", "count": "int"},
    "gaps.csv": {"phase": "text", "metric": "text", "low_us": "int", "high_us": "int", "count": "int"},
    "timeline.csv": {"t_s": "int", "offered": "int", "sent": "int", "in_flight": "int", "ttft_p50_ms": "number"},
}
OFFICE, TABLE = ("{urn:oasis:names:tc:opendocument:xmlns:%s:1.0}" % name for name in ("office", "table"))
Z, T9 = 1.959963984540054, 2.262157162798205


def read(path):
    with open(path, newline="", encoding="utf-8") as file:
        rows = list(csv.reader(file))
    header, rows = rows[0], rows[1:]
    assert all(len(row) == len(header) for row in rows), f"{path}: rows of unequal length"
    for row in rows:
        for cell in row:
            assert cell.lower() not in ("nan", "inf", "-inf", "-nan"), f"{path}: {cell}"
    return [dict(zip(header, row)) for row in rows]


def us(cell, decimals):
    """A cell with so many decimals as whole units of the last one."""
    if cell == "":
        return None
    whole, _, fraction = cell.partition(".")
    return int(whole) * 10**decimals + int(fraction.ljust(decimals, "0") or 0)


def number(cell):
    return None if cell == "" else float(cell)


class Row:
    """A line of requests.csv in whole microseconds."""

    def __init__(self, cells):
        for name in TIMES:
            setattr(self, name[:-2], us(cells[name], 6))
        for name in ["held", "connect", "upload", "e2e"]:
            setattr(self, name, us(cells[name + "_ms"], 3))
        for name in ["prompt_tokens_planned", "prompt_tokens", "cached_tokens", "output_tokens_planned", "output_tokens",
                     "output_tokens_in_window", "reasoning_tokens", "reconnects"]:
            setattr(self, name, number(cells[name]))
        self.cells = cells
        self.request = int(cells["request"])
        self.phase, self.workload, self.outcome = cells["phase"], cells["workload"], cells["outcome"]
        self.measured = cells["measured"] == "true"
        self.slo_met = {"true": True, "false": False, "": None}[cells["slo_met"]]
        self.new_connection = {"true": True, "false": False, "": None}[cells["new_connection"]]
        self.verdict = cells["verdict"] or None
        self.consistent = {"true": True, "false": False, "": None}[cells["consistent"]]
        self.ok = self.outcome == "ok"
        self.was_sent = self.outcome not in NOT_SENT
        self.failed = self.was_sent and not self.ok and self.outcome not in UNDECIDED
        self.last_output = self.sent + self.e2e if self.e2e is not None else self.last_token
        reason = cells["finish_reason"]
        kinds = [kind for kind, words in REASONS.items() if reason in words]
        self.reason = kinds[0] if kinds else ("other" if reason else "none")

    def since(self, end, start):
        end, start = getattr(self, end), getattr(self, start)
        return None if end is None or start is None else max(0, end - start) / 1e3

    def tpot(self):
        if self.output_tokens is None or self.output_tokens < 2 or self.first_token is None:
            return None
        span = self.last_token - self.first_token
        return span / 1e3 / (self.output_tokens - 1) if span > 0 else None


def send_delay(row):
    lag = row.since("sent", "scheduled")
    return None if lag is None else max(0, round(lag * 1e3) - (row.held or 0)) / 1e3


def prefill_speed(row):
    ttft = row.since("first_token", "sent")
    if row.prompt_tokens is None or not ttft:
        return None
    fresh = row.prompt_tokens - (row.cached_tokens or 0)
    return fresh / (ttft / 1e3) if fresh >= 0 else None


def of_ok(value):
    return lambda row: value(row) if row.ok else None


def ms(name):
    return of_ok(lambda row: None if getattr(row, name) is None else getattr(row, name) / 1e3)


SAMPLES = {
    "lag": of_ok(lambda row: row.since("sent", "scheduled")),
    "send_delay": lambda row: send_delay(row) if row.was_sent else None,
    "connect": ms("connect"),
    "upload": ms("upload"),
    "ttft": of_ok(lambda row: row.since("first_token", "sent")),
    "ttft_scheduled": of_ok(lambda row: row.since("first_token", "scheduled")),
    "first_answer": of_ok(lambda row: row.since("first_answer", "sent")),
    "first_answer_scheduled": of_ok(lambda row: row.since("first_answer", "scheduled")),
    "e2e": of_ok(lambda row: row.since("last_output", "sent")),
    "e2e_scheduled": of_ok(lambda row: row.since("last_output", "scheduled")),
    "failed_after": lambda row: row.since("ended", "sent") if row.failed else None,
    "tpot": of_ok(Row.tpot),
    "decode_speed": of_ok(lambda row: 1e3 / row.tpot() if row.tpot() else None),
    "prefill_speed": of_ok(prefill_speed),
    "prompt_tokens_planned": of_ok(lambda row: row.prompt_tokens_planned),
    "prompt_tokens": of_ok(lambda row: row.prompt_tokens),
    "cached_tokens": of_ok(lambda row: row.cached_tokens),
    "output_tokens_planned": of_ok(lambda row: row.output_tokens_planned),
    "output_tokens": of_ok(lambda row: row.output_tokens),
    "reasoning_tokens": of_ok(lambda row: row.reasoning_tokens),
}


def adjusted(value):
    """Lower and upper bound of a latency in which failed requests are infinitely late."""

    def bounds(row):
        if row.ok:
            came = value(row)
            return None if came is None else (came, came)
        if row.outcome in ("cut_at_end", "cancelled"):
            came = None if value is TPOT else value(row)
            if came is not None and value is not E2E:
                return came, came
            least = 0.0 if value is TPOT else row.since("ended", "scheduled")
            return least, math.inf
        return None if row.outcome in ("skipped", "client_error") else (math.inf, math.inf)

    return bounds


def TPOT(row):
    return row.tpot()


def E2E(row):
    return row.since("last_output", "scheduled")


ADJUSTED = {
    "ttft_adjusted": adjusted(lambda row: row.since("first_token", "scheduled")),
    "first_answer_adjusted": adjusted(lambda row: row.since("first_answer", "scheduled")),
    "e2e_adjusted": adjusted(E2E),
    "tpot_adjusted": adjusted(TPOT),
}


LIMITED = {
    "ttft": lambda row: row.since("first_token", "sent"),
    "ttft_scheduled": lambda row: row.since("first_token", "scheduled"),
    "first_answer": lambda row: row.since("first_answer", "sent"),
    "e2e": lambda row: row.since("last_output", "sent"),
    "e2e_scheduled": E2E,
    # One token has no time between tokens: nothing to miss.
    "tpot": lambda row: 0.0 if row.output_tokens is not None and row.output_tokens < 2 else row.tpot(),
}


def share_of(name):
    return float(name[1:]) / 100


def needs(name):
    p = share_of(name)
    return 1 if p == 0.5 else math.ceil(round(math.log(0.025) / math.log(max(p, 1 - p)), 9))


def rank(name, count):
    return -(-count * round(share_of(name) * 100_000) // 100_000)


def dependence(values):
    """Variance of ten block means over that of independent values, less the bias that blocks of a fifth show; None of
    fewer than twenty."""
    values = np.asarray(values, dtype=float)

    def dispersion(blocks):
        length = len(values) // blocks
        if length == 0:
            return None
        used = values[len(values) - blocks * length:]
        single = used.var()
        return length * used.reshape(blocks, length).mean(axis=1).var(ddof=1) / single if single > 0 else 1.0

    if len(values) < 20:
        return None
    plain, short = dispersion(10), dispersion(50)
    corrected = plain if short is None else 2 * plain - short
    return min(max(corrected, plain, 1.0), len(values))


def binomial_below(n, p):
    """Chance of at most k hits, for k = 0 … n."""
    k = np.arange(n + 1)
    logs = np.array([math.lgamma(n + 1) - math.lgamma(i + 1) - math.lgamma(n - i + 1) for i in k])
    return np.cumsum(np.exp(logs + k * math.log(p) + (n - k) * math.log1p(-p)))


def bounds_of_rank(name, count, worth):
    n = max(1, min(int(worth), count))
    below = binomial_below(n, share_of(name))
    low = np.flatnonzero(below <= 0.025)
    high = np.flatnonzero(below[:n] >= 0.975)
    return (
        None if len(low) == 0 else int(low[-1]) * count // n + 1,
        None if len(high) == 0 else -(-(int(high[0]) + 1) * count // n),
    )


def interval_of_percentile(name, series, low_sorted, high_sorted):
    limit = low_sorted[rank(name, len(series)) - 1]
    tau = dependence([value > limit or math.isinf(value) for value in series])
    if tau is None:
        return None, None
    low, high = bounds_of_rank(name, len(series), len(series) / tau / (T9 / Z) ** 2)
    low = None if low is None else low_sorted[low - 1]
    high = None if high is None else high_sorted[high - 1]
    return low, high if high is not None and math.isfinite(high) else None


def interval_of_share(flags):
    count, hits = len(flags), sum(flags)
    if count == 0:
        return None, None
    share = hits / count
    worth = count
    if 0 < hits < count:
        tau = dependence(flags)
        if tau is None:
            return None, None
        worth = count / tau / (T9 / Z) ** 2
    square = Z * Z / worth
    centre = (share + square / 2) / (1 + square)
    half = Z / (1 + square) * math.sqrt(share * (1 - share) / worth + square / (4 * worth))
    return 0.0 if hits == 0 else centre - half, 1.0 if hits == count else centre + half


class Oracle:
    """Figures of one group of rows."""

    def __init__(self, workloads, rows, gaps, entries):
        self.rows, self.gaps, self.entries, self.workloads = rows, gaps, entries, workloads
        self.limited = any(workload["slo_ms"] for workload in workloads.values())
        self.scored = any(workload["score"] for workload in workloads.values())
        self.one = len(entries) == 1
        self.stopped = {entry["name"]: entry["stopped"] for entry in entries}
        self.measured = sorted((row for row in rows if row.measured), key=lambda row: (row.scheduled, row.request))
        self.figures = {}
        self.samples()
        self.adjusted()
        self.gap_figures()
        self.counts()
        self.shares()
        self.answers()
        self.rates()

    def put(self, metric, statistic, value, count, interval=None, bounded=True):
        self.figures[metric, statistic] = (value, count, interval if bounded and self.one else (None, None))

    def samples(self):
        for metric, value in SAMPLES.items():
            series = [value(row) for row in self.measured]
            series = [value for value in series if value is not None]
            ordered = sorted(series)
            n = len(series)
            mean = math.fsum(series) / n if n else None
            sd = math.sqrt(math.fsum((value - mean) ** 2 for value in series) / (n - 1)) if n > 1 else None
            around = (None, None)
            tau = dependence(series)
            if tau is not None:
                half = Z * sd / math.sqrt(n / tau / (T9 / Z) ** 2)
                around = mean - half, mean + half
            self.put(metric, "mean", mean, n, around)
            self.put(metric, "sd", sd, n, (None, None))
            self.put(metric, "min", ordered[0] if n else None, n, (None, None))
            self.put(metric, "max", ordered[-1] if n else None, n, (None, None))
            for name in PERCENTILES:
                if n < needs(name):
                    self.put(metric, name, None, n, (None, None))
                else:
                    interval = interval_of_percentile(name, series, ordered, ordered)
                    self.put(metric, name, ordered[rank(name, n) - 1], n, interval)

    def adjusted(self):
        for metric, value in ADJUSTED.items():
            rows = [row for row in self.measured if not (self.stopped[row.phase] and row.outcome == "not_sent")]
            known = [value(row) for row in rows]
            known = [bounds for bounds in known if bounds is not None]
            series = [low for low, _ in known]
            lows, highs = sorted(series), sorted(high for _, high in known)
            n = len(series)
            for name in PERCENTILES:
                if n < needs(name):
                    self.put(metric, name, None, n, (None, None))
                    continue
                at = rank(name, n) - 1
                stands = lows[at] == highs[at] and math.isfinite(lows[at])
                low, high = interval_of_percentile(name, series, lows, highs)
                low = low if low is not None and math.isfinite(low) else None
                self.put(metric, name, lows[at] if stands else None, n, (low, high))

    def gap_figures(self):
        for metric in ("gap", "itl"):
            buckets = {}
            for row in self.gaps:
                if row["metric"] == metric:
                    key = int(row["low_us"]), int(row["high_us"])
                    buckets[key] = buckets.get(key, 0) + int(row["count"])
            buckets = sorted(buckets.items())
            n = sum(count for _, count in buckets)
            middles = [((low + high) / 2e3, count) for (low, high), count in buckets]
            mean = math.fsum(middle * count for middle, count in middles) / n if n else None
            squares = math.fsum(count * (middle - mean) ** 2 for middle, count in middles) if n else 0
            none = (None, None)
            self.put(metric, "mean", mean, n, none)
            self.put(metric, "sd", math.sqrt(squares / (n - 1)) if n > 1 else None, n, none)
            self.put(metric, "min", buckets[0][0][0] / 1e3 if n else None, n, none)
            self.put(metric, "max", buckets[-1][0][1] / 1e3 if n else None, n, none)
            for name in PERCENTILES:
                value, seen = None, 0
                for (_, high), count in buckets:
                    seen += count
                    if seen >= rank(name, n):
                        value = high / 1e3
                        break
                self.put(metric, name, value if n >= needs(name) else None, n, none)

    def counts(self):
        for metric, rows in (("requests", self.rows), ("measured_requests", self.measured)):
            sums = {"planned": len(rows), "sent": sum(row.was_sent for row in rows)}
            for row in rows:
                sums[row.outcome] = sums.get(row.outcome, 0) + 1
            self.outcomes = sums
            for statistic, count in sums.items():
                self.put(metric, statistic, count, count, (None, None))
        ok = [row for row in self.measured if row.ok]
        for reason in [*REASONS, "other", "none"]:
            count = sum(row.reason == reason for row in ok)
            self.put("finish_reasons", reason, count, count, (None, None))
        opened = sum(row.new_connection is True for row in self.measured)
        redone = sum(int(row.reconnects or 0) for row in self.measured)
        self.put("new_connections", "value", opened, opened, (None, None))
        self.put("reconnects", "value", redone, redone, (None, None))

    def put_share(self, metric, statistic, flags):
        value = sum(flags) / len(flags) if flags else None
        self.put(metric, statistic, value, len(flags), interval_of_share(flags))

    def shares(self):
        stopped = lambda row: self.stopped[row.phase] and row.outcome == "not_sent"
        decided = [row for row in self.measured if row.outcome not in UNDECIDED and not stopped(row)]
        self.put_share("success", "value", [row.ok for row in decided])
        self.put_share("error_share", "value", [not row.ok for row in decided])
        for outcome in {row.outcome for row in decided} - {"ok"}:
            self.put_share("error_share", outcome, [row.outcome == outcome for row in decided])
        judged = [row.slo_met for row in self.measured if row.slo_met is not None and not stopped(row)]
        self.put_share("attainment", "value", judged)
        ok = [row for row in self.measured if row.ok]
        for reason in [*REASONS, "other", "none"]:
            self.put_share("finish_reason_share", reason, [row.reason == reason for row in ok])
        known = [row.new_connection for row in self.measured if row.new_connection is not None]
        self.put_share("new_connection_share", "value", known)

    def answers(self):
        ok = [row for row in self.measured if row.ok]
        none = (None, None)
        lacking = sum(any(LIMITED[name](row) is None for name in self.workloads[row.workload]["slo_ms"]) for row in ok)
        lacking = lacking if self.limited else None
        self.put("slo_unmeasurable", "value", lacking, lacking or 0, none)
        unchecked = sum(self.workloads[row.workload]["score"] is not None and row.verdict is None for row in ok)
        unchecked = unchecked if self.scored else None
        self.put("unchecked_requests", "value", unchecked, unchecked or 0, none)
        checked = [row for row in ok if row.verdict is not None]
        for verdict in ("right", "wrong", "no_answer"):
            count = sum(row.verdict == verdict for row in checked)
            self.put("verdicts", verdict, count, count, none)
        self.put_share("accuracy", "value", [row.verdict == "right" for row in checked])
        for reason in [*REASONS, "other", "none"]:
            self.put_share("accuracy", reason, [row.verdict == "right" for row in checked if row.reason == reason])
        self.put_share("no_answer_share", "value", [row.verdict == "no_answer" for row in checked])
        self.put_share("consistency", "value", [row.consistent for row in ok if row.consistent is not None])

    def rates(self):
        windows, length, offer_length = {}, 0, 0
        for entry in self.entries:
            start, end = entry["window_start_s"], entry["window_end_s"]
            due = [row.scheduled for row in self.measured if row.phase == entry["name"] and row.scheduled is not None]
            if start is None or end is None or end <= start:
                continue
            start, end = round(start * 1e6), round(end * 1e6)
            last = max(self.last_due[entry["name"]]) if entry["counted"] else None
            windows[entry["name"]] = (start, end, last)
            length += end - start
            offer_length += (end if last is None else last) - start

        def inside(row, at):
            if at is None or row.phase not in windows:
                return False
            start, end, last = windows[row.phase]
            return start <= at and (at < end or (last is not None and at == end))

        def offered(row):
            last = windows[row.phase][2] if row.phase in windows else None
            return last is None or row.scheduled <= last

        per_s = lambda amount, over: amount / (over / 1e6) if over else None
        due = sum(inside(row, row.scheduled) and offered(row) for row in self.rows)
        sent = sum(row.scheduled is not None and inside(row, row.sent) and offered(row) for row in self.rows)
        done = [row for row in self.rows if row.ok and inside(row, row.last_output or row.ended)]
        good = sum(row.slo_met is True for row in done)
        self.put("offered_rate", "value", per_s(due, offer_length), due)
        self.put("achieved_rate", "value", per_s(sent, offer_length), sent)
        self.put("request_throughput", "value", per_s(len(done), length), len(done))
        self.put("goodput", "value", per_s(good, length) if self.limited else None, good if self.limited else 0)

        correct = sum(row.verdict == "right" and row.slo_met is not False for row in done)
        correct = correct if self.scored else None
        self.put("correct_goodput", "value", None if correct is None else per_s(correct, length), correct or 0)

        counts = [row for row in self.rows if row.ok or row.outcome == "cut_at_end"]
        shown = [row for row in counts if row.output_tokens_in_window is not None or row.first_token is not None]
        known = [row.output_tokens_in_window for row in shown if row.output_tokens_in_window is not None]
        output = math.fsum(known) if known or not shown else None
        prompts = [row.prompt_tokens for row in counts if row.first_token is not None and inside(row, row.first_token)]
        known_prompts = [tokens for tokens in prompts if tokens is not None]
        prompt = math.fsum(known_prompts) if known_prompts or not prompts else None
        total = None if output is None or prompt is None else output + prompt
        rate = lambda amount: None if amount is None else per_s(amount, length)
        self.put("output_throughput", "value", rate(output), len(known))
        self.put("prompt_throughput", "value", rate(prompt), len(known_prompts))
        self.put("total_throughput", "value", rate(total), len(known))
        uncounted = len(shown) - len(known)
        self.put("uncounted_requests", "value", uncounted, uncounted, (None, None))
        failed = [row.output_tokens_in_window for row in self.rows if row.failed and row.first_token is not None]
        wasted = [tokens for tokens in failed if tokens is not None]
        self.put("wasted_tokens", "value", math.fsum(wasted) if wasted or not failed else None, len(wasted), (None, None))


RATES = {"offered_rate", "achieved_rate", "request_throughput", "goodput", "correct_goodput", "output_throughput",
         "prompt_throughput", "total_throughput"}


def close(written, value):
    if written == "" or value is None:
        return (written == "") == (value is None)
    return math.isclose(float(written), value, rel_tol=1e-9, abs_tol=6e-7)


def check_figures(folder):
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    rows = [Row(cells) for cells in read(folder / "requests.csv")]
    gaps = read(folder / "gaps.csv")
    workloads = {workload["name"]: workload for workload in manifest["workloads"]}
    groups, checked = {}, 0
    for line in read(folder / "summary.csv"):
        key = line["point"], line["repeat"], line["phase"], line["workload"]
        if key not in groups:
            number = lambda cell: None if cell == "" else int(cell)
            run = number(line["point"]), number(line["repeat"])
            entries = [entry for entry in manifest["phases"]
                       if entry["measured"] and (entry["point"], entry["repeat"]) == run
                       and line["phase"] in ("all", entry["name"])]
            names = {entry["name"] for entry in entries}
            belongs = lambda cells: (cells["phase"] in names and (cells["point"], cells["repeat"]) == key[:2])
            of_workload = lambda cells: line["workload"] in ("all", cells["workload"])
            Oracle.last_due = {name: [row.scheduled for row in rows if belongs(row.cells) and row.phase == name
                                      and row.measured and row.scheduled is not None] for name in names}
            mine = [row for row in rows if belongs(row.cells) and of_workload(row.cells)]
            of_group = {name: of for name, of in workloads.items() if line["workload"] in ("all", name)}
            my_gaps = [row for row in gaps if belongs(row) and of_workload(row)]
            groups[key] = Oracle(of_group, mine, my_gaps, entries).figures
        metric, statistic = line["metric"], line["statistic"]
        what = f"{folder}: {line['phase']} {line['workload']} {metric} {statistic}"
        assert any(metric == known for known, _ in groups[key]), f"{folder}: {metric} is not computed here"
        share = metric in ("error_share", "finish_reason_share")
        default = (0.0 if share and groups[key].get((metric, "value"), (0, 1))[1] else 0, 0, None)
        value, count, interval = groups[key].get((metric, statistic), default)
        if (metric, statistic) in groups[key] or not share:
            assert close(line["value"], value), f"{what}: {line['value']} is not {value}"
            assert int(line["count"]) == count, f"{what}: of {line['count']}, not {count}"
        if metric in RATES:
            ends = [float(line[end]) for end in ("ci_low", "ci_high") if line[end]]
            assert not ends or ends[0] <= value + 1e-6 and value <= ends[1] + 1e-6, f"{what}: {ends} without {value}"
        elif interval is not None:
            for end, expected in zip(("ci_low", "ci_high"), interval):
                assert close(line[end], expected), f"{what} {end}: {line[end]} is not {expected}"
        checked += 1
    return checked


def check_accuracy(folder):
    """Counts accuracy.csv again from requests.csv: every cell there is, and no other."""
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    counting = {(str(entry["point"] or ""), str(entry["repeat"] or ""), entry["name"])
                for entry in manifest["phases"] if entry["measured"]}
    cells = {}
    for row in sorted(map(Row, read(folder / "requests.csv")), key=lambda row: (row.scheduled or 0, row.request)):
        of = row.cells
        if not (row.measured and row.ok and row.verdict) or (of["point"], of["repeat"], row.phase) not in counting:
            continue
        tokens = row.prompt_tokens
        length = of["needle_length"] or ("" if tokens is None else str(1 << max(0, int(tokens) - 1).bit_length()))
        where = of["point"], of["repeat"], row.phase, row.workload, length, number(of["needle_depth"])
        for reason in ("all", row.reason):
            cells.setdefault((*where, reason), []).append(row)
    lines = read(folder / "accuracy.csv")
    keys = ["point", "repeat", "phase", "workload", "length"]
    told = [(*(line[key] for key in keys), number(line["depth"]), line["finish_reason"]) for line in lines]
    assert len(set(told)) == len(told) and set(told) == set(cells), f"{folder}: accuracy.csv tells of {told}"
    for key, line in zip(told, lines):
        rows, what = cells[key], f"{folder}: accuracy.csv {key}"
        for verdict in ("right", "wrong", "no_answer"):
            assert int(line[verdict]) == sum(row.verdict == verdict for row in rows), f"{what}: {verdict}"
        assert int(line["truncated"]) == sum(row.reason == "length" for row in rows), f"{what}: truncated"
        right = [row.verdict == "right" for row in rows]
        for column, value in zip(("accuracy", "ci_low", "ci_high"), (sum(right) / len(right), *interval_of_share(right))):
            assert close(line[column], value), f"{what}: {column} {line[column]} is not {value}"
    return len(lines)


def kind_of(cells):
    """What a column holds, by its cells that are not empty; None if all are."""
    cells = [cell for cell in cells if cell != ""]
    if not cells:
        return None
    if all(cell in ("true", "false") for cell in cells):
        return "bool"
    if all(re.fullmatch(r"-?\d{1,18}", cell) for cell in cells):
        return "int"
    return "number" if all(re.fullmatch(r"-?\d+(\.\d+)?", cell) for cell in cells) else "text"


def check_tables(folder):
    """Opens every table with each tool there is: as many rows, empty cells empty, and what is a number a number."""
    tools = {"pandas": by_pandas, "duckdb": by_duckdb, "libreoffice": by_libreoffice}
    tools = {name: tool for name, tool in tools.items() if has(name)}
    for path in sorted(folder.glob("*.csv")):
        rows = read(path)
        with open(path, newline="", encoding="utf-8") as file:
            header = next(csv.reader(file))
        assert all(header) and len(set(header)) == len(header), f"{path}: {header}"
        columns = {column: [row[column] for row in rows] for column in header}
        kinds = {column: kind_of(cells) for column, cells in columns.items()}
        for column, kind in TABLES.get(path.name, {}).items():
            also = {kind, None, *({"int"} if kind == "number" else {"int", "number"} if kind == "text" else set())}
            assert kinds[column] in also, f"{path}: {column} holds {kinds[column]}, not {kind}"
        for name, tool in tools.items():
            tool(path, rows, columns, kinds)
    return list(tools)


def has(tool):
    if tool == "libreoffice":
        return shutil.which("soffice") is not None
    return importlib.util.find_spec(tool) is not None


def by_pandas(path, rows, columns, kinds):
    import pandas

    table = pandas.read_csv(path)
    assert len(table) == len(rows), f"{path}: pandas reads {len(table)} rows of {len(rows)}"
    assert list(table.columns) == list(columns), f"{path}: pandas reads {list(table.columns)}"
    types = pandas.api.types
    for column, cells in columns.items():
        series, kind, empty = table[column], kinds[column], cells.count("")
        assert series.isna().sum() == empty, f"{path}: {column} has {series.isna().sum()} empty cells to pandas, not {empty}"
        # A column of whole numbers or truths with empty cells has another type there.
        right = {
            "bool": types.is_bool_dtype(series.dropna().infer_objects()) if kind == "bool" else True,
            "int": types.is_integer_dtype(series) if empty == 0 else types.is_float_dtype(series),
            "number": types.is_float_dtype(series),
        }.get(kind, True)
        assert right, f"{path}: {column} of {kind} is {series.dtype} to pandas"
        if kind in ("int", "number"):
            total = math.fsum(float(cell) for cell in cells if cell)
            assert math.isclose(series.sum(), total, rel_tol=1e-9, abs_tol=1e-6), f"{path}: {column}"


def by_duckdb(path, rows, columns, kinds):
    import duckdb

    relation = duckdb.sql(f"SELECT * FROM read_csv('{path}', header=true, sample_size=-1)")
    assert len(relation) == len(rows), f"{path}: duckdb reads {len(relation)} rows of {len(rows)}"
    types = dict(zip(relation.columns, map(str, relation.types)))
    assert list(types) == list(columns), f"{path}: duckdb reads {list(types)}"
    names = {"int": {"BIGINT"}, "number": {"BIGINT", "DOUBLE"}, "bool": {"BOOLEAN"}, "text": {"VARCHAR"}}
    for column, kind in kinds.items():
        assert kind is None or types[column] in names[kind], f"{path}: {column} of {kind} is {types[column]} to duckdb"
    counts = relation.aggregate(", ".join(f'count("{column}")' for column in columns)).fetchall()[0]
    for (column, cells), count in zip(columns.items(), counts):
        filled = len(cells) - cells.count("")
        assert count == filled, f"{path}: {column} has {count} filled cells to duckdb, not {filled}"


def by_libreoffice(path, rows, columns, kinds):
    """Through a flat document, which tells the type of each cell. A sheet has at most 1,048,576 rows."""
    with tempfile.TemporaryDirectory() as scratch:
        # A profile of its own: without it a second instance at the same time would refuse.
        profile = f"-env:UserInstallation=file://{scratch}/profile"
        command = ["soffice", profile, "--headless", "--convert-to", "fods", "--outdir", scratch, str(path)]
        subprocess.run(command, check=True, capture_output=True, timeout=300)
        sheet = ElementTree.parse(f"{scratch}/{path.stem}.fods").find(f".//{TABLE}table")
    opened = []
    for row in sheet.iter(f"{TABLE}table-row"):
        cells = []
        for cell in row.findall(f"{TABLE}table-cell"):
            repeats = int(cell.get(f"{TABLE}number-columns-repeated", 1))
            cells += [(cell.get(f"{OFFICE}value-type"), cell.get(f"{OFFICE}value"))] * min(repeats, len(columns))
        filled = any(kind is not None for kind, _ in cells)
        repeats = int(row.get(f"{TABLE}number-rows-repeated", 1)) if filled else 1
        opened += [cells + [(None, None)] * (len(columns) - len(cells))] * repeats
    while opened and all(kind is None for kind, _ in opened[-1]):
        opened.pop()
    assert len(opened) == len(rows) + 1, f"{path}: LibreOffice reads {len(opened) - 1} rows of {len(rows)}"
    for at, (column, cells) in enumerate(columns.items()):
        for line, cell in enumerate(cells):
            kind, value = opened[line + 1][at]
            where = f"{path}: {column} of row {line + 1}"
            assert (kind is None) == (cell == ""), f"{where}: {cell!r} is {kind} to LibreOffice"
            if cell and kinds[column] in ("int", "number"):
                assert kind == "float" and math.isclose(float(value), float(cell), rel_tol=1e-12), f"{where}: {value}"


def main():
    for name in sys.argv[1:]:
        folder = Path(name)
        tools = check_tables(folder)
        checked = check_figures(folder) + check_accuracy(folder)
        print(f"{folder}: {checked} figures are right; opened with {', '.join(['csv', *tools])}")


if __name__ == "__main__":
    main()
