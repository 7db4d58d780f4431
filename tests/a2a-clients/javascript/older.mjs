// The same task with the SDK that was current when 0.3 was: it knows no other version, and sends no `A2A-Version`.
//
// $URL and $TOKEN say whom to ask, $CRASH is the command that kills the server and starts it again.

import { randomUUID } from "node:crypto";
import {
  ClientFactory,
  JsonRpcTransportFactory,
  TaskNotCancelableError,
  TaskNotFoundError,
  createAuthenticatingFetchWithRetry,
} from "a2a-sdk-of-0.3/client";
import { all, checksOf, killed } from "./check.mjs";

const ENVELOPE = "urn:envoi:a2a:user-envelope:v1";
const { URL: url, TOKEN: token } = process.env;
const { check, refused } = checksOf("javascript, SDK of 0.3");

const texts = (message) => message.parts.map((part) => part.text).join("");
// The value of its data part, as a JSON file has one; else its text.
const content = (made) => made.parts.find((part) => part.kind === "data")?.data ?? texts(made);
const artifacts = (task) => Object.fromEntries(task.artifacts.map((made) => [made.artifactId, content(made)]));
const said = (text, more) => ({
  message: { kind: "message", role: "user", messageId: randomUUID(), parts: [{ kind: "text", text }], ...more },
});

const fetchImpl = createAuthenticatingFetchWithRetry(fetch, {
  headers: async () => ({ Authorization: `Bearer ${token}` }),
  shouldRetryWithHeaders: async () => undefined,
});
const factory = new ClientFactory({ transports: [new JsonRpcTransportFactory({ fetchImpl })] });
const client = await factory.createFromUrl(url);

const contextId = randomUUID();
const events = await all(client.sendMessageStream(said(`hello from ${contextId}`, { contextId })));
check("a stream begins with the task", events[0].kind, "task");
const taskId = events[0].id;
const asked = events.at(-1);
check("it ends, and says so, where a person is asked", [asked.status.state, asked.final], ["input-required", true]);
check("the question is its message", texts(asked.status.message), "What shall be published?");

const before = await client.getTask({ id: taskId });
await killed();
check("killed with -9 and started again, the task is the same", await client.getTask({ id: taskId }), before);

// Without the id of the task, as the clients do that the five contracts come from: its context has one task that waits.
const minutes = `minutes of ${taskId}`;
const uploaded = await fetch(`${url}/v1/artifacts`, {
  method: "POST", headers: { Authorization: `Bearer ${token}`, "Content-Type": "text/plain" }, body: minutes,
});
const reference = { ...(await uploaded.json()), filename: "minutes.txt" };
const envelope = JSON.stringify({ text: "fine", attachments: [reference] });
const opted = { contextId, metadata: { [ENVELOPE]: { user_envelope: true } } };
const options = { serviceParameters: { "X-A2A-Extensions": ENVELOPE } };
const done = await client.sendMessage(said(envelope, opted), options);
check("an answer in the context completes the task", [done.id, done.status.state], [taskId, "completed"]);
check("the next step read the file", artifacts(done)["published.txt"], minutes);
check("and the text, without its envelope", artifacts(done)["answer.json"].text, "fine");
const words = ["hello from " + contextId, "What shall be published?", envelope, "published"];
check("the history is all that was said", done.history.map(texts), words);

const second = await client.sendMessage(said("to be cancelled", { contextId }));
check("the next message in the context is another task", [second.id !== taskId, second.status.state], [true, "input-required"]);
check("it is cancelled", (await client.cancelTask({ id: second.id })).status.state, "canceled");
await refused("to cancel what is over", TaskNotCancelableError, client.cancelTask({ id: taskId }));
await refused("an unknown task", TaskNotFoundError, client.getTask({ id: "nothing" }));
