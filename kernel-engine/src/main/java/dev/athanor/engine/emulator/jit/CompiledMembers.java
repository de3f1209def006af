package dev.athanor.engine.emulator.jit;

import static java.lang.constant.ConstantDescs.CD_void;

import dev.athanor.engine.emulator.lanes.HandleConstants;
import dev.athanor.engine.emulator.lanes.MethodBodies;
import dev.athanor.engine.emulator.memory.RegisterStorage;
import dev.athanor.engine.emulator.step.Block;
import dev.athanor.engine.ptx.Modifier.Space;
import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.SpecialRegister;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.meaning.LaneSemantics;
import java.lang.classfile.ClassBuilder;
import java.lang.classfile.ClassFile;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.TypeKind;
import java.lang.constant.ClassDesc;
import java.lang.constant.MethodTypeDesc;
import java.lang.invoke.MethodHandle;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.function.IntConsumer;
import java.util.stream.IntStream;
import org.jspecify.annotations.Nullable;

/**
 * The members of a compiled class that its segments use: fields with the arrays of registers and
 * the memory sites of a block, and static methods for lane functions. They are collected while
 * segments are written.
 */
final class CompiledMembers {

  /** The compiled class. */
  static final ClassDesc SELF =
      ClassDesc.of(CompiledMembers.class.getPackageName() + ".CompiledSegments");

  static final ClassDesc BASE = CompiledCode.class.describeConstable().orElseThrow();
  private static final ClassDesc SITE = MemorySite.class.describeConstable().orElseThrow();

  /**
   * A field of the compiled class.
   *
   * @param value computes its value for a block
   */
  private record Field(String name, ClassDesc type, Function<Block, Object> value) {}

  private final Map<Object, Field> fields = new LinkedHashMap<>();
  private final HandleConstants handles = new HandleConstants();
  private final Map<List<String>, List<MethodHandle>> functions = new HashMap<>();

  // for the code of segments

  /** Pushes the array of a register. */
  void registerArray(CodeBuilder code, Operand.Register register) {
    var type = arrayType(RegisterStorage.of(register.registerClass()));
    push(code, register, "register", type, b -> b.registers.of(register).array());
  }

  /** Pushes the array of a special register. */
  void registerArray(CodeBuilder code, SpecialRegister register) {
    var type = arrayType(RegisterStorage.of(register.type().registerClass()));
    push(code, register, "special", type, b -> b.registers.of(register).array());
  }

  private static ClassDesc arrayType(RegisterStorage storage) {
    var element = storage == RegisterStorage.MASK ? int.class : storage.carrier();
    return element.describeConstable().orElseThrow().arrayType();
  }

  /** Pushes the {@link MemorySite} of an instruction. */
  void site(CodeBuilder code, int pc, @Nullable Space space, int bytes) {
    push(code, pc, "site", SITE, b -> new MemorySite(b, space, bytes));
  }

  private void push(
      CodeBuilder code, Object key, String prefix, ClassDesc type, Function<Block, Object> value) {
    var field = fields.computeIfAbsent(key, _ -> new Field(prefix + fields.size(), type, value));
    code.aload(0).getfield(SELF, field.name, field.type);
  }

  /** Returns the lane functions of an instruction, one for each result. */
  List<MethodHandle> functions(Instruction instruction) {
    return functions.computeIfAbsent(
        List.of(instruction.form().syntax(), instruction.modifiers().toString()),
        _ -> LaneSemantics.of(instruction.form(), instruction.modifiers()));
  }

  /**
   * Computes a lane function: copies its body if possible, else calls a method that invokes it.
   *
   * @param push emits code that pushes the argument of an index
   */
  void evaluate(CodeBuilder code, MethodHandle function, IntConsumer push) {
    if (!MethodBodies.copy(code, function, push)) {
      var type = function.type();
      IntStream.range(0, type.parameterCount()).forEach(push);
      code.invokestatic(
          SELF, method(handles.index(function)), type.describeConstable().orElseThrow());
    }
  }

  private static String method(int index) {
    return "lane" + index;
  }

  // for the class that holds the segments

  /** Writes a method for each lane function: short, so that the JIT inlines it in any segment. */
  void writeMethods(ClassBuilder type) {
    for (var function : handles.classData()) {
      var descriptor = function.type().describeConstable().orElseThrow();
      type.withMethodBody(
          method(handles.index(function)),
          descriptor,
          ClassFile.ACC_STATIC,
          code -> {
            handles.invoke(code, function, () -> loadParameters(code, descriptor));
            code.return_(TypeKind.from(descriptor.returnType()));
          });
    }
  }

  private static void loadParameters(CodeBuilder code, MethodTypeDesc descriptor) {
    for (int i = 0; i < descriptor.parameterCount(); i++) {
      code.loadLocal(TypeKind.from(descriptor.parameterType(i)), code.parameterSlot(i));
    }
  }

  void writeFields(ClassBuilder type) {
    fields.values().forEach(f -> type.withField(f.name, f.type, ClassFile.ACC_FINAL));
  }

  /** Writes the code of the constructor, whose parameters are a block and the fields' values. */
  void writeConstructor(CodeBuilder code) {
    var block = Block.class.describeConstable().orElseThrow();
    code.aload(0).aload(1).invokespecial(BASE, "<init>", MethodTypeDesc.of(CD_void, block));
    int index = 0;
    for (var field : fields.values()) {
      code.aload(0).aload(2).loadConstant(index++).aaload().checkcast(field.type);
      code.putfield(SELF, field.name, field.type);
    }
    code.return_();
  }

  /** The functions that compute the fields' values for a block, in the order of the fields. */
  List<Function<Block, Object>> values() {
    return fields.values().stream().map(Field::value).toList();
  }

  /** The class data of the class: the lane functions that it calls. */
  List<MethodHandle> classData() {
    return handles.classData();
  }
}
