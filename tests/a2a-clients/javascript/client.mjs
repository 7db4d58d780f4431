// A task from its first message to its end, with the JavaScript SDK of A2A; the server is killed while the task waits.
//
// Called with one of the ways below. $URL and $TOKEN say whom to ask, $CRASH is the command that kills the server and starts it again.

import { randomUUID } from "node:crypto";
import { Role, TaskState } from "@a2a-js/sdk";
import {
  ClientFactory,
  DefaultAgentCardResolver,
  JsonRpcTransportFactory,
  RestTransportFactory,
  ServiceParameters,
  createAuthenticatingFetchWithRetry,
  withA2AExtensions,
} from "@a2a-js/sdk/client";
import * as errors from "@a2a-js/sdk/errors";
import { all, checksOf, killed } from "./check.mjs";

const ENVELOPE = "urn:envoi:a2a:user-envelope:v1";
const { URL: url, TOKEN: token } = process.env;
const way = process.argv[2];
const { check, refused } = checksOf(`javascript ${way}`);

const state = (status) => TaskState[status.state].replace("TASK_STATE_", "");
const texts = (message) => message.parts.map((part) => part.content.value).join("");
const talk = (task) => task.history.map((said) => (said.role === Role.ROLE_USER ? "<" : ">") + texts(said));
// The value of its data part, as a JSON file has one; else its text.
const content = (made) => made.parts.find((part) => part.content.$case === "data")?.content.value ?? texts(made);
const artifacts = (task) => Object.fromEntries(task.artifacts.map((made) => [made.artifactId, content(made)]));

function said(text, more = {}) {
  const part = { content: { $case: "text", value: text }, metadata: undefined, filename: "", mediaType: "" };
  const message = {
    messageId: randomUUID(), contextId: "", taskId: "", role: Role.ROLE_USER, parts: [part], metadata: undefined,
    extensions: [], referenceTaskIds: [], ...more,
  };
  return { tenant: "", message, configuration: undefined, metadata: undefined };
}

// For 0.3 the card has only the members that a client of 0.3 knows.
async function connect() {
  const fetchImpl = createAuthenticatingFetchWithRetry(fetch, {
    headers: async () => ({ Authorization: `Bearer ${token}` }),
    shouldRetryWithHeaders: async () => undefined,
  });
  const legacyCompat = { enabled: way.startsWith("0.3") };
  const Transport = way.endsWith("rest") ? RestTransportFactory : JsonRpcTransportFactory;
  const factory = new ClientFactory({ transports: [new Transport({ fetchImpl, legacyCompat })] });
  const card = await (await fetch(`${url}/.well-known/agent-card.json`)).json();
  if (legacyCompat.enabled) delete card.supportedInterfaces;
  return factory.createFromAgentCard(new DefaultAgentCardResolver({ legacyCompat }).normalizeAgentCard(card));
}

const client = await connect();
check("the version is the one that was chosen", client.protocolVersion, way.slice(0, 3));
const extended = await client.getAgentCard();
check("the extended card names the flow", extended.skills.map((skill) => skill.id), ["review"]);
const get = (id) => client.getTask({ tenant: "", id, historyLength: undefined });

const contextId = randomUUID();
const events = await all(client.sendMessageStream(said(`hello from ${contextId}`, { contextId })));
check("a stream begins with the task", events[0].payload.$case, "task");
const first = events[0].payload.value;
check("it is in the context that the client made", first.contextId, contextId);
const told = events.filter((event) => event.payload.$case === "artifactUpdate");
const drafts = [...first.artifacts, ...told.map((event) => event.payload.value.artifact)].map(texts);
check("the stream has the artifact", drafts, [`hello from ${contextId}`]);
const asked = events.at(-1).payload.value.status;
check("it ends where a person is asked", state(asked), "INPUT_REQUIRED");
check("the question is its message", texts(asked.message), "What shall be published?");

const before = await get(first.id);
await killed();
check("killed with -9 and started again, the task is the same", await get(first.id), before);

const minutes = `minutes of ${first.id}`;
const uploaded = await fetch(`${url}/v1/artifacts`, {
  method: "POST", headers: { Authorization: `Bearer ${token}`, "Content-Type": "text/plain" }, body: minutes,
});
const reference = { ...(await uploaded.json()), filename: "minutes.txt" };
const opted = { taskId: first.id, contextId, metadata: { [ENVELOPE]: { user_envelope: true } } };
const options = { serviceParameters: ServiceParameters.create(withA2AExtensions(ENVELOPE)) };
const broken = JSON.stringify({ text: "fine", files: [reference] });
// 0.3 of this SDK has no class for this error.
const Refusal = way.startsWith("0.3") ? Error : errors.RequestMalformedError;
await refused("a wrong envelope", Refusal, client.sendMessage(said(broken, opted), options));
check("and the task waits on", state((await get(first.id)).status), "INPUT_REQUIRED");

const following = client.resubscribeTask({ tenant: "", id: first.id });
const snapshot = (await following.next()).value.payload;
check("who follows is told first how it stands", state(snapshot.value.status), "INPUT_REQUIRED");
const envelope = JSON.stringify({ text: "fine", attachments: [reference] });
const done = await client.sendMessage(said(envelope, opted), options);
check("an answer with an envelope and a file completes the task", state(done.status), "COMPLETED");
check("the next step read the file", artifacts(done)["published.txt"], minutes);
check("and the text, without its envelope", artifacts(done)["answer.json"].text, "fine");
check("the last message is the result", texts(done.status.message), "published");
const history = [`<hello from ${contextId}`, ">What shall be published?", `<${envelope}`, ">published"];
check("the history is all that was said", talk(done), history);
check("it is what can be got", await get(first.id), done);
const followed = (await all(following)).map((event) => event.payload);
const files = followed.filter((told) => told.$case === "artifactUpdate").map((told) => texts(told.value.artifact));
check("then of the file", files.includes(minutes), true);
check("and last of the end", state(followed.at(-1).value.status), "COMPLETED");

const second = await client.sendMessage(said("to be cancelled", { contextId }));
check("another task waits", state(second.status), "INPUT_REQUIRED");
if (way.startsWith("1.0")) {
  const list = async (status) => {
    const page = { tenant: "", contextId, status, pageToken: "", statusTimestampAfter: undefined };
    return (await client.listTasks(page)).tasks.map((task) => [task.id, state(task.status)]);
  };
  const both = [[second.id, "INPUT_REQUIRED"], [first.id, "COMPLETED"]];
  check("both are listed, the last first", await list(TaskState.TASK_STATE_UNSPECIFIED), both);
  check("or one of them", await list(TaskState.TASK_STATE_COMPLETED), both.slice(1));
}
const cancel = (id) => client.cancelTask({ tenant: "", id, metadata: undefined });
check("it is cancelled", state((await cancel(second.id)).status), "CANCELED");
await refused("to cancel what is over", errors.TaskNotCancelableError, cancel(first.id));
await refused("an unknown task", errors.TaskNotFoundError, get("nothing"));
