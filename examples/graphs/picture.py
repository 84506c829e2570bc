#!/usr/bin/env python3
"""Draws a picture (SVG) of a graph that `cushim_graph_write_json` wrote. It needs nothing but Python 3.

usage: picture.py GRAPH.json > GRAPH.svg

Nodes stand below all that they come after; a child graph or a body stands in a frame inside its node.
"""
import json
import sys
from xml.sax.saxutils import escape

WIDTH, LINE, GAP, MARGIN = 7.2, 16, 24, 12  # of a letter, of a line, between boxes, around them
COLOURS = {"kernel": "#dcebff", "copy": "#e4f5dc", "memset": "#e4f5dc", "conditional": "#fff0cc", "child": "#eeeeee",
           "host": "#ffe1e1"}


def title(node):
    what = node.get("conditional", node["type"].removesuffix(" node"))
    name = node["label"] or node.get("kernel") or ""
    return f"{what} {name}".strip()


def levels(graph):
    """The nodes by how many stand above them."""
    above = {node["number"]: 0 for node in graph["nodes"]}
    for _ in graph["nodes"]:
        for edge in graph["edges"]:
            above[edge["to"]] = max(above[edge["to"]], above[edge["from"]] + 1)
    rows = [[] for _ in range(max(above.values(), default=-1) + 1)]
    for node in graph["nodes"]:
        rows[above[node["number"]]].append(node)
    return rows


def text(x, y, words, weight="normal"):
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="middle" font-weight="{weight}">{escape(words)}</text>'


def draw_node(node):
    """The node at the origin: what is drawn, and its size."""
    parts, width, height = [], len(title(node)) * WIDTH + 2 * MARGIN, LINE + MARGIN
    inner = [draw_graph(graph) for graph in node.get("graphs", [])]
    x = MARGIN
    for drawn, inner_width, inner_height in inner:
        parts.append(f'<g transform="translate({x:.1f} {LINE + MARGIN})">'
                     f'<rect width="{inner_width:.1f}" height="{inner_height:.1f}" rx="4" fill="white" stroke="#888" '
                     f'stroke-dasharray="4 3"/>{drawn}</g>')
        x += inner_width + MARGIN
        height = max(height, inner_height + LINE + 2 * MARGIN)
    width = max(width, x)
    colour = COLOURS.get(node["type"].split()[0], "white")
    box = f'<rect width="{width:.1f}" height="{height:.1f}" rx="6" fill="{colour}" stroke="#444"/>'
    return box + text(width / 2, LINE, title(node)) + "".join(parts), width, height


def draw_graph(graph):
    """The graph at the origin: what is drawn, and its size."""
    rows = [[(node, *draw_node(node)) for node in row] for row in levels(graph)]
    row_width = [sum(width for _, _, width, _ in row) + GAP * (len(row) - 1) for row in rows]
    width, y, boxes, places = max(row_width, default=40) + 2 * MARGIN, MARGIN, [], {}
    for row, of_row in zip(rows, row_width):
        x, tallest = (width - of_row) / 2, max(height for *_, height in row)
        for node, drawn, node_width, height in row:
            boxes.append(f'<g transform="translate({x:.1f} {y:.1f})">{drawn}</g>')
            places[node["number"]] = (x + node_width / 2, y, y + height)
            x += node_width + GAP
        y += tallest + GAP
    lines = []
    for edge in graph["edges"]:
        (x1, _, y1), (x2, y2, _) = places[edge["from"]], places[edge["to"]]
        lines.append(f'<path d="M{x1:.1f} {y1:.1f}C{x1:.1f} {y1 + GAP:.1f} {x2:.1f} {y2 - GAP:.1f} {x2:.1f} {y2:.1f}" '
                     'fill="none" stroke="#444" marker-end="url(#arrow)"/>')
    return "".join(lines + boxes), width, max(y - GAP, MARGIN) + MARGIN


def picture(graph):
    drawn, width, height = draw_graph(graph)
    if graph["label"]:
        drawn = f'<g transform="translate(0 {LINE})">{drawn}</g>' + text(width / 2, LINE, graph["label"], "bold")
        height += LINE
    return (f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height:.0f}" font-family="sans-serif" '
            'font-size="12"><defs><marker id="arrow" viewBox="0 0 8 8" refX="8" refY="4" markerWidth="7" markerHeight="7" '
            'orient="auto"><path d="M0 0L8 4L0 8z" fill="#444"/></marker></defs><rect width="100%" height="100%" fill="white"/>'
            f'{drawn}</svg>\n')


def main():
    if len(sys.argv) != 2 or sys.argv[1] in ("-h", "--help"):
        print(__doc__.strip())
        sys.exit(0 if len(sys.argv) == 2 else 2)
    with open(sys.argv[1], encoding="utf-8") as file:
        sys.stdout.write(picture(json.load(file)))


if __name__ == "__main__":
    main()
