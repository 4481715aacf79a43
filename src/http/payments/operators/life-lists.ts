// The lists in the life of a payment, and how long each can be.

/** Each list has its oldest entries: few payments have as many, and nothing is unbounded. */
export const LIFE_MAX = 100

export const lifeLists = [
  'operations',
  'runs',
  'events',
  'deliveries',
  'ledger',
  'refunds',
  'disputes',
] as const
export type LifeList = (typeof lifeLists)[number]
