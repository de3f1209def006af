package dev.athanor.engine.lift.refusal;

/**
 * The reasons why a Java method cannot be lifted, one row each: what the method does, with
 * placeholders, and what to write instead.
 */
public enum Refusal {
  NEW_ARRAY(
      "`new %s[…]` is not an array of numbers with one or two dimensions",
      "use arrays of numbers, or a record for each element"),
  PRIVATE_LENGTH(
      "the length of `new %s[…]` is not a constant, and a GPU thread has no heap",
      "use a compile-time constant, or Gpu.shared… for memory of the block"),
  PRIVATE_SIZE("`new %s[…]` has the length %s", "use a length of at least 0"),
  PRIVATE_TOTAL(
      "the arrays that a thread creates take %s bytes",
      "use at most 65536, or an array that is passed to the kernel"),
  PRIVATE_ACCESS(
      "`%s` is an array of one thread, which no other thread, atomic operation or matrix operation"
          + " accesses",
      "use a shared array or a parameter"),
  ROW_STORE("a row of an array of arrays is replaced", "copy its numbers"),
  PRIVATE_LIFETIME(
      "an array that a loop creates is used in a later iteration", "create it before the loop"),
  NEW_OBJECT(
      "`new %s(…)` creates an object, and a GPU thread has no heap",
      "use a record of numbers, which is kept in registers, or separate variables"),
  STRING("%s is a string, which has no type on a GPU", "compute with numbers only"),
  CLASS_LITERAL("%s is a class literal, which has no value on a GPU", "compute with numbers only"),
  NULL("null is not a value of a kernel", "pass every array, or select with an int"),
  THROW(
      "`throw new %s(…)` ends in an exception, and a GPU thread has none",
      "return early, or write an error code to an array"),
  TRY(
      "a try block catches exceptions, and a GPU thread has none",
      "test for the case with `if`; launches with checks report bad indices and divisions by zero"),
  RECURSION("%s calls itself", "write a loop"),
  CALL_DEPTH("%s is called more than %s calls deep", "write shorter chains of calls"),
  CALL_COUNT(
      "the kernel makes more than %s calls, which are all inlined",
      "call methods in loops, or write fewer calls"),
  INSTANCE_METHOD(
      "the kernel %s is an instance method",
      "make it static, and pass what it reads as parameters"),
  INTERFACE_CALL(
      "%s is called through an interface", "call a static method, or a method of a record"),
  OBJECT_METHOD(
      "%s is called on an object, which a GPU thread does not have",
      "call a static method, or a method of a record"),
  ARRAY_METHOD("`%s()` is called on an array", "use only its elements and its length"),
  RECORD_METHOD("%s needs objects", "compare or combine the components of the record"),
  ENUM(
      "%s of an enum needs objects",
      "use its constants, ordinal(), values(), comparisons, and fields that are numbers"),
  PATTERN(
      "a pattern is matched against an object, which needs classes at run time",
      "use numbers, with `if` or a switch on an int"),
  ANONYMOUS_CLASS("an anonymous class needs an object", "write a lambda"),
  STRING_CONCATENATION("a string is concatenated", "pass numbers to Gpu.print as values"),
  PRINT("%s prints text", "use Gpu.print"),
  PRINT_VALUES("the values of Gpu.print are an array", "pass them one by one"),
  PRINT_CONVERSION(
      "the format of Gpu.print is refused: %s",
      "it takes %d, %x and %o of integers, %f, %e, %g and %a of float and double, %c of characters,"
          + " %n and %%"),
  UNKNOWN_METHOD("%s has no meaning on a GPU", "use static methods of yours, Math or Gpu"),
  UNKNOWN_FUNCTION(
      "%s has no meaning on a GPU; kernels can call %s",
      "use one of these, or write a static method"),
  SEGMENT_METHOD(
      "%s has no meaning on a GPU",
      "use get, set, getAtIndex, setAtIndex or byteSize of the segment"),
  NATIVE_METHOD("%s has no Java body", "use a static method that has one"),
  NO_CLASS_FILE(
      "the class file of %s cannot be read", "compile it to a class file on the class path"),
  STATIC_FIELD("the field %s is static but not final", "pass its value as a parameter"),
  STATIC_OBJECT(
      "the constant %s is not a number or an array of numbers",
      "use numbers, or pass what it has as parameters"),
  TABLE_TOTAL(
      "the constant arrays of the kernel take %s bytes",
      "use at most 65536, or an array that is passed to the kernel"),
  TABLE_ROWS("the rows of the constant %s have different lengths", "use one flat array of numbers"),
  TABLE_WRITE("the constant array `%s` is written", "pass it as a parameter"),
  CLOSED_PACKAGE(
      "the package of the constant %s is not open: %s", "or pass the value as a parameter"),
  STATIC_INITIALIZER("the class of %s cannot be initialized: %s", "mend its static initializer"),
  INSTANCE_FIELD("%s is a field of an object", "pass its value as a parameter"),
  FIELD_WRITE("the field %s is written", "write the value to an array parameter"),
  INSTANCEOF("`instanceof` and casts of objects need classes at run time", "use numbers"),
  SYNCHRONIZED("`synchronized` needs a monitor", "use Gpu.barrier(), or Gpu's atomics"),
  OBJECT_ARRAY(
      "%s is an array of objects or arrays",
      "use a flat array of numbers or records of numbers, for rows in a record `Matrix(float[] elements, int columns)`"),
  PARAMETER_TYPE(
      "the parameter %s has the type %s",
      "use a number, a boolean, an enum, an array of numbers or records, a MemorySegment, or a record of these"),
  RETURN_TYPE("the kernel returns %s", "make it void, and write results to an array parameter"),
  GENERIC("the kernel has type parameters", "write one method for each type"),
  VARARGS("the parameter %s takes a variable number of arguments", "declare it as an array"),
  THROWS("the kernel has a throws clause, and a GPU thread has no exceptions", "remove it"),
  KERNEL_NAME(
      "the name `%s` is no identifier of PTX",
      "use ASCII letters, digits, _ and $, and start with a letter; WARP_SZ and dynamic are reserved"),
  BLOCK_RANK("blockSize has %s extents", "give one to three, for x, y and z"),
  BLOCK_EXTENT("blockSize has the extent %s", "give extents of 1 or more"),
  BLOCK_THREADS("blockSize makes %s threads", "give extents with a product of at most 1024"),
  BLOCK_DEPTH("blockSize has the z extent %s", "give a z extent of at most 64"),
  MIN_BLOCKS(
      "minBlocks is %s, and blockSize makes %s threads",
      "declare a blockSize, and 1 to 32 blocks with at most 2048 threads"),
  SHARED_SIZE("a shared array has %s elements", "give it at least one"),
  SHARED_TOTAL(
      "the shared arrays of the kernel take %s bytes",
      "use at most 49152, or the dynamic shared array"),
  SHARED_LENGTH(
      "the length of a shared array is not a constant",
      "use a compile-time constant, or the dynamic shared array"),
  MIXED_ARRAYS(
      "%s has arrays in different memories on different paths",
      "use two variables, one for each memory"),
  MIXED_TYPES(
      "%s has values of different types on different paths", "use one variable for each type"),
  DYNAMIC_TYPES("the dynamic shared array has elements of %s and of %s", "use one type"),
  DIVERGENT_BARRIER(
      "the condition differs between the threads of a block, and only some of them reach a barrier",
      "call barriers and block reductions in all threads"),
  NOT_AN_ARRAY("%s is needed here, and this is no array of the kernel", "pass the array itself"),
  LAYOUT(
      "this layout of a MemorySegment is not supported",
      "use a ValueLayout constant in native byte order"),
  OBJECT_COMPARISON("object references are compared", "compare numbers"),
  SUBROUTINE("the class file is older than Java 7", "compile it with a current javac"),
  BAD_LOWERING(
      "the lowering of %s cannot be used: %s",
      "make it public and static, with parameters (Instructions, Operand, List)"),
  LOWERED_TYPE(
      "%s is lowered and has the %s of type %s",
      "use int, long, float, double, boolean, records of the first four, and arrays that an @Index"
          + " int follows"),
  LOWERING_FAILED(
      "the lowering of %s rejects its arguments: %s", "call it with the arguments that it needs");

  private final String what;
  private final String remedy;

  Refusal(String what, String remedy) {
    this.what = what;
    this.remedy = remedy;
  }

  /** Returns what the method does, with the names filled in. */
  public String what(Object... names) {
    return what.formatted(names);
  }

  /** Returns the whole sentence, with the names filled in. */
  public String sentence(Object... names) {
    return what(names) + "; " + remedy;
  }

  /** Returns what to write instead. */
  public String remedy() {
    return remedy;
  }
}
