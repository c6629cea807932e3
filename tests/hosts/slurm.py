# SPDX-License-Identifier: Apache-2.0
"""Slurm over simulated machines: a controller on login, a daemon on each machine, without users,
accounts or munge.

Invariant: files are in one folder, on which the daemons' configuration alone depends (not
/etc/slurm); login's end ends the daemons. Used by jobs.py, on login.
"""
import os
import shutil
import socket
import subprocess
import tempfile
import time

import find_slurm
from find_slurm import NoSlurm

PORT = 6817
# More cores than there are, so that a small machine runs all PEs.
CONFIGURATION = """
ClusterName=simulated
SlurmctldHost=login
SlurmctldPort={port}
SlurmUser=root
AuthType=auth/none
CredType=cred/none
MailProg=/bin/true
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
SelectType=select/linear
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
SlurmdParameters=config_overrides
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool.%n
TmpFS={folder}/tmp.%n
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/%n.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/%n.log
NodeName={names} CPUs=8
PartitionName=all Nodes=ALL Default=YES OverSubscribe=FORCE
"""


class Slurm:
    def __init__(self, machines, folder):
        """`folder`: for programs that the system lacks."""
        self.installation = find_slurm.find(folder)
        self.folder = tempfile.mkdtemp(prefix="slurm-")
        self.names = [machine.name for machine in machines]
        for name in ["state", *(f"tmp.{name}" for name in self.names)]:
            os.mkdir(os.path.join(self.folder, name))
        self.file = os.path.join(self.folder, "slurm.conf")
        with open(self.file, "w", encoding="ascii") as file:
            file.write(CONFIGURATION.format(folder=self.folder, port=PORT,
                                            names=",".join(self.names)))
            file.write(self.installation.configuration())
        self.daemons = []
        self.start("slurmctld", "-D", "-f", self.file)
        self.wait_for("slurmctld", self.answers)
        for machine in machines:
            self.start(*machine.words(*self.installation.words_of_daemon(), "-D", "-N",
                                      machine.name, "-f", self.file))
        self.wait_for("the daemons on all machines", self.is_ready)

    def variables(self):
        return {"SLURM_CONF": self.file, **self.installation.variables()}

    def ask(self, *words):
        return subprocess.run(words, env={**os.environ, **self.variables()}, capture_output=True,
                              text=True, check=False)

    def protocols(self):
        """The names that srun --mpi=... takes."""
        found = self.ask("srun", "--mpi=list")
        return (found.stdout + found.stderr).split()

    def start(self, *words):
        self.daemons.append(subprocess.Popen(words, env={**os.environ, **self.variables()},
                                             stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                             stderr=subprocess.DEVNULL))

    def wait_for(self, what, condition, seconds=60):
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline or any(daemon.poll() is not None
                                                  for daemon in self.daemons):
                reason = self.last_words()
                self.end()
                raise NoSlurm(f"{what} did not start: {reason}")
            time.sleep(0.05)

    @staticmethod
    def answers():
        try:
            socket.create_connection(("login", PORT), 1).close()
        except OSError:
            return False
        return True

    def is_ready(self):
        found = self.ask("sinfo", "-h", "-N", "-o", "%N %t")
        return sorted(found.stdout.split("\n"))[1:] == [f"{name} idle"
                                                        for name in sorted(self.names)]

    def last_words(self):
        texts = []
        for name in ["slurmctld", *self.names]:
            path = os.path.join(self.folder, f"{name}.log")
            if os.path.exists(path):
                with open(path, encoding="utf-8", errors="replace") as file:
                    texts += [f"{name}: {line.strip()}" for line in file if "error" in line
                              or "fatal" in line][-2:]
        return "; ".join(texts) or "its logs say nothing"

    def end(self):
        for daemon in self.daemons:
            daemon.terminate()
        for daemon in self.daemons:
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        shutil.rmtree(self.folder, ignore_errors=True)
