// Paths that lead nowhere, queries that no list understands, and methods that a path has not.
import * as fc from 'fast-check'
import { showId, type IdPrefix } from '../../../src/domain/resource-id.ts'
import { operations } from '../operations.ts'
import { escapedText, letters, secret } from '../values.ts'
import { spoiled, type Defect, type Spoiled } from './defect.ts'

const PREFIXES: readonly IdPrefix[] = [
  'pay',
  're',
  'evt',
  'ltx',
  'we',
  'wd',
  'op',
  'rec',
  'fnd',
  'tnt',
  'key',
  'act',
]

/** Of nobody, though all of them are well formed. */
const idOfNobody = fc
  .tuple(fc.constantFrom(...PREFIXES), fc.uuid({ version: 7 }))
  .map(([prefix, id]) => showId(prefix, id))

const segment = fc.oneof(
  secret,
  escapedText.filter((text) => text !== ''),
  idOfNobody,
  letters(1, 300),
  fc.constantFrom('{{other-payment}}', '{{deleted-endpoint}}', '%00', '..%2F..', '*', '~', "'"),
)

/** The path with another text in the place of what it is about. */
const elsewhere: Defect = {
  kind: 'an id of nobody',
  of({ about, target }) {
    if (about === undefined) return undefined
    return segment
      .filter((text) => text !== about)
      .map((text): Spoiled =>
        spoiled(['resource-not-found', 'route-not-found'], (parts) => ({
          ...parts,
          path: target.replace(about, () => text),
        })),
      )
  },
}

/** A step below a list may be where one of its entries is, which has not all the methods. */
const ELSEWHERE = ['route-not-found', 'resource-not-found', 'method-not-allowed'] as const

const nowhere: Defect = {
  kind: 'no route',
  of: ({ target }) =>
    fc
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
      .map((path) => spoiled(ELSEWHERE, (parts) => ({ ...parts, path }))),
}

const METHODS = [
  'GET',
  'POST',
  'PUT',
  'PATCH',
  'DELETE',
  'OPTIONS',
  'TRACE',
  'PROPFIND',
  'QUERY',
  'M-SEARCH',
]

const anotherMethod: Defect = {
  kind: 'another method',
  of({ target }) {
    const own = new Set(
      operations.filter((one) => isSamePath(one.target, target)).map(({ method }) => method),
    )
    return fc
      .constantFrom(...METHODS.filter((method) => !own.has(method)))
      .map((method) =>
        spoiled(['method-not-allowed', 'route-not-found'], (parts) => ({ ...parts, method })),
      )
  },
}

/** Whichever of the things of its kind a path is about. */
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
  kind: 'a query',
  of(operation) {
    const known = operation.query
    if (known === undefined) return undefined
    const names = Object.keys(known)
    const parameters: fc.Arbitrary<readonly string[]>[] = [
      escapedText.map((text) => [`zz${text}=1`]),
      fc.constantFrom(['__proto__=1'], ['constructor=1'], ['limit[]=1'], ['=1'], ['page']),
      ...(names.includes('limit') ? ofPages : []),
      ...names.filter((name) => !ANY_TEXT.includes(name)).map(ofNoValue),
    ]
    return fc
      .oneof(...parameters)
      .map((pieces) =>
        spoiled(['invalid-query'], (parts) => ({ ...parts, query: [...parts.query, ...pieces] })),
      )
  },
}

const ofPages: readonly fc.Arbitrary<readonly string[]>[] = [
  badLimit.map((limit) => [`limit=${limit}`]),
  fc.constant(['limit=1', 'limit=2']),
  fc
    .tuple(
      fc.constantFrom('starting_after', 'ending_before'),
      fc.oneof(escapedText, idOfNobody, secret),
    )
    .map(([name, cursor]) => [`${name}=${cursor}`]),
  fc.constant(['starting_after={{payment}}', 'ending_before={{payment}}']),
  fc.constant(['starting_after={{other-payment}}']),
]

/** Filters that take any word. */
const ANY_TEXT = ['actor', 'subject']

/** A value that it has not: no id, name or time begins so. */
function ofNoValue(name: string): fc.Arbitrary<readonly string[]> {
  return escapedText.map((text) => [`${name}=zz${text}`])
}

export const ofTargets: readonly Defect[] = [elsewhere, nowhere, anotherMethod, query]
