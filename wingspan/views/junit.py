"""Findings as the XML of JUnit, which CI shows as a test: one for each program, which passes, fails or has an error.

Readers agree on no standard. This is what Jenkins and GitLab document, and as Ant writes it: a test has at most one
failure or error.
"""

from __future__ import annotations

from xml.etree.ElementTree import Element, SubElement, indent, tostring

from wingspan.base.errors import printable
from wingspan.views.findings import FindingsReport
from wingspan.views.values import count


def text(report: FindingsReport) -> str:
    """The document."""
    kind = _kind(report)
    time = f"{report.seconds or 0:.3f}"
    failures, errors = (str(int(kind == each)) for each in ("failure", "error"))
    counts = {"name": f"wingspan {report.verb}", "tests": "1", "failures": failures, "errors": errors, "time": time}
    root = Element("testsuites", counts)
    suite = SubElement(root, "testsuite", counts, skipped="0")
    name = printable(report.name)
    case = SubElement(suite, "testcase", classname=f"wingspan.{report.verb}", name=name, time=time)
    if kind:
        topics = dict.fromkeys(found.topic for found in report.findings) or ("incomplete",)
        SubElement(case, kind, type=", ".join(topics), message=_message(report)).text = _details(report)
    if report.notes:
        SubElement(case, "system-out").text = printable(report.notes)
    indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + tostring(root, encoding="unicode")


def _kind(report: FindingsReport) -> str:
    """The kind of element that says why the test has not passed, if it has not."""
    if report.findings:
        return "failure" if report.has_verdict else "error"
    return "error" if report.incomplete else ""


def _message(report: FindingsReport) -> str:
    """The first finding in a line, and how many more there are."""
    if not report.findings:
        return printable(report.incomplete)
    first, *others = report.findings
    more = f" (and {count(len(others), 'more finding')})" if others else ""
    return printable(f"{first.message}{more}")


def _details(report: FindingsReport) -> str:
    """All findings, each with its place as compilers write it."""
    texts = [f"{found.places[0]}: {found.text}" if found.places else found.text for found in report.findings]
    return printable("\n\n".join([*texts, *([report.incomplete] if report.incomplete else [])]))
