"""A toy worker, and whom it pays: what every worker promises is shown on it, without any worker's own business."""
