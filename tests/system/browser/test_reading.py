"""What a screen reader finds on a job's page: headings and sentences in the order of the page, and no icons."""

from playwright.sync_api import Page, expect

from tests.support.browsing import open_page
from tests.support.console_pages import places

CONVERSION = r"""
- main:
  - paragraph:
    - link "Conversions"
  - heading /^demo-\d+$/ [level=2]
  - paragraph:
    - text: "State: Failed FAILED"
    - link "Ege Mobilya (demo)"
    - text: /less than a minute old/
  - textbox "Reason (optional)"
  - button "Retry"
  - group: More
  - group: "State diagram. Current state: Failed."
  - region "The script's upload failed UPLOAD_EXCEPTION":
    - heading "The script's upload failed UPLOAD_EXCEPTION" [level=2]
    - text: Bulk upload is not available right now.
    - heading "What to do" [level=3]
    - list:
      - listitem: Failed. It will not be retried automatically.
      - listitem: Google Ads stopped the upload of the script.
      - listitem: Retry when Google works again.
    - paragraph: "Whose turn: an operator"
    - button "Retry"
  - region "Timeline":
    - heading "Timeline" [level=2]
    - list:
      - listitem:
        - paragraph: "Failed, as reported by demo New state: Failed"
        - text: "The script's upload failed UPLOAD_EXCEPTION: Bulk upload is not available right now."
      - listitem:
        - paragraph: "Claimed by demo · attempt 1 New state: Being sent"
      - listitem:
        - paragraph: "Added by demo New state: Waiting"
  - complementary "Facts"
"""
HELD = """
- main:
  - heading "DEMO-1004" [level=2]
  - paragraph: "/State: Needs approval HOLD/"
  - button "Add +90 536 000 11 22 as customer and continue"
  - region "Customer unknown E_CRM_NO_MATCH":
    - heading "What to do" [level=3]
    - list:
      - listitem: /No customer has this phone number/
      - listitem: /Add the customer/
  - region "Timeline":
    - list:
      - listitem:
        - paragraph: "/^Held until an operator approves( · 1?[0-9] seconds? later)? New state: Needs approval$/"
      - listitem:
        - paragraph: "Ordered by demo New state: New"
"""
ICONS = """() => [...document.querySelectorAll("main .material-symbols-outlined")]
  .filter((icon) => !icon.closest("[aria-hidden=true]")).map((icon) => icon.outerHTML)"""


def read(page: Page, tree: str) -> None:
    expect(page.locator("body")).to_match_aria_snapshot(tree)
    assert page.evaluate(ICONS) == []


def test_the_page_of_a_job_reads_as_sentences(visitor, house) -> None:
    page = visitor.enter("demo-operator")

    read(open_page(page, places(house)["conversion"]), CONVERSION)
    read(open_page(page, places(house)["cutting-job"]), HELD)
