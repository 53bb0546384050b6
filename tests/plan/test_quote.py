"""The request for quotation: golden pages in both languages, in step, and safe with any text."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from warmfleet.catalog.load import load_catalog
from warmfleet.errors import PlanRefusedError
from warmfleet.plan.quote import quote_of
from warmfleet.plan.quote_models import QuoteRequest
from warmfleet.plan.quote_page import LANGUAGES, render_quote

FOLDER = Path(__file__).with_name("quotes")
REQUESTS = {
    path.stem: QuoteRequest.model_validate(json.loads(path.read_text()))
    for path in sorted(FOLDER.glob("*.json"))
}
EVERY = pytest.mark.parametrize("name", REQUESTS)


@EVERY
@pytest.mark.parametrize("language", LANGUAGES)
def test_pages_are_the_golden_ones(name, language) -> None:
    """Run with WARMFLEET_UPDATE_GOLDEN=1 to accept a change."""
    golden = FOLDER / f"{name}.{language}.md"
    page = render_quote(REQUESTS[name], [language])
    if os.environ.get("WARMFLEET_UPDATE_GOLDEN"):
        golden.write_text(page)
    assert golden.read_text() == page


def _shape(page: str) -> list[tuple[str, int]]:
    """Return headings by their level, tables by their columns, and lists, line by line."""
    marks = []
    for line in page.splitlines():
        if line.startswith("#"):
            marks.append(("heading", len(line) - len(line.lstrip("#"))))
        elif line.startswith("|"):
            marks.append(("row", len(re.findall(r"(?<!\\)\|", line))))
        elif line.startswith("- "):
            marks.append(("point", 1))
    return marks


@EVERY
def test_both_languages_say_the_same_in_the_same_order(name) -> None:
    english, chinese = (render_quote(REQUESTS[name], [language]) for language in LANGUAGES)
    assert _shape(english) == _shape(chinese)
    assert len(_shape(english)) > 40
    # Numbers, names of cards and commands are of no language.
    for pattern in (r"\d+(?:[.,]\d+)*", r"`[^`]+`"):
        assert sorted(re.findall(pattern, english)) == sorted(re.findall(pattern, chinese))


@EVERY
def test_chinese_is_chinese(name) -> None:
    page = render_quote(REQUESTS[name], ["zh"])
    words = set(re.findall(r"\b[a-z]{5,}", re.sub(r"`[^`]+`", "", page)))
    request = REQUESTS[name]
    named = {request.environment, request.prices, *(one.name for one in request.servers)}
    named |= {site.region for site in request.sites}
    assert {word for word in words if not any(word in text for text in named)} <= {"steal"}


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_line_and_carrier_has_a_name_for_people(language) -> None:
    [request, *_] = REQUESTS.values()
    line = request.sites[0].line
    parts = [line.parts[0].model_copy(update={"product": row.id}) for row in load_catalog().lines]
    carriers = ["local", *(row.id for row in load_catalog().carriers)]
    update = {"line": line.model_copy(update={"parts": parts, "carriers": carriers})}
    site = request.sites[0].model_copy(update=update)

    page = render_quote(request.model_copy(update={"sites": [site]}), [language])

    ids = {part.product for part in parts} | set(carriers)
    assert not [name for name in ids if f"| {name} |" in page or f"{name}, " in page]
    assert "local" not in page


def test_both_pages_follow_each_other() -> None:
    request = REQUESTS["chat"]
    pages = [render_quote(request, [language]) for language in LANGUAGES]
    assert render_quote(request) == f"{pages[0]}\n---\n\n{pages[1]}"


def _columns(page: str, heading: str) -> set[int]:
    table = page.partition(f"### {heading}\n")[2].lstrip("\n").partition("\n\n")[0]
    return {len(re.findall(r"(?<!\\)\|", line)) for line in table.splitlines()}


@pytest.mark.parametrize("text", ["a|b", "<script>alert(1)</script>", "[x](http://e)", "a\nb", "`"])
def test_text_of_others_is_no_mark_up(text) -> None:
    value: dict[str, Any] = REQUESTS["chat"].model_dump()
    value["sites"][0]["cost"]["items"][0]["what"] = text
    value["sites"][0]["line"]["carriers"] = [text]
    page = render_quote(QuoteRequest.model_validate(value))
    assert "<script" not in page
    assert "[x](" not in page
    assert _columns(page, "Prices") == {6}
    assert _columns(page, "Line") == {3}


def test_a_plan_becomes_a_request(servers) -> None:
    plan = servers.plan({"placement.term": "1 year", "placement.needed_by": "2027-01-15"})
    request = quote_of(plan, load_catalog())
    (site,), (group,) = request.sites, plan.sites[0].groups
    line = plan.sites[0].bandwidth
    assert (request.term_months, str(request.needed_by)) == (12, "2027-01-15")
    assert [(one.count, one.gpus, one.card, one.cores) for one in site.servers] == [
        (group.count, group.gpus, group.card, group.host.cores)
    ]
    assert sum(part.committed_mbps for part in site.line.parts) == line.committed_mbps
    assert QuoteRequest.model_validate(request.model_dump(mode="json")) == request


def test_leased_servers_are_not_asked_for_again(servers) -> None:
    lease = {"name": "a", "address": "203.0.113.10", "contract": {"gpu": "1 x RTX 4090"}}
    placement = {"kind": "baremetal", "servers": [lease]}
    plan = servers.plan({"slo.availability": "99%", "placement": placement})
    request = quote_of(plan, load_catalog())
    assert request.servers == []
    page = render_quote(request, LANGUAGES)
    # A line alone has no cards, no disks and nobody to log in.
    for word in ("NVMe", "replace a card", "更换显卡", "SSH", "Debian"):
        assert word not in page


def test_the_lab_is_not_rented(planning) -> None:
    with pytest.raises(PlanRefusedError, match=r"found placement\.kind lab; needed baremetal"):
        quote_of(planning.plan(), load_catalog())
