"""Recorded runs in results/: plain or compressed lines of JSON. Whoever reads them in Python, tables, figures, checks, does it
through this; the tool and the tests read them by src/measure/recorded_file.hpp."""

import gzip
import json


def text_of(path):
    return (gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()).decode()


def rows_of(path):
    return [json.loads(line) for line in text_of(path).splitlines()]


def files_of(root, machine, stem):
    """The files of one family on one machine, or those of `stem` as a pattern, the newest last."""
    return sorted((root / "results" / machine).glob(f"{stem}.jsonl*"))
