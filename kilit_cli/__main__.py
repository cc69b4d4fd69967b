"""The program `kilit`, or `python -m kilit_cli` inside the checkout: its commands, and how their failures end."""

import getpass
import os
import sys
from typing import Annotated, Literal

from cyclopts import App, Group, Parameter

from kilit_cli import __version__, asking, sending
from kilit_cli.api import KilitApi
from kilit_cli.failures import ExitCode, Failure
from kilit_cli.logins import SavedLogin, login_file, read_address, read_key
from kilit_cli.output import notes, out, show_failure, styled

OLDER = "The server answered in a form that this version of the command line does not know."
UPDATE = "Update it: uv tool upgrade kilit-cli. Or the server is an older one, or another program."
HELP = """Ask a Kilit server what is wrong, why, and act on it with a reason.

Exit codes: 0 done; 1 refused, or not all of it was done; 2 wrong usage; 3 not logged in, or the key may not;
4 not found; 5 the server is out of reach or busy, try again; 130 interrupted.
"""
app = App(name="kilit", version=__version__, help=HELP, console=out, error_console=notes, result_action="return_value")
READ = (asking.problems, asking.find, asking.explain, asking.groups, asking.site, asking.stats, asking.watch)
ACT = (asking.retry, asking.mark_failed, asking.approve, asking.pause, asking.resume)
SEND = (sending.enqueue, sending.pdf, sending.order)


def login(address: Annotated[str, Parameter(help="The server's, such as https://kilit.example.")] = "") -> None:
    """Check an address and an API key, and keep them for the next commands.

    The key is asked for, read from standard input, or from KILIT_KEY. Neither options nor output contain it.
    """
    key = os.environ.get("KILIT_KEY")
    key = key or (getpass.getpass("API key: ") if sys.stdin.isatty() else sys.stdin.readline(1_000))
    entered = SavedLogin(read_address(address or os.environ.get("KILIT_URL") or "localhost:8000"), read_key(key))
    try:
        answer = KilitApi(entered).get("/api/ask")
        user, scopes = answer["user"], answer["scopes"]
    except Failure as failure:
        if failure.error.get("code") != "MISSING_SCOPE":
            raise
        user, scopes = "a user", failure.error["key_scopes"]  # it may send, and not read
    out.print(styled(f"Logged in to {entered.address} as {user}. The key may {', '.join(scopes)}.", "green"))
    out.print(styled(f"It is kept in {entered.save()}, which only you may read.", ""))
    if not entered.is_encrypted:
        notes.print(styled("This address is http://, so the key and all data travel unencrypted.", "yellow"))


def logout() -> None:
    """Forget the address and the key."""
    login_file().unlink(missing_ok=True)
    out.print("Logged out. The key is valid until it is revoked in the console.")


def completion(shell: Annotated[Literal["bash", "zsh", "fish"], Parameter(help="The shell.")]) -> None:
    """Print a completion script for a shell."""
    sys.stdout.write(app.generate_completion(shell=shell))


for title, commands in {"See": READ, "Act": ACT, "Send": SEND, "Set up": (login, logout, completion)}.items():
    group = Group.create_ordered(title)
    for command in commands:
        app.command(command, group=group)


def main() -> None:
    """Run a command; whatever goes wrong is a sentence and an exit code, never a traceback."""
    for stream in (sys.stdout, sys.stderr):
        stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    try:
        sys.exit(run(sys.argv[1:]))
    except KeyboardInterrupt:
        sys.exit(130)
    except BrokenPipeError:
        # The reader has gone (`kilit problems | head`); Python would complain when it closes the stream.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def run(arguments: list[str]) -> int:
    try:
        return int(app(arguments) or 0)
    except Failure as error:
        failure = error
    except BrokenPipeError:
        raise
    except OSError as error:
        failure = Failure(f"{error.filename or 'A file'}: {error.strerror or error}.")
    except (LookupError, TypeError, ValueError, AttributeError):
        if "KILIT_DEBUG" in os.environ:
            raise
        failure = Failure(OLDER, UPDATE, ExitCode.UNREACHABLE)
    show_failure(failure, as_json="--json" in arguments)
    return int(failure.exit_code)


if __name__ == "__main__":
    main()
