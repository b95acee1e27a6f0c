"""Prints the licence of every installed package; fails for one that names none, or one that binds our own code."""

import re
import sys
from importlib.metadata import Distribution, distributions

# Copyleft of the library alone (LGPL, MPL) is no trouble for a program that merely imports it.
BINDING = re.compile(r"(?<!L)(?<!Lesser )\b(A?GPL|General Public)", re.IGNORECASE)
OURSELVES = "aqb"


def licence(package: Distribution) -> str:
    """What the package says of its licence, '' when it says nothing."""
    told = package.metadata
    classifiers = [text for text in told.get_all("Classifier") or [] if text.startswith("License ::")]
    named = " or ".join(text.rpartition("::")[2].strip() for text in classifiers)
    first_line = (told.get("License") or "").strip().partition("\n")[0][:60]
    return told.get("License-Expression") or named or first_line


def binds(told: str) -> bool:
    """Whether none of the alternatives leaves our own code alone."""
    return all(not one or BINDING.search(one) for one in re.split(r" or | OR ", told))


packages = sorted(distributions(), key=lambda package: package.metadata["Name"].casefold())
licences = {package.metadata["Name"]: licence(package) for package in packages if package.metadata["Name"] != OURSELVES}
sys.stdout.writelines(f"{name:40} {told or '(none named)'}\n" for name, told in licences.items())
if troubles := [name for name, told in licences.items() if binds(told)]:
    sys.exit(f"look at these licences: {', '.join(troubles)}")
