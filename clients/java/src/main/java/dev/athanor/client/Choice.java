package dev.athanor.client;

/** A value of an attribute with named choices. */
public interface Choice {

  /** Returns the service's name of the value, such as {@code gelu-tanh}. */
  String text();
}
