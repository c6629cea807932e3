# SPDX-License-Identifier: Apache-2.0
"""Fused and quantized collectives against a reference in double, within the bounds that their
headers state. PEs compare the bits of what all of them get."""
import math
import zlib

import meshmem
import pytest
import torch
import torch.distributed as dist
from hypothesis import strategies as st
from meshmem.torch import AllReduceNorm, Quantized
from on_all_pes import on_all_pes
from torch.autograd import forward_ad

WORLD = meshmem.TEAM_WORLD
NORM_DTYPES = [torch.float16, torch.bfloat16]
DTYPES = [torch.float32, *NORM_DTYPES]
WIRES = ["int8", "e4m3", "e5m2"]
EPS = 1e-5
KINDS = ["plain", "outliers", "tiny", "sparse"]
STAGES = [32 << 10, 1 << 20]
MADE = {}  # (class, stage_bytes): one of all PEs


@pytest.fixture(autouse=True, scope="module")
def made(device):
    """Makes those of all PEs, which all tests share. PEs on other machines are refused."""
    if meshmem.TEAM_SHARED.n_pes() == meshmem.n_pes():
        for kind in (AllReduceNorm, Quantized):
            for stage_bytes in STAGES:
                MADE[kind, stage_bytes] = kind(WORLD, stage_bytes=stage_bytes)
    yield
    for one in MADE.values():
        one.close()
    MADE.clear()


@pytest.fixture
def norm():
    return made_of(AllReduceNorm)


@pytest.fixture
def quantized():
    return made_of(Quantized)


def made_of(kind, stage_bytes=STAGES[-1]):
    if not MADE:
        pytest.skip("PEs on several machines")
    return MADE[kind, stage_bytes]


# ---- Values, which all PEs know of all

def values(seed, shape, kind="plain"):
    """In double, on the CPU."""
    generator = torch.Generator().manual_seed(seed)
    drawn = torch.rand(shape, generator=generator, dtype=torch.float64, device="cpu") * 2 - 1
    rare = torch.rand(shape, generator=generator, device="cpu") < 1 / 61
    if kind == "outliers":
        return torch.where(rare, 1000 * drawn, drawn / 8)
    if kind == "tiny":
        return torch.ldexp(drawn, torch.where(rare, -14, -20))
    return drawn * rare if kind == "sparse" else drawn


def rounded(seed, shape, dtype, kind="plain"):
    return values(seed, shape, kind).to(torch.get_default_device(), dtype)


def wide(tensor):
    return tensor.cpu().double()


def ulp(dtype):
    """Half of the distance of 1 from the number after it."""
    return torch.finfo(dtype).eps / 2


def same_on(pes, *tensors):
    """Whether these PEs have the same bits. All PEs of the job call it."""
    digest = 0
    for tensor in tensors:
        digest = zlib.crc32(tensor.cpu().reshape(-1).view(torch.uint8).numpy().tobytes(), digest)
    found = torch.zeros(meshmem.n_pes(), dtype=torch.int64, device="cpu")
    dist.all_gather_into_tensor(found, torch.tensor([digest], device="cpu"))
    return len({int(found[pe]) for pe in pes}) == 1


# ---- AllReduceNorm

def check_norm(layer, pes, shape, dtype, seed=0, how="new"):
    """how: "new" tensors, given ones ("out"), or those of the arguments ("in place")."""
    me = meshmem.my_pe()
    x, residual = (rounded(100 * seed + source, shape, dtype) for source in (me, 90))
    weight = rounded(100 * seed + 91, shape[-1:], dtype)
    out = {"new": None, "in place": (x, residual),
           "out": (torch.full_like(x, 9), torch.full_like(x, 9))}[how]
    terms = [wide(rounded(100 * seed + source, shape, dtype)) for source in (90, *pes)]
    y, new_residual = layer(x, residual, weight, EPS, out=out)
    assert out is None or (y is out[0] and new_residual is out[1])
    assert y.dtype == new_residual.dtype == dtype and y.shape == new_residual.shape == shape
    total, sizes = sum(terms), sum(term.abs() for term in terms)
    of_float = (len(pes) + 2) * 2.0**-24
    found = wide(new_residual)
    assert ((found - total).abs() <= total.abs() * ulp(dtype) + 2 * sizes * of_float + 1e-7).all()
    normalized = found / (found.square().mean(-1, keepdim=True) + EPS).sqrt() * wide(weight)
    bound = normalized.abs() * (ulp(dtype) + 1e-5) + 1e-7
    assert ((wide(y) - normalized).abs() <= bound).all()
    return y, new_residual


@on_all_pes(dtype=st.sampled_from(NORM_DTYPES), stage_bytes=st.sampled_from(STAGES),
            rows=st.lists(st.integers(0, 5), max_size=3), units=st.integers(1, 130),
            seed=st.integers(0, 1000), how=st.sampled_from(["new", "out", "in place"]),
            max_examples=25)
def test_norms_of_drawn_shapes(dtype, stage_bytes, rows, units, seed, how):
    found = check_norm(made_of(AllReduceNorm, stage_bytes), range(meshmem.n_pes()),
                       (*rows, 8 * units), dtype, seed, how)
    assert same_on(range(meshmem.n_pes()), *found)


@pytest.mark.parametrize("shape", [(8,), (2, 16384), (197, 2040)])
@pytest.mark.parametrize("dtype", NORM_DTYPES)
def test_norm_of_large_shapes(norm, shape, dtype, n):
    """The last is in two shots where there are more than two PEs."""
    assert same_on(range(n), *check_norm(norm, range(n), shape, dtype))


def test_a_row_has_the_same_bits_in_every_batch(norm, me, n):
    x, residual = rounded(me, (200, 512), torch.half), rounded(90, (200, 512), torch.half)
    weight = rounded(91, (512,), torch.half)
    whole = norm(x, residual, weight, EPS)
    alone = norm(x[123], residual[123], weight, EPS)
    assert all(part.equal(all_rows[123]) for part, all_rows in zip(alone, whole))


def test_norms_follow_each_other(norm, quantized, n):
    """The result of a step is what the next one adds; without a pause, and with another kind of
    collective between them."""
    layers = [norm, made_of(AllReduceNorm, STAGES[0])]
    x, residual = rounded(1, (5, 256), torch.bfloat16), rounded(2, (5, 256), torch.bfloat16)
    weight = torch.ones(256, dtype=torch.bfloat16)
    wanted = wide(residual)
    for step in range(40):
        before = wide(x)
        x, residual = layers[step % 2](x, residual, weight, EPS, out=(x, residual))
        wanted = (wanted + n * before).to(torch.bfloat16).double()
        assert torch.allclose(wide(residual), wanted, 2 * ulp(torch.bfloat16))
        wanted = wide(residual)
        gathered = quantized.all_gather(torch.full((3,), step + 1.0), "int8")
        assert torch.allclose(gathered, torch.tensor(step + 1.0))
    assert same_on(range(n), x, residual)


# ---- Quantized

def blocks_most(v):
    """The largest magnitude in the block of each element of [..., count]."""
    count = v.shape[-1]
    if count == 0:
        return v
    padded = torch.nn.functional.pad(v.abs(), (0, -count % 128))
    most = padded.reshape(*v.shape[:-1], -1, 128).amax(-1)
    return most.repeat_interleave(128, -1)[..., :count]


def change(wire, v, most):
    """By how much an element v of a block with this largest magnitude may change."""
    most = most.clamp(min=2.0**-110)
    return most * 2.0**-20 + (most / 254 if wire == "int8" else
                              v.abs() / 16 + most * 2.0**-18 if wire == "e4m3" else
                              v.abs() / 8 + most * 2.0**-32)


def check_within(found, dtype, wire, terms, receiver, is_sent):
    """terms: [PEs, count], which travel to PE receiver, a number or one for each element. is_sent:
    the sum travels too."""
    value = terms.sum(0)
    travels = torch.arange(len(terms)).cpu()[:, None] != receiver
    bound = (change(wire, terms, blocks_most(terms)) * travels + terms.abs() * 2.0**-21).sum(0)
    most = blocks_most(value.abs() + bound)
    size = value.abs() + bound
    if is_sent:
        bound = bound + change(wire, size, most)
    bound = bound + (size + most / 16) * ulp(dtype)
    bound = bound + (2.0**-25 if dtype == torch.half else 1e-40)
    assert found.dtype == dtype and ((wide(found).reshape(-1) - value).abs() <= bound).all()


def check_quantized(quantized, pes, operation, shape, dtype, wire, kind="plain", seed=0,
                    how="new"):
    """shape: of a PE's share. Returns what all PEs have alike."""
    n, me = len(pes), pes.index(meshmem.my_pe())
    whole, count = (shape[0] * n, *shape[1:]), math.prod(shape)
    given = whole if operation == "reduce_scatter" else shape
    result = whole if operation == "all_gather" else shape
    terms = torch.stack([wide(rounded(100 * seed + pe, given, dtype, kind)).reshape(-1)
                         for pe in pes])
    tensor, out = rounded(100 * seed + pes[me], given, dtype, kind), None
    mine = slice(me * shape[0], (me + 1) * shape[0])
    if how == "out":
        out = torch.full(result, 9, dtype=dtype)
    elif how == "in place" and operation == "all_gather":
        out = torch.full(result, 9, dtype=dtype)
        tensor = out[mine].copy_(tensor)
    elif how == "in place":
        out = tensor if operation == "all_reduce" else tensor[mine]
    found = getattr(quantized, operation)(tensor, wire, out=out)
    assert found.shape == result and (out is None or found is out)
    if operation == "all_reduce":
        share = max(1, -(-(-(-count // 128)) // n) * 128)
        check_within(found, dtype, wire, terms, torch.arange(count).cpu() // share, True)
        return [found]
    if operation == "reduce_scatter":
        check_within(found, dtype, wire, terms[:, me * count:(me + 1) * count], me, False)
        return []
    for pe in range(n):
        check_within(found[pe * shape[0]:(pe + 1) * shape[0]], dtype, wire, terms[pe:pe + 1], -1,
                     False)
    return [found]


OPERATIONS = ["all_reduce", "reduce_scatter", "all_gather"]


@on_all_pes(operation=st.sampled_from(OPERATIONS), dtype=st.sampled_from(DTYPES),
            wire=st.sampled_from(WIRES), stage_bytes=st.sampled_from(STAGES),
            shape=st.lists(st.integers(0, 50), min_size=1, max_size=3),
            kind=st.sampled_from(KINDS), seed=st.integers(0, 1000),
            how=st.sampled_from(["new", "out", "in place"]), max_examples=50)
def test_quantized_of_drawn_shapes(operation, dtype, wire, stage_bytes, shape, kind, seed, how):
    pes = list(range(meshmem.n_pes()))
    same = check_quantized(made_of(Quantized, stage_bytes), pes, operation, tuple(shape), dtype,
                           wire, kind, seed, how)
    assert same_on(pes, *same)


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.parametrize("wire", WIRES)
def test_quantized_of_many_elements(quantized, operation, wire, n):
    same = check_quantized(quantized, list(range(n)), operation, (200_003,), torch.bfloat16, wire)
    assert same_on(range(n), *same)


@pytest.mark.parametrize("wire", WIRES)
def test_a_block_with_an_infinity_becomes_nans(quantized, wire, me, n):
    tensor = torch.ones(384)
    tensor[200] = math.inf if me == n - 1 else 0
    nan = quantized.all_gather(tensor, wire).view(n, 3, 128).isnan()
    assert nan[n - 1, 1].all() and not nan[:n - 1].any() and not nan[n - 1, ::2].any()


# ---- Both

def test_a_part_of_the_pes(me, n):
    """A team of every second PE, then a process group, each without the others."""
    made_of(Quantized)
    pes = list(range(0, n, 2))
    for team in (WORLD.split_strided(0, 2, len(pes)), dist.new_group(pes)):
        with AllReduceNorm(team, stage_bytes=1 << 16) as norm, Quantized(team) as quantized:
            found = []
            if me in pes:
                found += check_norm(norm, pes, (3, 264), torch.half)
                found += check_quantized(quantized, pes, "all_reduce", (300,), torch.half, "e4m3")
            else:
                tensor = torch.ones(8, dtype=torch.half)
                for call in (lambda: norm(tensor, tensor, tensor, EPS),
                             lambda: quantized.all_reduce(tensor, "int8")):
                    with pytest.raises(ValueError, match="^team: this PE is not in it"):
                        call()
            assert same_on(pes, *found)


def test_a_graph(norm, quantized, device, me, n):
    """Which is replayed with other values."""
    if device.type == "cpu":
        pytest.skip("a graph needs a GPU")
    x, residual = torch.ones(4, 64).bfloat16(), torch.zeros(4, 64).bfloat16()
    weight = torch.ones(64).bfloat16()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y, total = norm(x, residual, weight, 0.0)
        sums = quantized.all_reduce(total.float(), "int8")
    for step in range(1, 4):
        x.fill_(step)
        graph.replay()
        assert total.eq(n * step).all() and y.eq(1).all()
        assert torch.allclose(sums, torch.tensor(float(n * n * step)))
    torch.cuda.synchronize()


def test_gradients(norm, quantized):
    """The calls have none, and say so. Nor do they change what autograd has saved unnoticed."""
    ones = torch.ones(2, 8).bfloat16()
    factor = ones.clone().requires_grad_()
    with pytest.raises(ValueError, match="^residual: it requires a gradient, which AllReduceNorm"):
        norm(ones, factor, ones[0], EPS)
    with pytest.raises(ValueError, match="^tensor: it requires a gradient, which Quantized"):
        quantized.all_reduce(factor, "int8")
    with torch.no_grad():
        quantized.all_reduce(factor, "int8")
    with forward_ad.dual_level():
        with pytest.raises(ValueError, match="^tensor: it has a forward-mode gradient"):
            quantized.all_reduce(forward_ad.make_dual(ones, ones), "int8")
    kept = [ones.clone() for _ in range(3)]
    losses = [(tensor * factor).sum() for tensor in kept]
    norm(ones, ones, ones[0], EPS, out=(kept[0], kept[1]))
    quantized.all_reduce(ones, "int8", out=kept[2])
    for loss in losses:
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            loss.backward()


def test_mistakes(norm, quantized, me, n):
    x = torch.ones(3, 16).half()
    weight, more, pieces = x[0].clone(), torch.ones(3 * 16 + 8).half(), torch.ones(2 * n + 1, 3)
    unaligned = more[4:52].view(3, 16)
    ones = torch.ones(3, 16)
    for error, text, call in (
            (TypeError, "x: its dtype is Float, but Half or BFloat16 is needed",
             lambda: norm(ones, ones, ones[0], EPS)),
            (TypeError, "x: on meta", lambda: norm(x.to("meta"), x, weight, EPS)),
            (TypeError, "x: a dense tensor is needed",
             lambda: norm(x.to_sparse(), x, weight, EPS)),
            (ValueError, "x: not contiguous",
             lambda: norm(torch.ones(16, 3).half().t(), x, weight, EPS)),
            (ValueError, "x: rows of 12 elements, but a multiple of 8 up to 16384 is needed",
             lambda: norm(x[:, :12].contiguous(), x, weight, EPS)),
            (ValueError, "x: rows of 0 elements", lambda: norm(x[0, 0], x, weight, EPS)),
            (ValueError, "x: rows of 16392 elements",
             lambda: norm(torch.ones(16392).half(), x, weight, EPS)),
            (ValueError, "eps: -1 is not", lambda: norm(x, x, weight, -1)),
            (ValueError, "eps: nan is not", lambda: norm(x, x, weight, math.nan)),
            (ValueError, "eps: inf is not", lambda: norm(x, x, weight, math.inf)),
            (ValueError, r"eps: 1e\+300 is not", lambda: norm(x, x, weight, 1e300)),
            (TypeError, "residual: NoneType is no Tensor", lambda: norm(x, None, weight, EPS)),
            (TypeError, "y: int is no Tensor", lambda: norm(x, x, weight, EPS, out=(1, x))),
            (TypeError, "wire: NoneType is no str", lambda: quantized.all_reduce(ones, None)),
            (ValueError, "tensor: a view whose values are computed",
             lambda: quantized.all_reduce(torch.complex(ones[0, 0], ones[0, 0]).conj().imag[None],
                                          "int8")),
            (TypeError, "residual: its dtype is BFloat16, but Half is needed",
             lambda: norm(x, x.bfloat16(), weight, EPS)),
            (ValueError, r"residual: its shape is \[2, 16\], but \[3, 16\] is needed",
             lambda: norm(x, x[:2], weight, EPS)),
            (ValueError, r"weight: its shape is \[3, 16\], but \[16\]",
             lambda: norm(x, x, x, EPS)),
            (TypeError, "y: its dtype", lambda: norm(x, x, weight, EPS, out=(ones, x.clone()))),
            (ValueError, "new_residual: its shape",
             lambda: norm(x, x, weight, EPS, out=(x.clone(), weight))),
            (RuntimeError, "AllReduceNorm: y and new_residual overlap",
             lambda: norm(x, x.clone(), weight, EPS, out=(x, x))),
            (RuntimeError, "AllReduceNorm: .* is at .*, not aligned to 16 bytes",
             lambda: norm(unaligned, x, weight, EPS)),
            (TypeError, "tensor: its dtype is Double, but Half, BFloat16 or Float is needed",
             lambda: quantized.all_reduce(ones.double(), "int8")),
            (TypeError, "tensor: on meta", lambda: quantized.all_reduce(ones.to("meta"), "int8")),
            (ValueError, "tensor: not contiguous",
             lambda: quantized.all_reduce(ones.t(), "int8")),
            (ValueError, "wire: 'fp8' is not int8, e4m3 or e5m2",
             lambda: quantized.all_reduce(ones, "fp8")),
            (ValueError, "tensor: it has no dimension",
             lambda: quantized.all_gather(ones[0, 0], "int8")),
            (TypeError, "out: its dtype is Half, but Float",
             lambda: quantized.all_reduce(ones, "int8", out=x)),
            (ValueError, r"out: its shape is \[3, 15\], but \[3, 16\] is needed",
             lambda: quantized.all_reduce(ones, "int8", out=ones[:, :15].contiguous())),
            (ValueError, "out: its shape",
             lambda: quantized.all_gather(ones, "int8", out=torch.ones(3 * n + 1, 16))),
            (RuntimeError, "Quantized: recv and send overlap",
             lambda: quantized.all_reduce(pieces.view(-1)[:3], "int8",
                                          out=pieces.view(-1)[1:4]))):
        with pytest.raises(error, match=f"^{text}") as raised:
            call()
        assert "\n" not in str(raised.value)
    if n > 1:
        with pytest.raises(ValueError, match="^tensor: .* PEs cannot share .* equally"):
            quantized.reduce_scatter(pieces, "int8")
    assert norm(x, x, weight, 0.0)[1].eq(n + 1).all()  # the mistakes have sent nothing
    assert torch.allclose(quantized.all_reduce(ones, "int8"), torch.tensor(float(n)))


def test_mistakes_when_made(me, n):
    for kind in (AllReduceNorm, Quantized):
        with pytest.raises(TypeError, match="^team: int is neither a Team nor"):
            kind(0)
        with pytest.raises(TypeError, match="^stage_bytes: float is no int"):
            kind(WORLD, stage_bytes=1e6)
        for wrong, error, text in ((0, ValueError, "stage_bytes: 0 is not positive"),
                                   (-3, ValueError, "stage_bytes: -3 is not positive"),
                                   (1 << 50, RuntimeError, "Stage: no .* symmetric device memory"),
                                   (8 + me if n > 1 else 0, ValueError, "stage_bytes: ")):
            with pytest.raises(error, match=f"^{text}"):
                kind(WORLD, stage_bytes=wrong)
    if n > 1:
        with pytest.raises(RuntimeError, match="^Quantized: it failed on another PE" if me else
                           "^Stage: no .* memory"):
            Quantized(WORLD.split_strided(0, 1, 1), stage_bytes=1 << 50)
    small = made_of(Quantized, STAGES[0])
    with AllReduceNorm(WORLD, stage_bytes=1) as layer:
        with pytest.raises(RuntimeError, match="^AllReduceNorm: the stage has no place for a row"):
            layer(*(torch.ones(256).half() for _ in range(3)), EPS)
    assert torch.allclose(small.all_reduce(torch.ones(9), "int8"), torch.tensor(float(n)))


def test_pes_on_other_machines(me, n):
    near = meshmem.TEAM_SHARED.n_pes()
    if near == n:
        pytest.skip("all PEs are on one machine")
    for kind in (AllReduceNorm, Quantized):
        with pytest.raises(RuntimeError, match="^Stage: kernels do not reach PE . of the team"):
            kind(WORLD)
        ends = dist.new_group([0, n - 1])
        text = "^Stage: kernels do not" if me in (0, n - 1) else "it failed on another PE"
        with pytest.raises(RuntimeError, match=text):
            kind(ends)
    with Quantized(meshmem.TEAM_SHARED) as quantized:
        found = quantized.all_reduce(torch.ones(9), "int8")
        assert torch.allclose(found, torch.tensor(float(near)))


def test_no_more_teams(me):
    """On PE 0. All PEs raise."""
    teams = [WORLD.split_strided(0, 1, 1)]
    with pytest.raises(RuntimeError, match="^team: the library has no more"):
        while True:
            teams.append(WORLD.split_strided(0, 1, 1))
    with pytest.raises(RuntimeError, match="^Quantized: " + ("it failed on" if me else
                                                             "the library has no more teams")):
        Quantized(teams[0])
    for team in teams:
        if team:
            team.destroy()


def test_the_end(norm, n):
    with AllReduceNorm(WORLD, stage_bytes=1 << 16) as layer:
        pass
    x = torch.ones(8).half()
    for call in (layer.close, lambda: layer(x, x, x, EPS)):
        with pytest.raises(ValueError, match="^AllReduceNorm: closed"):
            call()
    with pytest.raises(KeyError):
        with Quantized(WORLD) as quantized:
            raise KeyError  # other PEs may not come to the end
    quantized.close()
    for _ in range(70):  # more than there are teams at a time
        Quantized(WORLD, stage_bytes=1 << 16).close()
