# SPDX-License-Identifier: GPL-2.0-only
"""Results as documents: checked against their schema, as a table, as a page."""
