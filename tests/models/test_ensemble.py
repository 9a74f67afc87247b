"""Ensembles of similarity matrices."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from fivesentences.errors import InputError
from fivesentences.models.ensemble import ensemble


def test_an_ensemble_is_the_mean_of_its_matrices():
    first, second = np.random.default_rng(0).normal(size=(2, 3, 15)).astype(np.float32)
    np.testing.assert_allclose(ensemble([first, second]), (first + second) / 2, rtol=1e-6)
    assert ensemble([first, torch.from_numpy(second)]).dtype == np.float32
    assert ensemble([first, second.astype(np.float64)]).dtype == np.float64
    np.testing.assert_array_equal(ensemble([first]), first)


@pytest.mark.parametrize("shapes", [[], [(2, 3), (3, 2)], [(4,), (4,)]])
def test_matrices_that_do_not_fit_are_refused(shapes):
    with pytest.raises(InputError, match="ensemble"):
        ensemble([np.zeros(shape) for shape in shapes])
