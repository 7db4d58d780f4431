//! `envoi verify`: checks that a file of `envoi export` is complete, and that its events follow from its
//! flow.

use crate::{
    process::{
        failure::Failure,
        files, output,
        ssh_keygen::{self, Signer},
    },
    text::diff::printable,
};
use envoi_api::bundle::Verified;
use envoi_bundle::{LeftOut, Whole, Wrong};
use envoi_contract::{code::Code, digest::Digest};
use std::{io::BufReader, path::Path};

/// The location to report if a bundle has another head than expected.
const HEAD: &str = "the head";

pub(crate) fn verify(
    file: &Path,
    head: Option<&str>,
    signers: Option<&Path>,
    json: bool,
) -> Result<u8, Failure> {
    let wanted = head.map(digest).transpose()?;
    let name = file.display().to_string();
    let unreadable = |error| Failure::new(Code::FileUnreadable, format!("{name}: {error}"));
    let opened = files::open(file).map_err(unreadable)?;
    let found = envoi_bundle::verify(BufReader::new(opened)).and_then(|whole| has_head(whole, wanted));
    let (found, signer) = match (found, signers) {
        (Ok(whole), Some(signers)) => match signer(&whole, signers)? {
            Ok(name) => (Ok(whole), Some(name)),
            Err(wrong) => (Err(wrong), None),
        },
        (found, _) => (found, None),
    };
    let (place, reason) = match &found {
        Ok(_) => (None, None),
        Err(wrong) => (Some(wrong.place.clone()), Some(wrong.reason.clone())),
    };
    if json {
        let whole = found.as_ref().ok();
        output::row(&Verified {
            file: name,
            ok: whole.is_some(),
            place,
            reason,
            run: whole.map(|whole| whole.manifest.run.clone()),
            flow: whole.map(|whole| whole.manifest.flow.clone()),
            status: whole.map(|whole| whole.manifest.status.clone()),
            events: whole.map(|whole| whole.manifest.events),
            head: whole.map(|whole| whole.manifest.head.to_string()),
            is_signed: whole.map(|whole| whole.signature.is_some()),
            signer,
        })?;
    } else {
        output::data(&match &found {
            Ok(whole) => confirmation(&printable(&name), whole, wanted.is_some(), signer.as_deref()),
            Err(wrong) => {
                let what = if wrong.place == HEAD { "has another head" } else { "is not whole" };
                format!("{} {what}\n{}\n", printable(&name), printable(&wrong.to_string()))
            }
        })?;
    }
    Ok(u8::from(found.is_err()))
}

/// Parses the head that a caller has given.
pub(super) fn digest(text: &str) -> Result<Digest, Failure> {
    Digest::parse(text).ok_or_else(|| {
        let message = format!("`{text}` is no head");
        Failure::new(Code::RequestInvalid, message)
            .hint("`sha256:` and 64 digits, as `envoi export` prints it")
    })
}

pub(super) fn has_head(whole: Whole, wanted: Option<Digest>) -> Result<Whole, Wrong> {
    match wanted {
        Some(wanted) if wanted != whole.manifest.head => {
            let head = whole.manifest.head;
            let reason = match whole.heads.iter().position(|head| *head == wanted) {
                // A head does not cover the events after it.
                Some(nth) => format!(
                    "the one that was given is that after {} of {} events; it does not vouch for those that follow. The head of all is {head}",
                    nth.saturating_add(1),
                    whole.heads.len()
                ),
                None => format!("it is {head}, and {wanted} was expected: the events are others"),
            };
            Err(Wrong { place: HEAD.to_owned(), reason })
        }
        _ => Ok(whole),
    }
}

/// Returns the name of the signer if the file `signers` lists it, and otherwise what is wrong.
pub(super) fn signer(whole: &Whole, signers: &Path) -> Result<Result<String, Wrong>, Failure> {
    files::open(signers)
        .map_err(|error| Failure::new(Code::FileUnreadable, format!("{}: {error}", signers.display())))?;
    let wrong = |reason: String| Wrong { place: "SHA256SUMS.sig".to_owned(), reason };
    let Some(signature) = &whole.signature else {
        return Ok(Err(wrong("it is missing: the bundle is not signed".to_owned())));
    };
    Ok(match ssh_keygen::signer(signers, envoi_bundle::NAMESPACE, signature, &whole.sums)? {
        Signer::Known(name) => Ok(name),
        Signer::Unknown(reason) => {
            Err(wrong(format!("no signer of `{}` has made it: {reason}", signers.display())))
        }
    })
}

fn confirmation(name: &str, whole: &Whole, has_witness: bool, signer: Option<&str>) -> String {
    let Whole { manifest, content_bytes, snapshots, logs, signature, .. } = whole;
    let mut text = format!(
        "{name} is whole\nrun {} of flow {}, {}: {} events, {} contents ({content_bytes} bytes), {logs} files of output\nhead {}\n",
        manifest.run, manifest.flow, manifest.status, manifest.events, manifest.contents, manifest.head
    );
    if *snapshots > 0 {
        text.push_str(&format!("{snapshots} snapshots of the workspace, with their files\n"));
    }
    let (unwanted, lacked): (Vec<_>, Vec<_>) =
        manifest.left_out.iter().partition(|left| left.why == LeftOut::NOT_WANTED);
    if !unwanted.is_empty() {
        text.push_str("the snapshots of the workspace were left out when it was made\n");
    }
    if !lacked.is_empty() {
        let count = lacked.len();
        text.push_str(&format!("{count} contents that the run names were not there when it was made\n"));
    }
    if let Some(signer) = signer {
        text.push_str(&format!("signed by {signer}\n"));
    } else if signature.is_some() {
        text.push_str("it is signed; whose signature that is was not looked at (--signers)\n");
    } else if !has_witness {
        text.push_str("it is not signed: compare the head with one from a trusted source (--head DIGEST)\n");
    }
    text
}
