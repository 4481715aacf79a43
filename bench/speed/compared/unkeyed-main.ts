// Serves payments without idempotency: the API with one more route, whose requests have no key. It
// does all else that the API does for an accepted payment, in the same way: authentication, limits,
// validation, row-level security, payment, event, timeline, job, log and metrics.
import { randomUUIDv7 } from 'node:crypto'
import type { Request } from 'express'
import type { Sql } from '../../../src/db/connection/client.ts'
import { seesTenant } from '../../../src/db/connection/row-security.ts'
import { insertEventOfChange } from '../../../src/db/events/event-records.ts'
import { insertStarted } from '../../../src/db/operations/phase-runs.ts'
import {
  insertPayment,
  paymentFromRow,
  type PaymentRow,
} from '../../../src/db/payments/payments.ts'
import { enqueueReserved } from '../../../src/db/queue/jobs.ts'
import { readConfig } from '../../../src/config.ts'
import { findChargeProblem } from '../../../src/domain/payments/amount-rules.ts'
import {
  paymentPath,
  presentPayment,
  type PaymentRequest,
} from '../../../src/domain/payments/payment.ts'
import { withinStoreTimeout, type ApiParts } from '../../../src/http/endpoint.ts'
import { readJson, refuseCardNumberInBody } from '../../../src/http/keyed/keyed-intent.ts'
import { createApiServer } from '../../../src/http/limits/api-server.ts'
import { jsonType, retryAfter, type Answer } from '../../../src/http/responses/answer.ts'
import { createApp } from '../../../src/http/server/app.ts'
import { routes, type Route } from '../../../src/http/server/routes.ts'
import { createLog } from '../../../src/log.ts'
import { createMetrics } from '../../../src/metrics/metrics.ts'
import { apiObserver } from '../../../src/metrics/observers.ts'
import { paymentRequestOf } from '../../../src/operations/create-payment/endpoint.ts'
import { createPayment } from '../../../src/operations/create-payment/phases.ts'
import { announceReady } from '../../../src/process.ts'
import { wireApi } from '../../../src/wiring.ts'

const config = readConfig()
const log = createLog('unkeyed', config.LOG_LEVEL)
const parts = wireApi(config, log, apiObserver(createMetrics()))
const unkeyedRoute: Route = {
  path: '/unkeyed/payments',
  post: { access: 'tenant', scope: 'payments:write', endpoint: acceptUnkeyed },
}
// The service has no payments without a key, so only this process may have the route.
;(routes as Route[]).push(unkeyedRoute)
createApiServer(createApp(parts), parts).listen(config.PORT, config.HOST, announceReady)

async function acceptUnkeyed(own: ApiParts, request: Request, tenantId: string): Promise<Answer> {
  const body = await readJson(own, request, false)
  refuseCardNumberInBody(body, own.settings)
  const payment = paymentRequestOf(body)
  const problem = findChargeProblem(payment.amountMinor, payment.currency)
  if (problem !== undefined) throw problem
  const row = await own.limits.storeBreaker.reserving(() =>
    withinStoreTimeout(own, insertUnkeyed(own.store.sql, tenantId, payment, own.providerName)),
  )
  own.wakeWorkers()
  const inserted = paymentFromRow(row)
  return {
    status: 202,
    headers: { ...jsonType, ...retryAfter, location: paymentPath(inserted.id) },
    body: JSON.stringify(presentPayment(inserted)),
  }
}

/** No client's key: the event shows none. */
const INTERNAL_KEY = '§'

/** The service's intent statement, with a row of values in the place of the reserved key. */
async function insertUnkeyed(
  sql: Sql,
  tenantId: string,
  payment: PaymentRequest,
  provider: string,
): Promise<PaymentRow> {
  const [row] = await sql<{ resource: PaymentRow }[]>`
    with reserved as (
      select
        ${tenantId}::uuid as tenant_id, ${randomUUIDv7()}::uuid as id,
        ${createPayment.name}::text as operation, ${randomUUIDv7()}::uuid as payment_id,
        'started' as recovery_point, 0 as attempts, 0 as lease_epoch,
        gen_random_uuid() as job_id
    ),
    ${insertPayment(sql, payment, provider)},
    ${insertEventOfChange(sql, { cte: 'resource', kind: 'payment' }, INTERNAL_KEY)},
    started as (${insertStarted(sql)}),
    job as (${enqueueReserved(sql)})
    select to_jsonb(resource) as resource from resource where ${seesTenant(sql, tenantId)}
  `
  if (row === undefined) throw new Error('the payment was not inserted')
  return row.resource
}
