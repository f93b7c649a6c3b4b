#include "kube/kube_list.h"

#include "base/budget.h"
#include "base/buf.h"
#include "base/memory.h"
#include "codec/objects/foreign_object.h"
#include "codec/objects/list_stream.h"
#include "codec/text/json.h"
#include "kube/kube_client.h"
#include "kube/kube_path.h"
#include "net/loop.h"
#include "net/work.h"

struct kube_list {
	struct kube_list_options options; /* with a reference of the budget */
	char *path, *flow;
	/* One of the two: a page is asked for, or decoded. */
	struct kube_call *call;
	struct work_job *work;
	struct buf body;
	struct arena arena;
	void *result;
	const char *next_page; /* for the parameter `continue`; "": that was the last one */
	size_t page;
	struct err err; /* ERR_NONE: decoded */
};

static void list_free(void *one)
{
	struct kube_list *list = one;

	buf_done(&list->body);
	arena_done(&list->arena);
	budget_free(list->options.budget);
	memory_free(list->path);
	memory_free(list->flow);
	memory_free(list);
}

void kube_list_cancel(struct kube_list *list)
{
	if (list && list->work) {
		work_cancel(list->work);
	} else if (list) {
		kube_client_cancel(list->call);
		list_free(list);
	}
}

static void end(struct kube_list *list, const struct err *err)
{
	list->options.done(list->options.context, list->result, err);
	list_free(list);
}

/* ---- decoding ---- */

static void add_object(void *context, const char *text, size_t size, const char *problem)
{
	AUTO(json_done) struct cJSON *json = NULL;
	struct kube_list *list = context;
	struct err unreadable;

	if (list->err.kind != ERR_NONE || list->arena.over_budget)
		return;
	if (problem) {
		err_set(&list->err, ERR_LIMIT, "an object of the list %s", problem);
		return;
	}
	foreign_object_parse(text, size, false, &json, &unreadable);
	if (unreadable.kind != ERR_NONE)
		list->err = unreadable;
	else
		(void)list->options.add(json, &list->arena, list->result, &list->err);
}

/* Object by object: one of 1.5 MiB takes 20 ms, and 20 MiB for its tree. */
static void decode(void *context, const struct work_job *work UNUSED)
{
	AUTO(list_stream_done) struct list_stream stream;
	struct kube_list *list = context;
	struct list_page page;

	list_stream_init(&stream, FOREIGN_OBJECT_MAX_BYTES, add_object, list);
	(void)list_stream_feed(&stream, list->body.data, list->body.size);
	if (list->err.kind == ERR_NONE &&
	    list_stream_end(&stream, &list->arena, &page, &list->err) == 0)
		list->next_page = page.continue_token;
	if (list->err.kind == ERR_NONE && list->arena.over_budget)
		(void)budget_refuse(list->options.budget, 0, &list->err);
}

/* ---- pages ---- */

static void ask(struct kube_list *list);

static void decoded(void *context)
{
	struct kube_list *list = context;

	list->work = NULL;
	if (list->err.kind == ERR_NONE && list->next_page[0] != '\0') {
		if (++list->page < list->options.pages_max) {
			ask(list);
			return;
		}
		err_set(&list->err, ERR_LIMIT, "%s", list->options.too_many);
	}
	end(list, list->err.kind == ERR_NONE ? NULL : &list->err);
}

static int on_chunk(void *context, const char *data, size_t size)
{
	return buf_add(&((struct kube_list *)context)->body, data, size);
}

static void answered(void *context, const struct kube_answer *answer UNUSED, const struct err *err)
{
	static const struct work_functions functions = { decode, decoded, list_free };
	struct kube_list *list = context;
	size_t most = list->options.page_max_bytes;

	list->call = NULL;
	if (list->body.overflowed && budget_fits(list->options.budget, most))
		err_set(&list->err, ERR_LIMIT, "a page of the list has more than %zu bytes", most);
	else if (list->body.overflowed)
		(void)budget_refuse(list->options.budget, most, &list->err);
	else if (!err)
		list->work = work_start_slow(list->options.loop, &functions, list, loop_boot_ms());
	if (!list->work)
		end(list, list->body.overflowed ? &list->err : err);
}

static void ask(struct kube_list *list)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct kube_request request = { .verb = KUBE_GET,
					.flow = list->flow,
					.on_chunk = on_chunk };
	char *path = kube_path_query(&scratch, list->path, "limit",
				     arena_printf(&scratch, "%zu", list->options.page_objects));

	if (list->page > 0)
		path = kube_path_query(&scratch, path, "continue", list->next_page);
	request.path = path;
	buf_done(&list->body);
	buf_init(&list->body, list->options.page_max_bytes);
	list->body.budget = list->options.budget;
	list->call = kube_client_request(list->options.client, &request, answered, list);
}

struct kube_list *kube_list_start(const struct kube_list_options *options)
{
	struct kube_list *list = memory_alloc(sizeof(*list));

	*list = (struct kube_list){ .options = *options, .next_page = "" };
	list->options.budget = budget_reference(options->budget);
	list->path = memory_strdup(options->path);
	list->flow = memory_strdup(options->flow);
	list->arena = (struct arena){ .budget = list->options.budget };
	list->result = arena_alloc(&list->arena, options->result_size);
	ask(list);
	return list;
}
