// Draws valid requests as parts, which defects then change.
import * as fc from 'fast-check'
import type { Parts } from './defects/defect.ts'
import { utf8, type Draft, type Header } from './draft.ts'
import { isEvent, type Operation } from './operations.ts'
import { headerText } from './values.ts'

/** Random headers that the service ignores. */
const garnish = fc.array(
  fc.tuple(
    fc.constantFrom(
      'prefer',
      'traceparent',
      'tracestate',
      'baggage',
      'accept',
      'accept-language',
      'user-agent',
      'cookie',
      'origin',
      'referer',
      'if-none-match',
      'range',
      'via',
      'x-forwarded-for',
      'x-http-method-override',
    ),
    headerText(0, 40),
  ),
  { maxLength: 3 },
)

export function goodParts(operation: Operation): fc.Arbitrary<Parts> {
  const { method, target, access, isKeyed, body, id } = operation
  const authorization = { tenant: 'Bearer {{tenant-key}}', operator: 'Bearer {{admin-key}}' }
  const own = {
    ...(access === 'open' ? {} : { authorization: [authorization[access]] }),
    ...(body === undefined ? {} : { 'content-type': ['application/json'] }),
    ...(id === 'receiveProviderEvent' ? { 'stripe-signature': ['{{stripe-signature}}'] } : {}),
  }
  const key = fc.constantFrom('{{new-key}}', '"{{new-key}}"', '"{{new-key}}";a=1')
  const bodies = fc.constantFrom(...(body?.good ?? [undefined]))
  return fc.tuple(garnish, key, bodies).map(([extra, named, good]) => ({
    method,
    path: target,
    query: [],
    headers: {
      ...Object.fromEntries(extra.map(([name, value]) => [name, [value]])),
      ...own,
      ...(isKeyed ? { 'idempotency-key': [named] } : {}),
    },
    body: good === undefined ? undefined : utf8(JSON.stringify(good)),
  }))
}

export function toDraft({ method, path, query, headers, body }: Parts): Draft {
  const lines = Object.entries(headers).flatMap(([name, values]) =>
    values.map((value): Header => [name, value]),
  )
  return {
    method,
    target: query.length === 0 ? path : `${path}?${query.join('&')}`,
    headers: lines,
    ...(body === undefined ? {} : { body }),
  }
}

/** How often an operation is drawn: more often the more defects it can have. */
export function weightOf(operation: Operation): number {
  const { body, isKeyed, query } = operation
  if (body === undefined) return query === undefined ? 1 : 3
  const hasFields = /"(properties":\{"|anyOf|oneOf)/.test(JSON.stringify(body.schema))
  if (!hasFields && !isEvent(operation)) return 4
  return isKeyed ? 24 : 10
}
