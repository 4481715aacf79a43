// Reads the records of a run after its end: payments, refunds and ledger from the API, and the
// provider's log of executed calls.
import { unwrap } from '../../client/errors.ts'
import type { Client, Payment, Refund } from '../../client/index.ts'
import type { components } from '../../client/schema.ts'
import { inParallel } from './in-parallel.ts'
import { type History, RUN_FIELD } from './history.ts'
import type { Executed, Provider } from './faults.ts'

export type LedgerTransaction = components['schemas']['LedgerTransaction']
export type LedgerBalance = components['schemas']['LedgerBalance']

export interface Records {
  /** The run's payments, as the API lists them. */
  readonly payments: readonly Payment[]
  readonly refunds: readonly Refund[]
  /** All ledger transactions of the tenant since the run started. */
  readonly ledger: readonly LedgerTransaction[]
  readonly balancesBefore: readonly LedgerBalance[]
  readonly balancesAfter: readonly LedgerBalance[]
  /** The run's executed calls, from the provider's log. */
  readonly executed: readonly Executed[]
}

const PAGE_SIZE = 100
const READERS = 8
/** Tolerance for the difference between this machine's clock and the service's. */
const CLOCK_SKEW_MS = 60_000
/** Other clients may post to the ledger while it is read, so reading is retried. */
const LEDGER_READS_MAX = 5

/** The state of the ledger when the run started. */
interface LedgerMark {
  readonly balances: readonly LedgerBalance[]
  readonly newest: string | undefined
}

export async function markLedger(client: Client): Promise<LedgerMark> {
  const query = { limit: 1 }
  const page = unwrap(await client.GET('/v1/ledger/transactions', { params: { query } }))
  return { balances: await readBalances(client), newest: page.data[0]?.id }
}

export async function readRecords(
  client: Client,
  provider: Pick<Provider, 'listExecuted'>,
  history: History,
  mark: LedgerMark,
): Promise<Records> {
  const payments = await listPayments(client, history)
  const ids = new Set(payments.map(({ id }) => id))
  const executed = (await provider.listExecuted()).filter(
    ({ metadata }) =>
      metadata[RUN_FIELD] === history.run || ids.has(metadata['atomic_payment'] ?? ''),
  )
  const refunds = await listRefunds(client, history, payments)
  const { ledger, balances } = await readLedger(client, mark)
  const both = { balancesBefore: mark.balances, balancesAfter: balances }
  return { payments, refunds, executed, ledger, ...both }
}

/** The payments of the run. Those of other clients of the tenant are left out. */
async function listPayments(client: Client, { run, startedAt }: History): Promise<Payment[]> {
  const since = startedAt.getTime() - CLOCK_SKEW_MS
  const payments = await listUntil(
    async (query) => unwrap(await client.GET('/v1/payments', { params: { query } })),
    (payment: Payment) => Date.parse(payment.created_at) < since,
  )
  return payments.filter(({ metadata }) => metadata[RUN_FIELD] === run)
}

async function listRefunds(
  client: Client,
  { operations }: History,
  payments: readonly Payment[],
): Promise<Refund[]> {
  const wanted = new Set(
    operations.map(({ content }) => content.kind === 'refund.create' && content.paymentId),
  )
  const refunded = payments.filter(
    ({ id, amount_refunded: amount }) => amount > 0 || wanted.has(id),
  )
  const refunds: Refund[] = []
  await inParallel(refunded, READERS, async ({ id }) => {
    const params = { path: { id }, query: { limit: PAGE_SIZE } }
    refunds.push(...unwrap(await client.GET('/v1/payments/{id}/refunds', { params })).data)
  })
  return refunds
}

async function readLedger(
  client: Client,
  { newest }: LedgerMark,
): Promise<{ ledger: LedgerTransaction[]; balances: LedgerBalance[] }> {
  for (let tries = 1; ; tries += 1) {
    const before = await readBalances(client)
    const ledger = await listUntil(
      async (query) => unwrap(await client.GET('/v1/ledger/transactions', { params: { query } })),
      (transaction: LedgerTransaction) => transaction.id === newest,
    )
    const balances = await readBalances(client)
    const isUnchanged = JSON.stringify(before) === JSON.stringify(balances)
    if (isUnchanged || tries === LEDGER_READS_MAX) return { ledger, balances }
  }
}

async function readBalances(client: Client): Promise<LedgerBalance[]> {
  return unwrap(await client.GET('/v1/ledger/balances')).data
}

interface Page<Entry> {
  readonly data: readonly Entry[]
  readonly has_more: boolean
}

/** Reads a list, newest first, up to the first entry that is too old. */
async function listUntil<Entry extends { readonly id: string }>(
  read: (query: { limit: number; starting_after?: string }) => Promise<Page<Entry>>,
  isTooOld: (entry: Entry) => boolean,
): Promise<Entry[]> {
  const entries: Entry[] = []
  let query: Parameters<typeof read>[0] = { limit: PAGE_SIZE }
  for (;;) {
    const { data, has_more: hasMore } = await read(query)
    const end = data.findIndex(isTooOld)
    entries.push(...data.slice(0, end === -1 ? data.length : end))
    const last = data.at(-1)
    if (end !== -1 || !hasMore || last === undefined) return entries
    query = { ...query, starting_after: last.id }
  }
}
