# SPDX-License-Identifier: GPL-2.0-only
"""Measures the bench itself and writes docs/performance.md: `make perf`."""

import argparse
import json
import os
import resource
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ringside import bench, builds, cache, profiles
from ringside.lab import kernel, qemu, run, snapshot
from ringside.lab.kernel import LabKernel

_PAGE = builds.TREE / "docs/performance.md"
_NIC = "8139cp"
_PAIRS = 7
_COUNTS = (1_000, 10_000, 100_000, 1_000_000)
# What the set-up has fetched; the rest of the cache is what a first bench makes.
_FETCHED = ("kernels", "headers", "qemu", "checkpatch")


def _bench_s(*words: str, folder: Path | None = None) -> float:
    """Wall time of a bench command, seconds; folder is its cache."""
    environment = dict(os.environ)
    if folder:
        environment["RINGSIDE_CACHE"] = str(folder)
    started = time.monotonic()
    subprocess.run(
        [builds.TREE / "ringside", "bench", *words],
        check=True,
        stdout=subprocess.DEVNULL,
        env=environment,
    )
    return time.monotonic() - started


@contextmanager
def _cold_cache() -> Iterator[Path]:
    """A cache in which packages are fetched and nothing else is made."""
    cache.root().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".cold-", dir=cache.root()) as name:
        for kind in _FETCHED:
            if (cache.root() / kind).exists():
                (Path(name) / kind).symlink_to(cache.root() / kind)
        yield Path(name)


def _command(kept: snapshot.Snapshot, count: int) -> str:
    return bench.commands(kept, bench.Load(20000, 60, count, "rx"))[0]


def _window_ratio(kept: snapshot.Snapshot) -> tuple[float, float, float]:
    """Medians of the window's host time without and with the plugin, and of their ratio.

    Both alternate, so that a busy moment of the host meets either.
    """
    command = _command(kept, 2000)
    pairs = []
    for _ in range(_PAIRS):
        plain = run.execute(kept, command, None).host_s
        counted = run.execute(kept, command, {}).host_s
        pairs.append((plain, counted))
    return (
        statistics.median(pair[0] for pair in pairs),
        statistics.median(pair[1] for pair in pairs),
        statistics.median(pair[1] / pair[0] for pair in pairs),
    )


def _speed_rows(names: list[str]) -> list[tuple[str, str, str]]:
    with _cold_cache() as folder:
        cold = _bench_s("--nic", ",".join(names), folder=folder)
    _bench_s("--nic", ",".join(names))
    one = statistics.median(_bench_s("--nic", _NIC) for _ in range(5))
    everything = statistics.median(_bench_s("--nic", ",".join(names)) for _ in range(3))
    return [
        ("one NIC, warm", f"{one:.1f} s", "6 s"),
        (f"all {len(names)} NICs, warm", f"{everything:.1f} s", "60 s"),
        (f"all {len(names)} NICs, no snapshot yet", f"{cold:.0f} s", "240 s"),
    ]


def _growth_by_count(
    kept: snapshot.Snapshot, counts: tuple[int, ...]
) -> list[tuple[str, str]]:
    rows = []
    for count in counts:
        taken = run.execute(kept, _command(kept, count), {}).host_s
        rows.append((f"{count:,}", f"{taken:.1f} s", f"{taken / count * 1e6:.0f} us"))
    return rows  # type: ignore[return-value]


def _growth_by_nics(names: list[str]) -> list[tuple[str, str]]:
    sizes = sorted({1, 2, 4, 8, len(names)} & set(range(len(names) + 1)))
    return [
        (str(size), f"{_bench_s('--nic', ','.join(names[:size])):.1f} s")
        for size in sizes
    ]


def _table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in rows])


def _cache_mib(kind: str) -> float:
    files = (cache.root() / kind).rglob("*")
    return (
        sum(path.stat().st_blocks * 512 for path in files if path.is_file()) / 2**20
    )


def _usable(lab_kernel: LabKernel) -> list[str]:
    return [
        profile.name
        for profile in profiles.all_profiles()
        if lab_kernel.module_file(profile.driver)
        and not qemu.unusable(qemu.find(), profile)
    ]


def _processor() -> str:
    text = Path("/proc/cpuinfo").read_text(encoding="utf-8")
    names = [
        line.split(":", 1)[1].strip()
        for line in text.splitlines()
        if "model name" in line
    ]
    return names[0] if names else "unknown"


def measure(counts: tuple[int, ...]) -> str:
    """The page's text."""
    lab_kernel = kernel.find(None)
    names = _usable(lab_kernel)
    speed = _speed_rows(names)
    kept = snapshot.get(lab_kernel, profiles.choose(_NIC)[0])
    plain, counted, ratio = _window_ratio(kept)
    by_count = _growth_by_count(kept, counts)
    by_nics = _growth_by_nics(names)
    # The largest of all QEMU processes that this program waited for, kibibytes.
    largest = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    template = (Path(__file__).parent / "performance.md.in").read_text(encoding="utf-8")
    return template.format(
        machine=f"{os.cpu_count()} processors ({_processor()})",
        qemu=qemu.find().version_text,
        kernel=lab_kernel.release,
        speed=_table(("what", "took", "limit"), speed),  # type: ignore[arg-type]
        nic=_NIC,
        plain=f"{plain:.2f}",
        counted=f"{counted:.2f}",
        ratio=f"{ratio:.2f}",
        pairs=_PAIRS,
        by_count=_table(("packets", "window", "per packet"), by_count),  # type: ignore[arg-type]
        by_nics=_table(("NICs", "took"), by_nics),  # type: ignore[arg-type]
        memory=f"{largest:.0f}",
        snapshot=f"{_cache_mib('snapshots/' + kept.folder.name):.0f}",
    )


def main() -> None:
    """Measures and writes the page, or a JSON of one ratio for the tests."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--quick", action="store_true", help="up to 10,000 packets only"
    )
    parser.add_argument(
        "--ratio", action="store_true", help="only print the plugin's ratio"
    )
    arguments = parser.parse_args()
    if arguments.ratio:
        kept = snapshot.get(kernel.find(None), profiles.choose(_NIC)[0])
        plain, counted, ratio = _window_ratio(kept)
        print(json.dumps({"plain_s": plain, "counted_s": counted, "ratio": ratio}))
        return
    _PAGE.write_text(
        measure(_COUNTS[:2] if arguments.quick else _COUNTS), encoding="utf-8"
    )
    print(f"wrote {_PAGE.relative_to(builds.TREE)}")


if __name__ == "__main__":
    main()
