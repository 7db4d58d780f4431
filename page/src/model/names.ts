/** Names that are longer than the room for them: their end distinguishes them as often as their beginning. Pure: no document. */

/** Shorter ones are never cut in two. */
const SHORT = 11;
/** Characters of the end that always stay, at least and at most. */
const [LEAST, MOST] = [6, 12];

/** The part of a name that may be shortened, and its end, which stays. It is cut before a mark that separates parts, if there is one. */
export function inTwo(name: string): [begin: string, end: string] {
  const chars = [...name];
  if (chars.length <= SHORT) return [name, ""];
  for (let length = Math.min(MOST, chars.length - 3); length >= LEAST; length -= 1) {
    if (/[./\\_\-: ]/.test(chars[chars.length - length] ?? "")) return [chars.slice(0, -length).join(""), chars.slice(-length).join("")];
  }
  return [chars.slice(0, -LEAST - 2).join(""), chars.slice(-LEAST - 2).join("")];
}
