"""`make hostile`, its second part: each field that is decoded, with each hostile value, on a real kube-apiserver.

One controller with the chart's memory limit and a Lease, and an honest RayCluster that is scaled up and down all the
time. Compared with src/test/data/hostile-fields.md; ``--update`` writes the results there.

Exit status 1: a result is not the documented one, the controller ended or lost the Lease, or the honest cluster was not
scaled.
"""

import argparse
import os
import shutil
import sys

from rayscaler_e2e import paths
from rayscaler_e2e.hostile import fields
from rayscaler_e2e.hostile.bench import Bench
from rayscaler_e2e.apiserver import ApiServer


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--parts", type=int, default=1, help="try one of so many parts only")
    parser.add_argument("--part", type=int, default=0, help="which; the first is 0")
    parser.add_argument("--only", default="", help="a regular expression of kind and field, for example 'Pod status.phase'")
    parser.add_argument("--update", action="store_true", help="write the document instead of comparing")
    options = parser.parse_args()
    directory = paths.work_root() / f"hostile-fields-{os.getpid()}"
    with ApiServer(directory / "apiserver") as server:
        server.install_bench()
        bench = Bench(server, directory)
        honest = bench.honest()
        try:
            run = fields.beside(bench, honest, options.part, options.parts, options.only)
            print(run.text(), flush=True)
        finally:
            honest.stop()
            bench.stop()
    shutil.rmtree(directory)
    if options.update:
        fields.write_document({**fields.documented(), **run.results})
        return 0
    wrong = fields.differences(run.results)
    print("".join(f"FAILED {line}\n" for line in wrong), end="")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
