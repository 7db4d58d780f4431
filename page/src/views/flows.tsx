/** Flows: which are registered, what one consists of, and the start of a run. */

import { useEffect, useMemo, useState } from "preact/hooks";
import type { JSX } from "preact";

import { moment, plural, short } from "../model/words.js";
import { Drawing } from "../parts/drawing.js";
import { Lines } from "../parts/files.js";
import { Form, fieldsOf, read, refusedFields, type Values } from "../parts/form.js";
import { PlanInShort, PlanView } from "../parts/plan.js";
import { NextTry, Shown, Trouble, titled } from "../parts/status.js";
import { Line } from "../parts/untrusted.js";
import { useLoaded } from "../state/load.js";
import { at, go, place } from "../state/router.js";
import { useSending } from "../state/send.js";
import type { Flow, FlowInput, FlowShape, Flows, PinnedFlow, Run } from "../wire/api.js";
import { offlineSince } from "../wire/live.js";
import { Refused, ask, json } from "../wire/request.js";
import { may, who } from "../wire/session.js";
import { WorkspaceUse, type Use } from "./actions.js";

export function FlowsScreen(): JSX.Element {
  const loaded = useLoaded<Flows>((signal) => json("flows", { signal }), [], () => false);
  titled("Flows");
  return (
    <section class="page">
      <h1>Flows</h1>
      <Shown of={loaded}>
        {({ flows }) => flows.length === 0 ? <p class="empty">No flow is registered. <code>envoi --server URL run FLOW</code> registers one and starts it.</p> : <List flows={flows} />}
      </Shown>
    </section>
  );
}

function List({ flows }: { flows: readonly Flow[] }): JSX.Element {
  const versions = new Map<string, Flow[]>();
  for (const flow of flows) versions.set(flow.flow, [...(versions.get(flow.flow) ?? []), flow]);
  return (
    <ul class="rows">
      {[...versions].map(([id, [newest, ...older]]) => newest !== undefined && (
        <li key={id}>
          <a class="row" href={at("flows", newest.digest)}>
            <b><Line text={id} /></b>
            <span class="why">registered {moment(newest.registered_at)} by <Line text={newest.registered_by} /></span>
            <code class="note">{short(newest.digest)}</code>
          </a>
          {older.length > 0 && (
            <details class="older">
              <summary class="note">{plural(older.length, "earlier version")}</summary>
              <ul class="rows">{older.map((flow) => <li key={flow.digest}><a class="row" href={at("flows", flow.digest)}><span class="why">registered {moment(flow.registered_at)} by <Line text={flow.registered_by} /></span><code class="note">{short(flow.digest)}</code></a></li>)}</ul>
            </details>
          )}
        </li>
      ))}
    </ul>
  );
}

interface Look {
  shape: FlowShape;
  flow: Flow | undefined;
}

async function look(name: string, signal: AbortSignal): Promise<Look> {
  const [shape, { flows }] = await Promise.all([json<FlowShape>(`flows/${encodeURIComponent(name)}/shape`, { signal }), json<Flows>("flows", { signal })]);
  return { shape, flow: flows.find(({ digest }) => digest === shape.digest) };
}

function Missing(): JSX.Element {
  return <section class="page"><h1>No such flow</h1><p>It is not there, or it is not yours. <a href="#/flows">All flows</a></p></section>;
}

export function FlowScreen({ name }: { name: string }): JSX.Element {
  const loaded = useLoaded<Look>((signal) => look(name, signal), [name], () => false);
  if (loaded.error instanceof Refused && loaded.error.status === 404) return <Missing />;
  return <section class="page"><Shown of={loaded} title="Flow">{({ shape, flow }) => <Whole shape={shape} flow={flow} />}</Shown></section>;
}

function Whole({ shape, flow }: Look): JSX.Element {
  titled(`${shape.flow} · flow`);
  return (
    <>
      <h1><Line text={shape.title ?? shape.flow} /></h1>
      <p class="facts">
        <span><Line text={shape.flow} /></span>
        {flow !== undefined && <span>registered {moment(flow.registered_at)} by <Line text={flow.registered_by} /></span>}
        <a href={`#/runs?flow=${encodeURIComponent(shape.flow)}`}>its runs</a>
      </p>
      <p class="note digest"><code>{shape.digest}</code></p>
      {may("run") && <p><a class="button" href={at("start", shape.digest)}>Start a run …</a></p>}
      <h2>{plural(shape.steps.length, "step")}, {shape.graph ? "as far as possible at the same time" : "one after the other"}</h2>
      <Drawing shape={shape} lineAt={(file, line) => `${at("flows", shape.digest)}?${new URLSearchParams({ ...(file === null ? {} : { file }), line: String(line) })}`} />
      {shape.inputs.length > 0 && <><h2>Inputs</h2><Inputs inputs={shape.inputs} /></>}
      <h2>At most</h2>
      <PlanView flow={shape.digest} />
      <h2>Text</h2>
      {(flow?.files ?? [""]).map((file, nth) => <FlowText key={file} file={nth === 0 ? null : file} name={file} load={(signal) => textOf(shape.digest, nth === 0 ? undefined : file, signal)} />)}
    </>
  );
}

function Inputs({ inputs }: { inputs: readonly FlowInput[] }): JSX.Element {
  const said = (value: unknown): string => (typeof value === "string" ? value : JSON.stringify(value));
  const type = (schema: object): string => said((schema as Record<string, unknown>)["type"] ?? "any");
  return (
    <div class="across" tabIndex={0} role="region" aria-label="inputs">
      <table>
        <thead><tr><th scope="col">input</th><th scope="col">type</th><th scope="col">if none is given</th></tr></thead>
        <tbody>{inputs.map((each) => <tr key={each.input}><th scope="row"><Line text={each.input} /></th><td>{type(each.schema)}</td><td>{each.required ? "has to be given" : <Line text={said(each.default)} />}</td></tr>)}</tbody>
      </table>
    </div>
  );
}

const textOf = async (digest: string, file: string | undefined, signal: AbortSignal): Promise<string> => (await ask(`flows/${encodeURIComponent(digest)}${file === undefined ? "" : `?file=${encodeURIComponent(file)}`}`, { signal })).text();

/** The text of a file, which is open at the line that the address names; no file is the first one. */
function FlowText({ file, name, load }: { file: string | null; name: string; load: (signal: AbortSignal) => Promise<string> }): JSX.Element {
  const { query } = place.value;
  const line = query.get("file") === file && /^\d{1,6}$/.test(query.get("line") ?? "") ? Number(query.get("line")) : undefined;
  const [open, setOpen] = useState(line !== undefined);
  useEffect(() => {
    if (line !== undefined) setOpen(true);
  }, [line]);
  const loaded = useLoaded<string | undefined>(async (signal) => (open ? load(signal) : undefined), [name, open], () => false);
  return (
    <details open={open} onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary><Line text={name === "" ? "flow" : name} /></summary>
      {open && <Shown of={loaded}>{(text) => text !== undefined && <Lines text={text} name={name} line={line} />}</Shown>}
    </details>
  );
}

/** The texts of the flow of a run, which it keeps when another version is registered later. */
export function RunTexts({ run }: { run: string }): JSX.Element {
  const loaded = useLoaded<PinnedFlow>((signal) => json(`runs/${encodeURIComponent(run)}/flow`, { signal }), [run], () => false);
  return (
    <Shown of={loaded}>
      {({ name, text, parts }) => (
        <>
          <h2>Text</h2>
          <FlowText file={null} name={name} load={async () => text} />
          {Object.entries(parts as Record<string, string>).map(([file, text]) => <FlowText key={file} file={file} name={file} load={async () => text} />)}
        </>
      )}
    </Shown>
  );
}

export function StartScreen({ name }: { name: string }): JSX.Element {
  const loaded = useLoaded<Look>((signal) => look(name, signal), [name], () => false);
  if (loaded.error instanceof Refused && loaded.error.status === 404) return <Missing />;
  return <section class="page"><Shown of={loaded} title="Start a run">{({ shape }) => <Start key={shape.digest} shape={shape} />}</Shown></section>;
}

/** Kept until it has begun, so that a reload loses nothing. */
/** A draft for each person, as for an answer. */
const draftOf = (digest: string): string => `envoi:start:${who.value?.name ?? ""}:${digest}`;

function kept(digest: string): Values {
  try {
    const found: unknown = JSON.parse(sessionStorage.getItem(draftOf(digest)) ?? "{}");
    return typeof found === "object" && found !== null ? (found as Values) : {};
  } catch {
    return {};
  }
}

function Start({ shape }: { shape: FlowShape }): JSX.Element {
  const fields = useMemo(() => {
    const properties = Object.fromEntries(shape.inputs.map(({ input, schema, required, default: start }) => [input, required || start === null ? schema : { ...schema, default: start }]));
    return fieldsOf({ type: "object", properties, required: shape.inputs.filter(({ required }) => required).map(({ input }) => input) }, shape.inputs.map(({ input }) => input)) ?? [];
  }, [shape]);
  const [values, setValues] = useState<Values>(() => ({ ...Object.fromEntries(fields.map((field) => [field.name, field.initial])), ...kept(shape.digest) }));
  const [wrong, setWrong] = useState<Record<string, string>>({});
  const [use, setUse] = useState<Use>("alone");
  const sending = useSending();
  // The server's errors of inputs are shown at the field, like those that the page finds itself.
  useEffect(() => {
    const refused = sending.error instanceof Refused ? refusedFields(sending.error, values) : undefined;
    if (refused === undefined) return;
    setWrong(refused);
    document.getElementById(`field-${Object.keys(refused)[0] ?? ""}`)?.focus();
  }, [sending.error]);
  const isAtField = Object.keys(wrong).length > 0;
  titled(`Start ${shape.flow}`);
  const change = (name: string, value: string): void => {
    const all = { ...values, [name]: value };
    setValues(all);
    sessionStorage.setItem(draftOf(shape.digest), JSON.stringify(all));
  };
  const start = async (): Promise<void> => {
    const result = read(fields, values);
    setWrong("wrong" in result ? result.wrong : {});
    if ("wrong" in result) {
      document.getElementById(`field-${Object.keys(result.wrong)[0] ?? ""}`)?.focus();
      return;
    }
    const run = await sending.send<Run>("runs", { flow: shape.digest, inputs: result.data, workspace: use });
    if (run === undefined) return;
    sessionStorage.removeItem(draftOf(shape.digest));
    go(at("r", run.run));
  };
  const key = (event: KeyboardEvent): void => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) event.preventDefault(), void start();
  };
  if (!may("run")) return <><h1>Start {shape.flow}</h1><p class="trouble">You may not start runs: this session has not the scope <code>run</code>.</p></>;
  const first = shape.graph ? shape.steps.filter(({ needs }) => needs.length === 0) : shape.steps.slice(0, 1);
  const asks = shape.steps.filter(({ kind }) => kind === "ask");
  return (
    <form onKeyDown={key} onSubmit={(event) => (event.preventDefault(), void start())} noValidate>
      <h1>Start <Line text={shape.title ?? shape.flow} /></h1>
      <p>
        A new run of <a href={at("flows", shape.digest)}><Line text={shape.flow} /></a> begins with <Line text={first.map(({ step }) => step).join(", ")} />. It has {plural(shape.steps.length, "step")}; what they
        do is done on the machine of the server.{asks.length > 0 && <> It asks people at <Line text={asks.map(({ step }) => step).join(", ")} />.</>}
      </p>
      {fields.length === 0 ? <p class="note">It takes no inputs.</p> : <Form fields={fields} values={values} wrong={wrong} disabled={sending.busy} change={change} />}
      <WorkspaceUse value={use} change={setUse} />
      <PlanInShort flow={shape.digest} />
      <NextTry comes at={sending.waitsUntil}>The server is busy, and no run has begun so far. It is sent again by itself.</NextTry>
      {sending.error !== undefined && isAtField && <div class="trouble" role="alert"><p>No run has begun. What is wrong stands at its field.</p></div>}
      {sending.error !== undefined && !isAtField && <Trouble error={sending.error}><p>No run was seen to begin. What you typed is still here; sent again, it begins once.</p></Trouble>}
      <p class="send"><button class="main" type="submit" disabled={sending.busy || offlineSince.value !== undefined}>{sending.busy ? "Sending …" : `Start ${shape.flow}`}</button></p>
    </form>
  );
}
