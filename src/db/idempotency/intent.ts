// Defines what a client requests, and how the resource of its operation is written: in the transaction that
// reserves the keys.
import type { Transaction } from '../connection/client.ts'
import type { ResourceRow } from '../events/write-events.ts'
import type { RequestedKey } from './reserve-keys.ts'

/** An operation that a client requests. */
export interface Intent extends RequestedKey {
  readonly paymentId: string
  readonly refundId: string | null
  readonly parameters: Readonly<Record<string, unknown>>
  /** The members of the resource that it creates. */
  readonly details?: IntentDetails | undefined
  /** The span of the request, when it is traced. */
  readonly traceparent?: string | undefined
}

/** The members of a new resource, as its table has them. */
type IntentDetails = Readonly<Record<string, unknown>> & {
  /** A customer that the tenant must own. */
  readonly customer?: string | null
  readonly provider?: string
  /** What one payment or refund of the tenant may have. */
  readonly reference?: string | null
}

/** The row as it is now, or why there is none. */
export type WrittenResource = ResourceRow | 'duplicate-reference'

/**
 * Writes the resources of intents of a tenant, whose keys are reserved, or finds them. An event announces
 * each row, unless its `previous_status` equals its `status`: so a function that changes no status has to
 * return them equal.
 *
 * Intents with the same function share transactions, so it must be the same for all requests of a route.
 *
 * @returns by the id of the intent. None for one that the state of its resource does not allow.
 */
export type WriteResources = (
  tx: Transaction,
  tenantId: string,
  intents: readonly Intent[],
) => Promise<ReadonlyMap<string, WrittenResource>>

/** Refuses every intent whose key is not used yet. */
export const noResource: WriteResources = () => Promise.resolve(new Map())

/** The written rows by the intents about them. */
export function byIntent<Row extends ResourceRow>(
  intents: readonly Intent[],
  rows: readonly Row[],
  idOf: (intent: Intent) => string | null | undefined,
): Map<string, Row> {
  const byId = new Map(rows.map((row) => [row.id, row]))
  return new Map(
    intents.flatMap((intent) => {
      const row = byId.get(idOf(intent) ?? '')
      return row === undefined ? [] : [[intent.id, row] as const]
    }),
  )
}

/** The row of each inserted resource. Only its reference can keep one from being inserted. */
export function unlessDuplicate(
  intents: readonly Intent[],
  rows: readonly ResourceRow[],
  idOf: (intent: Intent) => string | null | undefined,
): Map<string, WrittenResource> {
  const inserted = byIntent(intents, rows, idOf)
  return new Map(intents.map(({ id }) => [id, inserted.get(id) ?? 'duplicate-reference']))
}

/** A row that the intent leaves as it is. */
export const unchanged = <Row extends ResourceRow>(row: Row): Row => ({
  ...row,
  previous_status: row.status,
})
