# SPDX-License-Identifier: GPL-2.0-only
"""QEMU's machine protocol against a server that answers as told."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from ringside.errors import CannotMeasure
from ringside.lab.qmp import Qmp

GREETING = '{"QMP": {"version": {"qemu": {"major": 10}}, "capabilities": []}}'
EVENT = '{"event": "STOP", "timestamp": {"seconds": 1, "microseconds": 2}}'
GOOD = '{"return": {}}'


class Server:
    """Answers each request with the next of the given texts, then closes."""

    def __init__(self, path: Path, greeting: str, answers: list[str]) -> None:
        self.requests: list[dict[str, object]] = []
        self._answers = answers
        self._greeting = greeting
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.bind(str(path))
        self._socket.listen()
        self.thread = threading.Thread(target=self._serve, daemon=True)
        self.thread.start()

    def _serve(self) -> None:
        connection, _ = self._socket.accept()
        with connection, connection.makefile("rw", encoding="utf-8") as file:
            file.write(self._greeting)
            file.flush()
            for answer in self._answers:
                line = file.readline()
                if not line:
                    break
                self.requests.append(json.loads(line))
                file.write(answer)
                file.flush()
        self._socket.close()


@contextmanager
def serving(path: Path, *answers: str, greeting: str = GREETING) -> Iterator[Server]:
    """A server with its handshake answered and these answers behind it."""
    lines = [answer and f"{answer}\n" for answer in (GOOD, *answers)]
    server = Server(path, f"{greeting}\n", lines)
    yield server
    server.thread.join(5)
    assert not server.thread.is_alive()


def test_a_command_gives_what_qemu_returns(tmp_path: Path) -> None:
    """The handshake is made first; arguments go along."""
    with serving(tmp_path / "qmp", '{"return": {"a": 1}}', '{"return": ""}') as server:
        qmp = Qmp(tmp_path / "qmp")
        assert qmp.execute("query-x", name="y") == {"a": 1}
        assert qmp.execute("stop") == ""
        qmp.close()
    assert server.requests == [
        {"execute": "qmp_capabilities"},
        {"execute": "query-x", "arguments": {"name": "y"}},
        {"execute": "stop"},
    ]


def test_events_in_between_are_passed_over(tmp_path: Path) -> None:
    """QEMU tells events whenever they happen, also before an answer."""
    answer = f'{EVENT}\n{EVENT}\n{{"return": 7}}'
    with serving(tmp_path / "qmp", answer, '{"return": 8}'):
        qmp = Qmp(tmp_path / "qmp")
        assert [qmp.execute("a"), qmp.execute("b")] == [7, 8]
        qmp.close()


def test_the_human_monitor_gives_its_text(tmp_path: Path) -> None:
    """The line travels as an argument whose name holds a dash."""
    with serving(tmp_path / "qmp", '{"return": "Error: no disk\\r\\n"}') as server:
        qmp = Qmp(tmp_path / "qmp")
        assert qmp.monitor("savevm ready") == "Error: no disk\r\n"
        qmp.close()
    assert server.requests[1]["arguments"] == {"command-line": "savevm ready"}


BAD_ANSWERS = {
    "error": (
        '{"error": {"class": "GenericError", "desc": "no such device"}}',
        "QEMU refuses device_del: no such device",
    ),
    "error_without_text": ('{"error": {}}', "QEMU refuses device_del: no reason"),
    "end": ("", "QEMU ended during the QMP command device_del"),
    "end_after_event": (EVENT, "QEMU ended during the QMP command device_del"),
    "no_json": ("oops", "QMP command device_del: "),
}


@pytest.mark.parametrize("answer, told", BAD_ANSWERS.values(), ids=BAD_ANSWERS)
def test_a_bad_answer_is_told_in_one_line(
    tmp_path: Path, answer: str, told: str
) -> None:
    """With the command that met it."""
    with serving(tmp_path / "qmp", answer):
        qmp = Qmp(tmp_path / "qmp")
        with pytest.raises(CannotMeasure) as caught:
            qmp.execute("device_del")
        qmp.close()
    assert str(caught.value).startswith(told)
    assert "\n" not in str(caught.value)


def test_no_socket_is_told(tmp_path: Path) -> None:
    """After the time allowed, not for ever."""
    with pytest.raises(CannotMeasure, match="does not open its QMP socket"):
        Qmp(tmp_path / "qmp", timeout_s=0.05)


def test_a_qemu_that_says_nothing_is_told(tmp_path: Path) -> None:
    """It listens, as a stopped process does, and never greets."""
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "qmp"))
        listener.listen()
        with pytest.raises(CannotMeasure, match="timed out"):
            Qmp(tmp_path / "qmp", timeout_s=0.05)
