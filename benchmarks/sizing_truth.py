"""How far is the planner's memory from what engines logged?

    python benchmarks/sizing_truth.py [--json] [--quick] [CSV ...]

Takes any files with the columns of those in ``benchmarks/data``, which it reads without arguments.
Errors are beside those of the naive formula (parameters x bits; 2 x layers x KV heads x head size
x 2 bytes a token) and of the rule "weights x 1.2". Rows that cannot be sized are counted, with the
reason.
"""

import csv
import json
import statistics
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

import _sizing_llamacpp
import _sizing_oom
import _sizing_vllm
from _figures import Figure, figure, truth_arguments
from _sizing_rows import CannotSizeError, NotSized, Row, Sized

from warmfleet.errors import WarmfleetError

DATA = Path(__file__).resolve().parent / "data"

_KINDS: dict[str, dict[str, Callable[[Row], Sized | None]]] = {
    "weights_gib": {"weights": _sizing_vllm.weights, "kv_tokens": _sizing_vllm.kv_tokens},
    "kv_mib": {"llamacpp_weights": _sizing_llamacpp.weights, "llamacpp_kv": _sizing_llamacpp.kv},
    "fit": {"oom": _sizing_oom.fits},
}
"""A column that only files of one kind have, and what is predicted of their rows."""

_GOALS = {
    "weights_median_pct": 2.0,
    "weights_p90_pct": 6.0,
    "kv_tokens_median_pct": 6.0,
    "kv_tokens_p90_pct": 15.0,
    "oom_balanced_accuracy_pct": 85.0,
    "llamacpp_weights_median_pct": 1.0,
    "llamacpp_kv_median_pct": 1.0,
}
_PREDICTIONS = ("planner", "naive", "rule_of_thumb")


def main() -> int:
    """Print figures, groups, and what was not sized."""
    arguments = truth_arguments("sizing_truth.py", __doc__.splitlines()[0], takes="a second")
    try:
        sized, not_sized = evaluate(arguments.files or sorted(DATA.glob("*.csv")))
    except (OSError, ValueError, csv.Error) as error:
        print(f"error: sizing_truth: {' '.join(str(error).split())}", file=sys.stderr)
        return 1
    figures = figures_of(sized)
    if arguments.json:
        document = {
            "name": "sizing_truth",
            "quick": arguments.quick,
            "figures": figures,
            "groups": groups_of(sized),
            "sized": dict(Counter(row.metric for row in sized)),
            "not_sized": reasons(not_sized),
            "notes": [f"{len(not_sized)} values were not sized: {_shortly(not_sized)}"],
        }
        document |= {item["name"]: item["value"] for item in figures}
        print(json.dumps(document, indent=2))
    else:
        _show(figures, sized, not_sized, rows=arguments.rows)
    return 0


def evaluate(files: Iterable[Path]) -> tuple[list[Sized], list[NotSized]]:
    """Return what was predicted of the rows of all files, and what was not.

    Raises:
        ValueError: a file has not the columns of any kind.
    """
    sized: list[Sized] = []
    not_sized: list[NotSized] = []
    for file in files:
        with file.open(newline="", encoding="utf-8-sig") as stream:
            reader = csv.DictReader(stream)
            kind = next((kind for kind in _KINDS if kind in (reader.fieldnames or ())), None)
            if kind is None:
                msg = f"{file}: found no column {' or '.join(_KINDS)}; needed one of them"
                raise ValueError(msg)
            for row in reader:
                filled = defaultdict(str, {name: text or "" for name, text in row.items()})
                for metric, predict in _KINDS[kind].items():
                    try:
                        found = predict(filled)
                    except (CannotSizeError, WarmfleetError, ArithmeticError) as error:
                        not_sized.append(NotSized(metric, filled["model"], str(error)))
                        continue
                    if found is not None:
                        sized.append(found)
    return sized, not_sized


def figures_of(sized: Sequence[Sized]) -> list[Figure]:
    """Return the named figures of what was sized; lower is better but for the accuracy."""
    figures = []
    for metric, ninetieth in (
        ("weights", True),
        ("kv_tokens", True),
        ("llamacpp_weights", False),
        ("llamacpp_kv", False),
    ):
        rows = [row for row in sized if row.metric == metric]
        if not rows:
            continue
        figures.append(_figure(f"{metric}_median_pct", rows, statistics.median))
        if ninetieth:
            figures.append(_figure(f"{metric}_p90_pct", rows, _ninetieth))
    if rows := [row for row in sized if row.metric == "oom"]:
        figures.append(_figure("oom_balanced_accuracy_pct", rows, None))
    return figures


def groups_of(sized: Sequence[Sized]) -> list[dict[str, Any]]:
    """Return the errors of each group, in percent."""
    groups = []
    for metric, group in dict.fromkeys((row.metric, row.group) for row in sized):
        rows = [row for row in sized if (row.metric, row.group) == (metric, group)]
        found: dict[str, Any] = {"metric": metric, "group": group, "n": len(rows)}
        for name in _PREDICTIONS:
            values = errors(rows, name)
            found[f"{name}_median_pct"] = round(statistics.median(values), 2)
            found[f"{name}_p90_pct"] = round(_ninetieth(values), 2)
        groups.append(found)
    return groups


def reasons(not_sized: Sequence[NotSized]) -> list[dict[str, Any]]:
    """Return how many values of a metric were not sized for each reason, and of which models."""
    found = Counter((row.metric, row.reason) for row in not_sized)
    return [
        {
            "metric": metric,
            "reason": reason,
            "n": count,
            "models": sorted(
                {r.label for r in not_sized if (r.metric, r.reason) == (metric, reason)}
            ),
        }
        for (metric, reason), count in found.items()
    ]


def errors(rows: Sequence[Sized], prediction: str) -> list[float]:
    """Return how far one prediction is from each measured value, in percent of it."""
    return [abs(getattr(row, prediction) - row.truth) / (row.truth or 1) * 100 for row in rows]


def balanced_accuracy(rows: Sequence[Sized], prediction: str) -> float:
    """Return the mean share of right answers among what fits and among what does not."""
    shares = []
    for truth in (0.0, 1.0):
        same = [row for row in rows if row.truth == truth]
        if same:
            shares.append(sum(getattr(row, prediction) == truth for row in same) / len(same))
    return 100 * statistics.mean(shares)


def _figure(
    name: str, rows: Sequence[Sized], reduce: Callable[[Sequence[float]], float] | None
) -> Figure:
    def value(prediction: str) -> float:
        if reduce is None:
            return balanced_accuracy(rows, prediction)
        return reduce(errors(rows, prediction))

    found = figure(
        name,
        errors(rows, "planner") if reduce else [value("planner")],
        "%",
        "lower" if reduce else "higher",
        value=value("planner"),
        goal=_GOALS[name],
        peer={"name": "naive formula", "value": value("naive")},
        n=len(rows),
    )
    return found | {"rule_of_thumb": value("rule_of_thumb")}


def _ninetieth(values: Sequence[float]) -> float:
    if len(values) == 1:
        return values[0]
    return statistics.quantiles(values, n=10, method="inclusive")[-1]


def _shortly(not_sized: Sequence[NotSized]) -> str:
    found = Counter(row.reason for row in not_sized)
    return "; ".join(f"{count} {reason}" for reason, count in found.most_common())


def _show(
    figures: Sequence[Figure],
    sized: Sequence[Sized],
    not_sized: Sequence[NotSized],
    *,
    rows: bool,
) -> None:
    print(f"{'':<34}{'n':>4}{'planner':>10}{'naive':>10}{'x 1.2':>10}{'goal':>8}")
    for item in figures:
        print(
            f"{item['name']:<34}{item['n']:>4}{item['value']:>10.2f}{item['peer']['value']:>10.2f}"
            f"{item['rule_of_thumb']:>10.2f}{item['goal']:>8g}"
        )
    print("\nmedian / 90th percentile of the error in percent, by group")
    for group in groups_of(sized):
        line = f"{group['metric']:<18}{group['group']:<16}{group['n']:>4}"
        for name in _PREDICTIONS:
            line += f"{group[f'{name}_median_pct']:>10.1f} /{group[f'{name}_p90_pct']:>7.1f}"
        print(line)
    print("\nnot sized")
    for found in reasons(not_sized):
        print(
            f"{found['metric']:<18}{found['n']:>4}  {found['reason']}: {', '.join(found['models'])}"
        )
    if rows:
        print("\nerror in percent, measured, predicted")
        for row in sorted(sized, key=lambda row: -errors([row], "planner")[0]):
            print(
                f"{row.metric:<18}{errors([row], 'planner')[0]:>8.2f}{row.truth:>14.3f}"
                f"{row.planner:>14.3f}  {row.group:<12} {row.label}"
            )


if __name__ == "__main__":
    sys.exit(main())
