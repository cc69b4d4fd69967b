"""What may be wrong with conversions, adjustments and their sites."""

from ociqueue.problems import sites, uploads

uploads.CONVERSIONS.register(*sites.SOURCES)
uploads.ADJUSTMENTS.register()
