"""OptiPlanning as a quick program that notes when it ran, and whether another one ran beside it.

`python exclusive_program.py LOG EXPORT SECONDS FILE…`
"""

import os
import sys
import time
from pathlib import Path

log, export, seconds = Path(sys.argv[1]), Path(sys.argv[2]), float(sys.argv[3])
job = Path(sys.argv[4]).name[:36]
lock = log.with_suffix(".lock")


def note(word: str) -> None:
    with log.open("a") as file:
        file.write(f"{word} {time.time()} {job}\n")


note("began")
try:
    os.close(os.open(lock, os.O_CREAT | os.O_EXCL))
except FileExistsError:
    note("overlap")
time.sleep(seconds)
(export / f"{job}.xml").write_text('<Solutions><Solution best="1" patterns="2"/></Solutions>')
lock.unlink(missing_ok=True)
note("ended")
