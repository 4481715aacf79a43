// Tests the constraints of the schema: each one refuses the rows that it forbids, and no row refers
// to another tenant's row.
import { randomBytes, randomUUID, randomUUIDv7 } from 'node:crypto'
import { beforeAll, describe, expect, test } from '@jest/globals'
import { firstIdAt } from '../../src/db/connection/rows.ts'
import { cancellationStatuses } from '../../src/domain/idempotency/idempotency-key.ts'
import { ledgerAccounts, ledgerKinds } from '../../src/domain/ledger/ledger.ts'
import { localOperations, operationStatuses } from '../../src/domain/operations/operation.ts'
import {
  cancellationReasons,
  captureMethods,
  expirySteps,
  paymentTransitions,
} from '../../src/domain/payments/payment.ts'
import { refundReasons, refundTransitions } from '../../src/domain/payments/refund.ts'
import { makeTenant } from './reservations.ts'
import { store } from '../support/own-store.ts'

const INSTANT = '2026-01-01T00:00:00Z'

type Row = Record<string, unknown>

let tenantId: string
/** A payment that idempotency keys, phase runs, refunds, postings and events refer to. */
let paymentId: string
/** A refund of that payment. */
let refundId: string
/** A dispute of that payment. */
let disputeId: string
/** An event with a delivery, and one without. */
const eventId = randomUUID()
const idleEventId = randomUUID()
const endpointId = randomUUID()
const deliveryId = randomUUID()
/** A reconciliation run that findings refer to. */
const runId = randomUUID()

beforeAll(async () => {
  tenantId = await makeTenant(store)
  paymentId = randomUUID()
  await insert('payments', { id: paymentId })
  refundId = randomUUID()
  await insert('refunds', { id: refundId })
  disputeId = randomUUID()
  await insert('disputes', { id: disputeId })
  await insert('events', { id: eventId })
  await insert('events', { id: idleEventId })
  await insert('webhook_endpoints', { id: endpointId })
  await insert('webhook_deliveries', { id: deliveryId })
  await insert('reconciliation_runs', { id: runId })
})
/** A valid row of each table, as it is first inserted. */
const legalRows = {
  tenants: () => ({ id: randomUUID(), name: 'test' }),
  payments: () => ({
    tenant_id: tenantId,
    id: randomUUID(),
    amount_minor: 1999,
    currency: 'usd',
    capture_method: 'automatic',
    payment_method: 'pm_card_visa',
    metadata: '{}',
    provider: 'stripe',
  }),
  idempotency_keys: () => ({
    tenant_id: tenantId,
    id: randomUUID(),
    key: randomUUID(),
    fingerprint: randomBytes(32),
    operation: 'payment.create',
    payment_id: paymentId,
    expires_at: INSTANT,
  }),
  phase_runs: () => ({
    tenant_id: tenantId,
    id: randomUUID(),
    payment_id: paymentId,
    operation_id: randomUUID(),
    operation: 'payment.create',
    attempt: 1,
    lease_epoch: 1,
    started_at: INSTANT,
  }),
  refunds: () => ({
    tenant_id: tenantId,
    id: randomUUID(),
    payment_id: paymentId,
    amount_minor: 500,
    currency: 'usd',
    metadata: '{}',
  }),
  disputes: () => ({
    tenant_id: tenantId,
    id: randomUUID(),
    payment_id: paymentId,
    provider_dispute_id: randomUUID(),
    amount_minor: 1999,
    currency: 'usd',
    reason: 'fraudulent',
    status: 'needs_response',
    opened_at: INSTANT,
  }),
  ledger_postings: () => ({
    tenant_id: tenantId,
    id: randomUUID(),
    transaction_id: randomUUID(),
    kind: 'capture',
    payment_id: paymentId,
    operation_id: randomUUID(),
    debit: 'provider_receivable',
    credit: 'merchant_payable',
    amount_minor: 1999,
    currency: 'usd',
  }),
  events: () => ({
    tenant_id: tenantId,
    id: randomUUID(),
    type: 'payment.succeeded',
    payment_id: paymentId,
    object: '{}',
  }),
  provider_events: () => ({
    provider: 'stripe',
    id: `evt_${randomUUID()}`,
    type: 'payment_intent.succeeded',
    object_id: 'pi_captured',
    occurred_at: INSTANT,
  }),
  webhook_endpoints: () => ({
    tenant_id: tenantId,
    id: randomUUID(),
    slot: 1,
    url: 'https://merchant.example/',
    event_types: '{*}',
    secret: 'whsec_1',
  }),
  webhook_deliveries: () => ({
    tenant_id: tenantId,
    id: randomUUID(),
    event_id: eventId,
    endpoint_id: endpointId,
    next_attempt_at: INSTANT,
  }),
  webhook_attempts: () => ({
    tenant_id: tenantId,
    id: randomUUID(),
    delivery_id: deliveryId,
    number: 1,
    started_at: INSTANT,
    latency_ms: 12,
    http_status: 200,
  }),
  api_keys: () => ({
    tenant_id: tenantId,
    id: randomUUID(),
    prefix: 'sk_test_1',
    secret_hash: randomBytes(32),
  }),
  key_tombstones: () => ({
    tenant_id: tenantId,
    key_hash: randomBytes(32),
    payment_id: paymentId,
    expired_at: INSTANT,
  }),
  reconciliation_runs: () => ({
    id: randomUUID(),
    provider: 'stripe',
    window_from: INSTANT,
    window_to: '2026-01-02T00:00:00Z',
    requested_by: 'schedule',
  }),
  reconciliation_findings: () => ({
    id: randomUUID(),
    provider: 'stripe',
    kind: 'missing_here',
    object_id: randomUUID(),
  }),
  reconciliation_seen: () => ({ run_id: runId, object_id: randomUUID() }),
  provider_accounts: () => ({ provider: randomUUID(), account: 'acct_1 test' }),
  provider_customers: () => ({ tenant_id: tenantId, provider: 'stripe', id: randomUUID() }),
  retention_periods: () => ({ records: randomUUID(), days: 30 }),
  admin_actions: () => ({ id: randomUUIDv7(), actor: 'ada', action: 'resume', details: '{}' }),
  console_sessions: () => ({
    token_hash: randomBytes(32),
    operator: 'ada',
    key_proof: randomBytes(32),
  }),
  answer_epochs: () => ({ id: 1, epoch: 1 }),
  encryption_seals: () => ({ name: randomUUID(), sealed: 'enc.v1.a.b.c' }),
  service_processes: () => ({
    id: randomUUID(),
    kind: 'api',
    host: 'node-1',
    queues: [],
    version: '1.0.0',
    circuits: '[]',
    started_at: INSTANT,
  }),
}
type Table = keyof typeof legalRows

async function insert(table: Table, fields: Row): Promise<void> {
  const row: Row = { ...legalRows[table](), ...fields }
  await store.sql`insert into ${store.sql(table)} ${store.sql(row)}`
}

/** On Citus, a table of all nodes has its rows in another one, whose name ends with a number. */
const isNoShard = () => store.sql`conrelid::regclass::text !~ '_[0-9]+$'`

async function expectRefused(
  table: Table,
  fields: Row,
  constraint: string,
  code = '23514',
): Promise<void> {
  // Citus names it only in the message.
  const message: unknown = expect.stringContaining(constraint)
  await expect(insert(table, fields)).rejects.toMatchObject({ code, message })
}

const UNIQUE = '23505'
const FOREIGN_KEY = '23503'

const completed = {
  status: 'completed',
  recovery_point: 'finished',
  finished_at: INSTANT,
  response_status: 201,
  response_headers: '{}',
  response_body: '{}',
}
/** A payment or refund after an operation. */
const fromProcessing = { previous_status: 'processing' }
const declined = { ...fromProcessing, status: 'declined', failure_code: 'card_declined' }

const failed = { ...fromProcessing, status: 'failed', failure_code: 'expired' }
const canceled = { ...fromProcessing, status: 'canceled', cancellation_reason: 'expired' }
const held = { ...fromProcessing, status: 'requires_capture', provider_payment_id: 'pi_held' }
const actionRequired = {
  ...fromProcessing,
  status: 'requires_action',
  provider_payment_id: 'pi_action',
}
const succeeded = {
  ...fromProcessing,
  status: 'succeeded',
  provider_payment_id: 'pi_captured',
  amount_captured_minor: 1999,
}

const refunded = { ...fromProcessing, status: 'succeeded', provider_refund_id: 're_1' }
/** An operation without a payment. */
const limits = { rate_limit_writes: 100, max_active_keys: 10 }
const local = { operation: 'webhook_endpoint.create', payment_id: null }
const disabled = { slot: 2, status: 'disabled', disabled_reason: 'gone' }
const deleted = { status: 'deleted', slot: null, secret: null }
const rotated = { slot: 3, previous_secret: 'whsec_0', previous_secret_expires_at: INSTANT }
/** A provider event that needs no further work. */
const settled = { status: 'ignored', settled_at: INSTANT }
const ended = { status: 'succeeded', next_attempt_at: null }
const unanswered = { http_status: null, error: 'timeout' }
const withCall = { outcome: 'done', asked: '{}', answered: '{}' }
const unknown = { status: 'unknown', in_doubt: true, unknown_at: INSTANT }
const resolved = { status: 'resolved', resolved_at: INSTANT, resolved_by: 'ada' }
const compared = { status: 'completed', finished_at: INSTANT }

/** What the product writes in its other tests needs no line here. */
test.each<[string, Table, Row]>([
  ['the smallest amount', 'payments', { amount_minor: 1 }],
  ['the largest amount', 'payments', { amount_minor: 999_999_999_999 }],
  ['a failed payment with a reason', 'payments', failed],
  ['a key of 255 characters', 'idempotency_keys', { key: 'k'.repeat(255) }],
  ['a tenant with a fee of the full amount', 'tenants', { fee_basis_points: 10_000 }],
  ['a tenant that may not read', 'tenants', { ...limits, rate_limit_reads: 0 }],
  ['a retention without end', 'retention_periods', { days: 0 }],
  ['a lost encryption key', 'encryption_seals', { sealed: null }],
])('inserts a valid row: %s', async (_, table, fields) => {
  await expect(insert(table, fields)).resolves.toBeUndefined()
})

/** The other columns of a row in each status. */
const paymentRows = { requires_action: actionRequired, requires_capture: held, succeeded, declined }
const refundRows = { succeeded: refunded, declined }

interface Step {
  readonly from: string
  readonly to: string
}

describe.each<[Table, Record<string, readonly string[]>, Record<string, Row>, string]>([
  ['payments', paymentTransitions, paymentRows, 'provider_payment_id'],
  ['refunds', refundTransitions, refundRows, 'provider_refund_id'],
])('status transitions of %s', (table, transitions, rows, providerId) => {
  const statuses = Object.keys(transitions)
  const steps = statuses.flatMap((from) => statuses.map((to): Step => ({ from, to })))
  const isLegal = ({ from, to }: Step) => transitions[from]?.includes(to) ?? false
  const rowOf = ({ from, to }: Step) => ({
    ...rows[to],
    status: to,
    previous_status: from,
    [providerId]: randomUUID(),
  })

  test.each(steps.filter(isLegal))('accepts $from to $to', async (step) => {
    await expect(insert(table, rowOf(step))).resolves.toBeUndefined()
  })

  test.each(steps.filter((step) => !isLegal(step)))('refuses $from to $to', async (step) => {
    await expectRefused(table, rowOf(step), `${table}_step`)
  })

  test.each(statuses.filter((status) => status !== 'processing'))(
    'refuses a row that begins as %s',
    async (status) => {
      const row = { ...rowOf({ from: '', to: status }), previous_status: null }
      await expectRefused(table, row, `${table}_step`)
    },
  )
})

/** The table with the longest name that the constraint's begins with. */
function tableOf(constraint: string): Table {
  const tables = Object.keys(legalRows).filter((table) => constraint.startsWith(`${table}_`))
  return tables.toSorted((one, other) => other.length - one.length)[0] as Table
}

describe('a check constraint refuses', () => {
  /** By constraint, whose name begins with its table. */
  const illegal: Record<string, Record<string, Row>> = {
    answer_epochs_one_row: { 'a second epoch': { id: 2 } },
    admin_actions_not_backdated: {
      'an action whose id is of the day before': {
        id: `${firstIdAt(Date.now() - 86_400_000).slice(0, 14)}7${randomUUID().slice(15)}`,
      },
    },
    retention_periods_days: { 'a negative retention': { days: -1 } },
    service_processes_kind: { 'a process of another kind': { kind: 'cron' } },
    payments_step: {
      'a new payment with status requires_capture': { ...held, previous_status: null },
      'an invalid previous status': { previous_status: 'paid' },
      'an invalid status': { status: 'paid' },
    },
    payments_capture_method: { 'an invalid capture method': { capture_method: 'later' } },
    payments_amount: {
      'an amount of zero': { amount_minor: 0 },
      'thirteen digits': { amount_minor: 1_000_000_000_000 },
    },
    payments_amounts_nest: {
      'more captured than authorized': { ...succeeded, amount_captured_minor: 2000 },
      'more refunded than captured': {
        ...succeeded,
        amount_captured_minor: 1000,
        amount_refunded_minor: 1001,
      },
      'a larger pending refund than captured': {
        ...succeeded,
        amount_captured_minor: 1000,
        amount_refunding_minor: 1001,
      },
      'refunds and pending refunds above the captured amount': {
        ...succeeded,
        amount_refunded_minor: 1000,
        amount_refunding_minor: 1000,
      },
      'a negative refund': { amount_refunded_minor: -1 },
      'a negative pending refund': { ...succeeded, amount_refunding_minor: -1 },
    },
    payments_failure: {
      'a decline without a reason': { ...declined, failure_code: null },
      'a success with a failure code': { ...succeeded, failure_code: 'card_declined' },
    },
    payments_cancellation_reason: {
      'a cancellation for no known reason': { ...canceled, cancellation_reason: 'void_invoice' },
      'a held payment with the reason of a cancellation': {
        ...held,
        cancellation_reason: 'expired',
      },
    },
    payments_expiry_step: {
      'a step that does not exist': { ...held, capture_before: INSTANT, expiry_step: 'capture' },
      'the end of a hold at no known time': { ...held, expiry_step: 'announce' },
    },
    payments_provider_payment: {
      'held money without a provider payment': { ...held, provider_payment_id: null },
      'a required action without a provider payment': {
        ...actionRequired,
        provider_payment_id: null,
      },
      'captured money without a provider payment': { ...succeeded, provider_payment_id: null },
    },
    payments_succeeded: {
      'a success without a captured amount': { ...succeeded, amount_captured_minor: 0 },
    },
    provider_events_status: { 'an invalid status': { ...settled, status: 'lost' } },
    provider_events_settled: {
      'a pending event with settled_at': { settled_at: INSTANT },
      'an ignored event without settled_at': { status: 'ignored' },
    },
    provider_events_subject: { 'a payment without a tenant': { payment_id: randomUUID() } },
    idempotency_keys_status: { 'an invalid status': { status: 'canceled' } },
    idempotency_keys_key: {
      'an empty key': { key: '' },
      'a key of 256 characters': { key: 'k'.repeat(256) },
    },
    idempotency_keys_lease: {
      'a processing operation without a lease': { status: 'processing' },
      'a lease of a pending operation': { lease_expires_at: INSTANT },
      'a lease of a completed operation': { ...completed, lease_expires_at: INSTANT },
    },
    idempotency_keys_finished: {
      'a completed key without recovery_point': { ...completed, recovery_point: 'started' },
      'a completed key without finished_at': { ...completed, finished_at: null },
      'a completed key without response_status': { ...completed, response_status: null },
      'a completed key without response_headers': { ...completed, response_headers: null },
      'a completed key without response_body': { ...completed, response_body: null },
      'a response of a pending operation': {
        response_status: 201,
        response_headers: '{}',
        response_body: '{}',
      },
    },
    idempotency_keys_response: {
      'a stored 500': { ...completed, response_status: 500 },
      'a stored 503': { ...completed, response_status: 503 },
    },
    idempotency_keys_doubt: {
      'failed_retryable in doubt': { status: 'failed_retryable', in_doubt: true },
      'unknown without doubt': { ...unknown, in_doubt: false },
    },
    idempotency_keys_cancellation: { 'an unknown cancellation': { cancellation: 'maybe' } },
    idempotency_keys_unknown: {
      'an unknown key without unknown_at': { ...unknown, unknown_at: null },
      'a scheduled check of a pending operation': { next_check_at: INSTANT },
      'a past check of a pending operation': { checked_at: INSTANT },
    },
    key_tombstones_hash: { 'a hash of 31 bytes': { key_hash: randomBytes(31) } },
    reconciliation_runs_window: { 'an empty window': { window_to: INSTANT } },
    reconciliation_runs_status: { 'an invalid status': { status: 'paused' } },
    reconciliation_runs_finished: {
      'a completed run without finished_at': { ...compared, finished_at: null },
      'a running run with finished_at': { ...compared, status: 'running' },
    },
    reconciliation_findings_kind: { 'an invalid kind': { kind: 'odd' } },
    reconciliation_findings_status: { 'an invalid status': { status: 'ignored' } },
    reconciliation_findings_resolved: {
      'a resolved finding without resolved_by': { ...resolved, resolved_by: null },
      'a resolved finding without resolved_at': { ...resolved, resolved_at: null },
      'an open finding with resolved_by': { ...resolved, status: 'open' },
    },
    refunds_step: {
      'a new refund with status succeeded': { ...refunded, previous_status: null },
      'an invalid status': { status: 'paid' },
    },
    refunds_reason: { 'an invalid reason': { reason: 'abandoned' } },
    refunds_amount: {
      'an amount of zero': { amount_minor: 0 },
      'thirteen digits': { amount_minor: 1_000_000_000_000 },
    },
    refunds_failure: {
      'a decline without a reason': { ...declined, failure_code: null },
      'a success with a failure code': { ...refunded, failure_code: 'card_declined' },
    },
    refunds_provider_refund: {
      'a successful refund without a provider refund': { ...refunded, provider_refund_id: null },
      'a pending refund without a provider refund': {
        ...refunded,
        status: 'pending',
        provider_refund_id: null,
      },
    },
    disputes_status: { 'an invalid status': { status: 'gone' } },
    disputes_amounts: {
      'an amount of zero': { amount_minor: 0 },
      'less than nothing withdrawn': { withdrawn_minor: -1 },
    },
    events_resource_named: {
      'an event about nothing': { payment_id: null },
      'an event of both': { endpoint_id: endpointId },
    },
    disputes_fee: { 'a fee without a currency': { fee_minor: 1 } },
    provider_events_about: { 'an unknown subject': { about: 'weather' } },
    ledger_postings_resource_named: {
      'a posting of a dispute without dispute_id': { kind: 'dispute' },
      'a posting of a refund without refund_id': { kind: 'refund' },
      'a posting of a failed refund without refund_id': { kind: 'refund_failure' },
    },
    ledger_postings_kind: { 'an invalid kind': { kind: 'gift' } },
    ledger_postings_debit: { 'an invalid debit account': { debit: 'pocket' } },
    ledger_postings_credit: { 'an invalid credit account': { credit: 'pocket' } },
    ledger_postings_moves: {
      'the same account on both sides': { debit: 'fees', credit: 'fees' },
      'an amount of zero': { amount_minor: 0 },
      'a negative amount': { amount_minor: -1 },
    },
    tenants_fee: {
      'a negative percentage': { fee_basis_points: -1 },
      'a percentage above 100': { fee_basis_points: 10_001 },
      'a negative fixed fee': { fee_fixed_minor: -1 },
    },
    tenants_limits: {
      'a negative limit': { rate_limit_writes: -1 },
      'one negative limit of two': { ...limits, max_stored_keys: -1 },
      'a negative length': { key_length_min: -1 },
    },
    tenants_providers: {
      'no provider': { providers: '[]' },
      'a provider that is no list': { providers: '{}' },
    },
    api_keys_scopes: { 'a key without scopes': { scopes: '{}' } },
    phase_runs_outcome: { 'an invalid outcome': { ...withCall, outcome: 'failed' } },
    phase_runs_call: {
      'an outcome without a call': { outcome: 'done' },
      'a call without an outcome': { ...withCall, outcome: null },
      'a call without its answer': { ...withCall, answered: null },
    },
    idempotency_keys_payment_named: {
      'a payment operation without a payment': { payment_id: null },
      'a local operation with a payment': { operation: local.operation },
    },
    webhook_endpoints_status: { 'an invalid status': { status: 'idle' } },
    webhook_endpoints_event_types: { 'an empty list of event types': { event_types: '{}' } },
    webhook_endpoints_slot: {
      'slot 0': { slot: 0 },
      'slot 21': { slot: 21 },
      'an enabled endpoint without a slot': { slot: null },
      'a deleted endpoint with a slot': { ...deleted, slot: 1 },
    },
    webhook_endpoints_secret: {
      'an enabled endpoint without a secret': { secret: null },
      'a deleted endpoint with a secret': { ...deleted, secret: 'whsec_1' },
    },
    webhook_endpoints_previous_secret: {
      'a previous secret without an expiry': { previous_secret: 'whsec_0' },
      'an expiry without a previous secret': { previous_secret_expires_at: INSTANT },
      'a deleted endpoint with a previous secret': { ...rotated, ...deleted },
    },
    webhook_endpoints_earlier_secrets: {
      'a second previous secret without an expiry': { second_previous_secret: 'whsec_0' },
      'a deleted endpoint with a second previous secret': {
        ...deleted,
        second_previous_secret: 'whsec_0',
        second_previous_secret_expires_at: INSTANT,
      },
      'a third previous secret without an expiry': { third_previous_secret: 'whsec_0' },
      'a deleted endpoint with a third previous secret': {
        ...deleted,
        third_previous_secret: 'whsec_0',
        third_previous_secret_expires_at: INSTANT,
      },
    },
    webhook_endpoints_disabled: {
      'a disabled endpoint without a reason': { status: 'disabled' },
      'an enabled endpoint with a reason': { disabled_reason: 'gone' },
      'an invalid reason': { ...disabled, disabled_reason: 'bored' },
    },
    webhook_deliveries_status: { 'an invalid status': { ...ended, status: 'lost' } },
    webhook_deliveries_next: {
      'a pending delivery without a next attempt': { next_attempt_at: null },
      'a failed delivery with a next attempt': { status: 'failed' },
    },
    webhook_deliveries_counts: {
      'a negative number of attempts': { attempts: -1 },
      'a negative schedule step': { schedule_step: -1 },
    },
    webhook_attempts_number: {
      'an attempt with number 0': { number: 0 },
      'a negative latency': { latency_ms: -1 },
    },
    webhook_attempts_answer: {
      'neither status nor error': { http_status: null },
      'both status and error': { error: 'timeout' },
    },
    webhook_attempts_http_status: {
      'a status of two digits': { http_status: 99 },
      'a status of four digits': { http_status: 1000 },
    },
    webhook_attempts_error: { 'an invalid error': { ...unanswered, error: 'bad_luck' } },
    reconciliation_findings_subject: {
      'a payment_id without a tenant': { payment_id: randomUUID() },
      'a refund_id without a tenant': { refund_id: randomUUID() },
      'a operation_id without a tenant': { operation_id: randomUUID() },
    },
  }

  const rows = Object.entries(illegal).flatMap(([constraint, titled]) =>
    Object.entries(titled).map(([title, fields]) => [constraint, title, fields] as const),
  )
  test.each(rows)('%s: %s', async (constraint, _, fields) => {
    await expectRefused(tableOf(constraint), fields, constraint)
  })

  test('ledger_postings_resource_named: a capture that names a refund', async () => {
    const refund = { refund_id: refundId }
    await expectRefused('ledger_postings', refund, 'ledger_postings_resource_named')
  })

  test('covers every check constraint of the schema, and every rule of a function', async () => {
    const checks = await store.sql<{ name: string; is_rules: boolean }[]>`
      select conname as name, conname like '%\\_rules' as is_rules from pg_constraint
      where contype = 'c' and connamespace = 'public'::regnamespace and ${isNoShard()}
    `
    const functions = await store.sql<{ source: string }[]>`
      select prosrc as source from pg_proc
      where pronamespace = 'public'::regnamespace and proname like '%\\_rules'
    `

    const alone = checks.filter(({ is_rules }) => !is_rules).map(({ name }) => name)
    const rules = functions.flatMap(({ source }) =>
      [...source.matchAll(/refuse_row\('(\w+)'\)/g)].map(([, rule = '']) => rule),
    )
    expect(checks).toHaveLength(alone.length + functions.length)
    expect([...alone, ...rules].toSorted()).toEqual(Object.keys(illegal).toSorted())
  })

  test.each([
    ['payments_capture_method', captureMethods],
    ['payments_cancellation_reason', ['canceled', ...cancellationReasons]],
    ['payments_expiry_step', expirySteps],
    ['refunds_reason', refundReasons],
    ['idempotency_keys_status', operationStatuses],
    ['idempotency_keys_cancellation', cancellationStatuses],
    ['idempotency_keys_payment_named', localOperations],
    ['ledger_postings_kind', ledgerKinds],
    ['ledger_postings_debit', ledgerAccounts],
    ['ledger_postings_credit', ledgerAccounts],
  ])('%s lists what the domain lists', async (rule, listed) => {
    const [found] = await store.sql<{ source: string }[]>`
      select prosrc as source from pg_proc where prosrc like ${`%refuse_row('${rule}')%`}
    `
    const [before = ''] = found?.source.split(`public.refuse_row('${rule}')`) ?? []
    const text = before.slice(before.lastIndexOf('when not ('))

    expect([...text.matchAll(/'([\w.]+)'/g)].map(([, value]) => value)).toEqual([...listed])
  })
})

test('refuses an id of an API key that another tenant has', async () => {
  const id = randomUUID()
  await insert('api_keys', { id })

  const tenant_id = await makeTenant(store)
  await expectRefused('api_keys', { id, tenant_id }, 'api_keys_id_once', UNIQUE)
})

describe('a unique constraint refuses', () => {
  test.each<[string, Table, Row]>([
    ['payments_by_provider_payment', 'payments', { ...held, provider_payment_id: 'pi_twice' }],
    ['idempotency_keys_one_per_key', 'idempotency_keys', { key: 'twice' }],
    [
      'phase_runs_reached_once',
      'phase_runs',
      { operation_id: '00000000-0000-7000-8000-000000000001', reached: 'authorized' },
    ],
    ['api_keys_secret_once', 'api_keys', { secret_hash: Buffer.alloc(32) }],
    ['disputes_one_per_provider_dispute', 'disputes', { provider_dispute_id: 'du_twice' }],
    ['refunds_by_provider_refund', 'refunds', { ...refunded, provider_refund_id: 're_twice' }],
    [
      'ledger_postings_once',
      'ledger_postings',
      { operation_id: '00000000-0000-7000-8000-000000000002' },
    ],
    ['webhook_endpoints_one_per_slot', 'webhook_endpoints', { slot: 20 }],
    ['webhook_attempts_once', 'webhook_attempts', { number: 3 }],
    ['key_tombstones_tenant_id_key_hash_pk', 'key_tombstones', { key_hash: Buffer.alloc(32) }],
    ['reconciliation_findings_once', 'reconciliation_findings', { object_id: 'pi_twice' }],
    ['reconciliation_seen_run_id_object_id_pk', 'reconciliation_seen', { object_id: 'pi_twice' }],
    ['provider_customers_tenant_id_provider_id_pk', 'provider_customers', { id: 'cus_twice' }],
  ])('%s: a second row', async (constraint, table, fields) => {
    await insert(table, fields)
    await expectRefused(table, fields, constraint, UNIQUE)
  })

  test('webhook_deliveries_once: a second delivery of an event to an endpoint', async () => {
    await expectRefused('webhook_deliveries', {}, 'webhook_deliveries_once', UNIQUE)
  })

  test('but not a posting of the same operation between other accounts', async () => {
    const fields = { operation_id: randomUUID() }
    await insert('ledger_postings', fields)
    const fee = { ...fields, debit: 'merchant_payable', credit: 'fees' }

    await expect(insert('ledger_postings', fee)).resolves.toBeUndefined()
  })

  test('but not two tries that reached no recovery point', async () => {
    const fields = { operation_id: randomUUID(), reached: null }
    await insert('phase_runs', fields)

    await expect(insert('phase_runs', fields)).resolves.toBeUndefined()
  })
})

test.each<[string, Table]>([
  ['reconciliation_findings_run', 'reconciliation_findings'],
  ['reconciliation_seen_run', 'reconciliation_seen'],
])('refuses a run that does not exist: %s', async (constraint, table) => {
  await expectRefused(table, { run_id: randomUUID() }, constraint, FOREIGN_KEY)
})

describe('a row of one tenant', () => {
  test.each<[string, Table]>([
    ['idempotency_keys_payment', 'idempotency_keys'],
    ['phase_runs_payment', 'phase_runs'],
    ['refunds_payment', 'refunds'],
    ['disputes_payment', 'disputes'],
    ['ledger_postings_payment', 'ledger_postings'],
    ['events_payment', 'events'],
  ])('cannot refer to the payment of another tenant: %s', async (constraint, table) => {
    const tenant_id = await makeTenant(store)
    await expectRefused(table, { tenant_id }, constraint, FOREIGN_KEY)
  })

  const disputing = () => ({ dispute_id: disputeId })
  const refunding = () => ({ refund_id: refundId })

  test.each<[string, Table, () => Row]>([
    ['idempotency_keys_dispute', 'idempotency_keys', disputing],
    ['ledger_postings_dispute', 'ledger_postings', () => ({ kind: 'dispute', ...disputing() })],
    ['idempotency_keys_refund', 'idempotency_keys', refunding],
    ['ledger_postings_refund', 'ledger_postings', () => ({ kind: 'refund', ...refunding() })],
  ])('cannot refer to what another tenant has: %s', async (constraint, table, fieldsOf) => {
    const tenant_id = await makeTenant(store)
    const payment_id = randomUUID()
    await insert('payments', { tenant_id, id: payment_id })

    await expectRefused(table, { ...fieldsOf(), tenant_id, payment_id }, constraint, FOREIGN_KEY)
  })

  test('cannot refer to the endpoint, the event or the delivery of another tenant', async () => {
    const otherTenant = { tenant_id: await makeTenant(store) }
    const ids = { payment: randomUUID(), event: randomUUID(), endpoint: randomUUID() }
    await insert('payments', { ...otherTenant, id: ids.payment })
    await insert('events', { ...otherTenant, id: ids.event, payment_id: ids.payment })
    await insert('webhook_endpoints', { ...otherTenant, id: ids.endpoint })
    const refused = (table: Table, fields: Row, constraint: string) =>
      expectRefused(table, { ...otherTenant, ...fields }, constraint, FOREIGN_KEY)

    await refused('webhook_deliveries', { endpoint_id: ids.endpoint }, 'webhook_deliveries_event')
    await refused('webhook_deliveries', { event_id: ids.event }, 'webhook_deliveries_endpoint')
    await refused('webhook_attempts', {}, 'webhook_attempts_delivery')
  })

  test('provider_customers_once: cannot name a customer of another tenant', async () => {
    const named = { id: 'cus_of_one', tenant_id: await makeTenant(store) }
    await insert('provider_customers', { id: 'cus_of_one' })

    await expectRefused('provider_customers', named, 'provider_customers_once', UNIQUE)
  })

  test.each<Table>([
    'payments',
    'api_keys',
    'webhook_endpoints',
    'key_tombstones',
    'provider_customers',
  ])('requires an existing tenant: %s', async (table) => {
    await expect(insert(table, { tenant_id: randomUUID() })).rejects.toMatchObject({
      code: '23503',
    })
  })

  test('may have the same id as a row of another tenant', async () => {
    const tenant_id = await makeTenant(store)

    await expect(insert('payments', { tenant_id, id: paymentId })).resolves.toBeUndefined()
  })

  test('has its tenant in every foreign key and primary key of its table', async () => {
    const keys = await store.sql<{ conname: string; columns: string[] }[]>`
      select conname, array(
        select attname::text from unnest(conkey) with ordinality as key (attnum, position)
        join pg_attribute on attrelid = conrelid and pg_attribute.attnum = key.attnum
        order by position
      ) as columns
      from pg_constraint
      where contype in ('p', 'f') and connamespace = 'public'::regnamespace and ${isNoShard()}
        and conrelid not in (
          'tenants'::regclass,
          -- A provider event has no tenant until its payment is found.
          'provider_events'::regclass,
          -- These cover all tenants, and belong to the operators.
          'reconciliation_runs'::regclass, 'reconciliation_seen'::regclass,
          'reconciliation_findings'::regclass, 'admin_actions'::regclass,
          'provider_accounts'::regclass, 'console_sessions'::regclass,
          'service_processes'::regclass, 'answer_epochs'::regclass,
          'encryption_seals'::regclass, 'retention_periods'::regclass,
          -- Counts of requests, in the format of a package; no table refers to them.
          'rate_limits'::regclass
        )
    `

    expect(keys.length).toBeGreaterThan(0)
    expect(keys.filter(({ columns }) => columns[0] !== 'tenant_id')).toEqual([])
  })
})
