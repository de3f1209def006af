/** Operations on columns of vectors in Apache Spark, computed on the executors' devices. */
@NullMarked
package dev.athanor.spark;

import org.jspecify.annotations.NullMarked;
