"""Makes a test database in half the time: an index, a constraint or a trigger renders no model again.

Django renders a model and all its relations again after each of them, three hundred times for an empty database, and
that is most of what `migrate` does. None of them changes a class that a later migration could see, except for the
lists in its `_meta`, which are replaced here. tests/processes/config/test_up.py migrates without this.
"""

from collections.abc import Callable, Iterable
from typing import Any

from django.db.migrations.state import ProjectState
from pgtrigger.migrations import AddTrigger, RemoveTrigger


def skip_needless_rendering() -> None:
    """Patch Django's state of migrations in this process."""
    ProjectState._append_option = append_option  # type: ignore[attr-defined]
    ProjectState._remove_option = remove_option  # type: ignore[attr-defined]
    AddTrigger.state_forwards = add_trigger  # type: ignore[method-assign]
    RemoveTrigger.state_forwards = remove_trigger  # type: ignore[method-assign]


def append_option(state: ProjectState, app: str, model: str, option: str, added: Any) -> None:
    replace(state, app, model, option, lambda values: [*values, added])


def remove_option(state: ProjectState, app: str, model: str, option: str, name: str) -> None:
    replace(state, app, model, option, lambda values: [value for value in values if value.name != name])


def add_trigger(operation: AddTrigger, app: str, state: ProjectState) -> None:
    append_option(state, app, operation.model_name, "triggers", operation.trigger)


def remove_trigger(operation: RemoveTrigger, app: str, state: ProjectState) -> None:
    remove_option(state, app, operation.model_name, "triggers", operation.name)


def replace(
    state: ProjectState, app: str, model: str, option: str, change: Callable[[Iterable[Any]], list[Any]]
) -> None:
    """Change a list of a model's Meta, and of its class if that is rendered already."""
    options = state.models[app, model].options
    options[option] = change(options.get(option, []))
    if "apps" in state.__dict__:  # hasattr would render everything
        setattr(state.apps.get_model(app, model)._meta, option, options[option])
