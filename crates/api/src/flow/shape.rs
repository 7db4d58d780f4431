//! The structure of a flow: its inputs, its steps, and the order of the steps.
//!
//! For views that show steps before a run has reached them. The text of the flow contains everything else.

use crate::scalar::{any, digest, object, words};
use envoi_contract::{digest::Digest, routing::Kind};
use envoi_kernel::{
    Flow,
    flow::{InputDecl, Join, Next, Step, StepKind},
    ids::{FlowId, StepId},
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::collections::BTreeMap;

words! {
    /// The action of a step, as its key in the flow file.
    StepKindWord {
        /// Runs a command.
        Run = "run",
        /// Asks a person.
        Ask = "ask",
        /// Runs another flow.
        Flow = "flow",
        /// Sends a message to another agent.
        A2a = "a2a",
        /// Runs an agent program.
        Agent = "agent",
        /// Asks a model.
        Model = "model",
    }
}

/// A flow with all flows that it names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FlowShape {
    /// Its id.
    #[schemars(with = "String")]
    pub flow: FlowId,
    /// Its digest.
    #[schemars(schema_with = "digest")]
    pub digest: Digest,
    /// For people; null if it has none.
    pub title: Option<String>,
    /// Its inputs, in the order of the file.
    pub inputs: Vec<FlowInput>,
    /// Whether `needs` says what follows what, and not the order of the steps.
    pub graph: bool,
    /// Its steps, in the order of the file.
    pub steps: Vec<StepShape>,
    /// What is repeated until all goals are reached; null if it has no goals.
    pub rounds: Option<Rounds>,
    /// The steps of the flows that it names, directly or not, by their ids.
    pub flows: BTreeMap<String, InnerFlow>,
}

/// An input of a flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct FlowInput {
    /// Its name.
    pub input: String,
    /// The JSON Schema of its value.
    #[schemars(schema_with = "object")]
    pub schema: Value,
    /// Whether a run has to be given it.
    pub required: bool,
    /// Its value if none is given; null if it has none.
    pub default: Value,
}

/// A flow that another one names.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct InnerFlow {
    /// For people; null if it has none.
    pub title: Option<String>,
    /// Which of the flow's files it is; null if that is not known.
    #[serde(default)]
    pub file: Option<String>,
    /// Whether `needs` says what follows what.
    pub graph: bool,
    /// Its steps.
    pub steps: Vec<StepShape>,
    /// What is repeated until all goals are reached; null if it has no goals.
    pub rounds: Option<Rounds>,
}

/// A step of a flow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct StepShape {
    /// Its id.
    #[schemars(with = "String")]
    pub step: StepId,
    /// What it does.
    pub kind: StepKindWord,
    /// The flow that it runs; null if it runs none.
    #[schemars(with = "Option<String>")]
    pub runs_flow: Option<FlowId>,
    /// The skill whose report it leaves; null if it needs none.
    pub skill: Option<String>,
    /// The steps that it waits for, if `needs` says what follows what.
    #[schemars(with = "Vec<String>")]
    pub needs: Vec<StepId>,
    /// How many of them have to be done: `all`, `any`, `settled` or a number.
    pub join: String,
    /// The condition without which it is skipped; null if there is none.
    pub condition: Option<String>,
    /// Whether it is done once for each value of a list.
    pub for_each: bool,
    /// Most tries of a visit, from 1.
    pub tries: u32,
    /// The step to which it goes back if it sends the run back; null if it does not loop.
    #[schemars(with = "Option<String>")]
    pub loop_to: Option<StepId>,
    /// How often that may be; null if it does not loop.
    pub max_iterations: Option<u64>,
    /// Where it leads in place of the next step: the id of a step, or `end`; null for the next one.
    pub next: Option<String>,
    /// Steps that its text may choose.
    #[schemars(with = "Vec<String>")]
    pub branches: Vec<StepId>,
    /// Whether the run goes on when it has failed.
    pub continue_on_error: bool,
    /// The line of its flow's text on which it begins, from 1; null if that is not known.
    #[serde(default)]
    pub line: Option<u64>,
}

/// Steps that are repeated until all goals are reached.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize, JsonSchema)]
pub struct Rounds {
    /// The first step of a round.
    #[schemars(with = "String")]
    pub first_step: StepId,
    /// The last step of a round.
    #[schemars(with = "String")]
    pub last_step: StepId,
    /// The most rounds.
    pub max_rounds: u64,
}

impl From<&Flow> for FlowShape {
    fn from(flow: &Flow) -> Self {
        let InnerFlow { title, file: _, graph, steps, rounds } = inner(flow);
        Self {
            flow: flow.id.clone(),
            digest: flow.digest,
            title,
            inputs: flow.inputs.iter().map(FlowInput::from).collect(),
            graph,
            steps,
            rounds,
            flows: flow.flows.iter().map(|(id, flow)| (id.to_string(), inner(flow))).collect(),
        }
    }
}

impl From<&InputDecl> for FlowInput {
    fn from(declared: &InputDecl) -> Self {
        Self {
            input: declared.name.clone(),
            schema: any(&declared.schema),
            required: declared.default.is_none(),
            default: declared.default.as_ref().map(any).unwrap_or_default(),
        }
    }
}

fn inner(flow: &Flow) -> InnerFlow {
    InnerFlow {
        title: flow.title.clone(),
        file: None,
        graph: flow.graph,
        steps: flow.steps.iter().map(StepShape::from).collect(),
        rounds: flow.goals.as_ref().map(|goals| Rounds {
            first_step: goals.from.clone(),
            last_step: goals.to.clone(),
            max_rounds: goals.max_rounds,
        }),
    }
}

impl From<&Step> for StepShape {
    fn from(step: &Step) -> Self {
        let routing = &step.routing;
        let loops = routing.kind == Kind::Microloop || routing.loop_to.is_some();
        Self {
            step: step.id.clone(),
            kind: match step.kind {
                StepKind::Run(_) => StepKindWord::Run,
                StepKind::Ask(_) => StepKindWord::Ask,
                StepKind::Flow(_) => StepKindWord::Flow,
                StepKind::A2a(_) => StepKindWord::A2a,
                StepKind::Agent(_) => StepKindWord::Agent,
                StepKind::Model(_) => StepKindWord::Model,
            },
            runs_flow: step.inner().map(|plan| plan.flow.clone()),
            skill: step.skill.clone(),
            needs: step.needs.clone(),
            join: match step.join {
                Join::All => "all".to_owned(),
                Join::Any => "any".to_owned(),
                Join::Settled => "settled".to_owned(),
                Join::Quorum(count) => count.to_string(),
            },
            condition: step.condition.as_ref().map(|condition| condition.0.clone()),
            for_each: step.for_each.is_some(),
            tries: step.retry.attempts,
            loop_to: loops.then(|| routing.loop_to.as_ref().unwrap_or(&step.id).clone()),
            max_iterations: loops.then_some(routing.max_iterations),
            next: routing.next.as_ref().map(|next| match next {
                Next::End => "end".to_owned(),
                Next::Step(step) => step.to_string(),
            }),
            branches: routing.branches.clone(),
            continue_on_error: step.continue_on_error,
            line: None,
        }
    }
}
