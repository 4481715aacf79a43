// GET /admin/payments and GET /admin/payments/:id: payments of all tenants, and the life of one.
import { z } from 'zod'
import type { Page } from '../../db/connection/pages.ts'
import { listEvents } from '../../db/events/events.ts'
import { listPhaseRuns } from '../../db/operations/phase-runs.ts'
import { listOperationOverviews, type OperationOverview } from './operations-search.ts'
import {
  CANDIDATES_MAX,
  findPaymentOverview,
  listPaymentsOfTenants,
  SEARCHED_MAX,
  type PaymentOverview,
} from './payments-search.ts'
import { listDisputes } from '../../db/payments/disputes.ts'
import { listRefunds } from '../../db/payments/refunds.ts'
import { listDeliveries } from '../../db/webhooks/webhook-deliveries.ts'
import { presentEventWithoutSecret } from '../../domain/events/event.ts'
import { presentDispute } from '../../domain/payments/dispute.ts'
import {
  AMOUNT_MAX_MINOR,
  presentPaymentWithoutSecret,
  showPaymentId,
  type Payment,
  paymentStatuses,
} from '../../domain/payments/payment.ts'
import { presentRefund } from '../../domain/payments/refund.ts'
import { showId } from '../../domain/resource-id.ts'
import { showTenantId } from '../../domain/tenants/tenant.ts'
import type { WebhookDelivery } from '../../domain/webhooks/webhook-delivery.ts'
import type { Endpoints } from '../contracts/contract.ts'
import {
  EXAMPLE_KEY,
  idField,
  listOf,
  shownCount,
  shownFlag,
  timeField,
  render,
  type Json,
} from '../contracts/fields.ts'
import { byId, byName, byText } from '../contracts/parameters.ts'
import { withinStoreTimeout, type ServiceParts } from '../endpoint.ts'
import { listReplays } from '../keyed/replay-counter.ts'
import { currencyFilter, keyFilter, providerIdFilter, type Filter } from '../requests/list-query.ts'
import { disputeSchema } from '../resources/disputes.ts'
import { disputeEventSchema, paymentEventSchema, refundEventSchema } from '../resources/events.ts'
import {
  ledgerTransactionSchema,
  listLedgerTransactions,
  presentLedgerTransaction,
} from '../resources/ledger.ts'
import { paymentSchema, refundSchema } from '../resources/payment.ts'
import { phaseRunSchema, presentPhaseRun } from '../resources/payments.ts'
import { webhookDeliverySchema } from '../resources/webhook-deliveries.ts'
import { readOne, readList } from '../contracts/reads.ts'
import { operationSchema, presentOperation } from './operation.ts'

/** Each list has its oldest entries: few payments have as many, and nothing is unbounded. */
const LIFE_MAX = 100

const lifeLists = [
  'operations',
  'runs',
  'events',
  'deliveries',
  'ledger',
  'refunds',
  'disputes',
] as const

const openOperation = operationSchema.pick({
  id: true,
  operation: true,
  status: true,
  recovery_point: true,
})

const overviewShape = paymentSchema.extend({
  tenant: idField('tnt', 'The tenant.'),
  operation: openOperation
    .nullable()
    .meta({ description: 'The newest operation on the payment that is not completed.' }),
})

const paymentOverviewSchema = overviewShape.meta({ id: 'PaymentOverview' })

const paymentOverviewListSchema = listOf('PaymentOverviewList', paymentOverviewSchema)
  .extend({
    searched_to: idField(
      'pay',
      'When a page is not full, and the search for its filters ended before it looked at all payments: the last payment that it looked at. Then `has_more` is true, and this id, not that of the last entry, is the cursor of the next page. Otherwise null.',
    ).nullable(),
  })
  .meta({ id: 'PaymentOverviewList' })

const requestReplays = z
  .object({
    count: shownCount('How many requests got the stored response.'),
    conflicts: shownCount('How many were refused because there was no response yet.'),
    mismatches: shownCount('How many were refused because they were other requests.'),
    first_at: timeField('When the first of them came.').nullable(),
    last_at: timeField('When the last of them came.').nullable(),
  })
  .meta({
    description:
      'The requests that used the idempotency key again. The counts are a few seconds old. They can be too small, never too large: a crash of an API process loses its last seconds.',
  })

const completedOperation = operationSchema.extend({
  request_replays: requestReplays,
  completed_at: timeField('When its response was stored. Null until then.').nullable(),
})

const runOfOperation = phaseRunSchema.extend({
  operation_id: idField('op', 'The operation.'),
})

const lifeSchema = z
  .object({
    operations: z
      .array(completedOperation)
      .meta({ description: 'The operations whose idempotency keys are not forgotten yet.' }),
    runs: z.array(runOfOperation).meta({ description: 'Every attempt of every step.' }),
    events: z
      .array(
        z.discriminatedUnion('type', [paymentEventSchema, refundEventSchema, disputeEventSchema]),
      )
      .meta({ description: 'The events, without client secrets.' }),
    deliveries: z.array(webhookDeliverySchema).meta({
      description:
        'The webhook deliveries of these events. When `events` is incomplete, later events can have more.',
    }),
    ledger: z
      .array(ledgerTransactionSchema)
      .meta({ description: 'The transactions that moved its money.' }),
    refunds: z.array(refundSchema).meta({ description: 'Its refunds.' }),
    disputes: z.array(disputeSchema).meta({ description: 'Its disputes.' }),
    has_more: shownFlag('Whether a list has more entries than these.'),
    incomplete: z.array(z.enum(lifeLists)).meta({
      description:
        'The lists that have more entries than these. `deliveries` is among them when `events` is.',
    }),
  })
  .meta({
    id: 'PaymentLife',
    description: `What happened to the payment. Each list has the oldest entries, up to ${LIFE_MAX}, oldest first.`,
  })

const paymentWithLifeSchema = overviewShape
  .extend({ life: lifeSchema })
  .meta({ id: 'PaymentWithLife' })

const OLDEST = { limit: LIFE_MAX, oldest: true }

interface Entries {
  readonly shown: readonly Json[]
  readonly hasMore: boolean
}

async function readLife(parts: ServiceParts, payment: Payment): Promise<Json> {
  const { sql } = parts.store
  const { tenantId: tenant, id } = payment
  const filter = { paymentId: id }
  const [operations, runs, ofEvents, ledger, refunds, disputes] = await Promise.all([
    readOperations(parts, payment),
    readRuns(parts, payment),
    readEvents(parts, payment),
    listLedgerTransactions(sql, tenant, filter, OLDEST).then(oldestFirst(presentLedgerTransaction)),
    listRefunds(sql, tenant, filter, OLDEST).then(oldestFirst(presentRefund)),
    listDisputes(sql, tenant, filter, OLDEST).then(oldestFirst(presentDispute)),
  ])
  const lists = { operations, runs, ...ofEvents, ledger, refunds, disputes }
  const incomplete = lifeLists.filter((name) => lists[name].hasMore)
  const shown = lifeLists.map((name) => [name, lists[name].shown])
  return { ...Object.fromEntries(shown), has_more: incomplete.length > 0, incomplete }
}

/** Renders a page, which is newest first. Without a cursor there is always one. */
const oldestFirst =
  <Item>(present: (item: Item) => Json) =>
  (page: Page<Item> | undefined): Entries => ({
    shown: (page?.items ?? []).map((item) => present(item)).toReversed(),
    hasMore: page?.hasMore ?? false,
  })

async function readOperations(parts: ServiceParts, { tenantId, id }: Payment): Promise<Entries> {
  const { sql } = parts.store
  const page = await listOperationOverviews(sql, { tenant: tenantId, payment: id }, OLDEST)
  const ids = page?.items.map((operation) => operation.id) ?? []
  const replays = new Map((await listReplays(sql, tenantId, ids)).map((count) => [count.id, count]))
  const present = (operation: OperationOverview) => {
    const { replays: count, ...reuses } = replays.get(operation.id) ?? NOT_REUSED
    return {
      ...presentOperation(operation, parts),
      request_replays: render(requestReplays, { count, ...reuses }),
      completed_at: operation.finishedAt,
    }
  }
  return oldestFirst(present)(page)
}

const NOT_REUSED = { replays: 0, conflicts: 0, mismatches: 0, firstAt: null, lastAt: null }

async function readRuns({ store }: ServiceParts, { tenantId, id }: Payment): Promise<Entries> {
  const runs = await listPhaseRuns(store, tenantId, id, LIFE_MAX + 1)
  const shown = runs.slice(0, LIFE_MAX).map((run) => ({
    ...presentPhaseRun(run),
    operation_id: showId('op', run.operationId),
  }))
  return { shown, hasMore: runs.length > LIFE_MAX }
}

const presentDelivery = (delivery: WebhookDelivery) => render(webhookDeliverySchema, delivery)

/** The events, and their deliveries. Those of events that are not shown are not shown either. */
async function readEvents(
  { store: { sql } }: ServiceParts,
  { tenantId, id }: Payment,
): Promise<{ events: Entries; deliveries: Entries }> {
  const events = await listEvents(sql, tenantId, { paymentId: id }, OLDEST)
  const eventIds = events?.items.map((event) => event.id) ?? []
  const page = await listDeliveries(sql, tenantId, { eventIds }, OLDEST)
  const deliveries = oldestFirst(presentDelivery)(page)
  return {
    events: oldestFirst(presentEventWithoutSecret)(events),
    deliveries: { ...deliveries, hasMore: deliveries.hasMore || events?.hasMore === true },
  }
}

const amountFilter: Filter<number> = {
  expected: `one integer from 1 to ${AMOUNT_MAX_MINOR}`,
  parse: (text) => (/^[1-9]\d{0,7}$/.test(text) ? Number(text) : undefined),
}

/** Renders a payment as its tenant sees it, with tenant and operation, and without the client secret. */
function presentOverview({ payment, operation }: PaymentOverview): Record<string, unknown> {
  return {
    ...presentPaymentWithoutSecret(payment),
    tenant: showTenantId(payment.tenantId),
    operation: operation && render(openOperation, operation),
  }
}

const payment = {
  prefix: 'pay',
  schema: paymentOverviewSchema,
  idInPath: 'The id of the payment.',
  find: findPaymentOverview,
  present: presentOverview,
} as const

export const operatorPaymentEndpoints: Endpoints = {
  'GET /admin/payments': readList({
    operationId: 'listTenantPayments',
    summary: 'List payments of tenants',
    description: `Returns the payments of all tenants, newest first, each with its newest operation that is not completed. Several filters must all match. A page looks at ${SEARCHED_MAX} payments at most to find those of a status, a currency or an amount, and at ${CANDIDATES_MAX} stuck ones; \`searched_to\` says when it ended there. No payment has its client secret.`,
    of: payment,
    filters: {
      tenant: byId('tnt', 'tenant', 'Only return payments of this tenant.'),
      status: byName(
        paymentStatuses,
        `one of ${paymentStatuses.join(', ')}`,
        'Only return payments with this status.',
      ),
      stuck: byName(
        ['true'],
        'true',
        'Only return payments with an operation in progress that no worker works on any more.',
      ),
      currency: byText(
        currencyFilter,
        'Only return payments in this currency: a three-letter ISO 4217 code, in lower case.',
        'usd',
      ),
      amount: byText(
        amountFilter,
        'Only return payments of this amount, in the smallest unit of the currency.',
        '1999',
      ),
      key: byText(
        keyFilter,
        'Only return the payment that a request with this idempotency key created or changed, without the quotes of its header. The service forgets a key after its retention.',
        EXAMPLE_KEY,
      ),
      provider_id: byText(
        providerIdFilter,
        "Only return the payment that has this id at the provider, or has a refund or dispute with this id of the provider's.",
        'pi_3SZ0001',
      ),
    },
    read({ store }, page, { stuck, amount: amountMinor, provider_id: providerId, ...others }) {
      const filter = { ...others, stuck: stuck === 'true', amountMinor, providerId }
      return listPaymentsOfTenants(store.sql, filter, page)
    },
    show: (page, { searchedTo }) => ({
      ...page,
      searched_to: searchedTo && showPaymentId(searchedTo),
    }),
    answer: 'A page of payments.',
    schema: paymentOverviewListSchema,
  }),
  'GET /admin/payments/:id': readOne({
    operationId: 'getTenantPayment',
    summary: 'Retrieve a payment of a tenant',
    description:
      'Returns a payment of any tenant with its life: its operations and their attempts, its events and their deliveries, its entries in the ledger, its refunds and its disputes.',
    of: payment,
    async show(parts, found) {
      const life = await withinStoreTimeout(parts, readLife(parts, found.payment))
      return { ...presentOverview(found), life }
    },
    answer: 'The payment with its life.',
    schema: paymentWithLifeSchema,
  }),
}
