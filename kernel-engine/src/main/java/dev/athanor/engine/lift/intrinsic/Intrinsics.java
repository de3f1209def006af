package dev.athanor.engine.lift.intrinsic;

import static dev.athanor.engine.lift.ir.Effect.CONVERGENT;
import static dev.athanor.engine.lift.ir.Effect.NONE;
import static dev.athanor.engine.lift.ir.Effect.WRITE;

import dev.athanor.engine.lift.ir.Effect;
import dev.athanor.engine.lift.ir.Element;
import dev.athanor.engine.lift.ir.Intrinsic;
import dev.athanor.engine.lift.ir.Op;
import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.SpecialRegister;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * The table of Java methods that have a meaning of their own on the device: those of {@code Gpu},
 * of {@link Math} and of the number classes. A row gives the class, the name, the types (in
 * descriptors, {@code *} for all) and the meaning. All other static methods are inlined.
 */
public final class Intrinsics {

  /** Internal name of the class whose methods replace those of {@link Math}. */
  public static final String LIBRARY = "dev/athanor/engine/lift/library/KernelMath";

  private static final String GPU = "dev/athanor/engine/lift/Gpu";
  private static final String GRID_LOOPS = "dev/athanor/engine/lift/GridLoops";
  private static final String FLOAT_ATOMICS = "dev/athanor/engine/lift/FloatAtomics";
  private static final Map<String, Meaning> TABLE = new HashMap<>();

  private Intrinsics() {}

  /** Returns whether a class, by its internal name, implements intrinsics in Java. */
  public static boolean isImplementation(String owner) {
    return owner.matches(
        "dev/athanor/engine/lift/(library/.*|Gpu|WarpMatrix|(Block|Warp)Reductions|GridLoops|FloatAtomics)");
  }

  /** Returns the meaning of a static method; null if it has none of its own. */
  public static @Nullable Meaning find(String owner, String name, String descriptor) {
    var simple = lookedUp(owner);
    var exact = TABLE.get(simple + "." + name + descriptor);
    return exact == null ? TABLE.get(simple + "." + name) : exact;
  }

  private static String lookedUp(String owner) {
    return owner.equals("java/lang/StrictMath") ? "java/lang/Math" : owner;
  }

  /** Returns the names of the static methods of a class that have a meaning, sorted. */
  public static List<String> names(String owner) {
    var start = lookedUp(owner) + ".";
    return TABLE.keySet().stream()
        .filter(key -> key.startsWith(start))
        .map(key -> key.substring(start.length()).replaceFirst("\\(.*", ""))
        .distinct()
        .sorted()
        .toList();
  }

  private static void gpu(String name, Meaning meaning) {
    TABLE.put(GPU + "." + name, meaning);
  }

  private static void java(String type, String name, Meaning meaning) {
    TABLE.put("java/lang/" + type + "." + name, meaning);
  }

  private static Meaning emits(String name, Effect effect, Intrinsic.Lowering lowering) {
    return new Meaning.OfInstructions(new Intrinsic(name, effect, lowering));
  }

  private static Meaning divides(String opcode) {
    return new Meaning.OfDivision(new Intrinsic(opcode, NONE, onArguments(opcode)));
  }

  /** Returns one instruction on the arguments. */
  private static Meaning one(String opcode) {
    return emits(opcode, NONE, onArguments(opcode));
  }

  private static Intrinsic.Lowering onArguments(String opcode) {
    return (out, d, a) -> {
      var operands = new Operand[a.size() + 1];
      operands[0] = d;
      for (int i = 0; i < a.size(); i++) {
        operands[i + 1] = a.get(i);
      }
      out.emit(opcode, operands);
    };
  }

  static {
    registers();
    memory();
    warps();
    approximations();
    math();
    numbers();
  }

  private static void registers() {
    for (var axis : new String[] {"X", "Y", "Z"}) {
      gpu("threadIdx" + axis, register("TID_" + axis));
      gpu("blockIdx" + axis, register("CTAID_" + axis));
      gpu("blockDim" + axis, register("NTID_" + axis));
      gpu("gridDim" + axis, register("NCTAID_" + axis));
    }
    gpu("laneId", register("LANEID"));
    gpu("warpId", new Meaning.OfLibrary(LIBRARY));
  }

  private static Meaning register(String name) {
    return new Meaning.OfRegister(SpecialRegister.valueOf(name));
  }

  private static void memory() {
    for (var element : Element.values()) {
      var word = element.word();
      var plural = word.substring(0, 1).toUpperCase(Locale.ROOT) + word.substring(1) + "s";
      gpu("shared" + plural, new Meaning.OfShared(element));
      gpu("dynamicShared" + plural, new Meaning.OfDynamicShared(element));
    }
    for (var name : Arrays.asList("Add", "Min", "Max", "And", "Or", "Xor")) {
      gpu("atomic" + name, new Meaning.OfAtomic(name.toLowerCase(Locale.ROOT)));
    }
    for (var type : Arrays.asList("F", "D")) {
      var signature = "([%sI%s)%s".formatted(type, type, type);
      gpu("atomicMin" + signature, new Meaning.OfLibrary(FLOAT_ATOMICS));
      gpu("atomicMax" + signature, new Meaning.OfLibrary(FLOAT_ATOMICS));
    }
    gpu("atomicIncrement", new Meaning.OfAtomic("inc"));
    gpu("atomicDecrement", new Meaning.OfAtomic("dec"));
    gpu("atomicExchange", new Meaning.OfAtomic("exch"));
    gpu("atomicCompareAndSet", new Meaning.OfAtomic("cas"));
    for (var order : Arrays.asList("Relaxed", "Acquire")) {
      gpu("load" + order, new Meaning.OfAtomic("ld." + order.toLowerCase(Locale.ROOT)));
    }
    for (var order : Arrays.asList("Relaxed", "Release")) {
      gpu("store" + order, new Meaning.OfAtomic("st." + order.toLowerCase(Locale.ROOT)));
    }
    gpu("barrier", emits("barrier", WRITE, WarpLowerings::barrier));
    gpu("gridBarrier", new Meaning.OfLibrary(GRID_LOOPS));
    TABLE.put(
        GRID_LOOPS + ".gridWorkspace",
        new Meaning.OfGridWorkspace(
            new Intrinsic("gridWorkspace", NONE, WarpLowerings::gridWorkspace)));
    gpu("warpBarrier", emits("warpBarrier", WRITE, WarpLowerings::warpBarrier));
    gpu("awaitPreviousGrid", emits("awaitPreviousGrid", WRITE, WarpLowerings::awaitPreviousGrid));
    gpu("launchDependents", emits("launchDependents", WRITE, WarpLowerings::launchDependents));
    gpu("print", new Meaning.OfPrint());
    gpu("memoryFence", emits("memoryFence", WRITE, (out, _, _) -> out.emit("fence.acq_rel.gpu")));
  }

  private static void warps() {
    shuffle("shuffle", "idx");
    shuffle("shuffleXor", "bfly");
    shuffle("shuffleUp", "up");
    shuffle("shuffleDown", "down");
    gpu("ballot", emits("ballot", CONVERGENT, WarpLowerings.vote("ballot.b32")));
    gpu("any", emits("any", CONVERGENT, WarpLowerings.vote("any.pred")));
    gpu("all", emits("all", CONVERGENT, WarpLowerings.vote("all.pred")));
  }

  private static void shuffle(String name, String mode) {
    gpu(name, emits(name, CONVERGENT, WarpLowerings.shuffle(mode)));
  }

  private static void approximations() {
    gpu("fastExp", emits("fastExp", NONE, Approximations::exp));
    gpu("fastLog", emits("fastLog", NONE, Approximations::log));
    gpu("fastSin", one("sin.approx.f32"));
    gpu("fastCos", one("cos.approx.f32"));
    gpu("fastTanh", one("tanh.approx.f32"));
    gpu("rsqrt", one("rsqrt.approx.f32"));
    gpu("fastDivide", one("div.approx.f32"));
  }

  private static void math() {
    for (var op : new Op[] {Op.ABS, Op.MIN, Op.MAX, Op.FMA, Op.SQRT, Op.FLOOR, Op.CEIL, Op.RINT}) {
      java("Math", op.name().toLowerCase(Locale.ROOT), new Meaning.OfOp(op));
    }
    for (var name : Arrays.asList("floorMod", "floorDiv", "signum", "round")) {
      java("Math", name, new Meaning.OfLibrary(LIBRARY));
    }
    java("Math", "clamp", new Meaning.OfClamp(new Meaning.OfLibrary(LIBRARY)));
    functions("Exponentials", "exp", "expm1", "log", "log10", "log1p", "tanh", "pow");
    functions("Trigonometry", "sin", "cos", "tan");
    functions("InverseTrigonometry", "asin", "acos", "atan", "atan2");
    functions("Roots", "cbrt", "hypot");
    functions("KernelMath", "toRadians", "toDegrees", "copySign");
    java("Math", "multiplyHigh(JJ)J", one("mul.hi.s64"));
    java("Math", "unsignedMultiplyHigh(JJ)J", one("mul.hi.u64"));
    for (var type : Arrays.asList("Integer", "Long", "Float", "Double")) {
      java(type, "sum", new Meaning.OfOp(Op.ADD));
      java(type, "min", new Meaning.OfOp(Op.MIN));
      java(type, "max", new Meaning.OfOp(Op.MAX));
    }
    for (var op : new Op[] {Op.AND, Op.OR, Op.XOR}) {
      var name = op.name();
      java(
          "Boolean",
          "logical" + name.charAt(0) + name.substring(1).toLowerCase(Locale.ROOT),
          new Meaning.OfOp(op));
    }
  }

  private static void numbers() {
    java("Float", "floatToRawIntBits", new Meaning.OfBits());
    java("Float", "intBitsToFloat", new Meaning.OfBits());
    java("Double", "doubleToRawLongBits", new Meaning.OfBits());
    java("Double", "longBitsToDouble", new Meaning.OfBits());
    java("Float", "float16ToFloat", emits("float16ToFloat", NONE, Approximations::fromHalf));
    java("Float", "floatToFloat16", emits("floatToFloat16", NONE, Approximations::toHalf));
    gpu("bfloat16ToFloat", emits("bfloat16ToFloat", NONE, Approximations::fromBfloat16));
    gpu("floatToBfloat16", emits("floatToBfloat16", NONE, Approximations::toBfloat16));
    integers("Integer", "32");
    integers("Long", "64");
    for (var type : Arrays.asList("Integer", "Long")) {
      library(
          type, "compareUnsigned", "numberOfTrailingZeros", "rotateLeft", "rotateRight", "signum");
    }
    for (var type : Arrays.asList("Short", "Byte")) {
      library(type, "toUnsignedInt", "toUnsignedLong");
    }
    for (var type : Arrays.asList("Float", "Double")) {
      library(type, "isFinite", "isInfinite", "isNaN");
    }
    for (var type : Arrays.asList("Integer", "Long", "Short", "Byte", "Float", "Double")) {
      library(type, "compare");
    }
    library("Integer", "toUnsignedLong");
    library("Float", "floatToIntBits");
    library("Double", "doubleToLongBits");
  }

  /** Adds methods of Math that a class of the library implements, for floats also. */
  private static void functions(String owner, String... names) {
    for (var name : names) {
      java("Math", name, new Meaning.OfLibrary("dev/athanor/engine/lift/library/" + owner));
    }
  }

  private static void library(String type, String... names) {
    for (var name : names) {
      java(type, name, new Meaning.OfLibrary(LIBRARY));
    }
  }

  private static void integers(String type, String bits) {
    java(type, "bitCount", one("popc.b" + bits));
    java(type, "numberOfLeadingZeros", one("clz.b" + bits));
    java(type, "reverse", one("brev.b" + bits));
    java(type, "divideUnsigned", divides("div.u" + bits));
    java(type, "remainderUnsigned", divides("rem.u" + bits));
  }
}
