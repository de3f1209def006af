package dev.athanor.engine.emulator.jit;

import static java.lang.constant.ConstantDescs.CD_Object;
import static java.lang.constant.ConstantDescs.CD_int;
import static java.lang.constant.ConstantDescs.CD_void;

import dev.athanor.engine.emulator.program.Binder;
import dev.athanor.engine.emulator.program.ProgramFlow;
import dev.athanor.engine.emulator.step.Block;
import java.lang.classfile.ClassBuilder;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassHierarchyResolver;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.attribute.CodeAttribute;
import java.lang.classfile.instruction.SwitchCase;
import java.lang.constant.MethodTypeDesc;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodHandles.Lookup;
import java.lang.invoke.MethodType;
import java.util.ArrayList;
import java.util.List;
import java.util.function.Function;

/** Writes and defines the hidden class of a program, with one method per segment. */
final class CompiledClassWriter {

  private static final Lookup LOOKUP = MethodHandles.lookup();

  /** Resolves the engine's classes also where they are not on the class path. */
  private static final ClassFile CLASS_FILES =
      ClassFile.of(
          ClassFile.ClassHierarchyResolverOption.of(
              ClassHierarchyResolver.defaultResolver()
                  .orElse(ClassHierarchyResolver.ofClassLoading(LOOKUP))));

  private static final MethodTypeDesc RUN = MethodTypeDesc.of(CD_int, CD_int, CD_int, CD_int);

  private final ProgramFlow flow;
  private final Binder binder;
  private final CompiledMembers members = new CompiledMembers();

  CompiledClassWriter(ProgramFlow flow, Binder binder) {
    this.flow = flow;
    this.binder = binder;
  }

  /** Returns the size of a segment's method in bytes. */
  int size(Segment segment) {
    var bytes = CLASS_FILES.build(CompiledMembers.SELF, type -> writeMethod(type, segment));
    return CLASS_FILES.parse(bytes).methods().getFirst().code().stream()
        .mapToInt(code -> ((CodeAttribute) code).codeLength())
        .sum();
  }

  /**
   * Defines the class.
   *
   * @return its constructor, which takes a {@link Block} and the values of the fields
   */
  MethodHandle define(List<Segment> segments) {
    var bytes = CLASS_FILES.build(CompiledMembers.SELF, type -> write(type, segments));
    try {
      var type =
          LOOKUP.defineHiddenClassWithClassData(
              bytes, members.classData(), true, Lookup.ClassOption.NESTMATE);
      return type.findConstructor(
              type.lookupClass(), MethodType.methodType(void.class, Block.class, Object[].class))
          .asType(MethodType.methodType(CompiledCode.class, Block.class, Object[].class));
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(e);
    }
  }

  /** The functions that compute the fields' values for a block, in the order of the fields. */
  List<Function<Block, Object>> fieldValues() {
    return members.values();
  }

  private void write(ClassBuilder type, List<Segment> segments) {
    type.withFlags(ClassFile.ACC_FINAL | ClassFile.ACC_SUPER).withSuperclass(CompiledMembers.BASE);
    segments.forEach(segment -> writeMethod(type, segment));
    type.withMethodBody("run", RUN, ClassFile.ACC_PUBLIC, code -> writeDispatch(code, segments));
    members.writeMethods(type);
    members.writeFields(type);
    var block = Block.class.describeConstable().orElseThrow();
    type.withMethodBody(
        "<init>",
        MethodTypeDesc.of(CD_void, block, CD_Object.arrayType()),
        0,
        members::writeConstructor);
  }

  private void writeMethod(ClassBuilder type, Segment segment) {
    type.withMethodBody(
        segment.method(),
        RUN,
        0,
        code -> new SegmentWriter(members, flow, binder, code, segment).write());
  }

  /** Writes the code that calls the method of the segment to which an entry belongs. */
  private void writeDispatch(CodeBuilder code, List<Segment> segments) {
    var cases = new ArrayList<SwitchCase>();
    var calls = new ArrayList<Runnable>();
    for (var segment : segments) {
      var label = code.newLabel();
      segment.entries(flow).forEach(pc -> cases.add(SwitchCase.of(pc, label)));
      calls.add(() ->
          code.labelBinding(label)
              .aload(0)
              .iload(1)
              .iload(2)
              .iload(3)
              .invokevirtual(CompiledMembers.SELF, segment.method(), RUN)
              .ireturn());
    }
    var none = code.newLabel();
    code.iload(1).lookupswitch(none, cases);
    calls.forEach(Runnable::run);
    code.labelBinding(none).iload(1).ireturn();
  }
}
