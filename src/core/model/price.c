#include "core/model/price.h"

const char *price_market_name(enum price_market market)
{
	static const char *const names[] = { "", "on-demand", "spot", "reserved" };

	return (size_t)market < sizeof(names) / sizeof(names[0]) ? names[market] : "";
}
