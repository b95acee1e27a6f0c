"""What other tools export of the calls of a model, as chat rows: one file a format, from the objects of a JSON file.

A format gives, for an object of the file, the turns that it holds, by the names of chat rows. Fields that it does not
know do no harm, and `[monitoring.columns]` may name each of them.

A turn is a call that the model answers. A call that it answers with a wish for tools is a step on the way, and no row.

Source: SPEC 13.
"""

from collections.abc import Mapping

Turn = Mapping[str, object]
"""What was found by the names of `READ_COLUMNS`; an `UnreadableCell` says why a value could not be."""

Names = Mapping[str, str]
"""What columns of chat rows are called in the file, where that is not as the format says."""
