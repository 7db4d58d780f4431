//! The plan of a seed: the runs, the actions of people, and the number of parallel attempts.

use crate::{
    budgets,
    corrections::{self, Correction},
    flows::{self, Sample},
    night, questions,
};
use envoi_contract::{
    envelope::InterruptKind,
    json::{Object, Value},
};
use envoi_journal::PinnedFlow;
use envoi_kernel::{
    Flow, Run,
    event::{About, Choice, InterruptRaised},
    flow::{Step, Versions},
    ids::{Principal, RunId, VisitId},
    input::Start,
    part::{Part, Selection, TakenHandOff},
    requester::Requester,
};
use envoi_testkit::Dice;
use std::{collections::BTreeMap, sync::Arc};

/// See the module.
pub(crate) struct Plan {
    pub(crate) seed: u64,
    pub(crate) jobs: usize,
    pub(crate) runs: Vec<Planned>,
    /// Agents work in it, whose accounts have limits.
    pub(crate) is_night: bool,
}

/// The plan of one run.
pub(crate) struct Planned {
    pub(crate) id: RunId,
    pub(crate) flow: Arc<Flow>,
    pub(crate) pinned: PinnedFlow,
    /// Whether its questions are answered.
    pub(crate) answered: bool,
    /// It is cancelled once it has so many events.
    pub(crate) cancel_after: Option<u64>,
    /// How often it is reopened when it did not succeed.
    pub(crate) reopenings: usize,
    /// Whether its commands call models through the engine.
    pub(crate) calls_models: bool,
    /// The part of its flow that it does.
    pub(crate) part: Option<Box<Part>>,
    /// How a person corrects its flow, if one does.
    pub(crate) correction: Option<Correction>,
}

impl Plan {
    /// `None` only if not even the plainest flow can be read.
    pub(crate) fn of(seed: u64) -> Option<Self> {
        let mut dice = Dice::of(seed, &["plan"]);
        let jobs = dice.index(4).saturating_add(1);
        let count = dice.between(1, 5);
        let runs = (0..count).map(|number| planned(seed, &mut dice, number)).collect::<Option<_>>()?;
        Some(Self { seed, jobs, runs, is_night: false })
    }

    /// Runs of agents. People answer what they ask, and do nothing else.
    pub(crate) fn of_a_night(seed: u64) -> Option<Self> {
        let mut dice = Dice::of(seed, &["night"]);
        let texts = night::flows(&mut dice).into_iter().zip(0_u64..);
        let runs = texts.map(|(text, number)| {
            let loaded = envoi_flow::load_with("flow.yaml", &text, &BTreeMap::new()).ok()?;
            let flow = Arc::new(loaded.flow);
            Some(Planned {
                id: RunId::new(format!("run_{number}")).ok()?,
                pinned: flows::pinned(&flow, loaded.language, text, BTreeMap::clone(&loaded.parts)),
                flow,
                answered: true,
                cancel_after: None,
                reopenings: 0,
                calls_models: false,
                part: None,
                correction: None,
            })
        });
        Some(Self { seed, jobs: 3, runs: runs.collect::<Option<_>>()?, is_night: true })
    }

    pub(crate) fn run(&self, id: &RunId) -> Option<&Planned> {
        self.runs.iter().find(|planned| planned.id == *id)
    }

    /// The choice of a person after `refusals` refusals. Depends on the question, not on its time.
    pub(crate) fn choice(
        &self,
        run: &RunId,
        raised: &InterruptRaised,
        step: Option<&Step>,
        refusals: usize,
    ) -> Choice {
        let visit = raised.visit.to_string();
        let mut dice = Dice::of(self.seed, &["choice", run.as_str(), &visit]);
        match raised.about {
            About::InDoubt => {
                *dice.pick(&[Choice::Rerun, Choice::Rerun, Choice::Fail]).unwrap_or(&Choice::Fail)
            }
            About::Agent => {
                *dice.pick(&[Choice::Respond, Choice::Respond, Choice::Deny]).unwrap_or(&Choice::Deny)
            }
            About::Limit => *dice.pick(&[Choice::Raise, Choice::Stop]).unwrap_or(&Choice::Stop),
            About::Ask => {
                let clarifies = raised.kind() == InterruptKind::Clarification;
                let yes = if clarifies { Choice::Respond } else { Choice::Approve };
                let loops = step.is_some_and(|step| step.routing.loop_to.is_some());
                let picked = *dice.pick(&[yes, yes, yes, Choice::Again, Choice::Deny]).unwrap_or(&yes);
                if picked == Choice::Again && (!loops || refusals > 0) { yes } else { picked }
            }
            _ if refusals > 0 => Choice::Proceed,
            _ => *dice
                .pick(&[Choice::Proceed, Choice::Again, Choice::Again, Choice::Stop])
                .unwrap_or(&Choice::Stop),
        }
    }
}

fn planned(seed: u64, dice: &mut Dice, number: u64) -> Option<Planned> {
    let sample = flows::sample(dice)?;
    let mut flow = sample.loaded.flow.clone();
    questions::into(&mut flow, dice);
    budgets::into(&mut flow, dice);
    let flow = Arc::new(flow);
    let part = part(&flow);
    let id = RunId::new(format!("run_{number}")).ok()?;
    let correction = corrections::of(seed, id.as_str(), &sample, &flow);
    let Sample { text, loaded } = sample;
    let pinned = flows::pinned(&flow, loaded.language, text, loaded.parts);
    Some(Planned {
        id,
        flow,
        pinned,
        answered: !dice.permille(150),
        cancel_after: dice.permille(120).then(|| dice.between(1, 20)),
        reopenings: usize::from(dice.permille(400)),
        calls_models: dice.permille(300),
        part,
        correction,
    })
}

/// Every third run does a part of its flow, if the flow can be cut there; of some, hand-offs are taken from a run that is not here.
/// Follows from the flow: no seed goes another way because of it.
fn part(flow: &Flow) -> Option<Box<Part>> {
    let digest = flow.digest.to_string();
    let number = usize::from_str_radix(digest.get(digest.len().checked_sub(6)?..)?, 16).ok()?;
    let step = flow.steps.get((number / 24).checked_rem(flow.steps.len())?).filter(|_| number % 3 == 1)?;
    let named = vec![step.id.clone()];
    let selection = match number / 3 % 4 {
        0 => Selection { only: named, ..Selection::default() },
        1 => Selection { from: Some(step.id.clone()), ..Selection::default() },
        2 => Selection { until: Some(step.id.clone()), ..Selection::default() },
        _ => Selection { skip: named, ..Selection::default() },
    };
    let takes = number / 12 % 2 == 1;
    let stands =
        |step: &&Step| takes && !selection.includes(flow, &step.id) && selection.goes_past(flow, &step.id);
    let taken = flow.steps.iter().filter(stands).map(|step| TakenHandOff {
        visit: VisitId { scope: String::new(), step: step.id.clone(), visit: 1 },
        summary: format!("{} of another run", step.id),
        data: Value::Null,
        data_kept: None,
        text: None,
        report: None,
        files: Vec::new(),
        manifest: None,
    });
    let taken = taken.collect();
    let part = Part { with: RunId::new("run_earlier").ok(), taken, selection };
    part.check(flow, &BTreeMap::new()).ok().map(|()| Box::new(part))
}

impl Planned {
    /// Whether several things of it may happen side by side: their order then differs between worlds.
    pub(crate) fn is_parallel(&self) -> bool {
        let parallel = |flow: &Flow| flow.graph || flow.steps.iter().any(|step| step.for_each.is_some());
        parallel(&self.flow) || self.flow.flows.values().any(|flow| parallel(flow))
    }

    pub(crate) fn fresh(&self) -> Run {
        Run::new(self.versions())
    }

    /// Its flow, and the one that it is corrected to.
    pub(crate) fn versions(&self) -> Versions {
        let mut versions = Versions::from(Arc::clone(&self.flow));
        self.correction.iter().for_each(|correction| versions.add(Arc::clone(&correction.flow)));
        versions
    }

    pub(crate) fn start(&self) -> Start {
        Start {
            run: self.id.clone(),
            inputs: Object::default(),
            workspace: "/workspace".to_owned(),
            shared: true,
            keep_files: false,
            no_cache: false,
            isolated: None,
            source: Default::default(),
            run_base: format!("/runs/{}", self.id),
            language: self.pinned.language,
            by: person(),
            yes_to: Vec::new(),
            trace: None,
            env: envoi_contract::json::Object::new(),
            requester: Requester::default(),
            part: self.part.clone(),
        }
    }
}

/// The person who sends every request.
pub(crate) fn person() -> Principal {
    Principal { tenant: "local".to_owned(), actor: "ada".to_owned() }
}
