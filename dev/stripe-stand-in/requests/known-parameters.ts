// Refuses parameters that Stripe does not know, by the types of its own package.
import { interfacesOf, namedIn, type NamedType } from './package-types.ts'
import type { Parameters } from './parameters.ts'
import { unknownParameters } from './stripe-errors.ts'

/**
 * The parameters of a route of the API. Undefined when the package has no type for it.
 *
 * @param path such as /v1/payment_intents/:id/confirm.
 */
export function knownParameters(method: 'get' | 'post', path: string): NamedType | undefined {
  const segments = path.split('/').slice(2)
  const at = segments.findIndex((segment) => segment === ':id' || segment === 'search')
  const names = (at === -1 ? segments : segments.slice(0, at)).map(pascal)
  const interfaces = interfacesOf(names.join('/'))
  const act = segments[at] === 'search' ? 'search' : at === -1 ? undefined : segments[at + 1]
  const member = `${singular(names.at(-1) ?? '')}${actOf(method, at !== -1, act)}Params`
  const name = [...names.slice(0, -1), member].join('.')
  return interfaces.has(name) ? { interfaces, name } : undefined
}

/** The type of the objects that a route shows. Its name is empty when the package has none. */
export function shownType(path: string): NamedType {
  const parts = path
    .split(/\/v1\/|\/:id\/?|\/search/)
    .map((part) => part.split('/').map(pascal).join('/'))
  const resource = parts.findLast((part) => interfacesOf(part).size > 0) ?? ''
  return { interfaces: interfacesOf(resource), name: singular(resource.split('/').at(-1) ?? '') }
}

function actOf(method: 'get' | 'post', isOne: boolean, act: string | undefined): string {
  if (act === 'search') return 'Search'
  if (act !== undefined) return method === 'get' ? `List${pascal(act)}` : pascal(act)
  if (method === 'post') return isOne ? 'Update' : 'Create'
  return isOne ? 'Retrieve' : 'List'
}

const singular = (name: string) => name.replace(/s$/, '')
const pascal = (name: string) =>
  name.replaceAll(/(?:^|_)([a-z])/g, (_all, letter: string) => letter.toUpperCase())

/** @throws StripeError 400 that names the parameters, also those inside of others. */
export function refuseUnknown(params: Parameters, known: NamedType | undefined): void {
  if (known === undefined) return
  const unknown = unknownOf(params, known, '')
  if (unknown.length > 0) throw unknownParameters(unknown)
}

/** What has no interface of its own, such as metadata, may have any member. */
function unknownOf(value: unknown, { interfaces, name }: NamedType, path: string): string[] {
  if (Array.isArray(value)) {
    return value.flatMap((item, at) => unknownOf(item, { interfaces, name }, `${path}[${at}]`))
  }
  if (typeof value !== 'object' || value === null) return []
  return Object.entries(value).flatMap(([member, inner]) => {
    const at = path === '' ? member : `${path}[${member}]`
    const type = interfaces.get(name)?.get(member)
    if (type === undefined) return [at]
    const named = namedIn(interfaces, name, type)
    return named === undefined ? [] : unknownOf(inner, { interfaces, name: named }, at)
  })
}
