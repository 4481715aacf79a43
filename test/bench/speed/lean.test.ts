import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from '@jest/globals'
import type { Sql } from 'postgres'
import {
  connectLean,
  makeLeanTables,
  payLean,
  reserveLean,
} from '../../../bench/speed/compared/lean.ts'
import { createTestDatabase, type TestDatabase } from '../../support/database.ts'

const TENANT = randomUUID()

describe('the lean statements', () => {
  let database: TestDatabase
  let sql: Sql

  beforeAll(async () => {
    database = await createTestDatabase()
    await makeLeanTables(database.url)
    sql = connectLean(database.url)
  })

  afterAll(async () => {
    await sql.end()
    await database.drop()
  })

  test('reserve a key once, with its payment and its job', async () => {
    const { id, jobId } = await reserveLean(sql, TENANT, 'order-1')

    await expect(reserveLean(sql, TENANT, 'order-1')).rejects.toThrow('not reserved')
    const rows = await sql`
      select keys.id, payments.status, job.id as job_id, job.state from lean.keys
      join lean.payments on payments.id = keys.payment_id
      join lean.job on data ->> 'operationId' = keys.id::text
      where key = 'order-1'
    `
    expect(rows).toEqual([{ id, status: 'processing', job_id: jobId, state: 'created' }])
    expect(await sql`select from lean.payments`).toHaveLength(1)
  })

  test('complete a payment', async () => {
    await payLean(sql, TENANT)

    const rows = await sql`
      select keys.status, recovery_point, payments.status as payment, amount_captured::int,
        payments.provider_payment_id is not null as provided, ledger.amount::int, audit.reached,
        job.state
      from lean.keys
      join lean.payments on payments.id = keys.payment_id
      join lean.ledger on ledger.payment_id = payments.id
      join lean.audit on audit.payment_id = payments.id
      join lean.job on job.id = job_id
    `
    expect(rows).toEqual([
      {
        status: 'completed',
        recovery_point: 'finished',
        payment: 'succeeded',
        amount_captured: 1999,
        provided: true,
        amount: 1999,
        reached: 'finished',
        state: 'completed',
      },
    ])
  })

  test('use tables with no other guard than their keys', async () => {
    const guards = await sql`
      select relname as table, contype::text as guard from pg_constraint
      join pg_class on pg_class.oid = conrelid
      where connamespace = 'lean'::regnamespace and contype <> 'n'
        and relname in ('keys', 'payments', 'ledger', 'audit')
      union all
      select relname, 'trigger or policy' from pg_class
      where relnamespace = 'lean'::regnamespace and (relhastriggers or relrowsecurity)
        and relname in ('keys', 'payments', 'ledger', 'audit')
      order by 1, 2
    `

    expect(guards.map(({ table, guard }) => `${table} ${guard}`)).toEqual([
      'audit p',
      'keys p',
      'keys u',
      'ledger p',
      'payments p',
    ])
  })
})
