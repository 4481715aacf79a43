// The objects of the API as their JSON, with a column for each thing they are looked up or listed
// by. One table for all kinds, so that a new kind of object needs no new statement.
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import type { BalanceTransaction } from './balance-transaction.ts'
import type { ObjectFilter, Page, PageRequest } from './list-page.ts'
import type { PaymentIntent } from './payment-intent.ts'
import type { Refund } from './refund.ts'

export interface ApiObjects {
  payment_intent: PaymentIntent
  refund: Refund
  balance_transaction: BalanceTransaction
}

export type ObjectKind = keyof ApiObjects

export interface Objects {
  /** Inserts the object, or replaces the one of the same id. */
  save(object: ApiObjects[ObjectKind]): void
  find<Kind extends ObjectKind>(kind: Kind, id: string): ApiObjects[Kind] | undefined
  findPaymentIntentOfCharge(charge: string): PaymentIntent | undefined
  refundedAmount(paymentIntent: string): number
  /** A page of objects, newest first. The cursor must exist. */
  list(kind: ObjectKind, request: PageRequest): Page
  /** Of whichever kind. */
  findAny(id: string): ApiObjects[ObjectKind] | undefined
  remove(id: string): void
}

/** Where a filter looks: what no column is kept for is read out of the body. */
const filterColumns: Record<ObjectFilter, string> = {
  customer: 'customer',
  payment_intent: 'payment_intent',
  charge: 'charge',
  type: "json_extract(body, '$.type')",
  source: "json_extract(body, '$.source')",
}

/** `seq` orders objects of the same second. The indexes serve a filter and the order together. */
const SCHEMA = `
  create table if not exists objects (
    seq integer primary key,
    id text not null unique,
    kind text not null,
    created integer not null,
    customer text,
    payment_intent text,
    charge text,
    body text not null
  ) strict;
  create index if not exists objects_created on objects (kind, created);
  create index if not exists objects_customer on objects (kind, customer, created);
  create index if not exists objects_payment_intent on objects (kind, payment_intent, created);
  create index if not exists objects_charge on objects (kind, charge, created)`

/** Opens the objects, and makes their table when that is missing. */
export function openObjects(database: DatabaseSync): Objects {
  database.exec(SCHEMA)
  const upsert = database.prepare(`
    insert into objects (id, kind, created, customer, payment_intent, charge, body)
    values (?, ?, ?, ?, ?, ?, ?)
    on conflict (id) do update set
      created = excluded.created, customer = excluded.customer,
      payment_intent = excluded.payment_intent, charge = excluded.charge, body = excluded.body`)
  const byId = database.prepare('select body from objects where id = ? and kind = ?')
  const ofAnyKind = database.prepare('select body from objects where id = ?')
  const remove = database.prepare('delete from objects where id = ?')
  const byCharge = database.prepare(`
    select body from objects where kind = 'payment_intent' and charge = ?`)
  const refunded = database.prepare(`
    select coalesce(sum(json_extract(body, '$.amount')), 0) as amount
    from objects where kind = 'refund' and payment_intent = ?`)
  return {
    save: (object) => void upsert.run(...toRow(object)),
    find: <Kind extends ObjectKind>(kind: Kind, id: string) =>
      parseBody(byId.get(id, kind)) as ApiObjects[Kind] | undefined,
    findPaymentIntentOfCharge: (charge) =>
      parseBody(byCharge.get(charge)) as PaymentIntent | undefined,
    refundedAmount: (paymentIntent) => refunded.get(paymentIntent)?.['amount'] as number,
    list: createList(database),
    findAny: (id) => parseBody(ofAnyKind.get(id)) as ApiObjects[ObjectKind] | undefined,
    remove: (id) => void remove.run(id),
  }
}

function toRow(object: ApiObjects[ObjectKind]): SQLInputValue[] {
  const { id, object: kind, created } = object
  return [id, kind, created, ...columnsOf(object), JSON.stringify(object)]
}

/** The customer, the intent and the charge that it is found by. */
function columnsOf(object: ApiObjects[ObjectKind]): SQLInputValue[] {
  switch (object.object) {
    case 'payment_intent':
      return [object.customer, null, object.latest_charge]
    case 'refund':
      return [null, object.payment_intent, object.charge]
    case 'balance_transaction':
      return [null, null, null]
  }
}

function parseBody(row: Record<string, unknown> | undefined): unknown {
  return row && JSON.parse(row['body'] as string)
}

function createList(database: DatabaseSync): Objects['list'] {
  const position = database.prepare('select created, seq from objects where id = ? and kind = ?')
  const prepare = createStatementCache(database)
  return (kind, { limit, createdFrom, createdTo, filters, cursor }) => {
    const conditions = ['kind = ?', 'created between ? and ?']
    const values: SQLInputValue[] = [kind, createdFrom, createdTo]
    for (const [filter, value] of Object.entries(filters)) {
      conditions.push(`${filterColumns[filter as ObjectFilter]} = ?`)
      values.push(value)
    }
    const isNewer = cursor?.side === 'newer'
    if (cursor) {
      conditions.push(`(created, seq) ${isNewer ? '>' : '<'} (?, ?)`)
      values.push(...Object.values(position.get(cursor.id, kind) ?? {}))
    }
    const order = isNewer ? 'asc' : 'desc'
    const select = prepare(`
      select body from objects where ${conditions.join(' and ')}
      order by created ${order}, seq ${order} limit ?`)
    // One row more than asked for tells whether there are more.
    const rows = select.all(...values, limit + 1)
    const items = rows.slice(0, limit).map(parseBody)
    return { has_more: rows.length > limit, data: isNewer ? items.toReversed() : items }
  }
}

/** Prepares each statement once: the few shapes of a list request are few statements. */
function createStatementCache(database: DatabaseSync): (sql: string) => StatementSync {
  const statements = new Map<string, StatementSync>()
  return (sql) => {
    const statement = statements.get(sql) ?? database.prepare(sql)
    statements.set(sql, statement)
    return statement
  }
}
