from benchopt import BaseDataset

from benchmarks.data import load_samples


class Dataset(BaseDataset):
    """Sets that come with scikit-learn, standardised."""

    name = "bundled"
    requirements = ["pip::qpsvm"]

    parameters = {"set": ["breast_cancer", "digits"]}
    test_parameters = {"set": ["breast_cancer"]}

    def get_data(self):
        samples = load_samples(self.set)
        return {"X": samples.X, "y": samples.y}
