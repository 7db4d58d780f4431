"""JSON as the contracts want it: strict to read, the same bytes whenever it is written, and nothing lost between.

`loads` refuses what two programs could read in two ways: a name twice in an object, half a surrogate pair, a second
document, `NaN`. `dumps` gives back member order, strings, and numbers digit by digit. Values are plain Python values; only
a number whose text Python would not reproduce is an `Int` or a `Float` that remembers its token.
"""

from .number import Float, Int, Normal, as_count, is_fraction_of_one, normal, token_of
from .plain import plain
from .read import MAX_BYTES, MAX_DEPTH, JsonError, Position, escape_segment, is_number, locate, loads
from .write import dumps

__all__ = [
    "MAX_BYTES",
    "MAX_DEPTH",
    "Float",
    "Int",
    "JsonError",
    "Normal",
    "Position",
    "as_count",
    "dumps",
    "escape_segment",
    "is_fraction_of_one",
    "is_number",
    "loads",
    "locate",
    "normal",
    "plain",
    "token_of",
]
