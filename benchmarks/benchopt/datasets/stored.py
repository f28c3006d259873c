from benchopt import BaseDataset

from benchmarks.data import load_samples


class Dataset(BaseDataset):
    """Sets of the folder that the environment variable QPSVM_DATA names."""

    name = "stored"
    requirements = ["pip::qpsvm"]

    parameters = {"set": ["a9a", "covtype20k", "ijcnn1", "madelon", "phishing", "splice", "w8a"]}
    test_parameters = {"set": ["splice"]}

    def get_data(self):
        samples = load_samples(self.set)
        return {"X": samples.X, "y": samples.y}
