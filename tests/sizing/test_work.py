"""Bytes and operations of a token against numbers worked out by hand."""

import pytest

from tests.sizing.shapes import DENSE, LATENT, MIXTURE, WINDOWED
from warmfleet.sizing.precision import find_precision
from warmfleet.sizing.weights import weights_bytes
from warmfleet.sizing.work import work_of

BF16 = find_precision("bf16")


def test_an_input_table_of_its_own_is_not_read_through() -> None:
    # 8.03 G parameters in 16 bit, less 128256 x 4096 of the input embedding.
    work = work_of(DENSE, BF16)

    assert work.dense_bytes == 16_060_522_496 - 128_256 * 4096 * 2
    assert work.experts_read(100) == 0


def test_a_table_that_is_also_the_head_is_read() -> None:
    tied = DENSE.model_copy(update={"tied_embeddings": True})

    # One table fewer in the file, but none of it is left unread.
    assert work_of(tied, BF16).dense_bytes == weights_bytes(tied, BF16)


def test_the_cache_of_a_token_is_key_and_value_of_all_layers() -> None:
    work = work_of(DENSE, BF16)

    # 2 x 32 layers x 8 heads x 128 x 2 bytes
    assert work.kv_read(1) == 131_072
    assert work.kv_read(1000) == 131_072_000
    assert work_of(DENSE, BF16, kv_dtype="fp8").kv_read(1) == 65_536


def test_latent_attention_caches_one_compressed_vector() -> None:
    work = work_of(LATENT, BF16)

    # (512 + 64) x 61 layers x 2 bytes, on every card
    assert work.kv_read(1) == 70_272
    assert work.kv_shards == 1


def test_windowed_layers_read_no_further_than_their_window() -> None:
    work = work_of(WINDOWED, BF16)

    # 10 of 62 layers see all, 52 see 1024: 2 x 16 x 128 x 2 bytes a layer
    assert work.kv_read(32_768) == 8192 * (10 * 32_768 + 52 * 1024)


def test_two_operations_a_weight_that_a_token_passes() -> None:
    work = work_of(DENSE, BF16)

    tables = 128_256 * 4096
    assert work.layer_flops == 2 * (8_030_261_248 - 2 * tables)
    assert work.token_flops(0) == work.layer_flops + 2 * tables
    # A pair of tokens: 4 x heads x width, a layer.
    assert work.token_flops(100) - work.token_flops(0) == 100 * 32 * 4 * 4096
    assert work.prompt_flops(1000) == pytest.approx(
        1000 * (work.layer_flops + 500 * 32 * 4 * 4096) + 2 * tables
    )


def test_fewer_bits_are_fewer_bytes_to_read() -> None:
    awq = work_of(DENSE, find_precision("awq"))

    # 6.98 G linear weights in 4.156 bit, and the head in 16.
    assert awq.dense_bytes == pytest.approx(6.98e9 * 4.156 / 8 + 128_256 * 4096 * 2, rel=0.01)


def test_experts_touched_grow_with_the_batch() -> None:
    work = work_of(MIXTURE, BF16)

    # 48 layers x 128 experts x 3 x 2048 x 768, 16 bit
    assert work.expert_bytes == 48 * 128 * 3 * 2048 * 768 * 2
    assert work.experts_read(1) == pytest.approx(work.expert_bytes * 8 / 128)
    assert work.experts_read(2) == pytest.approx(work.expert_bytes * (1 - (120 / 128) ** 2))
    assert work.experts_read(500) == pytest.approx(work.expert_bytes)
