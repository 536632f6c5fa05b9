"""Which code serves GLM-5.2 in each released vLLM wheel, does it compile by default, and what is said where it does not?"""

import re

from site_builder.audits import Audit, choose, count, every, holds, row, some, table
from site_builder.readers import NotOneError, UnknownError
from site_builder.readers.tree import Class, World

audit = Audit(
    __doc__,
    limits=[
        "Nothing was run: no model was called, no graph traced, no kernel compiled, no upstream test executed.",
        "Compiles by default says that the mode asks for it and that the class which serves the architecture carries the "
        "marker. Whether the tracing then succeeds, and what it gives, was not observed.",
        "A default start sets no option and no environment variable that touches compilation, loads no plug-in, and lets "
        "vLLM choose its own implementation of the architecture.",
        "The checkpoint's own files were not read: that it names this architecture, and that it is a mixture of experts, "
        "is reported.",
        "x86_64 wheels were read. Others are out of scope, and so are images that carry patches of their own.",
        "Of platforms other than CUDA and ROCm the resolution and the configuration were read, not whether they can run "
        "the model.",
        "Which runner a start gets takes that no feature it asks for is on the release's list of unsupported ones, and "
        "that Triton is installed; neither was observed.",
        "What is written is read. What a plug-in, a metaclass or a patch at run time makes of it is not.",
    ],
)

# What we choose


@audit.assumption(unit="wheel", reason="Every wheel of the list of releases, the second one of 0.23.0 among them.")
def wheels_in_scope():
    """Released wheels that this audit is about."""
    return 14


@audit.assumption(reason="The word for a marker that stands without arguments, and so without a condition.")
def bare():
    """The marker stands without arguments."""
    return "bare"


@audit.assumption(reason="The word for a class that carries no marker, and whose bases carry none.")
def absent():
    """No marker stands there."""
    return "absent"


@audit.assumption(reason="A word for what a release does not have.")
def none():
    """There is nothing of that kind."""
    return "none"


@audit.assumption(reason="What was not observed stays unknown in everything that needs it.")
def not_known():
    """What was not observed."""
    return "unknown"


@audit.assumption(reason="The name of the mode that compiles, in every audited release.")
def compile_mode():
    """Mode in which vLLM compiles a model by its own pipeline."""
    return "VLLM_COMPILE"


@audit.assumption(reason="The name of the mode in which nothing is compiled, in every audited release.")
def eager_mode():
    """Mode in which nothing is compiled."""
    return "NONE"


@audit.assumption(reason="A word for the decision.")
def compiles():
    """The default start asks for compilation, and the class that serves the architecture is marked for it."""
    return "compiles"


@audit.assumption(reason="A word for the decision.")
def eager_with_warning():
    """The default start does not compile, and the log says so."""
    return "eager, with a warning"


@audit.assumption(reason="A word for the decision.")
def eager_in_silence():
    """The default start does not compile, and no line says so."""
    return "eager, in silence"


@audit.assumption(reason="A word for the runner.")
def first_runner():
    """The older model runner."""
    return "V1"


@audit.assumption(reason="A word for the runner.")
def second_runner():
    """The newer model runner."""
    return "V2"


@audit.assumption(reason="The first release whose registry names the package of its own.")
def first_moved():
    """First audited release in which another class serves the architecture on CUDA."""
    return "0.29.0"


@audit.assumption(reason="The release before it, and the stable release that the published audit is about.")
def last_marked():
    """Last audited release before the class changed on CUDA."""
    return "0.28.0"


@audit.assumption(reason="The highest release number that was audited.")
def newest():
    """Newest audited release."""
    return "0.33.0"


# How a name is followed

REGISTRY = "vllm/model_executor/models/registry.py"
CONFIG = "vllm/config/vllm.py"
ARCHITECTURE = "GlmMoeDsaForCausalLM"
MARKER = "vllm.compilation.decorators:support_torch_compile"
CONTROL = "vllm.model_executor.models.deepseek_v2:DeepseekV2Model"

CUDA = World("cuda", {"current_platform.is_cuda()": True, "current_platform.is_rocm()": False})
ROCM = World("rocm", {"current_platform.is_cuda()": False, "current_platform.is_rocm()": True})
OTHER = World("other", {"current_platform.is_cuda()": False, "current_platform.is_rocm()": False})


def _followed(wheel, world, register, name):
    """The class that an architecture's name stands for in a world, and the steps from the registry to it."""
    registry = wheel.tree.module(REGISTRY)
    entry = registry.entry(register, name)
    module, class_name = entry.value
    steps = [entry.read_as(f"{module}:{class_name}").hop("entry")]
    if not module.startswith("vllm."):
        rule = registry.function("_resolve_module_name").one("return_statement", r'return f"([\w.]+)\.\{mod_relname\}"')
        steps.append(rule.hop("rule"))
        module = f"{rule.value}.{module}"
    found = wheel.tree.resolve(f"{module}:{class_name}", world)
    if not isinstance(found, Class):
        raise UnknownError(f"{found.name} is no class of the artifact")
    return found, steps


def _served(wheel, world):
    return _followed(wheel, world, "_TEXT_GENERATION_MODELS", ARCHITECTURE)


def _drafting(wheel, world):
    return _followed(wheel, world, "_SPECULATIVE_DECODING_MODELS", _draft(wheel).value)


def _inner(wheel, world):
    """The class of the inner model; its trail begins where the class that serves the architecture makes it."""
    return _served(wheel, world)[0].instantiates("model")


def _marks(*classes):
    """The marker wherever it stands above one of the classes or above a base of one."""
    lines = [base for one in classes for base in one.mro if isinstance(base, Class)]
    return [mark for one in lines for mark in one.decorators if mark.name == MARKER]


def _marked(outer, inner, steps):
    """How the marker stands: bare, under its arguments, or not at all."""
    inside = _marks(inner)
    found = [*inside, *_marks(outer)]
    if not found:
        return inner.seen.read_as("absent").after(*steps)
    given = [
        *(f"{name}={value}" for name, value in found[0].literals),
        *(f"{name}={text}" for name, text in found[0].computed),
    ]
    mark, *_ = found[0].trail
    return mark.read_as(", ".join(given) or "bare").after(*steps, *(inner.trail[:-1] if inside else ()))


def _marker(wheel, world):
    outer, steps = _served(wheel, world)
    return _marked(outer, outer.instantiates("model"), [*steps, *outer.trail])


def _draft_marker(wheel, world):
    outer, _ = _drafting(wheel, world)
    return _marked(outer, outer.instantiates("model"), [outer.trail[-1]])


def _unmarked(wheel, world):
    return _inner(wheel, world).bearing(MARKER).against(wheel.tree.resolve(CONTROL, world).bearing(MARKER))


# Which code serves the architecture


@audit.observation("wheel@{release}", kind="digest")
def commit(wheel):
    """Commit that the wheel names as the one it was built from."""
    return wheel.tree.module("vllm/_version.py").one("assignment", r"__commit_id__ = commit_id = 'g([0-9a-f]{7,40})'")


@audit.observation("wheel@{release}")
def registry_module(wheel):
    """Module that the registry names for the architecture."""
    found = wheel.tree.module(REGISTRY).entry("_TEXT_GENERATION_MODELS", ARCHITECTURE)
    return found.read_as(found.value[0])


@audit.observation("wheel@{release}", kind="text")
def resolved_class(wheel):
    """Class that serves the architecture on NVIDIA CUDA, through re-exports and platform branches."""
    found, steps = _served(wheel, CUDA)
    return found.seen.after(*steps)


@audit.observation("wheel@{release}", kind="text")
def resolved_class_on_rocm(wheel):
    """Class that serves the architecture on ROCm."""
    found, steps = _served(wheel, ROCM)
    return found.seen.after(*steps)


@audit.observation("wheel@{release}", kind="text")
def resolved_class_elsewhere(wheel):
    """Class that serves the architecture on a platform that is neither."""
    found, steps = _served(wheel, OTHER)
    return found.seen.after(*steps)


@audit.observation("wheel@{release}", kind="text")
def inner_model(wheel):
    """Class of the inner model that it makes, on NVIDIA CUDA."""
    return _inner(wheel, CUDA).seen


@audit.observation("wheel@{release}", kind="text")
def inner_model_on_rocm(wheel):
    """Class of the inner model that it makes, on ROCm."""
    return _inner(wheel, ROCM).seen


@audit.observation("wheel@{release}", kind="text")
def inner_model_elsewhere(wheel):
    """Class of the inner model that it makes, on a platform that is neither."""
    return _inner(wheel, OTHER).seen


@audit.observation("wheel@{release}")
def marker(wheel):
    """How `support_torch_compile` stands above the model, its inner model or their bases, on NVIDIA CUDA."""
    return _marker(wheel, CUDA)


@audit.observation("wheel@{release}")
def marker_on_rocm(wheel):
    """How it stands there on ROCm."""
    return _marker(wheel, ROCM)


@audit.observation("wheel@{release}")
def marker_elsewhere(wheel):
    """How it stands there on a platform that is neither."""
    return _marker(wheel, OTHER)


@audit.absence("wheel@{release}", control="wheel@{release}")
def no_marker(wheel):
    """No `support_torch_compile` stands above the inner model's class or a base of it, on NVIDIA CUDA."""
    return _unmarked(wheel, CUDA)


@audit.absence("wheel@{release}", control="wheel@{release}")
def no_marker_on_rocm(wheel):
    """None stands above the inner model's class or a base of it, on ROCm."""
    return _unmarked(wheel, ROCM)


@audit.absence("wheel@{release}", control="wheel@{release}")
def no_marker_elsewhere(wheel):
    """None stands above the inner model's class or a base of it, on a platform that is neither."""
    return _unmarked(wheel, OTHER)


@audit.absence("wheel@{release}", control="wheel@{release}")
def no_marker_outside(wheel):
    """None stands above the outer class or a base of it, on NVIDIA CUDA."""
    found, _ = _served(wheel, CUDA)
    return found.bearing(MARKER).against(wheel.tree.resolve(CONTROL, CUDA).bearing(MARKER))


# What is asked for, and what a start without options gets


def _post_init(wheel):
    return wheel.tree.module(CONFIG).function("VllmConfig.__post_init__")


def _mode(seen):
    """The mode's own name."""
    return seen.read_as(str(seen.value).removeprefix("CompilationMode."))


@audit.observation("wheel@{release}")
def mode_three(wheel):
    """Mode that the number three asks for."""
    found = wheel.tree.module("vllm/config/compilation.py").enum("CompilationMode")
    return found.read_as(next(name for name, number in found.value if number == 3))


@audit.observation("wheel@{release}", kind="words")
def modes(wheel):
    """Compilation modes in the order of their numbers, which begin with nought and have no gap."""
    found = wheel.tree.module("vllm/config/compilation.py").enum("CompilationMode")
    numbers = [number for _, number in found.value]
    if numbers != list(range(len(numbers))):
        raise UnknownError(f"the modes' numbers are {numbers}")
    return found.read_as(tuple(name for name, _ in found.value))


@audit.observation("wheel@{release}")
def mode_field(wheel):
    """Mode that the configuration class itself carries: none, so that a later step decides."""
    found = wheel.tree.module("vllm/config/compilation.py").field("CompilationConfig", "mode")
    return found.read_as("none" if found.value[1] == "None" else found.value[1])


@audit.observation("wheel@{release}")
def default_level(wheel):
    """Optimisation level of a start without the option."""
    found = wheel.tree.module(CONFIG).field_default("VllmConfig", "optimization_level")
    return found.read_as(str(found.value).removeprefix("OptimizationLevel."))


@audit.observation("wheel@{release}")
def default_mode(wheel):
    """Mode that this level chooses where none was asked for and nothing has set one before."""
    config = wheel.tree.module(CONFIG)
    level = config.field_default("VllmConfig", "optimization_level")
    numbers = dict(config.enum("OptimizationLevel").value)
    above = numbers[str(level.value).removeprefix("OptimizationLevel.")] > numbers["O0"]
    test = r"self\.optimization_level > OptimizationLevel\.O0"
    chosen = (r"self\.compilation_config\.mode is None", test if above else rf"not \({test}\)")
    found = _mode(_post_init(wheel).assigned("self.compilation_config.mode", when=chosen))
    return found.after(level.hop("level"))


@audit.observation("wheel@{release}")
def default_graphs(wheel):
    """CUDA graph mode that this level asks for."""
    config = wheel.tree.module(CONFIG)
    level = config.field_default("VllmConfig", "optimization_level")
    chosen = config.dictionary("OPTIMIZATION_LEVEL_TO_CONFIG").entry(str(level.value))
    found = config.one("assignment", rf'{chosen.value} = \{{.*"cudagraph_mode": CUDAGraphMode\.(\w+),.*\}}')
    return found.after(level.hop("level"), chosen.hop("entry"))


@audit.observation("wheel@{release}", kind="truth")
def breakable_by_environment(wheel):
    """Breakable CUDA graphs are on where the environment does not say."""
    found = wheel.tree.module("vllm/envs.py").one(
        "lambda", r'lambda: \(?os\.environ\.get\("VLLM_USE_BREAKABLE_CUDAGRAPH", "(\w+)"\) == "1"\)?'
    )
    return found.read_as(found.value == "1")


def _breakable(wheel, on_rocm):
    """Whether the release's own list of architectures with breakable CUDA graphs has this one, on a platform."""
    config = wheel.tree.module(CONFIG)
    try:
        chosen = config.function("default_breakable_cudagraph_architectures")
    except NotOneError:
        found = _post_init(wheel).comparison("a", "in", r"\((.+)\)")
        return found.read_as(f'"{ARCHITECTURE}"' in str(found.value).split(", "))
    listed = config.members("DEFAULT_BREAKABLE_CUDAGRAPH_ARCHITECTURES")
    platform = r"current_platform\.is_rocm\(\)"
    given, *more = [
        item for item in chosen.returns if bool(item.conditions and "not (" not in item.conditions[0]) == on_rocm
    ]
    if more:
        raise UnknownError("the list has more than two cases")
    condition = platform if on_rocm else rf"not \({platform}\)"
    if len(given.conditions) != 1 or not re.fullmatch(condition, given.conditions[0]):
        raise UnknownError(f"the list depends on {' and '.join(given.conditions) or 'nothing'}")
    place = chosen.one("return_statement", re.escape(f"return {given.text}"))
    if given.text == "DEFAULT_BREAKABLE_CUDAGRAPH_ARCHITECTURES":
        return listed.read_as(ARCHITECTURE in listed.value).after(place.hop("list"))
    own = re.fullmatch(r"frozenset\(\{([^{}]*)\}\)", given.text)
    if own is not None:
        return place.read_as(f'"{ARCHITECTURE}"' in own[1].split(", "))
    less = re.fullmatch(r"DEFAULT_BREAKABLE_CUDAGRAPH_ARCHITECTURES - \{([^{}]*)\}", given.text)
    if less is None:
        raise UnknownError("the list is made in a way that is not read")
    kept = ARCHITECTURE in listed.value and f'"{ARCHITECTURE}"' not in less[1].split(", ")
    return listed.read_as(kept).after(place.hop("list"))


@audit.observation("wheel@{release}", kind="truth")
def breakable_by_default(wheel):
    """The release turns breakable CUDA graphs on for this architecture by itself, on NVIDIA CUDA and elsewhere but ROCm."""
    return _breakable(wheel, False)


@audit.observation("wheel@{release}", kind="truth")
def breakable_by_default_on_rocm(wheel):
    """It does so on ROCm."""
    return _breakable(wheel, True)


def _switch(wheel):
    """Where breakable CUDA graphs, once on, set the mode."""
    try:
        scope = wheel.tree.module(CONFIG).function("VllmConfig._maybe_enable_breakable_cudagraph")
    except NotOneError:
        for flag in (r"envs\.VLLM_USE_BREAKABLE_CUDAGRAPH", "breakable_cudagraph_enabled"):
            try:
                return _post_init(wheel).assigned("self.compilation_config.mode", when=(flag,))
            except NotOneError:
                continue
        raise
    return scope.assigned("self.compilation_config.mode", when=("enabled",))


@audit.observation("wheel@{release}")
def mode_with_breakable(wheel):
    """Mode that breakable CUDA graphs, once on, set."""
    return _mode(_switch(wheel))


@audit.observation("wheel@{release}", kind="truth", otherwise="unknown")
def request_is_overridden(wheel):
    """They set it whatever was asked for: nothing but their being on stands before the assignment."""
    scope = wheel.tree.module(CONFIG).function("VllmConfig._maybe_enable_breakable_cudagraph")
    found = scope.conditions("assignment", r"self\.compilation_config\.mode = CompilationMode\.NONE")
    return found.read_as(found.value == ("enabled",))


@audit.observation("wheel@{release}", kind="truth")
def announcement_names_compilation(wheel):
    """The line that says so speaks of compilation."""
    found = wheel.tree.module(CONFIG).log("Auto-enabling VLLM_USE_BREAKABLE_CUDAGRAPH=1").format
    return found.read_as("compil" in str(found.value).lower())


def _sets_no_mode(wheel, platform):
    """The search for assignments to a mode in a platform's file, with the CPU platform's, which makes one, for control."""
    control = wheel.tree.module("vllm/platforms/cpu.py").count("assignment", to="mode")
    return wheel.tree.module(f"vllm/platforms/{platform}.py").count("assignment", to="mode").against(control)


@audit.absence("wheel@{release}", control="wheel@{release}")
def cuda_sets_no_mode(wheel):
    """The file of the CUDA platform assigns no attribute of the name of the compilation mode."""
    return _sets_no_mode(wheel, "cuda")


@audit.absence("wheel@{release}", control="wheel@{release}")
def rocm_sets_no_mode(wheel):
    """The file of the ROCm platform assigns none."""
    return _sets_no_mode(wheel, "rocm")


@audit.absence("wheel@{release}", control="wheel@{release}")
def xpu_sets_no_mode(wheel):
    """The file of the XPU platform assigns none."""
    return _sets_no_mode(wheel, "xpu")


@audit.observation("wheel@{release}")
def mode_on_cpu(wheel):
    """Mode that the CPU platform makes of the compiling one."""
    compiling = r"vllm_config\.compilation_config\.mode == CompilationMode\.VLLM_COMPILE"
    check = wheel.tree.module("vllm/platforms/cpu.py").function("CpuPlatform.check_and_update_config")
    return _mode(check.assigned("compilation_config.mode", when=(compiling,)))


@audit.observation("wheel@{release}", kind="truth")
def full_graph(wheel):
    """The wrapper of a marked class asks `torch.compile` for one whole graph."""
    return wheel.tree.module("vllm/compilation/wrapper.py").call("torch.compile").argument(keyword="fullgraph")


@audit.observation("wheel@{release}", kind="words")
def modes_without_compilation(wheel):
    """Modes in which a marked class leaves its inner model as it is."""
    found = wheel.tree.module("vllm/compilation/decorators.py").one(
        "assignment",
        r"self\.do_not_compile = \(?self\.compilation_config\.mode in \[([\w., ]+)\] or "
        r"_should_ignore_torch_compile\(self\.__class__\) or not enable_compile\)?",
    )
    return found.read_as(tuple(name.removeprefix("CompilationMode.") for name in str(found.value).split(", ")))


# When a fallback is said


def _warning(wheel):
    return (
        wheel.tree.module(CONFIG).function("set_current_vllm_config").log("`torch.compile` is turned on, but the model")
    )


@audit.observation("wheel@{release}")
def warning_mode(wheel):
    """Mode in which it is printed, where no marked module was made."""
    found = _warning(wheel).conditions
    pattern = (
        r"check_compile and vllm_config\.compilation_config\.mode == CompilationMode\.(\w+) and "
        r"compilation_counter\.num_models_seen == num_models_seen"
    )
    caught = [match for text in found.value if (match := re.fullmatch(pattern, text))]
    if len(caught) != 1:
        raise UnknownError("the line stands under other conditions")
    return found.read_as(caught[0][1])


@audit.observation("wheel@{release}", kind="truth")
def warning_is_checked(wheel):
    """Every way in which the loader makes a model asks for that check."""
    calls = wheel.tree.module("vllm/model_executor/model_loader/utils.py").arguments(
        "set_current_vllm_config", keyword="check_compile"
    )
    return calls[0].read_as(all(call.value is True for call in calls)).after(*(call.hop("call") for call in calls[1:]))


@audit.observation("wheel@{release}", kind="truth")
def marked_are_counted(wheel):
    """A marked module counts itself, unless it is left as it is: that is what the check counts."""
    found = wheel.tree.module("vllm/compilation/decorators.py").conditions(
        "augmented_assignment", r"compilation_counter\.num_models_seen \+= 1"
    )
    return found.read_as("not (self.do_not_compile)" in found.value)


@audit.observation("wheel@{release}", kind="truth")
def published_words_match(wheel):
    """The words that the published gate looks for stand in that line."""
    found = _warning(wheel).format
    return found.read_as("does not support torch.compile" in str(found.value).lower())


# What replaces a fallback by an error or another graph mode

GRAPHS = "vllm.v1.worker.gpu.cudagraph_utils:ModelCudaGraphManager"


@audit.observation("wheel@{release}", kind="truth")
def capture_refuses(wheel):
    """The newer runner raises where piecewise graphs are asked for and the model is neither compiled nor breakable."""
    capture = wheel.tree.resolve(GRAPHS, CUDA).method("capture")
    try:
        found = capture.code.conditions("raise_statement", r"raise RuntimeError\(.*piecewise CUDA graphs.*\)")
    except NotOneError as error:
        if error.count:
            raise
        return capture.seen.read_as(False)
    asked = "self.cudagraph_mode.has_piecewise_cudagraphs() and not (self.use_breakable_cg or has_compiled_submodule(model))"
    return found.read_as(asked in found.value)


@audit.observation("wheel@{release}", kind="truth")
def mode_is_asserted(wheel):
    """Building the configuration ends in an error where piecewise graphs are left without compilation or breakable ones."""
    either = r"self\.compilation_config\.mode == CompilationMode\.VLLM_COMPILE or envs\.VLLM_USE_BREAKABLE_CUDAGRAPH"
    found = _post_init(wheel).conditions(
        "assert_statement", rf'assert \(?{either}\)?, \(?"Compilation mode should be CompilationMode\.VLLM_COMPILE .*'
    )
    asked = "self.compilation_config.cudagraph_mode.requires_piecewise_compilation()"
    return found.read_as(any(asked in text.split(" and ") for text in found.value))


# Which runner


def _runner(wheel, on_rocm):
    """Whether a start of this architecture without the variable gets the newer runner, on a platform."""
    config = wheel.tree.module(CONFIG)
    if on_rocm:
        try:
            kept = config.members("ROCM_DEFAULT_MRV1_ARCHITECTURES")
        except NotOneError:
            pass
        else:
            if ARCHITECTURE in kept.value:
                return kept.read_as("V1")
    try:
        listed = config.members("DEFAULT_V2_MODEL_RUNNER_ARCHITECTURES")
    except NotOneError:
        found = config.function("VllmConfig.use_v2_model_runner").returned(when=(r"not \(unsupported\)",))
        return found.read_as("V2" if found.value is True else "V1")
    return listed.read_as("V2" if ARCHITECTURE in listed.value else "V1")


@audit.observation("wheel@{release}")
def runner(wheel):
    """Model runner that a start of this mixture of experts gets on NVIDIA CUDA where no variable and no option decides."""
    return _runner(wheel, False)


@audit.observation("wheel@{release}")
def runner_on_rocm(wheel):
    """Model runner that it gets on ROCm."""
    return _runner(wheel, True)


# What an option can put in the class's place


def _override(wheel):
    """The option's field, or the class that has none."""
    try:
        return wheel.tree.module("vllm/config/model.py").field("ModelConfig", "model_class_overrides")
    except NotOneError as error:
        if error.count:
            raise
        return None


def _override_target(wheel):
    return wheel.tree.module("vllm/config/model.py").one(
        "string", rf'[\s\S]*"{ARCHITECTURE}":\s*"(vllm[\w.:]+)"[\s\S]*'
    )


@audit.observation("wheel@{release}")
def override_default(wheel):
    """What `model_class_overrides` replaces without the option: nothing, or the release has no such option."""
    found = _override(wheel)
    if found is None:
        return wheel.tree.resolve("vllm.config.model:ModelConfig", CUDA).seen.read_as("no option")
    if found.value != ("dict[str, str]", "field(default_factory=dict)"):
        raise UnknownError("the option's default is made in a way that is not read")
    return found.read_as("empty")


@audit.observation("wheel@{release}", kind="text", otherwise="unknown")
def override_target(wheel):
    """Class that the option's own description names for this architecture."""
    return _override_target(wheel)


@audit.observation("wheel@{release}", otherwise="unknown")
def override_marker(wheel):
    """How the marker stands there, on NVIDIA CUDA."""
    named = _override_target(wheel)
    found = wheel.tree.resolve(str(named.value), CUDA)
    if not isinstance(found, Class):
        raise UnknownError(f"{found.name} is no class of the artifact")
    return _marked(found, found.instantiates("model"), [named.hop("override"), *found.trail])


# The draft model of speculative decoding


def _draft(wheel):
    """The architecture that the draft's configuration is given for this model type."""
    override = wheel.tree.module("vllm/config/speculative.py").function("SpeculativeConfig.hf_config_override")
    given = override.comparison(
        r"hf_config\.model_type", "in", r'\(("deepseek_v3", "deepseek_v32", "glm_moe_dsa")\)'
    ).hop("type")
    try:
        found = override.one("dictionary", r'\{"n_predict": n_predict, "architectures": \["(DeepSeekMTPModel)"\]\}')
        return found.after(given)
    except NotOneError:
        own = override.assigned("use_v32_mtp")
        if '"glm_moe_dsa"' not in str(own.value):
            raise UnknownError("the other draft is not for this model type") from None
        found = override.one("conditional_expression", r'"(\w+)" if use_v32_mtp else "DeepSeekMTPModel"')
        return found.after(given, own.hop("type"))


@audit.observation("wheel@{release}")
def draft_architecture(wheel):
    """Architecture that a multi-token draft of the model is configured as."""
    return _draft(wheel)


@audit.observation("wheel@{release}", kind="text")
def draft_class(wheel):
    """Class that serves the draft on NVIDIA CUDA."""
    found, steps = _drafting(wheel, CUDA)
    return found.seen.after(*steps)


@audit.observation("wheel@{release}", kind="text")
def draft_class_on_rocm(wheel):
    """Class that serves the draft on ROCm."""
    found, steps = _drafting(wheel, ROCM)
    return found.seen.after(*steps)


@audit.observation("wheel@{release}", kind="text")
def draft_class_elsewhere(wheel):
    """Class that serves the draft on a platform that is neither."""
    found, steps = _drafting(wheel, OTHER)
    return found.seen.after(*steps)


@audit.observation("wheel@{release}")
def draft_marker(wheel):
    """How the marker stands above the draft, its inner model or their bases, on NVIDIA CUDA."""
    return _draft_marker(wheel, CUDA)


@audit.observation("wheel@{release}")
def draft_marker_on_rocm(wheel):
    """How it stands there on ROCm."""
    return _draft_marker(wheel, ROCM)


@audit.observation("wheel@{release}")
def draft_marker_elsewhere(wheel):
    """How it stands there on a platform that is neither."""
    return _draft_marker(wheel, OTHER)


@audit.observation("wheel@{release}", kind="truth")
def draft_marked_inside(wheel):
    """The draft's marker stands above its inner model, as the target's does, and not above the draft's own class."""
    outer, _ = _drafting(wheel, OTHER)
    inner = outer.instantiates("model")
    return outer.seen.read_as(bool(_marks(inner)) and not _marks(outer))


# Mechanisms that the published audit names

CAPABILITY = "vllm/models/deepseek_v32/nvidia/ops/fused_q_cutedsl.py"
WORKSPACE = "vllm/v1/worker/workspace.py"


@audit.observation("wheel@{release}", kind="truth")
def capability_check(wheel):
    """The release has the file in which a platform's capability is asked for inside of the model."""
    listed = wheel.lists(CAPABILITY)
    if not listed.value:
        return listed
    checks = wheel.tree.module(CAPABILITY).function("is_fused_q_cutedsl_supported")
    return checks.call("current_platform.has_device_capability").argument(0).read_as(True)


@audit.observation("wheel@{release}", kind="truth")
def workspace_lane(wheel):
    """The workspace is chosen by a context variable that is asked while the model runs."""
    module = wheel.tree.module(WORKSPACE)
    try:
        made = module.assigned("_workspace_lane")
    except NotOneError as error:
        if error.count:
            raise
        return wheel.tree.resolve("vllm.v1.worker.workspace:WorkspaceManager", CUDA).seen.read_as(False)
    asked = module.call("_workspace_lane.get").conditions
    return asked.read_as(str(made.value).startswith("ContextVar(")).after(made.hop("alias"))


# What a start-up prints: the formats that a gate relies on, and when they are printed at all


@audit.assumption(reason="A word for a message that a release's loggers do not have.")
def not_printed():
    """What stands for a message that is not printed."""
    return "none"


@audit.assumption(reason="The name of the logger's method, with a blank for its underscore.")
def from_every_rank():
    """The level of a line that every rank prints."""
    return "info"


COMPILATION = "vllm/config/compilation.py"
MONITOR = "vllm/compilation/monitor.py"
DECORATORS = "vllm/compilation/decorators.py"
BACKENDS = "vllm/compilation/backends.py"
BREAKABLE = "vllm/compilation/breakable_cudagraph.py"
CORE = "vllm/v1/engine/core.py"
EXECUTOR = "vllm/v1/executor/multiproc_executor.py"
WORKER = "vllm/v1/worker/gpu_worker.py"
RUNNER_V1 = "vllm/v1/worker/gpu_model_runner.py"
RUNNER_V2 = "vllm/v1/worker/gpu/model_runner.py"
LOGGER = "vllm/logger.py"
FORMATTER = "vllm/logging_utils/formatter.py"
STREAMS = "vllm/utils/system_utils.py"
SERVER = ("vllm/entrypoints/launchers/api_server/entry.py", "vllm/entrypoints/openai/api_server.py")
ARGUMENTS = ("vllm/entrypoints/common/startup.py", "vllm/entrypoints/serve/utils/api_utils.py")

LOGGING = (CONFIG, COMPILATION, MONITOR, DECORATORS, BACKENDS, BREAKABLE, CORE, EXECUTOR, WORKER, RUNNER_V1, RUNNER_V2)
"""Files that hold the logger calls of compilation, of the engine and of the workers."""


def _log(wheel, paths, within, beginnings, when=()):
    """The one logger call whose message begins in one of these ways, in the first of these files that has it."""
    for path in paths:
        if not wheel.tree.exists(path):
            continue
        module = wheel.tree.module(path)
        scope = module.function(within) if within else module
        for beginning in beginnings:
            try:
                return scope.log(beginning, when=when)
            except NotOneError as error:
                if error.count or when:
                    raise
    return None


def _nowhere(wheel, paths, beginnings):
    """The logger of the file that would print it, once no logger call in any of the files begins so."""
    modules = [wheel.tree.module(path) for path in paths if wheel.tree.exists(path)]
    if not modules:
        raise UnknownError(f"expected one of {', '.join(paths)} in the release, found none")
    for module in modules:
        for beginning in beginnings:
            try:
                module.log(beginning)
            except NotOneError as error:
                if not error.count:
                    continue
            raise UnknownError(f"a log call that begins {beginning!r} stands in another place of the file")
    return modules[0].assigned("logger").read_as("none")


def _message(name, statement, paths, *beginnings, within="", when=(), level=""):
    """Observe the format of a logger call, or `none` where the files' loggers print nothing that begins so.

    With a statement for it, the level is observed, too.
    """
    paths = (paths,) if isinstance(paths, str) else paths

    def format_of(wheel):
        log = _log(wheel, paths, within, beginnings, when)
        return _nowhere(wheel, paths, beginnings) if log is None else log.format

    def level_of(wheel):
        log = _log(wheel, paths, within, beginnings, when)
        return (
            _nowhere(wheel, paths, beginnings)
            if log is None
            else log.level.read_as(str(log.level.value).replace("_", " "))
        )

    format_of.__name__, format_of.__doc__ = name, statement
    audit.observation("wheel@{release}", kind="text", otherwise="unknown")(format_of)
    if level:
        level_of.__name__, level_of.__doc__ = f"{name}_level", level
        audit.observation("wheel@{release}", otherwise="unknown")(level_of)


# Compilation is off, or did not happen

_message(
    "unsupported_model_warning",
    "What is printed when compilation was asked for and no module that was made is marked for it.",
    CONFIG,
    "`torch.compile` is turned on, but the model",
    within="set_current_vllm_config",
    level="Level at which that is printed.",
)
_message(
    "enforce_eager",
    "What is printed when eager execution is enforced.",
    CONFIG,
    "Enforce eager set, disabling torch.compile and CUDAGraphs.",
    within="VllmConfig.__post_init__",
)
_message(
    "enforce_eager_without_warmup",
    "What later releases print in its place, unless fault tolerance is on.",
    CONFIG,
    "Enforce eager set, disabling torch.compile, CUDAGraphs",
    within="VllmConfig.__post_init__",
)
_message(
    "torch_compile_disable",
    "What is printed when the environment disables compilation.",
    CONFIG,
    "TORCH_COMPILE_DISABLE is set",
    within="VllmConfig.__post_init__",
)
_message(
    "inductor_disabled",
    "What is printed when the backend is eager or another mode than VLLM_COMPILE was chosen.",
    CONFIG,
    "Inductor compilation was disabled by user settings",
    within="VllmConfig.__post_init__",
)
_message(
    "breakable_disables_compile",
    "What is printed when breakable CUDA graphs switch compilation off.",
    CONFIG,
    "VLLM_USE_BREAKABLE_CUDAGRAPH is set, disabling",
)
_message(
    "breakable_default",
    "What is printed when breakable CUDA graphs are switched on because of the architecture.",
    CONFIG,
    "Auto-enabling VLLM_USE_BREAKABLE_CUDAGRAPH=1",
    level="Level at which that is printed.",
)
_message(
    "breakable_for_batch_invariance",
    "What is printed when breakable CUDA graphs are switched on for batch invariance.",
    CONFIG,
    "VLLM_BATCH_INVARIANT=1: auto-enabling VLLM_USE_BREAKABLE_CUDAGRAPH=1",
)
_message(
    "breakable_enabled",
    "What is printed when a model is wrapped for breakable CUDA graphs.",
    BREAKABLE,
    "Breakable CUDA graph enabled",
    within="BreakableCUDAGraphWrapper.__init__",
)
_message(
    "eager_backend",
    "What is printed when a marked module is called with the eager backend.",
    DECORATORS,
    "Detected eager backend, disabling AOT compile.",
)
_message(
    "cudagraph_without_compile",
    "What is printed when the CUDA graph mode needs a compilation that was not asked for.",
    CONFIG,
    "Cudagraph mode %s is not compatible with compilation mode %s.",
)
_message(
    "cudagraph_under_eager",
    "What is printed of CUDA graphs when eager execution is enforced.",
    CONFIG,
    "Cudagraph is disabled under eager mode",
    within="VllmConfig.__post_init__",
)
_message(
    "piecewise_unavailable",
    "What is printed when piecewise CUDA graphs were asked for and the model that was loaded has no compiled module.",
    COMPILATION,
    "Cudagraph mode %s requires piecewise capture",
)
_message(
    "foreign_backend",
    "What is printed when a platform outside of the project compiles by a backend of its own.",
    COMPILATION,
    "Using OOT custom backend for compilation.",
    within="CompilationConfig.init_backend",
)
_message(
    "stock_compile",
    "What is printed when the stock mode of torch.compile meets the second model runner.",
    CONFIG,
    "CUDA graphs are not supported with stock torch.compile",
)

# Compilation happened


def _total_call(wheel):
    """The call of the logger that prints the message handed to the monitor, and the level that its name says."""
    monitor = wheel.tree.module(MONITOR).function("monitor_torch_compile")
    calls = [(call, level) for level in ("info", "info_once") for call in monitor.calls(f"logger.{level}")]
    printed = [(call, level) for call, level in calls if call.argument(0).value == "message"]
    if len(printed) != 1:
        raise UnknownError(f"expected one logger call with the message, found {len(printed)}")
    return printed[0]


@audit.observation("wheel@{release}", kind="text", otherwise="unknown")
def compile_total(wheel):
    """What is printed when a module was compiled or loaded ahead of its first run: the default of the monitor's message."""
    call, level = _total_call(wheel)
    printed = call.conditions.read_as(level).hop("printed")
    return wheel.tree.module(MONITOR).default("monitor_torch_compile", "message").after(printed)


@audit.observation("wheel@{release}", kind="text", otherwise="unknown")
def compile_with_warmup(wheel):
    """What is printed when compiling and the first run were timed together: the message given at a call of the monitor."""
    given = []
    for call in wheel.tree.module(DECORATORS).calls("monitor_torch_compile"):
        try:
            given.append(call.argument(1, "message"))
        except NotOneError:
            continue
    if len(given) != 1:
        raise UnknownError(f"expected one call that gives a message, found {len(given)}")
    call, level = _total_call(wheel)
    return given[0].after(call.conditions.read_as(level).hop("printed"))


@audit.observation("wheel@{release}", otherwise="unknown")
def compile_total_level(wheel):
    """Level at which both totals are printed; once is once for each process, and by the first rank of a host alone."""
    call, level = _total_call(wheel)
    return call.conditions.read_as(level.replace("_", " "))


@audit.observation("wheel@{release}", kind="truth", otherwise="unknown")
def total_needs_the_mode(wheel):
    """Both totals are printed in the mode VLLM_COMPILE alone."""
    found = _total_call(wheel)[0].conditions
    return found.read_as("compilation_config.mode == CompilationMode.VLLM_COMPILE" in found.value)


_message(
    "compile_start",
    "What is printed before a module is compiled.",
    MONITOR,
    "%sStarting torch.compile",
    within="monitor_torch_compile",
)
_message(
    "graph_compiled",
    "What is printed for a graph that the compiler was run on.",
    BACKENDS,
    "Compiling a graph for compile range",
    "%sCompiling a graph for compile range",
    level="Level at which that is printed.",
)
_message(
    "graph_loaded",
    "What is printed for a graph that was loaded from the cache.",
    BACKENDS,
    "Directly load the compiled graph(s)",
    "%sDirectly load the compiled graph(s)",
)
_message(
    "dynamo_time",
    "What is printed of the time that the bytecode transform took.",
    BACKENDS,
    "Dynamo bytecode transform time:",
    "%sDynamo bytecode transform time:",
)
_message(
    "cache_directory",
    "What is printed of the cache's place.",
    BACKENDS,
    "Using cache directory:",
    "%sUsing cache directory:",
)
_message(
    "cache_disabled",
    "What is printed when the compiler's cache is off; that says nothing of compilation.",
    BACKENDS,
    "vLLM's torch.compile cache is disabled.",
    "%svLLM's torch.compile cache is disabled.",
)
_message(
    "aot_loaded",
    "What is printed when a module was loaded as it was compiled in an earlier run.",
    DECORATORS,
    "Directly load AOT compilation from path",
    "%sDirectly load AOT compilation from path",
    level="Level at which that is printed.",
)
_message(
    "aot_load_failed",
    "What is printed when that did not work and the module is compiled again.",
    DECORATORS,
    "Compiling model again due to a load failure",
    "%sCompiling model again due to a load failure",
)
_message(
    "aot_saved",
    "What is printed when a compiled module was saved.",
    DECORATORS,
    "saved AOT compiled function to",
    "%ssaved AOT compiled function to",
)
_message(
    "aot_not_saved",
    "What is printed when a compiled module could not be saved.",
    DECORATORS,
    "unable to save AOT compiled function to",
    "%sunable to save AOT compiled function to",
)


@audit.observation("wheel@{release}")
def target_tag(wheel):
    """Name that a compiled module has unless it is made as a draft, an encoder or a part; later releases print it."""
    return wheel.tree.module(BACKENDS).one("assignment", r'model_tag: str = "(\w+)"')


# What was asked for, and how the process is

_message(
    "arguments_given",
    "What is printed of the arguments that were given.",
    ARGUMENTS,
    "non-default args:",
)
_message(
    "engine_config",
    "What is printed of the engine's configuration, the requested mode in it.",
    CORE,
    "Initializing a V1 LLM engine",
    within="EngineCore.__init__",
)
_message(
    "draft_loading",
    "What the first model runner prints when it loads a draft model.",
    RUNNER_V1,
    "Loading drafter model...",
    within="GPUModelRunner.load_model",
)
_message(
    "engine_started",
    "What is printed when the engine is ready and no compile time was counted.",
    CORE,
    "init engine (profile, create kv cache, warmup model) took",
    within="EngineCore._initialize_kv_caches",
    when=(r"not \(compile_time > 0\)",),
)
_message(
    "engine_started_compiled",
    "What is printed when the engine is ready and compile time was counted.",
    CORE,
    "init engine (profile, create kv cache, warmup model) took",
    within="EngineCore._initialize_kv_caches",
    when=(r"not \(encoder_compile_time > 0\)", r"compile_time > 0"),
)
_message(
    "engine_started_with_encoder",
    "What is printed when the engine is ready and compile time was counted for an encoder.",
    CORE,
    "init engine (profile, create kv cache, warmup model) took",
    within="EngineCore._initialize_kv_caches",
    when=(r"encoder_compile_time > 0",),
)
_message(
    "graphs_captured",
    "What the first model runner prints when CUDA graphs were captured.",
    RUNNER_V1,
    "Graph capturing finished in",
    within="GPUModelRunner.capture_model",
)
_message(
    "graphs_captured_v2",
    "What the second model runner prints when CUDA graphs were captured.",
    RUNNER_V2,
    "Graph capturing finished in",
    within="GPUModelRunner.capture_model",
)
_message(
    "server_starting",
    "What is printed before the server listens; that it does is said by the web server, in a line of another package.",
    SERVER,
    "Starting vLLM server on",
    within="build_and_serve",
)
_message(
    "engine_failed_to_start",
    "What is printed when the engine did not start.",
    CORE,
    "EngineCore failed to start.",
)
_message(
    "engine_failed",
    "What is printed when the engine ended by an error.",
    CORE,
    "EngineCore encountered a fatal error.",
    within="EngineCoreProc.run_engine_core",
)
_message(
    "worker_failed_to_start",
    "What is printed when a worker did not start.",
    EXECUTOR,
    "WorkerProc failed to start.",
)
_message(
    "worker_failed",
    "What is printed when a worker ended by an error.",
    EXECUTOR,
    "WorkerProc failed.",
)
_message(
    "worker_died",
    "What is printed when a worker is gone.",
    EXECUTOR,
    "Worker proc %s died unexpectedly",
)


_message(
    "worker_met_exception",
    "What is printed when a step of a worker ended by an error.",
    EXECUTOR,
    "WorkerProc hit an exception.",
)
_message(
    "ray_worker_died",
    "What is printed when a worker that Ray runs is gone.",
    "vllm/v1/executor/ray_executor_v2.py",
    "RayWorkerProc rank=%s died unexpectedly",
)
_message(
    "ray_worker_failed",
    "What is printed when a worker that Ray runs ended by an error.",
    "vllm/v1/executor/ray_executor_v2.py",
    "RayWorkerProc failed:",
)


@audit.observation("wheel@{release}", otherwise="unknown")
def memory_profiling_level(wheel):
    """Level at which the time of memory profiling is printed: not in a log of the default level."""
    worker = wheel.tree.module(WORKER).function("Worker.determine_available_memory")
    calls = [call for call in worker.calls("logger.debug") if call.argument(0).value == "profile_result"]
    if len(calls) != 1:
        raise UnknownError(f"expected one logger call with the profile, found {len(calls)}")
    return calls[0].conditions.read_as("debug")


# The record around a message


@audit.observation("wheel@{release}", kind="text", otherwise="unknown")
def record_format(wheel):
    """Format of a record, after a prefix that the environment may set and that is empty by default."""
    found = wheel.tree.module(LOGGER).one(
        "assignment", r'_FORMAT = \(?f"\{envs\.VLLM_LOGGING_PREFIX\}([^"{}]*)" "([^"{}]*)"(?: "([^"{}]*)")?\)?'
    )
    return found.read_as("".join(found.value))


@audit.observation("wheel@{release}", kind="truth", otherwise="unknown")
def record_names_the_process(wheel):
    """The record itself names its process, by vLLM's name for it."""
    found = record_format(wheel)
    return found.read_as("%(vllm_process_name)s" in found.value)


@audit.observation("wheel@{release}", kind="text")
def record_dates(wheel):
    """Format of a record's date."""
    return wheel.tree.module(LOGGER).constant("_DATE_FORMAT")


@audit.observation("wheel@{release}", kind="text")
def record_as_json(wheel):
    """Fields of a record that is written as JSON, or `none` where the release has no such formatter."""
    module = wheel.tree.module(FORMATTER)
    try:
        return module.constant("JSON_FORMAT")
    except NotOneError as error:
        if error.count:
            raise
        formatting = module.function("NewLineFormatter.format")
        return formatting.one("assignment", r"msg = super\(\)\.format\(record\)").read_as("none")


@audit.observation("wheel@{release}", kind="truth", otherwise="unknown")
def process_before_every_line(wheel):
    """Process name and id stand before every line of the process, whoever prints it, and not in the record."""
    module = wheel.tree.module(STREAMS)
    try:
        written = module.function("_add_prefix").one("assignment", r'prefix = f"\(\{worker_name\} pid=\{pid\}\) "')
    except NotOneError:
        named = module.function("decorate_logs").call("set_vllm_process_name")
        return named.conditions.read_as(False)
    return written.read_as(True)


# Under which conditions a line is printed


def _stands_under(scope, beginning, condition):
    """Whether the one logger call whose message begins so stands under a condition that matches."""
    try:
        return scope.log(beginning, when=(condition,)).format.read_as(True)
    except NotOneError as error:
        if error.count:
            raise
        return scope.log(beginning).format.read_as(False)


WARNING = "`torch.compile` is turned on, but the model"
INDUCTOR = "Inductor compilation was disabled by user settings"
AUTOMATIC = "Auto-enabling VLLM_USE_BREAKABLE_CUDAGRAPH=1"


@audit.observation("wheel@{release}", kind="truth", otherwise="unknown")
def warning_needs_the_mode(wheel):
    """The warning is printed in the mode VLLM_COMPILE alone, and only where no module that was made is marked."""
    wanted = (
        "check_compile",
        "vllm_config.compilation_config.mode == CompilationMode.VLLM_COMPILE",
        "compilation_counter.num_models_seen == num_models_seen",
    )
    return _stands_under(wheel.tree.module(CONFIG), WARNING, re.escape(" and ".join(wanted)))


@audit.observation("wheel@{release}", kind="truth", otherwise="unknown")
def inductor_line_spares_breakable(wheel):
    """That Inductor is disabled is not printed where breakable CUDA graphs switched it off."""
    return _stands_under(wheel.tree.module(CONFIG), INDUCTOR, r"not breakable_cudagraph_enabled and \(.+\)")


@audit.observation("wheel@{release}", kind="truth", otherwise="unknown")
def default_line_needs_unset_variable(wheel):
    """Breakable CUDA graphs are said to be switched on only where their variable was unset: by the first process."""
    unset = r'(.+ and )?"VLLM_USE_BREAKABLE_CUDAGRAPH" not in os\.environ and .+'
    return _stands_under(wheel.tree.module(CONFIG), AUTOMATIC, unset)


@audit.observation("wheel@{release}", kind="truth", otherwise="unknown")
def level_zero_after_the_line(wheel):
    """At optimization level 0 the mode becomes none only after the line of disabled Inductor was passed."""
    setup = wheel.tree.module(CONFIG).function("VllmConfig.__post_init__")
    passed = setup.log(INDUCTOR, when=(r".*\(self\.compilation_config\.mode is not None and .+\)+",))
    later = (r"self\.compilation_config\.mode is None", r"not \(self\.optimization_level > OptimizationLevel\.O0\)")
    chosen = setup.assigned("self.compilation_config.mode", when=later)
    if chosen.value != "CompilationMode.NONE":
        raise UnknownError("the mode at that level is another")
    return chosen.read_as(chosen.at["line"] > passed.level.at["line"]).after(passed.level.hop("passed"))


@audit.observation("wheel@{release}", kind="truth", otherwise="unknown")
def total_names_the_module(wheel):
    """The totals begin with the name of the module that was compiled."""
    monitor = wheel.tree.module(MONITOR).function("monitor_torch_compile")
    found = monitor.default("message")
    if not found.value.startswith("%s"):
        return found.read_as(False)
    tag = monitor.one("assignment", r'log_prefix = f"\[\{tag\}\] " if tag else ""')
    if _total_call(wheel)[0].argument(1).value != "log_prefix":
        raise UnknownError("what fills the beginning is another thing")
    return found.read_as(True).after(tag.read_as("tag").hop("filled"))


@audit.observation("wheel@{release}", kind="truth", otherwise="unknown")
def graph_line_is_a_sum(wheel):
    """The line of a compiled graph is printed once for a range, after its last piece: its time is that of all pieces."""
    log = _log(wheel, (BACKENDS,), "", ("Compiling a graph for", "%sCompiling a graph for"))
    return log.conditions.read_as("graph_index == num_graphs - 1" in log.conditions.value)


@audit.absence("wheel@{release}", control="wheel@{release}", otherwise="unknown")
def no_published_wording(wheel):
    """No string of these files says `does not support torch.compile`; the same search finds `does not support it`."""
    modules = [wheel.tree.module(path) for path in LOGGING]
    hops = [module.assigned("logger").read_as("logger").hop("searched") for module in modules]

    def searched(text):
        first, *others = [module.count("string", containing=text) for module in modules]
        return first.over(
            others,
            "string with the words looked for: those of the published gate here, those of the warning for the control",
        )

    return searched("does not support torch.compile").against(searched("does not support it")).after(*hops)


# What follows


@audit.rule
def mode_of(breakable, by_environment, with_breakable, mode):
    """Mode of a start in which this mode would be taken, once breakable CUDA graphs had their say."""
    return choose(some(breakable, by_environment), with_breakable, mode)


@audit.rule
def is_marked(stands, bare, unmarked):
    """Whether a class is marked: the marker stands there without a condition, and the search for it finds one."""
    return every(stands == bare, ~unmarked)


@audit.rule
def is_compiled(marked, mode, without_compilation):
    """Whether a class that is marked, or is not, compiles in this mode."""
    return every(marked, ~holds(without_compilation, mode))


@audit.rule
def is_warned(unmarked, mode, warning_mode, checked, counted):
    """Whether the line on an unsupported model is printed: in that mode, where no marked module counts itself."""
    return every(checked, counted, mode == warning_mode, unmarked)


@audit.rule
def decided(compiled, warned, compiles, eager_with_warning, eager_in_silence):
    """The decision in a word."""
    return choose(compiled, compiles, choose(warned, eager_with_warning, eager_in_silence))


@audit.result(
    each="release",
    title="Mode of a start without options on CUDA",
    phrases={"NONE": ["no compilation"], "VLLM_COMPILE": ["compilation"]},
)
def mode_by_default(
    breakable_by_default, breakable_by_environment, mode_with_breakable, default_mode, cuda_sets_no_mode, not_known
):
    """Compilation mode that a start without options ends up with on NVIDIA CUDA."""
    mode = mode_of(breakable_by_default, breakable_by_environment, mode_with_breakable, default_mode)
    return choose(cuda_sets_no_mode, mode, not_known)


@audit.result(each="release", title="Mode of a start without options on ROCm")
def mode_by_default_on_rocm(
    breakable_by_default_on_rocm,
    breakable_by_environment,
    mode_with_breakable,
    default_mode,
    rocm_sets_no_mode,
    not_known,
):
    """Compilation mode that a start without options ends up with on ROCm."""
    mode = mode_of(breakable_by_default_on_rocm, breakable_by_environment, mode_with_breakable, default_mode)
    return choose(rocm_sets_no_mode, mode, not_known)


@audit.result(each="release", title="Mode of a start that asks for compilation on CUDA")
def mode_when_requested(
    breakable_by_default, request_is_overridden, mode_with_breakable, mode_three, cuda_sets_no_mode, not_known
):
    """Compilation mode that an explicit request for number three ends up with, where the environment says nothing."""
    mode = choose(every(breakable_by_default, request_is_overridden), mode_with_breakable, mode_three)
    return choose(cuda_sets_no_mode, mode, not_known)


@audit.result(
    each="release",
    title="Does GLM-5.2 compile on NVIDIA CUDA?",
    titles={
        "release": "Release",
        "decision": "A start without options",
        "registry_module": "Registry names",
        "resolved_class": "Class that serves it",
        "inner_model": "Inner model",
        "marker": "Marker",
        "decorated": "Marked",
        "mode_by_default": "Mode by default",
        "compiled_by_default": "Compiles by default",
        "warns_by_default": "Warns by default",
        "mode_when_requested": "Mode when compilation is asked for",
        "compiled_when_requested": "Compiles when asked",
        "warns_when_requested": "Warns when asked",
        "warns_when_opted_out": "Warns without breakable graphs",
        "runner": "Runner by default",
        "commit": "Wheel's commit",
    },
    phrases={
        "decorated": {"yes": ["marked"], "no": ["not marked", "unmarked"]},
        "compiledByDefault": {"yes": ["compiles", "compiled"], "no": ["does not compile", "eager"]},
        "warnsByDefault": {
            "yes": ["warned", "prints the warning"],
            "no": ["not warned", "prints no warning", "no warning"],
        },
        "warnsWhenRequested": {"yes": ["prints the warning"], "no": ["prints no warning", "no warning"]},
        "warnsWhenOptedOut": {"yes": ["prints the warning", "the warning"], "no": ["prints no warning", "no warning"]},
        "modeWhenRequested": {"NONE": ["overwritten"], "VLLM_COMPILE": ["kept"]},
        "decision": {
            "compiles": ["compiles by default", "marked and compiled"],
            "eager, in silence": ["eager and silent", "silently eager", "does not compile, and says nothing of it"],
            "eager, with a warning": ["eager and warned of"],
        },
    },
)
def releases(
    registry_module,
    resolved_class,
    inner_model,
    marker,
    bare,
    no_marker,
    no_marker_outside,
    mode_by_default,
    mode_when_requested,
    default_mode,
    default_line_needs_unset_variable,
    modes_without_compilation,
    warning_mode,
    warning_is_checked,
    marked_are_counted,
    runner,
    commit,
    compiles,
    eager_with_warning,
    eager_in_silence,
):
    """Per released wheel: what serves the architecture on NVIDIA CUDA, whether it compiles, and whether a warning says so."""
    unmarked = every(no_marker, no_marker_outside)
    marked = is_marked(marker, bare, unmarked)
    compiled = is_compiled(marked, mode_by_default, modes_without_compilation)
    warned = is_warned(unmarked, mode_by_default, warning_mode, warning_is_checked, marked_are_counted)
    return row(
        decision=decided(compiled, warned, compiles, eager_with_warning, eager_in_silence),
        registry_module=registry_module,
        resolved_class=resolved_class,
        inner_model=inner_model,
        marker=marker,
        decorated=marked,
        mode_by_default=mode_by_default,
        compiled_by_default=compiled,
        warns_by_default=warned,
        mode_when_requested=mode_when_requested,
        compiled_when_requested=is_compiled(marked, mode_when_requested, modes_without_compilation),
        warns_when_requested=is_warned(
            unmarked, mode_when_requested, warning_mode, warning_is_checked, marked_are_counted
        ),
        warns_when_opted_out=every(
            default_line_needs_unset_variable,
            is_warned(unmarked, default_mode, warning_mode, warning_is_checked, marked_are_counted),
        ),
        runner=runner,
        commit=commit,
    )


@audit.result(
    each="release",
    title="The same on ROCm",
    titles={
        "release": "Release",
        "decision": "A start without options",
        "resolved_class": "Class that serves it",
        "inner_model": "Inner model",
        "marker": "Marker",
        "decorated": "Marked",
        "mode_by_default": "Mode by default",
        "compiled_by_default": "Compiles by default",
        "warns_by_default": "Warns by default",
        "runner": "Runner by default",
    },
    phrases={
        "decorated": {"yes": ["marked"], "no": ["not marked", "unmarked"]},
        "compiledByDefault": {"yes": ["compiles", "compiled"], "no": ["does not compile", "eager"]},
        "warnsByDefault": {
            "yes": ["warned", "prints the warning"],
            "no": ["not warned", "prints no warning", "no warning"],
        },
    },
)
def rocm(
    resolved_class_on_rocm,
    inner_model_on_rocm,
    marker_on_rocm,
    bare,
    no_marker_on_rocm,
    mode_by_default_on_rocm,
    modes_without_compilation,
    warning_mode,
    warning_is_checked,
    marked_are_counted,
    runner_on_rocm,
    compiles,
    eager_with_warning,
    eager_in_silence,
):
    """Per released wheel: what serves the architecture on ROCm, whether it compiles, and whether a warning says so."""
    mode = mode_by_default_on_rocm
    marked = is_marked(marker_on_rocm, bare, no_marker_on_rocm)
    compiled = is_compiled(marked, mode, modes_without_compilation)
    warned = is_warned(no_marker_on_rocm, mode, warning_mode, warning_is_checked, marked_are_counted)
    return row(
        decision=decided(compiled, warned, compiles, eager_with_warning, eager_in_silence),
        resolved_class=resolved_class_on_rocm,
        inner_model=inner_model_on_rocm,
        marker=marker_on_rocm,
        decorated=marked,
        mode_by_default=mode,
        compiled_by_default=compiled,
        warns_by_default=warned,
        runner=runner_on_rocm,
    )


@audit.result(
    each="release",
    title="The same on a platform that is neither",
    titles={
        "release": "Release",
        "decision": "A start without options",
        "resolved_class": "Class that serves it",
        "inner_model": "Inner model",
        "marker": "Marker",
        "decorated": "Marked",
        "mode_by_default": "Mode by default",
        "mode_on_cpu": "What the CPU platform makes of the compiling mode",
        "compiled_by_default": "Compiles by default",
        "warns_by_default": "Warns by default",
    },
)
def elsewhere(
    resolved_class_elsewhere,
    inner_model_elsewhere,
    marker_elsewhere,
    bare,
    no_marker_elsewhere,
    breakable_by_default,
    breakable_by_environment,
    mode_with_breakable,
    default_mode,
    mode_on_cpu,
    xpu_sets_no_mode,
    not_known,
    modes_without_compilation,
    warning_mode,
    warning_is_checked,
    marked_are_counted,
    compiles,
    eager_with_warning,
    eager_in_silence,
):
    """Per released wheel: the same by resolution and configuration alone; whether the platform runs the model is not said."""
    asked = mode_of(breakable_by_default, breakable_by_environment, mode_with_breakable, default_mode)
    mode = choose(xpu_sets_no_mode, asked, not_known)
    marked = is_marked(marker_elsewhere, bare, no_marker_elsewhere)
    compiled = every(
        is_compiled(marked, mode, modes_without_compilation),
        ~holds(modes_without_compilation, mode_on_cpu),
    )
    warned = is_warned(no_marker_elsewhere, mode, warning_mode, warning_is_checked, marked_are_counted)
    return row(
        decision=decided(compiled, warned, compiles, eager_with_warning, eager_in_silence),
        resolved_class=resolved_class_elsewhere,
        inner_model=inner_model_elsewhere,
        marker=marker_elsewhere,
        decorated=marked,
        mode_by_default=mode,
        mode_on_cpu=mode_on_cpu,
        compiled_by_default=compiled,
        warns_by_default=warned,
    )


@audit.result(
    each="release",
    title="Decision by release and platform",
    titles={"release": "Release", "cuda": "NVIDIA CUDA", "rocm": "ROCm", "elsewhere": "Neither"},
    phrases={
        "cuda": {"compiles": ["compiles by default"], "eager, in silence": ["silently eager"]},
        "rocm": {
            "compiles": ["compiles by default"],
            "eager, in silence": ["silently eager"],
            "eager, with a warning": ["eager, and warned of"],
        },
        "elsewhere": {"compiles": ["compiles by default"], "eager, in silence": ["silently eager"]},
    },
)
def platforms(releases, rocm, elsewhere):
    """What a start without options does, per released wheel and platform."""
    return row(cuda=releases["decision"], rocm=rocm["decision"], elsewhere=elsewhere["decision"])


@audit.result(
    each="release",
    title="Request and default",
    titles={
        "release": "Release",
        "third": "Mode that the last number asks for",
        "field": "Mode in the configuration class",
        "level": "Level by default",
        "mode": "Mode that it chooses",
        "graphs": "CUDA graph mode that it asks for",
        "full_graph": "One whole graph",
        "breakable": "Breakable graphs by default",
        "breakable_on_rocm": "On ROCm",
        "switched_to": "Mode with breakable graphs",
        "switch_says": "What that switch prints of compilation",
        "announced_at": "Level of the line on breakable graphs",
        "asserted": "Configuration refuses piecewise graphs without either",
        "refuses": "Capture refuses them, too",
    },
    phrases={
        "fullGraph": {"yes": ["one whole graph"]},
        "breakable": {"yes": ["on by default"], "no": ["off by default"]},
        "switchSays": {"none": ["nothing"]},
        "announcedAt": {"info once": ["INFO"]},
    },
)
def defaults(
    mode_three,
    mode_field,
    default_level,
    default_mode,
    default_graphs,
    full_graph,
    breakable_by_default,
    breakable_by_default_on_rocm,
    mode_with_breakable,
    breakable_disables_compile,
    breakable_default_level,
    mode_is_asserted,
    capture_refuses,
):
    """What asks for compilation without an option, what takes it back, and what is said of that."""
    return row(
        third=mode_three,
        field=mode_field,
        level=default_level,
        mode=default_mode,
        graphs=default_graphs,
        full_graph=full_graph,
        breakable=breakable_by_default,
        breakable_on_rocm=breakable_by_default_on_rocm,
        switched_to=mode_with_breakable,
        switch_says=breakable_disables_compile,
        announced_at=breakable_default_level,
        asserted=mode_is_asserted,
        refuses=capture_refuses,
    )


@audit.result(
    each="release",
    title="The draft of speculative decoding",
    titles={
        "release": "Release",
        "architecture": "Configured as",
        "cuda_class": "Class on NVIDIA CUDA",
        "cuda_marker": "Marker there",
        "rocm_class": "Class on ROCm",
        "rocm_marker": "Marker there",
        "other_class": "Class elsewhere",
        "other_marker": "Marker there",
        "compiled": "Compiles beside the target on CUDA",
    },
    phrases={"compiled": {"yes": ["compiles"], "no": ["does not compile"]}},
)
def drafts(
    draft_architecture,
    draft_class,
    draft_marker,
    draft_class_on_rocm,
    draft_marker_on_rocm,
    draft_class_elsewhere,
    draft_marker_elsewhere,
    bare,
    mode_by_default,
    modes_without_compilation,
):
    """Which class serves a multi-token draft of the model, and whether it is marked: another question than the target's."""
    return row(
        architecture=draft_architecture,
        cuda_class=draft_class,
        cuda_marker=draft_marker,
        rocm_class=draft_class_on_rocm,
        rocm_marker=draft_marker_on_rocm,
        other_class=draft_class_elsewhere,
        other_marker=draft_marker_elsewhere,
        compiled=is_compiled(draft_marker == bare, mode_by_default, modes_without_compilation),
    )


@audit.result(
    each="release",
    title="What `model_class_overrides` can change",
    titles={
        "release": "Release",
        "default": "Without the option",
        "target": "Class that its description names",
        "marker": "Marker there",
        "compiled": "Compiles with it on CUDA",
        "warns": "Warns with it",
        "draft_compiled": "The draft compiles beside it",
    },
    phrases={"warns": {"yes": ["the warning is printed"]}, "draftCompiled": {"yes": ["the draft compiles"]}},
)
def overrides(
    override_default,
    override_target,
    override_marker,
    bare,
    absent,
    mode_by_default,
    modes_without_compilation,
    warning_mode,
    warning_is_checked,
    marked_are_counted,
    draft_marker,
):
    """What a start on NVIDIA CUDA does that puts the class of the option's own description in the architecture's place."""
    return row(
        default=override_default,
        target=override_target,
        marker=override_marker,
        compiled=is_compiled(override_marker == bare, mode_by_default, modes_without_compilation),
        warns=is_warned(
            override_marker == absent, mode_by_default, warning_mode, warning_is_checked, marked_are_counted
        ),
        draft_compiled=is_compiled(draft_marker == bare, mode_by_default, modes_without_compilation),
    )


@audit.result(
    each="release",
    title="Mechanisms that the report names",
    titles={
        "release": "Release",
        "capability_check": "Capability asked for inside of the model",
        "workspace_lane": "Workspace by a context variable",
        "served": "In the package that serves the architecture on CUDA",
    },
    phrases={
        "capabilityCheck": {"yes": ["is there"], "no": ["is not there"]},
        "workspaceLane": {"yes": ["is there"], "no": ["is not there"]},
        "served": {"yes": ["that serves the architecture"], "no": ["that does not serve the architecture"]},
    },
)
def mechanisms(capability_check, workspace_lane, resolved_class, override_target):
    """Which releases have the two places at which a report saw one whole graph fail, and whether the first is in what runs."""
    return row(
        capability_check=capability_check,
        workspace_lane=workspace_lane,
        served=every(capability_check, resolved_class == override_target),
    )


@audit.result(
    title="The published snapshots, and what the wheels show",
    titles={
        "id": "Snapshot",
        "revision": "Revision",
        "published_marker": "Marker, as published",
        "published_runner": "Runner, as published",
        "wheel": "Wheel that names it",
        "marker": "Marker that we read",
        "runner": "Runner that we read",
        "decision": "What it does by default",
    },
)
def snapshots(
    published_tag,
    published_issue_environment,
    published_main,
    published_tag_marker,
    published_issue_marker,
    published_main_marker,
    published_tag_runner,
    published_issue_runner,
    published_main_runner,
    published_tag_short,
    releases,
    last_marked,
    none,
    not_known,
):
    """Facts that the published audit states of three revisions, beside what was read where an audited wheel names one."""
    named = releases.cell(last_marked, "commit") == published_tag_short
    return table(
        row(
            "tag",
            revision=published_tag,
            published_marker=published_tag_marker,
            published_runner=published_tag_runner,
            wheel=choose(named, last_marked, none),
            marker=choose(named, releases.cell(last_marked, "marker"), not_known),
            runner=choose(named, releases.cell(last_marked, "runner"), not_known),
            decision=choose(named, releases.cell(last_marked, "decision"), not_known),
        ),
        row(
            "issue",
            revision=published_issue_environment,
            published_marker=published_issue_marker,
            published_runner=published_issue_runner,
            wheel=none,
            marker=not_known,
            runner=not_known,
            decision=not_known,
        ),
        row(
            "main",
            revision=published_main,
            published_marker=published_main_marker,
            published_runner=published_main_runner,
            wheel=none,
            marker=not_known,
            runner=not_known,
            decision=not_known,
        ),
    )


@audit.result(title="Audited wheels that compile by default on CUDA")
def compiled_wheels(releases):
    """Wheels whose start without options compiles GLM-5.2 on NVIDIA CUDA."""
    return count(releases.column("compiled_by_default")).of("wheel")


@audit.result(title="Audited wheels that run eager by default on CUDA")
def eager_wheels(releases):
    """Wheels whose start without options leaves it eager."""
    return count(~compiled for compiled in releases.column("compiled_by_default")).of("wheel")


@audit.result(title="Audited wheels that warn by default on CUDA")
def warning_wheels(releases):
    """Wheels whose start without options prints the warning on NVIDIA CUDA."""
    return count(releases.column("warns_by_default")).of("wheel")


@audit.result(title="Audited wheels that overwrite the request")
def overwriting_wheels(releases, compile_mode):
    """Wheels in which an explicit request for mode three ends as another mode on NVIDIA CUDA."""
    return count(mode != compile_mode for mode in releases.column("mode_when_requested")).of("wheel")


@audit.result(title="Audited wheels that warn by default on ROCm")
def warning_wheels_on_rocm(rocm):
    """Wheels whose start without options prints the warning on ROCm."""
    return count(rocm.column("warns_by_default")).of("wheel")


@audit.result(title="Audited wheels that compile by default on ROCm")
def compiled_wheels_on_rocm(rocm):
    """Wheels whose start without options compiles GLM-5.2 on ROCm."""
    return count(rocm.column("compiled_by_default")).of("wheel")


@audit.result(title="Newest audited release")
def newest_release(releases, newest):
    """What the newest audited release does by default on NVIDIA CUDA."""
    return releases.cell(newest, "decision")


# What must hold


@audit.invariant
def every_wheel_is_decided(compiled_wheels, eager_wheels, wheels_in_scope):
    """Every wheel in scope is known to compile or known to be eager."""
    return compiled_wheels + eager_wheels == wheels_in_scope


@audit.invariant
def published_marker_is_contradicted(published_tag_marker, marker, last_marked):
    """The stable release that the published audit calls unmarked serves the architecture by a class that is marked."""
    return marker[last_marked] != published_tag_marker


@audit.invariant
def published_tag_is_that_wheel(published_tag_short, commit, last_marked):
    """The wheel of that release names the commit of the tag that the published audit read."""
    return commit[last_marked] == published_tag_short


@audit.invariant
def published_runner_agrees(published_tag_runner, published_issue_runner, runner, last_marked, first_moved):
    """What was published of the runner agrees with the wheels before and after the reporter's revision."""
    return every(runner[last_marked] == published_tag_runner, runner[first_moved] == published_issue_runner)


@audit.invariant
def class_that_was_published_runs_later(override_target, resolved_class, last_marked, first_moved):
    """The class of the published audit's file does not serve the architecture in that release, and does in the next one."""
    return every(
        resolved_class[last_marked] != override_target[last_marked],
        resolved_class[first_moved] == override_target[last_marked],
    )


@audit.invariant
def marker_and_absence_agree(marker, no_marker, no_marker_outside, absent):
    """In every release the marker is read as absent where both searches find none, and only there."""
    return every((stands == absent) == every(no_marker[key], no_marker_outside[key]) for key, stands in marker.items())


@audit.invariant
def marker_and_absence_agree_on_rocm(marker_on_rocm, no_marker_on_rocm, absent):
    """On ROCm it is the same."""
    return every((stands == absent) == no_marker_on_rocm[key] for key, stands in marker_on_rocm.items())


@audit.invariant
def marked_elsewhere(marker_elsewhere, no_marker_elsewhere, bare):
    """On a platform that is neither, every release serves the architecture by a marked class."""
    return every(every(stands == bare, ~no_marker_elsewhere[key]) for key, stands in marker_elsewhere.items())


@audit.invariant
def marked_classes_compile(releases, no_marker):
    """On CUDA a start without options compiles where the search for the marker finds one, and nowhere else."""
    return every(releases.cell(key, "compiled_by_default") == ~alone for key, alone in no_marker.items())


@audit.invariant
def breakable_goes_with_unmarked(breakable_by_default, marker, absent):
    """On CUDA the release turns breakable CUDA graphs on for this architecture exactly where its class is unmarked."""
    return every(on == (marker[key] == absent) for key, on in breakable_by_default.items())


@audit.invariant
def no_default_start_warns(warning_wheels):
    """No audited wheel prints the warning in a start without options on CUDA."""
    return warning_wheels == 0


@audit.invariant
def request_is_overwritten_where_breakable(releases, breakable_by_default, eager_mode):
    """Where breakable CUDA graphs are on by default, an explicit request for mode three ends as no compilation."""
    return every(
        on == (releases.cell(key, "mode_when_requested") == eager_mode) for key, on in breakable_by_default.items()
    )


@audit.invariant
def opting_out_brings_the_warning(releases, marker, absent):
    """Without breakable CUDA graphs the warning is printed exactly where the class is unmarked."""
    return every(releases.cell(key, "warns_when_opted_out") == (stands == absent) for key, stands in marker.items())


@audit.invariant
def rocm_warns_where_unmarked(rocm, marker_on_rocm, absent):
    """On ROCm the warning is printed by default exactly where the class is unmarked."""
    return every(rocm.cell(key, "warns_by_default") == (stands == absent) for key, stands in marker_on_rocm.items())


@audit.invariant
def three_asks_for_the_default(mode_three, default_mode, compile_mode):
    """In every release the number three asks for the compiling mode, and so does the default level."""
    return every(every(name == compile_mode, default_mode[key] == compile_mode) for key, name in mode_three.items())


@audit.invariant
def warning_is_for_that_mode(warning_mode, mode_three):
    """The warning is printed in the mode that three asks for, and in no other."""
    return every(name == mode_three[key] for key, name in warning_mode.items())


@audit.invariant
def wheels_of_one_version_agree(releases):
    """Both wheels of 0.23.0 serve the architecture alike."""
    return every(
        releases.cell("0.23.0", "resolved_class") == releases.cell("0.23.0-2", "resolved_class"),
        releases.cell("0.23.0", "inner_model") == releases.cell("0.23.0-2", "inner_model"),
        releases.cell("0.23.0", "marker") == releases.cell("0.23.0-2", "marker"),
        releases.cell("0.23.0", "decision") == releases.cell("0.23.0-2", "decision"),
    )


@audit.invariant
def published_words_never_match(published_words_match):
    """In no audited release do the published gate's words stand in the line that it looks for."""
    return every(~match for match in published_words_match.values())


@audit.invariant
def announcement_is_not_of_compilation(announcement_names_compilation):
    """In no audited release does the line on breakable CUDA graphs speak of compilation."""
    return every(~names for names in announcement_names_compilation.values())


@audit.invariant
def mechanisms_came_together(capability_check, workspace_lane, last_marked):
    """Both mechanisms that the report names are in the stable release that it was held against, and not in the one before."""
    return every(
        capability_check[last_marked],
        workspace_lane[last_marked],
        ~capability_check["0.27.1"],
        ~workspace_lane["0.27.1"],
    )


@audit.invariant
def one_whole_graph(full_graph):
    """Every audited release asks for one whole graph where it compiles."""
    return every(full_graph.values())


@audit.invariant
def drafts_are_marked_outside(draft_marked_inside):
    """In no audited release does the draft's marker stand where the target's does: both places must be looked at."""
    return every(~inside for inside in draft_marked_inside.values())


@audit.invariant
def override_unmarks(override_marker, marker, last_marked, absent, bare):
    """In the last release that is marked by itself, the class of the option's description is not."""
    return every(marker[last_marked] == bare, override_marker[last_marked] == absent)


# What follows from the lines


@audit.rule
def printing(formats, not_printed):
    """Wheels that print the line at all, in whatever wording."""
    return count(text != not_printed for text in formats.values()).of("wheel")


@audit.result(
    title="Lines that a gate relies on",
    titles={
        "id": "Line",
        "oldest": "In the oldest release",
        "newest": "In the newest release",
        "same": "Same",
        "wheels": "Wheels that print it",
    },
)
def messages(
    unsupported_model_warning,
    enforce_eager,
    enforce_eager_without_warmup,
    torch_compile_disable,
    inductor_disabled,
    breakable_disables_compile,
    breakable_default,
    breakable_for_batch_invariance,
    eager_backend,
    cudagraph_without_compile,
    cudagraph_under_eager,
    piecewise_unavailable,
    foreign_backend,
    compile_total,
    compile_with_warmup,
    graph_compiled,
    graph_loaded,
    dynamo_time,
    cache_directory,
    cache_disabled,
    aot_loaded,
    aot_load_failed,
    aot_saved,
    aot_not_saved,
    arguments_given,
    engine_config,
    draft_loading,
    engine_started,
    engine_started_compiled,
    engine_started_with_encoder,
    graphs_captured,
    graphs_captured_v2,
    engine_failed_to_start,
    engine_failed,
    worker_failed_to_start,
    worker_failed,
    worker_met_exception,
    worker_died,
    ray_worker_died,
    ray_worker_failed,
    not_printed,
):
    """The format of each line in the oldest and in the newest release, and how many wheels print it at all."""
    return table(
        row(
            "unsupportedModelWarning",
            oldest=unsupported_model_warning["0.23.0"],
            newest=unsupported_model_warning["0.33.0"],
            same=unsupported_model_warning["0.23.0"] == unsupported_model_warning["0.33.0"],
            wheels=printing(unsupported_model_warning, not_printed),
        ),
        row(
            "enforceEager",
            oldest=enforce_eager["0.23.0"],
            newest=enforce_eager["0.33.0"],
            same=enforce_eager["0.23.0"] == enforce_eager["0.33.0"],
            wheels=printing(enforce_eager, not_printed),
        ),
        row(
            "enforceEagerWithoutWarmup",
            oldest=enforce_eager_without_warmup["0.23.0"],
            newest=enforce_eager_without_warmup["0.33.0"],
            same=enforce_eager_without_warmup["0.23.0"] == enforce_eager_without_warmup["0.33.0"],
            wheels=printing(enforce_eager_without_warmup, not_printed),
        ),
        row(
            "torchCompileDisable",
            oldest=torch_compile_disable["0.23.0"],
            newest=torch_compile_disable["0.33.0"],
            same=torch_compile_disable["0.23.0"] == torch_compile_disable["0.33.0"],
            wheels=printing(torch_compile_disable, not_printed),
        ),
        row(
            "inductorDisabled",
            oldest=inductor_disabled["0.23.0"],
            newest=inductor_disabled["0.33.0"],
            same=inductor_disabled["0.23.0"] == inductor_disabled["0.33.0"],
            wheels=printing(inductor_disabled, not_printed),
        ),
        row(
            "breakableDisablesCompile",
            oldest=breakable_disables_compile["0.23.0"],
            newest=breakable_disables_compile["0.33.0"],
            same=breakable_disables_compile["0.23.0"] == breakable_disables_compile["0.33.0"],
            wheels=printing(breakable_disables_compile, not_printed),
        ),
        row(
            "breakableDefault",
            oldest=breakable_default["0.23.0"],
            newest=breakable_default["0.33.0"],
            same=breakable_default["0.23.0"] == breakable_default["0.33.0"],
            wheels=printing(breakable_default, not_printed),
        ),
        row(
            "breakableForBatchInvariance",
            oldest=breakable_for_batch_invariance["0.23.0"],
            newest=breakable_for_batch_invariance["0.33.0"],
            same=breakable_for_batch_invariance["0.23.0"] == breakable_for_batch_invariance["0.33.0"],
            wheels=printing(breakable_for_batch_invariance, not_printed),
        ),
        row(
            "eagerBackend",
            oldest=eager_backend["0.23.0"],
            newest=eager_backend["0.33.0"],
            same=eager_backend["0.23.0"] == eager_backend["0.33.0"],
            wheels=printing(eager_backend, not_printed),
        ),
        row(
            "cudagraphWithoutCompile",
            oldest=cudagraph_without_compile["0.23.0"],
            newest=cudagraph_without_compile["0.33.0"],
            same=cudagraph_without_compile["0.23.0"] == cudagraph_without_compile["0.33.0"],
            wheels=printing(cudagraph_without_compile, not_printed),
        ),
        row(
            "cudagraphUnderEager",
            oldest=cudagraph_under_eager["0.23.0"],
            newest=cudagraph_under_eager["0.33.0"],
            same=cudagraph_under_eager["0.23.0"] == cudagraph_under_eager["0.33.0"],
            wheels=printing(cudagraph_under_eager, not_printed),
        ),
        row(
            "piecewiseUnavailable",
            oldest=piecewise_unavailable["0.23.0"],
            newest=piecewise_unavailable["0.33.0"],
            same=piecewise_unavailable["0.23.0"] == piecewise_unavailable["0.33.0"],
            wheels=printing(piecewise_unavailable, not_printed),
        ),
        row(
            "foreignBackend",
            oldest=foreign_backend["0.23.0"],
            newest=foreign_backend["0.33.0"],
            same=foreign_backend["0.23.0"] == foreign_backend["0.33.0"],
            wheels=printing(foreign_backend, not_printed),
        ),
        row(
            "compileTotal",
            oldest=compile_total["0.23.0"],
            newest=compile_total["0.33.0"],
            same=compile_total["0.23.0"] == compile_total["0.33.0"],
            wheels=printing(compile_total, not_printed),
        ),
        row(
            "compileWithWarmup",
            oldest=compile_with_warmup["0.23.0"],
            newest=compile_with_warmup["0.33.0"],
            same=compile_with_warmup["0.23.0"] == compile_with_warmup["0.33.0"],
            wheels=printing(compile_with_warmup, not_printed),
        ),
        row(
            "graphCompiled",
            oldest=graph_compiled["0.23.0"],
            newest=graph_compiled["0.33.0"],
            same=graph_compiled["0.23.0"] == graph_compiled["0.33.0"],
            wheels=printing(graph_compiled, not_printed),
        ),
        row(
            "graphLoaded",
            oldest=graph_loaded["0.23.0"],
            newest=graph_loaded["0.33.0"],
            same=graph_loaded["0.23.0"] == graph_loaded["0.33.0"],
            wheels=printing(graph_loaded, not_printed),
        ),
        row(
            "dynamoTime",
            oldest=dynamo_time["0.23.0"],
            newest=dynamo_time["0.33.0"],
            same=dynamo_time["0.23.0"] == dynamo_time["0.33.0"],
            wheels=printing(dynamo_time, not_printed),
        ),
        row(
            "cacheDirectory",
            oldest=cache_directory["0.23.0"],
            newest=cache_directory["0.33.0"],
            same=cache_directory["0.23.0"] == cache_directory["0.33.0"],
            wheels=printing(cache_directory, not_printed),
        ),
        row(
            "cacheDisabled",
            oldest=cache_disabled["0.23.0"],
            newest=cache_disabled["0.33.0"],
            same=cache_disabled["0.23.0"] == cache_disabled["0.33.0"],
            wheels=printing(cache_disabled, not_printed),
        ),
        row(
            "aotLoaded",
            oldest=aot_loaded["0.23.0"],
            newest=aot_loaded["0.33.0"],
            same=aot_loaded["0.23.0"] == aot_loaded["0.33.0"],
            wheels=printing(aot_loaded, not_printed),
        ),
        row(
            "aotLoadFailed",
            oldest=aot_load_failed["0.23.0"],
            newest=aot_load_failed["0.33.0"],
            same=aot_load_failed["0.23.0"] == aot_load_failed["0.33.0"],
            wheels=printing(aot_load_failed, not_printed),
        ),
        row(
            "aotSaved",
            oldest=aot_saved["0.23.0"],
            newest=aot_saved["0.33.0"],
            same=aot_saved["0.23.0"] == aot_saved["0.33.0"],
            wheels=printing(aot_saved, not_printed),
        ),
        row(
            "aotNotSaved",
            oldest=aot_not_saved["0.23.0"],
            newest=aot_not_saved["0.33.0"],
            same=aot_not_saved["0.23.0"] == aot_not_saved["0.33.0"],
            wheels=printing(aot_not_saved, not_printed),
        ),
        row(
            "argumentsGiven",
            oldest=arguments_given["0.23.0"],
            newest=arguments_given["0.33.0"],
            same=arguments_given["0.23.0"] == arguments_given["0.33.0"],
            wheels=printing(arguments_given, not_printed),
        ),
        row(
            "engineConfig",
            oldest=engine_config["0.23.0"],
            newest=engine_config["0.33.0"],
            same=engine_config["0.23.0"] == engine_config["0.33.0"],
            wheels=printing(engine_config, not_printed),
        ),
        row(
            "draftLoading",
            oldest=draft_loading["0.23.0"],
            newest=draft_loading["0.33.0"],
            same=draft_loading["0.23.0"] == draft_loading["0.33.0"],
            wheels=printing(draft_loading, not_printed),
        ),
        row(
            "engineStarted",
            oldest=engine_started["0.23.0"],
            newest=engine_started["0.33.0"],
            same=engine_started["0.23.0"] == engine_started["0.33.0"],
            wheels=printing(engine_started, not_printed),
        ),
        row(
            "engineStartedCompiled",
            oldest=engine_started_compiled["0.23.0"],
            newest=engine_started_compiled["0.33.0"],
            same=engine_started_compiled["0.23.0"] == engine_started_compiled["0.33.0"],
            wheels=printing(engine_started_compiled, not_printed),
        ),
        row(
            "engineStartedWithEncoder",
            oldest=engine_started_with_encoder["0.23.0"],
            newest=engine_started_with_encoder["0.33.0"],
            same=engine_started_with_encoder["0.23.0"] == engine_started_with_encoder["0.33.0"],
            wheels=printing(engine_started_with_encoder, not_printed),
        ),
        row(
            "graphsCaptured",
            oldest=graphs_captured["0.23.0"],
            newest=graphs_captured["0.33.0"],
            same=graphs_captured["0.23.0"] == graphs_captured["0.33.0"],
            wheels=printing(graphs_captured, not_printed),
        ),
        row(
            "graphsCapturedV2",
            oldest=graphs_captured_v2["0.23.0"],
            newest=graphs_captured_v2["0.33.0"],
            same=graphs_captured_v2["0.23.0"] == graphs_captured_v2["0.33.0"],
            wheels=printing(graphs_captured_v2, not_printed),
        ),
        row(
            "engineFailedToStart",
            oldest=engine_failed_to_start["0.23.0"],
            newest=engine_failed_to_start["0.33.0"],
            same=engine_failed_to_start["0.23.0"] == engine_failed_to_start["0.33.0"],
            wheels=printing(engine_failed_to_start, not_printed),
        ),
        row(
            "engineFailed",
            oldest=engine_failed["0.23.0"],
            newest=engine_failed["0.33.0"],
            same=engine_failed["0.23.0"] == engine_failed["0.33.0"],
            wheels=printing(engine_failed, not_printed),
        ),
        row(
            "workerFailedToStart",
            oldest=worker_failed_to_start["0.23.0"],
            newest=worker_failed_to_start["0.33.0"],
            same=worker_failed_to_start["0.23.0"] == worker_failed_to_start["0.33.0"],
            wheels=printing(worker_failed_to_start, not_printed),
        ),
        row(
            "workerFailed",
            oldest=worker_failed["0.23.0"],
            newest=worker_failed["0.33.0"],
            same=worker_failed["0.23.0"] == worker_failed["0.33.0"],
            wheels=printing(worker_failed, not_printed),
        ),
        row(
            "workerMetException",
            oldest=worker_met_exception["0.23.0"],
            newest=worker_met_exception["0.33.0"],
            same=worker_met_exception["0.23.0"] == worker_met_exception["0.33.0"],
            wheels=printing(worker_met_exception, not_printed),
        ),
        row(
            "workerDied",
            oldest=worker_died["0.23.0"],
            newest=worker_died["0.33.0"],
            same=worker_died["0.23.0"] == worker_died["0.33.0"],
            wheels=printing(worker_died, not_printed),
        ),
        row(
            "rayWorkerDied",
            oldest=ray_worker_died["0.23.0"],
            newest=ray_worker_died["0.33.0"],
            same=ray_worker_died["0.23.0"] == ray_worker_died["0.33.0"],
            wheels=printing(ray_worker_died, not_printed),
        ),
        row(
            "rayWorkerFailed",
            oldest=ray_worker_failed["0.23.0"],
            newest=ray_worker_failed["0.33.0"],
            same=ray_worker_failed["0.23.0"] == ray_worker_failed["0.33.0"],
            wheels=printing(ray_worker_failed, not_printed),
        ),
    )


@audit.result(
    each="release",
    title="The record around a message",
    titles={
        "release": "Release",
        "record": "Record",
        "dates": "Date",
        "every_line": "Process before every line",
        "as_json": "Fields as JSON",
    },
)
def headers(record_format, record_dates, process_before_every_line, record_as_json):
    """What stands before a message in a line of the log, and the fields of a record that is written as JSON."""
    return row(record=record_format, dates=record_dates, every_line=process_before_every_line, as_json=record_as_json)


@audit.result(
    each="release",
    title="Breakable CUDA graphs switch compilation off unsaid",
    phrases={"yes": ["nothing says so"], "no": ["a line says so"]},
)
def switched_off_unsaid(breakable_disables_compile, inductor_line_spares_breakable, not_printed):
    """Whether no line says that compilation is off where breakable CUDA graphs switch it off."""
    return every(breakable_disables_compile == not_printed, inductor_line_spares_breakable)


@audit.result(
    each="release",
    title="When the lines are printed",
    titles={
        "release": "Release",
        "warning": "Level of the warning",
        "warning_needs_the_mode": "Warning in VLLM_COMPILE alone",
        "totals": "Level of the totals",
        "totals_need_the_mode": "Totals in VLLM_COMPILE alone",
        "module_named": "Totals name the module",
        "off_by_default": "Breakable graphs by default on CUDA",
        "off_unsaid": "They switch compilation off unsaid",
        "silent_default": "Off by default and unsaid",
        "level_zero_unsaid": "The lowest level passes the line of disabled Inductor",
    },
    phrases={"silent_default": {"yes": ["off and unsaid"], "no": ["not off and unsaid"]}},
)
def printed(
    unsupported_model_warning_level,
    warning_needs_the_mode,
    compile_total_level,
    total_needs_the_mode,
    total_names_the_module,
    breakable_by_default,
    switched_off_unsaid,
    level_zero_after_the_line,
):
    """Under which conditions the lines that decide are printed, and where nothing is."""
    return row(
        warning=unsupported_model_warning_level,
        warning_needs_the_mode=warning_needs_the_mode,
        totals=compile_total_level,
        totals_need_the_mode=total_needs_the_mode,
        module_named=total_names_the_module,
        off_by_default=breakable_by_default,
        off_unsaid=switched_off_unsaid,
        silent_default=every(breakable_by_default, switched_off_unsaid),
        level_zero_unsaid=level_zero_after_the_line,
    )


# What must hold of the lines


@audit.invariant
def wheels_of_one_release_print_alike(
    unsupported_model_warning, inductor_disabled, compile_total, compile_with_warmup, graph_compiled, record_format
):
    """The two wheels of 0.23.0 print the same lines."""
    formats = (
        unsupported_model_warning,
        inductor_disabled,
        compile_total,
        compile_with_warmup,
        graph_compiled,
        record_format,
    )
    return every(text["0.23.0"] == text["0.23.0-2"] for text in formats)


@audit.invariant
def warning_has_one_wording(unsupported_model_warning):
    """Every release prints the warning in the words of the one before."""
    wording = unsupported_model_warning
    return every(
        wording["0.23.0"] == wording["0.23.0-2"],
        wording["0.23.0-2"] == wording["0.24.0"],
        wording["0.24.0"] == wording["0.25.0"],
        wording["0.25.0"] == wording["0.25.1"],
        wording["0.25.1"] == wording["0.26.0"],
        wording["0.26.0"] == wording["0.27.0"],
        wording["0.27.0"] == wording["0.27.1"],
        wording["0.27.1"] == wording["0.28.0"],
        wording["0.28.0"] == wording["0.29.0"],
        wording["0.29.0"] == wording["0.30.0"],
        wording["0.30.0"] == wording["0.31.0"],
        wording["0.31.0"] == wording["0.32.0"],
        wording["0.32.0"] == wording["0.33.0"],
    )


@audit.invariant
def header_changed_once(record_format):
    """The record's header is one up to 0.30.0, and another from 0.31.0 on."""
    return every(
        record_format["0.23.0"] == record_format["0.30.0"],
        record_format["0.30.0"] != record_format["0.31.0"],
        record_format["0.31.0"] == record_format["0.33.0"],
    )


@audit.invariant
def process_moved_into_the_record(process_before_every_line, record_names_the_process):
    """In each release the process is named either before every line or in the record, and not in both."""
    return every(before == ~record_names_the_process[key] for key, before in process_before_every_line.items())


@audit.invariant
def json_came_later(record_as_json, not_printed):
    """Records as JSON came with 0.32.0."""
    return every(
        record_as_json["0.31.0"] == not_printed,
        record_as_json["0.32.0"] != not_printed,
        record_as_json["0.33.0"] == record_as_json["0.32.0"],
    )


@audit.invariant
def names_came_with_every_rank(total_names_the_module, compile_total_level, from_every_rank):
    """In each release the totals name the module where every rank prints them, and only there."""
    return every(
        named == (compile_total_level[key] == from_every_rank) for key, named in total_names_the_module.items()
    )


@audit.invariant
def switch_became_silent(switched_off_unsaid):
    """Up to 0.27.1 a line says that breakable CUDA graphs switch compilation off; from 0.28.0 on none does."""
    return every(~switched_off_unsaid["0.27.1"], switched_off_unsaid["0.28.0"], switched_off_unsaid["0.33.0"])


@audit.invariant
def default_became_silent(printed):
    """From 0.29.0 on compilation is off by default on CUDA, and nothing says so; before, it was not."""
    return every(
        ~printed.cell("0.28.0", "silent_default"),
        printed.cell("0.29.0", "silent_default"),
        printed.cell("0.33.0", "silent_default"),
    )


@audit.invariant
def published_wording_never_fires(no_published_wording):
    """The published wording is in no release's files that print."""
    return every(absent for absent in no_published_wording.values())


# What the activation gate decides on logs of our making


@audit.assumption(reason="The published audit's four policies; each is a folder of fixtures.", axis="policy")
def policies_tried():
    """Policies that the gate is tried on."""
    return "fallback", "quiet", "compiled", "checked"


@audit.assumption(
    reason="Each sign that a log may show, with a parity receipt and without one.",
    axis="state",
)
def states_tried():
    """States that the gate is tried on."""
    signs = (
        "silent", "receipt", "warning", "warning-and-receipt", "disabled", "disabled-and-receipt", "breakable", "cut-off",
        "failed",
    )  # fmt: skip
    return tuple(f"{sign}{parity}" for sign in signs for parity in ("", "-parity"))


@audit.assumption(reason="The gate's own word.")
def rejected():
    """The start is rejected."""
    return "REJECT"


@audit.assumption(reason="The gate's own word.")
def held():
    """The start is held until parity is proved."""
    return "HOLD"


@audit.assumption(reason="The gate's own word.")
def eligible():
    """The start may go on to a bounded performance canary."""
    return "CANARY-ELIGIBLE"


def _gated(gate, files):
    """The gate's answer on one folder of fixtures."""
    return gate.decide([("startup.log", files["startup.log"])], parity=files.get("parity.json"))


@audit.trial("activation_gate", "policies/{policy}", unit="1")
def policy_warnings(gate, files):
    """Unsupported-model warnings that the gate counts in the log."""
    return _gated(gate, files)["warningCount"]


@audit.trial("activation_gate", "policies/{policy}")
def policy_seconds(gate, files):
    """Compile time of the target that the gate finds, in seconds as logged."""
    return _gated(gate, files)["targetCompileSeconds"]


@audit.trial("activation_gate", "policies/{policy}", kind="truth")
def policy_parity(gate, files):
    """Whether a parity receipt counts for the log."""
    return _gated(gate, files)["parity"]["counts"]


@audit.trial("activation_gate", "policies/{policy}")
def policy_decision(gate, files):
    """What the gate decides."""
    return _gated(gate, files)["decision"]


@audit.trial("activation_gate", "policies/{policy}", kind="words")
def policy_reasons(gate, files):
    """Why."""
    return tuple(_gated(gate, files)["reasons"])


@audit.trial("activation_gate", "states/{state}", unit="1")
def state_warnings(gate, files):
    """Unsupported-model warnings that the gate counts in the log."""
    return _gated(gate, files)["warningCount"]


@audit.trial("activation_gate", "states/{state}", kind="truth")
def state_receipt(gate, files):
    """Whether the log has a compile line of the target."""
    return _gated(gate, files)["targetCompileSeconds"] != "none"


@audit.trial("activation_gate", "states/{state}", kind="truth")
def state_parity(gate, files):
    """Whether a parity receipt counts for the log."""
    return _gated(gate, files)["parity"]["counts"]


@audit.trial("activation_gate", "states/{state}")
def state_decision(gate, files):
    """What the gate decides."""
    return _gated(gate, files)["decision"]


@audit.trial("activation_gate", "states/{state}", kind="words")
def state_reasons(gate, files):
    """Why."""
    return tuple(_gated(gate, files)["reasons"])


@audit.result(
    each="policy",
    title="The published policies through the gate",
    titles={
        "policy": "Fixture",
        "warning": "Unsupported-model warning",
        "seconds": "Compile time of the target, s",
        "parity": "Parity receipt counts",
        "decision": "Decision",
        "reasons": "Reasons",
    },
)
def policies(policy_warnings, policy_seconds, policy_parity, policy_decision, policy_reasons):
    """What the published policies come to: synthetic logs, decided by the tool that is offered."""
    return row(
        warning=policy_warnings > 0,
        seconds=policy_seconds,
        parity=policy_parity,
        decision=policy_decision,
        reasons=policy_reasons,
    )


@audit.result(
    each="state",
    title="The gate's state machine",
    titles={
        "state": "Fixture",
        "warning": "Warning",
        "receipt": "Compile line of the target",
        "parity": "Parity receipt counts",
        "decision": "Decision",
        "reasons": "Reasons",
    },
)
def gate_states(state_warnings, state_receipt, state_parity, state_decision, state_reasons):
    """Each sign that a log may show, with a parity receipt and without: what the gate makes of it."""
    return row(
        warning=state_warnings > 0,
        receipt=state_receipt,
        parity=state_parity,
        decision=state_decision,
        reasons=state_reasons,
    )


@audit.invariant
def policies_stand(policies, rejected, held, eligible):
    """The four policies come to the published decisions."""
    return every(
        policies.cell("fallback", "decision") == rejected,
        policies.cell("quiet", "decision") == rejected,
        policies.cell("compiled", "decision") == held,
        policies.cell("checked", "decision") == eligible,
    )


@audit.invariant
def nothing_passes_without_both(gate_states, eligible):
    """Without a compile line of the target and a parity receipt that counts, no state is eligible."""
    return every(
        some(decision != eligible, every(receipt, parity))
        for decision, receipt, parity in [
            (gate_states.cell(key, "decision"), gate_states.cell(key, "receipt"), gate_states.cell(key, "parity"))
            for key in gate_states.keys
        ]
    )


@audit.invariant
def one_state_passes(gate_states, eligible):
    """Exactly one state is eligible: the compile line of a finished start, with parity, and nothing against it."""
    return count(decision == eligible for decision in gate_states.column("decision")) == 1
