# SPDX-License-Identifier: GPL-2.0-only
"""The command line: what is asked for, refusals in one line, exit status."""

import argparse
import re
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import NoReturn

from ringside import __version__
from ringside.errors import (
    EXIT_CANNOT_MEASURE,
    EXIT_GOOD,
    EXIT_USAGE,
    RingsideError,
    UsageError,
)

SIZE_MIN = 60
SIZE_MAX = 1514
_COUNT_MAX = 10_000_000
_REPEAT_MAX = 1000
# Beyond these digits no bound is kept, and Python may refuse to convert.
_NUMBER = re.compile("-?[0-9]{1,18}")


class _Parser(argparse.ArgumentParser):
    """Refuses in one line, without the usage text."""

    def error(self, message: str) -> NoReturn:
        raise UsageError(f"{message} (see {self.prog} --help)")


def _numbers(name: str, text: str, low: int, high: int, unit: str) -> list[int]:
    """A comma-separated list of numbers within bounds, each once, in order."""
    numbers: list[int] = []
    for word in text.split(","):
        if not _NUMBER.fullmatch(word.strip()):
            raise UsageError(f"--{name} {text}: '{word}' is not a number")
        value = int(word)
        if not low <= value <= high:
            raise UsageError(f"--{name} {value}: must be from {low} to {high} {unit}")
        if value not in numbers:
            numbers.append(value)
    return numbers


def _one_number(name: str, text: str, high: int, unit: str) -> int:
    numbers = _numbers(name, text, 1, high, unit)
    if len(numbers) != 1:
        raise UsageError(f"--{name} {text}: takes one number")
    return numbers[0]


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(
        prog="ringside",
        description="What a NIC driver costs per packet, measured in virtual time.",
        epilog="Exit status: 0 good, 1 measured and not good, 2 wrong use,"
        " 3 could not measure, 4 nothing to do.",
    )
    parser.add_argument(
        "--version", action="version", version=f"ringside {__version__}"
    )
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True)
    nics = commands.add_parser("nics", help="known NICs, usable here or why not")
    _add_kernel(nics)
    nics.add_argument("nic", nargs="?", help="tell more about this one")
    bench = commands.add_parser("bench", help="the cost of a packet, by driver")
    _add_kernel(bench)
    bench.add_argument("--nic", default="all", metavar="N,..", help="default: all")
    bench.add_argument(
        "--rate", default="20000", metavar="PPS,..", help="default: 20000"
    )
    bench.add_argument(
        "--size", default="60", metavar="B,..", help="bytes without FCS, default: 60"
    )
    bench.add_argument(
        "--count", default="2000", metavar="N", help="default: 2000 frames"
    )
    bench.add_argument("--direction", choices=("rx", "tx", "both"), default="rx")
    bench.add_argument(
        "--repeat", default="1", metavar="R", help="runs, compared exactly"
    )
    bench.add_argument("--lab", choices=("vm",), default="vm")
    for level in ("l1d", "l2", "llc"):
        bench.add_argument(
            f"--{level}",
            metavar="SIZE:WAYS:LINE",
            help="geometry of the cache model, bytes",
        )
    bench.add_argument(
        "--json", type=Path, metavar="FILE", help="write the result there"
    )
    bench.add_argument(
        "--html", type=Path, metavar="FILE", help="write the report there"
    )
    kunit = commands.add_parser("kunit", help="the reference driver's KUnit suites")
    kunit.add_argument("--suite", metavar="NAME,..", help="default: all")
    kunit.add_argument("--arch", choices=("um", "x86_64"), default="um")
    kunit.add_argument(
        "--tree", metavar="DIR", help="kernel tree; default: Debian's linux-source-6.12"
    )
    kunit.add_argument(
        "--mutants",
        nargs="?",
        const="all",
        metavar="ID,..",
        help="put known bugs in, one at a time: each must fail a suite; default: all",
    )
    return parser


def _add_kernel(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--kernel",
        metavar="DIR|PACKAGE",
        help="unpacked kernel, .deb file, or Debian package (PACKAGE@SUITE for another"
        " suite); default: Debian's 6.12",
    )


def _writable(path: Path | None) -> None:
    """Says before the measurement what would fail after it."""
    if path and (path.is_dir() or not path.absolute().parent.is_dir()):
        raise UsageError(f"cannot write {path}: no such folder, or it is one")


def _interrupted(*_: object) -> NoReturn:
    raise KeyboardInterrupt


def _run(argv: Sequence[str]) -> int:
    arguments = _parser().parse_args(argv)
    if arguments.command == "kunit":
        # Runs without what the other commands need.
        # pylint: disable-next=import-outside-toplevel
        from ringside import kunit

        return kunit.run(arguments)
    # Late, so that help and refusals are quick.
    # pylint: disable=import-outside-toplevel
    from ringside import commands

    if arguments.command == "nics":
        return commands.nics(arguments.kernel, arguments.nic)
    rates = _numbers("rate", arguments.rate, 1, 10**9, "packets per second")
    sizes = _numbers(
        "size",
        arguments.size,
        SIZE_MIN,
        SIZE_MAX,
        "bytes (header to payload, no FCS; MTU 1500)",
    )
    for path in (arguments.json, arguments.html):
        _writable(path)
    return commands.bench(
        commands.BenchRequest(
            command=["./ringside", *argv],
            kernel=arguments.kernel,
            nics=arguments.nic,
            rates_pps=rates,
            sizes=sizes,
            count=_one_number("count", arguments.count, _COUNT_MAX, "frames"),
            direction=arguments.direction,
            repeats=_one_number("repeat", arguments.repeat, _REPEAT_MAX, "runs"),
            cache_model={
                level: geometry
                for level in ("l1d", "l2", "llc")
                if (geometry := getattr(arguments, level))
            },
            json=arguments.json,
            html=arguments.html,
        )
    )


def _refuse(why: str, status: int) -> int:
    """Says why in one line, whatever the user's words in it hold."""
    print(f"ringside: {' '.join(why.split())}", file=sys.stderr)
    return status


def main(argv: Sequence[str]) -> int:
    """Runs a command line; the exit status."""
    signal.signal(signal.SIGTERM, _interrupted)
    try:
        return _run(argv)
    except RingsideError as error:
        return _refuse(str(error), error.status)
    except KeyboardInterrupt:
        why = "interrupted, nothing was left behind"
        return _refuse(why, EXIT_CANNOT_MEASURE)
    except BrokenPipeError:
        # Whoever read the output has enough; Python must not try to flush it.
        sys.stderr.close()
        return EXIT_GOOD
    except OSError as error:
        return _refuse(str(error), EXIT_CANNOT_MEASURE)
    except SystemExit as leaving:
        # Only --help and --version get here.
        return EXIT_GOOD if leaving.code in (None, 0) else EXIT_USAGE
