"""Normalising and hashing, with the vectors of Google's libraries."""

import hashlib
import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ociqueue.values.identifiers import HashedEmail, hash_email, hash_phone, read_hash

JANE_AT_GMAIL = "d6117306485ed0e50afab3ac871e98f81699151f30281527d63ff5f233656c69"
JANE = "c3374bcfe3572e09f37602e0e179782352c5e117a4a3767824abbaa21bbdef8b"
PHONE = "57c4176feab36c8b2d9536954c377aee3fa760184cbdb9c3a431fbc707817386"
USER = st.text(string.ascii_letters + string.digits + "._%-'", min_size=1).filter(lambda user: user.strip("."))
DOMAIN = st.sampled_from(["example.com", "Example.COM", "gmail.com", "GoogleMail.com", "müller.de"])


def sha256(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()


@pytest.mark.parametrize(
    ("email", "hashes"),
    [
        ("Jane.Doe+promo@Gmail.com", HashedEmail(JANE_AT_GMAIL, sha256("janedoe+promo@gmail.com"))),
        ("janedoe@gmail.com", HashedEmail(JANE_AT_GMAIL)),
        ("\tJane.Doe@GMAIL.com \n", HashedEmail(JANE_AT_GMAIL)),
        ("jane.doe+promo@example.com", HashedEmail(JANE)),
        (" Jane.Doe+Promo@EXAMPLE.com", HashedEmail(JANE)),
        # The same mailboxes, but Google's libraries leave the domain.
        ("Jane.D+x.y@googlemail.com", HashedEmail(sha256("janed@googlemail.com"), sha256("janed+xy@googlemail.com"))),
        ("jane@müller.de", HashedEmail(sha256("jane@müller.de"))),
    ],
)
def test_an_address_is_normalised_and_hashed(email, hashes) -> None:
    assert hash_email(email) == hashes


EMAILS = """
    jane jane@ @example.com jane@@example.com jane@a@b.com jane@exam\u200bple.com jane\x00@example.com
    İbrahim@example.com jané@example.com jane@MÜLLER.de +promo@gmail.com ...@gmail.com …
"""


@pytest.mark.parametrize(
    "phone", ["+905321234567", "+90 532 123 45 67", " +90 (532) 123-45.67 ", "+90/532/1234567", "+90\u00a0532 1234567"]
)
def test_a_phone_number_is_normalised_and_hashed(phone) -> None:
    assert hash_phone(phone) == PHONE


PHONES = """
    + 05321234567 00905321234567 905321234567 +05321234567 +90(0)5321234567 +123456 +1234567890123456 +90532123456a
    +90532+1234567 ٠٥٣٢١٢٣٤٥٦٧ +٩٠٥٣٢١٢٣٤٥٦٧ …
"""


def test_a_ready_hash_is_lowered() -> None:
    assert read_hash(f" {JANE.upper()}\n") == JANE


REFUSED = {
    hash_email: ["", "ja ne@example.com", "jane@exa\u00a0mple.com", *EMAILS.split()],
    hash_phone: ["", "+90 (0)532 123 45 67", *PHONES.split()],
    read_hash: ["", JANE[1:], f"{JANE}0", JANE[1:] + "g", "jane@example.com", sha256(""), "…"],
}


@pytest.mark.parametrize(("read", "text"), [(read, text) for read, texts in REFUSED.items() for text in texts])
def test_what_is_no_address_number_or_hash_is_refused_without_being_repeated(read, text) -> None:
    with pytest.raises(ValueError, match=r"\.$") as refusal:
        read(text)

    assert len(text) < 2 or text not in str(refusal.value)


@given(user=USER, domain=DOMAIN, blank=st.sampled_from(["", " ", "\t\r\n", "\u2003"]))
def test_case_and_white_space_around_an_address_do_not_matter(user, domain, blank) -> None:
    assert hash_email(f"{blank}{user.swapcase()}@{domain}{blank}") == hash_email(f"{user}@{domain}")


@given(
    user=USER,
    tag=st.text(string.ascii_lowercase + ".+", max_size=9),
    domain=st.sampled_from(["gmail.com", "googlemail.com"]),
)
def test_the_two_rules_differ_only_for_a_plus_at_gmail(user, tag, domain) -> None:
    name = user.replace(".", "").lower()

    plain, tagged = hash_email(f"{user}@{domain}"), hash_email(f"{user}+{tag}@{domain}")

    assert plain == HashedEmail(sha256(f"{name}@{domain}"))
    assert tagged == HashedEmail(plain.data_manager, sha256(f"{name}+{tag.replace('.', '')}@{domain}"))


@given(
    number=st.from_regex(r"[1-9][0-9]{6,14}", fullmatch=True),
    separators=st.lists(st.sampled_from(" -./\u00a0"), max_size=5),
)
def test_separators_of_a_phone_number_do_not_matter(number, separators) -> None:
    spread = "".join(digit + (separators[at] if at < len(separators) else "") for at, digit in enumerate(number))

    assert hash_phone(f"+{spread}") == sha256(f"+{number}")


@pytest.mark.parametrize("read", [hash_email, hash_phone, read_hash])
@given(text=st.text(min_size=8, max_size=80))
def test_any_text_is_hashed_or_refused_without_being_repeated(read, text) -> None:
    found, refusal = None, ""
    try:
        found = read(text)
    except ValueError as error:
        refusal = f"{error!r}"

    assert text not in refusal
    assert (
        refusal.startswith("ValueError(")
        if found is None
        else re.match("[0-9a-f]{64}$", found[0] if read is hash_email else found)
    )
