# SPDX-License-Identifier: GPL-2.0-only
"""Every frame is delivered or dropped by a counter with a name, or the run fails."""

from typing import Any

import pytest

from ringside import conservation
from ringside.conservation import Ledger
from ringside.lab.run import Outcome

Counters = dict[str, int]

STREAM = {
    "sent": 100,
    "delivered": 100,
    "duplicated": 0,
    "corrupted": 0,
    "stack_drops": 0,
    "refused": 0,
    "warmup_sent": 0,
    "warmed_up": 0,
    "warmup_drops": 0,
}


def stream(number: int = 0, **changed: int) -> str:
    """A stream's line of the sender; 100 sent and delivered unless changed."""
    values = "".join(f":{key}={value}" for key, value in (STREAM | changed).items())
    return f"stream={number}{values}\n"


def outcome(output: str, port: Counters, generator: Counters | None = None) -> Outcome:
    """A run in which the counters of port and generator rose by that much."""
    statistics = {}
    for name, moved in (("port0", port), ("gen0", generator or {})):
        statistics[f"{name}.before"] = {key: 7 for key in moved} | {"rx_bytes": 1}
        statistics[f"{name}.after"] = {k: 7 + v for k, v in moved.items()}
        statistics[f"{name}.after"]["rx_bytes"] = 1
    return Outcome(0, output, None, [], statistics)


def received(port: Counters, **changed: int) -> Ledger:
    """The ledger of a port under test that receives."""
    return conservation.balance(outcome(stream(**changed), port), "rx")


def drop(where: str, count: int) -> dict[str, Any]:
    """An entry of the result's drops."""
    return {"where": where, "count": count}


def test_all_delivered_is_balanced() -> None:
    """Nothing is dropped, and the port's own count agrees."""
    ledger = received({"rx_packets": 100})
    assert ledger.balanced() and not ledger.drops
    assert (ledger.sent, ledger.delivered, ledger.unexplained) == (100, 100, 0)
    assert ledger.port_counted == ledger.port_expected == 100
    assert ledger.describe() == "sent 100 = delivered 100"


def test_counters_that_did_not_fit_are_not_blamed() -> None:
    """A counter that rose without a missing frame is no drop."""
    ledger = received({"rx_packets": 100, "rx_missed_errors": 3, "rx_dropped": 2})
    assert ledger.balanced() and not ledger.drops


def test_socket_drops_are_named() -> None:
    """The port did its work; the receiving program was too slow."""
    ledger = received({"rx_packets": 100}, delivered=90, stack_drops=10)
    assert ledger.balanced()
    assert ledger.drops == [drop("port0 socket (receiver too slow)", 10)]
    assert ledger.port_counted == ledger.port_expected == 100
    assert ledger.describe() == (
        "sent 100 = delivered 90 + 10 port0 socket (receiver too slow)"
    )


@pytest.mark.parametrize(
    "counter",
    [
        "rx_missed_errors",
        "rx_fifo_errors",
        "rx_over_errors",
        "rx_dropped",
        "rx_crc_errors",
        "rx_frame_errors",
        "rx_length_errors",
        "ethtool.rx_no_buffer_count",
    ],
)
def test_a_counter_that_says_what_is_missing_is_named(counter: str) -> None:
    """The kernel's, else the driver's own."""
    ledger = received({"rx_packets": 94, counter: 6}, delivered=94)
    assert ledger.balanced()
    assert ledger.drops == [drop(f"port0 {counter}", 6)]


def test_sums_of_other_counters_are_not_used() -> None:
    """rx_errors holds the others again, and tx counters are not the receiver's."""
    moved = {"rx_packets": 94, "rx_errors": 6, "tx_dropped": 6, "rx_bytes": 6}
    ledger = received(moved, delivered=94)
    assert not ledger.balanced()
    assert ledger.unexplained == 6


def test_counters_that_add_up_are_all_named() -> None:
    """Two places, each with its own share."""
    moved = {"rx_packets": 90, "rx_missed_errors": 7, "rx_dropped": 3}
    ledger = received(moved, delivered=90)
    assert ledger.balanced()
    assert ledger.drops == [
        drop("port0 rx_missed_errors", 7),
        drop("port0 rx_dropped", 3),
    ]


def test_one_loss_counted_twice_is_named_once() -> None:
    """Drivers count it in two places; one says exactly what is missing."""
    moved = {"rx_packets": 90, "rx_missed_errors": 10, "rx_fifo_errors": 10}
    ledger = received(moved, delivered=90)
    assert ledger.balanced()
    assert ledger.drops == [drop("port0 rx_missed_errors", 10)]


def test_the_kernels_counter_is_named_before_the_drivers() -> None:
    """Both say the same."""
    moved = {"ethtool.rx_fifo": 10, "rx_dropped": 10, "rx_missed_errors": 4}
    ledger = received(moved, delivered=90)
    assert ledger.drops == [drop("port0 rx_dropped", 10)]


def test_what_no_counter_says_is_unexplained() -> None:
    """The best counter is named, the rest told with everything that moved."""
    moved = {"rx_packets": 80, "rx_missed_errors": 12, "rx_dropped": 30}
    ledger = received(moved, delivered=80)
    assert not ledger.balanced()
    assert ledger.drops == [drop("port0 rx_missed_errors", 12)]
    assert ledger.unexplained == 8
    text = ledger.describe()
    assert "sent 100 = delivered 80 + 12 port0 rx_missed_errors + 8 unexplained" in text
    assert "port0 rx_packets +80" in text and "port0 rx_dropped +30" in text


def test_a_loss_without_any_counter_says_so() -> None:
    """The frame vanished between two ports."""
    ledger = conservation.balance(outcome(stream(delivered=99), {}), "rx")
    assert not ledger.balanced()
    assert "1 unexplained (counters that moved: none)" in ledger.describe()


def test_the_senders_drops_explain_a_loss_too() -> None:
    """A frame may end where it began."""
    run = outcome(stream(delivered=95), {"rx_packets": 95}, {"tx_dropped": 5})
    ledger = conservation.balance(run, "rx")
    assert ledger.balanced() and ledger.drops == [drop("gen0 tx_dropped", 5)]


def test_a_loss_in_three_places_is_balanced() -> None:
    """Socket, receiver and sender."""
    run = outcome(
        stream(delivered=90, stack_drops=2),
        {"rx_packets": 92, "rx_dropped": 5},
        {"tx_fifo_errors": 3},
    )
    ledger = conservation.balance(run, "rx")
    assert ledger.balanced()
    assert [entry["count"] for entry in ledger.drops] == [2, 5, 3]


@pytest.mark.parametrize("delivered", [100, 90])
def test_more_than_was_sent_is_unexplained(delivered: int) -> None:
    """Drops beyond the loss do not make up for it."""
    ledger = received({}, delivered=delivered, stack_drops=15)
    assert not ledger.balanced() and ledger.unexplained < 0


def test_duplicates_are_never_balanced() -> None:
    """Although nothing is missing."""
    ledger = received({"rx_packets": 103}, duplicated=3)
    assert not ledger.balanced() and ledger.unexplained == 0
    assert ledger.describe().endswith("; 3 duplicated, 0 corrupted")


def test_corrupted_frames_are_neither_missing_nor_good() -> None:
    """The port counted them; the run fails all the same."""
    ledger = received({"rx_packets": 100}, delivered=98, corrupted=2)
    assert not ledger.balanced() and ledger.unexplained == 0 and not ledger.drops
    assert ledger.port_counted == ledger.port_expected == 100
    assert ledger.describe().endswith("; 0 duplicated, 2 corrupted")


def test_a_sending_port_is_counted_by_what_it_sent() -> None:
    """The receiver's loss is the generator's."""
    run = outcome(
        stream(delivered=96),
        {"tx_packets": 100},
        {"rx_packets": 96, "rx_missed_errors": 4},
    )
    ledger = conservation.balance(run, "tx")
    assert ledger.balanced()
    assert ledger.drops == [drop("gen0 rx_missed_errors", 4)]
    assert ledger.port_counted == ledger.port_expected == 100


def test_a_port_that_counts_otherwise_is_seen() -> None:
    """The rate check compares these two."""
    ledger = received({"rx_packets": 99})
    assert (ledger.port_counted, ledger.port_expected) == (99, 100)
    run = outcome(stream(), {"tx_packets": 98}, {"rx_packets": 100})
    ledger = conservation.balance(run, "tx")
    assert (ledger.port_counted, ledger.port_expected) == (98, 100)


def test_frames_before_the_window_are_in_the_ports_count_only() -> None:
    """The kernel's counters are read before the warm-up, the window begins after it."""
    warm = {"warmup_sent": 256, "warmed_up": 256}
    ledger = received({"rx_packets": 356}, **warm)
    assert ledger.balanced() and ledger.sent == ledger.delivered == 100
    assert ledger.port_counted == ledger.port_expected == 356
    run = outcome(stream(**warm), {"tx_packets": 356}, {"rx_packets": 356})
    ledger = conservation.balance(run, "tx")
    assert ledger.port_counted == ledger.port_expected == 356


def test_drops_of_the_warm_up_are_not_the_windows() -> None:
    """A counter spans both: 9 missed, 4 of them before; 5 more in the socket then."""
    warm = {"warmup_sent": 256, "warmed_up": 247, "warmup_drops": 5}
    counters = {"rx_packets": 347, "rx_missed_errors": 9}
    ledger = received(counters, delivered=95, **warm)
    assert ledger.balanced()
    assert ledger.drops == [drop("port0 rx_missed_errors", 5)]
    assert ledger.port_counted == ledger.port_expected == 347


def test_what_only_the_warm_up_lost_is_no_drop() -> None:
    """Nothing is missing in the window."""
    warm = {"warmup_sent": 256, "warmed_up": 250}
    ledger = received({"rx_packets": 350, "rx_length_errors": 6}, **warm)
    assert ledger.balanced() and not ledger.drops


def test_a_warm_up_loss_explains_none_of_the_window() -> None:
    """5 are missing in the window and 4 before, but a counter says 4 only."""
    warm = {"warmup_sent": 256, "warmed_up": 252}
    ledger = received({"rx_packets": 347, "rx_dropped": 4}, delivered=95, **warm)
    assert ledger.unexplained == 5


def test_a_warm_up_loss_is_taken_off_once() -> None:
    """Of 7 missed by the port 4 were before; the sender's 2 are all of the window."""
    counters = {"rx_packets": 347, "rx_missed_errors": 7}
    output = stream(delivered=95, warmup_sent=256, warmed_up=252)
    run = outcome(output, counters, {"tx_dropped": 2})
    ledger = conservation.balance(run, "rx")
    assert ledger.drops == [
        drop("port0 rx_missed_errors", 3),
        drop("gen0 tx_dropped", 2),
    ]
    assert ledger.balanced()


def test_both_directions_add_up() -> None:
    """Each stream with the counters of its own ends."""
    run = outcome(
        stream(0, delivered=95) + stream(1, delivered=97, stack_drops=3),
        {"rx_packets": 95, "rx_missed_errors": 5, "tx_packets": 100},
        {"rx_packets": 100, "tx_packets": 100},
    )
    ledger = conservation.balance(run, "both")
    assert ledger.balanced()
    assert (ledger.sent, ledger.delivered) == (200, 192)
    assert ledger.drops == [
        drop("port0 rx_missed_errors", 5),
        drop("gen0 socket (receiver too slow)", 3),
    ]
    assert ledger.port_counted == ledger.port_expected == 195


@pytest.mark.parametrize("direction, lines", [("rx", 0), ("rx", 2), ("both", 1)])
def test_a_stream_too_many_or_too_few_is_no_balance(direction: str, lines: int) -> None:
    """The sender and the plan must agree."""
    run = outcome("".join(stream(n) for n in range(lines)), {})
    with pytest.raises(ValueError):
        conservation.balance(run, direction)
