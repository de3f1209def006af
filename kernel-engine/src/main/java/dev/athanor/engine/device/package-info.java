/** The seam between kernels and what runs them. */
@NullMarked
package dev.athanor.engine.device;

import org.jspecify.annotations.NullMarked;
