"""The HTML page of a plan: one file, well formed, complete, safe, and its map is true."""

import math
import re
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.plan.conftest import Planning
from warmfleet.catalog.land import land
from warmfleet.catalog.load import load_catalog
from warmfleet.plan.html_page import render_html
from warmfleet.plan.lock import plan_spec_file
from warmfleet.plan.models import Decision
from warmfleet.plan.page import render_page
from warmfleet.plan.site_map import Map, draw_map

FLEETS = Path(__file__).with_name("fleets")
PLANS: dict[str, Any] = {
    path.stem: plan_spec_file(path, root=FLEETS) for path in sorted(FLEETS.glob("*.yaml"))
}
PLANS["lab"] = Planning().plan()
PLANS["world"] = Planning("baremetal.yaml").plan(
    {
        "users": [
            {"where": "CN-GD", "share": "40%"},
            {"where": "US", "share": "30%"},
            {"where": "DE", "share": "20%"},
            {"where": "BR", "share": "10%"},
        ],
        "slo.rtt_p95": "200 ms",
        "placement": {
            "kind": "baremetal",
            "prices": "prices.yaml",
            "term": "1 year",
            "sites": {"at_most": 3, "disaster_recovery": True},
        },
    }
)
RENTED = {name: plan for name, plan in PLANS.items() if plan.kind == "baremetal"}
EVERY = pytest.mark.parametrize("name", PLANS)
EVERY_RENTED = pytest.mark.parametrize("name", RENTED)
SVG = "{http://www.w3.org/2000/svg}"


class Page(HTMLParser):
    """Holds tags against each other, and collects text and references."""

    VOID = frozenset({"meta", "link", "br", "img", "hr"})

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.words: list[str] = []
        self.ids: list[str] = []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs
        self.ids += [value or "" for key, value in attrs if key == "id"]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.attributes += attrs

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)

    @property
    def text(self) -> str:
        return " ".join(" ".join(self.words).split())


def rendered(name: str) -> str:
    return render_html(PLANS[name], load_catalog())


def drawing(name: str) -> ElementTree.Element:
    found = re.findall(r"<svg.*?</svg>", rendered(name), flags=re.DOTALL)
    assert len(found) == 1
    return ElementTree.fromstring(found[0])  # noqa: S314 - our own


@EVERY
def test_one_file_that_asks_nobody_for_anything(name: str) -> None:
    text = rendered(name)
    page = Page(text)
    assert text.startswith("<!DOCTYPE html>")
    assert {"script", "link", "img", "iframe", "object"}.isdisjoint(page.tags)
    assert not {key for key, _ in page.attributes} & {"src", "style", "onload", "srcset"}
    links = [value or "" for key, value in page.attributes if key == "href"]
    assert {link[1:] for link in links if link.startswith("#")} == {link[1:] for link in links}
    assert {link[1:] for link in links} <= set(page.ids)
    assert "url(" not in text
    assert "@import" not in text
    assert text == rendered(name)


@EVERY
def test_every_choice_is_there_with_its_numbers_and_its_source(name: str) -> None:
    text = Page(rendered(name)).text
    for decision in PLANS[name].decisions:
        for part in (decision.field, decision.reason, decision.source or "", *decision.inputs):
            assert " ".join(part.split()) in text


@EVERY_RENTED
def test_every_refused_offer_line_and_price_is_there(name: str) -> None:
    plan, text = RENTED[name], Page(rendered(name)).text
    said = [offer.why for model in plan.models for offer in model.refused]
    said += [line.against for site in plan.sites for line in site.bandwidth.options if line.against]
    said += [item.what for site in plan.cost.sites for item in site.items]
    said += [
        f"{carrier} {ms:.0f}"
        for site in plan.sites
        for users in site.users
        for carrier, ms in users.by_carrier_ms.items()
    ]
    for part in said:
        assert " ".join(part.split()) in text
    if plan.cost.lower_bound:
        assert "at least" in text


@EVERY_RENTED
def test_amounts_of_examples_are_marked_and_others_are_not(name: str) -> None:
    plan, text = RENTED[name], rendered(name)
    priced = [item for site in plan.cost.sites for item in site.items if item.price is not None]
    options = [line for site in plan.sites for line in site.bandwidth.options if line.example]
    marks = text.count('class="example"')
    if plan.cost.example:
        assert marks >= 2 * len(priced) + len(options) + 2
    else:
        assert marks == len(options) == 0


def test_text_of_others_is_no_mark_up() -> None:
    plan = RENTED["chat-7b"]
    odd = "<script>alert(1)</script><b title='x'>&amp;"
    decision = Decision(field=odd, value=odd, reason=odd, inputs={odd: odd}, source=odd)
    page = Page(render_html(plan.model_copy(update={"decisions": [decision]}), load_catalog()))
    assert "script" not in page.tags
    assert "b" not in page.tags
    assert page.text.count(odd) == 6
    markdown = render_page(plan.model_copy(update={"decisions": [decision]}))
    assert "<script>" not in re.sub(r"`[^`]*`", "", markdown)


@EVERY_RENTED
def test_the_map_is_well_formed_and_draws_everybody_in_it(name: str) -> None:
    plan, root = RENTED[name], drawing(name)
    serving = [site for site in plan.sites if site.role == "serving"]
    shares = sorted(users.share for site in serving for users in site.users)
    circles = list(root.iter(f"{SVG}circle"))
    assert len(circles) == len(shares)
    assert len(list(root.iter(f"{SVG}rect"))) == len(plan.sites)
    assert len(list(root.iter(f"{SVG}line"))) == sum(len(site.users) for site in plan.sites)
    width, height = map(float, root.attrib["viewBox"].split()[2:])
    for circle in circles:
        assert 0 < float(circle.attrib["cx"]) < width
        assert 0 < float(circle.attrib["cy"]) < height
    # Area is share: the radius grows with its root, except of the smallest.
    radii = sorted(float(circle.attrib["r"]) for circle in circles)
    assert radii == pytest.approx(sorted(max(3, 26 * math.sqrt(share)) for share in shares), abs=1)


def test_a_site_that_stands_by_is_dashed_and_said() -> None:
    assert any(line.get("stroke-dasharray") for line in drawing("world").iter(f"{SVG}line"))
    assert "stands by" in Page(rendered("world")).text


@settings(deadline=None, max_examples=40)
@given(st.lists(st.sampled_from(load_catalog().places), min_size=1, max_size=30, unique=True))
def test_labels_never_cover_each_other_and_no_coast_is_drawn_across_the_map(places) -> None:
    (site,) = RENTED["chat-7b"].sites
    users = [
        site.users[0].model_copy(update={"where": place.id, "share": 1 / len(places)})
        for place in places
    ]
    drawn = draw_map([site.model_copy(update={"users": users})], load_catalog())
    boxes = [
        (label.x, label.y - 11, label.x + 6.6 * len(label.text), label.y + 3)
        for label in _labels(drawn)
    ]
    for index, one in enumerate(boxes):
        assert one[0] >= -0.1
        assert one[2] <= drawn.width + 0.1
        for other in boxes[index + 1 :]:
            apart = one[2] <= other[0] + 0.2 or other[2] <= one[0] + 0.2
            assert apart or one[3] <= other[1] + 0.2 or other[3] <= one[1] + 0.2
    assert 1.45 < drawn.width / drawn.height < 2.05


def test_coasts_are_closed_and_lie_on_the_earth() -> None:
    assert len(land().rings) > 100
    for ring in land().rings:
        assert ring[0] == ring[-1]
        assert all(-200 <= x <= 200 and -90 <= y <= 90 for x, y in ring)
        assert all(abs(one[0] - other[0]) < 60 for one, other in pairwise(ring))


def _labels(drawn: Map) -> list[Any]:
    marks = [*drawn.sites, *drawn.users, *drawn.paths]
    return [mark.label for mark in marks if mark.label is not None]
