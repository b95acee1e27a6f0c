"""Versions of a file that a person has sent, and who may have it."""

from typing import Any

from tasks.testruns.uploads import Upload
from tasks.web.asked import Asked


def takes_home(asked: Asked, upload: Upload) -> bool:
    """Whether this person may have a file with its texts as they are: who has sent it knows them."""
    return asked.sees_personal_data or upload.who == asked.viewer.name


def later_versions(asked: Asked, upload: Upload) -> list[Upload]:
    """The files that were made of a file, the latest first."""
    return [one for one in asked.uploads.latest() if one.of and one.of.id == upload.id]


def version_values(asked: Asked, upload: Upload) -> dict[str, Any]:
    """What the pages of a file say of the version before it, and of those that were made of it."""
    return {
        "upload": upload,
        "before_it": asked.uploads.find(upload.of.id) if upload.of else None,
        "later_versions": later_versions(asked, upload),
        "may_correct": asked.viewer.may("reviewer") and takes_home(asked, upload),
    }
