// Reads the types of Stripe's own package, so that what Stripe knows has to be listed nowhere here.
import { existsSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'

/** The types of the package stand beside its entry. */
const types = dirname(createRequire(import.meta.url).resolve('stripe'))

/** Of each interface, with the names of its namespaces: its members and the texts of their types. */
export type Interfaces = ReadonlyMap<string, ReadonlyMap<string, string>>

/** An interface, and all those of its file. */
export interface NamedType {
  readonly interfaces: Interfaces
  readonly name: string
}

const INDENT = 4
/** In place of the members of an alias. */
const ALIAS = '='
const PAGINATION = ['ending_before', 'limit', 'starting_after']
const files = new Map<string, Interfaces>()

/**
 * The interfaces of one resource. Empty when the package has no such resource.
 *
 * @param resource such as PaymentIntents or Radar/EarlyFraudWarnings.
 */
export function interfacesOf(resource: string): Interfaces {
  const known = files.get(resource) ?? read(join(types, 'resources', `${resource}.d.ts`))
  files.set(resource, known)
  return known
}

function read(file: string): Interfaces {
  const found = new Map<string, Map<string, string>>()
  if (!existsSync(file)) return found
  let scope: string[] = []
  for (const line of readFileSync(file, 'utf8').split('\n')) {
    const depth = line.search(/\S/) / INDENT
    const [, alias, meaning = ''] = /^export (?:declare )?type (\w+) = ([^'{]*);$/.exec(line) ?? []
    if (alias !== undefined) found.set(alias, new Map([[ALIAS, meaning]]))
    const [, kind, name = '', isList] =
      /^ *(?:export )?(?:declare )?(namespace|interface) (\w+)( extends PaginationParams)?/.exec(
        line,
      ) ?? []
    if (kind !== undefined) {
      scope = [...scope.slice(0, depth), name]
      if (kind === 'interface') {
        const pages = isList === undefined ? [] : PAGINATION
        found.set(scope.join('.'), new Map(pages.map((page) => [page, 'string'])))
      }
      continue
    }
    const [, member, type = ''] = /^ *(\w+)\??: (.*)/.exec(line) ?? []
    if (member !== undefined && depth === scope.length) {
      found.get(scope.join('.'))?.set(member, type)
    }
  }
  return found
}

/** The interface that a type names, as seen from another interface. */
export function namedIn(interfaces: Interfaces, from: string, type: string): string | undefined {
  const scopes = from.split('.').map((_name, at, names) => names.slice(0, at).join('.'))
  const names = type.match(/[A-Z][\w.]*/g) ?? []
  const seen = names.flatMap((name) =>
    scopes.toReversed().map((scope) => (scope === '' ? name : `${scope}.${name}`)),
  )
  return seen.find((name) => interfaces.has(name))
}

/** The interfaces that the text of a type names, those of other resources as well. */
export function typesIn(text: string, from: NamedType): NamedType[] {
  return (text.match(/[A-Z][\w.]*/g) ?? []).flatMap((name) => {
    const inner = namedIn(from.interfaces, from.name, name)
    if (inner !== undefined) return [{ ...from, name: inner }]
    const type = { interfaces: interfacesOf(`${name}s`), name }
    const alias = type.interfaces.get(name)?.get(ALIAS)
    if (alias !== undefined) return typesIn(alias, type)
    return type.interfaces.has(name) ? [type] : []
  })
}
