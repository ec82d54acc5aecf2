"""Records the benchmark's descriptions of its competitions: `record.py > competitions.json`.

Run it with an interpreter that can import the benchmark's package.
"""

import json
from pathlib import Path

from mlebench.registry import registry

PATHS = ["answers", "gold_submission", "sample_submission", "raw_dir", "private_dir", "public_dir"]
directory = registry.get_data_dir()
found = {}
for name in registry.list_competition_ids():
    one = registry.get_competition(name)
    found[name] = {"name": one.name, "competition_type": one.competition_type, "grader": one.grader.name}
    found[name] |= {key: Path(getattr(one, key)).relative_to(directory).as_posix() for key in PATHS}
lines = ",\n".join(f"{json.dumps(name)}: {json.dumps(facts, ensure_ascii=False)}" for name, facts in found.items())
print("{\n" + lines + "\n}")
