/* SPDX-License-Identifier: GPL-2.0-only */
/* The tracepoint of an access. Enabling it takes all sites to the slow way. */
#undef TRACE_SYSTEM
#define TRACE_SYSTEM iotally

#if !defined(IOTALLY_TRACE_H) || defined(TRACE_HEADER_MULTI_READ)
#define IOTALLY_TRACE_H

#include <linux/tracepoint.h>

#include "tally.h"

int tally_trace_on(void);
void tally_trace_off(void);

TRACE_EVENT_FN(iotally_access,
	       TP_PROTO(const struct iotally_entry *place, u64 address, u64 value,
			unsigned long count),
	       TP_ARGS(place, address, value, count),
	       TP_STRUCT__entry(__string(operation, place->operation)
				__string(file, place->file)
				__string(function, place->function)
				__string(expression, place->expression)
				__field(u32, line)
				__field(u64, address)
				__field(u64, value)
				__field(unsigned long, count)),
	       TP_fast_assign(TALLY_ASSIGN(operation, place->operation);
			      TALLY_ASSIGN(file, place->file);
			      TALLY_ASSIGN(function, place->function);
			      TALLY_ASSIGN(expression, place->expression);
			      __entry->line = place->line;
			      __entry->address = address;
			      __entry->value = value;
			      __entry->count = count;),
	       TP_printk("%s %s address=%#llx value=%#llx count=%lu site=%s:%u %s",
			 __get_str(operation), __get_str(expression), __entry->address,
			 __entry->value, __entry->count, __get_str(file), __entry->line,
			 __get_str(function)),
	       tally_trace_on, tally_trace_off
);

#endif

#undef TRACE_INCLUDE_PATH
#define TRACE_INCLUDE_PATH .
#undef TRACE_INCLUDE_FILE
#define TRACE_INCLUDE_FILE trace
#include <trace/define_trace.h>
