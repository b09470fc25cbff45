# SPDX-License-Identifier: GPL-2.0-only
"""Entry of `python3 -m ringside`, which the launcher calls."""

import sys

from ringside.cli import main

sys.exit(main(sys.argv[1:]))
