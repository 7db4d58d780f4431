//! The faults of a world, and their frequencies per 1,000 opportunities.

/// See the module. The default is a world in which nothing goes wrong.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Faults {
    pub(crate) name: &'static str,
    /// The engine dies between two of its doings.
    pub(crate) crash: u64,
    /// The engine dies when a commit has become durable and before it gets the outcome.
    pub(crate) crash_unheard: u64,
    /// The engine dies before it starts an attempt that it has decided itself.
    pub(crate) crash_unstarted: u64,
    /// The engine dies before something that it does to the world: submits, shows, starts, cancels.
    pub(crate) crash_mid_turn: u64,
    /// With an engine, the supervisors die too.
    pub(crate) kill_supervisors: u64,
    /// With an engine and the supervisors, the machine goes down and boots again.
    pub(crate) reboot: u64,
    /// The engine is stopped at any point, another one takes over, and the first one wakes up later.
    pub(crate) take_over: u64,
    /// A person asks the engine to start nothing new and to end when nothing is live.
    pub(crate) drain: u64,
    /// The store refuses a commit or cannot tell whether it took it.
    pub(crate) store: u64,
    /// A commit of one run cannot be shown.
    pub(crate) observer: u64,
    /// A supervisor dies alone.
    pub(crate) lost: u64,
    /// The outcome of an attempt cannot be found out.
    pub(crate) unknown: u64,
    /// A run that is under way is resumed from a state that was read some time ago.
    pub(crate) strangers: u64,
    /// A person lets the accounts that a run waits for be tried before their time.
    pub(crate) tries: u64,
    /// The clock is set back.
    pub(crate) clock_back: u64,
    /// The clock is set forward.
    pub(crate) clock_forward: u64,
    /// By how much it is changed at most.
    pub(crate) clock_changes_by_ms: u64,
    /// How long a machine that restarts is down at most.
    pub(crate) down_ms: u64,
    /// So many times at most; then the world is left in peace.
    pub(crate) most: u64,
}

/// Nothing goes wrong.
pub(crate) const CALM: Faults = Faults {
    name: "calm",
    crash: 0,
    crash_unheard: 0,
    crash_unstarted: 0,
    crash_mid_turn: 0,
    kill_supervisors: 0,
    reboot: 0,
    take_over: 0,
    drain: 0,
    store: 0,
    observer: 0,
    lost: 0,
    unknown: 0,
    strangers: 0,
    tries: 0,
    clock_back: 0,
    clock_forward: 0,
    clock_changes_by_ms: 60_000,
    down_ms: 0,
    most: 0,
};

impl Faults {
    /// Whether an engine dies after each commit, as long as there may be faults at all.
    pub(crate) fn has_a_crash_after_every_commit(&self) -> bool {
        self.crash_unheard == 1000
    }
}

/// The worlds of each seed beside the calm one.
pub(crate) const WORLDS: [Faults; 7] = [
    Faults { name: "crash after every commit", crash_unheard: 1000, most: 400, ..CALM },
    Faults { name: "crash before every start", crash_unstarted: 1000, most: 400, ..CALM },
    Faults {
        name: "crashes anywhere",
        crash: 15,
        crash_mid_turn: 60,
        crash_unheard: 60,
        drain: 5,
        most: 60,
        ..CALM
    },
    Faults { name: "take-overs", take_over: 60, crash_mid_turn: 20, strangers: 10, most: 40, ..CALM },
    Faults {
        name: "one run's trouble",
        observer: 60,
        unknown: 80,
        crash: 10,
        crash_mid_turn: 40,
        crash_unheard: 40,
        take_over: 10,
        drain: 5,
        strangers: 10,
        most: 60,
        ..CALM
    },
    Faults { name: "clocks", clock_back: 40, crash_mid_turn: 30, crash_unheard: 30, most: 40, ..CALM },
    Faults {
        name: "everything",
        crash: 10,
        crash_unheard: 40,
        crash_unstarted: 80,
        crash_mid_turn: 20,
        kill_supervisors: 300,
        reboot: 200,
        take_over: 15,
        drain: 5,
        store: 30,
        observer: 10,
        lost: 15,
        unknown: 20,
        strangers: 20,
        clock_back: 15,
        most: 60,
        ..CALM
    },
];

const HOUR_MS: u64 = 3_600_000;

/// The worlds of a night.
pub(crate) const NIGHTS: [Faults; 6] = [
    Faults { name: "calm night", ..CALM },
    Faults { name: "night: a crash after every commit", crash_unheard: 1000, most: 400, ..CALM },
    Faults {
        name: "night: machine restarts",
        crash: 30,
        crash_unheard: 30,
        kill_supervisors: 700,
        reboot: 600,
        down_ms: HOUR_MS,
        most: 12,
        ..CALM
    },
    Faults {
        name: "night: clocks",
        clock_back: 25,
        clock_forward: 25,
        clock_changes_by_ms: 9 * HOUR_MS,
        crash: 10,
        crash_unheard: 20,
        most: 20,
        ..CALM
    },
    Faults { name: "night: tries before a reset", tries: 40, crash: 5, crash_unheard: 30, most: 30, ..CALM },
    Faults {
        name: "night: everything",
        crash: 10,
        crash_unheard: 40,
        crash_unstarted: 40,
        crash_mid_turn: 10,
        kill_supervisors: 300,
        reboot: 300,
        take_over: 15,
        store: 10,
        lost: 10,
        strangers: 10,
        tries: 10,
        clock_back: 8,
        clock_forward: 8,
        clock_changes_by_ms: 9 * HOUR_MS,
        down_ms: HOUR_MS,
        most: 40,
        ..CALM
    },
];
