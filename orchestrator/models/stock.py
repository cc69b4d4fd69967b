"""What is in the store: boards, of which each kind has a number, and offcuts. Each is a row that the lock moves."""

from decimal import Decimal
from typing import Any, Self

import pgtrigger
from django.db import models
from django.db.models import Count, F, OuterRef, Q, Subquery
from django.db.models.functions import Coalesce, Now
from django.utils.translation import gettext_lazy as _

from kilit.lock.column_guards import refuse_rows
from kilit.lock.constraints import checks
from kilit.lock.guard import LifecycleModel, LifecycleQuerySet
from kilit.lock.prefixes import prefix_index
from kilit.lock.triggers import lifecycle_triggers, never
from orchestrator.states import OF_A_JOB, ON_HAND, STOCK, StockState

SIZES = ("thickness_mm", "length_mm", "width_mm")
IDENTITY = ("material_code", "color", *SIZES)


class StockPanel(models.Model):
    material_code = models.CharField(_("material"), max_length=64, help_text=_("As orders call it."))
    color = models.CharField(_("colour"), max_length=100)
    thickness_mm = models.DecimalField(_("thickness (mm)"), max_digits=8, decimal_places=4)
    length_mm = models.DecimalField(_("length (mm)"), max_digits=6, decimal_places=1, help_text=_("Along the grain."))
    width_mm = models.DecimalField(_("width (mm)"), max_digits=6, decimal_places=1)
    place = models.CharField(_("place"), max_length=40, blank=True, help_text=_("A rack, say."))

    class Meta:
        abstract = True

    @property
    def size(self) -> str:
        return f"{_plain(self.length_mm)} × {_plain(self.width_mm)}"

    @property
    def material(self) -> str:
        return f"{self.material_code} {self.color} {_plain(self.thickness_mm)} mm"

    @property
    def words(self) -> str:
        return f"{self.material} {self.size}"


def _plain(size: Decimal | None) -> str:
    return f"{size.normalize():f}" if size else ""  # a form begins with none


class BoardKindQuerySet(models.QuerySet["BoardKind"]):
    def with_numbers(self) -> Self:
        """Add how many boards there are in each of the states in which they are on hand."""
        return self.annotate(**{state.lower(): number_of_boards(state) for state in ON_HAND})

    def below_least(self) -> Self:
        return self.filter(least__gt=number_of_boards(StockState.AVAILABLE))


class BoardKind(StockPanel):
    """Boards of one material and size. Their number is that of their rows."""

    least = models.PositiveIntegerField(
        _("least number"), default=0, help_text=_("Fewer available ones are a problem.")
    )
    created_at = models.DateTimeField(_("created at"), db_default=Now(), editable=False)

    # How many there are, of kinds `with_numbers`.
    available: int
    reserved: int

    objects = BoardKindQuerySet.as_manager()

    class Meta:
        verbose_name, verbose_name_plural = _("kind of board"), _("kinds of boards")
        default_permissions = ("view", "operate")
        constraints = [
            models.UniqueConstraint(fields=IDENTITY, name="one_kind_of_board"),
            *checks(board_has_a_size=Q(thickness_mm__gt=0, length_mm__gt=0, width_mm__gt=0)),
            # As the plates of orders have it, by which boards are found.
            models.CheckConstraint(
                condition=Q(length_mm__gte=F("width_mm")),
                name="board_length_is_the_longer_side",
                violation_error_message=_("The length of a board is its longer side."),
            ),
        ]
        triggers = [
            refuse_rows(
                "fixed_kind",
                pgtrigger.Update,
                " OR ".join(f"OLD.{column} IS DISTINCT FROM NEW.{column}" for column in ("id", *IDENTITY)),
                "format('boards of kind %s cannot become others', OLD.id)",
                hint="Create another kind instead.",
            ),
            *never(pgtrigger.Delete, pgtrigger.Truncate, subject="kinds of boards", hint="Boards refer to them."),
        ]

    def __str__(self) -> str:
        return self.words


class StockQuerySet(LifecycleQuerySet["StockItem"]):
    def available(self) -> Self:
        return self.filter(status=StockState.AVAILABLE)

    def on_hand(self) -> Self:
        return self.filter(status__in=ON_HAND)


GIVE_CODE = """
    NEW.code := upper(right(NEW.id::text, 6));
    WHILE EXISTS (SELECT FROM orchestrator_stockitem WHERE code = NEW.code) LOOP
      number := number + 1;
      NEW.code := upper(right(NEW.id::text, 6)) || '-' || number;
    END LOOP;
    RETURN NEW;
"""


class StockItem(StockPanel, LifecycleModel):
    """A board, if it has a kind, or an offcut."""

    lifecycle = STOCK

    status = models.CharField(
        _("state"), max_length=9, choices=StockState, default=StockState.AVAILABLE, editable=False
    )
    board = models.ForeignKey(BoardKind, null=True, on_delete=models.PROTECT, related_name="items")
    made_by = models.ForeignKey("orchestrator.Job", null=True, on_delete=models.PROTECT, related_name="offcuts")
    job = models.ForeignKey("orchestrator.Job", null=True, on_delete=models.PROTECT, related_name="stock")
    # Printed on its label beside the QR code: the end of the id, with a number if another one has it already.
    code = models.CharField(_("code"), max_length=16, db_default="", editable=False)

    objects = StockQuerySet.as_manager()

    class Meta(LifecycleModel.Meta):
        abstract = False
        verbose_name, verbose_name_plural = _("offcut"), _("offcuts")
        triggers = [
            *lifecycle_triggers(STOCK, fixed=["board_id", "made_by_id", "code", *IDENTITY], facts=["job_id"]),
            pgtrigger.Trigger(
                name="code_of_stock",
                when=pgtrigger.Before,
                operation=pgtrigger.Insert,
                declare=[("number", "int := 1")],
                func=GIVE_CODE,
            ),
        ]
        constraints = [
            # People type it from a label, and find one row.
            models.UniqueConstraint(fields=["code"], name="one_item_of_a_code"),
            *checks(
                stock_of_a_job_names_it=Q(status__in=OF_A_JOB, job__isnull=False)
                | Q(~Q(status__in=OF_A_JOB), job__isnull=True),
                board_was_made_by_no_job=Q(board=None) | Q(made_by=None),
                stock_has_a_size=Q(thickness_mm__gt=0, length_mm__gt=0, width_mm__gt=0),
            ),
        ]
        indexes = [
            # A plan looks for what is available of its materials.
            models.Index(
                fields=["material_code", "color"], condition=Q(status=StockState.AVAILABLE), name="stock_available"
            ),
            # Lists count the boards of a kind.
            models.Index(fields=["board", "status"], condition=Q(status__in=ON_HAND), name="stock_of_kind"),
            # The list of offcuts, by state and material.
            models.Index(fields=["status", "id"], condition=Q(board=None), name="offcut_in_state"),
            models.Index(fields=["material_code", "id"], condition=Q(board=None), name="offcut_of_material"),
            # People search offcuts by the beginning of a code, a material or a colour.
            prefix_index("stock_code_prefix", "code"),
            prefix_index("stock_material_prefix", "material_code"),
            prefix_index("stock_color_prefix", "color"),
        ]

    def __str__(self) -> str:
        return f"{self.words} mm, {self.code}"


def code_of(pk: object) -> str:
    """Return the code of an offcut that is not stored yet; the database decides if another one has it by then."""
    return str(pk)[-6:].upper()


def number_of_boards(state: StockState) -> Any:
    same = StockItem.objects.filter(board=OuterRef("pk"), status=state).order_by().values("board")
    return Coalesce(Subquery(same.annotate(number=Count("pk")).values("number")), 0)


SETTLE = """
    IF NOT (coalesce(NEW.planning ? 'stock', false) OR EXISTS (
      SELECT FROM orchestrator_stockitem WHERE job_id = NEW.id AND status = 'RESERVED'))
    THEN RETURN NULL; END IF;
    PERFORM set_config('kilit.without_activity', 'on', true);
    PERFORM FROM orchestrator_stockitem WHERE job_id = NEW.id AND status = 'RESERVED' ORDER BY id FOR UPDATE;
    IF NEW.status = 'DONE' THEN
      PERFORM set_config('kilit.verb', 'book', true);
      UPDATE orchestrator_stockitem SET status = 'USED', updated_at = now()
      WHERE job_id = NEW.id AND status = 'RESERVED';
      FOR missing IN SELECT board, number FROM jsonb_to_recordset(NEW.planning->'stock'->'missing')
        AS boards(board bigint, number int)
      LOOP
        PERFORM set_config('kilit.verb', 'use', true);
        WITH picked AS MATERIALIZED (
          SELECT id FROM orchestrator_stockitem WHERE board_id = missing.board AND status = 'AVAILABLE'
          ORDER BY id LIMIT missing.number FOR UPDATE SKIP LOCKED)
        UPDATE orchestrator_stockitem AS item SET status = 'USED', job_id = NEW.id, updated_at = now()
        FROM picked WHERE item.id = picked.id;
      END LOOP;
      PERFORM set_config('kilit.verb', '', true);
      INSERT INTO orchestrator_stockitem
        (id, status, material_code, color, thickness_mm, length_mm, width_mm, place, made_by_id)
      SELECT id, 'AVAILABLE', material_code, color, thickness_mm, length_mm, width_mm, '', NEW.id
      FROM jsonb_to_recordset(NEW.planning->'stock'->'offcuts') AS offcut(
        id uuid, material_code text, color text, thickness_mm numeric, length_mm numeric, width_mm numeric);
    ELSIF NEW.open_deliveries = '[]' AND NOT EXISTS (
      SELECT FROM orchestrator_solutionfile WHERE job_id = NEW.id AND acknowledged_as <> '')
    THEN
      PERFORM set_config('kilit.verb', 'give_back', true);
      UPDATE orchestrator_stockitem SET status = 'AVAILABLE', job_id = NULL, updated_at = now()
      WHERE job_id = NEW.id AND status = 'RESERVED';
    END IF;
    PERFORM set_config('kilit.verb', outer_verb, true), set_config('kilit.without_activity', was_without, true);
    RETURN NULL;
"""


def stock_follows() -> pgtrigger.Trigger:
    """Settle a job's stock in the statement that ends the job, also if that comes from psql.

    A job that is done books what it has reserved, and the boards that it lacked if they have come, and leaves its
    offcuts. One that has failed gives back what it has, unless the saw may have cut some of it.
    """
    return pgtrigger.Trigger(
        name="stock_follows",
        when=pgtrigger.After,
        operation=pgtrigger.Update,
        condition=pgtrigger.Condition("NEW.status IN ('DONE', 'FAILED') AND OLD.status IS DISTINCT FROM NEW.status"),
        declare=[
            ("missing", "record"),
            ("outer_verb", "text := coalesce(current_setting('kilit.verb', true), '')"),
            ("was_without", "text := coalesce(current_setting('kilit.without_activity', true), '')"),
        ],
        func=SETTLE,
    )
