/** Command line arguments: devices, ops, kernels and tensor files, and usage errors. */
@NullMarked
package dev.athanor.cli.argument;

import org.jspecify.annotations.NullMarked;
