/** The border between a case that fails and one that this runner does not know how to run; the latter fails too. */

/** A case that this runner does not know how to run. */
export class NotUnderstood extends Error {}

/** `value`, or the end of the case if it is not there. */
export function understood<T>(value: T | undefined): T {
  if (value === undefined) throw new NotUnderstood();
  return value;
}
