"""The queues whose rows are uploaded, by their names."""

from collections.abc import Mapping

from ociqueue.models.adjustment import Adjustment
from ociqueue.models.conversion import Conversion
from ociqueue.models.uploadable import Uploadable

MODELS: Mapping[str, type[Uploadable]] = {model.lifecycle.queue: model for model in (Conversion, Adjustment)}
