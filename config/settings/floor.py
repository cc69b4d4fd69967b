"""Settings of the cutting floor, for the server and for the runner on the OptiPlanning PC.

Where OptiPlanning and the saw exchange files, and how OptiPlanning is started.
"""

from config.settings.environment import BASE_DIR, Environment

_env = Environment(BASE_DIR)

PRODUCTION = _env.flag("KILIT_PRODUCTION", default=False)
KILIT_VAR = _env.folder("KILIT_VAR", default=BASE_DIR / "var")

FLOOR = _env.folder("KILIT_FLOOR", default=KILIT_VAR / "floor")
OPTI_IMPORT_FOLDER = _env.folder("KILIT_OPTI_IMPORT", default=FLOOR / "import")
OPTI_EXPORT_FOLDER = _env.folder("KILIT_OPTI_EXPORT", default=FLOOR / "export")
SAW_FOLDER = _env.folder("KILIT_SAW", default=FLOOR / "saw")  # with inbox/, processed/ and failed/
OPTI_TEMPLATE = _env.folder(
    "KILIT_OPTI_TEMPLATE", default=BASE_DIR / "orchestrator" / "planning" / "excel" / "Excel_sablon.xlsx"
)
OPTI_RULES = _env.folder("KILIT_OPTI_RULES", default=BASE_DIR / "orchestrator" / "rules.json")
OPTI_COMMAND = _env.text("KILIT_OPTI_COMMAND", "")
OPTI_MACRO = _env.text("KILIT_OPTI_MACRO", "")  # RunOptiPlanning.xls, for mode B
OPTI_SIMULATED = _env.flag("KILIT_OPTI_SIMULATED", default=False) and not PRODUCTION  # by `manage.py up`
XML_MAX_MB = _env.number("KILIT_XML_MAX_MB", default=50, least=1, most=1024)  # of one solution
FLOOR_IS_HERE = _env.flag("KILIT_FLOOR_IS_HERE", default=True)  # whether this machine's workers reach those folders
FLOOR_POLL = _env.number("KILIT_FLOOR_POLL", default=2, least=1, most=60)  # seconds between two checks of a folder
