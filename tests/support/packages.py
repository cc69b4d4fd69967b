"""The product's packages, as pyproject.toml lists them: rules of the house hold for each."""

import tomllib

from tests.support.commands import ROOT

# With the simulators, and without them.
PACKAGES: list[str] = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["coverage"]["run"]["source"]
PRODUCT = [name for name in PACKAGES if name != "simulators"]
