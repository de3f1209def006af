package dev.athanor.engine.lift;

import java.io.Serializable;

/**
 * A reference to a static method, such as {@code Saxpy::saxpy}. It is serializable, so that the
 * method it refers to can be found. The nested types are for methods of 0 to 12 parameters.
 */
public sealed interface KernelMethod extends Serializable {

  /** A method of 0 parameters. */
  @FunctionalInterface
  non-sealed interface Of0 extends KernelMethod {
    void run();
  }

  /** A method of 1 parameter. */
  @FunctionalInterface
  non-sealed interface Of1<A> extends KernelMethod {
    void run(A a);
  }

  /** A method of 2 parameters. */
  @FunctionalInterface
  non-sealed interface Of2<A, B> extends KernelMethod {
    void run(A a, B b);
  }

  /** A method of 3 parameters. */
  @FunctionalInterface
  non-sealed interface Of3<A, B, C> extends KernelMethod {
    void run(A a, B b, C c);
  }

  /** A method of 4 parameters. */
  @FunctionalInterface
  non-sealed interface Of4<A, B, C, D> extends KernelMethod {
    void run(A a, B b, C c, D d);
  }

  /** A method of 5 parameters. */
  @FunctionalInterface
  non-sealed interface Of5<A, B, C, D, E> extends KernelMethod {
    void run(A a, B b, C c, D d, E e);
  }

  /** A method of 6 parameters. */
  @FunctionalInterface
  non-sealed interface Of6<A, B, C, D, E, F> extends KernelMethod {
    void run(A a, B b, C c, D d, E e, F f);
  }

  /** A method of 7 parameters. */
  @FunctionalInterface
  non-sealed interface Of7<A, B, C, D, E, F, G> extends KernelMethod {
    void run(A a, B b, C c, D d, E e, F f, G g);
  }

  /** A method of 8 parameters. */
  @FunctionalInterface
  non-sealed interface Of8<A, B, C, D, E, F, G, H> extends KernelMethod {
    void run(A a, B b, C c, D d, E e, F f, G g, H h);
  }

  /** A method of 9 parameters. */
  @FunctionalInterface
  non-sealed interface Of9<A, B, C, D, E, F, G, H, I> extends KernelMethod {
    void run(A a, B b, C c, D d, E e, F f, G g, H h, I i);
  }

  /** A method of 10 parameters. */
  @FunctionalInterface
  non-sealed interface Of10<A, B, C, D, E, F, G, H, I, J> extends KernelMethod {
    void run(A a, B b, C c, D d, E e, F f, G g, H h, I i, J j);
  }

  /** A method of 11 parameters. */
  @FunctionalInterface
  non-sealed interface Of11<A, B, C, D, E, F, G, H, I, J, K> extends KernelMethod {
    void run(A a, B b, C c, D d, E e, F f, G g, H h, I i, J j, K k);
  }

  /** A method of 12 parameters. */
  @FunctionalInterface
  non-sealed interface Of12<A, B, C, D, E, F, G, H, I, J, K, L> extends KernelMethod {
    void run(A a, B b, C c, D d, E e, F f, G g, H h, I i, J j, K k, L l);
  }

}
