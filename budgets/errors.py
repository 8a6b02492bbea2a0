"""What can go wrong with money.

ProblemError (kernel.errors)
├── CapReached      402  filled by settled spend; a person decides
├── CapBusy         429  filled by open holds only; ask again soon
├── HoldResolved    409  the hold has ended another way already
├── SumOverflow     409  the sum would not fit; nothing was changed
├── UnpricedModel   422  the project blocks models without a known price
└── TeamCapOverApi  403  caps on a whole team are set in the browser
"""

from __future__ import annotations

from kernel.errors import Conflict, Forbidden, Invalid, PaymentRequired, TooManyRequests


class CapReached(PaymentRequired):
    code = "cap_reached"


class CapBusy(TooManyRequests):
    title, code = "Filled by open holds", "cap_busy"


class HoldResolved(Conflict):
    code = "hold_resolved"


class SumOverflow(Conflict):
    code = "sum_overflow"


class UnpricedModel(Invalid):
    code = "unpriced_model"


class TeamCapOverApi(Forbidden):
    code = "team_cap"
