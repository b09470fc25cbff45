// SPDX-License-Identifier: GPL-2.0-only
/* When a measured window begins in a second. */
#include "window.h"

#define PERIOD_NS (2 * NS_PER_S)
/* One of these suits every length, for an end from 200 to 900 ms into a second. */
#define EARLY_NS (300 * 1000000ull)
#define LATE_NS (600 * 1000000ull)
#define END_FROM_NS (200 * 1000000ull)
#define END_TO_NS (900 * 1000000ull)

static uint64_t phase_ns(uint64_t length_ns)
{
	uint64_t end_ns = (EARLY_NS + length_ns % NS_PER_S) % NS_PER_S;

	return end_ns >= END_FROM_NS && end_ns <= END_TO_NS ? EARLY_NS : LATE_NS;
}

uint64_t window_start_ns(uint64_t earliest_ns, uint64_t length_ns)
{
	uint64_t start_ns = earliest_ns - earliest_ns % PERIOD_NS + phase_ns(length_ns);

	return start_ns < earliest_ns ? start_ns + PERIOD_NS : start_ns;
}
