from orchestrator.models.customer import Customer
from orchestrator.models.files import OrderFile, SolutionFile
from orchestrator.models.job import Job
from orchestrator.models.order_draft import OrderDraft
from orchestrator.models.piece_step import PieceStep
from orchestrator.models.rules_proposal import RulesProposal
from orchestrator.models.rules_version import RulesVersion
from orchestrator.models.stock import BoardKind, StockItem

__all__ = [
    "BoardKind",
    "Customer",
    "Job",
    "OrderDraft",
    "OrderFile",
    "PieceStep",
    "RulesProposal",
    "RulesVersion",
    "SolutionFile",
    "StockItem",
]
