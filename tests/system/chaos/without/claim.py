"""The product's settings, without the guard of claims."""

from config.settings.server import *  # noqa: F403
from config.settings.server import INSTALLED_APPS

INSTALLED_APPS = [*INSTALLED_APPS, "tests.system.chaos.without.WithoutClaim"]
