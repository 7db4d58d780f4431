//! `envoi run`: starts a run and follows it.

use crate::command::web::Web;
use crate::{
    process::{
        args::{IsolationArgs, PartArgs, RunArgs},
        environment,
        failure::Failure,
        files, messages,
    },
    session::{
        background, engine_client,
        interactive::Conversation,
        own_engine::{Beside, Person},
    },
    store::{
        config,
        flow_files::{load, read_flow},
        home::Home,
        pinned_file, select,
    },
    view::{describe, live::Live, printer::Printer},
};
use envoi_contract::{
    code::Code,
    json::{Object, Value},
};
use envoi_engine::{
    ParsedFlow,
    protocol::{Isolate, PartRequest, Request, StartRequest, WorkspaceUse},
};
use envoi_flow::inputs;
use envoi_journal::Store;
use envoi_kernel::{
    Flow,
    ids::{RunId, StepId},
    part::Selection,
    requester::Requester,
};
use std::path::{Path, PathBuf};

pub(crate) fn run(home: &Home, args: &RunArgs) -> Result<u8, Failure> {
    let (path, text) = read_flow(&args.flow)?;
    let loaded = load(&args.flow, &path, &text)?;
    let given = given_inputs(&loaded, args)?;
    let flow_dir = path.parent().unwrap_or(Path::new("/")).to_owned();
    let selection = selection(&args.part)?;
    let store = home.open()?;
    for warning in config::not_configured(home, &loaded.flow) {
        messages::say(&format!("warning: {warning}; it fails then"));
    }
    say_skipped_questions(&loaded.flow, &selection);
    let with = args.with.as_deref().map(|run| named_run(&store, run)).transpose()?;
    let run = new_id()?;
    let request = Request::Start(Box::new(StartRequest {
        run: run.clone(),
        flow_name: path.to_string_lossy().into_owned(),
        flow_text: text,
        flow_parts: loaded.parts.as_ref().clone(),
        language: None,
        inputs: given,
        workspace: workspace_use(args.copy, args.share_workspace),
        keep_files: args.keep_files,
        no_cache: args.no_cache,
        isolate: isolate(
            &args.isolation,
            Some(loaded.flow.as_ref()).filter(|_| !args.copy && !args.share_workspace),
        )?,
        yes_to: yes_to(&args.yes_to)?,
        trace: environment::variable("TRACEPARENT"),
        requester: requester(args)?,
        part: (!selection.is_whole()).then_some(PartRequest { selection, with }),
        by: environment::principal(),
        caller: environment::caller(&loaded.flow, &flow_dir),
    }));
    if args.engine.detach {
        let run = background::detach(&store, &request, args.engine.jobs)?;
        return background::print_run(&run, home.json);
    }
    let mut conversation = Conversation::new(run.clone(), home.json);
    let flow = loaded.flow;
    let view = |run: &RunId| Live::of_run(run, flow.clone(), store.layout(), store.reader().ok());
    let mut printer = Printer::new(run.clone(), home.json)
        .reads(store.reader().ok())
        .live(view)
        .watches(store.layout())
        .asks_in_place(conversation.is_possible())
        .goes_on_by(pinned_file::to_go_on(&store));
    let mut web = args.web.then(|| Web::new(&store, &run)).transpose()?;
    let beside = web.as_mut().map(|web| web as &mut dyn Beside);
    let person = Person { printer: &mut printer, conversation: &mut conversation };
    let code = engine_client::ask_beside(&store, request, &args.engine, person, beside)?;
    if let Some(web) = &web {
        web.remark();
    }
    if !home.json {
        pinned_file::remark(&store, &run, code);
    }
    Ok(code)
}

/// Prints which questions are skipped because the selected part of the flow leaves out their steps.
pub(crate) fn say_skipped_questions(flow: &Flow, selection: &Selection) {
    if let Some(questions) = describe::not_asked(&selection.questions_passed(flow)) {
        messages::say(&format!("{questions}: left out of the part"));
    }
}

/// Finds the run by its id or by a unique part of it.
fn named_run(store: &Store, name: &str) -> Result<RunId, Failure> {
    select::run_or_newest(&store.reader().map_err(Failure::store)?, Some(name))
}

/// Returns the inputs from the arguments after checking them against the flow. Defaults are not filled in.
pub(crate) fn given_inputs(loaded: &ParsedFlow, args: &RunArgs) -> Result<Object, Failure> {
    let mut given = match &args.inputs_file {
        Some(path) => inputs_file(path)?,
        None => Object::default(),
    };
    for argument in &args.inputs {
        let bad = |message: String| Failure::new(Code::InputInvalid, message);
        let (name, text) = argument
            .split_once('=')
            .ok_or_else(|| bad(format!("`{argument}` is not of the form NAME=VALUE")))?;
        let declared = loaded.flow.inputs.iter().find(|declared| declared.name == name);
        let value = match declared {
            Some(declared) => {
                inputs::parse_argument(declared, text).map_err(|error| bad(error.to_string()))?
            }
            None => Value::from(text),
        };
        given.insert(name.to_owned(), value);
    }
    inputs::resolve(&loaded.flow, &given).map_err(|errors| {
        Failure::new(Code::InputInvalid, errors.to_string())
            .hint("inputs: -i NAME=VALUE or --inputs-file FILE")
    })?;
    Ok(given)
}

/// Returns the requester that the arguments state.
pub(crate) fn requester(args: &RunArgs) -> Result<Requester, Failure> {
    let bad = |message: String| Failure::new(Code::InputInvalid, message);
    let mut metadata = Object::new();
    for argument in &args.metadata {
        let (name, text) = argument
            .split_once('=')
            .ok_or_else(|| bad(format!("--metadata: `{argument}` is not of the form NAME=VALUE")))?;
        metadata.insert(name.to_owned(), Value::from(text));
    }
    let user_id = args.user.clone();
    let session_id = args.session.clone();
    let requester = Requester { user_id, session_id, metadata, raw_input: None };
    requester.check().map_err(|error| bad(error.to_string()))?;
    Ok(requester)
}

fn inputs_file(path: &Path) -> Result<Object, Failure> {
    let bad = |message: String| Failure::new(Code::InputInvalid, format!("{}: {message}", path.display()));
    let bytes = files::read(path).map_err(|error| bad(error.to_string()))?;
    match Value::parse(&bytes).map_err(|error| bad(error.to_string()))? {
        Value::Object(members) => Ok(members),
        _ => Err(bad("a JSON object was expected".to_owned())),
    }
}

/// Parses step ids. The engine checks that the flow has these steps and that they can be approved in advance.
pub(crate) fn yes_to(names: &[String]) -> Result<Vec<StepId>, Failure> {
    let named = names.iter().map(|name| StepId::new(name.as_str()));
    named.collect::<Result<_, _>>().map_err(|error| {
        Failure::new(Code::YesToInvalid, error.to_string())
            .hint("`--yes-to` takes the id of a step that asks")
    })
}

/// Parses the steps that the arguments name. The engine checks that the flow has them.
pub(crate) fn selection(args: &PartArgs) -> Result<Selection, Failure> {
    let step = |option: &str, name: &str| {
        StepId::new(name).map_err(|error| {
            let inner = name.split_once('.').filter(|(step, _)| StepId::new(*step).is_ok());
            let failure = Failure::new(Code::PartInvalid, format!("{option}: {error}"));
            match inner {
                Some((step, _)) => failure.hint(format!(
                    "a part is made of steps of the flow itself: `{step}` stands for all that its flow does"
                )),
                None => failure.hint("`envoi plan FLOW` lists the steps"),
            }
        })
    };
    let all = |option: &str, names: &[String]| {
        names.iter().map(|name| step(option, name)).collect::<Result<Vec<_>, _>>()
    };
    Ok(Selection {
        only: all("--only", &args.only)?,
        from: args.from.as_deref().map(|name| step("--from", name)).transpose()?,
        until: args.until.as_deref().map(|name| step("--until", name)).transpose()?,
        skip: all("--skip", &args.skip)?,
    })
}

/// Creates an id for a new run.
pub(crate) fn new_id() -> Result<RunId, Failure> {
    RunId::new(environment::random_id("run_")?).map_err(Failure::store)
}

pub(crate) fn workspace_use(copy: bool, share: bool) -> WorkspaceUse {
    match (copy, share) {
        (true, _) => WorkspaceUse::Copy,
        (_, true) => WorkspaceUse::Shared,
        _ => WorkspaceUse::Alone,
    }
}

/// Returns the isolated tree that the arguments or the flow ask for.
pub(crate) fn isolate(args: &IsolationArgs, flow: Option<&Flow>) -> Result<Option<Isolate>, Failure> {
    let by_flow = flow.and_then(|flow| flow.isolation.as_ref());
    if !args.isolate && by_flow.is_none() {
        return check_no_tree(args).map(|()| None);
    }
    let named = args.trees.as_deref().map(std::path::absolute).transpose().map_err(Failure::store)?;
    let trees = named.or_else(environment::trees_folder).ok_or_else(|| {
        let message = "there is no folder for trees: neither HOME nor XDG_STATE_HOME is set".to_owned();
        Failure::new(Code::RequestInvalid, message).hint("`--trees DIR` names one")
    })?;
    Ok(Some(Isolate {
        trees,
        from_head: args.from_head,
        bring: args.bring.clone(),
        bring_if_there: by_flow.iter().flat_map(|isolation| &isolation.bring).map(PathBuf::from).collect(),
        too_wide: environment::home_folder().into_iter().collect(),
    }))
}

/// Refuses options that need an isolated tree if the run has none.
pub(crate) fn check_no_tree(args: &IsolationArgs) -> Result<(), Failure> {
    let named = [
        ("--from-head", args.from_head),
        ("--bring", !args.bring.is_empty()),
        ("--trees", args.trees.is_some()),
    ];
    match named.into_iter().find(|(_, is_given)| *is_given) {
        None => Ok(()),
        Some((option, _)) => {
            let message = format!("`{option}` is for a tree of its own, and this run has none");
            Err(Failure::new(Code::RequestInvalid, message)
                .hint("add `--isolate`, or `isolate: tree` to the `workspace` of the flow"))
        }
    }
}

/// Parses the step of `--from`. The engine checks that the flow has it.
pub(crate) fn from_step(name: &str) -> Result<StepId, Failure> {
    StepId::new(name).map_err(|error| {
        Failure::new(Code::RequestInvalid, error.to_string()).hint("`--from` takes the id of a step")
    })
}
