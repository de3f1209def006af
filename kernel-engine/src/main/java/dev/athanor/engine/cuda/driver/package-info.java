/** The calls of CUDA's driver API: the functions, their handles and their result codes. */
@NullMarked
package dev.athanor.engine.cuda.driver;

import org.jspecify.annotations.NullMarked;
