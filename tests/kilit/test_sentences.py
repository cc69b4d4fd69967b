"""What workers store is a code with its values, shown in the reader's language; other text stays as it is."""

import pytest
from django.utils import translation

from kilit.lock.text import storable
from kilit.machine_errors import explain
from kilit.sentences import _templates, english, joined
from orchestrator import sentences

PART = sentences.OF_PART % {"part": 'P-"1"\\', "problem": sentences.NO_TRIM % {"thickness": 33}}
LOST = joined("E_7:", sentences.LEFT_INBOX % {"file": "a.xml"}, sentences.NOWHERE, "Ask {Ali}.")
STORED = {
    sentences.FINISHED: ("FINISHED{}", "Makine hepsini aldı."),
    PART: (
        r'OF_PART{"part": "P-\u00221\u0022\\", "problem": "NO_TRIM{\u0022thickness\u0022: \u002233\u0022}"}',
        'Parça P-"1"\\: 33 mm için kenar payı kuralı yok (trimByThickness).',
    ),
    LOST: (
        'E_7: LEFT_INBOX{"file": "a.xml"} NOWHERE{} Ask {Ali}.',
        (
            "E_7: a.xml artık inbox/ klasöründe değil. inbox/, processed/ ve failed/ klasörlerinin hiçbirinde yok. "
            "Kesilip kesilmediğini makinede sorun. Ask {Ali}."
        ),
    ),
    "Ayşe asked for it. Twice.": ("Ayşe asked for it. Twice.",) * 2,
    'NO_TRIM{"width": 3} UNKNOWN{} NO_TRIM{"': ('NO_TRIM{"width": 3} UNKNOWN{} NO_TRIM{"',) * 2,
}


@pytest.mark.parametrize(("text", "stored", "turkish"), [(text, *others) for text, others in STORED.items()])
def test_a_stored_sentence_is_written_in_the_readers_language(text: str, stored: str, turkish: str) -> None:
    assert storable(text) == stored
    assert english(stored) == explain(stored) == text
    with translation.override("tr"):
        assert explain(stored) == turkish
        assert english(stored) == text


def test_a_sentence_that_does_not_fit_its_column_is_stored_in_english() -> None:
    taken = sentences.TAKEN % {"files": "a.xml, b.xml"}

    assert storable(taken, 31) == 'TAKEN{"files": "a.xml, b.xml"}'
    assert storable(taken, 29) == "The saw took a.xml, b.xml."[:29]
    assert storable(taken, 12) == "The saw took"


def test_every_stored_sentence_has_a_translation_with_the_same_values() -> None:
    with translation.override("tr"):
        texts = {template: translation.gettext(template) for template in _templates.values()}

    assert [template for template, turkish in texts.items() if turkish == template] == []
