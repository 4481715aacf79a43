// Makes payments with the least that a server needs for them: tables with a primary key and, for
// idempotency keys, one unique key; no CHECKs, foreign keys, policies or triggers; one statement
// and one round trip for each commit. No code of the service knows these tables. The jobs are in
// pg-boss's table as pg-boss makes it.
import { randomUUID, randomUUIDv7 } from 'node:crypto'
import { PgBoss } from 'pg-boss'
import postgres, { type Sql } from 'postgres'

const SCHEMA = 'lean'
const QUEUE = 'payments'

const FINGERPRINT = Buffer.alloc(32, 1)

/** About as long as the stored response of the service. */
const RESPONSE = JSON.stringify({ payment: 'x'.repeat(580) })

export async function makeLeanTables(databaseUrl: string): Promise<void> {
  const boss = new PgBoss({
    connectionString: databaseUrl,
    schema: SCHEMA,
    supervise: false,
    schedule: false,
  })
  await boss.start()
  await boss.createQueue(QUEUE)
  await boss.stop({ graceful: false })
  const sql = connectLean(databaseUrl)
  await sql.unsafe(TABLES)
  await sql.end()
}

const TABLES = `
  create table lean.keys (
    tenant_id uuid, id uuid, key text not null, fingerprint bytea not null,
    payment_id uuid not null, job_id uuid not null, status text not null default 'pending',
    recovery_point text not null default 'started', lease_epoch integer not null default 0,
    lease_expires_at timestamptz, provider_payment_id text, response_status smallint,
    response_body text, created_at timestamptz not null default now(),
    primary key (tenant_id, id), unique (tenant_id, key)
  );
  create table lean.payments (
    tenant_id uuid, id uuid, amount bigint not null, amount_captured bigint not null default 0,
    currency text not null, status text not null default 'processing',
    payment_method text not null, description text, provider_payment_id text,
    created_at timestamptz not null default now(), primary key (tenant_id, id)
  );
  create table lean.ledger (
    tenant_id uuid, id uuid, payment_id uuid not null, debit text not null, credit text not null,
    amount bigint not null, created_at timestamptz not null default now(),
    primary key (tenant_id, id)
  );
  create table lean.audit (
    tenant_id uuid, id uuid, payment_id uuid not null, reached text not null,
    recorded_at timestamptz not null default now(), primary key (tenant_id, id)
  );
`

/** Opens one connection. It prepares each statement once. */
export function connectLean(databaseUrl: string): Sql {
  return postgres(databaseUrl, {
    max: 1,
    fetch_types: false,
    onnotice: () => {},
    connection: { application_name: 'lean' },
  })
}

/** A payment whose key is reserved. */
interface LeanPayment {
  readonly tenantId: string
  readonly id: string
  readonly jobId: string
}

/** Commits the key, the payment and the job. */
export async function reserveLean(sql: Sql, tenantId: string): Promise<LeanPayment> {
  const [id, paymentId, jobId, key] = [randomUUIDv7(), randomUUIDv7(), randomUUID(), randomUUID()]
  const { count } = await sql`
    with reserved as (
      insert into lean.keys (tenant_id, id, key, fingerprint, payment_id, job_id)
      values (${tenantId}, ${id}, ${key}, ${FINGERPRINT}, ${paymentId}, ${jobId})
      on conflict (tenant_id, key) do nothing
      returning tenant_id, id, payment_id, job_id
    ),
    payment as (
      insert into lean.payments (tenant_id, id, amount, currency, payment_method, description)
      select tenant_id, payment_id, 1999, 'usd', 'pm_card_visa', 'An order of the shop'
      from reserved
    )
    insert into lean.job (id, name, data)
    select job_id, ${QUEUE}::text, jsonb_build_object('tenantId', tenant_id, 'operationId', id)
    from reserved
  `
  expectOne(count, 'reserved')
  return { tenantId, id, jobId }
}

/** Commits a whole payment: its intent, claim, two phases, result, and the end of its job. */
export async function payLean(sql: Sql, tenantId: string): Promise<void> {
  const payment = await reserveLean(sql, tenantId)
  const providerPaymentId = `pi_${payment.id.replaceAll('-', '')}`
  await claim(sql, payment)
  await advance(sql, payment, 'authorized', providerPaymentId)
  await advance(sql, payment, 'captured', providerPaymentId)
  await finish(sql, payment)
  await completeJob(sql, payment)
}

async function claim(sql: Sql, { tenantId, id, jobId }: LeanPayment): Promise<void> {
  const { count } = await sql`
    with job as (
      update lean.job set state = 'active', started_on = now()
      where name = ${QUEUE} and id = ${jobId} and state < 'active'
      returning id
    )
    update lean.keys set
      status = 'processing', lease_epoch = lease_epoch + 1,
      lease_expires_at = now() + interval '30 seconds'
    from job
    where tenant_id = ${tenantId} and keys.id = ${id} and status = 'pending'
  `
  expectOne(count, 'claimed')
}

async function advance(
  sql: Sql,
  { tenantId, id }: LeanPayment,
  to: string,
  providerPaymentId: string,
): Promise<void> {
  const { count } = await sql`
    update lean.keys set
      recovery_point = ${to}, provider_payment_id = ${providerPaymentId},
      lease_expires_at = now() + interval '30 seconds'
    where tenant_id = ${tenantId} and id = ${id} and lease_epoch = 1
  `
  expectOne(count, 'advanced')
}

async function finish(sql: Sql, { tenantId, id }: LeanPayment): Promise<void> {
  const { count } = await sql`
    with finished as (
      update lean.keys set
        status = 'completed', recovery_point = 'finished', lease_expires_at = null,
        response_status = 201, response_body = ${RESPONSE}
      where tenant_id = ${tenantId} and id = ${id} and lease_epoch = 1
      returning tenant_id, payment_id, provider_payment_id
    ),
    paid as (
      update lean.payments as payment set
        status = 'succeeded', amount_captured = amount,
        provider_payment_id = finished.provider_payment_id
      from finished
      where payment.tenant_id = finished.tenant_id and payment.id = finished.payment_id
    ),
    posted as (
      insert into lean.ledger (tenant_id, id, payment_id, debit, credit, amount)
      select tenant_id, ${randomUUIDv7()}::uuid, payment_id, 'provider', 'merchant', 1999
      from finished
    )
    insert into lean.audit (tenant_id, id, payment_id, reached)
    select tenant_id, ${randomUUIDv7()}::uuid, payment_id, 'finished' from finished
  `
  expectOne(count, 'finished')
}

async function completeJob(sql: Sql, { jobId }: LeanPayment): Promise<void> {
  const { count } = await sql`
    update lean.job set state = 'completed', completed_on = now()
    where name = ${QUEUE} and id = ${jobId} and state = 'active'
  `
  expectOne(count, 'completed')
}

/** A statement that finds no row costs less, so it would not be a limit. */
function expectOne(count: number, done: string): void {
  if (count !== 1) throw new Error(`a lean payment was not ${done}`)
}
