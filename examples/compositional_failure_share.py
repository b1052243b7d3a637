"""What composing loses, from published averages: python examples/compositional_failure_share.py"""

from __future__ import annotations

from robodx.analysis.metrics.composition import compositional_failure_share

# ATOM-Bench, table 2, in percent: process success rate, atomic score and compositional failure share.
PUBLISHED = {
    "Franka Panda": {
        "Pi0.5": (30.4, 83.3, 73.7),
        "Motus": (26.5, 69.3, 49.4),
        "LingBot-VLA": (12.1, 60.3, 54.5),
        "GROOT N1.6": (11.6, 66.3, 61.2),
        "SmolVLA": (6.6, 33.3, 28.3),
    },
    "Cobot Magic": {
        "Pi0.5": (42.6, 79.5, 56.8),
        "Motus": (31.5, 68.5, 48.3),
        "LingBot-VLA": (24.4, 47.2, 29.3),
        "GROOT N1.6": (13.7, 48.2, 38.8),
        "SmolVLA": (6.3, 32.5, 27.3),
    },
}


def main() -> None:
    print(f"{'robot':14}{'model':14}{'PSR':>6}{'AS':>6}{'CFS of averages':>18}{'CFS published':>16}")
    for robot, models in PUBLISHED.items():
        for model, (psr, atomic, published) in models.items():
            share = compositional_failure_share(atomic / 100, psr / 100)
            text = "—" if share is None else f"{100 * share:.1f}"
            print(f"{robot:14}{model:14}{psr:6.1f}{atomic:6.1f}{text:>18}{published:16.1f}")
    print(
        "They differ because the published share is taken task by task and then averaged, which a table of averages\n"
        "cannot give back: a task's share is a ratio, and it is cut off at zero where the composition beats its atoms."
    )


if __name__ == "__main__":
    main()
