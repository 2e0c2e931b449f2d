#!/usr/bin/env python3
"""Every output of every verb into descriptors, pipes, links, files that others own or that cannot be replaced, and on systems
that lack something: what was there is never lost, and the work is written or refused with the reason. Takes the tool's path and
the library that tests preload (lacking.c)."""

import json
import os
import pathlib
import shutil
import stat
import subprocess
import sys
import unittest

import numpy

sys.dont_write_bytecode = True
import hostile_test
from hostile_test import SMALL, Case

LACKING = None
OTHER = 12345  # a user without a name, as whom root can act
RECORD = {"problem": "gemm:f64:nn:m=2,n=2,k=2", "count": 1, "seconds": 1.0, "residency": "auto"}
IS_ROOT = os.geteuid() == 0


class Outputs(Case):
    COSTS = ("bench", "layout", "--sizes", "2", "--residency", "l1", "--beta", "0", "--repetitions", "1", "--peers", "none")

    def setUp(self):
        super().setUp()
        self.folder.chmod(0o755)
        self.wisdom = self.work / "records.jsonl"
        self.wisdom.write_text(json.dumps(hostile_test.RECORD) + "\n")
        self.log = self.work / "log.jsonl"
        self.log.write_text(json.dumps(RECORD) + "\n")
        numpy.save(self.work / "S.npy", numpy.eye(4))
        (self.work / "other.npy").write_bytes(b"before")

    def writers(self, out):
        """What writes to `out`: a name, the arguments, and whether the result is there."""
        a, b = self.a, self.b
        product = (lambda data: numpy.testing.assert_allclose(self.array(data), self.left @ self.right, rtol=1e-12, atol=1e-14))
        lines = (lambda data: [json.loads(line) for line in data.splitlines()] or self.fail("no lines"))
        text = self.work / "other.npy"
        return [("gemm -o", ("gemm", a, b, "-o", out), product),
                ("lu -o", ("lu", self.work / "S.npy", "-o", out, "--pivots", text),
                 lambda data: self.assertEqual(self.array(data).shape, (4, 4))),
                ("lu --pivots", ("lu", self.work / "S.npy", "-o", text, "--pivots", out),
                 lambda data: self.assertEqual(self.array(data).shape, (4,))),
                ("gemm --json", ("gemm", a, b, "-o", text, "--json", out), lines),
                ("explain --json", ("explain", SMALL, "--json", out), lines),
                ("info --json", ("info", "--environment", "--json", out), lines),
                ("wisdom export", ("wisdom", "export", "--file", self.wisdom, "-o", out), lines),
                ("wisdom diff", ("wisdom", "diff", self.wisdom, self.log_of_wisdom(), "-o", out), lines),
                ("wisdom list", ("wisdom", "list", "--file", self.wisdom, "--json", out), lines)]

    def log_of_wisdom(self):
        other = self.work / "other_records.jsonl"
        other.write_text(json.dumps({**hostile_test.RECORD, "seconds": 7e-9}) + "\n")
        return other

    def array(self, data):
        place = self.work / "read.npy"
        place.write_bytes(data)
        return numpy.load(place)

    def ran(self, *arguments, code=0, **options):
        result = self.run_tool(*arguments, **options)
        self.assertEqual(result.returncode, code, (arguments, result.stderr))
        return result

    def lacking(self, *what, **more):
        return {"LD_PRELOAD": str(LACKING), "LACKING": ",".join(what), "ASAN_OPTIONS": "verify_asan_link_order=0", **more}

    def nothing_beside(self, folder=None):
        left = [path.name for path in (folder or self.work).iterdir() if ".partial" in path.name]
        self.assertEqual(left, [])


class Descriptors(Outputs):
    def test_descriptors_are_written_to_and_not_their_file(self):
        out = self.work / "out"
        with open(out, "ab") as file:
            for name, arguments, check in self.writers(f"/dev/fd/{file.fileno()}"):
                with self.subTest(name):
                    os.truncate(out, 0)
                    file.write(b"before\n"), file.flush()
                    self.ran(*arguments, pass_fds=(file.fileno(),))
                    data = out.read_bytes()
                    self.assertTrue(data.startswith(b"before\n"), data[:20])
                    check(data[7:])
        self.nothing_beside()

    def test_stdout_is_written_to_or_refused(self):
        """Under >>, by its names in /dev and by a link to one."""
        link = self.work / "link"
        link.symlink_to("/dev/stdout")
        for place in ("/dev/stdout", "/proc/self/fd/1", link):
            for name, arguments, check in self.writers(place):
                if place != "/dev/stdout" and name not in ("gemm -o", "wisdom export"):
                    continue
                with self.subTest(name, place=place):
                    out = self.work / "out"
                    out.write_bytes(b"before\n")
                    with open(out, "ab") as file:
                        result = self.run_tool(*arguments, stdout=file)
                    data = out.read_bytes()
                    self.assertTrue(data.startswith(b"before\n"), data[:20])
                    if name in ("gemm -o", "lu -o", "lu --pivots"):
                        self.assert_one_sentence(result, 2, "is stdout", "name a file")
                        self.assertEqual(data, b"before\n")
                    else:
                        self.assertEqual(result.returncode, 0, result.stderr)
                        check(data[7:])
        self.assertTrue(link.is_symlink())

    def test_two_writers_of_one_descriptor_keep_both(self):
        out = self.work / "out"
        self.shell('exec 3>>out; "$1" wisdom export --file records.jsonl -o /dev/fd/3 && echo between >&3 && '
                   '"$1" wisdom export --file records.jsonl -o /dev/fd/3'.replace("records", str(self.work / "records"))
                   .replace("out;", f"{out};"))
        self.assertEqual(out.read_text().splitlines()[1], "between")
        self.assertEqual(len(out.read_text().splitlines()), 3)

    def test_closed_and_foreign_descriptors_are_refused(self):
        for name, arguments, _ in self.writers("/dev/fd/9"):
            with self.subTest(name):
                self.assert_one_sentence(self.run_tool(*arguments), 2, "/dev/fd/9")
        (self.work / "other").touch()
        with open(self.work / "other") as reading:
            for name, arguments, _ in self.writers(f"/dev/fd/{reading.fileno()}"):
                with self.subTest(name):
                    self.assert_one_sentence(self.run_tool(*arguments, pass_fds=(reading.fileno(),)), 2, "reading only")
        with open(self.work / "held", "wb") as held:
            result = self.run_tool("wisdom", "export", "--file", self.wisdom, "-o", f"/proc/{os.getpid()}/fd/{held.fileno()}")
        self.assert_one_sentence(result, 2, "is a link in /proc")

    def test_records_and_logs_are_no_descriptors(self):
        self.assert_one_sentence(self.run_tool(*self.job, "--record", "/dev/stdout"), 2, "record = '/dev/stdout'")
        self.assert_one_sentence(self.run_tool("record", "merge", self.log, "-o", "/dev/fd/1"), 2, "record = '/dev/fd/1'")
        self.assert_one_sentence(self.run_tool("tune", SMALL, "--wisdom", "none", "--sweep", "/dev/stdout"), 2, "sweep = '/dev/stdout'")

    def test_pipes_take_arrays_and_lines(self):
        pipe = self.work / "pipe"
        os.mkfifo(pipe)
        for name, arguments, check in self.writers(pipe):
            with self.subTest(name):
                reader = subprocess.Popen(["cat", str(pipe)], stdout=subprocess.PIPE)
                self.ran(*arguments)
                check(reader.communicate(timeout=60)[0])
                self.assertTrue(stat.S_ISFIFO(pipe.stat().st_mode))
        self.nothing_beside()


class Places(Outputs):
    def test_hard_links_stay_one_file(self):
        out, other = self.work / "out", self.work / "other"
        for name, arguments, check in self.writers(out):
            with self.subTest(name):
                out.unlink(missing_ok=True), other.unlink(missing_ok=True)
                out.write_bytes(b"long before" * 1000)
                os.link(out, other)
                self.ran(*arguments)
                self.assertTrue(os.path.samefile(out, other))
                check(other.read_bytes())
        for name, arguments in (("record", (*self.job, "--record", out)), ("merge", ("record", "merge", self.log, "-o", out))):
            with self.subTest(name):
                out.write_text(json.dumps({**RECORD, "count": 5}) + "\n")
                self.ran(*arguments)
                self.assertTrue(os.path.samefile(out, other))
                self.assertGreaterEqual(max(json.loads(line)["count"] for line in other.read_text().splitlines()), 5)
        self.nothing_beside()

    def test_files_that_cannot_be_replaced_are_written_into(self):
        """As mounted ones: renaming over them fails."""
        out = self.work / "out"
        for name, arguments, check in self.writers(out):
            with self.subTest(name):
                out.write_bytes(b"before" * 1000)
                before = out.stat().st_ino
                self.ran(*arguments, variables=self.lacking("names"))
                self.assertEqual(out.stat().st_ino, before)
                check(out.read_bytes())
        self.nothing_beside()

    @unittest.skipUnless(IS_ROOT and shutil.which("mount"), "only root can mount a file")
    def test_mounted_files(self):
        out, source = self.work / "out", self.work / "source"
        out.touch(), source.touch()
        if subprocess.run(["mount", "--bind", str(source), str(out)], capture_output=True).returncode != 0:
            self.skipTest("nothing can be mounted here")
        try:
            for name, arguments, check in self.writers(out):
                with self.subTest(name):
                    self.ran(*arguments)
                    check(source.read_bytes())
        finally:
            subprocess.run(["umount", str(out)], check=True)
        self.nothing_beside()

    @unittest.skipUnless(IS_ROOT, "only root can act as another user")
    def test_read_only_folders_and_another_user(self):
        """A file in a folder that takes no other is written into, and its owner and rights stay."""
        shut = self.work / "shut"
        shut.mkdir()
        out = shut / "out"
        self.work.chmod(0o777)
        for name, arguments, check in self.writers(out):
            with self.subTest(name):
                shut.chmod(0o755)
                out.write_bytes(b"before" * 100)
                os.chown(out, 0, OTHER), out.chmod(0o660), shut.chmod(0o555)
                for path in self.work.iterdir():
                    path.is_file() and path.chmod(0o666)
                self.ran(*arguments, user=OTHER, group=OTHER, extra_groups=[])
                status = out.stat()
                self.assertEqual((status.st_uid, status.st_gid, stat.S_IMODE(status.st_mode)), (0, OTHER, 0o660))
                check(out.read_bytes())
                out.chmod(0o444)
                out.write_bytes(b"kept")
                result = self.run_tool(*arguments, user=OTHER, group=OTHER, extra_groups=[])
                self.assertEqual(result.returncode, 1, result.stderr)
                self.assertEqual(out.read_bytes(), b"kept")

    def test_where_systems_lack_something(self):
        out = self.work / "out"
        for lacking in (("tmpfile",), ("no_proc",), ("late_proc",), ("tmpfile", "no_proc", "locks")):
            for exists in (False, True):
                for name, arguments, check in self.writers(out)[:4]:
                    with self.subTest(name, lacking=lacking, exists=exists):
                        out.unlink(missing_ok=True)
                        if exists:
                            out.write_bytes(b"before")
                            out.chmod(0o640)
                        self.ran(*arguments, variables=self.lacking(*lacking))
                        check(out.read_bytes())
                        if exists:
                            self.assertEqual(stat.S_IMODE(out.stat().st_mode), 0o640)
        self.nothing_beside()

    def test_without_locks_records_and_logs_go_on(self):
        record = self.work / "record"
        for count in (1, 2):
            self.ran(*self.job, "--record", record, variables=self.lacking("locks"))
            self.assertEqual(json.loads(record.read_text())["count"], count)
        result = self.ran("tune", SMALL, "--budget", "0.1s", "--clock", "turns", "--wisdom", "none",
                          variables=self.lacking("locks"))
        self.assertNotIn(b"another run", result.stderr)
        cache = self.folder / "data" / "tilewright"
        self.assertEqual([path.name for path in cache.glob("sweep*")], ["sweep.jsonl"])

    def test_what_is_replaced_is_on_the_disk_first(self):
        synced, out = self.work / "synced", self.work / "out"
        cases = [(name, arguments) for name, arguments, _ in self.writers(out) if "--json" not in arguments and "diff" not in name]
        cases.append(("record", (*self.job[:-1], self.work / "D.npy", "--record", out)))
        for name, arguments in cases:
            with self.subTest(name):
                out.unlink(missing_ok=True), synced.unlink(missing_ok=True)
                self.ran(*arguments, variables=self.lacking(LACKING_SYNCED=str(synced)))
                steps = synced.read_text().split("\n")
                renames = [i for i, step in enumerate(steps) if step.startswith("rename")]
                self.assertTrue(renames)
                self.assertTrue(all(i > 0 and steps[i - 1] == "fsync" for i in renames), steps)


class Owners(Outputs):
    def test_new_files_follow_the_umask(self):
        out = self.work / "out"
        for umask in (0o000, 0o027):
            for name, arguments, check in self.writers(out):
                with self.subTest(name, umask=oct(umask)):
                    out.unlink(missing_ok=True)
                    self.ran(*arguments, umask=umask)
                    self.assertEqual(stat.S_IMODE(out.stat().st_mode), 0o666 & ~umask)

    def test_own_folders_are_this_users_alone(self):
        for umask in (0o000, 0o002):
            data = self.folder / f"data{umask}"
            self.ran(*self.COSTS, umask=umask, variables={"XDG_DATA_HOME": str(data / "deep")})
            for folder in (data, data / "deep", data / "deep" / "tilewright"):
                self.assertEqual(stat.S_IMODE(folder.stat().st_mode) & 0o022, 0, folder)

    @unittest.skipUnless(IS_ROOT, "only root can give files away")
    def test_owners_stay_and_set_id_bits_do_not(self):
        out = self.work / "out"
        for mode, wanted in ((0o6777, 0o777), (0o600, 0o600)):
            for name, arguments, check in self.writers(out):
                with self.subTest(name, mode=oct(mode)):
                    out.unlink(missing_ok=True)
                    out.write_bytes(b"before")
                    os.chown(out, OTHER, OTHER), out.chmod(mode)
                    self.ran(*arguments)
                    status = out.stat()
                    self.assertEqual((status.st_uid, status.st_gid, oct(stat.S_IMODE(status.st_mode))), (OTHER, OTHER, oct(wanted)))
                    check(out.read_bytes())
        out.write_text(json.dumps(RECORD) + "\n")
        os.chown(out, OTHER, OTHER), out.chmod(0o6600)
        self.ran(*self.job, "--record", out)
        self.assertEqual((out.stat().st_uid, oct(stat.S_IMODE(out.stat().st_mode))), (OTHER, oct(0o600)))

    @unittest.skipUnless(IS_ROOT, "only root can make links of another user")
    def test_links_and_files_of_others_where_everybody_writes(self):
        """As the kernel's protected_symlinks and protected_regular, however it is set."""
        sticky = self.work / "sticky"
        sticky.mkdir()
        sticky.chmod(0o1777)
        target = self.work / "target"
        out = sticky / "out"
        cases = [*self.writers(out), ("record", (*self.job, "--record", out), None),
                 ("merge", ("record", "merge", self.log, "-o", out), None),
                 ("tune --sweep", ("tune", SMALL, "--wisdom", "none", "--budget", "0.1s", "--sweep", out), None)]
        for name, arguments, _ in cases:
            with self.subTest(name, of="link"):
                out.unlink(missing_ok=True), target.unlink(missing_ok=True)
                out.symlink_to(target)
                os.lchown(out, OTHER, OTHER)
                self.assert_one_sentence(self.run_tool(*arguments), 1, "refused", f"user {OTHER}")
                self.assertFalse(target.exists())
            with self.subTest(name, of="file"):
                out.unlink()
                out.write_bytes(b"before")
                os.chown(out, OTHER, OTHER)
                self.assert_one_sentence(self.run_tool(*arguments), 1, "refused", f"user {OTHER}")
                self.assertEqual(out.read_bytes(), b"before")
        # The user's own link is followed there.
        out.unlink()
        out.symlink_to(target)
        self.ran("wisdom", "export", "--file", self.wisdom, "-o", out)
        self.assertTrue(out.is_symlink() and target.read_bytes())


if __name__ == "__main__":
    hostile_test.TOOL, LACKING = sys.argv[1:3]
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
