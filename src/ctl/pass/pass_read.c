/* Reads of a pass from the API server: a RayCluster, and the Pods.
 *
 * Verifying (ctl/pass/pass.h): the Pods of a cluster as the API server has them, page by page. A Pod whose
 * version the cache has is kept by its name alone, so that a list costs memory only for what the cache
 * lacks. A page is decoded on a thread of the pool and charged to the pass. */
#include <string.h>

#include "base/budget.h"
#include "base/memory.h"
#include "base/sort.h"
#include "codec/objects/foreign_object.h"
#include "codec/objects/list_stream.h"
#include "codec/objects/pod_json.h"
#include "ctl/pass/pass_intern.h"
#include "kube/kube_path.h"
#include "net/loop.h"
#include "net/work.h"

#define PAGE_PODS 500
/* Of one page; halved numbers of Pods are asked for above it. Above the largest Pod. */
#define PAGE_BYTES ((size_t)16 << 20)
#define CLUSTER_INLINE_BYTES ((size_t)64 << 10) /* as for objects of a watch (kube/kube_decode.h) */
#define INLINE_BYTES ((size_t)16 << 10)         /* as for replies of Ray (gcs/gcs_decode.c) */
#define QUICK_BYTES ((size_t)256 << 10)

struct pod_version {
	const char *name, *version;
};

/* ---- on a thread of the pool ---- */

static int compare_versions(const void *a, const void *b)
{
	return strcmp(((const struct pod_version *)a)->name, ((const struct pod_version *)b)->name);
}

/* Copies: the cache may replace its Pods before the next page arrives. */
static void index_cache(struct pass_pods *pods)
{
	const struct snapshot *view = &pods->view.snapshot;

	pods->indexed = true;
	pods->cached = arena_array(&pods->arena, view->pod_count, sizeof(*pods->cached));
	pods->cached_count = view->pod_count;
	for (size_t i = 0; i < view->pod_count; i++)
		pods->cached[i] = (struct pod_version){
			.name = arena_strdup(&pods->arena, view->pods[i]->name),
			.version = arena_strdup(&pods->arena, view->pods[i]->resource_version),
		};
	sort_stable(pods->cached, pods->cached_count, sizeof(*pods->cached), compare_versions);
}

static bool is_cached(const struct pass_pods *pods, const struct pod *pod)
{
	const struct pod_version wanted = { .name = pod->name };
	const struct pod_version *found =
		SORT_FIND(&wanted, pods->cached, pods->cached_count, compare_versions);

	return found && pod->resource_version[0] != '\0' &&
	       strcmp(found->version, pod->resource_version) == 0;
}

/* A Pod that cannot be decoded is there and counts as busy; one without a name may be the one to delete. */
static void take_pod(void *context, const char *text, size_t size, const char *problem)
{
	struct pass_pods *pods = context;
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct fresh_pod *fresh;
	struct pod *pod, decoded;

	if (pods->err.kind != ERR_NONE || pods->arena.over_budget ||
	    pod_decode_text(text, size, problem, &scratch, &decoded, &pods->err) < 0)
		return;
	fresh = VEC_ADD(&pods->arena, &pods->list);
	fresh->name = arena_strdup(&pods->arena, decoded.name);
	if (is_cached(pods, &decoded))
		return;
	pod = ARENA_NEW(&pods->arena, struct pod);
	(void)pod_decode_text(text, size, problem, &pods->arena, pod, &pods->err);
	fresh->pod = pod;
}

static void decode_page(void *context, const struct work_job *job)
{
	struct pass_pods *pods = ((struct pass *)context)->pods;
	AUTO(list_stream_done) struct list_stream stream;
	struct list_page page;

	(void)job;
	if (!pods->indexed)
		index_cache(pods);
	list_stream_init(&stream, FOREIGN_OBJECT_MAX_BYTES, take_pod, pods);
	list_stream_feed(&stream, pods->page.data, pods->page.size);
	if (pods->err.kind == ERR_NONE &&
	    list_stream_end(&stream, &pods->arena, &page, &pods->err) == 0)
		pods->continue_token = page.continue_token;
	if (pods->err.kind == ERR_NONE && pods->arena.over_budget)
		(void)budget_refuse(pods->arena.budget, 0, &pods->err);
}

/* ---- on the loop ---- */

static void job_drop(void *context)
{
	pass_drop(context);
}

static void answer_decode(void *context, const struct work_job *job UNUSED)
{
	struct pass_answer *answer = &((struct pass *)context)->answer;
	struct ray_cluster *object = ARENA_NEW(answer->into, struct ray_cluster);

	answer->object = NULL;
	if (act_decode_cluster(answer->text, answer->size, answer->into, object, &answer->err) == 0)
		answer->object = object;
}

static void answer_decoded(void *context)
{
	struct pass *pass = context;

	pass->job = NULL;
	memory_free(steal(&pass->answer.text));
	pass->answer.next(pass);
}

void pass_read_answer(struct pass *pass, const struct kube_answer *answer, struct arena *into,
		      void (*next)(struct pass *pass))
{
	static const struct work_functions functions = { .run = answer_decode,
							 .done = answer_decoded,
							 .drop = job_drop };

	pass->answer.next = next;
	pass->answer.into = into;
	pass->answer.text = memory_strndup(answer->body, answer->body_size);
	pass->answer.size = answer->body_size;
	if (answer->body_size > CLUSTER_INLINE_BYTES) {
		pass->job = work_start(pass->config.control->loop, &functions, pass);
		return;
	}
	answer_decode(pass, NULL);
	answer_decoded(pass);
}

static void ask_page(struct pass *pass);

static void end(struct pass *pass, struct err *err)
{
	buf_done(&pass->pods->page);
	pass->on_verified(pass, err);
}

static void page_decoded(void *context)
{
	struct pass *pass = context;
	struct pass_pods *pods = pass->pods;

	pass->job = NULL;
	buf_clear(&pods->page);
	if (pods->err.kind != ERR_NONE) {
		err_prefix(&pods->err, "list of Pods");
		end(pass, &pods->err);
	} else if (pods->continue_token[0] != '\0') {
		ask_page(pass);
	} else {
		end(pass, NULL);
	}
}

static void start_page(struct pass *pass)
{
	static const struct work_functions functions = { .run = decode_page,
							 .done = page_decoded,
							 .drop = job_drop };
	struct loop *loop = pass->config.control->loop;
	struct pass_pods *pods = pass->pods;

	if (!pods->indexed)
		pass->callbacks.view(pass->callbacks.context, &pods->arena, &pods->view);
	if (pods->page.size > QUICK_BYTES) {
		pass->job = work_start_slow(loop, &functions, pass, loop_boot_ms());
	} else if (pods->page.size > INLINE_BYTES || pods->view.bytes > QUICK_BYTES) {
		pass->job = work_start(loop, &functions, pass);
	} else {
		decode_page(pass, NULL);
		page_decoded(pass);
	}
}

/* One Pod is a page of its own, and still too large. */
static void refuse_page(struct pass_pods *pods)
{
	size_t more = pods->page.capacity;

	if (budget_fits(pods->page.budget, more))
		(void)err_set(&pods->err, ERR_LIMIT,
			      "one Pod has more than %zu MiB of JSON, the limit for one answer of "
			      "the API server; make its labels, annotations and spec smaller",
			      PAGE_BYTES >> 20);
	else
		(void)budget_refuse(pods->page.budget, more, &pods->err);
	err_prefix(&pods->err, "list of Pods");
}

static void page_read(void *context, const struct kube_answer *answer, const struct err *err)
{
	struct pass *pass = context;
	struct pass_pods *pods = pass->pods;

	pods->call = NULL;
	pass->retry_after_ms = answer->retry_after_ms;
	if (pods->page.overflowed && pods->page_pods > 1) {
		pods->page_pods /= 2;
		buf_clear(&pods->page);
		ask_page(pass);
	} else if (err) {
		pods->err = *err;
		if (pods->page.overflowed)
			refuse_page(pods);
		end(pass, &pods->err);
	} else {
		start_page(pass);
	}
}

static int page_piece(void *context, const char *data, size_t size)
{
	return buf_add(&((struct pass *)context)->pods->page, data, size);
}

static void ask_page(struct pass *pass)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct pass_pods *pods = pass->pods;
	char *path = kube_path(&scratch, "v1", pass->config.namespace_, "pods", NULL, NULL);
	struct kube_request request = { .verb = KUBE_GET,
					.flow = pass->key,
					.on_chunk = page_piece };

	path = kube_path_query(&scratch, path, "labelSelector",
			       arena_printf(&scratch, LABEL_CLUSTER "=%s", pass->config.name));
	path = kube_path_query(&scratch, path, "limit",
			       arena_printf(&scratch, "%d", pods->page_pods));
	if (pods->continue_token[0] != '\0')
		path = kube_path_query(&scratch, path, "continue", pods->continue_token);
	request.path = path;
	pods->call = kube_client_request(pass->config.control->kube, &request, page_read, pass);
}

void pass_verify(struct pass *pass, void (*done)(struct pass *pass, const struct err *err))
{
	struct pass_pods *pods = ARENA_NEW(&pass->arena, struct pass_pods);

	pods->arena.budget = pass->memory;
	buf_init(&pods->page, PAGE_BYTES);
	pods->page.budget = pass->memory;
	pods->page_pods = PAGE_PODS;
	pods->continue_token = "";
	pods->view.snapshot.view_problem = "";
	pass->pods = pods;
	pass->on_verified = done;
	ask_page(pass);
}

void pass_pods_cancel(struct pass_pods *pods)
{
	if (pods)
		kube_client_cancel(pods->call);
}
