//! `envoi conformance`: runs test vectors against this binary. Prints one line per failure, then how many
//! passed.

use crate::process::{failure::Failure, files, output};
use envoi_api::output::{CaseCounts, FailedCase};
use envoi_contract::{code::Code, conformance};
use std::path::PathBuf;

pub(crate) fn conformance(files: &[PathBuf], json: bool) -> Result<u8, Failure> {
    let mut passed = 0_u64;
    let mut failed = 0_u64;
    for path in files {
        let name = path.display();
        let bytes = files::read(path)
            .map_err(|error| Failure::new(Code::FileUnreadable, format!("{name}: {error}")))?;
        let outcomes = conformance::run_file(&bytes)
            .map_err(|refusal| Failure::in_document(refusal, &name.to_string(), &bytes))?;
        for outcome in outcomes {
            if outcome.passed {
                passed = passed.saturating_add(1);
                continue;
            }
            failed = failed.saturating_add(1);
            let vector = outcome.name;
            let expected = outcome.expected;
            let got = outcome.got;
            output::data(&if json {
                let file = path.display().to_string();
                output::line(&FailedCase { file, name: vector, expected, got })
            } else {
                format!("{name}: {vector}: expected {expected}, got {got}\n")
            })?;
        }
    }
    let last = if json {
        output::line(&CaseCounts { passed, failed })
    } else {
        format!("{passed} passed, {failed} failed\n")
    };
    output::data(&last)?;
    Ok(u8::from(failed > 0))
}
