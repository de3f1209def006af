package dev.athanor.engine.emulator.lanes;

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
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.ConcurrentHashMap;
import java.util.function.IntConsumer;

/**
 * Copies the code of small static methods to where they are called. A lane function that is one
 * addition then is one addition in a method with hundreds of them, which a call would be only as
 * long as the JIT is willing to inline.
 */
public final class MethodBodies {

  /** The most bytes of code that are copied. */
  private static final int MOST_BYTES = 40;

  private static final ConcurrentHashMap<Class<?>, ClassModel> CLASSES = new ConcurrentHashMap<>();
  private static final ConcurrentHashMap<Method, Optional<List<CodeElement>>> BODIES =
      new ConcurrentHashMap<>();

  private MethodBodies() {}

  /** The code of a method, if it can be copied: it stores nothing and calls only the JDK. */
  public static Optional<List<CodeElement>> body(Method method) {
    return BODIES.computeIfAbsent(method, MethodBodies::read);
  }

  private static Optional<List<CodeElement>> read(Method method) {
    var type = method.getReturnType().descriptorString();
    var parameters = new StringBuilder("(");
    for (var parameter : method.getParameterTypes()) {
      parameters.append(parameter.descriptorString());
    }
    var descriptor = parameters.append(")").append(type).toString();
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
    if (((CodeAttribute) code).codeLength() > MOST_BYTES) {
      return Optional.empty();
    }
    var kept = new ArrayList<CodeElement>();
    for (var element : code) {
      switch (element) {
        case LabelTarget target -> kept.add(target);
        case PseudoInstruction _ -> {} // line numbers and the like
        case InvokeInstruction call when isOfJdk(call) -> kept.add(call);
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

  private static boolean isOfJdk(InvokeInstruction call) {
    return call.owner().asInternalName().startsWith("java/lang/");
  }

  /**
   * Copies a body; its answer is left on the stack.
   *
   * @param slots the parameter that is in each local variable of the method
   * @param push puts a parameter on the stack
   */
  public static void copy(CodeBuilder code, List<CodeElement> body, int[] slots, IntConsumer push) {
    Map<Label, Label> labels = new HashMap<>();
    var end = code.newLabel();
    for (int i = 0; i < body.size(); i++) {
      switch (body.get(i)) {
        case LabelTarget target -> code.labelBinding(label(code, labels, target.label()));
        case LoadInstruction load -> push.accept(slots[load.slot()]);
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
