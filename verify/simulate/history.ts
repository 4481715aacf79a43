// What the clients of a run know: every operation that they meant, under which key, and each answer that
// was final. It is one of the records that are compared; nothing in it comes from the service's store.
import { randomUUID } from 'node:crypto'

export interface PaymentBody {
  readonly amount: number
  readonly currency: string
  readonly payment_method: string
  readonly capture_method: 'automatic' | 'manual'
  readonly metadata: Record<string, string>
}

/** One request, as it is sent however often. */
export type Wish =
  | { readonly kind: 'payment.create'; readonly body: PaymentBody }
  | { readonly kind: 'payment.capture'; readonly paymentId: string; readonly amount: number }
  | { readonly kind: 'payment.cancel'; readonly paymentId: string }
  | {
      readonly kind: 'refund.create'
      readonly paymentId: string
      readonly body: { readonly amount: number; readonly metadata: Record<string, string> }
    }

export interface Answer {
  readonly status: number
  /** What it shows; of a problem, nothing is looked at. */
  readonly resource: { readonly id?: string; readonly object?: string; readonly status?: string }
  /** Of its bytes: equal for equal bodies alone. */
  readonly digest: string
  readonly isReplay: boolean
  /** The name of the problem, when it is one. */
  readonly problem: string | undefined
}

/** One intended operation. */
export interface Operation {
  readonly wish: Wish
  readonly key: string
  /** What its metadata calls it, there and at the provider; no other request has it. */
  readonly label: string
  /** Every final answer to its key, the first one first. */
  readonly answers: Answer[]
  /** The last answer that was not final; undefined when none came. */
  pending: Answer | undefined
}

/** A request that must not be done, and what was said to it. */
export interface RefusedRequest {
  readonly key: string
  readonly label: string
  /** `reuse`: with the key of another request. */
  readonly why: 'reuse' | 'invalid' | 'too_much'
  readonly answer: Answer | undefined
}

export interface History {
  /** In the metadata of everything that the run sends. */
  readonly run: string
  readonly startedAt: Date
  readonly operations: Operation[]
  readonly refused: RefusedRequest[]
}

/** @param kind what the run's name begins with. */
export function startHistory(kind: string): History {
  // The whole of a UUID: a part of one may look like a card number, and be refused.
  return { run: `${kind}-${randomUUID()}`, startedAt: new Date(), operations: [], refused: [] }
}

/** What the metadata calls the run, and the request within it. */
export const RUN_FIELD = 'simulation'
export const LABEL_FIELD = 'simulated'

const IN_PROGRESS: readonly (string | undefined)[] = [
  'operation-in-progress',
  'outcome-unknown',
  'request-timeout',
]

/** Whether asking again brings the same answer for ever. */
export function isFinal({ status, problem }: Answer): boolean {
  return status !== 202 && status !== 429 && status < 500 && !IN_PROGRESS.includes(problem)
}

/** Whether the operation was done, by the word of the service. */
export function isDone({ answers }: Operation): boolean {
  const status = answers[0]?.status ?? 0
  return status >= 200 && status < 300
}
