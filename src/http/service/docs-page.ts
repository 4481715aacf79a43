// Renders the reference documentation of the API as pages without scripts.
import { problems, type ProblemType } from '../../domain/problems/problems.ts'

type Json = Record<string, unknown>

/** Follows a reference to a component. */
type Resolve = (part: Json) => Json

interface Field {
  /** With the names of the objects around it: `provider.name`, `entries[].account`. */
  readonly name: string
  readonly type: string
  readonly required: boolean
  readonly description: string
}

/** Deeper objects are described on the pages of their own operations. */
const DEPTH_MAX = 4

/** Each name once, although variants may share it. */
function describeFields(schema: Json, resolve: Resolve): Field[] {
  const fields = fieldsOf(schema, resolve, '', 0)
  return [...new Map(fields.toReversed().map((field) => [field.name, field])).values()].toReversed()
}

function fieldsOf(part: Json, resolve: Resolve, prefix: string, depth: number): Field[] {
  if (depth > DEPTH_MAX) return []
  const schema = resolve(part)
  const inner = partsOf(schema).flatMap((one) => fieldsOf(one, resolve, prefix, depth))
  const required = (schema['required'] ?? []) as string[]
  const own = Object.entries((schema['properties'] ?? {}) as Record<string, Json>).flatMap(
    ([key, value]) => {
      const shown = resolve(value)
      const name = `${prefix}${key}`
      const { description = '' } = shown
      const field = {
        name,
        type: typeOf(shown, resolve),
        required: required.includes(key),
        description: String(description),
      }
      const items = shown['items'] as Json | undefined
      return [
        field,
        ...fieldsOf(shown, resolve, `${name}.`, depth + 1),
        ...(items === undefined ? [] : fieldsOf(items, resolve, `${name}[].`, depth + 1)),
      ]
    },
  )
  return [...inner, ...own]
}

/** What a schema extends, or its variants. */
function partsOf({ allOf, anyOf, oneOf }: Json): Json[] {
  return [allOf, anyOf, oneOf].flatMap((parts) => (parts ?? []) as Json[])
}

function typeOf(schema: Json, resolve: Resolve): string {
  const { type, const: only, enum: values, format, items, anyOf, oneOf } = schema
  if (only !== undefined) return JSON.stringify(only)
  if (Array.isArray(values)) return values.map((value) => String(value)).join(' | ')
  if (items !== undefined) return `list of ${typeOf(resolve(items as Json), resolve)}`
  const variants = (anyOf ?? oneOf) as Json[] | undefined
  if (variants !== undefined) {
    return [...new Set(variants.map((one) => typeOf(resolve(one), resolve)))].join(' | ')
  }
  const names = [(type ?? 'object') as string | string[]].flat().join(' | ')
  return typeof format === 'string' ? `${names}, ${format}` : names
}

interface Operation extends Json {
  readonly operationId: string
  readonly tags: readonly string[]
  readonly summary: string
  readonly description?: string
  readonly security?: readonly Json[]
  readonly parameters?: readonly Json[]
  readonly requestBody?: Json
  readonly responses: Record<string, Json>
  readonly 'x-problems'?: readonly string[]
}

export interface OpenapiDocument extends Json {
  readonly info: { readonly title: string; readonly description: string }
  readonly tags: readonly { readonly name: string; readonly description: string }[]
  readonly security?: readonly Json[]
  readonly 'x-problem-groups': Record<string, readonly ProblemType[]>
  readonly paths: Record<string, Record<string, Operation>>
  readonly components: Record<string, Record<string, Json>>
}

interface Listed {
  readonly name: string
  readonly operation: Operation
}

/** Renders each page, by its name: an index named `index`, and each operation by its id. */
export function pagesOf(document: OpenapiDocument, index: string): Map<string, () => string> {
  const listed = Object.entries(document.paths).flatMap(([path, item]) =>
    Object.entries(item).map(([method, operation]): Listed => ({
      name: `${method.toUpperCase()} ${path}`,
      operation,
    })),
  )
  return new Map([
    [index, () => renderIndex(document, listed)],
    ...listed.map(
      (one) => [one.operation.operationId, () => renderOperation(document, one, index)] as const,
    ),
  ])
}

function renderIndex({ info, tags }: OpenapiDocument, listed: readonly Listed[]): string {
  const sections = tags.map(({ name: tag, description }) => {
    const links = listed
      .filter(({ operation }) => operation.tags.includes(tag))
      .map(
        ({ name, operation }) =>
          `<li><a href="/docs/${operation.operationId}"><code>${name}</code></a> ${markdown(operation.summary)}</li>`,
      )
    return `<h2>${tag}</h2>\n<p>${markdown(description)}</p>\n<ul>\n${links.join('\n')}\n</ul>`
  })
  const paragraphs = info.description.split('\n\n').map((text) => `<p>${markdown(text)}</p>`)
  return page(info.title, [
    '<nav><a href="/docs">For tenants</a> (<a href="/openapi.yaml">openapi.yaml</a>) · <a href="/docs/operators">For operators</a> (<a href="/openapi-operators.yaml">openapi-operators.yaml</a>)</nav>',
    `<h1>${info.title}</h1>`,
    ...paragraphs,
    ...sections,
  ])
}

function renderOperation(
  document: OpenapiDocument,
  { name, operation }: Listed,
  index: string,
): string {
  const resolve: Resolve = (part) => {
    const [, , kind = '', key = ''] = ((part['$ref'] ?? '') as string).split('/')
    const found = document.components[kind]?.[key]
    return found === undefined ? part : { ...resolve(found), ...part, $ref: undefined }
  }
  const { summary, description = '', parameters = [], requestBody, responses } = operation
  const answers = Object.entries(responses).map(([status, response]) => {
    const shown = resolve(response)
    const heading = status === 'default' ? 'Any other status' : status
    return `<h3>${heading}</h3>\n${renderContent(shown, resolve)}${renderHeaders(shown, resolve)}`
  })
  return page(`${summary} - ${document.info.title}`, [
    `<nav><a href="${index === 'docs' ? '/docs' : `/docs/${index}`}">All operations</a></nav>`,
    `<h1>${markdown(summary)}</h1>`,
    `<p><code class="request">${name}</code></p>`,
    `<p>${markdown(description)}</p>`,
    `<p>${showSecurity(operation.security ?? document.security ?? [])}</p>`,
    parameters.length === 0
      ? ''
      : `<h2>Parameters</h2>\n${renderParameters(parameters.map(resolve))}`,
    requestBody === undefined ? '' : `<h2>Body</h2>\n${renderContent(requestBody, resolve)}`,
    '<h2>Answers</h2>',
    ...answers,
    '<h2>Problems</h2>',
    renderProblems(document, operation),
  ])
}

function showSecurity(security: readonly Json[]): string {
  const names = security.flatMap((scheme) =>
    Object.entries(scheme).map(([name, scopes]) => {
      if (name !== 'tenantKey') return name === 'operatorKey' ? 'an operator key' : 'a session'
      return `an API key with the scope <code>${(scopes as string[]).join(', ')}</code>`
    }),
  )
  return names.length === 0 ? 'Needs no key.' : `Needs ${names.join(' or ')}.`
}

const renderParameters = (parameters: readonly Json[]): string =>
  table(
    ['parameter', 'in', 'what it is'],
    parameters.map(({ name, in: place, required, description }) => [
      `<code>${String(name)}</code>`,
      `${String(place)}${required === true ? ', required' : ''}`,
      markdown(String(description)),
    ]),
  )

function renderContent({ description, content }: Json, resolve: Resolve): string {
  const parts = Object.entries((content ?? {}) as Record<string, Json>).map(([type, media]) => {
    const [named] = Object.values((media['examples'] ?? {}) as Record<string, Json>)
    const example = media['example'] ?? (named && resolve(named)['value'])
    const fields = describeFields(media['schema'] as Json, resolve).map((field) => [
      `<code>${field.name}</code>`,
      `${escapeHtml(field.type)}${field.required ? '' : ', optional'}`,
      markdown(field.description),
    ])
    const rows = fields.length === 0 ? '' : table(['member', 'type', 'what it is'], fields)
    return `<details open><summary><code>${type}</code></summary>\n${
      example === undefined ? '' : `<pre>${escapeHtml(JSON.stringify(example, null, 2))}</pre>\n`
    }${rows}</details>\n`
  })
  const text = description === undefined ? '' : `<p>${markdown(description as string)}</p>\n`
  return text + parts.join('')
}

function renderHeaders({ headers }: Json, resolve: Resolve): string {
  const rows = Object.entries((headers ?? {}) as Record<string, Json>).map(([name, header]) => [
    `<code>${name}</code>`,
    markdown(String(resolve(header)['description'])),
  ])
  if (rows.length === 0) return ''
  return `<details><summary>${rows.length} headers</summary>\n${table(['header', 'what it is'], rows)}</details>`
}

function renderProblems(document: OpenapiDocument, { 'x-problems': own = [] }: Operation): string {
  const groups = document['x-problem-groups']
  const types = [...own, 'anywhere'].flatMap((name) => groups[name] ?? (name as ProblemType))
  const rows = [...new Set(types)]
    .toSorted((one, other) => problems[one].status - problems[other].status)
    .map((type) => [
      String(problems[type].status),
      `<a href="/problems/${type}"><code>${type}</code></a>`,
      escapeHtml(problems[type].title),
    ])
  return table(['status', 'type', 'title'], rows)
}

function page(title: string, parts: readonly string[]): string {
  return `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title)}</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="/docs/style.css">
<main>
${parts.filter((part) => part !== '').join('\n')}
</main>
</html>
`
}

const cells = (tag: string, row: readonly string[]): string =>
  `<tr>${row.map((cell) => `<${tag}>${cell}</${tag}>`).join('')}</tr>`

function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  return `<table>\n${[cells('th', head), ...rows.map((row) => cells('td', row))].join('\n')}\n</table>\n`
}

/** The Markdown of our descriptions: code, and what is bold. */
export function markdown(text: string): string {
  return escapeHtml(text)
    .replaceAll(/`([^`]+)`/g, '<code>$1</code>')
    .replaceAll(/\*\*([^*]+)\*\*/g, '<strong>$1</strong>')
}

function escapeHtml(text: string): string {
  return text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
}

export const policy = {
  'content-security-policy':
    "default-src 'none'; style-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
  'cross-origin-opener-policy': 'same-origin',
}

export const STYLE = `:root { color-scheme: light dark; --line: light-dark(#d8dce2, #3a4150); --quiet: light-dark(#f4f5f7, #1d222c) }
body { margin: 0; font: 16px/1.5 system-ui, sans-serif; background: light-dark(#fff, #12151b); color: light-dark(#1b2330, #dfe3ea) }
main { max-width: 60rem; margin: 0 auto; padding: 1.5rem }
a { color: light-dark(#0b57c2, #8ab8ff) }
code, pre { font: 0.9em ui-monospace, monospace; overflow-wrap: anywhere }
code { background: var(--quiet); padding: 0.1em 0.3em; border-radius: 4px }
code.request { font-size: 1.2em }
pre { background: var(--quiet); padding: 1rem; overflow: auto; border-radius: 6px }
table { border-collapse: collapse; width: 100%; margin: 0.5rem 0 1rem }
th, td { text-align: left; vertical-align: top; padding: 0.35rem 0.6rem; border-bottom: 1px solid var(--line) }
summary { cursor: pointer }
li { margin: 0.2rem 0 }
`
