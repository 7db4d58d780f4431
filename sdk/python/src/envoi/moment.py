"""Moments: RFC 3339 is read, UTC with milliseconds and `Z` is written.

Counts milliseconds since 1970 in an `int`, because RFC 3339 knows moments that `datetime` does not (year 0, leap seconds).
"""

from __future__ import annotations

import re
from datetime import date, datetime, timezone
from typing import Optional, Tuple, Union

Time = Union[str, datetime]
"""A time as the contracts keep it: the text that was read. A `datetime` is accepted wherever one is given."""

_FIRST_MS = -62_167_219_200_000  # 0000-01-01T00:00:00.000Z
_LAST_MS = 253_402_300_799_999  # 9999-12-31T23:59:59.999Z
_DAYS_IN_400_YEARS = 146_097

_CLOCK = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt ]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]+))?", re.ASCII
)
_OFFSET = re.compile(r"[Zz]|([+-])([0-9]{2}):([0-9]{2})|\+00:00[Zz]")
_RUN_ID = re.compile(r"run-([0-9]{4})([0-9]{2})([0-9]{2})-([0-9]{2})([0-9]{2})([0-9]{2})-")


def parse(text: str) -> Optional[int]:
    """The moment in milliseconds since 1970, of a time with its offset; digits past the millisecond are cut off."""
    clock = _read(text)
    if clock is None or not clock[1]:
        return None
    offset = _OFFSET.fullmatch(clock[1])
    assert offset is not None  # `_read` has seen it
    shift = 0
    if offset[1]:
        shift = (int(offset[2]) * 60 + int(offset[3])) * (60_000 if offset[1] == "+" else -60_000)
    millis = clock[0] - shift
    return millis if _FIRST_MS <= millis <= _LAST_MS else None


def passed_on(text: str) -> Optional[str]:
    """The text under which a time that was read is passed on: itself, but `…+00:00Z` loses its `+00:00`."""
    clock = _read(text)
    if clock is None:
        return None
    return text[:-7] + "Z" if len(clock[1]) == 7 else text


def _read(text: str) -> Optional[Tuple[int, str]]:
    """What date and clock show, in milliseconds as if in UTC, and the offset; None if it is no time."""
    clock = _CLOCK.match(text)
    if clock is None:
        return None
    rest = text[clock.end() :]
    offset = _OFFSET.fullmatch(rest)
    if rest and (offset is None or (offset[1] and (int(offset[2]) > 23 or int(offset[3]) > 59))):
        return None
    *numbers, fraction = clock.groups()
    millis = _millis(*map(int, numbers))
    return None if millis is None else (millis + int(((fraction or "") + "000")[:3]), rest)


def _millis(year: int, month: int, day: int, hour: int, minute: int, second: int) -> Optional[int]:
    """A moment from its parts; a leap second is the second after. None if there is no such moment."""
    if hour > 23 or minute > 59 or second > 60:
        return None
    try:
        # `date` has no year 0; a calendar repeats after 400 years.
        days = date(year or 400, month, day).toordinal() - (0 if year else _DAYS_IN_400_YEARS)
    except ValueError:
        return None
    days -= date(1970, 1, 1).toordinal()
    return (((days * 24 + hour) * 60 + minute) * 60 + second) * 1000


def of_run_id(run_id: str) -> Optional[int]:
    """The moment at which a run named `run-YYYYMMDD-HHMMSS-…` was named, in UTC."""
    named = _RUN_ID.match(run_id)
    return _millis(*map(int, named.groups())) if named else None


def show(millis: int) -> str:
    """The moment as text; one that RFC 3339 cannot write becomes the nearest that it can."""
    millis = min(max(millis, _FIRST_MS), _LAST_MS)
    days, in_day = divmod(millis, 86_400_000)
    ordinal = days + date(1970, 1, 1).toordinal()
    year_0 = ordinal < 1
    day = date.fromordinal(ordinal + (_DAYS_IN_400_YEARS if year_0 else 0))
    hour, minute, second = in_day // 3_600_000, in_day // 60_000 % 60, in_day // 1000 % 60
    year = day.year - (400 if year_0 else 0)
    return f"{year:04}-{day.month:02}-{day.day:02}T{hour:02}:{minute:02}:{second:02}.{in_day % 1000:03}Z"


def now() -> str:
    """The current time. Only functions that make something new read the clock."""
    return of_datetime(datetime.now(timezone.utc))


def of_datetime(moment: datetime) -> str:
    """The moment in UTC with milliseconds; one without time zone is taken as local time."""
    utc = moment.astimezone(timezone.utc)
    return utc.replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def parse_time(text: str) -> datetime:
    """A time of an envelope as `datetime`, with its offset if it has one; digits past the microsecond are cut off.

    Raises ValueError for what is no time, and for the few moments that `datetime` cannot hold.
    """
    kept = passed_on(text)
    if kept is None:
        raise ValueError(f"not an RFC 3339 time: {text!r}")
    clock, offset = kept[:19].upper().replace(" ", "T"), kept[19:].upper()
    fraction = re.match(r"\.[0-9]+", offset)
    digits = fraction.group()[1:7].ljust(6, "0") if fraction else "000000"
    offset = offset[fraction.end() :] if fraction else offset
    return datetime.fromisoformat(f"{clock}.{digits}{'+00:00' if offset == 'Z' else offset}")


def text_of(time: Optional[Time]) -> Optional[str]:
    """A time as it is written: text stays, a `datetime` is written with all its digits and the offset it has."""
    return time.isoformat() if isinstance(time, datetime) else time
