/** Copies of models between replicas over REST. */
@NullMarked
package dev.athanor.service.rest.models;

import org.jspecify.annotations.NullMarked;
