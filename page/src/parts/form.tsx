/**
 * A form made of a JSON Schema: native inputs for what is usual, a field of JSON for the rest. The server checks everything.
 */

import type { JSX } from "preact";

import { Line } from "./untrusted.js";

type Schema = Record<string, unknown>;

type Kind = "words" | "long" | "number" | "truth" | "date" | "choice" | "list" | "json";

export interface Field {
  name: string;
  title: string;
  about: string;
  required: boolean;
  kind: Kind;
  whole: boolean;
  choices: unknown[];
  initial: string;
}

const isObject = (value: unknown): value is Schema => typeof value === "object" && value !== null && !Array.isArray(value);
const text = (value: unknown): string => (typeof value === "string" ? value : "");

/** Longer texts get a field of several lines. */
const LONG = 200;

/** The fields of a form in this order; undefined for a schema that is none of named fields. */
export function fieldsOf(schema: unknown, order: readonly string[] = []): Field[] | undefined {
  if (!isObject(schema) || !isObject(schema["properties"])) return undefined;
  const required = Array.isArray(schema["required"]) ? schema["required"] : [];
  const place = (name: string): number => (order.includes(name) ? order.indexOf(name) : order.length);
  const properties = Object.entries(schema["properties"]).sort(([a], [b]) => place(a) - place(b));
  return properties.map(([name, field]) => {
    const own = isObject(field) ? field : {};
    const kind = kindOf(own);
    const start = own["default"];
    return {
      name,
      title: text(own["title"]) || name,
      about: text(own["description"]),
      required: required.includes(name),
      kind,
      whole: own["type"] === "integer",
      choices: kind === "choice" ? (own["enum"] as unknown[]) : [],
      initial: start === undefined ? "" : shownAs(start, kind),
    };
  });
}

function kindOf(field: Schema): Kind {
  if (Array.isArray(field["enum"]) && field["enum"].every((value) => typeof value !== "object" || value === null)) return "choice";
  switch (field["type"]) {
    case "string":
      if (field["format"] === "date") return "date";
      return typeof field["maxLength"] === "number" && field["maxLength"] > LONG ? "long" : "words";
    case "integer":
    case "number":
      return "number";
    case "boolean":
      return "truth";
    case "array":
      return isObject(field["items"]) && field["items"]["type"] === "string" && !("enum" in field["items"]) ? "list" : "json";
    default:
      return "json";
  }
}

function shownAs(value: unknown, kind: Kind): string {
  if (kind === "json" || kind === "choice" || kind === "truth" || kind === "number") return JSON.stringify(value);
  if (kind === "list" && Array.isArray(value)) return value.join("\n");
  return text(value);
}

export type Values = Record<string, string>;

/** The data of a form, or the mistakes by field. */
export function read(fields: Field[], values: Values): { data: Schema } | { wrong: Record<string, string> } {
  const data: [string, unknown][] = [];
  const wrong: Record<string, string> = {};
  for (const field of fields) {
    const given = values[field.name] ?? "";
    if (given.trim() === "") {
      if (field.required && field.kind !== "list") wrong[field.name] = "This has to be filled in.";
      else if (field.required) data.push([field.name, []]);
      continue;
    }
    const [value, mistake] = valueOf(field, given);
    if (mistake !== undefined) wrong[field.name] = mistake;
    else data.push([field.name, value]);
  }
  // A field may be called `__proto__`.
  return Object.keys(wrong).length > 0 ? { wrong } : { data: Object.fromEntries(data) };
}

/** Lines of a refusal, each with the field that it is about: `/count: …` of an answer, "input `count`: …" of a start. */
const OF_A_FIELD = [/^\/([^/:]*)(?:\/[^:]*)?: (.*)$/, /^input `([^`]*)`: (.*)$/];

/**
 * The server's errors of fields, by their names; undefined if there is another error too. A body that is too large is an error of
 * the longest text in `typed`.
 */
export function refusedFields({ status, detail }: { status: number; detail: string }, typed: Readonly<Record<string, string>>): Record<string, string> | undefined {
  if (status === 413) {
    const [longest] = Object.entries(typed).sort(([, a], [, b]) => b.length - a.length);
    return longest === undefined ? undefined : { [longest[0]]: `This is too long for the server: ${detail}.` };
  }
  if (status !== 422) return undefined;
  const wrong: Record<string, string> = {};
  for (const line of detail.split("\n")) {
    const [, pointer, said] = OF_A_FIELD.map((form) => form.exec(line)).find((found) => found !== null) ?? [];
    const name = pointer?.replaceAll("~1", "/").replaceAll("~0", "~");
    if (name === undefined || said === undefined || !Object.hasOwn(typed, name)) return undefined;
    wrong[name] = wrong[name] === undefined ? `${said}.` : `${wrong[name]} ${said}.`;
  }
  return wrong;
}

function valueOf(field: Field, given: string): [value: unknown, mistake?: string] {
  switch (field.kind) {
    case "number": {
      const number = Number(given.trim());
      if (!Number.isFinite(number)) return [undefined, "This is not a number."];
      if (field.whole && !Number.isSafeInteger(number)) return [undefined, "This is not a whole number."];
      return [number];
    }
    case "choice":
    case "truth":
    case "json":
      try {
        return [JSON.parse(given)];
      } catch {
        return [undefined, "This is not JSON: texts stand in double quotes."];
      }
    case "list":
      return [given.split("\n").map((line) => line.trim()).filter((line) => line !== "")];
    default:
      return [given];
  }
}

/** Choices that fit beside each other. */
const FEW = 5;

interface Props {
  fields: Field[];
  values: Values;
  wrong: Record<string, string>;
  disabled: boolean;
  change: (name: string, value: string) => void;
}

export function Form({ fields, values, wrong, disabled, change }: Props): JSX.Element {
  return <>{fields.map((field) => <OneField key={field.name} {...{ field, disabled, change }} value={values[field.name] ?? ""} wrong={wrong[field.name]} />)}</>;
}

function OneField({ field, value, wrong, disabled, change }: { field: Field; value: string; wrong: string | undefined; disabled: boolean; change: Props["change"] }): JSX.Element {
  const id = `field-${field.name}`;
  const notes = [field.about !== "" && `${id}-about`, wrong !== undefined && `${id}-wrong`].filter(Boolean).join(" ");
  const common = {
    id,
    disabled,
    "aria-describedby": notes || undefined,
    "aria-invalid": wrong === undefined ? undefined : ("true" as const),
    "aria-required": field.required ? ("true" as const) : undefined,
  };
  const set = (event: { currentTarget: { value: string } }): void => change(field.name, event.currentTarget.value);
  const label = <><Line text={field.title} />{!field.required && <span class="note"> (may be left out)</span>}</>;
  const about = (
    <>
      {field.about !== "" && <p class="note" id={`${id}-about`}><Line text={field.about} /></p>}
      {wrong !== undefined && <p class="wrong" id={`${id}-wrong`}><Line text={wrong} /></p>}
    </>
  );
  const options = field.kind === "truth" ? [true, false] : field.choices;
  const named = (option: unknown): string => (option === true ? "yes" : option === false ? "no" : typeof option === "string" ? option : JSON.stringify(option));
  if (options.length > 0 && options.length <= FEW) {
    return (
      <fieldset class="field" aria-describedby={notes || undefined}>
        <legend>{label}</legend>
        {options.map((option, nth) => (
          <label class="option" key={nth}>
            <input type="radio" name={id} id={nth === 0 ? id : undefined} disabled={disabled} checked={value === JSON.stringify(option)} value={JSON.stringify(option)} onChange={set} />
            <Line text={named(option)} />
          </label>
        ))}
        {about}
      </fieldset>
    );
  }
  let input: JSX.Element;
  if (options.length > 0) {
    input = (
      <select {...common} value={value} onChange={set}>
        <option value="">choose …</option>
        {options.map((option, nth) => <option key={nth} value={JSON.stringify(option)}>{named(option)}</option>)}
      </select>
    );
  } else if (field.kind === "long" || field.kind === "list" || field.kind === "json") {
    input = <textarea {...common} rows={field.kind === "json" ? 3 : 4} value={value} onInput={set} spellcheck={field.kind === "long"} class={field.kind === "json" ? "code" : undefined} />;
  } else {
    const mode = field.kind === "number" ? (field.whole ? "numeric" : "decimal") : "text";
    input = field.kind === "date" ? <input {...common} type="date" value={value} onInput={set} /> : <input {...common} type="text" inputMode={mode} value={value} onInput={set} autocomplete="off" />;
  }
  const shape = field.kind === "list" ? "One a line." : field.kind === "json" ? "JSON." : "";
  return (
    <div class="field">
      <label for={id}>{label}</label>
      {shape !== "" && <p class="note">{shape}</p>}
      {input}
      {about}
    </div>
  );
}
