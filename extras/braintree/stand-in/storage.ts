// What the stand-in knows, in memory: transactions, disputes, and the log of what it has executed, from
// which all guarantees are counted. A refused request has no entry.
import { randomBytes } from 'node:crypto'
import type { WireAnswer } from '../../../dev/stand-in/wire.ts'
import type { Dispute } from './disputes/dispute.ts'
import { showAmount } from './transactions/amounts.ts'
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
  /** Whether the account has at-most-once processing. A call with a key is not checked for duplicates. */
  request_keys: boolean
  /** A sale like one within this time is refused as a duplicate. 0: never. */
  duplicate_seconds: number
  /** How long a search does not show a new transaction. */
  search_lag_seconds: number
}

/** What a request key was used for. */
export interface KeyUse {
  readonly request: string
  readonly usedAtMs: number
  /** Null if the call made and changed nothing. */
  transactionId: string | null
}

export interface Storage {
  readonly transactions: Map<string, Transaction>
  readonly disputes: Map<string, Dispute>
  readonly keys: Map<string, KeyUse>
  /** With `value`, the amount in the main unit of the currency: what a card statement shows. */
  readonly executed: (ExecutedEntry & { seq: number; at: string; value: string })[]
  settings: Settings
  append(entry: ExecutedEntry, nowMs: number): void
  reset(): void
}

export interface ApiRequest {
  readonly method: string
  /** Without the merchant: `/transactions/abc/void`. */
  readonly path: string
  /** The `:id` of the route; empty for a route without one. */
  readonly id: string
  /** The `transaction` of the body, or its `search`. */
  readonly body: Readonly<Record<string, unknown>>
  readonly query: Readonly<Record<string, unknown>>
  /** What a rule of a fault matches. */
  readonly params: { readonly payment_method?: unknown }
  readonly nowMs: number
}

/** Answers a request from what is stored. It may throw a Refusal only before its first write. */
export type Endpoint = (request: ApiRequest, storage: Storage) => WireAnswer

const settingsDefault: Settings = {
  request_keys: false,
  duplicate_seconds: 30,
  search_lag_seconds: 0,
}

export function createStorage(): Storage {
  const storage: Storage = {
    transactions: new Map(),
    disputes: new Map(),
    keys: new Map(),
    executed: [],
    settings: settingsDefault,
    append: (entry, nowMs) => {
      const seq = storage.executed.length + 1
      const value = showAmount(entry.amount, entry.currency)
      storage.executed.push({ seq, at: new Date(nowMs).toISOString(), ...entry, value })
    },
    reset: () => {
      storage.transactions.clear()
      storage.disputes.clear()
      storage.keys.clear()
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
