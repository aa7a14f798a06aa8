#!/usr/bin/env python3
"""Holds the rows of a run against what the server counted. usage: check.py RESULTS BEFORE AFTER

RESULTS is the folder of the run; BEFORE and AFTER are the server's metrics as it served them.
"""
import csv
import sys


def counters(path):
    with open(path) as page:
        samples = (line.split() for line in page if line.startswith("llamacpp:"))
        return {sample[0]: float(sample[1]) for sample in samples}


def main(results, before, after):
    with open(f"{results}/requests.csv", newline="") as table:
        rows = list(csv.DictReader(table))
    before, after = counters(before), counters(after)

    def served(*names):
        return sum(after[f"llamacpp:{name}"] - before.get(f"llamacpp:{name}", 0) for name in names)

    def told(column):
        return sum(int(row[column]) for row in rows)

    assert rows, "the run has no rows"
    bad = [(row["request"], row["outcome"], row["error"]) for row in rows if row["outcome"] != "ok"]
    assert not bad, f"{len(bad)} of {len(rows)} rows are not ok: {bad[:5]}"
    wrong = [row["output_tokens"] for row in rows if row["output_tokens"] != "24"]
    assert not wrong, f"answers of other lengths than asked for: {wrong[:5]}"
    assert {row["finish_reason"] for row in rows} == {"length"}
    assert {row["token_source"] for row in rows} == {"server"}
    assert told("output_tokens") == served("tokens_predicted_total"), "output tokens"
    prompts = served("prompt_tokens_total", "prompt_tokens_cached_total")
    assert told("prompt_tokens") == prompts, f"prompt tokens: {told('prompt_tokens')} and {prompts}"
    assert {row["stamp"] for row in rows} == {"kernel"}
    streamed = [row for row in rows if row["workload"] == "streamed"]
    assert streamed and len(streamed) < len(rows)
    for row in streamed:
        ttft, e2e = float(row["ttft_ms"]), float(row["e2e_ms"])
        assert 0 < ttft <= e2e, f"request {row['request']}: {ttft} {e2e}"
    again = sum(int(row["reconnects"]) for row in rows)
    print(f"{len(rows)} rows ok, {told('output_tokens')} tokens as the server counts them, {again} reconnects")


main(*sys.argv[1:])
