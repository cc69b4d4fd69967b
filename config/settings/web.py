"""Settings of the web server, of its metrics and of the version."""

from config.settings.environment import BASE_DIR, Environment, host_and_port
from config.settings.shared import SMALL

env = Environment(BASE_DIR)

HOST = env.host("HOST", default="127.0.0.1")
PORT = env.number("PORT", default=8000, least=1, most=65535)
BIND = host_and_port(HOST, PORT)
# Where people on this machine find it.
LOCAL_URL = f"http://localhost:{PORT}" if HOST in ("127.0.0.1", "0.0.0.0", "::") else f"http://{BIND}"  # noqa: S104
WEB_CONCURRENCY = env.number("WEB_CONCURRENCY", default=1 if SMALL else 2, least=1, most=256)

# Who may read /metrics: those who send the token, and clients from these networks. In production it needs one of them.
METRICS_TOKEN = env.secret("KILIT_METRICS_TOKEN")
METRICS_ALLOW = env.networks("KILIT_METRICS_ALLOW")
METRICS_SECONDS = env.number("KILIT_METRICS_SECONDS", default=5, least=0, most=60)  # how old its numbers may be

# The commit that this installation was made from: the file BUILD, which is no part of the repository, says it.
BUILD_FILE = BASE_DIR / "BUILD"
BUILD = env.text("KILIT_BUILD", next(iter(BUILD_FILE.read_text().split()), "") if BUILD_FILE.is_file() else "")[:64]
