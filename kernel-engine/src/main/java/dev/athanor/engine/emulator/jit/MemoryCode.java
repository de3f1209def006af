package dev.athanor.engine.emulator.jit;

import static java.lang.constant.ConstantDescs.CD_Integer;
import static java.lang.constant.ConstantDescs.CD_int;
import static java.lang.constant.ConstantDescs.CD_long;
import static java.lang.constant.ConstantDescs.CD_void;

import dev.athanor.engine.emulator.lanes.LaneCode;
import dev.athanor.engine.emulator.lanes.LaneCode.Local;
import dev.athanor.engine.emulator.memory.RegisterStorage;
import dev.athanor.engine.emulator.program.Binder;
import dev.athanor.engine.emulator.step.Addresses;
import dev.athanor.engine.ptx.Modifier.Space;
import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Type;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.TypeKind;
import java.lang.constant.ClassDesc;
import java.lang.constant.MethodTypeDesc;
import org.jspecify.annotations.Nullable;

/**
 * Emits loads and stores. The code checks the address once for all elements of a vector and leaves
 * the segment by a {@link Bailout} if the access is undefined.
 */
final class MemoryCode {

  private static final ClassDesc SITE = MemorySite.class.describeConstable().orElseThrow();
  private static final ClassDesc SHARED = SharedWords.class.describeConstable().orElseThrow();
  private static final ClassDesc INTS = CD_int.arrayType();

  private final CompiledMembers members;
  private final SegmentRegisters registers;
  private final CodeBuilder code;
  private final LaneCode laneCode;
  private final int words;

  /**
   * @param words the local variable with the words of shared memory
   */
  MemoryCode(
      CompiledMembers members,
      SegmentRegisters registers,
      CodeBuilder code,
      LaneCode laneCode,
      int words) {
    this.members = members;
    this.registers = registers;
    this.code = code;
    this.laneCode = laneCode;
    this.words = words;
  }

  void load(int pc, Instruction instruction) {
    var type = type(instruction);
    var elements = Binder.spread(instruction.operands().get(0)).toList();
    var address =
        check(pc, instruction, (Operand.Address) instruction.operands().get(1), elements.size());
    // from the end: if the last is in bounds all are, and no access is done by half
    for (int i = elements.size() - 1; i >= 0; i--) {
      var register = registers.local((Register) elements.get(i));
      address.load(type, i * type.bytes());
      convertLoaded(type, register.carrier());
      laneCode.store(register);
    }
  }

  void store(int pc, Instruction instruction) {
    var type = type(instruction);
    var elements = Binder.spread(instruction.operands().get(1)).toList();
    var address =
        check(pc, instruction, (Operand.Address) instruction.operands().get(0), elements.size());
    // from the end, as in a load
    for (int i = elements.size() - 1; i >= 0; i--) {
      var element = elements.get(i);
      address.store(type, i * type.bytes(), () -> registers.push(element, type, bitsCarrier(type)));
    }
  }

  /** Loads a parameter into a new local variable. */
  Local loadParameter(int pc, Instruction instruction) {
    var type = type(instruction);
    var register = registers.local((Register) instruction.operands().getFirst());
    new SiteAddress(
            pc,
            Addresses.space(instruction),
            (Operand.Address) instruction.operands().get(1),
            type.bytes())
        .load(type, 0);
    convertLoaded(type, register.carrier());
    var parameter = laneCode.allocate(register.carrier());
    laneCode.store(parameter);
    return parameter;
  }

  private static Type type(Instruction instruction) {
    return instruction.modifiers().type().orElseThrow();
  }

  /** Converts bits from memory to the value of a register; extends a sign to 16 bits only. */
  private void convertLoaded(Type type, Class<?> carrier) {
    if (type.bits() == 8 && type.kind() == Type.Kind.SIGNED) {
      code.i2b().loadConstant(0xFFFF).iand();
    }
    laneCode.convert(bitsCarrier(type), carrier);
  }

  private static Class<?> bitsCarrier(Type type) {
    return type.bits() == 64 ? long.class : int.class;
  }

  private static ClassDesc bitsType(Type type) {
    return type.bits() == 64 ? CD_long : CD_int;
  }

  private CheckedAddress check(int pc, Instruction instruction, Operand.Address at, int elements) {
    var type = type(instruction);
    int bytes = type.bytes() * elements;
    var space = Addresses.space(instruction);
    if (space != Space.SHARED && space != Space.SHARED_CTA) {
      return new SiteAddress(pc, space, at, bytes);
    }
    if (type.bits() == 32
        && at.base() instanceof Register register
        && isIndexable(register, at.offset(), bytes)) {
      return new WordAddress(register, at.offset(), bytes);
    }
    return new SharedAddress(at, bytes);
  }

  /** Whether a register has 32 bits and an offset keeps its alignment. */
  private static boolean isIndexable(Register register, long offset, int bytes) {
    return isNarrow(register) && offset % bytes == 0 && Math.abs(offset) < 1 << 28;
  }

  private static boolean isNarrow(Operand base) {
    return base instanceof Register register
        && RegisterStorage.of(register.registerClass()) == RegisterStorage.INT;
  }

  /** Pushes an address as a long. */
  private void pushAddress(Operand.Address at) {
    boolean narrow = isNarrow(at.base());
    registers.push(at.base(), narrow ? Type.U32 : Type.U64, narrow ? int.class : long.class);
    if (narrow) {
      code.i2l().loadConstant(0xFFFF_FFFFL).land();
    }
    if (at.offset() != 0) {
      code.loadConstant(at.offset()).ladd();
    }
  }

  /** An address that the emitted code has checked for all elements of an access. */
  private interface CheckedAddress {
    /** Pushes the bits of an element at a distance in bytes. */
    void load(Type type, int distance);

    /** Stores the bits that {@code bits} pushes. */
    void store(Type type, int distance, Runnable bits);
  }

  /** An address in any state space, which a {@link MemorySite} looks up. */
  private final class SiteAddress implements CheckedAddress {
    private final int pc;
    private final @Nullable Space space;
    private final int bytes;
    private final int offset = code.allocateLocal(TypeKind.LONG);

    SiteAddress(int pc, @Nullable Space space, Operand.Address at, int bytes) {
      this.pc = pc;
      this.space = space;
      this.bytes = bytes;
      members.site(code, pc, space, bytes);
      pushAddress(at);
      laneCode.loadIndex();
      code.invokevirtual(SITE, "offset", MethodTypeDesc.of(CD_long, CD_long, CD_int));
      code.lstore(offset);
    }

    private void push(int distance) {
      members.site(code, pc, space, bytes);
      code.lload(offset);
      if (distance > 0) {
        code.loadConstant((long) distance).ladd();
      }
    }

    @Override
    public void load(Type type, int distance) {
      push(distance);
      code.invokevirtual(SITE, "load" + type.bits(), MethodTypeDesc.of(bitsType(type), CD_long));
    }

    @Override
    public void store(Type type, int distance, Runnable bits) {
      push(distance);
      bits.run();
      code.invokevirtual(
          SITE, "store" + type.bits(), MethodTypeDesc.of(CD_void, CD_long, bitsType(type)));
    }
  }

  /** An address in shared memory. */
  private final class SharedAddress implements CheckedAddress {
    private final int address = code.allocateLocal(TypeKind.INT);

    SharedAddress(Operand.Address at, int bytes) {
      pushAddress(at);
      code.loadConstant(bytes);
      code.invokestatic(SHARED, "address", MethodTypeDesc.of(CD_int, CD_long, CD_int));
      code.istore(address);
    }

    private void push(int distance) {
      code.aload(words).iload(address);
      if (distance > 0) {
        code.loadConstant(distance).iadd();
      }
    }

    @Override
    public void load(Type type, int distance) {
      push(distance);
      code.invokestatic(
          SHARED, "load" + type.bits(), MethodTypeDesc.of(bitsType(type), INTS, CD_int));
    }

    @Override
    public void store(Type type, int distance, Runnable bits) {
      push(distance);
      bits.run();
      code.invokestatic(
          SHARED, "store" + type.bits(), MethodTypeDesc.of(CD_void, INTS, CD_int, bitsType(type)));
    }
  }

  /** An address of words in shared memory; the array's own bounds check is sufficient. */
  private final class WordAddress implements CheckedAddress {
    private final int base = code.allocateLocal(TypeKind.INT);
    private final long offset;
    private final boolean single;

    WordAddress(Register register, long offset, int bytes) {
      this.offset = offset;
      this.single = bytes == Integer.BYTES && offset == 0;
      // a copy, as the load may write the register
      laneCode.load(registers.local(register));
      code.istore(base);
      if (!single) {
        code.iload(base).loadConstant(bytes);
        code.invokestatic(SHARED, "align", MethodTypeDesc.of(CD_void, CD_int, CD_int));
      }
    }

    private void push(int distance) {
      code.aload(words).iload(base).iconst_2();
      if (single) {
        // moves the low bits to the top, so that a misaligned address is out of bounds too
        code.invokestatic(CD_Integer, "rotateRight", MethodTypeDesc.of(CD_int, CD_int, CD_int));
      } else {
        code.iushr();
      }
      int index = (int) ((offset + distance) / Integer.BYTES);
      if (index != 0) {
        code.loadConstant(index).iadd();
      }
    }

    @Override
    public void load(Type type, int distance) {
      push(distance);
      code.iaload();
    }

    @Override
    public void store(Type type, int distance, Runnable bits) {
      push(distance);
      bits.run();
      code.iastore();
    }
  }
}
