//! The arguments with which a program is started.
//!
//! The prompt is not an argument. The program reads it from standard input, so it may be long, may begin with any
//! character, and does not appear in the list of processes.

use crate::{
    may::May,
    preset::{BRIDGE_KEY, PROVIDER, Preset},
};
use envoi_contract::json::{Object, Value};

/// The session to use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Resume<'a> {
    /// A new session, with its id if the program accepts one.
    New(Option<&'a str>),
    /// Resumes an earlier session.
    From(&'a str),
    /// A new session that begins with the messages of an earlier one up to `last`. The earlier session does not
    /// change.
    Fork {
        /// The id of the new session.
        id: &'a str,
        /// The id of the earlier session.
        of: &'a str,
        /// The last message that both sessions share.
        last: &'a str,
    },
}

/// The parameters for starting a program.
#[derive(Debug, Clone)]
pub struct Invocation<'a> {
    /// The session.
    pub session: Resume<'a>,
    /// The permission level: what the agent may do without asking.
    pub may: May,
    /// The model. `None` means the program's default.
    pub model: Option<&'a str>,
    /// The turn limit, if the program supports one.
    pub turns: Option<u32>,
    /// The JSON Schema of the data, and the path of the file that contains it. `None` if the step has no data.
    pub schema: Option<(&'a str, &'a str)>,
    /// The cost limit in US dollars, if the program supports one.
    pub max_cost: Option<&'a str>,
    /// The address of the bridge for model calls. `None` if the program uses its own login.
    pub bridge: Option<&'a str>,
    /// How tool calls that need a person are decided. `None` if no call needs one.
    pub asks: Option<Asks<'a>>,
    /// Extra arguments.
    pub args: &'a [String],
}

/// How a program asks before tool calls.
#[derive(Debug, Clone, Copy)]
pub struct Asks<'a> {
    /// The shell command to run before each tool call. It fails if it cannot decide.
    pub hook: &'a str,
    /// True if the agent may ask its own questions.
    pub own_questions: bool,
}

impl Invocation<'_> {
    /// Returns the arguments, without the program's name.
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
        // `bypassPermissions` is not used: the program refuses it as root, and it ignores the user's rules.
        all.extend(words(match self.may {
            May::Read => &["--permission-mode", "dontAsk", "--allowedTools", "Read,Grep,Glob"],
            May::Edit => &["--permission-mode", "acceptEdits"],
            May::Run => &["--permission-mode", "acceptEdits", "--allowedTools", "Bash"],
        }));
        all.extend(self.model.iter().flat_map(|model| words(&["--model", model])));
        all.extend(self.turns.iter().flat_map(|turns| words(&["--max-turns", &turns.to_string()])));
        // The limit counts only this process, even for a resumed session. The program checks it after each call.
        all.extend(self.max_cost.iter().flat_map(|cost| words(&["--max-budget-usd", cost])));
        all.extend(self.schema.iter().flat_map(|(schema, _)| words(&["--json-schema", schema])));
        if let Some(asks) = self.asks {
            all.extend(words(&["--settings", &asks.settings()]));
            if asks.own_questions {
                // Without a host for prompts the program does not offer this tool. The hook is asked first.
                all.extend(words(&["--permission-prompt-tool", "stdio"]));
            }
        }
        all.extend_from_slice(self.args);
        all
    }

    fn of_codex(&self) -> Vec<String> {
        let mut all = words(&["exec", "--json", "--skip-git-repo-check"]);
        // A resumed thread does not keep its sandbox, so the sandbox is always given.
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
            // The program reads an address only from its configuration. The last one counts.
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
        // Without `--skip-trust` the program refuses a folder that the user has not marked as trusted. Without `-p`
        // the whole prompt comes from standard input.
        let mut all = words(&["-o", "stream-json", "--skip-trust"]);
        match self.session {
            Resume::New(None) => {}
            // The program cannot fork a session.
            Resume::New(Some(id)) | Resume::Fork { id, .. } => all.extend(words(&["--session-id", id])),
            Resume::From(id) => all.extend(words(&["-r", id])),
        }
        // Without a terminal the program cannot ask, so it does not offer the model tools that are not allowed.
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
        // Without a message argument the whole prompt comes from standard input.
        let mut all = words(&["run", "--format", "json"]);
        match self.session {
            // Without a title the program calls a model to make one, and that call is in no event.
            Resume::New(_) | Resume::Fork { .. } => all.extend(words(&["--title", "envoi"])),
            Resume::From(id) => all.extend(words(&["-s", id])),
        }
        // The permissions are not an argument. A variable sets them.
        all.extend(self.model.iter().flat_map(|model| match self.bridge {
            Some(_) => words(&["-m", &format!("{PROVIDER}/{model}")]),
            None => words(&["-m", model]),
        }));
        all.extend_from_slice(self.args);
        all
    }
}

impl Asks<'_> {
    /// The settings for a `claude` process. They override the settings of the user and of the folder, which might
    /// disable hooks.
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
