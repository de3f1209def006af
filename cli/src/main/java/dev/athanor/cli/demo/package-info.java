/** The demonstration of stored models. */
@NullMarked
package dev.athanor.cli.demo;

import org.jspecify.annotations.NullMarked;
