/** The run loop: clusters, blocks, warps and workers. */
@NullMarked
package dev.athanor.engine.emulator.run;

import org.jspecify.annotations.NullMarked;
