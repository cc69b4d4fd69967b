"""What may be wrong with conversions, adjustments and their sites."""

from kilit.problems.queues import register_queue_problems
from ociqueue.problems import sites, uploads
from ociqueue.queue import ADJUSTMENT_QUEUE, QUEUE

register_queue_problems(QUEUE, *sites.SOURCES, *uploads.CONVERSIONS.sources)
register_queue_problems(ADJUSTMENT_QUEUE, *uploads.ADJUSTMENTS.sources)
