/** Reading what was written gives the same value, and writing it again the same bytes, for whole values and twice over. */

import assert from "node:assert/strict";
import { test } from "node:test";

import {
  ContractError,
  Envelope,
  HandoffEnvelope,
  RoutingSignal,
  SkillReport,
  UserEnvelopeParseError,
  convert,
  formatCompact,
  formatJson,
  parseUserEnvelope,
  resolveRouting,
  wrapUserEnvelope,
  writeHandoff,
} from "envoi";

import { Chance, json, object, text } from "./chance.js";
import * as contracts from "./contracts.js";

/** Makes values until `count` were good; refusals do not count, other errors are failures. */
function each<T>(seed: number, count: number, make: (chance: Chance) => T, check: (value: T) => void): void {
  const chance = new Chance(seed);
  for (let good = 0, tried = 0; good < count; tried += 1) {
    assert(tried < count * 20, "too few of the values are good");
    const value = made(chance, make);
    if (value === undefined) continue;
    good += 1;
    check(value);
  }
}

function made<T>(chance: Chance, make: (chance: Chance) => T): T | undefined {
  try {
    return make(chance);
  } catch (error) {
    if (error instanceof ContractError || error instanceof UserEnvelopeParseError) return undefined;
    throw error;
  }
}

test("an envelope comes back whole from its state, and again", () => {
  each(30, 600, (chance) => Envelope.decode(formatCompact(contracts.envelope(chance))), (envelope) => {
    const state = formatJson(envelope.toStateDict());
    const once = Envelope.decode(state);
    assert.deepEqual(once, envelope);
    assert.equal(formatJson(once), state);
    assert.deepEqual(Envelope.fromDict(once.toStateDict()), envelope);
    assert.equal(formatJson(Envelope.fromDict(Envelope.fromDict(once.toStateDict()).toStateDict())), state);
  });
});

test("the exchanged form of an envelope is stable, and keeps unknown members", () => {
  each(31, 500, (chance) => Envelope.fromDict(contracts.envelope(chance)), (envelope) => {
    const exchanged = envelope.toDict();
    const once = Envelope.fromDict(exchanged);
    assert.equal(formatJson(once.toDict()), formatJson(exchanged));
    assert.equal(formatJson(once.unknown), formatJson(envelope.unknown));
    assert.equal(exchanged.size, 22 + Array.from(envelope.unknown.keys()).length);
  });
});

test("a hand-off comes back whole, and writing it anew changes nothing", () => {
  each(32, 600, (chance) => writeHandoff(contracts.handoffInput(chance)), (handoff) => {
    const written = formatJson(handoff);
    const once = HandoffEnvelope.decode(written);
    assert.equal(formatJson(once), written);
    assert.equal(formatJson(HandoffEnvelope.decode(formatJson(once))), written);
    assert.equal(Array.from(handoff.summary).length <= 2000, true);
  });
});

test("a signal means the same in both forms, there and back, twice", () => {
  each(33, 1000, (chance) => RoutingSignal.from(contracts.signal(chance)), (signal) => {
    const [resolver, orchestrator] = [formatCompact(signal.toResolver()), formatCompact(signal.toOrchestrator())];
    for (const form of [signal.toResolver(), signal.toOrchestrator()]) {
      const again = convert(convert(convert(form, "orchestrator"), "resolver"), "orchestrator");
      assert.equal(formatCompact(again), orchestrator);
      assert.equal(formatCompact(convert(again, "resolver")), resolver);
    }
  });
});

test("the resolver is deterministic and its signal is a signal", () => {
  each(34, 1000, contracts.routingInput, (input) => {
    const signal = made(new Chance(0), () => resolveRouting(input));
    if (signal === undefined) return;
    assert.equal(formatCompact(resolveRouting(formatJson(input))), formatCompact(signal));
    assert.equal(formatCompact(RoutingSignal.from(signal.toResolver())), formatCompact(signal));
    assert(signal.confidence.toNumber() >= 0.7);
  });
});

test("a report comes back whole, absent and null kept apart", () => {
  const make = (chance: Chance): SkillReport => {
    const report = object(chance).set("ok", chance.once(2)).set("generatedAt", text(chance)).set("skillName", text(chance));
    if (chance.once(2)) report.set("metrics", chance.once(3) ? json(chance, 1) : object(chance));
    if (chance.once(2)) report.set("error", json(chance, 1));
    return SkillReport.from(chance.once(2) ? report.set("data", json(chance)) : report);
  };
  each(35, 1000, make, (report) => {
    const once = SkillReport.decode(formatJson(report));
    assert.deepEqual(once, report);
    assert.equal(formatJson(SkillReport.decode(formatJson(once))), formatJson(report));
  });
});

test("what is wrapped is taken apart into the same", () => {
  each(36, 1000, (chance) => parseUserEnvelope(formatCompact(contracts.userEnvelope(chance)), true), (answer) => {
    const { payload, enveloped, dropped } = wrapUserEnvelope(answer.text, answer.attachments);
    assert.deepEqual(parseUserEnvelope(payload, enveloped), answer);
    assert.equal(dropped, 0);
  });
});
