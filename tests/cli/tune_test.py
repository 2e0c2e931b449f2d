#!/usr/bin/env python3
"""Drives `tilewright tune` as users do: budgets kept, a run killed and resumed with nothing lost or repeated, Ctrl-C that
keeps what is done, restrictions of the search, records checked again, and what is refused. Takes the tool's path; further
arguments go to unittest. How good a winner is no test can say."""

import collections
import json
import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import time
import unittest

sys.dont_write_bytecode = True
import keys_test

TOOL = None
PROBLEM = "gemm_batched:f64:nn:m=4,n=4,k=4:strided:batch=1:beta=one:residency=l1"


class Driver(unittest.TestCase):
    """Runs the tool in a folder of its own, where neither the user's wisdom nor their caches take part."""

    by_the_wall = False  # whether budgets are of time, in tests that ask how it is kept

    def setUp(self):
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = pathlib.Path(self.temporary.name)
        self.sweep = self.folder / "sweep.jsonl"
        self.environment = {**os.environ, "XDG_DATA_HOME": str(self.folder / "data"),
                            "XDG_CACHE_HOME": str(self.folder / "cache")}

    def tearDown(self):
        self.temporary.cleanup()

    def command(self, *arguments):
        """What only a search takes besides: a log, and a budget of turns, so that how busy this machine is decides nothing."""
        counted = () if self.by_the_wall or "layout" in arguments else ("--clock", "turns")
        log = () if "--check" in arguments else (*counted, "--sweep", str(self.sweep))
        return [TOOL, "tune", *map(str, arguments), *log]

    def tune(self, *arguments, code=0, **environment):
        result = subprocess.run(self.command(*arguments), capture_output=True, text=True, stdin=subprocess.DEVNULL,
                                env={**self.environment, **environment}, timeout=300)
        self.assertIn(result.returncode, code if isinstance(code, tuple) else (code,), result.stderr)
        return result

    def tool(self, *arguments, **environment):
        result = subprocess.run([TOOL, *map(str, arguments)], capture_output=True, text=True, timeout=60,
                                env={**self.environment, **environment})
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def lines(self, path):
        return [json.loads(line) for line in path.read_text().splitlines()]

    def processor_seconds(self, *arguments, code=0):
        """What the run took of the processors, which no neighbour lengthens."""
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        result = self.tune(*arguments, code=code)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return result, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    def start(self, *arguments):
        return subprocess.Popen(self.command(*arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                env=self.environment)

    def await_turns(self, count):
        end = time.time() + 60
        while time.time() < end:
            if self.sweep.exists() and self.sweep.read_text().count('"stage"') >= count:
                return
            time.sleep(0.02)
        self.fail(f"fewer than {count} turns in a minute")


class Tune(Driver):
    def test_budget_holds_for_all_problems_together(self):
        self.by_the_wall = True
        _, seconds = self.processor_seconds("--sizes", "2:9", "--beta", "1", "--residency", "l1", "--budget", "4s",
                                            "--json", "-")
        self.assertLess(seconds, 4 * 1.05 + 0.5)  # starting the program included; one thread measures

    def test_killed_and_resumed(self):
        job = ("--sizes", "4:7", "--beta", "1", "--residency", "l1", "--budget", "2s")
        process = self.start(*job)
        self.await_turns(60)
        process.kill()
        process.communicate()
        before = self.sweep.read_bytes()
        before = before[:before.rfind(b"\n") + 1]
        result = self.tune(*job, "--resume", "--json", self.folder / "wisdom.jsonl")
        self.assertIn("measurements of the earlier run are used", result.stdout)
        self.assertTrue(self.sweep.read_bytes().startswith(before), "what was measured is lost")
        screened = collections.Counter((line["problem"], json.dumps(line["config"])) for line in self.lines(self.sweep)
                                       if line.get("stage") == "screen")
        self.assertEqual(max(screened.values()), 1, "something was measured again")
        self.assertEqual(len(self.lines(self.folder / "wisdom.jsonl")), 4)
        again = self.tune(*job, "--resume", "--json", self.folder / "again.jsonl")
        self.assertEqual(self.lines(self.folder / "wisdom.jsonl"), self.lines(self.folder / "again.jsonl"), again.stderr)

    def test_resumed_results_leave_newer_records_alone(self):
        job = (PROBLEM, "--budget", "0.5s")
        self.tune(*job, "--json", self.folder / "w.jsonl")
        record = self.lines(self.folder / "w.jsonl")[0]
        now = lambda: time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
        while now() <= record["time"]:
            time.sleep(0.1)
        record.update(time=now(), candidates=4711)
        (self.folder / "newer.jsonl").write_text(json.dumps(record) + "\n")
        self.tool("wisdom", "import", self.folder / "newer.jsonl")
        result = self.tune(*job, "--resume")
        self.assertIn("newer", result.stdout)
        exported = json.loads(self.tool("wisdom", "export", "--file", self.folder / "data/tilewright/wisdom.sqlite"))
        self.assertEqual(exported["candidates"], 4711)
        self.assertEqual(exported["time"], record["time"])
        self.assertIn("nothing was changed in", result.stdout)

    def test_dates_that_are_yet_to_come_give_way(self):
        job = (PROBLEM, "--budget", "0.5s")
        self.tune(*job, "--json", self.folder / "w.jsonl")
        record = self.lines(self.folder / "w.jsonl")[0]
        database = self.folder / "data/tilewright/wisdom.sqlite"
        database.unlink()
        record.update(time="2999-01-01T00:00:00Z", candidates=4711)
        (self.folder / "future.jsonl").write_text(json.dumps(record) + "\n")
        self.tool("wisdom", "import", self.folder / "future.jsonl")
        result = self.tune(*job, "--resume")
        self.assertIn("kept in", result.stdout)
        exported = json.loads(self.tool("wisdom", "export", "--file", database))
        self.assertNotEqual(exported["time"], "2999-01-01T00:00:00Z")

    def test_incumbents_come_from_the_database_that_is_named(self):
        self.tune(PROBLEM, "--budget", "2s", "--json", self.folder / "w.jsonl", "--wisdom", "none")
        lines = self.lines(self.sweep)
        base = next(line["base"] for line in lines if "base" in line)
        other = next(line["config"] for line in lines if "passed" in line and line["config"])
        record = {**self.lines(self.folder / "w.jsonl")[0], "config": {**base, **other}}
        (self.folder / "other.jsonl").write_text(json.dumps(record) + "\n")
        named = self.folder / "named.sqlite"
        self.tool("wisdom", "import", self.folder / "other.jsonl", "--into", named)
        # What is known takes part though the search is restricted to others.
        axis, value = next(iter(other.items()))
        excluded = f"{axis}!={value if isinstance(value, str) else json.dumps(value)}"
        self.tune(PROBLEM, "--budget", "2s", "--where", excluded, "--wisdom", named)
        self.assertIn(other, [line["config"] for line in self.lines(self.sweep) if line.get("stage") == "final"])
        self.tune(PROBLEM, "--budget", "2s", "--where", excluded, "--wisdom", self.folder / "empty.sqlite")
        self.assertNotIn(other, [line.get("config") for line in self.lines(self.sweep)])

    def test_gate_is_not_run_again(self):
        self.tune(PROBLEM, "--budget", "0.5s")
        lines = self.lines(self.sweep)
        passed = [json.dumps(line["config"]) for line in lines if "passed" in line]
        timed = {json.dumps(line["config"]) for line in lines if "stage" in line}
        self.assertEqual(len(passed), len(set(passed)))
        self.assertLessEqual(timed, set(passed))
        self.sweep.write_text("".join(json.dumps(line) + "\n" for line in lines if "result" not in line))
        self.tune(PROBLEM, "--budget", "0.5s", "--resume")
        again = [json.dumps(line["config"]) for line in self.lines(self.sweep) if "passed" in line]
        self.assertEqual(len(again), len(set(again)), "a config passed the gate twice")

    def test_memory_is_part_of_the_budget(self):
        self.by_the_wall = True
        cold = PROBLEM.replace("residency=l1", "residency=cold")
        result, seconds = self.processor_seconds(cold, PROBLEM, "--budget", "0.3s", "--json", self.folder / "w.jsonl")
        self.assertLess(seconds, 3)
        # How much memory is filled in that time, the machine decides; never all of it.
        told = " ".join((result.stdout + result.stderr).split())  # whatever the lines are
        self.assertRegex(told, "residency=cold is left out|operands instead of 1024")
        self.assertEqual(self.lines(self.folder / "w.jsonl")[0]["residency"], "l1", "what is hot comes first")
        result = self.tune(cold, "--budget", "0.03s", code=1)
        self.assertRegex(" ".join(result.stderr.split()), "is left out: .* --budget = 0.03s|the budget is used up")

    def test_default_budget_is_for_searching(self):
        self.by_the_wall = True
        cold = PROBLEM.replace("residency=l1", "residency=cold")
        result = self.tune(cold, "--json", self.folder / "w.jsonl")
        self.assertEqual(self.lines(self.folder / "w.jsonl")[0]["residency"], "cold")
        self.assertNotIn("left out", result.stderr)

    def test_interrupted(self):
        process = self.start("--sizes", "4:12", "--beta", "1", "--residency", "l1", "--budget", "60s")
        self.await_turns(50)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=30)
        self.assertEqual(process.returncode, 1, errors)
        self.assertIn("interrupted", errors)
        self.assertIn("--resume", errors)

    def test_another_runs_log_is_not_resumed(self):
        self.tune(PROBLEM, "--budget", "0.3s")
        result = self.tune(PROBLEM, "--budget", "0.3s", "--resume", "--strategy", "random", code=2)
        self.assertIn("strategy", result.stderr)

    def test_another_instruction_sets_log_is_not_resumed(self):
        self.tune(PROBLEM, "--budget", "0.5s", TILEWRIGHT_CPU="portable")
        result = self.tune(PROBLEM, "--budget", "0.5s", "--resume", code=(0, 2))
        if result.returncode == 2:  # the machine has more than portable kernels
            self.assertIn("isa", result.stderr)

    def test_imports_leave_newer_records_alone(self):
        self.tune(PROBLEM, "--budget", "0.5s")
        old = self.folder / "old.jsonl"
        records = [json.loads(line) for line in self.tool("wisdom", "export").splitlines()]
        own = "m=4,n=4,k=4:strided", "beta=one:residency=l1", ":f64:nn:"  # the user's come first
        mine = next(r for r in records if r["verdict"] == "passed" and all(part in r["problem"] for part in own))
        mine["time"], mine["seconds"] = "2020-01-01T00:00:00Z", 1.0
        old.write_text(json.dumps(mine) + "\n")
        self.assertIn("0 of 1 record imported", self.tool("wisdom", "import", old))

    def test_logs_merge_batch_counts_and_leave_out_what_has_no_space(self):
        log = self.folder / "log.jsonl"
        texts = [PROBLEM.replace("batch=1", f"batch={count}") for count in (10, 20, 30)]
        log.write_text("".join(json.dumps({"problem": text, "count": 1, "seconds": 1e-6}) + "\n"
                               for text in texts + ["gemm:f64:nn:m=400,n=4,k=4", "gemm:f64:nn:m=8,n=0,k=4"]))
        result = self.tune("--from", log, "--budget", "0.5s")
        self.assertIn("line 4 is left out", result.stderr)
        self.assertIn("line 5 is left out", result.stderr)
        self.assertIn("1 problem in", result.stdout + result.stderr)

    def test_flags_of_sizes_are_refused_without_them(self):
        for flag, value in (("--dtype", "f32"), ("--op", "tn"), ("--beta", "0"), ("--block", "4")):
            self.assertIn(flag, self.tune(PROBLEM, flag, value, code=2).stderr)

    def test_strategies_and_restrictions(self):
        for strategy in ("random", "local", "model"):
            self.tune(PROBLEM, "--budget", "0.5s", "--strategy", strategy, "--json", self.folder / "w.jsonl")
            self.assertEqual(self.lines(self.folder / "w.jsonl")[0]["verdict"], "passed")
        # What wisdom knows takes part whatever is restricted: here it knows nothing yet. The whole space of this layout is small.
        interleaved = PROBLEM.replace("strided:batch=1:", "interleaved:batch=64:")
        self.tune(interleaved, "--budget", "0.5s", "--where", "mr<=1", "--space", "whole",
                  TILEWRIGHT_WISDOM=str(self.folder / "empty.sqlite"))
        configs = [line["config"] for line in self.lines(self.sweep) if line.get("config")]  # the default is empty
        self.assertTrue(configs)
        self.assertEqual({config.get("mr") for config in configs}, {1})

    def test_one_axis_few_configs_and_seeds(self):
        nothing = {"TILEWRIGHT_WISDOM": str(self.folder / "empty.sqlite"), "TILEWRIGHT_SHARE": str(self.folder)}
        configs = lambda: {json.dumps(line["config"]) for line in self.lines(self.sweep) if "passed" in line}
        job = (PROBLEM, "--budget", "1s", "--wisdom", "none")
        self.tune(*job, "--vary", "hold", "--json", self.folder / "w.jsonl", **nothing)
        self.assertEqual({key for config in configs() for key in json.loads(config)}, {"hold"})
        base = next(line["base"] for line in self.lines(self.sweep) if "base" in line)
        other = next({**base, **json.loads(config)} for config in configs() if config != "{}")
        self.tune(*job, "--configs", "2", **nothing)
        self.assertLessEqual(len(configs()), 3, "the default besides")
        seed = {**self.lines(self.folder / "w.jsonl")[0], "config": other}
        (self.folder / "seeds.jsonl").write_text('{"command": "none"}\n' + json.dumps(seed) + "\n")
        self.tune(*job, "--configs", "1", "--seeds", self.folder / "seeds.jsonl", **nothing)
        self.assertLessEqual(len(configs()), 3)
        self.assertIn(other, [{**base, **json.loads(config)} for config in configs()])

    def test_isolated_calls_have_records_of_their_own(self):
        problem = PROBLEM.replace("batch=1", "batch=5")
        self.tune(problem, "--budget", "0.5s", "--arrival", "back_to_back,idle", "--json", self.folder / "w.jsonl")
        looped, isolated = self.lines(self.folder / "w.jsonl")
        self.assertEqual((looped["arrival"], isolated["arrival"], isolated["batch_count"]), ("back_to_back", "idle", 5))
        self.assertEqual(isolated["problem"], problem + ":arrival=idle")
        # Both are kept, and an ordinary plan uses the first alone.
        wisdom = {"TILEWRIGHT_SHARE": str(self.folder)}
        self.assertEqual(len(self.tool("wisdom", "export", **wisdom).splitlines()), 2)
        self.assertNotIn("arrival", self.tool("explain", problem, **wisdom))
        for said in (self.tool("explain", problem + ":arrival=idle", **wisdom),
                     self.tool("explain", problem, TILEWRIGHT_ARRIVAL="idle", **wisdom)):
            self.assertIn("idle; the record was timed idle", " ".join(said.split()))
        self.assertIn("idle", self.tool("wisdom", "list", **wisdom))
        self.assertIn("arrival", self.tune(problem, "--arrival", "idle", "--family", "layout", code=2).stderr)
        self.assertIn("'often'", self.tune(problem, "--arrival", "often", code=2).stderr)
        self.assertIn("--arrival", self.tune("lu:f64:m=300,n=300", "--arrival", "idle", code=2).stderr)

    def test_conversion_rule(self):
        problem = "gemm_batched:f64:nn:m=4,n=4,k=4:strided:batch=64:beta=one"
        explain = [TOOL, "explain", problem + ":residency=l2"]
        before = subprocess.run(explain, capture_output=True, text=True, env=self.environment).stdout.split()
        self.assertIn("tune --family layout", " ".join(before))
        result = self.tune(problem, "--family", "layout", "--residency", "l2,l1", "--budget", "3s", "--json",
                           self.folder / "w.jsonl")
        self.assertIn("blocks of", result.stdout)
        lines = self.lines(self.folder / "w.jsonl")
        self.assertEqual([line["family"] for line in lines], ["layout"] * 2)
        after = subprocess.run(explain, capture_output=True, text=True, env=self.environment).stdout.split()
        self.assertIn("the kernel takes", " ".join(after))
        again = self.tune(problem, "--family", "layout", "--residency", "l2,l1", "--budget", "3s", "--resume")
        self.assertNotIn("blocks of", again.stdout, "measured again")
        kept = lambda: [json.loads(line) for line in self.tool("wisdom", "export", "layout_costs").splitlines()]
        newer = kept()
        self.assertEqual(len(newer), 2)
        for model in newer:  # another run's
            model["coefficients"]["direct_s"] = 1.0
        (self.folder / "newer.jsonl").write_text("".join(json.dumps(model) + "\n" for model in newer))
        self.tool("wisdom", "import", self.folder / "newer.jsonl")
        self.tune(problem, "--family", "layout", "--residency", "l2,l1", "--budget", "3s", "--resume")
        self.assertEqual(kept(), newer)
        refused = self.tune("gemm_batched:f64:nn:m=4,n=4,k=4:interleaved:batch=64", "--family", "layout", code=2)
        self.assertIn("strided", refused.stderr)

    def test_reports(self):
        result = self.tune(PROBLEM, "--budget", "0.5s", "--json", self.folder / "w.jsonl", "--verbose")
        for word in ("best", "default", "regret", "cut by its constraints"):
            self.assertIn(word, result.stdout)
        record = self.lines(self.folder / "w.jsonl")[0]
        self.assertLessEqual(record["error"], record["error_bound"])
        self.assertIn("clock_mhz_low", record["metrics"])
        self.assertGreaterEqual(record["samples"], 6)
        self.assertLessEqual(max(map(len, result.stdout.splitlines())), 100)
        listed = self.tool("wisdom", "list", "--file", self.folder / "data/tilewright/wisdom.sqlite", "--json", "-")
        self.assertIs(json.loads(listed.splitlines()[0])["well_measured"], True)
        explained = self.tool("explain", PROBLEM)
        for word in ("predicted", "recorded", "regret of the default", "samples"):
            self.assertIn(word, explained)

    def test_json_has_every_key_of_a_measurement(self):
        self.tune(PROBLEM, "--budget", "0.5s", "--json", self.folder / "w.jsonl")
        line = self.lines(self.folder / "w.jsonl")[0]
        for key in ("family problem dtype op m n k lda ldb ldc layout batch_count alpha beta residency location memory "
                    "pointer_order numa threads target data impl impl_version config wisdom_match seconds seconds_low "
                    "seconds_high samples gflops bound_gflops bound_share bound_kind ceiling energy_j watts "
                    "gflops_per_watt energy_note error error_bound read_s kernel_s write_s total_s metrics device "
                    "device_uuid driver commit time").split():
            self.assertIn(key, line)
        self.assertAlmostEqual(line["gflops"], 2 * 4**3 / line["seconds"] * 1e-9, places=6)
        # Still a line of wisdom.
        explained = self.tool("explain", PROBLEM, TILEWRIGHT_WISDOM=str(self.folder / "w.jsonl"))
        self.assertIn("exact", explained)

    def test_refusals(self):
        for arguments, says in (
            (("--objective", "energy"), "meter"),
            (("--objective", "joules"), "'joules'"),
            (("--strategy", "annealing"), "'annealing'"),
            (("--where", "nr"), "'nr'"),
            (("--where", "tail>=mask"), "tail"),
            (("--where", "no_such>=1"), "no_such"),
            (("--where", "nr>=99"), "--where"),
            (("--set", "nr"), "'nr'"),
            (("--budget", "soon"), "'soon'"),
            (("--budget", "inf"), "'inf'"),
            (("--budget", "1e30h"), "'1e30h'"),
            (("--where", "no_such>=1"), "--where"),
            (("--where", "nr>=x"), "--where"),
            (("--set", "no_such=1"), "--set"),
            (("--set", "nr=x"), "--set"),
            (("--check", "--strategy", "random"), "--strategy"),
            (("--check", "--resume"), "--resume"),
            (("--check", "--vary", "nr"), "--vary"),
            (("--vary", "no_such"), "--vary = 'no_such'"),
            (("--configs", "0"), "--configs"),
            (("--seeds", "no_such.jsonl"), "no_such.jsonl"),
            (("--window", "long"), "--window = 'long'"),
            (("--check", "--sweep", "log.jsonl"), "--sweep"),
            (("--check", "--objective", "edp"), "--objective"),
            (("--check", "--wisdom", "no_such.sqlite"), "no_such.sqlite"),
            (("--space", "half"), "'half'"),
            (("--family", "gemm"), "'gemm'"),
            (("--family", "layout", "--check"), "--check"),
            (("--family", "layout", "--set", "block=8"), "--set"),
            (("--budget", ""), "--budget"),
            (("--json", ""), "--json"),
        ):
            if arguments[1] == "energy" and pathlib.Path("/sys/class/powercap").exists():
                continue
            result = self.tune(PROBLEM, *arguments, code=2)
            self.assertIn(says, result.stderr)
            self.assertEqual(len(result.stderr.strip().splitlines()), 1, result.stderr)

    def test_logs_that_are_none(self):
        log = self.folder / "log.jsonl"
        for text, says in (("", "contains no record"), ("{\n", "invalid JSON at byte"), ('{"problem": 5}\n', "line 1"), ('{"count": 5}\n', "line 1"),
                           ("[]\n", "line 1"), ('{"problem": "gemm"}\n', "line 1"),
                           (json.dumps({"problem": PROBLEM}) + '\n{"problem": "x", "residency": 7}\n', "line 2")):
            log.write_text(text)
            result = subprocess.run(self.command("--from", log), capture_output=True, text=True, timeout=60,
                                    env=self.environment)
            self.assertEqual(result.returncode, 2, text)
            self.assertIn(says, result.stderr)
            self.assertNotIn("json.exception", result.stderr)
            self.assertIn("--from", result.stderr)

    def test_check_names_its_sources(self):
        wisdom = self.folder / "share/wisdom/cpu.jsonl"
        wisdom.parent.mkdir(parents=True)
        share = {"TILEWRIGHT_SHARE": str(self.folder / "share")}
        self.tune(PROBLEM, "--budget", "0.5s", "--json", wisdom, **share)
        # The user's database and the shipped file have the same record: lookups take the user's.
        either = (0, 1)  # whether it still holds is not what is asked
        result = self.tune("--check", "--shipped", "--budget", "1s", "--json", "-", code=either, **share)
        self.assertIn("of 1 record", result.stderr)
        self.assertIn("wisdom.sqlite#", json.loads(result.stdout)["source"])
        self.assertIn("wisdom.sqlite#", json.loads(self.tune("--check", "--budget", "1s", "--json", code=either, **share).stdout)["source"])
        result = self.tune("--check", "--budget", "1s", "--wisdom", wisdom, "--json", "-", code=either, **share)
        self.assertIn("cpu.jsonl:1", json.loads(result.stdout)["source"])

    def test_check_keeps_to_its_budget(self):
        """What is left is told; the first is checked in any case."""
        wisdom = self.folder / "wisdom.jsonl"
        self.tune("--sizes", "3:6", "--beta", "1", "--residency", "l1", "--budget", "1s", "--json", wisdom)
        result = self.tune("--check", "--budget", "0.001s", "--wisdom", wisdom, "--json", self.folder / "checked.jsonl", code=(0, 1))
        self.assertIn("3 records are not checked: --budget = 0.001s is used up", result.stdout)
        self.assertIn("of 1 record hold", result.stdout)
        self.assertEqual(len(self.lines(self.folder / "checked.jsonl")), 1)

    def test_check_measures_records_again(self):
        wisdom = self.folder / "wisdom.jsonl"
        nothing_else = {"TILEWRIGHT_WISDOM": str(wisdom), "TILEWRIGHT_SHARE": str(self.folder)}
        self.tune(PROBLEM, "--budget", "0.5s", "--json", wisdom)
        record = self.lines(wisdom)[0]
        # The default itself, which promises nothing: however busy the machine, it is as fast as the default.
        record.update(config=next(line["base"] for line in self.lines(self.sweep) if "base" in line), regret=-0.5)
        wisdom.write_text(json.dumps(record) + "\n")
        result = self.tune(PROBLEM, "--check", "--budget", "1s", "--json", "-", **nothing_else)
        row = json.loads(result.stdout)
        self.assertEqual([key for key in keys_test.KEYS if key not in row], [])
        self.assertEqual((row["recorded_seconds"], row["target"], row["m"]), (record["seconds"], "cpu", 4))
        self.assertIsNone(row["energy_j"])
        if "unknown" not in result.stderr:  # a neighbour was at work
            self.assertIn("1 of 1 record hold", result.stderr)
            self.assertIn("regret of the default", result.stderr)
        record.update(regret=9, seconds=1, default_seconds=10)  # it promises too much
        wisdom.write_text(json.dumps(record) + "\n")
        result = self.tune("--check", "--budget", "1s", code=(0, 1), **nothing_else)
        if "unknown" not in result.stdout:
            self.assertIn("regress", result.stderr)
            self.assertEqual(result.returncode, 1)


if __name__ == "__main__":
    TOOL = sys.argv.pop(1)
    unittest.main()
