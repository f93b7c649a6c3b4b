#include "cli/simulate_queue.h"

#include <inttypes.h>

#include "cli/shared/table.h"
#include "core/model/resources.h"

const char *const simulate_queue_names[SIMULATE_QUEUE_COLUMNS] = {
	"VARIANT", "QUEUE",           "GPU-HOURS",         "WAIT P50", "P95",
	"MAX",     "BELOW GUARANTEE", "IDLE WHILE WAITED", "JAIN",     "NEVER RAN",
};

const char simulate_queue_legend[] =
	"queues: GPU-HOURS are of work that was not interrupted, waiting counts each unit once; IDLE WHILE WAITED are GPU-hours "
	"without work while another queue waited; JAIN (1: equal) compares what waiting queues hold of "
	"their parts\n";

static void add_queue(struct simulate_queue_rows *rows, const char *variant,
		      const struct simulate_queue *queue, struct arena *arena)
{
	const struct simulate_waits *waits = &queue->waits;

	VEC_PUSH(arena, &rows->at,
		 ((struct simulate_queue_cells){
			 .texts = { variant, queue->name[0] ? queue->name : "(no queue)",
				    simulate_hours_text(arena, queue->used - queue->lost),
				    simulate_wait_text(arena, waits, waits->item_p50_ms),
				    simulate_wait_text(arena, waits, waits->item_p95_ms),
				    simulate_wait_text(arena, waits, waits->max_ms),
				    simulate_time_text(arena, queue->below_guarantee_ms),
				    simulate_hours_text(arena, queue->idle_while_others_waited), "",
				    arena_printf(arena, "%" PRId64, waits->unstarted) },
			 .never = waits->unstarted > 0,
		 }));
}

static void add_pool(struct simulate_queue_rows *rows, const struct simulate_variant *variant,
		     size_t pool, struct arena *arena)
{
	const struct sim_pool *own = &variant->row.pools[pool];
	size_t first = rows->at.count;
	double used = 0, idle = 0;
	int64_t below_ms = 0, never = 0;

	VEC_ADD(arena, &rows->at);
	ARRAY_EACH(const struct simulate_queue, queue, variant->row.queues,
		   variant->row.queue_count) {
		if (queue->pool != pool || (queue->name[0] == '\0' && queue->clusters == 0))
			continue;
		add_queue(rows, variant->name, queue, arena);
		used += queue->used - queue->lost;
		idle += queue->idle_while_others_waited;
		below_ms += queue->below_guarantee_ms;
		never += queue->waits.unstarted;
	}
	rows->at.at[first] = (struct simulate_queue_cells){
		.texts = { variant->name,
			   arena_printf(arena, "pool %s, %s GPUs", own->name,
					resource_amount_text(arena, own->gpus)),
			   simulate_hours_text(arena, used), "", "", "",
			   simulate_time_text(arena, below_ms), simulate_hours_text(arena, idle),
			   own->contended_ms > 0 ? arena_printf(arena, "%.3f", own->jain) : "",
			   arena_printf(arena, "%" PRId64, never) },
		.never = never > 0,
	};
}

struct simulate_queue_rows simulate_queue_rows_make(const struct simulate_plan *plan)
{
	struct simulate_queue_rows rows = { .at = { .at = NULL } };

	for (size_t i = 0; i < plan->variants.count; i++)
		for (size_t p = 0; p < plan->variants.at[i].row.pool_count; p++)
			add_pool(&rows, &plan->variants.at[i], p, plan->arena);
	return rows;
}

void simulate_queue_text_write(const struct simulate_plan *plan, bool colours, struct buf *buf)
{
	const struct simulate_queue_rows rows = simulate_queue_rows_make(plan);
	struct table_column columns[SIMULATE_QUEUE_COLUMNS];
	struct table table = TABLE_INIT(plan->arena, columns, SIMULATE_QUEUE_COLUMNS);

	if (rows.at.count == 0)
		return;
	for (size_t i = 0; i < SIMULATE_QUEUE_COLUMNS; i++)
		columns[i] = (struct table_column){ simulate_queue_names[i], i > 1 };
	VEC_EACH(const struct simulate_queue_cells, cells, &rows.at)
		for (size_t k = 0; k < SIMULATE_QUEUE_COLUMNS; k++)
			table_add(&table, k == 9 && cells->never ? TABLE_BAD : TABLE_PLAIN,
				  cells->texts[k]);
	buf_add_char(buf, '\n');
	table_write(&table, colours, buf);
}
