"""``warmfleet quote``."""

from pathlib import Path

import click

from warmfleet.cli.options import EnvironmentType, json_option
from warmfleet.cli.output import print_json, write_result
from warmfleet.cli.plan_target import plan_target

__all__ = ["quote"]


@click.command(short_help="Write the request for quotation to a hosting company.")
@click.argument("target", type=EnvironmentType())
@click.option(
    "--lang",
    type=click.Choice(["en", "zh", "both"]),
    default="both",
    show_default=True,
    help="English, Chinese, or one after the other.",
)
@click.option(
    "--output",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write to a file instead of stdout.",
)
@json_option
def quote(target: str, lang: str, output: Path | None, as_json: bool) -> None:
    """Write the request for quotation of TARGET, an environment or a spec file.

    It asks for servers, disks, lines, region and term as the plan has them, and says what will be
    verified at hand-over. What has no price is on enquiry.
    """
    from warmfleet.catalog.load import load_catalog
    from warmfleet.plan.quote import quote_of
    from warmfleet.plan.quote_page import LANGUAGES, render_quote

    request = quote_of(plan_target(target), load_catalog())
    if as_json:
        print_json(request.model_dump(mode="json"), output)
    else:
        languages = [language for language in LANGUAGES if lang in {language, "both"}]
        write_result(render_quote(request, languages), output)
