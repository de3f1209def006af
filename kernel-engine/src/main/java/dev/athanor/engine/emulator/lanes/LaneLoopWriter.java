package dev.athanor.engine.emulator.lanes;

import static java.lang.constant.ConstantDescs.CD_Boolean;
import static java.lang.constant.ConstantDescs.CD_Double;
import static java.lang.constant.ConstantDescs.CD_Float;
import static java.lang.constant.ConstantDescs.CD_Integer;
import static java.lang.constant.ConstantDescs.CD_Long;
import static java.lang.constant.ConstantDescs.CD_Object;
import static java.lang.constant.ConstantDescs.CD_int;
import static java.lang.constant.ConstantDescs.CD_void;

import java.lang.classfile.ClassFile;
import java.lang.classfile.CodeBuilder;
import java.lang.classfile.TypeKind;
import java.lang.constant.ClassDesc;
import java.lang.constant.MethodTypeDesc;
import java.lang.invoke.MethodHandle;
import java.util.ArrayList;
import java.util.List;

/**
 * Writes the class file of one {@link LaneLoop}, whose operands are fields: {@code r0}, {@code r1}…
 * for results and {@code s0}, {@code s1}… for sources.
 */
final class LaneLoopWriter {

  private static final ClassDesc SELF =
      ClassDesc.of(LaneLoopWriter.class.getPackageName() + ".Generated");
  private static final ClassDesc SUPER = LaneLoop.class.describeConstable().orElseThrow();
  private static final ClassDesc OBJECTS = CD_Object.arrayType();
  private static final MethodTypeDesc LOOP = MethodTypeDesc.of(CD_void, CD_int, CD_int);

  private record Field(String name, LaneOperand operand) {
    ClassDesc type() {
      return operand.fieldType();
    }
  }

  private final List<MethodHandle> functions;
  private final List<Field> results;
  private final List<Field> sources;
  private final HandleConstants handles = new HandleConstants();

  LaneLoopWriter(
      List<MethodHandle> functions, List<LaneOperand> results, List<LaneOperand> sources) {
    this.functions = functions;
    this.results = fields("r", results);
    this.sources = fields("s", sources);
  }

  private static List<Field> fields(String prefix, List<LaneOperand> operands) {
    var fields = new ArrayList<Field>();
    for (var operand : operands) {
      fields.add(new Field(prefix + fields.size(), operand));
    }
    return fields;
  }

  byte[] write() {
    return ClassFile.of()
        .build(
            SELF,
            type -> {
              type.withFlags(ClassFile.ACC_FINAL | ClassFile.ACC_SUPER).withSuperclass(SUPER);
              results.forEach(f -> type.withField(f.name, f.type(), ClassFile.ACC_FINAL));
              sources.forEach(f -> type.withField(f.name, f.type(), ClassFile.ACC_FINAL));
              type.withMethodBody(
                  "<init>", MethodTypeDesc.of(CD_void, OBJECTS, OBJECTS), 0, this::constructor);
              type.withMethodBody(
                  "all", LOOP, ClassFile.ACC_PUBLIC, code -> body(code).allWarps(1, 2));
              type.withMethodBody(
                  "some", LOOP, ClassFile.ACC_PUBLIC, code -> body(code).oneWarp(1, 2));
            });
  }

  /** The class data of the class that has been written. */
  List<MethodHandle> classData() {
    return handles.classData();
  }

  private void constructor(CodeBuilder code) {
    code.aload(0).invokespecial(SUPER, "<init>", MethodTypeDesc.of(CD_void));
    assign(code, results, 1);
    assign(code, sources, 2);
    code.return_();
  }

  private static void assign(CodeBuilder code, List<Field> fields, int parameter) {
    for (int i = 0; i < fields.size(); i++) {
      var field = fields.get(i);
      code.aload(0).aload(parameter).loadConstant(i).aaload();
      if (field.operand.scalar()) {
        unbox(code, field.type());
      } else {
        code.checkcast(field.type());
      }
      code.putfield(SELF, field.name, field.type());
    }
  }

  private static void unbox(CodeBuilder code, ClassDesc primitive) {
    var box =
        switch (TypeKind.from(primitive)) {
          case BOOLEAN -> CD_Boolean;
          case INT -> CD_Integer;
          case LONG -> CD_Long;
          case FLOAT -> CD_Float;
          default -> CD_Double;
        };
    code.checkcast(box)
        .invokevirtual(box, primitive.displayName() + "Value", MethodTypeDesc.of(primitive));
  }

  /** Begins a method: copies all fields to local variables. */
  private LaneLoopBody body(CodeBuilder code) {
    var body = new LaneLoopBody(code, functions, handles);
    for (var field : results) {
      body.addResult(field.operand, () -> load(code, field));
    }
    for (var field : sources) {
      body.addSource(field.operand, () -> load(code, field));
    }
    return body;
  }

  private static void load(CodeBuilder code, Field field) {
    code.aload(0).getfield(SELF, field.name, field.type());
  }
}
