/** A member of a JSON document, unchanged: `1.00` stays `1.00`. Pure. */

/** The text of a member of the outermost object; undefined if it has none of this name. The document is valid JSON. */
export function rawMember(json: string, name: string): string | undefined {
  let at = skip(json, json.indexOf("{") + 1);
  while (at < json.length && json[at] === '"') {
    const end = over(json, at);
    const key = json.slice(at, end);
    const begin = skip(json, skip(json, end) + 1);
    const stop = over(json, begin);
    if (JSON.parse(key) === name) return json.slice(begin, stop);
    at = skip(json, stop);
    if (json[at] !== ",") return undefined;
    at = skip(json, at + 1);
  }
  return undefined;
}

/** The texts of the items of an array, which is valid JSON. */
export function rawItems(json: string): string[] {
  const items: string[] = [];
  for (let at = skip(json, json.indexOf("[") + 1); at < json.length && json[at] !== "]"; ) {
    const stop = over(json, at);
    items.push(json.slice(at, stop));
    const comma = skip(json, stop);
    at = skip(json, json[comma] === "," ? comma + 1 : comma);
  }
  return items;
}

function skip(json: string, at: number): number {
  while (/\s/.test(json[at] ?? "")) at += 1;
  return at;
}

/** The end of the value that begins here. */
function over(json: string, at: number): number {
  if (json[at] === '"') {
    for (let next = at + 1; next < json.length; next += 1) {
      if (json[next] === "\\") next += 1;
      else if (json[next] === '"') return next + 1;
    }
    return json.length;
  }
  if (json[at] !== "{" && json[at] !== "[") {
    let next = at;
    while (next < json.length && !/[\s,\]}]/.test(json[next] ?? "")) next += 1;
    return next;
  }
  let depth = 0;
  for (let next = at; next < json.length; ) {
    const char = json[next];
    if (char === '"') {
      next = over(json, next);
      continue;
    }
    if (char === "{" || char === "[") depth += 1;
    if (char === "}" || char === "]") depth -= 1;
    next += 1;
    if (depth === 0) return next;
  }
  return json.length;
}
