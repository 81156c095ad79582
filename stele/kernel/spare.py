"""Tasks in so many bytes: what is made again later, instead of being kept meanwhile, is chosen on paper."""
from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from heapq import heapify, heappop, heappush
from math import inf
from typing import NamedTuple

MOST = 5
"""How often each task may run on the average: what takes more is no plan."""

class Task(NamedTuple):
    """A kernel as memory sees it: which places it `reads` and `makes`, and which it makes `over` what it reads, if
    nobody needs that any more; the bytes it takes `beside` these, the first time and `again`, None where there is no
    second time; what a run costs, and the task before which alone it can run (None: any)."""

    reads: tuple[int, ...]
    makes: tuple[int, ...]
    over: Mapping[int, int]
    beside: int
    again: int | None
    price: float
    until: int | None = None


class Unaffordable(Exception):
    """So many bytes are not enough: what has to be there at one time when task `task` runs."""

    def __init__(self, task: int, places: Sequence[int], bytes_: int) -> None:
        super().__init__(task, places, bytes_)
        self.task, self.places, self.bytes = task, places, bytes_


@dataclass(frozen=True)
class Tasks:
    """Tasks in the order of their first runs, and the bytes of each place: 0 for what stays where it is once made."""

    tasks: Sequence[Task]
    bytes: Sequence[int]

    @cached_property
    def uses(self) -> list[list[int]]:
        """Who reads each place, in order."""
        found: list[list[int]] = [[] for _ in self.bytes]
        for k, task in enumerate(self.tasks):
            for p in task.reads:
                found[p].append(k)
        return found

    @cached_property
    def maker(self) -> list[int]:
        found = [-1] * len(self.bytes)
        for k, task in enumerate(self.tasks):
            for p in task.makes:
                found[p] = k
        return found

    @cached_property
    def last(self) -> list[int]:
        """The last task for which each place is of use, for what is made of it again too."""
        found = [uses[-1] if uses else -1 for uses in self.uses]
        for task in reversed(self.tasks):
            latest = max((found[p] for p in task.makes), default=-1)
            for p in task.reads:
                found[p] = max(found[p], latest)
        return found

    @cached_property
    def until(self) -> list[float]:
        """The task before which alone each can run again, itself and what it reads."""
        found: list[float] = []
        for task in self.tasks:
            own = -1 if task.again is None else inf if task.until is None else task.until
            found.append(own if own < 0 else min([own, *(max(found[self.maker[p]], -1) for p in task.reads)]))
        return found

    @property
    def price(self) -> float:
        return sum(task.price for task in self.tasks)


def sooner(all: Tasks, after: Mapping[int, Collection[int]]) -> list[int]:
    """The tasks in an order in which those that give bytes back run as soon as they can: behind what they read, and
    those that they have to come `after`."""
    left = [len(uses) for uses in all.uses]
    waits = [{all.maker[p] for p in task.reads} | {*after.get(k, ())} for k, task in enumerate(all.tasks)]
    wanted_by: dict[int, list[int]] = {}
    for k, waiting in enumerate(waits):
        for j in waiting:
            wanted_by.setdefault(j, []).append(k)
    order, done = list[int](), set[int]()

    def gives(k: int) -> bool:
        task = all.tasks[k]
        return sum(all.bytes[p] for p in task.reads if left[p] == 1) > sum(all.bytes[p] for p in task.makes)

    for first in range(len(all.tasks)):
        stack = [first]
        while stack:
            if (k := stack.pop()) in done:
                continue
            done.add(k)
            order.append(k)
            for p in all.tasks[k].reads:
                left[p] -= 1
            for j in wanted_by.get(k, ()):
                waits[j].discard(k)
            near = {j for p in (*all.tasks[k].reads, *all.tasks[k].makes) for j in all.uses[p] if left[p] == 1}
            stack += sorted((j for j in near - done if not waits[j] and gives(j)), reverse=True)
    return order


class Paper:
    """The tasks as they run in `limit` bytes; `order` says which, and which again.

    Where bytes run out, a place is given up that is large, is not needed for long, and costs little to make again with
    all that was given up beside it (Kirisame et al., 2021, of whom the price of neighbours is; when a place is needed
    next they have to guess, and a program knows).
    """

    def __init__(self, tasks: Tasks, limit: float) -> None:
        self.all, self.limit = tasks, limit
        self.order: list[int] = []
        self.now = self.used = 0
        self.there: set[int] = set()
        self.given_up: set[int] = set()
        self.held, self.fixed = Counter[int](), Counter[int]()     # what later tasks read, and what waiting ones do
        self.stamp = [0] * len(tasks.bytes)
        self.heap: list[tuple[float, int, int]] = []
        self.group = list(range(len(tasks.bytes)))      # of places given up beside each other
        self.price = [0.0] * len(tasks.bytes)           # of a group, by its root
        for k in range(len(tasks.tasks)):
            self.now = k
            self.run(k)
        self.cost = sum(tasks.tasks[k].price for k in self.order)

    def run(self, k: int) -> None:
        """A task, and before it those that make what it reads and is not there."""
        self.chain([*self.missing(k), k], k)

    def chain(self, tasks: Sequence[int], last: int | None = None) -> None:
        """Tasks one after the other; what a later one reads is the last to be given up meanwhile."""
        if len(self.order) + len(tasks) > MOST * len(self.all.tasks):
            raise Unaffordable(tasks[-1], (), 0)
        reads = [self.all.tasks[j].reads for j in tasks]
        for each in reads:
            self.held.update(each)
        for j, each in zip(tasks, reads):
            self.held.subtract(each)
            if lacking := self.missing(j):
                self.fixed.update(each)
                self.chain(lacking)
                self.fixed.subtract(each)
            self.step(j, first=j == last)

    def missing(self, k: int) -> list[int]:
        """The tasks that have to run again before this one can."""
        found, stack = set[int](), [k]
        while stack:
            for p in self.all.tasks[stack.pop()].reads:
                if p not in self.there and (j := self.all.maker[p]) not in found:
                    if self.all.until[j] < self.now:
                        raise Unaffordable(k, (p,), self.all.bytes[p])
                    found.add(j)
                    stack.append(j)
        return sorted(found)

    def step(self, j: int, first: bool) -> None:
        """One task whose operands are there."""
        task, sizes = self.all.tasks[j], self.all.bytes
        for p in self.there.intersection(task.makes):   # parts of what is made again
            if self.all.bytes[p]:
                self.drop(p)
        over = {y: x for y, x in task.over.items() if x in self.there and self.is_spent(x, j, first)}
        beside = task.beside if first else task.again or 0
        need = sum(sizes[p] for p in task.makes) + beside - sum(sizes[x] for x in over.values())
        fixed = {*task.reads, *task.makes}
        self.make_room(need, fixed, j)
        for x in over.values():
            self.drop(x)
        self.order.append(j)
        for p in task.makes:
            self.come(p)
        self.now += first
        for p in fixed:
            if p in self.there:
                self.settle(p)

    def is_spent(self, x: int, j: int, first: bool) -> bool:
        """Whether nobody needs a place once task j has read it."""
        return not self.held[x] and self.next_use(x, self.now + first) == inf and all(
            self.need(y, self.now) == inf for y in self.made_of(x) if y in self.given_up and self.all.maker[y] != j)

    def make_room(self, need: int, own: set[int], j: int) -> None:
        """Gives places up until there are so many bytes, those that are to be read soon last."""
        aside: list[tuple[float, int, int]] = []
        later: list[tuple[float, int]] = []
        while self.used + need > self.limit:
            if not self.heap and not later:
                there = sorted({*own, *self.there}, key=lambda p: -self.all.bytes[p])
                raise Unaffordable(j, there, self.used + need)
            if not self.heap:
                self.give_up(heappop(later)[1])
                continue
            entry = heappop(self.heap)
            _, p, stamp = entry
            if p not in self.there or stamp != self.stamp[p]:
                continue
            if p in own or self.fixed[p] > 0 or (now := self.score(p)) == inf:
                aside.append(entry)
            elif self.held[p] > 0:
                aside.append(entry)
                heappush(later, (now, p))
            elif self.heap and now > self.heap[0][0]:
                heappush(self.heap, (now, p, stamp))
            else:
                self.give_up(p)
        for entry in aside:
            heappush(self.heap, entry)

    def come(self, p: int) -> None:
        """A place has been made."""
        if p in self.given_up:
            self.given_up.discard(p)
            root = self.find(p)
            self.price[root] = max(0.0, self.price[root] - self.all.tasks[self.all.maker[p]].price)
            self.group[p] = p if root != p else self.group[p]
        self.there.add(p)
        self.used += self.all.bytes[p]

    def drop(self, p: int) -> None:
        self.there.discard(p)
        self.stamp[p] += 1
        self.used -= self.all.bytes[p]

    def give_up(self, p: int) -> None:
        """A place is there no longer, and belongs to those around it that are not either."""
        self.drop(p)
        groups = {self.find(q) for q in self.around(p) if q in self.given_up}
        self.given_up.add(p)
        self.group[p] = p
        self.price[p] = self.all.tasks[self.all.maker[p]].price + sum(self.price[g] for g in groups)
        for g in groups:
            self.group[g] = p

    def settle(self, p: int) -> None:
        """What becomes of a place behind a task that read or made it: what takes no bytes stays."""
        if not self.all.bytes[p]:
            return
        if self.all.last[p] < self.now and not self.held[p]:
            self.drop(p)
            return
        self.stamp[p] += 1
        heappush(self.heap, (self.score(p), p, self.stamp[p]))
        if len(self.heap) > 4 * len(self.there) + 64:
            self.heap = [e for e in self.heap if e[1] in self.there and e[2] == self.stamp[e[1]]]
            heapify(self.heap)

    def score(self, p: int) -> float:
        """What it costs to give a place up, for each byte and task that it is not needed."""
        use = self.need(p, self.now)
        if use == inf:
            return 0.0
        maker, around = self.all.maker[p], {self.find(q) for q in self.around(p) if q in self.given_up}
        if self.all.until[maker] < use:
            return inf
        cost = self.all.tasks[maker].price + sum(self.price[g] for g in around)
        return cost / max(1, self.all.bytes[p]) / (use - self.now + 1)

    def need(self, p: int, now: int) -> float:
        """The next task that needs a place, if only to make what was made of it and given up."""
        found, seen, ways = inf, {p}, [p]
        while ways:
            top = ways.pop()
            if (use := self.next_use(top, now)) < inf:
                found = min(found, use)
                continue
            new = {q for q in self.made_of(top) if q in self.given_up} - seen
            seen |= new
            ways += new
        return found

    def next_use(self, p: int, now: int) -> float:
        uses = self.all.uses[p]
        at = bisect_left(uses, now)
        return uses[at] if at < len(uses) else inf

    def around(self, p: int) -> list[int]:
        """The places of which this one is made, and those made of it."""
        return [*self.all.tasks[self.all.maker[p]].reads, *self.made_of(p)]

    def made_of(self, p: int) -> list[int]:
        return [q for k in self.all.uses[p] if k < self.now for q in self.all.tasks[k].makes]

    def find(self, p: int) -> int:
        while self.group[p] != p:
            self.group[p] = self.group[self.group[p]]
            p = self.group[p]
        return p
