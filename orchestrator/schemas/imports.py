"""The import of an order sheet: the form's fields, and the answer of a dry run."""

import re
from decimal import Decimal
from typing import Annotated, Any, Literal

from django.core.files.uploadedfile import UploadedFile
from pydantic import BeforeValidator, ConfigDict, Field, PlainValidator, WithJsonSchema
from typing_extensions import TypedDict

from kilit.api.input_model import InputModel, invalid
from kilit.lock.priorities import PriorityName
from orchestrator.schemas.jobs import SimilarJob
from orchestrator.schemas.orders import Millimetres, OptiMode, OrderMessage, Text32, Text64, Text100, Text200

PLAIN_NUMBER = re.compile(r"[0-9]{1,9}(?:[.,][0-9]{1,9})?", re.ASCII)


def uploaded(value: object) -> Any:
    if not isinstance(value, UploadedFile):
        raise invalid("Expected a file.")
    return value


def exact(text: Any) -> Any:
    """Return a number that a form sent; other text is left for the validator to refuse."""
    return Decimal(text.replace(",", ".")) if PLAIN_NUMBER.fullmatch(str(text)) else text


class OrderImport(OrderMessage):
    """A sheet, and what it does not say. What the sheet says may not contradict it."""

    model_config = ConfigDict(strict=False)

    file: Annotated[
        Any,
        PlainValidator(uploaded),
        WithJsonSchema({"type": "string", "format": "binary", "description": "XLSX or CSV, up to 5 MB."}),
    ]
    order_id: Annotated[Text100 | None, Field(description="Default: the file's name without its ending.")] = None
    customer_phone: Text64 | None = None
    customer_snapshot_name: Text200 | None = None
    opti_mode: OptiMode | None = None
    revision: Annotated[int, Field(ge=0, le=9_999)] | None = None
    priority: PriorityName | None = None
    material_code: Annotated[Text64 | None, Field(description="Of parts that do not say.")] = None
    color: Annotated[Text100 | None, Field(description="Of parts that do not say.")] = None
    thickness_mm: Annotated[
        Annotated[Millimetres, BeforeValidator(exact)] | None, Field(description="Of parts that do not say.")
    ] = None
    edge: Annotated[Text32 | None, Field(description="Of edges that are only marked: a name of the rules.")] = None
    sheet: Annotated[Text100 | None, Field(description="If several sheets have parts: the one to read.")] = None
    dry_run: Annotated[bool, Field(description="Only show the order; nothing is stored.")] = False

    examples = {
        "a list as CSV": {
            "file": "18MM;RENK: Beyaz\n;720;560;2;1;x;x\n",
            "order_id": "S-1002",
            "customer_phone": "0555 123 45 67",
            "material_code": "MAT-01",
            "edge": "1mm",
        }
    }


class TemplateQuery(InputModel):
    """Other parameters are ignored."""

    model_config = ConfigDict(extra="ignore")

    format: Literal["xlsx", "csv"] = "xlsx"


class OrderSource(TypedDict):
    """Where a value was taken from, if not from the part's own cell."""

    field: Annotated[str, Field(description="`not read` for rows, columns and sheets that were left out.")]
    value: str
    origin: Literal["cell", "file", "file name", "caller", "rules", "default"]
    cell: str
    note: str


class ImportPreview(TypedDict):
    """The order as it would be, the cell of each field, and what was taken from elsewhere."""

    layout: Literal["kilit", "list"]
    sheet: Annotated[str, Field(description="Empty for CSV.")]
    order: Annotated[dict[str, Any], Field(description="As `POST /jobs` takes it.")]
    cells: Annotated[dict[str, str], Field(description="By path: `parts.0.length_cm` is from B7.")]
    sources: list[OrderSource]
    similar_to: Annotated[
        list[SimilarJob], Field(description="Jobs with the same parts or from the same sheet, the newest five.")
    ]
