//! The live view: a run on a terminal, as a picture that is redrawn in place.
//!
//! [`model`] is what is known of a run, [`frame`] its picture, [`screen`] how that gets onto the terminal; all three do
//! without a clock. Here they are put to work: records come from the follower of the run, a thread of its own looks ten
//! times a second at the clock, the terminal's size and the ends of the outputs. What one of these cannot do is never a
//! run's failure: nothing here returns an error.

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

/// Between two looks; the most that a picture is behind.
const TICK: Duration = Duration::from_millis(100);

/// The view of one run.
pub(crate) struct Live {
    painter: Arc<Mutex<Painter>>,
}

/// What is drawn, and where.
struct Painter {
    subject: Subject,
    canvas: Canvas,
    /// Nothing is drawn for now: other code uses the terminal.
    aside: bool,
    /// Nothing is drawn any more.
    closed: bool,
}

/// What is looked at.
enum Subject {
    Run { view: Box<RunView>, reader: Option<Box<Reader>> },
    Store(Box<StoreView>),
}

struct Canvas {
    screen: Screen<Stderr>,
    terminal: Terminal,
    /// Set when this process goes on after Ctrl-Z: the shell has written below the picture.
    continued: Arc<AtomicBool>,
    /// The terminal cannot be written to.
    lost: bool,
}

impl Live {
    /// A view of `run` on stderr; `None` where plain lines are wanted instead.
    pub(crate) fn of_run(
        run: &RunId,
        flow: impl Into<Versions>,
        layout: &Layout,
        reader: Option<Reader>,
    ) -> Option<Self> {
        let terminal = Terminal::of_stderr()?;
        let mut view = Box::new(RunView::new(run.clone(), flow, layout.clone()));
        if let Some(reader) = &reader {
            // What was before is on the model, and is not remarked on again.
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
        // Without the thread there is the last picture only.
        drop(ticker.spawn(move || tick(&seen)));
        Self { painter }
    }

    /// Something happened to the run. It is remarked on, unless that was done when another run lived it.
    pub(crate) fn record(&self, record: &Record, remarked: bool) {
        let mut painter = lock(&self.painter);
        if let Subject::Run { view, reader } = &mut painter.subject {
            let remarks = view.record(record, reader.as_deref());
            remarks.iter().filter(|_| remarked).for_each(|remark| painter.say(remark));
        }
    }

    /// Draws the last picture, says under it what came out, and ends the view.
    pub(crate) fn rest(&self, reason: Option<&str>) {
        self.aside(|| {
            let text = lock(&self.painter).ending(reason);
            stderr::text(format_args!("{text}"));
            lock(&self.painter).closed = true;
        });
    }

    /// Leaves the terminal to `work`, such as a question: the picture stays as it is, and a new one
    /// begins below what `work` has written.
    pub(crate) fn aside<T>(&self, work: impl FnOnce() -> T) -> T {
        let hand = |aside: bool| {
            let mut painter = lock(&self.painter);
            // What is drawn now stays: it is not to be of a time before something that is known already.
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
    /// Draws how it stands now; the last picture has no ends of outputs.
    fn draw(&mut self, last: bool) {
        if self.closed || self.aside || !self.canvas.is_ours(last) {
            return;
        }
        let (columns, rows) = terminal::size();
        // A line that fills the last column may or may not break, and the cursor rests in a line of its own.
        let width = columns.saturating_sub(1).max(1);
        let height = rows.saturating_sub(1).max(1);
        let look = Look { width, height, charset: self.canvas.terminal.charset };
        let now = envoi_engine::now();
        let lines = match &mut self.subject {
            // Not before it exists: the engine may still refuse it.
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

    /// Takes the records that are in the journal and not in the view: while the view was aside, no records came.
    fn catch_up(&mut self) {
        if self.closed {
            return;
        }
        if let Subject::Run { view, reader: Some(reader) } = &mut self.subject {
            let remarks = view.catch_up(reader);
            // Between two pictures, or above the one that is there.
            remarks.iter().for_each(|remark| self.say(remark));
        }
    }

    /// The lines for a run that has come to rest.
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
        // Without it a picture is drawn in the wrong place once after Ctrl-Z.
        drop(flag::register(SIGCONT, Arc::clone(&continued)));
        let screen = Screen::new(io::stderr(), terminal.colour, terminal.reflows);
        Self { screen, terminal, continued, lost: false }
    }

    /// Whether something may be drawn. What is drawn last is drawn for good, also by a command in the background.
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

    /// What was typed moved the cursor: the terminal echoes it, and each line of it begins a new one.
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
