"""The runner as a Windows service, with pywin32; only Windows imports this module.

Windows starts `python.exe -m config.runner.service`. pywin32's own pythonservice.exe does not find the packages of a
virtual environment.
"""

import getpass
import sys
import threading

import servicemanager
import win32service
import win32serviceutil

from config.runner.main import run_until, set_up

STOPS_WITHIN = 30_000  # milliseconds


class RunnerService(win32serviceutil.ServiceFramework):
    _svc_name_ = "KilitRunner"
    _svc_display_name_ = "Kilit runner"
    _svc_description_ = "Works Kilit's cutting jobs: sheets for OptiPlanning, solutions for the saw."
    _exe_name_ = sys.executable
    _exe_args_ = "-m config.runner.service"

    def __init__(self, arguments: list[str]) -> None:
        super().__init__(arguments)
        self.stop = threading.Event()

    def SvcStop(self) -> None:
        self.ReportServiceStatus(win32service.SERVICE_STOP_PENDING, waitHint=STOPS_WITHIN)
        self.stop.set()

    SvcShutdown = SvcStop

    def SvcDoRun(self) -> None:
        try:
            set_up()
            run_until(self.stop)
        except Exception as error:
            servicemanager.LogErrorMsg(f"Kilit runner: {error}")  # the Event Viewer, as there may be no log file
            raise


def control(verb: str, *, account: str | None = None) -> int:
    """Install, start, stop or remove the service; return an exit code."""
    options = ["--startup", "auto"] if verb == "install" else []
    if account:
        options += ["--username", account, "--password", getpass.getpass(f"Password of {account}: ")]
    name = f"{RunnerService.__module__}.{RunnerService.__name__}"
    return int(win32serviceutil.HandleCommandLine(RunnerService, name, ["kilit-runner", *options, verb]) or 0)


if __name__ == "__main__":
    servicemanager.Initialize()
    servicemanager.PrepareToHostSingle(RunnerService)
    servicemanager.StartServiceCtrlDispatcher()
