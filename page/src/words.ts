/** Times, durations, sizes and names as people read them. */

const plural = (count: number, one: string, many = `${one}s`): string => `${count} ${count === 1 ? one : many}`;

export { plural };

/** `12 s`, `3 min`, `3 h 48 min`, `2 d 4 h`: two units at most. */
export function duration(ms: number): string {
  if (ms < 1000) return `${(ms / 1000).toFixed(1)} s`;
  if (ms < 10_000) return `${(ms / 1000).toFixed(1)} s`;
  const s = Math.floor(ms / 1000);
  if (s < 60) return `${s} s`;
  const [m, h, d] = [Math.floor(s / 60), Math.floor(s / 3600), Math.floor(s / 86_400)];
  if (m < 60) return m < 10 && s % 60 > 0 ? `${m} min ${s % 60} s` : `${m} min`;
  if (h < 24) return m % 60 > 0 ? `${h} h ${m % 60} min` : `${h} h`;
  return h % 24 > 0 ? `${d} d ${h % 24} h` : `${d} d`;
}

export const since = (at: string, now: number): string => duration(Math.max(0, now - Date.parse(at)));
export const until = (at: string, now: number): string => duration(Math.max(0, Date.parse(at) - now));

/** In the zone of the person; today without the date. */
export function moment(at: string | Date): string {
  const time = new Date(at);
  const today = time.toDateString() === new Date().toDateString();
  const clock = time.toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
  return today ? clock : `${time.toLocaleDateString()} ${clock}`;
}

export function size(bytes: number): string {
  if (bytes < 1024) return plural(bytes, "byte");
  return bytes < 1024 * 1024 ? `${(bytes / 1024).toFixed(1)} KiB` : `${(bytes / 1024 / 1024).toFixed(1)} MiB`;
}

/** The beginning and the end of an id. */
export const short = (id: string): string => (id.length <= 16 ? id : `${id.slice(0, 8)}…${id.slice(-6)}`);

/** The first line with something in it. */
export const head = (text: string): string => text.split("\n").find((line) => line.trim() !== "")?.trim() ?? "";
