# SPDX-License-Identifier: GPL-2.0-only
"""Entry of `python3 -m ringside`, which the launcher calls."""

import os
import signal
import sys
from typing import NoReturn


def _interrupted(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def _start() -> int:
    try:
        # After the handler is there, for it takes a while.
        # pylint: disable-next=import-outside-toplevel
        from ringside.cli import main
    except KeyboardInterrupt:
        print("ringside: interrupted, nothing was left behind", file=sys.stderr)
        return 3
    return main(sys.argv[1:])


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, _interrupted)
    # For closed streams: whatever opens a file next would become them.
    # pylint: disable=consider-using-with
    sys.stdout = sys.stdout or open(os.devnull, "w", encoding="utf-8")
    sys.stderr = sys.stderr or open(os.devnull, "w", encoding="utf-8")
    sys.exit(_start())
