"""A page that shows a message roughly as Slack does, to look at wordings before anybody else has to.

python -m tests.fakes.slack_page digest > digest.html
chromium --headless --no-sandbox --hide-scrollbars --window-size=760,950 --screenshot=digest.png digest.html
"""

import sys
from collections.abc import Sequence
from html import escape

from scoring.alerting.blocks import Block, Line, Span
from tests.builders.alert_messages import MADE

STYLE = """
body { margin: 0; padding: 16px 20px; width: 700px; background: #fff; color: #1d1c1d;
  font: 15px/1.47 Lato, "Noto Sans CJK KR", NanumSquare, sans-serif; }
.message { display: flex; gap: 8px; }
.avatar { width: 36px; height: 36px; border-radius: 6px; background: #2f6fde; color: #fff; font-weight: 700;
  text-align: center; line-height: 36px; flex: none; }
.who { font-weight: 900; }
.app { background: #eee; border-radius: 2px; font-size: 10px; padding: 1px 3px; color: #616061; }
.time { color: #616061; font-size: 12px; }
h3 { font-size: 18px; line-height: 1.33; font-weight: 900; margin: 4px 0 8px; }
p, li { white-space: pre-wrap; }
p, ul { margin: 4px 0 8px; }
ul { padding-left: 26px; }
code { font: 12px/1.5 monospace; color: #c01343; background: #f8f8f8; border: 1px solid #ddd; border-radius: 3px;
  padding: 1px 3px; }
a { color: #1264a3; }
small { display: block; color: #616061; font-size: 12px; margin: 4px 0; }
i { display: inline-block; width: .8em; height: .8em; border-radius: 50%; vertical-align: -.04em; }
"""
# Emoji fonts are large and often missing where the pictures are made.
CIRCLES = {"🔴": "#dd2e44", "🟡": "#fdcb58", "🟢": "#78b159", "⚪": "#e6e7e8"}


def page(blocks: Sequence[Block]) -> str:
    """The HTML of one message."""
    shown = "".join(map(_block, blocks))
    who = '<span class="who">AQB</span> <span class="app">앱</span> <span class="time">오전 7:02</span>'
    body = f'<div class="message"><div class="avatar">A</div><div>{who}{shown}</div></div>'
    return f'<!doctype html><meta charset="utf-8"><style>{STYLE}</style>{body}\n'


def _block(block: Block) -> str:
    match block["type"]:
        case "header":
            return f"<h3>{_text(block['text'])}</h3>"
        case "context":
            return f"<small>{_text(block['text'])}</small>"
        case "paragraph":
            return f"<p>{'<br>'.join(map(_line, block['lines']))}</p>"
        case "bullets":
            return f"<ul>{''.join(f'<li>{_line(item)}</li>' for item in block['items'])}</ul>"


def _line(line: Line) -> str:
    return "".join(map(_span, line))


def _span(span: Span) -> str:
    text = _text(span["text"])
    match span["type"]:
        case "link":
            return f'<a href="{escape(span["url"])}">{text}</a>'
        case "code":
            return f"<code>{text}</code>"
        case "bold":
            return f"<b>{text}</b>"
        case _:
            return text


def _text(text: str) -> str:
    text = escape(text)
    for sign, colour in CIRCLES.items():
        text = text.replace(sign, f'<i style="background: {colour}"></i>')
    return text


if __name__ == "__main__":
    sys.stdout.write(page(MADE[sys.argv[1]]().blocks))
