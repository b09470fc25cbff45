# SPDX-License-Identifier: GPL-2.0-only
"""The QEMU plugin on a guest whose counts are known, under every QEMU there is."""

import json
import re
import struct
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from ringside.lab import qemu as qemu_programs

TESTS = Path(__file__).resolve().parent
PLUGIN = TESTS.parent / "tools" / "qemu" / "plugin"

IOREMAP = "ioremap=0xd0000000:0xd03fffff"
HOOKS = ["poll=k_poll", "irq=k_irq", "packet=k_packet"]


class Qemu(NamedTuple):
    """An emulator and the plugin interface it speaks."""

    program: str
    api: int


class Built(NamedTuple):
    """Where the plugins and the guest are, and the guest's symbols."""

    folder: Path
    symbols: dict[str, int]


class Run(NamedTuple):
    """What one run of the guest left behind."""

    text: str
    windows: list[dict[str, Any]]
    ticks: int
    trace: str


class Counts(NamedTuple):
    """Figures of one function, in the order of the plugin's output."""

    instructions: int | None
    loads: int
    stores: int
    l1d_misses: int | None
    l2_misses: int | None
    llc_misses: int | None
    mmio_reads: int = 0
    mmio_writes: int = 0
    calls: int | None = 1


# In the order in which the functions lie. Every ret is a load of the stack,
# whose line has been used before unless said otherwise.
EXPECTED = {
    # 11 calls in window 1 and 11 in polls, which returns; the stack's first use.
    "[user]": Counts(None, 1, 22, 1, 1, 1, calls=None),
    # mov, 1000 times dec and jnz, ret
    "k_loop": Counts(1 + 2 * 1000 + 1, 1, 0, 0, 0, 0),
    # Twice 1024 lines; they do not fit into L1d and push the stack out too,
    # which L2 keeps, as it keeps them for the second time.
    "k_walk": Counts(
        2 * (2 + 4 * 1024 + 1), 2 * 1025, 0, 2 * 1025, 1024, 1024, calls=2
    ),
    "k_split": Counts(2 + 5 * 10 + 1, 11, 10, 20, 20, 20),
    # Each round has a write, a read, and an or that does both.
    "k_mmio": Counts(2 + 8 * 50 + 1, 101, 100, 0, 0, 0, 100, 100),
    # A repetition counts, and once more at the end; a new line is stored to.
    "k_mmio_rep": Counts(3 + (3 + 1) + 1, 3 + 1, 3, 1, 1, 1, 3, 0),
    # The load is begun twice, and done once.
    "k_fault": Counts(5 + 1, 2, 0, 1, 1, 1),
    "k_fault_handler": Counts(3, 0, 1, 1, 1, 1),
    "k_invalid": Counts(4, 1, 0, 0, 0, 0),
    "k_invalid_handler": Counts(2, 1, 1, 0, 0, 0),
    # Two lines of the array that only L2 still has, and one new one.
    "k_rep": Counts(3 + (100 + 1) + 1, 100 + 1, 100, 3, 1, 1),
    "k_page_end": Counts(5, 2, 0, 1, 1, 1),
    "k_poll": Counts(5 * 5, 2 * 5, 2 * 5, 3, 3, 3, calls=5),
    "k_return_thunk": Counts(5, 5, 0, 0, 0, 0, calls=5),
    # 9 packets in polls that are not empty, and one poll that is
    "k_driver": Counts(4 * 2 + 3 * 9 + 2, 5, 9, 0, 0, 0, calls=5),
    "k_driver_interrupted": Counts(5, 1, 2, 0, 0, 0),
    # 9 in polls, 4 in interrupts, 3 outside
    "k_packet": Counts(2 * 16, 2 * 16, 16, 1, 1, 1, calls=16),
    "k_irq": Counts(6 * 4, 4 * 4, 2 * 4, 3, 3, 3, calls=4),
}

TIMER_TICKS = 20


def available_qemus() -> list[Any]:
    """The system's QEMU, and the newer one that the set-up unpacks on Debian 12."""
    found = []
    for path in qemu_programs.candidates():
        program = str(path)
        out = subprocess.run(
            [program, "--version"], capture_output=True, text=True, check=True
        )
        version = re.search(r"version (\d+)\.(\d+)", out.stdout)
        assert version, out.stdout
        api = 1 if int(version[1]) < 9 else 4
        found.append(
            pytest.param(Qemu(program, api), id=f"qemu-{version[1]}.{version[2]}")
        )
    return found or [
        pytest.param(None, marks=pytest.mark.skip("no qemu-system-x86_64"))
    ]


def build_guest(folder: Path) -> dict[str, int]:
    """Assemble and link the guest, write its symbol table, return its symbols."""
    guest = folder / "guest.elf"
    source = str(TESTS / "plugin" / "guest.S")
    subprocess.run(["gcc", "-m32", "-c", "-o", f"{guest}.o", source], check=True)
    places = ["-Ttext=0x101000", "--section-start=.multiboot=0x100000"]
    places += ["--section-start=.kernel=0x200000", "-Tdata=0x400000"]
    flags = [
        "-m",
        "elf_i386",
        "-nostdlib",
        "-z",
        "noexecstack",
        "-z",
        "max-page-size=0x1000",
    ]
    flags.append("--no-warn-rwx-segments")
    subprocess.run(["ld", *flags, *places, "-o", guest, f"{guest}.o"], check=True)
    listing = subprocess.run(
        ["nm", "-n", guest], capture_output=True, text=True, check=True
    )
    symbols = {}
    lines = []
    for line in listing.stdout.splitlines():
        addr, _, name = line.split()
        symbols[name] = int(addr, 16)
        if name.startswith("k_"):
            lines.append(f"{addr} guest {'-' if name == 'k_end' else name}\n")
    (folder / "symbols").write_text("".join(lines))
    return symbols


@pytest.fixture(name="built", scope="module")
def fixture_built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    """Plugins for both interfaces, and the guest."""
    folder = tmp_path_factory.mktemp("plugin")
    make = ["make", "-s", "-C", str(PLUGIN), f"OUT={folder}", "WERROR=-Werror"]
    subprocess.run(make, check=True)
    return Built(folder, build_guest(folder))


@pytest.fixture(name="qemu", params=available_qemus())
def fixture_qemu(request: pytest.FixtureRequest) -> Qemu:
    """Each QEMU in turn."""
    qemu = request.param
    assert isinstance(qemu, Qemu)
    return qemu


def start(
    qemu: Qemu, built: Built, options: list[str], more: list[str]
) -> subprocess.CompletedProcess[str]:
    """Run the guest under the plugin until it ends itself."""
    plugin = ",".join([f"{built.folder}/cost-v{qemu.api}.so", *options])
    command = [qemu.program, "-M", "pc", "-m", "64", "-display", "none", "-nodefaults"]
    command += ["-no-reboot", "-icount", "shift=0,sleep=off"]
    command += ["-kernel", str(built.folder / "guest.elf")]
    command += [
        "-device",
        "isa-debug-exit,iobase=0xf4,iosize=1",
        "-plugin",
        plugin,
        *more,
    ]
    return subprocess.run(
        command, capture_output=True, text=True, check=False, timeout=120
    )


def measure(
    qemu: Qemu, built: Built, folder: Path, extra: list[str] | None = None
) -> Run:
    """Run the guest with the usual options and read what it left."""
    out = folder / "out.json"
    console = folder / "console"
    trace = folder / "trace"
    napi = [f"napi={built.symbols[name]:#x}:64" for name in ("napi_a", "napi_b")]
    options = [f"symbols={built.folder}/symbols", f"out={out}", "kernel_start=0x200000"]
    options += [IOREMAP, *HOOKS, *napi, *(extra or [])]
    more = [
        "-debugcon",
        f"file:{console}",
        "--trace",
        "memory_region_ops_*",
        "-D",
        str(trace),
    ]
    done = start(qemu, built, options, more)
    # isa-debug-exit turns the guest's 0 into 1.
    assert (done.returncode, done.stderr) == (1, "")
    assert not out.with_name("out.json.tmp").exists()
    text = out.read_text()
    (ticks,) = struct.unpack("<I", console.read_bytes())
    return Run(text, json.loads(text), ticks, trace.read_text())


def by_function(window: dict[str, Any]) -> dict[str, Counts]:
    """The functions of a window, in their order."""
    return {
        f["name"]: Counts(*(f[key] for key in Counts._fields))
        for f in window["functions"]
    }


def test_counts_known_by_construction(qemu: Qemu, built: Built, tmp_path: Path) -> None:
    """Every figure of every function is the one that the source says."""
    window = measure(qemu, built, tmp_path).windows[0]
    functions = by_function(window)
    assert functions == EXPECTED
    assert list(functions) == list(EXPECTED)
    assert window["plugin_api"] == qemu.api
    assert window["kernel_instructions"] == sum(
        c.instructions or 0 for c in EXPECTED.values()
    )
    assert window["user_instructions"] is None
    modules = {f["name"]: f["module"] for f in window["functions"]}
    assert modules == {name: "guest" if name != "[user]" else None for name in EXPECTED}
    assert window["cache"]["l1d"] == {"size_bytes": 32768, "ways": 8, "line_bytes": 64}


def test_polls_and_irqs(qemu: Qemu, built: Built, tmp_path: Path) -> None:
    """Packets go to the poll they came in, and to no other."""
    window = measure(qemu, built, tmp_path).windows[0]
    addr_of = {name: hex(addr) for name, addr in built.symbols.items()}
    assert window["polls"] == [
        {"napi": addr_of["napi_a"], "polls": 3, "packets": [[0, 1], [3, 2]]},
        {"napi": addr_of["napi_b"], "polls": 1, "packets": [[1, 1]]},
        {"napi": None, "polls": 1, "packets": [[2, 1]]},
    ]
    assert window["irqs"] == [
        {"desc": addr_of["desc_a"], "count": 2},
        {"desc": addr_of["desc_b"], "count": 2},
    ]
    assert window["packet_calls"] == 16


def test_mmio_is_what_the_devices_saw(qemu: Qemu, built: Built, tmp_path: Path) -> None:
    """Accesses by page are those of QEMU's own trace of memory regions."""
    run = measure(qemu, built, tmp_path)
    seen: Counter[tuple[str, str]] = Counter()
    for line in run.trace.splitlines():
        match = re.match(
            r"memory_region_ops_(read|write) .* name '(ioapic|hpet)'", line
        )
        if match:
            seen[match[2], match[1]] += 1
    assert seen["ioapic", "read"] == 100
    assert run.windows[0]["mmio"] == [
        {
            "phys": f"{page:#x}",
            "reads": seen[name, "read"],
            "writes": seen[name, "write"],
        }
        for page, name in ((0xFEC00000, "ioapic"), (0xFED00000, "hpet"))
    ]


def test_instructions_are_the_clock(qemu: Qemu, built: Built, tmp_path: Path) -> None:
    """With interrupts anywhere, the sum is the guest's clock, which icount drives."""
    run = measure(qemu, built, tmp_path)
    window = run.windows[1]
    # sti, the later rdtsc, sub, mov and ret are outside what the guest timed.
    assert window["kernel_instructions"] == run.ticks + 5
    functions = by_function(window)
    assert list(functions) == ["[user]", "k_timed", "k_timer_handler"]
    # push, incl, mov, outb, pop, iret
    handler = functions["k_timer_handler"]
    assert handler[:3] == (6 * TIMER_TICKS, 2 * TIMER_TICKS, 2 * TIMER_TICKS)
    timed = functions["k_timed"]
    assert timed.instructions == run.ticks + 5 - 6 * TIMER_TICKS
    # A load each round of four instructions, and the ret; one store. That the
    # frames of the interrupts are not there shows in both.
    assert timed.loads == (timed.instructions - 7) // 4 + 1
    assert timed.stores == 1
    # Cold caches again: the stack's line misses, though window 1 has used it.
    assert functions["[user]"] == Counts(None, 0, 1, 1, 1, 1, calls=None)


def test_a_second_start_keeps_only_the_caches(
    qemu: Qemu, built: Built, tmp_path: Path
) -> None:
    """Counts are those since then; lines of the warm-up are still there."""
    functions = by_function(measure(qemu, built, tmp_path).windows[2])
    assert functions == {
        "[user]": Counts(None, 0, 1, 0, 0, 0, calls=None),
        "k_split": EXPECTED["k_split"]._replace(
            l1d_misses=0, l2_misses=0, llc_misses=0
        ),
    }


def table_with_marks(built: Built, folder: Path) -> str:
    """The option for a symbol table in which a function is the one for marks of DMA."""
    table = folder / "marks"
    text = (built.folder / "symbols").read_text()
    table.write_text(text.replace("guest k_dma", "iotally iotally_dma_device_wrote"))
    return f"symbols={table}"


@pytest.mark.parametrize(
    "case",
    [
        ([], (4, 4, 4), None),
        (["dma=cold"], (6, 6, 6), {"to": "memory", "marks": 1, "lines": 2}),
        (["dma=llc"], (6, 6, 4), {"to": "llc", "marks": 1, "lines": 2}),
        # Byte 70 to 80 of the buffer is in one line.
        (
            ["dma=cold", "dma_bytes=10"],
            (5, 5, 5),
            {"to": "memory", "marks": 1, "lines": 1},
        ),
        # The device wrote something else then.
        (
            ["dma=cold", "direct_map=0x100000"],
            (4, 4, 4),
            {"to": "memory", "marks": 1, "lines": 2},
        ),
    ],
)
def test_what_a_device_wrote_is_not_cached(
    qemu: Qemu,
    built: Built,
    tmp_path: Path,
    case: tuple[list[str], tuple[int, int, int], dict[str, Any] | None],
) -> None:
    """Or in the last level only; without marks it stays as it was."""
    options, misses, dma = case
    table = table_with_marks(built, tmp_path)
    marks = options and ["direct_map=0x0", *options]
    if options and qemu.api < 4:
        done = start(
            qemu, built, [table, f"out={tmp_path}/out.json", *HOOKS, *marks], []
        )
        assert done.returncode == 1 and "cannot read registers" in done.stderr
        return
    window = measure(qemu, built, tmp_path, [table, *marks]).windows[3]
    found = by_function(window)["k_buffer"]
    assert (found.l1d_misses, found.l2_misses, found.llc_misses) == misses
    assert window["dma"] == dma


def test_marks_of_dma_need_registers_and_their_function(
    qemu: Qemu, built: Built, tmp_path: Path
) -> None:
    """Figures without what was asked for would be wrong ones."""
    options = [f"symbols={built.folder}/symbols", f"out={tmp_path}/out.json", *HOOKS]
    done = start(qemu, built, [*options, "dma=cold"], [])
    told = "is not in symbols=" if qemu.api >= 4 else "cannot read registers"
    assert done.returncode == 1 and told in done.stderr


def test_runs_are_identical(qemu: Qemu, built: Built, tmp_path: Path) -> None:
    """Two runs write the same bytes."""
    texts = []
    for name in ("first", "second"):
        folder = tmp_path / name
        folder.mkdir()
        texts.append(measure(qemu, built, folder).text)
    assert texts[0] == texts[1]


def test_qemus_agree(built: Built, tmp_path: Path) -> None:
    """All versions of QEMU give the same figures."""
    qemus = [p.values[0] for p in available_qemus() if p.values[0]]
    if len(qemus) < 2:
        pytest.skip("only one QEMU: the system's is new enough")
    texts = set()
    for qemu in qemus:
        folder = tmp_path / f"api{qemu.api}"
        folder.mkdir()
        text = measure(qemu, built, folder).text
        texts.add(text.replace(f'"plugin_api": {qemu.api}', '"plugin_api": any'))
    assert len(texts) == 1


def test_cache_off(qemu: Qemu, built: Built, tmp_path: Path) -> None:
    """Without the model misses are null, and all else is as before."""
    window = measure(qemu, built, tmp_path, ["cache=off"]).windows[0]
    assert window["cache"] is None
    expected = {
        name: counts._replace(l1d_misses=None, l2_misses=None, llc_misses=None)
        for name, counts in EXPECTED.items()
    }
    assert by_function(window) == expected
    assert [page["reads"] for page in window["mmio"]] == [100, 3]


def test_larger_l1d(qemu: Qemu, built: Built, tmp_path: Path) -> None:
    """With room for the array only its first walk misses."""
    window = measure(qemu, built, tmp_path, ["l1d=131072:8:64"]).windows[0]
    assert window["cache"]["l1d"]["size_bytes"] == 131072
    walk = by_function(window)["k_walk"]
    assert (walk.l1d_misses, walk.l2_misses) == (1024, 1024)


def test_unknown_functions_and_odd_names(
    qemu: Qemu, built: Built, tmp_path: Path
) -> None:
    """Code outside the table is "[unknown]", and any name is valid JSON."""
    table = tmp_path / "symbols"
    text = (built.folder / "symbols").read_text()
    text = text.replace("guest k_walk\n", "guest -\n")
    text = text.replace("guest k_rep\n", 'a\\b k"\\\x01ö\n')
    table.write_text(text, encoding="latin-1")
    functions = by_function(
        measure(qemu, built, tmp_path, [f"symbols={table}"]).windows[0]
    )
    assert list(functions)[-1] == "[unknown]"
    assert functions["[unknown]"] == EXPECTED["k_walk"]._replace(calls=None)
    assert functions['k"\\\x01ö'] == EXPECTED["k_rep"]


@pytest.mark.parametrize(
    "wrong, message",
    [
        ("nonsense=1", 'unknown or malformed option "nonsense=1"'),
        ("napi=0x1000", 'unknown or malformed option "napi=0x1000"'),
        ("napi=0x1000:0", 'unknown or malformed option "napi=0x1000:0"'),
        ("napi=4096:64", 'unknown or malformed option "napi=4096:64"'),
        ("napi=0xffffffffffffffff:64", "unknown or malformed"),
        (
            "ioremap=0x2000:0x1000",
            'unknown or malformed option "ioremap=0x2000:0x1000"',
        ),
        ("kernel_start=high", 'unknown or malformed option "kernel_start=high"'),
        ("kernel_start=0x-1", 'unknown or malformed option "kernel_start=0x-1"'),
        ("l1d=32768:8", 'unknown or malformed option "l1d=32768:8"'),
        ("l2=-1:8:64", 'unknown or malformed option "l2=-1:8:64"'),
        ("l1d=32768:8:48", "LINE must be a power of two"),
        ("cache=maybe", 'unknown or malformed option "cache=maybe"'),
        ("dma=warm", 'unknown or malformed option "dma=warm"'),
        ("poll=", 'unknown or malformed option "poll="'),
        ("poll=no_such_function", "poll=no_such_function is not in symbols="),
        ("packet=k_irq", "packet=k_irq is hooked already"),
        ("symbols=/nonexistent", "cannot read symbols=/nonexistent: No such file"),
    ],
)
def test_wrong_option(
    qemu: Qemu, built: Built, tmp_path: Path, wrong: str, message: str
) -> None:
    """A wrong option is one line on stderr, and QEMU does not start."""
    options = [
        f"symbols={built.folder}/symbols",
        f"out={tmp_path}/out.json",
        *HOOKS,
        wrong,
    ]
    done = start(qemu, built, options, [])
    lines = [
        line for line in done.stderr.splitlines() if line.startswith("cost plugin: ")
    ]
    assert done.returncode == 1
    assert len(lines) == 1
    assert message in lines[0]
    assert not (tmp_path / "out.json").exists()


@pytest.mark.parametrize(
    "table, message",
    [
        ("200000 guest\n", "line 1 is not HEXADDR MODULE NAME"),
        ("200000 guest a b\n", "line 1 is not HEXADDR MODULE NAME"),
        ("zz guest a\n", "line 1 is not HEXADDR MODULE NAME"),
        ("200000 guest a\n200000 guest b\n", "line 2 is not above the line before"),
    ],
)
def test_wrong_symbols(
    qemu: Qemu, built: Built, tmp_path: Path, table: str, message: str
) -> None:
    """A wrong table is refused with the number of the line."""
    path = tmp_path / "symbols"
    path.write_text(table)
    done = start(
        qemu, built, [f"symbols={path}", f"out={tmp_path}/out.json", *HOOKS], []
    )
    assert done.returncode == 1
    assert message in done.stderr


@pytest.mark.parametrize("missing", ["symbols", "out"])
def test_missing_option(qemu: Qemu, built: Built, tmp_path: Path, missing: str) -> None:
    """The two files have to be named."""
    options = {"symbols": f"{built.folder}/symbols", "out": f"{tmp_path}/out.json"}
    del options[missing]
    done = start(qemu, built, [f"{key}={value}" for key, value in options.items()], [])
    assert done.returncode == 1
    assert f"cost plugin: {missing}=FILE is missing" in done.stderr


def test_one_cpu_only(qemu: Qemu, built: Built, tmp_path: Path) -> None:
    """More than one vCPU is refused, since counters are not per vCPU."""
    options = [f"symbols={built.folder}/symbols", f"out={tmp_path}/out.json", *HOOKS]
    done = start(qemu, built, options, ["-smp", "2"])
    assert done.returncode == 1
    assert "cost plugin: one vCPU can be measured, not 2" in done.stderr
