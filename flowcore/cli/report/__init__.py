"""One run as one page that opens from a file: what the model said, the charts, the times, and what went wrong.

A page must be readable years later, on any machine, by people who have neither the bucket nor this program. So it
holds everything itself: pictures as data, no script, nothing loaded from anywhere. Half of its text was written by a
model and the rest by whoever filled a document, hence nothing in it is believed: text is escaped, Markdown is cleaned,
and a Content-Security-Policy forbids what might have slipped through.

`page` puts it together. It is given the document, the objects (through `read`) and the time, and does nothing else, so
the same run always makes the same page.
"""

from flowcore.cli.report.page import render

__all__ = ["render"]
