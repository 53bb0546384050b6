from itertools import pairwise

import pytest

from warmfleet.catalog.servers import cores_for, model_disks, server_class, sizes


@pytest.mark.parametrize(
    ("card_gb", "cards", "cores"),
    [(16, 1, 8), (24, 1, 12), (32, 1, 12), (40, 1, 16), (80, 1, 16), (80, 4, 48), (80, 8, 64)],
)
def test_cores_follow_the_card_and_its_number(card_gb: int, cards: int, cores: int) -> None:
    assert cores_for(card_gb, cards)[0] == cores


@pytest.mark.parametrize("card_gb", [8, 16, 24, 48, 80, 180])
def test_a_card_has_8_to_16_cores_and_more_cards_have_no_fewer(card_gb: int) -> None:
    counts = (1, 2, 4, 8)
    cores = [cores_for(card_gb, cards)[0] for cards in counts]

    assert cores == sorted(cores)
    assert all(8 <= one / count <= 16 for one, count in zip(cores, counts, strict=True))


def test_larger_classes_come_with_no_less() -> None:
    classes = [server_class(cores) for cores in range(1, 200)]

    for smaller, larger in pairwise(classes):
        assert smaller.cores <= larger.cores
        assert smaller.memory_gb <= larger.memory_gb
        assert smaller.disk_gb <= larger.disk_gb
    assert server_class(200).cores == 200


def test_sizes_are_the_next_that_hold_it() -> None:
    memory = sizes("memory")

    assert memory.at_least(1) == 32 * 10**9
    assert memory.at_least(32 * 10**9) == 32 * 10**9
    assert memory.at_least(32 * 10**9 + 1) == 64 * 10**9
    assert memory.at_least(5000 * 10**9) == 8192 * 10**9  # two of the largest


def test_disks_for_weights_are_nvme_and_rise() -> None:
    rates = [disk.gb_per_s for disk in model_disks()]

    assert rates == sorted(rates)
    assert all("NVMe" in disk.name for disk in model_disks())
