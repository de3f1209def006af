package dev.athanor.vulkan.spirv;

import dev.athanor.engine.device.Dim3;
import dev.athanor.engine.ptx.Kernel;
import dev.athanor.engine.ptx.Literals;
import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.SpecialRegister;
import dev.athanor.engine.ptx.Type;
import dev.athanor.engine.ptx.Warps;
import dev.athanor.vulkan.flow.UnsupportedKernelException;
import java.util.HashMap;
import java.util.Map;

/** The registers, special registers and literals of a kernel, as values of the shader. */
final class Frame {

  final Kernel kernel;
  final Dim3 block;
  final ShaderFeatures features;
  final Code code;

  /** Whether a warp is a subgroup. */
  final boolean subgroups;

  // members of the push constants
  private static final int PARAMETERS = 0;
  private static final int BLOCKS = 1;
  private static final int FIRST_BLOCK = 2;

  private final int pushConstants;
  private final int zero;
  private final int dynamicBytes;
  private final Constants constants;
  private final Map<Register, Integer> variables = new HashMap<>();
  private final Map<Integer, Integer> inputs = new HashMap<>();

  Frame(
      Kernel kernel,
      Dim3 block,
      int dynamicBytes,
      ShaderFeatures features,
      boolean subgroups,
      Code code) {
    this.kernel = kernel;
    this.constants = Constants.of(kernel.constants());
    this.block = block;
    this.dynamicBytes = dynamicBytes;
    this.features = features;
    this.subgroups = subgroups;
    this.code = code;
    this.pushConstants = pushConstants(code.module);
    zero = code.module.local(code.module.scalar(Scalar.U64));
    if (!features.fusedMultiplyAdd()) {
      code.store(zero, code.and(parameters(), 1)); // the address is even
    }
  }

  Constants constants() {
    return constants;
  }

  int threads() {
    return Math.toIntExact(block.count());
  }

  // registers

  /** Returns the type of a register's variable. Registers of 16 bits have one of 32 bits. */
  private static Scalar scalar(Register register) {
    return switch (register.registerClass()) {
      case PRED -> Scalar.BOOL;
      case B16, B32, F32 -> Scalar.U32;
      case B64, F64 -> Scalar.U64;
    };
  }

  private int variable(Register register) {
    return variables.computeIfAbsent(
        register, r -> code.module.local(code.module.scalar(scalar(r))));
  }

  Value load(Register register) {
    return code.load(variable(register), scalar(register));
  }

  /**
   * Returns the bits of an operand of a type: 64 bits for types of 64, else 32, to which narrower
   * integers are extended.
   */
  Value bits(Operand operand, Type type) {
    return switch (operand) {
      case Register register -> fit(load(register), type);
      case Operand.Negation negation -> code.not(load(negation.register()));
      case Operand.Immediate literal -> {
        long bits = Literals.convert(type, literal).bits();
        yield type == Type.PRED
            ? code.bool(bits != 0)
            : code.constant(type.bits() == 64 ? Scalar.U64 : Scalar.U32, bits);
      }
      case Operand.Symbol symbol -> fit(address(symbol), type);
      case Operand.Element element -> fit(address(element.address()), type);
      case SpecialRegister special -> fit(special(special), type);
      default -> throw new UnsupportedKernelException("it reads the operand " + operand);
    };
  }

  private Value fit(Value value, Type type) {
    if (type == Type.PRED) {
      return value;
    }
    var sized = code.resize(type.bits() == 64 ? Scalar.U64 : Scalar.U32, value);
    return type.bits() < 32 ? code.field(sized, type.bits(), isSigned(type)) : sized;
  }

  static boolean isSigned(Type type) {
    return type.kind() == Type.Kind.SIGNED;
  }

  private Value address(Operand.Symbol symbol) {
    var offset = kernel.sharedOffsets().get(symbol.name());
    if (offset == null) {
      offset = kernel.localOffsets().get(symbol.name());
    }
    if (offset == null) {
      offset = constants.offsets().get(symbol.name());
    }
    if (offset == null) {
      throw new UnsupportedKernelException("it uses the module's variable " + symbol.name());
    }
    return code.constant(Scalar.U64, offset + symbol.offset());
  }

  /**
   * Writes a register.
   *
   * @param value integer or predicate
   * @param type extends the value to a wider register
   */
  void store(Operand result, Value value, Type type) {
    if (result instanceof Register register) {
      var target = scalar(register);
      code.store(
          variable(register),
          target == Scalar.U64 && isSigned(type)
              ? code.extend(target, value)
              : code.resize(target, value));
    }
  }

  // push constants

  /** Returns the address of the kernel's arguments. */
  Value parameters() {
    return pushed(PARAMETERS, Scalar.U64);
  }

  private Value pushed(int member, Scalar type) {
    int scalar = code.module.scalar(type);
    return code.load(
        code.result(
            Spirv.ACCESS_CHAIN,
            code.module.pointer(Spirv.PUSH_CONSTANT, scalar),
            pushConstants,
            code.module.word(member)),
        type);
  }

  private static int pushConstants(SpirvModule module) {
    int words = module.integer(32);
    int members = module.type(Spirv.TYPE_STRUCT, module.integer(64), words, words);
    module.decorate(members, Spirv.BLOCK);
    int[] offsets = {Shader.PARAMETERS, Shader.BLOCKS, Shader.FIRST_BLOCK};
    for (int i = 0; i < offsets.length; i++) {
      module.decorateMember(members, i, Spirv.OFFSET, offsets[i]);
    }
    return module.global(Spirv.PUSH_CONSTANT, members);
  }

  /**
   * Returns bits of a number about which the driver's compiler knows nothing, if it is for the CPU.
   * Mesa's takes x + 0 for x, 0 · x and x - x for 0, and has no quotient with a constant 0, which
   * is wrong for -0, infinities and NaN.
   */
  Value hide(Value bits) {
    return features.fusedMultiplyAdd()
        ? bits
        : code.or(bits, code.resize(bits.type(), code.load(zero, Scalar.U64)));
  }

  // special registers

  Value special(SpecialRegister register) {
    return switch (register) {
      case TID_X -> thread(0);
      case TID_Y -> thread(1);
      case TID_Z -> thread(2);
      case NTID_X -> code.u32(block.x());
      case NTID_Y -> code.u32(block.y());
      case NTID_Z -> code.u32(block.z());
      case CTAID_X -> code.add(component(Spirv.WORKGROUP_ID, 0), pushed(FIRST_BLOCK, Scalar.U32));
      case CTAID_Y -> component(Spirv.WORKGROUP_ID, 1);
      case CTAID_Z -> component(Spirv.WORKGROUP_ID, 2);
      case NCTAID_X -> pushed(BLOCKS, Scalar.U32);
      case NCTAID_Y -> component(Spirv.NUM_WORKGROUPS, 1);
      case NCTAID_Z -> component(Spirv.NUM_WORKGROUPS, 2);
      case LANEID -> lane();
      case WARPID -> code.shr(linear(), 5);
      case NWARPID -> code.u32((threads() + Warps.SIZE - 1) / Warps.SIZE);
      case LANEMASK_EQ -> code.shl(code.u32(1), lane());
      case LANEMASK_LT -> code.not(code.shl(code.u32(-1), lane()));
      case LANEMASK_LE -> code.not(code.shl(code.u32(-2), lane()));
      case LANEMASK_GE -> code.shl(code.u32(-1), lane());
      case LANEMASK_GT -> code.shl(code.u32(-2), lane());
      // any number: kernels use it as one that compilers do not know
      case SMID -> component(Spirv.WORKGROUP_ID, 0);
      case DYNAMIC_SMEM_SIZE -> code.u32(dynamicBytes);
      default -> throw new UnsupportedKernelException("it reads " + register);
    };
  }

  /** Returns the number of the thread in its block. */
  Value linear() {
    if (subgroups) {
      return code.add(
          code.shl(input(Spirv.SUBGROUP_ID), 5), input(Spirv.SUBGROUP_LOCAL_INVOCATION_ID));
    }
    var number = component(Spirv.LOCAL_INVOCATION_ID, 0);
    if (block.y() > 1) {
      var row = component(Spirv.LOCAL_INVOCATION_ID, 1);
      number = code.add(number, code.mul(row, code.u32(block.x())));
    }
    if (block.z() > 1) {
      var plane = component(Spirv.LOCAL_INVOCATION_ID, 2);
      number = code.add(number, code.mul(plane, code.u32(block.x() * block.y())));
    }
    return number;
  }

  Value lane() {
    return subgroups
        ? input(Spirv.SUBGROUP_LOCAL_INVOCATION_ID)
        : code.and(linear(), Warps.SIZE - 1);
  }

  /** Returns the thread's index; Vulkan does not promise the one of its lane in a subgroup. */
  private Value thread(int dimension) {
    int[] sizes = {block.x(), block.y(), block.z()};
    if (sizes[dimension] == 1) {
      return code.u32(0);
    }
    if (!subgroups) {
      return component(Spirv.LOCAL_INVOCATION_ID, dimension);
    }
    var number = linear();
    for (int i = 0; i < dimension; i++) {
      number = code.op(Spirv.U_DIV, Scalar.U32, number, code.u32(sizes[i]));
    }
    return code.op(Spirv.U_MOD, Scalar.U32, number, code.u32(sizes[dimension]));
  }

  private int variable(int builtIn, int type) {
    return inputs.computeIfAbsent(
        builtIn,
        _ -> {
          int id = code.module.global(Spirv.INPUT, type);
          code.module.decorate(id, Spirv.BUILT_IN, builtIn);
          return id;
        });
  }

  private Value input(int builtIn) {
    code.module.capability(Spirv.GROUP_NON_UNIFORM);
    return code.load(variable(builtIn, code.module.integer(32)), Scalar.U32);
  }

  private Value component(int builtIn, int index) {
    int words = code.module.integer(32);
    int type = code.module.vector(words, 3);
    int all = code.result(Spirv.LOAD, type, variable(builtIn, type));
    return new Value(code.result(Spirv.COMPOSITE_EXTRACT, words, all, index), Scalar.U32);
  }
}
