from django.core.management.base import BaseCommand, CommandParser

from kilit.access.lockout import unlock
from kilit.access.second_factor import forget_wrong_codes


class Command(BaseCommand):
    help = "Ends the lockout of a username, after wrong passwords or wrong codes, from all addresses."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("username")

    def handle(self, *args: object, **options: str) -> None:
        unlock(options["username"])
        forget_wrong_codes(options["username"])
        self.stdout.write(f"{options['username']} can log in again.")
