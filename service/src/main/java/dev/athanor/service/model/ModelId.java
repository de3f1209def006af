package dev.athanor.service.model;

import dev.athanor.service.tensor.Tenant;

/** The name of a model, which is unique among those of its tenant. */
record ModelId(Tenant tenant, String name) {}
