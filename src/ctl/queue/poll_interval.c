#include "ctl/queue/poll_interval.h"

#include <stdio.h>

#include "base/time.h"

#define TIMES_AS_LONG 4             /* the interval is this many times as long as the reply took */
#define DEADLINE_LEAST_MS 100       /* every call to a GCS has at least this much time */
#define BYTES_PER_SECOND (1u << 20) /* of replies */
#define SPACING_SHARE 2             /* after a change: twice as often */
#define MARGIN_NUMERATOR 4          /* it shrinks when a third more would still fit */
#define MARGIN_DENOMINATOR 3

void poll_init(struct poll *poll, int64_t now_ms)
{
	*poll = (struct poll){ .next = 0 };
	token_bucket_init(&poll->wakes, POLL_WAKES_PER_SECOND, POLL_WAKES, now_ms);
}

struct poll_reading poll_reading_of(const struct ray_state *state, const struct err *err,
				    int64_t took_us)
{
	struct poll_reading reading = { .took_us = 0 };

	if (state)
		reading.bytes = state->reply_bytes;
	else if (err)
		reading.refused = err->kind == ERR_LIMIT;
	/* A head that cannot be reached did no work for us; one that does not answer may have. */
	if (state || reading.refused || (err && err->kind == ERR_TIMEOUT))
		reading.took_us = took_us;
	/* After the connection was given up, calls fail at once for a moment; they are not a
	 * measurement. */
	reading.declared_again = err && err->kind == ERR_TIMEOUT &&
				 reading.took_us < DEADLINE_LEAST_MS * 1000;
	return reading;
}

static int64_t ceiling_ms(int64_t scan_ms)
{
	return scan_ms > POLL_MAX_MS ? scan_ms : POLL_MAX_MS;
}

/* Doubles the scan interval until it is at least wanted_ms; at most ceiling_ms. */
static int64_t step_for(int64_t wanted_ms, int64_t scan_ms)
{
	int64_t step = scan_ms, most = ceiling_ms(scan_ms);

	while (step < wanted_ms && step < most)
		step *= 2;
	return step < most ? step : most;
}

/* The shortest of the last readings: each of them took at least this long. */
static int64_t slow_us(const struct poll *poll)
{
	int64_t least = poll->took_us[0];

	for (size_t i = 1; i < POLL_READINGS; i++)
		least = poll->took_us[i] < least ? poll->took_us[i] : least;
	return least;
}

/* The middle one of the last three: what a read takes, but for a single slow one. */
static int64_t usual_us(const struct poll *poll)
{
	int64_t sum = 0, most = 0;

	_Static_assert(POLL_READINGS == 3, "the middle of three");
	for (size_t i = 0; i < POLL_READINGS; i++) {
		sum += poll->took_us[i];
		most = poll->took_us[i] > most ? poll->took_us[i] : most;
	}
	return sum - most - slow_us(poll);
}

static void explain(struct poll *poll, const struct poll_reading *reading, bool size_rules)
{
	char seconds[32];

	(void)snprintf(seconds, sizeof(seconds), "%lld s",
		       (long long)(poll->interval_ms / MS_PER_SECOND));
	if (reading->refused)
		(void)snprintf(poll->text, sizeof(poll->text),
			       "it is read every %s, because its reply is above the ceiling",
			       seconds);
	else if (size_rules)
		(void)snprintf(poll->text, sizeof(poll->text),
			       "it is read every %s, because its replies are large (%.1f MiB)",
			       seconds, (double)reading->bytes / (1 << 20));
	else
		(void)snprintf(
			poll->text, sizeof(poll->text),
			"it is read every %s, because its replies are slow (%lld ms or more)",
			seconds, (long long)slow_us(poll) / 1000);
}

bool poll_update(struct poll *poll, int64_t scan_ms, const struct poll_reading *reading)
{
	int64_t before = poll->interval_ms > 0 ? poll->interval_ms : scan_ms, after = before;
	int64_t by_size = (int64_t)(reading->bytes / (BYTES_PER_SECOND / MS_PER_SECOND));
	int64_t by_time, wanted, up, down;

	if (reading->declared_again)
		return false;
	poll->took_us[poll->next] = reading->took_us;
	poll->next = (poll->next + 1) % POLL_READINGS;
	by_time = slow_us(poll) * TIMES_AS_LONG / 1000;
	if (reading->refused)
		by_size = ceiling_ms(scan_ms);
	wanted = by_size > by_time ? by_size : by_time;
	poll->least_ms = usual_us(poll) * POLL_HEAD_SHARE / 1000;
	if (by_size > poll->least_ms)
		poll->least_ms = by_size;
	up = step_for(wanted, scan_ms);
	down = step_for(wanted * MARGIN_NUMERATOR / MARGIN_DENOMINATOR, scan_ms);
	if (up > before)
		after = up;
	else if (down < before)
		after = down;
	if (after == before)
		return false;
	poll->interval_ms = after > scan_ms ? after : 0;
	poll->text[0] = '\0';
	if (poll->interval_ms > 0)
		explain(poll, reading, by_size >= by_time);
	return true;
}

int64_t poll_undecided_next_ms(const struct poll *poll, int64_t scan_ms)
{
	int64_t before = poll->undecided_ms > scan_ms ? poll->undecided_ms : scan_ms;

	return 2 * before < POLL_UNDECIDED_MAX_MS ? 2 * before : POLL_UNDECIDED_MAX_MS;
}

void poll_resume(struct poll *poll, int64_t undecided_seconds)
{
	if (undecided_seconds > POLL_UNDECIDED_MAX_MS / MS_PER_SECOND)
		undecided_seconds = POLL_UNDECIDED_MAX_MS / MS_PER_SECOND;
	poll->undecided_ms = undecided_seconds > 0 ? undecided_seconds * MS_PER_SECOND : 0;
}

void poll_decided(struct poll *poll, int64_t scan_ms, bool undecided)
{
	poll->undecided_ms = undecided ? poll_undecided_next_ms(poll, scan_ms) : 0;
}

int64_t poll_interval_ms(const struct poll *poll, int64_t own_ms, int64_t scan_ms)
{
	int64_t interval_ms = poll->least_ms > own_ms ? poll->least_ms : own_ms;

	if (interval_ms > scan_ms)
		interval_ms = scan_ms;
	if (poll->interval_ms > interval_ms)
		interval_ms = poll->interval_ms;

	return poll->undecided_ms > interval_ms ? poll->undecided_ms : interval_ms;
}

int64_t poll_wake_ms(struct poll *poll, int64_t now_ms)
{
	bool saved = token_bucket_has(&poll->wakes, 1, now_ms);
	int64_t least_ms = saved ? POLL_WAKE_MS : MS_PER_SECOND / POLL_WAKES_PER_SECOND;
	int64_t share = poll->interval_ms / SPACING_SHARE;

	/* Every decision costs as much, whatever triggered its pass. */
	if (poll->undecided_ms > share)
		share = poll->undecided_ms;
	return share > least_ms ? share : least_ms;
}

void poll_woken(struct poll *poll, int64_t now_ms)
{
	(void)token_bucket_take(&poll->wakes, 1, now_ms);
}
