# SPDX-License-Identifier: GPL-2.0-only
"""Two versions of one driver under the same loads, and what the change costs."""
