"""What is asked for when a job is printed, and why it may be refused."""

from typing import Annotated, Any, Literal

from django.utils.translation import gettext
from pydantic import Field

from kilit.api.input_model import Expected, InputModel

PaperKind = Literal["cutting_sheet", "labels", "offer"]
LabelSize = Literal["70x37", "105x57", "100x50"]
Number = Annotated[int, Field(ge=1, le=10**8), Expected("a whole number from 1 to 100,000,000")]


class PaperRequest(InputModel):
    locale: Literal["tr", "en"] = Field("tr", description="The language of the document.")
    format: LabelSize = Field("70x37", description="Of labels: the size of one in millimetres.")
    first: Number = Field(1, description="Of labels: the first label. Of a cutting sheet: the first part.")
    last: Number | None = Field(None, description="The last one. Default: the last one of the job.")

    examples = {"labels on a roll": {"format": "100x50"}}


class PaperRefused(Exception):
    """Why a job cannot be printed as requested. The sentence is marked for translation, for people in the console."""

    def __init__(self, sentence: str, **values: Any) -> None:
        super().__init__(sentence % values)
        self.sentence, self.values = sentence, values

    @property
    def translated(self) -> str:
        return gettext(self.sentence) % self.values


class RangeTooLarge(PaperRefused):
    """More was asked for than one document takes: a smaller range can be printed."""
