/**
 * A small reader of Markdown: blocks and the parts of a line, as plain values. Unknown syntax stays text; HTML is text.
 *
 * Pure: `rendered.tsx` shows them on the screen.
 */

export type Inline =
  | { kind: "text" | "code"; text: string }
  | { kind: "strong" | "em"; parts: Inline[] }
  | { kind: "link"; parts: Inline[]; to: string }
  | { kind: "picture"; text: string };

export type Block =
  | { kind: "heading"; level: number; parts: Inline[] }
  | { kind: "paragraph" | "quote"; parts: Inline[] }
  | { kind: "code"; text: string; language: string }
  | { kind: "list"; ordered: boolean; items: Inline[][] }
  | { kind: "table"; head: Inline[][]; rows: Inline[][][] }
  | { kind: "rule" };

/** More of it is not read: the text is shown as it is. */
const MOST_BLOCKS = 2_000;
const MOST_CHARS = 512 * 1024;
const MOST_DEEP = 4;

/** Each part is bounded, so that no text takes long. */
const INLINE = /(`{1,3})(.{1,1000}?)\1(?!`)|(!?)\[([^\]\n]{0,500})\]\(([^()\s]{0,2000})(?:\s+"[^"]{0,200}")?\)|\*\*(?=\S)(.{1,1000}?)(?<=\S)\*\*|__(?=\S)(.{1,1000}?)(?<=\S)__|\*(?=[^\s*])(.{1,1000}?)(?<=\S)\*|(?<![\p{L}\p{N}_])_(?=[^\s_])(.{1,1000}?)(?<=\S)_(?![\p{L}\p{N}_])/u;

export function inlines(text: string, deep = 0): Inline[] {
  const parts: Inline[] = [];
  const say = (piece: string): void => void (piece !== "" && parts.push({ kind: "text", text: piece.replace(/\\([!-/:-@[-`{-~])/g, "$1") }));
  let rest = text;
  for (let found = deep < MOST_DEEP ? INLINE.exec(rest) : null; found !== null; found = INLINE.exec(rest)) {
    const [whole, , code, bang, label = "", to = "", strong, strong2, em, em2] = found;
    // A sign after a backslash means itself.
    if (rest[found.index - 1] === "\\") {
      say(rest.slice(0, found.index + 1));
      rest = rest.slice(found.index + 1);
      continue;
    }
    say(rest.slice(0, found.index));
    rest = rest.slice(found.index + whole.length);
    if (code !== undefined) parts.push({ kind: "code", text: code.trim() });
    else if (strong !== undefined || strong2 !== undefined) parts.push({ kind: "strong", parts: inlines(strong ?? strong2 ?? "", deep + 1) });
    else if (em !== undefined || em2 !== undefined) parts.push({ kind: "em", parts: inlines(em ?? em2 ?? "", deep + 1) });
    else if (bang === "!") parts.push({ kind: "picture", text: label });
    // Only links to a web page with its scheme.
    else if (/^https?:\/\/[^/\s]/i.test(to)) parts.push({ kind: "link", parts: inlines(label, deep + 1), to });
    else say(whole);
  }
  say(rest);
  return parts;
}

const letters = (parts: readonly Inline[]): string => parts.map((part) => ("parts" in part ? letters(part.parts) : part.text)).join("");

/** A line without its signs, for a place that has no room for more. */
export const plainLine = (line: string): string => letters(inlines(line.replace(/^ {0,3}#{1,6}\s+/, "")));

/** The cells of a row of a table. */
const cells = (line: string): string[] => line.trim().replace(/^\|/, "").replace(/(?<!\\)\|$/, "").split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll("\\|", "|"));

const BULLET = /^ {0,3}(?:[-*+]|(\d{1,9})[.)])\s+(.*)$/;
const OTHER = /^(?: {0,3}(?:#{1,6}\s|>|```+\s*[\w+#.-]*\s*$|~~~+\s*[\w+#.-]*\s*$|[-*+]\s|\d{1,9}[.)]\s)|\s*$)/;

/** Whether a line ends what this fence has begun: of the same sign, as long at least, and nothing else. */
const isEnd = (line: string, fence: string): boolean => line.trim().startsWith(fence) && line.replaceAll(fence[0] ?? "", "").trim() === "";

/** The blocks of a text; undefined if it is too long, or has too many of them. */
export function blocks(text: string): Block[] | undefined {
  if (text.length > MOST_CHARS) return undefined;
  const lines = text.replace(/\r\n?/g, "\n").split("\n");
  const all: Block[] = [];
  for (let at = 0; at < lines.length; ) {
    if (all.length > MOST_BLOCKS) return undefined;
    const line = lines[at] ?? "";
    const [, fence, language = ""] = /^ {0,3}(```+|~~~+)\s*([\w+#.-]*)\s*$/.exec(line) ?? [];
    const heading = /^ {0,3}(#{1,6})\s+(.*?)\s*#*\s*$/.exec(line);
    const next = lines[at + 1] ?? "";
    if (line.trim() === "") at += 1;
    else if (fence !== undefined) {
      const own: string[] = [];
      for (at += 1; at < lines.length && !isEnd(lines[at] ?? "", fence); at += 1) own.push(lines[at] ?? "");
      at += 1;
      all.push({ kind: "code", text: own.join("\n"), language });
    } else if (heading !== null) {
      all.push({ kind: "heading", level: heading[1]?.length ?? 1, parts: inlines(heading[2] ?? "") });
      at += 1;
    } else if (/^ {0,3}([-*_])(?:\s*\1){2,}\s*$/.test(line)) {
      all.push({ kind: "rule" });
      at += 1;
    } else if (line.includes("|") && /^[\s|:-]*-[\s|:-]*$/.test(next) && next.includes("|")) {
      const rows: Inline[][][] = [];
      const head = cells(line).map((cell) => inlines(cell));
      for (at += 2; (lines[at] ?? "").includes("|"); at += 1) rows.push(cells(lines[at] ?? "").map((cell) => inlines(cell)));
      all.push({ kind: "table", head, rows });
    } else if (BULLET.test(line)) {
      const items: string[] = [];
      const ordered = BULLET.exec(line)?.[1] !== undefined;
      for (; at < lines.length; at += 1) {
        const own = lines[at] ?? "";
        const item = BULLET.exec(own.trimStart());
        if (item !== null) items.push(item[2] ?? "");
        else if (own.trim() === "" || !/^\s/.test(own)) break;
        else items[items.length - 1] += ` ${own.trim()}`;
      }
      all.push({ kind: "list", ordered, items: items.map((item) => inlines(item)) });
    } else {
      const quoted = /^ {0,3}>/.test(line);
      const own: string[] = [];
      if (quoted) for (; /^ {0,3}>/.test(lines[at] ?? ""); at += 1) own.push((lines[at] ?? "").replace(/^ {0,3}> ?/, ""));
      else for (; at < lines.length && (own.length === 0 || !OTHER.test(lines[at] ?? "")); at += 1) own.push(lines[at] ?? "");
      all.push({ kind: quoted ? "quote" : "paragraph", parts: inlines(own.join("\n")) });
    }
  }
  return all;
}

/** The rows of a table of values with commas (RFC 4180), or with another sign between them. At most `most` rows. */
export function values(text: string, between: string, most: number): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  let at = 0;
  while (at < text.length && rows.length < most) {
    let value = "";
    if (text[at] === '"') {
      for (at += 1; at < text.length; at += 1) {
        if (text[at] !== '"') value += text[at];
        else if (text[at + 1] === '"') value += text[(at += 1)];
        else break;
      }
      at += 1;
    }
    const rest = /[\n\r]/g;
    rest.lastIndex = at;
    const line = rest.exec(text)?.index ?? text.length;
    const comma = text.indexOf(between, at);
    const end = comma >= 0 && comma < line ? comma : line;
    row.push(value + text.slice(at, end));
    at = end + 1;
    if (end === comma && comma < line) {
      // A line that ends with the sign has one more value.
      if (at === text.length) row.push("");
      else continue;
    }
    if (text[end] === "\r" && text[at] === "\n") at += 1;
    rows.push(row);
    row = [];
  }
  return rows;
}
