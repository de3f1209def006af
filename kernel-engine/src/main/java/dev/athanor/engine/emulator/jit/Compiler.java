package dev.athanor.engine.emulator.jit;

import static java.lang.constant.ConstantDescs.CD_Object;
import static java.lang.constant.ConstantDescs.CD_int;
import static java.lang.constant.ConstantDescs.CD_void;

import dev.athanor.engine.emulator.memory.RegisterStorage;
import dev.athanor.engine.emulator.program.Binder;
import dev.athanor.engine.emulator.program.ProgramFlow;
import dev.athanor.engine.emulator.step.Block;
import dev.athanor.engine.emulator.step.LoadStore;
import dev.athanor.engine.ptx.Modifier.Space;
import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Semantics;
import dev.athanor.engine.ptx.SpecialRegister;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.meaning.LaneMeaning;
import java.lang.classfile.ClassBuilder;
import java.lang.classfile.ClassFile;
import java.lang.classfile.ClassHierarchyResolver;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.TypeKind;
import java.lang.classfile.attribute.CodeAttribute;
import java.lang.classfile.instruction.SwitchCase;
import java.lang.constant.ClassDesc;
import java.lang.constant.ConstantDescs;
import java.lang.constant.DynamicConstantDesc;
import java.lang.constant.MethodTypeDesc;
import java.lang.invoke.MethodHandle;
import java.lang.invoke.MethodHandles;
import java.lang.invoke.MethodHandles.Lookup;
import java.lang.invoke.MethodType;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.BitSet;
import java.util.EnumSet;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Turns a program into JVM code: one hidden class, with a method for each segment. A segment is a
 * run of instructions that need no other thread: lane functions, plain loads and stores, branches.
 * What lies between (barriers, shuffles, atomics, exits) is left to the interpreter.
 */
public final class Compiler {

  /** Methods of more bytes are never compiled by the JIT. */
  private static final int MOST_BYTES = 2000;

  /** Before anything is measured: so that no method is too large for a class file. */
  private static final int MOST_INSTRUCTIONS = 500;

  private static final Lookup LOOKUP = MethodHandles.lookup();

  /** Finds our classes where we are, which in an application need not be the class path. */
  private static final ClassFile CLASS_FILES =
      ClassFile.of(
          ClassFile.ClassHierarchyResolverOption.of(
              ClassHierarchyResolver.defaultResolver()
                  .orElse(ClassHierarchyResolver.ofClassLoading(LOOKUP))));

  static final ClassDesc SELF = ClassDesc.of(Compiler.class.getPackageName() + ".CompiledSegments");
  static final ClassDesc BASE = CompiledCode.class.describeConstable().orElseThrow();
  private static final ClassDesc BLOCK = Block.class.describeConstable().orElseThrow();
  private static final MethodTypeDesc RUN = MethodTypeDesc.of(CD_int, CD_int, CD_int, CD_int);

  /** The instructions {@code from..to-1}. */
  record Segment(int from, int to) {
    String method() {
      return "from" + from;
    }
  }

  /** What a program was compiled to. */
  public record Compiled(
      MethodHandle constructor, List<Function<Block, Object>> values, BitSet starts) {

    /** The code for the registers of a block. */
    public CompiledCode bind(Block block) {
      try {
        return (CompiledCode)
            constructor.invokeExact(block, values.stream().map(v -> v.apply(block)).toArray());
      } catch (RuntimeException | Error e) {
        throw e;
      } catch (Throwable e) {
        throw new IllegalStateException(e);
      }
    }
  }

  private record Field(String name, ClassDesc type, Function<Block, Object> value) {}

  private record Wrapper(String name, MethodTypeDesc type, int index) {}

  private final ProgramFlow flow;
  private final Binder binder;
  private final boolean everything;
  private final Map<Object, Field> fields = new LinkedHashMap<>();
  private final Map<MethodHandle, Wrapper> wrappers = new LinkedHashMap<>();
  private final Map<List<String>, List<MethodHandle>> meanings = new HashMap<>();

  private Compiler(ProgramFlow flow, Binder binder, boolean everything) {
    this.flow = flow;
    this.binder = binder;
    this.everything = everything;
  }

  /**
   * Compiles a program.
   *
   * @param everything whether to compile also what the interpreter is faster at
   */
  public static Compiled compile(ProgramFlow flow, Binder binder, boolean everything) {
    var compiler = new Compiler(flow, binder, everything);
    return compiler.define(compiler.fitting(compiler.segments()));
  }

  /** All runs of instructions that can be compiled. */
  private List<Segment> segments() {
    var all = new ArrayList<Segment>();
    int from = 0;
    for (int end = 0; end <= flow.code().size(); end++) {
      if (end == flow.code().size() || !isInner(flow.code().get(end))) {
        if (!exchangesInStep(from, end)) {
          for (int pc = from; pc < end; pc += MOST_INSTRUCTIONS) {
            all.addAll(parts(pc, Math.min(end, pc + MOST_INSTRUCTIONS)));
          }
        }
        from = end + 1;
      }
    }
    return all;
  }

  /**
   * Whether a run next to a memory fence has a store and another access to the same memory.
   * Programs written before lanes were scheduled independently exchange values like this, with
   * fences but no barrier, and rely on lanes that execute each instruction together. The
   * interpreter does so; in compiled code each lane would run ahead through the whole run.
   */
  private boolean exchangesInStep(int from, int to) {
    if (!isMemoryFence(from - 1) && !isMemoryFence(to)) {
      return false;
    }
    var accessed = EnumSet.noneOf(Space.class);
    var accessedTwice = EnumSet.noneOf(Space.class);
    var stored = EnumSet.noneOf(Space.class);
    for (var instruction : flow.code().subList(from, to)) {
      var semantics = instruction.form().semantics();
      if (semantics instanceof Semantics.Load || semantics instanceof Semantics.Store) {
        var space = Optional.ofNullable(Binder.space(instruction)).orElse(Space.GLOBAL);
        if (!accessed.add(space)) {
          accessedTwice.add(space);
        }
        if (semantics instanceof Semantics.Store) {
          stored.add(space);
        }
      }
    }
    stored.retainAll(accessedTwice);
    stored.remove(Space.LOCAL);
    return !stored.isEmpty();
  }

  private boolean isMemoryFence(int pc) {
    return pc >= 0
        && pc < flow.code().size()
        && flow.code().get(pc).form().semantics() instanceof Semantics.Fence
        && !flow.code().get(pc).modifiers().has("proxy");
  }

  /**
   * Cuts a run where threads come in from elsewhere, and behind the end of a loop that begins
   * before it: threads then load no registers that only others need.
   */
  private List<Segment> parts(int from, int to) {
    var cuts = new BitSet();
    cuts.set(to);
    entries(from, to).forEach(cuts::set);
    for (int pc = from; pc < to - 1; pc++) {
      var instruction = flow.code().get(pc);
      if (instruction.form().semantics() instanceof Semantics.Branch
          && flow.target(instruction) < from) {
        cuts.set(pc + 1);
      }
    }
    var all = new ArrayList<Segment>();
    for (int cut = from; cut < to; cut = cuts.nextSetBit(cut + 1)) {
      all.add(new Segment(cut, cuts.nextSetBit(cut + 1)));
    }
    return all;
  }

  /** Whether an instruction needs no other thread. */
  private static boolean isInner(Instruction i) {
    return switch (i.form().semantics()) {
      case Semantics.Pure _ -> Binder.clocks(i).isEmpty();
      case Semantics.Load _, Semantics.Store _ -> !LoadStore.isStrong(i);
      case Semantics.NoEffect _ -> true;
      // of a branch that claims to be uniform the interpreter sees whether it is
      case Semantics.Branch _ -> i.guard() == null || !i.modifiers().has("uni");
      case Semantics.Warp _,
          Semantics.Converged _,
          Semantics.ClusterRank _,
          Semantics.Atomic _,
          Semantics.LoadMatrix _,
          Semantics.StoreMatrix _,
          Semantics.LoadTile _,
          Semantics.StoreTile _,
          Semantics.Asynchronous _,
          Semantics.Completion _,
          Semantics.Synchronization _,
          Semantics.TensorMapUpdate _,
          Semantics.IndexedBranch _,
          Semantics.Call _,
          Semantics.RuntimeCall _,
          Semantics.Exit _,
          Semantics.Trap _ ->
          false;
    };
  }

  /** Cuts segments until the JIT takes every method. */
  private List<Segment> fitting(List<Segment> given) {
    var fitting = new ArrayList<Segment>();
    var open = new ArrayDeque<>(given);
    while (!open.isEmpty()) {
      var segment = open.pop();
      if (segment.to - segment.from <= 1) {
        continue;
      }
      if (!everything && isArithmetic(segment)) {
        continue;
      }
      int size = size(segment);
      if (size <= MOST_BYTES) {
        fitting.add(segment);
      } else {
        int parts = Math.min(segment.to - segment.from, size / MOST_BYTES + 1);
        for (int i = 0; i < parts; i++) {
          open.add(
              new Segment(
                  segment.from + (segment.to - segment.from) * i / parts,
                  segment.from + (segment.to - segment.from) * (i + 1) / parts));
        }
      }
    }
    return fitting;
  }

  /**
   * Whether a segment is mostly arithmetic, and has no loop. The interpreter is faster there, as
   * the JIT makes vector instructions of its loops over lanes.
   */
  private boolean isArithmetic(Segment segment) {
    int arithmetic = 0;
    for (int pc = segment.from; pc < segment.to; pc++) {
      var instruction = flow.code().get(pc);
      if (instruction.form().semantics() instanceof Semantics.Branch
          && flow.target(instruction) >= segment.from
          && flow.target(instruction) <= pc) {
        return false;
      }
      arithmetic += isVectorized(instruction) ? 1 : 0;
    }
    return 2 * arithmetic > segment.to - segment.from;
  }

  /** Whether the JIT makes vector instructions of the interpreter's loop over lanes. */
  private static boolean isVectorized(Instruction instruction) {
    return instruction.form().semantics() instanceof Semantics.Pure pure
        && pure.operation().isVectorizable();
  }

  private int size(Segment segment) {
    var bytes =
        CLASS_FILES.build(
            SELF,
            type -> type.withMethodBody(segment.method(), RUN, 0, code -> write(code, segment)));
    return CLASS_FILES.parse(bytes).methods().getFirst().code().stream()
        .mapToInt(code -> ((CodeAttribute) code).codeLength())
        .sum();
  }

  private void write(CodeBuilder code, Segment segment) {
    new SegmentWriter(this, flow, binder, code, segment.from, segment.to).write();
  }

  private Compiled define(List<Segment> segments) {
    var bytes = CLASS_FILES.build(SELF, type -> write(type, segments));
    var starts = new BitSet();
    for (var segment : segments) {
      entries(segment.from, segment.to).forEach(starts::set);
    }
    try {
      var type =
          LOOKUP.defineHiddenClassWithClassData(
              bytes, List.copyOf(wrappers.keySet()), true, Lookup.ClassOption.NESTMATE);
      var constructor =
          type.findConstructor(
                  type.lookupClass(),
                  MethodType.methodType(void.class, Block.class, Object[].class))
              .asType(MethodType.methodType(CompiledCode.class, Block.class, Object[].class));
      return new Compiled(constructor, fields.values().stream().map(Field::value).toList(), starts);
    } catch (ReflectiveOperationException e) {
      throw new IllegalStateException(e);
    }
  }

  /** Where threads may enter a segment: at its beginning, and where others branch to. */
  List<Integer> entries(int from, int to) {
    var all = new BitSet();
    all.set(from);
    for (int pc = 0; pc < flow.code().size(); pc++) {
      if (pc < from || pc >= to) {
        var instruction = flow.code().get(pc);
        if (instruction.form().semantics() instanceof Semantics.Branch) {
          int target = flow.target(instruction);
          if (target >= from && target < to) {
            all.set(target);
          }
        }
      }
    }
    return all.stream().boxed().toList();
  }

  private void write(ClassBuilder type, List<Segment> segments) {
    type.withFlags(ClassFile.ACC_FINAL | ClassFile.ACC_SUPER).withSuperclass(BASE);
    for (var segment : segments) {
      type.withMethodBody(segment.method(), RUN, 0, code -> write(code, segment));
    }
    type.withMethodBody("run", RUN, ClassFile.ACC_PUBLIC, code -> dispatch(code, segments));
    wrappers.forEach((handle, wrapper) -> wrap(type, wrapper));
    fields.values().forEach(f -> type.withField(f.name, f.type, ClassFile.ACC_FINAL));
    type.withMethodBody(
        "<init>", MethodTypeDesc.of(CD_void, BLOCK, CD_Object.arrayType()), 0, this::constructor);
  }

  private void constructor(CodeBuilder code) {
    code.aload(0).aload(1).invokespecial(BASE, "<init>", MethodTypeDesc.of(CD_void, BLOCK));
    int index = 0;
    for (var field : fields.values()) {
      code.aload(0).aload(2).loadConstant(index++).aaload().checkcast(field.type);
      code.putfield(SELF, field.name, field.type);
    }
    code.return_();
  }

  private void dispatch(CodeBuilder code, List<Segment> segments) {
    var cases = new ArrayList<SwitchCase>();
    var bodies = new ArrayList<Runnable>();
    for (var segment : segments) {
      var label = code.newLabel();
      entries(segment.from, segment.to).forEach(pc -> cases.add(SwitchCase.of(pc, label)));
      bodies.add(() ->
          code.labelBinding(label)
              .aload(0)
              .iload(1)
              .iload(2)
              .iload(3)
              .invokevirtual(SELF, segment.method(), RUN)
              .ireturn());
    }
    var nowhere = code.newLabel();
    code.iload(1).lookupswitch(nowhere, cases);
    bodies.forEach(Runnable::run);
    code.labelBinding(nowhere).iload(1).ireturn();
  }

  /** A method that calls a handle: short, so that the JIT inlines it wherever it can. */
  private static void wrap(ClassBuilder type, Wrapper wrapper) {
    type.withMethodBody(
        wrapper.name,
        wrapper.type,
        ClassFile.ACC_STATIC,
        code -> {
          code.loadConstant(
              DynamicConstantDesc.ofNamed(
                  ConstantDescs.ofConstantBootstrap(
                      ConstantDescs.CD_MethodHandles, "classDataAt", CD_Object, CD_int),
                  ConstantDescs.DEFAULT_NAME,
                  ConstantDescs.CD_MethodHandle,
                  wrapper.index));
          for (int i = 0; i < wrapper.type.parameterCount(); i++) {
            code.loadLocal(TypeKind.from(wrapper.type.parameterType(i)), code.parameterSlot(i));
          }
          code.invokevirtual(ConstantDescs.CD_MethodHandle, "invokeExact", wrapper.type);
          code.return_(TypeKind.from(wrapper.type.returnType()));
        });
  }

  // what the writers of segments ask for

  /** The meanings of a pure instruction. */
  List<MethodHandle> meanings(Instruction instruction) {
    return meanings.computeIfAbsent(
        List.of(instruction.form().syntax(), instruction.modifiers().toString()),
        _ -> LaneMeaning.of(instruction.form(), instruction.modifiers()));
  }

  /** Calls a handle whose arguments are on the stack. */
  void call(CodeBuilder code, MethodHandle handle) {
    var type = handle.type().describeConstable().orElseThrow();
    var wrapper =
        wrappers.computeIfAbsent(
            handle, _ -> new Wrapper("lane" + wrappers.size(), type, wrappers.size()));
    code.invokestatic(SELF, wrapper.name, wrapper.type);
  }

  /** Puts the array of a register on the stack. */
  void registerArray(CodeBuilder code, Operand.Register register) {
    var storage = RegisterStorage.of(register.registerClass());
    push(
        code,
        register,
        new Field(
            "register" + fields.size(), array(storage), b -> b.registers.of(register).array()));
  }

  void registerArray(CodeBuilder code, SpecialRegister register) {
    push(
        code,
        register,
        new Field(
            "special" + fields.size(),
            array(RegisterStorage.of(register.type().registerClass())),
            b -> b.registers.of(register).array()));
  }

  /** Puts the place of an access to memory on the stack. */
  void site(CodeBuilder code, int pc, @Nullable Space space, int bytes) {
    push(
        code,
        pc,
        new Field(
            "site" + fields.size(),
            MemorySite.class.describeConstable().orElseThrow(),
            b -> new MemorySite(b, space, bytes)));
  }

  private void push(CodeBuilder code, Object key, Field fresh) {
    var field = fields.computeIfAbsent(key, _ -> fresh);
    code.aload(0).getfield(SELF, field.name, field.type);
  }

  private static ClassDesc array(RegisterStorage storage) {
    var element = storage == RegisterStorage.MASK ? int.class : storage.carrier();
    return element.describeConstable().orElseThrow().arrayType();
  }
}
