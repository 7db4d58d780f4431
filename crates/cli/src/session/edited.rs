//! Files in conflict that a person has edited. They become the attachments and the data of the answer `edit`.
//!
//! A file that the person removed is deleted by the merge. A file that still has conflict markers is refused,
//! because the person forgot it.

use crate::{
    process::{environment, failure::Failure, files},
    text::diff::printable,
};
use envoi_contract::{
    code::Code,
    json::{Object, Value},
    user_envelope::AttachmentRef,
};
use envoi_kernel::event::InterruptRaised;
use std::{
    collections::BTreeSet,
    io,
    path::{Path, PathBuf},
    process::Command,
};

/// The folder with the files in conflict of a question, below the folder of its run. `None` if they cannot be edited.
pub(crate) fn folder(run_base: &Path, raised: &InterruptRaised) -> Option<PathBuf> {
    raised.evidence.get("edit").and_then(Value::as_str).map(|place| run_base.join(place))
}

/// The data of the answer. The edited files are attached.
pub(crate) fn data(
    run_base: &Path,
    raised: &InterruptRaised,
    attach: &mut dyn FnMut(&Path) -> Result<AttachmentRef, Failure>,
) -> Result<(Value, Vec<AttachmentRef>), Failure> {
    let refused = |message: String| {
        Failure::new(Code::AnswerInvalid, message)
            .hint("nothing was answered; `envoi show INT` says what the question takes")
    };
    let Some(folder) = folder(run_base, raised) else {
        return Err(refused(format!("question `{}` takes no edited files", raised.interrupt)));
    };
    if !folder.is_dir() {
        return Err(refused(format!("the folder with the files in conflict is gone: {}", folder.display())));
    }
    let (mut members, mut attached) = (Object::default(), Vec::new());
    for path in paths(raised) {
        let place = folder.join(path);
        let content = match files::read(&place) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                members.insert(path, Value::Null);
                continue;
            }
            read => read.map_err(|error| refused(format!("{}: {error}", place.display())))?,
        };
        if envoi_tree::has_markers(&content) {
            let message = format!("conflict markers are still in {}", place.display());
            return Err(refused(message)
                .hint("write what is to stand there, or delete the file if the result is not to have it"));
        }
        let file = attach(&place)?;
        members.insert(path, Value::from(file.digest.as_str()));
        attached.push(file);
    }
    Ok((Value::Object(Object::from([("files", Value::Object(members))])), attached))
}

/// Opens the files in the user's editor, and waits until it ends.
pub(super) fn in_editor(folder: Option<&Path>, raised: &InterruptRaised) -> Result<(), Failure> {
    let again = "nothing was answered; choose `edit` to try again, or `later` to leave the question open";
    let not_edited = |message: String| {
        Failure::new(Code::AnswerInvalid, message).hint(format!("VISUAL or EDITOR names the editor; {again}"))
    };
    let folder =
        folder.ok_or_else(|| not_edited("the folder with the files in conflict is gone".to_owned()))?;
    let editor = environment::editor();
    // The person deleted a missing file, and the editor would create it again.
    let files = paths(raised).into_iter().map(|path| folder.join(path)).filter(|file| file.exists());
    let ended =
        Command::new("sh").arg("-c").arg(format!("{editor} \"$@\"")).arg(&editor).args(files).status();
    match ended {
        Ok(ended) if ended.success() => Ok(()),
        Ok(ended) => Err(not_edited(format!("the editor `{}` failed: {ended}", printable(&editor)))),
        Err(error) => Err(not_edited(format!("the editor cannot be started: {error}"))),
    }
}

fn paths(raised: &InterruptRaised) -> BTreeSet<&str> {
    let items = raised.evidence.get("conflicts").and_then(Value::as_array).unwrap_or(&[]);
    let files = items.iter().filter_map(|item| item.get("files").and_then(Value::as_array)).flatten();
    files.filter_map(|file| file.get("path").and_then(Value::as_str)).collect()
}
