"""A later build, which is another process, knows the days that have not changed."""

import os
import subprocess
import sys
from pathlib import Path

from tasks.files.report_paths import ReportPaths
from tasks.warehouse.folder import FolderWarehouse
from tests.builders.chat_rows import DAY, best, refused
from tests.builders.site import write_day

_BUILD = (
    "import sys; from pathlib import Path; from tests.builders.site import build; "
    "from tasks.warehouse.folder import FolderWarehouse; build(FolderWarehouse(Path(sys.argv[1])), Path(sys.argv[2]))"
)


def test_inputs_of_a_day_are_the_same_in_another_process(tmp_path: Path) -> None:
    write_day(FolderWarehouse(tmp_path / "warehouse"), DAY, [best(), *(refused(output_tokens=0.0) for _ in range(5))])
    states = []
    for seed in ("1", "4"):  # of the order in which Python goes through a set
        command = [sys.executable, "-c", _BUILD, str(tmp_path / "warehouse"), str(tmp_path / "site")]
        subprocess.run(command, env=os.environ | {"PYTHONHASHSEED": seed}, check=True)
        states.append(ReportPaths(tmp_path / "site").site_state.read_bytes())
    assert states[0] == states[1]
