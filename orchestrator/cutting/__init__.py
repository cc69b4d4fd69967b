"""Plans how to cut an order from plates, where there is no OptiPlanning, and before an order is sent.

`orders` makes problems of an order, one for each material. `solving` plans them: by strips first (`strips`), then by
the solver in a process of its own (`solver`), at most as many at once as there are places (`places`). Each plan is
proven by `checking`. `solution` writes it as a solution file, as OptiPlanning does; `sequence` numbers its cuts.
"""
