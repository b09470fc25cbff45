# SPDX-License-Identifier: GPL-2.0-only
"""The plugin's symbol table, from a kernel's list and from a module made by gcc."""

import re
import subprocess
from pathlib import Path

import pytest

from ringside import symbols
from ringside.symbols import Symbol

LISTING = """\
0000000000000000 fixed_percpu_data
ffffffff81000000 startup_64
ffffffff81000000 _stext
ffffffff81000000 _text
ffffffff81000100 secondary_startup_64
ffffffff81000200 memcpy
ffffffff81000200 __memcpy
ffffffff81000300 __irqentry_text_start
ffffffff81000300 asm_common_interrupt
ffffffff81000400 __irqentry_text_end
ffffffff81000500 _etext
ffffffff83000000 _sinittext
ffffffff83000000 start_kernel
ffffffff83000800 _einittext
"""


def test_kernel_symbols_name_functions_and_close_ranges() -> None:
    """One name an address, no marks, nothing below the kernel."""
    found = symbols.kernel_symbols(LISTING)
    assert [(hex(s.address & 0xFFFFFFF), s.name) for s in found] == [
        ("0x1000100", "secondary_startup_64"),
        ("0x1000200", "memcpy"),
        ("0x1000300", "asm_common_interrupt"),
        ("0x1000500", "-"),
        ("0x3000000", "start_kernel"),
        ("0x3000800", "-"),
    ]
    assert {s.module for s in found} == {"vmlinux"}


def test_a_function_at_an_end_wins_in_either_order() -> None:
    """What begins there is more than what ends there."""
    lines = ["ffffffff81000500 _etext\n", "ffffffff81000500 first\n"]
    for listing in ("".join(lines), "".join(reversed(lines))):
        assert [s.name for s in symbols.kernel_symbols(listing)] == ["first"]


def test_section_bases_are_read() -> None:
    """As the agent lists them."""
    listing = "mii .text 0xffffffffc0230000\nmii .exit.text 0xffffffffc0240000\n"
    assert symbols.section_bases(listing + "e1000 .text 0x10\n") == {
        "mii": {".text": 0xFFFFFFFFC0230000, ".exit.text": 0xFFFFFFFFC0240000},
        "e1000": {".text": 0x10},
    }


MODULE = r"""
#define IN(name) __attribute__((section(name), noinline, used))
int data = 7;
static int IN(".text") helper(int x) { return x * data; }
int entry(int x) { return helper(x) + 1; }
void IN(".text.unlikely") cold(void) { data = 0; }
int IN(".init.text") start(void) { return 0; }
void IN(".exit.text") stop(void) { data = 1; }
void IN(".text") __pfx_entry(void) { }
"""
BASES = {
    ".text": 0xFFFFFFFFC0201000,
    ".text.unlikely": 0xFFFFFFFFC0205000,
    ".init.text": 0xFFFFFFFFC0230000,
    ".data": 0xFFFFFFFFC0240000,
}


@pytest.fixture(name="module", scope="module")
def _module(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A relocatable file, as a module is."""
    folder = tmp_path_factory.mktemp("module")
    (folder / "m.c").write_text(MODULE)
    flags = ["-O2", "-fno-pic", "-fno-asynchronous-unwind-tables", "-c"]
    command = ["gcc", *flags, str(folder / "m.c"), "-o", str(folder / "m.ko")]
    subprocess.run(command, check=True)
    return folder / "m.ko"


def _nm(path: Path) -> dict[str, int]:
    out = subprocess.run(["nm", path], check=True, capture_output=True, text=True)
    return {
        name: int(value, 16)
        for value, name in re.findall(r"^([0-9a-f]+) \w (\S+)$", out.stdout, re.M)
    }


def test_module_symbols_lie_where_the_kernel_put_them(module: Path) -> None:
    """Functions only; those of .init are gone, those of unknown sections left out."""
    offsets = _nm(module)
    found = {s.name: s for s in symbols.module_symbols("m", module.read_bytes(), BASES)}
    assert set(found) == {"helper", "entry", "cold", "-"}
    for name, section in (("helper", ".text"), ("entry", ".text")):
        assert found[name].address == BASES[section] + offsets[name]
    assert found["cold"].address == BASES[".text.unlikely"] + offsets["cold"]
    assert {s.module for s in found.values()} == {"m"}


def test_module_sections_are_closed(module: Path) -> None:
    """What lies behind a section belongs to no function of it."""
    out = subprocess.run(
        ["size", "-A", module], check=True, capture_output=True, text=True
    )
    sizes = {
        name: int(n) for name, n in re.findall(r"^(\.\S+) +(\d+)", out.stdout, re.M)
    }
    found = symbols.module_symbols("m", module.read_bytes(), BASES)
    ends = [s.address for s in found if s.name == "-"]
    data_end = BASES[".data"] + sizes[".data"]
    assert sorted(ends) == [
        BASES[name] + sizes[name] for name in (".text", ".text.unlikely")
    ] + [data_end]


def test_a_section_that_follows_at_once_keeps_its_first_function(module: Path) -> None:
    """The end of one is the begin of the other."""
    image = module.read_bytes()
    first = symbols.module_symbols("m", image, BASES)
    end = next(s.address for s in first if s.name == "-")
    bases = {".text": BASES[".text"], ".text.unlikely": end}
    found = symbols.module_symbols("m", image, bases)
    assert [s.name for s in found if s.address == end] == ["cold"]


def test_the_table_rises_and_names_an_address_once() -> None:
    """The plugin refuses two lines of one address: two modules may touch."""
    lines = symbols.table(
        [
            Symbol(0x30, "z", "-"),
            Symbol(0x30, "b", "first"),
            Symbol(0x10, "z", "last"),
            Symbol(0x40, "b", "-"),
        ]
    )
    assert lines == "10 z last\n30 b first\n40 b -\n"
