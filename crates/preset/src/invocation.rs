//! The arguments of one start of a program.
//!
//! The prompt is not among them: the program reads it from its standard input, so that it may be long, may begin with any
//! character, and is not in the list of processes.

use crate::{
    may::May,
    preset::{BRIDGE_KEY, PROVIDER, Preset},
};
use envoi_contract::json::{Object, Value};

/// The session of a start.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resume<'a> {
    /// A new one; its id where the program takes one.
    New(Option<&'a str>),
    /// An earlier one goes on.
    From(&'a str),
    /// A new one begins with what an earlier one had come to with this message. The earlier one stays as it is.
    Fork {
        /// The id of the new one.
        id: &'a str,
        /// The earlier one.
        of: &'a str,
        /// The last message that both have.
        last: &'a str,
    },
}

/// One start of a program.
#[derive(Debug, Clone)]
pub struct Invocation<'a> {
    /// Its session.
    pub session: Resume<'a>,
    /// What it does without asking.
    pub may: May,
    /// The model; none: the program's own.
    pub model: Option<&'a str>,
    /// The most turns, where the program has such a bound.
    pub turns: Option<u32>,
    /// The JSON Schema of its data, and the file that holds it; none: it gives no data.
    pub schema: Option<(&'a str, &'a str)>,
    /// The most that it may cost in US dollars, where the program has such a bound.
    pub max_cost: Option<&'a str>,
    /// The address of the bridge through which it calls its models; none: it calls them with its own login.
    pub bridge: Option<&'a str>,
    /// What decides the calls of tools that need a person; none: no call does.
    pub asks: Option<Asks<'a>>,
    /// Further arguments.
    pub args: &'a [String],
}

/// How a program asks before calls of tools.
#[derive(Debug, Clone, Copy)]
pub struct Asks<'a> {
    /// The line for a shell that is run before each call of a tool. It fails if it cannot decide.
    pub hook: &'a str,
    /// The agent may ask questions of its own.
    pub own_questions: bool,
}

impl Invocation<'_> {
    /// The arguments, without the program's own name.
    ///
    /// ```
    /// use envoi_preset::{Invocation, May, Preset, Resume};
    ///
    /// let start = Invocation {
    ///     session: Resume::From("01a2"),
    ///     may: May::Read,
    ///     model: None,
    ///     turns: Some(8),
    ///     schema: None,
    ///     max_cost: None,
    ///     bridge: None,
    ///     asks: None,
    ///     args: &[],
    /// };
    /// assert!(start.arguments(Preset::Claude).windows(2).any(|pair| pair == ["--resume", "01a2"]));
    /// assert!(start.arguments(Preset::Codex).ends_with(&["resume", "01a2", "-"].map(str::to_owned)));
    /// ```
    #[must_use]
    pub fn arguments(&self, preset: Preset) -> Vec<String> {
        match preset {
            Preset::Claude => self.of_claude(),
            Preset::Codex => self.of_codex(),
            Preset::Gemini => self.of_gemini(),
            Preset::OpenCode => self.of_opencode(),
        }
    }

    fn of_claude(&self) -> Vec<String> {
        let mut all = words(&["-p", "--output-format", "stream-json", "--verbose"]);
        match self.session {
            Resume::New(Some(id)) => all.extend(words(&["--session-id", id])),
            Resume::New(None) => {}
            Resume::From(id) => all.extend(words(&["--resume", id])),
            Resume::Fork { id, of, last } => {
                all.extend(words(&["--resume", of, "--resume-session-at", last]));
                all.extend(words(&["--fork-session", "--session-id", id]));
            }
        }
        // `bypassPermissions` is not used: the program refuses it as root, and it ignores rules that a person has set.
        all.extend(words(match self.may {
            May::Read => &["--permission-mode", "dontAsk", "--allowedTools", "Read,Grep,Glob"],
            May::Edit => &["--permission-mode", "acceptEdits"],
            May::Run => &["--permission-mode", "acceptEdits", "--allowedTools", "Bash"],
        }));
        all.extend(self.model.iter().flat_map(|model| words(&["--model", model])));
        all.extend(self.turns.iter().flat_map(|turns| words(&["--max-turns", &turns.to_string()])));
        // Of this process alone, also where it resumes a session; tested after each call.
        all.extend(self.max_cost.iter().flat_map(|cost| words(&["--max-budget-usd", cost])));
        all.extend(self.schema.iter().flat_map(|(schema, _)| words(&["--json-schema", schema])));
        if let Some(asks) = self.asks {
            all.extend(words(&["--settings", &asks.settings()]));
            if asks.own_questions {
                // Without a host for prompts the program does not have the tool. The hook comes first.
                all.extend(words(&["--permission-prompt-tool", "stdio"]));
            }
        }
        all.extend_from_slice(self.args);
        all
    }

    fn of_codex(&self) -> Vec<String> {
        let mut all = words(&["exec", "--json", "--skip-git-repo-check"]);
        // A resumed thread does not have the sandbox of its first start: it is stated each time.
        let sandbox = match self.may {
            May::Read => "read-only",
            May::Edit => "workspace-write",
            May::Run => "danger-full-access",
        };
        all.extend(words(&["-c", &format!("sandbox_mode=\"{sandbox}\""), "-c", "analytics.enabled=false"]));
        all.extend(self.model.iter().flat_map(|model| words(&["-m", model])));
        all.extend(self.schema.iter().flat_map(|(_, file)| words(&["--output-schema", file])));
        all.extend_from_slice(self.args);
        if let Some(url) = self.bridge {
            // It reads an address from its configuration alone. The last one counts.
            let provider = format!(
                "model_providers.{PROVIDER}={{name=\"{PROVIDER}\",base_url={},env_key=\"{BRIDGE_KEY}\",wire_api=\"responses\"}}",
                Value::from(url).compact()
            );
            all.extend(words(&["-c", &format!("model_provider=\"{PROVIDER}\""), "-c", &provider]));
        }
        if let Resume::From(id) = self.session {
            all.extend(words(&["resume", id]));
        }
        // The prompt is on standard input.
        all.push("-".to_owned());
        all
    }

    fn of_gemini(&self) -> Vec<String> {
        // Otherwise the program refuses a folder that the user has not marked as trusted. Without `-p` the prompt is standard input alone.
        let mut all = words(&["-o", "stream-json", "--skip-trust"]);
        match self.session {
            Resume::New(None) => {}
            // It cannot begin a session with what another one had come to.
            Resume::New(Some(id)) | Resume::Fork { id, .. } => all.extend(words(&["--session-id", id])),
            Resume::From(id) => all.extend(words(&["-r", id])),
        }
        // Without a terminal the program cannot ask: it does not offer the model tools that are not allowed.
        all.extend(words(match self.may {
            May::Read => &["--approval-mode", "default"],
            May::Edit => &["--approval-mode", "auto_edit"],
            May::Run => &["--approval-mode", "auto_edit", "--allowed-tools", "run_shell_command"],
        }));
        all.extend(self.model.iter().flat_map(|model| words(&["-m", model])));
        all.extend_from_slice(self.args);
        all
    }

    fn of_opencode(&self) -> Vec<String> {
        // Without words among the arguments the prompt is standard input alone.
        let mut all = words(&["run", "--format", "json"]);
        match self.session {
            // Without a title it calls a model for one, which is in no event.
            Resume::New(_) | Resume::Fork { .. } => all.extend(words(&["--title", "envoi"])),
            Resume::From(id) => all.extend(words(&["-s", id])),
        }
        // What it may do is a variable.
        all.extend(self.model.iter().flat_map(|model| match self.bridge {
            Some(_) => words(&["-m", &format!("{PROVIDER}/{model}")]),
            None => words(&["-m", model]),
        }));
        all.extend_from_slice(self.args);
        all
    }
}

impl Asks<'_> {
    /// The settings of a process of `claude`. They stand above those of the user and of the folder, which may switch hooks off.
    fn settings(self) -> String {
        let hook = Object::from([
            ("type", Value::from("command")),
            // Any other exit code would let the call pass.
            ("command", Value::from(format!("{} || exit 2", self.hook))),
            ("timeout", Value::from(600_u64)),
        ]);
        let all =
            Object::from([("matcher", Value::from("*")), ("hooks", Value::Array(vec![Value::Object(hook)]))]);
        let hooks = Object::from([("PreToolUse", Value::Array(vec![Value::Object(all)]))]);
        let settings =
            Object::from([("disableAllHooks", Value::from(false)), ("hooks", Value::Object(hooks))]);
        Value::Object(settings).compact()
    }
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(preset: Preset, session: Resume<'_>, may: May) -> String {
        let args = ["--extra".to_owned()];
        let invocation = Invocation {
            session,
            may,
            model: Some("m"),
            turns: Some(3).filter(|_| preset.bounds_turns()),
            max_cost: Some("0.50"),
            schema: Some(("{}", "/f")),
            bridge: None,
            asks: None,
            args: &args,
        };
        invocation.arguments(preset).join(" ")
    }

    #[test]
    fn each_program_is_started_and_resumed_in_its_own_words() {
        for (preset, session, may, expected) in [
            (
                Preset::Claude,
                Resume::New(Some("id")),
                May::Run,
                "-p --output-format stream-json --verbose --session-id id --permission-mode acceptEdits --allowedTools Bash \
                 --model m --max-turns 3 --max-budget-usd 0.50 --json-schema {} --extra",
            ),
            (
                Preset::Claude,
                Resume::From("id"),
                May::Edit,
                "-p --output-format stream-json --verbose --resume id --permission-mode acceptEdits --model m --max-turns 3 \
                 --max-budget-usd 0.50 --json-schema {} --extra",
            ),
            (
                Preset::Claude,
                Resume::Fork { id: "id", of: "old", last: "m7" },
                May::Read,
                "-p --output-format stream-json --verbose --resume old --resume-session-at m7 --fork-session --session-id id \
                 --permission-mode dontAsk --allowedTools Read,Grep,Glob --model m --max-turns 3 --max-budget-usd 0.50 \
                 --json-schema {} --extra",
            ),
            (
                Preset::Codex,
                Resume::New(None),
                May::Edit,
                "exec --json --skip-git-repo-check -c sandbox_mode=\"workspace-write\" -c analytics.enabled=false -m m \
                 --output-schema /f --extra -",
            ),
            (
                Preset::Codex,
                Resume::From("id"),
                May::Read,
                "exec --json --skip-git-repo-check -c sandbox_mode=\"read-only\" -c analytics.enabled=false -m m \
                 --output-schema /f --extra resume id -",
            ),
            (
                Preset::Gemini,
                Resume::New(Some("id")),
                May::Run,
                "-o stream-json --skip-trust --session-id id --approval-mode auto_edit --allowed-tools run_shell_command -m m --extra",
            ),
            (
                Preset::Gemini,
                Resume::From("id"),
                May::Read,
                "-o stream-json --skip-trust -r id --approval-mode default -m m --extra",
            ),
            (Preset::OpenCode, Resume::New(None), May::Run, "run --format json --title envoi -m m --extra"),
            (Preset::OpenCode, Resume::From("id"), May::Read, "run --format json -s id -m m --extra"),
        ] {
            assert_eq!(arguments(preset, session, may), expected);
        }
    }

    #[test]
    fn a_hook_that_cannot_decide_lets_nothing_pass() {
        let asks = Asks { hook: "'/bin/envoi' __hook 'a \"b\"'", own_questions: true };
        let invocation = Invocation {
            session: Resume::From("id"),
            may: May::Run,
            model: None,
            turns: None,
            max_cost: None,
            schema: None,
            bridge: None,
            asks: Some(asks),
            args: &[],
        };
        let all = invocation.arguments(Preset::Claude);
        let from = all.iter().position(|argument| argument == "--settings").unwrap();
        assert_eq!(all[from + 2..], ["--permission-prompt-tool", "stdio"]);
        let settings = Value::parse_str(&all[from + 1]).unwrap();
        assert_eq!(settings.get("disableAllHooks"), Some(&Value::Bool(false)));
        let hooks = settings.get("hooks").unwrap().get("PreToolUse").unwrap().compact();
        assert!(hooks.contains(r#""command":"'/bin/envoi' __hook 'a \"b\"' || exit 2""#), "{hooks}");
    }

    #[test]
    fn the_address_of_the_bridge_stands_behind_what_the_flow_says() {
        let args = ["-c".to_owned(), "model_provider=other".to_owned()];
        let invocation = Invocation {
            session: Resume::From("id"),
            may: May::Run,
            model: Some("small"),
            turns: None,
            max_cost: None,
            schema: None,
            bridge: Some("http://127.0.0.1:7/api/llm-bridge"),
            asks: None,
            args: &args,
        };
        let all = invocation.arguments(Preset::Codex).join(" ");
        let expected = "-m small -c model_provider=other -c model_provider=\"envoi\" -c model_providers.envoi={name=\"envoi\",\
                        base_url=\"http://127.0.0.1:7/api/llm-bridge\",env_key=\"ENVOI_BRIDGE_TOKEN\",wire_api=\"responses\"} \
                        resume id -";
        assert!(all.ends_with(expected), "{all}");
        for preset in [Preset::Claude, Preset::OpenCode] {
            let all = invocation.arguments(preset).join(" ");
            assert!(!all.contains("llm-bridge"), "its address is a variable: {all}");
        }
        let all = invocation.arguments(Preset::OpenCode).join(" ");
        assert!(all.contains("-m envoi/small"), "the model is one of the bridge: {all}");
    }
}
