// The ten invariants of ARCHITECTURE.md in a few words each, in their order.

export const invariantNames: readonly string[] = [
  'one charge per key, one refund per refund key, no refund beyond its capture',
  'what was answered 2xx reaches a durable end',
  'all final answers of a key are the same bytes',
  'the ledger sums to zero, and its entries stay',
  "the ledger and the provider's records match one to one",
  'recovery points and lease epochs only move forward',
  'every key ends, or is unknown with an open finding, in time',
  'no provider call while the store is out of reach',
  'nothing crosses tenants',
  'no secret and no card number in a log, a job or a table',
]
