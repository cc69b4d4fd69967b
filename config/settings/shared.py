"""Settings that the server and the runner on the OptiPlanning PC have in common."""

from config.settings.environment import BASE_DIR, Environment
from config.settings.logs import logging_to_stderr
from config.settings.sentry import start_sentry
from config.settings.spans import start_spans
from kilit.memory import is_small

_env = Environment(BASE_DIR)

PRODUCTION = _env.flag("KILIT_PRODUCTION", default=False)
KILIT_VAR = _env.folder("KILIT_VAR", default=BASE_DIR / "var")
# One web process, one worker, small buffers: docs/deployment.md says what it costs.
SMALL = _env.flag("KILIT_SMALL", default=is_small())
DATABASE_TIMEOUT = _env.number("KILIT_DATABASE_TIMEOUT", default=6, least=1, most=60)
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("tr", "Türkçe")]
TIME_ZONE = "UTC"
USE_TZ = True

LOG_LEVEL = _env.one_of("KILIT_LOG_LEVEL", ("DEBUG", "INFO", "WARNING", "ERROR", "CRITICAL"), default="INFO")
LOGGING = logging_to_stderr(LOG_LEVEL)
if SENTRY_DSN := _env.text("SENTRY_DSN", ""):
    start_sentry(
        SENTRY_DSN,
        errors_percent=_env.number("SENTRY_ERRORS_PERCENT", default=100, most=100),
        traces_percent=_env.number("SENTRY_TRACES_PERCENT", default=0, most=100),
        release=_env.text("SENTRY_RELEASE", ""),
    )
if OTLP_ENDPOINT := _env.text("OTEL_EXPORTER_OTLP_ENDPOINT", ""):
    start_spans(OTLP_ENDPOINT)

# The cutting floor: where OptiPlanning and the saw exchange files, and how OptiPlanning is started.
FLOOR = _env.folder("KILIT_FLOOR", default=KILIT_VAR / "floor")
OPTI_IMPORT_FOLDER = _env.folder("KILIT_OPTI_IMPORT", default=FLOOR / "import")
OPTI_EXPORT_FOLDER = _env.folder("KILIT_OPTI_EXPORT", default=FLOOR / "export")
SAW_FOLDER = _env.folder("KILIT_SAW", default=FLOOR / "saw")  # with inbox/, processed/ and failed/
SAW_FOLDERS = _env.folders("KILIT_SAWS", besides=SAW_FOLDER)  # of further saws, by the names that the rules give them
OPTI_TEMPLATE = _env.folder(
    "KILIT_OPTI_TEMPLATE", default=BASE_DIR / "orchestrator" / "planning" / "excel" / "Excel_sablon.xlsx"
)
OPTI_RULES = _env.folder("KILIT_OPTI_RULES", default=BASE_DIR / "orchestrator" / "rules.json")
OPTI_COMMAND = _env.text("KILIT_OPTI_COMMAND", "")
OPTI_MACRO = _env.text("KILIT_OPTI_MACRO", "")  # RunOptiPlanning.xls, for mode B
OPTI_SIMULATED = _env.flag("KILIT_OPTI_SIMULATED", default=False) and not PRODUCTION  # by `manage.py up`
# How many orders the built-in optimiser plans at once on this machine; 0: as many as there are cores, less one.
OPTIMISERS = _env.number("KILIT_OPTIMISERS", default=0, most=64)
XML_MAX_MB = _env.number("KILIT_XML_MAX_MB", default=50, least=1, most=1024)  # of one solution
FLOOR_IS_HERE = _env.flag("KILIT_FLOOR_IS_HERE", default=True)  # whether this machine's workers reach those folders
FLOOR_POLL = _env.number("KILIT_FLOOR_POLL", default=2, least=1, most=60)  # seconds between two checks of a folder
