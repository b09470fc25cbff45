# SPDX-License-Identifier: GPL-2.0-only
"""The command line of report."""

import argparse

# Pages, and the kind of result that each is for.
PAGES = {"html": "bench", "markdown": "compare"}
HELP = {
    "html": "one page, of a bench",
    "markdown": "what changed, of a comparison",
    "junit": "JUnit XML, figures as properties",
    "kcidb": "KCIDB 5.3 JSON, a node for each figure",
    "lava": "signals of LAVA",
    "tap": "TAP 13",
    "benchstat": "lines of go test -bench",
    "openmetrics": "OpenMetrics text",
}


def add(parser: argparse.ArgumentParser) -> None:
    """A form without a file goes to standard output."""
    parser.add_argument("results", nargs="+", metavar="RESULT.json")
    for name, text in HELP.items():
        parser.add_argument(
            f"--{name}", nargs="?", const="-", metavar="FILE", help=text
        )
