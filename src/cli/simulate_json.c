#include "cli/simulate_text.h"

#include "codec/text/json_write.h"

static double seconds(int64_t ms)
{
	return (double)ms / 1000;
}

static void write_waits(struct json_writer *writer, const struct simulate_waits *waits)
{
	json_write_integer(writer, "started", waits->started);
	json_write_integer(writer, "neverRan", waits->unstarted);
	json_write_object_line(writer, "waitingSeconds");
	if (waits->started > 0) {
		json_write_double(writer, "p50", seconds(waits->p50_ms));
		json_write_double(writer, "p95", seconds(waits->p95_ms));
		json_write_double(writer, "max", seconds(waits->max_ms));
	}
	json_write_object_end(writer);
	json_write_object_line(writer, "unweightedWaitingSeconds");
	if (waits->started > 0) {
		json_write_double(writer, "p50", seconds(waits->item_p50_ms));
		json_write_double(writer, "p95", seconds(waits->item_p95_ms));
	}
	json_write_object_end(writer);
	json_write_double(writer, "waitedGPUHours", waits->waited);
}

static void write_lists(struct json_writer *writer, const struct simulate_row *row)
{
	json_write_array(writer, "jobs");
	for (size_t i = 0; i < row->job_count; i++) {
		json_write_object_line(writer, NULL);
		json_write_text(writer, "job", row->jobs[i].job);
		write_waits(writer, &row->jobs[i].waits);
		json_write_object_end(writer);
	}
	json_write_array_end(writer);
	json_write_array(writer, "reasons");
	for (size_t i = 0; i < row->never_count; i++) {
		json_write_object_line(writer, NULL);
		json_write_text(writer, "job", row->never[i].job);
		json_write_integer(writer, "count", row->never[i].count);
		JSON_WRITE_TEXTS(writer, { "reason", row->never[i].reason },
				 { "message", row->never[i].message });
		json_write_object_end(writer);
	}
	json_write_array_end(writer);
}

static void write_queues(struct json_writer *writer, const struct simulate_row *row, size_t pool)
{
	json_write_array(writer, "queues");
	for (size_t i = 0; i < row->queue_count; i++) {
		const struct simulate_queue *queue = &row->queues[i];

		if (queue->pool != pool)
			continue;
		json_write_object(writer, NULL);
		json_write_text(writer, "name", queue->name);
		json_write_double(writer, "usedGPUHours", queue->used);
		json_write_double(writer, "lostGPUHours", queue->lost);
		json_write_double(writer, "heldGPUHours", queue->held);
		json_write_double(writer, "idleWhileOthersWaitedGPUHours",
				  queue->idle_while_others_waited);
		json_write_double(writer, "belowGuaranteeSeconds",
				  seconds(queue->below_guarantee_ms));
		write_waits(writer, &queue->waits);
		json_write_object_end(writer);
	}
	json_write_array_end(writer);
}

static void write_pools(struct json_writer *writer, const struct simulate_row *row)
{
	json_write_array(writer, "gpuPools");
	for (size_t i = 0; i < row->pool_count; i++) {
		const struct simulate_pool *pool = &row->pools[i];

		json_write_object(writer, NULL);
		json_write_text(writer, "name", pool->name);
		json_write_amount(writer, "gpus", pool->gpus);
		json_write_amount(writer, "peak", pool->peak);
		json_write_double(writer, "contendedSeconds", seconds(pool->contended_ms));
		if (pool->contended_ms > 0)
			json_write_double(writer, "jain", pool->jain);
		write_queues(writer, row, i);
		json_write_object_end(writer);
	}
	json_write_array_end(writer);
}

static void write_cost(struct json_writer *writer, const struct simulate_row *row, size_t i)
{
	json_write_text(writer, "market", price_market_name(row->costs[i].market));
	if (row->costs[i].has_price)
		json_write_double(writer, "cost", row->costs[i].cost);
	json_write_boolean(writer, "unpriced", simulate_row_lacks_price(row, i));
	json_write_double(writer, "gpuHours", simulate_gpu_hours(row->groups[i].provisioned));
}

static void write_groups(struct json_writer *writer, const struct simulate_row *row)
{
	json_write_array(writer, "groups");
	for (size_t i = 0; i < row->group_count; i++) {
		const struct sim_group *group = &row->groups[i];

		json_write_object(writer, NULL);
		JSON_WRITE_TEXTS(writer, { "cluster", group->cluster }, { "name", group->name });
		write_cost(writer, row, i);
		json_write_integer(writer, "peakWorkers", group->peak_workers);
		json_write_integer(writer, "interruptions", group->interruptions);
		json_write_array(writer, "targets");
		for (size_t j = 0; j < group->mark_count; j++) {
			const struct sim_mark *mark = &group->marks[j];

			json_write_object_line(writer, NULL);
			json_write_double(writer, "at", seconds(mark->at_ms));
			json_write_integer(writer, "from", mark->from);
			json_write_integer(writer, "to", mark->to);
			json_write_text(writer, "reason", mark->reason);
			json_write_object_end(writer);
		}
		json_write_array_end(writer);
		json_write_integer(writer, "targetsOmitted", (int64_t)group->marks_dropped);
		json_write_object_end(writer);
	}
	json_write_array_end(writer);
}

static void write_variant(struct json_writer *writer, const struct simulate_plan *plan,
			  size_t index)
{
	const struct simulate_variant *variant = &plan->variants.at[index];
	const struct simulate_row *const *rows = simulate_rows(plan);
	const struct simulate_row *row = &variant->row;
	size_t count = plan->variants.count, first = simulate_row_first(rows, count, index);

	json_write_object(writer, NULL);
	json_write_text(writer, "name", variant->name);
	json_write_object_line(writer, "vary");
	if (variant->values)
		for (size_t i = 0; i < plan->axis_count; i++)
			json_write_text(writer, plan->axes[i].path, variant->values[i]);
	json_write_object_end(writer);
	json_write_text(writer, "policy", sim_policy_name(variant->input.policy));
	json_write_boolean(writer, "best", simulate_row_is_starred(rows, count, index));
	if (first != index)
		json_write_text(writer, "sameAs", plan->variants.at[first].name);
	if (row->has_cost)
		json_write_double(writer, "cost", row->cost);
	json_write_object_line(writer, "gpuHours");
	json_write_double(writer, "provisioned", row->provisioned);
	json_write_double(writer, "used", row->used);
	json_write_double(writer, "idle", row->idle);
	json_write_double(writer, "starting", row->starting);
	json_write_double(writer, "terminating", row->terminating);
	json_write_object_end(writer);
	write_waits(writer, &row->waits);
	json_write_integer(writer, "finished", row->finished);
	json_write_integer(writer, "restarted", row->restarted);
	json_write_double(writer, "makespanSeconds", seconds(row->makespan_ms));
	json_write_double(writer, "endSeconds", seconds(row->end_ms));
	json_write_amount(writer, "peakGPUs", row->peak_gpus);
	json_write_double(writer, "headHours", seconds(row->head_ms) / 3600);
	json_write_integer(writer, "suspensions", row->suspensions);
	json_write_integer(writer, "resizes", row->resizes);
	json_write_integer(writer, "scaleUps", row->scale_ups);
	json_write_integer(writer, "decisions", row->decisions);
	write_groups(writer, row);
	if (row->pool_count > 0)
		write_pools(writer, row);
	write_lists(writer, row);
	json_write_object_end(writer);
}

void simulate_json_write(const struct simulate_plan *plan, struct buf *buf)
{
	const struct simulate_row *const *rows = simulate_rows(plan);
	struct json_writer writer;

	json_write_init(&writer, buf, JSON_STYLE_PRETTY);
	json_write_object(&writer, NULL);
	JSON_WRITE_TEXTS(&writer, { "apiVersion", "rayscaler.dev/v1alpha1" },
			 { "kind", "SimulationResult" });
	if (plan->prices)
		json_write_text(&writer, "currency", plan->prices->currency);
	json_write_array_line(&writer, "warnings");
	VEC_EACH(const char *const, note, &plan->notes)
		json_write_text(&writer, NULL, *note);
	json_write_array_end(&writer);
	json_write_array(&writer, "variants");
	for (size_t i = 0; i < plan->variants.count; i++)
		write_variant(&writer, plan, i);
	json_write_array_end(&writer);
	json_write_text(
		&writer, "bestTrade",
		plan->variants.at[simulate_row_trade(rows, simulate_choice_count(plan))].name);
	json_write_object_end(&writer);
	buf_add_char(buf, '\n');
}
