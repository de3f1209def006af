@NullMarked
package dev.athanor.spark;

import org.jspecify.annotations.NullMarked;
