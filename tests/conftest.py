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
    "test_backends.py": "test_gradients test_tangents",
    "test_bad_calls.py": "test_wrong_arguments_teach",
    "test_bench.py": "test_our_programs_run",
    "test_bench_languages.py": "test_programs_run_on_their_own",
    "test_bf16.py": "test_gradients_go_to_the_largest_of_what_a_kernel_pools "
                    "test_what_is_the_largest_in_a_step_is_still_one_of_its_numbers_on_the_way_back",
    "test_bits.py": "test_all_dtypes_are_seen_as_all_others",
    "test_compiled_forward.py": "test_a_compiled_network_is_trained_from_outside",
    "test_complex.py": "test_gradients_are_pytorch_s test_native_code_computes_what_numpy_does",
    "test_contract.py": "test_product_by_parts",
    "test_contracts.py": "test_errors_that_are_said_are_raised",
    "test_control_native.py": "test_what_is_carried_late_is_shown_not_copied",
    "test_conv_lines.py": "test_long_lines test_single_channels",
    "test_conv_tiles.py": "test_both_directions",
    "test_convert.py": "test_every_pair",
    "test_devices.py": "test_layers_and_their_gradients_have_the_same_bits_on_the_second_device",
    "test_distributions.py": "test_parameters_broadcast",
    "test_edges.py": "test_functions_of_any_shape",
    "test_elsewhere.py": "test_optimizers_go_with_their_models",
    "test_emitted.py": "test_code_and_memory_are_what_they_were",
    "test_empties.py": "test_ops_take_empty_operands",
    "test_every_size.py": "test_a_function_runs_at_every_size_with_one_program",
    "test_example_programs.py": "test_an_example_runs",
    "test_explained.py": "test_memory_is_known_before_anything_is_compiled",
    "test_families.py": "test_what_shares_memory_is_one_thing_in_every_style test_loops_carry_what_shares_memory",
    "test_from_torch.py": "test_core_op",
    "test_functional.py": "test_all_styles_agree test_one_program_of_every_size test_pytorch_agrees",
    "test_keras.py": "test_models_give_what_keras_gave",
    "test_kinks.py": "test_derivatives_at_kinks",
    "test_labels.py": "test_every_integer_dtype_names_an_element",
    "test_layer_laws.py": "test_any_tensor_of_a_layer_may_be_computed",
    "test_layers.py": "test_all_styles_agree test_one_program_of_every_size test_orthogonal_weights_stay_so "
                      "test_pytorch_agrees",
    "test_linalg.py": "test_derivatives_in_every_style",
    "test_lint_script.py": "test_the_programs_of_the_benchmark_are_clean",
    "test_matrices.py": "test_factors_are_lapack_s test_matrices_of_a_few_ones_have_factors "
                        "test_solutions_are_lapack_s test_spectra_are_lapack_s",
    "test_native_derivatives.py": "test_derivatives_in_native_code",
    "test_nests.py": "test_every_op test_lengths",
    "test_networks.py": "test_pytorch_agrees_and_names_weights_alike",
    "test_onnx_out.py": "test_matrices_of_open_sizes test_what_onnx_has_an_op_for_is_that",
    "test_open_sizes.py": "test_a_convolution_of_open_images_is_one_program "
                          "test_parts_of_parts_between_shares_of_a_length",
    "test_optimizers.py": "test_parameters_of_16_bits_move_as_those_of_32",
    "test_pool.py": "test_processes_end_well",
    "test_processes.py": "test_the_proofs_hold_elsewhere",
    "test_ragged.py": "test_each_joined_sequence_is_as_it_would_be_alone",
    "test_replay.py": "test_training_is_the_same_with_and_without_replays",
    "test_reversal.py": "test_steps_walked_back_are_those_written_out",
    "test_scalars.py": "test_functions_have_the_bits_of_numpy_and_call_nothing",
    "test_sorting.py": "test_gradients_of_both_modes_and_second_order",
    "test_state.py": "test_same_numbers_in_every_style",
    "test_statistics.py": "test_quantiles_are_those_of_numpy",
    "test_transforms.py": "test_one_image_and_a_batch_agree",
    "test_views.py": "test_what_is_written_is_seen_in_what_repeats_it "
                     "test_what_is_written_to_a_view_is_in_the_whole_and_back",
    "test_winograd.py": "test_both_directions",
    "test_words.py": "test_words_are_looked_at_where_they_are_given",
}
"""Tests that compile much and whose cases differ little, by file: one case of three runs, with STELE_TESTS=all all."""


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Leaves out cases of tests that are thinned, but for those that are asked for by name."""
    if os.environ.get("STELE_TESTS") == "all":
        return
    seen, kept, left = Counter[tuple[str, str]](), list[pytest.Item](), list[pytest.Item]()
    for item in items:
        name = item.name.partition("[")[0]
        is_thin = name in THINNED.get(item.path.name, "").split() and not any(name in asked for asked in config.args)
        (left if is_thin and seen[item.path.name, name] % 3 else kept).append(item)
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
