// Serves payments without idempotency: the API with one more route, whose requests have no key. It
// does all else that the API does for an accepted payment, in the same way: authentication, limits,
// validation, row-level security, payment, event, timeline, job, log and metrics.
import { randomUUID, randomUUIDv7 } from 'node:crypto'
import type { Request } from 'express'
import { createBatches } from '../../../src/db/connection/batches.ts'
import type { Sql } from '../../../src/db/connection/client.ts'
import { inTenant, together } from '../../../src/db/connection/transaction.ts'
import { writeEvents } from '../../../src/db/events/write-events.ts'
import { insertStarted } from '../../../src/db/operations/phase-runs.ts'
import {
  detailsOfPayment,
  insertPayments,
  paymentFromRow,
  type PaymentRow,
} from '../../../src/db/payments/payments.ts'
import { addOperationJobs } from '../../../src/db/queue/jobs.ts'
import { readConfig } from '../../../src/config.ts'
import { findChargeProblem } from '../../../src/domain/payments/currency.ts'
import {
  paymentPath,
  presentPayment,
  type PaymentRequest,
} from '../../../src/domain/payments/payment.ts'
import { withinStoreTimeout, type TenantParts, type Route } from '../../../src/http/endpoint.ts'
import { readJson, refuseForbiddenText } from '../../../src/http/keyed/keyed-request.ts'
import { createApiServer } from '../../../src/http/limits/api-server.ts'
import { jsonType, retryAfter, type Answer } from '../../../src/http/responses/answer.ts'
import { createApp } from '../../../src/http/server/app.ts'
import { routes } from '../../../src/http/server/routes.ts'
import { createLog } from '../../../src/log.ts'
import { createMetrics } from '../../../src/metrics/metrics.ts'
import { apiObserver } from '../../../src/metrics/observers.ts'
import { paymentRequestOf } from '../../../src/operations/create-payment/endpoint.ts'
import { createPayment } from '../../../src/operations/create-payment/phases.ts'
import { announceReady } from '../../../src/process.ts'
import { wireApi } from '../../../src/wiring.ts'

const config = readConfig()
const log = createLog('unkeyed', config.LOG_LEVEL)
const parts = await wireApi(config, log, apiObserver(createMetrics()))
const unkeyedRoute: Route = {
  path: '/unkeyed/payments',
  post: { access: 'tenant', scope: 'payments:write', endpoint: acceptUnkeyed },
}
// The service has no payments without a key, so only this process may have the route.
;(routes as Route[]).push(unkeyedRoute)
createApiServer(createApp(parts), parts).listen(config.PORT, config.HOST, announceReady)

async function acceptUnkeyed(
  own: TenantParts,
  request: Request,
  tenantId: string,
): Promise<Answer> {
  const body = await readJson(own, request, false)
  refuseForbiddenText(body, own.settings)
  const { paymentMethods, ...asked } = paymentRequestOf(body)
  if (typeof paymentMethods !== 'string') throw new Error('the load names one payment method')
  const payment = { ...asked, paymentMethod: paymentMethods }
  const problem = findChargeProblem(
    parts.providers.capabilitiesOf(parts.providers.defaultName).amounts,
    payment.amountMinor,
    payment.currency,
  )
  if (problem !== undefined) throw problem
  const row = await own.limits.storeBreaker.reserving(() =>
    withinStoreTimeout(own, insertTogether({ tenantId, payment })),
  )
  own.wake.workers()
  const inserted = paymentFromRow(row)
  return {
    status: 202,
    headers: { ...jsonType, ...retryAfter(), location: paymentPath(inserted.id) },
    body: JSON.stringify(presentPayment(inserted)),
  }
}

interface Unkeyed {
  readonly tenantId: string
  readonly payment: PaymentRequest
}

/** Requests of a tenant that arrive together share a transaction, as the service's intents do. */
const insertTogether = createBatches(
  (asked: readonly Unkeyed[]) => insertUnkeyed(parts.store.sql, asked),
  { groupOf: ({ tenantId }) => tenantId },
)

/** The service's intent transaction, without the keys. */
async function insertUnkeyed(sql: Sql, unkeyed: readonly Unkeyed[]): Promise<PaymentRow[]> {
  const [{ tenantId } = { tenantId: '' }] = unkeyed
  const intents = unkeyed.map(({ payment }) => ({
    tenantId,
    id: randomUUIDv7(),
    key: '',
    fingerprint: Buffer.alloc(0),
    operation: createPayment.name,
    paymentId: randomUUIDv7(),
    refundId: null,
    parameters: {},
    retentionSeconds: 0,
    details: detailsOfPayment(payment, parts.providers.defaultName),
  }))
  return await inTenant(sql, tenantId, async (tx) => {
    const inserted = await insertPayments(tx, tenantId, intents)
    const payments = intents.map(({ id }) => inserted.get(id) as PaymentRow)
    const begun = intents.map(({ id, operation, paymentId }, index) => ({
      tenant_id: tenantId,
      id,
      payment_id: paymentId,
      operation,
      recovery_point: 'started',
      attempts: 0,
      created_at: payments[index]?.created_at ?? '',
    }))
    await together([
      insertStarted(tx, begun),
      addOperationJobs(
        tx,
        intents.map(({ id }) => ({ tenantId, id, jobId: randomUUID() })),
      ),
      writeEvents(
        tx,
        tenantId,
        payments.map((row) => ({ type: 'payment.created', kind: 'payment', row })),
      ),
    ])
    return payments
  })
}
