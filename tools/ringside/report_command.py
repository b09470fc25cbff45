# SPDX-License-Identifier: GPL-2.0-only
"""./ringside report: stored results in the forms that other programs read."""

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ringside.compare import report as comparison
from ringside.errors import EXIT_GOOD, UsageError
from ringside.report import cases, files, html, machines, options, schema
from ringside.report.figures import Document


@dataclass(frozen=True)
class ReportRequest:
    """Results, and where each form of them goes."""

    results: Sequence[Path]
    outputs: Mapping[str, Path]


def request(arguments: argparse.Namespace) -> ReportRequest:
    """What was asked for; a form without a file goes to standard output."""
    outputs = {}
    for name in options.HELP:
        given = getattr(arguments, name)
        if given is not None:
            path = files.STANDARD_OUTPUT if given == "-" else Path(given)
            files.check(path)
            outputs[name] = path
    if not outputs:
        known = ", ".join(f"--{name}" for name in options.HELP)
        raise UsageError(f"report: in which form? One of {known}")
    return ReportRequest([Path(name) for name in arguments.results], outputs)


def _one_of(documents: Sequence[Document], form: str) -> Document:
    """The only result, of the kind that a page is for."""
    kind = options.PAGES[form]
    if len(documents) != 1 or documents[0]["kind"] != kind:
        raise UsageError(f"--{form} takes one result of {kind}")
    return documents[0]


def _text(form: str, documents: Sequence[Document]) -> str:
    if form == "html":
        return html.page(_one_of(documents, form))
    if form == "markdown":
        return comparison.markdown(_one_of(documents, form))
    found = [case for document in documents for case in cases.cases(document)]
    return machines.FORMATS[form](found, cases.environment(documents[0]))


def run(asked: ReportRequest) -> int:
    """Reads all results before it writes anything."""
    documents = [schema.load(path) for path in asked.results]
    texts = {form: _text(form, documents) for form in asked.outputs}
    for form, text in texts.items():
        files.write_whole(asked.outputs[form], text)
    return EXIT_GOOD
