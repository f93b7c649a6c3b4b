/* Demand of a random snapshot: see laws_random.h. */
#include "base/memory.h"
#include "laws_maker.h"

#define GANG_BYTES_MAX (1 << 20)

/* ---- demand ---- */

/* Mostly a share of the resources of some group, so that it fits; sometimes more than it has. */
static void add_bundle(struct maker *m)
{
	const struct shape *s = &m->groups[laws_maker_below(m, m->group_count)];
	int share = PICK(m, 1, 1, 2, 4, 4, 8);
	const char *between = "";

	if (m->strange && laws_maker_one_in(m, 40)) {
		ADD(m, "{\"%s\":%s}", PICK_WORD(m, "CPU", "odd", "GPU"),
		    PICK_WORD(m, "-1", "1e300", "\"NaN\"", "100", "1.5", "0"));
		return;
	}
	ADD(m, "{");
	if (!laws_maker_one_in(m, 6)) {
		ADD(m, "\"CPU\":%g", laws_maker_one_in(m, 10) ? 0.3 : (double)s->cpu / share);
		between = ",";
	}
	if (s->gpu && !laws_maker_one_in(m, 3)) {
		double part = PICK_PART(m, 0.25, 0.5, 0.3, 0.6, 0.1, 0.9);
		double gpus = (double)(s->gpu / share);

		ADD(m, "%s\"GPU\":%g", between, laws_maker_one_in(m, 3) || gpus < 1 ? part : gpus);
		between = ",";
	}
	if (s->memory_gib && laws_maker_one_in(m, 3)) {
		ADD(m, "%s\"memory\":%lld", between, ((long long)s->memory_gib << 30) / share);
		between = ",";
	}
	if (s->extra && laws_maker_one_in(m, 2)) {
		ADD(m, "%s\"%s\":1", between, s->extra);
		between = ",";
	}
	ADD(m, "}");
}

static void add_selector(struct maker *m)
{
	int count = PICK(m, 1, 1, 1, 2, 0);

	ADD(m, "{\"labelConstraints\":[");
	for (int i = 0; i < count; i++) {
		bool zone = laws_maker_one_in(m, 3) == 0;

		ADD(m, "%s{\"labelKey\":\"%s\",\"operator\":\"%s\",\"labelValues\":[\"%s\"%s]}",
		    i ? "," : "", zone ? "zone" : "market",
		    m->strange && laws_maker_one_in(m, 20) ? "LABEL_OPERATOR_UNSPECIFIED" :
		    laws_maker_one_in(m, 3)                ? "LABEL_OPERATOR_NOT_IN" :
							     "LABEL_OPERATOR_IN",
		    zone ? PICK_WORD(m, "a", "b", "c") : PICK_WORD(m, "spot", "on-demand"),
		    laws_maker_one_in(m, 4) ? ",\"b\"" : "");
	}
	ADD(m, "]}");
}

static void add_selectors(struct maker *m)
{
	int count = PICK(m, 1, 2, 2, 3);

	ADD(m, ",\"labelSelectors\":[");
	for (int i = 0; i < count; i++) {
		ADD(m, "%s", i ? "," : "");
		add_selector(m);
	}
	ADD(m, "]");
}

void laws_maker_add_request_list(struct maker *m, int count)
{
	ADD(m, "[");
	for (int i = 0; i < count; i++) {
		ADD(m, "%s{\"request\":{\"resourcesBundle\":", i ? "," : "");
		add_bundle(m);
		if (laws_maker_one_in(m, 4))
			add_selectors(m);
		ADD(m, "},\"count\":\"%d\"}", PICK(m, 1, 1, 2, 3, 5, 9, 20, 0));
	}
	ADD(m, "]");
}

struct gang_draw {
	int index, count, strategy;
	bool equal, labels; /* equal bundles; with label selectors */
};

/* Bundles of a placement group, without their label selectors and with them. */
static void add_bundles(struct maker *m, const struct gang_draw *gang, struct buf *plain,
			struct buf *selected)
{
	struct laws_random again = m->random;
	struct buf *out = m->out;

	for (int i = 0; i < gang->count; i++) {
		AUTO(buf_done) struct buf text = { .data = NULL };

		buf_init(&text, GANG_BYTES_MAX);
		m->out = &text;
		if (gang->equal)
			m->random = again;
		ADD(m, "%s{\"resourcesBundle\":", i ? "," : "");
		add_bundle(m);
		if (gang->strategy >= 2)
			ADD(m,
			    ",\"placementConstraints\":[{\"%s\":{\"labelName\":\"_PG_%02d\","
			    "\"labelValue\":\"\"}}]",
			    gang->strategy == 2 ? "affinity" : "antiAffinity", gang->index);
		if (plain)
			buf_printf(plain, "%s}", buf_string(&text));
		if (gang->labels)
			add_selectors(m);
		buf_printf(selected, "%s}", buf_string(&text));
	}
	m->out = out;
}

/* A placement group: the bundles are often equal; label selectors are in bundleSelectors only. */
void laws_maker_add_gang(struct maker *m, int index)
{
	AUTO(buf_done) struct buf plain = { .data = NULL };
	AUTO(buf_done) struct buf selected = { .data = NULL };
	struct gang_draw gang = {
		.index = index,
		.count = PICK(m, 0, 1, 2, 2, 3, 4, 6),
		.strategy = laws_maker_below(m, 4),
		.equal = !laws_maker_one_in(m, 3),
		.labels = laws_maker_one_in(m, 4),
	};

	buf_init(&plain, GANG_BYTES_MAX);
	buf_init(&selected, GANG_BYTES_MAX);
	add_bundles(m, &gang, &plain, &selected);
	if (gang.count && laws_maker_one_in(m, 5)) { /* a second choice */
		buf_add_string(&selected, "]},{\"resourceRequests\":[");
		gang.labels = laws_maker_one_in(m, 2);
		add_bundles(m, &gang, NULL, &selected);
	}
	ADD(m,
	    "%s{\"details\":\"_PG_%02d:STRATEGY_%d|PENDING\",\"requests\":[%s],"
	    "\"bundleSelectors\":[{\"resourceRequests\":[%s]}]}",
	    index ? "," : "", index, gang.strategy, buf_string(&plain), buf_string(&selected));
}
