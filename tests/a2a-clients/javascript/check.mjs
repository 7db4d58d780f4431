// What a client checks, said as it goes; the first that does not hold ends the program.

import assert from "node:assert/strict";
import { exec } from "node:child_process";
import { promisify } from "node:util";

export function checksOf(name) {
  function check(what, found, expected) {
    assert.deepEqual(found, expected, `${name}: ${what}`);
    console.log(`${name}: ${what}`);
  }
  // `error` is the class that the SDK makes of the refusal.
  async function refused(what, error, call) {
    const refusal = await call.then(
      () => assert.fail(`${name}: ${what} is not refused`),
      (thrown) => thrown,
    );
    assert.ok(refusal instanceof error, `${name}: ${what}: ${refusal?.stack}`);
    console.log(`${name}: ${what} is refused: ${refusal.message}`);
  }
  return { check, refused };
}

export async function all(stream) {
  const events = [];
  for await (const event of stream) events.push(event);
  return events;
}

// The server is killed and started again. Meanwhile the connections to it are seen to break: a fetch would take one of them else.
export async function killed() {
  const { stderr } = await promisify(exec)(process.env.CRASH);
  process.stderr.write(stderr);
}
