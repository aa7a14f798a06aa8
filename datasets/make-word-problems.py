#!/usr/bin/env python3
"""Writes word-problems.jsonl: arithmetic stories with worked answers, in the form of GSM8K.

    python3 datasets/make-word-problems.py > datasets/word-problems.jsonl

Each function below `STORIES` is one shape of story: it draws its numbers, lists the steps and tells the
question. A row whose numbers do not come out whole is drawn again. The random numbers are our own (splitmix64),
so the rows are the same bytes under any Python 3.
"""

import json
import re
import sys
from fractions import Fraction

SEED = 20_240_611
ROWS_PER_STORY = 10

SHE = """Amina Beatriz Chiara Dilnoza Edda Farah Greta Hanneke Ines Jiwon Katya Leilani Maren Noor Odile Priya
Quinn Rosalind Sunniva Tamsin Ulla Vesna Wren Ximena Yara Zofia""".split()
HE = """Anselm Bogdan Cedric Dmitri Emeka Fergus Gustav Haruto Idris Joaquin Kwame Lars Mateo Nikhil Osman Pavel
Rafferty Stellan Tobias Uriel Viktor Wendell Xander Yusuf Zoltan""".split()


class Uneven(Exception):
    """The numbers drawn make no good story; the row is drawn again."""


def insist(condition):
    if not condition:
        raise Uneven


class Person:
    def __init__(self, name, she):
        self.name = name
        self.they, self.them, self.their = ("she", "her", "her") if she else ("he", "him", "his")
        self.They = self.they.capitalize()

    def __str__(self):
        return self.name


class Draw:
    """The random choices of one row."""

    def __init__(self, seed):
        self.state = seed
        self.used = set()

    def next(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) % 2**64
        z = self.state
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % 2**64
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % 2**64
        return z ^ (z >> 31)

    def int(self, low, high, step=1):
        """A whole number from low to high, both included, in steps."""
        return low + step * (self.next() % ((high - low) // step + 1))

    def pick(self, *choices):
        return choices[self.next() % len(choices)]

    def person(self):
        """Somebody who is not in this row yet."""
        while True:
            she = self.pick(True, False)
            name = self.pick(*(SHE if she else HE))
            if name not in self.used:
                self.used.add(name)
                return Person(name, she)


class Steps:
    """The worked answer, a step a call. `@` in a text is where the calculation stands."""

    def __init__(self, draw):
        self.shown = draw.pick("6*7 = ", "6 * 7 = ", "")
        self.commas = draw.pick(True, True, False)
        self.lines = []
        self.last = None

    def __call__(self, text, expression):
        value = eval(re.sub(r"\d+", r"Fraction(\g<0>)", expression), {"Fraction": Fraction})
        insist(value.denominator == 1)
        self.last = int(value)
        before, after = text.split("@")
        money = "$" if before.endswith("$") else ""
        written = f"{money}<<{expression}={self.last}>>{self.number(self.last)}"
        if self.shown == "6*7 = ":
            written = f"{expression} = {written}"
        elif self.shown == "6 * 7 = ":
            written = re.sub(r"(?<=[\d)])([-+*/])", r" \1 ", expression) + f" = {written}"
        self.lines.append(before.removesuffix("$") + written + after)
        return self.last

    def number(self, value):
        return f"{value:,}" if self.commas else str(value)


# A story takes its draws and its steps, and returns the question. The last step is the answer.
STORIES = []


def story(function):
    STORIES.append(function)
    return function


@story
def orchard(d, s):
    p, fruit = d.person(), d.pick("apples", "pears", "plums", "apricots")
    crew, crates, per, bruised, shops = d.int(4, 9), d.int(3, 8), d.int(8, 24, 2), d.int(10, 60), d.int(3, 9)
    filled = s("Together they fill @ crates.", f"{crew}*{crates}")
    picked = s(f"That is @ {fruit}.", f"{filled}*{per}")
    good = s(f"Without the bruised ones there are @ {fruit}.", f"{picked}-{bruised}")
    s(f"Each shop gets @ {fruit}.", f"{good}/{shops}")
    insist(s.last > 8)
    return (f"At {p}'s orchard a crew of {crew} pickers spends the morning among the trees, and every picker "
            f"fills {crates} crates with {per} {fruit} each. {bruised} of the {fruit} turn out to be bruised "
            f"and go to the cider press. The rest are shared equally by {shops} shops. How many {fruit} does "
            f"each shop get?")


@story
def ferry(d, s):
    seats, trips, empty, fare = d.int(40, 120, 5), d.int(4, 12), d.int(15, 90), d.int(3, 14)
    total = s("The boat offers @ seats over the day.", f"{seats}*{trips}")
    sold = s("Of these @ are sold.", f"{total}-{empty}")
    s("The fares bring in $@.", f"{sold}*{fare}")
    island = d.pick("Heron Island", "the old lighthouse", "the far shore", "Gull Point")
    return (f"A small ferry to {island} has {seats} seats and makes {trips} crossings a day. On Saturday "
            f"{empty} seats stay empty, counted over all crossings. A ticket costs ${fare}. How many dollars "
            f"does the ferry take in on Saturday?")


@story
def pond(d, s):
    p, fill, leak, hours = d.person(), d.int(40, 95, 5), d.int(5, 30, 5), d.int(3, 9)
    start = d.int(50, 400, 10)
    net = s("Each hour the pond gains @ liters.", f"{fill}-{leak}")
    gained = s(f"In {hours} hours that makes @ liters.", f"{net}*{hours}")
    s("The pond then holds @ liters.", f"{start}+{gained}")
    return (f"{p} is filling a garden pond that already holds {start} liters. The hose brings {fill} liters "
            f"an hour, but a crack in the liner lets {leak} liters an hour seep away. How many liters are in "
            f"the pond after {hours} hours?")


@story
def two_legs(d, s):
    p, first, second = d.person(), d.int(40, 70, 5), d.int(75, 110, 5)
    t1, t2, left = d.int(2, 5), d.int(2, 4), d.int(30, 240, 10)
    a = s("On country roads @ kilometers pass.", f"{first}*{t1}")
    b = s("On the highway it is @ kilometers.", f"{second}*{t2}")
    done = s(f"So far {p} has driven @ kilometers.", f"{a}+{b}")
    s("What remains is @ kilometers.", f"{done + left}-{done}")
    return (f"The drive from {p}'s apartment to the coast is {s.number(done + left)} kilometers long. "
            f"{p.They} drives {t1} hours on country roads at {first} kilometers per hour and then {t2} hours "
            f"on the highway at {second} kilometers per hour before stopping for lunch. How many kilometers "
            f"remain?")


@story
def winter_sale(d, s):
    p, scarves, scarf = d.person(), d.int(2, 5), d.int(8, 24)
    off, coat = d.pick((10, 90), (20, 80), (25, 120), (30, 150), (40, 110), (15, 140))
    coat += d.int(0, 4) * 20
    cut = s("The coat is cheaper by $@.", f"{coat}*{off}/100")
    now = s("It now costs $@.", f"{coat}-{cut}")
    all_scarves = s("The scarves cost $@.", f"{scarves}*{scarf}")
    s(f"Altogether {p} pays $@.", f"{now}+{all_scarves}")
    return (f"In the winter sale a coat that used to cost ${coat} is marked down by {off}%. {p} buys the coat "
            f"and {scarves} scarves at ${scarf} each; scarves are not part of the sale. How much does {p} "
            f"pay, in dollars?")


@story
def saving_up(d, s):
    p, weeks, a, b = d.person(), d.int(6, 20), d.int(9, 25), d.int(4, 12)
    have = d.int(30, 150, 5)
    thing = d.pick("a used kayak", "a telescope", "a cello", "a sewing machine", "a drone", "a pottery wheel")
    price = have + weeks * (a + b)
    missing = s(f"{p} still needs $@.", f"{price}-{have}")
    weekly = s("Every week $@ is put aside.", f"{a}+{b}")
    s("It takes @ weeks.", f"{missing}/{weekly}")
    return (f"{p} dreams of {thing} that costs ${s.number(price)} and has ${have} already. Walking the "
            f"neighbors' dogs brings {p.them} ${a} a week, and {p.their} grandmother adds ${b} a week. If "
            f"{p.they} saves every cent, how many weeks will it take until {p.they} can buy it?")


@story
def batches(d, s):
    p, per, cups, pieces, have = d.person(), d.int(8, 16, 4), d.int(2, 5), d.int(24, 160, 4), d.int(2, 9)
    bakes = d.pick("cinnamon buns", "corn muffins", "oat scones", "poppy seed rolls")
    count = s("That takes @ batches.", f"{pieces}/{per}")
    need = s("They need @ cups of flour.", f"{count}*{cups}")
    s(f"{p} has to find @ more cups.", f"{need}-{have}")
    insist(count > 1 and s.last > 1)
    return (f"One batch of {p}'s {bakes} takes {cups} cups of flour and makes {per} pieces. {p.They} has "
            f"promised {pieces} pieces for the school fair and finds only {have} cups of flour in the "
            f"cupboard. How many more cups of flour does {p.they} need?")


@story
def ages(d, s):
    a, b, c = d.person(), d.person(), d.person()
    young, gap, later = d.int(4, 11), d.int(3, 9), d.int(2, 12)
    word, times = d.pick(("twice", 2), ("three times", 3), ("four times", 4))
    old = s(f"{b} is @ years old.", f"{young}*{times}")
    mid = s(f"{c} is @ years old.", f"{old}-{gap}")
    insist(mid > 1)
    total = s("Today the three are @ years old together.", f"{young}+{old}+{mid}")
    grown = s(f"In {later} years all three together have gained @ years.", f"3*{later}")
    s("The sum is then @.", f"{total}+{grown}")
    return (f"{a} is {young} years old. {b} is {word} as old as {a}, and {c} is {gap} years younger than {b}. "
            f"What will be the sum of their three ages in {later} years?")


@story
def novel(d, s):
    p, pace, days, more = d.person(), d.int(12, 35), d.int(3, 6), d.int(2, 5)
    a = s(f"In the first {days} days {p} reads @ pages.", f"{pace}*{days}")
    fast = s("On vacation the pace is @ pages a day.", f"{pace}*2")
    b = s(f"Over {more} days of vacation that makes @ pages.", f"{fast}*{more}")
    done = s("Altogether @ pages are read.", f"{a}+{b}")
    total = done + d.int(20, 180)
    s("There are @ pages to go.", f"{total}-{done}")
    return (f"{p} has borrowed a novel of {total} pages. For {days} days {p.they} reads {pace} pages a day. "
            f"Then vacation begins, and for {more} days {p.they} reads twice as many pages a day. How many "
            f"pages are left to read?")


@story
def hens(d, s):
    p, hens, grams, sacks, kilos = d.person(), d.int(8, 30), d.int(100, 150, 5), d.int(2, 5), d.pick(15, 20, 25, 30, 40)
    daily = s("The flock eats @ grams a day.", f"{hens}*{grams}")
    total = s("There are @ kilograms of feed in the barn.", f"{sacks}*{kilos}")
    feed = s("That is @ grams.", f"{total}*1000")
    s("The feed lasts for @ days.", f"{feed}/{daily}")
    return (f"{p} keeps {hens} hens, and each of them eats {grams} grams of feed a day. In the barn stand "
            f"{sacks} sacks with {kilos} kilograms of feed each. For how many days will the feed last?")


@story
def seedlings(d, s):
    p, beds, rows, whole = d.person(), d.int(2, 6), d.int(3, 8), d.pick(3, 4, 5)
    per, part = whole * d.int(2, 6), d.int(1, whole - 1)
    veg = d.pick("leek", "kale", "beetroot", "fennel", "chard")
    one = s("One bed gets @ seeds.", f"{rows}*{per}")
    sown = s("All beds together get @ seeds.", f"{one}*{beds}")
    up = s("Of these @ come up.", f"{sown}*{part}/{whole}")
    s("That leaves @ seeds that never sprouted.", f"{sown}-{up}")
    return (f"In spring {p} sows {veg} in {beds} beds. Every bed has {rows} rows with {per} seeds in each "
            f"row. Three weeks later, {part}/{whole} of all seeds have come up. How many seeds have not?")


@story
def village_play(d, s):
    adults, kids, a, c = d.int(60, 180), d.int(25, 90), d.int(9, 18), d.int(4, 8)
    costs = d.int(150, 480, 10)
    x = s("The adults pay $@.", f"{adults}*{a}")
    y = s("The children pay $@.", f"{kids}*{c}")
    z = s("The box office takes $@.", f"{x}+{y}")
    s("The profit is $@.", f"{z}-{costs}")
    return (f"The village theater club sells {adults} adult tickets at ${a} and {kids} children's tickets at "
            f"${c} for its summer play. Costumes and lights cost ${costs}. How much profit, in dollars, does "
            f"the club make?")


@story
def copy_shop(d, s):
    p, fast, slow, mins = d.person(), d.int(30, 60, 2), d.int(14, 28, 2), d.int(5, 15)
    pause = d.int(2, mins - 2)
    a = s("The new machine prints @ pages.", f"{fast}*{mins}")
    running = s("The old one runs for only @ minutes.", f"{mins}-{pause}")
    b = s("It prints @ pages.", f"{slow}*{running}")
    s("In all there are @ pages.", f"{a}+{b}")
    return (f"Two printers in {p}'s copy shop are started at the same moment. The new one prints {fast} pages "
            f"a minute, the old one {slow}. The old one jams and stands still for {pause} minutes. How many "
            f"pages have come out of the two printers {mins} minutes after the start?")


@story
def fence_paint(d, s):
    p, cover, length, price = d.person(), d.int(6, 14), d.int(12, 60, 2), d.int(11, 32)
    area = s("One side of the fence measures @ square meters.", f"{length}*2")
    both = s("Two coats cover @ square meters.", f"{area}*2")
    cans = s("That takes @ cans.", f"{both}/{cover}")
    s("The paint costs $@.", f"{cans}*{price}")
    return (f"{p} wants to give one side of a garden fence two coats of paint. The fence is {length} meters "
            f"long and 2 meters high. A can of paint is enough for {cover} square meters and costs ${price}. "
            f"How many dollars does the paint cost?")


@story
def phone_bill(d, s):
    p, base, free, used, rate, months = d.person(), d.int(15, 40), d.int(5, 12), d.int(14, 25), d.int(2, 6), d.int(2, 6)
    over = s(f"{p} goes over the limit by @ gigabytes.", f"{used}-{free}")
    extra = s("That adds $@.", f"{over}*{rate}")
    bill = s("One bill comes to $@.", f"{base}+{extra}")
    s(f"For {months} months that is $@.", f"{bill}*{months}")
    return (f"{p}'s phone plan costs ${base} a month and includes {free} gigabytes of data. Every gigabyte "
            f"beyond that costs ${rate}. {p} uses {used} gigabytes each month. How much does {p.they} pay "
            f"over {months} months, in dollars?")


@story
def charity_walk(d, s):
    p, people, pledge, km = d.person(), d.int(6, 25), d.int(2, 5), d.int(8, 24)
    boss, share = d.pick(("half", 2), ("a quarter", 4))
    one = s("Each sponsor gives $@.", f"{pledge}*{km}")
    total = s("All sponsors give $@.", f"{one}*{people}")
    gift = s(f"The company adds $@.", f"{total}/{share}")
    s("The shelter receives $@.", f"{total}+{gift}")
    return (f"{p} walks {km} kilometers for the animal shelter. {people} sponsors have promised ${pledge} for "
            f"every kilometer, and the company {p.they} works for adds {boss} of what the sponsors give. How "
            f"many dollars does the shelter receive?")


@story
def cold_night(d, s):
    town, noon, drop, hours, rise = d.pick("Aldermoor", "Kestrel Bay", "Upper Sorrel", "Tarn"), d.int(2, 8), \
        d.int(2, 4), d.int(5, 9), d.int(2, 5)
    fall = s("By midnight the temperature has dropped by @ degrees.", f"{drop}*{hours}")
    night = s("At midnight the thermometer shows @ degrees.", f"{noon}-{fall}")
    s("By morning it shows @ degrees.", f"{night}+{rise}")
    return (f"One winter afternoon it is {noon} degrees Celsius in {town}. Then the temperature falls by "
            f"{drop} degrees an hour for {hours} hours, until midnight. By morning it has risen again by "
            f"{rise} degrees. What does the thermometer show in the morning, in degrees Celsius?")


@story
def pub_quiz(d, s):
    p, right, wrong = d.person(), d.int(4, 12), d.int(4, 12)
    plus, minus = d.int(2, 4), d.int(2, 5)
    a = s("The right answers bring @ points.", f"{right}*{plus}")
    b = s("The wrong ones cost @ points.", f"{wrong}*{minus}")
    s("The final score is @ points.", f"{a}-{b}")
    return (f"In the quiz at the {d.pick('Blue Otter', 'Copper Kettle', 'Lame Duck')}, a right answer is "
            f"worth {plus} points and a wrong one costs {minus} points; a question left out changes nothing. "
            f"{p}'s table gives {right} right and {wrong} wrong answers and leaves out the rest. With what "
            f"score does the table finish?")


@story
def submarine(d, s):
    cliff, first, up, rate, mins = d.int(20, 60, 5), d.int(30, 90, 10), d.int(5, 25, 5), d.int(3, 8), d.int(4, 9)
    a = s("After the first dive the robot is at @ meters.", f"0-{first}")
    b = s("After rising it is at @ meters.", f"{a}+{up}")
    c = s("The second dive takes it down by another @ meters.", f"{rate}*{mins}")
    s("It ends at @ meters.", f"{b}-{c}")
    return (f"A diving robot starts at the surface, at height 0, below a cliff that is {cliff} meters tall. "
            f"It dives {first} meters, rises {up} meters to look at a wreck, and then dives again at {rate} "
            f"meters a minute for {mins} minutes. At what height is it now, in meters, if heights below the "
            f"surface are negative?")


@story
def golf(d, s):
    p, birdies, bogeys, eagles = d.person(), d.int(3, 9), d.int(2, 6), d.int(2, 3)
    a = s("The eagles count @ strokes.", f"{eagles}*(0-2)")
    b = s("Eagles and birdies together count @ strokes.", f"{a}-{birdies}")
    s("With the bogeys the result is @ strokes.", f"{b}+{bogeys}")
    return (f"Over a weekend of golf {p} makes {eagles} eagles (2 strokes under par each), {birdies} birdies "
            f"(1 stroke under par each) and {bogeys} bogeys (1 stroke over par each), and plays par on every "
            f"other hole. What is {p.their} result relative to par, with a minus sign if it is under par?")


@story
def market_stall(d, s):
    p, jars, price, rent, stock = d.person(), d.int(15, 40), d.int(4, 9), d.int(60, 140, 5), d.int(40, 160, 5)
    food = d.pick("quince jam", "plum chutney", "lemon curd", "pickled beans")
    income = s(f"The {food} brings in $@.", f"{jars}*{price}")
    costs = s("The costs are $@.", f"{rent}+{stock}")
    s("The day's result is $@.", f"{income}-{costs}")
    return (f"{p} sells {food} at the market for ${price} a jar. The stall costs ${rent} for the day, and "
            f"jars, fruit and sugar cost ${stock}. Today {p.they} sells {jars} jars. What is the day's result "
            f"in dollars, counting a loss as a negative number?")


@story
def night_bus(d, s):
    start, off, on, more = d.int(18, 40), d.int(5, 15), d.int(4, 18), d.int(2, 9)
    share, part = d.pick(("half", 2), ("a third", 3), ("a quarter", 4))
    a = s("After the first stop @ people are on board.", f"{start}-{off}+{on}")
    leave = s("At the hospital @ of them get off.", f"{a}/{part}")
    b = s("That leaves @ people.", f"{a}-{leave}")
    s("After the harbor there are @ people.", f"{b}+{more}")
    return (f"The night bus leaves the station with {start} passengers. At the first stop {off} get off and "
            f"{on} get on. At the hospital {share} of those on board get off and nobody gets on. At the "
            f"harbor {more} more get on. How many passengers are on the bus now?")


@story
def necklaces(d, s):
    p, glass, wood, n, bags = d.person(), d.int(12, 30), d.int(6, 14), d.int(5, 15), d.int(3, 8)
    one = s("One necklace takes @ beads.", f"{glass}+{wood}")
    need = s(f"{n} necklaces take @ beads.", f"{one}*{n}")
    per = need // bags + d.int(3, 20)
    have = s("In the bags there are @ beads.", f"{bags}*{per}")
    s("There are @ beads left.", f"{have}-{need}")
    return (f"{p} threads necklaces, each from {glass} glass beads and {wood} wooden beads. {p.They} opens "
            f"{bags} bags with {per} mixed beads each, which happen to hold enough of both kinds, and makes "
            f"{n} necklaces. How many beads are left over?")


@story
def sheep_fence(d, s):
    p, gap, a, b, price = d.person(), d.pick(2, 3, 4, 5), d.int(6, 15), d.int(16, 30), d.int(4, 12)
    w, l = gap * a, gap * b
    round_ = s("The fence is @ meters long.", f"2*({w}+{l})")
    posts = s("It needs @ posts.", f"{round_}/{gap}")
    s("The posts cost $@.", f"{posts}*{price}")
    return (f"{p} fences in a rectangular meadow that is {w} meters wide and {l} meters long, with a post "
            f"every {gap} meters all the way round. A post costs ${price}. How many dollars do the posts cost?")


@story
def water_bill(d, s):
    showers, liters, wash, per, days = d.int(2, 5), d.int(40, 70, 5), d.int(2, 4), d.int(45, 65, 5), d.pick(7, 14, 28)
    weeks = days // 7
    a = s("The showers use @ liters a day.", f"{showers}*{liters}")
    b = s(f"Over {days} days that makes @ liters.", f"{a}*{days}")
    c = s("The washing machine uses @ liters a week.", f"{wash}*{per}")
    e = s(f"Over {weeks} weeks that makes @ liters.", f"{c}*{weeks}") if weeks > 1 else c
    s("Together it is @ liters.", f"{b}+{e}")
    p = d.person()
    return (f"In {p}'s household {showers} people take one shower a day, at {liters} liters each. The washing "
            f"machine runs {wash} times a week and uses {per} liters each time. How many liters do showers "
            f"and washing machine use together in {days} days?")


@story
def light_bulbs(d, s):
    box, pct = d.pick(20, 25, 50), d.pick(2, 4, 5, 10)
    machines, rate, hours = d.int(2, 6), d.int(50, 600, 25), d.int(4, 8)
    one = s("One machine makes @ bulbs in a shift.", f"{rate}*{hours}")
    made = s("All machines together make @ bulbs.", f"{one}*{machines}")
    bad = s("Of these @ fail the test.", f"{made}*{pct}/100")
    good = s("That leaves @ good bulbs.", f"{made}-{bad}")
    s("They fill @ boxes.", f"{good}/{box}")
    return (f"A factory has {machines} machines, and each makes {rate} light bulbs an hour. A shift lasts "
            f"{hours} hours. {pct}% of the bulbs fail the final test and are thrown away. The good ones are "
            f"packed in boxes of {box}. How many boxes does one shift fill?")


@story
def overtime(d, s):
    p, wage, regular, extra, tax = d.person(), d.int(14, 30, 2), d.int(30, 40), d.int(3, 10), d.int(50, 150, 10)
    job = d.pick("a bicycle workshop", "a plant nursery", "a bookbindery", "a boatyard")
    a = s("The regular hours bring $@.", f"{wage}*{regular}")
    high = s("An hour of overtime pays $@.", f"{wage}*3/2")
    b = s("The overtime brings $@.", f"{high}*{extra}")
    gross = s("Before deductions that is $@.", f"{a}+{b}")
    s(f"After deductions {p} takes home $@.", f"{gross}-{tax}")
    return (f"{p} earns ${wage} an hour at {job} and one and a half times as much for overtime. Last week "
            f"{p.they} worked {regular} regular hours and {extra} hours of overtime, and ${tax} was deducted "
            f"from the pay. How many dollars did {p.they} take home?")


@story
def rental_van(d, s):
    p, day, days, free, over, cents = d.person(), d.int(35, 80, 5), d.int(2, 6), d.int(100, 250, 50), d.int(2, 12), \
        d.pick(20, 25, 30, 40, 50)
    miles = free * days + over * 100
    included = s("The included distance is @ miles.", f"{free}*{days}")
    extra = s(f"{p} drives @ miles more than that.", f"{miles}-{included}")
    a = s("The extra miles cost $@.", f"{extra}*{cents}/100")
    b = s("The days cost $@.", f"{day}*{days}")
    s("Together that is $@.", f"{a}+{b}")
    return (f"A moving van can be rented for ${day} a day, with {free} miles a day included. Each mile beyond "
            f"that costs {cents} cents. {p} keeps the van for {days} days and drives {s.number(miles)} miles. "
            f"How many dollars does {p.they} owe?")


@story
def training(d, s):
    p, first, more = d.person(), d.int(8, 25), d.int(2, 5)
    race = d.pick("half marathon", "mountain run", "river run", "charity race")
    b = s("In the second week it is @ kilometers.", f"{first}+{more}")
    c = s("In the third week it is @ kilometers.", f"{b}+{more}")
    e = s("In the fourth week it is @ kilometers.", f"{c}+{more}")
    total = s("Together that makes @ kilometers.", f"{first}+{b}+{c}+{e}")
    rest = d.int(4, 15)
    s("With the last week the plan has @ kilometers.", f"{total}+{rest}")
    return (f"Training for a {race}, {p} runs {first} kilometers in the first week. For the next three weeks "
            f"{p.they} runs {more} kilometers more each week than in the week before. In the fifth and last "
            f"week {p.they} only runs {rest} kilometers. How many kilometers does {p.they} run in the five "
            f"weeks?")


@story
def solar_roof(d, s):
    p, panels, daily, days = d.person(), d.int(8, 20), d.int(2, 4), d.pick(10, 20, 30)
    use, cents = d.int(5, 14), d.pick(10, 20, 30)
    a = s("The roof yields @ kilowatt-hours a day.", f"{panels}*{daily}")
    b = s("Each day @ kilowatt-hours are left over.", f"{a}-{use}")
    c = s(f"In {days} days that makes @ kilowatt-hours.", f"{b}*{days}")
    s("They are worth $@.", f"{c}*{cents}/100")
    return (f"{p} has {panels} solar panels on the roof, and each yields {daily} kilowatt-hours on a sunny "
            f"day. The household needs {use} kilowatt-hours a day and sells the rest for {cents} cents per "
            f"kilowatt-hour. How many dollars come in over {days} sunny days?")


@story
def candles(d, s):
    p, tall, rate, hours, n = d.person(), d.int(24, 40), d.int(2, 3), d.int(3, 7), d.int(2, 6)
    burnt = s(f"In {hours} hours a candle gets shorter by @ centimeters.", f"{rate}*{hours}")
    left = s("Each candle then measures @ centimeters.", f"{tall}-{burnt}")
    s("Laid end to end they measure @ centimeters.", f"{left}*{n}")
    return (f"{p} lights {n} candles that are {tall} centimeters tall. They burn down by {rate} centimeters "
            f"an hour. After {hours} hours {p.they} blows all of them out and lays them end to end on the "
            f"table. How long is the line of candles, in centimeters?")


@story
def art_class(d, s):
    p, kids, each, packs, per, broken = d.person(), d.int(14, 28), d.int(3, 7), d.int(4, 9), d.int(12, 36, 2), d.int(2, 9)
    have = s("The packs hold @ crayons.", f"{packs}*{per}")
    used = s("The children get @ crayons.", f"{kids}*{each}")
    left = s("Into the drawer go @ crayons.", f"{have}-{used}")
    s("At the end of the week @ are there.", f"{left}-{broken}")
    insist(0 < s.last < 60)
    return (f"The art teacher, {p}, opens {packs} packs with {per} crayons each. Every one of the {kids} "
            f"children gets {each} crayons, and what remains goes into a drawer. By the end of the week "
            f"{broken} of the crayons in the drawer are broken and thrown away. How many crayons are in the "
            f"drawer then?")


@story
def tiles(d, s):
    p, side, a, b = d.person(), d.pick(20, 25, 50), d.int(8, 20), d.int(8, 20)
    width, length = side * a, side * b
    across = s("Across the room there is space for @ tiles.", f"{width}/{side}")
    along = s("Along the room there is space for @ tiles.", f"{length}/{side}")
    floor = s("The floor takes @ tiles.", f"{across}*{along}")
    spare = s("One tenth of that is @ tiles.", f"{floor}/10")
    s(f"{p} orders @ tiles.", f"{floor}+{spare}")
    return (f"{p} lays square tiles with sides of {side} centimeters on a kitchen floor of {s.number(width)} "
            f"by {s.number(length)} centimeters. In case some break, {p.they} orders one tenth more than the "
            f"floor takes. How many tiles does {p.they} order?")


@story
def honey(d, s):
    p, hives, kg, keep, jar = d.person(), d.int(4, 14), d.int(12, 28), d.int(3, 20), d.pick(250, 500)
    price = d.int(5, 11)
    a = s("The hives give @ kilograms.", f"{hives}*{kg}")
    b = s("For sale there are @ kilograms.", f"{a}-{keep}")
    n = s("They fill @ jars.", f"{b}*1000/{jar}")
    s("The jars sell for $@.", f"{n}*{price}")
    return (f"{p}'s {hives} beehives give {kg} kilograms of honey each this year. {p.They} keeps {keep} "
            f"kilograms for the family and fills the rest into jars of {jar} grams, which sell for ${price} "
            f"each. How many dollars do the jars bring if all are sold?")


@story
def museum(d, s):
    friday, extra = d.int(120, 420), d.int(30, 150)
    word, times = d.pick(("twice", 2), ("three times", 3))
    saturday = s("On Saturday @ people came.", f"{friday}*{times}")
    sunday = s("On Sunday @ people came.", f"{saturday}+{extra}")
    total = s("Over the three days it was @ people.", f"{friday}+{saturday}+{sunday}")
    s("The average is @ people a day.", f"{total}/3")
    theme = d.pick("clockwork toys", "whale bones", "early maps", "glass flowers", "railway posters")
    return (f"An exhibition of {theme} opened on Friday with {friday} visitors. On Saturday {word} as many "
            f"came, and on Sunday there were {extra} more visitors than on Saturday. How many visitors a day "
            f"was that on average?")


@story
def loan(d, s):
    p, monthly, years, down = d.person(), d.int(120, 260, 10), d.int(2, 5), d.int(500, 2000, 100)
    n = s("There are @ payments.", f"{years}*12")
    a = s("They add up to $@.", f"{monthly}*{n}")
    b = s("With the down payment that is $@.", f"{a}+{down}")
    price = b - d.int(200, 900, 10)
    s("Paying in installments costs $@ more.", f"{b}-{price}")
    return (f"A piano costs ${s.number(price)} if it is paid at once. {p} pays in installments instead: "
            f"${s.number(down)} at the start and then ${monthly} every month for {years} years. How many "
            f"dollars more than the price does {p.they} pay in the end?")


@story
def photo_card(d, s):
    p, photo, clips, clip, size = d.person(), d.pick(4, 5, 8), d.int(3, 9), d.int(150, 400, 50), d.pick(8000, 16000, 32000)
    keep = d.int(60, 260, 20)
    a = s("The clips take @ megabytes.", f"{clips}*{clip}")
    b = s("The photos take @ megabytes.", f"{keep}*{photo}")
    c = s("Together they take @ megabytes.", f"{a}+{b}")
    left = s("On the card @ megabytes are free.", f"{size}-{c}")
    s("There is room for @ more photos.", f"{left}/{photo}")
    return (f"The memory card in {p}'s camera holds {s.number(size)} megabytes. A photo takes {photo} "
            f"megabytes. After a trip there are {clips} video clips of {clip} megabytes each and {keep} "
            f"photos on the card. How many more photos fit on it?")


@story
def relay(d, s):
    a, b, c = d.person(), d.person(), d.person()
    x, faster, slower = d.int(55, 90), d.int(3, 9), d.int(2, 8)
    y = s(f"{b} takes @ seconds.", f"{x}-{faster}")
    z = s(f"{c} takes @ seconds.", f"{x}+{slower}")
    total = s("The team takes @ seconds.", f"{x}+{y}+{z}")
    record = total - d.int(2, 12)
    s("The team misses the record by @ seconds.", f"{total}-{record}")
    return (f"In a relay {a} runs the first leg in {x} seconds. {b} is {faster} seconds faster than {a}, and "
            f"{c} is {slower} seconds slower than {a}. The school record for the three legs is {record} "
            f"seconds. By how many seconds does the team miss the record?")


@story
def parcels(d, s):
    p, small, large, sw, lw, limit = d.person(), d.int(6, 20), d.int(3, 9), d.int(2, 5), d.int(8, 16), d.int(200, 500, 50)
    a = s("The small parcels weigh @ kilograms.", f"{small}*{sw}")
    b = s("The large parcels weigh @ kilograms.", f"{large}*{lw}")
    c = s("Together they weigh @ kilograms.", f"{a}+{b}")
    free = s("The bike can carry @ kilograms more.", f"{limit}-{c}")
    s("That is enough for @ bags of soil.", f"{free}/2")
    insist(s.last > 1)
    return (f"{p} delivers goods with an electric cargo bike that may carry {limit} kilograms. On it are "
            f"{small} small parcels of {sw} kilograms and {large} large parcels of {lw} kilograms. How many "
            f"bags of potting soil of 2 kilograms each can {p.they} add?")


@story
def chess(d, s):
    n, mins, boards = d.int(6, 12), d.int(20, 60, 5), d.pick(3, 5)
    insist(n >= 2 * boards)
    each = s("Everyone plays @ games.", f"{n}-1")
    games = s("Since every game has two players, there are @ games.", f"{n}*{each}/2")
    rounds = s(f"On {boards} boards that takes @ turns.", f"{games}/{boards}")
    s("The tournament lasts @ minutes.", f"{rounds}*{mins}")
    return (f"{n} members of a chess club play a tournament in which everyone meets everyone else exactly "
            f"once. There are {boards} boards, always all in use, and a game is given {mins} minutes. How "
            f"many minutes does the tournament last without any breaks?")


@story
def stamps(d, s):
    a, b = d.person(), d.person()
    part, k, more = d.pick(3, 4, 5, 6), d.int(15, 60), d.int(12, 70)
    total = part * k
    gift = s(f"{a} gives away @ stamps.", f"{total}/{part}")
    left = s(f"{a} keeps @ stamps.", f"{total}-{gift}")
    now = s(f"After the fair {a} has @ stamps.", f"{left}+{more}")
    own = d.int(20, 90)
    other = s(f"{b} has @ stamps.", f"{own}+{gift}")
    s(f"{a} has @ stamps more.", f"{now}-{other}")
    insist(s.last > 1)
    share = {3: "a third", 4: "a quarter", 5: "a fifth", 6: "a sixth"}[part]
    return (f"{a} owns {total} stamps and gives {share} of them to {b}, who had {own} stamps before. At a "
            f"fair {a} then buys {more} new ones. How many more stamps than {b} does {a} have now?")


@story
def raffle(d, s):
    p, tickets, price, prizes, each = d.person(), d.int(150, 480, 5), d.int(2, 6), d.int(4, 12), d.int(12, 45)
    club = d.pick("rowing club", "brass band", "fire brigade", "kindergarten", "choir")
    parts = d.pick(2, 3, 4)
    a = s("The tickets bring in $@.", f"{tickets}*{price}")
    b = s("The prizes cost $@.", f"{prizes}*{each}")
    c = s("That leaves $@.", f"{a}-{b}")
    s("Each project gets $@.", f"{c}/{parts}")
    return (f"The {club} holds a raffle. {p} counts {tickets} tickets sold at ${price} each, and {prizes} "
            f"prizes were bought for ${each} each. What is left is split evenly over {parts} projects. How "
            f"many dollars does each project get?")


@story
def espresso(d, s):
    p, grams, cups, days = d.person(), d.pick(8, 10, 16, 20), d.int(80, 200, 10), d.int(5, 30)
    bag, price = d.int(2000, 5000, 1000), d.int(36, 128, 4)
    daily = s("The café grinds @ grams a day.", f"{cups}*{grams}")
    total = s(f"In {days} days that is @ grams.", f"{daily}*{days}")
    bags = s("This empties @ bags.", f"{total}/{bag}")
    s("The beans cost $@.", f"{bags}*{price}")
    insist(bags > 1)
    return (f"{p}'s café serves {cups} cups of coffee a day, and each cup takes {grams} grams of beans. The "
            f"beans come in bags of {s.number(bag)} grams that cost ${price} each. How many dollars' worth of "
            f"beans does the café use in {days} days?")


@story
def shared_apartment(d, s):
    p, mates, rent, heat, net = d.person(), d.int(3, 5), d.int(900, 2400, 50), d.int(80, 190), d.int(25, 60, 5)
    total = s("The apartment costs $@ a month.", f"{rent}+{heat}+{net}")
    share = s("Each of them pays $@.", f"{total}/{mates}")
    budget = (share // 50 + d.int(8, 24)) * 50
    s(f"{p} has $@ left.", f"{budget}-{share}")
    return (f"{p} shares an apartment with {mates - 1} friends. A month's rent is ${s.number(rent)}, heating "
            f"is ${heat} and the internet is ${net}; all of it is split evenly. {p} has ${s.number(budget)} a "
            f"month to live on. How many dollars does {p.they} have left after paying {p.their} share?")


@story
def shoveling(d, s):
    a, b = d.person(), d.person()
    x, y, hours, extra = d.int(6, 14), d.int(5, 12), d.int(2, 5), d.int(2, 4)
    pair = s("Together they clear @ meters an hour.", f"{x}+{y}")
    first = s(f"In {hours} hours they clear @ meters.", f"{pair}*{hours}")
    alone = s(f"Then {a} alone clears @ meters.", f"{x}*{extra}")
    done = s("So far @ meters are clear.", f"{first}+{alone}")
    total = done + d.int(10, 90)
    s("There are @ meters left.", f"{total}-{done}")
    return (f"After a snowstorm a lane of {total} meters has to be cleared. {a} clears {x} meters an hour and "
            f"{b} clears {y} meters an hour. They work side by side for {hours} hours; then {b} has to go and "
            f"{a} goes on alone for {extra} hours. How many meters are still covered in snow?")


@story
def coin_jar(d, s):
    p, quarters, dimes, nickels = d.person(), 4 * d.int(6, 25), 10 * d.int(3, 12), 20 * d.int(2, 6)
    a = s("The quarters are worth $@.", f"{quarters}*25/100")
    b = s("The dimes are worth $@.", f"{dimes}*10/100")
    c = s("The nickels are worth $@.", f"{nickels}*5/100")
    total = s("The jar holds $@.", f"{a}+{b}+{c}")
    spent = d.int(3, total - 2)
    s(f"After the purchase {p} has $@ left.", f"{total}-{spent}")
    thing = d.pick("a secondhand board game", "a bunch of tulips", "a paperback", "a bus pass", "a pair of gloves")
    return (f"{p} empties a jar and counts {quarters} quarters, {dimes} dimes and {nickels} nickels. {p.They} "
            f"takes the money to town and buys {thing} for ${spent}. How many dollars does {p.they} have left?")


@story
def bookshelf(d, s):
    p, shelves, per, boxes, each = d.person(), d.int(4, 9), d.int(18, 35), d.int(3, 8), d.int(12, 30)
    a = s("The shelves have room for @ books.", f"{shelves}*{per}")
    b = s("In the boxes there are @ books.", f"{boxes}*{each}")
    s("There is no room for @ books.", f"{b}-{a}")
    insist(1 < s.last < 60)
    return (f"After moving house {p} unpacks {boxes} boxes with {each} books each. The new bookcase has "
            f"{shelves} shelves, and {per} books fit on each of them. How many books will not fit in the "
            f"bookcase?")


@story
def lemonade(d, s):
    p, pitchers, glasses, price, cost = d.person(), d.int(4, 12), d.int(6, 10), d.int(2, 3), d.int(2, 5)
    drink = d.pick("lemonade", "iced mint tea", "elderflower punch", "ginger beer")
    free = d.int(3, 9)
    a = s("The pitchers hold @ glasses.", f"{pitchers}*{glasses}")
    b = s("Of these @ are paid for.", f"{a}-{free}")
    c = s("They bring in $@.", f"{b}*{price}")
    e = s("The ingredients cost $@.", f"{pitchers}*{cost}")
    s(f"{p} earns $@.", f"{c}-{e}")
    return (f"{p} makes {pitchers} pitchers of {drink} for the street party. The ingredients for a pitcher "
            f"cost ${cost}, and a pitcher fills {glasses} glasses. {free} glasses go to the musicians for "
            f"free, and all others are sold at ${price} each. How much does {p.they} earn after paying for "
            f"the ingredients, in dollars?")


def row(make, seed):
    """One row, or None where the numbers drawn do not come out even."""
    draw = Draw(seed)
    curly = draw.pick(True, False)
    steps = Steps(draw)
    try:
        question = make(draw, steps)
    except Uneven:
        return None
    answer = "\n".join(steps.lines) + f"\n#### {steps.number(steps.last)}"
    if curly:
        question, answer = question.replace("'", "\u2019"), answer.replace("'", "\u2019")
    return {"question": question, "answer": answer}


def main():
    seeds = Draw(SEED)
    seen = set()
    for _ in range(ROWS_PER_STORY):
        for make in STORIES:
            while True:
                made = row(make, seeds.next())
                if made and made["question"] not in seen and made["answer"] not in seen:
                    break
            seen.update(made.values())
            sys.stdout.write(json.dumps(made, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    sys.stdout.reconfigure(encoding="utf-8", newline="\n")
    main()
