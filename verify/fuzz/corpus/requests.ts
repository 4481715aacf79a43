// Builds the requests of the corpus: valid requests, of which each case changes one part.
import type { ProblemType } from '../../../src/domain/problems/problems.ts'
import type { Case, Draft, Header } from '../draft.ts'

export interface Change {
  readonly method?: string
  readonly target?: string
  /** Values by lower-case name. Several values repeat the header, null removes it. */
  readonly headers?: Readonly<Record<string, string | readonly string[] | null>>
  /** A string is sent as it is, an object as JSON, null means no body. */
  readonly body?: string | object | null
}

export const GOOD_PAYMENT = { amount: 1999, currency: 'usd', payment_method: 'pm_card_visa' }

const OF_TENANT = {
  authorization: 'Bearer {{tenant-key}}',
  'idempotency-key': '{{new-key}}',
  'content-type': 'application/json',
}

const OF_OPERATOR = {
  authorization: 'Bearer {{admin-key}}',
  'content-type': 'application/json',
}

/** A POST of the tenant. The default body is a valid payment. */
export function post(
  target: string,
  body: Change['body'] = GOOD_PAYMENT,
  change: Change = {},
): Draft {
  return makeDraft({ method: 'POST', target, headers: OF_TENANT, body }, change)
}

export const payment = (change: Change = {}): Draft => post('/v1/payments', GOOD_PAYMENT, change)

/** A valid payment with a wait that is long enough on a busy machine. */
export const patientPayment = (body: object = GOOD_PAYMENT): Draft =>
  payment({ headers: { prefer: 'wait=10' }, body })

/** A payment with changed fields. Undefined removes a field. */
export function paymentWith(fields: Readonly<Record<string, unknown>>): Draft {
  return payment({ body: { ...GOOD_PAYMENT, ...fields } })
}

/** A payment with exactly this body. */
export const paymentOf = (body: string): Draft => payment({ body })

export function get(target: string, change: Change = {}): Draft {
  const { authorization } = OF_TENANT
  return makeDraft({ method: 'GET', target, headers: { authorization } }, change)
}

/** A GET of an operator. */
export function adminGet(target: string, change: Change = {}): Draft {
  const { authorization } = OF_OPERATOR
  return makeDraft({ method: 'GET', target, headers: { authorization } }, change)
}

export function adminPost(target: string, body: Change['body'] = null, change: Change = {}): Draft {
  return makeDraft({ method: 'POST', target, headers: OF_OPERATOR, body }, change)
}

/** An event of the provider with a valid signature. */
export function providerEvent(body: string | object, change: Change = {}): Draft {
  const headers = {
    'content-type': 'application/json',
    'stripe-signature': '{{stripe-signature}}',
  }
  return makeDraft({ method: 'POST', target: '/provider/webhooks', headers, body }, change)
}

/** A request of exactly these lines, if method, target and headers cannot express it. */
export function raw(target: string, ...lines: readonly string[]): Draft {
  const [method = ''] = (lines[0] ?? '').split(' ')
  return { method, target, headers: [], raw: lines.join('\r\n') }
}

function makeDraft(usual: Change & { method: string; target: string }, change: Change): Draft {
  const { method, target, body = null } = { ...usual, ...change }
  const headers = Object.entries({ ...usual.headers, ...change.headers }).flatMap(
    ([name, values]): Header[] => [values ?? []].flat().map((value): Header => [name, value]),
  )
  if (body === null) return { method, target, headers }
  return { method, target, headers, body: typeof body === 'string' ? body : textOf(body) }
}

/** Serializes as ASCII-only JSON, so that each character is one byte. */
function textOf(body: object): string {
  return JSON.stringify(body).replaceAll(
    /[\u0080-\uFFFF]/g,
    (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, '0')}`,
  )
}

/** Requests by expected problem and by name. */
export type Table = Readonly<Partial<Record<ProblemType, Readonly<Record<string, Draft>>>>>

export function casesOf(kind: string, table: Table, slow = false): Case[] {
  return Object.entries(table).flatMap(([type, drafts]) =>
    Object.entries(drafts).map(([name, draft]) => ({
      label: `${kind}: ${name}`,
      draft,
      types: [type as ProblemType],
      ...(slow ? { slow } : {}),
    })),
  )
}
