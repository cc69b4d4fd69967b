"""Settings of the cutting floor, for the server and for the runner on the OptiPlanning PC.

Where OptiPlanning and the saw exchange files, and how OptiPlanning is started.
"""

from pathlib import Path

from config.environment import Environment

BASE_DIR = Path(__file__).resolve().parent.parent
env = Environment(BASE_DIR)

PRODUCTION = env.flag("KILIT_PRODUCTION", default=False)
KILIT_VAR = env.folder("KILIT_VAR", default=BASE_DIR / "var")

FLOOR = env.folder("KILIT_FLOOR", default=KILIT_VAR / "floor")
OPTI_IMPORT_FOLDER = env.folder("KILIT_OPTI_IMPORT", default=FLOOR / "import")
OPTI_EXPORT_FOLDER = env.folder("KILIT_OPTI_EXPORT", default=FLOOR / "export")
SAW_FOLDER = env.folder("KILIT_SAW", default=FLOOR / "saw")  # with inbox/, processed/ and failed/
OPTI_TEMPLATE = env.folder(
    "KILIT_OPTI_TEMPLATE", default=BASE_DIR / "orchestrator" / "planning" / "excel" / "Excel_sablon.xlsx"
)
OPTI_RULES = env.folder("KILIT_OPTI_RULES", default=BASE_DIR / "orchestrator" / "rules.json")
OPTI_COMMAND = env.text("KILIT_OPTI_COMMAND", "")
OPTI_MACRO = env.text("KILIT_OPTI_MACRO", "")  # RunOptiPlanning.xls, for mode B
OPTI_SIMULATED = env.flag("KILIT_OPTI_SIMULATED", default=False) and not PRODUCTION  # by `manage.py up`
XML_MAX_MB = env.number("KILIT_XML_MAX_MB", default=50, least=1, most=1024)  # of one solution
FLOOR_IS_HERE = env.flag("KILIT_FLOOR_IS_HERE", default=True)  # whether this machine's workers reach those folders
FLOOR_POLL = env.number("KILIT_FLOOR_POLL", default=2, least=1, most=60)  # seconds between two checks of a folder
