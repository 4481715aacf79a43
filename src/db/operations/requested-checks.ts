// Requests checks of unknown outcomes, for the outcome resolver.
import type { OperationRef } from '../../domain/operations/operation.ts'
import type { Sql, Transaction } from '../connection/client.ts'
import { asTenant } from '../connection/transaction.ts'
import type { Evidence } from '../schema/idempotency-keys.ts'

/** A check may wait for a tenth of the time for which the outcome is unknown: some 80 in a day. */
const AGE_PER_CHECK = 10

/**
 * Requests a check of the unknown operations of a payment and its refunds now, unless one is due already or
 * was made recently. Returns whether one was requested. The longer the outcome is unknown, the rarer can
 * checks be: the provider allows 500 reads for each transaction (https://docs.stripe.com/rate-limits).
 *
 * @param apart how long a check must wait after the last one: at least `seconds`, and with the age of
 *   the unknown outcome up to `mostSeconds`.
 */
export async function requestCheckOfPayment(
  sql: Sql | Transaction,
  { tenantId, paymentId }: { tenantId: string; paymentId: string },
  apart: { readonly seconds: number; readonly mostSeconds: number },
): Promise<boolean> {
  const { count } = await asTenant(sql, tenantId)`
    update idempotency_keys set next_check_at = now()
    where tenant_id = ${tenantId} and payment_id = ${paymentId} and status = 'unknown'
      and (next_check_at is null or next_check_at > now())
      and (
        checked_at is null or now() - checked_at > greatest(
          ${apart.seconds} * interval '1 second',
          least(
            (now() - unknown_at) / ${AGE_PER_CHECK}, ${apart.mostSeconds} * interval '1 second'
          )
        )
      )
  `
  return count > 0
}

/**
 * Requests a check of an unknown operation now, with an operator's evidence. False when the
 * operation is not unknown.
 */
export async function requestCheckIfUnknown(
  sql: Sql | Transaction,
  { tenantId, id }: OperationRef,
  evidence: Evidence | null = null,
): Promise<boolean> {
  const { count } = await asTenant(sql, tenantId)`
    update idempotency_keys set
      next_check_at = now(),
      evidence = coalesce(${evidence === null ? null : JSON.stringify(evidence)}::jsonb, evidence)
    where tenant_id = ${tenantId} and id = ${id} and status = 'unknown'
  `
  return count === 1
}
