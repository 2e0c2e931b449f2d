"""Sets how many problems hypothesis draws: 400 of each kind in every run, others by TILEWRIGHT_EXAMPLES; the same ones each time."""

import os
import sys

sys.path.insert(0, os.path.dirname(__file__))

try:
    import hypothesis
except ImportError:
    collect_ignore = ["random_test.py"]
else:
    hypothesis.settings.register_profile("tilewright", max_examples=int(os.environ.get("TILEWRIGHT_EXAMPLES", "400")),
                                         deadline=None, derandomize=True, database=None,
                                         suppress_health_check=list(hypothesis.HealthCheck))
    hypothesis.settings.load_profile("tilewright")
