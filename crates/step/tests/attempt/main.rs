//! Attempts with real processes. This program is also the supervisor: it is started again with `__attempt`,
//! or forked by a zygote. If the two could differ, each test runs in both ways.
#![expect(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::indexing_slicing,
    reason = "a test without the built-in harness is not recognised as one"
)]

mod cached;
mod ending;
mod files;
mod outcome;
mod recovery;
mod secrets;
mod stage;
mod streams;
mod table;

use libtest_mimic::{Arguments, Trial};
use stage::Making;
use std::process::ExitCode;

macro_rules! trials {
    ($($module:ident: $($name:ident),+ $(,)?;)+) => {
        vec![$($(Trials {
            forked: concat!("forked::", stringify!($module), "::", stringify!($name)),
            started: concat!("started::", stringify!($module), "::", stringify!($name)),
            test: $module::$name,
        }),+),+]
    };
}

/// A test, with its name for each way of making a supervisor.
struct Trials {
    forked: &'static str,
    started: &'static str,
    test: fn(),
}

/// These tests depend only on what a supervisor does with files, which is the same in both ways. They are
/// many or long, so they run in one way.
const ONE_WAY: [&str; 4] =
    ["started::cached::", "started::files::", "started::secrets::", "started::table::"];

impl Trials {
    fn all(self) -> impl Iterator<Item = Trial> {
        let both = !ONE_WAY.iter().any(|module| self.started.starts_with(module));
        let started = both.then(|| trial(self.started, Making::Start, self.test));
        [trial(self.forked, Making::Fork, self.test)].into_iter().chain(started)
    }
}

fn trial(name: &str, making: Making, test: fn()) -> Trial {
    Trial::test(name, move || {
        stage::make_supervisors(making);
        test();
        Ok(())
    })
}

fn main() -> ExitCode {
    let words: Vec<String> = std::env::args().collect();
    match words.get(1).map(String::as_str) {
        Some("__attempt") => envoi_step::run_supervisor(cached::reached),
        Some("__engine") => stage::short_lived_engine(),
        _ => {
            // Before there are threads.
            stage::start_zygote();
            libtest_mimic::run(&Arguments::from_args(), trials().into_iter().flat_map(Trials::all).collect())
                .exit_code()
        }
    }
}

fn trials() -> Vec<Trials> {
    trials! {
        outcome:
            a_command_settles_with_its_exit_code,
            an_attempt_leaves_the_record_of_its_end_and_what_it_wrote,
            a_signal_is_told_from_an_exit_code,
            what_cannot_start_says_why,
            the_environment_is_exactly_the_given_one,
            a_supervisor_settles_though_its_engine_is_killed,
            a_program_that_was_replaced_still_starts_supervisors;
        cached:
            a_known_result_is_brought_and_the_command_is_not_started,
            whatever_the_command_depends_on_makes_another_key_and_is_named,
            inputs_that_are_named_count_and_others_do_not,
            a_link_that_is_ignored_counts_and_a_pattern_without_a_file_gives_no_key,
            what_another_run_would_lack_is_not_kept,
            what_stands_behind_an_output_option_is_no_report_when_it_comes_back,
            names_that_are_no_text_are_inputs_of_their_own,
            a_result_in_the_state_that_another_has_left_displaces_none_that_was_made_in_it,
            an_entry_of_the_state_that_was_left_is_renewed_with_the_result,
            the_mode_of_an_artifact_is_a_part_of_the_key,
            what_was_displaced_is_known_also_where_no_result_comes_in_the_end,
            what_was_written_to_a_file_aside_is_named_by_the_result_that_finds_it,
            what_a_command_names_is_found_by_where_it_lies,
            a_secret_is_masked_in_what_is_kept,
            a_result_that_is_not_whole_is_a_miss_and_nothing_of_it_comes,
            an_entry_that_is_no_entry_or_of_another_key_is_a_miss,
            what_a_person_has_put_in_the_place_of_a_file_is_kept_first,
            killed_wherever_it_is_a_supervisor_that_brings_a_result_leaves_nothing_in_doubt,
            half_of_a_result_becomes_a_whole_one_unless_a_person_has_changed_it_since,
            an_edit_after_a_kill_is_never_displaced_without_being_kept,
            nothing_of_a_result_that_is_gone_is_taken_for_output_of_the_command,
            a_result_whose_output_cannot_be_written_is_a_miss_and_is_not_kept_again,
            a_result_that_cannot_be_settled_is_an_error_that_starts_nothing,
            files_of_a_repository_within_the_workspace_are_inputs_and_what_its_git_knows_is_none,
            nothing_comes_of_the_cache_of_a_program_that_does_not_run;
        ending:
            a_leader_that_ignores_term_is_killed_after_the_grace,
            a_daemon_that_hides_is_ended_with_the_command,
            a_process_is_known_by_its_environment_wherever_it_came_from,
            a_grandchild_that_holds_the_pipes_does_not_hold_the_attempt,
            a_cancel_ends_a_running_command,
            a_cancel_ends_a_command_whose_supervisor_is_stopped,
            a_cancel_before_the_start_runs_nothing,
            a_cancel_ends_the_copying_of_an_artifact_that_has_no_end,
            a_command_whose_lease_is_not_renewed_is_ended,
            a_renewed_lease_lets_the_command_go_on,
            nothing_is_started_after_the_end_of_the_lease,
            a_cancel_ends_a_git_that_waits_after_the_command,
            a_folder_that_no_snapshot_has_is_named_in_a_warning,
            a_cancel_ends_a_git_that_waits_before_the_command,
            a_cancel_may_come_before_the_folder,
            a_cancel_after_the_end_comes_too_late,
            a_term_without_a_wish_ends_nothing,
            a_command_that_kills_its_own_group_does_not_kill_its_supervisor;
        streams:
            a_gigabyte_of_output_stays_within_the_cap,
            a_running_command_can_be_followed,
            the_text_is_the_output_file_if_the_command_wrote_it,
            a_text_that_is_a_part_says_so;
        secrets:
            a_secret_is_never_on_disk,
            no_spelling_of_a_secret_is_on_disk,
            a_file_whose_name_holds_a_secret_is_left_out,
            what_is_handed_over_is_for_its_owner_alone;
        files:
            changed_artifacts_are_copied_and_told_apart,
            what_a_changed_artifact_was_is_handed_over_with_it,
            an_attempt_without_changes_has_no_folder_for_what_was_before,
            an_attempt_that_looks_back_hands_over_what_both_have_changed,
            an_attempt_that_cannot_look_back_hands_over_its_own_changes_and_says_so,
            a_report_is_found_by_variable_and_by_option,
            a_report_in_a_folder_that_the_command_enters_is_found_or_missed_aloud,
            a_report_of_before_the_command_and_one_of_a_failed_command_are_no_surprise,
            what_is_no_file_in_the_place_of_the_report_is_said_to_be,
            only_a_regular_file_that_this_attempt_wrote_is_a_report_behind_the_option,
            a_file_behind_the_option_that_is_nearly_a_report_has_a_warning,
            a_report_of_an_earlier_visit_is_none,
            the_store_is_no_artifact_of_the_workspace_that_it_lies_in,
            a_report_that_is_too_large_is_cut_and_stays_too_large,
            artifacts_that_no_handoff_can_name_are_left_out_with_a_warning,
            an_artifact_that_cannot_be_read_is_left_out_with_a_warning,
            many_strange_artifacts_are_few_warnings,
            a_step_that_succeeded_hands_over_what_matches_and_says_what_does_not,
            many_artifacts_are_handed_over_whole;
        recovery:
            nothing_is_started_twice,
            a_broken_order_runs_nothing,
            a_supervisor_without_the_lock_runs_nothing,
            what_never_started_is_started_with_the_very_lock_of_the_probe,
            what_another_start_of_an_attempt_has_left_is_not_the_result_of_this_one,
            a_live_attempt_of_another_start_is_waited_for,
            an_attempt_does_not_begin_in_a_folder_that_is_a_link,
            a_killed_supervisor_leaves_a_lost_attempt_and_nothing_alive,
            a_record_of_an_older_supervisor_is_read,
            a_record_of_an_earlier_boot_counts_only_if_its_files_are_whole,
            waiting_for_an_attempt_ends_with_it;
        table:
            the_places_above_are_all_that_an_attempt_has,
            an_attempt_whose_supervisor_lives_ends_whatever_stands_in_its_files,
            an_attempt_whose_supervisor_was_killed_ends_whatever_stands_in_its_files,
            an_attempt_of_an_ordinary_user_ends_whatever_that_user_may_not_read,
            an_attempt_can_be_cancelled_whatever_stands_in_its_files,
            a_settled_attempt_is_settled_though_another_process_holds_its_lock;
    }
}
