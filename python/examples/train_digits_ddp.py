# SPDX-License-Identifier: Apache-2.0
"""Trains a classifier of handwritten digits with PyTorch's DistributedDataParallel.
`python3 -m meshmem.run -n 4 train_digits_ddp.py [EPOCHS [BACKEND]]`"""
import pathlib
import sys
import time

import numpy as np
import torch
import torch.distributed as dist
from torch import nn

DATA = pathlib.Path(__file__).parents[2] / "examples" / "data" / "digits.csv"
BATCH = 64


def main() -> None:
    epochs = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    dist.init_process_group(sys.argv[2] if len(sys.argv) > 2 else "meshmem")
    me, n = dist.get_rank(), dist.get_world_size()
    torch.set_num_threads(1)
    torch.manual_seed(1)
    table = torch.from_numpy(np.loadtxt(DATA, delimiter=",", dtype=np.int64))
    pixels, digits = table[:, :64] / 16, table[:, 64]
    is_test = torch.arange(len(digits)) % 6 == 5
    train, test = (~is_test).nonzero()[:, 0], is_test.nonzero()[:, 0][me::n]

    model = nn.parallel.DistributedDataParallel(
        nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10)))
    optimizer = torch.optim.SGD(model.parameters(), 0.1, momentum=0.9)
    begin = time.perf_counter()
    for epoch in range(1, epochs + 1):
        order = train[torch.randperm(len(train), generator=torch.Generator().manual_seed(epoch))]
        for batch in order.split(BATCH):
            share = batch[me::n]
            optimizer.zero_grad()
            nn.functional.cross_entropy(model(pixels[share]), digits[share]).backward()
            optimizer.step()
        right = (model(pixels[test]).argmax(1) == digits[test]).sum()
        dist.all_reduce(right)
        if me == 0:
            print(f"epoch {epoch:3}  held out {100 * int(right) / int(is_test.sum()):.2f} %")
    seconds = time.perf_counter() - begin
    if me == 0:
        print(f"{n} ranks: {seconds:.2f} s, {epochs * len(train) / seconds:.1f} images/s")
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
