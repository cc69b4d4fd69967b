"""The Google Ads Script of a site, ready to paste."""

import json
from pathlib import Path

# Keys are shown once, so the console usually fills in this placeholder; the script does not run with it.
KEY_PLACEHOLDER = "PASTE-YOUR-KEY-HERE"

TEMPLATE = Path(__file__).with_name("kilit_offline_conversions.js")
CONFIG_STARTS, CONFIG_ENDS = "/*KILIT_CONFIG*/", "/*END*/"
# The script is shown inside HTML, where these would start or end an element. JSON allows the escapes.
UNSAFE_IN_HTML = str.maketrans({"<": r"\u003c", ">": r"\u003e", "&": r"\u0026"})


def render_script(*, base_url: str, site_id: str, api_key: str, time_zone: str) -> str:
    before, _, rest = TEMPLATE.read_text(encoding="utf-8").partition(CONFIG_STARTS)
    defaults, _, after = rest.partition(CONFIG_ENDS)
    values = {"baseUrl": base_url, "siteId": site_id, "apiKey": api_key, "timeZone": time_zone}
    config = json.dumps(json.loads(defaults) | values, indent=2)
    return before + config.translate(UNSAFE_IN_HTML) + after
