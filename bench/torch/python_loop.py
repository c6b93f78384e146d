# SPDX-License-Identifier: Apache-2.0
"""Training loops as one writes them with PyTorch eager: torch.nn, autograd and torch.optim.

What the worker of engine torch is measured against. The networks and settings are those of
workloads/lenet-caffe and workloads/resnet50 (small); the data is random and lies in memory.
usage: python_loop.py lenet-caffe|resnet50 THREADS WARM_UP_STEPS STEPS
"""
import sys
import time

import torch
from torch import nn
from torch.nn import functional


class LeNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv2d(1, 20, 5), nn.Conv2d(20, 50, 5)
        self.fc1, self.fc2 = nn.Linear(800, 500), nn.Linear(500, 10)

    def forward(self, x):
        x = functional.max_pool2d(self.conv1(x), 2)
        x = functional.max_pool2d(self.conv2(x), 2)
        return self.fc2(functional.relu(self.fc1(x.flatten(1))))


def conv_bn(inputs, outputs, kernel, stride=1):
    convolution = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2, bias=False)
    nn.init.kaiming_normal_(convolution.weight, mode="fan_out", nonlinearity="relu")
    return nn.Sequential(convolution, nn.BatchNorm2d(outputs))


class Bottleneck(nn.Module):
    def __init__(self, inputs, width, stride, project):
        super().__init__()
        self.reduce = conv_bn(inputs, width, 1)
        self.spatial = conv_bn(width, width, 3, stride)
        self.expand = conv_bn(width, 4 * width, 1)
        self.project = conv_bn(inputs, 4 * width, 1, stride) if project else None
        self.relu = nn.ReLU(inplace=True)

    def forward(self, x):
        shortcut = x if self.project is None else self.project(x)
        y = self.relu(self.spatial(self.relu(self.reduce(x))))
        y = self.expand(y)
        y += shortcut
        return self.relu(y)


class ResNet50(nn.Module):
    def __init__(self):
        super().__init__()
        self.stem = nn.Sequential(conv_bn(3, 64, 7, 2), nn.ReLU(inplace=True), nn.MaxPool2d(3, 2, 1))
        blocks, inputs = [], 64
        for stage, count in enumerate((3, 4, 6, 3)):
            width = 64 << stage
            for block in range(count):
                stride = 2 if stage > 0 and block == 0 else 1
                blocks.append(Bottleneck(inputs, width, stride, block == 0))
                inputs = 4 * width
        self.blocks = nn.Sequential(*blocks)
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.fc = nn.Linear(inputs, 10)

    def forward(self, x):
        return self.fc(self.pool(self.blocks(self.stem(x))).flatten(1))


def lenet_caffe():
    model = LeNet()
    weights = [p for n, p in model.named_parameters() if n.endswith("weight")]
    biases = [p for n, p in model.named_parameters() if n.endswith("bias")]
    groups = [{"params": weights, "multiplier": 1}, {"params": biases, "multiplier": 2}]
    optimizer = torch.optim.SGD(groups, lr=0.01, momentum=0.9, weight_decay=5e-4)
    return model, optimizer, lambda step: 0.01 * (1 + 1e-4 * step) ** -0.75, (64, 1, 28, 28)


def resnet50():
    model = ResNet50()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, weight_decay=1e-4)
    return model, optimizer, lambda step: 0.01, (8, 3, 64, 64)


def main():
    if len(sys.argv) != 5 or sys.argv[1] not in ("lenet-caffe", "resnet50"):
        sys.exit(__doc__)
    threads, warm_up, steps = map(int, sys.argv[2:])
    torch.set_num_threads(threads)
    torch.manual_seed(1)
    model, optimizer, rate, shape = resnet50() if sys.argv[1] == "resnet50" else lenet_caffe()
    criterion = nn.CrossEntropyLoss()
    batches = [(torch.rand(shape), torch.randint(10, shape[:1])) for _ in range(8)]
    for step in range(warm_up + steps):
        if step == warm_up:
            start = time.perf_counter()
        image, label = batches[step % len(batches)]
        for group in optimizer.param_groups:
            group["lr"] = rate(step) * group.get("multiplier", 1)
        optimizer.zero_grad(set_to_none=True)
        loss = criterion(model(image), label)
        loss.backward()
        optimizer.step()
        last = loss.item()
    seconds = time.perf_counter() - start
    print(f"{steps * shape[0] / seconds:.6g} samples/s, last loss {last:.4f}")


if __name__ == "__main__":
    main()
