#!/usr/bin/env python3
"""Holds the prompts of a run against the lengths planned for them. usage: check_lengths.py RESULTS"""
import csv
import sys


def main(results):
    with open(f"{results}/requests.csv", newline="") as table:
        rows = list(csv.DictReader(table))
    assert len(rows) == 60, f"{len(rows)} rows"
    bad = [(row["request"], row["outcome"], row["error"]) for row in rows if row["outcome"] != "ok"]
    assert not bad, f"{len(bad)} rows are not ok: {bad[:5]}"
    lengths = [(row["workload"], row["prompt_tokens_planned"], row["prompt_tokens"]) for row in rows]
    off = [length for length in lengths if length[1] != length[2] or not length[1]]
    assert not off, f"{len(off)} prompts are not as long as planned: {off[:5]}"
    print(f"{len(rows)} prompts of {min(int(l[2]) for l in lengths)} to {max(int(l[2]) for l in lengths)} tokens, each as planned")


main(*sys.argv[1:])
