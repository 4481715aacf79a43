// All endpoints of the API. src/http/endpoint.ts says who may call which.
import { operationEndpoints } from '../../operations/index.ts'
import { actionEndpoints } from '../operators/actions.ts'
import { deadLetterEndpoints } from '../operators/dead-letters.ts'
import { operatedEndpoints } from '../operators/operations.ts'
import { reconciliationEndpoints } from '../operators/reconciliations.ts'
import { pageEndpoints } from '../console/files.ts'
import { liveEndpoints } from '../console/live-feed.ts'
import { sessionEndpoints } from '../console/sessions.ts'
import type { Endpoints } from '../contracts/contract.ts'
import { disputeEndpoints } from '../resources/disputes.ts'
import { type ApiParts, tenant, type Endpoint, type Route } from '../endpoint.ts'
import { eventEndpoints } from '../resources/events.ts'
import { keyEndpoints } from '../resources/idempotency-keys.ts'
import { ledgerEndpoints } from '../resources/ledger.ts'
import { overviewEndpoints } from '../operators/overview.ts'
import { paymentEndpoints } from '../resources/payments.ts'
import { operatorPaymentEndpoints } from '../operators/payments.ts'
import { providerEndpoints } from '../operators/providers.ts'
import { refundEndpoints } from '../resources/refunds.ts'
import { docsEndpoints, startEndpoints } from '../service/docs.ts'
import { healthEndpoints } from '../service/health.ts'
import { problemEndpoints } from '../service/problems.ts'
import { providerEventEndpoints } from '../service/provider-events.ts'
import { customerEndpoints } from '../operators/customers.ts'
import { tenantEndpoints } from '../operators/tenants.ts'
import { deliveryEndpoints } from '../resources/webhook-deliveries.ts'
import { webhookEndpoints } from '../resources/webhook-endpoints.ts'
import { operatorWebhookEndpoints } from '../operators/webhooks.ts'

const operations: Endpoints = Object.fromEntries(
  operationEndpoints.map(({ path, contract, endpoint, scope }) => [
    `POST ${path}`,
    { ...contract, serve: tenant(endpoint, scope) },
  ]),
)

/** In the order of the documents. */
export const endpoints: Endpoints = {
  ...operations,
  ...paymentEndpoints,
  ...refundEndpoints,
  ...disputeEndpoints,
  ...ledgerEndpoints,
  ...eventEndpoints,
  ...webhookEndpoints,
  ...deliveryEndpoints,
  ...keyEndpoints,
  ...tenantEndpoints,
  ...customerEndpoints,
  ...overviewEndpoints,
  ...operatedEndpoints,
  ...deadLetterEndpoints,
  ...reconciliationEndpoints,
  ...actionEndpoints,
  ...providerEndpoints,
  ...sessionEndpoints,
  ...liveEndpoints,
  ...pageEndpoints,
  ...operatorPaymentEndpoints,
  ...operatorWebhookEndpoints,
  ...providerEventEndpoints,
  ...startEndpoints,
  ...healthEndpoints,
  ...docsEndpoints,
  ...problemEndpoints,
}

/** The same by path. */
export const routes: readonly Route[] = byPath()

function byPath(): Route[] {
  const found = new Map<string, Record<string, Endpoint>>()
  for (const [name, { serve }] of Object.entries(endpoints)) {
    const [method = '', path = ''] = name.split(' ')
    found.set(path, { ...found.get(path), [method.toLowerCase()]: serve })
  }
  return [...found].map(([path, methods]) => ({ path, ...methods }))
}

/** Whether the settings have what the route is for: operators, or the console. */
export function isServed(
  { get, post, delete: remove }: Route,
  { ADMIN_API_KEY, CONSOLE }: ApiParts['settings'],
): boolean {
  const access = (get ?? post ?? remove)?.access
  if (access === 'admin') return ADMIN_API_KEY !== undefined
  return CONSOLE === 'on' || (access !== 'console' && access !== 'session')
}
