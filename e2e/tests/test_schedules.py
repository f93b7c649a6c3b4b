"""Schedules of a RayClusterAutoscaler: their windows against Python's zoneinfo, and in a controller."""

import io
import json
import re
import subprocess
import time
from datetime import datetime, timedelta, timezone
from itertools import product
from pathlib import Path
from typing import Any, Dict, Iterator, List, Set, Tuple
from zoneinfo import ZoneInfo, available_timezones

import pytest
import yaml

from rayscaler_e2e import paths, rayclusters
from rayscaler_e2e.kubeclient import ApiError
from rayscaler_e2e.wait import allowed, wait_until

SYSTEM_ZONES = Path("/usr/share/zoneinfo")
YEAR = 2026
ZONES = (
    "Europe/Berlin",
    "America/New_York",
    "Australia/Lord_Howe",  # half an hour of daylight saving time, in the southern summer
    "Asia/Kolkata",
    "Europe/Dublin",  # its winter time is the exception
    "Africa/Casablanca",  # changes with the moon
    "America/Scoresbysund",
    "Pacific/Chatham",
    "Africa/Cairo",
)
# Office hours, times that changes skip and repeat, windows that overlap, touch and rarely begin.
SCHEDULES = (
    ("0 8 * * mon-fri", "9h30m"),
    ("30 2 * * *", "45m"),
    ("15,45 1-3 * * SUN", "20m"),
    ("*/10 0-3 * mar,apr,oct,nov *", "5m"),
    ("0 */6 * * *", "7h"),
    ("0 22 * * 5", "2d10h"),
    ("0 12 1,15 * 3", "1d"),
    ("59 23 31 * *", "31d"),
    ("0 0 29 2 *", "1h"),
    ("30 12 */2 6-8 0,7", "90m"),
    ("*/5 8-17 * * mon-sat", "5m"),
    ("* 0-11,14-21 * * *", "1m"),
)
NAMES = {
    name: number
    for names, first in (("jan feb mar apr may jun jul aug sep oct nov dec", 1), ("sun mon tue wed thu fri sat", 0))
    for number, name in enumerate(names.split(), first)
}
MINUTE = timedelta(minutes=1)


def values(field: str, first: int, last: int) -> Set[int]:
    found: Set[int] = set()
    for part in field.lower().split(","):
        span, _, step = part.partition("/")
        low, _, high = (str(first) + "-" + str(last) if span == "*" else span).partition("-")
        begin = NAMES[low] if low in NAMES else int(low)
        end = begin if not high else NAMES[high] if high in NAMES else int(high)
        found |= set(range(begin, end + 1, int(step or 1)))
    return found


class Cron:
    def __init__(self, text: str) -> None:
        fields = text.split()
        ranges = ((0, 59), (0, 23), (1, 31), (1, 12), (0, 7))
        self.minutes, self.hours, self.days, self.months, weekdays = (values(f, *r) for f, r in zip(fields, ranges))
        self.weekdays = {day % 7 for day in weekdays}
        self.either = not fields[2].startswith("*") and not fields[4].startswith("*")

    def matches(self, local: datetime) -> bool:
        of_month, of_week = local.day in self.days, local.isoweekday() % 7 in self.weekdays
        return local.month in self.months and (of_month or of_week if self.either else of_month and of_week)


Moments = Dict[Tuple[int, int], List[Tuple[datetime, datetime]]]


def local_times(zone: ZoneInfo) -> Moments:
    """By hour and minute, each local time of the year and the month before it with the moment at which it is first
    shown: a skipped one at the moment of the change. Found by walking through all minutes."""
    found: Moments = {}
    now = datetime(YEAR, 1, 1, tzinfo=timezone.utc) - timedelta(days=35)
    shown = now.astimezone(zone).replace(tzinfo=None)
    while now < datetime(YEAR + 1, 1, 3, tzinfo=timezone.utc):
        local = now.astimezone(zone).replace(tzinfo=None)
        while shown <= local:
            found.setdefault((shown.hour, shown.minute), []).append((shown, now))
            shown += MINUTE
        now += MINUTE
    return found


def changes(cron: Cron, duration: timedelta, moments: Moments) -> Dict[datetime, bool]:
    """When the state changes; windows that touch are one."""
    starts = [
        moment
        for hour in cron.hours
        for minute in cron.minutes
        for local, moment in moments[hour, minute]
        if cron.matches(local)
    ]
    found: Dict[datetime, bool] = {}
    end = None
    for start in sorted(starts):
        if end is None or start > end:
            if end is not None:
                found[end] = False
            found[start] = True
        end = start + duration
    if end is not None:
        found[end] = False
    return found


def length(text: str) -> timedelta:
    units, total, number = {"d": 1440, "h": 60, "m": 1}, 0, ""
    for c in text:
        if c.isdigit():
            number += c
        else:
            total, number = total + int(number) * units[c], ""
    return timedelta(minutes=total)


def stamp(time: datetime) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ")


def zone_files(name: str) -> List[Path]:
    """The system's file lists all changes up to 2037; that of the Python package has a rule for those to come."""
    import tzdata

    return [SYSTEM_ZONES / name, Path(tzdata.__file__).parent / "zoneinfo" / name]


def ask(questions: List[Dict[str, str]]) -> List[Any]:
    text = "".join(json.dumps(question) + "\n" for question in questions)
    tool = paths.build_dir() / "tools/codec_windows"
    said = subprocess.run([tool], input=text, capture_output=True, text=True, timeout=60, check=True)
    return [json.loads(line) for line in said.stdout.splitlines()]


@pytest.mark.parametrize("name", ZONES)
def test_windows_of_a_year_are_those_of_zoneinfo(name: str) -> None:
    begin, until = datetime(YEAR, 1, 1, tzinfo=timezone.utc), datetime(YEAR, 12, 31, 23, 59, tzinfo=timezone.utc)
    for file in zone_files(name):
        with file.open("rb") as content:
            moments = local_times(ZoneInfo.from_file(content))
        span = {"file": str(file), "from": stamp(begin), "until": stamp(until)}
        answers = ask([{**span, "start": start, "duration": duration} for start, duration in SCHEDULES])
        for (start, duration), answer in zip(SCHEDULES, answers):
            wanted = changes(Cron(start), length(duration), moments)
            state = [active for time, active in wanted.items() if time <= begin][-1:] or [False]
            listed = [[stamp(time), active] for time, active in wanted.items() if begin < time <= until]
            assert answer == [[stamp(begin), state[0]], *listed], (file, start, duration)


# ---- starts that the clocks skip, in every zone ----

SECOND = timedelta(seconds=1)
QUARTERS = [timedelta(minutes=15 * i) for i in range(-10 * 96, 11 * 96)]


def first_change(zone: ZoneInfo, low: datetime, high: datetime) -> datetime:
    """The moment after low, and not after high, at which the offset becomes that of high."""
    wanted = high.astimezone(zone).utcoffset()
    while high - low > SECOND:
        middle = low + (high - low) // 2 // SECOND * SECOND
        low, high = (low, middle) if middle.astimezone(zone).utcoffset() == wanted else (middle, high)
    return high


def first_moment(zone: ZoneInfo, local: datetime) -> datetime:
    """When a clock first shows the local time; a skipped one at the change. With fold 0 Python takes the offset before
    the change, with fold 1 the one after it."""
    moment = local.replace(tzinfo=zone).astimezone(timezone.utc)
    if moment.astimezone(zone).replace(tzinfo=None) == local:
        return moment
    return first_change(zone, local.replace(tzinfo=zone, fold=1).astimezone(timezone.utc), moment)


def skips(zone: ZoneInfo) -> Set[datetime]:
    """The last change at which clocks skip a time, and the last one where the skipped time begins on another day."""
    found: Dict[bool, datetime] = {}
    high, week = datetime(YEAR + 1, 1, 1, tzinfo=timezone.utc), timedelta(days=7)
    while high.year >= 1970 and len(found) < 2:
        low = high - week
        before, after = low.astimezone(zone).utcoffset(), high.astimezone(zone).utcoffset()
        if after > before:
            change = first_change(zone, low, high)
            found.setdefault((change + before).date() != (change + after).date(), change)
        high = low
    return set(found.values())


def zones() -> Iterator[Tuple[Path, ZoneInfo]]:
    seen = set()
    for name in sorted(available_timezones()):
        for file in zone_files(name):
            content = file.read_bytes() if file.exists() else b""
            if content and content not in seen:
                seen.add(content)
                yield file, ZoneInfo.from_file(io.BytesIO(content))


def around(zone: ZoneInfo, change: datetime) -> Iterator[Tuple[Dict[str, str], List[Any]]]:
    """Questions at and after the change with their answers: schedules of the weekdays that are skipped and shown."""
    after = change.astimezone(zone).replace(tzinfo=None)
    before = (change - SECOND).astimezone(zone).replace(tzinfo=None) + SECOND
    noon = after.replace(hour=12, minute=0, second=0)
    moments: Moments = {}
    for local in (noon + quarter for quarter in QUARTERS):
        moments.setdefault((local.hour, local.minute), []).append((local, first_moment(zone, local)))
    days = {time.isoweekday() % 7 for time in (before, after - MINUTE, after)}
    for day, (minute, length) in product(days, (("0", 60), ("*/15", 15), ("15", 50))):
        start, duration = f"{minute} * * * {day}", timedelta(minutes=length)
        wanted = changes(Cron(start), duration, moments)
        for begin in (change - SECOND, change, change + duration - SECOND):
            until = begin + timedelta(days=8)
            state = [active for time, active in wanted.items() if time <= begin][-1]
            listed = [[stamp(time), active] for time, active in wanted.items() if begin < time <= until]
            question = {"from": stamp(begin), "until": stamp(until), "start": start, "duration": f"{length}m"}
            yield question, [[stamp(begin), state], *listed]


def test_starts_that_clocks_skip_are_those_of_zoneinfo() -> None:
    asked = [({"file": str(file), **q}, a) for file, zone in zones() for change in skips(zone) for q, a in around(zone, change)]
    assert len(asked) > 5000
    # The second time of each list is nextChange.
    wrong = [(q, said, wanted) for (q, wanted), said in zip(asked, ask([q for q, _ in asked])) if said != wanted]
    assert not wrong, (len(wrong), wrong[0])


# ---- the example of the documents ----

HEAD_NODE = {
    "nodeId": "AQ==",
    "instanceId": "demo-head",
    "rayNodeTypeName": "headgroup",
    "status": "RUNNING",
    "totalResources": {"node:__internal_head__": 1},
    "availableResources": {"node:__internal_head__": 1},
}
BERLIN = {"name": "Europe/Berlin", "offsetSeconds": 3600}


def office_hours() -> Dict[str, Any]:
    section = (paths.ROOT / "docs/AUTOSCALER_OBJECT.md").read_text().split("\n## Schedules\n")[1]
    spec = yaml.safe_load(re.search(r"```yaml\n(.*?)```", section, re.DOTALL).group(1))
    return {"apiVersion": "rayscaler.dev/v1alpha1", "kind": "RayClusterAutoscaler", "metadata": {"name": "demo", "namespace": "team-a"}, **spec}


def cluster() -> Dict[str, Any]:
    obj = rayclusters.minimal("demo", rayclusters.group("gpu-group", {"cpu": "1", "nvidia.com/gpu": "1"}, maxReplicas=4))
    return {**obj, "metadata": {"name": "demo", "namespace": "team-a"}}


def run(*words: object, status: int = 0) -> str:
    done = subprocess.run([paths.program(), *map(str, words)], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == status, done.stderr
    return done.stdout if status == 0 else done.stderr


def test_office_hours_of_the_document(work_dir):
    snapshot = {
        "apiVersion": "rayscaler.dev/v1alpha1",
        "kind": "Snapshot",
        "now": "2026-01-08T00:00:00Z",
        "rayCluster": cluster(),
        "autoscaler": office_hours(),
        "timeZones": [BERLIN],
    }
    file = work_dir / "snapshot.json"
    file.write_text(json.dumps(snapshot))

    def wanted(at: str) -> Tuple[int, Any]:
        plan = json.loads(run("plan", "-f", file, "--at", at, "-o", "json"))
        return plan["groups"][0]["targetReplicas"], plan["schedules"][0]

    closed, opens = {"name": "office", "active": False}, {"name": "office", "active": True}
    assert wanted("2026-01-08T06:59:59Z") == (0, {**closed, "nextChange": "2026-01-08T07:00:00Z"})
    assert wanted("2026-01-08T08:00:00+01:00") == (2, {**opens, "nextChange": "2026-01-08T16:30:00Z"})
    assert wanted("2026-01-08T16:29:59Z")[0] == 2
    assert wanted("2026-01-09T16:30:00Z") == (0, {**closed, "nextChange": "2026-01-12T07:00:00Z"})
    assert "office    active until 2026-01-08T16:30:00Z" in run("plan", "-f", file, "--at", "2026-01-08T09:00:00Z")
    assert "--at: \"noon\"" in run("plan", "-f", file, "--at", "noon", status=1)


def test_the_bundles_and_warm_workers_of_the_document(work_dir):
    """Beside the group or instead of it. A worker that is kept for a bundle is free, so it is a warm one too."""
    section = (paths.ROOT / "docs/AUTOSCALER_OBJECT.md").read_text().split("\n## Schedules\n")[1].split("\n## ")[0]
    members = yaml.safe_load("\n".join(re.findall(r"`((?:bundles|warmWorkers): .*?)`", section)))
    assert set(members) == {"bundles", "warmWorkers"}
    file = work_dir / "snapshot.yaml"

    def target(**schedule: Any) -> Tuple[int, str]:
        obj = office_hours()
        obj["spec"]["schedules"][0] = {**obj["spec"]["schedules"][0], "timeZone": "UTC", **schedule}
        content = {"now": "2026-01-08T09:00:00Z", "rayCluster": cluster(), "autoscaler": obj}
        ray = {"clusterResourceStateVersion": "1", "nodeStates": [HEAD_NODE], "clusterSessionName": "s"}
        file.write_text(yaml.safe_dump({"apiVersion": "rayscaler.dev/v1alpha1", "kind": "Snapshot", **content, "rayState": ray}))
        (group,) = json.loads(run("plan", "-f", file, "-o", "json"))["groups"]
        return group["targetReplicas"], group["reason"]

    assert target(**members) == target(groups=[], **members) == (2, "ScaleUpSchedule")
    assert target(groups=[], bundles=members["bundles"]) == (2, "ScaleUpSchedule")
    assert target(groups=[], warmWorkers=members["warmWorkers"]) == (1, "ScaleUpWarmWorkers")


def test_a_simulation_has_schedules(work_dir):
    files = work_dir / "clusters.yaml", work_dir / "workload.yaml"
    files[0].write_text(yaml.safe_dump_all([cluster(), office_hours()]))
    item = {"submit": "1m", "duration": "5m", "resources": {"GPU": 1}}
    files[1].write_text(yaml.safe_dump({"apiVersion": "rayscaler.dev/v1alpha1", "kind": "Workload", "items": [item]}))
    said = run("simulate", "-f", files[0], "-w", files[1], "--end", "24h", "--baseline", "ray", "-o", "json")
    given, ray = json.loads(said)["variants"]
    targets = {target["reason"]: target for target in given["groups"][0]["targets"]}
    # 08:00 to 17:30 in Berlin, from midnight in UTC.
    assert 7 * 3600 <= targets["ScaleUpSchedule"]["at"] < 7 * 3600 + 2 and targets["ScaleUpSchedule"]["to"] == 2
    assert 16.5 * 3600 <= targets["ScaleDownDrained"]["at"] < 16.5 * 3600 + 10
    assert {target["reason"] for target in ray["groups"][0]["targets"]} == {"ScaleUpDemand", "ScaleDownDrained"}


# ---- a controller ----


def schedule(start: datetime, duration: str, zone: str = "Asia/Kolkata") -> Dict[str, Any]:
    local = start.astimezone(ZoneInfo(zone)) if "/" in zone and not zone.startswith("Mars") else start
    return {
        "name": "soon",
        "timeZone": zone,
        "start": f"{local.minute} {local.hour} * * *",
        "duration": duration,
        "groups": [{"name": "workers", "minReplicas": 2}],
    }


def minute_of(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds // 60 * 60, timezone.utc)


# A pass at the moment of a change: ctl_cluster_unchanged_test; windows: golden cases, and the tests around this one.
@pytest.mark.test_all
def test_a_window_opens_and_closes_in_its_second(api_server, namespace, controller):
    clusters = api_server.admin.of("rayclusters", namespace)
    objects = api_server.admin.of("rayclusterautoscalers", namespace)
    obj = rayclusters.minimal("demo")
    obj["spec"]["headGroupSpec"]["rayStartParams"]["labels"] = "refused=true"  # by an operator of the session
    clusters.create(obj)
    opens = minute_of(time.time() + 68)
    spec = {"schedules": [schedule(opens, "1h")]}
    kind = {"apiVersion": "rayscaler.dev/v1alpha1", "kind": "RayClusterAutoscaler", "metadata": {"name": "demo"}}
    objects.create({**kind, "spec": spec})
    sleeper = rayclusters.minimal("sleeper")  # suspended by idle termination: its passes are a minute apart
    sleeper["metadata"]["annotations"] = {"rayscaler.dev/suspended-by-idle-termination": stamp(minute_of(time.time()))}
    sleeper["spec"]["suspend"] = True
    clusters.create(sleeper)
    objects.create({**kind, "metadata": {"name": "sleeper"}, "spec": spec})
    controller(namespace)

    def state() -> Any:
        return ((objects.get("demo").get("status") or {}).get("schedules") or [{}])[0]

    def group() -> Dict[str, Any]:
        return clusters.get("demo")["spec"]["workerGroupSpecs"][0]

    wait_until(lambda: state().get("nextChange") == stamp(opens), 20, "the next change in the status")
    assert state()["active"] is False and not group().get("replicas")
    wait_until(lambda: group().get("replicas") == 2, opens.timestamp() - time.time() + 5, "the window to open")
    assert opens.timestamp() <= time.time() < opens.timestamp() + allowed(5)
    wait_until(lambda: not clusters.get("sleeper")["spec"].get("suspend"), opens.timestamp() - time.time() + 5, "the suspended one to resume")
    assert not group().get("minReplicas"), "the user's minReplicas is not written"
    wait_until(lambda: state().get("active"), 10, "the status to show it")
    wait_until(lambda: objects.get("demo")["status"]["groups"][0].get("lastScale", {}).get("reason") == "ScaleUpSchedule", 10, "the reason")
    # A window that is open already, and ends soon.
    ends = int(time.time() + allowed(8))
    began = minute_of(ends - 120)
    window = schedule(began, f"{ends - int(began.timestamp())}s")
    objects.patch_merge("demo", {"spec": {"schedules": [window]}})
    wait_until(lambda: state() == {"name": "soon", "active": True, "nextChange": stamp(datetime.fromtimestamp(ends, timezone.utc))}, 6, "its end")
    wait_until(lambda: not state()["active"], ends - time.time() + 5, "the window to close")
    assert time.time() >= ends
    # Nothing is known of a zone that is not there.
    objects.patch_merge("demo", {"spec": {"schedules": [schedule(began, "1h", "Mars/Phobos")]}})
    wait_until(
        lambda: any("time zone Mars/Phobos is not in /usr/share/zoneinfo" in c["message"] for c in objects.get("demo")["status"]["conditions"]),
        10,
        "a condition for an unknown zone",
    )


def test_a_window_that_began_without_a_controller(api_server, namespace, controller):
    """The start was missed: bundles and warm workers count as soon as a controller runs, and until the end."""
    clusters = api_server.admin.of("rayclusters", namespace)
    objects = api_server.admin.of("rayclusterautoscalers", namespace)
    obj = rayclusters.minimal("demo")
    obj["spec"]["headGroupSpec"]["rayStartParams"]["labels"] = "refused=true"  # by an operator of the session
    clusters.create(obj)
    window = {**schedule(minute_of(time.time() - 120), "1h"), "bundles": [{"CPU": 1}]}
    del window["groups"]
    kind = {"apiVersion": "rayscaler.dev/v1alpha1", "kind": "RayClusterAutoscaler", "metadata": {"name": "demo"}}
    objects.create({**kind, "spec": {"schedules": [window]}})
    controller(namespace)
    wait_until(lambda: clusters.get("demo")["spec"]["workerGroupSpecs"][0].get("replicas") == 1, 20, "a worker for the bundle")
    wanted = {"source": "schedule", "schedule": "soon", "count": 1, "bundle": {"CPU": "1"}}
    wait_until(lambda: (objects.get("demo").get("status") or {}).get("requested") == [wanted], 10, "the status to name it")
    wait_until(lambda: objects.get("demo")["status"]["groups"][0].get("lastScale", {}).get("reason") == "ScaleUpSchedule", 10, "the reason")


@pytest.mark.parametrize("member", [{"start": "0 8 * *"}, {"duration": "9 hours"}, {"timeZone": "../etc/passwd"}, {"groups": []}, {"name": ""}])
def test_the_api_server_refuses(api_server, namespace, member):
    objects = api_server.admin.of("rayclusterautoscalers", namespace)
    bad = {**schedule(datetime.now(timezone.utc), "1h"), **member}
    kind = {"apiVersion": "rayscaler.dev/v1alpha1", "kind": "RayClusterAutoscaler", "metadata": {"name": "demo"}}
    with pytest.raises(ApiError) as refused:
        objects.create({**kind, "spec": {"schedules": [bad]}})
    assert refused.value.status == 422 and next(iter(member)) in str(refused.value)
