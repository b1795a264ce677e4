"""The pure core: decisions on runs, without a world around them."""
