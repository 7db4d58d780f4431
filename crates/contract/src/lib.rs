//! The five envelopes of a pipeline: strict reader, types, codecs, resolvers.
