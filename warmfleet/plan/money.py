"""Amounts of money as plans write them."""

from warmfleet.spec.prices import NO_CURRENCY

__all__ = ["ON_ENQUIRY", "amount"]

ON_ENQUIRY = "price on enquiry"


def amount(value: float | None, currency: str) -> str:
    """Return ``1,250 CNY``, with cents where there are any; None is on enquiry."""
    if value is None:
        return ON_ENQUIRY
    text = f"{value:,.2f}".removesuffix(".00")
    return text if currency == NO_CURRENCY else f"{text} {currency}"
