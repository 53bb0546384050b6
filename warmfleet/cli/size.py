"""``warmfleet size``."""

from typing import TYPE_CHECKING, Any

import click

from warmfleet.cli.options import json_option
from warmfleet.cli.output import print_error, print_json, result_console
from warmfleet.errors import PlanRefusedError

if TYPE_CHECKING:
    from collections.abc import Callable

    from warmfleet.catalog.gpu import Gpu
    from warmfleet.catalog.models import Model
    from warmfleet.sizing.engine_memory import EngineMemory
    from warmfleet.sizing.precision import Precision
    from warmfleet.sizing.remedies import Question

__all__ = ["size"]

_USUAL_CONTEXT = 8192


class _Tokens(click.ParamType[int]):
    """A number of tokens such as 4096 or 8k."""

    name = "tokens"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        """Return tokens; whatever is no number of them is the user's error."""
        from warmfleet.spec.units import TokenCount

        try:
            tokens = TokenCount.parse(str(value)).tokens
        except ValueError as error:
            self.fail(str(error), param, ctx)
        if tokens < 1:
            self.fail(f"found {value}; needed at least 1", param, ctx)
        return tokens


@click.command()
@click.argument("model")
@click.option("--gpu", required=True, metavar="NAME", help="Card, such as 'RTX 3090' or l4.")
@click.option("--count", type=click.IntRange(1), default=1, help="Cards of one copy (default: 1).")
@click.option("--tp", type=click.IntRange(1), help="Cards that share each layer (default: all).")
@click.option("--precision", metavar="ID", help="bf16, fp8, awq, q4_k_m, ...; else by the name.")
@click.option("--context", type=_Tokens(), help="Tokens of a request (default: 8k at most).")
@click.option("--concurrency", type=click.IntRange(1), default=1, help="Requests at a time.")
@click.option("--kv-dtype", default="auto", metavar="TYPE", help="fp8, q8_0, ...; default 16 bit.")
@json_option
def size(
    model: str,
    gpu: str,
    count: int,
    tp: int | None,
    precision: str | None,
    context: int | None,
    concurrency: int,
    kv_dtype: str,
    as_json: bool,
) -> int:
    """Say whether MODEL with its load fits on a card, and the most that would.

    MODEL is a name as published, that of a repack, or of a GGUF file. Exit 1: it does not fit.
    """
    from warmfleet.catalog.gpu import find_gpu
    from warmfleet.catalog.names import find_model
    from warmfleet.cli import size_view
    from warmfleet.sizing.fit import Layout
    from warmfleet.sizing.kv_cache import kv_bits
    from warmfleet.sizing.remedies import Question, remedies

    found = find_model(model)
    shape = found.architecture
    kv_bits(kv_dtype)
    card = find_gpu(gpu)
    chosen = _precision(model, found, precision)
    question = Question(
        architecture=shape,
        precision=chosen,
        layout=Layout(card, *_parallel(found, count, tp)),
        engine=size_view.settings_of(chosen, context or _USUAL_CONTEXT, kv_dtype, concurrency),
        context=context or min(_USUAL_CONTEXT, shape.max_context),
        concurrency=concurrency,
    )
    _context_must_be_trained(found, question)
    _card_must_be_able(question)
    answer, nearest = question.answer(), remedies(question)
    if as_json:
        print_json(size_view.document(found, question, answer, nearest))
    else:
        size_view.print_size(result_console(), found, question, answer)
        if nearest or answer.missing:
            print_error(
                PlanRefusedError.code,
                size_view.refusal(found, question, answer, nearest),
                as_json=False,
            )
    return PlanRefusedError.exit_status if answer.missing else 0


def _precision(name: str, model: "Model", asked: str | None) -> "Precision":
    from warmfleet.catalog.names import precision_in
    from warmfleet.sizing.precision import find_precision

    if asked is not None:
        return find_precision(precision_in(asked) or asked)
    published = "bf16" if model.precision == "fp32" else model.precision
    return find_precision(precision_in(name) or published)


def _parallel(model: "Model", count: int, tensor: int | None) -> tuple[int, int]:
    from warmfleet.sizing.remedies import divides

    shared = tensor or count
    if count % shared:
        msg = f"--tp {shared} does not divide --count {count}"
        raise click.UsageError(msg, click.get_current_context())
    if not divides(model.architecture, shared):
        fewer = range(shared - 1, 0, -1)
        nearest = next(cards for cards in fewer if divides(model.architecture, cards))
        msg = (
            f"{shared} cards cannot share the {model.architecture.heads} heads and "
            f"{model.architecture.kv_heads} KV heads of {model.id}; nearest: {nearest}"
        )
        raise PlanRefusedError(msg)
    return shared, count // shared


def _context_must_be_trained(model: "Model", question: "Question") -> None:
    most = model.architecture.max_context
    if question.context > most:
        msg = (
            f"--context: found {question.context}; {model.id} was trained for {most}; "
            f"nearest: {most}"
        )
        raise PlanRefusedError(msg)


def _card_must_be_able(question: "Question") -> None:
    from warmfleet.cli.size_view import ENGINE_NAMES, settings_of
    from warmfleet.sizing.capability import incapability
    from warmfleet.sizing.remedies import other_formats

    gpu, chosen = question.layout.gpu, question.precision
    engine = question.engine(gpu)
    if (reason := incapability(gpu, chosen, engine.engine)) is None:
        return

    def settings(precision: "Precision") -> "Callable[[Gpu], EngineMemory]":
        return settings_of(precision, question.context, "auto", question.concurrency)

    would = " or ".join(other_formats(question, settings)) or "a newer card"
    msg = (
        f"{gpu.name} does not run {chosen.id} on {ENGINE_NAMES[engine.engine]}: {reason}; "
        f"nearest: {would}"
    )
    raise PlanRefusedError(msg)
