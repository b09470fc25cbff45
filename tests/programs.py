# SPDX-License-Identifier: GPL-2.0-only
"""Programs that lie outside the package, as modules whose functions a test may call."""

import importlib.util
import sys
from typing import Any

from ringside import builds


def load(path: str) -> Any:
    """The module in a file of this tree."""
    name = path.removesuffix(".py").replace("/", "_")
    spec = importlib.util.spec_from_file_location(name, builds.TREE / path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    # Its dataclasses look themselves up there.
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
