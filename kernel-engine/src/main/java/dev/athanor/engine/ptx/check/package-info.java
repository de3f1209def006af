/** Rules and analyses of kernels: verifier, lints, control flow, uniformity, and the inliner. */
@NullMarked
package dev.athanor.engine.ptx.check;

import org.jspecify.annotations.NullMarked;
