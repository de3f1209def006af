package dev.athanor.vulkan.spirv;

import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.IntStream;

/** A SPIR-V module with one compute shader. Types, constants and capabilities are unique. */
final class SpirvModule {

  /** The sections of a module in their order. */
  enum Section {
    CAPABILITIES,
    EXTENSIONS,
    IMPORTS,
    MEMORY_MODEL,
    ENTRY_POINTS,
    MODES,
    DECORATIONS,
    GLOBALS,
    LOCALS,
    BODY
  }

  private final Map<Section, Words> sections = new EnumMap<>(Section.class);
  private final Map<List<Integer>, Integer> declared = new HashMap<>();
  private final Set<Integer> stated = new HashSet<>();
  private final List<Integer> globals = new ArrayList<>();
  private boolean keepsSubnormals;
  private final boolean vulkanMemory;
  private int ids = 1;
  private final int instructionSet;

  /**
   * @param vulkanMemory whether the memory model is Vulkan's, which cooperative matrices require,
   *     not GLSL's. Only accesses that are marked then see those of other threads.
   */
  SpirvModule(boolean vulkanMemory) {
    this.vulkanMemory = vulkanMemory;
    instructionSet = id();
    add(Section.IMPORTS, Spirv.EXT_INST_IMPORT, text("GLSL.std.450", instructionSet));
    if (vulkanMemory) {
      capability(Spirv.VULKAN_MEMORY_MODEL);
      capability(Spirv.VULKAN_MEMORY_MODEL_DEVICE_SCOPE);
    }
    add(
        Section.MEMORY_MODEL,
        Spirv.MEMORY_MODEL,
        Spirv.PHYSICAL_STORAGE_BUFFER_64,
        vulkanMemory ? Spirv.VULKAN_MODEL : Spirv.GLSL_450_MODEL);
  }

  /** Returns a new id. */
  int id() {
    return ids++;
  }

  /** Returns the id of GLSL.std.450. */
  int instructionSet() {
    return instructionSet;
  }

  private Words section(Section section) {
    return sections.computeIfAbsent(section, _ -> new Words());
  }

  void add(Section section, int opcode, int... operands) {
    section(section).instruction(opcode, operands);
  }

  void capability(int capability) {
    if (stated.add(capability)) {
      add(Section.CAPABILITIES, Spirv.CAPABILITY, capability);
    }
  }

  void extension(String name) {
    add(Section.EXTENSIONS, Spirv.EXTENSION, text(name));
  }

  /** Returns the operands of an access to shared memory. */
  int[] shared() {
    return vulkanMemory ? new int[] {Spirv.NON_PRIVATE} : new int[0];
  }

  /** Returns the operands of an access to device memory, whose address has an alignment. */
  int[] aligned(int bytes) {
    return new int[] {vulkanMemory ? Spirv.ALIGNED | Spirv.NON_PRIVATE : Spirv.ALIGNED, bytes};
  }

  /** Returns the semantics of barriers that order accesses to device memory and shared memory. */
  int ordered() {
    return word(vulkanMemory ? Spirv.ORDERED | Spirv.AVAILABLE_AND_VISIBLE : Spirv.ORDERED);
  }

  /** Returns whether the module has stated a capability. */
  boolean has(int capability) {
    return stated.contains(capability);
  }

  /** Keeps subnormal f32, which devices may otherwise flush to zero. */
  void keepSubnormals() {
    keepsSubnormals = true;
  }

  void decorate(int id, int... decoration) {
    add(Section.DECORATIONS, Spirv.DECORATE, prepend(id, decoration));
  }

  void decorateMember(int id, int member, int... decoration) {
    add(Section.DECORATIONS, Spirv.MEMBER_DECORATE, prepend(id, prepend(member, decoration)));
  }

  /** Returns the id of a type; declares it at its first use. */
  int type(int opcode, int... operands) {
    return declare(opcode, operands, 0);
  }

  /** Returns the id of a constant; declares it at its first use. */
  int constant(int opcode, int type, int... words) {
    return declare(opcode, prepend(type, words), 1);
  }

  int scalar(Scalar type) {
    return switch (type) {
      case BOOL -> type(Spirv.TYPE_BOOL);
      case U32 -> integer(32);
      case U64 -> integer(64);
      case F16 -> {
        capability(Spirv.FLOAT16);
        yield type(Spirv.TYPE_FLOAT, 16);
      }
      case F32 -> type(Spirv.TYPE_FLOAT, 32);
      case F64 -> {
        capability(Spirv.FLOAT64);
        yield type(Spirv.TYPE_FLOAT, 64);
      }
    };
  }

  /** Returns the type of unsigned integers of a width. */
  int integer(int width) {
    return type(Spirv.TYPE_INT, width, 0);
  }

  int vector(int element, int length) {
    return length == 1 ? element : type(Spirv.TYPE_VECTOR, element, length);
  }

  int pointer(int storage, int type) {
    return type(Spirv.TYPE_POINTER, storage, type);
  }

  int word(int value) {
    return constant(Spirv.CONSTANT, integer(32), value);
  }

  /** Declares a variable of the module. */
  int global(int storage, int type) {
    int id = id();
    global(id, storage, type);
    return id;
  }

  /** Declares a variable with an id that the function has used already. */
  void global(int id, int storage, int type, int... initializer) {
    add(
        Section.GLOBALS,
        Spirv.VARIABLE,
        join(new int[] {pointer(storage, type), id, storage}, initializer));
    globals.add(id);
  }

  /** Declares a variable of the function. */
  int local(int type) {
    int id = id();
    add(
        Section.LOCALS,
        Spirv.VARIABLE,
        pointer(Spirv.PER_INVOCATION, type),
        id,
        Spirv.PER_INVOCATION);
    return id;
  }

  private int declare(int opcode, int[] operands, int before) {
    var key = new ArrayList<>(List.of(opcode));
    IntStream.of(operands).forEach(key::add);
    var known = declared.get(key);
    if (known != null) {
      return known;
    }
    int id = id();
    var words = new int[operands.length + 1];
    System.arraycopy(operands, 0, words, 0, before);
    words[before] = id;
    System.arraycopy(operands, before, words, before + 1, operands.length - before);
    add(Section.GLOBALS, opcode, words);
    declared.put(key, id);
    return id;
  }

  /** Returns the module with an entry point of a block's shape. */
  ByteBuffer finish(int x, int y, int z) {
    int main = id();
    int entry = id();
    int nothing = type(Spirv.TYPE_VOID);
    int signature = type(Spirv.TYPE_FUNCTION, nothing);
    var point = new ArrayList<Integer>();
    IntStream.of(text("main", 5, main)).forEach(point::add); // GLCompute
    point.addAll(globals);
    add(
        Section.ENTRY_POINTS,
        Spirv.ENTRY_POINT,
        point.stream().mapToInt(Integer::intValue).toArray());
    add(Section.MODES, Spirv.EXECUTION_MODE, main, Spirv.LOCAL_SIZE, x, y, z);
    capability(Spirv.SIGNED_ZERO_INF_NAN_PRESERVE);
    add(Section.MODES, Spirv.EXECUTION_MODE, main, Spirv.PRESERVE_MODE, 32);
    if (stated.contains(Spirv.FLOAT64)) {
      add(Section.MODES, Spirv.EXECUTION_MODE, main, Spirv.PRESERVE_MODE, 64);
    }
    if (keepsSubnormals) {
      capability(Spirv.DENORM_PRESERVE);
      add(Section.MODES, Spirv.EXECUTION_MODE, main, Spirv.DENORM_PRESERVE_MODE, 32);
    }
    var all = new Words();
    all.append(Spirv.MAGIC);
    all.append(Spirv.VERSION_1_6);
    all.append(0); // no registered generator
    all.append(ids);
    all.append(0);
    for (var section : Section.values()) {
      if (section == Section.LOCALS) {
        all.instruction(Spirv.FUNCTION, nothing, main, 0, signature);
        all.instruction(Spirv.LABEL, entry);
      }
      all.appendAll(section(section));
    }
    all.instruction(Spirv.RETURN);
    all.instruction(Spirv.FUNCTION_END);
    var words = all.toArray();
    var code = ByteBuffer.allocateDirect(4 * words.length).order(ByteOrder.nativeOrder());
    code.asIntBuffer().put(words);
    return code;
  }

  private static int[] prepend(int first, int... rest) {
    return join(new int[] {first}, rest);
  }

  static int[] join(int[] first, int... rest) {
    return IntStream.concat(IntStream.of(first), IntStream.of(rest)).toArray();
  }

  /** Returns operands that end with a text: UTF-8 with at least one zero byte after it. */
  private static int[] text(String text, int... before) {
    var bytes = text.getBytes(StandardCharsets.UTF_8);
    var words = new int[before.length + bytes.length / 4 + 1];
    System.arraycopy(before, 0, words, 0, before.length);
    for (int i = 0; i < bytes.length; i++) {
      words[before.length + i / 4] |= bytes[i] << (8 * (i % 4));
    }
    return words;
  }
}
