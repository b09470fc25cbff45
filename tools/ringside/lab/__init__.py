# SPDX-License-Identifier: GPL-2.0-only
"""The vm lab: a guest with two ports on a hub, in virtual time, restored for every run."""
