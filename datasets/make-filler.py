#!/usr/bin/env python3
"""Writes filler.txt: plain sentences about a harbour town, in which needles are hidden.

    python3 datasets/make-filler.py > datasets/filler.txt

A sentence is drawn from a few shapes and short lists of words, and none occurs twice. No sentence holds a digit
or the word "secret", so that nothing in it can be taken for a needle. The random numbers are our own (splitmix64):
the same bytes under any Python 3.
"""

SEED = 20_240_612
SENTENCES = 3_000

WHO = """the builder|the harbour master|an old sailor|the cook|a young painter|the ferry captain|her neighbour
the doctor|a travelling merchant|the night guard|the teacher|a quiet farmer|the mayor
the driver|the clerk|a visiting artist|the choir master|the soldier|the singer|a retired judge"""
DID = """carried|repaired|painted|counted|forgot|borrowed|sold|measured|cleaned|hid|found|described|wrapped|weighed
moved|copied|opened|locked|drew|polished"""
WHAT = """a brass compass|the blue ladder|two boxes of apples|a folded map|the broken bell|a coil of rope
the kitchen table|an empty barrel|a letter without a stamp|the garden gate|a bag of potatoes|the heavy anchor
a winter coat|the old ledger|a wooden whistle|the market scales|a jar of honey|the old lamp|a pair of boots
the painted sign"""
WHERE = """behind the church|near the northern pier|in the upper market|near the canal|under the stone bridge
at the edge of the forest|across from the mill|on the steep stairs|by the customs house|in the rope yard
outside the tea room|along the sea wall|below the tower|in the narrow lane|at the ferry landing"""
WHEN = """before sunrise|after the rain had stopped|during the long winter|on a cold afternoon|late in the evening
while the tide was low|on the first day of spring|when the fog had lifted|shortly after breakfast|at noon
as the bells were ringing|once the shops had closed"""
WHY = """because nobody else had time|although the weather was poor|and everyone was pleased|without saying a word
as had been agreed|and went home on foot|which surprised the whole street|to keep an old promise
and thought no more about it|so that the children could see it|in exchange for a warm meal|and sang all the way"""


def options(text):
    return [option for line in text.splitlines() for option in line.split("|")]


class Draws:
    """splitmix64 (Steele, Lea, Flood, 2014)."""

    def __init__(self, seed):
        self.state = seed

    def pick(self, of):
        self.state = (self.state + 0x9E3779B97F4A7C15) % 2**64
        bits = self.state
        bits = (bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        bits = (bits ^ (bits >> 27)) * 0x94D049BB133111EB % 2**64
        bits ^= bits >> 31
        return of[bits * len(of) >> 64]


def sentence(draws):
    who, did, what = (draws.pick(options(list_)) for list_ in (WHO, DID, WHAT))
    where, when, why = (draws.pick(options(list_)) for list_ in (WHERE, WHEN, WHY))
    shape = draws.pick(["{who} {did} {what} {where} {when}", "{when}, {who} {did} {what} {where}",
                        "{who} {did} {what} {when}, {why}", "{where}, {who} {did} {what}, {why}"])
    text = shape.format(**locals())
    return text[0].upper() + text[1:] + "."


def main():
    draws, seen = Draws(SEED), set()
    while len(seen) < SENTENCES:
        text = sentence(draws)
        if text not in seen:
            seen.add(text)
            print(text)


main()
