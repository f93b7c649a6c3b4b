"""The table of `make judge`, from what `go test -v` prints."""

import json

from judge import Judge, results_of

LOG = """
=== RUN   TestRayClusterAutoscalerWithFakeGPU
=== RUN   TestRayClusterAutoscalerWithFakeGPU/Create_a_RayCluster_with_autoscaler_v2
    test.go:104: Creating ephemeral output directory
--- FAIL: TestRayClusterAutoscalerWithFakeGPU (173.20s)
    --- PASS: TestRayClusterAutoscalerWithFakeGPU/v1 (85.40s)
    --- FAIL: TestRayClusterAutoscalerWithFakeGPU/v2 (87.80s)
--- PASS: TestRayClusterAutoscalerGCSFT (231.00s)
--- SKIP: TestRayClusterAutoscalerOther (0.00s)
FAIL
"""


def test_only_parts_count_where_a_test_has_them():
    assert results_of(LOG) == {
        "TestRayClusterAutoscalerWithFakeGPU/v1": ("PASS", 85.4),
        "TestRayClusterAutoscalerWithFakeGPU/v2": ("FAIL", 87.8),
        "TestRayClusterAutoscalerGCSFT": ("PASS", 231.0),
        "TestRayClusterAutoscalerOther": ("SKIP", 0.0),
    }


def test_the_table_has_a_column_for_each_mode_that_ran(monkeypatch, work_dir):
    monkeypatch.setenv("BUILD", str(work_dir))
    judge = Judge(work_dir, work_dir)
    (work_dir / "judge/controller.json").write_text(json.dumps(results_of(LOG)))
    (work_dir / "judge/ray.json").write_text(json.dumps({"TestRayClusterAutoscalerGCSFT": ("PASS", 240)}))
    assert judge.table() == [
        "| test | Ray's own | controller |",
        "| --- | --- | --- |",
        "| GCSFT | 240 s | 231 s |",
        "| Other | - | SKIP, 0 s |",
        "| WithFakeGPU/v1 | - | 85 s |",
        "| WithFakeGPU/v2 | - | FAIL, 88 s |",
    ]
