//! The supported programs: names, versions, and capabilities.

use crate::{may::May, protocol::Protocol};
use core::fmt;
use envoi_contract::json::Value;

/// The variable that stops Claude Code from working in the background.
pub const NO_BACKGROUND_WORK: &str = "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS";

/// The variable with the token of the bridge, for a program that is configured with the name of its key variable.
pub(crate) const BRIDGE_KEY: &str = "ENVOI_BRIDGE_TOKEN";

/// The name of the bridge as a provider in a program's configuration.
pub(crate) const PROVIDER: &str = "envoi";

/// A supported agent program.
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
    /// All programs.
    pub const ALL: [Self; 4] = [Self::Claude, Self::Codex, Self::Gemini, Self::OpenCode];

    /// The name in a flow file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
            Self::OpenCode => "opencode",
        }
    }

    /// The preset with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|preset| preset.name() == name)
    }

    /// The name of the program to find in `PATH`.
    #[must_use]
    pub const fn program(self) -> &'static str {
        self.name()
    }

    /// True if the caller chooses the session id, which is then known before the program starts. Otherwise the
    /// program reports the id.
    #[must_use]
    pub const fn takes_session_id(self) -> bool {
        match self {
            Self::Claude | Self::Gemini => true,
            Self::Codex | Self::OpenCode => false,
        }
    }

    /// True if a new session may have the id of one that cannot be resumed.
    ///
    /// In some programs a session without an answer cannot be resumed, but its id stays in use. The program then
    /// chooses a new id and reports it.
    #[must_use]
    pub const fn frees_lost_id(self) -> bool {
        match self {
            Self::Claude => true,
            Self::Codex | Self::Gemini | Self::OpenCode => false,
        }
    }

    /// True if the program supports a turn limit.
    #[must_use]
    pub const fn bounds_turns(self) -> bool {
        match self {
            Self::Claude => true,
            Self::Codex | Self::Gemini | Self::OpenCode => false,
        }
    }

    /// True if a person can decide its tool calls, even hours after the program has ended.
    #[must_use]
    pub const fn can_ask(self) -> bool {
        match self {
            Self::Claude => true,
            Self::Codex | Self::Gemini | Self::OpenCode => false,
        }
    }

    /// Arguments that would disable the questions about tool calls.
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
            // These programs cannot ask.
            Self::Codex | Self::Gemini | Self::OpenCode => &[],
        }
    }

    /// True if the program reports its model calls as it makes them.
    #[must_use]
    pub const fn reports_calls(self) -> bool {
        match self {
            Self::Claude | Self::OpenCode => true,
            Self::Codex | Self::Gemini => false,
        }
    }

    /// True if the program accepts a cost limit, and stops there by itself.
    #[must_use]
    pub const fn tests_cost(self) -> bool {
        match self {
            Self::Claude => true,
            Self::Codex | Self::Gemini | Self::OpenCode => false,
        }
    }

    /// True if the program reports the cost of its calls.
    #[must_use]
    pub const fn reports_cost(self) -> bool {
        match self {
            Self::Claude | Self::OpenCode => true,
            Self::Codex | Self::Gemini => false,
        }
    }

    /// True if the program takes the schema of the step's data and enforces it. Otherwise the prompt contains the
    /// schema, and the data is read from the agent's last text.
    #[must_use]
    pub const fn takes_schema(self) -> bool {
        match self {
            Self::Claude | Self::Codex => true,
            Self::Gemini | Self::OpenCode => false,
        }
    }

    /// The protocol of its model calls, if the bridge supports it.
    #[must_use]
    pub const fn protocol(self) -> Option<Protocol> {
        match self {
            Self::Claude => Some(Protocol::Messages),
            Self::Codex => Some(Protocol::Responses),
            Self::Gemini => None,
            Self::OpenCode => Some(Protocol::Chat),
        }
    }

    /// The variables that make the program call only `model`, at the bridge with this address and token. They replace
    /// the login. [`Invocation::bridge`](crate::Invocation) adds the matching arguments.
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
                // The program calls these models for subagents and for small tasks.
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
            // The bridge does not support its protocol.
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
                // The settings allow no other provider, and use this model for small tasks too.
                let settings = object(&[
                    ("provider", object(&[(PROVIDER, provider)])),
                    ("enabled_providers", Value::Array(vec![PROVIDER.into()])),
                    ("small_model", format!("{PROVIDER}/{model}").into()),
                ]);
                vec![("OPENCODE_CONFIG_CONTENT", settings.compact())]
            }
        }
    }

    /// Variables that determine the login, or, by `PATH`, which program is started.
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
            // Its settings name the provider. These are its own variables, and the keys of providers that it knows
            // without settings.
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

    /// The folder with files that state when a rate limit of the account ends, if the program writes them: the
    /// variable that names the folder, and the default folder in the user's home.
    #[must_use]
    pub const fn limits_in(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Claude | Self::Gemini | Self::OpenCode => None,
            Self::Codex => Some(("CODEX_HOME", ".codex")),
        }
    }

    /// Variables that are set for the program, unless the flow sets them.
    ///
    /// With them the program contacts no host except that of its model, does not update itself while it runs, and
    /// does not start itself a second time, so that the process that is ended is the one that works. Codex still
    /// contacts a host for its plugins: a flow that uses none passes `--disable plugins`.
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

    /// The variable that sets the permissions, for a program without such an argument. It is set unless the flow sets
    /// it. Rules that are not listed keep the program's default.
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

    /// The first and the last tested version.
    #[must_use]
    pub const fn tried(self) -> (Version, Version) {
        match self {
            Self::Claude => (Version(2, 1, 197), Version(2, 1, 330)),
            Self::Codex => (Version(0, 169, 0), Version(0, 169, 0)),
            Self::Gemini => (Version(0, 61, 0), Version(0, 61, 0)),
            Self::OpenCode => (Version(1, 18, 33), Version(1, 18, 33)),
        }
    }

    /// Compares this version with the tested ones.
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

/// How a version compares with the tested ones.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Support {
    /// Older than the first tested version.
    Older,
    /// Within the tested range.
    Tried,
    /// Newer than the last tested version.
    Newer,
}

/// A version of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Version(pub u32, pub u32, pub u32);

impl Version {
    /// Finds the first version in a text such as `2.1.330 (Claude Code)` or `codex-cli 0.169.0`.
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
        // A new preset needs a number here and an entry in the list.
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
