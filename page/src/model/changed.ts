/** The changes between two looks at the files of a run. */

import type { ChangedFile } from "../wire/api.js";

/** From the state at the earlier question to the present state; both are compared with the state before the run. */
export function changedSince(before: readonly ChangedFile[], now: readonly ChangedFile[]): ChangedFile[] {
  const [then, today] = [before, now].map((files) => new Map(files.map((file) => [file.path, file] as const))) as [Map<string, ChangedFile>, Map<string, ChangedFile>];
  return [...new Set([...then.keys(), ...today.keys()])].sort().flatMap((path) => {
    const [old, own] = [then.get(path), today.get(path)];
    // A file that one of them does not have was then as it was before the run.
    const [from, to] = [old === undefined ? (own?.before_digest ?? null) : old.after_digest, own === undefined ? (old?.before_digest ?? null) : own.after_digest];
    if (from === to) return [];
    const wasThere = from !== null || (old === undefined && own?.created === false);
    return [{ path, created: !wasThere, before_digest: from, after_digest: to, size_bytes: own?.size_bytes ?? null }];
  });
}
