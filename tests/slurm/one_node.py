"""A SLURM cluster of one node: munge, slurmctld and slurmd on this machine, without systemd and without a database.

    python tests/slurm/one_node.py start FOLDER    # as root, with Debian's slurm-wlm and munge
    python tests/slurm/one_node.py stop FOLDER

Nothing is written to /etc: slurmd gets its configuration from slurmctld, and offers it to commands in /run/slurm. The
node has two GPUs in name only, and says that it has more processors than it may have, so that some jobs run at a time.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

PROGRAMS = ("slurmctld", "slurmd", "sbatch", "srun", "squeue", "munged")
GPU, CORES, MEMORY = "a100-sxm4-80gb", 8, 64_000  # of the node, in name: jobs of the tests ask for more than they use
SECONDS_TO_START = 60
MUNGE_FOLDERS = (("/run/munge", 0o755), ("/var/log/munge", 0o700), ("/var/lib/munge", 0o711))

CONFIGURATION = """\
ClusterName=one_node
SlurmctldHost={host}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
SlurmctldParameters=enable_configless
SlurmdParameters=config_overrides
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
# A requeued job waits until its credential has expired, by default two minutes.
AuthInfo=cred_expire=5
CryptoType=crypto/munge
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
# Without control groups only this holds jobs to their memory.
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=batch_sched_delay=0,sched_interval=2,bf_interval=2
ReturnToService=2
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
# Nothing but squeue tells how a job ended: it must remember.
AccountingStorageType=accounting_storage/none
MinJobAge=3600
KillWait=10
OverTimeLimit=0
GresTypes=gpu
NodeName={host} NodeAddr=127.0.0.1 CPUs={cores} CoresPerSocket={cores} RealMemory={memory} Gres=gpu:{gpu}:2
PartitionName=cpu Nodes={host} Default=YES MaxTime=24:00:00 DefMemPerCPU=500 State=UP
PartitionName=gpu Nodes={host} MaxTime=24:00:00 DefMemPerCPU=500 State=UP
"""
DEVICES = "NodeName={host} Name=gpu Type={gpu} File=/dev/null,/dev/zero\n"
GROUPS = "CgroupPlugin=cgroup/v1\nCgroupAutomount=no\n"


def obstacle() -> str | None:
    """Why no cluster can be started here; None if one can."""
    if absent := [program for program in PROGRAMS if shutil.which(program, path=_path()) is None]:
        return f"there is no {' and no '.join(absent)}; on Debian: apt-get install slurm-wlm munge"
    if os.geteuid() != 0:
        return "SLURM's daemons are started by root alone"
    if Path("/etc/slurm/slurm.conf").exists():
        return "this machine belongs to a cluster (/etc/slurm/slurm.conf), which the tests leave alone"
    if running := subprocess.run(["pgrep", "-x", "slurmd|slurmctld"], capture_output=True, text=True).stdout.split():
        return f"a SLURM daemon runs here already (process {', '.join(running)}); stop it"
    return None


def start(folder: Path) -> None:
    """Start the daemons and wait until the node takes jobs.

    Args:
        folder: Where they keep logs, states and process ids; written anew.

    Raises:
        RuntimeError: If a daemon ends, or the node is not idle in time; with the end of the logs.
    """
    shutil.rmtree(folder, ignore_errors=True)
    _forget_configuration()  # of daemons that were killed
    for part in ("state", "spool"):
        (folder / part).mkdir(parents=True)
    host = socket.gethostname().partition(".")[0]
    ports = dict(zip(("controller_port", "node_port"), _free_ports(2), strict=True))
    settings = {"host": host, "folder": folder, "cores": CORES, "memory": MEMORY, "gpu": GPU, **ports}
    for name, text in (("slurm", CONFIGURATION), ("gres", DEVICES), ("cgroup", GROUPS)):
        (folder / f"{name}.conf").write_text(text.format(**settings))
    try:
        _start_munge(folder)
        controller = {**_environment(), "SLURM_CONF": str(folder / "slurm.conf")}
        _call(["slurmctld"], controller)
        address = f"127.0.0.1:{ports['controller_port']}"
        _wait(lambda: _answers(ports["controller_port"]), "slurmctld does not answer", folder)
        _call(["slurmd", "-N", host, "--conf-server", address], _environment())
        _wait(lambda: _state() == "idle", "the node takes no jobs", folder)
    except BaseException:
        stop(folder)
        raise


def stop(folder: Path) -> None:
    """Cancel all jobs and stop the daemons that ``start`` started."""
    if (folder / "slurmd.pid").exists():
        subprocess.run(["scancel", "--full", "--user=root"], env=_environment(), capture_output=True)
        with suppress(RuntimeError):
            _wait(lambda: not _output(["squeue", "-h"]), "jobs do not end", folder, seconds=20)
    for name in ("slurmd", "slurmctld", "munged"):
        _stop(folder / f"{name}.pid")
    _forget_configuration()


def _forget_configuration() -> None:
    """Remove what slurmd offers to commands: a link to its spool, or a folder."""
    with suppress(OSError):
        Path("/run/slurm/conf").unlink()
    shutil.rmtree("/run/slurm/conf", ignore_errors=True)


def _start_munge(folder: Path) -> None:
    """Start munge, unless it runs; its key is made by Debian's package, or here."""
    if _munge_works():
        return
    for path, mode in MUNGE_FOLDERS:
        subprocess.run(["install", "-d", "-o", "munge", "-g", "munge", "-m", f"{mode:o}", path], check=True)
    key = Path("/etc/munge/munge.key")
    if not key.exists():
        _call(["mungekey", "--create", f"--keyfile={key}"], _environment())
        shutil.chown(key, "munge", "munge")
    running = Path("/run/munge/munged.pid")
    _call(["runuser", "-u", "munge", "--", "munged", f"--pid-file={running}"], _environment())
    _wait(_munge_works, "munge does not answer", folder)
    shutil.copy(running, folder / "munged.pid")


def _munge_works() -> bool:
    return subprocess.run("munge -n | unmunge", shell=True, capture_output=True).returncode == 0


def _answers(port: int) -> bool:
    with socket.socket() as asked:
        return asked.connect_ex(("127.0.0.1", port)) == 0


def _state() -> str:
    return _output(["sinfo", "-h", "-p", "cpu", "-o", "%t"])


def _output(command: list[str]) -> str:
    return subprocess.run(command, capture_output=True, text=True, env=_environment()).stdout.strip()


def _free_ports(count: int) -> list[int]:
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def _path() -> str:
    return f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin"


def _environment() -> dict[str, str]:
    """The environment without what another cluster may have left in it."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("SLURM_", "SBATCH_", "SRUN_"))}
    return {**kept, "PATH": _path()}


def _call(command: list[str], environment: dict[str, str]) -> None:
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} ended with {done.returncode}: {done.stdout}{done.stderr}")


def _wait(condition: Callable[[], bool], complaint: str, folder: Path, seconds: float = SECONDS_TO_START) -> None:
    until = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > until:
            logs = "\n".join(path.read_text(errors="replace")[-1500:] for path in sorted(folder.glob("*.log")))
            raise RuntimeError(f"{complaint} after {seconds:.0f} s:\n{logs}")
        time.sleep(0.2)


def _stop(file: Path) -> None:
    """Ask the process whose number a file holds to end, and wait until it has."""
    if not file.exists():
        return
    number = int(file.read_text())
    with suppress(ProcessLookupError):
        os.kill(number, 15)
        until = time.monotonic() + 20
        while time.monotonic() < until:
            os.kill(number, 0)
            time.sleep(0.1)
        os.kill(number, 9)
    file.unlink(missing_ok=True)


if __name__ == "__main__":
    action, place = sys.argv[1:]
    if action == "start" and (reason := obstacle()):
        raise SystemExit(f"no cluster can be started: {reason}.")
    {"start": start, "stop": stop}[action](Path(place).resolve())
