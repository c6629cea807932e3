#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Another user of the machine can do nothing to a job.

Invariant: the stranger is a process that the kernel knows as another user. It is given more than it
could find out by itself: the job's name and its server's address. Each test runs with root
as the victim and, where that makes a difference, with an ordinary user. Root only: it has to become
both.
"""
import contextlib
import ctypes
import glob
import itertools
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import time
import unittest
import warnings

import launching
from launching import OSHRUN, PMIX_CLIENT, SHMEM_PROGRAM, wait_until

POSE_AS = os.environ["POSE_AS"]
LIBC = ctypes.CDLL(None)
ROOT, ORDINARY, STRANGER = 0, 65533, 65532
VICTIMS = (ROOT, ORDINARY)


# --- What a stranger does. Forked from the test and not started: the interpreter may lie where only
# root can read.

def connect(port):
    connection = socket.socket()
    connection.connect(("127.0.0.1", port))
    return connection


def stay_silent(tell, port):
    connection = connect(port)
    tell("connected")
    time.sleep(600)
    connection.close()


def send_garbage(tell, port):
    connection = connect(port)
    connection.sendall(b"\xff" * 4096)
    tell("connected")
    time.sleep(600)


def stop_half_way(tell, port):
    connection = connect(port)
    # PMIx's header says how much follows: 64 bytes here, of which 3 come.
    connection.sendall(struct.pack("=iIQ", 0, 0, 64) + b"abc")
    tell("connected")
    time.sleep(600)


def hold_many(tell, port):
    connections = [connect(port) for _ in range(300)]
    tell("connected")
    while True:
        connections.pop(0).close()
        connections.append(connect(port))


def pry(tell, pid, address):
    """Opens all that the kernel shows of a process, reads and writes its memory, signals it: says
    what it could."""
    could = []
    paths = [f"/proc/{pid}/{name}" for name in ("mem", "environ", "maps")]
    paths += [f"/proc/{pid}/fd/{number}" for number in range(40)]
    for path, how in itertools.product(paths, (os.O_RDONLY, os.O_RDWR)):
        try:
            os.close(os.open(path, how | os.O_NONBLOCK))
            could.append(path)
        except OSError:
            pass
    buffer = ctypes.create_string_buffer(8)
    here, there = ((ctypes.c_void_p * 2)(place, 8) for place in (ctypes.addressof(buffer), address))
    for call in (LIBC.process_vm_readv, LIBC.process_vm_writev):
        if call(pid, here, 1, there, 1, 0) > 0:
            could.append("its memory")
    if LIBC.ptrace(16, pid, None, None) == 0:  # PTRACE_ATTACH
        could.append("ptrace")
    for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGSTOP):
        try:
            os.kill(pid, number)
            could.append("kill")
        except OSError:
            pass
    tell(could)


def offers_of_memory(pids):
    """The sockets of these processes that hand over memory."""
    files = set()
    for descriptor in (path for pid in pids for path in glob.glob(f"/proc/{pid}/fd/*")):
        with contextlib.suppress(OSError):  # it has just been closed
            files.add(os.readlink(descriptor))
    with open("/proc/net/unix", encoding="utf-8") as table:
        return [line.split("@", 1)[1].strip() for line in table
                if "@meshmem-" in line and f"socket:[{line.split()[6]}]" in files]


def ask_for_memory(tell, names):
    """Asks each socket often, says how many files it got, and stays connected to all."""
    connections, files = [], 0
    for name in names * 50:
        try:
            connections.append(socket.socket(socket.AF_UNIX))
            connections[-1].connect("\0" + name)
            files += len(socket.recv_fds(connections[-1], 1, 1)[1])
        except OSError:
            pass  # of a job that has just gone on
    tell(files)
    time.sleep(600)


class Forked:
    """A process of another user that runs a function, which says lines by `tell`."""

    def __init__(self, user, function, *arguments):
        read_end, write_end = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            def tell(line):
                os.write(write_end, f"{line}\n".encode())
            try:
                warnings.simplefilter("ignore")  # it closes nothing itself
                become(user)()
                function(tell, *arguments)
            except OSError as error:
                tell(error)
            finally:
                os._exit(0)
        os.close(write_end)
        self.lines = os.fdopen(read_end, "r", encoding="utf-8")

    def kill(self):
        if self.pid:
            os.kill(self.pid, signal.SIGKILL)
            os.waitpid(self.pid, 0)
            self.lines.close()
        self.pid = 0


def become(user):
    def change():
        os.setgroups([])
        os.setgid(user)
        os.setuid(user)
    return change


@unittest.skipUnless(os.geteuid() == 0, "needs root to become two other users")
class Security(launching.LaunchTest):
    def setUp(self):
        super().setUp()
        os.chmod(self.folder, 0o755)
        os.chmod(self.tmpdir, 0o1777)
        # Where every user reaches them, libraries included.
        for program in (OSHRUN, PMIX_CLIENT, SHMEM_PROGRAM, POSE_AS, *self.libraries()):
            shutil.copy(program, self.folder)
        self.environment["LD_LIBRARY_PATH"] = self.folder
        self.go = os.path.join(self.folder, "go")
        self.strangers = []

    def tearDown(self):
        for stranger in self.strangers:
            stranger.kill()
        super().tearDown()

    @staticmethod
    def libraries():
        listed = subprocess.run(["ldd", SHMEM_PROGRAM], capture_output=True, text=True,
                                check=True).stdout
        return [line.split()[2] for line in listed.splitlines() if "meshmem" in line
                and "=>" in line]

    def program(self, path):
        return os.path.join(self.folder, os.path.basename(path))

    def start_job(self, victim, *words):
        return subprocess.Popen([self.program(OSHRUN), *(str(word) for word in words)],
                                env=self.environment, stdin=subprocess.DEVNULL,
                                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                preexec_fn=become(victim))

    def start_waiting_job(self, victim, pes=2):
        """PEs that have not called shmem_init yet and do so when the file is there."""
        script = (f'while [ ! -e "{self.go}" ]; do sleep 0.02; done; exec '
                  f'"{self.program(SHMEM_PROGRAM)}" ring')
        return self.start_job(victim, "-n", pes, "sh", "-c", script)

    def start_running_job(self, victim, pes=2):
        job = self.start_job(victim, "-n", pes, self.program(SHMEM_PROGRAM), "until", self.go)
        for _ in range(pes):
            self.assertEqual(job.stdout.readline(), b"ready\n")
        return job

    def variables_of(self, rank):
        """PMIx's variables of a PE, once it is there."""
        mark, found = f"PMIX_RANK={rank}".encode(), {}

        def look():
            for pid in self.processes():
                entries = launching.environment_of(pid)
                if mark in entries:
                    found.update(entry.decode().split("=", 1)
                                 for entry in entries if entry.startswith(b"PMIX_"))
            return found
        self.assertTrue(wait_until(look, 30), "no PE came")
        return found

    def pid_of(self, rank):
        mark = f"PMIX_RANK={rank}".encode()
        return next(pid for pid in self.processes() if mark in launching.environment_of(pid))

    def port(self):
        return int(self.variables_of(0)["PMIX_SERVER_URI4"].rsplit(":", 1)[1])

    def fork(self, function, *arguments, user=STRANGER):
        self.strangers.append(Forked(user, function, *arguments))
        return self.strangers[-1]

    def assert_connected(self, stranger):
        self.assertEqual(stranger.lines.readline(), "connected\n")

    def pose(self, victim, rank, *words):
        """A stranger's process with all that a PE is given, which says that it is the victim's."""
        environment = dict(os.environ, LD_LIBRARY_PATH=self.folder, **self.variables_of(rank))
        environment.update(LD_PRELOAD=self.program(POSE_AS), POSE_AS_USER=str(victim))
        return subprocess.Popen([str(word) for word in words], env=environment,
                                stdin=subprocess.DEVNULL, cwd="/", stdout=subprocess.PIPE,
                                stderr=subprocess.STDOUT, preexec_fn=become(STRANGER))

    def assert_turned_away(self, stranger):
        out, _ = stranger.communicate(timeout=60)
        self.assertNotEqual(stranger.returncode, 0, out)
        self.assertNotIn(b" of 2", out)

    def let_go(self, job, pes=2, refused=True):
        """The job goes on and ends well; the refusal has been said, once."""
        with open(self.go, "w", encoding="utf-8"):
            pass
        result = self.finish(job, 60)
        os.unlink(self.go)
        self.assertEqual(result.status, 0, result)
        self.assertEqual(sorted(line for line in result.out.splitlines() if line != "ready"),
                         [f"PE {pe} of {pes}" for pe in range(pes)], result)
        said = [line for line in result.err.splitlines() if "refused a connection of user" in line]
        self.assertEqual(len(said), 1 if refused else 0, result)
        self.assertEqual(result.err.splitlines(), said, result)

    # --- The launcher's server

    def test_a_stranger_cannot_end_a_job_that_runs(self):
        for victim in VICTIMS:
            job = self.start_running_job(victim)
            self.assert_turned_away(self.pose(victim, 0, self.program(PMIX_CLIENT), "abort", 0,
                                              7, "now"))
            self.let_go(job)

    def test_a_stranger_cannot_end_a_job_before_its_pes_came(self):
        for victim in VICTIMS:
            job = self.start_waiting_job(victim)
            self.assert_turned_away(self.pose(victim, 0, self.program(PMIX_CLIENT), "abort", 0,
                                              7, "now"))
            self.let_go(job)

    def test_a_stranger_cannot_be_pe_0(self):
        for victim in VICTIMS:
            job = self.start_waiting_job(victim)
            stranger = self.pose(victim, 0, self.program(SHMEM_PROGRAM), "ring")
            self.assert_turned_away(stranger)
            self.let_go(job)

    def test_a_stranger_that_stays_holds_nobody_up(self):
        for act in (stay_silent, send_garbage, stop_half_way, hold_many):
            with self.subTest(act=act.__name__):
                job = self.start_waiting_job(ROOT)
                stranger = self.fork(act, self.port())
                self.assert_connected(stranger)
                self.let_go(job)
                stranger.kill()

    def test_a_silent_process_of_the_same_user_does_not_hold_the_job_for_ever(self):
        job = self.start_waiting_job(ROOT)
        self.assert_connected(self.fork(stay_silent, self.port(), user=ROOT))
        self.let_go(job, refused=False)

    def test_oshrun_ends_with_its_pes_whatever_its_server_waits_for(self):
        for act in (stay_silent, stop_half_way):
            job = self.start_job(ROOT, "-n", 2, "sh", "-c",
                                 f'while [ ! -e "{self.go}" ]; do sleep 0.02; done')
            stranger = self.fork(act, self.port(), user=ROOT)
            self.assert_connected(stranger)
            with open(self.go, "w", encoding="utf-8"):
                pass
            self.assertEqual(self.finish(job, 30).status, 0)
            self.assertEqual([name for name in os.listdir(self.tmpdir) if "oshrun" in name], [])
            stranger.kill()
            os.unlink(self.go)

    def test_the_jobs_name_is_a_secret(self):
        names = set()
        for _ in range(2):
            job = self.start_waiting_job(ORDINARY)
            name = self.variables_of(0)["PMIX_NAMESPACE"]
            self.assertRegex(name, r"-[0-9a-f]{32}@1$")
            names.add(re.search(r"[0-9a-f]{32}", name).group())
            look = (f"cat /proc/[0-9]*/cmdline /proc/net/unix 2>/dev/null; find {self.tmpdir} "
                    "2>/dev/null")
            seen = subprocess.run(["sh", "-c", look], stdout=subprocess.PIPE,
                                  preexec_fn=become(STRANGER), cwd="/",
                                  check=False).stdout
            self.assertNotIn(name[-34:-2].encode(), seen)
            self.let_go(job, refused=False)
        self.assertEqual(len(names), 2)

    # --- Memory

    def test_a_stranger_reaches_nothing_of_a_pe_or_of_oshrun(self):
        for victim in VICTIMS:
            job = self.start_running_job(victim)
            for pid in (job.pid, self.pid_of(0), self.pid_of(1), *self.guards_of(job)):
                with open(f"/proc/{pid}/maps", encoding="utf-8") as maps:
                    address = int(maps.readline().split("-")[0], 16)
                self.assertEqual(self.fork(pry, pid, address).lines.readline(), "[]\n",
                                 f"pid {pid} of user {victim}")
            self.let_go(job, refused=False)

    def guards_of(self, job):
        return [pid for pid in self.processes() if pid != job.pid
                and not any(entry.startswith(b"PMIX_RANK=")
                            for entry in launching.environment_of(pid))]

    def test_a_stranger_gets_no_memory_while_the_pes_come(self):
        for victim in VICTIMS:
            late = f'[ $PMIX_RANK = 0 ] || while [ ! -e "{self.go}" ]; do sleep 0.02; done'
            job = self.start_job(victim, "-n", 2, "sh", "-c",
                                 f'{late}; exec "{self.program(SHMEM_PROGRAM)}" ring')
            self.assertTrue(wait_until(lambda: offers_of_memory(self.processes()), 30),
                            "PE 0 offers nothing")
            names = offers_of_memory(self.processes())
            self.assertEqual(self.fork(ask_for_memory, names).lines.readline(), "0\n")
            # The same question by the job's own user has an answer.
            self.assertNotEqual(self.fork(ask_for_memory, names, user=victim).lines.readline(),
                                "0\n")
            self.let_go(job, refused=False)

    # --- What was there before

    def test_a_program_by_itself_does_not_join_a_strangers_server(self):
        listener = socket.socket()
        listener.bind(("127.0.0.1", 0))
        listener.listen()
        listener.setblocking(False)
        path = os.path.join(self.tmpdir, f"pmix.sys.{os.uname().nodename}")
        with open(path, "w", encoding="utf-8") as file:
            file.write(f"prte.0;tcp4://127.0.0.1:{listener.getsockname()[1]}\n4.2.2\n1\n"
                       f"{STRANGER}:{STRANGER}\n\n")
        os.chown(path, STRANGER, STRANGER)
        result = subprocess.run([self.program(SHMEM_PROGRAM), "ring"], env=self.environment,
                                capture_output=True, timeout=60, preexec_fn=become(ORDINARY),
                                check=False)
        self.assertEqual((result.returncode, result.stdout, result.stderr),
                         (0, b"PE 0 of 1\n", b""))
        with self.assertRaises(BlockingIOError):
            listener.accept()
        listener.close()

    def test_what_a_stranger_laid_in_the_folder_for_temporary_files_is_left_alone(self):
        precious = os.path.join(self.folder, "precious")
        os.makedirs(os.path.join(precious, "inside"))
        name = os.path.join(self.tmpdir, f"oshrun-{ROOT}-1-")
        os.symlink(precious, name + "link")
        os.mkfifo(name + "pipe")
        os.mkdir(name + "theirs")
        os.chown(name + "theirs", STRANGER, STRANGER)
        os.mkdir(name + "open", mode=0o755)
        before = sorted(os.listdir(self.tmpdir))
        self.assertEqual(self.oshrun("-n", 1, "true").status, 0)
        self.assertEqual(sorted(os.listdir(self.tmpdir)), before)
        self.assertEqual(os.listdir(precious), ["inside"])

    def test_oshruns_own_folder_is_private(self):
        os.umask(0)
        self.addCleanup(os.umask, 0o022)
        job = self.start_waiting_job(ORDINARY)
        self.variables_of(0)
        modes = [os.stat(os.path.join(self.tmpdir, name)).st_mode & 0o777
                 for name in os.listdir(self.tmpdir)]
        self.assertEqual(modes, [0o700])
        self.let_go(job, refused=False)

    def test_a_folder_where_everybody_may_rename_is_refused(self):
        os.chmod(self.tmpdir, 0o777)
        result = self.oshrun("-n", 1, "true")
        self.assertEqual(result.status, 1, result)
        self.assertEqual(
            result.err, f"oshrun: everybody may rename files in '{self.tmpdir}' (TMPDIR); set its "
            f"sticky bit (`chmod +t {self.tmpdir}`) or set TMPDIR to another folder\n")

    def test_programs_that_run_as_another_than_their_caller_do_not_start(self):
        if os.statvfs(self.folder).f_flag & os.ST_NOSUID:
            self.skipTest("set-uid has no effect here")
        # A server of the caller's choice, whom nobody may ask before the refusal.
        launched = dict(self.environment, PMIX_SERVER_URI41="any.0;tcp4://127.0.0.1:1",
                        PMIX_NAMESPACE="any", PMIX_RANK="0")
        for program, words, said in ((SHMEM_PROGRAM, ["ring"], b"meshmem: "),
                                     (OSHRUN, ["-n", "1", "true"], b"oshrun: ")):
            path = self.program(program)
            os.chown(path, ORDINARY, ORDINARY)
            os.chmod(path, 0o4755)
            result = subprocess.run([path, *words], env=launched, capture_output=True, timeout=60,
                                    preexec_fn=become(STRANGER), check=False)
            self.assertIn(result.returncode, (1, 2), result)
            self.assertTrue(result.stderr.startswith(said), result)
            self.assertIn(b"set-uid, set-gid or has file capabilities", result.stderr)

    # --- Without /proc. No attack, but the same ways.

    def run_apart(self, before, variables=()):
        """A job in a machine of its own, as far as `before` makes it so."""
        words = ["unshare", *before, f'exec "{OSHRUN}" -n 3 "{SHMEM_PROGRAM}" ring']
        environment = dict(self.environment, **dict(variables))
        result = subprocess.run(words, env=environment, capture_output=True, text=True, timeout=60,
                                check=False)
        self.assertEqual((result.returncode, result.stderr), (0, ""), result)
        self.assertEqual(sorted(result.stdout.splitlines()), [f"PE {pe} of 3" for pe in range(3)])

    def test_a_job_runs_without_proc(self):
        hidden = ["-m", "sh", "-c", 'mount -t tmpfs none /proc && eval "$0"']
        if subprocess.run(["unshare", *hidden, "true"], capture_output=True,
                          check=False).returncode != 0:
            self.skipTest("namespaces of mounts are closed here")
        self.run_apart(hidden)
        self.run_apart(hidden, {"MESHMEM_HEAP": "device"})

    def test_a_job_runs_in_a_process_namespace_without_a_proc_of_its_own(self):
        apart = ["-pf", "sh", "-c", 'eval "$0"']
        if subprocess.run(["unshare", *apart, "true"], capture_output=True,
                          check=False).returncode != 0:
            self.skipTest("namespaces of processes are closed here")
        self.run_apart(apart)
        self.run_apart(apart, {"MESHMEM_HEAP": "device"})


if __name__ == "__main__":
    launching.main()
