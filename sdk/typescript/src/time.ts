/** Moments: RFC 3339 in, UTC with milliseconds and `Z` out. Never reads a clock. */

/** 0000-01-01T00:00:00.000Z and 9999-12-31T23:59:59.999Z: what RFC 3339 can write. */
const FIRST_MS = -62_167_219_200_000;
const LAST_MS = 253_402_300_799_999;

const DAY_MS = 86_400_000;

/** Days from 0000-01-01 to 1970-01-01. */
const EPOCH_DAYS = 719_528;

const CLOCK = /^([0-9]{4})-([0-9]{2})-([0-9]{2})[Tt ]([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]+))?/;
const OFFSET = /^([+-])([0-9]{2}):([0-9]{2})([Zz]?)$/;
const RUN_ID = /^run-([0-9]{4})([0-9]{2})([0-9]{2})-([0-9]{2})([0-9]{2})([0-9]{2})-/;

/** Milliseconds since 1970-01-01T00:00:00Z. */
export type Milliseconds = number;

/** The moment of an RFC 3339 time with its offset; also `…+00:00Z`. Digits past the millisecond are cut off. */
export function parseTime(text: string): Milliseconds | undefined {
  const clock = readClock(text);
  const offset = clock && offsetOf(clock.rest);
  if (clock === undefined || offset === undefined) return undefined;
  const moment = clock.millis - offset;
  return moment >= FIRST_MS && moment <= LAST_MS ? moment : undefined;
}

/** A moment as `2026-01-02T03:04:06.500Z`; one that RFC 3339 cannot write becomes the nearest that it can. */
export function formatTime(moment: Milliseconds): string {
  const inside = Math.min(Math.max(Math.trunc(moment), FIRST_MS), LAST_MS);
  const days = Math.floor(inside / DAY_MS);
  const inDay = inside - days * DAY_MS;
  const digits = (value: number, width = 2): string => String(Math.floor(value)).padStart(width, "0");
  const [year, month, day] = dateOf(days);
  const clock = [inDay / 3_600_000, (inDay / 60_000) % 60, (inDay / 1000) % 60].map((part) => digits(part)).join(":");
  return `${digits(year, 4)}-${digits(month)}-${digits(day)}T${clock}.${digits(inDay % 1000, 3)}Z`;
}

/** The text under which a read time is passed on: itself, but `…+00:00Z` becomes `…Z`. Undefined if it is no time. */
export function passedOn(text: string): string | undefined {
  const clock = readClock(text);
  if (clock === undefined || (clock.rest !== "" && offsetOf(clock.rest) === undefined)) return undefined;
  return text.replace(/\+00:00[Zz]$/, "Z");
}

/** The moment at which a run whose id is `run-YYYYMMDD-HHMMSS-…` was named, in UTC. */
export function timeOfRunId(runId: string): Milliseconds | undefined {
  const parts = RUN_ID.exec(runId);
  return parts === null ? undefined : millisOf(parts.slice(1, 7).map(Number), 0);
}

/** What a calendar and a clock show, as if in UTC, and what follows, where the offset stands. */
function readClock(text: string): { millis: Milliseconds; rest: string } | undefined {
  const parts = CLOCK.exec(text);
  if (parts === null) return undefined;
  const millis = millisOf(parts.slice(1, 7).map(Number), Number((parts[7] ?? "").padEnd(3, "0").slice(0, 3)));
  return millis === undefined ? undefined : { millis, rest: text.slice(parts[0].length) };
}

/** Undefined if there is no such moment; a leap second is the second after. */
function millisOf([year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0]: number[], milli: number): number | undefined {
  const isDay = month >= 1 && month <= 12 && day >= 1 && day <= daysIn(year, month);
  if (!isDay || hour > 23 || minute > 59 || second > 60) return undefined;
  return (((daysUntil(year, month, day) * 24 + hour) * 60 + minute) * 60 + second) * 1000 + milli;
}

function isLeap(year: number): boolean {
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0);
}

function daysIn(year: number, month: number): number {
  if (month === 2) return isLeap(year) ? 29 : 28;
  return [4, 6, 9, 11].includes(month) ? 30 : 31;
}

/** Days from 1970-01-01 to a date: whole years, whole months, days. */
function daysUntil(year: number, month: number, day: number): number {
  let days = daysBeforeYear(year) - EPOCH_DAYS + day - 1;
  for (let passed = 1; passed < month; passed += 1) days += daysIn(year, passed);
  return days;
}

/** Days from 0000-01-01 to the first day of `year`; the year 0 is a leap year. */
function daysBeforeYear(year: number): number {
  if (year === 0) return 0;
  const last = year - 1;
  return year * 365 + Math.floor(last / 4) - Math.floor(last / 100) + Math.floor(last / 400) + 1;
}

/** The date that stands `days` after 1970-01-01. */
function dateOf(days: number): [year: number, month: number, day: number] {
  const sinceZero = days + EPOCH_DAYS;
  let year = Math.floor(sinceZero / 365.2425);
  while (daysBeforeYear(year) > sinceZero) year -= 1;
  while (daysBeforeYear(year + 1) <= sinceZero) year += 1;
  let rest = sinceZero - daysBeforeYear(year);
  let month = 1;
  for (; rest >= daysIn(year, month); month += 1) rest -= daysIn(year, month);
  return [year, month, rest + 1];
}

function offsetOf(text: string): number | undefined {
  if (text === "Z" || text === "z") return 0;
  const [, sign, hours, minutes, zulu] = OFFSET.exec(text) ?? [];
  const [hour, minute] = [Number(hours), Number(minutes)];
  if (sign === undefined || hour > 23 || minute > 59) return undefined;
  if (zulu !== "" && (sign !== "+" || hour !== 0 || minute !== 0)) return undefined;
  return (sign === "+" ? 1 : -1) * (hour * 60 + minute) * 60_000;
}
