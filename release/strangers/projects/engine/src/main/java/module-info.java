/** A module with kernels, on the engine alone. */
module org.example {
  requires dev.athanor.engine;

  opens org.example to
      dev.athanor.engine;
}
