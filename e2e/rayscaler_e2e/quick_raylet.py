"""``ray start`` of a worker in a tenth of its time: Ray's own raylet, without its starter.

`ray start` is three Python programs (itself and two agents) around one raylet in C++. A test of what
raylets and the GCS do needs none of them: with VARIABLE in a container's environment the bench runs this.
It takes the command line of the head's raylet, which a plain `ray start --head` made, changes the parts of
the head, and runs that raylet. In place of the agents it gets processes that do nothing; metrics and runtime
environments do not work. A container whose variables change what `ray start` finds has `ray start`.

    python quick_raylet.py RAY start --node-ip-address=IP --temp-dir=DIR --address=HEAD:PORT ...
"""

import json
import os
import secrets
import signal
import subprocess
import sys
import time

VARIABLE = "RAYSCALER_BENCH_QUICK_RAYLET"
HEAD_SECONDS = 30.0
STOP_SECONDS = 5.0
# In bytes; `ray start` would look for a tenth of the machine's.
OBJECT_STORE_BYTES = "80000000"
IDLE_AGENT = "/bin/sleep 1000000"
AGENT_PORTS = ("dashboard_agent_listen_port", "metrics_agent_port", "metrics_export_port", "runtime_env_agent_port")
# Read by `ray start` alone.
OVERRIDE = "RAY_OVERRIDE_RESOURCES"
_DROPPED = ("--head", "--num_prestart_python_workers")


def main() -> None:
    ray, words = sys.argv[1], sys.argv[2:]
    if "--head" in words or words[:1] != ["start"] or OVERRIDE in os.environ:
        os.execv(ray, [ray, *words])
    options = dict(word[2:].split("=", 1) for word in words[1:] if word.startswith("--") and "=" in word)
    command = command_line(head_raylet(options["address"]), options)
    flags = flags_of(command)
    for directory in (flags["--log_dir"], os.path.dirname(flags["--raylet_socket_name"]), flags["--resource_dir"]):
        os.makedirs(directory, exist_ok=True)
    # Where a raylet waits to read the ports of its agents; -1 is what agents without a port write.
    for name in AGENT_PORTS:
        with open(f"{flags['--session_dir']}/{name}_{flags['--node_id']}", "w", encoding="utf-8") as file:
            file.write(port_of_idle_agent(name))
    sys.exit(block(command))


def port_of_idle_agent(name: str) -> str:
    return "1" if name == "runtime_env_agent_port" else "-1"


def block(command: list) -> int:
    """As `ray start --block`: a raylet that ended in good order, for example drained, is not the end of
    the container; SIGTERM is."""
    raylet = subprocess.Popen(command)

    def end(*_: object) -> None:
        raylet.terminate()
        try:
            raylet.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            raylet.kill()
        os._exit(0)

    signal.signal(signal.SIGTERM, end)
    print("Ray runtime started.", flush=True)
    if raylet.wait() not in (0, -signal.SIGTERM):
        return 1
    while True:
        signal.pause()


def head_raylet(address: str) -> list:
    """The command line of the raylet beside the GCS at ``address``."""
    deadline = time.monotonic() + HEAD_SECONDS
    while time.monotonic() < deadline:
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", encoding="utf-8") as file:
                    words = file.read().split("\0")[:-1]
            except OSError:
                continue
            if words and words[0].endswith("/raylet") and "--head" in words and f"--gcs-address={address}" in words:
                return words
        time.sleep(0.1)
    sys.exit(f"no raylet of the head at {address}")


def flags_of(command: list) -> dict:
    return dict(word.split("=", 1) for word in command[1:] if "=" in word)


def command_line(head: list, options: dict) -> list:
    """That of a worker's raylet. ``options``: those of `ray start`."""
    flags = flags_of(head)
    here = options["node-ip-address"]
    own = {
        "--static_resource_list": resources(options, here),
        "--labels": json.dumps({"ray.io/node-group": os.environ.get("RAY_NODE_TYPE_NAME", ""), **labels(options)}),
        "--dashboard_agent_command": IDLE_AGENT,
        "--runtime_env_agent_command": IDLE_AGENT,
        "--object_store_memory": options.get("object-store-memory", OBJECT_STORE_BYTES),
        "--maximum_startup_concurrency": "1",
    }
    changes = [
        (flags["--gcs-address"], "GCS-ADDRESS"),
        (flags["--node_ip_address"], here),
        (flags["--temp_dir"], options["temp-dir"]),
        (flags["--node_id"], secrets.token_hex(28)),
        ("GCS-ADDRESS", flags["--gcs-address"]),
    ]
    command = [head[0]]
    for word in head[1:]:
        name = word.split("=", 1)[0]
        if name in _DROPPED:
            continue
        if name in own:
            word = f"{name}={own[name]}"
        else:
            for old, new in changes:
                word = word.replace(old, new)
        command.append(word)
    return [*command, "--num_prestart_python_workers=0"]


def labels(options: dict) -> dict:
    return dict(pair.split("=", 1) for pair in options.get("labels", "").split(",") if pair)


def resources(options: dict, here: str) -> str:
    found = {"CPU": options.get("num-cpus", "1"), "GPU": options.get("num-gpus", "0")}
    if "memory" in options:
        found["memory"] = options["memory"]
    found["object_store_memory"] = options.get("object-store-memory", OBJECT_STORE_BYTES)
    found[f"node:{here}"] = "1"
    found.update(json.loads(options.get("resources", "{}").strip("'") or "{}"))
    return ",".join(f"{name},{amount}" for name, amount in found.items() if str(amount) != "0")


if __name__ == "__main__":
    main()
