"""A chart from candles: figures (`indicators`), what is shown (`studies`), where (`scales`), in colours (`themes`).

`figure` puts it together, `marks` draws on a `sheet`, and `canvas` alone knows Pillow. Everything is a function of the
candles and the template: the same request gives the same bytes, so that two attempts cannot disagree.
"""
