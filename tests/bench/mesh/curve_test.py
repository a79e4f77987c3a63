"""The rule that tells when a target was reached."""
import unittest

import curve


def line(count, every=10, slope=0.001, seconds_a_step=2.0):
    return [(s, s * seconds_a_step, s * slope) for s in range(every, every * count + 1, every)]


class Reached(unittest.TestCase):
    def test_a_straight_line_crosses_where_it_does(self):
        steps, seconds = curve.reached(line(20), 0.085, 20)
        self.assertAlmostEqual(steps, 85)
        self.assertAlmostEqual(seconds, 170)

    def test_one_high_evaluation_is_no_crossing(self):
        points = line(9)
        points[3] = (points[3][0], points[3][1], 0.2)
        self.assertIsNone(curve.reached(points, 0.15, 20))

    def test_the_last_evaluations_wait_for_what_follows(self):
        self.assertIsNone(curve.reached(line(10), 0.09, 20))
        self.assertIsNotNone(curve.reached(line(11), 0.09, 20))

    def test_evaluations_that_are_far_apart_count_alone(self):
        points = [(32, 1.0, 0.1), (64, 2.0, 0.4), (96, 3.0, 0.2)]
        self.assertEqual(curve.reached(points, 0.4, 20), (64, 2.0))

    def test_no_evaluation_is_no_crossing(self):
        self.assertIsNone(curve.reached([], 0.1, 20))
        self.assertEqual(curve.best([], 20), 0.0)

    def test_the_best_is_smoothed(self):
        self.assertAlmostEqual(curve.best(line(10), 20), 0.08)


class Median(unittest.TestCase):
    def test_of_odd_and_even_counts(self):
        self.assertEqual(curve.median([3, 1, 2]), 2)
        self.assertEqual(curve.median([4, 1, 2, 3]), 2.5)


if __name__ == "__main__":
    unittest.main()
