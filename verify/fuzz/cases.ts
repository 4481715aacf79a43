// Generates requests from openapi.yaml: good ones with one to three random defects, of which each alone
// makes the request invalid, and good ones with random changes that may or may not be valid.
import * as fc from 'fast-check'
import type { Defect, Members, Parts } from './defects/fields.ts'
import { fieldDefects, mutations, withHeader, withPath } from './defects/fields.ts'
import { type Case, type Draft, type Header, utf8 } from './draft.ts'
import { isEvent, type Operation, operations } from './operations.ts'
import { escapedText, headerText, words } from './values.ts'
import { connectionDefects, headerDefects } from './defects/headers.ts'
import { jsonDefects } from './defects/json.ts'
import { schemaDefects, stateDefects } from './defects/schema.ts'
import { targetDefects } from './defects/targets.ts'

/** Headers that the service ignores. */
const IGNORED = words(`
  prefer traceparent tracestate baggage accept accept-language user-agent cookie origin referer
  if-none-match range via x-forwarded-for x-http-method-override
`)
const garnish = fc.array(fc.tuple(fc.constantFrom(...IGNORED), headerText(0, 40)), { maxLength: 3 })

function goodParts(operation: Operation): fc.Arbitrary<Parts> {
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

function toDraft({ method, path, query, headers, body }: Parts): Draft {
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
function weightOf(operation: Operation): number {
  const { body, isKeyed, query } = operation
  if (body === undefined) return query === undefined ? 1 : 3
  const hasFields = /"(properties":\{"|anyOf|oneOf)/.test(JSON.stringify(body.schema))
  if (!hasFields && !isEvent(operation)) return 4
  return isKeyed ? 24 : 10
}

/** The kinds of defects by weight. Defects of bodies are the most frequent. */
const WEIGHTED: readonly (readonly [weight: number, defects: readonly Defect[]])[] = [
  [40, schemaDefects],
  [12, fieldDefects],
  [6, jsonDefects],
  [6, headerDefects],
  [8, stateDefects],
  [6, targetDefects],
  [1, connectionDefects],
]

const DEFECTS_MAX = 3

function badCasesOf(operation: Operation): fc.Arbitrary<Case> {
  const weighted = WEIGHTED.flatMap(([weight, defects]) =>
    defects.flatMap(({ kind, forOperation: of }) => {
      const arbitrary = of(operation)?.map((one) => ({ ...one, kind }))
      return arbitrary === undefined ? [] : [{ weight, arbitrary }]
    }),
  )
  const limits = { minLength: 1, maxLength: DEFECTS_MAX, size: 'xsmall' } as const
  const defects = fc.array(fc.oneof(...weighted), limits)
  return fc.tuple(goodParts(operation), defects).map(([parts, some]) => ({
    label: `${operation.id}: ${some.map(({ kind }) => kind).join(', ')}`,
    operation: operation.id,
    draft: toDraft(some.reduce((now, { change }) => change(now), parts)),
    types: [...new Set(some.flatMap((one) => one.types))],
  }))
}

/** Draws an operation, and a case of it. */
function anyOf(casesOf: (operation: Operation) => fc.Arbitrary<Case>): fc.Arbitrary<Case> {
  const weighted = operations.map((operation) => ({
    weight: weightOf(operation),
    arbitrary: casesOf(operation),
  }))
  return fc.oneof(...weighted)
}

/** A request with at least one defect, and the problems that its defects may cause. */
export const badCases = anyOf(badCasesOf)

type Change = (parts: Parts) => Parts

function openCasesOf(operation: Operation): fc.Arbitrary<Case> {
  const changes = fc.array(fc.oneof(...looseChanges(operation)), { maxLength: 3 })
  return fc.tuple(goodParts(operation), changes).map(([parts, some]) => ({
    label: `${operation.id}: ${some.length} changes`,
    operation: operation.id,
    draft: toDraft(some.reduce((now, change) => change(now), parts)),
    types: [],
  }))
}

function looseChanges({ target, pathId, body }: Operation): fc.Arbitrary<Change>[] {
  const query = fc.tuple(escapedText, escapedText).map(([name, value]): Change => (parts) => ({
    ...parts,
    query: [...parts.query, `${name}=${value}`],
  }))
  const path = escapedText.map((text) => {
    if (pathId !== undefined) return withPath(target.replace(pathId, () => text))
    return withPath(text === '' ? target : `${target}/${text}`)
  })
  const header = fc
    .tuple(
      fc.constantFrom('idempotency-key', 'prefer', 'traceparent', 'accept', 'if-match'),
      headerText(0, 300),
    )
    .map(([name, value]) => withHeader(name, [value]))
  if (body === undefined) return [query, path, header]
  const fields = fc.array(fc.oneof(...mutations), { minLength: 1, maxLength: 3 }).map(
    (some): Change =>
      (parts) =>
        changeJson(parts, (value) => some.reduce((now, one) => one(now), value)),
  )
  const bytes = fc
    .array(fc.tuple(fc.nat(), fc.nat({ max: 255 }), fc.boolean()), { minLength: 1, maxLength: 4 })
    .map((some): Change => (parts) => ({
      ...parts,
      body: some.reduce(changeByte, parts.body ?? ''),
    }))
  return [query, path, header, fields, fields, fields, bytes, bytes]
}

/** Changes the body if it is JSON. */
function changeJson(parts: Parts, change: (value: Members) => Members): Parts {
  try {
    const value = JSON.parse(Buffer.from(parts.body ?? '{}', 'latin1').toString()) as Members
    return { ...parts, body: utf8(JSON.stringify(change(value))) }
  } catch {
    return parts
  }
}

function changeByte(
  text: string,
  [place, code, isMore]: readonly [number, number, boolean],
): string {
  const at = place % (text.length + 1)
  return text.slice(0, at) + String.fromCharCode(code) + text.slice(isMore ? at : at + 1)
}

/** A request that may be valid. */
export const openCases = anyOf(openCasesOf)
