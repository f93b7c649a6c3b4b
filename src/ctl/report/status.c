#include "ctl/report/status.h"

#include <string.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/list.h"
#include "base/memory.h"
#include "codec/objects/plan_json.h"
#include "codec/objects/snapshot_json.h"
#include "codec/objects/summary_json.h"
#include "codec/text/json_write.h"
#include "core/report/summary.h"
#include "ctl/pass/gpu_share.h"
#include "ctl/pass/pass.h"
#include "ctl/report/feature.h"
#include "ctl/report/list_page.h"
#include "ctl/report/metrics.h"
#include "ctl/shared/leader.h"
#include "kube/kube_informer.h"
#include "net/loop.h"
#include "net/serve.h"

#define PAGE_STATUS "status"
#define PAGE_SNAPSHOT "snapshot"

/* A request that waits for the next pass. */
struct status_wait {
	struct list_item item;
	struct serve_request *request;
	struct status_path path;
	int64_t deadline_ms;
};

struct status {
	const struct control *control;
	struct list_pages **lists; /* that of GPUs in use, then those of features */
	size_t list_count;
	struct list waits;        /* the oldest first */
	struct loop_timer *timer; /* the deadline of the oldest */
};

/* ---- paths ---- */

/* One path segment that can be a name in Kubernetes; returns the rest, NULL when it is not a
 * name. */
static const char *take_name(const char *text, char *ret_name)
{
	size_t size = strspn(text, "abcdefghijklmnopqrstuvwxyz0123456789-.");

	if (size == 0 || size > STATUS_NAME_MAX || strchr("-.", text[0]) ||
	    strchr("-.", text[size - 1]))
		return NULL;
	memcpy(ret_name, text, size);
	ret_name[size] = '\0';
	return text + size;
}

bool status_parse_path(const char *path, struct status_path *ret_path)
{
	char *const parts[] = { ret_path->page, ret_path->namespace_, ret_path->name };

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		path = path && *path == '/' ? take_name(path + 1, parts[i]) : NULL;
	return path && *path == '\0';
}

/* The lists that a page is made from; NULL: it needs none, or there is no such page. */
static struct list_pages *lists_of(const struct status *status, const char *page)
{
	for (size_t i = 0; i < status->list_count; i++)
		if (strcmp(list_pages_path(status->lists[i]), page) == 0)
			return status->lists[i];
	return NULL;
}

/* ---- answers ---- */

/* The GPU quotas; nothing when none is set. */
static void write_ceilings(struct json_writer *writer, const struct gpu_share *share)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	size_t count;
	const struct gpu_share_figure *figures = gpu_share_figures(share, &scratch, &count);

	json_write_array(writer, "gpuCeilings");
	ARRAY_EACH(const struct gpu_share_figure, figure, figures, count) {
		json_write_object_line(writer, NULL);
		JSON_WRITE_TEXTS(writer, { "scope", figure->scope },
				 { "namespace", figure->namespace_ });
		json_write_amount(writer, "ceiling", figure->ceiling);
		json_write_amount(writer, "counted", figure->counted);
		json_write_object_end(writer);
	}
	json_write_array_end(writer);
}

/* Of each cluster. */
static const struct field seen_fields[] = {
	FIELD_TIME(struct summary, decided_at, "decidedAt", .flags = FIELD_ALWAYS),
	FIELD_LIST(struct summary, conditions, condition_count, summary_condition_fields,
		   "conditions", .flags = FIELD_ALWAYS | FIELD_LINE),
	FIELD_END,
};

/* The list of all clusters while it is read. */
struct listing {
	const struct control *control;
	bool all;
	size_t next; /* cluster */
	struct json_writer writer;
};

static void begin_list(struct listing *listing)
{
	const struct control *control = listing->control;
	struct json_writer *writer = &listing->writer;

	json_write_init(writer, writer->buf, JSON_STYLE_PRETTY);
	json_write_object(writer, NULL);
	JSON_WRITE_TEXTS(writer, { "kind", "Status" }, { "version", RAYSCALER_VERSION });
	json_write_boolean(writer, "leader", leader_is_leading(control->leader));
	json_write_text(writer, "holder", leader_holder(control->leader));
	write_ceilings(writer, listing->all ? control->gpu_share : NULL);
	json_write_array(writer, "clusters");
}

/* False: there are no more clusters. */
static bool list_cluster(struct listing *listing)
{
	const char *namespace_ = "", *name = "";
	const struct summary *summary = listing->all ?
						metrics_summary(listing->control->metrics,
								listing->next, &namespace_, &name) :
						NULL;

	if (!summary)
		return false;
	listing->next++;
	json_write_object(&listing->writer, NULL);
	JSON_WRITE_TEXTS(&listing->writer, { "namespace", namespace_ }, { "name", name });
	field_write_all(&listing->writer, seen_fields, summary);
	json_write_object_end(&listing->writer);
	return true;
}

static bool list_more(void *own, struct buf *piece)
{
	struct listing *listing = own;
	bool begun = listing->writer.buf != NULL;

	listing->writer.buf = piece;
	if (!begun)
		begin_list(listing);
	while (piece->size < SERVE_PIECE_BYTES)
		if (!list_cluster(listing)) {
			json_write_array_end(&listing->writer);
			json_write_object_end(&listing->writer);
			(void)buf_add_char(piece, '\n');
			return false;
		}
	return true;
}

static void answer_list(const struct status *status, bool all, struct serve_request *request)
{
	static const struct serve_source source = { list_more, memory_free };
	struct listing *listing = memory_alloc(sizeof(*listing));

	listing->control = status->control;
	listing->all = all;
	serve_answer_source(request, SERVE_JSON, &source, listing);
}

/* A page of one decision, which is held while a thread writes it. */
struct decided_page {
	struct pass_decision decision;
	bool snapshot; /* else the status */
};

static void decided_write(void *own, struct buf *body)
{
	const struct decided_page *page = own;
	const struct pass_decision *decision = &page->decision;

	if (page->snapshot)
		(void)snapshot_write(decision->snapshot, body, NULL);
	else
		summary_write_answer(decision->snapshot, decision->plan, decision->summary, body);
}

static void decided_free(void *own)
{
	struct decided_page *page = own;

	pass_drop(page->decision.pass);
	memory_free(page);
}

static void answer_decision(const struct status *status, const struct status_wait *wait,
			    const struct pass_decision *decision)
{
	static const struct serve_page written = { decided_write, decided_free };
	struct list_pages *lists = lists_of(status, wait->path.page);
	struct decided_page *page;

	if (lists) {
		list_page_start(lists, decision, wait->request);
		return;
	}
	page = memory_alloc(sizeof(*page));
	page->decision = *decision;
	page->decision.pass = pass_hold(decision->pass);
	page->snapshot = strcmp(wait->path.page, PAGE_SNAPSHOT) == 0;
	serve_answer_page(wait->request, SERVE_JSON, &written, page);
}

/* ---- waiting ---- */

static void watch_deadline(struct status *status)
{
	const struct status_wait *first =
		LIST_MEMBER(status->waits.first, struct status_wait, item);

	if (!first)
		loop_timer_stop(status->timer);
	else
		loop_timer_start(status->timer,
				 first->deadline_ms - loop_monotonic_ms(status->control->loop));
}

static void deadline_passed(void *context)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	struct status *status = context;

	LIST_EACH(struct status_wait, wait, &status->waits, item) {
		if (wait->deadline_ms > loop_monotonic_ms(status->control->loop))
			break;
		list_remove(&wait->item);
		serve_answer_text(wait->request, 504,
				  arena_printf(&scratch, "no pass over %s/%s ended within %d s",
					       wait->path.namespace_, wait->path.name,
					       STATUS_WAIT_MS / 1000));
		memory_free(wait);
	}
	watch_deadline(status);
}

static void add_wait(struct status *status, const struct status_path *path,
		     struct serve_request *request)
{
	struct status_wait *wait = memory_alloc(sizeof(*wait));

	wait->request = request;
	wait->path = *path;
	wait->deadline_ms = loop_monotonic_ms(status->control->loop) + STATUS_WAIT_MS;
	list_add(&status->waits, &wait->item);
	watch_deadline(status);
}

void status_decided(void *listener, const struct pass_decision *decision)
{
	struct status *status = listener;
	const struct ray_cluster *cluster = &decision->snapshot->cluster;

	if (!status || status->waits.count == 0)
		return;
	LIST_EACH(struct status_wait, wait, &status->waits, item) {
		if (strcmp(wait->path.namespace_, cluster->namespace_) != 0 ||
		    strcmp(wait->path.name, cluster->name) != 0)
			continue;
		list_remove(&wait->item);
		answer_decision(status, wait, decision);
		memory_free(wait);
	}
	watch_deadline(status);
}

void status_unread(struct status *status, const char *namespace_, const char *name)
{
	if (!status || status->waits.count == 0)
		return;
	LIST_EACH(struct status_wait, wait, &status->waits, item) {
		if (strcmp(wait->path.namespace_, namespace_) != 0 ||
		    strcmp(wait->path.name, name) != 0)
			continue;
		list_remove(&wait->item);
		serve_answer_text(wait->request, 503,
				  "not decided on until its large objects are read: they are read "
				  "one after another, those of each namespace in turn; ask again "
				  "later, or make them smaller");
		memory_free(wait);
	}
	watch_deadline(status);
}

void status_forget(void *listener, const char *namespace_, const char *name)
{
	const struct status *status = listener;

	if (!status)
		return;
	for (size_t i = 0; i < status->list_count; i++)
		list_pages_forget(status->lists[i], namespace_, name);
}

/* ---- requests ---- */

static void answer_unknown(const struct status *status, const struct status_path *path,
			   struct serve_request *request)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;

	if (!control_synced(status->control))
		serve_answer_text(request, 503,
				  "the lists of RayClusters and Pods are not complete yet");
	else
		serve_answer_text(request, 404,
				  arena_printf(&scratch, "no RayCluster %s/%s is seen here",
					       path->namespace_, path->name));
}

static void ask_cluster(struct status *status, const struct status_path *path,
			struct serve_request *request)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	const char *holder = leader_holder(status->control->leader);

	serve_charge_to(request, arena_printf(&scratch, "namespace %s", path->namespace_));
	if (!leader_is_leading(status->control->leader))
		serve_answer_text(
			request, STATUS_NOT_LEADING,
			arena_printf(&scratch,
				     "this replica does not lead, so it decides nothing; ask %s",
				     holder[0] ? holder : "again later, there is no leader yet"));
	else if (!control_wake(status->control, path->namespace_, path->name))
		answer_unknown(status, path, request);
	else if (serve_may_wait(request))
		add_wait(status, path, request);
}

static void answer_no_page(const struct status *status, struct serve_request *request)
{
	AUTO(arena_done) struct arena scratch = ARENA_INIT;
	const char *pages = "/" PAGE_STATUS ", /" PAGE_SNAPSHOT;

	for (size_t i = 0; i < status->list_count; i++)
		pages = arena_printf(&scratch, "%s, /%s", pages, list_pages_path(status->lists[i]));
	serve_answer_text(
		request, 404,
		arena_printf(&scratch,
			     "here are /metrics, /status, and of RayClusters %s, each with "
			     "/NAMESPACE/NAME",
			     pages));
}

bool status_is_list(const char *path)
{
	return strcmp(path, "/" PAGE_STATUS) == 0;
}

bool status_has_page(const struct status *status, const struct status_path *path)
{
	return strcmp(path->page, PAGE_STATUS) == 0 || strcmp(path->page, PAGE_SNAPSHOT) == 0 ||
	       lists_of(status, path->page);
}

void status_ask(struct status *status, const char *path, bool all, struct serve_request *request)
{
	struct status_path parsed;

	if (status_is_list(path))
		answer_list(status, all, request);
	else if (status_parse_path(path, &parsed) && status_has_page(status, &parsed))
		ask_cluster(status, &parsed, request);
	else
		answer_no_page(status, request);
}

static void add_lists(struct status *status, const struct list_page_kind *kind, const void *self)
{
	if (kind)
		status->lists[status->list_count++] = list_pages_new(kind, self, status->control);
}

struct status *status_new(const struct control *control)
{
	struct status *status = memory_alloc(sizeof(*status));
	const void *self;

	status->control = control;
	status->timer = loop_timer_new(control->loop, deadline_passed, status);
	status->lists = memory_array(features_count(control->features) + 1, sizeof(*status->lists));
	add_lists(status, &gpu_use_page, NULL);
	for (size_t i = 0; i < features_count(control->features); i++) {
		const struct list_page_kind *kind = features_page(control->features, i, &self);

		add_lists(status, kind, self);
	}
	return status;
}

void status_free(struct status *status)
{
	if (!status)
		return;
	LIST_EACH(struct status_wait, wait, &status->waits, item)
		memory_free(wait);
	for (size_t i = 0; i < status->list_count; i++)
		list_pages_free(status->lists[i]);
	memory_free(status->lists);
	loop_timer_free(status->timer);
	memory_free(status);
}
