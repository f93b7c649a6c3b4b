#include "ctl/queue/scan_pace.h"

#include "base/check.h"
#include "base/time.h"

#define COST_WEIGHT 4 /* of the earlier seconds and the last one together */
#define US_PER_SECOND INT64_C(1000000)

void scan_pace_move(struct scan_pace *pace, enum scan from, enum scan to)
{
	if (from != SCAN_FIXED) {
		CHECK(pace->clusters[from] > 0);
		pace->clusters[from]--;
	}
	if (to != SCAN_FIXED)
		pace->clusters[to]++;
}

void scan_pace_read(struct scan_pace *pace, int64_t now_ms, int64_t (*cpu_us)(void))
{
	int64_t now_cpu_us, cost_us;

	pace->reads++;
	if (now_ms - pace->since_ms < MS_PER_SECOND)
		return;
	now_cpu_us = cpu_us();
	cost_us = (now_cpu_us - pace->since_cpu_us) / pace->reads;
	if (pace->since_ms > 0)
		pace->cost_us += (cost_us - pace->cost_us) / COST_WEIGHT;
	pace->reads = 0;
	pace->since_ms = now_ms;
	pace->since_cpu_us = now_cpu_us;
}

static int64_t reads_per_second(const struct scan_pace *pace)
{
	int64_t most = pace->reads_per_second;

	if (pace->cost_us > 0 && US_PER_SECOND * SCAN_CPU_PERCENT / 100 / pace->cost_us < most)
		most = US_PER_SECOND * SCAN_CPU_PERCENT / 100 / pace->cost_us;
	return most > 0 ? most : 1;
}

int64_t scan_pace_ms(const struct scan_pace *pace, enum scan scan, int64_t scan_ms)
{
	int64_t shares = (int64_t)(pace->clusters[SCAN_AWAKE] * SCAN_ASLEEP_SHARE +
				   pace->clusters[SCAN_ASLEEP]);
	int64_t own_ms;

	if (scan == SCAN_FIXED || pace->reads_per_second == 0)
		return scan_ms;
	/* Of an interval: the share of one that sleeps is 1. */
	own_ms = shares * MS_PER_SECOND / reads_per_second(pace);
	if (scan == SCAN_AWAKE)
		own_ms /= SCAN_ASLEEP_SHARE;
	if (own_ms < SCAN_LEAST_MS)
		own_ms = SCAN_LEAST_MS;
	return own_ms < scan_ms ? own_ms : scan_ms;
}
