# SPDX-License-Identifier: GPL-2.0-only
"""What the object code of a module tells: functions, calls, handlers, accesses."""

import io
import re
import struct
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import capstone
from elftools.elf.elffile import ELFFile
from elftools.elf.relocation import RelocationSection
from elftools.elf.sections import SymbolTableSection

_SITES = "__iotally_sites"
# struct iotally_site: counts, entry, four texts, line, size, space, direction.
_SITE = struct.Struct("<6QIBBBx")
_SPACES = ("mmio", "port", "config", "either")
_ACCESSOR = re.compile(r"io(read|write)(8|16|32|64)(be)?(_rep|_lo_hi|_hi_lo)?")
_STRING_ACCESSOR = re.compile(r"__io(read|write)\d+_copy|(memcpy|memset)_(from|to)?io")
_PORT = re.compile(r"(rep )?(in|out|ins[bwd]|outs[bwd])")
# Which register holds the handler, by the function that registers it (x86-64 ABI).
_REGISTRARS = {
    "request_threaded_irq": (("irq", "rsi"), ("irq", "rdx")),
    "devm_request_threaded_irq": (("irq", "rdx"), ("irq", "rcx")),
    "request_any_context_irq": (("irq", "rsi"),),
    "pci_request_irq": (("irq", "rdx"), ("irq", "rcx")),
    "netif_napi_add_weight": (("poll", "rdx"),),
    "netif_napi_add_weight_locked": (("poll", "rdx"),),
}
_NAMES = {
    "irq": re.compile(r"interrupt|_intr|_irq|_isr|msix?_"),
    "poll": re.compile(r"poll"),
}
_NEAR = re.compile(r"\[rip ([+-] 0x[0-9a-f]+)\]")
_WIDE = re.compile(r"e([abcd]x|[sd]i|[bs]p)")


@dataclass(frozen=True)
class Access:
    """An access in the object code; file, line and register only of a counted build."""

    operation: str
    space: str
    direction: str
    file: str | None = None
    line: int | None = None
    register: str | None = None


@dataclass
class Function:
    """A function of the module."""

    name: str
    start: int
    end: int
    calls: set[str] = field(default_factory=set)
    accesses: list[Access] = field(default_factory=list)


@dataclass
class Code:
    """All functions by name, and those that handle interrupts ("irq") and poll ("poll").

    guessed says that some were found by their names only.
    """

    functions: dict[str, Function]
    handlers: dict[str, set[str]]
    counted: bool
    guessed: bool = False


class _Reader:
    """One module's image while it is read."""

    def __init__(self, image: bytes) -> None:
        self.elf = ELFFile(io.BytesIO(image))
        self.symbols = next(
            s for s in self.elf.iter_sections() if isinstance(s, SymbolTableSection)
        )
        self.by_section: dict[int, list[Function]] = {}
        for symbol in self.symbols.iter_symbols():
            info, place = symbol["st_info"]["type"], symbol["st_shndx"]
            # objtool names the padding before a function, too: it is none.
            real = symbol["st_size"] and not symbol.name.startswith("__pfx_")
            if info == "STT_FUNC" and isinstance(place, int) and real:
                start = symbol["st_value"]
                function = Function(symbol.name, start, start + symbol["st_size"])
                self.by_section.setdefault(place, []).append(function)
        for functions in self.by_section.values():
            functions.sort(key=lambda f: f.start)
        self.sites = self._read_sites()
        self.sites_at = self.elf.get_section_index(_SITES) if self.sites else None

    def relocations(self, section: str) -> Iterator[Any]:
        """Relocations of a section of that name."""
        found = self.elf.get_section_by_name(f".rela{section}")
        if isinstance(found, RelocationSection):
            yield from found.iter_relocations()

    def target(self, entry: Any) -> tuple[str | int, int]:
        """Section (or the name of what another module has) and place that is meant."""
        symbol = self.symbols.get_symbol(entry["r_info_sym"])
        place = symbol["st_shndx"]
        if not isinstance(place, int):
            return symbol.name, 0
        # PC32 and PLT32 count from the end of the four bytes.
        ahead = 4 if entry["r_info_type"] in (2, 4) else 0
        return place, symbol["st_value"] + entry["r_addend"] + ahead

    def function_at(self, section: int, place: int) -> Function | None:
        """The function that holds a place."""
        functions = self.by_section.get(section, [])
        at = bisect_right(functions, place, key=lambda f: f.start) - 1
        return functions[at] if at >= 0 and place < functions[at].end else None

    def _text(self, section: int, place: int) -> str:
        data = bytes(self.elf.get_section(section).data())
        return data[place : data.index(b"\0", place)].decode("utf-8", "replace")

    def _read_sites(self) -> dict[int, Access]:
        section = self.elf.get_section_by_name(_SITES)
        if section is None:
            return {}
        texts: dict[int, str] = {}
        for entry in self.relocations(_SITES):
            place, at = self.target(entry)
            if isinstance(place, int):
                texts[entry["r_offset"]] = self._text(place, at)
        data = bytes(section.data())
        found = {}
        for at in range(0, len(data) - _SITE.size + 1, _SITE.size):
            line, _, space, direction = _SITE.unpack_from(data, at)[6:]
            found[at] = Access(
                texts.get(at + 32, "?"),
                _SPACES[space & 3],
                ("read", "write")[direction & 1],
                texts.get(at + 16, "?"),
                line,
                texts.get(at + 40, "?"),
            )
        return found


def _place_in(
    reader: _Reader,
    section: int,
    insn: tuple[int, int, str],
    references: dict[int, Any],
) -> tuple[str | int, int] | None:
    """What an instruction (its address, size and operands) refers to."""
    address, size, operands = insn
    place = None
    for offset in range(address, address + size):
        if offset in references:
            place = reader.target(references[offset])
    if place is None and (near := _NEAR.search(operands)):
        # Within a section the assembler needs no relocation.
        place = (section, address + size + int(near[1].replace(" ", ""), 16))
    return place


def _hold(
    reader: _Reader, place: tuple[str | int, int], operands: str, held: dict[str, str]
) -> None:
    """Notes that a register holds a function's address."""
    if isinstance(place[0], int):
        target = reader.function_at(place[0], place[1])
        if target and target.start == place[1]:
            held[_WIDE.sub(r"r\1", operands.split(",")[0].strip())] = target.name


def _instructions(
    reader: _Reader, section: int, function: Function
) -> Iterator[tuple[int, int, str, str]]:
    """Address, size, mnemonic and operands of each."""
    data = bytes(reader.elf.get_section(section).data())[function.start : function.end]
    decoder = capstone.Cs(capstone.CS_ARCH_X86, capstone.CS_MODE_64)
    yield from decoder.disasm_lite(data, function.start)


def _read_function(
    reader: _Reader,
    section: int,
    function: Function,
    references: dict[int, Any],
    code: Code,
) -> None:
    """Follows one function's instructions in the order in which they lie."""
    held: dict[str, str] = {}
    met: set[int] = set()
    for address, size, name, operands in _instructions(reader, section, function):
        place = _place_in(reader, section, (address, size, operands), references)
        if place and place[0] == reader.sites_at:
            # A reference may be to a member: the site is where it begins.
            met.add(place[1] - place[1] % _SITE.size)
        elif name.startswith(("call", "j")):
            _follow(reader, function, (section, operands, place), held, code)
            if name == "call":
                held.clear()
        elif place and name in ("mov", "lea", "movabs"):
            _hold(reader, place, operands, held)
        if not reader.sites and (match := _PORT.fullmatch(name)):
            direction = "read" if match[2].startswith("in") else "write"
            function.accesses.append(Access(name, "port", direction))
    function.accesses += [reader.sites[at] for at in sorted(met) if at in reader.sites]


def _follow(
    reader: _Reader,
    function: Function,
    jump: tuple[int, str, tuple[str | int, int] | None],
    held: dict[str, str],
    code: Code,
) -> None:
    """Notes a call or jump: what it reaches, accesses or registers."""
    section, operands, place = jump
    if place is None and operands.startswith("0x"):
        place = (section, int(operands, 16))
    if place is None:
        return
    if isinstance(place[0], int):
        target = reader.function_at(place[0], place[1])
        if target and target is not function:
            function.calls.add(target.name)
        return
    called = place[0]
    for context, register in _REGISTRARS.get(called, ()):
        if register in held:
            code.handlers[context].add(held[register])
    if not reader.sites and (
        _ACCESSOR.fullmatch(called) or _STRING_ACCESSOR.fullmatch(called)
    ):
        way = "read" if "read" in called or "from" in called else "write"
        space = "either" if called.startswith("io") else "mmio"
        function.accesses.append(Access(called, space, way))


def _guess(reader: _Reader, code: Code) -> None:
    """Handlers that no registration showed: their address is taken, and their name tells."""
    taken: set[str] = set()
    for section in reader.elf.iter_sections():
        if not isinstance(section, RelocationSection):
            continue
        for entry in section.iter_relocations():
            place, at = reader.target(entry)
            if entry["r_info_type"] not in (1, 11) or not isinstance(place, int):
                continue
            target = reader.function_at(place, at)
            if target and target.start == at:
                taken.add(target.name)
    for context, pattern in _NAMES.items():
        if not code.handlers[context]:
            found = {name for name in taken if pattern.search(name)}
            code.guessed |= bool(found)
            code.handlers[context] = found


def read(image: bytes) -> Code:
    """The code of a module (an ELF relocatable); ValueError when it is none."""
    try:
        reader = _Reader(image)
        handlers: dict[str, set[str]] = {"irq": set(), "poll": set()}
        code = Code({}, handlers, bool(reader.sites))
        for number, functions in reader.by_section.items():
            section = reader.elf.get_section(number)
            references = {e["r_offset"]: e for e in reader.relocations(section.name)}
            for function in functions:
                code.functions[function.name] = function
                _read_function(reader, number, function, references, code)
        _guess(reader, code)
        return code
    except Exception as error:  # pylint: disable=broad-exception-caught
        # Whatever elftools and struct say of bytes that are no module.
        raise ValueError(f"{type(error).__name__}: {error}") from error
