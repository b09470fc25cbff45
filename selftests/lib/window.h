/* SPDX-License-Identifier: GPL-2.0-only */
/* When a measured window begins in a second, so that periodic work is not cut by it. */
#ifndef RINGSIDE_WINDOW_H
#define RINGSIDE_WINDOW_H

#include <stdint.h>

#define NS_PER_S 1000000000ull

/*
 * The first good time, in ns, from @earliest_ns on, for a window of @length_ns.
 *
 * Neither its begin nor its end is near a whole second, when drivers and the
 * kernel do their periodic work: work that came into the window of one run
 * only, of the two that are subtracted, would be taken for the cost of its
 * packets. It is in every other second, since the longest of the usual periods
 * is two: each run meets the same phase.
 */
uint64_t window_start_ns(uint64_t earliest_ns, uint64_t length_ns);

#endif
