//! The conformance suite: what a queue means, whoever keeps it. Run on every engine.
//!
//! Rows of what users of other queues asked for have their number in the name: `d07_…` for row D07,
//! `d8_…` for item 8 of the card catalogue.
#![allow(clippy::unwrap_used, unreachable_pub, reason = "test code")]

pub mod basics;
pub mod claims;
pub mod deaths;
pub mod deferral;
pub mod keys;
pub mod verbs;

/// Every case, as `module::name`.
#[macro_export]
macro_rules! every_case {
    ($with:ident) => {
        $with!(basics, a_job_is_done_once_and_its_value_is_kept);
        $with!(
            basics,
            a_job_that_goes_wrong_uses_attempts_up_and_waits_longer_each_time
        );
        $with!(basics, a_handler_that_panics_or_errs_uses_an_attempt_up);
        $with!(basics, what_is_scheduled_waits_for_its_time);
        $with!(basics, nothing_secret_stands_in_the_database);
        $with!(basics, results_are_forgotten_and_large_ones_kept_aside);
        $with!(basics, retention_forgets_what_is_over);
        $with!(
            basics,
            a_job_without_a_handler_here_waits_for_another_worker
        );
        $with!(claims, the_urgent_are_first_and_the_rest_in_order);
        $with!(claims, two_workers_never_have_the_same_job);
        $with!(claims, tenants_share_alike);
        $with!(claims, a_thousand_at_once_are_all_done);
        $with!(
            deferral,
            d07_deferrals_use_no_attempt_up_and_stretch_no_backoff
        );
        $with!(deferral, d08_the_handler_sees_both_counts);
        $with!(deferral, d09_deferrals_are_bounded_in_count_and_age);
        $with!(
            deferral,
            d10_the_row_begins_anew_with_progress_and_a_class_may_allow_none
        );
        $with!(
            deferral,
            d8_an_ask_beyond_the_ceiling_ends_failed_and_visible
        );
        $with!(deferral, d10_counts_travel_with_the_job_through_a_restart);
        $with!(keys, a_unique_key_is_taken_once);
        $with!(keys, d10_one_of_a_key_runs_and_one_put_off_lets_others_run);
        $with!(keys, a_cancelled_head_lets_the_next_of_its_key_run);
        $with!(keys, many_of_one_key_are_all_done);
        $with!(deaths, a_read_under_way_is_done_again);
        $with!(deaths, inv06_a_write_under_way_ends_effect_unknown);
        $with!(deaths, a_job_that_kills_its_worker_is_poison);
        $with!(deaths, a_clock_that_jumps_takes_no_job_away);
        $with!(deaths, whoever_was_taken_for_dead_is_not_heard);
        $with!(verbs, d13b_run_now_cancels_a_deferral);
        $with!(verbs, cancel_ends_what_waits_and_what_runs);
        $with!(
            verbs,
            a_failed_job_is_retried_from_the_beginning_of_its_counts
        );
        $with!(verbs, a_queue_is_paused_until_a_time_with_a_reason);
        $with!(verbs, lists_are_filtered_and_paged);
        $with!(verbs, priorities_can_be_changed);
        $with!(verbs, webhooks_are_jobs_signed_and_told_once);
    };
}
