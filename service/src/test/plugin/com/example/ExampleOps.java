package com.example;

import dev.athanor.ops.Op;
import dev.athanor.ops.OpProvider;
import java.util.List;

/** The ops of this plugin. Its jar names the class in META-INF/services. */
public final class ExampleOps implements OpProvider {
  @Override
  public List<Op> ops() {
    return List.of(
        new Clip(),
        new LogSoftmax(),
        new SquaredDistances(),
        RowSoftmax.op(),
        MaxPool.op(),
        ColumnSum.op());
  }
}
