/**
 * Ops that rank the elements of rows: sort, argsort, top-k, search and sample. They sort entries of
 * an order-preserving integer key and an index, so that all entries differ and every order is
 * stable.
 */
@NullMarked
package dev.athanor.ops.rank;

import org.jspecify.annotations.NullMarked;
