//! The generated files are those in the repository, and taplo, which editors use, reads the schema as it is meant.
//! Where taplo is not installed (`pip install taplo`), only the first is tested.

#![expect(clippy::unwrap_used, reason = "what cannot be set up fails the test")]

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Every scenario of a folder, in order.
fn scenarios(folder: &str) -> Vec<PathBuf> {
    let mut files = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect::<Vec<_>>();
    files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    files
}

/// Whether taplo finds nothing wrong with `file`; `None` where there is no taplo.
fn taplo_takes(file: &Path) -> Option<bool> {
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("scenarios/schema.json");
    let mut command = Command::new("taplo");
    command.args(["check", "--schema"]).arg(format!("file://{}", schema.display())).arg(file);
    command.stdout(Stdio::null()).stderr(Stdio::null());
    command.status().ok().map(|status| status.success())
}

#[test]
fn the_schema_in_the_repository_is_the_one_of_the_table_of_keys() {
    let written = std::fs::read_to_string("scenarios/schema.json").unwrap();
    let help = "tonnage schema > scenarios/schema.json";
    assert!(written == tonnage::scenario::schema(), "it is old: {help}");
}

#[test]
fn the_reference_in_the_repository_is_the_one_of_the_table_of_keys() {
    let written = std::fs::read_to_string("docs/scenario.md").unwrap();
    let help = "tonnage schema --markdown > docs/scenario.md";
    assert!(written == tonnage::scenario::reference(), "it is old: {help}");
}

#[test]
fn every_table_and_key_stands_in_the_reference() {
    let reference = tonnage::scenario::reference();
    for table in tonnage::scenario::keys::TABLES {
        assert!(reference.contains(table.example), "{}", table.path);
        for key in table.keys {
            let row = format!("| `{}` | ", key.name);
            assert!(reference.contains(&row) && reference.contains(key.doc), "{}", key.name);
        }
    }
}

#[test]
fn every_scenario_names_the_schema_in_its_first_line() {
    for file in scenarios("scenarios") {
        let text = std::fs::read_to_string(&file).unwrap();
        assert!(text.starts_with("#:schema ./schema.json\n"), "{}", file.display());
    }
}

#[test]
fn taplo_takes_every_scenario_of_ours_and_every_example_of_the_reference() {
    for file in scenarios("scenarios").into_iter().chain(scenarios("src/cli/init")) {
        assert_ne!(taplo_takes(&file), Some(false), "{}", file.display());
    }
    let folder = tempfile::tempdir().unwrap();
    for table in tonnage::scenario::keys::TABLES {
        let file = folder.path().join("example.toml");
        let extends = if table.path.is_empty() { "" } else { "extends = \"base.toml\"\n" };
        std::fs::write(&file, format!("{extends}{}\n", table.example)).unwrap();
        assert_ne!(taplo_takes(&file), Some(false), "{}", table.path);
    }
}

/// What the schema does not see: other files, the command line, sums, values that only together make no sense,
/// bounds of values that are texts, and dates, which taplo takes for texts.
const BEYOND_A_SCHEMA: &[&str] = &[
    "about_with_a_secret",
    "all_rows_of_no_data_set",
    "capacity_backwards",
    "capacity_confirmed_too_shortly",
    "capacity_from_without_unit",
    "capacity_holding_at_all_points",
    "capacity_longest_step_too_short",
    "capacity_of_a_counted_phase",
    "capacity_of_a_name",
    "capacity_of_a_throughput",
    "capacity_of_no_phase",
    "capacity_of_rows_of_a_data_set",
    "capacity_of_two_phases",
    "capacity_sure_of_everything",
    "capacity_with_a_sweep",
    "capacity_without_objectives",
    "connections_of_users_in_an_open_loop",
    "consistency_of_drawn_answers",
    "dataset_columns_of_a_known_format",
    "dataset_csv_without_a_prompt_column",
    "dataset_is_a_folder",
    "dataset_missing",
    "dataset_prompt_bounds_upside_down",
    "dataset_template_broken",
    "dataset_time_without_unit",
    "date_for_a_name",
    "distribution_lognormal_p99_below_median",
    "distribution_mix_without_weight",
    "distribution_unreachable_bounds",
    "distribution_upside_down",
    "distribution_weights_short",
    "distribution_weights_zero",
    "distribution_zipf_flat",
    "duration_longer_than_a_year",
    "extends_a_base_with_a_secret",
    "extends_a_base_without_its_data",
    "extends_and_contradicts",
    "extends_and_is_incomplete",
    "extends_and_misses_the_member",
    "extends_and_names_twice",
    "extends_folder",
    "extends_in_a_round",
    "extends_itself",
    "extra_without_a_number",
    "header_and_key",
    "header_and_key_of_messages",
    "header_of_the_tool",
    "header_twice",
    "http2_of_the_simulator",
    "ids_for_chat",
    "ids_without_room",
    "joint_lengths_and_max_tokens",
    "joint_lengths_uneven",
    "length_member_of_another_api",
    "model_memory_without_weights",
    "model_of_a_file_that_is_not_json",
    "model_of_a_file_that_says_nothing",
    "model_says_nothing",
    "model_with_heads_and_a_latent",
    "name_taken",
    "names_twice",
    "needle_too_short",
    "objective_bound_of_another_unit",
    "objective_bound_without_unit",
    "objective_not_measurable",
    "objective_phase_not_measured",
    "objective_phase_unknown",
    "objective_rate_without_unit",
    "objective_with_percentile_of_one_figure",
    "objective_without_comparison",
    "objective_without_limits",
    "objective_without_percentile",
    "objective_without_score",
    "objective_workload_unknown",
    "output_of_no_data_set",
    "phase_without_end",
    "rate_too_high",
    "score_letter_beyond",
    "score_of_made_up_prompts",
    "score_regex_broken",
    "score_tolerance_of_all",
    "secret_twice",
    "server_looked_at_all_the_time",
    "session_context_of_very_many_turns",
    "session_context_that_never_fills",
    "session_context_without_room",
    "session_of_made_up_prompts",
    "set_contradicts_the_file",
    "set_extends",
    "set_member_unknown",
    "set_secret",
    "set_several",
    "set_unknown_key",
    "set_without_equals",
    "set_wrong_type",
    "shared_prefix_longer_than_prompts",
    "shared_prefix_of_words",
    "shared_prefix_zipf_flat",
    "sim_faults_unknown",
    "sim_profile_missing",
    "sim_with_another_api",
    "slo_not_measurable",
    "slo_of_a_workload_not_measurable",
    "sweep_axis_at_a_point_that_cannot_be",
    "sweep_changes_limits",
    "sweep_key_of_all_points",
    "sweep_key_of_no_phase",
    "sweep_key_twice",
    "sweep_key_unknown",
    "sweep_key_with_a_secret",
    "sweep_name_taken",
    "sweep_range_backwards",
    "sweep_range_of_a_name",
    "sweep_range_of_rates_in_numbers",
    "sweep_range_with_factor_one",
    "sweep_set_of_an_axis",
    "sweep_skip_leaves_nothing",
    "sweep_skip_unknown",
    "sweep_too_large",
    "sweep_value_twice",
    "sweep_values_of_several_keys",
    "system_file_missing",
    "text_in_tokens_uncounted",
    "text_of_nothing",
    "tls_certificate_without_key",
    "tls_insecure_with_an_authority",
    "tokenizer_file_missing",
    "trace_of_a_workload_and_a_unit",
    "trace_of_a_workload_without_rows",
    "trace_of_a_workload_without_times",
    "trace_of_no_workload",
    "trace_without_format",
    "url_of_a_request",
    "url_with_a_bad_port",
    "warm_up_longer_than_duration",
    "weights_all_zero",
];

#[test]
fn taplo_refuses_every_invalid_scenario_but_those_beyond_a_schema() {
    let files = scenarios("tests/scenario/invalid");
    let mut taken = Vec::new();
    for file in &files {
        match taplo_takes(file) {
            None => return,
            Some(true) => taken.push(file.file_stem().unwrap().to_str().unwrap()),
            Some(false) => {}
        }
    }
    assert_eq!(taken, BEYOND_A_SCHEMA);
}
