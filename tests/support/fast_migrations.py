"""Makes a test database in half the time: an index, a constraint or a trigger renders no model again.

Django renders a model and all its relations again after each of them, three hundred times for an empty database, and
that is most of what `migrate` does. None of them changes a class that a later migration could see, except for the
lists in its `_meta`, which are replaced here. After a new model it renders all that its relations lead to; here, as
after a new field, its neighbours. tests/processes/config/local/test_up.py migrates without this.
"""

from collections.abc import Callable, Iterable
from typing import Any

from django.db.migrations.state import ModelState, ProjectState
from pgtrigger.migrations import AddTrigger, RemoveTrigger


def skip_needless_rendering() -> None:
    """Patch Django's state of migrations in this process."""
    ProjectState.add_model = add_model  # type: ignore[method-assign]
    ProjectState._append_option = append_option  # type: ignore[attr-defined]
    ProjectState._remove_option = remove_option  # type: ignore[attr-defined]
    AddTrigger.state_forwards = add_trigger  # type: ignore[method-assign]
    RemoveTrigger.state_forwards = remove_trigger  # type: ignore[method-assign]


def add_model(self: ProjectState, model_state: ModelState) -> None:
    key = model_state.app_label, model_state.name_lower
    self.models[key] = model_state
    if self._relations is not None:  # type: ignore[attr-defined]
        self.resolve_model_relations(key)
    self.reload_model(*key, delay=True)


def append_option(state: ProjectState, app: str, model: str, option: str, added: Any) -> None:
    replace(state, app, model, option, lambda values: [*values, added])


def remove_option(state: ProjectState, app: str, model: str, option: str, name: str) -> None:
    replace(state, app, model, option, lambda values: [value for value in values if value.name != name])


def add_trigger(self: AddTrigger, app_label: str, state: ProjectState) -> None:
    append_option(state, app_label, self.model_name, "triggers", self.trigger)


def remove_trigger(self: RemoveTrigger, app_label: str, state: ProjectState) -> None:
    remove_option(state, app_label, self.model_name, "triggers", self.name)


def replace(
    state: ProjectState, app: str, model: str, option: str, change: Callable[[Iterable[Any]], list[Any]]
) -> None:
    """Change a list of a model's Meta, and of its class if that is rendered already."""
    options = state.models[app, model].options
    options[option] = change(options.get(option, []))
    if "apps" in state.__dict__:  # hasattr would render everything
        setattr(state.apps.get_model(app, model)._meta, option, options[option])
