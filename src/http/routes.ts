// Every route of the API. `tenant` routes need an API key, `admin` routes an operator's key, and are not
// there without one in the settings; `open` ones are for anyone.
import { dropResponse } from './admin/drop-response.ts'
import { getOperation } from './admin/get-operation.ts'
import { getReconciliation } from './admin/get-reconciliation.ts'
import { listActions } from './admin/list-actions.ts'
import { listDeadLettersEndpoint } from './admin/list-dead-letters.ts'
import { listFindingsEndpoint } from './admin/list-findings.ts'
import { listOperations } from './admin/list-operations.ts'
import { listReconciliations } from './admin/list-reconciliations.ts'
import { redriveDeadLetters } from './admin/redrive-dead-letters.ts'
import { requestReconciliationEndpoint } from './admin/request-reconciliation.ts'
import { resolveFinding } from './admin/resolve-finding.ts'
import { resolveOperation } from './admin/resolve-operation.ts'
import { resumeOperationEndpoint } from './admin/resume-operation.ts'
import { cancelPaymentEndpoint } from './cancel-payment.ts'
import { capturePaymentEndpoint } from './capture-payment.ts'
import { createPaymentEndpoint } from './create-payment.ts'
import { createRefundEndpoint } from './create-refund.ts'
import { createWebhookEndpoint } from './create-webhook-endpoint.ts'
import { deleteWebhookEndpoint } from './delete-webhook-endpoint.ts'
import type { AdminEndpoint, OpenEndpoint, TenantEndpoint } from './endpoint.ts'
import { getEvent } from './get-event.ts'
import { getIdempotencyKey } from './get-idempotency-key.ts'
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
  | { readonly access: 'tenant'; readonly endpoint: TenantEndpoint }
  | { readonly access: 'admin'; readonly endpoint: AdminEndpoint }

const open = (endpoint: OpenEndpoint): Endpoint => ({ access: 'open', endpoint })
const tenant = (endpoint: TenantEndpoint): Endpoint => ({ access: 'tenant', endpoint })
const admin = (endpoint: AdminEndpoint): Endpoint => ({ access: 'admin', endpoint })

export const routes: readonly Route[] = [
  { path: '/v1/payments', post: tenant(createPaymentEndpoint), get: tenant(listPayments) },
  { path: '/v1/payments/:id', get: tenant(getPayment) },
  { path: '/v1/payments/:id/capture', post: tenant(capturePaymentEndpoint) },
  { path: '/v1/payments/:id/cancel', post: tenant(cancelPaymentEndpoint) },
  {
    path: '/v1/payments/:id/refunds',
    post: tenant(createRefundEndpoint),
    get: tenant(listPaymentRefunds),
  },
  { path: '/v1/refunds/:id', get: tenant(getRefund) },
  { path: '/v1/payments/:id/timeline', get: tenant(getPaymentTimeline) },
  { path: '/v1/ledger/balances', get: tenant(listLedgerBalances) },
  { path: '/v1/ledger/transactions', get: tenant(listLedgerTransactions) },
  { path: '/v1/ledger/transactions/:id', get: tenant(getLedgerTransaction) },
  { path: '/v1/events', get: tenant(listEvents) },
  { path: '/v1/events/:id', get: tenant(getEvent) },
  {
    path: '/v1/webhook-endpoints',
    post: tenant(createWebhookEndpoint),
    get: tenant(listWebhookEndpoints),
  },
  {
    path: '/v1/webhook-endpoints/:id',
    get: tenant(getWebhookEndpoint),
    delete: tenant(deleteWebhookEndpoint),
  },
  { path: '/v1/webhook-endpoints/:id/rotate-secret', post: tenant(rotateWebhookSecret) },
  { path: '/v1/webhook-deliveries', get: tenant(listWebhookDeliveries) },
  { path: '/v1/webhook-deliveries/:id', get: tenant(getWebhookDelivery) },
  { path: '/v1/webhook-deliveries/:id/redeliver', post: tenant(redeliverWebhook) },
  { path: '/v1/idempotency-keys/:key', get: tenant(getIdempotencyKey) },
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
  { path: '/admin/actions', get: admin(listActions) },
  { path: '/provider/webhooks', post: open(receiveProviderEvent) },
  { path: '/problems/:type', get: open(getProblem) },
  { path: '/healthz', get: open(getHealth) },
  { path: '/readyz', get: open(getReadiness) },
]
