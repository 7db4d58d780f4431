//! `envoi explain`: prints the meaning of an error code, and what to do.

use crate::process::{failure::Failure, output};
use envoi_api::output::ErrorPage;
use envoi_contract::code::Code;

include!(concat!(env!("OUT_DIR"), "/error_pages.rs"));

pub(crate) fn explain(code: &str, json: bool) -> Result<u8, Failure> {
    let wanted = code.to_ascii_uppercase();
    match PAGES.iter().find(|(name, _)| *name == wanted) {
        Some((name, page)) if json => {
            let page = ErrorPage { code: (*name).to_owned(), page: (*page).to_owned() };
            output::row(&page).map(|()| 0)
        }
        Some((_, page)) => output::data(page).map(|()| 0),
        None => Err(Failure::new(Code::UnknownCode, format!("no error code is named `{code}`")).hint(
            format!("there are: {}", PAGES.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", ")),
        )),
    }
}
