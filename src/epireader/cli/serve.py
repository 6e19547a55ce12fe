"""`epireader serve`."""

import socket
from collections.abc import Callable
from dataclasses import fields
from typing import Any

import click

from epireader.cli.show import say
from epireader.serve.settings import ServeSettings

DEFAULTS = ServeSettings()


def limit_options(command: Callable[..., None]) -> Callable[..., None]:
    """An option for every number in the settings, in their order."""
    for one in reversed(fields(ServeSettings)):
        if "help" in one.metadata:
            option = click.option(
                f"--{one.name.replace('_', '-')}",
                type=click.IntRange(min=one.metadata["least"], max=65_535 if one.name == "port" else None),
                default=one.default,
                show_default=True,
                help=one.metadata["help"],
            )
            command = option(command)
    return command


@click.command()
@click.option("--host", default=DEFAULTS.host, show_default=True, help="The address to listen on.")
@click.option(
    "--model",
    "models",
    multiple=True,
    default=DEFAULTS.models,
    show_default=True,
    help="A run, an ensemble, or a bundled model; may be given several times, the first is the default.",
)
@limit_options
def serve(host: str, models: tuple[str, ...], **limits: int) -> None:
    """Answer questions over HTTP, and serve the page.

    The page is at http://127.0.0.1:8000/, the API's description at /docs. Ctrl-C stops the server once it has finished
    what it had begun.

    \b
    Examples:
      epireader serve
      epireader serve --port 9000 --model runs/mine --model default
    """
    run_server(ServeSettings(host=host, models=models, **limits))


def run_server(settings: ServeSettings) -> None:
    try:
        import uvicorn

        from epireader.serve.app import create_app
    except ModuleNotFoundError as error:
        if (error.name or "").startswith("epireader"):
            raise
        needed = f"the server needs {error.name}: pip install 'epireader[serve]'"
        raise click.ClickException(needed) from None
    with listening_socket(settings) as listening:
        server = uvicorn.Server(uvicorn.Config(create_app(settings), **uvicorn_settings(settings)))
        host, port = listening.getsockname()[:2]
        say(f"http://{f'[{host}]' if ':' in host else host}:{port}/  (Ctrl-C to stop)")
        server.run(sockets=[listening])


def listening_socket(settings: ServeSettings) -> socket.socket:
    """The address, taken before the models are loaded: one that is in use is known at once."""
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    try:
        return socket.create_server((settings.host, settings.port), family=family, backlog=512)
    except OSError as error:
        reason = error.strerror or str(error)
        raise click.ClickException(f"cannot listen on {settings.host} port {settings.port}: {reason}") from None


def uvicorn_settings(settings: ServeSettings) -> dict[str, Any]:
    return {
        "host": settings.host,
        "port": settings.port,
        "log_level": "warning",
        "access_log": False,
        "server_header": False,
        "timeout_graceful_shutdown": settings.shutdown_seconds,
    }
