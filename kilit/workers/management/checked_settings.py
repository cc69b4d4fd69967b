"""The system checks of commands that show no pages: settings only."""

# The tag of the checks of Kilit's own settings. Django's checks of admins and addresses load every page of the console,
# which takes half a second and memory that a worker's supervisor or a runner never needs again.
SETTINGS = "settings"
