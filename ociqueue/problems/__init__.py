"""What may be wrong with conversions, adjustments and their sites."""
