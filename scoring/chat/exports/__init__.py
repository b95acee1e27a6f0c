"""Exports of other tools with model calls, read as chat rows: one module per format, from the objects of a JSON file.

A format converts an object of the file to its turns, by the names of chat rows. Unknown fields are ignored, and
`[monitoring.columns]` may name any of them.

A turn is a call that the model answers. A call whose response requests tools is an intermediate step, not a row.

Source: SPEC 13.
"""

from collections.abc import Mapping

from scoring.chat.reading import place_of, value_in

Turn = Mapping[str, object]
"""Values by the names of `READ_COLUMNS`; an `UnreadableCell` gives the reason why a value cannot be read."""

Names = Mapping[str, str]
"""Configured names of chat-row columns in the file, where they differ from those of the format."""


def named_values(found: Mapping[str, object], names: Names) -> dict[str, object]:
    """The values of an object at these names, with dots into objects and JSON text; missing values are left out."""
    places = {name: place for name, called in names.items() if (place := place_of(called, found))}
    values = {name: value_in(found[place.column], place.keys) for name, place in places.items()}
    return {name: value for name, value in values.items() if value is not None or not places[name].keys}


def joined_ids(trace: object, part: object) -> str | None:
    """The id of a part of a trace, `trace/part`; None if either is missing."""
    return f"{trace}/{part}" if isinstance(trace, str) and isinstance(part, str) and trace and part else None
