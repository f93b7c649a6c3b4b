"""kill -9 at any moment: a sample of `make torture-kill`, which has hundreds of kills."""

import random
import socket
from contextlib import closing

from rayscaler_e2e import kills
from rayscaler_e2e.ports import free_port
from rayscaler_e2e.kill_relay import Aim, GcsRelay
from rayscaler_e2e.kills import Bench, ControllerTarget

KILLS = 15
# On a fast machine the story is over before: then it runs again.
FEWEST = 8
AIM_SECONDS = 4.0
EMPTY_DATA_FRAME = bytes(9)
# The result of the story without kills: torture_kill.py measures it.
CALM = kills.Outcome(most_replicas=2, most_pods=2)


def test_a_controller_killed_at_any_moment_ends_the_same(api_server, standins, namespace, work_dir, artefacts):
    seed = random.randrange(1 << 32)
    print(f"seed {seed}")
    with closing(Bench(api_server, namespace, work_dir)) as bench:
        # A kill between Ray's yes to a drain and the patch leaves a Pod without a raylet for so long.
        target = ControllerTarget(bench, "--raylet-gone-seconds", "10")
        artefacts.log("controller", target.log)
        try:
            plan = kills.shots(seed, kills.any_moment, ["patch", "drain", "status", "event"], AIM_SECONDS)
            killed = 0
            while killed < FEWEST:
                outcome = bench.run(target, plan, KILLS)
                print(f"{len(outcome.kills)} kills in {outcome.seconds:.1f} s: {[kill.how for kill in outcome.kills]}")
                assert outcome.problems(CALM) == [] and outcome.kills
                killed += len(outcome.kills)
        finally:
            target.stop()


def test_the_second_of_two_drains_takes_no_shot_away():
    """They leave in one moment, not always in one piece."""
    aim = Aim()
    with socket.create_server(("127.0.0.1", 0)) as gcs, GcsRelay(aim, free_port(), gcs.getsockname()) as relay:
        aim.arm("drain", "unanswered", lambda: None)
        with socket.create_connection(("127.0.0.1", relay.port)) as client:
            upstream = gcs.accept()[0]
            for _ in range(2):
                client.sendall(b"idle for 2 s")
                assert upstream.recv(100) == b"idle for 2 s"
            upstream.sendall(EMPTY_DATA_FRAME)
            assert aim.hit.wait(20)
            upstream.close()
