// The table of all routes of the API. src/http/server/route.ts says what the words in it mean.
import { addApiKey, listApiKeysEndpoint, revokeApiKey, rotateApiKey } from '../tenants/api-keys.ts'
import { getTenantLimits } from '../tenants/tenant-limits-get.ts'
import { assignCustomersEndpoint, listCustomersEndpoint } from '../tenants/customers.ts'
import { changeTenantLimitsEndpoint } from '../tenants/tenant-limits-change.ts'
import { createTenantEndpoint, getTenant, listTenantsEndpoint } from '../tenants/tenants.ts'
import { dropResponse } from '../admin/idempotency-keys-drop-response.ts'
import { getOperation, listOperations } from '../admin/operations-get.ts'
import {
  getReconciliation,
  listReconciliations,
  requestReconciliationEndpoint,
} from '../admin/reconciliations.ts'
import { listActions } from '../admin/actions-get.ts'
import { listProviders } from '../providers/providers-get.ts'
import { listDeadLettersEndpoint, redriveDeadLetters } from '../admin/dead-letters.ts'
import { getFindingEndpoint, listFindingsEndpoint, resolveFinding } from '../admin/findings.ts'
import { resolveOperation } from '../admin/operations-resolve.ts'
import { resumeOperationEndpoint } from '../admin/operations-resume.ts'
import { createWebhookEndpoint } from '../webhooks/webhook-endpoints-create.ts'
import { deleteWebhookEndpoint } from '../webhooks/webhook-endpoints-delete.ts'
import type { ApiParts } from '../endpoint.ts'
import { admin, consoleOnly, keyless, open, session, tenant, type Route } from './route.ts'
import { getConsole } from '../console/page-get.ts'
import { getConsoleFile, getConsolePackage } from '../console/files-get.ts'
import { getLive } from '../console/live-get.ts'
import { getSession, logIn, logOut } from '../console/sessions.ts'
import { getStart, START_PATH } from '../service/start-get.ts'
import { getDocs, getDocsPage, getOpenapi, getOperatorsOpenapi } from '../service/docs-get.ts'
import { getEvent, listEvents } from '../events/events-get.ts'
import { cancelIdempotencyKey } from '../idempotency-keys/idempotency-keys-cancel.ts'
import { getIdempotencyKey } from '../idempotency-keys/idempotency-keys-get.ts'
import { getIdempotencyPolicy, POLICY_PATH } from '../idempotency-keys/idempotency-policy-get.ts'
import {
  getLedgerTransaction,
  listLedgerBalances,
  listLedgerTransactions,
} from '../ledger/ledger-get.ts'
import { getOverview } from '../overview/overview-get.ts'
import { getPayment, getPaymentTimeline, listPayments } from '../payments/payments-get.ts'
import { getPaymentEndpoint } from '../payments/operators/payments-get.ts'
import { listPaymentsEndpoint } from '../payments/operators/payments-list.ts'
import { getProblem } from '../service/problems-get.ts'
import { getDispute, listDisputes } from '../disputes/disputes-get.ts'
import { getRefund, listPaymentRefunds, listRefunds } from '../refunds/refunds-get.ts'
import {
  getDeliveryEndpoint,
  listDeliveriesEndpoint,
  redeliverEndpoint,
} from '../webhooks/operators/deliveries.ts'
import {
  getEndpointEndpoint,
  listEndpointsEndpoint,
  replayEndpoint,
} from '../webhooks/operators/endpoints.ts'
import { getWebhookDelivery, listWebhookDeliveries } from '../webhooks/webhook-deliveries-get.ts'
import { getWebhookEndpoint, listWebhookEndpoints } from '../webhooks/webhook-endpoints-get.ts'
import { getHealth, getReadiness } from '../service/health-get.ts'
import { operationEndpoints } from '../../operations/index.ts'
import { receiveBraintreeEvent, receiveStripeEvent } from '../events/provider-events-receive.ts'
import { redeliverWebhook } from '../webhooks/webhook-deliveries-redeliver.ts'
import { rotateWebhookSecret } from '../webhooks/webhook-endpoints-rotate-secret.ts'
import { replayWebhooks } from '../webhooks/webhook-endpoints-replay.ts'
import { testWebhookEndpoint } from '../webhooks/webhook-endpoints-test.ts'
import { updateWebhookEndpoint } from '../webhooks/webhook-endpoints-update.ts'

const ownRoutes: readonly Route[] = [
  { path: '/v1/payments', get: tenant(listPayments, 'payments:read') },
  { path: '/v1/payments/:id', get: tenant(getPayment, 'payments:read') },
  { path: '/v1/payments/:id/refunds', get: tenant(listPaymentRefunds, 'payments:read') },
  { path: '/v1/refunds', get: tenant(listRefunds, 'payments:read') },
  { path: '/v1/refunds/:id', get: tenant(getRefund, 'payments:read') },
  { path: '/v1/disputes', get: tenant(listDisputes, 'payments:read') },
  { path: '/v1/disputes/:id', get: tenant(getDispute, 'payments:read') },
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
    post: tenant(updateWebhookEndpoint, 'webhooks:write'),
    delete: tenant(deleteWebhookEndpoint, 'webhooks:write'),
  },
  {
    path: '/v1/webhook-endpoints/:id/rotate-secret',
    post: tenant(rotateWebhookSecret, 'webhooks:write'),
  },
  {
    path: '/v1/webhook-endpoints/:id/replay',
    post: tenant(replayWebhooks, 'webhooks:write'),
  },
  {
    path: '/v1/webhook-endpoints/:id/test',
    post: tenant(testWebhookEndpoint, 'webhooks:write'),
  },
  { path: '/v1/webhook-deliveries', get: tenant(listWebhookDeliveries, 'webhooks:read') },
  { path: '/v1/webhook-deliveries/:id', get: tenant(getWebhookDelivery, 'webhooks:read') },
  {
    path: '/v1/webhook-deliveries/:id/redeliver',
    post: tenant(redeliverWebhook, 'webhooks:write'),
  },
  { path: '/v1/idempotency-keys/:key', get: tenant(getIdempotencyKey, 'payments:read') },
  {
    path: '/v1/idempotency-keys/:key/cancel',
    post: keyless(cancelIdempotencyKey, 'refunds:write'),
  },
  { path: '/admin/overview', get: admin(getOverview) },
  { path: '/admin/payments', get: admin(listPaymentsEndpoint) },
  { path: '/admin/payments/:id', get: admin(getPaymentEndpoint) },
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
  { path: '/admin/providers', get: admin(listProviders) },
  { path: '/admin/findings', get: admin(listFindingsEndpoint) },
  { path: '/admin/findings/:id', get: admin(getFindingEndpoint) },
  { path: '/admin/findings/:id/resolve', post: admin(resolveFinding) },
  { path: '/admin/tenants', post: admin(createTenantEndpoint), get: admin(listTenantsEndpoint) },
  { path: '/admin/tenants/:id', get: admin(getTenant) },
  {
    path: '/admin/tenants/:id/limits',
    post: admin(changeTenantLimitsEndpoint),
    get: admin(getTenantLimits),
  },
  { path: '/admin/tenants/:id/keys', post: admin(addApiKey), get: admin(listApiKeysEndpoint) },
  {
    path: '/admin/tenants/:id/customers',
    post: admin(assignCustomersEndpoint),
    get: admin(listCustomersEndpoint),
  },
  { path: '/admin/keys/:id/rotate', post: admin(rotateApiKey) },
  { path: '/admin/keys/:id', delete: admin(revokeApiKey) },
  { path: '/admin/webhook-endpoints', get: admin(listEndpointsEndpoint) },
  { path: '/admin/webhook-endpoints/:id', get: admin(getEndpointEndpoint) },
  { path: '/admin/webhook-endpoints/:id/replay', post: admin(replayEndpoint) },
  { path: '/admin/webhook-deliveries', get: admin(listDeliveriesEndpoint) },
  { path: '/admin/webhook-deliveries/:id', get: admin(getDeliveryEndpoint) },
  { path: '/admin/webhook-deliveries/:id/redeliver', post: admin(redeliverEndpoint) },
  { path: '/admin/actions', get: admin(listActions) },
  {
    path: '/console/session',
    post: consoleOnly(logIn),
    get: session(getSession),
    delete: session(logOut, true),
  },
  { path: '/console/live', get: session(getLive) },
  { path: '/console', get: consoleOnly(getConsole) },
  { path: '/console/app/:file', get: consoleOnly(getConsoleFile) },
  { path: '/console/packages/:file', get: consoleOnly(getConsolePackage) },
  { path: START_PATH, get: open(getStart) },
  { path: '/provider/webhooks', post: open(receiveStripeEvent) },
  { path: '/provider/webhooks/braintree', post: open(receiveBraintreeEvent) },
  { path: POLICY_PATH, get: open(getIdempotencyPolicy) },
  { path: '/openapi.yaml', get: open(getOpenapi) },
  { path: '/openapi-operators.yaml', get: open(getOperatorsOpenapi) },
  { path: '/docs', get: open(getDocs) },
  { path: '/docs/:page', get: open(getDocsPage) },
  { path: '/problems/:type', get: open(getProblem) },
  { path: '/healthz', get: open(getHealth) },
  { path: '/readyz', get: open(getReadiness) },
]

/** Whether the settings have what the route is for: operators, or the console. */
export function isServed(
  { get, post, delete: remove }: Route,
  { ADMIN_API_KEY, CONSOLE }: ApiParts['settings'],
): boolean {
  const access = (get ?? post ?? remove)?.access
  if (access === 'admin') return ADMIN_API_KEY !== undefined
  return CONSOLE === 'on' || (access !== 'console' && access !== 'session')
}

/**
 * The routes above, with the POST of the operation at the same path; then the remaining operations.
 */
export const routes: readonly Route[] = [
  ...ownRoutes.map((route) => ({ ...route, ...postAt(route.path) })),
  ...operationEndpoints
    .filter(({ path }) => !ownRoutes.some((route) => route.path === path))
    .map(({ path }) => ({ path, ...postAt(path) })),
]

function postAt(path: string): Pick<Route, 'post'> {
  const operation = operationEndpoints.find((candidate) => candidate.path === path)
  return operation === undefined ? {} : { post: tenant(operation.endpoint, operation.scope) }
}
