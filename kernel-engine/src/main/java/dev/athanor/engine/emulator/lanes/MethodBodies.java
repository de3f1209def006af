package dev.athanor.engine.emulator.lanes;

import dev.athanor.engine.ptx.meaning.LaneSemantics;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassModel;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.CodeElement;
import java.lang.classfile.CodeModel;
import java.lang.classfile.Label;
import java.lang.classfile.PseudoInstruction;
import java.lang.classfile.attribute.CodeAttribute;
import java.lang.classfile.instruction.BranchInstruction;
import java.lang.classfile.instruction.ConstantInstruction;
import java.lang.classfile.instruction.ConvertInstruction;
import java.lang.classfile.instruction.InvokeInstruction;
import java.lang.classfile.instruction.LabelTarget;
import java.lang.classfile.instruction.LoadInstruction;
import java.lang.classfile.instruction.OperatorInstruction;
import java.lang.classfile.instruction.ReturnInstruction;
import java.lang.classfile.instruction.StackInstruction;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodType;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.IntConsumer;

/**
 * Copies the code of small lane functions to where they are called. A segment may compute hundreds
 * of lane functions, more than the JIT is willing to inline into one method.
 */
public final class MethodBodies {

  /** The maximum size of a copied method in bytes of bytecode. */
  private static final int MAX_BYTES = 40;

  private static final ConcurrentHashMap<Class<?>, ClassModel> CLASSES = new ConcurrentHashMap<>();
  private static final ConcurrentHashMap<Method, Optional<List<CodeElement>>> BODIES =
      new ConcurrentHashMap<>();

  private MethodBodies() {}

  /**
   * Emits a copy of the body of a lane function, which leaves the result on the stack.
   *
   * @param push emits code that pushes the argument of an index
   * @return whether the body can be copied: it is one small method that stores to no variable and
   *     calls only the JDK. If not, no code is emitted.
   */
  public static boolean copy(CodeBuilder code, MethodHandle function, IntConsumer push) {
    var method = LaneSemantics.method(function).orElse(null);
    if (method == null) {
      return false;
    }
    var body = BODIES.computeIfAbsent(method, MethodBodies::read);
    body.ifPresent(elements -> copy(code, elements, parameters(method), push));
    return body.isPresent();
  }

  /** The index of the parameter in each local variable of a static method. */
  private static int[] parameters(Method method) {
    var parameters = new ArrayList<Integer>();
    for (int i = 0; i < method.getParameterCount(); i++) {
      var type = method.getParameterTypes()[i];
      parameters.add(i);
      if (type == long.class || type == double.class) {
        parameters.add(i);
      }
    }
    return parameters.stream().mapToInt(Integer::intValue).toArray();
  }

  private static Optional<List<CodeElement>> read(Method method) {
    var descriptor =
        MethodType.methodType(method.getReturnType(), method.getParameterTypes())
            .descriptorString();
    return CLASSES
        .computeIfAbsent(method.getDeclaringClass(), MethodBodies::parse)
        .methods()
        .stream()
        .filter(m ->
            m.methodName().equalsString(method.getName())
                && m.methodType().equalsString(descriptor))
        .flatMap(m -> m.code().stream())
        .findFirst()
        .flatMap(MethodBodies::copyable);
  }

  private static ClassModel parse(Class<?> owner) {
    var file = owner.getName().substring(owner.getPackageName().length() + 1) + ".class";
    try (var in = owner.getResourceAsStream(file)) {
      if (in == null) {
        throw new IllegalStateException("no class file of " + owner);
      }
      return ClassFile.of().parse(in.readAllBytes());
    } catch (IOException e) {
      throw new UncheckedIOException(e);
    }
  }

  private static Optional<List<CodeElement>> copyable(CodeModel code) {
    if (((CodeAttribute) code).codeLength() > MAX_BYTES) {
      return Optional.empty();
    }
    var kept = new ArrayList<CodeElement>();
    for (var element : code) {
      switch (element) {
        case LabelTarget target -> kept.add(target);
        case PseudoInstruction _ -> {} // line numbers and variable names
        case InvokeInstruction call when callsJdk(call) -> kept.add(call);
        case LoadInstruction _,
            ReturnInstruction _,
            BranchInstruction _,
            ConstantInstruction _,
            ConvertInstruction _,
            OperatorInstruction _,
            StackInstruction _ ->
            kept.add(element);
        default -> {
          return Optional.empty();
        }
      }
    }
    return Optional.of(kept);
  }

  private static boolean callsJdk(InvokeInstruction call) {
    return call.owner().asInternalName().startsWith("java/lang/");
  }

  private static void copy(
      CodeBuilder code, List<CodeElement> body, int[] parameters, IntConsumer push) {
    Map<Label, Label> labels = new HashMap<>();
    var end = code.newLabel();
    for (int i = 0; i < body.size(); i++) {
      switch (body.get(i)) {
        case LabelTarget target -> code.labelBinding(label(code, labels, target.label()));
        case LoadInstruction load -> push.accept(parameters[load.slot()]);
        case BranchInstruction branch ->
            code.branch(branch.opcode(), label(code, labels, branch.target()));
        case ReturnInstruction _ -> {
          if (i + 1 < body.size()) {
            code.goto_(end);
          }
        }
        case CodeElement other -> code.with(other);
      }
    }
    code.labelBinding(end);
  }

  private static Label label(CodeBuilder code, Map<Label, Label> labels, Label original) {
    return labels.computeIfAbsent(original, _ -> code.newLabel());
  }
}
