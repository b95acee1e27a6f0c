from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from tasks.testruns.uploads import Uploads


def test_files_that_arrive_at_the_same_time_do_not_fail_each_other(tmp_path: Path) -> None:
    uploads = Uploads(tmp_path)

    def send(name: str) -> None:
        with uploads.arriving() as file:
            file.write(b"ID\n1\n")
            file.keep(name, "kim")

    names = {f"{number}.csv" for number in range(150)}
    with ThreadPoolExecutor(8) as people:
        assert len(list(people.map(send, names))) == len(names)
    assert {upload.name for upload in uploads.latest()} == names
    assert list(tmp_path.glob(".*")) == []
