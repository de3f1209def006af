package dev.athanor.client;

/** A value of an attribute that takes one of several names. */
public interface Choice {

  /** Returns the name that the service uses, such as {@code gelu-tanh}. */
  String text();
}
