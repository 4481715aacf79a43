// Reads what happened to a payment, and renders it for operators, oldest first.
import type { Page } from '../../../db/connection/pages.ts'
import { listEvents } from '../../../db/events/events.ts'
import { listReplays, type ReplayCount } from '../../../db/idempotency/key-replays.ts'
import { listLedgerTransactions } from '../../../db/ledger/ledger-transactions.ts'
import { listPhaseRuns } from '../../../db/operations/phase-runs.ts'
import {
  listOperationOverviews,
  type OperationOverview,
} from '../../../db/operators/lists/operation-overviews.ts'
import { listDisputes } from '../../../db/payments/disputes.ts'
import { listRefunds } from '../../../db/payments/refunds.ts'
import { listDeliveries } from '../../../db/webhooks/webhook-deliveries.ts'
import { presentEventWithoutSecret } from '../../../domain/events/event.ts'
import { presentLedgerTransaction } from '../../../domain/ledger/ledger-transaction.ts'
import { presentDispute } from '../../../domain/payments/dispute.ts'
import type { Payment } from '../../../domain/payments/payment.ts'
import { presentRefund } from '../../../domain/payments/refund.ts'
import { presentDelivery } from '../../../domain/webhooks/webhook-delivery.ts'
import { presentOperation, showOperationId } from '../../admin/operations-show.ts'
import type { ApiParts } from '../../endpoint.ts'
import { presentPhaseRun } from '../payments-get.ts'
import { LIFE_MAX, lifeLists, type LifeList } from './life-lists.ts'

type Json = Record<string, unknown>

const OLDEST = { limit: LIFE_MAX, oldest: true }

interface Entries {
  readonly shown: readonly Json[]
  readonly hasMore: boolean
}

export async function readLife(parts: ApiParts, payment: Payment): Promise<Json> {
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
  return presentLife({ operations, runs, ...ofEvents, ledger, refunds, disputes })
}

function presentLife(lists: Readonly<Record<LifeList, Entries>>): Json {
  const shown = lifeLists.map((name) => [name, lists[name].shown])
  const incomplete = lifeLists.filter((name) => lists[name].hasMore)
  return { ...Object.fromEntries(shown), has_more: incomplete.length > 0, incomplete }
}

/** Renders a page, which is newest first. Without a cursor there is always one. */
const oldestFirst =
  <Item>(present: (item: Item) => Json) =>
  (page: Page<Item> | undefined): Entries => ({
    shown: (page?.items ?? []).map((item) => present(item)).toReversed(),
    hasMore: page?.hasMore ?? false,
  })

async function readOperations(parts: ApiParts, { tenantId, id }: Payment): Promise<Entries> {
  const { sql } = parts.store
  const page = await listOperationOverviews(sql, { tenant: tenantId, payment: id }, OLDEST)
  const ids = page?.items.map((operation) => operation.id) ?? []
  const replays = new Map((await listReplays(sql, tenantId, ids)).map((count) => [count.id, count]))
  const present = (operation: OperationOverview) => ({
    ...presentOperation(parts, operation),
    request_replays: presentReplays(replays.get(operation.id)),
    completed_at: operation.finishedAt,
  })
  return oldestFirst(present)(page)
}

function presentReplays(count: ReplayCount | undefined): Json {
  return {
    count: count?.replays ?? 0,
    conflicts: count?.conflicts ?? 0,
    mismatches: count?.mismatches ?? 0,
    first_at: count?.firstAt ?? null,
    last_at: count?.lastAt ?? null,
  }
}

async function readRuns({ store }: ApiParts, { tenantId, id }: Payment): Promise<Entries> {
  const runs = await listPhaseRuns(store, tenantId, id, LIFE_MAX + 1)
  const shown = runs.slice(0, LIFE_MAX).map((run) => ({
    ...presentPhaseRun(run),
    operation_id: showOperationId(run.operationId),
  }))
  return { shown, hasMore: runs.length > LIFE_MAX }
}

/** The events, and their deliveries. Those of events that are not shown are not shown either. */
async function readEvents(
  { store: { sql } }: ApiParts,
  { tenantId, id }: Payment,
): Promise<Pick<Record<LifeList, Entries>, 'events' | 'deliveries'>> {
  const events = await listEvents(sql, tenantId, { paymentId: id }, OLDEST)
  const eventIds = events?.items.map((event) => event.id) ?? []
  const page = await listDeliveries(sql, tenantId, { eventIds }, OLDEST)
  const deliveries = oldestFirst(presentDelivery)(page)
  return {
    events: oldestFirst(presentEventWithoutSecret)(events),
    deliveries: { ...deliveries, hasMore: deliveries.hasMore || events?.hasMore === true },
  }
}
