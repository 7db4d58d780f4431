/** The whole library for Node: the pure part, and skill reports as files. */

export * from "./index.js";
export { readSkillReport, writeSkillReport, type SkillReportOptions } from "./skill-report-file.js";
