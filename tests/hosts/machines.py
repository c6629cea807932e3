#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Simulated machines: jobs over several of them on one, for tests and `./mesh demo --hosts`.

    machines.py NAME... -- COMMAND    runs the command where mpirun and prterun reach the named
                                      machines

A machine is a set of namespaces (network, processes, shared memory, name) with an interface eth0
and a /dev/shm of its own. The command runs on one more, *login*, whose bridge joins the others. The
file system is this machine's. Invariant: everything is inside login's namespaces. Nothing has a
name outside, so runs do not collide; and when login's first process ends, in whatever way, the
kernel takes away processes, interfaces and memory of all machines. Files are in a folder that goes
with them.
"""
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile

SKIPPED = 77
LOGIN = ["--net", "--uts", "--ipc", "--mount", "--pid", "--fork", "--kill-child", "--mount-proc"]
# Marks a program that is on login already.
ON_LOGIN = "SIMULATED_LOGIN"
# NAME=PID of each machine's first process: where ssh.sh looks.
TABLE = "SIMULATED_MACHINES"
SSH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "ssh.sh")
NETWORK = "10.9.0"
# Launchers' pools of launching threads hang now and then.
CALM = {"OMPI_MCA_odls_base_num_threads": "0", "PRTE_MCA_odls_base_num_threads": "0"}
# /sys shows the interfaces of the namespace that mounts it, and its control groups are to stay:
# libraries count cores there.
FIRST_PROCESS = """
hostname {name} && mount -t tmpfs -o size=50% tmpfs /dev/shm || exit 1
mkdir /dev/shm/cgroup && mount --rbind /sys/fs/cgroup /dev/shm/cgroup &&
  mount -t sysfs sysfs /sys &&
  mount --rbind /dev/shm/cgroup /sys/fs/cgroup && umount -l /dev/shm/cgroup
rmdir /dev/shm/cgroup && echo ready
exec >/dev/null 2>&1
while :; do sleep 1000 & wait; done
"""


class NoMachines(Exception):
    """Why there are none here, in a line."""


def call(*words, given=""):
    try:
        subprocess.run(words, check=True, input=given.encode(), capture_output=True, timeout=60)
    except FileNotFoundError as error:
        raise NoMachines(f"{words[0]} is not installed (iproute2, util-linux)") from error
    except subprocess.CalledProcessError as error:
        text = error.stderr.decode(errors="replace").strip().splitlines()
        raise NoMachines(f"{' '.join(words)}: {'; '.join(text) or error}") from error


def namespace_of(pid):
    try:
        return os.readlink(f"/proc/{pid}/ns/pid")
    except OSError:
        return None


class Machine:
    def __init__(self, name, number):
        self.name, self.number, self.ip_address = name, number, f"{NETWORK}.{10 + number}"
        self.daemons = set()  # pids of a launcher's, which stay between jobs
        self.start()

    def start(self):
        words = ["unshare", *LOGIN, "sh", "-c", FIRST_PROCESS.format(name=self.name)]
        self.holder = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE)
        if self.holder.stdout.readline() != b"ready\n":
            raise NoMachines(f"machine {self.name}: "
                             f"{self.holder.stderr.read().decode(errors='replace').strip()}")
        with open(f"/proc/{self.holder.pid}/task/{self.holder.pid}/children",
                  encoding="ascii") as file:
            self.pid = int(file.read().split()[0])
        self.namespace = namespace_of(self.pid)
        port = f"port{self.number}"
        # A killed machine's end of the cable, until the kernel gets around to removing it.
        subprocess.run(["ip", "link", "delete", port], capture_output=True, timeout=60, check=False)
        # The same addresses each time, since others remember them. (A bridge without one takes a
        # port's.)
        peer = f"name eth0 address 02:00:00:00:00:{10 + self.number} netns {self.pid}"
        call("ip", "-batch", "-",
             given=f"link add {port} type veth peer {peer}\nlink set {port} master bridge up\n")
        self.ip("link set lo up", f"address add {self.ip_address}/24 dev eth0", "link set eth0 up")

    def words(self, *words):
        """The words of a command that runs these words here."""
        return ["nsenter", "-t", str(self.pid), "-n", "-u", "-i", "-m", "-p", "--", *words]

    def ip(self, *commands):
        """As in ip("link set eth0 down")."""
        call("nsenter", "-t", str(self.pid), "-n", "ip", "-batch", "-",
             given="\n".join(commands) + "\n")

    def processes(self):
        """The processes that run here, as pids of login, without the first one, its sleep and
        launchers' daemons that stay."""
        pids = {int(name) for name in os.listdir("/proc") if name.isdigit()} - {
            self.pid} - self.daemons
        return [pid for pid in pids if namespace_of(pid) == self.namespace
                and self.is_of_a_job(pid)]

    @staticmethod
    def is_of_a_job(pid):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                name, rest = re.fullmatch(r"\d+ \((.*)\) (.*)", file.read().strip(),
                                          re.DOTALL).groups()
        except OSError:
            return False
        return rest[0] != "Z" and name not in ("sleep", "slurmd")

    def shared_memory(self):
        return os.listdir(f"/proc/{self.pid}/root/dev/shm")

    def kill(self):
        """As a machine that loses its power: all at once."""
        os.kill(self.pid, signal.SIGKILL)
        self.holder.wait()
        self.holder.stdout.close()
        self.holder.stderr.close()


class Machines:
    """Those with the given names; made once by a program on login."""

    def __init__(self, names):
        call("hostname", "login")
        call("ip", "-batch", "-",
             given="link set lo up\nlink add bridge address 02:00:00:00:00:01 type bridge\n"
                                        f"address add {NETWORK}.1/24 dev bridge\nlink set bridge "
             "up\n")
        addresses = {"login": 1, **{name: 10 + number for number, name in enumerate(names, 1)}}
        self.tell_names({name: f"{NETWORK}.{end}" for name, end in addresses.items()})
        self.all = {name: Machine(name, number) for number, name in enumerate(names, 1)}

    @staticmethod
    def tell_names(addresses):
        """Machines find each other, and login, by name: some launchers' daemons look for it so."""
        with tempfile.NamedTemporaryFile("w", prefix="hosts-", encoding="ascii",
                                         delete=False) as file:
            file.write("127.0.0.1 localhost\n" +
                       "".join(f"{address} {name}\n" for name, address in addresses.items()))
        os.chmod(file.name, 0o644)
        call("mount", "--bind", file.name, "/etc/hosts")

    def __getitem__(self, name):
        return self.all[name]

    def __iter__(self):
        return iter(self.all.values())

    def variables(self):
        """By which launchers reach the machines."""
        table = " ".join(f"{machine.name}={machine.pid}" for machine in self)
        return {**CALM, TABLE: table, "OMPI_MCA_plm_rsh_agent": SSH, "PRTE_MCA_plm_ssh_agent": SSH}


def leave_orphans_to_parent():
    """Login's first process is given what has lost its parent, and waits for its end; the program
    goes on as a child. A machine does not end before all of its processes have been waited for."""
    program = os.fork()
    if program == 0:
        return
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to the program as well
    while True:
        pid, status = os.wait()
        if pid == program:
            code = os.waitstatus_to_exitcode(status)
            os._exit(code if code >= 0 else 128 - code)


def go_to_login():
    """Returns on login: starts this program there, and ends with its status, if it is not there
    yet."""
    if os.environ.pop(ON_LOGIN, None):
        leave_orphans_to_parent()
        return
    words = ["unshare", *([] if os.geteuid() == 0 else ["--user", "--map-root-user"]), *LOGIN]
    try:
        call(*words, "true")
    except NoMachines as error:
        skip(error)
    folder = tempfile.mkdtemp(prefix="machines-")
    words = ["setpriv", "--pdeathsig", "KILL", *words, "env", f"{ON_LOGIN}=1", f"TMPDIR={folder}",
             sys.executable]
    process = subprocess.Popen([*words, *sys.argv])
    for number in (signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, lambda *_: process.kill())
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the terminal sends it to login as well
    status = process.wait()
    shutil.rmtree(folder, ignore_errors=True)
    sys.exit(status if status >= 0 else 128 - status)


def skip(reason):
    print(f"SKIPPED: no simulated machines here: {reason}")
    sys.exit(SKIPPED)


def main():
    if "--" not in sys.argv[2:-1]:
        sys.exit("machines.py NAME... -- COMMAND [WORDS...]")
    go_to_login()
    end = sys.argv.index("--")
    try:
        machines = Machines(sys.argv[1:end])
    except NoMachines as error:
        skip(error)
    sys.exit(subprocess.run(sys.argv[end + 1:], env=dict(os.environ, **machines.variables()),
                            check=False).returncode)


if __name__ == "__main__":
    main()
