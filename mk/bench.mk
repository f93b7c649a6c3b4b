# Measurements, fleets of clusters and faults. Figures: docs/internals/performance.md, reliability.md.

BENCHES := schedule decide growth gpus share simulate-speed lint workload schedule-ray reaction head events list
## bench: all of bench-NAME
bench: $(BENCHES:%=bench-%)

## bench-schedule: time and memory of the packing at large sizes, and how they grow
BENCH_SCHEDULE ?= rows growth families
bench-schedule: $(BUILD)/tools/core_schedule_bench
	@for part in $(BENCH_SCHEDULE); do $< $$part || exit 1; done
## bench-decide: time and memory of whole decisions on snapshots
bench-decide: $(BUILD)/tools/codec_decide_bench $(BUILD)/tools/codec_growth_bench
	@$(PYTHON) e2e/conformance/bench_decide.py --tool $< --costs $(word 2,$^) $(SIZES)
## bench-growth: decisions on snapshots with each list, and each pair of lists, multiplied: what grows too fast
##   GROWTH="--only nodes[] --part 1/16"
GROWTH ?=
GROWTH_KNOWN := src/test/data/growth-known.txt
bench-growth: $(BUILD)/tools/codec_growth_bench
	@$< --jobs $(JOBS) --known $(GROWTH_KNOWN) $(GROWTH)
## bench-gpus: GPUs that --packing=ray and fewest-gpus launch, beside a lower bound
GPU_PROBLEMS ?= 1000
bench-gpus: $(BUILD)/tools/core_gpus_bench
	@$< $(GPU_PROBLEMS)
## bench-share: time to share a pool between 1,000 clusters with 10,000 waiting units, and how it grows
bench-share: $(BUILD)/tools/core_share_bench
	@$<
## bench-simulate-speed: time and memory of simulations of a week, against tasks and workers
SIM_SIZE ?=
bench-simulate-speed: $(BUILD)/tools/sim_bench
	@$< $(SIM_SIZE)
## bench-pools: teams of a public trace under GPUPools and three other policies; TRACES: its CSV files
##   (e2e/bench_pools.py names them), BENCH="--days 7 --busy 600"
bench-pools: $(PROGRAMS)
	@$(PYTHON) e2e/bench_pools.py --binary $< $(BENCH) $(TRACES)
.PHONY: bench-pools
## bench-lint: lint of 1,000 files beside reading them alone; the program on a directory of them
LINT_FILES := $(filter-out %.snapshot.yaml,$(wildcard examples/*.yaml))
LINT_COUNT ?= 1000
bench-lint: $(BUILD)/tools/codec_lint_bench $(BUILD)/rayscaler
	@$< $(LINT_COUNT) $(LINT_FILES)
	@rm -rf $(BUILD)/bench-lint; mkdir $(BUILD)/bench-lint; i=0; while [ $$i -lt $(LINT_COUNT) ]; do \
		for f in $(LINT_FILES); do [ $$i -lt $(LINT_COUNT) ] || break; \
			cp $$f $(BUILD)/bench-lint/$$i.yaml; i=$$((i+1)); done; done
	@TIMEFORMAT='rayscaler lint -f DIRECTORY    %R s, %U s of CPU'; \
		time $(BUILD)/rayscaler lint -f $(BUILD)/bench-lint > $(BUILD)/bench-lint.txt
## bench-workload: time to read 100,000 items of a workload as YAML, JSON lines and CSV
WORKLOAD_ITEMS ?= 100000
bench-workload: $(BUILD)/tools/codec_workload_bench
	@$< $(WORKLOAD_ITEMS)
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
bench-reaction: $(PROGRAMS)
	@e2e/setup-apiserver.sh
	@$(PYTHON) e2e/bench_reaction.py $(BENCH)
## bench-answer: from .remote() to an actor's first answer in a real Pod, both autoscalers, on the node of `make node`
bench-answer: $(PROGRAMS)
	@$(PYTHON) e2e/bench_answer.py $(BENCH)
## bench-head: CPU that reading costs a real Ray head of 1, 100 and 1,000 nodes; BENCH="--rounds 5"
bench-head: $(PROGRAMS)
	@e2e/setup-apiserver.sh
	@$(PYTHON) e2e/bench_head.py $(BENCH)
## timeline: the workload of docs/pictures/timeline.svg with Ray's autoscaler and with rayscaler
## sharing: three teams in one GPUPool with real Ray, the run of docs/pictures/sharing.svg
##   OUT: the folder of the run's figures; then no picture is drawn
OUT ?=
timeline sharing: $(PROGRAMS)
	@e2e/setup-apiserver.sh
	@$(PYTHON) e2e/measure_$@.py $(if $(OUT),--out '$(OUT)')
	@[ -n '$(OUT)' ] || { cd e2e && PYTHONDONTWRITEBYTECODE=1 "$$(./setup-python.sh)" -m rayscaler_e2e.drawings; }
## bench-simulate: workloads on real Ray beside their simulation; WORKLOADS="bursts day" selects
WORKLOADS ?=
bench-simulate: $(PROGRAMS)
	@e2e/setup-apiserver.sh
	@$(PYTHON) e2e/bench_simulate.py $(WORKLOADS)
.PHONY: timeline sharing bench-simulate
## bench-events: what the watch of Events costs, at rest and in a flood
bench-events: $(PROGRAMS)
	@e2e/setup-apiserver.sh
	@$(PYTHON) e2e/bench_events.py $(BENCH)
## bench-suspend: drivers that connect while idle termination suspends their cluster
##   with KubeRay's own operator: RAYSCALER_KUBERAY_OPERATOR and _CRDS of e2e/setup-kuberay.sh
bench-suspend: $(PROGRAMS)
	@e2e/setup-apiserver.sh
	@$(PYTHON) e2e/bench_suspend.py $(BENCH)
## bench-libraries: GPU-seconds that work of Ray Data, Train, Tune and Serve holds and uses; BENCH="--work tune"
bench-libraries: $(PROGRAMS)
	@e2e/setup-apiserver.sh
	@$(PYTHON) e2e/bench_libraries.py $(BENCH)
## bench-list: the first list of 10,000 and 100,000 Pods; LIST: numbers of RayClusters of 10 Pods
LIST ?=
bench-list: $(BUILD)/tools/kube_list_bench $(BUILD)/tools/gcs_fleet
	@$(PYTHON) e2e/bench_list.py $(LIST)
.PHONY: bench $(BENCHES:%=bench-%) bench-libraries

# make test-all runs each of these at its smallest size, so that none rots: target, and its variables. Those with real Ray
# take one to four minutes.
SMALL_BENCHES := $(BENCHES:%=bench-%) bench-pools fleet hostile soak timeline sharing bench-simulate bench-suspend \
	bench-libraries
SMALL_bench-schedule := BENCH_SCHEDULE=rows
SMALL_bench-decide := SIZES=20x100x8
SMALL_bench-growth := GROWTH='--part 1/100000'
SMALL_bench-gpus := GPU_PROBLEMS=20
SMALL_bench-simulate-speed := SIM_SIZE='1000 10'
SMALL_bench-lint := LINT_COUNT=10
SMALL_bench-workload := WORKLOAD_ITEMS=1000
SMALL_bench-schedule-ray := SIZES=20x100x8
SMALL_bench-reaction := BENCH='--rounds 1 --sample-seconds 2'
SMALL_bench-head := BENCH='--nodes 1 --rounds 1 --sample-seconds 2'
SMALL_bench-events := BENCH='--rest-seconds 5 --events 100'
SMALL_bench-list := LIST=10
SMALL_bench-pools := BENCH='--begin 0 --days 1 --loads 1' TRACES='$(BUILD)/small-benches/a.csv $(BUILD)/small-benches/b.csv'
SMALL_timeline := OUT='$(BUILD)/small-benches'
SMALL_sharing := OUT='$(BUILD)/small-benches'
SMALL_bench-simulate := WORKLOADS=one
SMALL_bench-suspend := BENCH='--arrivals 1 --clusters 1'
SMALL_bench-libraries := BENCH='--run off --blocks 4 --dry-seconds 1 --steps 20 --trials 2 --bursts 1'
SMALL_fleet := FLEET=10 FLEET_FLAGS='--seconds 2'
SMALL_hostile := HOSTILE='--clusters 20 --seconds 2 --rounds 1 --each 2 --scale 0.001 --only request-resources'
SMALL_soak := SOAK='--minutes 0.1 --clusters 20 --seconds 2 --each 2 --scale 0.001 --only "numbers|changing"'
## small-benches: every bench target at its smallest size, one line each; SMALL_BENCHES="bench-gpus fleet"
small-benches: $(SMALL_BENCHES:%=small-%)
$(SMALL_BENCHES:%=small-%): small-%:
	@mkdir -p $(BUILD)/small-benches $(RESULTS)
	@if $(MAKE) --no-print-directory $* $(SMALL_$*) > $(BUILD)/small-benches/$*.log 2>&1; \
		then line='1 0'; else line='0 1'; tail -n 20 $(BUILD)/small-benches/$*.log; fi; \
		echo "benches:$* $$line 0" | tee -a $(RESULTS)/benches.count; [ "$$line" = '1 0' ]
# In place of the public traces, which are not part of the repository: a job of four GPUs an hour.
small-bench-pools: $(BUILD)/small-benches/a.csv $(BUILD)/small-benches/b.csv
$(BUILD)/small-benches/%.csv:
	@mkdir -p $(@D)
	@{ echo num_gpu,submit_time,duration; for hour in $$(seq 0 23); do echo 4,$$((hour * 3600000)),1800000; done; } > $@
test-benches:
	@mkdir -p $(RESULTS); rm -f $(RESULTS)/benches.count
	@$(MAKE) --no-print-directory -k -j1 small-benches
.PHONY: small-benches $(SMALL_BENCHES:%=small-%) test-benches

## fleet: one controller on FLEET (100 1000 10000) RayClusters of FLEET_PODS (10) Pods: CPU, memory,
##   requests, demand to patch; FLEET_FLAGS="--seconds 60 --autoscalers --flags --kube-api-qps 1000"
FLEET ?= 100 1000 10000
FLEET_PODS ?= 10
FLEET_FLAGS ?=
fleet: $(PROGRAMS) $(BUILD)/tools/gcs_fleet
	@$(PYTHON) e2e/bench_fleet.py $(FLEET) --pods $(FLEET_PODS) $(FLEET_FLAGS)
## hostile: the same beside hostile tenants: honest p99, memory, longest turn, Lease, ends
##   HOSTILE="--clusters 100 --only flood"
HOSTILE ?=
hostile: $(PROGRAMS) $(BUILD)/tools/gcs_fleet
	@$(PYTHON) e2e/hostile.py $(HOSTILE)
	@$(if $(HOSTILE),,$(MAKE) --no-print-directory hostile-fields)
## soak: an hour of hostile tenants that come and go: what has grown; SOAK="--minutes 10 --clusters 50"
SOAK ?=
soak: $(PROGRAMS) $(BUILD)/tools/gcs_fleet
	@$(PYTHON) e2e/soak.py $(SOAK)
## hostile-fields: each decoded field with each hostile value on a real kube-apiserver; part of hostile
##   HOSTILE_FIELDS="--only 'Pod status' --parts 6"; --update writes src/test/data/hostile-fields.md
HOSTILE_FIELDS ?=
hostile-fields: $(PROGRAMS) $(BUILD)/tools/kube_hostile_fields
	@e2e/setup-apiserver.sh
	@$(PYTHON) e2e/hostile_fields.py $(HOSTILE_FIELDS)
## torture: every request of a scenario fails once, in each way; a sample is in make test
##   SEED, SHARD=2/5: the second of five parts, TORTURE="--slots 2 --minutes 30 --only DrainNode"
SHARD ?= 1/1
TORTURE ?=
torture: $(PROGRAMS)
	@e2e/setup-apiserver.sh
	@$(PYTHON) e2e/torture.py --seed $(SEED) --shard $(SHARD) $(TORTURE)
## torture-kill: kill -9 of the program KILLS (240) times, in controller mode with and without an
##   election and in sidecar mode; KILL_FLAGS="--seed 1 --modes sidecar"
KILLS ?= 240
KILL_FLAGS ?=
torture-kill: $(PROGRAMS)
	@e2e/setup-apiserver.sh
	@$(PYTHON) e2e/torture_kill.py --kills $(KILLS) $(KILL_FLAGS)
.PHONY: fleet hostile soak hostile-fields torture torture-kill
