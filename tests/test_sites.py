# SPDX-License-Identifier: GPL-2.0-only
"""The listing of a counted driver: read as it is written, refused when it is not."""

import pytest
from hypothesis import given, strategies

from recorded import KEPT
from ringside import sites
from ringside.errors import CannotMeasure

HEAD = (
    "# iotally 1\n# module\tfile\tline\tfunction\toperation\tspace\tdirection\taddress"
    "\tregister\tcontext\tcount\tbytes\n"
)
ROW = "8139cp\t8139cp.c\t582\tcp_interrupt\treadw\tmmio\tread\t0xfebe003c\tcp->regs\tirq\t3\t6\n"


def test_counts_are_by_place_context_and_bar() -> None:
    """A place that comes twice is one; one without a count is only a place."""
    never = ROW.replace("\tirq\t3\t6", "\t-\t0\t0").replace("582", "600")
    port = ROW.replace("mmio", "port").replace("0xfebe003c", "0xc03e")
    listing = sites.parse(HEAD + ROW + ROW + never + port, KEPT.bars)
    assert listing.places == 2
    found = {(site.space, site.bar): count for site, count in listing.counts.items()}
    assert found == {("mmio", 1): 6, ("port", 0): 3}


@pytest.mark.parametrize("address", ["-", "0xfebc0000", "0x10"])
def test_an_address_of_no_bar_is_none_of_the_ports(address: str) -> None:
    """The generator's BARs are not the port's."""
    listing = sites.parse(HEAD + ROW.replace("0xfebe003c", address), KEPT.bars)
    assert [site.bar for site in listing.counts] == [None]


def test_escapes_are_taken_back() -> None:
    """As drivers/iotally writes them."""
    row = ROW.replace("cp->regs", r"a\tb\\n\n")
    (site,) = sites.parse(HEAD + row, KEPT.bars).counts
    assert site.register == "a\tb\\n\n"


WRONG = {
    "empty": ("", "line 1"),
    "other_version": (HEAD.replace("iotally 1", "iotally 2"), "line 1"),
    "other_columns": (HEAD.replace("context", "kind"), "line 2"),
    "head_only_half": ("# iotally 1\n", "line 2"),
    "cut": (HEAD + ROW[:-1], "line 1"),
    "fewer_columns": (HEAD + ROW + "8139cp\tx\n", "line 4: 2 columns"),
    "line": (HEAD + ROW.replace("582", "x"), "line 3: line is no number"),
    "count": (HEAD + ROW.replace("\t3\t", "\t-3\t"), "line 3: count is no number"),
    "digits": (HEAD + ROW.replace("\t3\t", "\t\u00b2\t"), "count is no number"),
    "address": (HEAD + ROW.replace("0xfebe003c", "0xg"), "address is no number"),
    "space": (HEAD + ROW.replace("mmio", "memory"), "space is none of"),
    "direction": (HEAD + ROW.replace("\tread\t", "\tboth\t"), "direction is none of"),
    "context": (HEAD + ROW.replace("irq\t3", "nmi\t3"), "context is none of"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_listing_is_refused(name: str) -> None:
    """In one line that says where."""
    text, why = WRONG[name]
    with pytest.raises(CannotMeasure) as caught:
        sites.parse(text, KEPT.bars)
    assert why in str(caught.value) and "\n" not in str(caught.value)


@given(strategies.text())
def test_any_text_is_read_or_refused(text: str) -> None:
    """Behind a good head too."""
    for candidate in (text, HEAD + text, HEAD + text.replace(" ", "\t") + "\n"):
        try:
            sites.parse(candidate, KEPT.bars)
        except CannotMeasure:
            continue


@given(
    strategies.lists(
        strategies.sampled_from(["", "0", "0x1", "irq", "read", "mmio", "x", "\u00b2"]),
        min_size=12,
        max_size=12,
    )
)
def test_any_row_is_read_or_refused(words: list[str]) -> None:
    """Words that belong into some column, in all of them."""
    try:
        sites.parse(HEAD + "\t".join(words) + "\n", KEPT.bars)
    except CannotMeasure as error:
        assert "line 3" in str(error)
