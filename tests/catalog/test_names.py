"""A repack, a fine-tune or a file is found by its name's structure, not by a list of them."""

import pytest

from warmfleet.catalog.names import find_model, precision_in
from warmfleet.errors import NameUnknownError


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("RedHatAI/Llama-3.3-70B-Instruct-FP8-dynamic", "meta-llama/Llama-3.3-70B-Instruct"),
        ("unsloth/qwen2.5-3b-instruct-unsloth-bnb-4bit", "Qwen/Qwen2.5-3B-Instruct"),
        ("TheBloke/Mistral-7B-OpenOrca-AWQ", "mistralai/Mistral-7B-Instruct-v0.3"),
        ("hugging-quants/Meta-Llama-3.1-405B-AWQ-INT4", "meta-llama/Llama-3.1-405B-Instruct"),
        ("deepseek-ai/DeepSeek-R1-0528-Qwen3-8B", "Qwen/Qwen3-8B"),
        ("DeepSeek R1 Distill Qwen 14B", "deepseek-ai/DeepSeek-R1-Distill-Qwen-14B"),
        ("Mistral-Small-3.2-24B-2506", "mistralai/Mistral-Small-3.1-24B-Instruct-2503"),
        ("Meta_Llama_3.1_8b_it", "meta-llama/Llama-3.1-8B-Instruct"),
        ("models/Llama_3_8B.Q4_K_M.gguf", "meta-llama/Meta-Llama-3-8B"),
        ("Llama-3_3-Nemotron-Super-49B UD-Q6_K_XL", "nvidia/Llama-3_3-Nemotron-Super-49B-v1"),
        ("Qwen2___5 7B Instruct", "Qwen/Qwen2.5-7B-Instruct"),
        ("Qwen2.5-VL-72B-Instruct", "Qwen/Qwen2.5-VL-72B-Instruct"),
        ("QwQ32B", "Qwen/QwQ-32B"),
        ("OpenHermes-2.5-Mistral-7B-GPTQ", "mistralai/Mistral-7B-Instruct-v0.3"),
    ],
)
def test_a_name_is_found_by_its_words(name: str, found: str) -> None:
    assert find_model(name).id == found


@pytest.mark.parametrize(
    ("name", "billions", "found"),
    [
        ("LLaMA v2", 6.74, "meta-llama/Llama-2-7b-hf"),
        ("LLaMA v2", 13.02, "meta-llama/Llama-2-13b-hf"),
        ("Qwen3 0.6B", 0.752, "Qwen/Qwen3-0.6B"),
        ("CodeShell", 7.98, "WisdomShell/CodeShell-7B"),
    ],
)
def test_a_printed_count_says_the_size(name: str, billions: float, found: str) -> None:
    assert find_model(name, parameters=billions * 1e9).id == found


@pytest.mark.parametrize(
    "name", ["outputs", "n/a", "Qwerky 72B", "Qwen3-9B", "Qwen9-7B", "Llama-8B-Vision"]
)
def test_what_is_no_model_of_the_catalog_is_refused(name: str) -> None:
    with pytest.raises(NameUnknownError, match="no model"):
        find_model(name)


def test_a_count_of_another_model_is_refused() -> None:
    with pytest.raises(NameUnknownError):
        find_model("Llama-3.1-8B", parameters=3.2e9)


def test_a_typing_error_gets_the_nearest_name() -> None:
    with pytest.raises(NameUnknownError, match=r"did you mean 'Qwen2\.5-7B-Instruct'"):
        find_model("Qwenn2.5-7B-Instruct")


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("Meta-Llama-3.1-405B-Instruct-AWQ-INT4", "awq"),
        ("Qwen2.5-7B-Instruct-GPTQ-Int4", "gptq"),
        ("Qwen2.5-7B-Instruct-GPTQ-Int8", "gptq8"),
        ("Llama-3.1-8B-quantized.w4a16", "w4a16"),
        ("Llama-3.3-70B-Instruct-FP8-dynamic", "fp8"),
        ("llama-3.1-8b-unsloth-bnb-4bit", "nf4"),
        ("gpt-oss-20b MXFP4", "mxfp4"),
        ("Llama-3.1-8B-Q4_K_M.gguf", "q4_k_m"),
        ("Q4_K - Medium", "q4_k_m"),
        ("UD-Q6_K_XL", "q6_k"),
        ("Q8_0_R8 - 8.5 bpw", "q8_0"),
        ("UD-Q8_K_XL", "q8_0"),
        ("IQ4_KS_R4 - 4.25 bpw", None),
        ("Qwen2.5-7B-Instruct", None),
    ],
)
def test_the_precision_is_read_from_a_name(name: str, found: str | None) -> None:
    assert precision_in(name) == found
