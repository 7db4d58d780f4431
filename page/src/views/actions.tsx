/** The actions on a run. Each action shows its effect before it acts, in the server's words if there are some. */

import { useState } from "preact/hooks";
import type { ComponentChildren, JSX } from "preact";

import { BOUNDS, raised } from "../model/bounds.js";
import { duration, moment, plural, short } from "../model/words.js";
import { NextTry, Shown, State, Trouble } from "../parts/status.js";
import { Line } from "../parts/untrusted.js";
import { useLoaded, type Loaded } from "../state/load.js";
import { at, go } from "../state/router.js";
import { useSending, type Sending } from "../state/send.js";
import type { Compare, ComparedStep, Comparison, Flow, FlowShape, Flows, Forked, Run, RunLedger, StepRow } from "../wire/api.js";
import { offlineSince } from "../wire/live.js";
import { ask, json } from "../wire/request.js";
import { may } from "../wire/session.js";
import { needsResume } from "./standing.js";

interface Props {
  run: Run;
  shape: FlowShape;
  ledger: RunLedger;
  rows: ReadonlyMap<string, StepRow>;
  again: () => void;
}

type Action = "cancel" | "resume" | "now" | "correct" | "raise" | "fork";

const NAMES: Readonly<Record<Action, string>> = { cancel: "Cancel", resume: "Go on", now: "Try now", correct: "Go on with a corrected flow", raise: "Raise a limit", fork: "Fork" };

/** The actions that make sense in the state of the run. The server has the last word. */
function possible({ run, ledger }: Props): Action[] {
  const isOver = run.terminal_reason !== null;
  const hasFailed = isOver && run.status !== "succeeded";
  const all: [Action, boolean][] = [
    ["cancel", !isOver],
    ["resume", hasFailed || needsResume(run)],
    ["now", run.waits_for !== null],
    ["correct", run.status !== "succeeded"],
    ["raise", run.status !== "succeeded" && boundsOf(ledger).length > 0],
    ["fork", isOver],
  ];
  return all.filter(([, fits]) => fits).map(([what]) => what);
}

export function Actions(props: Props): JSX.Element | null {
  const [chosen, setChosen] = useState<Action>();
  const sending = useSending();
  if (!may("run")) return null;
  const close = (): void => (setChosen(undefined), sending.forget());
  const done = (): void => (close(), props.again());
  const common = { ...props, sending, done };
  return (
    <div class="actions" id="actions" tabIndex={-1} role="group" aria-label="what can be done">
      {chosen === undefined && possible(props).map((what) => <button key={what} disabled={offlineSince.value !== undefined} onClick={() => setChosen(what)}>{`${NAMES[what]} …`}</button>)}
      {chosen !== undefined && (
        <div class="sure" role="group" aria-label={NAMES[chosen]}>
          {chosen === "cancel" && <Cancel {...common} />}
          {chosen === "resume" && <Resume {...common} />}
          {chosen === "now" && <TryNow {...common} />}
          {chosen === "correct" && <Correct {...common} />}
          {chosen === "raise" && <RaiseBound {...common} />}
          {chosen === "fork" && <ForkRun {...common} />}
          <NextTry comes at={sending.waitsUntil}>The server is busy, and nothing is done so far. It is sent again by itself.</NextTry>
          {sending.error !== undefined && <Trouble error={sending.error} />}
          <button disabled={sending.busy} onClick={close}>Leave it</button>
        </div>
      )}
    </div>
  );
}

interface ActionProps extends Props {
  sending: Sending;
  done: () => void;
}

const pathOf = (run: Run, operation: string): string => `runs/${encodeURIComponent(run.run)}/${operation}`;

function SendButton({ sending, act, off = false, children }: { sending: Sending; act: () => Promise<void>; off?: boolean; children: ComponentChildren }): JSX.Element {
  return <button class="main" disabled={off || sending.busy || offlineSince.value !== undefined} onClick={() => void act()}>{sending.busy ? "Sending …" : children}</button>;
}

function ReasonField({ value, change }: { value: string; change: (text: string) => void }): JSX.Element {
  return (
    <div class="field">
      <label for="reason">Reason<span class="note"> (may be left out)</span></label>
      <input id="reason" type="text" value={value} autocomplete="off" onInput={(event) => change(event.currentTarget.value)} />
    </div>
  );
}

const reasonMember = (reason: string): { reason?: string } => (reason.trim() === "" ? {} : { reason: reason.trim() });

function Cancel({ run, sending, done }: ActionProps): JSX.Element {
  return (
    <>
      <p>Running attempts are ended, and nothing more starts. The run can be resumed later.</p>
      {run.live_attempts > 0 && <p>{`${plural(run.live_attempts, "attempt")} will be ended. What they have done outside stays done.`}</p>}
      {run.open_questions > 0 && <p>{`${plural(run.open_questions, "question")} will be closed without an answer.`}</p>}
      <SendButton sending={sending} act={async () => void ((await sending.send(pathOf(run, "cancel"))) !== undefined && done())}>Cancel this run</SendButton>
    </>
  );
}

function TryNow({ run, sending, done }: ActionProps): JSX.Element {
  const [reason, setReason] = useState("");
  return (
    <>
      <p>The step is tried at once, before the account <code>{run.waits_for?.account}</code> is said to be open. If it is still at its limit, the step waits again; that uses up no attempt.</p>
      <ReasonField value={reason} change={setReason} />
      <SendButton sending={sending} act={async () => void ((await sending.send(pathOf(run, "resume"), { now: true, ...reasonMember(reason) })) !== undefined && done())}>Try it now</SendButton>
    </>
  );
}

function Resume({ run, sending, done }: ActionProps): JSX.Element {
  const [reason, setReason] = useState("");
  const loaded = useLoaded<Comparison>((signal) => compared(run, {}, signal), [run.run], () => false);
  return (
    <>
      <p>Steps that are done stay done. What failed, or was under way, is done again: what it did outside is done twice.</p>
      <Shown of={loaded}>
        {(found) => <><Steps steps={found.steps} goesOn={found.goes_on_at} /><Notes of={found} /></>}
      </Shown>
      <ReasonField value={reason} change={setReason} />
      <SendButton sending={sending} off={!isCompared(loaded)} act={async () => void ((await sending.send(pathOf(run, "resume"), reasonMember(reason))) !== undefined && done())}>Go on with this run</SendButton>
    </>
  );
}

/** Whether its consequences can be read, or cannot be had, and there is no objection. Until then the button is off: it would also move. */
const isCompared = ({ value, error }: Loaded<Comparison | null>): boolean => (value === undefined ? error !== undefined : (value?.refusals.length ?? 0) === 0);

const compared = (run: Run, body: Compare, signal: AbortSignal): Promise<Comparison> => json<Comparison>(pathOf(run, "compare"), { method: "POST", body, signal });

const FROM_HERE: Readonly<Record<ComparedStep["from_here"], string>> = { stays: "stays", runs: "runs", runs_again: "runs again", does_not_run: "does not run" };

function Steps({ steps, goesOn }: { steps: readonly ComparedStep[]; goesOn: string | null }): JSX.Element {
  const isCorrected = steps.some(({ change }) => change !== "kept");
  return (
    <div class="across" tabIndex={0} role="region" aria-label="what it means for each step">
      <table>
        <thead><tr><th scope="col">step</th>{isCorrected && <th scope="col">in the flow</th>}<th scope="col">so far</th><th scope="col">from here</th></tr></thead>
        <tbody>
          {steps.map((step) => (
            <tr key={step.step}>
              <th scope="row"><Line text={step.step} />{step.step === goesOn && <span class="note"> goes on here</span>}</th>
              {isCorrected && <td>{step.change}{step.differs_in.length > 0 && <>: <Line text={step.differs_in.join(", ")} /></>}</td>}
              <td>{step.status === null ? "–" : <State of={step.status} />}</td>
              <td class={step.from_here.startsWith("runs") ? "warn" : ""}>{FROM_HERE[step.from_here]}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

/** Remarks and objections. */
function Notes({ of: { limits, notes, refusals }, verb = "go on" }: { of: Comparison; verb?: string }): JSX.Element {
  return (
    <>
      {limits.length > 0 && <p>Limits: <Line text={limits.join("; ")} /></p>}
      {(notes ?? []).map((note) => <p key={note}><Line text={note} /></p>)}
      {refusals.length > 0 && <div class="trouble"><p>It cannot {verb}:</p><ul>{refusals.map((each) => <li key={each}><Line text={each} /></li>)}</ul></div>}
    </>
  );
}

/** A flow that is not registered, as the server takes it: its own file, and those that it names. */
interface Texts {
  flow: string;
  files: Record<string, string>;
}

/** The choice of a text in place of a registered version. */
const OWN = "own";

/** The texts that the run goes by; an empty one if its version is not registered. */
async function textsOf(run: Run, signal: AbortSignal): Promise<Texts> {
  const found = (await json<Flows>("flows", { signal })).flows.find(({ digest }) => digest === run.flow_digest);
  const [flow = "flow.yaml", ...inner] = found?.files ?? [];
  if (found === undefined) return { flow, files: { [flow]: "" } };
  const text = async (file?: string): Promise<string> => (await ask(`flows/${encodeURIComponent(found.digest)}${file === undefined ? "" : `?file=${encodeURIComponent(file)}`}`, { signal })).text();
  const all = await Promise.all([text(), ...inner.map(text)]);
  return { flow, files: Object.fromEntries([flow, ...inner].map((file, nth) => [file, all[nth] ?? ""])) };
}

/** A corrected text, typed or from a file. It is compared on request; later changes of the text are not. */
function OwnText({ run, compare }: { run: Run; compare: (texts: Texts | undefined) => void }): JSX.Element {
  const [typed, setTyped] = useState<string>();
  const loaded = useLoaded<Texts>((signal) => textsOf(run, signal), [run.flow_digest], () => false);
  const change = (text: string): void => (setTyped(text), compare(undefined));
  return (
    <Shown of={loaded}>
      {({ flow, files }) => {
        const text = typed ?? files[flow] ?? "";
        return (
          <>
            <div class="field">
              <label for="flow-text">Its text<span class="note"> ({flow})</span></label>
              <textarea id="flow-text" class="code" rows={12} value={text} autocomplete="off" spellcheck={false} onInput={(event) => change(event.currentTarget.value)} />
            </div>
            <div class="field">
              <label for="flow-file">From a file<span class="note"> (it takes the place of the text)</span></label>
              <input id="flow-file" type="file" onChange={(event) => void event.currentTarget.files?.[0]?.text().then(change)} />
            </div>
            {Object.keys(files).length > 1 && <p class="note">The flows that it names stay as they are.</p>}
            <p><button disabled={text.trim() === "" || offlineSince.value !== undefined} onClick={() => compare({ flow, files: { ...files, [flow]: text } })}>Compare it</button></p>
          </>
        );
      }}
    </Shown>
  );
}

function Correct({ run, shape, sending, done }: ActionProps): JSX.Element {
  const [version, setVersion] = useState("");
  const [own, setOwn] = useState<Texts>();
  const [from, setFrom] = useState("");
  const [reason, setReason] = useState("");
  const flows = useLoaded<Flow[]>(async (signal) => (await json<Flows>("flows", { signal })).flows.filter((flow) => flow.flow === run.flow && flow.digest !== run.flow_digest), [run.run], () => false);
  const given = version === OWN ? own : version === "" ? undefined : { flow: version };
  const comparison = useLoaded<Comparison | null>(
    async (signal) => (given === undefined ? null : compared(run, from === "" ? given : { ...given, from }, signal)),
    [version, own, from],
    (change) => change.run === run.run,
  );
  const found = given === undefined ? null : comparison.value;
  const act = async (): Promise<void> => {
    if (found == null || given === undefined) return;
    const body = { ...given, seen: found.subject, ...(from === "" ? {} : { from }), ...reasonMember(reason) };
    if ((await sending.send(pathOf(run, "correct"), body)) !== undefined) done();
    else comparison.again();
  };
  return (
    <>
      <p>The run goes on as another version of its flow says. What is finished stays.</p>
      <Shown of={flows}>
        {(versions) => (
          <>
            {versions.length === 0 && <p class="note">No other version of <code>{run.flow}</code> is registered.{!may("admin") && <> <code>envoi --server URL resume RUN --flow FILE</code> takes a file, with a token that has the scope <code>admin</code>.</>}</p>}
            {(versions.length > 0 || may("admin")) && (
              <>
                <div class="field">
                  <label for="version">Version</label>
                  <select id="version" value={version} onChange={(event) => setVersion(event.currentTarget.value)}>
                    <option value="">choose …</option>
                    {versions.map((flow) => <option key={flow.digest} value={flow.digest}>{`${short(flow.digest)}, registered ${moment(flow.registered_at)} by ${flow.registered_by}`}</option>)}
                    {may("admin") && <option value={OWN}>a text or a file of yours</option>}
                  </select>
                </div>
                {version === OWN && <OwnText run={run} compare={setOwn} />}
                <div class="field">
                  <label for="again-from">Finished steps run again from<span class="note"> (may be left out)</span></label>
                  <select id="again-from" value={from} onChange={(event) => setFrom(event.currentTarget.value)}>
                    <option value="">no step: what is finished stays</option>
                    {shape.steps.map(({ step }) => <option key={step} value={step}>{step}</option>)}
                  </select>
                </div>
                {given !== undefined && (
                  <Shown of={comparison}>
                    {(compared) => compared !== null && (
                      <>
                        <Steps steps={compared.steps} goesOn={compared.goes_on_at} />
                        <Notes of={compared} verb="take over" />
                        {compared.waits && <p>An attempt is running: the corrected flow takes over when it has settled.</p>}
                        {compared.is_same && <p>There is nothing to correct.</p>}
                      </>
                    )}
                  </Shown>
                )}
                <ReasonField value={reason} change={setReason} />
                <SendButton sending={sending} act={act} off={found == null || comparison.error !== undefined || found.is_same || found.refusals.length > 0}>Go on as it says there</SendButton>
              </>
            )}
          </>
        )}
      </Shown>
    </>
  );
}

/** The bounds that a run has: its name, what is used, what may be. */
function boundsOf(ledger: RunLedger): [bound: string, used: string, limit: string][] {
  const { used, limits } = ledger;
  const all: [string, string | number, string | number | null][] = [
    ["agent_hops", used.agent_hops, limits.agent_hops],
    ["cost_usd", `$${used.cost_usd}`, limits.cost_usd === null ? null : `$${limits.cost_usd}`],
    ["llm_calls", used.llm_calls, limits.llm_calls],
    ["iterations", used.iterations, limits.iterations],
    ["rounds", used.rounds, limits.rounds],
    ["wall_time", duration(used.wall_time_ms), limits.wall_time_ms === null ? null : duration(limits.wall_time_ms)],
    ["waiting", duration(used.waiting_ms), limits.waiting_ms === null ? null : duration(limits.waiting_ms)],
  ];
  return all.flatMap(([bound, use, limit]) => (limit === null ? [] : [[bound, String(use), String(limit)] as [string, string, string]]));
}

function RaiseBound({ run, ledger, sending, done }: ActionProps): JSX.Element {
  const bounds = boundsOf(ledger);
  const [bound, setBound] = useState(bounds[0]?.[0] ?? "");
  const [amount, setAmount] = useState("");
  const [reason, setReason] = useState("");
  const [wrong, setWrong] = useState<string>();
  const [, used, limit] = bounds.find(([name]) => name === bound) ?? ["", "", ""];
  const act = async (): Promise<void> => {
    const [more, mistake] = raised(bound, amount);
    setWrong(mistake);
    if (more === undefined) document.getElementById("more")?.focus();
    else if ((await sending.send(pathOf(run, "raise"), { more, ...reasonMember(reason) })) !== undefined) done();
  };
  return (
    <>
      <p>The run may use more than its flow says. A run that this limit has ended goes on at once. The runs of its family share the limit.</p>
      <div class="field">
        <label for="bound">Limit</label>
        <select id="bound" value={bound} onChange={(event) => (setBound(event.currentTarget.value), setWrong(undefined))}>
          {bounds.map(([name]) => <option key={name} value={name}>{BOUNDS[name]?.[1].replace("More ", "") ?? name}</option>)}
        </select>
        <p class="note">{`${used} used of ${limit}`}</p>
      </div>
      <div class="field">
        <label for="more">{BOUNDS[bound]?.[1] ?? "By how much"}</label>
        <input id="more" type="text" inputMode="decimal" value={amount} autocomplete="off" aria-describedby={wrong && "more-wrong"} aria-invalid={wrong === undefined ? undefined : "true"} onInput={(event) => setAmount(event.currentTarget.value)} />
        {wrong !== undefined && <p class="wrong" id="more-wrong">{wrong}</p>}
      </div>
      <ReasonField value={reason} change={setReason} />
      <SendButton sending={sending} act={act}>Raise it</SendButton>
    </>
  );
}

export type Use = "alone" | "shared" | "copy";

const USES: readonly [Use, string, string][] = [
  ["alone", "alone", "no other run works in the folder meanwhile"],
  ["shared", "shared", "other runs may work in it too"],
  ["copy", "copy", "a copy of the folder is made for it"],
];

/** How a run uses its workspace. */
export function WorkspaceUse({ value, change }: { value: Use; change: (use: Use) => void }): JSX.Element {
  return (
    <fieldset class="field">
      <legend>Workspace</legend>
      {USES.map(([use, word, about]) => (
        <label class="option" key={use}>
          <input type="radio" name="workspace" value={use} checked={value === use} onChange={() => change(use)} /> <span>{word} <span class="note">{about}</span></span>
        </label>
      ))}
    </fieldset>
  );
}

function ForkRun({ run, shape, rows, sending }: ActionProps): JSX.Element {
  const stopped = run.status === "succeeded" ? "" : (run.step ?? "");
  const begun = shape.steps.map(({ step }) => step).filter((step) => [...rows.values()].some((row) => row.step === step && row.scope === ""));
  const [from, setFrom] = useState(begun.includes(stopped) ? stopped : "");
  const [use, setUse] = useState<Use>("alone");
  const [reason, setReason] = useState("");
  const [forked, setForked] = useState<Forked>();
  // The steps that a fork from there does again, and the objections to it.
  const loaded = useLoaded<Comparison | null>(async (signal) => (from === "" ? null : compared(run, { from, fork: true }, signal)), [run.run, from], () => false);
  const act = async (): Promise<void> => {
    const found = await sending.send<Forked>(pathOf(run, "fork"), { from, workspace: use, ...reasonMember(reason) });
    if (found === undefined) return;
    if (found.notes.length === 0) go(at("r", found.run));
    else setForked(found);
  };
  if (forked !== undefined) {
    return (
      <div class="recorded" role="status">
        <p>A new run has begun: <a href={at("r", forked.run)}>{forked.run}</a></p>
        <ul>{forked.notes.map((note) => <li key={note}><Line text={note} /></li>)}</ul>
      </div>
    );
  }
  return (
    <>
      <p>
        A new run begins with what this one had done when <code>{from === "" ? "…" : from}</code> was entered last. From there on everything is done in the new run. This run stays as it is. Files lie
        as they are now: they are not set back. Both share their limits, and only one of them goes on at a time.
      </p>
      <div class="field">
        <label for="from">From step</label>
        <select id="from" value={from} onChange={(event) => setFrom(event.currentTarget.value)}>
          <option value="">choose …</option>
          {begun.map((step) => <option key={step} value={step}>{step}{step === stopped ? " (stopped the run)" : ""}</option>)}
        </select>
      </div>
      <Shown of={loaded}>{(found) => found !== null && <><Steps steps={found.steps} goesOn={from} /><Notes of={found} verb="be forked" /></>}</Shown>
      <WorkspaceUse value={use} change={setUse} />
      <ReasonField value={reason} change={setReason} />
      <SendButton sending={sending} act={act} off={from === "" || !isCompared(loaded)}>{from === "" ? "Choose a step" : `Begin a new run at ${from}`}</SendButton>
    </>
  );
}
