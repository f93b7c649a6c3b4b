# Measurements, fleets of clusters and faults. Figures: docs/internals/performance.md, reliability.md.

BENCHES := schedule decide gpus share simulate-speed lint workload schedule-ray reaction head events list
## bench: all of bench-NAME
bench: $(BENCHES:%=bench-%)

## bench-schedule: time and memory of the packing at large sizes, and how they grow
bench-schedule: $(BUILD)/tools/core_schedule_bench
	@$< && $< growth && $< families
## bench-decide: time and memory of whole decisions on snapshots
bench-decide: $(BUILD)/tools/codec_decide_bench
	@$(PYTHON) e2e/conformance/bench_decide.py --tool $<
## bench-gpus: GPUs that --packing=ray and fewest-gpus launch, beside a lower bound
bench-gpus: $(BUILD)/tools/core_gpus_bench
	@$< 1000
## bench-share: time to share a pool between 1,000 clusters with 10,000 waiting units, and how it grows
bench-share: $(BUILD)/tools/core_share_bench
	@$<
## bench-simulate-speed: time and memory of simulations of a week, against tasks and workers
bench-simulate-speed: $(BUILD)/tools/sim_bench
	@$<
## bench-pools: teams of a public trace under GPUPools and three other policies; TRACES: its CSV files
##   (e2e/bench_pools.py names them), BENCH="--days 7 --busy 600"
bench-pools: $(BUILD)/rayscaler
	@$(PYTHON) e2e/bench_pools.py --binary $< $(BENCH) $(TRACES)
.PHONY: bench-pools
## bench-lint: lint of 1,000 files beside reading them alone; the program on a directory of them
LINT_FILES := $(filter-out %.snapshot.yaml,$(wildcard examples/*.yaml))
bench-lint: $(BUILD)/tools/codec_lint_bench $(BUILD)/rayscaler
	@$< 1000 $(LINT_FILES)
	@rm -rf $(BUILD)/bench-lint; mkdir $(BUILD)/bench-lint; i=0; while [ $$i -lt 1000 ]; do \
		for f in $(LINT_FILES); do [ $$i -lt 1000 ] || break; \
			cp $$f $(BUILD)/bench-lint/$$i.yaml; i=$$((i+1)); done; done
	@TIMEFORMAT='rayscaler lint -f DIRECTORY    %R s, %U s of CPU'; \
		time $(BUILD)/rayscaler lint -f $(BUILD)/bench-lint > $(BUILD)/bench-lint.txt
## bench-workload: time to read 100,000 items of a workload as YAML, JSON lines and CSV
bench-workload: $(BUILD)/tools/codec_workload_bench
	@$<
## bench-schedule-ray: the packing's time beside Ray's scheduler; LIMIT (1800) seconds of CPU for
##   each size, SIZES: nodes x tasks x shapes, as 1000x10000x20
LIMIT ?= 1800
SIZES ?=
bench-schedule-ray: $(BUILD)/tools/codec_schedule $(BUILD)/rayscaler
	@$(PYTHON) e2e/conformance/bench_ray.py \
		--tool $< --program $(BUILD)/rayscaler --limit $(LIMIT) $(SIZES)
## bench-reaction: reaction, memory and CPU beside Ray's own autoscaler; BENCH="--rounds 5"
##   BENCH=--write: docs/figures.json and the pages that show it
BENCH ?=
bench-reaction: $(BUILD)/rayscaler
	@e2e/setup-apiserver.sh
	@$(PYTHON) e2e/bench_reaction.py $(BENCH)
## bench-head: CPU that reading costs a real Ray head of 1, 100 and 1,000 nodes; BENCH="--rounds 5"
bench-head: $(BUILD)/rayscaler
	@e2e/setup-apiserver.sh
	@$(PYTHON) e2e/bench_head.py $(BENCH)
## timeline: the workload of docs/pictures/timeline.svg with Ray's autoscaler and with rayscaler
timeline: $(BUILD)/rayscaler
	@e2e/setup-apiserver.sh
	@$(PYTHON) e2e/measure_timeline.py
	@cd e2e && PYTHONDONTWRITEBYTECODE=1 "$$(./setup-python.sh)" -m rayscaler_e2e.drawings
## sharing: three teams in one GPUPool with real Ray, the run of docs/pictures/sharing.svg
sharing: $(BUILD)/rayscaler
	@e2e/setup-apiserver.sh
	@$(PYTHON) e2e/measure_sharing.py
	@cd e2e && PYTHONDONTWRITEBYTECODE=1 "$$(./setup-python.sh)" -m rayscaler_e2e.drawings
## bench-simulate: workloads on real Ray beside their simulation; WORKLOADS="bursts day" selects
WORKLOADS ?=
bench-simulate: $(BUILD)/rayscaler
	@e2e/setup-apiserver.sh
	@$(PYTHON) e2e/bench_simulate.py $(WORKLOADS)
.PHONY: timeline sharing bench-simulate
## bench-events: what the watch of Events costs, at rest and in a flood
bench-events: $(BUILD)/rayscaler
	@e2e/setup-apiserver.sh
	@$(PYTHON) e2e/bench_events.py $(BENCH)
## bench-suspend: drivers that connect while idle termination suspends their cluster
##   with KubeRay's own operator: RAYSCALER_KUBERAY_OPERATOR and _CRDS of e2e/setup-kuberay.sh
bench-suspend: $(BUILD)/rayscaler
	@e2e/setup-apiserver.sh
	@$(PYTHON) e2e/bench_suspend.py $(BENCH)
## bench-list: the first list of 10,000 and 100,000 Pods; LIST: numbers of RayClusters of 10 Pods
LIST ?=
bench-list: $(BUILD)/tools/kube_list_bench $(BUILD)/tools/gcs_fleet
	@$(PYTHON) e2e/bench_list.py $(LIST)
.PHONY: bench $(BENCHES:%=bench-%)

## fleet: one controller on FLEET (100 1000 10000) RayClusters of FLEET_PODS (10) Pods: CPU, memory,
##   requests, demand to patch; FLEET_FLAGS="--seconds 60 --autoscalers --flags --kube-api-qps 1000"
FLEET ?= 100 1000 10000
FLEET_PODS ?= 10
FLEET_FLAGS ?=
fleet: $(BUILD)/rayscaler $(BUILD)/tools/gcs_fleet
	@$(PYTHON) e2e/bench_fleet.py $(FLEET) --pods $(FLEET_PODS) $(FLEET_FLAGS)
## hostile: the same beside hostile tenants: honest p99, memory, longest turn, Lease, ends
##   HOSTILE="--clusters 100 --only flood"
HOSTILE ?=
hostile: $(BUILD)/rayscaler $(BUILD)/tools/gcs_fleet
	@$(PYTHON) e2e/hostile.py $(HOSTILE)
	@$(if $(HOSTILE),,$(MAKE) --no-print-directory hostile-fields)
## hostile-fields: each decoded field with each hostile value on a real kube-apiserver; part of hostile
##   HOSTILE_FIELDS="--only 'Pod status' --parts 6"; --update writes src/test/data/hostile-fields.md
HOSTILE_FIELDS ?=
hostile-fields: $(BUILD)/rayscaler $(BUILD)/tools/kube_hostile_fields
	@e2e/setup-apiserver.sh
	@$(PYTHON) e2e/hostile_fields.py $(HOSTILE_FIELDS)
## torture: every request of a scenario fails once, in each way; a sample is in make test
##   SEED, SHARD=2/5: the second of five parts, TORTURE="--slots 2 --minutes 30 --only DrainNode"
SHARD ?= 1/1
TORTURE ?=
torture: $(BUILD)/rayscaler
	@e2e/setup-apiserver.sh
	@$(PYTHON) e2e/torture.py --seed $(SEED) --shard $(SHARD) $(TORTURE)
## torture-kill: kill -9 of the program KILLS (240) times, in controller mode with and without an
##   election and in sidecar mode; KILL_FLAGS="--seed 1 --modes sidecar"
KILLS ?= 240
KILL_FLAGS ?=
torture-kill: $(BUILD)/rayscaler
	@e2e/setup-apiserver.sh
	@$(PYTHON) e2e/torture_kill.py --kills $(KILLS) $(KILL_FLAGS)
.PHONY: fleet hostile hostile-fields torture torture-kill
