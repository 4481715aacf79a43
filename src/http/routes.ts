// Every route of the API. `tenant` routes need an API key with a scope, `admin` routes an operator's key,
// and are not there without one in the settings; `open` ones are for anyone.
import type { Scope } from '../domain/tenants/api-key.ts'
import { addApiKey } from './admin/add-api-key.ts'
import { createTenantEndpoint } from './admin/create-tenant.ts'
import { dropResponse } from './admin/drop-response.ts'
import { getOperation } from './admin/get-operation.ts'
import { getReconciliation } from './admin/get-reconciliation.ts'
import { listActions } from './admin/list-actions.ts'
import { listApiKeysEndpoint } from './admin/list-api-keys.ts'
import { listDeadLettersEndpoint } from './admin/list-dead-letters.ts'
import { listFindingsEndpoint } from './admin/list-findings.ts'
import { listOperations } from './admin/list-operations.ts'
import { listReconciliations } from './admin/list-reconciliations.ts'
import { listTenantsEndpoint } from './admin/list-tenants.ts'
import { redriveDeadLetters } from './admin/redrive-dead-letters.ts'
import { requestReconciliationEndpoint } from './admin/request-reconciliation.ts'
import { resolveFinding } from './admin/resolve-finding.ts'
import { resolveOperation } from './admin/resolve-operation.ts'
import { resumeOperationEndpoint } from './admin/resume-operation.ts'
import { revokeApiKey } from './admin/revoke-api-key.ts'
import { rotateApiKey } from './admin/rotate-api-key.ts'
import { cancelPaymentEndpoint } from './cancel-payment.ts'
import { capturePaymentEndpoint } from './capture-payment.ts'
import { createPaymentEndpoint } from './create-payment.ts'
import { createRefundEndpoint } from './create-refund.ts'
import { createWebhookEndpoint } from './create-webhook-endpoint.ts'
import { deleteWebhookEndpoint } from './delete-webhook-endpoint.ts'
import type { AdminEndpoint, OpenEndpoint, TenantEndpoint } from './endpoint.ts'
import { getDocs, getDocsFile, getOpenapi } from './get-docs.ts'
import { getEvent } from './get-event.ts'
import { getIdempotencyKey } from './get-idempotency-key.ts'
import { getIdempotencyPolicy, POLICY_PATH } from './get-idempotency-policy.ts'
import { getLedgerTransaction } from './get-ledger-transaction.ts'
import { getPayment } from './get-payment.ts'
import { getPaymentTimeline } from './get-payment-timeline.ts'
import { getProblem } from './get-problem.ts'
import { getRefund } from './get-refund.ts'
import { getWebhookDelivery } from './get-webhook-delivery.ts'
import { getWebhookEndpoint } from './get-webhook-endpoint.ts'
import { getHealth, getReadiness } from './health.ts'
import { listEvents } from './list-events.ts'
import { listLedgerBalances } from './list-ledger-balances.ts'
import { listLedgerTransactions } from './list-ledger-transactions.ts'
import { listPaymentRefunds } from './list-payment-refunds.ts'
import { listPayments } from './list-payments.ts'
import { listWebhookDeliveries } from './list-webhook-deliveries.ts'
import { listWebhookEndpoints } from './list-webhook-endpoints.ts'
import { receiveProviderEvent } from './receive-provider-event.ts'
import { redeliverWebhook } from './redeliver-webhook.ts'
import { rotateWebhookSecret } from './rotate-webhook-secret.ts'

export interface Route {
  readonly path: string
  readonly get?: Endpoint
  readonly post?: Endpoint
  readonly delete?: Endpoint
}

export type Endpoint =
  | { readonly access: 'open'; readonly endpoint: OpenEndpoint }
  | { readonly access: 'tenant'; readonly scope: Scope; readonly endpoint: TenantEndpoint }
  | { readonly access: 'admin'; readonly endpoint: AdminEndpoint }

const open = (endpoint: OpenEndpoint): Endpoint => ({ access: 'open', endpoint })
const tenant = (endpoint: TenantEndpoint, scope: Scope): Endpoint => ({
  access: 'tenant',
  scope,
  endpoint,
})
const admin = (endpoint: AdminEndpoint): Endpoint => ({ access: 'admin', endpoint })

export const routes: readonly Route[] = [
  {
    path: '/v1/payments',
    post: tenant(createPaymentEndpoint, 'payments:write'),
    get: tenant(listPayments, 'payments:read'),
  },
  { path: '/v1/payments/:id', get: tenant(getPayment, 'payments:read') },
  { path: '/v1/payments/:id/capture', post: tenant(capturePaymentEndpoint, 'payments:write') },
  { path: '/v1/payments/:id/cancel', post: tenant(cancelPaymentEndpoint, 'payments:write') },
  {
    path: '/v1/payments/:id/refunds',
    post: tenant(createRefundEndpoint, 'refunds:write'),
    get: tenant(listPaymentRefunds, 'payments:read'),
  },
  { path: '/v1/refunds/:id', get: tenant(getRefund, 'payments:read') },
  { path: '/v1/payments/:id/timeline', get: tenant(getPaymentTimeline, 'payments:read') },
  { path: '/v1/ledger/balances', get: tenant(listLedgerBalances, 'ledger:read') },
  { path: '/v1/ledger/transactions', get: tenant(listLedgerTransactions, 'ledger:read') },
  { path: '/v1/ledger/transactions/:id', get: tenant(getLedgerTransaction, 'ledger:read') },
  { path: '/v1/events', get: tenant(listEvents, 'events:read') },
  { path: '/v1/events/:id', get: tenant(getEvent, 'events:read') },
  {
    path: '/v1/webhook-endpoints',
    post: tenant(createWebhookEndpoint, 'webhooks:write'),
    get: tenant(listWebhookEndpoints, 'webhooks:read'),
  },
  {
    path: '/v1/webhook-endpoints/:id',
    get: tenant(getWebhookEndpoint, 'webhooks:read'),
    delete: tenant(deleteWebhookEndpoint, 'webhooks:write'),
  },
  {
    path: '/v1/webhook-endpoints/:id/rotate-secret',
    post: tenant(rotateWebhookSecret, 'webhooks:write'),
  },
  { path: '/v1/webhook-deliveries', get: tenant(listWebhookDeliveries, 'webhooks:read') },
  { path: '/v1/webhook-deliveries/:id', get: tenant(getWebhookDelivery, 'webhooks:read') },
  {
    path: '/v1/webhook-deliveries/:id/redeliver',
    post: tenant(redeliverWebhook, 'webhooks:write'),
  },
  { path: '/v1/idempotency-keys/:key', get: tenant(getIdempotencyKey, 'payments:read') },
  { path: '/admin/operations', get: admin(listOperations) },
  { path: '/admin/operations/:id', get: admin(getOperation) },
  { path: '/admin/operations/:id/resume', post: admin(resumeOperationEndpoint) },
  { path: '/admin/operations/:id/resolve', post: admin(resolveOperation) },
  { path: '/admin/idempotency-keys/:id/response', delete: admin(dropResponse) },
  { path: '/admin/dead-letters', get: admin(listDeadLettersEndpoint) },
  { path: '/admin/dead-letters/redrive', post: admin(redriveDeadLetters) },
  {
    path: '/admin/reconciliations',
    post: admin(requestReconciliationEndpoint),
    get: admin(listReconciliations),
  },
  { path: '/admin/reconciliations/:id', get: admin(getReconciliation) },
  { path: '/admin/findings', get: admin(listFindingsEndpoint) },
  { path: '/admin/findings/:id/resolve', post: admin(resolveFinding) },
  { path: '/admin/tenants', post: admin(createTenantEndpoint), get: admin(listTenantsEndpoint) },
  { path: '/admin/tenants/:id/keys', post: admin(addApiKey), get: admin(listApiKeysEndpoint) },
  { path: '/admin/keys/:id/rotate', post: admin(rotateApiKey) },
  { path: '/admin/keys/:id', delete: admin(revokeApiKey) },
  { path: '/admin/actions', get: admin(listActions) },
  { path: '/provider/webhooks', post: open(receiveProviderEvent) },
  { path: POLICY_PATH, get: open(getIdempotencyPolicy) },
  { path: '/openapi.yaml', get: open(getOpenapi) },
  { path: '/docs', get: open(getDocs) },
  { path: '/docs/:file', get: open(getDocsFile) },
  { path: '/problems/:type', get: open(getProblem) },
  { path: '/healthz', get: open(getHealth) },
  { path: '/readyz', get: open(getReadiness) },
]
