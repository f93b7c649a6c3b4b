/* Cron expressions as plain data. Made by feature/schedules/codec/cron and the decoder of a snapshot; read by
 * feature/schedules. */
#ifndef CORE_MODEL_CALENDAR_H
#define CORE_MODEL_CALENDAR_H

#include <stdbool.h>
#include <stdint.h>

/* One bit for each value of a field. */
struct cron {
	uint64_t minutes;  /* bits 0 to 59 */
	uint32_t hours;    /* bits 0 to 23 */
	uint32_t days;     /* of the month, bits 1 to 31 */
	uint32_t months;   /* bits 1 to 12 */
	uint32_t weekdays; /* bits 0 (Sunday) to 6 */
	/* Both fields of days are restricted: a day that one of them names matches. */
	bool either_day;
};

/* How far the next change of a schedule is searched for, and the end of windows that follow each other. */
#define CALENDAR_SEARCH_DAYS 366
#define CALENDAR_CHAIN_DAYS 100

#endif
