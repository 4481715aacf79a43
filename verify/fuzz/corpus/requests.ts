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

const JSON_TYPE = { 'content-type': 'application/json' }
const TENANT = { authorization: 'Bearer {{tenant-key}}' }
const OPERATOR = { authorization: 'Bearer {{admin-key}}' }
const KEYED = { ...TENANT, 'idempotency-key': '{{new-key}}', ...JSON_TYPE }

/** Makes requests that have these headers, and this body unless they have their own. */
const posted =
  (headers: NonNullable<Change['headers']>, usual: Change['body'] = null) =>
  (target: string, body: Change['body'] = usual, change: Change = {}): Draft =>
    makeDraft({ method: 'POST', target, headers, body }, change)

const gotten =
  (headers: NonNullable<Change['headers']>) =>
  (target: string, change: Change = {}): Draft =>
    makeDraft({ method: 'GET', target, headers }, change)

/** A POST of the tenant. The default body is a valid payment. */
export const post = posted(KEYED, GOOD_PAYMENT)
export const get = gotten(TENANT)
/** Requests of an operator. */
export const adminPost = posted({ ...OPERATOR, ...JSON_TYPE })
export const adminGet = gotten(OPERATOR)

const postEvent = posted({ ...JSON_TYPE, 'stripe-signature': '{{stripe-signature}}' })

/** An event of the provider with a valid signature. */
export const providerEvent = (body: string | object, change?: Change): Draft =>
  postEvent('/provider/webhooks', body, change)

export const payment = (change: Change = {}): Draft => post('/v1/payments', GOOD_PAYMENT, change)

/** A valid payment with a wait that is long enough on a busy machine. */
export const patientPayment = (body: object = GOOD_PAYMENT): Draft =>
  payment({ headers: { prefer: 'wait=10' }, body })

/** A payment with changed fields. Undefined removes a field. */
export const paymentWith = (fields: Readonly<Record<string, unknown>>): Draft =>
  payment({ body: { ...GOOD_PAYMENT, ...fields } })

/** A payment with exactly this body. */
export const paymentOf = (body: string): Draft => payment({ body })

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
