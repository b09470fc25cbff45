# SPDX-License-Identifier: GPL-2.0-only
"""What measuring commands share: tasks at once, the environment record, the verdict."""

import datetime
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    Progress,
    TaskProgressColumn,
    TextColumn,
    TimeRemainingColumn,
)

from ringside import __version__, bench
from ringside.errors import EXIT_CANNOT_MEASURE, EXIT_GOOD, EXIT_NOT_GOOD
from ringside.lab import guest, qemu
from ringside.lab.kernel import LabKernel

Measure = Callable[[LabKernel, bench.Task, bench.Progress], dict[str, Any]]

# Options of a kernel that change what a packet costs: recorded with each result.
_DEBUG_OPTIONS = re.compile(
    r"^(CONFIG_(?:KASAN|KCSAN|KMSAN|UBSAN|PROVE_LOCKING|LOCKDEP|DEBUG_KMEMLEAK|"
    r"DMA_API_DEBUG|SLUB_DEBUG_ON|DEBUG_OBJECTS|DEBUG_LIST|DEBUG_ATOMIC_SLEEP|"
    r"INIT_ON_ALLOC_DEFAULT_ON|FUNCTION_PROFILER|GCOV_KERNEL))=y$",
    re.MULTILINE,
)


def debug_options(kernel: LabKernel) -> list[str]:
    """Options of a kernel that change what a packet costs, as far as they are on."""
    text = kernel.config.read_text(encoding="utf-8")
    return sorted(match[1] for match in _DEBUG_OPTIONS.finditer(text))


@contextmanager
def _bar(total: int) -> Iterator[Progress | None]:
    """A progress bar with the time left, where somebody can see it."""
    if not sys.stderr.isatty():
        yield None
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as progress:
        progress.add_task("measuring", total=total)
        yield progress


def measure_all(
    kernel: LabKernel, tasks: list[bench.Task], measure: Measure
) -> list[dict[str, Any]]:
    """Entries of all tasks, as many at once as there are processors."""
    done = [0.0] * len(tasks)
    with _bar(len(tasks)) as bar, ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        futures: list[Future[dict[str, Any]]] = []
        try:
            for number, task in enumerate(tasks):

                def told(part: float, number: int = number) -> None:
                    done[number] = part

                futures.append(pool.submit(measure, kernel, task, told))
            pending = set(futures)
            while pending:
                finished, pending = wait(pending, 0.2, FIRST_COMPLETED)
                for future in finished:
                    done[futures.index(future)] = 1.0
                    future.result()
                if bar:
                    bar.update(bar.task_ids[0], completed=sum(done))
        except BaseException:
            guest.CANCEL.set()
            pool.shutdown(wait=True, cancel_futures=True)
            raise
    return [future.result() for future in futures]


def environment(
    command: list[str],
    kernel: LabKernel,
    model: dict[str, Any] | None,
    started: float,
    packet_data: str = "assumed cached",
) -> dict[str, Any]:
    """What two results must share before they may be compared."""
    when = datetime.datetime.fromtimestamp(started, datetime.timezone.utc)
    return {
        "kernel_release": kernel.release,
        "kernel_config_sha256": kernel.config_hash(),
        "command": command,
        "qemu_version": qemu.find().version_text,
        "cpu_model": qemu.CPU_MODEL,
        "tool_version": __version__,
        "seed": 1,
        "started": when.isoformat(timespec="seconds"),
        "wall_time_s": round(time.time() - started, 1),
        "icount_shift": 0,
        "guest_clock_hz": 1_000_000_000,
        "cache_model": model,
        "packet_data": packet_data,
        "debug_options": debug_options(kernel),
    }


def status(entries: list[dict[str, Any]], passed_over: set[str]) -> int:
    """The exit status; NICs that "all" passed over count only when nothing else is there."""
    if any(entry["status"] == "fail" for entry in entries):
        return EXIT_NOT_GOOD
    measured = [entry for entry in entries if entry["status"] == "pass"]
    broken = [
        entry
        for entry in entries
        if entry["status"] == "error" and entry["nic"] not in passed_over
    ]
    return EXIT_CANNOT_MEASURE if broken or not measured else EXIT_GOOD
