// Watches uncaptured holds: announces their end to the tenants in time. After their end it makes a
// worker look at the provider, in case the provider's events are lost. It calls no provider itself,
// and ends no payment by the time alone: the provider may have captured the hold, or extended it. Each
// write repeats its condition, so that several workers may run it at once, and each hold is announced
// once. The steps are literals because the index names them.
import type { Config } from '../config.ts'
import type { Fragment, Sql, Transaction } from '../db/connection/client.ts'
import { ofEachTenant } from '../db/connection/rows.ts'
import { inService } from '../db/connection/transaction.ts'
import { addProviderEvents } from '../db/events/provider-events.ts'
import { writePaymentEvents } from '../db/events/write-events.ts'
import { paymentFromRow, type PaymentRow } from '../db/payments/payments.ts'
import { REMINDERS_QUEUE } from '../db/queue/jobs.ts'
import { AUTHORIZATION_EXPIRING } from '../domain/events/event-types.ts'
import { expiryOf } from '../domain/events/provider-event.ts'
import type { Payment } from '../domain/payments/payment.ts'
import type { Engine } from '../engine/engine.ts'
import { inFullBatches } from './full-batches.ts'

const BATCH = 250

export async function watchHolds(
  { store: { sql }, observe }: Pick<Engine, 'store' | 'observe'>,
  { AUTHORIZATION_NOTICE_SECONDS: noticeSeconds }: Pick<Config, 'AUTHORIZATION_NOTICE_SECONDS'>,
) {
  const announce = async () => {
    const { count, events } = await announceIfExpiring(sql, noticeSeconds)
    observe.insertedEvents(AUTHORIZATION_EXPIRING, events)
    return count
  }
  return {
    announced: await inFullBatches(BATCH, announce),
    looked_at: await inFullBatches(BATCH, () => lookIfExpired(sql)),
  }
}

/** An operation that works on the payment may end the hold itself. */
const isAtRest = (sql: Sql): Fragment => sql`status not in ('processing', 'unknown')`

/**
 * Sends an event for each hold that ends within so many seconds. A payment that holds nothing any
 * more, and a hold that has ended already, only take the next step.
 *
 * @returns how many payments took the step, and how many of them got the event.
 */
export async function announceIfExpiring(
  sql: Sql,
  noticeSeconds: number,
): Promise<{ readonly count: number; readonly events: number }> {
  const isDue = sql`
    expiry_step = 'announce' and ${isAtRest(sql)}
      and capture_before < now() + ${noticeSeconds} * interval '1 second'
  `
  return await inService(sql, async (tx) => {
    const { now, payments } = await takeStep(tx, 'look', isDue)
    const expiring = payments.filter(
      ({ status, captureBefore }) => status === 'requires_capture' && (captureBefore ?? now) > now,
    )
    for (const [tenantId, holds] of ofEachTenant(expiring)) {
      const ids = holds.map(({ id }) => id)
      await writePaymentEvents(tx, tenantId, ids, AUTHORIZATION_EXPIRING)
    }
    return { count: payments.length, events: expiring.length }
  })
}

/**
 * Stores an internal event for each hold that has ended. Its job is repeated until the payment has
 * ended too. A payment that holds nothing any more only takes the step.
 *
 * @returns how many payments took the step.
 */
export async function lookIfExpired(sql: Sql): Promise<number> {
  const isDue = sql`expiry_step = 'look' and ${isAtRest(sql)} and capture_before < now()`
  return await inService(sql, async (tx) => {
    const { now, payments } = await takeStep(tx, 'done', isDue)
    const held = payments.filter(({ status }) => status === 'requires_capture')
    const events = held.map((payment) => expiryOf(payment, payment.captureBefore ?? now))
    await addProviderEvents(tx, events, REMINDERS_QUEUE)
    return payments.length
  })
}

/** Takes the next step of payments that are due. Returns them, and the time of the transaction. */
async function takeStep(
  tx: Transaction,
  step: 'look' | 'done',
  isDue: Fragment,
): Promise<{ readonly now: Date; readonly payments: readonly Payment[] }> {
  const due = await tx<{ tenant_id: string; id: string; now: string }[]>`
    select tenant_id, id, now() from payments where ${isDue} order by capture_before limit ${BATCH}
  `
  const changed = await tx<PaymentRow[]>`
    update payments set expiry_step = ${step}
    where tenant_id = any(${due.map((row) => row.tenant_id)}::uuid[])
      and id = any(${due.map((row) => row.id)}::uuid[])
      and ${isDue}
    returning *
  `
  return { now: new Date(due[0]?.now ?? 0), payments: changed.map(paymentFromRow) }
}
