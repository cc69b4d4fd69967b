"""The committed OpenAPI document; after a change run `manage.py spectacular --file docs/openapi.yaml`."""

from drf_spectacular.drainage import GENERATOR_STATS
from drf_spectacular.generators import SchemaGenerator
from drf_spectacular.renderers import OpenApiYamlRenderer

from kilit.api.pages import ONE_AT_A_TIME
from tests.support.commands import ROOT


def test_it_is_the_one_that_the_code_makes_without_a_warning() -> None:
    with ONE_AT_A_TIME:
        GENERATOR_STATS.reset()
        with GENERATOR_STATS.silence():
            made = SchemaGenerator().get_schema(request=None, public=True)
        complaints = [*GENERATOR_STATS._warn_cache, *GENERATOR_STATS._error_cache]
        GENERATOR_STATS.reset()

    assert complaints == []
    assert OpenApiYamlRenderer().render(made, renderer_context={}).decode() == (ROOT / "docs/openapi.yaml").read_text()
