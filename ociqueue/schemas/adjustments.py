"""Adjustments as they are sent: in API requests, CSV lines and from the console."""

from decimal import Decimal
from typing import Annotated, Any, Literal

from django.utils.translation import gettext as _
from pydantic import AfterValidator, ConfigDict, Field, PlainValidator, model_validator

from kilit.api.input_model import InputModel, ShownAs, invalid, line
from kilit.sites.schemas.operations import SITE
from ociqueue.schemas.conversions import EMPTY, read_currency, read_number
from ociqueue.schemas.requests import MOST_ENQUEUED, ROW, IntakeRequest, RowId

NAMES = ("id", "orderId", "conversionSourceKey")


class NewAdjustment(InputModel):
    """An adjustment as it is sent; null and the empty string are the same as leaving a field out.

    The conversion is named by its `id`, its `orderId` or its `conversionSourceKey`. Without any of these, `sourceKey`
    names it; beside one of them, `sourceKey` is your own id of the adjustment.
    """

    model_config = ConfigDict(strict=False)  # ids are sent as text

    id: RowId | None = Field(None, description="The id of the conversion.")
    orderId: Annotated[str, line(64)] | None = Field(None, description="The order id of the conversion.")
    conversionSourceKey: Annotated[str, line(200)] | None = Field(None, description="The source key of the conversion.")
    sourceKey: Annotated[str, line(200)] | None = Field(
        None,
        description=(
            "Alone, the source key of the conversion. Beside `id`, `orderId` or `conversionSourceKey`, your own id: the"
            " same key is the same adjustment."
        ),
    )
    conversionName: Annotated[str, line(100)] | None = Field(
        None, description="Needed only if conversions of several names have this source key."
    )
    kind: Literal["RETRACTION", "RESTATEMENT"] = Field(
        description="RETRACTION: it did not happen after all. RESTATEMENT: it has another value."
    )
    currency: Annotated[str, line(3), AfterValidator(read_currency)] | None = Field(
        None, description="ISO 4217; defaults to the currency of the conversion."
    )
    value: Annotated[Decimal, PlainValidator(read_number, json_schema_input_type=float | str)] | None = Field(
        None, description="Of a restatement: the whole value after it, not the difference."
    )

    @model_validator(mode="before")
    @classmethod
    def _drop_empty(cls, raw: object) -> object:
        if not isinstance(raw, dict):
            return raw
        return {name: value for name, value in raw.items() if value or value not in EMPTY or name not in FIELDS}

    @model_validator(mode="after")
    def _is_complete(self) -> "NewAdjustment":
        named = [name for name in NAMES if getattr(self, name) is not None]
        if len(named) > 1:
            raise invalid(_("Name the conversion once: %(names)s are given.") % {"names": ", ".join(named)})
        if not named and self.sourceKey is None:
            raise invalid(_("Name the conversion by id, orderId or sourceKey."))
        if self.kind == "RETRACTION" and (self.value is not None or self.currency):
            raise invalid(_("A retraction has no value; to change the value, send a RESTATEMENT."))
        if self.kind == "RESTATEMENT" and self.value is None:
            raise invalid(_("A restatement needs the new value."))
        return self

    @property
    def own_key(self) -> str | None:
        """The caller's id of the adjustment."""
        return self.sourceKey if any(getattr(self, name) is not None for name in NAMES) else None

    @property
    def key_of_conversion(self) -> str | None:
        is_named = self.id is not None or self.orderId is not None
        return self.conversionSourceKey or (None if is_named else self.sourceKey)


FIELDS = tuple(NewAdjustment.model_fields)


class AdjustRequest(IntakeRequest):
    """Adjustments; each is validated separately, so that one invalid adjustment does not block the others."""

    adjustments: Annotated[list[Annotated[Any, ShownAs(NewAdjustment)]], Field(min_length=1, max_length=MOST_ENQUEUED)]

    examples = {
        "a refund": {"siteId": SITE, "adjustments": [{"sourceKey": "order-1001", "kind": "RETRACTION"}]},
        "a part of it returned": {
            "siteId": SITE,
            "adjustments": [{"id": ROW, "kind": "RESTATEMENT", "value": 80, "sourceKey": "return-17"}],
        },
    }
