// Short names of the ten invariants of ARCHITECTURE.md, in order.

export const invariantNames: readonly string[] = [
  'one charge per key, one refund per refund key, no refund beyond its capture',
  'a request answered 2xx reaches a durable final state',
  'all final answers of a key are byte-identical',
  'the ledger sums to zero, and its entries are immutable',
  "the ledger and the provider's records match one to one",
  'recovery points and lease epochs only move forward',
  'every key is terminal in time, or is unknown with an open finding',
  'no provider call while the store is unreachable',
  'no data crosses tenants',
  'no secret and no card number in a log, a job or a table',
]
