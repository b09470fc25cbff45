# SPDX-License-Identifier: GPL-2.0-only
"""The ledger against device truth: both must see the same accesses, BAR by BAR."""

from collections import Counter
from dataclasses import dataclass
from typing import Any

from ringside import counts
from ringside.lab.run import Outcome
from ringside.lab.snapshot import Snapshot
from ringside.profiles import Profile
from ringside.sites import Listing

# Kernel functions that access device memory of no port: interrupt controllers, timers.
_PLATFORM = ("native_apic_", "io_apic_", "ioapic_", "hpet_", "native_io_apic_")

# BAR, space, direction.
_Key = tuple[int, str, str]


@dataclass(frozen=True)
class Row:
    """Accesses behind one BAR in one direction, as both saw them."""

    bar: int
    space: str
    direction: str
    ledger: int
    device: int
    explanation: str = ""

    def agrees(self) -> bool:
        """Whether both saw the same."""
        return self.ledger == self.device

    def describe(self) -> str:
        """The difference as a line."""
        return (
            f"BAR {self.bar} ({self.space}) {self.direction}s: the ledger has"
            f" {self.ledger}, the device saw {self.device}: {self.explanation}"
        )


def _unseen(
    regions: list[str], space: str, direction: str, outcome: Outcome, seen: set[str]
) -> str:
    """What the header cannot have seen, as far as other counts tell."""
    if any(name.startswith("msix") for name in regions):
        return "the MSI-X table: the PCI core masks and unmasks vectors there"
    if space == "mmio" and outcome.window:
        others = [
            f"{f['name']} of {f['module'] or 'the kernel'} ({f[f'mmio_{direction}s']})"
            for f in outcome.window["functions"]
            if f[f"mmio_{direction}s"]
            and (f["module"] or "") not in seen
            and not f["name"].startswith(_PLATFORM)
        ]
        if others:
            return f"not counted code made accesses: {', '.join(others[:4])}"
    return (
        "not counted: another module, assembly, or an accessor called by a pointer;"
        f" regions {', '.join(regions) or 'none'}"
    )


def _by_device(
    kept: Snapshot, profile: Profile, outcome: Outcome
) -> tuple[Counter[_Key], dict[_Key, list[str]]]:
    """Device truth, and the regions behind it."""
    device: Counter[_Key] = Counter()
    names: dict[_Key, list[str]] = {}
    for region, columns in counts.regions(kept, profile, outcome).items():
        for direction in ("read", "write"):
            key = (region.bar, region.space, direction)
            names.setdefault(key, []).append(region.name)
            device[key] += columns[f"{direction}s"]
    return device, names


def _by_ledger(listing: Listing) -> Counter[_Key]:
    ledger: Counter[_Key] = Counter()
    for site, count in listing.counts.items():
        if site.bar is not None:
            ledger[site.bar, site.space, site.direction] += count
    return ledger


def compare(
    kept: Snapshot,
    profile: Profile,
    outcome: Outcome,
    listing: Listing,
    ignored: set[str],
) -> list[Row]:
    """A row for each BAR and direction that either side saw an access of.

    ignored are modules whose accesses are none of the port's (the generator's).
    """
    device, names = _by_device(kept, profile, outcome)
    ledger = _by_ledger(listing)
    seen = {site.module for site in listing.counts} | ignored
    rows = []
    for key in sorted(device.keys() | ledger.keys()):
        why = ""
        if ledger[key] > device[key]:
            why = "the device took several of the driver's accesses as one, or none"
        elif ledger[key] < device[key]:
            why = _unseen(names[key], key[1], key[2], outcome, seen)
        if device[key] or ledger[key]:
            rows.append(Row(*key, ledger[key], device[key], why))
    return rows


def elsewhere(listing: Listing) -> int:
    """Accesses that the ledger counted behind no BAR of the port."""
    return sum(
        count
        for site, count in listing.counts.items()
        if site.bar is None and site.space != "config"
    )


def table(rows: list[Row]) -> list[dict[str, Any]]:
    """runs[].cross_check of the result."""
    return [
        {
            "bar": row.bar,
            "space": row.space,
            "direction": row.direction,
            "ledger": row.ledger,
            "device": row.device,
            "explanation": row.explanation,
        }
        for row in rows
    ]
