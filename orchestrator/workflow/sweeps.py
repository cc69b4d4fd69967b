"""The queue's sweep: claims of runners that are gone."""

from orchestrator.saw import saw_handover


def release_lapsed() -> str:
    """Let jobs go on that a dead runner held."""
    return f"Released {saw_handover.release_lapsed()}."
