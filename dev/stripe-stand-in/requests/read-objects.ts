// Implements the endpoints that read objects of one kind: one by its id, or a list
// (https://docs.stripe.com/api/pagination), newest first, in pages, with cursors and filters. Also reads the
// account.
import type Stripe from 'stripe'
import type { ApiObjects, Filters, ObjectFilter, ObjectKind, PageRequest } from '../objects.ts'
import type { Endpoint } from './endpoint.ts'
import { readInteger, readString, type Parameters } from './parameters.ts'
import { invalidParameter, noSuchObject } from './stripe-errors.ts'

const LIMIT_DEFAULT = 10
const LIMIT_MAX = 100

/** Shows the object with the id of the route. */
export function retrieve(kind: ObjectKind): Endpoint {
  return ({ objectId, nowMs }, { objects }) => ({
    status: 200,
    body: shownAt(objects.get(kind, objectId), nowMs),
  })
}

const STANDARD_ACCOUNT = {
  object: 'account',
  type: 'standard',
  charges_enabled: true,
  details_submitted: true,
  email: null,
  payouts_enabled: true,
} as const

/** GET /v1/account. An account has the same id in both modes. */
export const retrieveAccount: Endpoint = ({ account }) => {
  const [name] = account.split(' ')
  const shown = { ...STANDARD_ACCOUNT, id: `acct_${name}` } satisfies Stripe.Account
  return { status: 200, body: shown }
}

/** Lists the objects of a kind. The client may choose them by these members. */
export function list(kind: ObjectKind, filters: readonly ObjectFilter[]): Endpoint {
  return ({ params, path, nowMs }, { objects }) => {
    const cursor = readCursor(params)
    if (cursor && objects.find(kind, cursor.id) === undefined) {
      const param = cursor.side === 'older' ? 'starting_after' : 'ending_before'
      throw noSuchObject(kind, cursor.id, param)
    }
    const { has_more, data } = objects.list(kind, {
      limit: readLimit(params),
      ...readCreated(params),
      filters: readFilters(params, filters),
      cursor,
    })
    const shown = data.map((one) => shownAt(one, nowMs))
    return { status: 200, body: { object: 'list', url: path, has_more, data: shown } }
  }
}

/** The object as the API shows it at that time: money becomes available by itself. */
export function shownAt(object: ApiObjects[ObjectKind], nowMs: number): ApiObjects[ObjectKind] {
  if (object.object !== 'balance_transaction') return object
  return { ...object, status: object.available_on * 1_000 <= nowMs ? 'available' : 'pending' }
}

/** @throws StripeError 400 when it is not between 1 and 100. */
export function readLimit(params: Parameters): number {
  const limit = readInteger(params, 'limit') ?? LIMIT_DEFAULT
  if (limit < 1 || limit > LIMIT_MAX) {
    const message = `Invalid limit: must be between 1 and ${LIMIT_MAX}`
    throw invalidParameter('limit', message, 'parameter_invalid_integer')
  }
  return limit
}

function readCursor(params: Parameters): PageRequest['cursor'] {
  const older = readString(params, 'starting_after')
  const newer = readString(params, 'ending_before')
  if (older !== undefined && newer !== undefined) {
    const message = 'You may only specify one of these parameters: starting_after, ending_before.'
    throw invalidParameter('ending_before', message)
  }
  if (older !== undefined) return { side: 'older', id: older }
  return newer === undefined ? undefined : { side: 'newer', id: newer }
}

/** `created` is either one second, or a range in `gt`, `gte`, `lt` and `lte`. */
function readCreated(params: Parameters): Pick<PageRequest, 'createdFrom' | 'createdTo'> {
  const created = params['created']
  if (typeof created !== 'object' || created === null) {
    const second = readInteger(params, 'created')
    return { createdFrom: second ?? 0, createdTo: second ?? Number.MAX_SAFE_INTEGER }
  }
  const range = created as Parameters
  const after = readInteger(range, 'gt') ?? -1
  const before = readInteger(range, 'lt') ?? Number.MAX_SAFE_INTEGER
  return {
    createdFrom: Math.max(after + 1, readInteger(range, 'gte') ?? 0),
    createdTo: Math.min(before - 1, readInteger(range, 'lte') ?? Number.MAX_SAFE_INTEGER),
  }
}

function readFilters(params: Parameters, names: readonly ObjectFilter[]): Filters {
  return Object.fromEntries(names.map((name) => [name, readString(params, name)]))
}
