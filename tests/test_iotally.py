# SPDX-License-Identifier: GPL-2.0-only
"""Counted drivers: every accessor becomes a site, and counting costs what is promised."""

import io
import re
import struct
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from elftools.elf.sections import Section

from ringside import builds
from ringside.lab import kernel, source as sources

_FOLDER = builds.TREE / "drivers/iotally"
_SECTION = "__iotally_sites"
# struct iotally_site: counts, entry, four texts, line, size, space, direction, how.
_SITE = struct.Struct("<6QIBBBB")
_SPACES = ("mmio", "port", "config", "either")
# What counting may add to an access.
_ADDED_AT_MOST = 8

_SINGLE = {
    "mmio": [f"{way}{c}" for c in "bwlq" for way in ("read", "write")],
    "port": [
        f"{way}{c}{p}" for c in "bwl" for p in ("", "_p") for way in ("in", "out")
    ],
    "either": [f"io{way}{w}" for w in ("8", "16", "32") for way in ("read", "write")],
}


@dataclass(frozen=True)
class Site:
    """One site of an object file."""

    file: str
    function: str
    operation: str
    expression: str
    line: int
    size: int
    space: str
    direction: str


def _text(section: Section, at: int) -> str:
    data = bytes(section.data())
    return data[at : data.index(b"\0", at)].decode()


def _site_texts(elf: ELFFile) -> dict[int, str]:
    """Texts that the sites point to, by the offset of the pointer."""
    symbols = elf.get_section_by_name(".symtab")
    texts = {}
    for entry in elf.get_section_by_name(f".rela{_SECTION}").iter_relocations():
        symbol = symbols.get_symbol(entry["r_info_sym"])
        section = elf.get_section(symbol["st_shndx"])
        at = symbol["st_value"] + entry["r_addend"]
        texts[entry["r_offset"]] = _text(section, at)
    return texts


def sites(image: bytes) -> list[Site]:
    """The sites of an object, their texts found through its relocations."""
    elf = ELFFile(io.BytesIO(image))
    data = elf.get_section_by_name(_SECTION).data()
    texts = _site_texts(elf)
    found = []
    for at in range(0, len(data), _SITE.size):
        line, size, space, direction, _ = _SITE.unpack_from(data, at)[6:]
        words = (texts[at + 16], texts[at + 24], texts[at + 32], texts[at + 40])
        way = ("read", "write")[direction]
        numbers = (line, size, _SPACES[space], way)
        found.append(Site(*words, *numbers))
    return found


def wanted_accessors() -> set[str]:
    """Names of accessors as the kernel's documentation and headers have them."""
    names = {"memcpy_fromio", "memcpy_toio", "memset_io"}
    names |= {"__ioread32_copy", "__iowrite32_copy", "__iowrite64_copy"}
    for way in ("read", "write"):
        for c in "bwlq":
            names |= {f"{way}{c}", f"{way}{c}_relaxed", f"__raw_{way}{c}", f"{way}s{c}"}
        for bits in ("8", "16", "32"):
            names |= {f"io{way}{bits}", f"io{way}{bits}_rep"}
        names |= {f"io{way}16be", f"io{way}32be"}
        for order in ("lo_hi", "hi_lo"):
            for be in ("", "be"):
                names |= {f"{p}io{way}64{be}_{order}" for p in ("", "__")}
        names |= {f"pci_{way}_config_{size}" for size in ("byte", "word", "dword")}
        names |= {f"pcie_capability_{way}_{size}" for size in ("word", "dword")}
    for form in ("in{}", "out{}", "ins{}", "outs{}"):
        names |= {form.format(c) + p for c in "bwl" for p in ("", "_p")}
    for what in ("set", "clear", "clear_and_set"):
        names |= {f"pcie_capability_{what}_{size}" for size in ("word", "dword")}
    return names


def replaced_accessors() -> set[str]:
    """Names that the headers make into counted macros."""
    names: set[str] = set()
    for name in ("accessors_io.h", "accessors_pci.h"):
        text = (_FOLDER / name).read_text("ascii")
        names |= set(re.findall(r"^#undef ([a-z_0-9]+)$", text, re.MULTILINE))
    return names


# What a call of an accessor looks like; the first that matches the whole name.
_CALLS = [
    ("__io(read|write)64.*(lo_hi|hi_lo)", ""),
    ("pci.*clear_and_set.*", "{name}(s.pdev, {register}, s.data, 2)"),
    ("pci.*read.*", "{name}(s.pdev, {register}, (void *)&s.data)"),
    ("pci.*", "{name}(s.pdev, {register}, s.data)"),
    ("ins.*|outs.*", "{name}(s.port + {register}, s.buffer, 4)"),
    ("in.*", "s.data = {name}(s.port + {register})"),
    ("out.*", "{name}(1, s.port + {register})"),
    ("__ioread32_copy|memcpy_fromio", "{name}(s.buffer, s.base + {register}, 4)"),
    ("memset_io", "{name}(s.base + {register}, 0, 4)"),
    (
        "memcpy_toio|(reads|writes)[bwlq]|.*_rep|.*_copy",
        "{name}(s.base + {register}, s.buffer, 4)",
    ),
    (".*write.*", "{name}(1, s.base + {register})"),
    (".*read.*", "s.data = {name}(s.base + {register})"),
]


def _call(name: str) -> str:
    """A call of the accessor, with the address in words that nobody else uses."""
    form = next(form for pattern, form in _CALLS if re.fullmatch(pattern, name))
    return form.format(name=name, register=f"REG_{name}")


def _function(name: str) -> str:
    register = (
        "#define REG_{0} 4\nvoid do_{0}(void);\nvoid do_{0}(void)\n{{\n\t{1};\n}}\n"
    )
    return register.format(name, _call(name)) if _call(name) else ""


# Each of these has broken a header of this kind.
_FIGHTING = """
#define pr_fmt(fmt) "fighter: " fmt
#define dev_fmt(fmt) "fighter device: " fmt
#include <linux/module.h>
#include <linux/pci.h>
#include <linux/io-64-nonatomic-lo-hi.h>
#include <linux/io-64-nonatomic-hi-lo.h>
#include <linux/iopoll.h>

static struct state {
	void __iomem *base;
	unsigned long port;
	struct pci_dev *pdev;
	u32 data;
	u32 buffer[4];
	u32 (*pointer)(const volatile void __iomem *address);
} s;

static inline u32 own_readl(struct state *state, int reg)
{
	return readl(state->base  +	reg);
}
#define OWN_WRITE(reg, value) writel(value, s.base + (reg))
"""

_TAIL = """
static u32 polled(void)
{
	u32 value;

	return readx_poll_timeout(readl, s.base + 0x44, value, value & 1, 1, 10) ? 0 : value;
}

static int __init fighter_init(void)
{
	s.pointer = readl;
	pr_info("loaded\\n");
	OWN_WRITE(8, own_readl(&s, 4) | s.pointer(s.base) | polled());
	writel(readl(s.base + '\\t') + (s.data ? readw(s.base) : 0), s.base + 12);
	return 0;
}
module_init(fighter_init);
MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("Every accessor");
"""


def fighter_source() -> str:
    """A driver that uses every accessor and fights the header."""
    functions = "".join(_function(name) for name in sorted(replaced_accessors()))
    return _FIGHTING.lstrip() + functions + _TAIL


def build(
    headers: Path, out: Path, *words: str | Path
) -> "subprocess.CompletedProcess[str]":
    """Runs the recipe."""
    command = [_FOLDER / "build", headers, out, *words]
    return subprocess.run(
        [str(word) for word in command], check=False, capture_output=True, text=True
    )


@pytest.fixture(name="headers", scope="module")
def _headers() -> Path:
    return kernel.headers(kernel.find(None))


@pytest.fixture(name="out", scope="module")
def _out(headers: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the module that counts, which takes longest to build."""
    out = tmp_path_factory.mktemp("out")
    made = build(headers, out)
    assert (made.returncode, made.stdout, made.stderr) == (0, "", "")
    return out


@pytest.fixture(name="fighter", scope="module")
def _fighter(headers: Path, out: Path) -> Path:
    """The synthetic driver, counted."""
    source = out / "source"
    source.mkdir()
    (source / "fighter.c").write_text(fighter_source(), "ascii")
    made = build(headers, out, source / "fighter.c", "fighter", "KCFLAGS=-Werror")
    assert (made.returncode, made.stdout, made.stderr) == (0, "", "")
    return out / "fighter.ko"


def test_every_accessor_is_replaced() -> None:
    """None was forgotten in the headers."""
    assert replaced_accessors() == wanted_accessors()


def test_every_accessor_is_a_site(fighter: Path) -> None:
    """Once in its function, or as a read and a write if it does both."""
    found: dict[str, list[Site]] = {}
    for site in sites(fighter.read_bytes()):
        found.setdefault(site.function, []).append(site)
    called = {name for name in replaced_accessors() if _call(name)}
    assert len(called) > 100
    for name in sorted(called):
        here = found.pop(f"do_{name}")
        assert {site.operation for site in here} == {name}
        assert all(f"REG_{name}" in site.expression for site in here)
        both = re.match(r"pcie_capability_(set|clear)", name)
        ways = ["read", "write"] if both else [_direction(name)]
        assert sorted(site.direction for site in here) == ways
    assert set(found) == {"own_readl", "polled", "fighter_init"}


def _direction(name: str) -> str:
    writes = re.search(r"write|out|toio|memset", name)
    return "write" if writes else "read"


def test_sites_say_where_they_are(fighter: Path) -> None:
    """The driver's own words for the register, and the line in its own file."""
    lines = fighter_source().splitlines()
    for site in sites(fighter.read_bytes()):
        assert site.file == "fighter.c"
        assert site.operation.split("_")[0] in lines[site.line - 1] or (
            site.expression == "s.base + (8)" and "OWN_WRITE" in lines[site.line - 1]
        )
    texts = {site.expression for site in sites(fighter.read_bytes())}
    assert {
        "state->base + reg",
        "s.base + (8)",
        "s.base + 0x44",
        "s.base + '\\t'",
    } <= texts


def test_the_module_can_find_each_site(fighter: Path) -> None:
    """By a symbol that begins with iotally_site, which kallsyms has."""
    symbols = ELFFile(io.BytesIO(fighter.read_bytes())).get_section_by_name(".symtab")
    names = [
        s.name for s in symbols.iter_symbols() if s.name.startswith("iotally_site.")
    ]
    assert len(names) == len(sites(fighter.read_bytes()))


def test_the_drivers_own_message_format_holds(fighter: Path) -> None:
    """pr_fmt() is the driver's though the header was there before it."""
    assert b"fighter: loaded" in fighter.read_bytes()


def _ops(path: Path) -> dict[str, list[tuple[str, str]]]:
    """Instructions of each function do_*, as mnemonic and operands."""
    text = subprocess.run(
        ["objdump", "-d", "--no-show-raw-insn", "--section=.text", path],
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    functions: dict[str, list[tuple[str, str]]] = {}
    current: list[tuple[str, str]] = []
    for line in text.splitlines():
        if match := re.match(r"[0-9a-f]+ <(\w+)>:", line):
            current = functions.setdefault(match[1], [])
        elif match := re.match(r" +[0-9a-f]+:\t(\S+)(.*)", line):
            current.append((match[1], match[2].split("#")[0]))
    return functions


def _straight(instructions: list[tuple[str, str]]) -> int:
    """Instructions from the entry to the return, no conditional jump taken."""
    for number, (mnemonic, _) in enumerate(instructions, start=1):
        if mnemonic in ("ret", "retq", "jmp"):
            return number
    raise AssertionError("no end")


@pytest.fixture(name="plain", scope="module")
def _plain(headers: Path, out: Path, fighter: Path) -> Path:
    """The same source as the kernel would build it."""
    folder = out / "plain"
    folder.mkdir()
    (folder / "fighter.c").write_text(fighter_source(), "ascii")
    (folder / "Kbuild").write_text("obj-m := fighter.o\n", "ascii")
    assert fighter.exists()
    make = [
        "make",
        "-s",
        "-C",
        str(headers),
        f"M={folder}",
        "CONFIG_DEBUG_INFO_BTF_MODULES=",
    ]
    builds.run_compiler(make + ["modules"])
    return folder / "fighter.ko"


@pytest.mark.parametrize("space", sorted(_SINGLE))
def test_counting_adds_few_instructions(space: str, fighter: Path, plain: Path) -> None:
    """To each access on its usual way, without anything switched on."""
    counted, uncounted = _ops(fighter), _ops(plain)
    for name in _SINGLE[space]:
        added = _straight(counted[f"do_{name}"]) - _straight(uncounted[f"do_{name}"])
        assert 0 < added <= _ADDED_AT_MOST, name


def test_without_the_header_nothing_is_counted(plain: Path) -> None:
    """No site, and nothing of ours is called."""
    assert b"iotally" not in plain.read_bytes()


def test_marks_are_those_of_the_sender() -> None:
    """The kernel cannot include the selftests' header."""

    def values(path: str) -> dict[str, str]:
        text = (builds.TREE / path).read_text("ascii")
        return dict(re.findall(r"^#define (MARK_\w+) (0x\w+)$", text, re.MULTILINE))

    ours = values("drivers/iotally/files.c")
    assert len(ours) == 6 and ours == values("selftests/lib/marks.h")


_TREE_MAKEFILE = "VERSION = 5\nPATCHLEVEL = 4\nSUBLEVEL = 1\nEXTRAVERSION =\n"


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({}, "no source"),
        ({"nic.c": "int nothing_here;\n"}, "no site in nic"),
        ({"nic.c": "#error broken\n"}, "does not build for this kernel"),
        (
            {"nic.c": "int x;\n", "Makefile": _TREE_MAKEFILE},
            "source is of kernel 5.4.1, the headers are of 6",
        ),
    ],
)
def test_what_cannot_be_counted_is_told(
    files: dict[str, str], said: str, headers: Path, out: Path, tmp_path: Path
) -> None:
    """In a line that says why, with the exit status for it."""
    for name, content in files.items():
        head = "" if name == "Makefile" else "#include <linux/module.h>\n"
        tail = "" if name == "Makefile" else 'MODULE_LICENSE("GPL");\n'
        (tmp_path / name).write_text(head + content + tail, "ascii")
    made = build(headers, out, tmp_path / "nic.c", "nic", "KCFLAGS=-w")
    assert made.returncode == 3
    last = made.stderr.strip().splitlines()[-1]
    assert last.startswith("iotally: ") and said in last


def test_no_headers_are_told(tmp_path: Path) -> None:
    """The folder that was named is in the message."""
    made = build(tmp_path / "none", tmp_path / "out")
    assert made.returncode == 3
    assert made.stderr == f"iotally: no headers of a kernel in {tmp_path}/none\n"


def test_drivers_of_the_kernel_build_counted(headers: Path) -> None:
    """A sample; `make zoo` builds them all."""
    tree = sources.find(kernel.find(None), None).tree
    made = subprocess.run(
        [_FOLDER / "zoo", headers, tree, "sis900", "via-rhine"],
        check=False,
        capture_output=True,
        text=True,
    )
    assert made.returncode == 0, made.stderr
    rows = re.findall(r"^\| (\S+) \| \S+ \| ([0-9]+) \|$", made.stdout, re.MULTILINE)
    assert [name for name, _ in rows] == ["via-rhine", "sis900"]
    assert all(int(count) > 50 for _, count in rows)
