"""The Ads Script with a site's values filled in."""

import json

import pytest

from ociqueue.script.ads_script import KEY_PLACEHOLDER, TEMPLATE, render_script
from tests.support.ads_script import run_under_node

HOSTILE = [
    "</script><script>alert(1)</script><!--",
    "'\"`${1}\\",
    "\u2028\u2029\r\n\x00",
    "/*END*/; throw 1; /*KILIT_CONFIG*/",
    r"\1\g<0>",
    "Türkçe 🔒",
]


@pytest.mark.parametrize("text", HOSTILE)
def test_hostile_values_stay_data(text: str) -> None:
    source = render_script(base_url=text, site_id=text, api_key=text, time_zone=text)

    run = run_under_node(f"{source}\nmain = () => Logger.log(JSON.stringify(CONFIG));")

    assert json.loads(run.logs[0]) == {
        "baseUrl": text,
        "siteId": text,
        "apiKey": text,
        "timeZone": text,
        "pageSize": 1000,
        "stopClaimingAfterSeconds": 1500,
        "giveUpAfterSeconds": 1680,
    }
    assert "<script" not in source
    assert "</" not in source


def test_only_the_configuration_is_rendered() -> None:
    source = render_script(base_url="b", site_id="s", api_key="k", time_zone="t")

    before, _, rest = TEMPLATE.read_text(encoding="utf-8").partition("/*KILIT_CONFIG*/")
    after = rest.partition("/*END*/")[2]
    assert source.startswith(before)
    assert source.endswith(after)
    assert f"const KEY_PLACEHOLDER = '{KEY_PLACEHOLDER}';" in after
