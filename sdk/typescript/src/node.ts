/** The whole library for Node: the pure part, skill reports as files, and a command's view of its step. */

export { Attempt, runStep, writeData, type Environment, type Feedback } from "./attempt.js";
export {
  BridgeError,
  NoBridgeError,
  callModel,
  type BridgeOptions,
  type ModelAnswer,
  type ModelRequest,
  type ModelUse,
} from "./bridge.js";
export * from "./index.js";
export { readSkillReport, writeSkillReport, type SkillReportOptions } from "./skill-report-file.js";
export { ANSWER_CHOICES, type Answer, type AnswerChoice, type AnswerFile } from "./step-answer.js";
