/* The changes of the fleet's API server: for watchers at once, and for those that resume later.
 * Header only. */
#ifndef TEST_FLEET_EVENTS_H
#define TEST_FLEET_EVENTS_H

#include "test/fleet/fleet_guests.h"
#include "test/fleet/fleet_http.h"
#include "test/fleet/fleet_objects.h"

#define API_HISTORY 16384
#define API_HISTORY_BYTES ((size_t)512 << 20)

struct api_event {
	uint64_t version;
	enum fleet_kind kind;
	struct buf line;
};

static struct {
	struct fleet *fleet;
	struct http_peer *watchers;
	struct api_event history[API_HISTORY];
	uint64_t oldest; /* no event after this version was dropped */
	size_t at, first;
	size_t kept_bytes;
} api;

static void api_write_object(enum fleet_kind kind, unsigned index, unsigned pod, struct buf *buf)
{
	if (kind == FLEET_CLUSTERS)
		fleet_write_cluster(api.fleet, index, buf);
	else if (kind == FLEET_PODS)
		fleet_write_pod(api.fleet, index, pod, buf);
	else
		fleet_write_autoscaler(&api.fleet->clusters[index], buf);
}

/* Forgets the oldest event that is kept. */
static void api_drop_event(void)
{
	struct api_event *event = &api.history[api.first++ % API_HISTORY];

	api.oldest = event->version;
	api.kept_bytes -= event->line.size;
	buf_done(&event->line);
}

/* Begins the event of an object whose version is fleet->version; its line is to be filled. */
static struct api_event *api_begin_event(enum fleet_kind kind, const char *type)
{
	struct api_event *event = &api.history[api.at % API_HISTORY];

	while (api.first < api.at &&
	       (api.at - api.first == API_HISTORY || api.kept_bytes > API_HISTORY_BYTES))
		api_drop_event();
	api.at++;
	buf_init(&event->line, FLEET_TEXT_MAX);
	event->version = api.fleet->version;
	event->kind = kind;
	fleet_add(&event->line, "{'type': '%s', 'object': ", type);
	return event;
}

static void api_end_event(struct api_event *event)
{
	fleet_add(&event->line, "}\n");
	api.kept_bytes += event->line.size;
	for (struct http_peer *peer = api.watchers; peer; peer = peer->next)
		if (peer->kind == (int)event->kind)
			http_chunk(peer, event->line.data, event->line.size);
}

/* Notifies the watchers of an object whose version is fleet->version. */
static void api_tell(enum fleet_kind kind, const char *type, unsigned index, unsigned pod)
{
	struct api_event *event = api_begin_event(kind, type);

	api_write_object(kind, index, pod, &event->line);
	api_end_event(event);
}

static void api_tell_guest(struct fleet_guest *guest, const char *type)
{
	struct api_event *event;

	guest_set_version(guest, ++api.fleet->version);
	event = api_begin_event(guest->kind, type);
	(void)buf_add(&event->line, guest->text.data, guest->text.size);
	api_end_event(event);
}

static void api_cluster_changed(unsigned index, bool spec)
{
	struct fleet_cluster *cluster = &api.fleet->clusters[index];

	cluster->version = ++api.fleet->version;
	cluster->generation += spec;
	api_tell(FLEET_CLUSTERS, "MODIFIED", index, 0);
}

static void api_pod_changed(unsigned index, unsigned pod, const char *type)
{
	api.fleet->clusters[index].pod_versions[pod] = ++api.fleet->version;
	api_tell(FLEET_PODS, type, index, pod);
}

#endif
