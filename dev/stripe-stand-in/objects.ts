// Stores the objects of the API as JSON in one table, with columns for lookups and lists. A new
// kind of object therefore needs no new statement.
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import type Stripe from 'stripe'
import { DEFAULT_ACCOUNT } from './accounts/accounts.ts'
import type { BalanceTransaction } from './balance/balance-transaction.ts'
import type { SavedMethod } from './customers/saved-method.ts'
import type { Dispute } from './disputes/dispute.ts'
import type { EarlyFraudWarning } from './disputes/early-fraud-warning.ts'
import type { PaymentIntent } from './payment-intents/payment-intent.ts'
import type { Refund } from './refunds/refund.ts'

export interface ApiObjects {
  payment_intent: PaymentIntent
  refund: Refund
  dispute: Dispute
  'radar.early_fraud_warning': EarlyFraudWarning
  balance_transaction: BalanceTransaction
  customer: Stripe.Customer
  payment_method: SavedMethod
}

export type ObjectKind = keyof ApiObjects

export type ObjectFilter = 'customer' | 'payment_intent' | 'charge' | 'type' | 'source'

export interface PageRequest {
  limit: number
  /** In seconds since 1970; both ends are included. */
  createdFrom: number
  createdTo: number
  filters: Partial<Record<ObjectFilter, string>>
  cursor: { side: 'older' | 'newer'; id: string } | undefined
}

interface Page<Item> {
  has_more: boolean
  data: Item[]
}

export interface Objects {
  /** Inserts the object, or replaces the object with the same id. */
  save(object: ApiObjects[ObjectKind]): void
  find<Kind extends ObjectKind>(kind: Kind, id: string): ApiObjects[Kind] | undefined
  /** Finds an object of any kind. */
  findAny(id: string): ApiObjects[ObjectKind] | undefined
  findPaymentIntentOfCharge(charge: string): PaymentIntent | undefined
  refundedAmount(paymentIntent: string): number
  /** Returns a page of objects, newest first. The object of the cursor must exist. */
  list<Kind extends ObjectKind>(kind: Kind, request: PageRequest): Page<ApiObjects[Kind]>
}

/** The objects of every account. A new object belongs to the default account. */
export interface AllObjects extends Objects {
  /** The objects of one account; the others do not exist for it. */
  of(account: string): Objects
  /** The objects of the account to which the object with this id belongs. */
  besides(id: string): Objects
  remove(id: string): void
}

/** The SQL expression of each filter. Members without a column are extracted from the body. */
const filterColumns: Record<ObjectFilter, string> = {
  customer: 'customer',
  payment_intent: 'payment_intent',
  charge: 'charge',
  type: "json_extract(body, '$.type')",
  source: "json_extract(body, '$.source')",
}

/** `seq` orders objects of the same second. Each index covers a filter and the order. */
const SCHEMA = `
  create table if not exists objects (
    seq integer primary key,
    id text not null unique,
    kind text not null,
    created integer not null,
    customer text,
    payment_intent text,
    charge text,
    body text not null,
    owner text not null default '${DEFAULT_ACCOUNT}'
  ) strict;
  create index if not exists objects_created on objects (kind, created);
  create index if not exists objects_customer on objects (kind, customer, created);
  create index if not exists objects_payment_intent on objects (kind, payment_intent, created);
  create index if not exists objects_charge on objects (kind, charge, created);
  create index if not exists objects_source
    on objects (kind, json_extract(body, '$.source'), created)`

/** Opens the objects, and creates their table if necessary. */
export function openObjects(database: DatabaseSync): AllObjects {
  database.exec(SCHEMA)
  const upsert = database.prepare(`
    insert into objects (owner, id, kind, created, customer, payment_intent, charge, body)
    values (coalesce(?, '${DEFAULT_ACCOUNT}'), ?, ?, ?, ?, ?, ?, ?)
    on conflict (id) do update set
      created = excluded.created, customer = excluded.customer,
      payment_intent = excluded.payment_intent, charge = excluded.charge, body = excluded.body`)
  const byId = database.prepare(`
    select body from objects where owner = coalesce(?, owner) and id = ? and kind = ?`)
  const ofAnyKind = database.prepare(
    'select body from objects where owner = coalesce(?, owner) and id = ?',
  )
  const ownerOf = database.prepare('select owner from objects where id = ?')
  const remove = database.prepare('delete from objects where id = ?')
  const byCharge = database.prepare(`
    select body from objects
    where owner = coalesce(?, owner) and kind = 'payment_intent' and charge = ?`)
  const refunded = database.prepare(`
    select coalesce(sum(json_extract(body, '$.amount')), 0) as amount
    from objects
    where kind = 'refund' and payment_intent = ?
      and json_extract(body, '$.status') not in ('failed', 'canceled')`)
  const list = createList(database)
  const objectsOf = (owner: string | null): Objects => ({
    save: (object) => void upsert.run(owner, ...toRow(object)),
    find: <Kind extends ObjectKind>(kind: Kind, id: string) =>
      parseBody(byId.get(owner, id, kind)) as ApiObjects[Kind] | undefined,
    findAny: (id) => parseBody(ofAnyKind.get(owner, id)) as ApiObjects[ObjectKind] | undefined,
    findPaymentIntentOfCharge: (charge) =>
      parseBody(byCharge.get(owner, charge)) as PaymentIntent | undefined,
    refundedAmount: (paymentIntent) => refunded.get(paymentIntent)?.['amount'] as number,
    list: <Kind extends ObjectKind>(kind: Kind, request: PageRequest) =>
      list(owner, kind, request) as Page<ApiObjects[Kind]>,
  })
  return {
    ...objectsOf(null),
    of: objectsOf,
    besides: (id) => objectsOf((ownerOf.get(id)?.['owner'] as string | undefined) ?? null),
    remove: (id) => void remove.run(id),
  }
}

function toRow(object: ApiObjects[ObjectKind]): SQLInputValue[] {
  const { id, object: kind, created } = object
  return [id, kind, created, ...columnsOf(object), JSON.stringify(object)]
}

/** Returns the columns customer, payment_intent and charge. */
function columnsOf(object: ApiObjects[ObjectKind]): SQLInputValue[] {
  switch (object.object) {
    case 'payment_intent':
      return [object.customer, null, object.latest_charge]
    case 'refund':
    case 'dispute':
    case 'radar.early_fraud_warning':
      return [null, object.payment_intent, object.charge]
    case 'payment_method':
      return [object.customer, null, null]
    case 'balance_transaction':
    case 'customer':
      return [null, null, null]
  }
}

function parseBody(row: Record<string, unknown> | undefined): unknown {
  return row && JSON.parse(row['body'] as string)
}

function createList(
  database: DatabaseSync,
): (owner: string | null, ...request: Parameters<Objects['list']>) => Page<unknown> {
  const position = database.prepare('select created, seq from objects where id = ? and kind = ?')
  const prepare = createStatementCache(database)
  return (owner, kind, { limit, createdFrom, createdTo, filters, cursor }) => {
    const conditions = ['owner = coalesce(?, owner)', 'kind = ?', 'created between ? and ?']
    const values: SQLInputValue[] = [owner, kind, createdFrom, createdTo]
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
    // One row more than the limit shows whether there is another page.
    const rows = select.all(...values, limit + 1)
    const items = rows.slice(0, limit).map(parseBody)
    return { has_more: rows.length > limit, data: isNewer ? items.toReversed() : items }
  }
}

/** Prepares each statement once. The number of statements is small: one for each set of filters. */
function createStatementCache(database: DatabaseSync): (sql: string) => StatementSync {
  const statements = new Map<string, StatementSync>()
  return (sql) => {
    const statement = statements.get(sql) ?? database.prepare(sql)
    statements.set(sql, statement)
    return statement
  }
}
