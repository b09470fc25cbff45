# SPDX-License-Identifier: GPL-2.0-only
"""Settings of all tests: generated inputs repeat, a slow machine is no failure, no fake stays."""

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from ringside.lab import qemu

settings.register_profile(
    "ringside",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("ringside")


@pytest.fixture(autouse=True)
def _no_fake_stays() -> Iterator[None]:
    """A test that names a QEMU of its own must not leave it to the next."""
    yield
    qemu.find.cache_clear()
    qemu.has_device.cache_clear()
