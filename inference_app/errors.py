"""Errors of the service that an operator reads in the journal: one line each.

::

    InferenceAppError
    ├── SettingsError        (also ValueError)    the settings file is wrong
    ├── EngineError          (also RuntimeError)  the engine child failed to start, or died
    ├── ListenError          (also OSError)       an address cannot be bound
    └── WarmupFailedError    (also RuntimeError)  not provably warm within the budget
"""

__all__ = ["EngineError", "InferenceAppError", "ListenError", "SettingsError", "WarmupFailedError"]


class InferenceAppError(Exception):
    """Base of all."""


class SettingsError(InferenceAppError, ValueError):
    """The settings file is missing or not valid."""


class EngineError(InferenceAppError, RuntimeError):
    """The engine child did not start, answered nonsense, or died."""


class ListenError(InferenceAppError, OSError):
    """The address of a listener is taken or is not of this host."""


class WarmupFailedError(InferenceAppError, RuntimeError):
    """Latency did not converge within the budget; the ledger is the evidence."""
