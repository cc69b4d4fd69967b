"""The tenancy walk as a command: it opens every page and operation as everyone, and names what leaks.

With --write, the table of who may open what in docs/security.md becomes what was found.
"""

import os
import sys

import pytest

TESTS = "tests/security/test_tenancy.py"


def main() -> int:
    if "--write" in sys.argv[1:]:
        os.environ["KILIT_WRITE_TENANCY_TABLE"] = "1"
    return pytest.main(["-q", "-p", "no:cacheprovider", "--show-capture=no", "-m", "nightly", TESTS])


if __name__ == "__main__":
    sys.exit(main())
