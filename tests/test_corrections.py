"""Corrections of what this site published, stated in files of their own."""

from __future__ import annotations

import pytest

from site_builder.errors import GuideError
from site_builder.inputs import File
from site_builder.site import AuditPage, read_corrections
from tests import sample

WHERE = "content/corrections/cache.yaml"


def _stated(address: str, guide: str = "cache") -> File:
    return File(
        where=WHERE,
        body=f"""corrections:
  - id: size
    at: "2026-11-30"
    publication: "How large is the cache?"
    said: "It is <b>small</b>."
    true: "It is not."
    evidence: [{{audit: cache, address: {address}}}]
    guide: {guide}
""".encode(),
    )


@pytest.fixture(name="ledgers")
def _ledgers():
    audits = list(sample.publication(lambda text: text).audits)
    return {page.ledger.audit: page.ledger for page in audits if isinstance(page, AuditPage)}


def test_correction_rests_on_a_value(ledgers):
    """A correction is shown with the value that it rests on, and its words are text, not markup."""
    audit, ledger = next(iter(ledgers.items()))
    address = next(iter(ledger.cells))
    file = _stated(address)

    found = read_corrections(
        File(where=WHERE, body=file.body.replace(b"audit: cache", f"audit: {audit}".encode())), ledgers, ["cache"]
    )

    assert ["It is &lt;b&gt;small&lt;/b&gt;."] == [item.said for item in found]
    assert [(audit, address)] == [(item.audit, item.address) for item in found[0].evidence]


def test_correction_without_evidence_stops(ledgers):
    """A correction that names no value of a receipt, or a guide that does not exist, stops the build."""
    with pytest.raises(GuideError) as stopped:
        read_corrections(_stated("nothing", "elsewhere"), ledgers, ["cache"])

    assert [
        f"{WHERE}: size: expected a value to rest on, found nothing at cache:nothing",
        f"{WHERE}: size: expected a guide's slug, found 'elsewhere'",
    ] == [str(problem).split("\n")[0] for problem in stopped.value.problems]
