/** Times, durations, sizes and names as people read them. */

const plural = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`;

export { plural };

/** `12 ms`, `1.2 s`, `12 s`, `3 h 48 min`, `2 d 4 h`: two units at most. */
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.round(ms)} ms`;
  if (ms < 10_000) return `${(ms / 1000).toFixed(1)} s`;
  return passing(ms);
}

/** A time that still goes on, or is still to come: in whole seconds. */
function passing(ms: number): string {
  const s = Math.floor(ms / 1000);
  if (s < 60) return `${s} s`;
  const [m, h, d] = [Math.floor(s / 60), Math.floor(s / 3600), Math.floor(s / 86_400)];
  if (m < 60) return m < 10 && s % 60 > 0 ? `${m} min ${s % 60} s` : `${m} min`;
  if (h < 24) return m % 60 > 0 ? `${h} h ${m % 60} min` : `${h} h`;
  return h % 24 > 0 ? `${d} d ${h % 24} h` : `${d} d`;
}

export const since = (at: string, now: number): string => passing(Math.max(0, now - Date.parse(at)));
export const until = (at: string, now: number): string => passing(Math.max(0, Date.parse(at) - now));

const DAY_MS = 86_400_000;

// Made once: to make one takes longer than to draw a row, and each row that scrolls into view has three times.
const formatOf = (options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat => new Intl.DateTimeFormat([], options);
const MINUTE = formatOf({ hour: "2-digit", minute: "2-digit" });
const SECOND = formatOf({ hour: "2-digit", minute: "2-digit", second: "2-digit" });
const DAY = formatOf({ month: "short", day: "numeric" });
const DAY_OF_YEAR = formatOf({ month: "short", day: "numeric", year: "numeric" });

/** In the zone of the person; today without the date. */
export const moment = (at: string | number | Date): string => dated(new Date(at), "");

/** The same in a sentence: `at 14:02`, `tomorrow at 14:02`. */
export const when = (at: string): string => dated(new Date(at), "at ");

function dated(time: Date, at: "" | "at "): string {
  const clock = at + MINUTE.format(time);
  const day = (of: Date): number => Math.round(Date.UTC(of.getFullYear(), of.getMonth(), of.getDate()) / DAY_MS);
  const days = day(time) - day(new Date());
  if (Math.abs(days) <= 1) return `${["yesterday ", "", "tomorrow "][days + 1] ?? ""}${clock}`;
  return `${(time.getFullYear() === new Date().getFullYear() ? DAY : DAY_OF_YEAR).format(time)} ${clock}`;
}

/** The time of the day to the second. */
export const clock = (at: number): string => SECOND.format(at);

export function size(bytes: number): string {
  if (bytes < 1024) return plural(bytes, "byte");
  if (bytes < 1024 * 1024) return `${(bytes / 1024).toFixed(1)} KiB`;
  return bytes < 1024 ** 3 ? `${(bytes / 1024 ** 2).toFixed(1)} MiB` : `${(bytes / 1024 ** 3).toFixed(1)} GiB`;
}

/** The beginning and the end of an id; the beginning of a digest. */
export const short = (id: string): string => (id.startsWith("sha256:") ? id.slice(0, 19) : id.length <= 16 ? id : `${id.slice(0, 8)}…${id.slice(-6)}`);

/** The first line with something in it. */
export const head = (text: string): string => text.split("\n").find((line) => line.trim() !== "")?.trim() ?? "";
