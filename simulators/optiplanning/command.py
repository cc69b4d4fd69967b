"""`python -m simulators.optiplanning`: simulates OptiPlanning and the saw in the configured folders."""

import re
import signal
import time
from decimal import Decimal
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

from django.core.management.base import BaseCommand, CommandError, CommandParser

from kilit.lock.management.arguments import whole_number
from kilit.workers.processes import die_with_parent
from orchestrator.errors import JobError
from orchestrator.folders import Folders, folder_errors
from orchestrator.models import Job
from orchestrator.planning.rules import current_rules
from simulators.optiplanning.play import BOARD, JOB_ID, OPTI_FAULTS, SAW_FAULTS, solve

LOOK_EVERY = 0.5  # seconds
AN_HOUR = 3600
FIRST_DELIVERY = "_a1"
SAW_REQUEST = re.compile(rb'<Simulator saw="([a-z-]+)"')


class Command(BaseCommand):
    requires_system_checks = ()  # they would load the console
    help = (
        "Simulate OptiPlanning (sheets in the import folder become a solution in the export folder) and the saw "
        "(inbox/ to processed/) until Ctrl-C. sim:NAME in description 1 of a sheet requests a fault, whatever the "
        f"arguments are; NAME is one of {', '.join(OPTI_FAULTS)}, and for the saw "
        f"{', '.join(f'saw-{name}' for name in SAW_FAULTS)}."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        seconds = whole_number(least=0, most=AN_HOUR)
        parser.add_argument("--only", choices=("opti", "saw"), help="simulate only one of them")
        parser.add_argument(
            "--modes", help="solve only sheets of jobs in these modes, for example BC; asks the database"
        )
        parser.add_argument("--opti-delay", type=seconds, default=2, help="seconds until a sheet is solved")
        parser.add_argument("--opti-fault", choices=OPTI_FAULTS, help="what goes wrong at OptiPlanning")
        parser.add_argument("--saw-delay", type=seconds, default=1, help="seconds until the saw answers")
        parser.add_argument("--saw-fault", choices=SAW_FAULTS, help="what goes wrong at the saw")
        parser.add_argument("--late", type=seconds, default=600, help="seconds until a late saw answers")
        parser.add_argument(
            "--job", metavar="ID", help="start OptiPlanning on this job's sheets now, even a second time"
        )
        parser.add_argument("--once", action="store_true", help="look once, then exit")

    def handle(self, *args: object, **options: Any) -> None:
        die_with_parent()
        # A shell that starts it in the background makes it ignore Ctrl-C.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        folders = Folders.from_settings()
        folders.prepare()
        simulator = Simulator(folders, options, write=self.stdout.write)
        try:
            if options["job"]:
                simulator.start_by_hand(options["job"])
                return
            simulator.look()
            while not options["once"]:
                time.sleep(LOOK_EVERY)
                simulator.look()
        except JobError as error:
            raise CommandError(error.message) from None
        except KeyboardInterrupt:
            return


class Simulator:
    """Both machines. All state is in the folders, so the simulator can be stopped and started at any time."""

    def __init__(self, folders: Folders, options: dict[str, Any], *, write: Any) -> None:
        self.folders, self.options, self.write = folders, options, write
        self.tried: set[tuple[str, float]] = set()  # a simulated fault happens once per job

    def look(self) -> None:
        with folder_errors(self.folders.imports):
            if self.options["only"] != "saw":
                self._optimise()
        for folders in self.folders.at_each_saw() if self.options["only"] != "opti" else ():
            with folder_errors(folders.saw):
                self._cut(folders)

    def start_by_hand(self, job: str) -> None:
        """Solve one job's sheets, like an operator who opens them in OptiPlanning."""
        sheets = [sheet for sheet in self._sheets() if sheet.name.startswith(f"{job}_")]
        if not sheets:
            raise CommandError(f"No sheet of {job} in {self.folders.imports}.")
        self._solve(job, sheets)

    def _sheets(self) -> list[Path]:
        return sorted(path for path in self.folders.imports.glob("*.xlsx") if JOB_ID.match(path.name))

    def _optimise(self) -> None:
        jobs: dict[str, list[Path]] = {}
        for sheet in self._sheets():
            jobs.setdefault(sheet.name[:36], []).append(sheet)
        for job, sheets in jobs.items():
            written_at = max(sheet.stat().st_mtime for sheet in sheets)
            solved = any(xml.stat().st_mtime >= written_at for xml in self.folders.export.glob(f"{job}*.xml"))
            due = time.time() - written_at >= self.options["opti_delay"]
            if due and not solved and (job, written_at) not in self.tried:
                self.tried.add((job, written_at))
                if self._is_ours(job):
                    self._solve(job, sheets)

    def _is_ours(self, job: str) -> bool:
        """Leave sheets of mode A to its command: the simulator would be faster, and the command never run."""
        modes = self.options["modes"]
        return not modes or Job.objects.filter(pk=job, opti_mode__in=modes).exists()

    def _plate(self, job: str) -> tuple[Decimal, Decimal]:
        """Return the plate of the order: the operator, or the macro, tells OptiPlanning which one to take."""
        plate = Job.objects.filter(pk=job).values_list("plate_size", flat=True).first()
        if not plate:
            return BOARD
        short, long = sorted(Decimal(side) for side in plate.values())
        return long, short

    def _solve(self, job: str, sheets: list[Path]) -> None:
        try:
            each_sheet = current_rules().xml_expected == "batch"
            board = self._plate(job)
            fault = self.options["opti_fault"]
            written = solve(sheets, self.folders.export, fault=fault, each_sheet=each_sheet, board=board)
        except (BadZipFile, ValueError, KeyError, ArithmeticError) as error:
            self.write(f"OptiPlanning cannot read the sheets of {job}: {error}")
            return
        except SystemExit as crash:
            self.write(f"OptiPlanning crashed on {job}: {crash.code}")
            return
        for path in written:
            self.write(f"OptiPlanning wrote {path.name}.")

    def _cut(self, folders: Folders) -> None:
        for path in sorted(folders.inbox.glob("*.xml")):
            try:
                rest = time.time() - path.stat().st_mtime
                request = SAW_REQUEST.search(path.read_bytes())
                fault = request[1].decode() if request else self.options["saw_fault"]
                if fault == "mute" or rest < self.options["late" if fault == "late" else "saw_delay"]:
                    continue
                if fault == "lost" and FIRST_DELIVERY in path.name:
                    path.unlink()
                    self.write(f"The saw lost {path.name}.")
                    continue
                path.replace((folders.failed if fault == "failed" else folders.processed) / path.name)
            except FileNotFoundError:
                continue  # withdrawn in the meantime
            self.write(f"The saw {'refused' if fault == 'failed' else 'took'} {path.name}.")
