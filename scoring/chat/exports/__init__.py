"""What other tools export of the calls of a model, as chat rows: one file a format, from the objects of a JSON file.

A format gives, for an object of the file, the turns that it holds, by the names of chat rows. Fields that it does not
know do no harm, and `[monitoring.columns]` may name each of them.

A turn is a call that the model answers. A call that it answers with a wish for tools is a step on the way, and no row.

Source: SPEC 13.
"""

from collections.abc import Mapping

from scoring.chat.reading import place_of, value_in

Turn = Mapping[str, object]
"""What was found by the names of `READ_COLUMNS`; an `UnreadableCell` says why a value could not be."""

Names = Mapping[str, str]
"""What columns of chat rows are called in the file, where that is not as the format says."""


def named_values(found: Mapping[str, object], names: Names) -> dict[str, object]:
    """What stands in an object at these names, with dots into objects and JSON text; what does not is left out."""
    places = {name: place for name, called in names.items() if (place := place_of(called, found))}
    values = {name: value_in(found[place.column], place.keys) for name, place in places.items()}
    return {name: value for name, value in values.items() if value is not None or not places[name].keys}


def joined_ids(trace: object, part: object) -> str | None:
    """The id of a part of a trace, `trace/part`; None where one of the two is not told."""
    return f"{trace}/{part}" if isinstance(trace, str) and isinstance(part, str) and trace and part else None
