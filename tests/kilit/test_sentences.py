"""What workers store is shown in the reader's language; other text stays as it is."""

import pytest
from django.utils import translation

from kilit.machine_errors import explain
from kilit.sentences import _templates
from orchestrator import sentences

PART = sentences.OF_PART % {"part": "P-1", "problem": sentences.NO_TRIM % {"thickness": "33"}}
STORED = {
    sentences.FINISHED: "Makine hepsini aldı.",
    PART: "Parça P-1: 33 mm için kenar payı kuralı yok (trimByThickness).",
    f"{sentences.LEFT_INBOX % {'file': 'a.xml'}} {sentences.NOWHERE}": (
        "a.xml artık inbox/ klasöründe değil. inbox/, processed/ ve failed/ klasörlerinin hiçbirinde yok. "
        "Kesilip kesilmediğini makinede sorun."
    ),
    "Ayşe asked for it. Twice.": "Ayşe asked for it. Twice.",
}


@pytest.mark.parametrize(("stored", "turkish"), STORED.items())
def test_a_stored_sentence_is_written_in_the_readers_language(stored: str, turkish: str) -> None:
    assert explain(stored) == stored
    with translation.override("tr"):
        assert explain(stored) == turkish


def test_every_stored_sentence_has_a_translation_with_the_same_values() -> None:
    with translation.override("tr"):
        texts = {template: translation.gettext(template) for template in _templates}

    assert [template for template, turkish in texts.items() if turkish == template] == []
