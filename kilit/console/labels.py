"""What models and their fields are called in the console.

Said here and not in the models: a name in a model is a part of its migrations, and a new word for the readers of a page
would be one of the schema. What a model says itself, in English, is left to the API and to whoever reads the code.
"""

from typing import TYPE_CHECKING

from django.db.models import Field, Model

if TYPE_CHECKING:
    from django_stubs_ext import StrOrPromise


def label(model: type[Model], one: "StrOrPromise", many: "StrOrPromise", /, **fields: "StrOrPromise") -> None:
    """Call a model and its fields so on every page."""
    # Only what is shown changes: migrations are made from what the class was written with.
    model._meta.verbose_name, model._meta.verbose_name_plural = one, many
    for name, words in fields.items():
        field = model._meta.get_field(name)
        assert isinstance(field, Field)  # noqa: S101 - for the type checker: relations from elsewhere have no name
        field.verbose_name = words
