//! The programs that are known: names, versions, and what each can do.

use crate::{may::May, protocol::Protocol};
use core::fmt;
use envoi_contract::json::Value;

/// The variable that keeps Claude Code from working in the background.
pub const NO_BACKGROUND_WORK: &str = "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS";

/// The variable with the token of the bridge, for a program that takes the name of the variable with its key.
pub(crate) const BRIDGE_KEY: &str = "ENVOI_BRIDGE_TOKEN";

/// How a program knows the bridge that it is told of as a provider of models.
pub(crate) const PROVIDER: &str = "envoi";

/// A program that works as an agent, and that this crate knows how to start and to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Preset {
    /// Claude Code.
    Claude,
    /// The Codex CLI.
    Codex,
    /// The Gemini CLI.
    Gemini,
    /// opencode.
    OpenCode,
}

impl Preset {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Claude, Self::Codex, Self::Gemini, Self::OpenCode];

    /// Its name in a flow file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::OpenCode => "opencode",
        }
    }

    /// The preset of this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|preset| preset.name() == name)
    }

    /// The program that is looked for in `PATH`.
    #[must_use]
    pub const fn program(self) -> &'static str {
        self.name()
    }

    /// Whether the caller chooses the id of a session. Then the id is known before the program starts; otherwise the program
    /// reports it.
    #[must_use]
    pub const fn takes_session_id(self) -> bool {
        match self {
            Self::Claude | Self::Gemini => true,
            Self::Codex | Self::OpenCode => false,
        }
    }

    /// Whether a new session may have the id of one that cannot be resumed. One that has come to no answer cannot be resumed in some programs, and
    /// still has its id; then the program chooses the new one, and reports it.
    #[must_use]
    pub const fn frees_lost_id(self) -> bool {
        match self {
            Self::Claude => true,
            Self::Codex | Self::Gemini | Self::OpenCode => false,
        }
    }

    /// Whether it has a bound on its turns.
    #[must_use]
    pub const fn bounds_turns(self) -> bool {
        match self {
            Self::Claude => true,
            Self::Codex | Self::Gemini | Self::OpenCode => false,
        }
    }

    /// Whether a person can decide calls of its tools, also hours after it has ended.
    #[must_use]
    pub const fn can_ask(self) -> bool {
        match self {
            Self::Claude => true,
            Self::Codex | Self::Gemini | Self::OpenCode => false,
        }
    }

    /// Arguments that would take the questions about calls of tools away.
    #[must_use]
    pub const fn args_against_asking(self) -> &'static [&'static str] {
        match self {
            Self::Claude => &[
                "--settings",
                "--bare",
                "--permission-prompt-tool",
                "--permission-prompts",
                "--dangerously-skip-permissions",
            ],
            // They cannot ask.
            Self::Codex | Self::Gemini | Self::OpenCode => &[],
        }
    }

    /// Whether it reports its calls, as it makes them.
    #[must_use]
    pub const fn reports_calls(self) -> bool {
        match self {
            Self::Claude | Self::OpenCode => true,
            Self::Codex | Self::Gemini => false,
        }
    }

    /// Whether the program takes a limit on its cost, and stops there by itself.
    #[must_use]
    pub const fn tests_cost(self) -> bool {
        match self {
            Self::Claude => true,
            Self::Codex | Self::Gemini | Self::OpenCode => false,
        }
    }

    /// Whether it reports what its calls cost.
    #[must_use]
    pub const fn reports_cost(self) -> bool {
        match self {
            Self::Claude | Self::OpenCode => true,
            Self::Codex | Self::Gemini => false,
        }
    }

    /// Whether it is given the schema of its data, and keeps to it. Otherwise the prompt has the schema, and the data is what the agent's last
    /// text says.
    #[must_use]
    pub const fn takes_schema(self) -> bool {
        match self {
            Self::Claude | Self::Codex => true,
            Self::Gemini | Self::OpenCode => false,
        }
    }

    /// The protocol in which it calls its models, if the bridge has it.
    #[must_use]
    pub const fn protocol(self) -> Option<Protocol> {
        match self {
            Self::Claude => Some(Protocol::Messages),
            Self::Codex => Some(Protocol::Responses),
            Self::Gemini => None,
            Self::OpenCode => Some(Protocol::Chat),
        }
    }

    /// Variables with which it calls `model`, and no other one, at the bridge at this address with this token. They stand in place of
    /// those of a login ([`Invocation::bridge`](crate::Invocation) has what goes with them).
    ///
    /// ```
    /// use envoi_preset::Preset;
    ///
    /// let variables = Preset::Claude.bridge_variables("http://127.0.0.1:7007/api/llm-bridge", "t", "small");
    /// assert!(variables.contains(&("ANTHROPIC_AUTH_TOKEN", "t".to_owned())));
    /// ```
    #[must_use]
    pub fn bridge_variables(self, url: &str, token: &str, model: &str) -> Vec<(&'static str, String)> {
        match self {
            Self::Claude => {
                let own = [("ANTHROPIC_BASE_URL", url), ("ANTHROPIC_AUTH_TOKEN", token)];
                let logins = ["ANTHROPIC_API_KEY", "CLAUDE_CODE_OAUTH_TOKEN"].map(|name| (name, ""));
                // It calls these for helpers and for small tasks.
                let models = [
                    "ANTHROPIC_DEFAULT_HAIKU_MODEL",
                    "ANTHROPIC_DEFAULT_SONNET_MODEL",
                    "ANTHROPIC_DEFAULT_OPUS_MODEL",
                    "ANTHROPIC_SMALL_FAST_MODEL",
                    "CLAUDE_CODE_SUBAGENT_MODEL",
                ];
                let models = models.map(|name| (name, model));
                own.into_iter()
                    .chain(logins)
                    .chain(models)
                    .map(|(name, value)| (name, value.to_owned()))
                    .collect()
            }
            Self::Codex => vec![(BRIDGE_KEY, token.to_owned())],
            // It has no protocol of the bridge.
            Self::Gemini => Vec::new(),
            Self::OpenCode => {
                let object = |members: &[(&str, Value)]| {
                    Value::Object(
                        members.iter().map(|(name, value)| ((*name).to_owned(), value.clone())).collect(),
                    )
                };
                let options = object(&[("baseURL", url.into()), ("apiKey", token.into())]);
                let provider = object(&[
                    ("npm", "@ai-sdk/openai-compatible".into()),
                    ("options", options),
                    ("models", object(&[(model, object(&[]))])),
                ]);
                // It has no other provider, and the model for small tasks is this one.
                let settings = object(&[
                    ("provider", object(&[(PROVIDER, provider)])),
                    ("enabled_providers", Value::Array(vec![PROVIDER.into()])),
                    ("small_model", format!("{PROVIDER}/{model}").into()),
                ]);
                vec![("OPENCODE_CONFIG_CONTENT", settings.compact())]
            }
        }
    }

    /// Variables that decide with which login it works, or, by `PATH`, which program it is.
    #[must_use]
    pub const fn login_variables(self) -> &'static [&'static str] {
        match self {
            Self::Claude => &[
                "ANTHROPIC_API_KEY",
                "ANTHROPIC_AUTH_TOKEN",
                "ANTHROPIC_BASE_URL",
                "CLAUDE_CODE_OAUTH_TOKEN",
                "CLAUDE_CODE_USE_BEDROCK",
                "CLAUDE_CODE_USE_FOUNDRY",
                "CLAUDE_CODE_USE_VERTEX",
                "CLAUDE_CONFIG_DIR",
                "HOME",
                "PATH",
            ],
            Self::Codex => {
                &["CODEX_API_KEY", "CODEX_HOME", "HOME", "OPENAI_API_KEY", "OPENAI_BASE_URL", "PATH"]
            }
            Self::Gemini => &[
                "GEMINI_API_KEY",
                "GEMINI_CLI_HOME",
                "GEMINI_CLI_USE_COMPUTE_ADC",
                "GOOGLE_API_KEY",
                "GOOGLE_APPLICATION_CREDENTIALS",
                "GOOGLE_CLOUD_ACCESS_TOKEN",
                "GOOGLE_CLOUD_PROJECT",
                "GOOGLE_GEMINI_BASE_URL",
                "GOOGLE_GENAI_USE_GCA",
                "GOOGLE_GENAI_USE_VERTEXAI",
                "GOOGLE_VERTEX_BASE_URL",
                "HOME",
                "PATH",
            ],
            // Its settings name the provider; these are its own, and the keys of providers that it knows without settings.
            Self::OpenCode => &[
                "ANTHROPIC_API_KEY",
                "AWS_ACCESS_KEY_ID",
                "AWS_BEARER_TOKEN_BEDROCK",
                "AWS_PROFILE",
                "AZURE_API_KEY",
                "DEEPSEEK_API_KEY",
                "GEMINI_API_KEY",
                "GITHUB_TOKEN",
                "GOOGLE_API_KEY",
                "GOOGLE_APPLICATION_CREDENTIALS",
                "GOOGLE_GENERATIVE_AI_API_KEY",
                "GROQ_API_KEY",
                "HOME",
                "MISTRAL_API_KEY",
                "OPENAI_API_KEY",
                "OPENCODE_API_KEY",
                "OPENCODE_AUTH_CONTENT",
                "OPENCODE_CONFIG",
                "OPENCODE_CONFIG_CONTENT",
                "OPENCODE_CONFIG_DIR",
                "OPENROUTER_API_KEY",
                "PATH",
                "XAI_API_KEY",
                "XDG_CONFIG_HOME",
                "XDG_DATA_HOME",
            ],
        }
    }

    /// Where files of the program state when a limit of its account is over, if they do: a folder that this variable names, or else
    /// this one in the home of the user.
    #[must_use]
    pub const fn limits_in(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Claude | Self::Gemini | Self::OpenCode => None,
            Self::Codex => Some(("CODEX_HOME", ".codex")),
        }
    }

    /// Variables that are set for the program, unless the flow sets them: it asks no other host than that of its model, does not
    /// replace itself while it runs, nor start itself a second time, so that the process that is ended is the one that works. Codex
    /// still asks for its plugins: a flow that uses none passes `--disable plugins`.
    #[must_use]
    pub const fn variables(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Claude => {
                &[("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"), ("DISABLE_AUTOUPDATER", "1")]
            }
            Self::Codex => &[],
            Self::Gemini => &[("GEMINI_CLI_NO_RELAUNCH", "true")],
            Self::OpenCode => &[("OPENCODE_DISABLE_AUTOUPDATE", "1"), ("OPENCODE_DISABLE_MODELS_FETCH", "1")],
        }
    }

    /// The variable that states what it does without asking, where no argument does. It is set unless the flow sets it. A rule that is not
    /// here is the program's own.
    #[must_use]
    pub const fn permissions(self, may: May) -> Option<(&'static str, &'static str)> {
        const NAME: &str = "OPENCODE_PERMISSION";
        match (self, may) {
            (Self::Claude | Self::Codex | Self::Gemini, _) | (Self::OpenCode, May::Run) => None,
            (Self::OpenCode, May::Edit) => {
                Some((NAME, r#"{"bash":"deny","webfetch":"deny","websearch":"deny"}"#))
            }
            (Self::OpenCode, May::Read) => {
                Some((NAME, r#"{"bash":"deny","edit":"deny","webfetch":"deny","websearch":"deny"}"#))
            }
        }
    }

    /// The first and the last version that was tried.
    #[must_use]
    pub const fn tried(self) -> (Version, Version) {
        match self {
            Self::Claude => (Version(2, 1, 197), Version(2, 1, 330)),
            Self::Codex => (Version(0, 169, 0), Version(0, 169, 0)),
            Self::Gemini => (Version(0, 61, 0), Version(0, 61, 0)),
            Self::OpenCode => (Version(1, 18, 33), Version(1, 18, 33)),
        }
    }

    /// How this version stands to those that were tried.
    #[must_use]
    pub fn support(self, version: Version) -> Support {
        let (first, last) = self.tried();
        match version {
            version if version < first => Support::Older,
            version if version > last => Support::Newer,
            _ => Support::Tried,
        }
    }
}

/// How a version stands to those that were tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Support {
    /// It is older than the oldest of them.
    Older,
    /// It is between them.
    Tried,
    /// It is newer than the newest of them.
    Newer,
}

/// A version of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u32, pub u32, pub u32);

impl Version {
    /// The first version in a text such as `2.1.330 (Claude Code)` or `codex-cli 0.169.0`.
    ///
    /// ```
    /// use envoi_preset::Version;
    ///
    /// assert_eq!(Version::find("codex-cli 0.169.0"), Some(Version(0, 169, 0)));
    /// assert_eq!(Version::find("no version"), None);
    /// ```
    #[must_use]
    pub fn find(text: &str) -> Option<Self> {
        let words = text.split(|c: char| !(c.is_ascii_digit() || c == '.'));
        words.into_iter().find_map(|word| {
            let mut parts = word.split('.').map(str::parse::<u32>);
            Some(Self(parts.next()?.ok()?, parts.next()?.ok()?, parts.next()?.ok()?))
        })
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{}", self.0, self.1, self.2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_has_every_preset_once() {
        // A further one has its place here, and in the list.
        let place = |preset| match preset {
            Preset::Claude => 0,
            Preset::Codex => 1,
            Preset::Gemini => 2,
            Preset::OpenCode => 3,
        };
        assert!(Preset::ALL.into_iter().map(place).eq(0..Preset::ALL.len()));
    }

    #[test]
    fn a_version_is_in_the_range_that_was_tried_or_not() {
        for (preset, version, support) in [
            (Preset::Claude, "2.1.330 (Claude Code)", Support::Tried),
            (Preset::Claude, "2.1.331 (Claude Code)", Support::Newer),
            (Preset::Claude, "1.0.0", Support::Older),
            (Preset::Codex, "codex-cli 0.169.0", Support::Tried),
            (Preset::Codex, "codex-cli 0.170.0-alpha.1", Support::Newer),
            (Preset::Gemini, "0.61.0", Support::Tried),
            (Preset::Gemini, "0.60.9", Support::Older),
            (Preset::OpenCode, "1.18.33", Support::Tried),
        ] {
            assert_eq!(preset.support(Version::find(version).unwrap()), support, "{version}");
        }
    }
}
