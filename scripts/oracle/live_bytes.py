"""Every storage that a PyTorch program makes, from its first operation to its last reference.

Under FakeTensorMode tensors have shapes, types and storages of the right size, but no data: a model of any size runs on a
laptop. A dispatch mode below autograd sees each operation of forward, backward and optimizer; a storage is counted when an
operation returns it and taken off when its last reference goes, which is when the caching allocator would have it back.
Not seen: what a kernel takes for itself (workspaces), buffers of NCCL, the allocator's rounding and fragmentation.
"""
import contextlib
import copy
import weakref
from collections import Counter, defaultdict

import torch
import torch.distributed as dist
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

NAMES = {torch.float32: "fp32", torch.bfloat16: "bf16", torch.float16: "fp16", torch.int64: "int64", torch.int32: "int32",
         torch.bool: "bool", torch.uint8: "uint8", torch.complex64: "complex64", torch.float64: "fp64"}
# Operations that launch nothing: they describe memory that exists, or take memory without writing it.
VIEWS = set("""view _unsafe_view t transpose unsqueeze expand slice detach alias squeeze split split_with_sizes permute unbind
               select device chunk _reshape_alias as_strided sym_size lift_fresh empty empty_like new_empty empty_strided
               new_empty_strided view_as_complex view_as_real is_same_size _local_scalar_dense wait_tensor""".split())
COMMUNICATION = ("c10d", "_c10d_functional", "_c10d_functional_autograd", "_dtensor")
NO_MESSAGE = {"wait_tensor", "barrier", "monitored_barrier_"}
# Names of the two dispatchers' operations, by what they do.
MESSAGES = {"_allgather_base_": "all_gather", "allgather_": "all_gather", "all_gather_into_tensor": "all_gather", "allreduce_": "all_reduce",
            "all_reduce": "all_reduce", "all_reduce_": "all_reduce", "_reduce_scatter_base_": "reduce_scatter",
            "reduce_scatter_tensor": "reduce_scatter", "broadcast_": "broadcast", "all_to_all_single": "all_to_all"}


def plain_tensors(value):
    """The tensors with storages of their own inside `value`: a DTensor's shard, for one."""
    for leaf in tree_leaves(value):
        if not isinstance(leaf, torch.Tensor):
            continue
        if hasattr(leaf, "__tensor_flatten__"):
            for name in leaf.__tensor_flatten__()[0]:
                yield from plain_tensors(getattr(leaf, name))
        else:
            yield leaf


class Storage:
    """One storage: its bytes, and the operation, module and phase that made it."""

    __slots__ = ("bytes", "operation", "module", "phase", "dtype", "shape", "state")

    def __init__(self, tensor, operation, module, phase, state):
        self.bytes = tensor.untyped_storage().nbytes()
        self.operation, self.module, self.phase, self.state = operation, module, phase, state
        self.dtype, self.shape = NAMES.get(tensor.dtype, str(tensor.dtype)), tuple(tensor.shape)


class LiveBytes(TorchDispatchMode):
    """Live bytes, peaks by phase, kernels by phase, and collectives; where `lists_alive` asks for it, what lives at each peak."""

    lists_alive = False
    last = None  # that has begun to measure

    def __init__(self):
        super().__init__()
        self.live, self.phase, self.module = 0, "build", ""
        self.backward = False  # from the call of backward() on, which the phase of the loss includes
        self.storages = {}
        self.forget()

    def forget(self):
        """Starts measuring: what lives goes on living."""
        LiveBytes.last = self
        self.peaks, self.alive = defaultdict(int), {}
        self.kernels = Counter()
        self.collectives = defaultdict(lambda: [0, 0])

    def peaks_by_phase(self):
        """Bytes; between steps what is alive now."""
        return {**self.peaks, "between steps": self.live}

    def alive_by_phase(self):
        """{phase: tensors beside states at its peak}, in bytes as they were then."""
        return {phase: tensors_of(count_by_tensor(storages)) for phase, storages in self.alive.items()}

    def claim(self, value, operation, state=False):
        for tensor in plain_tensors(value):
            storage = tensor.untyped_storage()
            key = storage._cdata
            if key in self.storages:
                continue
            entry = Storage(tensor, operation, self.module, self.phase, state)
            self.storages[key] = entry
            self.live += entry.bytes
            weakref.finalize(storage, self._release, key)

    def _is_state(self, tensor):
        entry = self.storages.get(tensor.untyped_storage()._cdata)
        return entry is not None and entry.state

    def _release(self, key):
        entry = self.storages.pop(key, None)
        if entry is not None:
            self.live -= entry.bytes

    def _note(self):
        if self.live > self.peaks[self.phase]:
            self.peaks[self.phase] = self.live
            if self.lists_alive:
                self.alive[self.phase] = [copy.copy(s) for s in self.storages.values() if not s.state]

    @contextlib.contextmanager
    def resizes(self):
        """FSDP frees and makes its gathered parameters by resizing their storages, which no operation shows."""
        original, mode = torch.UntypedStorage.resize_, self

        def resize_(storage, size):
            out = original(storage, size)
            entry = mode.storages.get(storage._cdata)
            if entry is not None:
                mode.live += storage.nbytes() - entry.bytes
                entry.bytes = storage.nbytes()
                mode._note()
            return out

        torch.UntypedStorage.resize_ = resize_
        try:
            yield
        finally:
            torch.UntypedStorage.resize_ = original

    def _message(self, function, args, kwargs, out):
        name = function._overloadpacket.__name__
        if function.namespace not in COMMUNICATION or name in NO_MESSAGE:
            return
        tensors = list(plain_tensors((args, kwargs)))
        if not tensors:
            return
        if name == "allgather_":  # into pieces of one tensor
            size = max(t.untyped_storage().nbytes() for t in plain_tensors(out))
        else:
            size = max(t.numel() * t.element_size() for t in [*tensors, *plain_tensors(out)])
        row = self.collectives["backward" if self.backward else "forward", MESSAGES.get(name, name), group_size(args), NAMES[tensors[0].dtype]]
        row[0] += 1
        row[1] += size

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        kwargs = kwargs or {}
        out = function(*args, **kwargs)
        name = function._overloadpacket.__name__
        self._message(function, args, kwargs, out)
        self.claim(out, "cast of a parameter" if name == "_to_copy" and self._is_state(args[0]) else name)
        if name not in VIEWS:
            self.kernels[self.phase] += 2 if name in ("slice_backward", "select_backward") else 1
        self._note()
        return out


def group_size(args):
    """c10d's operations have their group as an argument, functional ones its name."""
    for a in args:
        if isinstance(a, torch.ScriptObject):
            with contextlib.suppress(RuntimeError):
                return dist.ProcessGroup.unbox(a).size()
        if isinstance(a, str) and a not in ("sum", "avg", "max"):
            return dist.distributed_c10d._resolve_process_group(a).size()
    return 0


def follow_modules(model, mode):
    """mode.module is the path of the module whose forward runs."""
    stack = [""]

    def enter(path):
        def hook(*_):
            stack.append(path)
            mode.module = path
        return hook

    def leave(*_):
        if len(stack) > 1:
            stack.pop()
        mode.module = stack[-1]

    for path, module in model.named_modules():
        module.register_forward_pre_hook(enter(path))
        module.register_forward_hook(leave)


class Phases:
    """Cuts a step where Hexaplan's instants are: forward | loss | head backward | backward | end of backward. The loss ends
    when the gradient of the logits is there."""

    def __init__(self, layers, head, mode):
        self.mode = mode
        layers[-1].register_forward_hook(self._behind_layers)
        layers[0].register_forward_pre_hook(self._before_layers, with_kwargs=True)
        if head is not None:  # of a loss made of chunks the caller says where it ends
            head.register_forward_hook(self._behind_head)

    def _phase(self, before, after):
        def hook(gradient):
            if self.mode.phase == before:
                self.mode.phase = after
        return hook

    def _before_layers(self, module, args, kwargs):
        x = args[0] if args else kwargs["hidden_states"]
        if self.mode.phase == "forward" and x.requires_grad:
            x.register_hook(self._phase("backward", "end of backward"))

    def _behind_layers(self, module, args, out):
        x = out[0] if isinstance(out, tuple) else out
        if self.mode.phase == "forward":
            self.mode.phase = "loss"
            x.register_hook(self._phase("head backward", "backward"))

    def _behind_head(self, module, args, out):
        out.register_hook(self._phase("loss", "head backward"))


def count_by_tensor(storages):
    """{(module without its layer's number, operation, dtype, elements): how many}"""
    counts = Counter()
    for s in storages:
        module = ".".join("*" if part.isdigit() else part for part in s.module.split("."))
        elements = s.bytes // torch.empty(0, dtype=DTYPES[s.dtype]).element_size()
        counts[module, s.operation, s.dtype, elements] += 1
    return counts


def layer_of(module):
    """Number of the layer that a module's path goes through; None outside of the layers."""
    return next((int(part) for part in module.split(".") if part.isdigit()), None)


def count_by_layer(storages):
    """tensors_of for every layer by itself, with its number; those outside of the layers have None."""
    groups = defaultdict(list)
    for s in storages:
        groups[layer_of(s.module)].append(s)
    return [dict(layer=layer, **row) for layer in sorted(groups, key=lambda n: -1 if n is None else n)
            for row in tensors_of(count_by_tensor(groups[layer]))]


def bytes_by_type(value):
    """{dtype: bytes} of the tensors in `value`, each storage once."""
    sizes = {}
    for tensor in plain_tensors(value):
        storage = tensor.untyped_storage()
        sizes[storage._cdata] = NAMES.get(tensor.dtype, str(tensor.dtype)), storage.nbytes()
    sums = Counter()
    for dtype, size in sizes.values():
        sums[dtype] += size
    return dict(sums)


def states_of(parameters, optimizer):
    """Bytes by type of parameters, gradients and the optimizer's states, at the end of backward."""
    parameters = list(parameters)
    return dict(parameters=bytes_by_type(parameters), gradients=bytes_by_type([p.grad for p in parameters]),
                optimizer=bytes_by_type([list(state.values()) for state in optimizer.state.values()]))


def messages_of(mode):
    return [dict(phase=phase, kind=kind, group=group, dtype=dtype, calls=calls, bytes=size)
            for (phase, kind, group, dtype), (calls, size) in sorted(mode.collectives.items())]


DTYPES = {name: dtype for dtype, name in NAMES.items()}


def tensors_of(counts):
    return [dict(module=m, operation=op, dtype=dtype, elements=elements, count=n)
            for (m, op, dtype, elements), n in sorted(counts.items()) if n > 0]
