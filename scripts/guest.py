# SPDX-License-Identifier: MIT
"""Boot Debian 13's kernel for another machine in QEMU, with programs of a build and tests/lab/init.c.

What scripts/guest-check and scripts/lab share: an initramfs from a list of jobs, QEMU under a
watchdog, and what each job printed, from the console. Exit status 77 is for what cannot be had.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading

HERE = pathlib.Path(__file__).resolve().parent
MACHINES = {
    "riscv64": {
        "qemu": ["qemu-system-riscv64", "-M", "virt", "-bios", "default"],
        # Three levels of page tables, as most have; no hypervisor's: walks are much of the time.
        "cpu": "rv64,h=false,pmp=false", "console": "ttyS0", "kernel": "no4lvl no5lvl", "lib": "riscv64-linux-gnu",
        "loader": "lib/ld-linux-riscv64-lp64d.so.1",
    },
    "arm64": {
        "qemu": ["qemu-system-aarch64", "-M", "virt", "-nic", "none"],
        # QEMU's own pointer authentication: the architected one costs half of its time.
        "cpu": "max,pauth-impdef=on", "console": "ttyAMA0", "kernel": "", "lib": "aarch64-linux-gnu",
        "loader": "lib/ld-linux-aarch64.so.1",
    },
}


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(77)


def fetch(arch, *what):
    """A folder of scripts/sysroot's."""
    done = subprocess.run([HERE / "sysroot", arch, *what], stdout=subprocess.PIPE, text=True)
    if done.returncode:
        sys.exit(done.returncode)
    return pathlib.Path(done.stdout.strip())


def build(arch, folder):
    """Cross build into folder; the sysroot that it was built against."""
    if subprocess.run([HERE / "setup", "build", "cross"]).returncode:
        skip("the packages of scripts/setup build cross cannot be had")
    for tool in (MACHINES[arch]["qemu"][0], "cpio"):
        if not shutil.which(tool):
            skip(f"no {tool} here")
    status = subprocess.run([HERE / "guest-build", arch, folder]).returncode
    if status:
        sys.exit(status)
    return fetch(arch)


class Job:
    """A program that the guest runs, and what became of it.

    harts: "one", or "all" if it has threads; output: lines that it printed; status: as subprocess
    has it, None if it did not end in time
    """

    def __init__(self, name, argv, seconds, env=None, files=(), harts="one"):
        self.name, self.argv, self.seconds = name, [str(word) for word in argv], int(seconds)
        self.harts = harts
        self.env, self.files = env or {}, list(files)
        self.output, self.status, self.took, self.ended = [], None, 0.0, False

    def line(self):
        env = " ".join(f"{key}={value}" for key, value in self.env.items())
        return "\t".join([self.name, str(self.seconds), self.harts, env, *self.argv])


class Initramfs:
    """Files at the paths that they have here, stripped programs, and the libraries they need."""

    def __init__(self, arch, sysroot, folder):
        self.sysroot, self.root = sysroot, pathlib.Path(folder)
        self.lib = MACHINES[arch]["lib"]
        self.add_library(sysroot / MACHINES[arch]["loader"], MACHINES[arch]["loader"])

    def place(self, path):
        to = self.root / str(path).lstrip("/")
        to.parent.mkdir(parents=True, exist_ok=True)
        return to

    def add_program(self, path, to=None):
        to = self.place(to or path)
        if to.exists():
            return
        subprocess.run(["llvm-strip", "-o", to, path], check=True)
        self.add_needed(path)

    def add_library(self, path, to):
        to = self.place(to)
        if not to.exists():
            shutil.copy(path, to)
            self.add_needed(path)

    def add_needed(self, path):
        dynamic = subprocess.run(["llvm-readelf", "-d", path], check=True, text=True,
                                 stdout=subprocess.PIPE).stdout
        for name in re.findall(r"NEEDED.*\[(.*)\]", dynamic):
            library = self.sysroot / "usr/lib" / self.lib / name
            if library.exists():  # the loader is found elsewhere
                self.add_library(library, f"lib/{self.lib}/{name}")

    def add_file(self, path):
        path, to = pathlib.Path(path), self.place(path)
        if path.is_dir():
            shutil.copytree(path, to, dirs_exist_ok=True)
        else:
            shutil.copy(path, to)

    def write(self, to):
        names = "\n".join(str(path.relative_to(self.root)) for path in sorted(self.root.rglob("*")))
        with open(to, "wb") as out:
            subprocess.run(["cpio", "-o", "-H", "newc", "--quiet", "-R", "0:0"], cwd=self.root,
                           input=names.encode(), stdout=out, check=True)


def make_initramfs(arch, sysroot, init, jobs, to):
    with tempfile.TemporaryDirectory() as folder:
        image = Initramfs(arch, sysroot, folder)
        image.add_program(init, "init")
        for job in jobs:
            image.add_program(job.argv[0])
            for path in job.files:
                image.add_file(path)
        lines = "".join(job.line() + "\n" for job in jobs)
        (image.root / "jobs").write_text(lines, encoding="utf-8")
        image.write(to)


class Console:
    """Sorts the lines of the console by job; those of nobody are the kernel's."""

    RUN = re.compile(r"guest: run (\d+) (.*)")
    END = re.compile(r"guest: end (\d+) (-?\d+) (\d+)")
    DONE = re.compile(r"guest: done (\d+)")
    TEXT = re.compile(r"(\d)\|(.*)")

    def __init__(self, jobs, progress):
        self.jobs = {job.name: job for job in jobs}
        self.progress, self.slots, self.tail, self.done = progress, {}, [], None

    def feed(self, line):
        self.tail = self.tail[-39:] + [line]
        if match := self.TEXT.match(line):
            self.slots[match[1]].output.append(match[2]) if match[1] in self.slots else None
        elif match := self.RUN.match(line):
            self.slots[match[1]] = self.jobs[match[2]]
        elif match := self.END.match(line):
            self.end(self.slots.pop(match[1]), int(match[2]), int(match[3]) / 10)
        elif match := self.DONE.match(line):
            self.done = int(match[1])

    def end(self, job, status, took):
        job.ended, job.took = True, took
        job.status = None if status == -1 else os.waitstatus_to_exitcode(status)
        self.progress(job)


def boot(arch, initramfs, jobs, seconds, harts, memory="2G", progress=lambda job: None, cpu=None):
    """Run the jobs in a guest; None if it said all it had to, else what went wrong, in words."""
    machine = MACHINES[arch]
    command = [*machine["qemu"], "-cpu", cpu or machine["cpu"], "-smp", str(harts), "-m", memory,
               "-accel", "tcg,thread=multi", "-nographic", "-no-reboot",
               "-kernel", fetch(arch, "kernel") / "kernel", "-initrd", initramfs,
               "-append", f"console={machine['console']} quiet panic=-1 {machine['kernel']}"]
    qemu = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                            stderr=subprocess.STDOUT, text=True, errors="replace")
    late = threading.Event()
    watchdog = threading.Timer(seconds, lambda: (late.set(), qemu.kill()))
    watchdog.start()
    console = Console(jobs, progress)
    try:
        for line in qemu.stdout:
            console.feed(line.rstrip("\r\n"))
        qemu.wait()
    finally:
        watchdog.cancel()
        qemu.kill()
    if late.is_set():
        reason = f"the guest was stopped after {seconds} s"
    elif console.done != len(jobs):
        reason = f"the guest ended (qemu: {qemu.returncode}) before its jobs did"
    else:
        return None
    return "\n".join([reason + "; the console's last lines:", *console.tail])
