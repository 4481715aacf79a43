// Cuts the document of one audience out of the document of all operations.
import { PREFIXES } from './describe-responses.ts'
import {
  operationsOf,
  type Json,
  type OpenapiDocument,
  type Operation,
  type Paths,
} from './share-parts.ts'
import { problemGroups } from './problems-of.ts'

export interface Audience {
  readonly title: string
  /** Markdown. The lines of a paragraph are joined. */
  readonly description: string
  readonly tags: Readonly<Record<string, string>>
  /** What most operations require. */
  readonly security?: readonly Json[]
}

/** Returns the operations with the tags of the audience, and the components that these refer to. */
export function partOf(whole: OpenapiDocument, audience: Audience): OpenapiDocument {
  const { openapi, info, servers, components } = whole
  const { title, description, tags, security } = audience
  const paths = select(whole.paths, audience)
  const webhooks = select(whole.webhooks ?? {}, audience)
  const part = { paths, ...(Object.keys(webhooks).length === 0 ? {} : { webhooks }) }
  const names = operationsOf({ ...whole, paths, webhooks }).flatMap(
    (one) => one['x-problems'] ?? [],
  )
  const groups = Object.entries(problemGroups).filter(
    ([name]) => name === 'anywhere' || names.includes(name),
  )
  const document = {
    openapi,
    info: {
      title,
      ...(info as Json),
      description: description.replaceAll(/(?<!\n)\n(?!\n)/g, ' '),
    },
    servers,
    tags: Object.entries(tags).map(([name, text]) => ({ name, description: text })),
    ...(security === undefined ? {} : { security }),
    'x-problem-groups': Object.fromEntries(groups),
    ...part,
    components: usedComponents(components, [part, security]),
  }
  const types = new Set([...names, ...groups.flatMap(([, group]) => group)])
  return JSON.parse(JSON.stringify(document), (name, value) =>
    adapt(name, value, types),
  ) as OpenapiDocument
}

/** Leaves out what no operation has: types of problems, and what is about keys; also prefixes. */
function adapt(name: string, value: unknown, types: ReadonlySet<string>): unknown {
  if (/^idempotency$/i.test(name) && !types.has('idempotency-key-missing')) return undefined
  if (typeof value === 'string') return value.replace(PREFIXES.operators, '')
  if (name === 'enum' && String(value).startsWith('/problems/')) {
    return (value as string[]).filter((type) => types.has(type.replace('/problems/', '')))
  }
  return value
}

function select(items: Paths, { tags, security }: Audience): Paths {
  const isOwn = ({ tags: [tag = ''] }: Operation) => Object.hasOwn(tags, tag)
  const own = Object.entries(items).map(([path, item]) => {
    const operations = Object.entries(item).filter(([, operation]) => isOwn(operation))
    const short = operations.map(
      ([method, operation]) => [method, withoutUsual(operation, security)] as const,
    )
    return [path, Object.fromEntries(short)] as const
  })
  return Object.fromEntries(own.filter(([, item]) => Object.keys(item).length > 0))
}

function withoutUsual(operation: Operation, usual: Audience['security']): Operation {
  const { security, ...rest }: Operation = operation
  return JSON.stringify(security) === JSON.stringify(usual) ? rest : operation
}

const REFERENCES = /"#\/components\/(?<kind>\w+)\/(?<name>[^"]+)"/g

/** Follows references, also chains of them. */
function usedComponents(components: OpenapiDocument['components'], part: unknown) {
  const { securitySchemes = {}, ...others } = components
  const used = new Set<unknown>()
  const visit = (value: unknown): void => {
    for (const { groups } of JSON.stringify(value).matchAll(REFERENCES)) {
      const component = others[groups?.['kind'] ?? '']?.[groups?.['name'] ?? '']
      if (component === undefined || used.has(component)) continue
      used.add(component)
      visit(component)
    }
  }
  visit(part)
  const text = JSON.stringify(part)
  for (const [name, scheme] of Object.entries(securitySchemes)) {
    if (text.includes(`{"${name}":[`)) used.add(scheme)
  }
  const kept = Object.entries(components).map(([kind, named]) => {
    const own = Object.entries(named).filter(([, one]) => used.has(one))
    return [
      kind,
      Object.fromEntries(own.map(([name, one]) => [name.replace(PREFIXES.operators, ''), one])),
    ] as const
  })
  return Object.fromEntries(kept.filter(([, named]) => Object.keys(named).length > 0))
}
