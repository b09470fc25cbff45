# SPDX-License-Identifier: GPL-2.0-only
"""The plugin's cache model against a plain one in Python."""

import itertools
import random
import subprocess
from collections import OrderedDict
from pathlib import Path

import pytest

from ringside import commands
from ringside.errors import UsageError

# pylint: disable=protected-access

TESTS = Path(__file__).resolve().parent
PLUGIN = TESTS.parent / "tools" / "qemu" / "plugin"

Geometry = tuple[tuple[int, int, int], ...]

DEFAULT: Geometry = ((32768, 8, 64), (1048576, 16, 64), (8388608, 16, 64))
SMALL: Geometry = ((512, 2, 64), (2048, 4, 64), (8192, 8, 64))
DIRECT_MAPPED: Geometry = ((256, 1, 32), (1024, 1, 32), (4096, 1, 32))
ODD_WAYS: Geometry = ((768, 3, 64), (5120, 5, 64), (14336, 7, 64))
# The levels below are smaller than L1d: a line they lose stays above.
UPSIDE_DOWN: Geometry = ((4096, 4, 64), (512, 2, 64), (256, 1, 64))


class Level:
    """One set-associative level with true LRU replacement."""

    def __init__(self, size: int, ways: int, line: int) -> None:
        self.ways = ways
        self.sets: list[OrderedDict[int, None]] = [
            OrderedDict() for _ in range(size // ways // line)
        ]

    def access(self, line: int) -> bool:
        """Use a line, bring it in if need be; say whether it was there."""
        held = self.sets[line % len(self.sets)]
        hit = line in held
        held[line] = None
        held.move_to_end(line)
        if len(held) > self.ways:
            held.popitem(last=False)
        return hit


def model(geometry: Geometry, addresses: list[int]) -> list[int]:
    """How many levels miss for each address."""
    levels = [Level(*level) for level in geometry]
    result = []
    for address in addresses:
        missed = 0
        for level in levels:
            if level.access(address // geometry[0][2]):
                break
            missed += 1
        result.append(missed)
    return result


def trace(seed: int, length: int, span: int) -> list[int]:
    """Addresses that jump about, walk, and come back, in kernel and user space."""
    rng = random.Random(seed)
    bases = [0, 0x7FFF_F000_0000, 0xFFFF_8880_0000_0000, 0xFFFF_FFFF_FFFF_FFFF - span]
    addresses: list[int] = []
    while len(addresses) < length:
        kind = rng.random()
        start = rng.choice(bases) + rng.randrange(span)
        if kind < 0.4:
            addresses.append(start)
        elif kind < 0.7:
            stride = rng.choice([4, 64, 4096])
            steps = range(start, start + stride * rng.randrange(1, 40), stride)
            addresses.extend(a % 2**64 for a in steps)
        else:
            addresses.extend(addresses[-rng.randrange(1, 30) :])
    return addresses[:length]


@pytest.fixture(name="program", scope="module")
def fixture_program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The C model as a program."""
    program = tmp_path_factory.mktemp("cache") / "cache_host"
    flags = ["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", f"-I{PLUGIN}"]
    sources = [str(TESTS / "plugin" / "cache_host.c"), str(PLUGIN / "cache.c")]
    subprocess.run(["gcc", *flags, "-o", str(program), *sources], check=True)
    return program


def run(program: Path, geometry: Geometry, addresses: list[int]) -> tuple[int, str]:
    """Exit status and output of the C model."""
    done = subprocess.run(
        [program, *(str(n) for level in geometry for n in level)],
        input="\n".join(f"{a:x}" for a in addresses),
        capture_output=True,
        text=True,
        check=False,
    )
    return done.returncode, done.stdout


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(
    "geometry",
    [DEFAULT, SMALL, DIRECT_MAPPED, ODD_WAYS, UPSIDE_DOWN],
    ids=["default", "small", "direct_mapped", "odd_ways", "upside_down"],
)
def test_same_misses(program: Path, geometry: Geometry, seed: int) -> None:
    """Both models miss at the same levels, access by access."""
    # Eight times the last level, so that it has to evict, where that is quick.
    addresses = trace(seed, 20000, min(8 * geometry[2][0], 1 << 20))
    status, output = run(program, geometry, addresses)
    assert status == 0
    expected = model(geometry, addresses)
    assert set(expected) >= {0, 3}
    assert [int(word) for word in output.split()] == expected


@pytest.mark.parametrize(
    "geometry, reason",
    [
        (((32768, 8, 48),) + DEFAULT[1:], "power of two"),
        (((32768, 8, 32),) + DEFAULT[1:], "same"),
        (((32768, 0, 64),) + DEFAULT[1:], "WAYS"),
        (((30000, 8, 64),) + DEFAULT[1:], "SIZE"),
        (((0, 8, 64),) + DEFAULT[1:], "SIZE"),
        (((8 * 64 * 3, 8, 64),) + DEFAULT[1:], "SIZE"),
        (((1 << 31, 8, 64),) + DEFAULT[1:], "SIZE"),
    ],
)
def test_impossible_geometry(program: Path, geometry: Geometry, reason: str) -> None:
    """A geometry that cannot be built is refused with the reason."""
    status, output = run(program, geometry, [])
    assert status == 1
    assert reason in output


SIZES = [64, 3072, 32768, 32769, 49152, 1 << 30, 1 << 31]
WAYS = [1, 3, 8, 64, 65, 10**15]
LINES = [1, 8, 16, 32, 48, 64, 4096, 8192]
LEVELS = [*itertools.product(SIZES, WAYS, [64]), *((s, 1, 1 << 15) for s in SIZES[:2])]
LEVELS += [(4096 * 64, 64, line) for line in LINES]


@pytest.mark.parametrize("position", range(3))
def test_the_command_line_refuses_what_the_plugin_refuses(
    program: Path, position: int
) -> None:
    """In its words, so that nothing is measured first."""
    for level in LEVELS:
        geometry = (*DEFAULT[:position], level, *DEFAULT[position + 1 :])
        status, output = run(program, geometry, [])
        words = {
            name: ":".join(str(number) for number in numbers)
            for name, numbers in zip(("l1d", "l2", "llc"), geometry)
        }
        try:
            commands.cache_model(words)
        except UsageError as error:
            assert status == 1 and output.strip() in str(error), level
        else:
            assert status == 0, level
