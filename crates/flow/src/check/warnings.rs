//! Warnings: constructs of a flow that are valid, but probably not what its author means.
//!
//! Owns the texts. A flow with warnings runs; mistakes are found while it is read.

use crate::{
    check::data_fields,
    parse::shell::{SHELLS, program_name},
};
use envoi_contract::skill_report::{self, OutputOption};
use envoi_kernel::{
    event::Command,
    expression::{
        Segment,
        names::{self, Call, Kind},
        segments,
    },
    flow::{CommandPlan, Flow, InDoubtPolicy, ScriptPlan, ScriptValues, Step, StepKind},
    notify::Address,
};
use script::Script;

mod script;

/// All warnings of `envoi check`, in the order of the steps, for the flow and the flows that it names.
#[must_use]
pub fn warnings(flow: &Flow) -> Vec<String> {
    let of_targets = flow.notify.iter().filter_map(|target| match &target.to {
        Address::Command(Command::Exec(argv)) => Some(of_notice(argv)),
        Address::Command(_) | Address::Webhook(_) => None,
    });
    let own = flow.steps.iter().flat_map(|step| of_step(flow, step, ""));
    let inner = flow.flows.values().flat_map(|part| {
        let place = format!(" of flow `{}`", part.id);
        part.steps.iter().flat_map(|step| of_step(part, step, &place)).collect::<Vec<_>>()
    });
    of_targets.flatten().chain(of_files(flow)).chain(own).chain(inner).collect()
}

/// Warns that a run without its own tree will be refused.
fn of_files(flow: &Flow) -> Option<String> {
    let step = flow.needs_tree().filter(|_| flow.isolation.is_none())?;
    let key = step.needs_tree()?;
    Some(format!(
        "step `{}` has `{key}`: a run needs a tree of its own, by `workspace: {{ isolate: tree }}` or `--isolate`",
        step.id
    ))
}

/// A program that a step names without a path, so that it is found through `PATH`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedProgram {
    /// The place that names it, in words: "step `build`".
    pub place: String,
    /// The name, without a slash.
    pub program: String,
}

/// The programs that steps find through the `PATH` of `envoi`, for the flow and the flows that it names.
///
/// Only programs that are known before a run: those of commands that are lists, the programs of `shell`, the program
/// of a string that is one plain command, and agent programs. Steps with their own `PATH` are left out.
#[must_use]
pub fn programs(flow: &Flow) -> Vec<NamedProgram> {
    let parts = flow.flows.values().map(|part| (&**part, format!(" of flow `{}`", part.id)));
    let mut found = Vec::new();
    for (part, of) in core::iter::once((flow, String::new())).chain(parts) {
        let has_path = |env: &[(String, _)]| env.iter().any(|(name, _)| name == "PATH");
        let steps = part.steps.iter().filter(|step| !has_path(&step.env));
        for step in steps.filter(|_| !has_path(&part.env) && !has_path(&flow.env)) {
            let agent = match &step.kind {
                StepKind::Agent(plan) => Some(plan.program.clone()),
                StepKind::Run(_)
                | StepKind::Ask(_)
                | StepKind::Flow(_)
                | StepKind::A2a(_)
                | StepKind::Model(_) => None,
            };
            for program in agent.into_iter().chain(commands(step).flat_map(programs_of)) {
                let named = NamedProgram { place: format!("step `{}`{of}", step.id), program };
                if !found.contains(&named) {
                    found.push(named);
                }
            }
        }
    }
    found
}

/// A file of the workspace that a command runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedFile {
    /// The place that names it, in words: "step `build`".
    pub place: String,
    /// The path as written, relative to the folder in which the command runs.
    pub path: String,
    /// The folder of the command, relative to the flow file.
    pub folder: String,
    /// True if an earlier step may create the file.
    pub may_be_made: bool,
    /// True if the file has the extension of a script, which a step rarely creates.
    pub is_source: bool,
}

/// The files that commands start with, for the steps of the flow, its notices and the steps of inner flows.
///
/// Only files that are known before a run: a program with a relative path, and the script of an interpreter. For a
/// shell script only the first command counts, because later commands may use files that an earlier one made. After
/// another step a program is often built: the caller warns of it only if `is_source`, or if a file of nearly the same name exists.
#[must_use]
pub fn files(flow: &Flow) -> Vec<NamedFile> {
    let notices = flow.notify.iter().filter_map(|target| match &target.to {
        Address::Command(Command::Exec(argv)) => {
            let path = file_of_notice(argv)?;
            let is_source = is_source(&path);
            let (place, folder) = ("`notify`".to_owned(), String::new());
            Some(NamedFile { place, path, folder, may_be_made: false, is_source })
        }
        Address::Command(_) | Address::Webhook(_) => None,
    });
    let mut found: Vec<NamedFile> = notices.collect();
    let parts = flow.flows.values().map(|part| (&**part, format!(" of flow `{}`", part.id)));
    for (part, of) in core::iter::once((flow, String::new())).chain(parts) {
        for (at, step) in part.steps.iter().enumerate() {
            let cwd = step.cwd.as_ref().map_or("", |cwd| cwd.0.as_str());
            let may_be_made = at > 0 || !of.is_empty();
            if cwd.contains("${{") {
                continue;
            }
            for path in commands(step).filter_map(file_of) {
                let parts = [flow.workspace.as_str(), cwd];
                let folder: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
                let folder = folder.join("/");
                let is_source = is_source(&path);
                let place = format!("step `{}`{of}", step.id);
                let named = NamedFile { place, path, folder, may_be_made, is_source };
                if !found.contains(&named) {
                    found.push(named);
                }
            }
        }
    }
    found
}

/// File extensions of scripts that people write and that steps rarely create.
const SOURCES: [&str; 9] = [".sh", ".bash", ".py", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl"];

fn is_source(path: &str) -> bool {
    SOURCES.iter().any(|end| path.ends_with(end))
}

/// Programs whose first argument is the file that they run.
const INTERPRETERS: [&str; 10] =
    ["sh", "bash", "dash", "zsh", "python", "python3", "node", "ruby", "perl", "deno"];

fn file_of(plan: &CommandPlan) -> Option<String> {
    match plan {
        CommandPlan::Exec(argv) => file_in(&argv.iter().map(|word| word.0.as_str()).collect::<Vec<_>>()),
        CommandPlan::Shell(script) => file_of_script(&script.0),
        CommandPlan::Script(plan) if plan.values == Some(ScriptValues::Shell) => {
            file_of_script(&plan.script.0)
        }
        CommandPlan::Script(_) => None,
    }
}

fn file_of_notice(argv: &[String]) -> Option<String> {
    match argv {
        [shell, .., option, script] if option == "-c" && SHELLS.contains(&program_name(shell)) => {
            file_of_script(script)
        }
        _ => file_in(&argv.iter().map(String::as_str).collect::<Vec<_>>()),
    }
}

fn file_of_script(script: &str) -> Option<String> {
    let words = Script::new(script).first_command();
    file_in(&words.iter().map(String::as_str).collect::<Vec<_>>())
}

/// The file that a command runs, if the command names one inside its folder.
fn file_in(words: &[&str]) -> Option<String> {
    let (program, rest) = words.split_first()?;
    let named = match rest.first() {
        _ if program.contains('/') => *program,
        Some(file) if INTERPRETERS.contains(program) && is_source(file) => *file,
        _ => return None,
    };
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "/._-+".contains(c);
    (!named.starts_with(['/', '-']) && named.chars().all(is_plain)).then(|| named.to_owned())
}

fn programs_of(plan: &CommandPlan) -> Vec<String> {
    let program = |name: &String| (!name.contains('/') && !name.contains("${{")).then(|| name.clone());
    match plan {
        CommandPlan::Exec(argv) => argv.first().and_then(|first| program(&first.0)).into_iter().collect(),
        CommandPlan::Shell(script) => Script::new(&script.0).program().into_iter().collect(),
        CommandPlan::Script(plan) => {
            let one =
                (plan.values == Some(ScriptValues::Shell)).then(|| Script::new(&plan.script.0).program());
            plan.interpreter.first().and_then(program).into_iter().chain(one.flatten()).collect()
        }
    }
}

/// The commands of a step: its own, and the command of `verify`.
pub(super) fn commands(step: &Step) -> impl Iterator<Item = &CommandPlan> {
    let own = match &step.kind {
        StepKind::Run(plan) => Some(plan),
        StepKind::Ask(_) | StepKind::Flow(_) | StepKind::A2a(_) | StepKind::Agent(_) | StepKind::Model(_) => {
            None
        }
    };
    let verify = match &step.on_in_doubt {
        InDoubtPolicy::Verify(plan) => Some(plan),
        InDoubtPolicy::Ask | InDoubtPolicy::Rerun | InDoubtPolicy::Fail => None,
    };
    own.into_iter().chain(verify)
}

fn of_step(flow: &Flow, step: &Step, place: &str) -> Vec<String> {
    let reports = commands(step).flat_map(|plan| of_output_option(&output_option(plan)));
    let scripts = commands(step).filter_map(|plan| match plan {
        CommandPlan::Script(ScriptPlan { interpreter, script, .. }) => {
            Some(of_script(interpreter, &script.0))
        }
        CommandPlan::Exec(_) | CommandPlan::Shell(_) => None,
    });
    let verifies = match &step.on_in_doubt {
        InDoubtPolicy::Verify(plan) => of_verification(plan),
        InDoubtPolicy::Ask | InDoubtPolicy::Rerun | InDoubtPolicy::Fail => None,
    };
    let read = data_read(step);
    let without_data = |path: &&DataPath| {
        flow.steps.iter().any(|step| step.id.as_str() == path.step && hands_over_no_data(step))
    };
    let mut no_data: Vec<&str> = Vec::new();
    for path in read.iter().filter(without_data) {
        if !no_data.contains(&path.step.as_str()) {
            no_data.push(&path.step);
        }
    }
    let no_data = no_data.into_iter().map(|id| {
        format!("it reads `steps.{id}.data`, and `{id}` hands over no data; if its output is JSON, give it `data: json`")
    });
    let misspelt = read.iter().filter_map(|path| misspelt_field(flow, path));
    let scripts = scripts.flatten().chain(verifies.map(str::to_owned));
    let sentences = reports.chain(scripts).chain(no_data).chain(misspelt);
    sentences.map(|what| format!("step `{}`{place}: {what}", step.id)).collect()
}

/// Warns of each `--output` that is not used as a report, or that is searched for in a folder that the command enters
/// first.
fn of_output_option(option: &OutputOption) -> Vec<String> {
    let why = match &option.path {
        Some(path) => format!("of several only the last one is, `{path}`"),
        None => "only the shell knows that path; write it as it is, or let the command write to \
                 `$ENVOI_REPORT`"
            .to_owned(),
    };
    let ignored = |value: &String| format!("`--output {value}` is not looked at for a report: {why}");
    let mut found: Vec<String> = option.ignored.iter().map(ignored).collect();
    if let (Some(path), Some(change)) =
        (&option.path, option.change.as_ref().filter(|_| option.names_a_file()))
    {
        let places: Vec<String> = option.candidates().iter().map(|path| format!("`{path}`")).collect();
        let places = places.join(" or ");
        found.push(match option.is_unknown {
            true => format!(
                "`--output {path}` follows `{change}`, which may lead to another folder: the report is looked for at {places} \
                 alone; let the command write to `$ENVOI_REPORT`"
            ),
            false => format!(
                "`--output {path}` follows `{change}`: the report is looked for at {places}; the sure way is to let the \
                 command write to `$ENVOI_REPORT`"
            ),
        });
    }
    if option.is_hidden {
        found.push(
            "`--output` in a text that is not followed (another program reads it, or a variable stands for it) is not looked at for a \
             report; let the command write to `$ENVOI_REPORT`"
                .to_owned(),
        );
    }
    found
}

/// A warning for a field that the schema of the data does not declare while it declares one of nearly the same name. The schema allows
/// other fields, so this is no mistake.
fn misspelt_field(flow: &Flow, path: &DataPath) -> Option<String> {
    let step = flow.steps.iter().find(|step| step.id.as_str() == path.step && step.for_each.is_none())?;
    let schema = match &step.kind {
        StepKind::Ask(plan) => plan.schema.as_ref(),
        StepKind::Run(_) | StepKind::Flow(_) | StepKind::A2a(_) | StepKind::Agent(_) | StepKind::Model(_) => {
            step.outputs.as_ref()
        }
    };
    let unknown = data_fields::unknown(schema?, &path.fields).filter(|unknown| !unknown.is_impossible)?;
    let read = format!(
        "it reads `{}` of the data of step `{}`, whose schema has no such field",
        unknown.name, path.step
    );
    unknown.meant().map(|meant| format!("{read}; {meant}"))
}

/// A path of an expression into the data of a step: `steps.build.data.image.tag`.
struct DataPath {
    step: String,
    /// `image`, `tag`. At least one.
    fields: Vec<String>,
}

/// The fields of other steps' data that this step reads without a default. In the order of the step's texts, each path once.
fn data_read(step: &Step) -> Vec<DataPath> {
    let command = commands(step).flat_map(|plan| match plan {
        CommandPlan::Exec(argv) => argv.iter().map(|argument| argument.0.as_str()).collect(),
        CommandPlan::Shell(script) => vec![script.0.as_str()],
        CommandPlan::Script(plan) => vec![plan.script.0.as_str()],
    });
    let question = match &step.kind {
        StepKind::Ask(plan) => Some(plan.message.0.as_str()),
        StepKind::Agent(plan) => Some(plan.prompt.0.as_str()),
        StepKind::Model(plan) => Some(plan.prompt.0.as_str()),
        StepKind::Run(_) | StepKind::Flow(_) | StepKind::A2a(_) => None,
    };
    let env = step.env.iter().map(|(_, value)| value.0.as_str());
    let texts = command.chain(question).chain(env).flat_map(segments).filter_map(|segment| match segment {
        Segment::Expression(source) => Some(source),
        Segment::Text(_) | Segment::Unclosed(_) => None,
    });
    let mut read: Vec<DataPath> = Vec::new();
    for source in texts.chain(step.condition.iter().map(|condition| condition.0.as_str())) {
        let found = names::names(source);
        let asks = |found: &names::Found| match found.kind {
            Kind::Filter => matches!(found.name.as_str(), "default" | "d"),
            Kind::Test => true,
            Kind::Path { .. } => false,
        };
        if found.iter().any(asks) {
            continue;
        }
        for path in found {
            let Kind::Path { mut members, call } = path.kind else { continue };
            if call != Call::No {
                // The last one is a method of the value.
                members.pop();
            }
            if let ("steps", [id, data, fields @ ..]) = (path.name.as_str(), members.as_slice())
                && data == "data"
                && !fields.is_empty()
                && !read.iter().any(|known| known.step == *id && known.fields == fields)
            {
                read.push(DataPath { step: id.clone(), fields: fields.to_vec() });
            }
        }
    }
    read
}

/// True if a step certainly gives no data. An unknown command might write to `$ENVOI_DATA`.
fn hands_over_no_data(step: &Step) -> bool {
    let script = match &step.kind {
        StepKind::Run(CommandPlan::Shell(script)) => script,
        StepKind::Run(CommandPlan::Script(plan)) if plan.values == Some(ScriptValues::Shell) => &plan.script,
        _ => return false,
    };
    let is_declared = step.data_is_text || step.outputs.is_some() || step.skill.is_some();
    let names_a_place = ["ENVOI_", "--output"].iter().any(|place| script.0.contains(place));
    !is_declared && !names_a_place && step.for_each.is_none() && Script::new(&script.0).is_all_plain()
}

/// Warns of an ambiguous exit code. A shell script ends at the first command that fails, with its exit code, and most
/// programs use 1 for any failure.
fn of_verification(plan: &CommandPlan) -> Option<&'static str> {
    let CommandPlan::Script(ScriptPlan { interpreter, script, .. }) = plan else { return None };
    let is_shell = interpreter.first().is_some_and(|program| SHELLS.contains(&program_name(program)));
    let script = is_shell.then(|| Script::new(&script.0))?;
    let is_clear = script.names_an_exit_code() || script.goes_on_after_failures();
    (script.has_several_commands() && !is_clear).then_some(
        "`verify`: a command of this script that fails with exit code 1 means that the step did not happen, and the step runs again; \
         write `command || exit 2` where a failure means that it is not known",
    )
}

/// Warnings for a command of `notify` that was a string and is now a list.
fn of_notice(argv: &[String]) -> Vec<String> {
    match argv.split_last() {
        Some((script, interpreter)) if interpreter.last().is_some_and(|option| option == "-c") => {
            of_script(interpreter, script).into_iter().map(|what| format!("`notify`: {what}")).collect()
        }
        _ => Vec::new(),
    }
}

/// Warnings for a script for this program.
fn of_script(interpreter: &[String], script: &str) -> Vec<String> {
    let Some((program, options)) = interpreter.split_first() else { return Vec::new() };
    let name = program_name(program);
    if !SHELLS.contains(&name) {
        return Vec::new();
    }
    let script = Script::new(script);
    let mut found = Vec::new();
    if let Some(syntax) = script.bash_syntax().filter(|_| matches!(name, "sh" | "dash" | "ash")) {
        found.push(format!("`{syntax}` is syntax of bash, and `{name}` runs this script; say `shell: bash`"));
    }
    if script.goes_on_after_failures() {
        found.push(
            "after `set +e` the script goes on when a command fails, and only its last command decides"
                .to_owned(),
        );
    } else if !options.iter().any(|word| stops_at_a_failure(word))
        && !script.stops_by_itself()
        && script.has_several_commands()
    {
        found.push(format!(
            "`shell` has no `-e`: the script goes on when a command fails, and only its last command decides; \
             `[{name}, -e, -c]` stops there"
        ));
    }
    found
}

/// True if this shell option is `-e`, alone or combined with others, or its name.
fn stops_at_a_failure(word: &str) -> bool {
    let is_among_letters =
        word.strip_prefix('-').is_some_and(|rest| !rest.starts_with('-') && rest.contains('e'));
    is_among_letters || word == "errexit"
}

fn output_option(plan: &CommandPlan) -> OutputOption {
    match plan {
        CommandPlan::Shell(script) => skill_report::of_script(&script.0),
        CommandPlan::Script(plan) => {
            let script = core::iter::once(&plan.script.0);
            skill_report::of_list(&plan.interpreter.iter().chain(script).cloned().collect::<Vec<_>>())
        }
        CommandPlan::Exec(argv) => {
            let argv: Vec<String> = argv.iter().map(|argument| argument.0.clone()).collect();
            skill_report::of_list(&argv)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::warnings;

    #[test]
    fn data_that_is_read_of_a_step_that_hands_over_none_is_warned_of() {
        for (first, second, warned) in [
            ("run: echo hi", "run: 'echo ${{ steps.a.data.z }}'", true),
            ("run: 'ls | sort\n\n  cat x'", "run: x, if: steps.a.data.z == 1", true),
            ("run: echo hi", "ask: 'Take ${{ steps.a.data.z }}?'", true),
            ("run: echo hi", "run: 'echo ${{ steps.a.data.z | default(1) }}'", false),
            ("run: echo hi", "run: 'echo ${{ steps.a.data }}'", false),
            ("run: echo 1, data: json", "run: 'echo ${{ steps.a.data.z }}'", false),
            ("run: 'echo 1 > \"$ENVOI_DATA\"'", "run: 'echo ${{ steps.a.data.z }}'", false),
            ("run: ./mine", "run: 'echo ${{ steps.a.data.z }}'", false),
            ("run: 'echo a; . ./mine'", "run: 'echo ${{ steps.a.data.z }}'", false),
            ("run: [echo, hi]", "run: 'echo ${{ steps.a.data.z }}'", false),
        ] {
            let text = format!("flow: f\nsteps:\n  - {{ id: a, {first} }}\n  - {{ id: b, {second} }}\n");
            let flow = crate::load("f.yaml", &text).unwrap_or_else(|report| panic!("{report}")).flow;
            let expected = "step `b`: it reads `steps.a.data`, and `a` hands over no data; if its output is JSON, give it `data: json`";
            let found = warnings(&flow);
            assert_eq!(found.contains(&expected.to_owned()), warned, "{text}\n{found:?}");
        }
    }

    #[test]
    fn a_field_with_nearly_the_name_of_a_declared_one_is_warned_of() {
        for (reads, warned) in [
            (
                "steps.a.data.imgae",
                Some(
                    "it reads `imgae` of the data of step `a`, whose schema has no such field; did you mean `image`?",
                ),
            ),
            (
                "steps.a.data.image.tga",
                Some(
                    "it reads `tga` of the data of step `a`, whose schema has no such field; did you mean `tag`?",
                ),
            ),
            ("steps.a.data.image.tag", None),
            ("steps.a.data.other", None),
            ("steps.a.data.imgae | default('')", None),
        ] {
            let text = format!(
                "flow: f\nsteps:\n  - id: a\n    run: [x]\n    outputs: {{ type: object, properties: {{ image: {{ properties: {{ tag: {{}} }} }} }} }}\n  \
                 - {{ id: b, run: [y, \"${{{{ {reads} }}}}\"] }}\n"
            );
            let flow = crate::load("f.yaml", &text).unwrap_or_else(|report| panic!("{report}")).flow;
            let expected = warned.map(|warned| format!("step `b`: {warned}"));
            assert_eq!(warnings(&flow), Vec::from_iter(expected), "{reads}");
        }
    }

    #[test]
    fn an_agent_program_is_looked_up_as_other_programs_are() {
        let text = "flow: f\nsteps:\n  - { id: a, agent: { use: codex, prompt: p } }\n";
        let flow = crate::load("f.yaml", text).unwrap_or_else(|report| panic!("{report}")).flow;
        let found: Vec<_> =
            super::programs(&flow).into_iter().map(|named| (named.place, named.program)).collect();
        assert_eq!(found, [("step `a`".to_owned(), "codex".to_owned())]);
    }

    #[test]
    fn an_output_that_is_not_looked_at_is_warned_of() {
        for (run, warned) in [
            ("w --output out/report.json", None),
            ("w --output \"$ENVOI_REPORT\"", None),
            ("[w, --output, '${{ inputs.to }}']", None),
            (
                "w --output \"$OUT\"",
                Some("`--output $OUT` is not looked at for a report: only the shell knows"),
            ),
            ("w --output \"${{ inputs.to }}\"", Some("`--output ${{ inputs.to }}` is not looked at")),
            ("[sh, -c, 'w --output \"$1\"', sh, x]", Some("`--output $1` is not looked at")),
            (
                "[w, --output, a, --output, b]",
                Some("`--output a` is not looked at for a report: of several only"),
            ),
            ("cd sub; w --output /tmp/r.json", None),
            ("cd sub; w --output json", None),
            ("git -C sub w --output r.json", None),
            ("(cd sub; make); w --output r.json", None),
            ("cd sub; w --output \"$ENVOI_REPORT\"", None),
            (
                "cd sub; w --output r.json",
                Some(
                    "`--output r.json` follows `cd sub`: the report is looked for at `sub/r.json`; the sure way is to let the command write to `$ENVOI_REPORT`",
                ),
            ),
            ("cd sub && w --output r.json", Some("looked for at `sub/r.json`;")),
            ("(cd sub; w --output r.json)", Some("looked for at `sub/r.json`;")),
            (
                "[bash, -c, 'pushd sub; w --output r.json']",
                Some("follows `pushd sub`: the report is looked for at `sub/r.json`;"),
            ),
            ("bash -c \"cd sub; w --output r.json\"", Some("looked for at `sub/r.json`;")),
            ("[bash, -c, 'cd sub; w --output r.json']", Some("looked for at `sub/r.json`;")),
            (
                "env -C sub w --output r.json",
                Some("follows `env -C sub`: the report is looked for at `sub/r.json`;"),
            ),
            ("[env, -C, sub, w, --output, r.json]", Some("looked for at `sub/r.json`;")),
            ("make -C sub w --output r.json", Some("looked for at `sub/r.json` or `r.json`;")),
            ("eval \"cd sub; w --output r.json\"", Some("looked for at `sub/r.json`;")),
            (
                "cd \"$D\"; w --output r.json",
                Some(
                    "`--output r.json` follows `cd $D`, which may lead to another folder: the report is looked for at `r.json` alone; let",
                ),
            ),
            ("cd \"${{ inputs.to }}\"; w --output r.json", Some("which may lead to another folder")),
            (
                "[python3, -c, 'run([\"w\", \"--output\", \"r.json\"])']",
                Some(
                    "`--output` in a text that is not followed (another program reads it, or a variable stands for it) is not looked at for a report; let",
                ),
            ),
        ] {
            let text = format!(
                "flow: f\ninputs: {{ to: {{ type: string }} }}\nsteps:\n  - id: a\n    run: {}\n",
                if run.starts_with('[') { run.to_owned() } else { format!("'{run}'") }
            );
            let flow = crate::load("f.yaml", &text).unwrap_or_else(|report| panic!("{report}")).flow;
            let found = warnings(&flow);
            assert_eq!(found.len(), usize::from(warned.is_some()), "{run}: {found:?}");
            assert!(found.concat().contains(warned.unwrap_or_default()), "{run}: {found:?}");
        }
    }
}
