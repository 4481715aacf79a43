// Serves the peer: the same payment in DBOS Transact, with the same provider and the same
// PostgreSQL server. The workflow's id is the idempotency key. Each provider call is a step. Each
// change of the payment is a transaction of the data source, with event, ledger postings and
// timeline.
import { randomUUID } from 'node:crypto'
import { DBOS } from '@dbos-inc/dbos-sdk'
import { PostgresDataSource } from '@dbos-inc/postgres-datasource'
import express, { type Request, type Response } from 'express'
import { parse } from 'pg-connection-string'
import postgres from 'postgres'
import Stripe from 'stripe'
import { announceReady } from '../../../src/process.ts'

const { DATABASE_URL = '', PROVIDER_URL = '', PORT = '' } = process.env
const provider = new URL(PROVIDER_URL)
const POOL = 10

const stripe = new Stripe('sk_test_mock', {
  host: provider.hostname,
  port: Number(provider.port),
  protocol: 'http',
  maxNetworkRetries: 0,
})

const { host, port, user = '', password = '', database } = parse(DATABASE_URL)
const server = { host: host ?? '', port: Number(port), database: database ?? '' }
const login = { ...server, user, password, max: POOL }
const store = new PostgresDataSource('payments', login)

interface PaymentRequest {
  readonly amount: number
  readonly currency: string
  readonly payment_method: string
  readonly description: string
}

const pay = DBOS.registerWorkflow(
  async (id: string, request: PaymentRequest) => {
    await store.runTransaction(() => insertPayment(id, request), { name: 'insert' })
    const intent = await DBOS.runStep(() => authorize(id, request), { name: 'authorize' })
    await store.runTransaction(() => recordAuthorized(id, intent), { name: 'authorized' })
    const captured = await DBOS.runStep(() => capture(id, intent), { name: 'capture' })
    await store.runTransaction(() => recordCaptured(id, captured), { name: 'captured' })
    return await store.runTransaction(() => recordSuccess(id), { name: 'succeeded' })
  },
  { name: 'pay' },
)

async function authorize(id: string, request: PaymentRequest): Promise<string> {
  const { amount, currency, payment_method } = request
  const intent = await stripe.paymentIntents.create(
    {
      amount,
      currency,
      payment_method,
      capture_method: 'manual',
      confirm: true,
      return_url: 'https://example.com/',
      metadata: { id },
    },
    { idempotencyKey: `${id}-authorize` },
  )
  return intent.id
}

async function capture(id: string, intent: string): Promise<number> {
  const { amount_received } = await stripe.paymentIntents.capture(
    intent,
    {},
    { idempotencyKey: `${id}-capture` },
  )
  return amount_received
}

async function insertPayment(id: string, request: PaymentRequest): Promise<void> {
  const { amount, currency, payment_method, description } = request
  const { client } = PostgresDataSource
  await client`
    with inserted_payment as (
      insert into payments (id, amount, currency, status, payment_method, description)
      values (${id}, ${amount}, ${currency}, 'processing', ${payment_method}, ${description})
      returning *
    )
    insert into events (payment_id, type, object)
    select id, 'payment.created', to_jsonb(inserted_payment) from inserted_payment
  `
  await appendRun(id, 'started')
}

async function recordAuthorized(id: string, intent: string): Promise<void> {
  const { client } = PostgresDataSource
  await client`
    update payments set provider_payment_id = ${intent}, updated_at = now() where id = ${id}
  `
  await appendRun(id, 'authorized')
}

const FEE = 88

async function recordCaptured(id: string, amount: number): Promise<void> {
  const { client } = PostgresDataSource
  await client`
    update payments set amount_captured = ${amount}, updated_at = now() where id = ${id}
  `
  await client`
    insert into ledger_postings (payment_id, debit, credit, amount)
    values (${id}, 'provider', 'merchant', ${amount}), (${id}, 'merchant', 'fees', ${FEE})
  `
  await appendRun(id, 'captured')
}

async function recordSuccess(id: string): Promise<Record<string, unknown>> {
  const { client } = PostgresDataSource
  const [row] = await client`
    with changed as (
      update payments set status = 'succeeded', updated_at = now() where id = ${id} returning *
    ),
    event as (
      insert into events (payment_id, type, object)
      select id, 'payment.succeeded', to_jsonb(changed) from changed
    )
    select to_jsonb(changed) as payment from changed
  `
  await appendRun(id, 'finished')
  return row?.['payment'] as Record<string, unknown>
}

async function appendRun(id: string, reached: string): Promise<void> {
  const { client } = PostgresDataSource
  await client`insert into phase_runs (payment_id, reached) values (${id}, ${reached})`
}

async function makeTables(): Promise<void> {
  const sql = postgres(DATABASE_URL, { max: 1, onnotice: () => {} })
  await sql.unsafe(`
    create table if not exists payments (
      id uuid primary key, amount bigint not null, amount_captured bigint not null default 0,
      currency text not null, status text not null, payment_method text not null,
      description text, provider_payment_id text unique,
      created_at timestamptz not null default now(), updated_at timestamptz not null default now()
    );
    create table if not exists events (
      id bigint generated always as identity primary key, payment_id uuid not null,
      type text not null, object jsonb not null, created_at timestamptz not null default now()
    );
    create table if not exists ledger_postings (
      id bigint generated always as identity primary key, payment_id uuid not null,
      debit text not null, credit text not null, amount bigint not null,
      created_at timestamptz not null default now()
    );
    create index if not exists ledger_postings_payment on ledger_postings (payment_id);
    create table if not exists phase_runs (
      id bigint generated always as identity primary key, payment_id uuid not null,
      reached text not null, recorded_at timestamptz not null default now()
    );
    create index if not exists phase_runs_payment on phase_runs (payment_id);
  `)
  await sql.end()
}

await makeTables()
await PostgresDataSource.initializeDBOSSchema(login)
DBOS.setConfig({
  name: 'payments',
  systemDatabaseUrl: DATABASE_URL,
  systemDatabasePoolSize: POOL,
  logLevel: 'error',
  runAdminServer: false,
})
await DBOS.launch()

const app = express()
app.disable('x-powered-by').disable('etag')
app.post('/payments', express.json(), answerWithPayment)
app.listen(Number(PORT), '127.0.0.1', announceReady)

async function answerWithPayment(request: Request, response: Response): Promise<void> {
  const workflowID = request.get('idempotency-key') ?? randomUUID()
  const body = request.body as PaymentRequest
  const handle = await DBOS.startWorkflow(pay, { workflowID })(randomUUID(), body)
  response.status(201).json(await handle.getResult())
}
