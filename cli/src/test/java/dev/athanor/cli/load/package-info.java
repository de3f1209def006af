@NullMarked
package dev.athanor.cli.load;

import org.jspecify.annotations.NullMarked;
