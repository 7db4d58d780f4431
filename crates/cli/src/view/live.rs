//! The live view: a run on a terminal, as a picture that is redrawn in place.
//!
//! [`model`] is the known state of a run, [`frame`] its picture, [`screen`] the output to the terminal. None
//! of them reads a clock. This module connects them: records come from the follower of the run, and a
//! separate thread checks the clock, the terminal's size and the ends of the outputs ten times a second. A
//! failure here must not fail a run, so no function returns an error.

use crate::process::stderr;
pub(crate) mod ending;
#[cfg(test)]
pub(crate) mod fixture;
pub(crate) mod frame;
mod level;
mod line;
pub(crate) mod model;
mod roster;
mod rounds;
mod run_view;
mod screen;
mod so_far;
mod store;
mod tail;
mod tree;

pub(crate) use roster::Roster;
pub(crate) use run_view::RunView;
pub(crate) use store::StoreView;

use crate::{
    process::{
        messages::{self, MessageArea},
        terminal::{self, Terminal},
    },
    text::columns::shown,
};
use envoi_journal::{Layout, Reader};
use envoi_kernel::{Record, flow::Versions, ids::RunId};
use frame::Look;
use line::Line;
use screen::Screen;
use signal_hook::{consts::SIGCONT, flag};
use std::{
    io::{self, Stderr},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError, Weak,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::Duration,
};

/// The polling interval, and the maximum delay of a picture.
const TICK: Duration = Duration::from_millis(100);

/// The view of one run.
pub(crate) struct Live {
    painter: Arc<Mutex<Painter>>,
}

/// The subject of the picture, and the canvas.
struct Painter {
    subject: Subject,
    canvas: Canvas,
    /// Whether drawing is paused, because other code uses the terminal.
    aside: bool,
    /// Whether drawing has ended.
    closed: bool,
}

/// The subject of a view.
enum Subject {
    Run { view: Box<RunView>, reader: Option<Box<Reader>> },
    Store(Box<StoreView>),
}

struct Canvas {
    screen: Screen<Stderr>,
    terminal: Terminal,
    /// Set when this process continues after Ctrl-Z: the shell has then written below the picture.
    continued: Arc<AtomicBool>,
    /// Whether writing to the terminal has failed.
    lost: bool,
}

impl Live {
    /// A view of `run` on stderr. `None` if plain lines are printed instead.
    pub(crate) fn of_run(
        run: &RunId,
        flow: impl Into<Versions>,
        layout: &Layout,
        reader: Option<Reader>,
    ) -> Option<Self> {
        let terminal = Terminal::of_stderr()?;
        let mut view = Box::new(RunView::new(run.clone(), flow, layout.clone()));
        if let Some(reader) = &reader {
            // Earlier events are in the model, and are not printed again.
            view.catch_up(reader);
        }
        Some(Self::start(Subject::Run { view, reader: reader.map(Box::new) }, terminal))
    }

    /// A view of the unfinished runs of a store on stderr.
    pub(crate) fn of_store(view: StoreView, terminal: Terminal) -> Self {
        Self::start(Subject::Store(Box::new(view)), terminal)
    }

    fn start(subject: Subject, terminal: Terminal) -> Self {
        let painter = Painter { subject, canvas: Canvas::new(terminal), aside: false, closed: false };
        let painter = Arc::new(Mutex::new(painter));
        let seen = Arc::downgrade(&painter);
        messages::print_through(seen.clone());
        let ticker = thread::Builder::new().name("live view".to_owned());
        // Without the thread, only the last picture is drawn.
        drop(ticker.spawn(move || tick(&seen)));
        Self { painter }
    }

    /// Adds a record of the run. Its remarks are printed, unless they were printed for the run that this one
    /// is a fork of.
    pub(crate) fn record(&self, record: &Record, remarked: bool) {
        let mut painter = lock(&self.painter);
        if let Subject::Run { view, reader } = &mut painter.subject {
            let remarks = view.record(record, reader.as_deref());
            remarks.iter().filter(|_| remarked).for_each(|remark| painter.say(remark));
        }
    }

    /// Draws the last picture, prints the result below it, and ends the view.
    pub(crate) fn rest(&self, reason: Option<&str>) {
        self.aside(|| {
            let text = lock(&self.painter).ending(reason);
            stderr::text(format_args!("{text}"));
            lock(&self.painter).closed = true;
        });
    }

    /// Lets `work`, such as a question, use the terminal. The picture stays unchanged, and a new one begins
    /// below the output of `work`.
    pub(crate) fn aside<T>(&self, work: impl FnOnce() -> T) -> T {
        let hand = |aside: bool| {
            let mut painter = lock(&self.painter);
            // This picture is permanent, so it must include everything that is already known.
            painter.catch_up();
            painter.draw(true);
            painter.leave();
            painter.aside = aside;
        };
        hand(true);
        let done = work();
        hand(false);
        done
    }
}

impl Drop for Live {
    fn drop(&mut self) {
        lock(&self.painter).close();
    }
}

impl MessageArea for Mutex<Painter> {
    fn print_above(&self, text: &str) -> bool {
        let mut painter = lock(self);
        let is_drawn = !painter.closed && !painter.aside;
        if is_drawn {
            painter.say(text);
        }
        is_drawn
    }

    fn close(&self) {
        lock(self).close();
    }
}

fn tick(painter: &Weak<Mutex<Painter>>) {
    while let Some(painter) = painter.upgrade() {
        let mut painter = lock(&painter);
        if painter.closed {
            return;
        }
        painter.draw(false);
        drop(painter);
        thread::park_timeout(TICK);
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Painter {
    /// Draws the present state. The last picture does not show the ends of outputs.
    fn draw(&mut self, last: bool) {
        if self.closed || self.aside || !self.canvas.is_ours(last) {
            return;
        }
        let (columns, rows) = terminal::size();
        // Terminals differ in whether a full line wraps, and the cursor needs its own line.
        let width = columns.saturating_sub(1).max(1);
        let height = rows.saturating_sub(1).max(1);
        let look = Look { width, height, charset: self.canvas.terminal.charset };
        let now = envoi_engine::now();
        let lines = match &mut self.subject {
            // Not before the run exists, because the engine may still refuse it.
            Subject::Run { view, .. } if view.model.next() == 0 => return,
            Subject::Run { view, .. } => {
                view.look();
                frame::frame(&view.model, now, look)
            }
            Subject::Store(view) => {
                let (messages, lines) = view.look(now, look);
                messages.iter().for_each(|text| self.canvas.say(text));
                lines
            }
        };
        self.canvas.draw(&lines, columns);
    }

    /// Takes the records that the journal has and the view lacks: while the view was paused, it got no
    /// records.
    fn catch_up(&mut self) {
        if self.closed {
            return;
        }
        if let Subject::Run { view, reader: Some(reader) } = &mut self.subject {
            let remarks = view.catch_up(reader);
            // Printed above the picture, or before the next one.
            remarks.iter().for_each(|remark| self.say(remark));
        }
    }

    /// The lines for a run that is at rest.
    fn ending(&self, reason: Option<&str>) -> String {
        let Terminal { charset, colour, .. } = self.canvas.terminal;
        let here = std::env::current_dir().unwrap_or_default();
        let lines = match &self.subject {
            Subject::Run { view, .. } => ending::ending(&view.model, reason, &here, charset),
            Subject::Store(_) => Vec::new(),
        };
        lines.iter().map(|line| line.render(colour) + "\n").collect()
    }

    fn say(&mut self, text: &str) {
        self.canvas.say(text);
    }

    /// Draws the last picture, and nothing after it.
    fn close(&mut self) {
        self.draw(true);
        if !self.aside && !self.closed {
            self.leave();
        }
        self.closed = true;
    }

    fn leave(&mut self) {
        if terminal::is_in_front() {
            self.canvas.heed_keys();
            self.canvas.lost |= self.canvas.screen.finish().is_err();
        } else {
            self.canvas.screen.leave();
        }
    }
}

impl Canvas {
    fn new(terminal: Terminal) -> Self {
        let continued = Arc::new(AtomicBool::new(false));
        // Without the handler, one picture after Ctrl-Z is drawn in the wrong place.
        drop(flag::register(SIGCONT, Arc::clone(&continued)));
        let screen = Screen::new(io::stderr(), terminal.colour, terminal.reflows);
        Self { screen, terminal, continued, lost: false }
    }

    /// Whether drawing is allowed. The last picture is permanent, and also drawn by a background command.
    fn is_ours(&mut self, last: bool) -> bool {
        if self.continued.swap(false, Ordering::Relaxed) {
            self.screen.leave();
        }
        if !last && !terminal::is_in_front() {
            self.screen.leave();
            return false;
        }
        !self.lost
    }

    fn draw(&mut self, lines: &[Line], columns: usize) {
        if terminal::is_in_front() {
            self.heed_keys();
        }
        self.lost |= self.screen.draw(lines, columns).is_err();
    }

    /// Moves the picture position for typed input, because the terminal echoes each line of it.
    fn heed_keys(&mut self) {
        self.screen.lower(terminal::typed_lines(terminal::size().0));
    }

    fn say(&mut self, text: &str) {
        let lines: String = text.lines().map(|line| shown(line, self.terminal.charset) + "\n").collect();
        self.above(&lines);
    }

    fn above(&mut self, text: &str) {
        self.lost |= self.screen.above(text, terminal::size().0).is_err();
    }
}
