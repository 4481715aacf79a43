// Implements search (https://docs.stripe.com/search): finds objects by a query, newest first. Like
// Stripe's it lags behind, here always by the longest time that Stripe calls normal.
import type { ObjectKind } from '../objects.ts'
import type { Endpoint } from './endpoint.ts'
import { readString, readStrings, requireString } from './parameters.ts'
import { readLimit } from './read-objects.ts'
import { invalidParameter, invalidQuery, unsearchable } from './stripe-errors.ts'

/** Which clauses a field takes: a token only `:`, a string also `~`, a number also comparisons. */
type FieldType = 'token' | 'string' | 'numeric'

/** The fields that can be searched, besides metadata. */
const FIELDS = {
  payment_intent: {
    amount: 'numeric',
    created: 'numeric',
    currency: 'token',
    customer: 'token',
    status: 'token',
  },
  customer: { created: 'numeric', email: 'string', name: 'string', phone: 'string' },
} as const satisfies Partial<Record<ObjectKind, Record<string, FieldType>>>

const OPERATORS: Readonly<Record<FieldType, readonly string[]>> = {
  token: [':'],
  string: [':', '~'],
  numeric: [':', '>', '<', '>=', '<='],
}

/** An object is found this long after it was created; what changes in it is found at once. */
const LAG_SECONDS = 60
const CLAUSES_MAX = 10
const SUBSTRING_MIN = 3

type Searchable = keyof typeof FIELDS
type Members = Readonly<Record<string, string | number | null>>
type Matches = (object: Members) => boolean

/** GET /v1/payment_intents/search and the like. */
export function search(kind: Searchable): Endpoint {
  return ({ params, path, nowMs }, { objects }) => {
    const matches = readQuery(requireString(params, 'query'), kind)
    const createdTo = Math.floor(nowMs / 1_000) - LAG_SECONDS
    const { data: all } = objects.list(kind, { createdTo })
    const page = readString(params, 'page')
    const last = all.findIndex(({ id }) => id === page)
    // Stripe names the wrong page itself as the parameter.
    if (page !== undefined && last < 0) throw invalidParameter(page, `${page} is an invalid page.`)
    const limit = readLimit(params)
    const isFound = (object: object) => matches(object as unknown as Members)
    const found = all.slice(last + 1).filter(isFound)
    const data = found.slice(0, limit)
    const has_more = found.length > limit
    const next_page = has_more ? (data.at(-1)?.id ?? null) : null
    const counts = readStrings(params, 'expand')?.includes('total_count')
    const total = counts === true ? { total_count: all.filter(isFound).length } : {}
    const body = { object: 'search_result' as const, url: path, has_more, data, next_page }
    return { status: 200, body: { ...body, ...total } }
  }
}

const QUOTED = String.raw`"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*'`
const CLAUSE = new RegExp(
  String.raw`^(?<not>-?)(?:metadata\[(?<key>${QUOTED})\]|(?<field>[\w.]+))` +
    String.raw`(?<operator>>=|<=|[:~<>])(?<value>${QUOTED}|[^\s"']+)(?:\s+|$)`,
)
const JOINT = /^(and|or)\s+/i

function readQuery(query: string, kind: Searchable): Matches {
  const clauses: Matches[] = []
  const joints = new Set<string>()
  let rest = query.trim()
  do {
    const clause = CLAUSE.exec(rest)
    if (clause === null) throw invalidQuery()
    clauses.push(readClause(clause.groups ?? {}, kind))
    rest = rest.slice(clause[0].length)
    if (rest !== '') {
      const [joint = '', word = 'and'] = JOINT.exec(rest) ?? []
      joints.add(word.toLowerCase())
      rest = rest.slice(joint.length)
      if (rest === '') throw invalidQuery()
    }
  } while (rest !== '')
  if (joints.size > 1 || clauses.length > CLAUSES_MAX) throw invalidQuery()
  return joints.has('or')
    ? (object) => clauses.some((matches) => matches(object))
    : (object) => clauses.every((matches) => matches(object))
}

/** What a field has to be; `text` is in small letters. */
const TESTS: Readonly<Record<string, (found: string, text: string, type: FieldType) => boolean>> = {
  // The words of a string may be anywhere in the field.
  ':': (found, text, type) =>
    type === 'string' ? ` ${found} `.includes(` ${text} `) : found === text,
  '~': (found, text) => found.includes(text),
  '>': (found, text) => Number(found) > Number(text),
  '<': (found, text) => Number(found) < Number(text),
  '>=': (found, text) => Number(found) >= Number(text),
  '<=': (found, text) => Number(found) <= Number(text),
}

function readClause(groups: Record<string, string | undefined>, kind: Searchable): Matches {
  const { not, key, field = 'metadata', operator = '', value = '' } = groups
  const type = key === undefined ? own(FIELDS[kind], field) : 'token'
  if (type === undefined) throw unsearchable(field, `${kind}s`)
  const text = unquoted(value).toLowerCase()
  const isNumber = /^\d+$/.test(text)
  const isNull = value.toLowerCase() === 'null'
  const isText = type !== 'numeric' && /^["']/.test(value)
  const isLong = operator !== '~' || text.length >= SUBSTRING_MIN
  const test = TESTS[operator]
  const takes = test !== undefined && OPERATORS[type].includes(operator)
  if (!takes || !isLong || !(isNumber || isNull || isText)) throw invalidQuery()
  const name = key === undefined ? field : unquoted(key)
  return (object) => {
    const members = key === undefined ? object : (object['metadata'] as unknown as Members)
    const found = own(members, name) ?? null
    const isMatch = isNull
      ? found === null
      : found !== null && test(String(found).toLowerCase(), text, type)
    return isMatch !== (not === '-')
  }
}

const unquoted = (text: string) => text.replaceAll(/^["']|["']$|\\(.)/g, '$1')

/** The member of that name, which comes from a client. */
function own<Value>(members: Readonly<Record<string, Value>>, name: string): Value | undefined {
  return Object.hasOwn(members, name) ? members[name] : undefined
}
