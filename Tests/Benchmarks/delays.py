"""How the scripts tell measured delays."""


def told(seconds) -> str:
    """Returns the median, the 99th percentile and the longest of some delays, as text in milliseconds."""
    ordered = sorted(seconds)
    p50, p99 = (ordered[min(len(ordered) - 1, int(len(ordered) * share))] * 1000 for share in (0.5, 0.99))
    return f"p50 {p50:.2f} ms, p99 {p99:.2f} ms, max {ordered[-1] * 1000:.1f} ms"
