"""Shapes of four kinds of model."""

from warmfleet.catalog.architecture import Architecture, Experts, LatentAttention

DENSE = Architecture(
    family="llama", parameters=8_030_261_248, active_parameters=8_030_261_248, layers=32,
    hidden=4096, heads=32, kv_heads=8, head_dim=128, intermediate=14336, vocabulary=128_256,
    tied_embeddings=False, max_context=131_072, full_attention_layers=32,
)  # fmt: skip
"""Llama-3.1-8B."""

WINDOWED = Architecture(
    family="gemma3", parameters=27_009_002_240, active_parameters=27_009_002_240, layers=62,
    hidden=5376, heads=32, kv_heads=16, head_dim=128, intermediate=21504, vocabulary=262_208,
    tied_embeddings=True, max_context=131_072, full_attention_layers=10, sliding_window=1024,
    windowed_layers=52,
)  # fmt: skip
"""gemma-3-27b."""

MIXTURE = Architecture(
    family="qwen3_moe", parameters=30_532_122_624, active_parameters=3_353_032_704, layers=48,
    hidden=2048, heads=32, kv_heads=4, head_dim=128, intermediate=6144, vocabulary=151_936,
    tied_embeddings=False, max_context=40_960, full_attention_layers=48,
    experts=Experts(count=128, per_token=8, intermediate=768, layers=48),
)  # fmt: skip
"""Qwen3-30B-A3B."""

LATENT = Architecture(
    family="deepseek_v3", parameters=671_026_419_200, active_parameters=37_552_282_624, layers=61,
    hidden=7168, heads=128, kv_heads=128, head_dim=128, intermediate=18432, vocabulary=129_280,
    tied_embeddings=False, max_context=163_840, full_attention_layers=61,
    latent=LatentAttention(kv_rank=512, rope_dim=64, nope_dim=128, value_dim=128, query_rank=1536),
    experts=Experts(
        count=256, per_token=8, intermediate=2048, shared_intermediate=2048, layers=58
    ),
)  # fmt: skip
"""DeepSeek-V3."""
