# SPDX-License-Identifier: GPL-2.0-only
"""QEMU's machine protocol: one command, one answer."""

import json
import socket
import time
from pathlib import Path
from typing import Any

from ringside.errors import CannotMeasure


class Qmp:
    """A connection to a running QEMU."""

    def __init__(self, path: Path, timeout_s: float = 30.0) -> None:
        self._socket = socket.socket(socket.AF_UNIX)
        self._socket.settimeout(timeout_s)
        deadline = time.monotonic() + timeout_s
        while True:
            try:
                self._socket.connect(str(path))
                break
            except (FileNotFoundError, ConnectionRefusedError):
                if time.monotonic() > deadline:
                    raise CannotMeasure("QEMU does not open its QMP socket") from None
                time.sleep(0.01)
        self._file = self._socket.makefile("rw", encoding="utf-8")
        self.execute("qmp_capabilities")

    def execute(self, command: str, **arguments: Any) -> Any:
        """Runs a command and gives what it returns; greeting and events are passed over."""
        request: dict[str, Any] = {"execute": command}
        if arguments:
            request["arguments"] = arguments
        try:
            self._file.write(json.dumps(request) + "\n")
            self._file.flush()
            while True:
                line = self._file.readline()
                if not line:
                    raise CannotMeasure(f"QEMU ended during the QMP command {command}")
                answer = json.loads(line)
                if "error" in answer:
                    reason = answer["error"].get("desc", "no reason")
                    raise CannotMeasure(f"QEMU refuses {command}: {reason}")
                if "return" in answer:
                    return answer["return"]
        except (OSError, ValueError) as error:
            raise CannotMeasure(f"QMP command {command}: {error}") from error

    def monitor(self, line: str) -> str:
        """Runs a command of the human monitor; its output, empty when all went well."""
        return str(self.execute("human-monitor-command", **{"command-line": line}))

    def close(self) -> None:
        """Closes the connection; QEMU goes on."""
        self._file.close()
        self._socket.close()
