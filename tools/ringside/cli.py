# SPDX-License-Identifier: GPL-2.0-only
"""The command line: what is asked for, refusals in one line, exit status."""

import argparse
import contextlib
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NoReturn

from ringside import __version__, output
from ringside.compare import options as compare_options
from ringside.errors import (
    EXIT_CANNOT_MEASURE,
    EXIT_GOOD,
    EXIT_USAGE,
    RingsideError,
    UsageError,
    shortened,
)
from ringside.report import files, options as report_options

SIZE_MIN = 60
SIZE_MAX = 1514
_COUNT_MAX = 10_000_000
_REPEAT_MAX = 1000
# Beyond these digits no bound is kept, and Python may refuse to convert.
_NUMBER = re.compile("-?[0-9]{1,18}")
# argparse takes the dashes after "=" for the end of the options, and breaks.
_ONLY_DASHES = re.compile("(--?[a-z0-9-]+)=--", re.IGNORECASE)
_LONG_WORD = re.compile(r"\S{61,}")
_MESSAGE_MAX = 600


class _Parser(argparse.ArgumentParser):
    """Refuses in one line, without the usage text."""

    def error(self, message: str) -> NoReturn:
        cut = _LONG_WORD.sub(lambda match: shortened(match[0]), message)
        raise UsageError(f"{shortened(cut, 240)} (see {self.prog} --help)")


def _numbers(name: str, text: str, low: int, high: int, unit: str) -> list[int]:
    """A comma-separated list of numbers within bounds, each once, in order."""
    numbers: list[int] = []
    for word in text.split(","):
        if not _NUMBER.fullmatch(word.strip()):
            raise UsageError(
                f"--{name} {shortened(text)}: '{shortened(word)}' is not a number"
            )
        value = int(word)
        if not low <= value <= high:
            raise UsageError(f"--{name} {value}: must be from {low} to {high} {unit}")
        if value not in numbers:
            numbers.append(value)
    return numbers


def _one_number(name: str, text: str, high: int, unit: str) -> int:
    numbers = _numbers(name, text, 1, high, unit)
    if len(numbers) != 1:
        raise UsageError(f"--{name} {shortened(text)}: takes one number")
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
    bench.add_argument(
        "--nic",
        default="all",
        metavar="N,..",
        help="default: all in-tree drivers",
    )
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
        "--json",
        type=_report,
        metavar="FILE",
        help="write the result there; -: on standard output, the table on stderr",
    )
    bench.add_argument(
        "--html",
        type=_report,
        metavar="FILE",
        help="write the report there; - as with --json",
    )
    bench.add_argument(
        "--budget",
        nargs="?",
        const="",
        metavar="DIR",
        help="hold the figures against budgets; default: ci/budgets",
    )
    bench.add_argument(
        "--update-budget", metavar="WHY", help="write the figures as budgets"
    )
    _add_ledger(commands.add_parser("ledger", help="register accesses by source line"))
    compare = commands.add_parser("compare", help="what a change to a driver costs")
    _add_kernel(compare)
    compare_options.add(compare)
    report = commands.add_parser("report", help="results as other programs read them")
    report_options.add(report)
    bisect = commands.add_parser("bisect", help="the commit that changed a figure")
    _add_kernel(bisect)
    compare_options.add_bisect(bisect)
    _add_history(commands.add_parser("history", help="a figure over revisions"))
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
    kunit.add_argument(
        "--module",
        action="store_true",
        help="as a module of the lab's debug kernel, in a guest",
    )
    return parser


def _add_history(history: argparse.ArgumentParser) -> None:
    history.add_argument("--file", metavar="DB", help="default: in your data folder")
    history.add_argument(
        "--add", nargs="+", default=[], metavar="RESULT.json", help="keep these results"
    )
    history.add_argument("--revision", metavar="NAME", help="--add: what was measured")
    history.add_argument("--nic", metavar="N", help="show a figure of this one")
    history.add_argument("--figure", default="mmio_reads", metavar="NAME")


def _add_ledger(ledger: argparse.ArgumentParser) -> None:
    _add_kernel(ledger)
    ledger.add_argument("--nic", metavar="N")
    ledger.add_argument("--rate", default="20000", metavar="PPS,..", help="as in bench")
    ledger.add_argument("--size", default="60", metavar="B,..", help="as in bench")
    ledger.add_argument("--count", default="2000", metavar="N", help="as in bench")
    ledger.add_argument("--direction", choices=("rx", "tx", "both"), default="rx")
    ledger.add_argument(
        "--tree",
        metavar="DIR",
        help="kernel tree with the driver; default: the lab kernel's own source",
    )
    ledger.add_argument(
        "--bus",
        metavar="MODEL",
        default="none",
        help="charge accesses: none, pci33, pcix133, pcie1, pcie3",
    )
    ledger.add_argument(
        "--ddio",
        action="store_true",
        help="what the device wrote is in the last-level cache, not in memory",
    )
    ledger.add_argument(
        "--static",
        action="store_true",
        help="list the sites in the interrupt and poll path, run nothing",
    )
    ledger.add_argument(
        "--module", metavar="FILE.ko", help="with --static: of this module"
    )
    ledger.add_argument("--json", type=_report, metavar="FILE", help="as in bench")
    ledger.add_argument(
        "--lab",
        choices=("vm", "metal"),
        default="vm",
        help="metal: a port of this machine, its driver replaced meanwhile",
    )
    ledger.add_argument(
        "--generator",
        metavar="IF",
        help="metal: the port at the other end of the cable",
    )
    ledger.add_argument(
        "--force",
        action="store_true",
        help="metal: also a port that this machine needs, and others of its driver",
    )


def _add_kernel(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--kernel",
        metavar="DIR|PACKAGE",
        help="unpacked kernel, .deb file, or Debian package (PACKAGE@SUITE for another"
        " suite); default: Debian's 6.12",
    )


def _report(name: str) -> Path:
    return files.STANDARD_OUTPUT if name == "-" else Path(name)


def _check_reports(json: Path | None, html: Path | None) -> None:
    """Says before the measurement what would fail after it."""
    for path in (json, html):
        if path:
            files.check(path)
    if json and html:
        files.check_apart(json, html)


def _check_words(argv: Sequence[str]) -> None:
    for word in argv:
        if match := _ONLY_DASHES.fullmatch(word):
            raise UsageError(f"{match[1]} takes no '--' (see ringside --help)")


def _load_lists(arguments: argparse.Namespace) -> tuple[list[int], list[int]]:
    """Rates and sizes."""
    rates = _numbers("rate", arguments.rate, 1, 10**9, "packets per second")
    what = "bytes (header to payload, no FCS; MTU 1500)"
    return rates, _numbers("size", arguments.size, SIZE_MIN, SIZE_MAX, what)


def _ledger(
    argv: Sequence[str],
    arguments: argparse.Namespace,
    rates: list[int],
    sizes: list[int],
) -> int:
    # pylint: disable-next=import-outside-toplevel
    from ringside import ledger_command

    return ledger_command.run(
        ledger_command.LedgerRequest(
            command=["./ringside", *argv],
            kernel=arguments.kernel,
            nic=arguments.nic,
            rates_pps=rates,
            sizes=sizes,
            count=_one_number("count", arguments.count, _COUNT_MAX, "frames"),
            direction=arguments.direction,
            tree=arguments.tree,
            bus=arguments.bus,
            ddio=arguments.ddio,
            static=arguments.static,
            module=Path(arguments.module) if arguments.module else None,
            lab=arguments.lab,
            generator=arguments.generator,
            force=arguments.force,
            json=arguments.json,
        )
    )


def _budget(given: str | None) -> Path | None:
    # pylint: disable-next=import-outside-toplevel
    from ringside import budgets

    return None if given is None else Path(given) if given else budgets.FOLDER


def _history(arguments: argparse.Namespace) -> int:
    # pylint: disable-next=import-outside-toplevel
    from ringside import history

    return history.run(
        history.HistoryRequest(
            file=Path(arguments.file) if arguments.file else None,
            add=[Path(name) for name in arguments.add],
            revision=arguments.revision,
            nic=arguments.nic,
            figure=arguments.figure,
        )
    )


def _directions(text: str) -> list[str]:
    words = list(dict.fromkeys(text.split(",")))
    for word in words:
        if word not in compare_options.DIRECTIONS:
            known = ", ".join(compare_options.DIRECTIONS)
            raise UsageError(f"--direction {shortened(word)}: is none of {known}")
    return words


def _compare(
    argv: Sequence[str],
    arguments: argparse.Namespace,
    rates: list[int],
    sizes: list[int],
) -> int:
    # pylint: disable=import-outside-toplevel
    from ringside.bench import Load
    from ringside.compare import command, revisions

    count = _one_number("count", arguments.count, _COUNT_MAX, "frames")
    versions = {
        name: getattr(arguments, name)
        for name in (
            *("tree", "base", "head", "patch"),
            *("base_dir", "head_dir", "driver_only"),
        )
    }
    return command.run(
        command.CompareRequest(
            command=["./ringside", *argv],
            versions=revisions.Request(**versions),
            kernel=arguments.kernel,
            nics=arguments.nic,
            loads=[
                Load(rate, size, count, direction)
                for direction in _directions(arguments.direction)
                for size in sizes
                for rate in rates
            ],
            json=arguments.json,
            markdown=arguments.markdown,
        )
    )


def _kunit(arguments: argparse.Namespace) -> int:
    # pylint: disable-next=import-outside-toplevel
    from ringside import kunit, kunit_module

    run = kunit_module.run if arguments.module else kunit.run
    return run(arguments)


def _results(arguments: argparse.Namespace) -> int:
    # pylint: disable-next=import-outside-toplevel
    from ringside import report_command

    return report_command.run(report_command.request(arguments))


def _nics(arguments: argparse.Namespace) -> int:
    # pylint: disable-next=import-outside-toplevel
    from ringside import commands

    return commands.nics(arguments.kernel, arguments.nic)


def _bisect(arguments: argparse.Namespace) -> int:
    # pylint: disable=import-outside-toplevel
    from ringside.bench import Load
    from ringside.compare import bisect

    rates, sizes = _load_lists(arguments)
    if len(rates) > 1 or len(sizes) > 1:
        raise UsageError("bisect takes one rate and one size")
    count = _one_number("count", arguments.count, _COUNT_MAX, "frames")
    return bisect.run(
        bisect.BisectRequest(
            tree=arguments.tree,
            good=arguments.good,
            bad=arguments.bad,
            nics=arguments.nic,
            figure=arguments.figure,
            load=Load(rates[0], sizes[0], count, arguments.direction),
            kernel=arguments.kernel,
        )
    )


# Commands that need no list of loads.
_WITHOUT_LOAD: dict[str, Callable[[argparse.Namespace], int]] = {
    "kunit": _kunit,
    "report": _results,
    "history": _history,
    "bisect": _bisect,
    "nics": _nics,
}


def _run(argv: Sequence[str]) -> int:
    _check_words(argv)
    arguments = _parser().parse_args(argv)
    if arguments.command in _WITHOUT_LOAD:
        return _WITHOUT_LOAD[arguments.command](arguments)
    # Late, so that help and refusals are quick.
    # pylint: disable-next=import-outside-toplevel
    from ringside import commands

    rates, sizes = _load_lists(arguments)
    second = getattr(arguments, "html", None) or getattr(arguments, "markdown", None)
    _check_reports(arguments.json, second)
    if arguments.command == "compare":
        return _compare(argv, arguments, rates, sizes)
    if arguments.command == "ledger":
        return _ledger(argv, arguments, rates, sizes)
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
            budget=_budget(arguments.budget),
            update_budget=arguments.update_budget,
        )
    )


def _refuse(why: str, status: int) -> int:
    """Says why in one line, whatever the user's words in it hold."""
    line = shortened(" ".join(why.split()), _MESSAGE_MAX)
    with contextlib.suppress(OSError):
        print(f"ringside: {line}", file=sys.stderr)
    return status


def _guarded(argv: Sequence[str]) -> int:
    status = EXIT_GOOD
    try:
        status = _run(argv)
        output.show("")
        return status
    except RingsideError as error:
        return _refuse(str(error), error.status)
    except KeyboardInterrupt:
        why = "interrupted, nothing was left behind"
        return _refuse(why, EXIT_CANNOT_MEASURE)
    except BrokenPipeError:
        # Whoever read the output has enough.
        return status
    except OSError as error:
        return _refuse(str(error), EXIT_CANNOT_MEASURE)
    except SystemExit as leaving:
        # Only --help and --version get here.
        return EXIT_GOOD if leaving.code in (None, 0) else EXIT_USAGE


def main(argv: Sequence[str]) -> int:
    """Runs a command line; the exit status."""
    status = _guarded(argv)
    output.give_up()
    return status
