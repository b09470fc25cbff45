# SPDX-License-Identifier: GPL-2.0-only
"""The command line of compare."""

import argparse
from pathlib import Path

DIRECTIONS = ("rx", "tx", "both")


def add(parser: argparse.ArgumentParser) -> None:
    """Its options, besides those of all measuring commands."""
    parser.add_argument("--nic", metavar="N,..")
    versions = parser.add_argument_group("what is compared")
    versions.add_argument(
        "--tree", metavar="DIR", help="git tree; default: this folder"
    )
    versions.add_argument("--base", metavar="REV", help="where the change starts from")
    versions.add_argument("--head", metavar="REV", help="the change as a revision")
    versions.add_argument(
        "--patch", metavar="FILE", help="or as a patch or an mbox on top of base"
    )
    versions.add_argument(
        "--base-dir", metavar="DIR", help="or two trees without git: this one,"
    )
    versions.add_argument("--head-dir", metavar="DIR", help="and that one")
    versions.add_argument(
        "--driver-only",
        action="store_true",
        help="although the change touches more than the driver",
    )
    parser.add_argument("--rate", default="20000", metavar="PPS,..", help="as in bench")
    parser.add_argument("--size", default="60", metavar="B,..", help="as in bench")
    parser.add_argument("--count", default="2000", metavar="N", help="as in bench")
    parser.add_argument(
        "--direction",
        default="rx,tx",
        metavar="D,..",
        help="rx, tx, both; default: rx,tx",
    )
    parser.add_argument("--json", type=_file, metavar="FILE", help="as in bench")
    parser.add_argument(
        "--markdown",
        type=_file,
        metavar="FILE",
        help="write what changed, for a commit message; - as with --json",
    )


def add_bisect(parser: argparse.ArgumentParser) -> None:
    """Those of bisect: two ends, one load, one figure."""
    parser.add_argument("--nic", metavar="N")
    parser.add_argument(
        "--tree", default=".", metavar="DIR", help="default: this folder"
    )
    parser.add_argument("--good", metavar="REV", help="has the old figure")
    parser.add_argument("--bad", metavar="REV", help="has the new one")
    parser.add_argument("--figure", default="mmio_reads", metavar="NAME")
    parser.add_argument("--rate", default="20000", metavar="PPS", help="as in bench")
    parser.add_argument("--size", default="60", metavar="B", help="as in bench")
    parser.add_argument("--count", default="2000", metavar="N", help="as in bench")
    parser.add_argument("--direction", choices=DIRECTIONS, default="rx")


def _file(name: str) -> Path:
    # pylint: disable-next=import-outside-toplevel
    from ringside.report import files

    return files.STANDARD_OUTPUT if name == "-" else Path(name)
