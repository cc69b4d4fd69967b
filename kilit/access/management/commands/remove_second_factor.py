"""`manage.py remove_second_factor NAME`: for a superuser who has lost it, and whom no other superuser can help."""

from argparse import ArgumentParser

from django.contrib.auth.models import User
from django.core.management.base import BaseCommand, CommandError

from kilit.access.second_factor import remove_all


class Command(BaseCommand):
    help = "Remove the second factor of a user, who can then log in with the password alone."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("username")

    def handle(self, *args: object, **options: object) -> None:
        name = options["username"]
        user = User.objects.filter(username=name).first()
        if user is None:
            raise CommandError(f"There is no user {name}.")
        # No one is logged in here: the history has it under the user's own name.
        if remove_all(user, [user]):
            self.stdout.write(f"Removed the second factor of {name}.")
        else:
            self.stdout.write(f"{name} has no second factor.")
