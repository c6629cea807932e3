# SPDX-License-Identifier: Apache-2.0
"""Trains a classifier of handwritten digits on all PEs at once: each PE has a share of the images,
and a reduction adds the gradients. `python3 -m meshmem.run -n 4 train_digits.py [EPOCHS]`

All PEs have the same model at all times: they start with the same one, and change it by the same
sums."""
import pathlib
import sys
import time

import meshmem
import numpy as np
from numpy.typing import NDArray

DATA = pathlib.Path(__file__).parents[2] / "examples" / "data" / "digits.csv"
HIDDEN, BATCH, RATE, MOMENTUM = 128, 64, 0.2, 0.9
Floats = NDArray[np.float32]


class Classifier:
    """One hidden layer (ReLU), softmax and cross entropy. The parameters are one array, of which
    the layers are views."""

    def __init__(self, seed: int) -> None:
        self.shapes = ((HIDDEN, 64), (HIDDEN,), (10, HIDDEN), (10,))
        self.parameters = np.zeros(sum(map(np.prod, self.shapes)), np.float32)
        self.velocity = np.zeros_like(self.parameters)
        random = np.random.default_rng(seed)
        for weights in self.layers(self.parameters)[::2]:
            limit = np.sqrt(6 / weights.shape[1])
            weights[:] = random.uniform(-limit, limit, weights.shape)

    def layers(self, flat: Floats) -> list[Floats]:
        ends = np.cumsum([np.prod(shape) for shape in self.shapes])
        return [part.reshape(shape)
                for part, shape in zip(np.split(flat, ends[:-1]), self.shapes)]

    def forward(self, pixels: Floats) -> tuple[Floats, Floats]:
        first, bias1, second, bias2 = self.layers(self.parameters)
        active = np.maximum(pixels @ first.T + bias1, 0)
        scores = active @ second.T + bias2
        scores = np.exp(scores - scores.max(axis=1, keepdims=True))
        return active, scores / scores.sum(axis=1, keepdims=True)

    def add_gradient(self, pixels: Floats, digits: NDArray[np.int64], gradient: Floats) -> float:
        """Adds the gradient of the sum of the losses, and returns that sum."""
        active, error = self.forward(pixels)
        rows = np.arange(len(digits))
        loss = -np.log(np.maximum(error[rows, digits], 1e-30)).sum()
        error[rows, digits] -= 1
        first, bias1, second, bias2 = self.layers(gradient)
        back = (error @ self.layers(self.parameters)[2]) * (active > 0)
        first += back.T @ pixels
        bias1 += back.sum(axis=0)
        second += error.T @ active
        bias2 += error.sum(axis=0)
        return float(loss)

    def descend(self, gradient: Floats, rate: float) -> None:
        self.velocity *= MOMENTUM
        self.velocity -= np.float32(rate) * gradient
        self.parameters += self.velocity


def read_images() -> tuple[Floats, NDArray[np.int64]]:
    table = np.loadtxt(DATA, delimiter=",", dtype=np.int64)
    return (table[:, :64] / 16).astype(np.float32), table[:, 64]


def main() -> None:
    epochs = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    meshmem.init()
    me, n = meshmem.my_pe(), meshmem.n_pes()
    pixels, digits = read_images()
    is_test = np.arange(len(digits)) % 6 == 5
    train = np.flatnonzero(~is_test)
    test = np.flatnonzero(is_test)[me::n]  # this PE's share

    model = Classifier(seed=1)
    n_numbers = len(model.parameters) + 1  # the loss follows the gradient
    mine = meshmem.zeros(n_numbers, np.float32)
    # Two, used in turn: a PE that is ahead may begin the next sum while another reads the last.
    sums = [meshmem.zeros(n_numbers, np.float32) for _ in range(2)]
    right, all_right = meshmem.zeros(1, np.int64), meshmem.zeros(1, np.int64)
    begin = time.perf_counter()
    n_sums = 0
    for epoch in range(1, epochs + 1):
        order = np.random.default_rng(epoch).permutation(train)  # the same on all PEs
        loss = 0.0
        for first in range(0, len(order), BATCH):
            batch = order[first:first + BATCH]
            share = batch[me::n]
            mine.local[:] = 0
            mine.local[-1] = model.add_gradient(pixels[share], digits[share], mine.local[:-1])
            total = sums[n_sums % 2]
            meshmem.TEAM_WORLD.sum(total, mine)
            n_sums += 1
            model.descend(total.local[:-1], RATE / len(batch))
            loss += float(total.local[-1])
        guesses = model.forward(pixels[test])[1].argmax(axis=1)
        right[0] = np.count_nonzero(guesses == digits[test])
        meshmem.TEAM_WORLD.sum(all_right, right)
        if me == 0:
            accuracy = 100 * all_right.local[0] / np.count_nonzero(is_test)
            print(f"epoch {epoch:3}  loss {loss / len(train):.4f}  held out {accuracy:.2f} %")
    report(n, epochs * len(train), n_sums, time.perf_counter() - begin)


def report(n: int, n_images: int, n_sums: int, seconds: float) -> None:
    if meshmem.my_pe() == 0:
        print(f"{n} PEs, {n_sums} sums: {seconds:.2f} s, {n_images / seconds:.1f} images/s")


if __name__ == "__main__":
    main()
