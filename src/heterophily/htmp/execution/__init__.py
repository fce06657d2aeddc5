"""The same network, executed differently: batches, blocks of rows, and reuse of layers."""
