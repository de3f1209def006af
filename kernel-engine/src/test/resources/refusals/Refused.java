import dev.athanor.engine.lift.Gpu;
import dev.athanor.engine.lift.GpuKernel;
import java.lang.foreign.MemorySegment;
import java.lang.foreign.ValueLayout;
import java.nio.ByteOrder;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.function.IntUnaryOperator;

/**
 * Kernels that are refused: the comment that ends the line at fault is the rest of the message. Where
 * it ends an annotation or the declaration of a native method, the message has no line. Kernels
 * without such a comment are lifted.
 */
class Refused {

  // --- declarations

  @GpuKernel
  void instance(int[] a) {
    a[0] = 1;
  }

  @GpuKernel
  static int result(int[] a) {
    return a[0];
  }

  @GpuKernel
  static int[] arrayResult(int[] a) {
    return a;
  }

  @GpuKernel
  static void stringParameter(String text, int[] a) {
    a[0] = 1;
  }

  @GpuKernel
  static void listParameter(List<Integer> a) {
    a.add(1);
  }

  @GpuKernel
  static void boxedParameter(int[] a, Integer n) {
    a[0] = 1;
  }

  @GpuKernel
  static void recordParameter(int[] a, Pair pair) {
    a[0] = pair.x();
  }

  @GpuKernel
  static void nestedArrays(int[][] a) {
    a[0][0] = 1;
  }

  @GpuKernel
  static void arrayOfStrings(int[] a, String[] names) {
    a[0] = names.length;
  }

  @GpuKernel
  static <T> void generic(T[] a, int[] b) {
    b[0] = 1;
  }

  @GpuKernel
  static <T> void genericButUnused(int[] a) {
    a[0] = 1;
  }

  @GpuKernel
  static void varargs(int... values) {
    values[0] = 1;
  }

  @GpuKernel
  static synchronized void synchronizedMethod(int[] a) {
    a[0] = 1;
  }

  @GpuKernel
  static native void nativeMethod(int[] a);

  @GpuKernel
  static void checkedException(int[] a) throws java.io.IOException {
    a[0] = 1;
  }

  @GpuKernel(blockSize = 2048)
  static void blockTooLarge(int[] a) {}

  @GpuKernel(blockSize = {64, 32})
  static void blockTooLargeInTwoExtents(int[] a) {}

  @GpuKernel(blockSize = {65536, 65536, 1})
  static void blockBeyondAnInt(int[] a) {}

  @GpuKernel(blockSize = 0)
  static void emptyBlock(int[] a) {}

  @GpuKernel(blockSize = {32, -1})
  static void negativeExtent(int[] a) {}

  @GpuKernel(blockSize = {1, 1, 128})
  static void deepBlock(int[] a) {}

  @GpuKernel(blockSize = {1, 1, 1, 1})
  static void fourExtents(int[] a) {}

  // --- memory and objects

  @GpuKernel
  static void newArray(int[] a) {
    a[0] =
        new int[4].length;
  }

  @GpuKernel
  static void arrayInitializer(int[] a) {
    int[] weights = {1, 2, 1};
    a[0] = weights[0];
  }

  @GpuKernel
  static void newArrayOfObjects(int[] a) {
    a[0] = new Pair[4].length;
  }

  @GpuKernel
  static void newMatrix(int[] a) {
    a[0] = new int[4][4][2].length;
  }

  @GpuKernel
  static void newObject(int[] a) {
    a[0] = new Counter().next();
  }

  @GpuKernel
  static void newList(int[] a) {
    var list = new ArrayList<Integer>();
    list.add(a[0]);
  }

  @GpuKernel
  static void enhancedForOverAList(int[] a) {
    for (int each : List.of(1, 2)) {
      a[each] = 1;
    }
  }

  @GpuKernel
  static void stringBuilder(int[] a) {
    a[0] = new StringBuilder().length();
  }

  @GpuKernel
  static void recordWithANewArray(int[] a) {
    var row = new Row(new int[2], 1);
    a[0] = row.values()[0];
  }

  @GpuKernel
  static void printedRecord(int[] a) {
    var pair = new Pair(1, 2);
    a[0] = pair.hashCode();
  }

  @GpuKernel
  static void comparedRecords(int[] a) {
    a[0] = new Pair(1, 2).equals(new Pair(1, 2)) ? 1 : 0;
  }

  @GpuKernel
  static void identityOfRecords(int[] a) {
    a[0] = new Pair(1, 2) == new Pair(1, 2) ? 1 : 0;
  }

  @GpuKernel
  static void identityOfArrays(int[] a, int[] b) {
    a[0] = a == b ? 1 : 0;
  }

  @GpuKernel
  static void comparisonWithNull(int[] a, int[] b) {
    if (b != null) {
      a[0] = 1;
    }
  }

  @GpuKernel
  static void nullVariable(int[] a) {
    int[] b = null;
    a[0] = 1;
  }

  @GpuKernel
  static void cloned(int[] a) {
    a[0] = a.clone()[0];
  }

  @GpuKernel
  static void arrayCopy(int[] a, int[] b) {
    System.arraycopy(a, 0, b, 0, 4);
  }

  @GpuKernel
  static void boxed(int[] a) {
    Integer n = a[0];
    a[1] = n;
  }

  @GpuKernel
  static void classOfAnArray(int[] a) {
    a[0] = a.getClass() == int[].class ? 1 : 0;
  }

  @GpuKernel
  static void classLiteral(int[] a) {
    Class<?> type = int[].class;
    a[0] = 1;
  }

  @GpuKernel
  static void instanceOf(int[] a) {
    Object o = a;
    a[0] = o instanceof int[] ? 1 : 0;
  }

  @GpuKernel
  static void castOfAnObject(int[] a) {
    Object o = a;
    ((int[]) o)[0] = 1;
  }

  @GpuKernel
  static void arrayAsObject(int[] a) {
    a[0] = Objects.hashCode(a);
  }

  @GpuKernel
  static void enumConstant(int[] a) {
    Color color = Color.RED;
    a[0] = color == Color.GREEN ? 1 : 0;
  }

  @GpuKernel
  static void enumSwitch(int[] a) {
    switch (Color.values()[a[0]]) {
      case RED -> a[0] = 1;
      case GREEN -> a[0] = 2;
    }
  }

  @GpuKernel
  static void patternSwitch(int[] a) {
    Shape shape = new Circle(1);
    a[0] =
        switch (shape) {
          case Circle(int r) -> r;
          case Square(int s) -> s;
        };
  }

  @GpuKernel
  static void recordPattern(int[] a) {
    Object o = new Pair(1, 2);
    if (o instanceof Pair(int x, int y)) {
      a[0] = x + y;
    }
  }

  // --- text

  @GpuKernel
  static void string(int[] a) {
    a[0] = "text".length();
  }

  @GpuKernel
  static void concatenation(int[] a, int n) {
    a[0] = ("n" + n).length();
  }

  @GpuKernel
  static void stringSwitch(int[] a) {
    switch ("b") {
      case "a" -> a[0] = 1;
      default -> a[0] = 2;
    }
  }

  @GpuKernel
  static void print(int[] a) {
    System.out.println(a[0]);
  }

  @GpuKernel
  static void format(int[] a) {
    a[0] = String.valueOf(a[1]).length();
  }

  // --- calls

  @GpuKernel
  static void recursion(int[] a) {
    a[0] = factorial(a[1]);
  }

  static int factorial(int n) {
    return n < 2 ? 1 : n * factorial(n - 1);
  }

  @GpuKernel
  static void mutualRecursion(int[] a) {
    a[0] = isEven(a[1]) ? 1 : 0;
  }

  static boolean isEven(int n) {
    return n == 0 || isOdd(n - 1);
  }

  static boolean isOdd(int n) {
    return n != 0 && isEven(n - 1);
  }

  @GpuKernel
  static void lambda(int[] a) {
    IntUnaryOperator twice = x -> 2 * x;
    a[0] = twice.applyAsInt(1);
  }

  @GpuKernel
  static void methodReference(int[] a) {
    IntUnaryOperator negate = Math::negateExact;
    a[0] = negate.applyAsInt(1);
  }

  @GpuKernel
  static void anonymousClass(int[] a) {
    Runnable run =
        new Runnable() {
          @Override
          public void run() {}
        };
    run.run();
  }

  @GpuKernel
  static void random(float[] a) {
    a[0] = (float) Math.random();
  }

  @GpuKernel
  static void unknownFunction(double[] a) {
    a[0] = Math.cbrt(a[0]);
  }

  @GpuKernel
  static void exactAddition(int[] a) {
    a[0] = Math.addExact(a[0], 1);
  }

  @GpuKernel
  static void clock(long[] a) {
    a[0] = System.nanoTime();
  }

  @GpuKernel
  static void onSpinWait(int[] a) {
    Thread.onSpinWait();
  }

  @GpuKernel
  static void nativeCall(int[] a) {
    a[0] = outside();
  }

  static native int outside();

  @GpuKernel
  static void defaultMethod(int[] a) {
    Shape shape = new Circle(1);
    a[0] = shape.twice();
  }

  @GpuKernel
  static void instanceField(int[] a) {
    a[0] = COUNTER.count;
  }

  @GpuKernel
  static void constantArray(int[] a) {
    a[0] = WEIGHTS[1];
  }

  @GpuKernel
  static void staticVariable(int[] a) {
    a[0] = total;
  }

  @GpuKernel
  static void writtenField(int[] a) {
    total = a[0];
  }

  @GpuKernel
  static void incrementedField(int[] a) {
    total++;
  }

  @GpuKernel
  static void failingInitializer(int[] a) {
    a[0] = Broken.VALUE;
  }

  // --- control

  @GpuKernel
  static void throwing(int[] a) {
    if (a[0] < 0) {
      throw new IllegalStateException();
    }
  }

  @GpuKernel
  static void throwingNull(int[] a) {
    if (a[0] < 0) {
      throw null;
    }
  }

  @GpuKernel
  static void catching(int[] a) {
    a[0] = 0;
    try {
      a[0] = a[1] / a[2];
    } catch (ArithmeticException e) {
      a[0] = -1;
    }
  }

  @GpuKernel
  static void finallyBlock(int[] a) {
    try {
      a[0] = 1;
    } finally {
      a[1] = 2;
    }
  }

  @GpuKernel
  static void tryWithResources(int[] a) {
    try (var resource = new Resource()) {
      a[0] = 1;
    }
  }

  @GpuKernel
  static void tryInACalledMethod(int[] a) {
    a[0] = guarded(a[1]);
  }

  static int guarded(int n) {
    int result;
    try {
      result = 1 / n;
    } catch (ArithmeticException e) {
      result = 0;
    }
    return result;
  }

  @GpuKernel
  static void monitor(int[] a) {
    a[1] = 0;
    synchronized (a) {
      a[0] = 1;
    }
  }

  @GpuKernel
  static void exhaustiveSwitch(int[] a, int n) {
    a[0] = switch (n) {
      case 0 -> 1;
      default -> throw new AssertionError();
    };
  }

  // --- shared memory and arrays

  @GpuKernel
  static void sharedLength(int[] a, int n) {
    a[0] = Gpu.sharedInts(n)[0];
  }

  @GpuKernel
  static void sharedLengthZero(int[] a) {
    int[] empty = Gpu.sharedInts(0);
    a[0] = 1;
  }

  @GpuKernel
  static void sharedLengthNegative(int[] a) {
    float[] wrong = Gpu.sharedFloats(-4);
    a[0] = 1;
  }

  @GpuKernel
  static void sharedTooLarge(int[] a) {
    long[] large = Gpu.sharedLongs(1 << 29);
    large[0] = 1;
    a[0] = (int) large[1];
  }

  @GpuKernel
  static void mixedTernary(int[] a, int n) {
    int[] either =
        n > 0 ? a : Gpu.sharedInts(32);
    either[0] = 1;
  }

  @GpuKernel
  static void mixedVariable(int[] a, int n) {
    int[] either = a;
    if (n > 0) {
      either = Gpu.sharedInts(32);
    }
    either[0] = 1;
  }

  @GpuKernel
  static void swappedLayout(MemorySegment s) {
    s.set(ValueLayout.JAVA_INT.withOrder(ByteOrder.BIG_ENDIAN), 0, 1);
  }

  @GpuKernel
  static void unalignedLayout(MemorySegment s) {
    s.set(ValueLayout.JAVA_INT_UNALIGNED, 0, 1);
  }

  @GpuKernel
  static void slice(MemorySegment s) {
    s.asSlice(4).set(ValueLayout.JAVA_INT, 0, 1);
  }

  @GpuKernel
  static void text(MemorySegment s) {
    s.setString(0, "text");
  }

  @GpuKernel
  static void segmentOfAnArray(int[] a) {
    MemorySegment.ofArray(a).set(ValueLayout.JAVA_INT, 0, 1);
  }

  @GpuKernel
  static void choiceOfLayouts(MemorySegment s, int n) {
    var layout = n > 0 ? ValueLayout.JAVA_INT : ValueLayout.JAVA_INT_UNALIGNED;
    s.set(layout, 0, 1);
  }

  @GpuKernel
  static void arrayOfArrays(int[] a, int[] b) {
    int[][] both = {a, b};
    both[0][0] = 1;
  }

  @GpuKernel
  static void variableArguments(int[] a) {
    a[0] = sum(a[1], a[2]);
  }

  static int sum(int... values) {
    return values[0] + values[1];
  }

  @GpuKernel
  static void genericHelper(int[] a) {
    a[0] = first(a[1], a[2]);
  }

  static <T> T first(T a, T b) {
    return a;
  }

  @GpuKernel
  static void unboxed(int[] a) {
    int n = (Integer) null;
    a[0] = n;
  }

  @GpuKernel
  static void printedFormat(int[] a) {
    System.err.printf("%d", a[0]);
  }

  @GpuKernel
  static void constructorThatCalls(int[] a) {
    a[0] = new Eager(3).n;
  }

  static final class Eager {
    final int n;

    Eager(int n) {
      this.n = n;
    }
  }

  @GpuKernel
  static void nativeInterface(int[] a) {
    a[0] = Thread.currentThread().hashCode();
  }

  @GpuKernel
  static void lambdaInACalledMethod(int[] a) {
    a[0] = apply(x -> x + 1, a[1]);
  }

  static int apply(IntUnaryOperator f, int x) {
    return f.applyAsInt(x);
  }

  @GpuKernel
  static void strictFunction(double[] a) {
    a[0] = StrictMath.cbrt(a[0]);
  }

  @GpuKernel
  static void parsed(int[] a) {
    a[0] = Character.getNumericValue((char) a[1]);
  }

  // --- lifted

  @GpuKernel
  static void assertion(int[] a) {
    assert a[0] > 0;
    a[0] = 1;
  }

  @GpuKernel
  static void enhancedForOverAnArray(int[] a) {
    int sum = 0;
    for (int each : a) {
      sum += each;
    }
    a[0] = sum + a.length;
  }

  @GpuKernel
  static void ternaryOnParameters(int[] a, int[] b, int n) {
    int[] from = n > 0 ? a : b;
    for (int i = 0; i < n; i++) {
      int[] other = from;
      from = from[i] > 0 ? b : other;
    }
    b[0] = from[1];
  }

  @GpuKernel
  static void records(int[] a, int n) {
    var box = new Box(new Pair(n, 1), new Row(a, a.length));
    for (int i = 0; i < n; i++) {
      box = new Box(new Pair(box.corner().y(), box.corner().x()), box.row());
    }
    var chosen = n > 3 ? box.corner() : Pair.of(n);
    box.row().values()[0] = chosen.sum() + box.row().length();
  }

  @GpuKernel
  static void characters(char[] a, int n) {
    a[0] += 1;
    a[1] = (char) (a[2] + n - 'a');
    switch (a[3]) {
      case 'x' -> a[4]++;
      default -> a[5]--;
    }
  }

  @GpuKernel
  static void requiredArray(int[] a) {
    Objects.requireNonNull(a)[0] = Constants.twice(Constants.N);
  }

  @GpuKernel
  static void labels(int[] a, int n) {
    outer:
    for (int i = 0; ; i++) {
      for (int j = 0; j < n; j++) {
        if (a[i] == j) {
          continue outer;
        }
        if (a[j] < 0) {
          break outer;
        }
      }
    }
    a[0] = n;
  }

  @GpuKernel
  static void endless(int[] a) {
    while (true) {
      a[0]++;
    }
  }

  @GpuKernel
  static void sharedInALoop(int[] a, int n) {
    for (int i = 0; i < n; i++) {
      int[] tile = Gpu.sharedInts(32);
      tile[0] = i;
      a[i] = tile[0];
    }
  }

  record Box(Pair corner, Row row) {}

  interface Constants {
    int N = 4;

    static int twice(int n) {
      return 2 * n;
    }
  }

  record Pair(int x, int y) {
    static Pair of(int n) {
      return new Pair(n, n);
    }

    int sum() {
      return x + y;
    }
  }

  record Row(int[] values, int length) {}

  sealed interface Shape {
    default int twice() {
      return 2;
    }
  }

  record Circle(int r) implements Shape {}

  record Square(int s) implements Shape {}

  enum Color {
    RED,
    GREEN
  }

  static final class Counter {
    int count;

    int next() {
      return ++count;
    }
  }

  static final class Resource implements AutoCloseable {
    @Override
    public void close() {}
  }

  static final class Broken {
    static final int VALUE = Integer.parseInt("none");
  }

  static final Counter COUNTER = new Counter();
  static final int[] WEIGHTS = {1, 2, 1};
  static int total;
}
