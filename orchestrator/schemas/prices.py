"""Prices, as the optional section `prices` of rules.json has them."""

from decimal import Decimal
from typing import Annotated, Any

from pydantic import AfterValidator, BeforeValidator, Field

from kilit.api.input_model import Expected, InputModel
from orchestrator.schemas.orders import plain

ANY = "*"  # stands for each material or edge that has no price of its own
DECIMALS = 4


def exact(value: object) -> Any:
    return Decimal(value) if type(value) is int else value


def without_exponent(value: Decimal) -> Decimal:
    return Decimal(plain(abs(value)))  # -0.0 is 0


Price = Annotated[
    Decimal,
    Field(ge=0, le=1_000_000, decimal_places=DECIMALS),
    BeforeValidator(exact),
    AfterValidator(without_exponent),
    Expected(f"a price from 0 to 1,000,000 with at most {DECIMALS} decimals"),
]
Percent = Annotated[
    Decimal,
    Field(ge=0, le=100, decimal_places=DECIMALS),
    BeforeValidator(exact),
    AfterValidator(without_exponent),
    Expected(f"a number from 0 to 100 with at most {DECIMALS} decimals"),
]


class Prices(InputModel):
    """Prices without VAT. Each material and each edge needs one; cuts and minutes without one are not charged."""

    currency: Annotated[str, Field(pattern="^[A-Z]{3}$"), Expected("a currency of three capital letters, such as TRY")]
    vat_percent: Annotated[Percent, Field(alias="vatPercent")]
    board_per_m2: Annotated[dict[str, Price], Field(alias="boardPerM2", default_factory=dict)]
    edge_per_metre: Annotated[dict[str, Price], Field(alias="edgePerMetre", default_factory=dict)]
    per_cut: Annotated[Price | None, Field(alias="perCut")] = None
    per_machine_minute: Annotated[Price | None, Field(alias="perMachineMinute")] = None
    # An offer is made before OptiPlanning knows the boards: it adds this to the area of the parts.
    waste_percent: Annotated[Percent | None, Field(alias="wastePercent")] = None

    def of_board(self, material_code: str, thickness: str) -> Decimal | None:
        """Return the price of a material: the one for this thickness, if there is one."""
        names = (f"{material_code} {thickness}mm", material_code, f"{ANY} {thickness}mm", ANY)
        return next((self.board_per_m2[name] for name in names if name in self.board_per_m2), None)

    def of_edge(self, edge: str) -> Decimal | None:
        return self.edge_per_metre.get(edge, self.edge_per_metre.get(ANY))
