"""How few seconds below a guarantee are possible without ending work, for the teams of bench_pools.py.

A model that is kinder than any cluster: GPUs without Nodes, so each unit fits any free GPUs; work starts at once;
and freed GPUs return to the pool, while a real Ray starts the next task of its own cluster on them. Work runs to
its end, and no GPU stays idle for which a unit waits, except the part of a guarantee that is not lent. Units
within a guarantee are first. Each order of the others is tried, also those that know how long work takes.
"""

import argparse
import heapq
import os
import sys
from typing import Callable, Dict, List, NamedTuple, Optional

import bench_pools


class Unit(NamedTuple):
    submit: float
    duration: float
    gpus: int
    team: str


Order = Callable[[Unit, int], object]  # of units beyond a guarantee; the second: GPUs that their team holds beyond it

ORDERS: Dict[str, Order] = {
    "first come": lambda unit, borrowed: unit.submit,
    "smallest share": lambda unit, borrowed: (borrowed, unit.submit),
    "shortest": lambda unit, borrowed: unit.duration,
    "least work": lambda unit, borrowed: unit.duration * unit.gpus,
}


class Pool:
    """One run until `end`. kept: GPUs of each guarantee that are not lent."""

    def __init__(self, units: List[Unit], gpus: int, guaranteed: int, end: float):
        self.units, self.guaranteed, self.end = units, guaranteed, end
        self.free, self.now = gpus, 0.0
        self.teams = sorted({unit.team for unit in units})
        self.held = dict.fromkeys(self.teams, 0)
        self.below = dict.fromkeys(self.teams, 0.0)
        self.waiting: Dict[str, List[Unit]] = {team: [] for team in self.teams}
        self.running: List[tuple] = []
        self.started, self.work = 0, 0.0

    def _start(self, unit: Unit) -> None:
        self.waiting[unit.team].remove(unit)
        self.free -= unit.gpus
        self.held[unit.team] += unit.gpus
        self.started += 1
        heapq.heappush(self.running, (self.now + unit.duration, self.started, unit))
        self.work += min(unit.duration, self.end - self.now) * unit.gpus

    def _guaranteed_unit(self) -> Optional[Unit]:
        for team in sorted(self.teams, key=self.held.__getitem__):
            for unit in self.waiting[team]:
                if self.held[team] + unit.gpus <= self.guaranteed and unit.gpus <= self.free:
                    return unit
        return None

    def _claim(self, team: str, guarantees: bool) -> int:
        claim = 0
        for unit in self.waiting[team] if guarantees else []:
            if self.held[team] + claim + unit.gpus <= self.guaranteed:
                claim += unit.gpus
        return claim

    def _borrowing_unit(self, order: Order, guarantees: bool, kept: int) -> Optional[Unit]:
        claims = {team: self._claim(team, guarantees) for team in self.teams}
        best = None
        for team in self.teams:
            others = sum(max(claims[other], kept - self.held[other], 0) for other in self.teams if other != team)
            for unit in self.waiting[team] if claims[team] == 0 else []:
                key = order(unit, max(self.held[team] - self.guaranteed, 0))
                if unit.gpus <= self.free - others and (best is None or key < best[0]):
                    best = (key, unit)
        return best[1] if best else None

    def _advance(self, until: float) -> None:
        for team, waiting in self.waiting.items():
            if waiting and self.held[team] + min(unit.gpus for unit in waiting) <= self.guaranteed:
                self.below[team] += until - self.now
        self.now = until
        while self.running and self.running[0][0] <= until:
            unit = heapq.heappop(self.running)[2]
            self.free += unit.gpus
            self.held[unit.team] -= unit.gpus

    def run(self, order: Order, guarantees: bool = True, kept: int = 0) -> "Pool":
        arrivals = sorted(self.units)
        while self.now < self.end:
            while guarantees and (unit := self._guaranteed_unit()):
                self._start(unit)
            while (unit := self._borrowing_unit(order, guarantees, kept)):
                self._start(unit)
            self._advance(min([self.end] + [unit.submit for unit in arrivals[:1]] + [ends for ends, *_ in self.running[:1]]))
            while arrivals and arrivals[0].submit <= self.now:
                self.waiting[arrivals[0].team].append(arrivals.pop(0))
        return self


def units_of(team: str, jobs: List[tuple]) -> List[Unit]:
    server = bench_pools.SERVER
    return [Unit(submit, duration, gpus if gpus <= server else -(-gpus // server) * server, team) for submit, duration, gpus in jobs]


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--days", type=int, default=7)
    parser.add_argument("--begin", type=int, default=35, help="the day on which the window begins")
    parser.add_argument("--loads", default="1.0,1.5")
    parser.add_argument("traces", nargs="+", help="CSV files, one for each team")
    args = parser.parse_args()
    teams = {os.path.splitext(os.path.basename(path))[0]: bench_pools.read_jobs(path, args.begin, args.days) for path in args.traces}
    units = [unit for team, jobs in teams.items() for unit in units_of(team, jobs)]
    for load in map(float, args.loads.split(",")):
        servers = bench_pools.servers_of(teams, args.days, load)
        gpus, guaranteed = servers * bench_pools.SERVER, bench_pools.guarantee(len(teams), servers)
        print(f"load {100 * load:.0f} %: {gpus} GPUs, each team is guaranteed {guaranteed}")

        def row(name: str, order: Order, first: float, **options: object) -> float:
            pool = Pool(units, gpus, guaranteed, args.days * 86400).run(order, **options)
            below = sum(pool.below.values()) / 3600
            less = f"  {100 * (1 - below / first):5.1f} % fewer" if first else ""
            print(f"  {name:44} {pool.work / 3600:8.0f} GPU-h  below {below:6.1f} h{less}", flush=True)
            return below

        first = row("first come, without guarantees", ORDERS["first come"], 0, guarantees=False)
        for name, order in ORDERS.items():
            row(f"guarantees, then {name}", order, first)
        for part in (0.5, 1):
            row(f"{100 * part:.0f} % of a guarantee is not lent, then shortest", ORDERS["shortest"], first, kept=int(part * guaranteed))
    return 0


if __name__ == "__main__":
    sys.exit(main())
