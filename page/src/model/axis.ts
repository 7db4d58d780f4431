/** The axis of the bars: time, without the long stretches in which nothing was done. Pure: no document, no clock. */

export interface Work {
  from: number;
  to: number;
  /** Whether something was done all the time; else it waited, and only its ends count. */
  isWork: boolean;
}

/** A stretch that is left out. */
export interface Break {
  /** Its position on the axis, from 0 to 1, and the time that it takes. */
  at: number;
  ms: number;
}

export interface Axis {
  from: number;
  to: number;
  /** The position of a time, from 0 to 1. */
  at: (time: number) => number;
  breaks: readonly Break[];
}

/** A stretch is left out if it is more than this part of the whole, and so many milliseconds. */
const LONG = 0.05;
const LONG_MS = 5_000;
/** The part of the axis for a stretch that is left out, and the most for all of them together. */
const SHOWN = 0.1;
const SHOWN_TOGETHER = 0.3;

export function axisOf(all: readonly Work[]): Axis {
  if (all.length === 0) return { from: 0, to: 1, at: () => 0, breaks: [] };
  const from = Math.min(...all.map((each) => each.from));
  const to = Math.max(from + 1, ...all.map((each) => each.to));
  const busy = all.flatMap((each) => (each.isWork ? [[each.from, each.to] as const] : [[each.from, each.from] as const, [each.to, each.to] as const]));
  // If nothing was done at all, nothing is left out.
  const least = all.some((each) => each.isWork && each.to > each.from) ? Math.max(LONG_MS, LONG * (to - from)) : Infinity;
  busy.sort(([a], [b]) => a - b);
  const idle: [from: number, to: number][] = [];
  let end = from;
  for (const [begin, over] of busy) {
    if (begin - end > least) idle.push([end, begin]);
    end = Math.max(end, over);
  }
  const worked = Math.max(1, to - from - idle.reduce((sum, [a, b]) => sum + b - a, 0));
  const gap = Math.min(SHOWN, SHOWN_TOGETHER / Math.max(1, idle.length)) * worked;
  const whole = worked + gap * idle.length;
  const at = (time: number): number => {
    let place = Math.min(Math.max(time, from), to) - from;
    for (const [a, b] of idle) {
      if (time <= a) break;
      const part = Math.min(1, (time - a) / (b - a));
      place -= (Math.min(time, b) - a) - part * gap;
    }
    return Math.min(1, Math.max(0, place / whole));
  };
  return { from, to, at, breaks: idle.map(([a, b]) => ({ at: (at(a) + at(b)) / 2, ms: b - a })) };
}
