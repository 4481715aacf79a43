// Defines the contract of an endpoint: what the OpenAPI documents say about it beyond its row in the
// table of routes. The contracts of one resource are in one file.
import type { z } from 'zod'
import type { ProblemType } from '../../domain/problems/problems.ts'
import type { Endpoint } from '../endpoint.ts'
import type { ResponseHeader } from './response-headers.ts'

/** The parts of openapi.yaml, which is for tenants. */
export const tenantTags = {
  Payments: 'Create, capture, cancel and read card payments.',
  Refunds: 'Return money to the cardholder, in full or in part.',
  Disputes: 'Payments that cardholders contest at their bank. You answer them at the provider.',
  Ledger: 'A double-entry record of every movement of money, and the resulting balances.',
  Events:
    'An ordered record of what happened to payments, refunds and disputes. Webhooks deliver the same events.',
  Webhooks: 'Send events to URLs that you choose, and inspect each delivery.',
  'Idempotency keys':
    'Look up what an idempotency key was used for, and what the service guarantees for keys.',
  Service: 'Problem types, and the documentation of this API.',
} as const

/** The parts of openapi-operators.yaml. */
export const operatorTags = {
  Operators:
    'For the people who run the service. These endpoints work across tenants and exist only when the service is configured with operator keys.',
  Console:
    'The web console of operators, and the session of a browser in it. These endpoints exist only when the console is switched on.',
  Provider: 'Called by the payment provider.',
  Health: 'Health checks, for load balancers and orchestrators.',
} as const

export const tags = { ...tenantTags, ...operatorTags }

type Tag = keyof typeof tags

/** A response that is not a problem. */
export interface Success {
  readonly description: string
  /** The schema of the `application/json` body; undefined when there is none. */
  readonly schema?: z.ZodType
  /** Other media types in which the body is available. */
  readonly texts?: readonly string[]
  readonly headers?: readonly ResponseHeader[]
  /** By default the example of the schema. */
  readonly example?: Readonly<Record<string, unknown>>
}

/** The answer to a browser that has the file already. */
export const unchanged: Success = { description: 'The file has not changed.', headers: ['ETag'] }

export interface Contract {
  readonly operationId: string
  readonly tag: Tag
  readonly summary: string
  readonly description?: string
  /** The parameters in the path. */
  readonly path?: z.ZodObject
  /** Filters of a list, or other query parameters. */
  readonly query?: z.ZodObject
  /** Request headers that only this endpoint reads. */
  readonly headers?: z.ZodObject
  /**
   * The endpoint accepts `limit` and the cursors, and refuses parameters that `query` does not
   * name.
   */
  readonly isList?: boolean
  /** The endpoint refuses every query parameter. */
  readonly refusesQuery?: boolean
  /**
   * The endpoint requires an Idempotency-Key. `foreign`: its operation calls the provider, so a
   * client may wait for the result with Prefer. `local`: the operation is completed in one
   * transaction.
   */
  readonly keyed?: 'foreign' | 'local'
  readonly body?: BodyContract
  readonly answers: Readonly<Record<number, Success>>
  /** Problems beyond those that every endpoint of its kind has. */
  readonly problems?: readonly ProblemType[]
}

export interface BodyContract {
  readonly schema: z.ZodType
  /** By default JSON. */
  readonly contentType?: 'application/x-www-form-urlencoded'
  /** A request without a body counts as a request with an empty object. */
  readonly mayOmit?: boolean
  readonly example?: Readonly<Record<string, unknown>>
}

/** The endpoints of a resource by method and path: who may call them, what they do, and their contracts. */
export type Endpoints = Readonly<Record<string, Contract & { readonly serve: Endpoint }>>
