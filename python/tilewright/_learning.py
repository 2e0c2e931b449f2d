"""What calls would do, what they did, and how they get faster: explain, prepare, record, tune."""

import html
import json
import numbers
import warnings

import numpy

from . import _core, _cuda, _html, _lu
from ._arrays import conjugated, kind_of
from ._checks import factors, flag, seconds, text, type_error
from ._checks import path as checked_path
from ._importing import importing
from ._product import make_options


# Explanations name these commands, which are functions of this package.
_FUNCTIONS = {"tilewright info --measure": "tilewright.info(measure=True)", "tilewright calibrate": "tilewright.calibrate()",
              "`tilewright tune`": "tilewright.tune(...)"}


LINE_WIDTH, LABEL_WIDTH = 100, 11  # as the tool prints explanations


def _pieces(line):
    """Parts of a line that end at blanks, or behind commas and colons where the last blank would leave a short part."""
    while len(line) > LINE_WIDTH:
        at = line.rfind(" ", 0, LINE_WIDTH)
        if at < LINE_WIDTH // 2:
            at = max(line.rfind(mark, 0, LINE_WIDTH) for mark in " ,:")
        if at <= len(line) - len(line.lstrip()):  # a longer word stays whole
            at = min((i for i in (line.find(mark, LINE_WIDTH) for mark in " ,:") if i >= 0), default=len(line))
        if at + 1 >= len(line):
            break
        yield line[:at + 1].rstrip()
        line = " " * LABEL_WIDTH + line[at + 1:].lstrip()
    yield line


class Explanation(str):
    """The text of a plan in lines of at most 100 columns: the candidates and why each was or was not taken, the config, where it comes
    from, the bound. Notebooks show it as a block."""

    def __new__(cls, text):
        for command, function in _FUNCTIONS.items():
            text = text.replace(command, function)
        return super().__new__(cls, "\n".join(piece for line in text.split("\n") for piece in _pieces(line)))

    def __repr__(self):
        return str(self)

    def _repr_html_(self):
        first, _, rest = self.partition("\n")
        return f"<details open><summary><code>{html.escape(first)}</code></summary><pre>{html.escape(rest)}</pre></details>"


def _counted(count, noun):
    return f"{count} {noun}{'' if count == 1 else 's'}"


class _Tunings(list):
    """What tune returns: rows, printed as a table."""

    COLUMNS = ("problem", "time", "faster by", "of configs", "config")

    def _lines(self):
        for row in self:
            config = ",".join(f"{name}={value}" for name, value in row["config"].items())
            yield (row["asked"], f"{row['seconds'] * 1e6:.3g} us", f"{100 * row['regret']:.0f} %",
                   f"{row['measured']} of {row['candidates']}", config)

    def __repr__(self):
        table = [self.COLUMNS, *self._lines()]
        widths = [max(map(len, column)) for column in zip(*table)]
        return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(line, widths)).rstrip() for line in table)

    def _repr_html_(self):
        return _html.table(self.COLUMNS, self._lines())


def problem_of(a, b, out=None, *, alpha=1, beta=0, transpose_a=False, transpose_b=False, conjugate_a=False, conjugate_b=False,
               promote=False):
    """The problem that matmul of these arguments is, as text, such as
    'gemm_batched:f64:nn:m=8,n=8,k=8:strided:batch=100000'. Sides are those of the library, which sees matrices by rows as
    transposes by columns. Operands that matmul would copy first are taken as copied. Of a batch that takes several calls (more than
    three levels that do not join) it is the problem of each."""
    from ._matmul import Operands
    operands = Operands(a, b, transpose_a, transpose_b, promote)
    alpha, beta = factors(alpha, beta, operands.dtype, True)
    conjugate_a, conjugate_b = flag("conjugate_a", conjugate_a), flag("conjugate_b", conjugate_b)
    kind = operands.kind_a
    x, y = operands.a, operands.b
    conjugate_a ^= conjugated(kind, x)
    conjugate_b ^= conjugated(operands.kind_b, y)
    result = kind.empty(operands.shape, operands.dtype, x) if out is None else operands.checked_out(out, kind_of(out, "out"))
    view = operands.as_matrices(kind, result)
    for _ in range(2):
        found = _core.problem_text(kind.operand(x), operands.kind_b.operand(y), kind.operand(view), alpha, beta, conjugate_a, conjugate_b)
        if found:
            return found
        x, y = kind.packed(x, conjugate_a), operands.kind_b.packed(y, conjugate_b)
        conjugate_a = conjugate_b = False
        view = kind.empty(operands.full_shape, operands.dtype, x)
    raise RuntimeError("this product has no problem of its own")


def explain(problem, b=None, *, device=0, **options):
    """Why a product is computed as it is, without computing it.

    problem: a problem's text (docs/problem.md), LU's too, or the array a of a product with b. Options are those of
    matmul; device is the GPU that a problem in device memory lies on. Returns an Explanation, which is a str. Raises ValueError
    for a text that cannot be read and a GPU that is not there.
    """
    if isinstance(problem, str) and b is not None:
        raise TypeError("explain takes the text of a problem or two arrays: b needs an array a")
    if not isinstance(problem, str):
        if b is None:
            raise TypeError("explain takes the text of a problem or two arrays")
        shape = {name: options.pop(name) for name in ("out", "alpha", "beta", "transpose_a", "transpose_b", "conjugate_a",
                                                      "conjugate_b", "promote") if name in options}
        problem = problem_of(problem, b, **shape)
    return Explanation(_core.explain(text("problem", problem), make_options(options), _cuda.checked_device(device)))


def prepare(*problems, device=0, **options):
    """Makes the plans of problems (texts; problem_of gives those of arrays) and compiles what they need, so that the calls
    that follow find everything made and can be captured in a CUDA graph."""
    _core.prepare(list(_texts(problems)), make_options(options), _cuda.checked_device(device))


class record:
    """Records what a block of code multiplies, on all threads:

        with tilewright.record() as log:
            ...
        for row in log.rows: print(row["problem"], row["count"], row["seconds"])

    With a path the problems are added to that file too, as JSON lines that `tilewright tune --from` and `tune` read.
    Seconds are the host's; work on a GPU counts what queueing it took. Copies made first are not part of them. Each
    entry of grouped_matmul and variable_matmul is a problem with its share of the call, by operations. Linear systems are not recorded,
    which a warning says where there were some.
    """

    def __init__(self, path=None):
        self.path = None if path is None else checked_path("path", path)
        self.rows = []
        self._record = None
        self._factored = 0

    def __repr__(self):
        if self._record is not None:
            return "<tilewright.record, in its block>"
        calls = sum(row["count"] for row in self.rows)
        return f"<tilewright.record of {_counted(len(self.rows), 'problem')}, {_counted(calls, 'call')}>"

    def _repr_html_(self):
        rows = ((row["problem"], row["count"], f"{row['seconds']:.3g} s") for row in self.rows)
        return _html.table(("problem", "calls", "time"), rows, repr(self).strip("<>"))

    def __enter__(self):
        if self._record is not None:
            raise RuntimeError("this record() is already in use by a block: nest another one in it")
        record = _core.Record()
        _core.begin_record(record)
        self._record, self._factored = record, _lu.calls[0]
        return self

    def __exit__(self, *_):
        if self._record is None:
            raise RuntimeError("this record() is not in use by a block")
        record, self._record = self._record, None
        _core.end_record(record)
        systems = _lu.calls[0] - self._factored
        if systems > 0:
            warnings.warn(f"record() does not record linear systems: {_counted(systems, 'factorization')} ran in its block", stacklevel=2)
        self.rows = sorted(record.runs(), key=lambda row: -row["seconds"])
        if self.path is not None:
            with open(self.path, "a") as file:
                for row in self.rows:
                    file.write(json.dumps({**row, "residency": "auto"}) + "\n")
        return False

    @property
    def problems(self):
        """The texts of the problems, those that took longest first."""
        return [row["problem"] for row in self.rows]


class _Bar:
    """tqdm where it is installed, else nothing."""

    def __init__(self, total):
        try:
            with importing:
                from tqdm.auto import tqdm  # type: ignore[import-untyped,import-not-found,unused-ignore]
        except ImportError:
            self.bar = None
        else:
            self.bar = tqdm(total=total, unit="problem")

    def __call__(self, problem, done, spent_s):
        if self.bar is not None:
            self.bar.set_postfix_str(problem)
            self.bar.update(done - self.bar.n)

    def close(self, done=None):
        if self.bar is not None:
            if done is not None:
                self.bar.update(done - self.bar.n)
            self.bar.close()


def _answered(progress):
    """`progress` with what it returns as a truth."""
    def call(problem, done, spent_s):
        answer = progress(problem, done, spent_s)
        if answer is None:
            return True
        if not isinstance(answer, (numbers.Number, numpy.bool_)):
            raise TypeError(f"progress returned {answer!r}, but must return None, True or False")
        return bool(answer)

    return call


def tune(*problems, budget_s=2.0, objective="time", strategy="exhaustive", device=0, log="", resume=False, progress=None):
    """Searches the best configs of problems by measuring and keeps them in the user's wisdom; calls use them from then on.

    problems: texts, lists of them, or rows and records of `record()`. budget_s: seconds in all. objective: time, energy, edp,
    alpha=0.7, energy_within=5% (all but time need a meter). strategy: exhaustive, random, local, model. progress:
    callable(problem, done, spent_s) between turns, of which False ends the search (None goes on); "bar" shows a bar where tqdm is
    installed; None nothing. log: a file that every measured turn goes to, and with resume=True is gone on from.
    Returns a dictionary for each problem that the budget sufficed for, in their order: `asked` is the problem's text as it was
    given, `problem` as it was timed (packed, cold where it does not say, a batch as large as that takes), then config, seconds,
    regret and so on; joules is None without a meter. Raises ValueError naming a bad argument, or a budget that does not even pay
    for filling memory with a problem's operands, and NotImplementedError for what cannot be searched. An exception of
    `progress`, or Ctrl-C, ends the search; what was found before is kept.
    """
    with importing:
        from . import _tune
    texts = list(_texts(problems))
    if not texts:
        raise TypeError("tune needs a problem")
    if progress is not None and progress != "bar" and not callable(progress):
        raise type_error("progress", progress, "a function, 'bar' or None")
    arguments = (seconds("budget_s", budget_s), text("objective", objective), text("strategy", strategy), _cuda.checked_device(device),
                 checked_path("log", log), flag("resume", resume))
    bar, rows = (_Bar(len(texts)) if progress == "bar" else None), None
    call = bar or progress
    try:
        rows = _tune.tune(_core.context_capsule(), texts, *arguments, call and _answered(call))
    except ValueError as error:
        if str(error).startswith("--"):  # the tool's names of flags begin so
            raise ValueError(str(error)[2:]) from None
        raise
    finally:
        if bar is not None:
            bar.close(None if rows is None else len(rows))
    for row in rows:
        row["config"] = json.loads(row["config"]) if row["config"] else {}
        row["joules"] = row["joules"] or None
    return _Tunings({"asked": asked, **row} for asked, row in zip(texts, rows))  # a problem without a kept result ends the search


def _texts(problems):
    """The texts of problems, rows and records, in whatever sequences of these."""
    for one in problems:
        if isinstance(one, str):
            yield text("a problem", one)
        elif isinstance(one, dict) and "problem" in one:
            yield text("the problem of a row", one["problem"])
        elif isinstance(one, record):
            yield from one.problems
        elif isinstance(one, (bytes, dict)) or not hasattr(one, "__iter__"):
            raise type_error("a problem", one, "a string, a row or record of record(), or a sequence of these")
        else:
            yield from _texts(one)
