"""The server's settings for the runner and the simulator of `make up`, which need the tables of cutting jobs alone."""

from config.runner.apps import TABLES
from config.settings.server import *

INSTALLED_APPS = TABLES
