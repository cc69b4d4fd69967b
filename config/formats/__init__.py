"""How dates and times are written, where Django's own way does not fit."""
