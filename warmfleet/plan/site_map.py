"""The map of a plan: where users are, where sites are, and the time between them.

Equirectangular, stretched by the cosine of the middle latitude, cut to what the plan is about. All
lengths are units of the drawing; ``svg`` draws with one unit a pixel.
"""

import math
from collections.abc import Iterator, Sequence

from msgspec import Struct

from warmfleet.catalog.land import land
from warmfleet.catalog.models import Catalog
from warmfleet.plan.gpu_models import GpuSitePlan

__all__ = ["Label", "Map", "Path", "Place", "draw_map"]

_WIDTH = 960.0
_LEAST_DEGREES = 14.0
"""A map of one city would show no coast that tells where it is."""

_MARGIN = 0.12
_HIGHEST, _FLATTEST = 1.5, 2.0
"""Width of a drawing over its height."""

_LARGEST, _SMALLEST = 26.0, 3.0
_LETTER, _LINE = 6.6, 14.0
"""Of a label of 12 pixels: width of a letter, height of a line."""


class Label(Struct, frozen=True):
    """Text that covers no other text."""

    text: str
    x: float
    y: float


class Place(Struct, frozen=True):
    """Users, as a circle whose area is their share; or a site, as a square."""

    name: str
    said: str
    x: float
    y: float
    r: float
    label: Label | None


class Path(Struct, frozen=True):
    """From users to the site that serves them."""

    said: str
    x1: float
    y1: float
    x2: float
    y2: float
    width: float
    label: Label | None
    standby: bool


class Map(Struct, frozen=True):
    """Everything that is drawn."""

    width: float
    height: float
    land: str
    graticule: str
    paths: tuple[Path, ...]
    users: tuple[Place, ...]
    sites: tuple[Place, ...]


def draw_map(sites: Sequence[GpuSitePlan], catalog: Catalog) -> Map:
    """Draw users and sites; what lies outside is cut off by the drawing's edge."""
    places = {place.id: place for place in catalog.places}
    regions = {region.id: region for region in catalog.regions}
    points = [(regions[site.region].longitude, regions[site.region].latitude) for site in sites]
    points += [
        (places[users.where].longitude, places[users.where].latitude)
        for site in sites
        for users in site.users
    ]
    view = _View(points)
    labels = _Labels(view)
    squares = []
    for site in sites:
        x, y = view.at(regions[site.region].longitude, regions[site.region].latitude)
        stands_by = " (stands by)" if site.role == "recovery" else ""
        said = f"site {site.name}{stands_by}: {site.load:.0%} of the traffic"
        labels.keep_free(x, y, 8)
        squares.append((site.name, said, x, y, 7.0))
    circles, lines = [], []
    for (_, _, to_x, to_y, _), site in zip(squares, sites, strict=True):
        for users in sorted(site.users, key=lambda users: -users.share):
            place = places[users.where]
            x, y = view.at(place.longitude, place.latitude)
            band = f"{users.rtt_ms:.0f} ms ({users.low_ms:.0f} to {users.high_ms:.0f})"
            said = f"{place.name}, {users.share:.1%} of the users: {band}, {users.basis}"
            radius = max(_SMALLEST, _LARGEST * math.sqrt(users.share))
            if site.role == "serving":
                circles.append((place.name, users.share, said, x, y, radius))
            width = 0.75 + 3 * users.share
            lines.append((said, band, (x, y, to_x, to_y), width, site.role == "recovery"))
    named = [_square(labels, *square) for square in squares]
    circles.sort(key=lambda circle: -circle[1])
    drawn = [_circle(labels, *circle) for circle in circles]
    return Map(
        width=_WIDTH,
        height=view.height,
        land="".join(view.outline(ring) for ring in land().rings),
        graticule="".join(view.graticule()),
        paths=tuple(_path(labels, *line) for line in lines),
        users=tuple(drawn),
        sites=tuple(named),
    )


def _square(labels: "_Labels", name: str, said: str, x: float, y: float, r: float) -> Place:
    return Place(name, said, x, y, r, labels.beside(name, x, y, r))


def _circle(
    labels: "_Labels", name: str, share: float, said: str, x: float, y: float, r: float
) -> Place:
    return Place(name, said, x, y, r, labels.beside(f"{name} {share:.0%}", x, y, r))


def _path(
    labels: "_Labels",
    said: str,
    band: str,
    ends: tuple[float, float, float, float],
    width: float,
    standby: bool,
) -> Path:
    x1, y1, x2, y2 = ends
    # A line shorter than its label would be covered by it.
    long = math.hypot(x2 - x1, y2 - y1) > 1.2 * len(band) * _LETTER and not standby
    label = labels.around(band, (x1 + x2) / 2, (y1 + y2) / 2) if long else None
    return Path(said, x1, y1, x2, y2, round(width, 2), label, standby)


class _View:
    """From degrees to the drawing."""

    def __init__(self, points: Sequence[tuple[float, float]]) -> None:
        west, east = min(x for x, _ in points), max(x for x, _ in points)
        south, north = min(y for _, y in points), max(y for _, y in points)
        middle = (south + north) / 2
        self._stretch = max(0.3, math.cos(math.radians(middle)))
        wide = max((east - west) * self._stretch, _LEAST_DEGREES) * (1 + 2 * _MARGIN)
        high = max(north - south, _LEAST_DEGREES / _FLATTEST) * (1 + 2 * _MARGIN)
        # Between twice and one and a half times as wide as high, whatever lies where.
        wide, high = max(wide, high * _HIGHEST) / self._stretch, max(high, wide / _FLATTEST)
        self._west, self._east = (west + east - wide) / 2, (west + east + wide) / 2
        self._north, self._south = middle + high / 2, middle - high / 2
        self._scale = _WIDTH / wide
        self.height = round(high * self._scale / self._stretch, 1)

    def at(self, longitude: float, latitude: float) -> tuple[float, float]:
        """Return where a place is drawn."""
        x = (longitude - self._west) * self._scale
        y = (self._north - latitude) * self._scale / self._stretch
        return round(x, 1), round(y, 1)

    def outline(self, ring: Sequence[tuple[float, float]]) -> str:
        """Return a coast as the data of an SVG path; nothing where it lies outside."""
        inside = any(
            self._west - 5 < x < self._east + 5 and self._south - 5 < y < self._north + 5
            for x, y in ring
        )
        around = min(x for x, _ in ring) < self._west and max(x for x, _ in ring) > self._east
        if not inside and not around:
            return ""
        points = (self.at(x, y) for x, y in ring)
        return "M" + "L".join(f"{x:g},{y:g}" for x, y in points) + "Z"

    def graticule(self) -> Iterator[str]:
        """Yield every line of a round number of degrees."""
        step = next((step for step in (5, 10, 15, 30) if (self._east - self._west) / step < 12), 30)
        for longitude in range(-180 * 2, 180 * 2 + 1, step):
            if self._west < longitude < self._east:
                x, _ = self.at(longitude, 0)
                yield f"M{x:g},0V{self.height:g}"
        for latitude in range(-90, 91, step):
            if self._south < latitude < self._north:
                _, y = self.at(0, latitude)
                yield f"M0,{y:g}H{_WIDTH:g}"


class _Labels:
    """Puts text where no other is; what finds no room is left out, and a table has it all."""

    def __init__(self, view: _View) -> None:
        self._height = view.height
        self._taken: list[tuple[float, float, float, float]] = []

    def keep_free(self, x: float, y: float, r: float) -> None:
        """Let no text cover this."""
        self._taken.append((x - r, y - r, x + r, y + r))

    def beside(self, text: str, x: float, y: float, r: float) -> Label | None:
        """Put text to the right, to the left, above or below of a mark."""
        wide = len(text) * _LETTER
        spots = [
            (x + r + 3, y + 4),
            (x - r - 3 - wide, y + 4),
            (x - wide / 2, y - r - 4),
            (x - wide / 2, y + r + _LINE),
        ]
        return self._first(text, spots)

    def around(self, text: str, x: float, y: float) -> Label | None:
        """Put text on the middle of a line, or close to it."""
        x -= len(text) * _LETTER / 2
        return self._first(text, [(x, y + 4 + shift * _LINE) for shift in (0, -1, 1, -2, 2)])

    def _first(self, text: str, spots: Sequence[tuple[float, float]]) -> Label | None:
        for x, y in spots:
            box = (x, y - _LINE + 3, x + len(text) * _LETTER, y + 3)
            within = box[0] >= 0 and box[2] <= _WIDTH and box[1] >= 0 and box[3] <= self._height
            if within and not any(_overlap(box, other) for other in self._taken):
                self._taken.append(box)
                return Label(text, round(x, 1), round(y, 1))
        return None


def _overlap(
    one: tuple[float, float, float, float], other: tuple[float, float, float, float]
) -> bool:
    return one[0] < other[2] and other[0] < one[2] and one[1] < other[3] and other[1] < one[3]
