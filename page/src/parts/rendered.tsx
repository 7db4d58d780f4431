/** Rendered files of a run: Markdown, tables, pictures. Nothing of them is HTML, and no request goes to another host. */

import { useEffect, useState } from "preact/hooks";
import type { ComponentChildren, JSX } from "preact";

import { blocks, inlines, values, type Block, type Inline } from "../model/markdown.js";
import { usePending } from "../state/pending.js";
import { Offline, Refused, ask } from "../wire/request.js";
import { Trouble } from "./status.js";
import { Words, isLong, named, plain } from "./untrusted.js";

type Kind = "markdown" | "table" | "picture";

const PICTURES: Readonly<Record<string, string>> = { png: "image/png", jpg: "image/jpeg", jpeg: "image/jpeg", gif: "image/gif", webp: "image/webp", avif: "image/avif", svg: "image/svg+xml" };

const endOf = (path: string): string => /\.([a-z0-9]+)$/i.exec(path)?.[1]?.toLowerCase() ?? "";

/** How a file of this name can be shown, beside as text. */
export function kindOf(path: string): Kind | undefined {
  const end = endOf(path);
  if (end === "md" || end === "markdown") return "markdown";
  if (end === "csv" || end === "tsv") return "table";
  return end in PICTURES ? "picture" : undefined;
}

/** A table shows at most so many rows and columns. */
const MOST_ROWS = 200;
const MOST_COLUMNS = 40;

export function Values({ text, path }: { text: string; path: string }): JSX.Element {
  const [head = [], ...rows] = values(text, endOf(path) === "tsv" ? "\t" : ",", MOST_ROWS + 2);
  const isCut = rows.length > MOST_ROWS || head.length > MOST_COLUMNS;
  return (
    <>
      <div class="across" tabIndex={0} role="region" aria-label="table">
        <table>
          <thead><tr>{head.slice(0, MOST_COLUMNS).map((value, nth) => <th scope="col" key={nth}>{plain(value)}</th>)}</tr></thead>
          <tbody>{rows.slice(0, MOST_ROWS).map((row, nth) => <tr key={nth}>{row.slice(0, MOST_COLUMNS).map((value, nth) => <td key={nth}>{plain(value)}</td>)}</tr>)}</tbody>
        </table>
      </div>
      {isCut && <p class="note">{`Shown are ${MOST_ROWS} rows and ${MOST_COLUMNS} columns at most: download the file for the rest.`}</p>}
    </>
  );
}

function inLine(parts: readonly Inline[]): ComponentChildren[] {
  return parts.map((part, nth) => {
    switch (part.kind) {
      case "text":
        return <span key={nth}>{plain(part.text)}</span>;
      case "code":
        return <code key={nth}>{plain(part.text)}</code>;
      case "strong":
        return <strong key={nth}>{inLine(part.parts)}</strong>;
      case "em":
        return <em key={nth}>{inLine(part.parts)}</em>;
      // A picture would be asked of another host.
      case "picture":
        return <span key={nth} class="note">[picture: {plain(part.text)}]</span>;
      case "link":
        return <span key={nth}><a href={part.to} target="_blank" rel="noopener noreferrer">{inLine(part.parts)}</a> <span class="note">({plain(hostOf(part.to))})</span></span>;
    }
  });
}

function hostOf(address: string): string {
  try {
    return new URL(address).host;
  } catch {
    return address;
  }
}

function OneBlock({ block }: { block: Block }): JSX.Element {
  switch (block.kind) {
    // Headings of a text are none of the page.
    case "heading":
      return <p class={`heading level${Math.min(block.level, 3)}`}>{inLine(block.parts)}</p>;
    case "paragraph":
      return <p>{inLine(block.parts)}</p>;
    case "quote":
      return <blockquote>{inLine(block.parts)}</blockquote>;
    case "code":
      return <>{block.language !== "" && <p class="note">{plain(block.language)}</p>}<pre tabIndex={0}>{plain(block.text)}</pre></>;
    case "rule":
      return <hr />;
    case "list": {
      const items = block.items.map((item, nth) => <li key={nth}>{inLine(item)}</li>);
      return block.ordered ? <ol>{items}</ol> : <ul>{items}</ul>;
    }
    case "table":
      return (
        <div class="across" tabIndex={0} role="region" aria-label="table">
          <table>
            <thead><tr>{block.head.map((cell, nth) => <th scope="col" key={nth}>{inLine(cell)}</th>)}</tr></thead>
            <tbody>{block.rows.map((row, nth) => <tr key={nth}>{row.map((cell, nth) => <td key={nth}>{inLine(cell)}</td>)}</tr>)}</tbody>
          </table>
        </div>
      );
  }
}

export function Markdown({ text }: { text: string }): JSX.Element {
  const found = blocks(text) ?? [{ kind: "paragraph", parts: inlines("This is too long to be shown like that. It can be seen as text.") }];
  return <div class="markdown" dir="auto">{found.map((block, nth) => <OneBlock key={nth} block={block} />)}</div>;
}

/** A text in Markdown in a frame that names its author. A text that is too long for that is shown as it was written. */
export function MarkedWords({ text, from }: { text: string; from: string }): JSX.Element {
  const found = blocks(text);
  if (found === undefined) return <Words text={text} from={from} />;
  return (
    <figure class="words">
      <figcaption>{plain(from)}</figcaption>
      <div class="text markdown" dir="auto" {...(isLong(text) ? { tabIndex: 0, role: "region", "aria-label": named(from) } : {})}>{found.map((block, nth) => <OneBlock key={nth} block={block} />)}</div>
    </figure>
  );
}

/** Larger pictures are only offered as files. */
const MOST_BYTES = 8 * 1024 * 1024;

/** A picture. In `<img>` an SVG runs nothing and requests nothing. */
export function Picture({ run, digest, path }: { run: string; digest: string; path: string }): JSX.Element {
  const [found, setFound] = useState<string | Refused | Offline>();
  const [isBroken, setBroken] = useState(false);
  const [isDrawn, setDrawn] = useState(false);
  usePending(!(found instanceof Error) && !isBroken && !isDrawn);
  useEffect(() => {
    const own = new AbortController();
    let url: string | undefined;
    const load = async (): Promise<void> => {
      const response = await ask(`runs/${encodeURIComponent(run)}/contents/${digest}`, { headers: { range: `bytes=0-${MOST_BYTES - 1}` }, signal: own.signal });
      const bytes = await response.arrayBuffer();
      if (own.signal.aborted) return;
      url = URL.createObjectURL(new Blob([bytes], { type: PICTURES[endOf(path)] ?? "image/png" }));
      setFound(url);
    };
    load().catch((error: unknown) => {
      if (own.signal.aborted) return;
      if (error instanceof Refused || error instanceof Offline) setFound(error);
      else throw error;
    });
    return () => (own.abort(), url !== undefined && URL.revokeObjectURL(url));
  }, [run, digest]);
  if (found === undefined) return <p class="note" role="status">Asking the server …</p>;
  if (typeof found !== "string") return <Trouble error={found} />;
  if (isBroken) return <p class="note">This is no picture that the browser can show, or it is too large.</p>;
  return <img class="picture" src={found} alt={`the file ${named(path)}`} onLoad={() => setDrawn(true)} onError={() => setBroken(true)} />;
}
