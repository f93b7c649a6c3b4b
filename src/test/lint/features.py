#!/usr/bin/env python3
"""Names of features outside of their folders.

A name that the headers or the tables of src/feature/NAME define (struct, enum, macro, function, variable) belongs to
the feature. No file of src outside of the folder has it, but tests. Names of one word are not compared. A name below is an
exception, with the reason; one that no file needs is an error as well."""

import collections
import pathlib
import re
import sys

SRC = pathlib.Path(__file__).resolve().parents[3] / "src"

POINTERS = "a pointer to a type that only the feature completes; the row of its table fills it"
EXCEPTIONS = {
    # members of objects: core/model/kubernetes.h
    **dict.fromkeys(("idle_termination", "autoscaler_metering", "repair_spec", "requests_spec", "requests_kept"), POINTERS),
    # of a snapshot and its sources: core/model/snapshot.h, ctl/shared/device_view.h, sim/input.h, gcs/gcs_reply.h
    **dict.fromkeys(
        ("device_objects", "drain_request", "drain_requests", "kueue_workload", "worker_failure", "worker_failures", "gpu_pool", "ray_work"),
        POINTERS,
    ),
    # of a plan: core/model/plan.h
    **dict.fromkeys(("plan_idle", "plan_protection", "plan_repair", "plan_requests"), POINTERS),
    # of the index of claims: core/model/claimed.h
    **dict.fromkeys(("device_ask", "device_matches", "device_wants"), POINTERS),
    "device_class": "a column of the device table",
    "device_free": "free GPUs of a simulated worker; in core/model/claimed.h a pointer as above",
}

DEFINED = re.compile(
    r"^(?:struct|enum|union) (\w+) \{|^#define (\w+)|^(?!struct \w+;)(?:\w+ )+\**(\w+)(?:\(|;|\[)", re.MULTILINE
)
WORD = re.compile(r"\w+")


def names_alone(text):
    return re.sub(r'/\*.*?\*/|"(?:\\.|[^"\\\n])*"', "", text, flags=re.DOTALL)


def main():
    owners, inside = {}, collections.defaultdict(set)
    texts = {path: names_alone(path.read_text()) for path in SRC.rglob("*.[ch]")}
    for path, text in texts.items():
        parts = path.relative_to(SRC).parts
        if parts[0] == "feature" and path.suffix == ".h":
            for names in DEFINED.findall(text):
                name = next(n for n in names if n)
                if "_" in name and not name.endswith("_H"):
                    owners.setdefault(name, parts[1])
    problems, used = [], set()
    for path, text in sorted(texts.items()):
        parts = path.relative_to(SRC).parts
        if parts[0] == "test":
            continue
        own = parts[1] if parts[0] == "feature" else ""
        for name in set(WORD.findall(text)):
            if name not in owners or owners[name] == own:
                continue
            if name in EXCEPTIONS:
                used.add(name)
                continue
            problems.append(f"src/{'/'.join(parts)}: {name} is of feature/{owners[name]}")
    problems += [f"{name}: an exception that no file needs" for name in EXCEPTIONS if name in owners and name not in used]
    print("\n".join(problems))
    return len(problems) > 0


if __name__ == "__main__":
    sys.exit(main())
