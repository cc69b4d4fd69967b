"""The Google Ads Script of a site, ready to be pasted."""

import json
from pathlib import Path

# Keys are shown once, so the console passes this where a key belongs, and the script refuses to run with it.
KEY_PLACEHOLDER = "PASTE-YOUR-KEY-HERE"

TEMPLATE = Path(__file__).with_name("kilit_offline_conversions.js")
CONFIG_STARTS, CONFIG_ENDS = "/*KILIT_CONFIG*/", "/*END*/"
# A page may show the script inside HTML, where these would end an element or begin one. JSON allows the escapes.
UNSAFE_IN_HTML = str.maketrans({"<": r"\u003c", ">": r"\u003e", "&": r"\u0026"})


def render_script(*, base_url: str, site_id: str, api_key: str, time_zone: str) -> str:
    """Return the script with a site's values in its CONFIG."""
    before, _, rest = TEMPLATE.read_text(encoding="utf-8").partition(CONFIG_STARTS)
    defaults, _, after = rest.partition(CONFIG_ENDS)
    values = {"baseUrl": base_url, "siteId": site_id, "apiKey": api_key, "timeZone": time_zone}
    config = json.dumps(json.loads(defaults) | values, indent=2)
    return before + config.translate(UNSAFE_IN_HTML) + after
