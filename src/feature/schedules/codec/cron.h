/* The five fields of a cron expression: minute, hour, day of the month, month, day of the week; as
 * crontab(5) describes them, without @daily and its like. Pure. */
#ifndef FEATURE_SCHEDULES_CODEC_CRON_H
#define FEATURE_SCHEDULES_CODEC_CRON_H

#include "core/model/calendar.h"

/* Fields are lists of *, values and ranges, each with an optional step; months and days of the week
 * may be names of three letters, in any case; Sunday is 0 and 7. As in cron, a day matches both
 * fields of days, or one of them if neither begins with "*". -1: invalid, *ret_problem says why. */
int cron_parse(const char *text, struct cron *ret_cron, const char **ret_problem);

#endif
