"""The REST surface of budgets, composed of one router per noun."""

from ninja import Router

from budgets.api.calculations import router as calculations_router
from budgets.api.caps import router as caps_router
from budgets.api.models import router as models_router
from budgets.api.profiles import router as profiles_router
from budgets.api.tokens import router as tokens_router

PARTS = (calculations_router, tokens_router, profiles_router, models_router, caps_router)

router = Router()
for part in PARTS:
    router.add_router("", part)
