// Finds the ledger movement of each movement on the provider's balance.
import {
  findLedgerCaptures,
  findLedgerDisputes,
  findLedgerRefunds,
  type LedgerMovement,
} from '../db/ledger/ledger-movements.ts'
import {
  findDisputesOf,
  findPaymentsOf,
  findRefundsOf,
  type ComparedId,
} from '../db/reconciliation/compared-records.ts'
import { seenMovement } from '../db/reconciliation/reconciliation-progress.ts'
import type { ProviderMovement } from '../provider/payment-provider.ts'
import type { Comparison } from './comparison.ts'
import { subjectOfMovement } from './judge-movement.ts'

/** The name of the movement by what it moved, which both sides know. */
export function nameOf(movement: ProviderMovement): string {
  return seenMovement(movement.kind, subjectOfMovement(movement) ?? '')
}

export type LedgerMovementOf = (movement: ProviderMovement) => LedgerMovement | undefined

/**
 * Finds the ledger movement of each movement: that of our payment or refund that names the
 * provider's object. If there is none, that of the one which the provider's object names: while an
 * operation is working on it, ours does not know the provider's id yet.
 */
export async function findLedgerMovements(
  { parts, run }: Comparison,
  page: readonly ProviderMovement[],
): Promise<LedgerMovementOf> {
  const { sql } = parts.store
  const idsOfKind = (kind: ProviderMovement['kind']) =>
    page.filter((movement) => movement.kind === kind).flatMap(comparedIdOf)
  const payments = await findPaymentsOf(sql, run.provider, idsOfKind('capture'))
  const refunds = await findRefundsOf(sql, run.provider, idsOfKind('refund'))
  const failed = await findRefundsOf(sql, run.provider, idsOfKind('refund_failure'))
  const disputes = await findDisputesOf(sql, run.provider, page.flatMap(disputeIdOf))
  const ledgerMovements = [
    ...(await findLedgerCaptures(sql, payments)),
    ...(await findLedgerRefunds(sql, refunds, 'refund')),
    ...(await findLedgerRefunds(sql, failed, 'refund_failure')),
    ...(await findLedgerDisputes(sql, disputes)),
  ]
  const byName = new Map(ledgerMovements.map((entry) => [nameOfOurs(entry), entry]))
  const byOurId = new Map(
    ledgerMovements.map((entry) => [
      seenMovement(entry.kind, entry.disputeId ?? entry.refundId ?? entry.paymentId),
      entry,
    ]),
  )
  return (movement) =>
    byName.get(nameOf(movement)) ??
    byOurId.get(seenMovement(movement.kind, ourIdIn(movement) ?? ''))
}

function disputeIdOf({ providerDisputeId }: ProviderMovement): string[] {
  return providerDisputeId === null ? [] : [providerDisputeId]
}

function nameOfOurs({ kind, objectId }: LedgerMovement): string | null {
  return objectId === null ? null : seenMovement(kind, objectId)
}

/** The payment or refund of ours that the provider's record names. */
function ourIdIn({ kind, correlation }: ProviderMovement): string | null {
  if (correlation === null) return null
  return kind === 'capture' ? correlation.paymentId : correlation.refundId
}

function comparedIdOf(movement: ProviderMovement): ComparedId[] {
  const objectId = subjectOfMovement(movement)
  const [id, tenantId] = [ourIdIn(movement), movement.correlation?.tenantId]
  if (objectId === null) return []
  return [{ objectId, named: id === null || tenantId === undefined ? null : { tenantId, id } }]
}
