/** The control-flow graph, the data-flow solver on it, and the analyses that packages share. */
@NullMarked
package dev.athanor.engine.ptx.flow;

import org.jspecify.annotations.NullMarked;
