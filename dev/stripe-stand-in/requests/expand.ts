// Implements the parameter `expand` (https://docs.stripe.com/api/expanding_objects): an id becomes the
// object that it names. The types of Stripe's package say which members can be expanded.
import { chargeOf } from '../payment-intents/charge.ts'
import type { Records } from '../storage.ts'
import type { Answer, Endpoint } from './endpoint.ts'
import { shownType } from './known-parameters.ts'
import { typesIn, type NamedType } from './package-types.ts'
import { readStrings } from './parameters.ts'
import { shownAt } from './read-objects.ts'
import { cannotExpand, expandedTooDeep } from './stripe-errors.ts'

const LEVELS_MAX = 4

/** Returns the endpoint of a route, whose answers follow `expand`. */
export function expanding(method: 'get' | 'post', path: string, endpoint: Endpoint): Endpoint {
  const type = shownType(path)
  const isList = method === 'get' && type.name !== '' && !path.endsWith('/:id')
  const isSearch = path.endsWith('/search')
  return (request, records) => {
    const asked = readStrings(request.params, 'expand') ?? []
    for (const property of asked) {
      if (!isSearch || property !== 'total_count') refuseUnlessExpandable(property, type, isList)
    }
    const answer = endpoint(request, records)
    if ('error' in answer.body) return answer
    const load = loaderOf(records, request.nowMs)
    const body = asked.reduce<unknown>(
      (shown, property) => expand(shown, property.split('.'), load),
      answer.body,
    )
    return { ...answer, body: body as Answer['body'] }
  }
}

/** Before the endpoint executes, so it does not matter which objects there are. */
function refuseUnlessExpandable(property: string, shown: NamedType, isList: boolean): void {
  const names = property.split('.')
  if (names.length > LEVELS_MAX) throw expandedTooDeep(property)
  if (isList && names.shift() !== 'data') throw cannotExpand(property, `data.${property}`)
  let types = [shown]
  for (const name of names) {
    types = types.flatMap((type) => typesIn(type.interfaces.get(type.name)?.get(name) ?? '', type))
    if (types.length === 0) throw cannotExpand(property)
  }
}

type Load = (id: string) => unknown

function loaderOf(records: Records, nowMs: number): Load {
  const { objects } = records
  return (id) => {
    const object = objects.findAny(id)
    if (object !== undefined) return shownAt(object, nowMs)
    const intent = objects.findPaymentIntentOfCharge(id)
    return intent && chargeOf(intent, records)
  }
}

/** The id of an object that a test removed stays an id. */
function expand(value: unknown, path: readonly string[], load: Load): unknown {
  if (Array.isArray(value)) return value.map((item) => expand(item, path, load))
  const object = typeof value === 'string' ? (load(value) ?? value) : value
  const [name, ...rest] = path
  if (name === undefined || typeof object !== 'object' || object === null) return object
  return { ...object, [name]: expand((object as Record<string, unknown>)[name], rest, load) }
}
