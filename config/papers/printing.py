"""The PDF job that makes a paper of a cutting job."""

from typing import get_args

from django.utils.translation import gettext_noop

from config.papers.messages import PaperKind, PaperRefused, PaperRequest
from config.papers.offers import offer
from config.papers.variables import cutting_sheet, labels
from kilit.api.input_model import InvalidInput
from orchestrator.errors import JobError
from orchestrator.models import Job
from orchestrator.orders.order import order_from
from orchestrator.planning.rules import current_rules
from pdfjobs.job_request import JobRequest, parse_job_request

KINDS: tuple[PaperKind, ...] = get_args(PaperKind)
VARIABLES = {"cutting_sheet": cutting_sheet, "labels": labels, "offer": offer}


def paper_request(job: Job, kind: PaperKind, asked: PaperRequest) -> JobRequest:
    """Return the request for a PDF, or raise PaperRefused or UnknownTemplateError."""
    try:
        variables = VARIABLES[kind](job, order_from(job.payload), current_rules(), asked)
        return parse_job_request({"template_name": kind, "variables": variables})
    except JobError as error:
        raise PaperRefused("%(message)s", message=error.message) from None
    except InvalidInput as error:  # an order may have more kinds of boards than a document, or smaller plates
        raise PaperRefused(gettext_noop("This cannot be printed: %(message)s"), message=error.lines[0]) from None
