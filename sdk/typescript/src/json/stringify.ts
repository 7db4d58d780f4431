/**
 * What `JSON.stringify` meets in what this library hands out: a refusal.
 *
 * It would make `{}` of a map and a double of a number. A right answer is not to be had: what it writes has neither the digits of a
 * number nor a member `"10"` behind a member `"b"`.
 */

/** The `toJSON` of everything here. */
export function refuseStringify(): never {
  throw new TypeError("`JSON.stringify` would lose members and digits of this: use `formatJson` or `formatCompact`");
}

const REFUSAL = { value: refuseStringify, configurable: true, writable: true };

/** A map that `JSON.stringify` refuses to empty; otherwise an ordinary one, also in comparisons. */
export function membersOf<V, K extends string = string>(entries: Iterable<readonly [K, V]> = []): Map<K, V> {
  return Object.defineProperty(new Map(entries), "toJSON", REFUSAL);
}
