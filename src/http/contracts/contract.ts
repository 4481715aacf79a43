// What the document says of one endpoint beyond what its place in the table of routes tells: a row for
// each, written next to the rows of the same resource.
import { z } from 'zod'
import type { ProblemType } from '../../domain/problems/problems.ts'
import type { ResponseHeader } from './response-headers.ts'

export const tags = {
  Payments: 'Charges of cards: made, captured and canceled, each with an idempotency key.',
  Refunds: 'What is given back of a payment.',
  Ledger: 'The movements of money by double entry, and the balances that they come to.',
  Events: 'What has happened, in order. Webhooks carry the same.',
  Webhooks: 'Where events are sent, and what became of each delivery.',
  'Idempotency keys': 'What a key was used for, and what can be relied on of keys.',
  Operators:
    'For the people who run the service, of whatever tenant. Not there without a key of theirs.',
  Provider: 'For the payment provider alone.',
  Service: 'Health, and the documents about the API itself.',
} as const
export type Tag = keyof typeof tags

/** An answer that is no problem. */
export interface Success {
  readonly description: string
  /** Of `application/json`, unless `type` says otherwise; undefined for an answer without a body. */
  readonly schema?: z.ZodType
  /** Other media types in which it is to be had. */
  readonly texts?: readonly string[]
  readonly headers?: readonly ResponseHeader[]
}

export interface Contract {
  readonly operationId: string
  readonly tag: Tag
  readonly summary: string
  readonly description?: string
  /** The parameters in the path. */
  readonly path?: z.ZodObject
  /** Filters of a list, or other parameters of the query. */
  readonly query?: z.ZodObject
  /** Headers that are the endpoint's own. */
  readonly headers?: z.ZodObject
  /** It takes `limit` and the cursors, and refuses every other parameter that `query` does not name. */
  readonly isList?: boolean
  /** It takes no parameter, and says so. */
  readonly refusesQuery?: boolean
  /** It takes an Idempotency-Key, and Prefer where its result is waited for. */
  readonly keyed?: 'foreign' | 'local'
  readonly body?: BodyContract
  readonly answers: Readonly<Record<number, Success>>
  /** Beside those that every endpoint of its kind has. */
  readonly problems?: readonly ProblemType[]
}

export interface BodyContract {
  readonly schema: z.ZodType
  /** A request without a body is one with an empty object. */
  readonly mayOmit?: boolean
  readonly example?: Readonly<Record<string, unknown>>
}

/** The contracts of some endpoints, by method and path as the table of routes has them. */
export type Contracts = Readonly<Record<string, Contract>>
