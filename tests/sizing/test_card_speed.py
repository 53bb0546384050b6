"""What of a catalog row the speed follows from."""

from warmfleet.catalog.gpu import find_gpu
from warmfleet.sizing.card_speed import CardSpeed, card_speed
from warmfleet.sizing.precision import find_precision

BF16, FP8, AWQ = (find_precision(name) for name in ("bf16", "fp8", "awq"))


def test_bandwidth_operations_and_links_come_from_the_row() -> None:
    assert card_speed(find_gpu("h100-sxm"), BF16) == CardSpeed(3350, 989, 900, 128)
    assert card_speed(find_gpu("t4"), BF16) == CardSpeed(320, 65, 0, 32)


def test_a_bridge_between_slots_is_not_counted_on() -> None:
    assert find_gpu("rtx3090").nvlink_gb_s > 0
    assert card_speed(find_gpu("rtx3090"), BF16) == CardSpeed(936.2, 71, 0, 64)


def test_fp8_computes_in_fp8_where_the_card_can_and_four_bits_are_unpacked() -> None:
    def tflops(name: str, precision) -> float:
        speed = card_speed(find_gpu(name), precision)
        assert speed is not None
        return speed.tflops

    assert tflops("h100-sxm", FP8) == 1979
    assert tflops("a100-sxm-80", FP8) == tflops("a100-sxm-80", BF16) == 312
    assert tflops("h100-sxm", AWQ) == 989
    assert tflops("mi300x", BF16) == 1307 * 0.65


def test_a_card_of_unknown_speed_has_none() -> None:
    assert card_speed(find_gpu("p4"), BF16) is None
    assert card_speed(find_gpu("ascend-910b"), BF16) is None
