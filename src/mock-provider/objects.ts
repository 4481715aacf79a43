// The objects of the API as their JSON, with a column for each thing they are looked up or listed
// by. One table for all kinds, so that a new kind of object needs no new statement.
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import type { Page, PageRequest } from './list-page.ts'
import type { PaymentIntent } from './payment-intent.ts'
import type { Refund } from './refund.ts'

export interface ApiObjects {
  payment_intent: PaymentIntent
  refund: Refund
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
    on conflict (id) do update set charge = excluded.charge, body = excluded.body`)
  const byId = database.prepare('select body from objects where id = ? and kind = ?')
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
  }
}

function toRow(object: ApiObjects[ObjectKind]): SQLInputValue[] {
  const columns =
    object.object === 'refund'
      ? [null, object.payment_intent, object.charge]
      : [object.customer, null, object.latest_charge]
  return [object.id, object.object, object.created, ...columns, JSON.stringify(object)]
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
    for (const [column, value] of Object.entries(filters)) {
      conditions.push(`${column} = ?`)
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
