# SPDX-License-Identifier: GPL-2.0-only
"""Every command in README and docs is run, and what they show is what it prints."""

import os
import re
import shlex
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

from ringside import builds, profiles

_PAGES = [builds.TREE / "README.md", *sorted((builds.TREE / "docs").glob("*.md"))]
_COMMAND = re.compile(r"^    ((?:\./ringside|make) .*)$", re.MULTILINE)
# This very test is part of `make test`; `make perf` takes many minutes; the test
# of README's output runs `make bench`.
_NOT_HERE = {"make test", "make perf", "make bench"}
# Rows of a result: NIC, driver, direction, rate, size, then the accesses.
_ROW = re.compile(
    r"^ *(\S+ +\S+ +(?:rx|tx|both) +\d+ +\d+(?: +[\d.-]+){4})", re.MULTILINE
)


def _commands() -> list[tuple[str, str]]:
    found: dict[str, str] = {}
    for page in _PAGES:
        for match in _COMMAND.finditer(page.read_text(encoding="utf-8")):
            found.setdefault(match[1].strip(), page.name)
    return [(page, text) for text, page in found.items() if text not in _NOT_HERE]


def _run(text: str, tree: Path, folder: Path) -> subprocess.CompletedProcess[str]:
    words = shlex.split(text)
    if words[0] == "make":
        words += ["-C", str(tree)]
    else:
        words[0] = str(tree / "ringside")
    environment = {k: v for k, v in os.environ.items() if not k.startswith("MAKE")}
    return subprocess.run(
        words, check=False, cwd=folder, capture_output=True, text=True, env=environment
    )


@pytest.fixture(name="tree", scope="module")
def tree_fixture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the tree with the profile that docs/adding-a-nic.md adds."""
    tree = tmp_path_factory.mktemp("docs") / "tree"

    def ours(folder: str, _: list[str]) -> list[str]:
        return [".git", "build"] if folder == str(builds.TREE) else []

    shutil.copytree(builds.TREE, tree, symlinks=True, ignore=ours)
    page = (tree / "docs/adding-a-nic.md").read_text(encoding="utf-8")
    name = re.search(r"`drivers/profiles/(\S+\.toml)`:", page)
    text = re.search(r"```toml\n(.*?)```", page, re.DOTALL)
    assert name and text
    (tree / "drivers/profiles" / name[1]).write_text(text[1], encoding="utf-8")
    return tree


@pytest.mark.parametrize(("page", "text"), _commands())
def test_a_command_of_the_docs_works(
    page: str, text: str, tree: Path, tmp_path: Path
) -> None:
    """As written, in an empty folder."""
    result = _run(text, tree, tmp_path)
    assert result.returncode == 0, f"{page}: {text}\n{result.stdout}{result.stderr}"
    for file in re.findall(r"--(?:json|html) (\S+)", text):
        assert (tmp_path / file).stat().st_size > 0


def _release(text: str) -> str:
    match = re.search(r"Linux (\S+);", text)
    return match[1] if match else ""


def test_the_output_in_the_readme_is_what_it_prints(tmp_path: Path) -> None:
    """Accesses per packet of every NIC; another kernel may have other drivers."""
    shown = _PAGES[0].read_text(encoding="utf-8")
    result = _run("make bench", builds.TREE, tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr
    printed = result.stdout
    if _release(shown) != _release(printed):
        pytest.skip(f"README shows {_release(shown)}, this is {_release(printed)}")
    rows = [" ".join(row.split()) for row in _ROW.findall(shown)]
    now = [" ".join(row.split()) for row in _ROW.findall(printed)]
    assert rows and rows == now[: len(rows)]


def test_the_output_in_ledger_md_is_what_it_prints(tmp_path: Path) -> None:
    """Each line of the sites, their sums and the cross-check."""
    page = (builds.TREE / "docs/ledger.md").read_text(encoding="utf-8")
    result = _run("./ringside ledger --nic 8139cp", builds.TREE, tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr
    if _release(page) != _release(result.stdout):
        pytest.skip(f"shown is {_release(page)}, this is {_release(result.stdout)}")
    block = re.search(
        r"^    8139cp rx 20000 pps 60 B\n(.*?)^    Checks$", page, re.M | re.S
    )
    assert block
    printed = [" ".join(line.split()) for line in result.stdout.splitlines()]
    # What counting costs differs with the compiler.
    shown = [line for line in block[1].splitlines() if "Counting" not in line]
    for line in shown:
        assert " ".join(line.split()) in printed, line


def test_every_key_of_a_profile_is_documented() -> None:
    """docs/adding-a-nic.md lists what the parser takes."""
    page = (builds.TREE / "docs/adding-a-nic.md").read_text(encoding="utf-8")
    documented = {name.split(".")[0] for name in re.findall(r"^\| `(\S+)`", page, re.M)}
    assert documented == set(profiles.KEYS)


def test_links_of_the_docs_lead_somewhere() -> None:
    """Relative links name files of the tree."""
    for page in _PAGES:
        for target in re.findall(r"\]\((?!http)([^)#]+)\)", page.read_text("utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_profiles_name_their_licence() -> None:
    """Each file begins with the SPDX line; TOML comments are not checked by others."""
    for path in sorted((builds.TREE / "drivers/profiles").glob("*.toml")):
        text = path.read_text(encoding="utf-8")
        assert text.startswith("# SPDX-License-Identifier: GPL-2.0-only\n")
        assert tomllib.loads(text)
