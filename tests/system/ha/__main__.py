"""`make ha`: rounds of failovers and switchovers by a seed; exit 1 when anything acknowledged was lost or doubled."""

import argparse
import json
import logging
import os
import random
import sys
from pathlib import Path
from typing import Any

from tests.support.commands import free_port
from tests.system.chaos import world as worlds
from tests.system.ha import keeper, packages, report
from tests.system.ha.cluster import Cluster, Daemons
from tests.system.ha.pooling import Pooling
from tests.system.ha.schedule import schedule
from tests.system.ha.stage import SERVICES, Machines

MACHINES = 2
BUCKET, REGION = "kilit-ha", "eu-central-1"
# How much of everything else there is beside the writers' rows, as in a chaos run of so many seconds.
MEASURE = 16.0
# Orders whose solution never comes must not fill the minute of a round.
RULES = {"retry_count_max": 1, "timeouts": {"optiXmlMinutes": 0.1, "osiAckMinutes": 0.1}}


def read_arguments() -> argparse.Namespace:
    """Read what is asked."""
    parser = argparse.ArgumentParser(prog="python -m tests.system.ha", description=__doc__)
    parser.add_argument("--seed", type=int, default=random.randrange(10_000), help="repeats the rounds of a run")
    parser.add_argument("--rounds", type=int, default=10)
    parser.add_argument("--keep", action="store_true", help="leave the folder of the run, with its logs")
    return parser.parse_args()


def tell(text: str) -> None:
    """Print at once: a run takes minutes."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def start_store() -> tuple[Any, dict[str, str]]:
    """Start an S3 server in this process, make a bucket, and return the environment for it."""
    import boto3
    from moto.server import ThreadedMotoServer

    store = ThreadedMotoServer(ip_address="127.0.0.1", port=0, verbose=False)
    logging.getLogger("werkzeug").setLevel(logging.WARNING)
    store.start()
    address = "http://{}:{}".format(*store.get_host_and_port())
    login = {"AWS_ACCESS_KEY_ID": "ha", "AWS_SECRET_ACCESS_KEY": "ha"}
    os.environ.update(login)
    client = boto3.client("s3", endpoint_url=address, region_name=REGION)
    client.create_bucket(Bucket=BUCKET, CreateBucketConfiguration={"LocationConstraint": REGION})
    return store, {
        **login,
        "KILIT_S3_BUCKET": BUCKET,
        "KILIT_S3_ENDPOINT": address,
        "KILIT_S3_REGION": REGION,
    }


def start_database(folder: Path) -> tuple[Cluster, list[Pooling]]:
    """Start both servers, and each machine's way to them."""
    database = folder / "database"
    database.mkdir()
    database.chmod(0o711)
    cluster = Cluster(Daemons(database))
    cluster.start()
    poolings = [Pooling(cluster, number + 1) for number in range(MACHINES)]
    for pooling in poolings:
        pooling.start()
    return cluster, poolings


def run(asked: argparse.Namespace, folder: Path) -> int:
    """Start everything, play the rounds, and print what was found."""
    from simulators.datamanager.server import DataManagerServer
    from simulators.googleads.server import GoogleAdsServer
    from simulators.webhooks.receiver import WebhookReceiver

    tell(f"ha: seed {asked.seed}, {folder}")
    worlds.mount_disks(folder)
    google, data_manager = GoogleAdsServer(folder).start(), DataManagerServer().start()
    receiver = WebhookReceiver([worlds.SECRET]).start()
    store, files = start_store()
    cluster, poolings = start_database(folder)
    simulated = {**data_manager.environment, **google.environment, **files}
    ports = [free_port() for _ in poolings]
    environment = worlds.environment(folder, port=ports[0], settings="config.settings.server", google=simulated)
    os.environ.clear()
    os.environ.update({**environment, "DATABASE_URL": poolings[0].direct_url})
    by_machine = [
        {"DATABASE_URL": pooling.url, "PORT": str(port)} for pooling, port in zip(poolings, ports, strict=True)
    ]
    stage = Machines(environment, folder / "logs", by_machine=by_machine)
    try:
        import django

        django.setup()
        from tests.system.ha.rounds import Play

        world = worlds.furnish(folder, seed=asked.seed, port=ports[0], seconds=MEASURE, receiver=receiver)
        world = prepare(folder, world, ports)
        stage.start(*SERVICES)
        for port in ports:
            stage.wait_for(f"http://127.0.0.1:{port}/readyz")
        play = Play(asked.seed, folder, world, cluster, stage, BUCKET, google, data_manager, receiver)
        return play_rounds(asked, play)
    finally:
        stage.stop()
        cluster.stop()
        for server in (google, data_manager, receiver, store):
            server.stop()


def prepare(folder: Path, world: dict[str, Any], ports: list[int]) -> dict[str, Any]:
    """Let clients know both web servers, and the factory wait less."""
    world = {**world, "ports": ports}
    (folder / "world.json").write_text(json.dumps(world))
    rules = folder / "rules.json"
    rules.write_text(json.dumps({**json.loads(rules.read_text()), **RULES}))
    return world


def play_rounds(asked: argparse.Namespace, play: Any) -> int:
    """Play the rounds, each reported when it is over; the table comes last, also when a round cannot be finished."""
    rounds: list[report.Round] = []
    try:
        for number, turn in enumerate(schedule(asked.seed, asked.rounds), start=1):
            tell(f"ha: round {number} of {asked.rounds}: a {turn.kind} after {turn.before:.1f} s")
            one = play.play(turn)
            rounds.append(one)
            tell(f"ha: {one.seconds:.0f} s, {one.silence:.1f} s of silence, {len(one.violations)} violations")
            for text in one.violations[: report.MOST_SHOWN]:
                tell(f"  {text}")
    finally:
        if rounds:
            tell(report.table(asked.seed, rounds))
    return int(report.is_broken(rounds))


def main() -> int:
    """Run, check, tell."""
    asked = read_arguments()
    os.environ["GRPC_ENABLE_FORK_SUPPORT"] = "0"  # processes are started while the servers' threads run
    packages.ensure()
    return keeper.keep(lambda folder: run(asked, folder), keep_folder=asked.keep)


if __name__ == "__main__":
    sys.exit(main())
