/** Checks of modules (verifier, lints, uniformity), and the inliner. */
@NullMarked
package dev.athanor.engine.ptx.check;

import org.jspecify.annotations.NullMarked;
