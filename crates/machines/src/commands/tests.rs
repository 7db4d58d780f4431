//! What a cluster cannot do yet is found before a run begins.

use super::*;

#[test]
fn what_a_cluster_cannot_do_is_named_with_its_step() {
    let checked = |text: &str| {
        let flow = envoi_flow::load("flow.yaml", text).unwrap().flow;
        check_flow(&flow).map_err(|refused| refused.message)
    };
    let step = |step: &str| format!("flow: f\nsteps:\n  - id: one\n    run: [\"true\"]\n  - {step}\n");
    for fine in [
        step("{ id: two, run: [\"true\"], artifacts: [out], retry: { attempts: 2 } }"),
        step("{ id: two, ask: Sure? }"),
        step("{ id: two, run: [\"true\"], for_each: [a, b] }"),
    ] {
        assert_eq!(checked(&fine), Ok(()), "{fine}");
    }
    for (beyond, named) in [
        (step("{ id: two, agent: { use: claude, prompt: x } }"), "`agent` (step `two`)"),
        (step("{ id: two, a2a: { url: \"http://127.0.0.1:1\", message: x } }"), "`a2a` (step `two`)"),
        (step("{ id: two, ask: Sure? }") + "notify:\n  - { command: [\"true\"] }\n", "`notify`"),
        (step("{ id: two, ask: Sure? }") + "workspace: { isolate: tree }\n", "`isolate`"),
    ] {
        let message = checked(&beyond).unwrap_err();
        assert!(message.contains(named), "{message}");
    }
}
