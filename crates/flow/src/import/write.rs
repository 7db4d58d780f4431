//! Writes the text of the flow file.
//!
//! Owns its layout: the comments, the order of keys, and the indentation. Other modules decide the content.

use super::{
    Command, Finding, Made, MadeStep,
    quote::{block, comment, inline},
    routing::Routing,
};

pub(super) fn write(name: &str, made: &Made, findings: &[Finding], command: &Command) -> String {
    let mut lines = head(name, command);
    for paragraph in &made.prose {
        lines.push("#".to_owned());
        lines.extend(paragraph.iter().map(|line| comment(line)));
    }
    let lost: Vec<&Finding> = findings.iter().filter(|finding| finding.is_lost()).collect();
    if !lost.is_empty() {
        lines.push("#".to_owned());
        lines.push("# Not carried:".to_owned());
        lines.extend(lost.iter().map(|finding| {
            comment(&format!("  line {}: {}: {}", finding.place.line, finding.what, finding.why))
        }));
    }
    lines.push(format!("flow: {}", inline(&made.id)));
    lines.extend(made.title.iter().map(|title| format!("title: {}", inline(title))));
    lines.push("steps:".to_owned());
    for step in &made.steps {
        write_step(step, made.graph, &mut lines);
    }
    lines.join("\n") + "\n"
}

fn head(name: &str, command: &Command) -> Vec<String> {
    let file = name.rsplit('/').next().unwrap_or(name);
    vec![
        comment(&format!("Made by `envoi import` from {file}.")),
        comment(&format!("Each step runs: {}", command.as_written())),
        comment("To run something else: envoi import --command 'PROGRAM … {agent} {step} {prompt}'"),
    ]
}

fn write_step(step: &MadeStep, graph: bool, lines: &mut Vec<String>) {
    lines.push(format!("  - id: {}", inline(&step.id)));
    if !step.needs.is_empty() {
        lines.push(format!("    needs: {}", list(&step.needs)));
    }
    if step.run.iter().any(|word| word.contains('\n')) {
        lines.push("    run:".to_owned());
        lines.extend(step.run.iter().map(|word| format!("      - {}", block(word, 6))));
    } else {
        lines.push(format!("    run: {}", list(&step.run)));
    }
    if step.continue_on_error {
        lines.push("    continue_on_error: true".to_owned());
    }
    // In a graph the following step has `needs` instead.
    if let Some(routing) = &step.routing {
        write_routing(routing, (!graph).then_some(routing.next.as_str()), lines);
    }
}

fn write_routing(routing: &Routing, next: Option<&str>, lines: &mut Vec<String>) {
    let Some(kind) = routing.kind else {
        lines.extend(next.map(|next| format!("    routing: {{ next: {} }}", inline(next))));
        return;
    };
    lines.push("    routing:".to_owned());
    let mut member = |key: &str, value: String| lines.push(format!("      {key}: {value}"));
    member("kind", kind.to_owned());
    if let Some(loop_to) = &routing.loop_to {
        member("loop_to", inline(loop_to));
    }
    if !routing.success_values.is_empty() {
        member("success_values", list(&routing.success_values));
    }
    if !routing.branches.is_empty() {
        member("branches", list(&routing.branches));
    }
    if let Some(max) = routing.max_iterations {
        member("max_iterations", max.to_string());
        member("on_exhausted", "ask".to_owned());
    }
    if let Some(next) = next {
        member("next", inline(next));
    }
}

fn list(texts: &[String]) -> String {
    let items: Vec<String> = texts.iter().map(|text| inline(text)).collect();
    format!("[{}]", items.join(", "))
}
