package dev.athanor.engine.lift.refusal;

/**
 * The reasons why a Java method cannot be lifted, one row each: what the method does, with
 * placeholders, and what to write instead.
 */
public enum Refusal {
  NEW_ARRAY(
      "`new %s[…]` allocates an array, and a GPU thread has no heap",
      "use scalars, or Gpu.shared… for memory of the block"),
  NEW_OBJECT(
      "`new %s(…)` creates an object, and a GPU thread has no heap",
      "use a record of numbers, which is kept in registers, or separate variables"),
  STRING("%s is a string, which has no type on a GPU", "compute with numbers only"),
  CLASS_LITERAL("%s is a class literal, which has no value on a GPU", "compute with numbers only"),
  NULL("null is not a value of a kernel", "pass every array, or select with an int"),
  THROW(
      "`throw` has no meaning in a GPU thread", "return early, or write an error code to an array"),
  TRY("the method has a try, catch or finally block", "let the launcher report faults"),
  RECURSION("%s calls itself", "write a loop"),
  INSTANCE_METHOD(
      "%s is an instance method", "make it static, and pass what it reads as parameters"),
  INTERFACE_CALL(
      "%s is called on an object, whose class is unknown before it runs", "call a static method"),
  LAMBDA("a lambda or method reference needs an object", "write its body where it is called"),
  STRING_CONCATENATION("a string is concatenated", "write numbers to an array"),
  UNKNOWN_METHOD("%s has no meaning on a GPU", "use static methods of yours, Math or Gpu"),
  NATIVE_METHOD("%s has no Java body", "use static methods of yours, Math or Gpu"),
  NO_CLASS_FILE(
      "the class file of %s cannot be read", "compile it to a class file on the class path"),
  STATIC_FIELD("the field %s is static but not final", "pass its value as a parameter"),
  STATIC_OBJECT(
      "the constant %s is not a number",
      "pass it as a parameter if it is an array, or use numbers"),
  INSTANCE_FIELD("%s is a field of an object", "pass its value as a parameter"),
  FIELD_WRITE("the field %s is written", "write the value to an array parameter"),
  INSTANCEOF("`instanceof` and casts of objects need classes at run time", "use numbers"),
  SYNCHRONIZED("`synchronized` needs a monitor", "use Gpu.barrier(), or Gpu's atomics"),
  OBJECT_ARRAY("%s is an array of objects or arrays", "use one flat array of numbers"),
  PARAMETER_TYPE(
      "the parameter %s has the type %s",
      "use int, long, float, double, boolean, an array of numbers, or MemorySegment"),
  RETURN_TYPE("the kernel returns %s", "make it void, and write results to an array parameter"),
  SHARED_LENGTH(
      "the length of a shared array is not a constant",
      "use a compile-time constant, or the dynamic shared array"),
  SHARED_IN_LOOP("a shared array is declared in a loop", "declare it before the loop"),
  MIXED_ARRAYS(
      "%s is a shared array on one path and a parameter on another",
      "use two variables, one for each memory"),
  NOT_AN_ARRAY("%s is needed here, and this is no array of the kernel", "pass the array itself"),
  LAYOUT(
      "this layout of a MemorySegment is not supported",
      "use a ValueLayout constant in native byte order"),
  OBJECT_COMPARISON("object references are compared", "compare numbers"),
  SUBROUTINE("the class file is older than Java 7", "compile it with a current javac"),
  BAD_LOWERING(
      "the lowering of %s cannot be used: %s",
      "make it public and static, with parameters (Instructions, Operand, List)");

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

  /** Returns what to write instead. */
  public String remedy() {
    return remedy;
  }
}
