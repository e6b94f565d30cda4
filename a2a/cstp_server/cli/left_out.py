"""Reports of records omitted by a command."""

from cognition_engines.set_aside import SetAside
from cstp_server.cli.conventions import DONE, FAILED
from cstp_server.terminal import say


def report_left_out(set_aside: SetAside) -> int:
    """Print each omitted record, with the cause, to standard error; return the exit code."""
    for one in set_aside.records:
        say(f"left out: {one.kind} {one.id} ({one.cause})", err=True)
    return FAILED if set_aside.records else DONE
