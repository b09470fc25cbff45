# SPDX-License-Identifier: GPL-2.0-only
"""The metal lab: this machine, its running kernel and its real ports."""
