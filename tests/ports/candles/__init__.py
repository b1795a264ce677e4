"""Sources of candles, and the file that is made of them."""
