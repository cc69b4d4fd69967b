"""Workers: doorbells, sweeps, and the supervisor of a django-q2 cluster.

The path of a doorbell, from an API call to a worker's verb. The row is the job; the task carries no more than a name.

    web process                          PostgreSQL                      a worker of the cluster
    ───────────                          ──────────                      ───────────────────────
    view → verb stores the row ────────► row, QUEUED
           doorbells.ring("pdf")
    on commit: doorbells.ring_now ─────► workers_bell: rung_at = now()
      (only the first ring enqueues)     django_q_ormq: "pdf" ─────────► doorbells.handle("pdf")
                                         NOTIFY wakes the cluster          1. clears rung_at
                                                                           2. calls the queue's own verb,
                                         row, RUNNING ◄─────────────────      which claims rows until none is due

Three things may go wrong. No job is lost:

- The task or its worker is lost. The supervisor asks all queues for `due` rows, when a change is announced and every
  few seconds (`notifications.Poller`), and rings again (`doorbells.ring_due`).
- A row is committed while a worker handles the bell. It was cleared before the worker looked, so that row rings again.
- The cluster hangs. A task that does nothing (`heartbeat.beat`) must pass through it every few seconds; when it
  does not, the supervisor restarts the whole process group (`supervisor`).

Sweeps take the same way: the supervisor enqueues `sweeps.run_as_task("pdf_reap")` when its time has come
(`sweeps.take_due`) and it has something to do. Each app's `queue.py` declares its doorbells and sweeps. Why it is made
so: docs/decisions/0003-doorbells.md.
"""
