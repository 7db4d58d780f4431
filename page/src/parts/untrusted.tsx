/**
 * Text that the page did not write: of flows, steps, agents. It is never anything but text.
 *
 * Characters that would change how other text is read (direction, invisible ones, controls) are shown by their names. Colours of a
 * terminal are kept; nothing else that a terminal would do is.
 */

import type { JSX } from "preact";

/** Controls but tab and line feed, soft hyphen, what joins or hides, bidi controls, byte order mark, tags, lone surrogates. */
const ODD = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb]|\udb40[\udc00-\udfff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g;

/** A joiner after a picture of an emoji is as it should be. */
const JOINS = new Set(["\u200d", "\ufe0f"]);

/** Most characters that are shown at once; the rest is counted. */
const MOST = 200_000;

const nameOf = (char: string): string => `U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;

/** The text with odd characters named, for a place that takes nothing but text. */
export const named = (text: string): string => text.replace(ODD, nameOf);

/** The text with odd characters named. */
export function plain(text: string): (string | JSX.Element)[] {
  const parts: (string | JSX.Element)[] = [];
  let from = 0;
  for (const found of text.matchAll(ODD)) {
    const [char] = found;
    if (char === "\r" && text[found.index + 1] === "\n") {
      parts.push(text.slice(from, found.index));
      from = found.index + 1;
      continue;
    }
    if (JOINS.has(char) && /\p{Extended_Pictographic}/u.test(text.slice(Math.max(0, found.index - 2), found.index))) continue;
    parts.push(text.slice(from, found.index));
    parts.push(<span class="odd" title="a character that cannot be seen, or that changes how text is read">{nameOf(char)}</span>);
    from = found.index + char.length;
  }
  parts.push(text.slice(from));
  return parts;
}

/** A text that may have to be scrolled has to be reachable with the keyboard. */
export const isLong = (text: string): boolean => text.length > 500 || text.split("\n").length > 12;

/** A paragraph of a run's words, in a frame of their own. */
export function Words({ text, from }: { text: string; from: string }): JSX.Element {
  const shown = text.length > MOST ? text.slice(0, MOST) : text;
  return (
    <figure class="words">
      <figcaption>{plain(from)}</figcaption>
      <div class="text" dir="auto" {...(isLong(shown) ? { tabIndex: 0, role: "region", "aria-label": named(from) } : {})}>{plain(shown)}</div>
      {shown.length < text.length && <p class="note">{`and ${text.length - shown.length} more characters`}</p>}
    </figure>
  );
}

/** A line of a run's words. */
export const Line = ({ text }: { text: string }): JSX.Element => <bdi class="foreign">{plain(text)}</bdi>;

interface Style {
  fg: string;
  bg: string;
  more: Set<string>;
}

const NAMES = ["black", "red", "green", "yellow", "blue", "magenta", "cyan", "white"];

/** Control sequences for a terminal: colours (SGR) are kept apart, all else is dropped. */
const ESCAPES = /\u001b(?:\[([0-9;:]*)([@-~])?|\[[0-?]*[ -/]*[@-~]?|\][^\u0007\u001b]*(?:\u0007|\u001b\\)?|[PX^_][^\u001b]*(?:\u001b\\)?|[ -/]*[0-~]?)/g;

/** A line of an output: as it is shown, and its characters alone. */
export interface OutputLine {
  parts: (string | JSX.Element)[];
  plain: string;
}

/** Longer lines are cut: the browser would lay them out for seconds. */
const LONGEST = 20_000;

/** Output of a command, in lines. A line that was written over shows what was written last. */
export function lined(text: string): OutputLine[] {
  const lines: OutputLine[] = [{ parts: [], plain: "" }];
  const style: Style = { fg: "", bg: "", more: new Set() };
  // After a carriage return: what comes next is written over the line.
  let isOver = false;
  const say = (piece: string): void => {
    const names = [style.fg && `fg-${style.fg}`, style.bg && `bg-${style.bg}`, ...style.more].filter((name) => name !== "");
    piece.split("\n").forEach((written, nth) => {
      if (nth > 0) lines.push({ parts: [], plain: "" }), (isOver = false);
      const line = lines.at(-1);
      if (line === undefined || written === "") return;
      const tries = written.split("\r");
      const last = tries.findLastIndex((each) => each !== "");
      if (last > 0 || (last === 0 && isOver)) [line.parts, line.plain] = [[], ""];
      isOver = last < tries.length - 1;
      const words = tries[last] ?? "";
      if (words === "") return;
      const left = LONGEST - line.plain.length;
      line.plain += words;
      if (left <= 0) return;
      const shown = plain(words.slice(0, left));
      line.parts.push(...(names.length === 0 ? shown : [<span class={names.join(" ")}>{shown}</span>]));
    });
  };
  let from = 0;
  for (const found of text.matchAll(ESCAPES)) {
    say(text.slice(from, found.index));
    from = found.index + found[0].length;
    if (found[2] === "m") restyle(style, found[1] ?? "");
  }
  say(text.slice(from));
  for (const line of lines) if (line.plain.length > LONGEST) line.parts.push(<span class="note">{` and ${line.plain.length - LONGEST} more characters`}</span>);
  if (lines.length > 1 && lines.at(-1)?.plain === "") lines.pop();
  return lines;
}

/** A short output. */
export const Output = ({ text }: { text: string }): JSX.Element => <div class="output" dir="ltr">{lined(text).map(({ parts }, nth) => <div class="ln" key={nth}><span class="tx">{parts}{"\n"}</span></div>)}</div>;

function restyle(style: Style, codes: string): void {
  const all = codes === "" ? [0] : codes.split(/[;:]/).map(Number);
  for (let at = 0; at < all.length; at += 1) {
    const code = all[at] ?? 0;
    const bright = code >= 90 && code <= 107;
    if (code === 0) [style.fg, style.bg] = ["", ""], style.more.clear();
    else if (code === 1) style.more.add("bold");
    else if (code === 2) style.more.add("dim");
    else if (code === 3) style.more.add("italic");
    else if (code === 4) style.more.add("underline");
    else if (code === 9) style.more.add("strike");
    else if (code === 22) style.more.delete("bold"), style.more.delete("dim");
    else if (code === 23) style.more.delete("italic");
    else if (code === 24) style.more.delete("underline");
    else if (code === 29) style.more.delete("strike");
    else if ((code >= 30 && code <= 37) || (code >= 90 && code <= 97)) style.fg = `${NAMES[code % 10] ?? ""}${bright ? "-bright" : ""}`;
    else if ((code >= 40 && code <= 47) || (code >= 100 && code <= 107)) style.bg = NAMES[code % 10] ?? "";
    else if (code === 39) style.fg = "";
    else if (code === 49) style.bg = "";
    // Colours by number: the page has 16 of its own, which can be read on either ground.
    else if (code === 38 || code === 48) at += all[at + 1] === 5 ? 2 : all[at + 1] === 2 ? 4 : 0;
  }
}
