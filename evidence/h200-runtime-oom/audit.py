"""On which vLLM wheels can GLM-5.2-FP8 on H200 ask for an FP32 workspace that grows with the token cap?"""

import re

from site_builder.audits import Audit, choose, count, every, holds, least, most, row, some, table
from site_builder.readers import NotOneError, ReadingError, UnknownError

audit = Audit(
    __doc__,
    limits=[
        "Nothing was run on a GPU: no model was called, no allocation measured, no upstream test executed.",
        "The table names what the mixed call itself asks for. Weights, caches, graph pools, communication buffers, "
        "fragmentation and other processes need memory beside it.",
        "The checkpoint's own files were not read: what is said of the model is reported, or a default of its "
        "configuration class.",
        "x86_64 wheels were read. Others are out of scope, and so are images that carry patches of their own.",
        "That a backend is the first one whose declarations admit a configuration does not show that it gives right answers.",
        "Context parallelism, HiSparse and DBO were left at their defaults, which are off.",
        "What start-up profiling allocates, and whether it reaches this call, was not observed.",
        "The test against 9 that sets the flag of the call in later libraries is read as one of the compute capability: "
        "that reading is ours.",
        "The path that more heads per GPU take was not sized.",
        "Options that change an unset token cap, and what a scheduler plans below the cap, were not observed.",
        "That short prefills leave the mixed call takes a prefill backend and an option at its default; neither was "
        "observed. Without them every step follows the cap.",
    ],
)

# What we choose


@audit.assumption(
    axis="cap", unit="token", reason="The published table's caps, so that the two can be laid side by side."
)
def caps():
    """Token caps that the workspace is computed for."""
    return 4096, 8192, 16384, 32768, 65536


@audit.assumption(unit="GPU", reason="The reported deployment shards attention over eight GPUs.")
def tensor_parallel():
    """GPUs over which the query heads are divided."""
    return 8


@audit.assumption(axis="sharding", unit="GPU", reason="The powers of two up to the reported deployment's eight GPUs.")
def shardings():
    """Tensor-parallel sizes that the head count is computed for."""
    return 1, 2, 4, 8


@audit.assumption(
    unit="SM", reason="NVIDIA states 132 streaming multiprocessors for H200; no source here was read for it."
)
def multiprocessors():
    """Streaming multiprocessors of one H200."""
    return 132


@audit.assumption(unit="GiB", reason="H200 has 141 GB; the release compares with 70 GiB, and a later one with 160 GiB.")
def device_memory():
    """Memory that an H200 reports, to the nearest ten GiB."""
    return 140


@audit.assumption(
    unit="1", reason="The mixed call hands all scheduled tokens over as one sequence, so its batch is one."
)
def batch():
    """Batch size of the mixed call."""
    return 1


@audit.assumption(
    unit="head",
    reason="The library shifts the head count right by six bits when it counts partitions: blocks of 64 heads.",
)
def head_block():
    """Heads that one block of the Hopper path takes."""
    return 64


@audit.assumption(unit="B", reason="An FP32 number has four bytes.")
def fp32_bytes():
    """Bytes of one accumulator element."""
    return 4


@audit.assumption(unit="B", reason="A BF16 number has two bytes.")
def bf16_bytes():
    """Bytes of one output element."""
    return 2


@audit.assumption(unit="B", reason="The report's equivalent counts one byte for each FP8 index element.")
def fp8_bytes():
    """Bytes of one FP8 element."""
    return 1


@audit.assumption(reason="The name under which the backends list it; the recipe's override on Hopper.")
def fp8_dtype():
    """The KV cache dtype of the reported deployment."""
    return "fp8"


@audit.assumption(reason="The default: whatever the model's own dtype is.")
def auto_dtype():
    """The KV cache dtype of a start without the flag."""
    return "auto"


@audit.assumption(reason="The dtype that the published guide warns of switching to.")
def bfloat16_dtype():
    """The unquantized KV cache dtype."""
    return "bfloat16"


@audit.assumption(reason="The recipe's base value for the KV cache.")
def fp8_e4m3_dtype():
    """The KV cache dtype that the recipe names beside the Hopper override."""
    return "fp8_e4m3"


@audit.assumption(reason="The layout that an fp8 cache of this backend is kept in.")
def fp8_ds_mla_dtype():
    """The sparse layout of an fp8 KV cache."""
    return "fp8_ds_mla"


@audit.assumption(reason="The name in the platform's list.")
def flashmla():
    """The backend whose mixed call this audit is about."""
    return "FLASHMLA_SPARSE"


@audit.assumption(reason="The name in the platform's list.")
def flash_attention():
    """The sparse backend that releases from 0.25.0 on try first."""
    return "FLASH_ATTN_MLA_SPARSE"


@audit.assumption(reason="The name in the platform's list.")
def flashinfer():
    """The sparse backend that releases from 0.30.0 on try last."""
    return "FLASHINFER_MLA_SPARSE_SM90"


@audit.assumption(reason="What the release does when no backend is left: it raises, and the engine does not start.")
def refused():
    """No backend admits the configuration."""
    return "refused"


@audit.assumption(reason="A word for the release table.")
def present():
    """The guard was read in the library."""
    return "present"


@audit.assumption(reason="A word for the release table.")
def absent():
    """The guard was looked for in the library and is not there."""
    return "absent"


@audit.assumption(reason="A word for the release table.")
def every_step():
    """The accumulators follow the tokens of every step."""
    return "every step"


@audit.assumption(reason="A word for the release table.")
def long_prefill():
    """The accumulators follow the tokens of every step in which one prefill is longer than the index's top-k."""
    return "a step with a prefill longer than the top-k"


@audit.assumption(reason="A word for the release table.")
def never():
    """The accumulators do not follow the cap in any step."""
    return "never"


@audit.assumption(reason="What was not observed stays unknown in everything that needs it.")
def not_known():
    """What was not observed."""
    return "unknown"


@audit.assumption(unit="1", reason="The kernel combines partial results only where there is more than one partition.")
def two_partitions():
    """Fewest partitions whose results must be combined."""
    return 2


@audit.assumption(unit="1", reason="H200 is a Hopper device: compute capability 9.0.")
def hopper():
    """Major compute capability of an H200."""
    return 9


@audit.assumption(
    reason="The package that the registry names from 0.29.0 on; before, the class lies among the other models."
)
def own_package():
    """Package that serves the architecture in later releases."""
    return "vllm.models.deepseek_v32"


@audit.assumption(reason="The module that the registry names before.")
def shared_module():
    """Module that serves the architecture in earlier releases."""
    return "deepseek_v2"


@audit.assumption(reason="The module that the package binds the architecture's name from on CUDA.")
def cuda_module():
    """Module of that package for CUDA devices."""
    return ".nvidia.model"


@audit.assumption(reason="The highest release number that was audited.")
def newest():
    """Newest audited release."""
    return "0.33.0"


@audit.assumption(reason="A word for the decision.")
def affected():
    """The accumulators follow the token cap."""
    return "affected"


@audit.assumption(reason="A word for the decision.")
def bounded():
    """The accumulators stay small whatever the cap; the output of the call still grows with it."""
    return "bounded"


# What was read off each release's own bytes

BACKEND = "FlashMLASparseBackend"
BUILDER = "FlashMLASparseMetadataBuilder"
IMPL = "FlashMLASparseImpl"


@audit.observation("build-version@{release}", kind="digest")
def commit(source):
    """Commit that the wheel names as the one it was built from."""
    return source.pattern(r"__commit_id__ = commit_id = 'g([0-9a-f]{7,40})'")


@audit.observation("sdist-version@{release}", kind="digest")
def sdist_commit(source):
    """Commit that the sdist names as the one it was made from."""
    return source.pattern(r"__commit_id__ = commit_id = 'g([0-9a-f]{7,40})'")


@audit.observation("flashmla-pin@{release}", kind="digest")
def sdist_pin(source):
    """FlashMLA commit that a source build of the sdist takes."""
    return source.pattern(r"\s*GIT_TAG ([0-9a-f]{40})", comment="#")


@audit.observation("model-registry@{release}")
def registry_module(source):
    """Module that the registry names for the model's architecture."""
    found = source.python.entry("_TEXT_GENERATION_MODELS", "GlmMoeDsaForCausalLM")
    return found.read_as(found.value[0])


@audit.observation("flashmla-sparse@{release}", unit="head")
def min_heads(source):
    """Query heads per GPU below which the backend takes the mixed FP8 path."""
    return source.python.constant("MIN_HEADS_FOR_BF16_PREFILL")


@audit.observation("flashmla-sparse@{release}", kind="truth", phrases={"yes": ["fewer heads than the threshold"]})
def mixed_below(source):
    """The mixed path is chosen where the heads per GPU are fewer than that threshold."""
    return source.python.comparison(r"self\.num_heads", "<", "MIN_HEADS_FOR_BF16_PREFILL").read_as(True)


@audit.observation("flashmla-sparse@{release}", kind="words")
def mixed_unless(source):
    """Options that keep the mixed path off beside the head count; all are off by default."""
    module = source.python
    found = module.comparison(r"self\.num_heads", "<", "MIN_HEADS_FOR_BF16_PREFILL")
    try:
        options = module.one(
            "assignment",
            r"self\.fp8_use_mixed_batch = \(?self\.num_heads < MIN_HEADS_FOR_BF16_PREFILL and "
            r"not self\.(\w+) and not self\.(\w+)\)?",
        )
    except ReadingError:
        module.one("assignment", r"(?:self\.)?fp8_use_mixed_batch = self\.num_heads < MIN_HEADS_FOR_BF16_PREFILL")
        return found.read_as(("none",))
    return options


@audit.observation(
    "flashmla-sparse@{release}", kind="truth", phrases={"yes": ["only for an FP8 cache", "only a quantized cache"]}
)
def quantized_only(source):
    """The mixed call is made only where the KV cache has a quantized sparse layout."""
    forward = source.python.function(f"{IMPL}.forward_mqa")
    forward.one(
        "assignment",
        r"use_fp8_cache = self\.kv_cache_dtype (?:== \"fp8_ds_mla\"|in QUANTIZED_DS_MLA_CACHE_FORMATS)",
    )
    found = forward.call("self._forward_fp8_kv_mixed_batch").conditions
    return found.read_as("use_fp8_cache" in found.value)


@audit.observation("flashmla-sparse@{release}", unit="head")
def padded_envelope(source):
    """Heads that the mixed call pads to, where a GPU has no more than that many."""
    found = source.python.one("conditional_expression", r"(64) if \w+ <= (64) else 128")
    return found.read_as(int(found.value[0]))


@audit.observation("flashmla-sparse@{release}", unit="1")
def value_width(source):
    """Width of the value that the mixed call asks the kernel for, per head."""
    return (
        source.python.function(f"{IMPL}._fp8_flash_mla_kernel")
        .call("flash_mla_with_kvcache")
        .argument(keyword="head_dim_v")
    )


@audit.observation(
    "flashmla-sparse@{release}", kind="truth", phrases={"no": ["in one piece", "not chunked"], "yes": ["chunked"]}
)
def chunked(source):
    """The mixed call stands in a loop or under a condition that could split the scheduled tokens."""
    call = source.python.function(f"{IMPL}._forward_fp8_kv_mixed_batch").call("self._fp8_flash_mla_kernel")
    inner = source.python.function(f"{IMPL}._fp8_flash_mla_kernel").call("flash_mla_with_kvcache")
    return call.conditions.read_as(bool(call.conditions.value) or bool(inner.conditions.value))


@audit.absence("envs@{release}", control="flashmla-sparse@{release}")
def no_scratch_limit(source):
    """No environment setting of this release names the sparse backend, as the proposed limit on its scratch memory would."""
    return source.python.count("string", containing="FLASHMLA_SPARSE")


@audit.observation("flashmla-sparse@{release}", kind="words")
def flashmla_dtypes(source):
    """KV cache dtypes that FLASHMLA_SPARSE declares to support."""
    return source.python.attribute(BACKEND, "supported_kv_cache_dtypes")


@audit.observation("flashmla-sparse@{release}", kind="words")
def flashmla_head_sizes(source):
    """Head sizes that FLASHMLA_SPARSE declares to support."""
    return source.python.function(f"{BACKEND}.get_supported_head_sizes").returned()


@audit.observation("flashmla-sparse@{release}", kind="words")
def flashmla_capabilities(source):
    """Major compute capabilities that FLASHMLA_SPARSE declares to support."""
    return source.python.function(f"{BACKEND}.supports_compute_capability").one("list", r"\[(\d+), (\d+)\]")


@audit.observation("flash-attn-sparse@{release}", kind="words")
def flash_attention_dtypes(source):
    """KV cache dtypes that FLASH_ATTN_MLA_SPARSE declares to support."""
    return source.python.attribute("FlashAttnMLASparseBackend", "supported_kv_cache_dtypes")


@audit.observation("flashinfer-sparse-sm90@{release}", kind="words")
def flashinfer_dtypes(source):
    """KV cache dtypes that FLASHINFER_MLA_SPARSE_SM90 declares to support."""
    return source.python.attribute("FlashInferMLASparseSM90Backend", "supported_kv_cache_dtypes")


@audit.observation("flash-attn-sparse@{release}", kind="truth")
def flash_attention_on_hopper(source):
    """FLASH_ATTN_MLA_SPARSE declares to support major compute capability 9."""
    check = source.python.function("FlashAttnMLASparseBackend.supports_compute_capability")
    return check.comparison(r"capability\.major", "==", "9").read_as(True)


@audit.observation("flashinfer-sparse-sm90@{release}", kind="truth")
def flashinfer_on_hopper(source):
    """FLASHINFER_MLA_SPARSE_SM90 declares to support major compute capability 9."""
    check = source.python.function("FlashInferMLASparseSM90Backend.supports_compute_capability")
    return check.comparison(r"capability\.major", "==", "9").read_as(True)


@audit.observation("cuda-platform@{release}", kind="words")
def candidates(source):
    """Sparse backends that a device of compute capability 9 tries for a head size other than 512, in that order."""
    order = source.python.function("_get_backend_priorities")
    other_devices = (r"use_mla", r"not \(device_capability\.major == 10\)")
    try:
        found = order.returned(when=(*other_devices, r"not \(device_capability\.major == 12\)"))
    except NotOneError:
        found = order.returned(when=other_devices)
    except UnknownError:
        first = order.assigned("sparse_tail")
        order.conditions("expression_statement", r"sparse_tail\.append\(flashinfer_sparse\)")
        last = order.assigned("flashinfer_sparse")
        return first.read_as((*_sparse(first.value), *_sparse(last.value)))
    return found.read_as(tuple(name for item in found.value for name in _sparse(item)))


def _sparse(text):
    """The sparse backends that a source text names, in its order."""
    names = text.replace("[", " ").replace("]", " ").replace(",", " ").split()
    return tuple(name.removeprefix("AttentionBackendEnum.") for name in names if "SPARSE" in name)


@audit.observation("cuda-platform@{release}", kind="truth")
def candidates_in_order(source):
    """They stand in the order flash attention, FlashMLA, FlashInfer, as far as the release has them."""
    found = candidates(source)
    order = ("FLASH_ATTN_MLA_SPARSE", "FLASHMLA_SPARSE", "FLASHINFER_MLA_SPARSE_SM90")
    return found.read_as(found.value == tuple(name for name in order if name in found.value))


@audit.observation("mla-attention@{release}")
def kept_as(source):
    """What an fp8 cache of FLASHMLA_SPARSE becomes once the backend is chosen."""
    module = source.python
    ours = r"backend_name == \"FLASHMLA_SPARSE\" and is_quantized_kv_cache\(kv_cache_dtype\)"
    try:
        chosen = module.function("_canonicalize_sparse_mla_kv_cache_dtype")
    except NotOneError:
        found = module.function("MLAAttention.__init__").assigned("kv_cache_dtype", when=(r".*FLASHMLA_SPARSE.*",))
        return found.read_as(str(found.value).strip("\"'"))
    try:
        return chosen.returned(when=(ours,))
    except NotOneError:
        return chosen.returned(when=(ours, r"not \(kv_cache_dtype == \"nvfp4_ds_mla\"\)"))


@audit.observation("mla-attention@{release}", kind="truth")
def prefills_can_leave(source):
    """Prefills may leave the mixed batch: that all tokens stay in it stands under a condition on the step."""
    module = source.python.function("MLAAttention.forward_impl")
    found = module.conditions("assignment", r"num_mqa_tokens = q\.size\(0\)")
    return found.read_as("not (use_mha)" in found.value)


@audit.observation("served-module@{release}", otherwise="unknown")
def served_by(source):
    """Module whose class the architecture's name stands for on CUDA, where the registry names this package."""
    given = r"from ?(\.nvidia\S*) import DeepseekV32ForCausalLM as GlmMoeDsaForCausalLM"
    if source.python.conditions("import_from_statement", given).value != ("current_platform.is_cuda()",):
        raise UnknownError("the name is not bound under the test for CUDA alone")
    return source.python.one("import_from_statement", given)


@audit.observation("served-attention@{release}", kind="truth", otherwise="unknown")
def step_can_leave(source):
    """There, a step leaves the sparse backend's call where its prefills do."""
    step = source.python.function("DeepseekV32Attention._sparse_indexer_and_attn")
    found = step.call("self.impl.forward_mqa").conditions
    return found.read_as("not (self._use_sparse_mha(attn_metadata))" in found.value)


@audit.observation("mla-attention@{release}", kind="truth", otherwise="unknown")
def leaves_when_short_here(source):
    """They leave where the longest prefill is no longer than the index's top-k, by a comparison in this file."""
    return source.python.comparison("prefill_max_seq_len", "<=", r"attn_metadata\.topk_tokens").read_as(True)


@audit.observation("sparse-mla-attention@{release}", kind="truth", otherwise="unknown")
def leaves_when_short(source):
    """They leave where the longest prefill is no longer than the index's top-k, by a comparison of the metadata's builder."""
    module = source.python
    try:
        return module.comparison("prefill_max_seq_len", "<=", r"self\.topk_tokens").read_as(True)
    except NotOneError:
        chosen = module.function("_use_dense_mha_prefill")
        return chosen.comparison("prefill_max_seq_len", "<=", "topk_tokens").read_as(True)


@audit.observation("mla-attention@{release}", kind="truth", otherwise="unknown")
def masked_prefills_can_leave(source):
    """Long prefills may leave as well, under a mask of what the index selected, where that way is available."""
    module = source.python
    try:
        way = module.one("assignment", r"use_masked_mha = \(self\.prefill_backend is not None and (.+)\)")
    except NotOneError:
        short_ones = (
            r"self\.prefill_backend is not None and prefill_max_seq_len <= attn_metadata\.topk_tokens and not .+"
        )
        return module.one("assignment", rf"use_mha = \({short_ones}\)").read_as(False)
    if "self.impl.masked_mha_available" not in str(way.value).split(" and "):
        raise UnknownError("whether that way is available is not asked for")
    return way.read_as(True)


@audit.observation(
    "sparse-mla-attention@{release}",
    kind="truth",
    otherwise="unknown",
    phrases={"yes": ["not available on an H200"], "no": ["available on an H200"]},
)
def masked_prefills_elsewhere(source):
    """That way is available on no device outside of the family of compute capability 10: not on an H200."""
    available = source.python.function("_is_masked_mha_available")
    found = available.returned(when=(r"not \(current_platform\.is_device_capability_family\(100\)\)",))
    return found.read_as(found.value is False)


@audit.observation("engine-args@{release}", unit="GiB")
def tier(source):
    """Device memory from which the larger token caps apply."""
    caps = source.python.function("EngineArgs.get_batch_defaults")
    return caps.comparison("device_memory", ">=", r"(70) \* GiB_bytes")


@audit.observation("engine-args@{release}", unit="GiB")
def first_tier(source):
    """Device memory at which the first of the release's tiers begins: the same one, or a larger one that is asked for first."""
    caps = source.python.function("EngineArgs.get_batch_defaults")
    try:
        return caps.comparison("device_memory", ">=", r"(160) \* GiB_bytes")
    except NotOneError:
        return caps.comparison("device_memory", ">=", r"(\d+) \* GiB_bytes")


@audit.observation("engine-args@{release}", unit="token")
def server_cap(source):
    """Token cap of that tier for a server that is started without the flag."""
    caps = source.python.function("EngineArgs.get_batch_defaults")
    tier_of_70 = (r"device_memory >= 70 \* GiB_bytes.*",)
    return caps.entry("default_max_num_batched_tokens", "UsageContext.OPENAI_API_SERVER", when=tier_of_70)


@audit.observation("engine-args@{release}", unit="token")
def offline_cap(source):
    """Token cap of that tier for offline use without the argument."""
    caps = source.python.function("EngineArgs.get_batch_defaults")
    tier_of_70 = (r"device_memory >= 70 \* GiB_bytes.*",)
    return caps.entry("default_max_num_batched_tokens", "UsageContext.LLM_CLASS", when=tier_of_70)


@audit.observation("scheduler-config@{release}", unit="token")
def class_cap(source):
    """Token cap that the configuration class itself carries: not what a server gets."""
    return source.python.attribute("SchedulerConfig", "DEFAULT_MAX_NUM_BATCHED_TOKENS")


@audit.observation("cache-config@{release}", unit="1")
def memory_fraction(source):
    """Share of device memory that the executor takes without the flag."""
    return source.python.one("assignment", r"gpu_memory_utilization: float = Field\(default=([\d.]+),.*\)")


@audit.observation("cache-config@{release}")
def default_dtype(source):
    """KV cache dtype of a start without the flag."""
    return source.python.attribute("CacheConfig", "cache_dtype")


@audit.observation("model-defaults-first", unit="head")
def heads_default_first(source):
    """Query heads that the architecture's configuration class defaults to, in the first release that ships it."""
    return source.python.default("GlmMoeDsaConfig.__init__", "num_attention_heads")


@audit.observation("model-defaults-newest", unit="head")
def heads_default(source):
    """Query heads that the architecture's configuration class defaults to, in the newest release read."""
    return source.python.attribute("GlmMoeDsaConfig", "num_attention_heads")


@audit.observation("model-defaults-newest", unit="1")
def latent_width(source):
    """Width of the compressed KV cache entry, by the configuration class."""
    return source.python.attribute("GlmMoeDsaConfig", "kv_lora_rank")


@audit.observation("model-defaults-newest", unit="1")
def rope_width(source):
    """Width of the rotary part of a cache entry, by the configuration class."""
    return source.python.attribute("GlmMoeDsaConfig", "qk_rope_head_dim")


@audit.observation("model-defaults-newest", unit="token")
def top_k_default(source):
    """Tokens that the index selects, by the configuration class."""
    return source.python.attribute("GlmMoeDsaConfig", "index_topk")


@audit.observation("model-defaults-newest", unit="1")
def index_dim_default(source):
    """Width of an index head, by the configuration class."""
    return source.python.attribute("GlmMoeDsaConfig", "index_head_dim")


# What was read off the compiled library

ENTRY = "Only head_size_v == 512 is supported for sparse decoding"
ALLOCATIONS = ("torch::empty", "torch::stable::new_empty")


def _accumulators(source):
    """The entry that raises the message, and the two allocations before the check on the first accumulator."""
    entry = source.library("c10::detail::torchCheckFail").function_raising(ENTRY)
    calls = entry.calls(*ALLOCATIONS, before="lse_accum must be contiguous", last=2)
    dimensions = [set(call.constants.values()) | set(call.immediates) for call in calls]
    if not (3 in dimensions[0] and 4 in dimensions[1]):
        raise UnknownError("the two allocations are not of three and of four dimensions")
    return entry, calls


@audit.observation(
    "flashmla-library@{release}",
    otherwise="unknown",
    phrases={"present": ["guarded", "present"], "absent": ["not guarded", "absent"]},
)
def guard(source):
    """Whether the accumulators' allocations stand behind a comparison of the partition count with one."""
    entry, calls = _accumulators(source)
    found = entry.guard(of=calls, compares_with=1)
    return found.read_as("present" if found.value == "present" else "absent")


@audit.observation("flashmla-library@{release}", kind="text", otherwise="unknown")
def allocation(source):
    """What decides whether the accumulators are allocated at all."""
    entry, calls = _accumulators(source)
    found = entry.guard(of=calls, compares_with=1)
    return found.read_as(
        {"present": "the partition count", "absent": "nothing", "otherwise": "a flag of the call"}[found.value]
    )


@audit.observation(
    "flashmla-library@{release}",
    kind="truth",
    otherwise="unknown",
    phrases={"yes": ["not spared"], "no": ["spared"]},
)
def set_on_hopper(source):
    """What decides does not spare an H200: nothing or the partition count decides, or a flag that a test against 9 sets."""
    entry, calls = _accumulators(source)
    found = entry.guard(of=calls, compares_with=1)
    if found.value != "otherwise":
        return found.read_as(True)
    tests = [
        test for test in entry.conditions(of=calls) if re.fullmatch(r"cmp qword ptr \[rbp - \w+\], 9", test.value[0])
    ]
    if len(tests) != 1:
        raise UnknownError(f"expected one test against 9 among the flag's, found {len(tests)}")
    return tests[0].read_as(True)


@audit.observation("flashmla-library@{release}", kind="truth", otherwise="unknown")
def partitions_fall_to_one(source):
    """The Hopper path's partition count is multiprocessors over tokens over blocks of 64 heads, and at least one."""
    meta = source.library("c10::detail::torchCheckFail").function_named("Decode_Sm90_Impl::get_meta")
    return meta.sequence(
        r"mov eax, dword ptr \[rax \+ (?P<multiprocessors>0x180)\]\ncdq\nidiv .+\ntest (\w+), \2\ncmovns (\w+), \2\n"
        r"sar \3, (?P<shift>6)\ncdq\nidiv \3\nmov (\w+), (?P<least>1)\ntest eax, eax\ncmovle eax, \5"
    ).read_as(True)


# What follows


@audit.result(title="Query heads on each GPU")
def heads_per_rank(query_heads, tensor_parallel):
    """Query heads that tensor parallelism leaves on each GPU."""
    return (query_heads / tensor_parallel).of("head")


@audit.result(title="Head size of the sparse cache")
def head_size(latent_width, rope_width):
    """Width of one cache entry: the compressed part and the rotary part."""
    return latent_width + rope_width


@audit.result(
    each="sharding",
    title="Heads on each GPU, by tensor-parallel size",
    titles={"sharding": "Tensor-parallel size", "heads": "Query heads on each GPU", "mixed": "Mixed path"},
    phrases={"mixed": {"yes": ["mixed"], "no": ["not mixed"]}},
)
def parallelism(sharding, query_heads, min_heads):
    """How many query heads a GPU is left with, and whether that is fewer than every audited release's threshold."""
    heads = (query_heads / sharding).of("head")
    return row(heads=heads, mixed=heads < least(min_heads.values()))


@audit.result(title="Padded heads of the mixed call")
def padded_heads(padded_envelope):
    """Heads that the mixed call pads to; every audited release pads alike."""
    return most(padded_envelope.values())


@audit.result(title="Value width of the mixed call")
def value_dim(value_width):
    """Width of the value per head in the mixed call; every audited release asks for the same."""
    return most(value_width.values())


@audit.rule
def partitions_of(tokens, multiprocessors, heads, head_block):
    """SM partitions of a step, as the library counts them: multiprocessors over tokens over blocks of heads, at least one."""
    return most(multiprocessors // tokens // (heads // head_block), 1).of("partition")


@audit.result(title="SM partitions of the reported step")
def partitions_at_cap(reported_cap, multiprocessors, padded_heads, head_block):
    """Partitions of a step that fills the reported cap."""
    return partitions_of(reported_cap, multiprocessors, padded_heads, head_block)


@audit.result(title="Splits of the mixed call")
def splits(batch, partitions_at_cap):
    """Splits that the accumulators are allocated for: one for each member of the batch and each SM partition."""
    return (batch + partitions_at_cap).of("split")


@audit.result(title="Accumulator bytes for each scheduled token")
def accumulator_per_token(splits, padded_heads, value_dim, fp32_bytes):
    """Bytes of the dominant FP32 accumulator that one scheduled token adds."""
    return splits * padded_heads * value_dim * fp32_bytes


@audit.result(title="Accumulator for each scheduled token, in MiB")
def accumulator_mib_per_token(accumulator_per_token):
    """The same in MiB."""
    return accumulator_per_token.to("MiB")


@audit.result(title="LSE bytes for each scheduled token")
def lse_per_token(splits, padded_heads, fp32_bytes):
    """Bytes of the log-sum-exp accumulator that one scheduled token adds."""
    return splits * padded_heads * fp32_bytes


@audit.result(title="Output bytes for each scheduled token")
def output_per_token(padded_heads, value_dim, bf16_bytes):
    """Bytes of the padded BF16 output that one scheduled token adds."""
    return padded_heads * value_dim * bf16_bytes


@audit.result(
    each="cap",
    title="FP32 workspace of one mixed call, by token cap",
    titles={
        "cap": "max-num-batched-tokens",
        "partitions": "SM partitions",
        "accumulator": "Dominant FP32 accumulator",
        "lse": "LSE accumulator",
        "output": "BF16 output",
        "sum": "Accumulator + output",
    },
)
def workspace(cap, multiprocessors, padded_heads, head_block, accumulator_per_token, lse_per_token, output_per_token):
    """What one mixed call that fills the cap asks for, on a release whose partition guard is absent."""
    accumulator = (accumulator_per_token * cap).to("GiB")
    output = (output_per_token * cap).to("GiB")
    partitions = partitions_of(cap, multiprocessors, padded_heads, head_block)
    return row(
        partitions=partitions,
        accumulator=accumulator,
        lse=(lse_per_token * cap).to("MiB"),
        output=output,
        sum=accumulator + output,
    )


@audit.result(title="Physical deficit of the reported failure")
def deficit(reported_request, reported_free):
    """What the reported request lacked in physically free memory, before any reserve."""
    return reported_request - reported_free


@audit.result(title="Tokens of one sequence in a decode step")
def tokens_per_decode(reported_draft_tokens):
    """The target token and the speculative ones."""
    return (1 + reported_draft_tokens).of("token")


@audit.result(title="Tokens of a decode-only step")
def decode_tokens(tokens_per_decode, reported_max_seqs):
    """Scheduled tokens when every admitted sequence decodes and none prefills."""
    return (tokens_per_decode * reported_max_seqs).of("token")


@audit.result(title="Accumulator of a decode-only step")
def decode_accumulator(accumulator_per_token, decode_tokens):
    """What a step asks for when every admitted sequence decodes and none prefills."""
    return (accumulator_per_token * decode_tokens.of("1")).to("MiB")


@audit.result(title="Room for prefills in a mixed step")
def mixed_headroom(reported_cap, decode_tokens):
    """Tokens of the reported cap that prefills can fill beside a full decode step."""
    return reported_cap - decode_tokens


@audit.result(title="The report's equivalent")
def reported_equivalent(reported_cap, top_k, index_dim, fp8_bytes):
    """The report's own count: cap, index top-k and index width, one byte each."""
    return (reported_cap * top_k * index_dim * fp8_bytes).to("GiB")


@audit.result(title="Largest step that is still split")
def last_split_step(multiprocessors, two_partitions):
    """Scheduled tokens up to which the partition count is above one: half of the multiprocessors."""
    return (multiprocessors // two_partitions).of("token")


@audit.result(title="Accumulator of that step")
def bounded_accumulator(last_split_step, multiprocessors, head_block, batch, padded_heads, value_dim, fp32_bytes):
    """Largest accumulator where the partition guard is present: the step that still has two partitions."""
    parts = partitions_of(last_split_step, multiprocessors, padded_heads, head_block)
    return ((batch + parts) * padded_heads * value_dim * fp32_bytes * last_split_step).to("MiB")


@audit.result(
    title="The reported failure, recomputed",
    titles={
        "id": "Failure",
        "requested": "Requested",
        "computed": "Computed at the cap",
        "free": "Physically free",
        "deficit": "Deficit",
        "decode_only": "Decode-only step",
        "mixed_headroom": "Room for prefills",
    },
)
def reconciliation(workspace, reported_cap, reported_request, reported_free, deficit, decode_tokens, mixed_headroom):
    """The reported request beside what the allocation comes to at the reported cap."""
    return table(
        row(
            "reported",
            requested=reported_request,
            computed=workspace.cell(reported_cap, "accumulator"),
            free=reported_free,
            deficit=deficit,
            decode_only=decode_tokens,
            mixed_headroom=mixed_headroom,
        )
    )


@audit.rule
def first_admitted(dtype, attention, attention_dtypes, mla, mla_dtypes, inference, inference_dtypes, refused):
    """The first backend of the order whose declarations admit the dtype; each pair is its name and whether it is there."""
    attention_name, has_attention = attention
    inference_name, has_inference = inference
    mla_name, has_mla = mla
    return choose(
        every(has_attention, holds(attention_dtypes, dtype)),
        attention_name,
        choose(
            every(has_mla, holds(mla_dtypes, dtype)),
            mla_name,
            choose(every(has_inference, holds(inference_dtypes, dtype)), inference_name, refused),
        ),
    )


@audit.result(
    each="release",
    title="Backend for each KV cache dtype on H200",
    titles={
        "release": "Release",
        "auto": "auto",
        "bfloat16": "bfloat16",
        "fp8": "fp8",
        "fp8_ds_mla": "fp8_ds_mla",
        "fp8_e4m3": "fp8_e4m3",
    },
)
def backends(
    candidates,
    candidates_in_order,
    flash_attention,
    flash_attention_dtypes,
    flash_attention_on_hopper,
    flashmla,
    flashmla_dtypes,
    flashmla_capabilities,
    flashmla_head_sizes,
    hopper,
    head_size,
    flashinfer,
    flashinfer_dtypes,
    flashinfer_on_hopper,
    refused,
    auto_dtype,
    bfloat16_dtype,
    fp8_dtype,
    fp8_ds_mla_dtype,
    fp8_e4m3_dtype,
):
    """The first backend in the platform's order whose declarations admit the dtype, or `refused` where none does."""
    attention = (
        flash_attention,
        every(candidates_in_order, holds(candidates, flash_attention), flash_attention_on_hopper),
    )
    mla = (
        flashmla,
        every(
            holds(candidates, flashmla),
            holds(flashmla_capabilities, hopper),
            holds(flashmla_head_sizes, head_size),
        ),
    )
    inference = (flashinfer, every(holds(candidates, flashinfer), flashinfer_on_hopper))
    declared = (attention, flash_attention_dtypes, mla, flashmla_dtypes, inference, flashinfer_dtypes, refused)
    return row(
        auto=first_admitted(auto_dtype, *declared),
        bfloat16=first_admitted(bfloat16_dtype, *declared),
        fp8=first_admitted(fp8_dtype, *declared),
        fp8_ds_mla=first_admitted(fp8_ds_mla_dtype, *declared),
        fp8_e4m3=first_admitted(fp8_e4m3_dtype, *declared),
    )


@audit.result(each="release", title="Code that serves the architecture was read")
def served(registry_module, shared_module, own_package, served_by, cuda_module):
    """Whether the registry names one of the modules that were read for it, and on CUDA the class of that module."""
    return some(registry_module == shared_module, every(registry_module == own_package, served_by == cuda_module))


@audit.result(each="release", title="Mixed path")
def mixed_path(mixed_below, heads_per_rank, min_heads, kept_as, fp8_ds_mla_dtype):
    """Whether the reported deployment takes the mixed FP8 path of this release."""
    return every(mixed_below, heads_per_rank < min_heads, kept_as == fp8_ds_mla_dtype)


@audit.result(each="release", title="FlashMLA commit that the wheel was built from")
def pin(commit, sdist_commit, sdist_pin, not_known):
    """The sdist's pin, where sdist and wheel name one commit; else what the wheel was built from is unknown."""
    return choose(commit == sdist_commit, sdist_pin, not_known)


@audit.result(each="release", title="Default token cap of a server on H200")
def default_cap(device_memory, tier, first_tier, server_cap, not_known):
    """Token cap of a server that is started on an H200 without the flag."""
    ours = every(device_memory >= tier, some(first_tier == tier, device_memory < first_tier))
    return choose(ours, server_cap, not_known)


@audit.result(each="release", title="When the workspace follows the cap")
def when(
    registry_module,
    own_package,
    step_can_leave,
    prefills_can_leave,
    leaves_when_short_here,
    leaves_when_short,
    masked_prefills_can_leave,
    masked_prefills_elsewhere,
    every_step,
    long_prefill,
    not_known,
):
    """Which steps hand all their tokens to the mixed call, in the code that serves the architecture in that release."""
    can_leave = choose(registry_module == own_package, every(step_can_leave, prefills_can_leave), prefills_can_leave)
    left = some(leaves_when_short_here, leaves_when_short)
    long_ones_stay = some(~masked_prefills_can_leave, masked_prefills_elsewhere)
    return choose(can_leave, choose(every(left, long_ones_stay), long_prefill, not_known), every_step)


@audit.result(
    each="release",
    title="What each release does on H200",
    titles={
        "release": "Release",
        "decision": "Decision",
        "reachable": "Unbounded workspace reachable",
        "when": "When",
        "guard": "Partition guard",
        "allocation": "What decides the allocation",
        "backend": "Backend for fp8",
        "mixed_path": "Mixed path taken",
        "chunked": "Mixed call chunked",
        "threshold": "Head threshold",
        "padding": "Padded heads",
        "default_cap": "Server's default cap",
        "default_workspace": "Accumulator of a full step at that cap",
        "commit": "Wheel's commit",
        "pin": "FlashMLA pin of the wheel",
        "sdist_pin": "FlashMLA pin of the sdist",
    },
    phrases={
        "guard": {"present": ["guarded"], "absent": ["not guarded"]},
        "reachable": {"yes": ["reachable", "affected"], "no": ["not reachable", "bounded"]},
    },
)
def releases(
    served,
    commit,
    pin,
    sdist_pin,
    mixed_path,
    min_heads,
    padded_envelope,
    chunked,
    no_scratch_limit,
    guard,
    allocation,
    set_on_hopper,
    partitions_fall_to_one,
    backends,
    flashmla,
    default_cap,
    accumulator_per_token,
    when,
    every_step,
    long_prefill,
    never,
    absent,
    affected,
    bounded,
):
    """Per released wheel: whether the accumulators can grow with the cap for an fp8 cache, when, and what was read."""
    reachable = every(
        served,
        mixed_path,
        backends["fp8"] == flashmla,
        ~chunked,
        no_scratch_limit,
        guard == absent,
        set_on_hopper,
        partitions_fall_to_one,
        some(when == every_step, when == long_prefill),
    )
    full_step = (accumulator_per_token * default_cap * count([reachable])).to("GiB")
    return row(
        decision=choose(reachable, affected, bounded),
        reachable=reachable,
        when=choose(reachable, when, never),
        guard=guard,
        allocation=allocation,
        backend=backends["fp8"],
        mixed_path=mixed_path,
        chunked=chunked,
        threshold=min_heads,
        padding=padded_envelope,
        default_cap=default_cap,
        default_workspace=full_step,
        commit=commit,
        pin=pin,
        sdist_pin=sdist_pin,
    )


@audit.result(
    each="release",
    title="Mixed call at the default KV cache dtype",
    phrases={"yes": ["takes the mixed path"], "no": ["does not take the mixed path"]},
)
def mixed_by_default(default_dtype, auto_dtype, backends, flashmla, quantized_only, not_known):
    """Whether a start without the KV cache dtype flag makes the mixed call."""
    return choose(default_dtype == auto_dtype, every(backends["auto"] == flashmla, ~quantized_only), not_known)


@audit.result(
    each="release",
    title="What a start without flags gets",
    titles={
        "release": "Release",
        "cache_dtype": "KV cache dtype",
        "memory_share": "Share of device memory",
        "server": "Token cap of a server",
        "offline": "Token cap of offline use",
        "written_in_class": "Token cap written in the configuration class",
    },
)
def defaults(default_dtype, memory_fraction, default_cap, offline_cap, class_cap):
    """Values that decide memory when no flag is given; the cap in the configuration class is not the one that is used."""
    return row(
        cache_dtype=default_dtype,
        memory_share=memory_fraction,
        server=default_cap,
        offline=offline_cap,
        written_in_class=class_cap,
    )


@audit.result(title="Audited wheels that are affected")
def affected_wheels(releases):
    """Wheels on which the unbounded workspace is reachable."""
    return count(releases.column("reachable")).of("wheel")


@audit.result(title="Audited wheels that are bounded")
def bounded_wheels(releases):
    """Wheels on which the accumulators stay small whatever the cap."""
    return count(~reachable for reachable in releases.column("reachable")).of("wheel")


@audit.result(title="Audited wheels")
def audited_wheels(affected_wheels, bounded_wheels):
    """Wheels whose verdict is known."""
    return affected_wheels + bounded_wheels


@audit.result(title="Newest audited release")
def newest_release(releases, newest):
    """Whether the newest audited release is affected."""
    return releases.cell(newest, "decision")


# What must hold


@audit.invariant
def report_is_reproduced(workspace, reported_cap, reported_request):
    """At the reported cap the computed accumulator equals the reported request."""
    return workspace.cell(reported_cap, "accumulator") == reported_request


@audit.invariant
def one_partition_at_every_cap(workspace, partitions_at_cap):
    """At every cap of the table a full step has the one partition that the split count stands on."""
    return every(partitions == partitions_at_cap for partitions in workspace.column("partitions"))


@audit.invariant
def equivalent_agrees(reported_equivalent, workspace, reported_cap):
    """The report's own count comes to the same amount."""
    return reported_equivalent == workspace.cell(reported_cap, "accumulator")


@audit.invariant
def published_per_token_agrees(accumulator_per_token, published_per_token):
    """The accumulator per token equals the one that the published receipt states."""
    return accumulator_per_token == published_per_token


@audit.invariant
def headroom_was_insufficient(reported_free, reported_request):
    """The reported free memory was less than the reported request."""
    return reported_free < reported_request


@audit.invariant
def decode_stays_below_cap(decode_tokens, reported_cap):
    """A full decode step alone stays below the reported cap: it takes prefills to fill it."""
    return decode_tokens < reported_cap


@audit.invariant
def mixed_path_is_taken(heads_per_rank, min_heads):
    """The reported deployment has fewer heads per GPU than every release's threshold."""
    return heads_per_rank < least(min_heads.values())


@audit.invariant
def releases_pad_alike(padded_envelope):
    """Every release pads the mixed call to the same number of heads."""
    return least(padded_envelope.values()) == most(padded_envelope.values())


@audit.invariant
def releases_ask_alike(value_width):
    """Every release asks the kernel for the same value width."""
    return least(value_width.values()) == most(value_width.values())


@audit.invariant
def model_defaults_agree(query_heads, heads_default, heads_default_first):
    """The reported query heads are those that the configuration class defaults to, in both releases read."""
    return every(query_heads == heads_default, query_heads == heads_default_first)


@audit.invariant
def value_width_is_the_latent(value_width, latent_width):
    """The kernel's value width is the width of the compressed cache entry."""
    return most(value_width.values()) == latent_width


@audit.invariant
def guard_came_and_went(guard, present, absent):
    """The partition guard is in the library of 0.29.0 and in none of the releases around it."""
    return every(guard["0.28.0"] == absent, guard["0.29.0"] == present, guard["0.30.0"] == absent)


@audit.invariant
def newest_is_affected(releases, newest, affected):
    """The newest audited release is affected."""
    return releases.cell(newest, "decision") == affected


@audit.invariant
def default_start_is_elsewhere(backends, default_dtype, auto_dtype, flashmla):
    """Without the flag the KV cache dtype is auto in every release, and from 0.25.0 on that takes another backend."""
    return every(
        every(dtype == auto_dtype for dtype in default_dtype.values()),
        backends.cell("0.25.0", "auto") != flashmla,
        backends.cell("0.33.0", "auto") != flashmla,
    )


@audit.invariant
def default_start_makes_no_mixed_call(mixed_by_default):
    """Without the KV cache dtype flag no audited release makes the mixed call."""
    return every(~mixed for mixed in mixed_by_default.values())


@audit.invariant
def cross_check_of_the_guard(guard, guard_read_elsewhere):
    """What was read here of the guard agrees with the reading by another disassembler, release by release."""
    return every(guard[key] == word for key, word in guard_read_elsewhere.items())
