"""Words of the functions: options of the command. Written by python/tests/test_package.py with HEXAPLAN_UPDATE=1."""

import os
from typing import Optional, Sequence, TypedDict, Union

Plain = Union[str, int, float, bool, "os.PathLike[str]"]
Word = Union[Plain, Sequence[Plain], range]


class EstimateWords(TypedDict, total=False):
    seq: Optional[Word]  # Sequence length: 4096, 8k (= 8192). Default: 4096, or the model's context length if shorter
    micro_batch: Optional[Word]  # Sequences per data-parallel rank and pass. Default: 1
    global_batch: Optional[Word]  # Sequences per optimizer step. Default: enough to run 4 micro-batches per pipeline stage (1 without pipeline)
    padding: Optional[Word]  # Sequences of a batch are padded: max_length, longest (of the batch: lengths vary, and the allocator holds more). Packed ones are max_length. Default: max_length
    precision: Optional[Word]  # Type of the matrix products: fp32, tf32, fp16, bf16, fp8, fp8-block, mxfp8, nvfp4. Default: bf16
    params_dtype: Optional[Word]  # Type in which parameters are kept for compute: fp32, bf16, fp16, fp8, nf4. Default: the framework's
    grad_dtype: Optional[Word]  # Type in which gradients are accumulated: fp32, bf16, fp16, fp8, nf4. Default: the framework's
    moments_dtype: Optional[Word]  # Type in which AdamW's moments are kept: fp32, bf16, fp16, fp8, nf4. Default: the framework's
    optimizer: Optional[Word]  # adamw, adamw-8bit, adafactor, lion, sgd, muon, lamb, galore, galore-8bit, apollo, apollo-mini, soap, shampoo. Default: adamw
    projection_rank: Optional[Word]  # GaLore, APOLLO: dimensions of the subspace in which gradients of a matrix are followed. Default: 128, of apollo-mini 1
    projection_interval: Optional[Word]  # GaLore, APOLLO: steps after which subspaces are chosen anew, and over which times are means. Default: 200
    precondition_frequency: Optional[Word]  # Shampoo, SOAP: steps after which roots or bases are made anew, and over which times are means. Default: 100, of soap 10
    max_precondition_dim: Optional[Word]  # Shampoo: longest side of the blocks of a matrix; SOAP: longest side that has a basis. Default: 8192, of soap 10000
    outer_steps: Optional[Word]  # Steps of the optimizer from one outer step to the next (DiLoCo): in between, the replicas of diloco2, a word of the layout, exchange nothing. Times are means over them. Default: none are taken
    outer_dtype: Optional[Word]  # Type in which outer gradients travel: fp32, bf16, fp8, fp4. Default: fp32
    outer_states: Optional[Word]  # Where the copy of the parameters and the momentum of outer steps lie: gpu, copy-on-host, host. Default: gpu
    optimizer_in_backward: Optional[Word]  # Each parameter is updated as soon as its gradient is there, which is freed at once: false, true. Default: false
    recompute: Optional[Word]  # none, selective, selective-op, full, layers=4 (first ones of every model chunk), modules=core_attn,norm. Default: none
    attention: Optional[Word]  # flash, flash-attention-2, fused-softmax, unfused (flash: by the framework's library). Default: flash
    cross_entropy: Optional[Word]  # How the loss handles the logits: default, unfused, fused, chunked. Default: what the framework does
    fused_norm: Optional[Word]  # The norm is one kernel instead of a row of tensor operations: false, true. Default: true
    dropout: Optional[Word]  # Dropout probability; above 0 masks are saved. Default: 0
    fine_tune: Optional[Word]  # pretrain, full, lora, qlora, ia3, lora-8bit. Default: pretrain
    lora_rank: Optional[Word]  # Rank of LoRA adapters. Default: the framework's, 8 or 32
    lora_alpha: Optional[Word]  # LoRA adds alpha/rank times what adapters make. Default: twice the rank
    lora_targets: Optional[Word]  # Layers with LoRA adapters: all-linear, attention, qkv, qv, mlp. Default: all-linear
    lora_bias: Optional[Word]  # Biases of the model that train beside LoRA adapters: none, all, lora-only. Default: none
    saved_modules: Optional[Word]  # Modules that train as a whole beside adapters (PEFT's modules_to_save): none, embedding, head, both. Default: none
    dora: Optional[Word]  # LoRA, QLoRA: rows of the sum are divided by their lengths and times learned magnitudes: false, true. Default: false
    double_quantization: Optional[Word]  # QLoRA: scales of 4-bit weights are quantised to 8 bits: false, true. Default: false
    offload: Optional[Word]  # Kept in host memory: optimizer, params, activations, or several with commas
    offload_fraction: Optional[Word]  # Share of the optimizer's states to offload. Default: 1, all
    offload_layers: Optional[Word]  # Layers per stage whose activations are offloaded. Default: all
    offload_device: Optional[Word]  # Where offloaded states are: cpu, nvme. Default: cpu
    reduce_bucket: Optional[Word]  # Gradients that ZeRO reduces at a time, elements: 500M. Default: the framework's
    prefetch_bucket: Optional[Word]  # ZeRO-3: parameters gathered ahead of the module that runs: 50M. Default: the framework's
    live_parameters: Optional[Word]  # ZeRO-3: with so many gathered, nothing is fetched ahead: 1B. Default: the framework's
    reuse_distance: Optional[Word]  # ZeRO-3: what runs again within so many parameters stays gathered: 1B. Default: the framework's
    persistence_threshold: Optional[Word]  # ZeRO-3: tensors of so many elements or fewer stay whole: 100k. Default: the framework's
    sub_group_size: Optional[Word]  # ZeRO-3: parameters of a rank's shard that are updated at a time: 1B. Default: the framework's
    routing_imbalance: Optional[Word]  # Tokens of the busiest expert rank over the mean. Default: 1
    capacity_factor: Optional[Word]  # Tokens beyond X times the mean per expert are dropped. Default: 0, none are
    pad_to_capacity: Optional[Word]  # Every expert computes as many rows as its capacity, empty ones too: false, true. Default: false
    tp_comm_overlap: Optional[Word]  # Tensor-parallel messages run under the products beside them: false, true. Default: the framework's
    tp_backward_overlap: Optional[Word]  # With sequence parallelism, the messages of a linear layer's backward run under its products: false, true. Default: the framework's
    pipeline_overlap: Optional[Word]  # Messages between stages run under computation: false, true. Default: interleaved schedules only
    dp_overlap: Optional[Word]  # Gradients are reduced and parameters gathered under computation: false, true. Default: the framework's
    reduce_gradients: Optional[Word]  # FSDP: in every micro-batch, replicas-once (between replicas of hsdp in the last) or once (no_sync: whole gradients wait). Default: every
    ep_overlap: Optional[Word]  # Tokens travel to the experts under another micro-batch: false, true. Default: the framework's
    compile: Optional[Word]  # torch.compile or XLA: false, true. Default: the framework's (fsdp2 and maxtext: true)
    cuda_graphs: Optional[Word]  # Launches that graphs replay: default, none, partial, full_iteration. Default: the framework's
    moe_dispatcher: Optional[Word]  # Kernel that carries tokens to the ranks of their experts: default, alltoall, allgather, deepep, hybridep. Default: the framework's
    tokens: Optional[Word]  # Training budget, for days, GPU-hours, cost and energy: 15T, 300B
    checkpoint: Optional[Word]  # Checkpoints: sync, or async (written beside the steps that follow). Default: sync
    checkpoint_interval: Optional[Word]  # Training between two checkpoints: 30min. Default: what costs least
    gpu_mtbf: Optional[Word]  # Mean time between failures of one GPU: 50000h. Default: the cluster's, or 65536h
    node_mtbf: Optional[Word]  # ... of what else is in a node. Default: the cluster's, or 57700h
    link_mtbf: Optional[Word]  # ... of one GPU's link to other nodes. Default: the cluster's, or 433340h
    storage_bandwidth: Optional[Word]  # Rate at which the whole job writes checkpoints: 200GB/s. Default: the cluster's, or 0.7GB/s per node
    restart_time: Optional[Word]  # From a failure until training goes on, without loading. Default: the cluster's, or 10min
    repair_time: Optional[Word]  # Until a node that failed is back. Default: the cluster's, or 1d
    spare_nodes: Optional[Word]  # Nodes that wait to replace others. Default: the cluster's, or always enough
    pue: Optional[Word]  # Energy of the site over that of its GPUs. Default: the cluster's, or the GPUs alone
    schedule: Optional[Word]  # Pipeline schedule, as in the layout: 1f1b, interleaved, zb-h1, zb-v, …
    framework: Optional[Word]  # Framework profile. Default: megatron
    calibration: Optional[Word]  # Measured curves: preset or FILE. Default: those of the GPU type
    fabric: Optional[Word]  # Measured links, as calibrate writes them. Default: those of the cluster
    price: Optional[Word]  # US dollars per GPU-hour. Default: the GPU preset's
    from_: Optional[Word]  # Read the question from launch files, as import does (again for each); flags override them. With it, --cluster may be a GPU type alone
    save_scenario: Optional[Word]  # Write the question to a file
    explain: Optional[bool]  # Largest tensors and operations, with formula, function and source
    allocator: Optional[Word]  # PyTorch's caching allocator, simulated: what it reserves. CONF: words of PYTORCH_CUDA_ALLOC_CONF, or default
    memory_snapshot: Optional[Word]  # Write what the simulated allocator does as a snapshot for https://pytorch.org/memory_viz, stage n as device n; with --allocator's settings


class SimulateWords(TypedDict, total=False):
    seq: Optional[Word]  # Sequence length: 4096, 8k (= 8192). Default: 4096, or the model's context length if shorter
    micro_batch: Optional[Word]  # Sequences per data-parallel rank and pass. Default: 1
    global_batch: Optional[Word]  # Sequences per optimizer step. Default: enough to run 4 micro-batches per pipeline stage (1 without pipeline)
    padding: Optional[Word]  # Sequences of a batch are padded: max_length, longest (of the batch: lengths vary, and the allocator holds more). Packed ones are max_length. Default: max_length
    precision: Optional[Word]  # Type of the matrix products: fp32, tf32, fp16, bf16, fp8, fp8-block, mxfp8, nvfp4. Default: bf16
    params_dtype: Optional[Word]  # Type in which parameters are kept for compute: fp32, bf16, fp16, fp8, nf4. Default: the framework's
    grad_dtype: Optional[Word]  # Type in which gradients are accumulated: fp32, bf16, fp16, fp8, nf4. Default: the framework's
    moments_dtype: Optional[Word]  # Type in which AdamW's moments are kept: fp32, bf16, fp16, fp8, nf4. Default: the framework's
    optimizer: Optional[Word]  # adamw, adamw-8bit, adafactor, lion, sgd, muon, lamb, galore, galore-8bit, apollo, apollo-mini, soap, shampoo. Default: adamw
    projection_rank: Optional[Word]  # GaLore, APOLLO: dimensions of the subspace in which gradients of a matrix are followed. Default: 128, of apollo-mini 1
    projection_interval: Optional[Word]  # GaLore, APOLLO: steps after which subspaces are chosen anew, and over which times are means. Default: 200
    precondition_frequency: Optional[Word]  # Shampoo, SOAP: steps after which roots or bases are made anew, and over which times are means. Default: 100, of soap 10
    max_precondition_dim: Optional[Word]  # Shampoo: longest side of the blocks of a matrix; SOAP: longest side that has a basis. Default: 8192, of soap 10000
    outer_steps: Optional[Word]  # Steps of the optimizer from one outer step to the next (DiLoCo): in between, the replicas of diloco2, a word of the layout, exchange nothing. Times are means over them. Default: none are taken
    outer_dtype: Optional[Word]  # Type in which outer gradients travel: fp32, bf16, fp8, fp4. Default: fp32
    outer_states: Optional[Word]  # Where the copy of the parameters and the momentum of outer steps lie: gpu, copy-on-host, host. Default: gpu
    optimizer_in_backward: Optional[Word]  # Each parameter is updated as soon as its gradient is there, which is freed at once: false, true. Default: false
    recompute: Optional[Word]  # none, selective, selective-op, full, layers=4 (first ones of every model chunk), modules=core_attn,norm. Default: none
    attention: Optional[Word]  # flash, flash-attention-2, fused-softmax, unfused (flash: by the framework's library). Default: flash
    cross_entropy: Optional[Word]  # How the loss handles the logits: default, unfused, fused, chunked. Default: what the framework does
    fused_norm: Optional[Word]  # The norm is one kernel instead of a row of tensor operations: false, true. Default: true
    dropout: Optional[Word]  # Dropout probability; above 0 masks are saved. Default: 0
    fine_tune: Optional[Word]  # pretrain, full, lora, qlora, ia3, lora-8bit. Default: pretrain
    lora_rank: Optional[Word]  # Rank of LoRA adapters. Default: the framework's, 8 or 32
    lora_alpha: Optional[Word]  # LoRA adds alpha/rank times what adapters make. Default: twice the rank
    lora_targets: Optional[Word]  # Layers with LoRA adapters: all-linear, attention, qkv, qv, mlp. Default: all-linear
    lora_bias: Optional[Word]  # Biases of the model that train beside LoRA adapters: none, all, lora-only. Default: none
    saved_modules: Optional[Word]  # Modules that train as a whole beside adapters (PEFT's modules_to_save): none, embedding, head, both. Default: none
    dora: Optional[Word]  # LoRA, QLoRA: rows of the sum are divided by their lengths and times learned magnitudes: false, true. Default: false
    double_quantization: Optional[Word]  # QLoRA: scales of 4-bit weights are quantised to 8 bits: false, true. Default: false
    offload: Optional[Word]  # Kept in host memory: optimizer, params, activations, or several with commas
    offload_fraction: Optional[Word]  # Share of the optimizer's states to offload. Default: 1, all
    offload_layers: Optional[Word]  # Layers per stage whose activations are offloaded. Default: all
    offload_device: Optional[Word]  # Where offloaded states are: cpu, nvme. Default: cpu
    reduce_bucket: Optional[Word]  # Gradients that ZeRO reduces at a time, elements: 500M. Default: the framework's
    prefetch_bucket: Optional[Word]  # ZeRO-3: parameters gathered ahead of the module that runs: 50M. Default: the framework's
    live_parameters: Optional[Word]  # ZeRO-3: with so many gathered, nothing is fetched ahead: 1B. Default: the framework's
    reuse_distance: Optional[Word]  # ZeRO-3: what runs again within so many parameters stays gathered: 1B. Default: the framework's
    persistence_threshold: Optional[Word]  # ZeRO-3: tensors of so many elements or fewer stay whole: 100k. Default: the framework's
    sub_group_size: Optional[Word]  # ZeRO-3: parameters of a rank's shard that are updated at a time: 1B. Default: the framework's
    routing_imbalance: Optional[Word]  # Tokens of the busiest expert rank over the mean. Default: 1
    capacity_factor: Optional[Word]  # Tokens beyond X times the mean per expert are dropped. Default: 0, none are
    pad_to_capacity: Optional[Word]  # Every expert computes as many rows as its capacity, empty ones too: false, true. Default: false
    tp_comm_overlap: Optional[Word]  # Tensor-parallel messages run under the products beside them: false, true. Default: the framework's
    tp_backward_overlap: Optional[Word]  # With sequence parallelism, the messages of a linear layer's backward run under its products: false, true. Default: the framework's
    pipeline_overlap: Optional[Word]  # Messages between stages run under computation: false, true. Default: interleaved schedules only
    dp_overlap: Optional[Word]  # Gradients are reduced and parameters gathered under computation: false, true. Default: the framework's
    reduce_gradients: Optional[Word]  # FSDP: in every micro-batch, replicas-once (between replicas of hsdp in the last) or once (no_sync: whole gradients wait). Default: every
    ep_overlap: Optional[Word]  # Tokens travel to the experts under another micro-batch: false, true. Default: the framework's
    compile: Optional[Word]  # torch.compile or XLA: false, true. Default: the framework's (fsdp2 and maxtext: true)
    cuda_graphs: Optional[Word]  # Launches that graphs replay: default, none, partial, full_iteration. Default: the framework's
    moe_dispatcher: Optional[Word]  # Kernel that carries tokens to the ranks of their experts: default, alltoall, allgather, deepep, hybridep. Default: the framework's
    tokens: Optional[Word]  # Training budget, for days, GPU-hours, cost and energy: 15T, 300B
    checkpoint: Optional[Word]  # Checkpoints: sync, or async (written beside the steps that follow). Default: sync
    checkpoint_interval: Optional[Word]  # Training between two checkpoints: 30min. Default: what costs least
    gpu_mtbf: Optional[Word]  # Mean time between failures of one GPU: 50000h. Default: the cluster's, or 65536h
    node_mtbf: Optional[Word]  # ... of what else is in a node. Default: the cluster's, or 57700h
    link_mtbf: Optional[Word]  # ... of one GPU's link to other nodes. Default: the cluster's, or 433340h
    storage_bandwidth: Optional[Word]  # Rate at which the whole job writes checkpoints: 200GB/s. Default: the cluster's, or 0.7GB/s per node
    restart_time: Optional[Word]  # From a failure until training goes on, without loading. Default: the cluster's, or 10min
    repair_time: Optional[Word]  # Until a node that failed is back. Default: the cluster's, or 1d
    spare_nodes: Optional[Word]  # Nodes that wait to replace others. Default: the cluster's, or always enough
    pue: Optional[Word]  # Energy of the site over that of its GPUs. Default: the cluster's, or the GPUs alone
    schedule: Optional[Word]  # Pipeline schedule, as in the layout: 1f1b, interleaved, zb-h1, zb-v, …
    framework: Optional[Word]  # Framework profile. Default: megatron
    calibration: Optional[Word]  # Measured curves: preset or FILE. Default: those of the GPU type
    fabric: Optional[Word]  # Measured links, as calibrate writes them. Default: those of the cluster
    price: Optional[Word]  # US dollars per GPU-hour. Default: the GPU preset's
    from_: Optional[Word]  # Read the question from launch files, as import does (again for each); flags override them. With it, --cluster may be a GPU type alone
    save_scenario: Optional[Word]  # Write the question to a file
    trace: Optional[Word]  # Write a trace for https://ui.perfetto.dev: binary and with arrows between stages as x.pftrace, a Chrome trace otherwise
    gantt_svg: Optional[Word]  # Write the timeline as a picture
    memory_svg: Optional[Word]  # Write memory over time as a picture


class SearchWords(TypedDict, total=False):
    seq: Optional[Word]  # Sequence length: 4096, 8k (= 8192). Default: 4096, or the model's context length if shorter
    global_batch: Optional[Word]  # Sequences per optimizer step. Default: enough to run 4 micro-batches per pipeline stage (1 without pipeline)
    padding: Optional[Word]  # Sequences of a batch are padded: max_length, longest (of the batch: lengths vary, and the allocator holds more). Packed ones are max_length. Default: max_length
    params_dtype: Optional[Word]  # Type in which parameters are kept for compute: fp32, bf16, fp16, fp8, nf4. Default: the framework's
    grad_dtype: Optional[Word]  # Type in which gradients are accumulated: fp32, bf16, fp16, fp8, nf4. Default: the framework's
    moments_dtype: Optional[Word]  # Type in which AdamW's moments are kept: fp32, bf16, fp16, fp8, nf4. Default: the framework's
    optimizer: Optional[Word]  # adamw, adamw-8bit, adafactor, lion, sgd, muon, lamb, galore, galore-8bit, apollo, apollo-mini, soap, shampoo. Default: adamw
    projection_rank: Optional[Word]  # GaLore, APOLLO: dimensions of the subspace in which gradients of a matrix are followed. Default: 128, of apollo-mini 1
    projection_interval: Optional[Word]  # GaLore, APOLLO: steps after which subspaces are chosen anew, and over which times are means. Default: 200
    precondition_frequency: Optional[Word]  # Shampoo, SOAP: steps after which roots or bases are made anew, and over which times are means. Default: 100, of soap 10
    max_precondition_dim: Optional[Word]  # Shampoo: longest side of the blocks of a matrix; SOAP: longest side that has a basis. Default: 8192, of soap 10000
    outer_steps: Optional[Word]  # Steps of the optimizer from one outer step to the next (DiLoCo): in between, the replicas of diloco2, a word of the layout, exchange nothing. Times are means over them. Default: none are taken
    outer_dtype: Optional[Word]  # Type in which outer gradients travel: fp32, bf16, fp8, fp4. Default: fp32
    outer_states: Optional[Word]  # Where the copy of the parameters and the momentum of outer steps lie: gpu, copy-on-host, host. Default: gpu
    optimizer_in_backward: Optional[Word]  # Each parameter is updated as soon as its gradient is there, which is freed at once: false, true. Default: false
    attention: Optional[Word]  # flash, flash-attention-2, fused-softmax, unfused (flash: by the framework's library). Default: flash
    cross_entropy: Optional[Word]  # How the loss handles the logits: default, unfused, fused, chunked. Default: what the framework does
    fused_norm: Optional[Word]  # The norm is one kernel instead of a row of tensor operations: false, true. Default: true
    dropout: Optional[Word]  # Dropout probability; above 0 masks are saved. Default: 0
    fine_tune: Optional[Word]  # pretrain, full, lora, qlora, ia3, lora-8bit. Default: pretrain
    lora_rank: Optional[Word]  # Rank of LoRA adapters. Default: the framework's, 8 or 32
    lora_alpha: Optional[Word]  # LoRA adds alpha/rank times what adapters make. Default: twice the rank
    lora_targets: Optional[Word]  # Layers with LoRA adapters: all-linear, attention, qkv, qv, mlp. Default: all-linear
    lora_bias: Optional[Word]  # Biases of the model that train beside LoRA adapters: none, all, lora-only. Default: none
    saved_modules: Optional[Word]  # Modules that train as a whole beside adapters (PEFT's modules_to_save): none, embedding, head, both. Default: none
    dora: Optional[Word]  # LoRA, QLoRA: rows of the sum are divided by their lengths and times learned magnitudes: false, true. Default: false
    double_quantization: Optional[Word]  # QLoRA: scales of 4-bit weights are quantised to 8 bits: false, true. Default: false
    offload_layers: Optional[Word]  # Layers per stage whose activations are offloaded. Default: all
    offload_device: Optional[Word]  # Where offloaded states are: cpu, nvme. Default: cpu
    reduce_bucket: Optional[Word]  # Gradients that ZeRO reduces at a time, elements: 500M. Default: the framework's
    prefetch_bucket: Optional[Word]  # ZeRO-3: parameters gathered ahead of the module that runs: 50M. Default: the framework's
    live_parameters: Optional[Word]  # ZeRO-3: with so many gathered, nothing is fetched ahead: 1B. Default: the framework's
    reuse_distance: Optional[Word]  # ZeRO-3: what runs again within so many parameters stays gathered: 1B. Default: the framework's
    persistence_threshold: Optional[Word]  # ZeRO-3: tensors of so many elements or fewer stay whole: 100k. Default: the framework's
    sub_group_size: Optional[Word]  # ZeRO-3: parameters of a rank's shard that are updated at a time: 1B. Default: the framework's
    routing_imbalance: Optional[Word]  # Tokens of the busiest expert rank over the mean. Default: 1
    capacity_factor: Optional[Word]  # Tokens beyond X times the mean per expert are dropped. Default: 0, none are
    pad_to_capacity: Optional[Word]  # Every expert computes as many rows as its capacity, empty ones too: false, true. Default: false
    tp_comm_overlap: Optional[Word]  # Tensor-parallel messages run under the products beside them: false, true. Default: the framework's
    tp_backward_overlap: Optional[Word]  # With sequence parallelism, the messages of a linear layer's backward run under its products: false, true. Default: the framework's
    pipeline_overlap: Optional[Word]  # Messages between stages run under computation: false, true. Default: interleaved schedules only
    dp_overlap: Optional[Word]  # Gradients are reduced and parameters gathered under computation: false, true. Default: the framework's
    reduce_gradients: Optional[Word]  # FSDP: in every micro-batch, replicas-once (between replicas of hsdp in the last) or once (no_sync: whole gradients wait). Default: every
    ep_overlap: Optional[Word]  # Tokens travel to the experts under another micro-batch: false, true. Default: the framework's
    compile: Optional[Word]  # torch.compile or XLA: false, true. Default: the framework's (fsdp2 and maxtext: true)
    cuda_graphs: Optional[Word]  # Launches that graphs replay: default, none, partial, full_iteration. Default: the framework's
    moe_dispatcher: Optional[Word]  # Kernel that carries tokens to the ranks of their experts: default, alltoall, allgather, deepep, hybridep. Default: the framework's
    tokens: Optional[Word]  # Training budget, for days, GPU-hours, cost and energy: 15T, 300B
    checkpoint: Optional[Word]  # Checkpoints: sync, or async (written beside the steps that follow). Default: sync
    checkpoint_interval: Optional[Word]  # Training between two checkpoints: 30min. Default: what costs least
    gpu_mtbf: Optional[Word]  # Mean time between failures of one GPU: 50000h. Default: the cluster's, or 65536h
    node_mtbf: Optional[Word]  # ... of what else is in a node. Default: the cluster's, or 57700h
    link_mtbf: Optional[Word]  # ... of one GPU's link to other nodes. Default: the cluster's, or 433340h
    storage_bandwidth: Optional[Word]  # Rate at which the whole job writes checkpoints: 200GB/s. Default: the cluster's, or 0.7GB/s per node
    restart_time: Optional[Word]  # From a failure until training goes on, without loading. Default: the cluster's, or 10min
    repair_time: Optional[Word]  # Until a node that failed is back. Default: the cluster's, or 1d
    spare_nodes: Optional[Word]  # Nodes that wait to replace others. Default: the cluster's, or always enough
    pue: Optional[Word]  # Energy of the site over that of its GPUs. Default: the cluster's, or the GPUs alone
    framework: Optional[Word]  # Framework profile. Default: megatron
    calibration: Optional[Word]  # Measured curves: preset or FILE. Default: those of the GPU type
    fabric: Optional[Word]  # Measured links, as calibrate writes them. Default: those of the cluster
    price: Optional[Word]  # US dollars per GPU-hour. Default: the GPU preset's
    from_: Optional[Word]  # Read the question from launch files, as import does (again for each); flags override them. With it, --cluster may be a GPU type alone
    save_scenario: Optional[Word]  # Write the question to a file
    tp: Optional[Word]  # Tensor parallel sizes: 8, 1,2,4,8 or 1..8. Default: every size that can divide the world
    pp: Optional[Word]  # Pipeline parallel sizes
    dp: Optional[Word]  # Data parallel sizes; they follow from the others, so this only restricts
    cp: Optional[Word]  # Context parallel sizes
    ep: Optional[Word]  # Expert parallel sizes
    etp: Optional[Word]  # Tensor parallel sizes of the experts; 0 = as --tp
    vpp: Optional[Word]  # Model chunks per stage (virtual pipeline)
    sp: Optional[Word]  # Megatron sequence parallelism: on, off or on,off
    zero: Optional[Word]  # ZeRO stages 0..3; 3 = FSDP
    shard_group: Optional[Word]  # Ranks per shard group (HSDP); 0 = all
    micro_batch: Optional[Word]  # Sequences per data-parallel rank and pass
    recompute: Optional[Word]  # none, selective, selective-op, full, layers=4 (the first of every model chunk), layers (every count), modules=core_attn+norm
    schedule: Optional[Word]  # Pipeline schedules
    context: Optional[Word]  # Kinds of context parallelism
    order: Optional[Word]  # Rank orders, innermost axis first: tp/cp/dp/pp,tp/cp/pp/dp
    offload: Optional[Word]  # Kept in host memory: none, optimizer, params, activations, or several with '+': none,activations,optimizer+activations. Default: none, as the framework has it
    offload_fraction: Optional[Word]  # Shares of the optimizer's states that are kept there: 0.25,0.5,1. Varied where the optimizer is offloaded. Default: 1
    precision: Optional[Word]  # Types of the matrix products. Default: bf16
    gpus: Optional[Word]  # GPU counts to try on this cluster's machines: 64,128 or 64..1024 (doubling)
    gpu: Optional[Word]  # GPU types to try: h100,h200. Each in its own reference machines
    network: Optional[Word]  # Network between the nodes, as after '+' of a cluster: ib400, efa3200/node. Default: the cluster's
    diloco: Optional[Word]  # Replicas that train apart between outer steps (--outer-steps), N in every plan. Default: one
    sweep: Optional[Word]  # The best plan for each value of one or two options: seq=4k..128k,gpus=64..4096 (a..b doubles), gpu=h100,h200
    sensitivity: Optional[bool]  # How the best plan changes with more memory, faster links and another price
    batch_tolerance: Optional[Word]  # How far the global batch may be off: 2%. Batches that divide over more data-parallel sizes are tried; plans are ranked by their time per token. Default: 0%
    idle_gpus: Optional[Word]  # Share of the GPUs, in whole nodes, that a plan may leave idle: 10%. Default: 0%
    objective: Optional[Word]  # time, tokens-per-gpu, cost, gpus or headroom. Default: time
    rank_by: Optional[Word]  # expected, or p90: what nine of ten such predictions stay below, so that few published runs count against a plan. Default: expected
    max_memory: Optional[Word]  # Device memory that the peak may take: 90%. Default: 100%
    max_risk: Optional[Word]  # Highest chance of running out of memory that a plan may have: 1%, or any. Default: 5%
    max_hours: Optional[Word]  # Longest training of --tokens: 72, or with units: "3 d", "63 d 21 h"
    max_cost: Optional[Word]  # Most that training on --tokens may cost: 250000, 2M
    min_mfu: Optional[Word]  # Least model FLOP/s utilisation: 40%
    top: Optional[Word]  # Plans to list. Default: 10
    explain: Optional[Word]  # Why plan N is not the first (for 1: why it is): the terms that differ
    no_refine: Optional[bool]  # No uneven stage splits: every plan as the space has it
    no_simulate: Optional[bool]  # Rank by the closed form alone, not by discrete events
    threads: Optional[Word]  # Threads. Default: one per core; the answer does not depend on it


class CompareWords(TypedDict, total=False):
    seq: Optional[Word]  # Sequence length: 4096, 8k (= 8192). Default: 4096, or the model's context length if shorter
    micro_batch: Optional[Word]  # Sequences per data-parallel rank and pass. Default: 1
    global_batch: Optional[Word]  # Sequences per optimizer step. Default: enough to run 4 micro-batches per pipeline stage (1 without pipeline)
    padding: Optional[Word]  # Sequences of a batch are padded: max_length, longest (of the batch: lengths vary, and the allocator holds more). Packed ones are max_length. Default: max_length
    precision: Optional[Word]  # Type of the matrix products: fp32, tf32, fp16, bf16, fp8, fp8-block, mxfp8, nvfp4. Default: bf16
    params_dtype: Optional[Word]  # Type in which parameters are kept for compute: fp32, bf16, fp16, fp8, nf4. Default: the framework's
    grad_dtype: Optional[Word]  # Type in which gradients are accumulated: fp32, bf16, fp16, fp8, nf4. Default: the framework's
    moments_dtype: Optional[Word]  # Type in which AdamW's moments are kept: fp32, bf16, fp16, fp8, nf4. Default: the framework's
    optimizer: Optional[Word]  # adamw, adamw-8bit, adafactor, lion, sgd, muon, lamb, galore, galore-8bit, apollo, apollo-mini, soap, shampoo. Default: adamw
    projection_rank: Optional[Word]  # GaLore, APOLLO: dimensions of the subspace in which gradients of a matrix are followed. Default: 128, of apollo-mini 1
    projection_interval: Optional[Word]  # GaLore, APOLLO: steps after which subspaces are chosen anew, and over which times are means. Default: 200
    precondition_frequency: Optional[Word]  # Shampoo, SOAP: steps after which roots or bases are made anew, and over which times are means. Default: 100, of soap 10
    max_precondition_dim: Optional[Word]  # Shampoo: longest side of the blocks of a matrix; SOAP: longest side that has a basis. Default: 8192, of soap 10000
    outer_steps: Optional[Word]  # Steps of the optimizer from one outer step to the next (DiLoCo): in between, the replicas of diloco2, a word of the layout, exchange nothing. Times are means over them. Default: none are taken
    outer_dtype: Optional[Word]  # Type in which outer gradients travel: fp32, bf16, fp8, fp4. Default: fp32
    outer_states: Optional[Word]  # Where the copy of the parameters and the momentum of outer steps lie: gpu, copy-on-host, host. Default: gpu
    optimizer_in_backward: Optional[Word]  # Each parameter is updated as soon as its gradient is there, which is freed at once: false, true. Default: false
    recompute: Optional[Word]  # none, selective, selective-op, full, layers=4 (first ones of every model chunk), modules=core_attn,norm. Default: none
    attention: Optional[Word]  # flash, flash-attention-2, fused-softmax, unfused (flash: by the framework's library). Default: flash
    cross_entropy: Optional[Word]  # How the loss handles the logits: default, unfused, fused, chunked. Default: what the framework does
    fused_norm: Optional[Word]  # The norm is one kernel instead of a row of tensor operations: false, true. Default: true
    dropout: Optional[Word]  # Dropout probability; above 0 masks are saved. Default: 0
    fine_tune: Optional[Word]  # pretrain, full, lora, qlora, ia3, lora-8bit. Default: pretrain
    lora_rank: Optional[Word]  # Rank of LoRA adapters. Default: the framework's, 8 or 32
    lora_alpha: Optional[Word]  # LoRA adds alpha/rank times what adapters make. Default: twice the rank
    lora_targets: Optional[Word]  # Layers with LoRA adapters: all-linear, attention, qkv, qv, mlp. Default: all-linear
    lora_bias: Optional[Word]  # Biases of the model that train beside LoRA adapters: none, all, lora-only. Default: none
    saved_modules: Optional[Word]  # Modules that train as a whole beside adapters (PEFT's modules_to_save): none, embedding, head, both. Default: none
    dora: Optional[Word]  # LoRA, QLoRA: rows of the sum are divided by their lengths and times learned magnitudes: false, true. Default: false
    double_quantization: Optional[Word]  # QLoRA: scales of 4-bit weights are quantised to 8 bits: false, true. Default: false
    offload: Optional[Word]  # Kept in host memory: optimizer, params, activations, or several with commas
    offload_fraction: Optional[Word]  # Share of the optimizer's states to offload. Default: 1, all
    offload_layers: Optional[Word]  # Layers per stage whose activations are offloaded. Default: all
    offload_device: Optional[Word]  # Where offloaded states are: cpu, nvme. Default: cpu
    reduce_bucket: Optional[Word]  # Gradients that ZeRO reduces at a time, elements: 500M. Default: the framework's
    prefetch_bucket: Optional[Word]  # ZeRO-3: parameters gathered ahead of the module that runs: 50M. Default: the framework's
    live_parameters: Optional[Word]  # ZeRO-3: with so many gathered, nothing is fetched ahead: 1B. Default: the framework's
    reuse_distance: Optional[Word]  # ZeRO-3: what runs again within so many parameters stays gathered: 1B. Default: the framework's
    persistence_threshold: Optional[Word]  # ZeRO-3: tensors of so many elements or fewer stay whole: 100k. Default: the framework's
    sub_group_size: Optional[Word]  # ZeRO-3: parameters of a rank's shard that are updated at a time: 1B. Default: the framework's
    routing_imbalance: Optional[Word]  # Tokens of the busiest expert rank over the mean. Default: 1
    capacity_factor: Optional[Word]  # Tokens beyond X times the mean per expert are dropped. Default: 0, none are
    pad_to_capacity: Optional[Word]  # Every expert computes as many rows as its capacity, empty ones too: false, true. Default: false
    tp_comm_overlap: Optional[Word]  # Tensor-parallel messages run under the products beside them: false, true. Default: the framework's
    tp_backward_overlap: Optional[Word]  # With sequence parallelism, the messages of a linear layer's backward run under its products: false, true. Default: the framework's
    pipeline_overlap: Optional[Word]  # Messages between stages run under computation: false, true. Default: interleaved schedules only
    dp_overlap: Optional[Word]  # Gradients are reduced and parameters gathered under computation: false, true. Default: the framework's
    reduce_gradients: Optional[Word]  # FSDP: in every micro-batch, replicas-once (between replicas of hsdp in the last) or once (no_sync: whole gradients wait). Default: every
    ep_overlap: Optional[Word]  # Tokens travel to the experts under another micro-batch: false, true. Default: the framework's
    compile: Optional[Word]  # torch.compile or XLA: false, true. Default: the framework's (fsdp2 and maxtext: true)
    cuda_graphs: Optional[Word]  # Launches that graphs replay: default, none, partial, full_iteration. Default: the framework's
    moe_dispatcher: Optional[Word]  # Kernel that carries tokens to the ranks of their experts: default, alltoall, allgather, deepep, hybridep. Default: the framework's
    tokens: Optional[Word]  # Training budget, for days, GPU-hours, cost and energy: 15T, 300B
    checkpoint: Optional[Word]  # Checkpoints: sync, or async (written beside the steps that follow). Default: sync
    checkpoint_interval: Optional[Word]  # Training between two checkpoints: 30min. Default: what costs least
    gpu_mtbf: Optional[Word]  # Mean time between failures of one GPU: 50000h. Default: the cluster's, or 65536h
    node_mtbf: Optional[Word]  # ... of what else is in a node. Default: the cluster's, or 57700h
    link_mtbf: Optional[Word]  # ... of one GPU's link to other nodes. Default: the cluster's, or 433340h
    storage_bandwidth: Optional[Word]  # Rate at which the whole job writes checkpoints: 200GB/s. Default: the cluster's, or 0.7GB/s per node
    restart_time: Optional[Word]  # From a failure until training goes on, without loading. Default: the cluster's, or 10min
    repair_time: Optional[Word]  # Until a node that failed is back. Default: the cluster's, or 1d
    spare_nodes: Optional[Word]  # Nodes that wait to replace others. Default: the cluster's, or always enough
    pue: Optional[Word]  # Energy of the site over that of its GPUs. Default: the cluster's, or the GPUs alone
    framework: Optional[Word]  # Framework profile. Default: megatron
    calibration: Optional[Word]  # Measured curves: preset or FILE. Default: those of the GPU type
    fabric: Optional[Word]  # Measured links, as calibrate writes them. Default: those of the cluster
    price: Optional[Word]  # US dollars per GPU-hour. Default: the GPU preset's
    from_: Optional[Word]  # Read the question from launch files, as import does (again for each); flags override them. With it, --cluster may be a GPU type alone
    save_scenario: Optional[Word]  # Write the question to a file


class ImportWords(TypedDict, total=False):
    seq: Optional[Word]  # Sequence length: 4096, 8k (= 8192). Default: 4096, or the model's context length if shorter
    micro_batch: Optional[Word]  # Sequences per data-parallel rank and pass. Default: 1
    global_batch: Optional[Word]  # Sequences per optimizer step. Default: enough to run 4 micro-batches per pipeline stage (1 without pipeline)
    padding: Optional[Word]  # Sequences of a batch are padded: max_length, longest (of the batch: lengths vary, and the allocator holds more). Packed ones are max_length. Default: max_length
    precision: Optional[Word]  # Type of the matrix products: fp32, tf32, fp16, bf16, fp8, fp8-block, mxfp8, nvfp4. Default: bf16
    params_dtype: Optional[Word]  # Type in which parameters are kept for compute: fp32, bf16, fp16, fp8, nf4. Default: the framework's
    grad_dtype: Optional[Word]  # Type in which gradients are accumulated: fp32, bf16, fp16, fp8, nf4. Default: the framework's
    moments_dtype: Optional[Word]  # Type in which AdamW's moments are kept: fp32, bf16, fp16, fp8, nf4. Default: the framework's
    optimizer: Optional[Word]  # adamw, adamw-8bit, adafactor, lion, sgd, muon, lamb, galore, galore-8bit, apollo, apollo-mini, soap, shampoo. Default: adamw
    projection_rank: Optional[Word]  # GaLore, APOLLO: dimensions of the subspace in which gradients of a matrix are followed. Default: 128, of apollo-mini 1
    projection_interval: Optional[Word]  # GaLore, APOLLO: steps after which subspaces are chosen anew, and over which times are means. Default: 200
    precondition_frequency: Optional[Word]  # Shampoo, SOAP: steps after which roots or bases are made anew, and over which times are means. Default: 100, of soap 10
    max_precondition_dim: Optional[Word]  # Shampoo: longest side of the blocks of a matrix; SOAP: longest side that has a basis. Default: 8192, of soap 10000
    outer_steps: Optional[Word]  # Steps of the optimizer from one outer step to the next (DiLoCo): in between, the replicas of diloco2, a word of the layout, exchange nothing. Times are means over them. Default: none are taken
    outer_dtype: Optional[Word]  # Type in which outer gradients travel: fp32, bf16, fp8, fp4. Default: fp32
    outer_states: Optional[Word]  # Where the copy of the parameters and the momentum of outer steps lie: gpu, copy-on-host, host. Default: gpu
    optimizer_in_backward: Optional[Word]  # Each parameter is updated as soon as its gradient is there, which is freed at once: false, true. Default: false
    recompute: Optional[Word]  # none, selective, selective-op, full, layers=4 (first ones of every model chunk), modules=core_attn,norm. Default: none
    attention: Optional[Word]  # flash, flash-attention-2, fused-softmax, unfused (flash: by the framework's library). Default: flash
    cross_entropy: Optional[Word]  # How the loss handles the logits: default, unfused, fused, chunked. Default: what the framework does
    fused_norm: Optional[Word]  # The norm is one kernel instead of a row of tensor operations: false, true. Default: true
    dropout: Optional[Word]  # Dropout probability; above 0 masks are saved. Default: 0
    fine_tune: Optional[Word]  # pretrain, full, lora, qlora, ia3, lora-8bit. Default: pretrain
    lora_rank: Optional[Word]  # Rank of LoRA adapters. Default: the framework's, 8 or 32
    lora_alpha: Optional[Word]  # LoRA adds alpha/rank times what adapters make. Default: twice the rank
    lora_targets: Optional[Word]  # Layers with LoRA adapters: all-linear, attention, qkv, qv, mlp. Default: all-linear
    lora_bias: Optional[Word]  # Biases of the model that train beside LoRA adapters: none, all, lora-only. Default: none
    saved_modules: Optional[Word]  # Modules that train as a whole beside adapters (PEFT's modules_to_save): none, embedding, head, both. Default: none
    dora: Optional[Word]  # LoRA, QLoRA: rows of the sum are divided by their lengths and times learned magnitudes: false, true. Default: false
    double_quantization: Optional[Word]  # QLoRA: scales of 4-bit weights are quantised to 8 bits: false, true. Default: false
    offload: Optional[Word]  # Kept in host memory: optimizer, params, activations, or several with commas
    offload_fraction: Optional[Word]  # Share of the optimizer's states to offload. Default: 1, all
    offload_layers: Optional[Word]  # Layers per stage whose activations are offloaded. Default: all
    offload_device: Optional[Word]  # Where offloaded states are: cpu, nvme. Default: cpu
    reduce_bucket: Optional[Word]  # Gradients that ZeRO reduces at a time, elements: 500M. Default: the framework's
    prefetch_bucket: Optional[Word]  # ZeRO-3: parameters gathered ahead of the module that runs: 50M. Default: the framework's
    live_parameters: Optional[Word]  # ZeRO-3: with so many gathered, nothing is fetched ahead: 1B. Default: the framework's
    reuse_distance: Optional[Word]  # ZeRO-3: what runs again within so many parameters stays gathered: 1B. Default: the framework's
    persistence_threshold: Optional[Word]  # ZeRO-3: tensors of so many elements or fewer stay whole: 100k. Default: the framework's
    sub_group_size: Optional[Word]  # ZeRO-3: parameters of a rank's shard that are updated at a time: 1B. Default: the framework's
    routing_imbalance: Optional[Word]  # Tokens of the busiest expert rank over the mean. Default: 1
    capacity_factor: Optional[Word]  # Tokens beyond X times the mean per expert are dropped. Default: 0, none are
    pad_to_capacity: Optional[Word]  # Every expert computes as many rows as its capacity, empty ones too: false, true. Default: false
    tp_comm_overlap: Optional[Word]  # Tensor-parallel messages run under the products beside them: false, true. Default: the framework's
    tp_backward_overlap: Optional[Word]  # With sequence parallelism, the messages of a linear layer's backward run under its products: false, true. Default: the framework's
    pipeline_overlap: Optional[Word]  # Messages between stages run under computation: false, true. Default: interleaved schedules only
    dp_overlap: Optional[Word]  # Gradients are reduced and parameters gathered under computation: false, true. Default: the framework's
    reduce_gradients: Optional[Word]  # FSDP: in every micro-batch, replicas-once (between replicas of hsdp in the last) or once (no_sync: whole gradients wait). Default: every
    ep_overlap: Optional[Word]  # Tokens travel to the experts under another micro-batch: false, true. Default: the framework's
    compile: Optional[Word]  # torch.compile or XLA: false, true. Default: the framework's (fsdp2 and maxtext: true)
    cuda_graphs: Optional[Word]  # Launches that graphs replay: default, none, partial, full_iteration. Default: the framework's
    moe_dispatcher: Optional[Word]  # Kernel that carries tokens to the ranks of their experts: default, alltoall, allgather, deepep, hybridep. Default: the framework's
    tokens: Optional[Word]  # Training budget, for days, GPU-hours, cost and energy: 15T, 300B
    checkpoint: Optional[Word]  # Checkpoints: sync, or async (written beside the steps that follow). Default: sync
    checkpoint_interval: Optional[Word]  # Training between two checkpoints: 30min. Default: what costs least
    gpu_mtbf: Optional[Word]  # Mean time between failures of one GPU: 50000h. Default: the cluster's, or 65536h
    node_mtbf: Optional[Word]  # ... of what else is in a node. Default: the cluster's, or 57700h
    link_mtbf: Optional[Word]  # ... of one GPU's link to other nodes. Default: the cluster's, or 433340h
    storage_bandwidth: Optional[Word]  # Rate at which the whole job writes checkpoints: 200GB/s. Default: the cluster's, or 0.7GB/s per node
    restart_time: Optional[Word]  # From a failure until training goes on, without loading. Default: the cluster's, or 10min
    repair_time: Optional[Word]  # Until a node that failed is back. Default: the cluster's, or 1d
    spare_nodes: Optional[Word]  # Nodes that wait to replace others. Default: the cluster's, or always enough
    pue: Optional[Word]  # Energy of the site over that of its GPUs. Default: the cluster's, or the GPUs alone
    schedule: Optional[Word]  # Pipeline schedule, as in the layout: 1f1b, interleaved, zb-h1, zb-v, …
    framework: Optional[Word]  # Framework profile. Default: megatron
    calibration: Optional[Word]  # Measured curves: preset or FILE. Default: those of the GPU type
    fabric: Optional[Word]  # Measured links, as calibrate writes them. Default: those of the cluster
    price: Optional[Word]  # US dollars per GPU-hour. Default: the GPU preset's
    save_scenario: Optional[Word]  # Write the question to a file
