# SPDX-License-Identifier: GPL-2.0-only
"""What a kernel in trouble says, found in its console."""

import re
from collections.abc import Sequence

# The stack's word for a transmit queue that is stuck: trouble, unless it is provoked.
WATCHDOG = "NETDEV WATCHDOG"

_SPLAT = re.compile(
    r"\b(?:BUG:|WARNING:|Oops:|Call Trace:|INFO: task|INFO: rcu|possible recursive"
    r"|inconsistent lock state|circular locking|suspicious RCU|DMA-API:|kmemleak:"
    rf"|refcount_t:|ODEBUG:|general protection fault|nobody cared|{WATCHDOG})"
)


def find(console: Sequence[str], expected: Sequence[str] = ()) -> list[str]:
    """The lines that say so; those that hold an expected text are left out."""
    return [
        line
        for line in console
        if _SPLAT.search(line) and not any(text in line for text in expected)
    ]
