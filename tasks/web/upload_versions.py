"""Versions of an uploaded file, and who may download it."""

from typing import Any

from tasks.testruns.uploads import Upload
from tasks.web.asked import Asked


def takes_home(asked: Asked, upload: Upload) -> bool:
    """Whether this person may download a file with its texts unmasked: the uploader knows them."""
    return asked.sees_personal_data or upload.who == asked.viewer.name


def later_versions(asked: Asked, upload: Upload) -> list[Upload]:
    """The later versions of a file, latest first."""
    return [one for one in asked.uploads.latest() if one.of and one.of.id == upload.id]


def version_values(asked: Asked, upload: Upload) -> dict[str, Any]:
    """The values of the version before a file and of those after it, for its pages."""
    return {
        "upload": upload,
        "before_it": asked.uploads.find(upload.of.id) if upload.of else None,
        "later_versions": later_versions(asked, upload),
        "may_correct": asked.viewer.may("reviewer") and takes_home(asked, upload),
    }
