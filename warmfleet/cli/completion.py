"""``warmfleet completion``."""

import click
from click.shell_completion import get_completion_class

__all__ = ["completion"]


@click.command()
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
@click.pass_context
def completion(ctx: click.Context, shell: str) -> None:
    """Print the completion script of SHELL.

    For example: eval "$(warmfleet completion bash)".
    """
    kind = get_completion_class(shell)
    if kind is None:
        msg = f"click knows no completion for {shell}"
        raise click.UsageError(msg, ctx)
    click.echo(kind(ctx.find_root().command, {}, "warmfleet", "_WARMFLEET_COMPLETE").source())
