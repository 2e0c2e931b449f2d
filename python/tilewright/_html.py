"""What notebooks show of objects that hold rows."""

import html


def table(head, rows, caption=""):
    """Returns a table of HTML; cells are texts, which may hold any characters."""
    def line(cells, tag):
        return "<tr>" + "".join(f"<{tag}>{html.escape(str(cell))}</{tag}>" for cell in cells) + "</tr>"

    title = f"<caption>{html.escape(caption)}</caption>" if caption else ""
    return f"<table>{title}<thead>{line(head, 'th')}</thead>" + "".join(line(cells, "td") for cells in rows) + "</table>"
