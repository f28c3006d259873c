from benchopt import BaseDataset

from benchmarks.data import load_samples


class Dataset(BaseDataset):
    """Two overlapping classes."""

    name = "simulated"
    requirements = ["pip::qpsvm"]

    parameters = {"n, d": [(1000, 20), (10000, 50)]}
    test_parameters = {"n, d": [(60, 4)]}

    def get_data(self):
        seed = self.get_seed(use_repetition=True)
        samples = load_samples(f"synthetic(d={self.d}, n={self.n}, seed={seed})")
        return {"X": samples.X, "y": samples.y}
