package dev.athanor.engine.lift;

import dev.athanor.engine.device.Device;
import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.lift.analysis.WrittenArrays;
import dev.athanor.engine.lift.bytecode.Lifter;
import dev.athanor.engine.lift.emit.KernelEmitter;
import dev.athanor.engine.lift.ir.PtxNames;
import dev.athanor.engine.lift.optimize.Optimizer;
import dev.athanor.engine.lift.refusal.Declaration;
import dev.athanor.engine.lift.refusal.LiftException;
import dev.athanor.engine.ptx.Module;
import dev.athanor.engine.ptx.symbol.SymbolTable;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Optional;

/**
 * A kernel that is a Java method. It is lifted to PTX when it is first needed, once with and once
 * without checks.
 */
public final class JavaKernel {
  private final Method method;
  private final Optional<Method> body;
  private final String name;
  private final String ptxName;
  private final List<Integer> blockShape;
  private final int minBlocks;
  private final boolean debugged;
  private volatile Optional<CompiledKernel> checked = Optional.empty();
  private volatile Optional<CompiledKernel> unchecked = Optional.empty();

  JavaKernel(Method method) {
    this(method, Optional.empty(), false);
  }

  /**
   * A kernel that calls a lambda.
   *
   * @param body the static method behind the lambda
   */
  JavaKernel(Method method, Method body) {
    this(method, Optional.of(body), false);
  }

  private JavaKernel(Method method, Optional<Method> body, boolean debugged) {
    this.method = method;
    this.body = body;
    this.debugged = debugged;
    var annotation = method.getAnnotation(GpuKernel.class);
    if (annotation == null) {
      throw new IllegalArgumentException(
          "%s.%s is no kernel; annotate it with @GpuKernel"
              .formatted(method.getDeclaringClass().getName(), method.getName()));
    }
    refuse(Declaration.nameProblems(annotation.name()), method);
    if (annotation.name().isEmpty()) {
      name = body.map(lambda -> lambda.getName() + ".").orElse("") + method.getName();
      ptxName = PtxNames.encode(name);
    } else {
      name = annotation.name();
      ptxName = name;
    }
    blockShape = shape(annotation.blockSize(), method);
    minBlocks = annotation.minBlocks();
    refuse(Declaration.minBlocksProblems(minBlocks, blockShape), method);
  }

  private static void refuse(List<Declaration.Problem> problems, Method method) {
    for (var problem : problems) {
      throw new LiftException(
          problem.refusal(),
          Lifter.fileOf(method.getDeclaringClass()),
          method.getName(),
          problem.names().toArray());
    }
  }

  private static List<Integer> shape(int[] extents, Method method) {
    refuse(Declaration.blockProblems(Arrays.stream(extents).boxed().toList()), method);
    if (extents.length == 0) {
      return List.of();
    }
    var shape = new ArrayList<>(Arrays.stream(extents).boxed().toList());
    shape.addAll(Collections.nCopies(3 - extents.length, 1));
    return List.copyOf(shape);
  }

  /**
   * Returns the kernel for debuggers: it is not optimized, each variable of Java has a register of
   * its own, and {@link #symbols} are known.
   */
  public JavaKernel debugged() {
    return new JavaKernel(method, body, true);
  }

  /** Returns the method. */
  public Method method() {
    return method;
  }

  /**
   * Returns the name in PTX: the declared name, or that of the method with {@code $} and four
   * hexadecimal digits for each character that PTX does not allow.
   */
  public String name() {
    return ptxName;
  }

  /** Returns the declared shape of blocks; empty if each launch gives it. */
  public Optional<Dim3> blockSize() {
    return blockShape.isEmpty()
        ? Optional.empty()
        : Optional.of(new Dim3(blockShape.get(0), blockShape.get(1), blockShape.get(2)));
  }

  /**
   * Lifts the method. Arguments of array and segment parameters must start at multiples of 16
   * bytes, as buffers do.
   *
   * @param withChecks whether array indices and integer divisors are checked
   * @throws dev.athanor.engine.lift.refusal.LiftException if the method cannot be a kernel
   */
  public Module module(boolean withChecks) {
    return compile(withChecks).module();
  }

  /**
   * Returns the parameters of the method. The kernel in PTX has these, with the components of a
   * record in its place, then an {@code int} with the length of each array and a {@code long} with
   * the bytes of each segment.
   *
   * @throws dev.athanor.engine.lift.refusal.LiftException if the method cannot be a kernel
   */
  public List<KernelParameter> parameters() {
    var code = lifted();
    return code.parameters().stream()
        .map(each ->
            new KernelParameter(
                each.name(),
                each.type(),
                each.arguments().stream().anyMatch(one -> code.written().contains(one.name()))))
        .toList();
  }

  /**
   * Returns whether the kernel calls {@link Gpu#gridBarrier}, so that its launches are cooperative.
   *
   * @throws dev.athanor.engine.lift.refusal.LiftException if the method cannot be a kernel
   */
  public boolean isCooperative() {
    return lifted().cooperative();
  }

  /**
   * Returns whether the kernel calls {@link Gpu#print}.
   *
   * @throws dev.athanor.engine.lift.refusal.LiftException if the method cannot be a kernel
   */
  public boolean prints() {
    return lifted().kernel().runtimeFunctions().findAny().isPresent();
  }

  /** Returns the kernel with or without checks, as it may have been lifted before. */
  private CompiledKernel lifted() {
    return checked.orElseGet(() -> compile(false));
  }

  /**
   * Lifts the method and returns its Java frames; there are none unless it is {@link #debugged}.
   *
   * @param withChecks whether array indices and integer divisors are checked
   * @throws dev.athanor.engine.lift.refusal.LiftException if the method cannot be a kernel
   */
  public SymbolTable symbols(boolean withChecks) {
    return compile(withChecks).symbols();
  }

  /**
   * Prepares launches on a device. Array indices and integer divisors are checked on the emulator,
   * and not on GPUs; see {@link DeviceKernel#checked}.
   */
  public DeviceKernel on(Device device) {
    return new DeviceKernel(this, device);
  }

  /** Prepares runs as plain Java. */
  public HostKernel inJava() {
    return new HostKernel(this);
  }

  /** Checks that blocks may have a shape. */
  void requireBlock(Dim3 shape) {
    blockSize()
        .filter(declared -> !declared.equals(shape))
        .ifPresent(declared -> {
          throw new IllegalArgumentException(
              "%s declares blocks of %s threads, got %s".formatted(name, declared, shape));
        });
  }

  IllegalArgumentException noBlock() {
    return new IllegalArgumentException(
        "%s declares no blockSize; set one with block()".formatted(name));
  }

  CompiledKernel compile(boolean withChecks) {
    var known = withChecks ? checked : unchecked;
    if (known.isPresent()) {
      return known.get();
    }
    var graph = Lifter.lift(method, body, name, blockShape, withChecks, debugged);
    CarriedArrays.check(graph);
    if (debugged) {
      Optimizer.prepareForDebugging(graph);
    } else {
      Optimizer.optimize(graph);
    }
    DivergentBarriers.check(graph);
    var written = WrittenArrays.of(graph).names();
    var emitted = KernelEmitter.emit(graph, ptxName, minBlocks);
    var compiled =
        new CompiledKernel(
            Module.of(emitted.kernel()),
            name,
            graph.parameters(),
            written,
            emitted.sites(),
            emitted.symbols());
    if (withChecks) {
      checked = Optional.of(compiled);
    } else {
      unchecked = Optional.of(compiled);
    }
    return compiled;
  }
}
