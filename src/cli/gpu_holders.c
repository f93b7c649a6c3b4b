#include "cli/gpu_holders.h"

#include "cli/shared/table.h"
#include "codec/objects/gpu_holders_json.h"
#include "codec/text/text.h"
#include "core/model/resources.h"

#define LINE_MAX_HOLDERS 3

/* ---- asking ---- */

static void take_answer(struct cluster_holders *cluster, const struct fetch *fetch,
			struct arena *arena)
{
	struct err err = fetch->err;

	cluster->holders = (struct gpu_holders){ .problem = "" };
	if (err.kind == ERR_NONE)
		(void)gpu_holders_read(fetch->text, fetch->size, arena, &cluster->holders, &err);
	if (err.kind != ERR_NONE)
		cluster->holders = (struct gpu_holders){ .problem = arena_strdup(arena, err.text) };
}

void gpu_holders_ask(struct connection *connection, const struct controller *controller,
		     struct cluster_holders *clusters, size_t count, struct arena *arena)
{
	struct fetch *fetches = arena_array(arena, count, sizeof(*fetches));

	for (size_t i = 0; i < count; i++)
		controller_client_address(controller, arena, "gpu-holders", clusters[i].namespace_,
					  clusters[i].name, &fetches[i]);
	api_connection_fetch(connection, fetches, count);
	for (size_t i = 0; i < count; i++) {
		take_answer(&clusters[i], &fetches[i], arena);
		fetch_done(&fetches[i]);
	}
}

/* ---- words ---- */

static const char *gpus_text(int64_t gpus, struct arena *arena)
{
	return arena_printf(arena, "%s GPU%s", resource_amount_text(arena, gpus),
			    gpus == RESOURCE_UNIT ? "" : "s");
}

static const char *holder_age(const struct gpu_holders *holders, const struct gpu_holder *holder,
			      struct arena *arena)
{
	if (holder->since == TIME_NONE || holders->at == TIME_NONE)
		return "starting";
	return table_age(arena, (holders->at - holder->since) / MS_PER_SECOND);
}

/* "actor Trainer x1" */
static const char *work_text(const struct gpu_holder *holder, struct arena *arena)
{
	return arena_printf(arena, "%s%s%s x%lld", gpu_holder_kind_name(holder->kind),
			    *holder->name ? " " : "", holder->name, (long long)holder->count);
}

static const char *job_text(const struct gpu_holder *holder, struct arena *arena)
{
	const char *text = arena_printf(arena, "job %s", *holder->job ? holder->job : "unknown");

	if (*holder->submission)
		text = arena_printf(arena, "%s, submitted as %s", text, holder->submission);
	if (*holder->entrypoint)
		text = arena_printf(arena, "%s (%s)", text, holder->entrypoint);
	return text;
}

const char *gpu_holders_line(const struct gpu_holders *holders, const struct gpu_worker *worker,
			     struct arena *arena)
{
	const char *text = "";

	for (size_t i = 0; i < worker->holder_count && i < LINE_MAX_HOLDERS; i++) {
		const struct gpu_holder *holder = &worker->holders[i];

		text = arena_printf(arena, "%s%s%s (%s, %s, job %s)", text, *text ? "; " : "",
				    work_text(holder, arena), gpus_text(holder->gpus, arena),
				    holder_age(holders, holder, arena),
				    *holder->job ? holder->job : "unknown");
	}
	if (worker->holder_count > LINE_MAX_HOLDERS)
		text = arena_printf(arena, "%s; and %zu more", text,
				    worker->holder_count - LINE_MAX_HOLDERS);
	if (worker->unnamed > 0)
		text = arena_printf(arena, "%s%s%s unnamed", text, *text ? "; " : "",
				    gpus_text(worker->unnamed, arena));
	return text;
}

static void worker_text(const struct gpu_holders *holders, const struct gpu_worker *worker,
			struct arena *arena, struct buf *buf)
{
	text_add_line(buf, "  worker %s: %s of %s held", worker->pod,
		      resource_amount_text(arena, worker->in_use), gpus_text(worker->gpus, arena));
	ARRAY_EACH(const struct gpu_holder, holder, worker->holders, worker->holder_count) {
		text_add_line(buf, "    %s: %s, %s, %s", job_text(holder, arena),
			      work_text(holder, arena), gpus_text(holder->gpus, arena),
			      holder_age(holders, holder, arena));
	}
	if (worker->unnamed > 0)
		text_add_line(buf, "    %s by work that Ray's lists do not name",
			      gpus_text(worker->unnamed, arena));
}

void gpu_holders_text(const struct gpu_holders *holders, struct arena *arena, struct buf *buf)
{
	if (holders->worker_count == 0 && *holders->problem == '\0' && holders->notes.count == 0)
		return;
	buf_add_char(buf, '\n');
	text_add_line(buf, "GPU HOLDERS  the work that uses the GPUs of each worker");
	if (*holders->problem)
		text_add_line(buf, "  unknown: %s", holders->problem);
	for (size_t i = 0; i < holders->worker_count; i++)
		worker_text(holders, &holders->workers[i], arena, buf);
	for (size_t i = 0; i < holders->notes.count; i++)
		text_add_line(buf, "  %s", holders->notes.at[i]);
}
