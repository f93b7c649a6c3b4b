"""A sample of `make torture` (all of it: docs/internals/reliability.md), and the counts and the output of torture."""

import pytest

from rayscaler_e2e import torture
from rayscaler_e2e.torture import Cell, Result, Slot

# A drain that does not arrive, a patch with a worker whose answer is lost, and a GCS with a reply from a
# time without work.
SAMPLE = (
    Cell("DrainNode", "down", "reset-before", 1),
    Cell("PATCH rayclusters workersToDelete", "down", "reset-after", 1),
    Cell("GetClusterResourceState", "busy", "old-reply", 1),
)


# Single faults at the API server, Ray and the process: test_scale_faults.py, test_kill.py.
@pytest.mark.test_all
def test_a_sample(api_server, standins, work_dir, artefacts):
    artefacts.log("operator", standins.work_dir / "operator.log")
    slot = Slot(api_server, 0, work_dir)
    artefacts.namespace(slot.namespace, api_server)
    try:
        for cell in SAMPLE:
            result = slot.run(cell)
            if result.end == "blind":
                result = slot.run(cell)
            print(f"{cell.kind} {cell.row}: {result.end} after {result.seconds:.1f} s, recovered {result.recovered}")
            assert result.end == "same" and result.most == torture.WORKERS, result
    finally:
        slot.close()


COUNTS = ({"LIST pods @start": 1, "DrainNode @down": 2, "POST events": 9}, {"LIST pods @start": 1, "DrainNode @down": 1})


def test_cells_are_every_request_of_every_clean_run_by_every_fault():
    cells = torture.cells_of(COUNTS, 1)
    assert {cell.row for cell in cells} == {"LIST pods @start", "DrainNode @down"}
    assert len(cells) == len(set((cell.row, cell.kind) for cell in cells)) == 10 + 13
    assert {cell.number for cell in cells} == {1}
    assert all(cell.name == "DrainNode" for cell in cells[:13])
    assert torture.cells_of(COUNTS, 1) == cells != torture.cells_of(COUNTS, 2)
    parts = [torture.shard(cells, f"{part}/3") for part in (1, 2, 3)]
    assert sorted(sum(parts, [])) == sorted(cells)
    assert torture.classes(COUNTS) == ([("DrainNode @down", 1), ("LIST pods @start", 1)], [("POST events", 9)])


def test_the_table_shows_what_did_not_end_the_same():
    cells = [Cell("LIST pods", "start", kind, 1) for kind in ("500", "stall", "429", "410")]
    ends = [("same", 1.25), ("harmed", 2.0), ("missed", None), ("same", None)]
    results = [Result(cell, end, recovered=recovered) for cell, (end, recovered) in zip(cells, ends)]
    head, line = torture.table(results)
    assert head.split() == ["stall", "410", "429", "500"]
    assert line.split() == ["LIST", "pods", "@start", "HARMED", ".", "MISSED", "1.2"]
    figures = torture.summary(results, [Result(None, "same", seconds=9.0)])
    assert (figures["runs"], figures["faults"], figures["busy"], figures["not asked again"]) == (4, 3, 1, 2)
    assert results[0].as_json()["end"] == "same"
