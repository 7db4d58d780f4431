//! Templates: their values in a command, and the errors that stop it before it starts.

use crate::{
    driver::{Driver, reported, result, settled},
    flows::{With, flow, step},
    story::{event, stand},
};
use envoi_kernel::{
    Event,
    event::{Command, Outcome},
    flow::{CommandPlan, Flow, ScriptPlan, ScriptValues, StepKind, Template},
};
use std::sync::Arc;

fn events(driver: &Driver) -> Vec<String> {
    driver.records.iter().map(|record| event(&record.event)).collect()
}

#[test]
fn values_reach_a_command_as_arguments_variables_and_folder() {
    let second = step("b")
        .exec(&[
            "run",
            "${{ inputs.who }}",
            "n=${{ steps.a.data.n }}",
            "${{ steps.a.report }}",
            "${{ run.id }}",
        ])
        .variable("WHO", "${{ inputs.who }}!")
        .variable("WHO", "later ${{ steps.a.status }}")
        .with(|step| step.cwd = Some(envoi_kernel::flow::Template("${{ inputs.who }}/src".to_owned())));
    let mut driver = Driver::started_with(&flow([step("a"), second]), r#"{"who":"ada \"x\""}"#);
    driver.ok(settled(reported("a.1.1", r#""data":{"n":1.00}"#)));
    let begun = driver.begun("b.1.1");
    let argv = ["run", "ada \"x\"", "n=1.00", "/base/attempts/a.1.1/report.json", "run_0demo"];
    assert_eq!(begun.command, Command::Exec(argv.map(str::to_owned).to_vec()));
    assert_eq!(begun.env, [("WHO".to_owned(), "later succeeded".to_owned())]);
    assert_eq!(begun.cwd, "ada \"x\"/src");
}

#[test]
fn in_a_script_values_travel_as_variables() {
    let mut driver = Driver::new(&flow([step("a").shell("echo ${{ inputs.who }}")]));
    driver.inputs.insert("who", envoi_contract::json::Value::from("$(rm -rf ~)"));
    driver.ok(driver.start());
    let begun = driver.begun("a.1.1");
    assert_eq!(begun.command, Command::Shell("echo ${ENVOI_VALUE_1}".to_owned()));
    assert_eq!(begun.env, [("ENVOI_VALUE_1".to_owned(), "$(rm -rf ~)".to_owned())]);
}

#[test]
fn a_script_goes_to_its_interpreter_and_reads_values_in_its_own_words() {
    for (interpreter, values, read) in [
        (["sh", "-e", "-c"], ScriptValues::Shell, "${ENVOI_VALUE_1}"),
        (["python3", "-u", "-c"], ScriptValues::Python, "__import__(\"os\").environ[\"ENVOI_VALUE_1\"]"),
    ] {
        let interpreter = interpreter.map(str::to_owned).to_vec();
        let script = Template("say(${{ inputs.who }})".to_owned());
        let plan = ScriptPlan { interpreter: interpreter.clone(), values: Some(values), script };
        let step = step("a").with(|step| step.kind = StepKind::Run(CommandPlan::Script(plan)));
        let driver = Driver::started_with(&flow([step]), r#"{"who":"$(rm -rf ~)"}"#);
        let begun = driver.begun("a.1.1");
        let argv = interpreter.into_iter().chain([format!("say({read})")]).collect();
        assert_eq!(begun.command, Command::Exec(argv));
        assert_eq!(begun.env, [("ENVOI_VALUE_1".to_owned(), "$(rm -rf ~)".to_owned())]);
    }
}

#[test]
fn what_cannot_be_given_to_a_command_fails_before_the_start() {
    let large = format!(r#"{{"v":"{}"}}"#, "x".repeat(100 * 1024 + 1));
    let whole = step("a").exec(&["a", "${{ inputs.v }}"]);
    let in_folder = step("a").with(|step| step.cwd = Some(Template("${{ inputs.v }}".to_owned())));
    for (what, inputs, step, code) in [
        ("undefined", "{}", whole.clone(), "EXPRESSION_FAILED"),
        ("no work", r#"{"v":1}"#, step("a").exec(&["${{ 1 + inputs }}"]), "EXPRESSION_FAILED"),
        ("large", large.as_str(), whole.clone(), "VALUE_TOO_LARGE"),
        ("large, script", large.as_str(), step("a").shell("${{ inputs.v }}"), "VALUE_TOO_LARGE"),
        ("large, variable", large.as_str(), step("a").variable("V", "${{ inputs.v }}"), "VALUE_TOO_LARGE"),
        ("NUL", r#"{"v":"a\u0000b"}"#, whole, "VALUE_TOO_LARGE"),
        ("absolute folder", r#"{"v":"/etc"}"#, in_folder.clone(), "TOOL_CANNOT_START"),
        ("folder outside", r#"{"v":"../../x"}"#, in_folder, "TOOL_CANNOT_START"),
    ] {
        let driver = Driver::started_with(&flow([step, crate::flows::step("b")]), inputs);
        let expected = ["started", "a.1 stops", "a.1 failed", "over: tool_failed_fatally at a"];
        assert_eq!(events(&driver), expected, "{what}");
        let handoff = driver.handoff("a.1");
        assert!(
            handoff.error.as_ref().unwrap().starts_with(&format!("{code}: ")),
            "{what}: {:?}",
            handoff.error
        );
        assert_eq!(handoff.routing_signal.reason, format!("Step failed: {code}"), "{what}");
        assert_eq!(driver.run.ledger().agent_hops, 0, "{what}");
        let errors = &driver.run.envelope().errors;
        assert_eq!(errors.len(), 1, "{what}: the envelope tells of it");
    }
}

#[test]
fn exactly_the_longest_value_is_given() {
    let longest = format!(r#"{{"v":"{}"}}"#, "x".repeat(100 * 1024));
    let driver = Driver::started_with(&flow([step("a").exec(&["a", "${{ inputs.v }}"])]), &longest);
    assert_eq!(stand(&driver.run), "= a.1.1 live");
}

#[test]
fn data_over_64_kib_is_a_reference_and_no_value() {
    let reads = [
        "steps.a.data.v | length",
        "steps['a'].data",
        "steps.a.data.v | default('none')",
        "steps.a.data is defined",
    ];
    let cases = [(64 * 1024 - 20, true), (64 * 1024, false)].into_iter();
    for ((bytes, fits), read) in cases.flat_map(|case| reads.map(|read| (case, read))) {
        let second = step("b").exec(&["b", &format!("${{{{ {read} }}}}")]);
        let mut driver = Driver::started(&flow([step("a"), second]));
        driver.ok(settled(reported("a.1.1", &format!(r#""data":{{"v":"{}"}}"#, "x".repeat(bytes)))));
        assert_eq!(stand(&driver.run) == "= b.1.1 live", fits, "{bytes} {read}");
        if let Some(Event::RunEnded(ended)) = driver.records.last().map(|record| &record.event) {
            let why = "the data of step `a` has more than 64 KiB or more than 100 levels of nesting, and is no value of an expression";
            assert!(
                ended.reason.contains("VALUE_TOO_LARGE") && ended.reason.contains(why),
                "{}",
                ended.reason
            );
        }
        assert_eq!(driver.settlement("a.1.1").data.get("$artifact").is_none(), fits, "{bytes}");
    }
}

#[test]
fn the_whole_text_of_a_step_is_there_where_the_flow_reads_it() {
    let read = |text: &str, reads_text: bool, expression: &str| {
        let steps = [step("a"), step("b").exec(&["b", &format!("${{{{ {expression} }}}}")])];
        let flow = Arc::new(Flow { reads_text, ..Flow::clone(&flow(steps)) });
        let mut driver = Driver::started(&flow);
        driver.ok(settled(result("a.1.1", Outcome::Exited { code: 0 }, text)));
        let kept = driver.records.iter().find_map(|record| match &record.event {
            Event::HandoffWritten(written) => Some(written.text.is_some()),
            _ => None,
        });
        let argument = driver.nth_begun(1).map(|id| match &driver.begun(&id.to_string()).command {
            Command::Exec(argv) => argv[1].clone(),
            other => panic!("{other:?}"),
        });
        let reason = || match driver.records.last().map(|record| &record.event) {
            Some(Event::RunEnded(ended)) => ended.reason.clone(),
            other => panic!("{other:?}"),
        };
        (kept.unwrap(), argument.ok_or_else(reason))
    };
    let told = |text: &str, reads_text: bool| read(text, reads_text, "steps.a.text");
    let long = format!("begin {} end", "word ".repeat(3_000));
    assert_eq!(told(" short\n", true), (false, Ok("short".to_owned())));
    assert_eq!(told(" short\n", false), (false, Ok("short".to_owned())));
    assert_eq!(told(&format!("{long}\n"), true), (true, Ok(long.clone())));
    let (kept, ended) = told(&long, false);
    assert!(!kept && ended.unwrap_err().contains("the flow did not read it when the step was done"));
    // A line that looks like the one of a shortened summary is no reason to lose the rest.
    let marked = "a\n… [7 characters omitted] …\nb";
    assert_eq!(told(marked, true), (true, Ok(marked.to_owned())));
    let (kept, ended) = told(&"x".repeat(100 * 1024 + 1), true);
    let why = ended.unwrap_err();
    assert!(!kept && why.contains("has more than 100 KiB") && why.contains("VALUE_TOO_LARGE"), "{why}");
    // A default is for a step that has not run, not for a text that was left out.
    for expression in
        ["steps.a.text | default('')", "steps['a'].text is defined", "'FAIL' in (steps.a.text | default(''))"]
    {
        let (_, ended) = read(&"x".repeat(100 * 1024 + 1), true, expression);
        assert!(ended.unwrap_err().contains("has more than 100 KiB"), "{expression}");
    }
}
