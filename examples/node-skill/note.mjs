// The step `note`: says in one line what the step before handed over. Its argument is a number out of that step's report.

import { readFileSync } from "node:fs";

import { HandoffEnvelope } from "../../sdk/typescript/dist/node.js";

const [links] = process.argv.slice(2);
const { step_id, status, routing_signal } = HandoffEnvelope.decode(readFileSync(process.env.ENVOI_HANDOFF));
console.log(`${step_id} ${status}: ${links} links are good (${routing_signal.reason}).`);
