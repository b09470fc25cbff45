# SPDX-License-Identifier: GPL-2.0-only
"""Settings of all tests: generated inputs repeat, and a slow machine is no failure."""

from hypothesis import HealthCheck, settings

settings.register_profile(
    "ringside",
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("ringside")
