"""The REST surface of budgets, composed of one router per noun."""

from ninja import Router

from budgets.api.calculations import router as calculations
from budgets.api.caps import router as caps
from budgets.api.models import router as models
from budgets.api.profiles import router as profiles
from budgets.api.tokens import router as tokens

router = Router()
router.add_router("", calculations)
router.add_router("", tokens)
router.add_router("", profiles)
router.add_router("", models)
router.add_router("", caps)
