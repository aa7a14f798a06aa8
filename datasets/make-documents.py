#!/usr/bin/env python3
"""Writes documents.jsonl: long texts with questions about each, in the form `{"document", "turns"}`.

    python3 datasets/make-documents.py > datasets/documents.jsonl

A document is a part of filler.txt with a short register among its sentences: who keeps which stall, on which day.
Each question asks for one line of it and carries the answer. Every document has its own sentences, so that no two
begin alike.
"""

import json
from pathlib import Path

DOCUMENTS = 8
SENTENCES = 120
NAMES = "Anselm Beatriz Cedric Dilnoza Emeka Farah Gustav Hanneke Idris Jiwon Katya Lars".split()
GOODS = "apples rope lanterns honey maps oars coats scales bells ledgers whistles anchors".split()
DAYS = "Monday Tuesday Wednesday Thursday Friday Saturday".split()


def main():
    filler = (Path(__file__).parent / "filler.txt").read_text().splitlines()
    for number in range(DOCUMENTS):
        text = filler[number * SENTENCES:(number + 1) * SENTENCES]
        turns = []
        for place, name in enumerate(NAMES):
            goods, day = GOODS[(place + number) % len(GOODS)], DAYS[(place * 5 + number) % len(DAYS)]
            text.insert(9 * (place + 1), f"In that year {name} sold {goods} on every {day}.")
            turns.append({"user": f"On which day did {name} sell {goods}? Answer with the day alone.",
                          "assistant": day})
        print(json.dumps({"document": " ".join(text), "turns": turns}))


main()
