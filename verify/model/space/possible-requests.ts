// Finds the requests that clients may send in a state.
import { nameOfKey, paymentIdOf, REFUNDED_PAYMENT_ID } from '../programs/ids.ts'
import type { ClientRequest } from '../programs/programs.ts'
import type { Database } from '../store/database.ts'
import type { Row } from '../store/rows.ts'
import type { Refusals } from './client-answers.ts'
import { livesOf, rowOfKey } from './rows-of-key.ts'
import { AMOUNT_MINOR, REFUND_MINOR, type Space } from './space.ts'

/** A request that a client may send. */
export interface PossibleRequest {
  readonly kind: 'send' | 'send again' | 'send spelled out' | typeof MISUSE
  readonly key: number
  readonly request: ClientRequest
  /** Whether a client that has no final answer yet sends it. */
  readonly isWanted: boolean
}

/** A different request under a used key. */
export const MISUSE = 'misuse'

export function findRequests(
  space: Space,
  database: Database,
  refusals: Refusals,
): PossibleRequest[] {
  const keys = Array.from({ length: space.keys }, (_, key) => key)
  const requests = keys.flatMap((key) => requestsWith(space, key, database, refusals))
  if (!space.refundsPart) return requests
  // Retries without need are left to the other spaces, so that this one is small enough.
  return [...requests.filter(({ isWanted }) => isWanted), ...partialRefunds(space, database)]
}

/** A client may refund a part of the first payment once it is captured, and retries a failed refund. */
function partialRefunds({ keys: key }: Space, database: Database): PossibleRequest[] {
  const row = rowOfKey(database, key)
  const [payment] = database['payments'] ?? []
  if (payment?.['status'] !== 'succeeded' || (row !== undefined && !isFailed(row))) return []
  const paymentId = paymentIdOf(0, 1)
  const request = { key: nameOfKey(key), amountMinor: REFUND_MINOR, paymentId }
  return [{ kind: 'send', key, request, isWanted: row !== undefined }]
}

function requestsWith(
  space: Space,
  key: number,
  database: Database,
  refusals: Refusals,
): PossibleRequest[] {
  const row = rowOfKey(database, key)
  // After its last life a key is not used again.
  if (row === undefined && livesOf(database, key) >= space.lives) return []
  const isWanted =
    row === undefined
      ? refusals[key] === undefined
      : isFailed(row) && refusals[key] !== 'superseded'
  const request = requestFor(space, key)
  const first: PossibleRequest = { kind: 'send', key, request, isWanted }
  if (row === undefined) return [first]
  const other = { ...request, amountMinor: request.amountMinor - 1 }
  const again = { ...request, isCachedAsUsed: true }
  const spelledOut = { ...request, isSpelledOut: true }
  return [
    first,
    { kind: 'send again', key, request: again, isWanted: false },
    ...(space.respells
      ? [{ kind: 'send spelled out', key, request: spelledOut, isWanted: false } as const]
      : []),
    ...(space.misuses ? [{ kind: MISUSE, key, request: other, isWanted: false } as const] : []),
  ]
}

/** A canceled operation is not reopened. */
const isFailed = ({ status, cancellation }: Row): boolean =>
  status === 'failed_retryable' && cancellation === null

function requestFor(
  { operation, refusedKeys, oneReference, fallback }: Space,
  key: number,
): ClientRequest {
  const name = oneReference
    ? { key: nameOfKey(key), reference: REFERENCE }
    : { key: nameOfKey(key) }
  if (operation === 'refund.create') {
    return { ...name, amountMinor: REFUND_MINOR, paymentId: REFUNDED_PAYMENT_ID }
  }
  const request = { ...name, amountMinor: AMOUNT_MINOR, ...(fallback && { hasFallback: true }) }
  return refusedKeys.includes(key) ? { ...request, customer: UNKNOWN_CUSTOMER } : request
}

const REFERENCE = 'order'
const UNKNOWN_CUSTOMER = 'cus_of_another_tenant'
