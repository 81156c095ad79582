"""What all tests share: compiled objects in a folder of the session's own, and Hypothesis without deadlines."""
from __future__ import annotations

import gc
import os
import shutil
import signal
import tempfile
import threading
from collections import Counter
from importlib.util import find_spec

import pytest
from hypothesis import settings

settings.register_profile("stele", deadline=None)
settings.load_profile("stele")

MADE = pytest.StashKey[str]()

THINNED = {
    "test_amx.py": "test_corners_are_not_multiplied",
    "test_autodiff.py": "test_second_derivatives",
    "test_backends.py": "test_casts_round_once_and_to_even test_gradients test_tangents",
    "test_bad_calls.py": "test_wrong_arguments_teach",
    "test_bench.py": "test_our_programs_run test_programs_stand_alone",
    "test_bench_languages.py": "test_programs_run_on_their_own",
    "test_bf16.py": "test_gradients_go_to_the_largest_of_what_a_kernel_pools "
                    "test_what_is_the_largest_in_a_step_is_still_one_of_its_numbers_on_the_way_back",
    "test_bits.py": "test_all_dtypes_are_seen_as_all_others",
    "test_caffe.py": "test_layers_give_what_opencv_gave",
    "test_chain.py": "test_heads_and_their_gradients_are_those_of_float64",
    "test_checkpoint.py": "test_derivatives_are_the_same",
    "test_compiled_forward.py": "test_a_compiled_network_is_trained_from_outside "
                                "test_results_come_about_as_they_did_whichever_are_kept",
    "test_complex.py": "test_gradients_are_pytorch_s test_native_code_computes_what_numpy_does "
                       "test_products_are_computed_by_kernels test_special_values_are_the_standard_s",
    "test_contract.py": "test_convolution test_convolution_on_machines test_corners_are_not_multiplied "
                        "test_few_rows_of_as_many_as_come test_operands_in_any_layout test_product "
                        "test_product_by_parts",
    "test_contracts.py": "test_errors_that_are_said_are_raised",
    "test_control.py": "test_associative_scans_run_along_any_axis",
    "test_control_native.py": "test_one_value_is_carried_at_two_places "
                              "test_what_is_carried_late_is_shown_not_copied",
    "test_conv_lines.py": "test_gradients_of_images_of_a_pixel_or_two test_long_lines test_single_channels",
    "test_conv_tiles.py": "test_any_shape test_both_directions",
    "test_convert.py": "test_every_pair",
    "test_devices.py": "test_every_op_gives_the_same_bits_on_the_second_device "
                       "test_layers_and_their_gradients_have_the_same_bits_on_the_second_device",
    "test_distributions.py": "test_integers_reach_both_ends_of_every_dtype test_numbers_follow_the_law_of_numpys "
                             "test_parameters_broadcast",
    "test_dtypes.py": "test_arithmetic_wraps_as_of_numpy test_casts_of_integers_keep_the_low_bits "
                      "test_products_scatters_and_loops_of_integers test_reductions_of_integers",
    "test_edges.py": "test_functions_of_any_shape",
    "test_elsewhere.py": "test_optimizers_go_with_their_models",
    "test_emitted.py": "test_code_and_memory_are_what_they_were "
                       "test_instructions_for_each_multiply_add_are_what_they_were",
    "test_empties.py": "test_a_program_of_open_size_makes_of_nothing_what_uncompiled_code_does "
                       "test_gradients_of_empty_arrays_have_their_shape test_ops_take_empty_operands "
                       "test_public_functions_take_empty_arrays_in_every_style",
    "test_every_size.py": "test_a_function_runs_at_every_size_with_one_program",
    "test_example_programs.py": "test_an_example_runs",
    "test_explained.py": "test_memory_is_known_before_anything_is_compiled",
    "test_families.py": "test_loops_carry_what_shares_memory test_what_shares_memory_is_one_thing_in_every_style",
    "test_from_torch.py": "test_core_op",
    "test_functional.py": "test_a_batch_of_nothing test_all_styles_agree test_one_program_of_every_size "
                          "test_pytorch_agrees",
    "test_given_data.py": "test_random_programs_share_what_numpys_names_do",
    "test_host.py": "test_derivatives_of_both_modes test_every_style_and_dtype",
    "test_inplace.py": "test_convolutions test_programs",
    "test_keras.py": "test_models_give_what_keras_gave",
    "test_kinks.py": "test_derivatives_at_kinks",
    "test_labels.py": "test_a_position_outside_is_named_whatever_its_dtype "
                      "test_every_integer_dtype_names_an_element",
    "test_layer_laws.py": "test_a_function_of_float64_computes_nothing_in_float32 "
                          "test_a_layer_of_float64_computes_nothing_in_float32 "
                          "test_any_tensor_of_a_layer_may_be_computed",
    "test_layers.py": "test_all_styles_agree test_layers_of_float16_are_no_coarser_than_their_results "
                      "test_one_program_of_every_size test_orthogonal_weights_stay_so test_pytorch_agrees",
    "test_linalg.py": "test_derivatives_in_every_style test_dot_is_numpys test_every_style_and_backend "
                      "test_second_derivatives_of_complex_matrices",
    "test_lint_script.py": "test_the_programs_of_the_benchmark_are_clean",
    "test_losses.py": "test_numbers_and_gradients_are_those_of_the_formula "
                      "test_second_derivatives_and_forward_mode_agree_with_the_gradient",
    "test_manipulation.py": "test_a_function_is_numpys_in_every_style test_einsum_in_every_style_and_its_gradient "
                            "test_what_moves_elements_has_the_transpose_as_gradient",
    "test_matrices.py": "test_factors_are_lapack_s test_matrices_of_a_few_ones_have_factors "
                        "test_solutions_are_lapack_s test_spectra_are_lapack_s",
    "test_metrics.py": "test_a_metric_counts_inside_of_a_compiled_step",
    "test_native_derivatives.py": "test_derivatives_in_native_code",
    "test_nests.py": "test_every_op test_lengths test_sums_over_all_rows_of_a_kernel",
    "test_networks.py": "test_one_program_of_every_size test_pytorch_agrees_and_names_weights_alike test_symbolic",
    "test_nn.py": "test_layers_and_gradients_are_those_of_pytorch test_layers_follow_their_formulas",
    "test_noted.py": "test_a_function_writes_what_an_eager_call_writes",
    "test_numpy_law.py": "test_integers_compare_exactly_with_any_number test_whole_powers_of_integers_stay_integers",
    "test_onnx_classical.py": "test_beside_others",
    "test_onnx_out.py": "test_every_op test_matrices_of_open_sizes test_what_onnx_has_an_op_for_is_that",
    "test_onnx_runtime.py": "test_beside_onnx_runtime",
    "test_open_sizes.py": "test_a_convolution_of_open_images_is_one_program "
                          "test_parts_of_parts_between_shares_of_a_length "
                          "test_python_computes_with_open_sizes_without_another_program",
    "test_optimizers.py": "test_parameters_of_16_bits_move_as_those_of_32 test_twenty_steps_are_those_of_pytorch",
    "test_pool.py": "test_processes_end_well",
    "test_processes.py": "test_the_proofs_hold_elsewhere",
    "test_ragged.py": "test_each_joined_sequence_is_as_it_would_be_alone",
    "test_random_graphs.py": "test_random_programs",
    "test_replay.py": "test_training_is_the_same_with_and_without_replays",
    "test_reversal.py": "test_steps_walked_back_are_those_written_out",
    "test_rewrites.py": "test_rule_holds_for_every_dtype_it_claims_whatever_the_numbers",
    "test_scalars.py": "test_functions_have_the_bits_of_numpy_and_call_nothing "
                       "test_operations_have_the_bits_of_numpy",
    "test_scan_state.py": "test_random_numbers_are_those_of_the_steps_written_out",
    "test_schedules.py": "test_a_step_with_its_schedule_is_traced_once_and_has_the_bits_of_an_uncompiled_one",
    "test_sorting.py": "test_gradients_of_both_modes_and_second_order",
    "test_state.py": "test_same_numbers_in_every_style",
    "test_statistics.py": "test_quantiles_are_those_of_numpy",
    "test_transforms.py": "test_one_image_and_a_batch_agree",
    "test_ufuncs.py": "test_methods_have_the_dtypes_that_numpy_has test_they_are_part_of_the_program",
    "test_views.py": "test_what_is_written_is_seen_in_what_repeats_it "
                     "test_what_is_written_to_a_view_is_in_the_whole_and_back",
    "test_winograd.py": "test_both_directions",
    "test_words.py": "test_words_are_looked_at_where_they_are_given",
}
"""Tests that compile much and whose cases differ little, by file: one case of three runs, with STELE_TESTS=all all.

Of each three in a row another one, so that where options come by turns (three machines, nine dtypes) each has its turn.
"""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out cases of tests that are thinned, but for those that are asked for by name."""
    if os.environ.get("STELE_TESTS") == "all":
        return
    seen, kept, left = Counter[tuple[str, str]](), list[pytest.Item](), list[pytest.Item]()
    for item in items:
        name = item.name.partition("[")[0]
        is_thin = name in THINNED.get(item.path.name, "").split() and not any(name in asked for asked in config.args)
        k = seen[item.path.name, name]
        (left if is_thin and (k + k // 3 + k // 9) % 3 else kept).append(item)
        seen[item.path.name, name] += 1
    if left:
        config.hook.pytest_deselected(items=left)
        items[:] = kept


def pytest_collection_finish() -> None:
    """Who looks for garbage need not go through 25,000 tests, which are none, each time."""
    gc.freeze()


def pytest_configure(config: pytest.Config) -> None:
    """A fresh cache, unless STELE_CACHE names one; workers of pytest-xdist inherit that of the process they serve.

    Ctrl-C works in tests and their processes also where a shell has started pytest in the background, without it.
    """
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if find_spec("jax"):    # before anybody loads Keras, which runs on TensorFlow unless told otherwise
        os.environ["KERAS_BACKEND"] = "jax"
    if "STELE_CACHE" not in os.environ:
        config.stash[MADE] = os.environ["STELE_CACHE"] = tempfile.mkdtemp(prefix="stele-tests-")


def pytest_unconfigure(config: pytest.Config) -> None:
    if folder := config.stash.get(MADE, ""):
        del os.environ["STELE_CACHE"]
        shutil.rmtree(folder, ignore_errors=True)
