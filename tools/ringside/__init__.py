# SPDX-License-Identifier: GPL-2.0-only
"""Ringside: what a NIC driver costs per packet and whether it survives faults."""

__version__ = "0.1.0"
