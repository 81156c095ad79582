"""A line chart as inline SVG, coloured by the page's CSS."""

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape

WIDTH, HEIGHT = 640, 380
LEFT, RIGHT, TOP, BOTTOM = 62, 70, 16, 46
LABEL_GAP = 20


@dataclass(frozen=True)
class Series:
    """A line: its name, CSS class, points (those not finite are gaps), and whether the points are marked."""

    name: str
    style: str
    x: Sequence[float]
    y: Sequence[float]
    marked: bool = True

    def finite(self) -> list[tuple[float, float]]:
        return [(x, y) for x, y in zip(self.x, self.y, strict=True) if math.isfinite(y)]


@dataclass(frozen=True)
class Axis:
    """Maps low..high to begin..end and knows where its ticks are."""

    low: float
    high: float
    begin: float
    end: float
    ticks: tuple[float, ...]

    def __call__(self, value: float) -> float:
        return self.begin + (value - self.low) / (self.high - self.low) * (self.end - self.begin)


def chart(title: str, series: Sequence[Series], show: Callable[[float], str]) -> str:
    """The chart of `series` over epochs, with axes, ticks, a legend, and the last value of each marked line."""
    points = [point for one in series for point in one.finite()]
    if not points:
        return f'<p class="empty">{escape(title)}: no step finished yet.</p>'
    across = _across(max(x for x, _ in points))
    up = _up([y for _, y in points])
    marked = [one for one in series if one.marked and one.finite()]
    ends = "; ".join(f"{one.name} {show(one.finite()[-1][1])}" for one in marked)
    label = escape(f"{title} over epochs. Last: {ends}")
    parts = [f'<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{label}">', *_grid(across, up, title)]
    for one in series:
        parts += _line(one, across, up, show)
    parts += _last_values(marked, up, show)
    return "\n".join([*parts, "</svg>", _legend(series)])


def nice_step(span: float, count: int) -> float:
    """The step 1, 2 or 5 times a power of ten that cuts `span` into about `count` parts.

    >>> nice_step(0.43, 5), nice_step(10, 5)
    (0.1, 2.0)
    """
    power = 10.0 ** math.floor(math.log10(span / count))
    return next(k * power for k in (1, 2, 5, 10) if k * power * count >= span * 0.999)


def _across(last: float) -> Axis:
    high = max(math.ceil(last - 1e-9), 1)
    step = max(1, round(nice_step(high, 10)))
    return Axis(0, high, LEFT, WIDTH - RIGHT, tuple(float(k) for k in range(0, high + 1, step)))


def _up(values: Sequence[float]) -> Axis:
    low, high = min(values), max(values)
    step = nice_step(max(high - low, 1e-3 * abs(high), 1e-6), 5)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    last = max(last, first + 1)
    return Axis(first * step, last * step, HEIGHT - BOTTOM, TOP, tuple(k * step for k in range(first, last + 1)))


def _grid(across: Axis, up: Axis, title: str) -> Iterator[str]:
    step = up.ticks[1] - up.ticks[0]
    digits = max(0, -math.floor(math.log10(step) + 1e-9))
    label = "{:.3g}".format if step >= 1e4 else f"{{:.{digits}f}}".format
    for y in up.ticks:
        yield f'<path class="grid" d="M{LEFT} {up(y):.1f}H{WIDTH - RIGHT}"/>'
        yield f'<text class="tick" x="{LEFT - 10}" y="{up(y) + 4:.1f}" text-anchor="end">{label(y)}</text>'
    for x in across.ticks:
        yield f'<path class="axis" d="M{across(x):.1f} {up.begin}v5"/>'
        yield f'<text class="tick" x="{across(x):.1f}" y="{up.begin + 20}" text-anchor="middle">{x:g}</text>'
    yield f'<path class="axis" d="M{LEFT} {up.begin}H{WIDTH - RIGHT}"/>'
    yield f'<text class="name" x="{(LEFT + WIDTH - RIGHT) / 2}" y="{HEIGHT - 6}" text-anchor="middle">epoch</text>'
    yield (f'<text class="name" transform="translate(14 {(TOP + HEIGHT - BOTTOM) / 2}) rotate(-90)" '
           f'text-anchor="middle">{escape(title.lower())}</text>')


def _line(one: Series, across: Axis, up: Axis, show: Callable[[float], str]) -> Iterator[str]:
    path, pen = list[str](), "M"
    for x, y in zip(one.x, one.y, strict=True):
        if not math.isfinite(y):
            pen = "M"
            continue
        path.append(f"{pen}{across(x):.1f} {up(y):.1f}")
        pen = "L"
    yield f'<path class="line {one.style}" d="{"".join(path)}"/>'
    for x, y in one.finite() if one.marked else ():
        yield (f'<circle class="mark {one.style}" cx="{across(x):.1f}" cy="{up(y):.1f}" r="4">'
               f"<title>{escape(one.name)}, epoch {x:g}: {show(y)}</title></circle>")


def _last_values(marked: Sequence[Series], up: Axis, show: Callable[[float], str]) -> Iterator[str]:
    """The last value of each line at the right edge, moved apart where they would touch."""
    lowest = math.inf
    for one in sorted(marked, key=lambda one: one.finite()[-1][1]):
        value = one.finite()[-1][1]
        lowest = min(up(value) + 4, lowest - LABEL_GAP)
        yield f'<text class="last {one.style}" x="{WIDTH - RIGHT + 12}" y="{lowest:.1f}">{show(value)}</text>'


def _legend(series: Sequence[Series]) -> str:
    items = (f'<li><svg class="key" viewBox="0 0 26 10" aria-hidden="true"><path class="line {one.style}" d="M1 5H25"/>'
             + (f'<circle class="mark {one.style}" cx="13" cy="5" r="4"/>' if one.marked else "")
             + f"</svg>{escape(one.name)}</li>" for one in series if one.finite())
    return f'<ul class="legend">{"".join(items)}</ul>'
