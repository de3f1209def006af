import dev.athanor.engine.lift.AsyncCopy;
import dev.athanor.engine.lift.Gpu;
import dev.athanor.engine.lift.GpuKernel;
import dev.athanor.engine.lift.intrinsic.AsyncCopyLowerings;
import dev.athanor.engine.lift.intrinsic.Lowered;
import dev.athanor.engine.lift.ir.Effect;
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
    a[0] = 1; // refused: the kernel instance is an instance method; make it static, and pass what it reads as parameters (in instance)
  }

  @GpuKernel
  static int result(int[] a) {
    return a[0]; // refused: the kernel returns int; make it void, and write results to an array parameter (in result)
  }

  @GpuKernel
  static int[] arrayResult(int[] a) {
    return a; // refused: the kernel returns int[]; make it void, and write results to an array parameter (in arrayResult)
  }

  @GpuKernel
  static void stringParameter(String text, int[] a) {
    a[0] = 1; // refused: the parameter text has the type String; use a number, a boolean, an enum, an array of numbers or records, a MemorySegment, or a record of these (in stringParameter)
  }

  @GpuKernel
  static void listParameter(List<Integer> a) {
    a.add(1); // refused: the parameter a has the type List; use a number, a boolean, an enum, an array of numbers or records, a MemorySegment, or a record of these (in listParameter)
  }

  @GpuKernel
  static void boxedParameter(int[] a, Integer n) {
    a[0] = 1; // refused: the parameter n has the type Integer; use a number, a boolean, an enum, an array of numbers or records, a MemorySegment, or a record of these (in boxedParameter)
  }

  @GpuKernel
  static void recordParameter(int[] a, Pair pair) {
    a[0] = pair.x();
  }

  record Named(int n, String name) {}

  @GpuKernel
  static void recordOfObjects(int[] a, Named named) {
    a[0] = named.n(); // refused: the parameter named has the type Named; use a number, a boolean, an enum, an array of numbers or records, a MemorySegment, or a record of these (in recordOfObjects)
  }

  @GpuKernel
  static void arrayOfRecordsOfObjects(int[] a, Named[] named) {
    a[0] = named.length; // refused: named is an array of objects or arrays; use a flat array of numbers or records of numbers, for rows in a record `Matrix(float[] elements, int columns)` (in arrayOfRecordsOfObjects)
  }

  @GpuKernel
  static void arrayOfEnums(int[] a, Operator[] operators) {
    a[0] = operators.length; // refused: operators is an array of objects or arrays; use a flat array of numbers or records of numbers, for rows in a record `Matrix(float[] elements, int columns)` (in arrayOfEnums)
  }

  @GpuKernel
  static void matrixOfRecords(int[] a, Pair[][] pairs) {
    a[0] = pairs.length; // refused: pairs is an array of objects or arrays; use a flat array of numbers or records of numbers, for rows in a record `Matrix(float[] elements, int columns)` (in matrixOfRecords)
  }

  @GpuKernel
  static void arrayOfRecords(Pair[] pairs) {
    pairs[0] = new Pair(pairs[1].x(), pairs.length);
  }

  @GpuKernel
  static void nullElement(Pair[] pairs) {
    pairs[0] = null; // refused: null is not a value of a kernel; pass every array, or select with an int (in nullElement)
  }

  @GpuKernel
  static void elementComparedWithNull(int[] a, Pair[] pairs) {
    if (pairs[0] == null) { // refused: null is not a value of a kernel; pass every array, or select with an int (in elementComparedWithNull)
      a[0] = 1;
    }
  }

  @GpuKernel
  static void identityOfElements(int[] a, Pair[] pairs) {
    a[0] = pairs[0] == pairs[1] ? 1 : 0; // refused: object references are compared; compare numbers (in identityOfElements)
  }

  @GpuKernel
  static void clonedRecords(Pair[] pairs) {
    pairs[0] = pairs.clone()[0]; // refused: `clone()` is called on an array; use only its elements and its length (in clonedRecords)
  }

  @GpuKernel
  static void otherRecord(Pair[] pairs, Flag flag) {
    Object[] objects = pairs;
    objects[0] = flag; // refused: `instanceof` and casts of objects need classes at run time; use numbers (in otherRecord)
  }

  @GpuKernel
  static void privateArrayOfRecords(int[] a) {
    var pairs = new Pair[4]; // refused: `new Refused.Pair[…]` is not an array of numbers with one or two dimensions; use arrays of numbers, or a record for each element (in privateArrayOfRecords)
    a[0] = pairs[0].x();
  }

  private static final Pair[] PAIRS = {new Pair(1, 2)};

  @GpuKernel
  static void constantRecords(int[] a) {
    a[0] = PAIRS[0].x(); // refused: the constant Refused.PAIRS is not a number or an array of numbers; use numbers, or pass what it has as parameters (in constantRecords)
  }

  record Generic<T>(T value) {}

  @GpuKernel
  static void genericRecord(int[] a, Generic<Integer> n) {
    a[0] = 1; // refused: the parameter n has the type Generic; use a number, a boolean, an enum, an array of numbers or records, a MemorySegment, or a record of these (in genericRecord)
  }

  record Node(int n, Node next) {}

  @GpuKernel
  static void recordOfItself(int[] a, Node node) {
    a[0] = node.n(); // refused: the parameter node has the type Node; use a number, a boolean, an enum, an array of numbers or records, a MemorySegment, or a record of these (in recordOfItself)
  }

  @GpuKernel
  static void nullRecord(int[] a, Pair pair) {
    a[0] = pair == null ? 1 : 0; // refused: null is not a value of a kernel; pass every array, or select with an int (in nullRecord)
  }

  @GpuKernel
  static void nestedArrays(int[][] a) {
    a[0][0] = 1; // refused: a is an array of objects or arrays; use a flat array of numbers or records of numbers, for rows in a record `Matrix(float[] elements, int columns)` (in nestedArrays)
  }

  @GpuKernel
  static void arrayOfStrings(int[] a, String[] names) {
    a[0] = names.length; // refused: names is an array of objects or arrays; use a flat array of numbers or records of numbers, for rows in a record `Matrix(float[] elements, int columns)` (in arrayOfStrings)
  }

  @GpuKernel
  static <T> void generic(T[] a, int[] b) {
    b[0] = 1; // refused: the kernel has type parameters; write one method for each type (in generic)
  }

  @GpuKernel
  static <T> void genericButUnused(int[] a) {
    a[0] = 1; // refused: the kernel has type parameters; write one method for each type (in genericButUnused)
  }

  @GpuKernel
  static void varargs(int... values) {
    values[0] = 1; // refused: the parameter values takes a variable number of arguments; declare it as an array (in varargs)
  }

  @GpuKernel
  static synchronized void synchronizedMethod(int[] a) {
    a[0] = 1; // refused: `synchronized` needs a monitor; use Gpu.barrier(), or Gpu's atomics (in synchronizedMethod)
  }

  @GpuKernel
  static native void nativeMethod(int[] a); // refused: nativeMethod has no Java body; use a static method that has one (in nativeMethod)

  @GpuKernel
  static void checkedException(int[] a) throws java.io.IOException {
    a[0] = 1; // refused: the kernel has a throws clause, and a GPU thread has no exceptions; remove it (in checkedException)
  }

  @GpuKernel(blockSize = 2048) // refused: blockSize makes 2048 threads; give extents with a product of at most 1024 (in blockTooLarge)
  static void blockTooLarge(int[] a) {}

  @GpuKernel(blockSize = {64, 32}) // refused: blockSize makes 2048 threads; give extents with a product of at most 1024 (in blockTooLargeInTwoExtents)
  static void blockTooLargeInTwoExtents(int[] a) {}

  @GpuKernel(blockSize = {65536, 65536, 1}) // refused: blockSize makes 4294967296 threads; give extents with a product of at most 1024 (in blockBeyondAnInt)
  static void blockBeyondAnInt(int[] a) {}

  @GpuKernel(blockSize = 0) // refused: blockSize has the extent 0; give extents of 1 or more (in emptyBlock)
  static void emptyBlock(int[] a) {}

  @GpuKernel(blockSize = {32, -1}) // refused: blockSize has the extent -1; give extents of 1 or more (in negativeExtent)
  static void negativeExtent(int[] a) {}

  @GpuKernel(blockSize = {1, 1, 128}) // refused: blockSize has the z extent 128; give a z extent of at most 64 (in deepBlock)
  static void deepBlock(int[] a) {}

  @GpuKernel(blockSize = 256, minBlocks = 9) // refused: minBlocks is 9, and blockSize makes 256 threads; declare a blockSize, and 1 to 32 blocks with at most 2048 threads (in manyBlocks)
  static void manyBlocks(int[] x) {}

  @GpuKernel(minBlocks = 2) // refused: minBlocks is 2, and blockSize makes 0 threads; declare a blockSize, and 1 to 32 blocks with at most 2048 threads (in unknownBlocks)
  static void unknownBlocks(int[] x) {}

  @GpuKernel(blockSize = {1, 1, 1, 1}) // refused: blockSize has 4 extents; give one to three, for x, y and z (in fourExtents)
  static void fourExtents(int[] a) {}

  // --- memory and objects

  @GpuKernel
  static void newArray(int[] a) {
    a[0] = // refused: the length of `new int[…]` is not a constant, and a GPU thread has no heap; use a compile-time constant, or Gpu.shared… for memory of the block (in newArray)
        new int[a.length].length;
  }

  @GpuKernel
  static void arrayInitializer(int[] a) {
    int[] weights = {1, 2, 1};
    a[0] = weights[0];
  }

  @GpuKernel
  static void negativeLength(int[] a) {
    a[0] = new int[-1].length; // refused: `new int[…]` has the length -1; use a length of at least 0 (in negativeLength)
  }

  @GpuKernel
  static void largePrivateArray(int[] a) {
    var large = new double[100][100]; // refused: the arrays that a thread creates take 80000 bytes; use at most 65536, or an array that is passed to the kernel (in largePrivateArray)
    a[0] = large.length;
  }

  @GpuKernel
  static void privateAtomic(int[] a) {
    var counts = new int[4];
    Gpu.atomicAdd(counts, a[0], 1); // refused: `counts` is an array of one thread, which no other thread, atomic operation or matrix operation accesses; use a shared array or a parameter (in privateAtomic)
    a[0] = counts[1];
  }

  @GpuKernel
  static void replacedRow(int[] a) {
    var rows = new int[2][2];
    rows[1] = rows[0]; // refused: a row of an array of arrays is replaced; copy its numbers (in replacedRow)
    a[0] = rows[1][0];
  }

  @GpuKernel
  static void arrayOfAnEarlierIteration(int[] a) {
    var last = new int[2];
    for (int i = 0; i < a.length; i++) {
      var next = new int[2]; // refused: an array that a loop creates is used in a later iteration; create it before the loop (in arrayOfAnEarlierIteration)
      next[0] = last[1] + a[i];
      next[1] = last[0];
      last = next;
    }
    a[0] = last[0];
  }

  @GpuKernel
  static void arraysOfLoopsInOneVariableSlot(int[] a) {
    for (int i = 0; i < a.length; i++) {
      var first = new int[2];
      first[a[i] & 1] = 1;
      a[i] = first[0];
    }
    for (int i = 0; i < a.length; i++) {
      var second = new int[2];
      second[a[i] & 1] = 1;
      a[i] += second[0];
    }
  }

  @GpuKernel
  static void newArrayOfObjects(int[] a) {
    a[0] = new Pair[4].length; // refused: `new Refused.Pair[…]` is not an array of numbers with one or two dimensions; use arrays of numbers, or a record for each element (in newArrayOfObjects)
  }

  @GpuKernel
  static void newMatrix(int[] a) {
    a[0] = new int[4][4][2].length; // refused: `new int[…][…][…]` is not an array of numbers with one or two dimensions; use arrays of numbers, or a record for each element (in newMatrix)
  }

  @GpuKernel
  static void newObject(int[] a) {
    a[0] = new Counter().next(); // refused: `new Refused.Counter(…)` creates an object, and a GPU thread has no heap; use a record of numbers, which is kept in registers, or separate variables (in newObject)
  }

  @GpuKernel
  static void newList(int[] a) {
    var list = new ArrayList<Integer>(); // refused: `new ArrayList(…)` creates an object, and a GPU thread has no heap; use a record of numbers, which is kept in registers, or separate variables (in newList)
    list.add(a[0]);
  }

  @GpuKernel
  static void enhancedForOverAList(int[] a) {
    for (int each : List.of(1, 2)) { // refused: List.of has no meaning on a GPU; use static methods of yours, Math or Gpu (in enhancedForOverAList)
      a[each] = 1;
    }
  }

  @GpuKernel
  static void stringBuilder(int[] a) {
    a[0] = new StringBuilder().length(); // refused: `new StringBuilder(…)` creates an object, and a GPU thread has no heap; use a record of numbers, which is kept in registers, or separate variables (in stringBuilder)
  }

  @GpuKernel
  static void recordWithANewArray(int[] a) {
    var row = new Row(new int[2], 1);
    a[0] = row.values()[0];
  }

  @GpuKernel
  static void printedObject(int[] a) {
    var pair = new Pair(1, 2);
    a[0] = pair.hashCode(); // refused: Refused.Pair.hashCode needs objects; compare or combine the components of the record (in printedObject)
  }

  @GpuKernel
  static void comparedRecords(int[] a) {
    a[0] = new Pair(1, 2).equals(new Pair(1, 2)) ? 1 : 0; // refused: Refused.Pair.equals needs objects; compare or combine the components of the record (in comparedRecords)
  }

  @GpuKernel
  static void identityOfRecords(int[] a) {
    a[0] = new Pair(1, 2) == new Pair(1, 2) ? 1 : 0; // refused: object references are compared; compare numbers (in identityOfRecords)
  }

  @GpuKernel
  static void identityOfArrays(int[] a, int[] b) {
    a[0] = a == b ? 1 : 0; // refused: object references are compared; compare numbers (in identityOfArrays)
  }

  @GpuKernel
  static void comparisonWithNull(int[] a, int[] b) {
    if (b != null) { // refused: null is not a value of a kernel; pass every array, or select with an int (in comparisonWithNull)
      a[0] = 1;
    }
  }

  @GpuKernel
  static void nullVariable(int[] a) {
    int[] b = null; // refused: null is not a value of a kernel; pass every array, or select with an int (in nullVariable)
    a[0] = 1;
  }

  @GpuKernel
  static void cloned(int[] a) {
    a[0] = a.clone()[0]; // refused: `clone()` is called on an array; use only its elements and its length (in cloned)
  }

  @GpuKernel
  static void arrayCopy(int[] a, int[] b) {
    System.arraycopy(a, 0, b, 0, 4); // refused: System.arraycopy has no meaning on a GPU; use static methods of yours, Math or Gpu (in arrayCopy)
  }

  @GpuKernel
  static void boxed(int[] a) {
    Integer n = a[0];
    a[1] = n.hashCode(); // refused: Integer.hashCode is called on an object, which a GPU thread does not have; call a static method, or a method of a record (in boxed)
  }

  @GpuKernel
  static void classOfAnArray(int[] a) {
    a[0] = a.getClass() == int[].class ? 1 : 0; // refused: `getClass()` is called on an array; use only its elements and its length (in classOfAnArray)
  }

  @GpuKernel
  static void classLiteral(int[] a) {
    Class<?> type = int[].class; // refused: int[].class is a class literal, which has no value on a GPU; compute with numbers only (in classLiteral)
    a[0] = 1;
  }

  @GpuKernel
  static void instanceOf(int[] a) {
    Object o = a;
    a[0] = o instanceof int[] ? 1 : 0; // refused: `instanceof` and casts of objects need classes at run time; use numbers (in instanceOf)
  }

  @GpuKernel
  static void castOfAnObject(int[] a) {
    Object o = a;
    ((float[]) o)[0] = 1; // refused: `instanceof` and casts of objects need classes at run time; use numbers (in castOfAnObject)
  }

  @GpuKernel
  static void arrayAsObject(int[] a) {
    a[0] = Objects.hashCode(a); // refused: Objects.hashCode has no meaning on a GPU; use static methods of yours, Math or Gpu (in arrayAsObject)
  }

  @GpuKernel
  static void enumName(int[] a) {
    a[0] = Color.RED.name().length(); // refused: Refused.Color.name has no meaning on a GPU; use static methods of yours, Math or Gpu (in enumName)
  }

  enum Operator {
    PLUS {
      @Override
      int apply(int a, int b) {
        return a + b;
      }
    };

    abstract int apply(int a, int b);
  }

  @GpuKernel
  static void enumWithMethods(int[] a) {
    a[0] = Operator.PLUS.apply(a[1], a[2]); // refused: Refused.Operator.apply of an enum needs objects; use its constants, ordinal(), values(), comparisons, and fields that are numbers (in enumWithMethods)
  }

  @GpuKernel
  static void patternSwitch(int[] a) {
    Shape shape = new Circle(1);
    a[0] =
        switch (shape) { // refused: a pattern is matched against an object, which needs classes at run time; use numbers, with `if` or a switch on an int (in patternSwitch)
          case Circle(int r) -> r;
          case Square(int s) -> s;
        };
  }

  @GpuKernel
  static void recordPattern(int[] a) {
    Object o = new Pair(1, 2);
    if (o instanceof Pair(int x, int y)) { // refused: a pattern is matched against an object, which needs classes at run time; use numbers, with `if` or a switch on an int (in recordPattern)
      a[0] = x + y;
    }
  }

  // --- text

  @GpuKernel
  static void string(int[] a) {
    a[0] = "text".length(); // refused: "text" is a string, which has no type on a GPU; compute with numbers only (in string)
  }

  @GpuKernel
  static void concatenation(int[] a, int n) {
    a[0] = ("n" + n).length(); // refused: a string is concatenated; pass numbers to Gpu.print as values (in concatenation)
  }

  @GpuKernel
  static void stringSwitch(int[] a) {
    switch ("b") { // refused: "b" is a string, which has no type on a GPU; compute with numbers only (in stringSwitch)
      case "a" -> a[0] = 1;
      default -> a[0] = 2;
    }
  }

  @GpuKernel
  static void print(int[] a) {
    System.out.println(a[0]); // refused: System.out prints text; use Gpu.print (in print)
  }

  @GpuKernel
  static void printedFloat(int[] a, float f, boolean b, byte y) {
    Gpu.print("%d", f); // refused: the format of Gpu.print is refused: `%d` does not format the type float; it takes %d, %x and %o of integers, %f, %e, %g and %a of float and double, %c of characters, %n and %% (in printedFloat)
  }

  @GpuKernel
  static void printedInt(int[] a, float f, boolean b, byte y) {
    Gpu.print("%d %5.2f", a[0], a[1]); // refused: the format of Gpu.print is refused: `%5.2f` does not format the type int; it takes %d, %x and %o of integers, %f, %e, %g and %a of float and double, %c of characters, %n and %% (in printedInt)
  }

  @GpuKernel
  static void printedLong(int[] a, float f, boolean b, byte y) {
    Gpu.print("%c", 1L); // refused: the format of Gpu.print is refused: `%c` does not format the type long; it takes %d, %x and %o of integers, %f, %e, %g and %a of float and double, %c of characters, %n and %% (in printedLong)
  }

  @GpuKernel
  static void printedPrecision(int[] a, float f, boolean b, byte y) {
    Gpu.print("%.3d", a[0]); // refused: the format of Gpu.print is refused: `%.3d` does not format the type int; it takes %d, %x and %o of integers, %f, %e, %g and %a of float and double, %c of characters, %n and %% (in printedPrecision)
  }

  @GpuKernel
  static void printedFlags(int[] a, float f, boolean b, byte y) {
    Gpu.print("%-05d", a[0]); // refused: the format of Gpu.print is refused: `%-05d` does not format the type int; it takes %d, %x and %o of integers, %f, %e, %g and %a of float and double, %c of characters, %n and %% (in printedFlags)
  }

  @GpuKernel
  static void printedBoolean(int[] a, float f, boolean b, byte y) {
    Gpu.print("%d", b); // refused: the format of Gpu.print is refused: `%d` does not format the type boolean; it takes %d, %x and %o of integers, %f, %e, %g and %a of float and double, %c of characters, %n and %% (in printedBoolean)
  }

  @GpuKernel
  static void printedCharacter(int[] a, float f, boolean b, byte y) {
    Gpu.print("%d", 'x'); // refused: the format of Gpu.print is refused: `%d` does not format the type char; it takes %d, %x and %o of integers, %f, %e, %g and %a of float and double, %c of characters, %n and %% (in printedCharacter)
  }

  @GpuKernel
  static void printedWord(int[] a, float f, boolean b, byte y) {
    Gpu.print("%b", b); // refused: the format of Gpu.print is refused: `%b` is not supported; it takes %d, %x and %o of integers, %f, %e, %g and %a of float and double, %c of characters, %n and %% (in printedWord)
  }

  @GpuKernel
  static void printedString(int[] a, float f, boolean b, byte y) {
    Gpu.print("%s", "text"); // refused: the format of Gpu.print is refused: `%s` is not supported; it takes %d, %x and %o of integers, %f, %e, %g and %a of float and double, %c of characters, %n and %% (in printedString)
  }

  @GpuKernel
  static void printedText(int[] a, float f, boolean b, byte y) {
    Gpu.print("%d", "text"); // refused: the format of Gpu.print is refused: `%d` does not format the type String; it takes %d, %x and %o of integers, %f, %e, %g and %a of float and double, %c of characters, %n and %% (in printedText)
  }

  @GpuKernel
  static void printedRecords(int[] a, float f, boolean b, byte y) {
    Gpu.print("%d", new Pair(1, 2)); // refused: the format of Gpu.print is refused: `%d` does not format the type Object; it takes %d, %x and %o of integers, %f, %e, %g and %a of float and double, %c of characters, %n and %% (in printedRecords)
  }

  @GpuKernel
  static void printedIndex(int[] a, float f, boolean b, byte y) {
    Gpu.print("%2$d %1$d", 1, 2); // refused: the format of Gpu.print is refused: `%2$d` is not supported; it takes %d, %x and %o of integers, %f, %e, %g and %a of float and double, %c of characters, %n and %% (in printedIndex)
  }

  @GpuKernel
  static void printedGroups(int[] a, float f, boolean b, byte y) {
    Gpu.print("%,d", a[0]); // refused: the format of Gpu.print is refused: `%,d` is not supported; it takes %d, %x and %o of integers, %f, %e, %g and %a of float and double, %c of characters, %n and %% (in printedGroups)
  }

  @GpuKernel
  static void printedWidth(int[] a, float f, boolean b, byte y) {
    Gpu.print("%1000d", a[0]); // refused: the format of Gpu.print is refused: `%1000d` is not supported; it takes %d, %x and %o of integers, %f, %e, %g and %a of float and double, %c of characters, %n and %% (in printedWidth)
  }

  @GpuKernel
  static void printedPercent(int[] a, float f, boolean b, byte y) {
    Gpu.print("100 %"); // refused: the format of Gpu.print is refused: `%` is not supported; it takes %d, %x and %o of integers, %f, %e, %g and %a of float and double, %c of characters, %n and %% (in printedPercent)
  }

  @GpuKernel
  static void printedTooFew(int[] a, float f, boolean b, byte y) {
    Gpu.print("%d %x", a[0]); // refused: the format of Gpu.print is refused: `%x` has no value; it takes %d, %x and %o of integers, %f, %e, %g and %a of float and double, %c of characters, %n and %% (in printedTooFew)
  }

  @GpuKernel
  static void printedTooMany(int[] a, float f, boolean b, byte y) {
    Gpu.print("%d%n", a[0], a[1]); // refused: the format of Gpu.print is refused: it has 1 conversion for 2 values; it takes %d, %x and %o of integers, %f, %e, %g and %a of float and double, %c of characters, %n and %% (in printedTooMany)
  }

  @GpuKernel
  static void printedZero(int[] a, float f, boolean b, byte y) {
    Gpu.print("a\0"); // refused: the format of Gpu.print is refused: it has the character 0, which ends a string in C; it takes %d, %x and %o of integers, %f, %e, %g and %a of float and double, %c of characters, %n and %% (in printedZero)
  }

  @GpuKernel
  static void printedMost(int[] a, float f, boolean b, byte y) {
    Gpu.print("%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d%d", y, y, y, y, y, y, y, y, y, y, y, y, y, y, y, y, y, y, y, y, y, y, y, y, y, y, y, y, y, y, y, y, y); // refused: the format of Gpu.print is refused: it has 33 conversions, and the maximum is 32; it takes %d, %x and %o of integers, %f, %e, %g and %a of float and double, %c of characters, %n and %% (in printedMost)
  }

  @GpuKernel
  static void printedChoice(int[] a) {
    Gpu.print(a[0] > 0 ? "yes" : "no"); // refused: a conditional expression is a string, which has no type on a GPU; compute with numbers only (in printedChoice)
  }

  @GpuKernel
  static void printedVariable(int[] a) {
    String s = "yes";
    if (a[0] > 0) {
      s = "no";
    }
    Gpu.print(s); // refused: s is a string, which has no type on a GPU; compute with numbers only (in printedVariable)
  }

  @GpuKernel
  static void printedArgument(int[] a) {
    printHelper("%d", a[0]); // refused: `new Object[…]` is not an array of numbers with one or two dimensions; use arrays of numbers, or a record for each element (in printedArgument)
  }

  static void printHelper(String format, Object... values) {
    Gpu.print(format, values);
  }

  @GpuKernel
  static void printedValues(Pair[] pairs) {
    Gpu.print("%d", pairs); // refused: the values of Gpu.print are an array; pass them one by one (in printedValues)
  }

  @GpuKernel
  static void printedConcatenation(int[] a) {
    Gpu.print("a[0] is " + a[0]); // refused: a string is concatenated; pass numbers to Gpu.print as values (in printedConcatenation)
  }

  @GpuKernel
  static void printedField(int[] a) {
    Gpu.print(PRINTED, a[0]); // refused: the constant Refused.PRINTED is not a number or an array of numbers; use numbers, or pass what it has as parameters (in printedField)
  }

  @GpuKernel
  static void objects(int[] a) {
    Object[] o = {a[0]}; // refused: `new Object[…]` is not an array of numbers with one or two dimensions; use arrays of numbers, or a record for each element (in objects)
  }

  static final String PRINTED = String.valueOf("%d");

  @GpuKernel
  static void format(int[] a) {
    a[0] = String.valueOf(a[1]).length(); // refused: String.valueOf has no meaning on a GPU; use static methods of yours, Math or Gpu (in format)
  }

  // --- calls

  @GpuKernel
  static void recursion(int[] a) {
    a[0] = factorial(a[1]);
  }

  static int factorial(int n) {
    return n < 2 ? 1 : n * factorial(n - 1); // refused: Refused.factorial calls itself; write a loop (in factorial)
  }

  @GpuKernel
  static void mutualRecursion(int[] a) {
    a[0] = isEven(a[1]) ? 1 : 0;
  }

  static boolean isEven(int n) {
    return n == 0 || isOdd(n - 1);
  }

  static boolean isOdd(int n) {
    return n != 0 && isEven(n - 1); // refused: Refused.isEven calls itself; write a loop (in isOdd)
  }

  @GpuKernel
  static void endlessFunction(int[] a) {
    a[0] = applyToItself(Refused::applyToItself, a[1]);
  }

  interface SelfApplied {
    int apply(SelfApplied f, int x);
  }

  static int applyToItself(SelfApplied f, int x) {
    return f.apply(f, x); // refused: Refused.applyToItself calls itself; write a loop (in applyToItself)
  }

  @GpuKernel
  static void chosenFunction(int[] a) {
    IntUnaryOperator f = x -> x;
    if (a[0] > 0) {
      f = x -> 2 * x;
    }
    a[0] = f.applyAsInt(1); // refused: f has values of different types on different paths; use one variable for each type (in chosenFunction)
  }

  @GpuKernel
  static void anonymousClass(int[] a) {
    Runnable run = // refused: an anonymous class needs an object; write a lambda (in anonymousClass)
        new Runnable() {
          @Override
          public void run() {}
        };
    run.run();
  }

  @GpuKernel
  static void random(float[] a) {
    a[0] = (float) Math.random(); // refused: Math.random has no meaning on a GPU; kernels can call Math.abs, acos, asin, atan, atan2, cbrt, ceil, clamp, copySign, cos, exp, expm1, floor, floorDiv, floorMod, fma, hypot, log, log10, log1p, max, min, multiplyHigh, pow, rint, round, signum, sin, sqrt, tan, tanh, toDegrees, toRadians, unsignedMultiplyHigh; use one of these, or write a static method (in random)
  }

  @GpuKernel
  static void unknownFunction(double[] a) {
    a[0] = Math.sinh(a[0]); // refused: Math.sinh has no meaning on a GPU; kernels can call Math.abs, acos, asin, atan, atan2, cbrt, ceil, clamp, copySign, cos, exp, expm1, floor, floorDiv, floorMod, fma, hypot, log, log10, log1p, max, min, multiplyHigh, pow, rint, round, signum, sin, sqrt, tan, tanh, toDegrees, toRadians, unsignedMultiplyHigh; use one of these, or write a static method (in unknownFunction)
  }

  @GpuKernel
  static void exactAddition(int[] a) {
    a[0] = Math.addExact(a[0], 1); // refused: Math.addExact has no meaning on a GPU; kernels can call Math.abs, acos, asin, atan, atan2, cbrt, ceil, clamp, copySign, cos, exp, expm1, floor, floorDiv, floorMod, fma, hypot, log, log10, log1p, max, min, multiplyHigh, pow, rint, round, signum, sin, sqrt, tan, tanh, toDegrees, toRadians, unsignedMultiplyHigh; use one of these, or write a static method (in exactAddition)
  }

  @GpuKernel
  static void clock(long[] a) {
    a[0] = System.nanoTime(); // refused: System.nanoTime has no meaning on a GPU; use static methods of yours, Math or Gpu (in clock)
  }

  @GpuKernel
  static void onSpinWait(int[] a) {
    Thread.onSpinWait(); // refused: Thread.onSpinWait has no meaning on a GPU; use static methods of yours, Math or Gpu (in onSpinWait)
  }

  @GpuKernel
  static void nativeCall(int[] a) {
    a[0] = outside(); // refused: Refused.outside has no Java body; use a static method that has one (in nativeCall)
  }

  static native int outside();

  @GpuKernel
  static void defaultMethod(int[] a) {
    Shape shape = new Circle(1);
    a[0] = shape.twice(); // refused: Refused.Shape.twice is called through an interface; call a static method, or a method of a record (in defaultMethod)
  }

  @GpuKernel
  static void instanceField(int[] a) {
    a[0] = COUNTER.count; // refused: the constant Refused.COUNTER is not a number or an array of numbers; use numbers, or pass what it has as parameters (in instanceField)
  }

  @GpuKernel
  static void constantArray(int[] a) {
    WEIGHTS[1] = a[0]; // refused: the constant array `Refused.WEIGHTS` is written; pass it as a parameter (in constantArray)
  }

  @GpuKernel
  static void staticVariable(int[] a) {
    a[0] = total; // refused: the field Refused.total is static but not final; pass its value as a parameter (in staticVariable)
  }

  @GpuKernel
  static void writtenField(int[] a) {
    total = a[0]; // refused: the field Refused.total is written; write the value to an array parameter (in writtenField)
  }

  @GpuKernel
  static void incrementedField(int[] a) {
    total++; // refused: the field Refused.total is static but not final; pass its value as a parameter (in incrementedField)
  }

  @GpuKernel
  static void failingInitializer(int[] a) {
    a[0] = Broken.VALUE; // refused: the class of Refused.Broken.VALUE cannot be initialized: java.lang.NumberFormatException: For input string: "none"; mend its static initializer (in failingInitializer)
  }

  // --- control

  @GpuKernel
  static void throwing(int[] a) {
    if (a[0] < 0) {
      throw new IllegalStateException(); // refused: `throw new IllegalStateException(…)` ends in an exception, and a GPU thread has none; return early, or write an error code to an array (in throwing)
    }
  }

  @GpuKernel
  static void throwingNull(int[] a) {
    if (a[0] < 0) {
      throw null; // refused: null is not a value of a kernel; pass every array, or select with an int (in throwingNull)
    }
  }

  @GpuKernel
  static void catching(int[] a) {
    a[0] = 0;
    try {
      a[0] = a[1] / a[2]; // refused: a try block catches exceptions, and a GPU thread has none; test for the case with `if`; launches with checks report bad indices and divisions by zero (in catching)
    } catch (ArithmeticException e) {
      a[0] = -1;
    }
  }

  @GpuKernel
  static void finallyBlock(int[] a) {
    try {
      a[0] = 1; // refused: a try block catches exceptions, and a GPU thread has none; test for the case with `if`; launches with checks report bad indices and divisions by zero (in finallyBlock)
    } finally {
      a[1] = 2;
    }
  }

  @GpuKernel
  static void tryWithResources(int[] a) {
    try (var resource = new Resource()) {
      a[0] = 1; // refused: a try block catches exceptions, and a GPU thread has none; test for the case with `if`; launches with checks report bad indices and divisions by zero (in tryWithResources)
    }
  }

  @GpuKernel
  static void tryInACalledMethod(int[] a) {
    a[0] = guarded(a[1]);
  }

  static int guarded(int n) {
    int result;
    try {
      result = 1 / n; // refused: a try block catches exceptions, and a GPU thread has none; test for the case with `if`; launches with checks report bad indices and divisions by zero (in guarded)
    } catch (ArithmeticException e) {
      result = 0;
    }
    return result;
  }

  @GpuKernel
  static void monitor(int[] a) {
    a[1] = 0;
    synchronized (a) { // refused: `synchronized` needs a monitor; use Gpu.barrier(), or Gpu's atomics (in monitor)
      a[0] = 1;
    }
  }

  @GpuKernel
  static void exhaustiveSwitch(int[] a, int n) {
    a[0] = switch (n) {
      case 0 -> 1;
      default -> throw new AssertionError(); // refused: `throw new AssertionError(…)` ends in an exception, and a GPU thread has none; return early, or write an error code to an array (in exhaustiveSwitch)
    };
  }

  @GpuKernel(blockSize = 64)
  static void barrierInHalfTheBlock(int[] a) {
    if (Gpu.threadIdxX() < 32) { // refused: the condition differs between the threads of a block, and only some of them reach a barrier; call barriers and block reductions in all threads (in barrierInHalfTheBlock)
      a[Gpu.threadIdxX()] = 1;
      Gpu.barrier();
    }
  }

  @GpuKernel(blockSize = 64)
  static void reductionInAWarp(int[] a) {
    boolean isFirst = Gpu.warpId() == 0; // refused: the condition differs between the threads of a block, and only some of them reach a barrier; call barriers and block reductions in all threads (in reductionInAWarp)
    if (isFirst && a[0] > 3) {
      a[1] = Gpu.blockSum(a[2]);
    }
  }

  @GpuKernel(blockSize = {8, 8})
  static void barrierAfterAReturn(int[] a) {
    if (Gpu.threadIdxX() + Gpu.threadIdxY() == 14) { // refused: the condition differs between the threads of a block, and only some of them reach a barrier; call barriers and block reductions in all threads (in barrierAfterAReturn)
      return;
    }
    Gpu.barrier();
    a[Gpu.threadIdxX()] = 1;
  }

  @GpuKernel(blockSize = 64)
  static void barrierInTheWholeBlock(int[] a, int n) {
    if (Gpu.threadIdxX() < 64 && n > 3) {
      Gpu.barrier();
    }
    if (Gpu.threadIdxX() < 32) {
      a[Gpu.threadIdxX()] = 1;
    } else {
      a[Gpu.threadIdxX()] = 2;
    }
    Gpu.barrier();
  }

  @GpuKernel(blockSize = 64)
  static void warpOperationInAWarp(int[] a) {
    if (Gpu.warpId() == 0) {
      a[Gpu.threadIdxX()] = Gpu.warpSum(a[Gpu.threadIdxX()]);
    }
  }

  @GpuKernel
  static void barrierInAnyBlock(int[] a) {
    if (Gpu.threadIdxX() < 32) {
      Gpu.barrier();
    }
  }

  @GpuKernel
  static void deepCalls(int[] a) {
    a[0] = step0(a[1]);
  }

  static int step0(int x) {
    return step1(x) + 1;
  }

  static int step1(int x) {
    return step2(x) + 1;
  }

  static int step2(int x) {
    return step3(x) + 1;
  }

  static int step3(int x) {
    return step4(x) + 1;
  }

  static int step4(int x) {
    return step5(x) + 1;
  }

  static int step5(int x) {
    return step6(x) + 1;
  }

  static int step6(int x) {
    return step7(x) + 1;
  }

  static int step7(int x) {
    return step8(x) + 1;
  }

  static int step8(int x) {
    return step9(x) + 1;
  }

  static int step9(int x) {
    return step10(x) + 1;
  }

  static int step10(int x) {
    return step11(x) + 1;
  }

  static int step11(int x) {
    return step12(x) + 1;
  }

  static int step12(int x) {
    return step13(x) + 1;
  }

  static int step13(int x) {
    return step14(x) + 1;
  }

  static int step14(int x) {
    return step15(x) + 1;
  }

  static int step15(int x) {
    return step16(x) + 1;
  }

  static int step16(int x) {
    return step17(x) + 1;
  }

  static int step17(int x) {
    return step18(x) + 1;
  }

  static int step18(int x) {
    return step19(x) + 1;
  }

  static int step19(int x) {
    return step20(x) + 1;
  }

  static int step20(int x) {
    return step21(x) + 1;
  }

  static int step21(int x) {
    return step22(x) + 1;
  }

  static int step22(int x) {
    return step23(x) + 1;
  }

  static int step23(int x) {
    return step24(x) + 1;
  }

  static int step24(int x) {
    return step25(x) + 1;
  }

  static int step25(int x) {
    return step26(x) + 1;
  }

  static int step26(int x) {
    return step27(x) + 1;
  }

  static int step27(int x) {
    return step28(x) + 1;
  }

  static int step28(int x) {
    return step29(x) + 1;
  }

  static int step29(int x) {
    return step30(x) + 1;
  }

  static int step30(int x) {
    return step31(x) + 1;
  }

  static int step31(int x) {
    return step32(x) + 1;
  }

  static int step32(int x) {
    return step33(x) + 1;
  }

  static int step33(int x) {
    return step34(x) + 1;
  }

  static int step34(int x) {
    return step35(x) + 1;
  }

  static int step35(int x) {
    return step36(x) + 1;
  }

  static int step36(int x) {
    return step37(x) + 1;
  }

  static int step37(int x) {
    return step38(x) + 1;
  }

  static int step38(int x) {
    return step39(x) + 1;
  }

  static int step39(int x) {
    return step40(x) + 1;
  }

  static int step40(int x) {
    return step41(x) + 1;
  }

  static int step41(int x) {
    return step42(x) + 1;
  }

  static int step42(int x) {
    return step43(x) + 1;
  }

  static int step43(int x) {
    return step44(x) + 1;
  }

  static int step44(int x) {
    return step45(x) + 1;
  }

  static int step45(int x) {
    return step46(x) + 1;
  }

  static int step46(int x) {
    return step47(x) + 1;
  }

  static int step47(int x) {
    return step48(x) + 1;
  }

  static int step48(int x) {
    return step49(x) + 1;
  }

  static int step49(int x) {
    return step50(x) + 1;
  }

  static int step50(int x) {
    return step51(x) + 1;
  }

  static int step51(int x) {
    return step52(x) + 1;
  }

  static int step52(int x) {
    return step53(x) + 1;
  }

  static int step53(int x) {
    return step54(x) + 1;
  }

  static int step54(int x) {
    return step55(x) + 1;
  }

  static int step55(int x) {
    return step56(x) + 1;
  }

  static int step56(int x) {
    return step57(x) + 1;
  }

  static int step57(int x) {
    return step58(x) + 1;
  }

  static int step58(int x) {
    return step59(x) + 1;
  }

  static int step59(int x) {
    return step60(x) + 1;
  }

  static int step60(int x) {
    return step61(x) + 1;
  }

  static int step61(int x) {
    return step62(x) + 1;
  }

  static int step62(int x) {
    return step63(x) + 1;
  }

  static int step63(int x) {
    return step64(x) + 1; // refused: Refused.step64 is called more than 64 calls deep; write shorter chains of calls (in step63)
  }

  static int step64(int x) {
    return step65(x) + 1;
  }

  static int step65(int x) {
    return step66(x) + 1;
  }

  static int step66(int x) {
    return step67(x) + 1;
  }

  static int step67(int x) {
    return step68(x) + 1;
  }

  static int step68(int x) {
    return step69(x) + 1;
  }

  static int step69(int x) {
    return step70(x) + 1;
  }

  static int step70(int x) {
    return x;
  }

  @GpuKernel
  static void manyCalls(int[] a) {
    a[0] = power6(a[1]);
  }

  static int power6(int x) {
    return power5(power5(power5(power5(x)))); // refused: the kernel makes more than 4096 calls, which are all inlined; call methods in loops, or write fewer calls (in power6)
  }

  static int power5(int x) {
    return power4(power4(power4(power4(x))));
  }

  static int power4(int x) {
    return power3(power3(power3(power3(x))));
  }

  static int power3(int x) {
    return power2(power2(power2(power2(x))));
  }

  static int power2(int x) {
    return power1(power1(power1(power1(x))));
  }

  static int power1(int x) {
    return power0(power0(power0(power0(x))));
  }

  static int power0(int x) {
    return x * x + 1;
  }

  @GpuKernel
  static void unknownComparison(boolean[] a) {
    a[0] = Boolean.compare(a[1], true) > 0; // refused: Boolean.compare has no meaning on a GPU; kernels can call Boolean.logicalAnd, logicalOr, logicalXor; use one of these, or write a static method (in unknownComparison)
  }

  // --- shared memory and arrays

  @GpuKernel
  static void twoDynamicArrays(int[] a) {
    int[] ints = Gpu.dynamicSharedInts();
    float[] floats = Gpu.dynamicSharedFloats(); // refused: the dynamic shared array has elements of int and of float; use one type (in twoDynamicArrays)
    ints[0] = (int) floats[0];
  }

  @GpuKernel
  static void arrayOfALoop(int[] a, int n) {
    int[] either = a;
    for (int i = 0; i < n; i++) { // refused: either has arrays in different memories on different paths; use two variables, one for each memory (in arrayOfALoop)
      either[0] = i;
      either = Gpu.sharedInts(32);
    }
  }

  @GpuKernel
  static void variableIsReusedInALoop(int[] a, int n) {
    {
      int[] alias = a;
      alias[0] = 1;
    }
    for (int i = 0; i < n; i++) {
      Pair pair = new Pair(i, 1);
      a[1] += pair.x();
    }
  }

  @GpuKernel
  static void recordOfALoop(int[] a, int n) {
    Area area = new Room(2);
    for (int i = 0; i < n; i++) { // refused: area has values of different types on different paths; use one variable for each type (in recordOfALoop)
      a[0] += area.size();
      area = new Hall(3);
    }
  }

  @GpuKernel
  static void recordOfTwoTypes(int[] a, int n) {
    Area area;
    if (n > 0) {
      area = new Room(2);
    } else {
      area = new Hall(3);
    }
    a[0] = area.size(); // refused: area has values of different types on different paths; use one variable for each type (in recordOfTwoTypes)
  }

  @GpuKernel
  static void ternaryOfTwoTypes(int[] a, int n) {
    Area area = n > 0 ? new Room(2) : new Hall(3); // refused: a conditional expression has values of different types on different paths; use one variable for each type (in ternaryOfTwoTypes)
    a[0] = area.size();
  }


  @GpuKernel
  static void sharedLength(int[] a, int n) {
    a[0] = Gpu.sharedInts(n)[0]; // refused: the length of a shared array is not a constant; use a compile-time constant, or the dynamic shared array (in sharedLength)
  }

  @GpuKernel
  static void sharedLengthZero(int[] a) {
    int[] empty = Gpu.sharedInts(0); // refused: a shared array has 0 elements; give it at least one (in sharedLengthZero)
    a[0] = 1;
  }

  @GpuKernel
  static void sharedLengthNegative(int[] a) {
    float[] wrong = Gpu.sharedFloats(-4); // refused: a shared array has -4 elements; give it at least one (in sharedLengthNegative)
    a[0] = 1;
  }

  @GpuKernel
  static void sharedTooLarge(int[] a) {
    long[] large = Gpu.sharedLongs(1 << 29); // refused: the shared arrays of the kernel take 4294967296 bytes; use at most 49152, or the dynamic shared array (in sharedTooLarge)
    large[0] = 1;
    a[0] = (int) large[1];
  }

  @GpuKernel
  static void mixedTernary(int[] a, int n) {
    int[] either =
        n > 0 ? a : Gpu.sharedInts(32); // refused: a conditional expression has arrays in different memories on different paths; use two variables, one for each memory (in mixedTernary)
    either[0] = 1;
  }

  @GpuKernel
  static void mixedVariable(int[] a, int n) {
    int[] either = a;
    if (n > 0) {
      either = Gpu.sharedInts(32);
    }
    either[0] = 1; // refused: either has arrays in different memories on different paths; use two variables, one for each memory (in mixedVariable)
  }

  @GpuKernel
  static void swappedLayout(MemorySegment s) {
    s.set(ValueLayout.JAVA_INT.withOrder(ByteOrder.BIG_ENDIAN), 0, 1); // refused: the constant ByteOrder.BIG_ENDIAN is not a number or an array of numbers; use numbers, or pass what it has as parameters (in swappedLayout)
  }

  @GpuKernel
  static void unalignedLayout(MemorySegment s) {
    s.set(ValueLayout.JAVA_INT_UNALIGNED, 0, 1); // refused: this layout of a MemorySegment is not supported; use a ValueLayout constant in native byte order (in unalignedLayout)
  }

  @GpuKernel
  static void slice(MemorySegment s) {
    s.asSlice(4).set(ValueLayout.JAVA_INT, 0, 1); // refused: MemorySegment.asSlice has no meaning on a GPU; use get, set, getAtIndex, setAtIndex or byteSize of the segment (in slice)
  }

  @GpuKernel
  static void text(MemorySegment s) {
    s.setString(0, "text"); // refused: "text" is a string, which has no type on a GPU; compute with numbers only (in text)
  }

  @GpuKernel
  static void segmentOfAnArray(int[] a) {
    MemorySegment.ofArray(a).set(ValueLayout.JAVA_INT, 0, 1); // refused: MemorySegment.ofArray has no meaning on a GPU; use static methods of yours, Math or Gpu (in segmentOfAnArray)
  }

  @GpuKernel
  static void choiceOfLayouts(MemorySegment s, int n) {
    var layout = n > 0 ? ValueLayout.JAVA_INT : ValueLayout.JAVA_INT_UNALIGNED; // refused: this layout of a MemorySegment is not supported; use a ValueLayout constant in native byte order (in choiceOfLayouts)
    s.set(layout, 0, 1);
  }

  @GpuKernel
  static void arrayOfArrays(int[] a, int[] b) {
    int[][] both = {a, b}; // refused: `new int[][…]` is not an array of numbers with one or two dimensions; use arrays of numbers, or a record for each element (in arrayOfArrays)
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
  static void wrongCast(int[] a) {
    Object n = a[0];
    a[1] = ((Short) n).intValue(); // refused: `instanceof` and casts of objects need classes at run time; use numbers (in wrongCast)
  }

  @GpuKernel
  static void unboxed(int[] a) {
    int n = (Integer) null; // refused: null is not a value of a kernel; pass every array, or select with an int (in unboxed)
    a[0] = n;
  }

  @GpuKernel
  static void printedFormat(int[] a) {
    System.err.printf("%d", a[0]); // refused: System.err prints text; use Gpu.print (in printedFormat)
  }

  @GpuKernel
  static void constructorThatCalls(int[] a) {
    a[0] = new Eager(3).n; // refused: `new Refused.Eager(…)` creates an object, and a GPU thread has no heap; use a record of numbers, which is kept in registers, or separate variables (in constructorThatCalls)
  }

  static final class Eager {
    final int n;

    Eager(int n) {
      this.n = n;
    }
  }

  @GpuKernel
  static void nativeInterface(int[] a) {
    a[0] = Thread.currentThread().hashCode(); // refused: Thread.currentThread has no meaning on a GPU; use static methods of yours, Math or Gpu (in nativeInterface)
  }

  @GpuKernel
  static void strictFunction(double[] a) {
    a[0] = StrictMath.sinh(a[0]); // refused: StrictMath.sinh has no meaning on a GPU; kernels can call StrictMath.abs, acos, asin, atan, atan2, cbrt, ceil, clamp, copySign, cos, exp, expm1, floor, floorDiv, floorMod, fma, hypot, log, log10, log1p, max, min, multiplyHigh, pow, rint, round, signum, sin, sqrt, tan, tanh, toDegrees, toRadians, unsignedMultiplyHigh; use one of these, or write a static method (in strictFunction)
  }

  @GpuKernel
  static void parsed(int[] a) {
    a[0] = Character.getNumericValue((char) a[1]); // refused: Character.getNumericValue has no meaning on a GPU; use static methods of yours, Math or Gpu (in parsed)
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
    Objects.requireNonNull(a);
    a[0] = Constants.twice(Constants.N);
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

  // --- methods with a lowering

  record Flag(boolean set) {}

  @Lowered(by = AsyncCopyLowerings.class, method = "copy", effect = Effect.WRITE)
  static void copyAll(int[] to, int[] from) {}

  @Lowered(by = AsyncCopyLowerings.class, method = "commit")
  static void raise(Flag flag) {}

  @Lowered(by = AsyncCopyLowerings.class, method = "commit")
  static Flag raised() {
    return new Flag(true);
  }

  @Lowered(by = AsyncCopyLowerings.class, method = "missing")
  static void missing() {}

  @Lowered(by = AsyncCopyLowerings.class, method = "commit")
  static void copyPairs(Pair[] pairs, @Lowered.Index int index) {}

  @GpuKernel
  static void loweredRecords(Pair[] pairs) {
    copyPairs(pairs, 1); // refused: Refused.copyPairs is lowered and has the parameter 1 of type Refused$Pair[]; use int, long, float, double, boolean, records of the first four, and arrays that an @Index int follows (in loweredRecords)
  }

  @GpuKernel
  static void loweredArray(int[] a) {
    copyAll(a, a); // refused: Refused.copyAll is lowered and has the parameter 1 of type int[]; use int, long, float, double, boolean, records of the first four, and arrays that an @Index int follows (in loweredArray)
  }

  @GpuKernel
  static void loweredRecord(int[] a) {
    raise(new Flag(a[0] > 0)); // refused: Refused.raise is lowered and has the parameter 1 of type Refused$Flag; use int, long, float, double, boolean, records of the first four, and arrays that an @Index int follows (in loweredRecord)
  }

  @GpuKernel
  static void loweredResult(int[] a) {
    a[0] = raised().set() ? 1 : 0; // refused: Refused.raised is lowered and has the result of type Refused$Flag; use int, long, float, double, boolean, records of the first four, and arrays that an @Index int follows (in loweredResult)
  }

  @GpuKernel
  static void missingLowering(int[] a) {
    missing(); // refused: the lowering of Refused.missing cannot be used: no such method: dev.athanor.engine.lift.intrinsic.AsyncCopyLowerings.missing(Instructions,Operand,List)void/invokeStatic; make it public and static, with parameters (Instructions, Operand, List) (in missingLowering)
  }

  @GpuKernel
  static void copyToParameter(int[] a, int[] b) {
    AsyncCopy.copy(a, 0, b, 0); // refused: the lowering of AsyncCopyLowerings.copy rejects its arguments: an array is a parameter of the kernel, not a shared one; call it with the arguments that it needs (in copyToParameter)
  }

  @GpuKernel
  static void copyFromShared(int[] a) {
    int[] shared = Gpu.sharedInts(8);
    AsyncCopy.copy(shared, 0, shared, 4); // refused: the lowering of AsyncCopyLowerings.copy rejects its arguments: the source is a shared array, not a parameter; call it with the arguments that it needs (in copyFromShared)
    a[0] = shared[0];
  }

  @GpuKernel
  static void pendingVariable(int[] a) {
    AsyncCopy.await(a[0]); // refused: the lowering of AsyncCopyLowerings.await rejects its arguments: the number of pending groups is no constant from 0 on; call it with the arguments that it needs (in pendingVariable)
  }

  record Row(int[] values, int length) {}

  sealed interface Shape {
    default int twice() {
      return 2;
    }
  }

  interface Area {
    int size();
  }

  record Room(int size) implements Area {}

  record Hall(int size) implements Area {}

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
