"""A picture that looks like a chart from afar: a walk that is a function of the order, and the order in words."""

import hashlib
import io
import random
from typing import Final

from PIL import Image, ImageDraw, ImageFont

from emulator.chart_img.orders import Order

CANDLES: Final = 90
THEMES: Final = {"light": ("#ffffff", "#e8ebf0", "#20262e"), "dark": ("#12161e", "#262e3a", "#d8dde6")}
INKS: Final = ("#2f7ef0", "#f09a1a", "#9a5cf0", "#12a5b5", "#e0407f")


def draw(order: Order) -> bytes:
    paper, grid, text = THEMES[order.theme]
    image = Image.new("RGB", (order.width, order.height), paper)
    pen = ImageDraw.Draw(image)
    left, top, right, bottom = 12, 44, order.width - 12, order.height - 24
    for part in range(1, 6):
        y = top + (bottom - top) * part // 6
        pen.line((left, y, right, y), fill=grid)
    chance = random.Random(hashlib.sha256(repr(order).encode()).digest())  # noqa: S311 - repeatable, not secret
    slot, level = (right - left) / CANDLES, 0.5
    heights = []
    for number in range(CANDLES):
        opened = level
        level = min(0.95, max(0.05, level + chance.gauss(0, 0.03)))
        high, low = max(opened, level) + chance.random() * 0.03, min(opened, level) - chance.random() * 0.03
        x = left + (number + 0.5) * slot
        ink = "#1d9d74" if level >= opened else "#d84848"
        first, last, wick, foot = (bottom - part * (bottom - top) for part in (high, low, opened, level))
        pen.line((x, first, x, last), fill=ink)
        pen.rectangle((x - slot * 0.3, min(wick, foot), x + slot * 0.3, max(wick, foot)), fill=ink)
        heights.append((x, bottom - level * (bottom - top)))
    for number, name in enumerate(order.studies):
        shifted = [(x, y + 12 * (number + 1)) for x, y in heights]
        pen.line(shifted, fill=INKS[number % len(INKS)], width=2)
        pen.text(
            (left + 8, top + 6 + 16 * number), name, fill=INKS[number % len(INKS)], font=ImageFont.load_default(13)
        )
    words = f"{order.symbol}  {order.interval}  {order.timezone}   emulated, not a market"
    pen.text((left, 14), words, fill=text, font=ImageFont.load_default(16))
    buffer = io.BytesIO()
    image.save(buffer, "PNG")
    return buffer.getvalue()
