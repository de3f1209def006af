package dev.athanor.engine.emulator.jit;

import static java.lang.constant.ConstantDescs.CD_boolean;
import static java.lang.constant.ConstantDescs.CD_double;
import static java.lang.constant.ConstantDescs.CD_float;
import static java.lang.constant.ConstantDescs.CD_int;
import static java.lang.constant.ConstantDescs.CD_long;
import static java.lang.constant.ConstantDescs.CD_void;

import dev.athanor.engine.emulator.lanes.MethodBodies;
import dev.athanor.engine.emulator.step.Addresses;
import dev.athanor.engine.emulator.memory.RegisterStorage;
import dev.athanor.engine.emulator.program.Binder;
import dev.athanor.engine.emulator.program.ProgramFlow;
import dev.athanor.engine.emulator.run.BlockRunner;
import dev.athanor.engine.emulator.step.Block;
import dev.athanor.engine.emulator.step.LoadStore;
import dev.athanor.engine.ptx.Modifier.Space;
import dev.athanor.engine.ptx.Operand;
import dev.athanor.engine.ptx.Operand.Register;
import dev.athanor.engine.ptx.Semantics;
import dev.athanor.engine.ptx.SpecialRegister;
import dev.athanor.engine.ptx.Statement.Guard;
import dev.athanor.engine.ptx.Statement.Instruction;
import dev.athanor.engine.ptx.Type;
import dev.athanor.engine.ptx.meaning.LaneMeaning;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.Label;
import java.lang.classfile.TypeKind;
import java.lang.classfile.instruction.SwitchCase;
import java.lang.constant.ClassDesc;
import java.lang.constant.MethodTypeDesc;
import java.lang.invoke.MethodHandle;
import java.lang.reflect.Method;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.function.IntConsumer;
import org.jspecify.annotations.Nullable;

/**
 * Writes the method of one segment: a loop over the active lanes, and in it the instructions for
 * one thread, whose registers are local variables of the JVM. Those that are needed are loaded
 * where the thread enters, and stored where it leaves.
 */
final class SegmentWriter {

  private static final ClassDesc DEPARTURE = Bailout.class.describeConstable().orElseThrow();
  private static final ClassDesc OUT_OF_BOUNDS =
      ArrayIndexOutOfBoundsException.class.describeConstable().orElseThrow();
  private static final ClassDesc SITE = MemorySite.class.describeConstable().orElseThrow();
  private static final ClassDesc SHARED = SharedWords.class.describeConstable().orElseThrow();
  private static final ClassDesc INTS = CD_int.arrayType();
  private static final ClassDesc BLOCK = Block.class.describeConstable().orElseThrow();
  private static final ClassDesc INTEGER = Integer.class.describeConstable().orElseThrow();
  private static final ClassDesc FLOAT = Float.class.describeConstable().orElseThrow();
  private static final ClassDesc DOUBLE = Double.class.describeConstable().orElseThrow();

  private final Compiler compiler;
  private final ProgramFlow flow;
  private final Binder binder;
  private final CodeBuilder code;
  private final int from;
  private final int to;

  private final Map<Register, Integer> locals = new LinkedHashMap<>();
  private final Set<Register> written = new LinkedHashSet<>();
  private final List<Integer> accesses = new ArrayList<>();
  private final Map<Integer, Label> targets = new HashMap<>();
  private final Map<Integer, Label> exits = new LinkedHashMap<>();
  private final Map<Integer, Integer> parameters = new HashMap<>();
  private final Map<Operand, Integer> arrays = new HashMap<>();
  private final int lane;
  private final int patience;

  /** How much patience a jump backward takes. */
  private final int turn;

  private final int words;
  private final int stored;

  /** The access that a thread is at. */
  private final int position;

  private boolean jumpsBack;

  SegmentWriter(
      Compiler compiler, ProgramFlow flow, Binder binder, CodeBuilder code, int from, int to) {
    this.compiler = compiler;
    this.flow = flow;
    this.binder = binder;
    this.code = code;
    this.from = from;
    this.to = to;
    this.lane = code.allocateLocal(TypeKind.INT);
    this.patience = code.allocateLocal(TypeKind.INT);
    this.turn = code.allocateLocal(TypeKind.INT);
    this.words = code.allocateLocal(TypeKind.REFERENCE);
    this.stored = code.allocateLocal(TypeKind.INT);
    this.position = code.allocateLocal(TypeKind.INT);
  }

  /** Writes the whole method; its parameters are the entry, the first warp and the end of warps. */
  void write() {
    final int entry = 1;
    final int first = 2;
    final int end = 3;
    allocate();
    findTargets();
    code.iload(first).loadConstant(5).ishl().istore(lane);
    copyArrays();
    loadParameters();
    code.iconst_0().istore(stored);
    code.aload(0).getfield(Compiler.BASE, "turn", CD_int).istore(turn);
    int active = code.allocateLocal(TypeKind.REFERENCE);
    code.aload(0).getfield(Compiler.BASE, "active", INTS).astore(active);
    code.aload(0).getfield(Compiler.BASE, "words", INTS).astore(words);
    int leaves = code.allocateLocal(TypeKind.INT);
    int common = code.allocateLocal(TypeKind.INT);
    int different = code.allocateLocal(TypeKind.INT);
    code.loadConstant(CompiledCode.SEVERAL).istore(common).iconst_0().istore(different);
    code.iload(end).loadConstant(5).ishl().istore(end);
    var top = code.newLabel();
    var next = code.newLabel();
    var done = code.newLabel();
    code.labelBinding(top).iload(lane).iload(end).if_icmpge(done);
    code.aload(active).iload(lane).loadConstant(5).ishr().iaload();
    code.iload(lane).iushr().iconst_1().iand().ifeq(next);
    if (jumpsBack) {
      code.loadConstant(BlockRunner.TURN).istore(patience);
    }
    boolean touches = !accesses.isEmpty();
    if (touches) {
      // what is kept at a departure has to be there wherever one may happen
      code.loadConstant(from).istore(position);
      kept().forEach(this::clear);
    }
    enter(entry);
    var inside = code.newBoundLabel();
    for (int pc = from; pc < to; pc++) {
      var label = targets.get(pc);
      if (label != null) {
        code.labelBinding(label);
      }
      instruction(pc);
    }
    if (fallsThrough(to - 1)) {
      code.goto_(exit(to));
    }
    var outside = code.newBoundLabel();
    var leave = code.newLabel();
    for (var exit : List.copyOf(exits.entrySet())) {
      code.labelBinding(exit.getValue());
      for (var register : written) {
        if (flow.isLive(register, exit.getKey())) {
          store(register);
        }
      }
      code.loadConstant(exit.getKey()).istore(leaves).goto_(leave);
    }
    code.labelBinding(leave);
    if (exits.size() > 1 || touches) {
      code.aload(0).getfield(Compiler.BASE, "exits", INTS);
      code.iload(lane).iload(leaves).iastore();
    }
    var known = code.newLabel();
    code.iload(common).ifge(known).iload(leaves).istore(common);
    code.labelBinding(known);
    code.iload(different).iload(common).iload(leaves).ixor().ior().istore(different);
    code.labelBinding(next).iinc(lane, 1).goto_(top);
    if (touches) {
      var handler = code.newBoundLabel();
      code.exceptionCatch(inside, outside, handler, DEPARTURE);
      code.exceptionCatch(inside, outside, handler, OUT_OF_BOUNDS);
      code.pop();
      kept().forEach(this::store);
      code.aload(0).iload(lane).iload(position).iload(entry).iload(end);
      code.invokevirtual(
          Compiler.BASE, "depart", MethodTypeDesc.of(CD_void, CD_int, CD_int, CD_int, CD_int));
      code.iconst_1().istore(different);
    }
    code.labelBinding(done);
    if (stores()) {
      var nothing = code.newLabel();
      code.iload(stored).ifeq(nothing);
      code.aload(0).getfield(Compiler.BASE, "block", BLOCK);
      code.invokevirtual(
          BLOCK, storesOutside() ? "stored" : "progress", MethodTypeDesc.of(CD_void));
      code.labelBinding(nothing);
    }
    var same = code.newLabel();
    code.iload(different).ifeq(same).loadConstant(CompiledCode.SEVERAL).ireturn();
    code.labelBinding(same).iload(common).ireturn();
  }

  /** The registers whose values may be new and needed at an access. */
  private List<Register> kept() {
    return written.stream()
        .filter(register -> accesses.stream().anyMatch(pc -> flow.isLive(register, pc)))
        .toList();
  }

  private void clear(Register register) {
    switch (kind(register)) {
      case LONG -> code.lconst_0();
      case FLOAT -> code.fconst_0();
      case DOUBLE -> code.dconst_0();
      default -> code.iconst_0();
    }
    code.storeLocal(kind(register), local(register));
  }

  /**
   * Gives registers local variables, those that occur most often the first, as their code is short.
   */
  private void allocate() {
    var uses = new LinkedHashMap<Register, Integer>();
    for (int pc = from; pc < to; pc++) {
      var instruction = flow.code().get(pc);
      ProgramFlow.reads(instruction).forEach(r -> uses.merge(r, 1, Integer::sum));
      ProgramFlow.writes(instruction).forEach(r -> uses.merge(r, 1, Integer::sum));
      written.addAll(ProgramFlow.writes(instruction));
      if (!binder.isParameter(instruction)
          && (instruction.form().semantics() instanceof Semantics.Load
              || instruction.form().semantics() instanceof Semantics.Store)) {
        accesses.add(pc);
      }
    }
    uses.entrySet().stream()
        .sorted(Map.Entry.<Register, Integer>comparingByValue(Comparator.reverseOrder()))
        .forEach(use -> locals.put(use.getKey(), code.allocateLocal(kind(use.getKey()))));
  }

  private void findTargets() {
    for (int pc = from; pc < to; pc++) {
      var instruction = flow.code().get(pc);
      if (instruction.form().semantics() instanceof Semantics.Branch) {
        int target = flow.target(instruction);
        if (isInside(target)) {
          targets.computeIfAbsent(target, _ -> code.newLabel());
          jumpsBack |= target <= pc;
        }
      }
    }
  }

  private boolean stores() {
    return flow.code().subList(from, to).stream()
        .anyMatch(i -> i.form().semantics() instanceof Semantics.Store);
  }

  /** Whether a store may touch what is there when the block has ended. */
  private boolean storesOutside() {
    return flow.code().subList(from, to).stream()
        .anyMatch(
            i -> i.form().semantics() instanceof Semantics.Store && !LoadStore.staysInside(i));
  }

  private boolean fallsThrough(int pc) {
    var last = flow.code().get(pc);
    return last.guard() != null || !(last.form().semantics() instanceof Semantics.Branch);
  }

  private boolean isInside(int pc) {
    return pc >= from && pc < to;
  }

  /** Copies the arrays to local variables: the JIT then checks indices once for all lanes. */
  private void copyArrays() {
    for (int pc = from; pc < to; pc++) {
      for (var operand : Binder.operands(flow.code().get(pc), false)) {
        if (operand instanceof SpecialRegister special && !arrays.containsKey(special)) {
          compiler.registerArray(code, special);
          keepArray(special);
        }
      }
    }
    for (var register : locals.keySet()) {
      compiler.registerArray(code, register);
      keepArray(register);
    }
  }

  private void keepArray(Operand register) {
    int local = code.allocateLocal(TypeKind.REFERENCE);
    code.astore(local);
    arrays.put(register, local);
  }

  private void array(Operand register) {
    code.aload(arrays.getOrDefault(register, 0));
  }

  /** Parameters are the same for all threads: before the loop. */
  private void loadParameters() {
    for (int pc = from; pc < to; pc++) {
      var instruction = flow.code().get(pc);
      if (binder.isParameter(instruction)) {
        var type = instruction.modifiers().type().orElseThrow();
        var register = (Register) instruction.operands().getFirst();
        var place = memory(pc, (Operand.Address) instruction.operands().get(1), type.bytes());
        place.load(type, 0);
        fromBits(register, type);
        int local = code.allocateLocal(kind(register));
        code.storeLocal(kind(register), local);
        parameters.put(pc, local);
      }
    }
  }

  private void enter(int entry) {
    var entries = compiler.entries(from, to);
    if (entries.size() == 1) {
      load(from);
      return;
    }
    var cases = new ArrayList<SwitchCase>();
    entries.forEach(pc -> cases.add(SwitchCase.of(pc, code.newLabel())));
    code.iload(entry).lookupswitch(cases.getFirst().target(), cases);
    // the first falls through to its instruction, hence comes last
    for (var each : cases.reversed()) {
      code.labelBinding(each.target());
      load(each.caseValue());
      if (each.caseValue() != from) {
        code.goto_(targets.computeIfAbsent(each.caseValue(), _ -> code.newLabel()));
      }
    }
  }

  /** Loads the registers that are needed from an instruction on. */
  private void load(int pc) {
    for (var register : locals.keySet()) {
      if (flow.isLive(register, pc)) {
        array(register);
        element(RegisterStorage.of(register.registerClass()));
        code.storeLocal(kind(register), local(register));
      }
    }
  }

  /** The lane's element of the array on the stack. */
  private void element(RegisterStorage storage) {
    if (storage == RegisterStorage.MASK) {
      code.iload(lane).loadConstant(5).ishr().iaload();
      code.iload(lane).iushr().iconst_1().iand();
    } else {
      code.iload(lane).arrayLoad(TypeKind.from(storage.carrier()));
    }
  }

  private void store(Register register) {
    array(register);
    if (isMask(register)) {
      code.iload(lane).loadConstant(5).ishr();
      code.dup2().iaload();
      code.iconst_1().iload(lane).ishl().iconst_m1().ixor().iand();
      code.iload(local(register)).iload(lane).ishl().ior().iastore();
    } else {
      code.iload(lane).loadLocal(kind(register), local(register)).arrayStore(kind(register));
    }
  }

  private Label exit(int pc) {
    return exits.computeIfAbsent(pc, _ -> code.newLabel());
  }

  private void instruction(int pc) {
    var instruction = flow.code().get(pc);
    if (instruction.form().semantics() instanceof Semantics.Branch) {
      branch(pc, instruction);
      return;
    }
    var skip = code.newLabel();
    skipUnless(instruction.guard(), skip);
    switch (instruction.form().semantics()) {
      case Semantics.Load _ when binder.isParameter(instruction) -> {
        var register = (Register) instruction.operands().getFirst();
        code.loadLocal(kind(register), parameters.getOrDefault(pc, 0));
        code.storeLocal(kind(register), local(register));
      }
      case Semantics.Load _ -> access(pc, instruction, 1, 0, true);
      case Semantics.Store _ -> {
        access(pc, instruction, 0, 1, false);
        code.iconst_1().istore(stored);
      }
      case Semantics.NoEffect _ -> {}
      default -> pure(instruction);
    }
    code.labelBinding(skip);
  }

  private void branch(int pc, Instruction branch) {
    int target = flow.target(branch);
    var label = isInside(target) ? targets.get(target) : exit(target);
    var skip = code.newLabel();
    skipUnless(branch.guard(), skip);
    if (isInside(target) && target <= pc) {
      code.iload(patience).iload(turn).isub().dup().istore(patience).ifgt(label);
      code.aload(0).iconst_1().putfield(Compiler.BASE, "spent", CD_boolean).goto_(exit(target));
    } else {
      code.goto_(label);
    }
    code.labelBinding(skip);
  }

  private void skipUnless(@Nullable Guard guard, Label skip) {
    if (guard != null) {
      code.iload(local(guard.predicate()));
      if (guard.negated()) {
        code.ifne(skip);
      } else {
        code.ifeq(skip);
      }
    }
  }

  private void pure(Instruction instruction) {
    var form = instruction.form();
    var results = Binder.operands(instruction, true).stream().map(Register.class::cast).toList();
    var sources = Binder.operands(instruction, false);
    var types = LaneMeaning.types(form, instruction.modifiers(), false);
    var meanings = compiler.meanings(instruction);
    var answers = new int[results.size()];
    for (int i = 0; i < answers.length; i++) {
      var result = results.get(i);
      evaluate(meanings.get(i), sources, types);
      convert(meanings.get(i).type().returnType(), carrier(result));
      // every source is read before a result is written
      answers[i] = answers.length == 1 ? local(result) : code.allocateLocal(kind(result));
      code.storeLocal(kind(result), answers[i]);
    }
    for (int i = 0; answers.length > 1 && i < answers.length; i++) {
      code.loadLocal(kind(results.get(i)), answers[i]);
      code.storeLocal(kind(results.get(i)), local(results.get(i)));
    }
  }

  private void evaluate(MethodHandle meaning, List<Operand> sources, List<Type> types) {
    IntConsumer push = i -> source(sources.get(i), types.get(i), meaning.type().parameterType(i));
    var method = LaneMeaning.method(meaning);
    var body = method.flatMap(MethodBodies::body);
    if (body.isPresent()) {
      MethodBodies.copy(code, body.get(), slots(method.get()), push);
    } else {
      for (int i = 0; i < sources.size(); i++) {
        push.accept(i);
      }
      compiler.call(code, meaning);
    }
  }

  /** The parameter that is in each local variable. */
  private static int[] slots(Method method) {
    var slots = new ArrayList<Integer>();
    for (int i = 0; i < method.getParameterCount(); i++) {
      var type = method.getParameterTypes()[i];
      slots.add(i);
      if (type == long.class || type == double.class) {
        slots.add(i);
      }
    }
    return slots.stream().mapToInt(Integer::intValue).toArray();
  }

  /** Puts an operand on the stack, in a carrier that its type may have. */
  private void source(Operand operand, Type type, Class<?> wanted) {
    var scalar = binder.scalar(operand, type);
    if (scalar != null) {
      constant(scalar);
      convert(RegisterStorage.of(type.registerClass()).carrier(), wanted);
      return;
    }
    switch (operand) {
      case Register register -> {
        code.loadLocal(kind(register), local(register));
        convert(carrier(register), wanted);
      }
      case SpecialRegister register -> {
        var storage = RegisterStorage.of(register.type().registerClass());
        array(register);
        element(storage);
        convert(storage.carrier(), wanted);
      }
      default -> throw new IllegalArgumentException(operand + " cannot be read");
    }
  }

  private void constant(Object scalar) {
    switch (scalar) {
      case Boolean b -> code.loadConstant(b ? 1 : 0);
      case Float f when f.isNaN() -> {
        code.loadConstant(Float.floatToRawIntBits(f));
        convert(int.class, float.class);
      }
      case Double d when d.isNaN() -> {
        code.loadConstant(Double.doubleToRawLongBits(d));
        convert(long.class, double.class);
      }
      case Integer i -> code.loadConstant((int) i);
      case Long l -> code.loadConstant((long) l);
      case Float f -> code.loadConstant((float) f);
      case Double d -> code.loadConstant((double) d);
      default -> throw new IllegalArgumentException("no constant " + scalar);
    }
  }

  /** The same bits in another carrier. */
  private void convert(Class<?> held, Class<?> wanted) {
    if (held == wanted) {
      return;
    }
    if (held == float.class && wanted == int.class) {
      code.invokestatic(FLOAT, "floatToRawIntBits", MethodTypeDesc.of(CD_int, CD_float));
    } else if (held == int.class && wanted == float.class) {
      code.invokestatic(FLOAT, "intBitsToFloat", MethodTypeDesc.of(CD_float, CD_int));
    } else if (held == double.class && wanted == long.class) {
      code.invokestatic(DOUBLE, "doubleToRawLongBits", MethodTypeDesc.of(CD_long, CD_double));
    } else if (held == long.class && wanted == double.class) {
      code.invokestatic(DOUBLE, "longBitsToDouble", MethodTypeDesc.of(CD_double, CD_long));
    } else {
      throw new IllegalArgumentException(
          "a register of %s stands where %s is asked for".formatted(held, wanted));
    }
  }

  // memory

  private void access(int pc, Instruction instruction, int address, int value, boolean load) {
    var type = instruction.modifiers().type().orElseThrow();
    var elements = Binder.spread(instruction.operands().get(value)).toList();
    var at = (Operand.Address) instruction.operands().get(address);
    int bytes = type.bytes() * elements.size();
    var space = Addresses.space(instruction);
    code.loadConstant(pc).istore(position);
    Place place;
    if (space != Space.SHARED && space != Space.SHARED_CTA) {
      place = memory(pc, at, bytes);
    } else if (type.bits() == 32 && isShort(at, bytes)) {
      place = sharedWords((Register) at.base(), at.offset(), bytes);
    } else {
      place = shared(at, bytes);
    }
    // from the end: where the last is in bounds all are, and nothing is half done
    for (int i = elements.size() - 1; i >= 0; i--) {
      if (load) {
        var register = (Register) elements.get(i);
        place.load(type, i * type.bytes());
        fromBits(register, type);
        code.storeLocal(kind(register), local(register));
      } else {
        var element = elements.get(i);
        place.store(type, i * type.bytes(), () -> toBits(element, type));
      }
    }
  }

  /** Memory at an address that has been checked. */
  private interface Place {
    /** Puts the bits at a distance on the stack. */
    void load(Type type, int distance);

    void store(Type type, int distance, Runnable bits);
  }

  /** Memory of any space, the instruction's. */
  private Place memory(int pc, Operand.Address at, int bytes) {
    var space = Addresses.space(flow.code().get(pc));
    int offset = code.allocateLocal(TypeKind.LONG);
    compiler.site(code, pc, space, bytes);
    wideAddress(at);
    code.iload(lane);
    code.invokevirtual(SITE, "offset", MethodTypeDesc.of(CD_long, CD_long, CD_int));
    code.lstore(offset);
    return new Place() {
      private void at(int distance) {
        compiler.site(code, pc, space, bytes);
        code.lload(offset);
        if (distance > 0) {
          code.loadConstant((long) distance).ladd();
        }
      }

      @Override
      public void load(Type type, int distance) {
        at(distance);
        code.invokevirtual(SITE, "load" + type.bits(), MethodTypeDesc.of(bits(type), CD_long));
      }

      @Override
      public void store(Type type, int distance, Runnable bits) {
        at(distance);
        bits.run();
        code.invokevirtual(
            SITE, "store" + type.bits(), MethodTypeDesc.of(CD_void, CD_long, bits(type)));
      }
    };
  }

  private static ClassDesc bits(Type type) {
    return type.bits() == 64 ? CD_long : CD_int;
  }

  private Place shared(Operand.Address at, int bytes) {
    int address = code.allocateLocal(TypeKind.INT);
    wideAddress(at);
    code.loadConstant(bytes);
    code.invokestatic(SHARED, "address", MethodTypeDesc.of(CD_int, CD_long, CD_int));
    code.istore(address);
    return new Place() {
      private void at(int distance) {
        code.aload(words).iload(address);
        if (distance > 0) {
          code.loadConstant(distance).iadd();
        }
      }

      @Override
      public void load(Type type, int distance) {
        at(distance);
        code.invokestatic(
            SHARED, "load" + type.bits(), MethodTypeDesc.of(bits(type), INTS, CD_int));
      }

      @Override
      public void store(Type type, int distance, Runnable bits) {
        at(distance);
        bits.run();
        code.invokestatic(
            SHARED, "store" + type.bits(), MethodTypeDesc.of(CD_void, INTS, CD_int, bits(type)));
      }
    };
  }

  /** Whether an address is a 32-bit register and a distance that does not spoil its alignment. */
  private static boolean isShort(Operand.Address at, int bytes) {
    return at.base() instanceof Register register
        && RegisterStorage.of(register.registerClass()) == RegisterStorage.INT
        && at.offset() % bytes == 0
        && Math.abs(at.offset()) < 1 << 28;
  }

  /** Words of shared memory, where the array's own check of an index is enough. */
  private Place sharedWords(Register register, long displacement, int bytes) {
    // a copy, as the register may be among those that are loaded
    int base = code.allocateLocal(TypeKind.INT);
    code.iload(local(register)).istore(base);
    boolean plain = bytes == Integer.BYTES && displacement == 0;
    if (!plain) {
      code.iload(base).loadConstant(bytes);
      code.invokestatic(SHARED, "align", MethodTypeDesc.of(CD_void, CD_int, CD_int));
    }
    return new Place() {
      private void at(int distance) {
        code.aload(words).iload(base).iconst_2();
        if (plain) {
          // the low bits become the high ones, so that what is misaligned is out of bounds too
          code.invokestatic(INTEGER, "rotateRight", MethodTypeDesc.of(CD_int, CD_int, CD_int));
        } else {
          code.iushr();
        }
        int further = (int) ((displacement + distance) / 4);
        if (further != 0) {
          code.loadConstant(further).iadd();
        }
      }

      @Override
      public void load(Type type, int distance) {
        at(distance);
        code.iaload();
      }

      @Override
      public void store(Type type, int distance, Runnable bits) {
        at(distance);
        bits.run();
        code.iastore();
      }
    };
  }

  /** Puts an address on the stack as a long. */
  private void wideAddress(Operand.Address at) {
    boolean narrow =
        at.base() instanceof Register register
            && RegisterStorage.of(register.registerClass()) == RegisterStorage.INT;
    source(at.base(), narrow ? Type.U32 : Type.U64, narrow ? int.class : long.class);
    if (narrow) {
      code.i2l().loadConstant(0xFFFF_FFFFL).land();
    }
    if (at.offset() != 0) {
      code.loadConstant(at.offset()).ladd();
    }
  }

  /** Makes of bits from memory what a register holds; a sign goes as far as 16 bits. */
  private void fromBits(Register register, Type type) {
    if (type.bits() == 8 && type.kind() == Type.Kind.SIGNED) {
      code.i2b().loadConstant(0xFFFF).iand();
    }
    convert(type.bits() == 64 ? long.class : int.class, carrier(register));
  }

  private void toBits(Operand value, Type type) {
    var bits = type.bits() == 64 ? long.class : int.class;
    source(value, type, bits);
  }

  // registers

  private int local(Register register) {
    var local = locals.get(register);
    if (local == null) {
      throw new IllegalStateException("no local variable for " + register);
    }
    return local;
  }

  private static Class<?> carrier(Register register) {
    return RegisterStorage.of(register.registerClass()).carrier();
  }

  private static TypeKind kind(Register register) {
    return TypeKind.from(carrier(register)).asLoadable();
  }

  private static boolean isMask(Register register) {
    return RegisterStorage.of(register.registerClass()) == RegisterStorage.MASK;
  }
}
