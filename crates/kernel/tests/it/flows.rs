//! Flows in code: a step runs the program of its own name unless a test sets another.

use envoi_contract::{digest::Digest, envelope::InterruptKind, routing::Kind};
use envoi_kernel::{
    flow::{
        AgentPlan, AskPlan, Budget, CommandPlan, Expression, Flow, InDoubtPolicy, Limits, ModelPlan, Next,
        OnBlocked, OnExhausted, OnReached, OnThrottled, Overdue, RoutingPlan, Step, StepKind, Template,
    },
    ids::{FlowId, StepId},
    ledger::Cost,
};
use std::{collections::BTreeMap, sync::Arc};

pub(crate) fn step_id(name: &str) -> StepId {
    StepId::new(name).unwrap()
}

/// A flow `demo` of these steps, without limits.
pub(crate) fn flow(steps: impl IntoIterator<Item = Step>) -> Arc<Flow> {
    bounded(Limits::default(), steps)
}

/// A flow `demo` whose steps have needs.
pub(crate) fn graph(steps: impl IntoIterator<Item = Step>) -> Arc<Flow> {
    bounded_graph(Limits::default(), steps)
}

pub(crate) fn bounded_graph(limits: Limits, steps: impl IntoIterator<Item = Step>) -> Arc<Flow> {
    let listed = bounded(limits, steps);
    Arc::new(Flow { graph: true, ..Flow::clone(&listed) })
}

pub(crate) fn bounded(limits: Limits, steps: impl IntoIterator<Item = Step>) -> Arc<Flow> {
    Arc::new(Flow {
        id: FlowId::new("demo").unwrap(),
        language: 2,
        title: None,
        inputs: Vec::new(),
        limits,
        secrets: Vec::new(),
        pass_env: Vec::new(),
        env_files: Vec::new(),
        env_read: Vec::new(),
        reads_text: true,
        workspace: ".".to_owned(),
        isolation: None,
        keep_files: false,
        keep_also: Vec::new(),
        env: Vec::new(),
        notify: Vec::new(),
        steps: steps.into_iter().collect(),
        graph: false,
        input_check: envoi_kernel::flow::InputCheck::default(),
        goals: None,
        reads: Vec::new(),
        flows: BTreeMap::new(),
        digest: Digest::of(b"demo"),
        known_structure: envoi_kernel::flow::KnownStructure::default(),
    })
}

/// Limits from `name number` pairs, as a flow file names them.
pub(crate) fn limits(pairs: &[(&str, &str)]) -> Limits {
    let mut limits = Limits::default();
    for (name, text) in pairs {
        match *name {
            "agent_hops" => limits.agent_hops = text.parse().ok(),
            "iterations" => limits.iterations = text.parse().ok(),
            "llm_calls" => limits.llm_calls = text.parse().ok(),
            "wall_time_ms" => limits.wall_time_ms = text.parse().ok(),
            "cost" => limits.cost = Cost::parse(text),
            "on_reached" if *text == "ask" => limits.on_reached = OnReached::Ask,
            other => panic!("no limit is called {other}"),
        }
    }
    limits
}

pub(crate) fn step(name: &str) -> Step {
    Step::new(step_id(name), StepKind::Run(CommandPlan::Exec(vec![Template(name.to_owned())])))
}

/// A microloop that waits for `VERIFIED` and goes back to `loop_to`; exit code 1 states `UNVERIFIED`.
pub(crate) fn critic(name: &str, loop_to: &str, max_iterations: u64) -> Step {
    let mut step = step(name);
    step.routing = RoutingPlan {
        kind: Kind::Microloop,
        declared: true,
        loop_to: (loop_to != name).then(|| step_id(loop_to)),
        status_from_exit: [(0, "VERIFIED".to_owned()), (1, "UNVERIFIED".to_owned())].into(),
        success_values: vec!["VERIFIED".to_owned()],
        max_iterations,
        ..RoutingPlan::default()
    };
    step
}

/// A step whose text may name where to go.
pub(crate) fn branch(name: &str, targets: &[&str]) -> Step {
    let mut step = step(name);
    step.routing = RoutingPlan {
        kind: Kind::Branch,
        declared: true,
        branches: targets.iter().map(|target| step_id(target)).collect(),
        ..RoutingPlan::default()
    };
    step
}

/// A step that asks any person for a confirmation, without a time limit.
pub(crate) fn ask(name: &str) -> Step {
    let plan = AskPlan {
        kind: InterruptKind::Confirmation,
        message: Template("Go on?".to_owned()),
        schema: None,
        expires_in_ms: None,
        on_deny: None,
        on_expire: Overdue::Fail,
        not_by_starter: false,
        quorum: 1,
    };
    step(name).with(|step| step.kind = StepKind::Ask(Box::new(plan)))
}

/// A step that talks to another agent.
pub(crate) fn agent(name: &str) -> Step {
    let template = |text: &str| Template(text.to_owned());
    let plan = AgentPlan {
        interface: None,
        url: template("https://agent.test"),
        message: template("do it"),
        data: Vec::new(),
        tenant: None,
        token: None,
        resends: false,
    };
    step(name).with(|step| step.kind = StepKind::A2a(Box::new(plan)))
}

/// A step that asks a model.
pub(crate) fn model(name: &str) -> Step {
    let plan = ModelPlan {
        model: "small".to_owned(),
        on_throttled: OnThrottled::default(),
        prompt: Template("say it".to_owned()),
        system: None,
        files: Vec::new(),
        temperature: None,
        max_tokens: None,
        repair: 0,
    };
    step(name).with(|step| step.kind = StepKind::Model(Box::new(plan)))
}

/// Changes of a step, one after the other.
pub(crate) trait With: Sized {
    fn with(self, change: impl FnOnce(&mut Step)) -> Step;

    fn next(self, target: &str) -> Step {
        let next = if target == "end" { Next::End } else { Next::Step(step_id(target)) };
        self.with(|step| step.routing.next = Some(next))
    }
    fn when(self, condition: &str) -> Step {
        self.with(|step| step.condition = Some(Expression(condition.to_owned())))
    }
    fn tries(self, attempts: u32) -> Step {
        self.with(|step| step.retry.attempts = attempts)
    }
    fn shell(self, script: &str) -> Step {
        self.with(|step| step.kind = StepKind::Run(CommandPlan::Shell(Template(script.to_owned()))))
    }
    fn exec(self, arguments: &[&str]) -> Step {
        let argv = arguments.iter().map(|text| Template((*text).to_owned())).collect();
        self.with(|step| step.kind = StepKind::Run(CommandPlan::Exec(argv)))
    }
    /// Sets the message to the agent.
    fn with_message(self, message: &str) -> Step {
        self.with(|step| match &mut step.kind {
            StepKind::A2a(plan) => plan.message = Template(message.to_owned()),
            _ => panic!("`{}` talks to no agent", step.id),
        })
    }
    fn variable(self, name: &str, template: &str) -> Step {
        self.with(|step| step.env.push((name.to_owned(), Template(template.to_owned()))))
    }
    fn skill(self) -> Step {
        self.with(|step| step.skill = Some("a-skill".to_owned()))
    }
    fn in_doubt(self, policy: InDoubtPolicy) -> Step {
        self.with(|step| step.on_in_doubt = policy)
    }
    /// Model calls and dollars of one attempt, `-` for none.
    fn budget(self, llm_calls: &str, cost: &str) -> Step {
        self.with(|step| step.budget = Budget { llm_calls: llm_calls.parse().ok(), cost: Cost::parse(cost) })
    }
    /// Doubt about it is settled by this program.
    fn verified_by(self, program: &str) -> Step {
        let plan = CommandPlan::Exec(vec![Template(program.to_owned())]);
        self.in_doubt(InDoubtPolicy::Verify(plan))
    }
    fn exhausted(self, policy: OnExhausted) -> Step {
        self.with(|step| step.routing.on_exhausted = policy)
    }
    /// Changes of the question.
    fn asking(self, change: impl FnOnce(&mut AskPlan)) -> Step {
        self.with(|step| match &mut step.kind {
            StepKind::Ask(plan) => change(plan),
            _ => panic!("`{}` asks nothing", step.id),
        })
    }
    fn expires(self, ms: u64) -> Step {
        self.asking(|plan| plan.expires_in_ms = Some(ms))
    }
    fn on_deny(self, target: &str) -> Step {
        self.asking(|plan| plan.on_deny = Some(step_id(target)))
    }
    fn quorum(self, people: u32) -> Step {
        self.asking(|plan| plan.quorum = people)
    }
    /// Another round from `target` on, as often as that.
    fn again_from(self, target: &str, rounds: u64) -> Step {
        self.with(|step| {
            step.routing.loop_to = Some(step_id(target));
            step.routing.max_iterations = rounds;
        })
    }
    fn blocked(self, policy: OnBlocked) -> Step {
        self.with(|step| step.routing.on_blocked = policy)
    }
}

impl With for Step {
    fn with(mut self, change: impl FnOnce(&mut Step)) -> Step {
        change(&mut self);
        self
    }
}
