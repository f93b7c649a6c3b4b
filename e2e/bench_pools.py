"""Teams of a public trace on one set of GPUs: GPUPools beside first come, first served, a static
partition and Ray's autoscaler, simulated at several loads.

The trace: CSV files with num_gpu, submit_time and duration in milliseconds, one file for each team;
those of four virtual clusters of Microsoft's Philly (Jeon et al., USENIX ATC 2019) as the simulator of
Muri (github.com/Rivendile/Muri, simulator/trace-data/trace1.csv to trace4.csv) has them. A job of up to
8 GPUs is a task, a larger one a placement group of bundles of 8; workers have 8 GPUs. The load is the
GPU-hours that the jobs of the window ask for, divided by those of the pool in it. Each team is guaranteed
an equal part of half of the GPUs.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile

SERVER = 8
START = 30  # seconds of a Pod and its registration, and a pass
POLICIES = {
    "pools": "as given",
    "first come": "baseline: first come, first served",
    "static": "baseline: static partition",
    "ray": "baseline: Ray's autoscaler",
}


def read_jobs(path, begin, days):
    """(submit, duration, gpus) in seconds since the begin of the window."""
    with open(path, newline="") as file:
        rows = [
            (int(row["submit_time"]) / 1000, int(row["duration"]) / 1000, int(row["num_gpu"]))
            for row in csv.DictReader(file)
        ]
    start = begin * 86400
    return [
        (round(submit - start, 3), max(duration, 1), gpus)
        for submit, duration, gpus in rows
        if 0 <= submit - start < days * 86400
    ]


def item(team, job, args):
    submit, duration, gpus = job
    one = {"submit": submit, "duration": duration, "cluster": team, "job": team}
    if args.checkpoint is not None:
        one["checkpoint"] = args.checkpoint
    if gpus <= SERVER:
        return one | {"resources": {"GPU": gpus}}
    bundles = [{"GPU": SERVER}] * -(-gpus // SERVER)
    if args.gang_clusters:
        one["cluster"] = f"{team}-gangs"
    return one | {"kind": "placement_group", "bundles": bundles, "job": "gangs"}


def demanded(jobs, days):
    """GPU-hours within the window, if each job began when it was submitted."""
    end = days * 86400
    return sum(min(d, end - s) * gpus for s, d, gpus in jobs) / 3600


def servers_of(teams, days, load):
    hours = sum(demanded(jobs, days) for jobs in teams.values())
    return max(round(hours / (days * 24 * load) / SERVER), 4)


def guarantee(teams, servers):
    """The GPUs of each of so many teams."""
    return servers * SERVER // (2 * teams) // SERVER * SERVER


def ray_cluster(namespace, name, servers):
    limits = {"cpu": "64", "memory": "256Gi", "nvidia.com/gpu": str(SERVER)}
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": {"name": name, "namespace": namespace},
        "spec": {
            "rayVersion": "2.60.0",
            "enableInTreeAutoscaling": True,
            "headGroupSpec": {
                "rayStartParams": {"num-cpus": "0"},
                "template": {"spec": {"containers": [{"name": "ray", "image": "ray"}]}},
            },
            "workerGroupSpecs": [
                {
                    "groupName": "gpu",
                    "replicas": 0,
                    "minReplicas": 0,
                    "maxReplicas": servers,
                    "rayStartParams": {},
                    "template": {
                        "spec": {
                            "containers": [
                                {"name": "ray", "image": "ray", "resources": {"limits": limits}}
                            ]
                        }
                    },
                }
            ],
        },
    }


def objects(teams, servers, args):
    gpus = servers * SERVER
    guaranteed = guarantee(len(teams), servers)
    pool = {
        "apiVersion": "rayscaler.dev/v1alpha1",
        "kind": "GPUPool",
        "metadata": {"name": "philly"},
        "spec": {
            "gpus": gpus,
            "queues": [
                {
                    "name": team,
                    "namespaceSelector": {"matchLabels": {"team": team}},
                    "guaranteed": guaranteed,
                    "lendable": int(args.lendable * guaranteed) // SERVER * SERVER,
                }
                for team in teams
            ],
            "reclaim": {"busy": {"afterSeconds": args.busy} if args.busy else "Never"},
        },
    }
    yield pool
    for team in teams:
        yield {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": team, "labels": {"team": team}},
        }
        for name in [team, f"{team}-gangs"] if args.gang_clusters else [team]:
            yield ray_cluster(team, name, servers)


def nodes(servers):
    return {
        "apiVersion": "rayscaler.dev/v1alpha1",
        "kind": "NodePools",
        "pools": [
            {
                "name": "servers",
                "allocatable": {"cpu": 96, "memory": "1Ti", "nvidia.com/gpu": SERVER},
                "minNodes": servers,
                "maxNodes": servers,
            }
        ],
    }


def simulate(args, teams, load):
    """The GPUs, the policies until the window ends, the pools until all work has run."""
    servers = servers_of(teams, args.days, load)
    with tempfile.TemporaryDirectory() as folder:

        def write(name, lines):
            path = os.path.join(folder, name)
            with open(path, "w") as file:
                file.write("\n".join(json.dumps(line) for line in lines) + "\n")
            return path

        work = sorted(
            (item(team, job, args) for team, jobs in teams.items() for job in jobs),
            key=lambda one: one["submit"],
        )
        command = [args.binary, "simulate", "-o", "json"]
        command += ["-w", write("work.jsonl", work)]
        for i, one in enumerate(objects(list(teams), servers, args)):
            command += ["-f", write(f"object-{i}.json", [one])]
        command += ["--node-pools", write("nodes.json", [nodes(servers)])]
        whole = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
        command += ["--end", f"{args.days * 24}h"]
        for policy in ("first-come", "static", "ray"):
            command += ["--baseline", policy]
        if args.report:
            command += ["--report", f"{args.report}-{round(load * 100)}.html"]
        reply = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    return servers * SERVER, json.loads(reply.stdout), json.loads(whole.stdout)["variants"][0]


def small_teams(teams, days):
    """The half of the teams that ask for least."""
    names = sorted(teams, key=lambda team: demanded(teams[team], days))
    return names[: max(len(names) // 2, 1)]


def span(seconds):
    if seconds < 60:
        return f"{seconds:.1f}s"
    if seconds < 3600:
        return f"{seconds / 60:.0f}m"
    return f"{seconds / 3600:.1f}h"


def figures(variant, small):
    pool = variant["gpuPools"][0]
    queues = [queue for queue in pool["queues"] if queue["name"]]
    return {
        "used": sum(queue["usedGPUHours"] - queue["lostGPUHours"] for queue in queues),
        "below": sum(queue["belowGuaranteeSeconds"] for queue in queues),
        "idle": sum(queue["idleWhileOthersWaitedGPUHours"] for queue in queues),
        "jain": pool.get("jain", 1),
        "gangs": [job for job in variant["jobs"] if job["job"] == "gangs"],
        "never": sum(queue["neverRan"] for queue in queues),
        "small": max(
            queue["unweightedWaitingSeconds"].get("p95", 0)
            for queue in queues
            if queue["name"] in small
        ),
        "waits": {
            queue["name"]: queue["unweightedWaitingSeconds"].get("p95", 0) for queue in queues
        },
    }


def judge(rows, whole):
    pools, first = rows["pools"], rows["first come"]
    work = pools["used"] / first["used"] - 1 if first["used"] else 0
    below = 1 - pools["below"] / first["below"] if first["below"] else 1
    wait = pools["small"] / first["small"] if first["small"] else 0
    waited = first["small"] > START
    for name, met, text in (
        ("work", work >= -0.01, f"{100 * work:+.2f} % GPU-hours"),
        ("guarantee", below >= 0.95, f"{100 * below:.1f} % fewer seconds below a guarantee"),
        (
            "small teams",
            wait <= (0.5 if waited else 1),
            f"p95 waiting {100 * wait:.0f} % of first come"
            f"{'' if waited else ', which is the start of a Pod: nothing waits for GPUs'}",
        ),
        (
            "gangs",
            whole["never"] == 0,
            f"{whole['never']} units never ran without an end; {gangs(pools['gangs'])} until the end"
            f" of the window, first come {gangs(first['gangs'])}",
        ),
    ):
        print(f"  {'met   ' if met else 'MISSED'}  {name}: {text}")


def gangs(jobs):
    return ", ".join(
        f"{job['started']} of {job['started'] + job['neverRan']} ran after at most"
        f" {span(job['waitingSeconds'].get('max', 0))}"
        for job in jobs
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--binary", default="build/rayscaler")
    parser.add_argument("--days", type=int, default=14)
    parser.add_argument("--begin", type=int, default=35, help="the day on which the window begins")
    parser.add_argument("--loads", default="0.7,1.0,1.5")
    parser.add_argument("--busy", type=int, default=0, help="reclaim.busy.afterSeconds; 0: Never")
    parser.add_argument("--lendable", type=float, default=1, help="part of each guarantee that is lent")
    parser.add_argument(
        "--checkpoint",
        type=float,
        help="work saves checkpoints; seconds of a save and a start (default: it saves none)",
    )
    parser.add_argument("--gang-clusters", action="store_true", help="a RayCluster of its own for the placement groups of each team")
    parser.add_argument("--report", help="writes PREFIX-LOAD.html")
    parser.add_argument("traces", nargs="+", help="CSV files, one for each team")
    args = parser.parse_args()
    teams = {
        os.path.splitext(os.path.basename(path))[0]: read_jobs(path, args.begin, args.days)
        for path in args.traces
    }
    teams = {team: jobs for team, jobs in teams.items() if jobs}
    small = small_teams(teams, args.days)
    for team, jobs in teams.items():
        print(
            f"{team}: {len(jobs)} jobs, {demanded(jobs, args.days):.0f} GPU-hours"
            f"{', one of the smallest' if team in small else ''}"
        )
    for load in map(float, args.loads.split(",")):
        gpus, result, whole = simulate(args, teams, load)
        variants = {variant["name"]: variant for variant in result["variants"]}
        rows = {name: figures(variants[row], small) for name, row in POLICIES.items()}
        print(f"\nload {100 * load:.0f} %: {gpus} GPUs")
        print(
            "  POLICY      WORK GPU-H   BELOW GUARANTEE  IDLE GPU-H   JAIN  NEVER RAN  P95: "
            + "  ".join(teams)
        )
        for name, row in rows.items():
            print(
                f"  {name:10}  {row['used']:10.0f}  {span(row['below']):>16}  {row['idle']:10.0f}"
                f"  {row['jain']:5.3f}  {row['never']:9}       "
                + "  ".join(f"{span(row['waits'][team]):>6}" for team in teams)
            )
        judge(rows, figures(whole, small))
    return 0


if __name__ == "__main__":
    sys.exit(main())
