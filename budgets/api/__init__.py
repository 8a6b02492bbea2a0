"""The REST surface of budgets, composed of one router per noun."""

from ninja import Router

router = Router()
