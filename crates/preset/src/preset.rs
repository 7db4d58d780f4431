//! The programs that are known: names, versions, and what each can do.

use crate::protocol::Protocol;
use core::fmt;

/// The variable that keeps Claude Code from working in the background.
pub const NO_BACKGROUND_WORK: &str = "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS";

/// The variable with the token of the bridge, for a program that takes the name of the variable with its key.
pub(crate) const BRIDGE_KEY: &str = "ENVOI_BRIDGE_TOKEN";

/// A program that works as an agent, and that this crate knows how to start and to read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Preset {
    /// Claude Code.
    Claude,
    /// The Codex CLI.
    Codex,
    /// The Gemini CLI.
    Gemini,
}

impl Preset {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Claude, Self::Codex, Self::Gemini];

    /// Its name in a flow file.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Claude => "claude",
            Self::Codex => "codex",
            Self::Gemini => "gemini",
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
            Self::Codex => false,
        }
    }

    /// Whether a new session may have the id of one that cannot be resumed. One that has come to no answer cannot be resumed in some programs, and
    /// still has its id; then the program chooses the new one, and reports it.
    #[must_use]
    pub const fn frees_lost_id(self) -> bool {
        match self {
            Self::Claude => true,
            Self::Codex | Self::Gemini => false,
        }
    }

    /// Whether it has a bound on its turns.
    #[must_use]
    pub const fn bounds_turns(self) -> bool {
        match self {
            Self::Claude => true,
            Self::Codex | Self::Gemini => false,
        }
    }

    /// Whether a person can decide calls of its tools, also hours after it has ended.
    #[must_use]
    pub const fn can_ask(self) -> bool {
        match self {
            Self::Claude => true,
            Self::Codex | Self::Gemini => false,
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
            Self::Codex | Self::Gemini => &[],
        }
    }

    /// Whether it reports its calls, as it makes them.
    #[must_use]
    pub const fn reports_calls(self) -> bool {
        match self {
            Self::Claude => true,
            Self::Codex | Self::Gemini => false,
        }
    }

    /// Whether it reports what its calls cost.
    #[must_use]
    pub const fn reports_cost(self) -> bool {
        match self {
            Self::Claude => true,
            Self::Codex | Self::Gemini => false,
        }
    }

    /// Whether it is given the schema of its data, and keeps to it. Otherwise the prompt has the schema, and the data is what the agent's last
    /// text says.
    #[must_use]
    pub const fn takes_schema(self) -> bool {
        match self {
            Self::Claude | Self::Codex => true,
            Self::Gemini => false,
        }
    }

    /// The protocol in which it calls its models, if the bridge has it.
    #[must_use]
    pub const fn protocol(self) -> Option<Protocol> {
        match self {
            Self::Claude => Some(Protocol::Messages),
            Self::Codex => Some(Protocol::Responses),
            Self::Gemini => None,
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
        }
    }

    /// Where files of the program state when a limit of its account is over, if they do: a folder that this variable names, or else
    /// this one in the home of the user.
    #[must_use]
    pub const fn limits_in(self) -> Option<(&'static str, &'static str)> {
        match self {
            Self::Claude | Self::Gemini => None,
            Self::Codex => Some(("CODEX_HOME", ".codex")),
        }
    }

    /// Variables that are set for the program, unless the flow sets them: it asks no other host than that of its model, and does
    /// not replace itself while it runs, nor start itself a second time, so that the process that is ended is the one that works.
    #[must_use]
    pub const fn variables(self) -> &'static [(&'static str, &'static str)] {
        match self {
            Self::Claude => {
                &[("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1"), ("DISABLE_AUTOUPDATER", "1")]
            }
            Self::Codex => &[],
            Self::Gemini => &[("GEMINI_CLI_NO_RELAUNCH", "true")],
        }
    }

    /// The first and the last version that was tried.
    #[must_use]
    pub const fn tried(self) -> (Version, Version) {
        match self {
            Self::Claude => (Version(2, 1, 197), Version(2, 1, 330)),
            Self::Codex => (Version(0, 169, 0), Version(0, 169, 0)),
            Self::Gemini => (Version(0, 61, 0), Version(0, 61, 0)),
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
        ] {
            assert_eq!(preset.support(Version::find(version).unwrap()), support, "{version}");
        }
    }
}
