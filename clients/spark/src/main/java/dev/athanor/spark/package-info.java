/** Operations on columns of vectors in Apache Spark, computed by the executors' own devices. */
@NullMarked
package dev.athanor.spark;

import org.jspecify.annotations.NullMarked;
