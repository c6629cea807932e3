# SPDX-License-Identifier: Apache-2.0
"""Rounds of expert parallelism, compared bit by bit with plain loops. All numbers are small whole
ones or eighths, so sums of floats are exact in any order."""
import types

import meshmem
import pytest
import torch
import torch.distributed as dist
from meshmem.torch import Experts

FP8 = torch.float8_e4m3fn
WORLD = meshmem.TEAM_WORLD
pytestmark = pytest.mark.usefixtures("device")


def whole(seed, low, high, *sizes):
    """Random numbers, the same on all devices."""
    generator = torch.Generator().manual_seed(seed)
    made = torch.randint(low, high + 1, sizes, generator=generator, device="cpu")
    return made.to(torch.get_default_device())


class Layer:
    """Experts over some PEs, and all that these PEs have in each round."""

    def __init__(self, team, pes, **options):
        shape = {"hidden": 24, "top_k": 2, "experts": 2 * len(pes) + 1, "max_tokens": 9,
                 "dtype": torch.float32, "capacity": 0, **options}
        self.pes, self.shape = pes, types.SimpleNamespace(**shape)
        self.moe = Experts(team, **shape)
        default = torch.bfloat16 if self.shape.dtype == FP8 else self.shape.dtype
        self.result_dtype = options.get("result_dtype", default)

    def given(self, turn, pe):
        """Some tokens, all or none. A quarter of the choices is -1, and one expert has no row."""
        s, seed = self.shape, 100 * turn + 10 * pe
        n = [0, s.max_tokens, int(whole(seed, 0, s.max_tokens, 1))][(turn + pe) % 3]
        indices = whole(seed + 1, 0, s.experts - 1, n, s.top_k)
        indices[(whole(seed + 2, 0, 3, n, s.top_k) == 0) | (indices == s.experts // 2)] = -1
        return types.SimpleNamespace(
            n=n, indices=indices.to(torch.int32),
            tokens=whole(seed + 3, -8, 8, n, s.hidden).to(s.dtype),
            weights=whole(seed + 4, -8, 8, n, s.top_k) / 8,
            scales=whole(seed + 5, 1, 4, n, -(-s.hidden // 128)).float())

    def wide(self, tokens, scales):
        tokens = tokens.float()
        if self.shape.dtype != FP8:
            return tokens
        return tokens * scales.repeat_interleave(128, 1)[:, :self.shape.hidden]

    def model(self, turn):
        """(rows of each expert, as tokens, scales and results; sums; number of drops) of this PE's
        tokens."""
        me, s = meshmem.my_pe(), self.shape
        rows, dropped = [[] for _ in range(s.experts)], 0
        mine = self.given(turn, me)
        sums = torch.zeros(mine.n, s.hidden)
        for pe in self.pes:
            given = self.given(turn, pe)
            for token in range(given.n):
                for choice in range(s.top_k):
                    expert = int(given.indices[token, choice])
                    if expert < 0:
                        continue
                    if s.capacity and len(rows[expert]) == s.capacity:
                        dropped += pe == me
                        continue
                    row = given.tokens[token:token + 1], given.scales[token:token + 1]
                    rows[expert].append(row)
                    if pe == me:
                        result = (self.wide(*row) * (expert + 1)).to(self.result_dtype)
                        sums[token] += given.weights[token, choice] * result[0].float()
        return rows, sums.to(self.result_dtype), dropped

    def send(self, turn):
        """Compares rows with the model's."""
        moe, s, given = self.moe, self.shape, self.given(turn, meshmem.my_pe())
        moe.plan(given.indices)
        found, counts, offsets = moe.dispatch(given.tokens,
                                              given.scales if s.dtype == FP8 else None)
        rows, _, dropped = self.model(turn)
        assert int(moe.dropped) == dropped and int(moe.status) == 0
        assert len(offsets) == len(counts) + 1
        for i, count in enumerate(counts.tolist()):
            wanted, begin = rows[moe.first_expert + i], int(offsets[i])
            assert count == len(wanted) and (not s.capacity or begin == i * s.capacity)
            assert s.capacity or int(offsets[i + 1]) == begin + count
            if count:
                tokens, scales = (torch.cat(parts) for parts in zip(*wanted))
                assert found[begin:begin + count].float().equal(tokens.float())
                if s.dtype == FP8:
                    assert moe.row_scales[begin:begin + count].equal(scales)

    def work(self, results):
        moe = self.moe
        for i, (count, begin) in enumerate(zip(moe.counts.tolist(), moe.offsets.tolist())):
            part = slice(begin, begin + count)
            wide = self.wide(moe.rows[part], moe.row_scales[part])
            results[part] = (wide * (moe.first_expert + i + 1)).to(self.result_dtype)

    def round(self, turn):
        self.send(turn)
        self.work(self.moe.results)
        sums = self.moe.combine(self.given(turn, meshmem.my_pe()).weights)
        assert sums.dtype == self.result_dtype and sums.equal(self.model(turn)[1])


def every_expert_once(layer):
    """The PEs have all experts, in order, and the first PEs have one more."""
    n, experts = len(layer.pes), layer.shape.experts
    me = layer.pes.index(meshmem.my_pe())
    sizes = [experts // n + (pe < experts % n) for pe in range(n)]
    assert layer.moe.first_expert == sum(sizes[:me]) and len(layer.moe.counts) == sizes[me]


@pytest.mark.parametrize("dtypes", [(torch.float32,), (torch.float16,), (torch.bfloat16,), (FP8,),
                                    (FP8, torch.float32), (torch.float32, torch.float16)])
@pytest.mark.parametrize("hidden", [1, 130, 256])
def test_rounds(dtypes, hidden, n):
    options = dict(zip(("dtype", "result_dtype"), dtypes))
    layer = Layer(WORLD, list(range(n)), hidden=hidden, **options)
    every_expert_once(layer)
    for turn in range(4):
        layer.round(turn)
    layer.moe.close()


@pytest.mark.parametrize("options", [{"capacity": 1}, {"capacity": 3, "dtype": FP8},
                                     {"experts": 1}, {"top_k": 16}, {"top_k": 1, "max_blocks": 1},
                                     {"experts": 70, "max_tokens": 40}, {"max_tokens": 1}])
def test_shapes(options, n):
    layer = Layer(WORLD, list(range(n)), **options)
    every_expert_once(layer)
    for turn in range(3):
        layer.round(turn)
    layer.moe.close()


def test_a_part_of_the_pes(me, n):
    """A team of every second PE, then a process group, each without the others."""
    pes = list(range(0, n, 2))
    for team in (WORLD.split_strided(0, 2, len(pes)), dist.new_group(pes)):
        if me in pes:
            layer = Layer(team, pes)
            for turn in range(3):
                layer.round(turn)
            layer.moe.close()
        else:
            moe = Experts(team, hidden=0, top_k=1, experts=1, max_tokens=1, dtype=torch.int8)
            with pytest.raises(ValueError, match="^team: this PE is not in it"):
                moe.plan(torch.zeros(1, 1, dtype=torch.int32))
            moe.close()
    dist.barrier()


def test_the_process_group_of_all(n):
    layer = Layer(dist.group.WORLD, list(range(n)))
    layer.round(1)
    dist.all_reduce(torch.ones(3))  # the experts have a team of their own
    layer.round(2)
    layer.moe.close()


def test_two_take_turns(n):
    layers = [Layer(WORLD, list(range(n)), experts=experts) for experts in (3, n + 4)]
    for layer in layers:
        layer.send(1)
    for layer in layers:
        layer.work(layer.moe.results)
        assert layer.moe.combine(layer.given(1, meshmem.my_pe()).weights).equal(layer.model(1)[1])
        layer.moe.close()


def test_results_in_rows_and_a_given_out(n):
    layer = Layer(WORLD, list(range(n)))
    given, moe = layer.given(1, meshmem.my_pe()), layer.moe
    layer.send(1)
    layer.work(moe.rows)
    out = torch.full((given.n, layer.shape.hidden), 9.0)
    assert moe.combine(given.weights, out, moe.rows) is not None
    assert out.equal(layer.model(1)[1])
    with pytest.raises(RuntimeError, match="^dispatch: the last combine read rows; call plan"):
        moe.dispatch(given.tokens)  # other PEs may still read the rows
    layer.round(2)
    moe.close()


def test_tensors_are_the_memory_itself(me, n):
    """Not copies, so the places do not change, and far rows arrive in the same tensor."""
    layer = Layer(WORLD, list(range(n)))
    moe, before = layer.moe, layer.moe.rows.data_ptr()
    for turn in range(3):
        given = layer.given(turn, me)
        moe.plan(given.indices)
        rows, counts, offsets = moe.dispatch(given.tokens)
        assert (rows.data_ptr(), counts.data_ptr()) == (before, moe.counts.data_ptr())
        assert rows is moe.rows and offsets is moe.offsets
        moe.combine(given.weights)
    assert rows.shape == moe.results.shape == (n * 9 * 2, 24)
    moe.close()


def test_a_plan_serves_a_backward_pass(n):
    layer = Layer(WORLD, list(range(n)))
    moe, given = layer.moe, layer.given(1, meshmem.my_pe())
    layer.round(1)
    gradient = given.tokens + 1
    moe.dispatch(gradient)
    moe.results.copy_(moe.rows)
    chosen = (given.indices >= 0).sum(1, keepdim=True)
    assert moe.combine(torch.ones_like(given.weights)).equal(gradient * chosen)
    moe.close()


def test_indices_of_topk(me, n):
    """int64, as torch.topk makes them."""
    layer = Layer(WORLD, list(range(n)), max_tokens=6)
    weights, indices = torch.topk(whole(me, 1, 1000, 6, layer.shape.experts) / 1000, 2)
    tokens = torch.full((6, 24), 8.0 + me)
    layer.moe.plan(indices)
    rows, counts, _ = layer.moe.dispatch(tokens)
    layer.moe.results.copy_(rows)
    found = layer.moe.combine(weights)
    assert torch.allclose(found, tokens * weights.sum(1, keepdim=True), 1e-5)
    total = counts.sum().reshape(1)
    dist.all_reduce(total)
    assert int(total) == 12 * n
    layer.moe.close()


def test_indices_of_more_than_32_bits(n):
    """None becomes an expert, nor -1."""
    with Experts(WORLD, hidden=1, top_k=1, experts=n, max_tokens=1) as moe:
        for index in (2**32, 2**32 - 1, -2**32, 2**63 - 1):
            moe.plan(torch.tensor([[index]]))
            assert int(moe.status) == 1 and not moe.counts.any()
            moe.status.zero_()
        moe.plan(torch.tensor([[-1]]))
        assert int(moe.status) == 0


def test_gradients(n):
    """The calls have none, and say so. Nor do they change what autograd has saved unnoticed."""
    with Experts(WORLD, hidden=2, top_k=1, experts=n, max_tokens=1, dtype=torch.float32) as moe:
        ones = torch.ones(1, 2)
        factor, weights = ones.clone().requires_grad_(), torch.ones(1, 1, requires_grad=True)
        moe.plan(torch.zeros(1, 1, dtype=torch.int32))
        with pytest.raises(ValueError, match="^tokens: it requires a gradient"):
            moe.dispatch(factor)
        with torch.no_grad():
            moe.dispatch(factor)
        product = (moe.rows * factor).sum()
        with pytest.raises(ValueError, match="^weights: it requires a gradient"):
            moe.combine(weights)
        kept = ones.clone()
        of_kept = (kept * factor).sum()
        moe.combine(weights.detach(), kept)
        moe.dispatch(ones)
        for loss in (product, of_kept):
            with pytest.raises(RuntimeError, match="modified by an inplace operation"):
                loss.backward()
        moe.results.copy_(moe.rows * factor)
        with pytest.raises(ValueError, match="^results: it requires a gradient"):
            moe.combine(weights.detach())


def test_a_graph(n, device):
    """Which is replayed with other tokens."""
    if device.type == "cpu":
        pytest.skip("a graph needs a GPU")
    layer = Layer(WORLD, list(range(n)))
    moe, given = layer.moe, layer.given(1, meshmem.my_pe())
    chosen, tokens = (given.indices >= 0).sum(1, keepdim=True), given.tokens.clone()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        moe.plan(given.indices)
        moe.results.copy_(moe.dispatch(tokens)[0])
        sums = moe.combine(torch.ones_like(given.weights))
    for turn in range(3):
        tokens.copy_(given.tokens + turn)
        graph.replay()
        assert sums.equal(tokens * chosen)
    torch.cuda.synchronize()
    moe.close()


def test_an_index_that_is_no_expert(n):
    layer = Layer(WORLD, list(range(n)), max_tokens=2)
    experts, moe = layer.shape.experts, layer.moe
    moe.plan(torch.tensor([[experts, 0], [0, -2]], dtype=torch.int32))
    moe.dispatch(torch.ones(2, 24))
    assert int(moe.status) == 1
    moe.status.zero_()
    moe.results.fill_(3)
    assert moe.combine(torch.ones(2, 2)).eq(3).all()
    moe.plan(torch.zeros(0, 2, dtype=torch.int32))
    assert int(moe.status) == 0 and not moe.counts.any()
    moe.close()


def test_mistakes(n):
    moe = Layer(WORLD, list(range(n))).moe
    scaled = Layer(WORLD, list(range(n)), dtype=FP8, hidden=130).moe
    i32, ones = torch.int32, torch.ones
    with pytest.raises(RuntimeError, match="^Experts: call plan first"):
        moe.dispatch(ones(0, 24))
    for each in (moe, scaled):
        each.plan(torch.zeros(3, 2, dtype=i32))
    shared = ones(3, 24)
    for error, text, call in (
            (TypeError, "indices: its dtype is Float, but Int", lambda: moe.plan(ones(3, 2))),
            (ValueError, r"indices: its shape is \[3, 3\], but \[3, 2\] is needed",
             lambda: moe.plan(ones(3, 3, dtype=i32))),
            (ValueError, "indices: its shape", lambda: moe.plan(ones(2, dtype=i32))),
            (ValueError, "indices: not contiguous", lambda: moe.plan(ones(2, 3, dtype=i32).t())),
            (ValueError, "indices: 10 tokens, but max_tokens is 9",
             lambda: moe.plan(ones(10, 2, dtype=i32))),
            (TypeError, "indices: on meta", lambda: moe.plan(ones(3, 2, dtype=i32, device="meta"))),
            (TypeError, "tokens: its dtype is Half", lambda: moe.dispatch(shared.half())),
            (ValueError, "tokens: its shape", lambda: moe.dispatch(shared[:2])),
            (ValueError, "tokens: not contiguous", lambda: moe.dispatch(ones(24, 3).t())),
            (TypeError, "tokens: a dense tensor", lambda: moe.dispatch(shared.to_sparse())),
            (ValueError, "scales: tokens of Float have none",
             lambda: moe.dispatch(shared, ones(3, 1))),
            (ValueError, "scales: tokens of Float8_e4m3fn need them",
             lambda: scaled.dispatch(ones(3, 130).to(FP8))),
            (ValueError, r"scales: its shape is \[3, 1\], but \[3, 2\]",
             lambda: scaled.dispatch(ones(3, 130).to(FP8), ones(3, 1))),
            (TypeError, "weights: its dtype is BFloat16",
             lambda: moe.combine(ones(3, 2).bfloat16())),
            (ValueError, "weights: its shape", lambda: moe.combine(ones(3, 1))),
            (TypeError, "out: its dtype", lambda: moe.combine(ones(3, 2), shared.double())),
            (ValueError, "out: its shape", lambda: moe.combine(ones(3, 2), shared[:1])),
            (ValueError, "tokens: it overlaps rows", lambda: moe.dispatch(moe.rows[:3])),
            (ValueError, "out: it overlaps results",
             lambda: moe.combine(ones(3, 2), moe.results[1:4])),
            (ValueError, "results: its shape",
             lambda: moe.combine(ones(3, 2), None, moe.rows[:5])),
            (ValueError, "results: not in symmetric memory",
             lambda: moe.combine(ones(3, 2), None, torch.zeros_like(moe.rows))),
            (TypeError, "results: its dtype is Float8",
             lambda: scaled.combine(ones(3, 2), None, scaled.rows))):
        with pytest.raises(error, match=f"^{text}") as raised:
            call()
        assert "\n" not in str(raised.value)
    moe.dispatch(shared)  # the mistakes have sent nothing
    with pytest.raises(RuntimeError, match="^dispatch: the call before was a dispatch; call plan"):
        moe.dispatch(shared)
    moe.results.copy_(moe.rows)
    assert moe.combine(ones(3, 2)).eq(2).all()
    for each in (moe, scaled):
        each.close()


def test_mistakes_of_the_shape(me, n):
    shape = {"hidden": 8, "top_k": 1, "experts": n, "max_tokens": 1}
    for wrong, error, text in (({"dtype": torch.float64}, TypeError, "dtype: Double is not"),
                               ({"result_dtype": FP8}, TypeError, "result_dtype: Float8_e4m3fn is"),
                               ({"hidden": 0}, RuntimeError, "Experts: numbers are out of"),
                               ({"top_k": 17}, RuntimeError, "Experts: numbers are out of"),
                               ({"max_tokens": 2**29}, RuntimeError, "Experts: numbers are out"),
                               ({"capacity": 2**30}, RuntimeError, "Experts: .*HEAP_SIZE")):
        with pytest.raises(error, match=f"^{text}"):
            Experts(WORLD, **{**shape, **wrong})
    with pytest.raises(TypeError, match="^team: int is neither a Team nor"):
        Experts(0, **shape)
    if n > 1:
        with pytest.raises(RuntimeError, match="^Experts: .*give different"):
            Experts(WORLD, **{**shape, "hidden": 8 + me})
        with pytest.raises(RuntimeError if me else TypeError, match="^(Experts|dtype): "):
            Experts(WORLD, **{**shape, "dtype": torch.float32 if me else torch.float64})


def test_no_more_teams(me):
    """On PE 0. All PEs raise."""
    teams = [WORLD.split_strided(0, 1, 1)]
    with pytest.raises(RuntimeError, match="^team: the library has no more"):
        while True:
            teams.append(WORLD.split_strided(0, 1, 1))
    with pytest.raises(RuntimeError, match="^Experts: .*no more teams"):
        Experts(teams[0], hidden=8, top_k=1, experts=1, max_tokens=1)
    for team in teams:
        if team:
            team.destroy()


def test_the_end(n):
    shape = {"hidden": 8, "top_k": 1, "experts": n, "max_tokens": 1}
    with Experts(WORLD, **shape) as moe:
        moe.plan(torch.zeros(1, 1, dtype=torch.int32))
    for call in (moe.close, lambda: moe.plan(torch.zeros(1, 1, dtype=torch.int32))):
        with pytest.raises(ValueError, match="^Experts: closed"):
            call()
    assert not hasattr(moe, "rows") and not hasattr(moe, "counts")
    with pytest.raises(KeyError):
        with Experts(WORLD, **shape) as moe:
            raise KeyError  # other PEs may not come to the end
    moe.close()
    for _ in range(70):  # more than there are teams at a time
        Experts(WORLD, **shape).close()
