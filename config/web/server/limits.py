"""How much time, memory and how many connections the web server gives to clients."""

from dataclasses import dataclass

KIB, MIB = 1024, 1024**2


@dataclass(frozen=True)
class WebLimits:
    """The limits of one web process; docs/configuration.md explains those that have a setting."""

    header_seconds: float = 10.0  # for all of a request's header
    body_seconds: float = 30.0  # for its body, and a second more for each `least_rate` bytes that have arrived
    send_seconds: float = 30.0  # for its answer, likewise
    idle_seconds: float = 2.0  # between two requests of a connection
    least_rate: int = 8 * KIB  # bytes a second
    thread_rate: int = 256 * KIB  # bytes a second, of a client whose answer does not fit, so that a thread waits for it
    connections: int = 1000
    connections_per_address: int = 500  # 0: no limit
    header_bytes: int = 64 * KIB
    body_bytes: int = 256 * MIB  # of a session: files that are imported
    key_bytes: int = 6 * MIB  # of a key: the API takes 5 MB
    unknown_bytes: int = 64 * KIB  # of a request with neither: forms of the login page
    unchecked_bytes: int = 512 * KIB  # what a key or a session may send before the database is asked for it
    # Bodies are kept in memory up to these sizes, and then in unnamed temporary files.
    body_memory_bytes: int = 6 * MIB  # as FILE_UPLOAD_MAX_MEMORY_SIZE
    all_bodies_memory_bytes: int = 64 * MIB
    all_bodies_bytes: int = 1024 * MIB
    address_bodies_bytes: int = 512 * MIB  # from one address; 0: no limit
    answer_memory_bytes: int = 256 * KIB
    answer_bytes: int = 64 * MIB  # a thread that is further ahead of its client waits
