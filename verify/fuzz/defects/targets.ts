// Draws unknown paths and ids, invalid queries, and methods that a path does not have.
import * as fc from 'fast-check'
import { type IdPrefix, showId } from '../../../src/domain/resource-id.ts'
import { operations } from '../operations.ts'
import { escapedText, letters, secret, words } from '../values.ts'
import { type Defect, defectChange, withPath } from './fields.ts'

const PREFIXES = words('pay re evt ltx we wd op rec fnd tnt key act')

/** A well-formed id that does not exist. */
const nonexistentId = fc
  .tuple(fc.constantFrom(...PREFIXES), fc.uuid({ version: 7 }))
  .map(([prefix, id]) => showId(prefix as IdPrefix, id))

const OTHER_PAYMENT = '{{other-payment}}'

const segment = fc.oneof(
  secret,
  escapedText.filter((text) => text !== ''),
  nonexistentId,
  letters(1, 300),
  fc.constantFrom(OTHER_PAYMENT, '{{deleted-endpoint}}', '%00', '..%2F..', '*', '~', "'"),
)

/** It cancels a key before its first request, too. */
const CANCEL_OF_ANY_KEY = 'cancelIdempotencyKey'

/** Replaces the id in the path. */
const otherId: Defect = {
  kind: 'an unknown id',
  forOperation({ id, pathId, target }) {
    if (pathId === undefined || id === CANCEL_OF_ANY_KEY) return undefined
    // Operators read what belongs to any tenant.
    const exists = (text: string) => target.startsWith('/admin/') && text === OTHER_PAYMENT
    return segment
      .filter((text) => text !== pathId && !exists(text))
      .map((text) =>
        defectChange(
          ['resource-not-found', 'route-not-found'],
          withPath(target.replace(pathId, () => text)),
        ),
      )
  },
}

/** A path below a list may match the path of an entry, which has fewer methods. */
const NO_ROUTE_TYPES = ['route-not-found', 'resource-not-found', 'method-not-allowed'] as const

const noRoute: Defect = {
  kind: 'an unknown route',
  forOperation({ target }) {
    return fc
      .oneof(
        letters(1, 20).map((text) => `/zz${text}`),
        escapedText.map((text) => `/v1/zz${text}`),
        fc.constantFrom(
          `${target}/`,
          `${target}/zz`,
          `/${target}`,
          `${target}%`,
          target.toUpperCase(),
        ),
      )
      .map((path) => defectChange(NO_ROUTE_TYPES, withPath(path)))
  },
}

const METHODS = words('GET POST PUT PATCH DELETE OPTIONS TRACE PROPFIND QUERY M-SEARCH')

const anotherMethod: Defect = {
  kind: 'another method',
  forOperation({ target }) {
    const own = new Set(
      operations.filter((one) => isSamePath(one.target, target)).map(({ method }) => method),
    )
    return fc
      .constantFrom(...METHODS.filter((method) => !own.has(method)))
      .map((method) =>
        defectChange(['method-not-allowed', 'route-not-found'], (parts) => ({ ...parts, method })),
      )
  },
}

/** Whether two paths differ only in their ids. */
function isSamePath(one: string, other: string): boolean {
  const plain = (target: string) => target.replaceAll(/\{\{[^}]*\}\}/g, '*')
  return plain(one) === plain(other)
}

const badLimit = fc.oneof(
  secret,
  fc.constantFrom('0', '101', '-1', '1.0', '1e1', '010', '', '+1', '%201', '9'.repeat(100)),
  letters(1, 10),
)

const query: Defect = {
  kind: 'an invalid query',
  forOperation(operation) {
    const { query: names } = operation
    if (names === undefined) return undefined
    const parameters: fc.Arbitrary<readonly string[]>[] = [
      escapedText.map((text) => [`zz${text}=1`]),
      fc.constantFrom(['__proto__=1'], ['constructor=1'], ['limit[]=1'], ['=1'], ['page']),
      ...(names.includes('limit') ? invalidPaging : []),
      ...(names.includes('limit') && operation.id !== LIST_OF_ALL_PAYMENTS ? [otherCursor] : []),
      ...names.filter((name) => !ANY_TEXT.includes(name)).map(invalidFilter),
    ]
    return fc.oneof(...parameters).map((pieces) =>
      defectChange(['invalid-query'], (parts) => ({
        ...parts,
        query: [...parts.query, ...pieces],
      })),
    )
  },
}

const invalidPaging: readonly fc.Arbitrary<readonly string[]>[] = [
  badLimit.map((limit) => [`limit=${limit}`]),
  fc.constant(['limit=1', 'limit=2']),
  fc
    .tuple(
      fc.constantFrom('starting_after', 'ending_before'),
      fc.oneof(escapedText, nonexistentId, secret),
    )
    .map(([name, cursor]) => [`${name}=${cursor}`]),
  fc.constant(['starting_after={{payment}}', 'ending_before={{payment}}']),
]

/** Operators list the payments of all tenants. */
const LIST_OF_ALL_PAYMENTS = 'listTenantPayments'
const otherCursor = fc.constant([`starting_after=${OTHER_PAYMENT}`])

/** Filters that accept any text. */
const ANY_TEXT = ['actor', 'subject', 'reference', 'key', 'idempotency_key']

/** An invalid value for a filter: no id, name or time starts with zz. */
function invalidFilter(name: string): fc.Arbitrary<readonly string[]> {
  return escapedText.map((text) => [`${name}=zz${text}`])
}

export const targetDefects: readonly Defect[] = [otherId, noRoute, anotherMethod, query]
