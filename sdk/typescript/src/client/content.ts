/** Bytes that are sent, from memory or from a `Blob` that is read as it is sent; and the digest of those that come. */

import { digestOfBytes } from "../sha256.js";
import type { BlobLike } from "./platform.js";

const OCTETS = "application/octet-stream";

/** Bytes with a name and a media type. Without them: those of the `File`, if it is one. */
export interface Upload {
  content: Uint8Array | BlobLike;
  filename?: string | undefined;
  mime?: string | undefined;
}

/** What can be brought. In Node, `await openAsBlob(path)` of `node:fs` is a file that is read as it is sent. */
export type Content = Uint8Array | BlobLike | Upload;

/** The same, with a name if there is one and always with a type. */
export function uploadOf(given: Content): Upload & { mime: string } {
  const upload: Upload = "content" in given ? given : { content: given };
  const { content } = upload;
  const own = content instanceof Uint8Array ? {} : { filename: content.name, mime: content.type || undefined };
  return { content, filename: upload.filename ?? own.filename, mime: upload.mime ?? own.mime ?? OCTETS };
}

/** The digest of bytes, as `sha256:` and 64 hexadecimal digits: by the platform's means, where it has some, for they are faster. */
export async function digestOf(bytes: Uint8Array): Promise<string> {
  const { subtle } = crypto;
  if (subtle === undefined) return digestOfBytes(bytes);
  const digest = new Uint8Array(await subtle.digest("SHA-256", bytes));
  return `sha256:${Array.from(digest, (byte) => byte.toString(16).padStart(2, "0")).join("")}`;
}
