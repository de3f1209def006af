package dev.athanor.engine.emulator.lanes;

import static java.lang.constant.ConstantDescs.CD_Object;
import static java.lang.constant.ConstantDescs.CD_int;
import static java.lang.constant.ConstantDescs.CD_void;

import dev.athanor.engine.emulator.memory.RegisterStorage;
import dev.athanor.engine.ptx.InstructionForm;
import dev.athanor.engine.ptx.Modifiers;
import dev.athanor.engine.ptx.meaning.LaneMeaning;
import java.lang.classfile.ClassFile;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.Label;
import java.lang.classfile.TypeKind;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDescs;
import java.lang.constant.DynamicConstantDesc;
import java.lang.constant.MethodTypeDesc;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodHandles.Lookup;
import java.lang.invoke.MethodType;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ConcurrentHashMap;

/**
 * Makes the {@link LaneLoop} of an instruction: one hidden class for a spelling and the ways its
 * registers are kept. Its loops call the row's lane functions as constants, so that the JIT inlines
 * and vectorises them. Every lane reads all its sources before it writes a result, hence a register
 * may be both.
 */
public final class LaneLoops {

  /** How an operand is kept; a scalar is one value for all lanes. */
  public record Place(RegisterStorage storage, boolean scalar) {
    ClassDesc field() {
      var element = storage == RegisterStorage.MASK && !scalar ? int.class : storage.carrier();
      var one = element.describeConstable().orElseThrow();
      return scalar ? one : one.arrayType();
    }
  }

  private record Key(String form, String modifiers, List<Place> results, List<Place> sources) {}

  private static final ConcurrentHashMap<Key, MethodHandle> CONSTRUCTORS =
      new ConcurrentHashMap<>();

  private static final Lookup LOOKUP = MethodHandles.lookup();
  private static final ClassDesc SELF =
      ClassDesc.of(LaneLoops.class.getPackageName() + ".Generated");
  private static final ClassDesc SUPER = LaneLoop.class.describeConstable().orElseThrow();
  private static final ClassDesc OBJECTS = CD_Object.arrayType();
  private static final ClassDesc INTEGER = Integer.class.describeConstable().orElseThrow();
  private static final ClassDesc HANDLE = ConstantDescs.CD_MethodHandle;

  private LaneLoops() {}

  /**
   * The loop over the lanes of an instruction.
   *
   * @param results the arrays to write, one for each result register
   * @param sources the arrays to read, or boxed values where the place is scalar
   */
  public static LaneLoop bind(
      InstructionForm form,
      Modifiers modifiers,
      List<Place> resultPlaces,
      Object[] results,
      List<Place> sourcePlaces,
      Object[] sources) {
    var key = new Key(form.syntax(), modifiers.toString(), resultPlaces, sourcePlaces);
    var constructor =
        CONSTRUCTORS.computeIfAbsent(
            key, k -> define(LaneMeaning.of(form, modifiers), k.results, k.sources));
    try {
      return (LaneLoop) constructor.invokeExact(results, sources);
    } catch (RuntimeException | Error e) {
      throw e;
    } catch (Throwable e) {
      throw new IllegalStateException(e);
    }
  }

  private static MethodHandle define(
      List<MethodHandle> meanings, List<Place> results, List<Place> sources) {
    var adapted = new ArrayList<MethodHandle>();
    for (int i = 0; i < meanings.size(); i++) {
      adapted.add(adapt(meanings.get(i), results.get(i), sources));
    }
    var bytes = new Emitter(adapted, results, sources).build();
    try {
      var loop =
          LOOKUP.defineHiddenClassWithClassData(
              bytes, List.copyOf(adapted), true, Lookup.ClassOption.NESTMATE);
      return loop.findConstructor(
              loop.lookupClass(), MethodType.methodType(void.class, Object[].class, Object[].class))
          .asType(MethodType.methodType(LaneLoop.class, Object[].class, Object[].class));
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Lets a handle take and answer what the registers hold: the same bits in another carrier. */
  private static MethodHandle adapt(MethodHandle meaning, Place result, List<Place> sources) {
    var handle = meaning;
    for (int i = 0; i < sources.size(); i++) {
      var wanted = handle.type().parameterType(i);
      var held = sources.get(i).storage.carrier();
      if (held != wanted) {
        handle = MethodHandles.filterArguments(handle, i, sameBits(held, wanted));
      }
    }
    var answered = handle.type().returnType();
    return answered == result.storage.carrier()
        ? handle
        : MethodHandles.filterReturnValue(handle, sameBits(answered, result.storage.carrier()));
  }

  private static MethodHandle sameBits(Class<?> from, Class<?> to) {
    try {
      if (from == float.class && to == int.class) {
        return find(Float.class, "floatToRawIntBits", to, from);
      } else if (from == int.class && to == float.class) {
        return find(Float.class, "intBitsToFloat", to, from);
      } else if (from == double.class && to == long.class) {
        return find(Double.class, "doubleToRawLongBits", to, from);
      } else if (from == long.class && to == double.class) {
        return find(Double.class, "longBitsToDouble", to, from);
      }
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(e);
    }
    throw new IllegalArgumentException(
        "a register of %s stands where %s is asked for".formatted(from, to));
  }

  private static MethodHandle find(Class<?> owner, String name, Class<?> to, Class<?> from)
      throws ReflectiveOperationException {
    return LOOKUP.findStatic(owner, name, MethodType.methodType(to, from));
  }

  /** Writes the class file of one loop. */
  private record Emitter(List<MethodHandle> handles, List<Place> results, List<Place> sources) {

    byte[] build() {
      return ClassFile.of()
          .build(
              SELF,
              type -> {
                type.withFlags(ClassFile.ACC_FINAL | ClassFile.ACC_SUPER).withSuperclass(SUPER);
                fields("r", results)
                    .forEach(f -> type.withField(f.name, f.type, ClassFile.ACC_FINAL));
                fields("s", sources)
                    .forEach(f -> type.withField(f.name, f.type, ClassFile.ACC_FINAL));
                type.withMethodBody(
                    "<init>", MethodTypeDesc.of(CD_void, OBJECTS, OBJECTS), 0, this::constructor);
                type.withMethodBody(
                    "all",
                    MethodTypeDesc.of(CD_void, CD_int, CD_int),
                    ClassFile.ACC_PUBLIC,
                    this::all);
                type.withMethodBody(
                    "some",
                    MethodTypeDesc.of(CD_void, CD_int, CD_int),
                    ClassFile.ACC_PUBLIC,
                    this::some);
              });
    }

    private record Field(String name, ClassDesc type, Place place) {}

    private static List<Field> fields(String prefix, List<Place> places) {
      var all = new ArrayList<Field>();
      for (int i = 0; i < places.size(); i++) {
        all.add(new Field(prefix + i, places.get(i).field(), places.get(i)));
      }
      return all;
    }

    private void constructor(CodeBuilder code) {
      code.aload(0).invokespecial(SUPER, "<init>", MethodTypeDesc.of(CD_void));
      assign(code, fields("r", results), 1);
      assign(code, fields("s", sources), 2);
      code.return_();
    }

    private static void assign(CodeBuilder code, List<Field> fields, int parameter) {
      for (int i = 0; i < fields.size(); i++) {
        var field = fields.get(i);
        code.aload(0).aload(parameter).loadConstant(i).aaload();
        if (field.place.scalar) {
          unbox(code, field.type);
        } else {
          code.checkcast(field.type);
        }
        code.putfield(SELF, field.name, field.type);
      }
    }

    private static void unbox(CodeBuilder code, ClassDesc primitive) {
      var box =
          switch (TypeKind.from(primitive)) {
            case BOOLEAN -> ConstantDescs.CD_Boolean;
            case INT -> INTEGER;
            case LONG -> ConstantDescs.CD_Long;
            case FLOAT -> ConstantDescs.CD_Float;
            default -> ConstantDescs.CD_Double;
          };
      code.checkcast(box)
          .invokevirtual(box, primitive.displayName() + "Value", MethodTypeDesc.of(primitive));
    }

    /** The local variables of one method. */
    private final class Frame {
      final CodeBuilder code;
      final int[] resultArrays = new int[results.size()];
      final int[] sourceArrays = new int[sources.size()];
      final int[] values = new int[sources.size()];
      final int[] answers = new int[results.size()];
      final int[] resultMasks = new int[results.size()];
      final int[] sourceMasks = new int[sources.size()];
      final int warp;
      final int lane;
      final int index;

      /** Copies all fields to locals. */
      Frame(CodeBuilder code) {
        this.code = code;
        warp = code.allocateLocal(TypeKind.INT);
        lane = code.allocateLocal(TypeKind.INT);
        index = code.allocateLocal(TypeKind.INT);
        for (int i = 0; i < results.size(); i++) {
          resultArrays[i] = code.allocateLocal(TypeKind.REFERENCE);
          answers[i] = code.allocateLocal(TypeKind.from(results.get(i).storage.carrier()));
          resultMasks[i] = code.allocateLocal(TypeKind.INT);
          code.aload(0).getfield(SELF, "r" + i, results.get(i).field()).astore(resultArrays[i]);
        }
        for (int i = 0; i < sources.size(); i++) {
          var place = sources.get(i);
          sourceArrays[i] = code.allocateLocal(TypeKind.REFERENCE);
          sourceMasks[i] = code.allocateLocal(TypeKind.INT);
          values[i] = code.allocateLocal(TypeKind.from(place.storage.carrier()));
          code.aload(0).getfield(SELF, "s" + i, place.field());
          if (place.scalar) {
            code.storeLocal(TypeKind.from(place.storage.carrier()), values[i]);
          } else {
            code.astore(sourceArrays[i]);
          }
        }
      }

      /** Before the lanes of a warp: reads the masks of sources, and clears those of results. */
      void enterWarp() {
        for (int i = 0; i < sources.size(); i++) {
          if (isMask(sources.get(i))) {
            code.aload(sourceArrays[i]).iload(warp).iaload().istore(sourceMasks[i]);
          }
        }
        for (int i = 0; i < results.size(); i++) {
          if (isMask(results.get(i))) {
            code.iconst_0().istore(resultMasks[i]);
          }
        }
      }

      /** One lane, whose number in the block is in {@code index}. */
      void lane() {
        for (int i = 0; i < sources.size(); i++) {
          var place = sources.get(i);
          if (isMask(place)) {
            code.iload(sourceMasks[i]).iload(lane).iushr().iconst_1().iand().istore(values[i]);
          } else if (!place.scalar) {
            var kind = TypeKind.from(place.storage.carrier());
            code.aload(sourceArrays[i]).iload(index).arrayLoad(kind).storeLocal(kind, values[i]);
          }
        }
        for (int i = 0; i < results.size(); i++) {
          code.loadConstant(
              DynamicConstantDesc.ofNamed(
                  ConstantDescs.ofConstantBootstrap(
                      ConstantDescs.CD_MethodHandles, "classDataAt", CD_Object, CD_int),
                  ConstantDescs.DEFAULT_NAME,
                  HANDLE,
                  i));
          for (int j = 0; j < sources.size(); j++) {
            code.loadLocal(TypeKind.from(sources.get(j).storage.carrier()), values[j]);
          }
          code.invokevirtual(
              HANDLE, "invokeExact", handles.get(i).type().describeConstable().orElseThrow());
          code.storeLocal(TypeKind.from(results.get(i).storage.carrier()), answers[i]);
        }
        for (int i = 0; i < results.size(); i++) {
          if (isMask(results.get(i))) {
            code.iload(resultMasks[i]).iload(answers[i]).iload(lane).ishl().ior();
            code.istore(resultMasks[i]);
          } else {
            var kind = TypeKind.from(results.get(i).storage.carrier());
            code.aload(resultArrays[i]).iload(index).loadLocal(kind, answers[i]).arrayStore(kind);
          }
        }
      }

      /** {@code while (left < right) { body; left++; }}. */
      void count(int left, int right, Runnable body) {
        Label top = code.newLabel();
        Label end = code.newLabel();
        code.labelBinding(top).iload(left).iload(right).if_icmpge(end);
        body.run();
        code.iinc(left, 1).goto_(top).labelBinding(end);
      }
    }

    private static boolean isMask(Place place) {
      return place.storage == RegisterStorage.MASK && !place.scalar;
    }

    private void all(CodeBuilder code) {
      var frame = new Frame(code);
      int first = 1;
      int end = 2;
      if (results.stream().noneMatch(Emitter::isMask)
          && sources.stream().noneMatch(Emitter::isMask)) {
        code.iload(first).loadConstant(5).ishl().istore(frame.index);
        code.iload(end).loadConstant(5).ishl().istore(end);
        frame.count(frame.index, end, frame::lane);
      } else {
        int lanes = code.allocateLocal(TypeKind.INT);
        code.loadConstant(32).istore(lanes);
        code.iload(first).istore(frame.warp);
        frame.count(
            frame.warp,
            end,
            () -> {
              frame.enterWarp();
              code.iconst_0().istore(frame.lane);
              frame.count(
                  frame.lane,
                  lanes,
                  () -> {
                    index(frame);
                    frame.lane();
                  });
              for (int i = 0; i < results.size(); i++) {
                if (isMask(results.get(i))) {
                  code.aload(frame.resultArrays[i]).iload(frame.warp);
                  code.iload(frame.resultMasks[i]).iastore();
                }
              }
            });
      }
      code.return_();
    }

    private static void index(Frame frame) {
      frame.code.iload(frame.warp).loadConstant(5).ishl().iload(frame.lane).iadd();
      frame.code.istore(frame.index);
    }

    private void some(CodeBuilder code) {
      var frame = new Frame(code);
      int mask = 2;
      int left = code.allocateLocal(TypeKind.INT);
      code.iload(1).istore(frame.warp);
      code.iload(mask).istore(left);
      frame.enterWarp();
      Label top = code.newLabel();
      Label end = code.newLabel();
      code.labelBinding(top).iload(left).ifeq(end);
      code.iload(left)
          .invokestatic(INTEGER, "numberOfTrailingZeros", MethodTypeDesc.of(CD_int, CD_int))
          .istore(frame.lane);
      index(frame);
      frame.lane();
      code.iload(left).iload(left).iconst_1().isub().iand().istore(left);
      code.goto_(top).labelBinding(end);
      for (int i = 0; i < results.size(); i++) {
        if (isMask(results.get(i))) {
          // the lanes that take no part keep their bits
          code.aload(frame.resultArrays[i]).iload(frame.warp);
          code.aload(frame.resultArrays[i]).iload(frame.warp).iaload();
          code.iload(mask).iconst_m1().ixor().iand();
          code.iload(frame.resultMasks[i]).ior().iastore();
        }
      }
      code.return_();
    }
  }
}
