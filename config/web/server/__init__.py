"""The web server: gunicorn's processes, with an event loop in front of the threads that run Django.

A request passes through:

1. `worker`: the event loop accepts the connection, if there is room for it.
2. `connection`: reads one request after the other, by way of `reader`, within deadlines. Clients that send slowly, or
   nothing, only occupy memory here.
3. a thread gets the complete request and calls Django. /healthz has a thread of its own.
4. `connection`: the thread writes; what the client does not take at once waits here, and the event loop sends it.

What is refused before Django sees it is answered by `refusals`. gunicorn's parser judges the syntax of all of it.
"""
