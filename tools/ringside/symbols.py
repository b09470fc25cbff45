# SPDX-License-Identifier: GPL-2.0-only
"""Which address belongs to which function: the table that the cost plugin reads."""

import io
import re
from dataclasses import dataclass

from elftools.elf.elffile import ELFFile
from elftools.elf.sections import SymbolTableSection

# Names that mark a place and not a function; those in _ENDS close the text before them.
_MARKS = re.compile(r"(_text|_stext|startup_64|_sinittext|__.*_(start|begin|end))$")
_ENDS = frozenset({"_etext", "_einittext", "__end_rodata", "_end"})
_KERNEL_START = 0xFFFFFFFF80000000


@dataclass(frozen=True, order=True)
class Symbol:
    """A function's first address; the name "-" closes a range."""

    address: int
    module: str
    name: str


def kernel_symbols(listing: str) -> list[Symbol]:
    """Functions of the kernel from "ADDRESS NAME" lines, one name for each address."""
    found: dict[int, Symbol] = {}
    for line in listing.splitlines():
        address_text, _, name = line.partition(" ")
        address = int(address_text, 16)
        if address < _KERNEL_START:
            continue
        if name in _ENDS:
            found.setdefault(address, Symbol(address, "vmlinux", "-"))
        elif not _MARKS.match(name):
            known = found.get(address)
            if known is None or known.name == "-":
                found[address] = Symbol(address, "vmlinux", name)
    return sorted(found.values())


def section_bases(listing: str) -> dict[str, dict[str, int]]:
    """Where the kernel put modules: module, section, address, from the agent's lines."""
    bases: dict[str, dict[str, int]] = {}
    for line in listing.splitlines():
        module, section, address = line.split()
        bases.setdefault(module, {})[section] = int(address, 16)
    return bases


def module_symbols(name: str, image: bytes, bases: dict[str, int]) -> list[Symbol]:
    """Functions of a loaded module, from its file and its sections' addresses."""
    elf = ELFFile(io.BytesIO(image))
    symbols: dict[int, Symbol] = {}
    sections = {}
    for number, section in enumerate(elf.iter_sections()):
        # What .init sections held is free once the module is in, and used again.
        base = None if ".init" in section.name else bases.get(section.name)
        if base is not None and section["sh_size"]:
            sections[number] = base
            end = base + section["sh_size"]
            symbols[end] = Symbol(end, name, "-")
    for listing in elf.iter_sections():
        if not isinstance(listing, SymbolTableSection):
            continue
        for symbol in listing.iter_symbols():
            base = sections.get(symbol["st_shndx"])
            if base is None or symbol["st_info"]["type"] != "STT_FUNC":
                continue
            if symbol.name.startswith("__pfx_"):
                continue
            address = base + symbol["st_value"]
            symbols[address] = Symbol(address, name, symbol.name)
    return sorted(symbols.values())


def table(symbols: list[Symbol]) -> str:
    """The plugin's symbol file: "ADDRESS MODULE NAME" lines, each address once, ascending.

    Where one range ends and another begins, the one that begins is named.
    """
    ordered = sorted(symbols, key=lambda s: (s.address, s.name != "-"))
    named = {symbol.address: symbol for symbol in ordered}
    return "".join(f"{s.address:x} {s.module} {s.name}\n" for s in named.values())
