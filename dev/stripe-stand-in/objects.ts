// Stores the objects of the API as JSON in one table, with columns for lookups and lists. A new
// kind of object therefore needs no new statement.
import type { DatabaseSync, SQLInputValue, StatementSync } from 'node:sqlite'
import type Stripe from 'stripe'
import { DEFAULT_ACCOUNT } from './accounts/accounts.ts'
import type { BalanceTransaction } from './balance/balance-transaction.ts'
import type { SavedMethod } from './customers/saved-method.ts'
import type { Dispute, EarlyFraudWarning } from './disputes/dispute.ts'
import type { PaymentIntent } from './payment-intents/payment-intent.ts'
import type { Refund } from './refunds/refund.ts'
import { noSuchObject } from './requests/stripe-errors.ts'

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

/** Stripe's words for a kind, and for the parameter of its id, where they are not those of others. */
const NAMES: Partial<Record<ObjectKind, readonly [kind: string, param?: string]>> = {
  payment_intent: ['payment_intent', 'intent'],
  payment_method: ['PaymentMethod', 'payment_method'],
  dispute: ['dispute', 'dispute'],
  'radar.early_fraud_warning': ['early fraud warning'],
  balance_transaction: ['balance transaction'],
}

/** The members by which objects are found, each with an index that also covers the order. */
const FILTERS = ['customer', 'payment_intent', 'charge', 'latest_charge', 'type', 'source'] as const

export type ObjectFilter = (typeof FILTERS)[number]

export type Filters = { [Name in ObjectFilter]?: string | undefined }

export interface PageRequest {
  /** All objects if not set. */
  limit?: number
  /** In seconds since 1970; both ends are included. */
  createdFrom?: number
  createdTo?: number
  filters?: Filters
  /** Its object must exist. */
  cursor?: { side: 'older' | 'newer'; id: string } | undefined
}

interface Page<Item> {
  has_more: boolean
  data: Item[]
}

/** The objects of every account. A new object belongs to the default account. */
type AllObjects = ReturnType<typeof openObjects>

/** The objects of one account. */
export type Objects = ReturnType<AllObjects['of']>

const inBody = (member: string) => `json_extract(body, '$.${member}')`

/** `seq` orders objects of the same second. */
const SCHEMA = `
  create table if not exists objects (
    seq integer primary key,
    id text not null unique,
    kind text not null,
    created integer not null,
    body text not null,
    owner text not null default '${DEFAULT_ACCOUNT}'
  ) strict;
  create index if not exists objects_created on objects (kind, created);
  ${FILTERS.map(
    (member) =>
      `create index if not exists objects_by_${member} on objects (kind, ${inBody(member)}, created);`,
  ).join('\n')}`

/** Opens the objects, and creates their table if necessary. */
export function openObjects(database: DatabaseSync) {
  database.exec(SCHEMA)
  const sql = database.createTagStore()
  const list = createList(database)
  /** The objects of one account; the others do not exist for it. Those of all with null. */
  const objectsOf = (owner: string | null) => ({
    /** Inserts the object, or replaces the object with the same id. */
    save: (object: ApiObjects[ObjectKind]) =>
      void sql.run`
        insert into objects (owner, id, kind, created, body)
        values (coalesce(${owner}, ${DEFAULT_ACCOUNT}), ${object.id}, ${object.object},
          ${object.created}, ${JSON.stringify(object)})
        on conflict (id) do update set created = excluded.created, body = excluded.body`,
    find: <Kind extends ObjectKind>(kind: Kind, id: string) =>
      parseBody(sql.get`
        select body from objects
        where owner = coalesce(${owner}, owner) and id = ${id} and kind = ${kind}`) as
        | ApiObjects[Kind]
        | undefined,
    /** @throws StripeError 404 that names the parameter, when the object does not exist. */
    get<Kind extends ObjectKind>(kind: Kind, id: string, param?: string): ApiObjects[Kind] {
      const [name, ownParam = 'id'] = NAMES[kind] ?? [kind]
      const object = this.find(kind, id)
      if (object === undefined) throw noSuchObject(name, id, param ?? ownParam)
      return object
    },
    /** Finds an object of any kind. */
    findAny: (id: string) =>
      parseBody(sql.get`
        select body from objects where owner = coalesce(${owner}, owner) and id = ${id}`) as
        | ApiObjects[ObjectKind]
        | undefined,
    findPaymentIntentOfCharge: (charge: string) =>
      list(owner, 'payment_intent', { filters: { latest_charge: charge } }).data[0],
    refundedAmount: (paymentIntent: string) =>
      list(owner, 'refund', { filters: { payment_intent: paymentIntent } })
        .data.filter(({ status }) => status !== 'failed' && status !== 'canceled')
        .reduce((sum, { amount }) => sum + amount, 0),
    /** Returns a page of objects, newest first. */
    list: <Kind extends ObjectKind>(kind: Kind, request: PageRequest) => list(owner, kind, request),
  })
  return {
    ...objectsOf(null),
    of: objectsOf,
    /** The objects of the account to which the object with this id belongs. */
    besides: (id: string) => {
      const row = sql.get`select owner from objects where id = ${id}`
      return objectsOf((row?.['owner'] as string | undefined) ?? null)
    },
    remove: (id: string) => void sql.run`delete from objects where id = ${id}`,
  }
}

function parseBody(row: Record<string, unknown> | undefined): unknown {
  return row && JSON.parse(row['body'] as string)
}

function createList(database: DatabaseSync) {
  const position = database.prepare('select created, seq from objects where id = ? and kind = ?')
  const statements = new Map<string, StatementSync>()
  return <Kind extends ObjectKind>(
    owner: string | null,
    kind: Kind,
    {
      limit = Number.MAX_SAFE_INTEGER - 1,
      createdFrom = 0,
      createdTo = Number.MAX_SAFE_INTEGER,
      filters = {},
      cursor,
    }: PageRequest,
  ): Page<ApiObjects[Kind]> => {
    const conditions = ['owner = coalesce(?, owner)', 'kind = ?', 'created between ? and ?']
    const values: SQLInputValue[] = [owner, kind, createdFrom, createdTo]
    for (const [filter, value] of Object.entries(filters)) {
      if (value === undefined) continue
      conditions.push(`${inBody(filter)} = ?`)
      values.push(value)
    }
    const isNewer = cursor?.side === 'newer'
    if (cursor) {
      conditions.push(`(created, seq) ${isNewer ? '>' : '<'} (?, ?)`)
      values.push(...Object.values(position.get(cursor.id, kind) ?? {}))
    }
    const order = isNewer ? 'asc' : 'desc'
    const text = `
      select body from objects where ${conditions.join(' and ')}
      order by created ${order}, seq ${order} limit ?`
    // Their number is small: one for each set of filters.
    const select = statements.get(text) ?? database.prepare(text)
    statements.set(text, select)
    // One row more than the limit shows whether there is another page.
    const rows = select.all(...values, limit + 1)
    const items = rows.slice(0, limit).map(parseBody) as ApiObjects[Kind][]
    return { has_more: rows.length > limit, data: isNewer ? items.toReversed() : items }
  }
}
