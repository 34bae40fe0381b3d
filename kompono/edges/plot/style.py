"""How pictures look: colours everyone can tell apart, sizes that fit a page, thin axes; the same in all formats."""

from __future__ import annotations

# Okabe and Ito's colours, told apart by everyone; yellow left out as too light for a line.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000", "#8A6D3B")
DASHES = ("-", "--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (8, 2)), (0, (1, 3)), (0, (3, 1)))
STYLE = {
    "font.size": 9,
    "agg.path.chunksize": 10_000,  # longer lines than this are too much at once
    "axes.titlesize": 9,
    "axes.labelsize": 9,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.alpha": 0.3,
    "grid.linewidth": 0.5,
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.formatter.use_mathtext": True,
    "axes.formatter.limits": (-4, 5),
    "figure.titlesize": 10,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "legend.handlelength": 1.8,
    "lines.linewidth": 1.2,
    "pdf.fonttype": 42,
    "svg.hashsalt": "kompono",
}
WIDTH = 7.2  # inches, the text of a page
