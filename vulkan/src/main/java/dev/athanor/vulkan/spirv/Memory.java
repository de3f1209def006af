package dev.athanor.vulkan.spirv;

import dev.athanor.engine.ptx.Modifier.Space;
import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Operand.Address;
import dev.athanor.engine.ptx.Operand.Symbol;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Type;
import dev.athanor.vulkan.flow.UnsupportedKernelException;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;

/**
 * Loads and stores. Global memory and parameters are accessed by 64-bit addresses; shared and local
 * memory are arrays of words.
 */
final class Memory {

  private static final int WORD = 4;

  /** Alignment in bytes of a matrix of {@code wmma} in memory, as PTX requires at least. */
  private static final int MATRIX_ALIGNMENT = 16;

  private final Frame frame;
  private final Code code;
  private final int words;
  private final int shared;
  private int local;
  private int constants;
  private int globalWords;

  /** The first word of shared memory after the kernel's. */
  private final int scratch;

  /** The size of shared memory. */
  private int sharedBytes;

  /**
   * Creates the memory of a kernel.
   *
   * @param sharedBytes the kernel's shared memory, a multiple of a word
   */
  Memory(Frame frame, int sharedBytes) {
    this.frame = frame;
    this.code = frame.code;
    words = code.module.integer(32);
    scratch = sharedBytes / WORD;
    shared = code.module.id();
    this.sharedBytes = sharedBytes;
  }

  /** Returns the size of the kernel's own shared memory. */
  int kernelBytes() {
    return WORD * scratch;
  }

  /** Declares the shared memory that the function uses, and returns its size. */
  int declareShared() {
    int size = Math.max(1, sharedBytes / WORD);
    code.module.global(shared, Spirv.WORKGROUP, array(size));
    return WORD * size;
  }

  private int array(int size) {
    return code.module.type(Spirv.TYPE_ARRAY, words, code.module.word(size));
  }

  // instructions

  void load(Instruction instruction) {
    var type = instruction.modifiers().type().orElseThrow();
    var results = elements(instruction.operands().getFirst());
    var values = read(instruction, 1, type, results.size());
    for (int i = 0; i < results.size(); i++) {
      frame.store(results.get(i), values.get(i), type);
    }
  }

  void store(Instruction instruction) {
    var type = instruction.modifiers().type().orElseThrow();
    var values = new ArrayList<Value>();
    for (var element : elements(instruction.operands().get(1))) {
      values.add(frame.bits(element, type.bits() < 32 ? unsigned(type) : type));
    }
    int bytes = type.bytes();
    switch (space(instruction, 0)) {
      case GLOBAL ->
          writeGlobal(address(instruction, 0), pack(values, bytes), bytes * values.size());
      case LOCAL -> writeLocal(offset(instruction, 0), values, bytes);
      default -> writeShared(offset(instruction, 0), values, bytes);
    }
  }

  private static Type unsigned(Type type) {
    return type.bits() == 8 ? Type.B8 : Type.B16;
  }

  private static List<Operand> elements(Operand operand) {
    return operand instanceof Operand.Vector(var elements) ? elements : List.of(operand);
  }

  /** Returns elements of memory, extended to 32 or 64 bits. */
  private List<Value> read(Instruction instruction, int operand, Type type, int count) {
    int bytes = type.bytes();
    var space = space(instruction, operand);
    var raw =
        switch (space) {
          case GLOBAL -> readGlobal(address(instruction, operand), count * bytes);
          case PARAM -> readGlobal(parameter(instruction, operand), count * bytes);
          default -> {
            var offset = offset(instruction, operand);
            int all = count * bytes;
            yield switch (space) {
              case LOCAL -> readArray(localArray(), Spirv.PER_INVOCATION, offset, all);
              case CONST -> readArray(constantArray(), Spirv.PRIVATE, offset, all);
              default -> readArray(shared, Spirv.WORKGROUP, offset, all);
            };
          }
        };
    var values = new ArrayList<Value>();
    for (int i = 0; i < count; i++) {
      values.add(
          bytes == 8
              ? code.join(raw.get(2 * i), raw.get(2 * i + 1))
              : bytes == WORD
                  ? raw.get(i)
                  : code.field(
                      code.shr(raw.get(i * bytes / WORD), 8 * (i * bytes % WORD)),
                      8 * bytes,
                      Frame.isSigned(type)));
    }
    return values;
  }

  /** Returns the words of elements. */
  private List<Value> pack(List<Value> values, int bytes) {
    var packed = new ArrayList<Value>();
    for (int i = 0; i < values.size(); i++) {
      var value = values.get(i);
      if (bytes == 8) {
        packed.add(code.low(value));
        packed.add(code.high(value));
      } else if (i * bytes % WORD == 0) {
        packed.add(value);
      } else {
        packed.add(code.or(packed.removeLast(), code.shl(value, 8 * (i * bytes % WORD))));
      }
    }
    return packed;
  }

  // addresses

  /** Returns the state space of an operand. Without one, an address is global. */
  static Space space(Instruction instruction, int operand) {
    var space = instruction.form().operands().get(operand).space(instruction.modifiers());
    return switch (space == null ? Space.GLOBAL : space) {
      case GLOBAL -> Space.GLOBAL;
      case PARAM -> Space.PARAM;
      case LOCAL -> Space.LOCAL;
      case SHARED, SHARED_CTA -> Space.SHARED;
      case CONST -> Space.CONST;
      case SHARED_CLUSTER ->
          throw new UnsupportedKernelException("it accesses the shared memory of clusters");
    };
  }

  private Value address(Instruction instruction, int operand) {
    var address = (Address) instruction.operands().get(operand);
    return code.add(frame.bits(address.base(), Type.U64), address.offset());
  }

  private Value offset(Instruction instruction, int operand) {
    var address = (Address) instruction.operands().get(operand);
    return code.add(frame.bits(address.base(), Type.U32), address.offset());
  }

  private Value parameter(Instruction instruction, int operand) {
    var address = (Address) instruction.operands().get(operand);
    if (!(address.base() instanceof Symbol symbol)
        || !frame.kernel.parameterOffsets().containsKey(symbol.name())) {
      throw new UnsupportedKernelException("it computes the address of a parameter");
    }
    int offset = Objects.requireNonNull(frame.kernel.parameterOffsets().get(symbol.name()));
    return code.add(frame.parameters(), offset + symbol.offset() + address.offset());
  }

  /** Returns a pointer to bytes of global memory. */
  private int global(Value address, int type) {
    return code.result(
        Spirv.CONVERT_U_TO_PTR,
        code.module.pointer(Spirv.PHYSICAL_STORAGE_BUFFER, type),
        address.id());
  }

  private void requireNarrow(int bytes) {
    code.module.capability(bytes == 1 ? Spirv.STORAGE_8 : Spirv.STORAGE_16);
  }

  private List<Value> readGlobal(Value address, int bytes) {
    if (bytes < WORD) {
      requireNarrow(bytes);
      int type = code.module.integer(8 * bytes);
      int narrow = loadGlobal(type, global(address, type), bytes);
      return List.of(new Value(code.result(Spirv.U_CONVERT, words, narrow), Scalar.U32));
    }
    int count = Math.min(bytes / WORD, 4);
    int type = code.module.vector(words, count);
    var values = new ArrayList<Value>();
    for (int at = 0; at < bytes; at += WORD * count) {
      int pointer = global(code.add(address, at), type);
      int all = loadGlobal(type, pointer, WORD * count);
      for (int i = 0; i < count; i++) {
        int word = count == 1 ? all : code.result(Spirv.COMPOSITE_EXTRACT, words, all, i);
        values.add(new Value(word, Scalar.U32));
      }
    }
    return values;
  }

  private int loadGlobal(int type, int pointer, int bytes) {
    return code.result(
        Spirv.LOAD, type, SpirvModule.join(new int[] {pointer}, code.module.aligned(bytes)));
  }

  private void storeGlobal(int pointer, int value, int bytes) {
    code.effect(
        Spirv.STORE, SpirvModule.join(new int[] {pointer, value}, code.module.aligned(bytes)));
  }

  private void writeGlobal(Value address, List<Value> values, int bytes) {
    if (bytes < WORD) {
      requireNarrow(bytes);
      int type = code.module.integer(8 * bytes);
      int narrow = code.result(Spirv.U_CONVERT, type, values.getFirst().id());
      storeGlobal(global(address, type), narrow, bytes);
      return;
    }
    int count = Math.min(values.size(), 4);
    int type = code.module.vector(words, count);
    for (int at = 0; at < values.size(); at += count) {
      var ids = values.subList(at, at + count).stream().mapToInt(Value::id).toArray();
      int all = count == 1 ? ids[0] : code.result(Spirv.COMPOSITE_CONSTRUCT, type, ids);
      int pointer = global(code.add(address, (long) WORD * at), type);
      storeGlobal(pointer, all, WORD * count);
    }
  }

  // shared and local memory

  private int localArray() {
    if (local == 0) {
      local = code.module.local(array(Math.max(1, (frame.kernel.localBytes() + 3) / WORD)));
    }
    return local;
  }

  /** Returns a variable with all constants of the kernel, which no thread writes. */
  private int constantArray() {
    if (constants == 0) {
      var numbers = frame.constants().words().map(code.module::word).toArray();
      int type = array(numbers.length);
      constants = code.module.id();
      code.module.global(
          constants,
          Spirv.PRIVATE,
          type,
          code.module.constant(Spirv.CONSTANT_COMPOSITE, type, numbers));
    }
    return constants;
  }

  private int word(int array, int storage, Value index) {
    return code.result(Spirv.ACCESS_CHAIN, code.module.pointer(storage, words), array, index.id());
  }

  private Value loadWord(int array, int storage, Value index) {
    int pointer = word(array, storage, index);
    return storage == Spirv.WORKGROUP ? code.loadShared(pointer) : code.load(pointer, Scalar.U32);
  }

  private List<Value> readArray(int array, int storage, Value offset, int bytes) {
    var index = code.shr(offset, 2);
    if (bytes < WORD) {
      var all = loadWord(array, storage, index);
      return List.of(code.shr(all, bitOffset(offset)));
    }
    var values = new ArrayList<Value>();
    for (int i = 0; i < bytes / WORD; i++) {
      values.add(loadWord(array, storage, code.add(index, i)));
    }
    return values;
  }

  private Value bitOffset(Value offset) {
    return code.shl(code.and(offset, 3), 3);
  }

  /** Narrower elements than a word share it with other threads, so that each is set atomically. */
  private void writeShared(Value offset, List<Value> values, int bytes) {
    int all = bytes * values.size();
    var index = code.shr(offset, 2);
    if (all >= WORD) {
      var packed = pack(values, bytes);
      for (int i = 0; i < packed.size(); i++) {
        code.storeShared(word(shared, Spirv.WORKGROUP, code.add(index, i)), packed.get(i));
      }
      return;
    }
    int pointer = word(shared, Spirv.WORKGROUP, index);
    var at = bitOffset(offset);
    var mask = code.not(code.shl(code.u32((1 << (8 * all)) - 1), at));
    atomic(Spirv.ATOMIC_AND, pointer, Spirv.WORKGROUP_SCOPE, mask);
    atomic(Spirv.ATOMIC_OR, pointer, Spirv.WORKGROUP_SCOPE, code.shl(joined(values, bytes), at));
  }

  private Value joined(List<Value> values, int bytes) {
    var all = values.getFirst();
    for (int i = 1; i < values.size(); i++) {
      all = code.or(all, code.shl(values.get(i), 8 * bytes * i));
    }
    return all;
  }

  private void writeLocal(Value offset, List<Value> values, int bytes) {
    int all = bytes * values.size();
    var index = code.shr(offset, 2);
    if (all >= WORD) {
      var packed = pack(values, bytes);
      for (int i = 0; i < packed.size(); i++) {
        code.store(word(localArray(), Spirv.PER_INVOCATION, code.add(index, i)), packed.get(i));
      }
      return;
    }
    int pointer = word(localArray(), Spirv.PER_INVOCATION, index);
    var at = bitOffset(offset);
    var kept =
        code.and(
            code.load(pointer, Scalar.U32), code.not(code.shl(code.u32((1 << (8 * all)) - 1), at)));
    code.store(pointer, code.or(kept, code.shl(joined(values, bytes), at)));
  }

  /** Writes an atomic operation on a word and returns the old value. */
  Value atomic(int opcode, int pointer, int scope, Value operand) {
    return new Value(
        code.result(
            opcode,
            code.module.scalar(operand.type()),
            pointer,
            code.module.word(scope),
            code.module.word(0),
            operand.id()),
        operand.type());
  }

  /** Returns a pointer to a word of an atomic instruction's operand. */
  int atomicPointer(Instruction instruction, int operand, Scalar type) {
    return switch (space(instruction, operand)) {
      case GLOBAL -> global(address(instruction, operand), code.module.scalar(type));
      case SHARED -> {
        if (type != Scalar.U32) {
          throw new UnsupportedKernelException(
              "it has %s in shared memory, which is for 32 bits only in Vulkan"
                  .formatted(instruction.opcode()));
        }
        yield word(shared, Spirv.WORKGROUP, code.shr(offset(instruction, operand), 2));
      }
      default ->
          throw new UnsupportedKernelException(
              "it has %s in local memory".formatted(instruction.opcode()));
    };
  }

  // matrices

  /** Returns a pointer to the first word of a matrix, in an array of words. */
  int matrix(Instruction instruction, int operand) {
    return space(instruction, operand) == Space.GLOBAL
        ? code.result(
            Spirv.ACCESS_CHAIN,
            code.module.pointer(Spirv.PHYSICAL_STORAGE_BUFFER, words),
            global(address(instruction, operand), globalWords()),
            code.module.word(0),
            code.module.word(0))
        : word(shared, Spirv.WORKGROUP, code.shr(offset(instruction, operand), 2));
  }

  /** Returns the memory operands of an access to a matrix. */
  int[] matrixAccess(Instruction instruction, int operand) {
    return space(instruction, operand) == Space.GLOBAL
        ? code.module.aligned(MATRIX_ALIGNMENT)
        : code.module.shared();
  }

  /** Returns the type of a structure with an array of words, which has no length. */
  private int globalWords() {
    if (globalWords == 0) {
      int array = code.module.type(Spirv.TYPE_RUNTIME_ARRAY, words);
      code.module.decorate(array, Spirv.ARRAY_STRIDE, WORD);
      globalWords = code.module.type(Spirv.TYPE_STRUCT, array);
      code.module.decorate(globalWords, Spirv.BLOCK);
      code.module.decorateMember(globalWords, 0, Spirv.OFFSET, 0);
    }
    return globalWords;
  }

  /** Returns a pointer to a word of the scratch memory, which has at least a size. */
  int scratch(Value index, int bytes) {
    sharedBytes = Math.max(sharedBytes, WORD * scratch + bytes);
    return word(shared, Spirv.WORKGROUP, code.add(index, scratch));
  }
}
