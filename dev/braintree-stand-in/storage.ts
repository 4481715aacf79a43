// What the stand-in knows, in memory: transactions, disputes, and the log of what it has executed, from
// which all guarantees are counted. A refused request has no entry.
import { randomBytes } from 'node:crypto'
import type { Dispute } from './disputes/dispute.ts'
import type { Transaction } from './transactions/transaction.ts'

type ExecutedKind =
  | 'transaction.sale'
  | 'transaction.submit_for_settlement'
  | 'transaction.adjust_authorization'
  | 'transaction.void'
  | 'transaction.refund'

interface ExecutedEntry {
  kind: ExecutedKind
  id: string
  /** In minor units; of an adjustment the new total, of a void what was released. */
  amount: number
  currency: string
  order_id: string | null
}

interface Settings {
  /** A sale like one within this time is refused as a duplicate. 0: never. */
  duplicate_seconds: number
  /** How long a search does not show a new transaction. */
  search_lag_seconds: number
}

export interface Storage {
  readonly transactions: Map<string, Transaction>
  readonly disputes: Map<string, Dispute>
  readonly executed: (ExecutedEntry & { seq: number; at: string })[]
  settings: Settings
  append(entry: ExecutedEntry, nowMs: number): void
  reset(): void
}

const settingsDefault: Settings = { duplicate_seconds: 30, search_lag_seconds: 0 }

export function createStorage(): Storage {
  const storage: Storage = {
    transactions: new Map(),
    disputes: new Map(),
    executed: [],
    settings: settingsDefault,
    append: (entry, nowMs) => {
      const seq = storage.executed.length + 1
      storage.executed.push({ seq, at: new Date(nowMs).toISOString(), ...entry })
    },
    reset: () => {
      storage.transactions.clear()
      storage.disputes.clear()
      storage.executed.length = 0
      storage.settings = settingsDefault
    },
  }
  return storage
}

/** No digits: a scanner for card numbers could report a long run of digits. */
const LETTERS = 'abcdefghjkmnpqrstvwxyz'

/** Ids of Braintree are short. */
export function newId(): string {
  return Array.from(randomBytes(10), (byte) => LETTERS[byte % LETTERS.length]).join('')
}
