# SPDX-License-Identifier: GPL-2.0-only
"""Every profile of the tree is whole, and a wrong one is refused by file and key."""

import re
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies

from ringside import builds, profiles
from ringside.errors import CannotMeasure, UsageError
from ringside.profiles import Bar, Profile, Quirk

FOLDER = builds.TREE / "drivers/profiles"
FILES = sorted(FOLDER.glob("*.toml"))

WHOLE = """\
summary = "A NIC"
driver = "nic-x"
source = "drivers/net/nic.c"
dependencies = ["mii"]
pci = ["10ec:8139", "1af4:1000"]
napi = false
out_of_tree = true

[parameters]
copybreak = 256

[private_flags]
rx-copy = true

[qemu]
device = "nic"

[qemu.properties]
ioeventfd = false
tx = "timer"

[[bar]]
index = 0
space = "port"

[[bar]]
index = 1
space = "mmio"
alias_of = 0

[quirk]
module = "pci_revision"
parameters = "revision=0x10"
why = "because"

[[vary]]
parameter = "copybreak"
values = [0, 256]
why = "copies"
"""


def parsed(folder: Path, text: str, name: str = "nic.toml") -> Profile:
    """The profile of that text."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return profiles.parse(path)


def test_the_nics_of_the_plan_have_profiles() -> None:
    """A glob that finds nothing would pass every test below."""
    assert {path.stem for path in FILES} >= set(
        "8139cp 8139too e100 e1000 e1000e igb ne2k-pci pcnet32 tulip virtio_net"
        " vmxnet3".split()
    )


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_a_profile_of_the_tree_is_whole(path: Path) -> None:
    """Parses, and what it says fits together."""
    profile = profiles.parse(path)
    assert profile.name == path.stem
    assert profile.summary and profile.driver and profile.device and profile.pci_ids
    if profile.out_of_tree:
        assert (builds.TREE / profile.source / f"{profile.driver}.h").is_file()
    else:
        assert profile.source.startswith("drivers/net/")
    indexes = [bar.index for bar in profile.bars]
    assert indexes == sorted(set(indexes)) and set(indexes) <= set(range(6))
    assert {bar.alias_of for bar in profile.bars} <= {None, *indexes}
    for vary in profile.vary:
        assert len(set(vary.values)) > 1
    if profile.quirk:
        quirk = builds.TREE / f"drivers/quirks/{profile.quirk.module}.c"
        assert quirk.is_file() and profile.quirk.why


def test_every_field_is_read(tmp_path: Path) -> None:
    """As its type, QEMU's and the module's values as text."""
    profile = parsed(tmp_path, WHOLE)
    assert profile == Profile(
        name="nic",
        summary="A NIC",
        driver="nic-x",
        source="drivers/net/nic.c",
        device="nic",
        pci_ids=("10ec:8139", "1af4:1000"),
        hash=profile.hash,
        dependencies=("mii",),
        parameters={"copybreak": "256"},
        out_of_tree=True,
        private_flags={"rx-copy": True},
        napi=False,
        properties={"ioeventfd": "off", "tx": "timer"},
        bars=(Bar(0, "port"), Bar(1, "mmio", 0)),
        quirk=Quirk("pci_revision", "revision=0x10", "because"),
        vary=(profiles.Vary("copybreak", [0, 256], "copies"),),
    )


def test_the_least_profile_has_defaults(tmp_path: Path) -> None:
    """Five keys and a table are enough."""
    text = (
        'summary="s"\ndriver="d"\nsource="x"\npci=["0000:0001"]\n[qemu]\ndevice="q"\n'
    )
    profile = parsed(tmp_path, text)
    assert profile.napi and not profile.quirk and not profile.bars
    assert not profile.parameters and not profile.properties
    assert not profile.out_of_tree and not profile.private_flags


def test_another_text_is_another_hash(tmp_path: Path) -> None:
    """The result names the profile by it."""
    assert parsed(tmp_path, WHOLE).hash != parsed(tmp_path, WHOLE + "\n").hash


# What is replaced in the whole profile, and what the refusal must name.
WRONG = {
    "unknown_key": ("napi = false", "nappi = false", "'nappi'"),
    "no_driver": ('driver = "nic-x"\n', "", "'driver' is missing"),
    "no_summary": ('summary = "A NIC"\n', "", "'summary' is missing"),
    "no_source": ('source = "drivers/net/nic.c"\n', "", "'source' is missing"),
    "no_pci": ('pci = ["10ec:8139", "1af4:1000"]\n', "", "'pci' is missing"),
    "no_device": ('device = "nic"\n', "", "'qemu.device' is missing"),
    "driver_type": ('driver = "nic-x"', "driver = 8139", "'driver'"),
    "napi_type": ("napi = false", "napi = 0", "'napi'"),
    "out_of_tree_type": ("out_of_tree = true", 'out_of_tree = ""', "'out_of_tree'"),
    "private_flags_type": (
        "[private_flags]",
        "[[private_flags]]",
        "'private_flags'",
    ),
    "private_flag_type": ("rx-copy = true", "rx-copy = 1", "'private_flags.rx-copy'"),
    "private_flag_name": ("rx-copy = true", '"rx copy" = true', "'rx copy'"),
    "private_flag_length": ("rx-copy", "x" * 32, "is no flag's name"),
    "dependencies_type": ('["mii"]', '"mii"', "'dependencies'"),
    "dependency_type": ('["mii"]', "[1]", "'dependencies'"),
    "pci_form": ("10ec:8139", "10EC:8139", "'10EC:8139'"),
    "pci_type": ('"10ec:8139"', "8139", "holds 8139"),
    "parameters_type": (
        "[parameters]\ncopybreak = 256",
        "parameters = 1",
        "'parameters'",
    ),
    "parameter_type": (
        "copybreak = 256\n",
        "copybreak = [1]\n",
        "'parameters.copybreak'",
    ),
    "device_type": ('device = "nic"', "device = 7", "'qemu.device'"),
    "qemu_key": ('device = "nic"', 'device = "nic"\nbus = "x"', "'qemu.bus'"),
    "properties_type": (
        '[qemu.properties]\nioeventfd = false\ntx = "timer"',
        'properties = "x"',
        "'qemu.properties'",
    ),
    "property_type": ('tx = "timer"', "tx = {a = 1}", "'qemu.properties.tx'"),
    "bar_space": ('space = "port"', 'space = "io"', "'bar.space'"),
    "bar_key": ('space = "port"', 'space = "port"\nsize = 1', "'bar.size'"),
    "bar_without_index": (
        'index = 0\nspace = "port"',
        'space = "port"',
        "'bar.index' is missing",
    ),
    "bar_index_type": ("index = 0", 'index = "0"', "'bar.index'"),
    "vary_value_bool": ("[0, 256]", "[true, 256]", "'vary.values'"),
    "bar_index_range": ("index = 0", "index = 6", "'bar.index'"),
    "bar_twice": ("index = 1", "index = 0", "'bar.index'"),
    "bar_alias_type": ("alias_of = 0", 'alias_of = "0"', "'bar.alias_of'"),
    "bar_alias_of_none": ("alias_of = 0", "alias_of = 5", "'bar.alias_of'"),
    "quirk_key": ('why = "because"', 'why = "because"\nwhen = 1', "'quirk.when'"),
    "quirk_without_why": ('why = "because"\n', "", "'quirk.why' is missing"),
    "quirk_type": ('module = "pci_revision"', "module = 1", "'quirk.module'"),
    "vary_key": ('why = "copies"', 'why = "copies"\nwhen = 1', "'vary.when'"),
    "vary_values_type": ("values = [0, 256]", "values = 0", "'vary.values'"),
    "vary_without_why": ('why = "copies"\n', "", "'vary.why' is missing"),
    "pci_with_newline": ("10ec:8139", r"a\nb", r"'a\nb'"),
    "key_with_newline": ("napi = false", r'"a\nb" = 1', r"unknown key 'a\nb'"),
    "syntax": ("[qemu]", "[qemu", "line 15"),
    "key_twice": ("napi = false", "napi = false\nnapi = true", "line 7"),
}
TABLES = {
    "bar": (r"\[\[bar\]\].*?(?=\[quirk)", "'bar'"),
    "quirk": (r"\[quirk\].*?(?=\[\[vary)", "'quirk'"),
    "vary": (r"\[\[vary\]\].*", "'vary'"),
    "qemu": (r"\[qemu\].*?(?=\[\[bar)", "'qemu'"),
}


@pytest.mark.parametrize("old, new, told", WRONG.values(), ids=WRONG)
def test_a_wrong_profile_is_refused_by_file_and_key(
    tmp_path: Path, old: str, new: str, told: str
) -> None:
    """In one line."""
    assert WHOLE.count(old) >= 1
    with pytest.raises(CannotMeasure) as caught:
        parsed(tmp_path, WHOLE.replace(old, new, 1))
    text = str(caught.value)
    assert text.startswith("drivers/profiles/nic.toml: ")
    assert told in text and "\n" not in text


@pytest.mark.parametrize("key", TABLES)
@pytest.mark.parametrize("value", ["1", '"x"', "[1]", "[[1]]"])
def test_a_table_of_another_kind_is_refused(
    tmp_path: Path, key: str, value: str
) -> None:
    """A number, a text or a list where a table belongs."""
    pattern, told = TABLES[key]
    text = f"{key} = {value}\n" + re.sub(pattern, "", WHOLE, count=1, flags=re.DOTALL)
    with pytest.raises(CannotMeasure, match=told) as caught:
        parsed(tmp_path, text)
    assert str(caught.value).startswith("drivers/profiles/nic.toml: ")


def test_what_cannot_be_read_is_refused(tmp_path: Path) -> None:
    """Bytes that are no UTF-8, and a folder."""
    (tmp_path / "a.toml").write_bytes(b'summary = "\xff"\n')
    (tmp_path / "b.toml").mkdir()
    for name in ("a.toml", "b.toml"):
        with pytest.raises(CannotMeasure, match=f"^drivers/profiles/{name}: "):
            profiles.parse(tmp_path / name)


@settings(max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=strategies.data())
def test_a_changed_profile_parses_or_is_refused(
    tmp_path: Path, data: strategies.DataObject
) -> None:
    """A line gone, doubled or replaced: no other way to fail."""
    lines = data.draw(strategies.sampled_from([WHOLE, *map(Path.read_text, FILES)]))
    text = lines.splitlines()
    at = data.draw(strategies.integers(0, len(text) - 1))
    key = text[at].split("=")[0]
    value = strategies.sampled_from(
        ["1", "-1", "true", '"x"', "[]", "[{}]", "{}", "1.5"]
    )
    change: list[str] = data.draw(
        strategies.one_of(
            strategies.just([]),
            strategies.just([text[at], text[at]]),
            value.map(lambda word: [f"{key}= {word}"]),
            strategies.text(max_size=8).map(lambda word: [word]),
        )
    )
    text[at : at + 1] = change
    try:
        parsed(tmp_path, "\n".join(text))
    except CannotMeasure as error:
        assert str(error).startswith("drivers/profiles/nic.toml: ")
        assert "\n" not in str(error)


# Choosing


def test_names_choose_in_order_and_once() -> None:
    """As asked for."""
    for words in ("tulip,e1000,tulip", " tulip, e1000 "):
        names = [profile.name for profile in profiles.choose(words)]
        assert names == ["tulip", "e1000"]


def test_all_is_every_in_tree_driver() -> None:
    """By name, and not beside others; the reference driver nobody runs."""
    ours = [path.stem for path in FILES if path.stem.startswith("ringside-")]
    for words in ("all", " all "):
        names = [profile.name for profile in profiles.choose(words)]
        assert names == [path.stem for path in FILES if path.stem not in ours]
    assert [profile.name for profile in profiles.choose(",".join(ours))] == ours != []
    with pytest.raises(UsageError, match="--nic e1000,all: 'all' stands alone"):
        profiles.choose("e1000,all")


@pytest.mark.parametrize(
    "names", ["e2000", "e1000,", "", "E1000", "e1000 tulip", "../x"]
)
def test_an_unknown_name_is_refused(names: str) -> None:
    """With those that are known."""
    with pytest.raises(UsageError, match="unknown NIC '.*': .*8139cp, 8139too"):
        profiles.choose(names)
