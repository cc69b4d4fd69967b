"""Workers: doorbells, sweeps, and the supervisor that keeps a django-q2 cluster honest."""
