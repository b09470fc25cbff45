# SPDX-License-Identifier: GPL-2.0-only
"""Compare, for real: one read added to 8139cp is found with its line, a comment is not."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from ringside import cli, profiles
from ringside.lab import kernel, source

_NIC = profiles.choose("8139cp")[0]
_ACKNOWLEDGED = "\tcpw16(IntrStatus, cp_rx_intr_mask);\n"
_READ = "\tcpr16(IntrStatus);\n"


@pytest.fixture(name="trees")
def fixture_trees(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The kernel's driver as base, and twice as head: with a comment, with a read."""
    tree = source.find(kernel.find(None), None).tree
    place = Path(_NIC.source).parent
    for name in ("base", "comment", "read"):
        (tmp_path / name / place).mkdir(parents=True)
        for path in (tree / place).glob("*.[ch]"):
            shutil.copy(path, tmp_path / name / place)
    text = (tmp_path / "base" / _NIC.source).read_text(encoding="utf-8")
    assert text.count(_ACKNOWLEDGED) == 1
    for name, more in (("comment", "\t/* seen */\n"), ("read", _READ)):
        changed = text.replace(_ACKNOWLEDGED, _ACKNOWLEDGED + more)
        (tmp_path / name / _NIC.source).write_text(changed, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def _compare(head: str) -> tuple[int, dict[str, Any]]:
    words = ["compare", "--base-dir", "base", "--head-dir", head, "--nic", _NIC.name]
    status = cli.main([*words, "--direction", "rx", "--json", f"{head}.json"])
    return status, json.loads(Path(f"{head}.json").read_text(encoding="utf-8"))


def test_a_read_is_found_and_a_comment_is_not(trees: Path) -> None:
    """With its line and text, and nothing else called worse but what it costs."""
    status, document = _compare("comment")
    assert (status, document["verdict"]) == (0, "same")
    (run,) = document["runs"]
    assert not run["lines"] and not run["functions"]

    status, document = _compare("read")
    assert (status, document["verdict"]) == (1, "worse")
    (run,) = document["runs"]
    changed = {m["name"]: m["delta"] for m in run["metrics"] if m["verdict"] != "same"}
    assert changed.pop("mmio_reads") == 1.0
    assert set(changed) <= {"instructions_driver"}
    (line,) = run["lines"]
    assert line["source"] == _READ.strip() and line["kind"] == "new"
    number = 1 + (trees / "read" / _NIC.source).read_text("utf-8").splitlines().index(
        _READ.rstrip("\n")
    )
    assert line["what"].startswith(f"8139cp.c:{number} cp_rx_poll: readw(")
    assert [f["what"] for f in run["functions"]] == ["cp_rx_poll"]
